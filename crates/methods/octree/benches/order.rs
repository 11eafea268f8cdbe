//! Order of the three forms of the free surface on the authors' test: errors of the pressure by level, finest
//! 64 to 512 (that one takes minutes and 2 GB), the authors' in brackets. Arguments: the largest of these
//! sizes, passes of smoothing.

#[path = "../tests/common/mod.rs"]
mod common;

use fluvial_octree::gradient::FreeSurface;

/// The authors' code, at finest 64, 128, 256.
const AUTHORS: [[f64; 4]; 3] =
    [[5.6e-5, 5.2e-4, 7.6e-3, 2.6e-2], [1.4e-5, 8.7e-5, 4.6e-3, 1.5e-2], [3.7e-6, 2.2e-5, 1.4e-3, 4.8e-3]];

fn main() {
    let most: usize =
        std::env::args().filter(|a| a != "--bench").nth(1).and_then(|a| a.parse().ok()).unwrap_or(256);
    let passes: u32 =
        std::env::args().filter(|a| a != "--bench").nth(2).and_then(|a| a.parse().ok()).unwrap_or(1);
    let radii: Vec<i32> = (-4..=4).collect();
    for form in [FreeSurface::Symmetric, FreeSurface::SecondOrder, FreeSurface::Naive] {
        let mut before: Option<[f64; 4]> = None;
        for (n, finest) in [64usize, 128, 256, 512].into_iter().enumerate().filter(|&(_, f)| f <= most) {
            let (errors, info) = common::ball_errors(finest, passes, form, &radii);
            let degenerate = 100.0 * info.degenerate_junctions as f64 / info.surface_junctions as f64;
            print!(
                "{form:?} {finest}: {} junctions at the surface, {degenerate:.1} % degenerate;",
                info.surface_junctions
            );
            for level in 0..4 {
                let order =
                    before.map_or(String::new(), |b| format!(" ({:.2})", (b[level] / errors[level]).log2()));
                let authors = AUTHORS.get(n).map_or(String::new(), |a| format!(" [{:.1e}]", a[level]));
                print!("  {:.2e}{order}{authors}", errors[level]);
            }
            println!();
            before = Some(errors);
        }
    }
}
