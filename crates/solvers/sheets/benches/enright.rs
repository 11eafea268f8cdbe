//! Enright's deformation with and without sheet preservation, in numbers:
//! `cargo bench --bench enright -- [cells] [refinement] [steps]`.

#[path = "../tests/enright/mod.rs"]
mod enright;

use enright::{END_S, Enright, Options, ball_m3};
use fluvial_sheets::Kind;
use std::time::Instant;

fn main() {
    let argument = |n: usize, default: usize| {
        std::env::args().filter(|a| a != "--bench").nth(n).map_or(default, |a| a.parse().unwrap())
    };
    let (n, refinement) = (argument(1, 100), argument(2, 2));
    // The paper's 0.006 s at 100^3.
    let steps = argument(3, 2 * (250 * n).div_ceil(100));
    let only = argument(4, 9);
    println!("{n}^3, {steps} steps, surface at {refinement} samples a cell");
    println!(
        "preserve correct   t  particles inserted  pieces bubbles handles largest%  volume/ball  mass  seconds"
    );
    for (case, (preserve, correct)) in
        [(true, true), (true, false), (false, true), (false, false)].into_iter().enumerate()
    {
        if only != 9 && only != case {
            continue;
        }
        let mut enright = Enright::new(n);
        let mass = enright.population.particles.total_mass();
        let mut seconds = 0.0;
        let report = |enright: &mut Enright, seconds: f64| {
            let mesh = enright.mesh(refinement);
            assert!(mesh.defects().is_clean(), "{:?}", mesh.defects());
            let found = Enright::topology(&mesh);
            println!(
                "{preserve:8} {correct:7} {:.2} {:9} {:8} {:7} {:7} {:7} {:7.2} {:12.4} {:+} {:.1}",
                enright.time_s,
                enright.population.particles.len(),
                enright.population.count(Kind::Inserted),
                found.pieces,
                found.bubbles,
                found.handles,
                100.0 * found.largest_volume_share,
                mesh.volume() / ball_m3(),
                enright.population.particles.total_mass() as i64 - mass as i64,
                seconds
            );
        };
        report(&mut enright, 0.0);
        for step in 0..steps {
            let start = Instant::now();
            enright.step(END_S / steps as f32, Options { preserve, correct });
            seconds += start.elapsed().as_secs_f64();
            if (step + 1) % (steps / 4) == 0 {
                report(&mut enright, seconds);
            }
        }
        println!("    most inserted {}, {:?}", enright.most_inserted, enright.total);
    }
}
