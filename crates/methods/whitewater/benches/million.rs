//! What a frame costs with a million particles: processor time of the emission's search and of the motion, on one thread.

use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::UniformGrid;
use fluvial_whitewater::{Around, Field, Kind, Params, Particle, Totals, Whitewater, find_sites};

/// Processor time of the program so far, ms; 0 where the system does not say.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|t| t.parse::<u64>().ok()).unwrap_or(0);
    10 * (ticks(13) + ticks(14))
}

fn main() {
    let n = 96;
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let u = |x: Vec3| Vec3::new((6.0 * x.z).sin(), 0.2 * (9.0 * x.x).cos(), (5.0 * x.x).sin());
    let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 0.5 - 0.03 * (9.0 * x.x).sin(), u);
    let params = Params { most: 2_000_000, ..Params::scaled(Vec3::new(0.0, -9.81, 0.0), 1.0, grid.dx) };
    let around = Around {
        bounds: grid.bounds(),
        open_walls: [false; 6],
        solids: vec![],
        length_s: 1.0 / 24.0,
        friction: 0.5,
        margin_m: 1e-3 * grid.dx,
    };
    parallel::with_threads(1, || {
        let start = processor_ms();
        let sites = find_sites(&field, &params).len();
        println!("{sites} cells make whitewater, found in {} ms", processor_ms() - start);
        for (kind, low, high) in
            [(Kind::Foam, 0.499, 0.501), (Kind::Spray, 0.6, 0.9), (Kind::Bubble, 0.3, 0.45)]
        {
            let particle = |id: u64| {
                let r = unit_vec3(id, 1);
                let x = Vec3::new(r.x, low + (high - low) * r.y, r.z);
                Particle { x, v: u(x), id, age_s: 0.0, foam_left_s: 9.0, radius_m: 1e-3, kind }
            };
            let particles = (0..1_000_000).map(particle).collect();
            let last = Some(field.clone());
            let mut whitewater =
                Whitewater::from_parts(particles, 1_000_000, Totals::default(), last, &params);
            let start = processor_ms();
            whitewater.advance(field.clone(), 1, &around, &params);
            println!("a million of {kind:?}: {} ms a frame", processor_ms() - start);
        }
    });
}
