//! Still liquid under a gravity normal to its plane surface, through T-junctions [octree Fig. 16]: what speed
//! each form of the free surface leaves after one projection, as a part of what gravity gave (1 is free
//! fall).
//!
//! `cargo bench -p fluvial-octree --bench rest -- [trees]`

#[path = "../tests/common/mod.rs"]
mod common;

use fluvial_foundation::DVec3;
use fluvial_octree::gradient::FreeSurface;

fn main() {
    let trees: u64 =
        std::env::args().filter(|a| a != "--bench").nth(1).and_then(|a| a.parse().ok()).unwrap_or(12);
    println!(
        "{trees} random trees of four levels; speeds: largest, root of the mean square, of the worst tree"
    );
    println!(
        "{:11} {:13} {:>11} {:>12} {:>10} {:>10}",
        "surface", "form", "T-junctions", "degenerate", "largest", "rms"
    );
    let tilted = DVec3::new(-0.35, 1.0, 0.25).normalize();
    for (name, normal) in [("tilted", tilted), ("horizontal", DVec3::Y)] {
        for form in [FreeSurface::SecondOrder, FreeSurface::Symmetric, FreeSurface::Naive] {
            let (mut junctions, mut degenerate, mut largest, mut mean) = (0, 0, 0.0f64, 0.0f64);
            for seed in 0..trees {
                let tree = common::random_tree(4, [4, 4, 4], 0, seed);
                let (most, rms, info) = common::speed_at_rest(&tree, normal, form);
                (largest, mean) = (largest.max(most), mean.max(rms));
                junctions += info.surface_junctions;
                degenerate += info.degenerate_junctions;
            }
            // The naive form does not look.
            let share = match form {
                FreeSurface::Naive => "-".to_owned(),
                _ => format!("{:.1} %", 100.0 * degenerate as f64 / junctions as f64),
            };
            let form = format!("{form:?}");
            println!("{name:11} {form:13} {junctions:11} {share:>12} {largest:10.1e} {mean:10.1e}");
        }
    }
}
