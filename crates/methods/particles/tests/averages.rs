//! The level set of particles alone.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_particles::{
    Averager, CellRanges, LOWEST_IN_CELLS, Liquid, Occasion, Particles, Reserve, Scratch, Surroundings,
    Transfer, particle_radius_m, resample,
};

/// No cell around is hidden: see [`fluvial_grids::Sides::seen_around`].
const ALL_SEEN: u32 = (1 << 27) - 1;

fn unit_grid(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn centers(grid: &UniformGrid) -> impl Iterator<Item = Vec3> {
    let lattice = grid.cell_centers();
    (0..lattice.len()).map(move |n| {
        let [i, j, k] = lattice.coordinates(n);
        lattice.position(i, j, k)
    })
}

/// The level set of particles that fill phi < 0.
fn of_filled(grid: &UniformGrid, phi: &[f32]) -> Vec<f32> {
    let (mut particles, mut ranges) = (Particles::default(), CellRanges::default());
    let (around, u_face, none) =
        (Surroundings::closed(grid), FaceField::constant(grid, 0.0), Particles::default());
    Particles::default().sort_by_cell(grid, &mut ranges, &mut Scratch::default());
    let transfer = Transfer::Flip { ratio: 1.0 };
    let fractions: Vec<f32> = phi.iter().map(|phi| (0.5 - phi / grid.dx).clamp(0.0, 1.0)).collect();
    let liquid = Liquid {
        from_deep_cell: &[],
        fraction_cell: &fractions,
        open_volume: [&[]; 2],
        occasion: Occasion::Start,
        phi_cell: phi,
        u_face: &u_face,
        band_m: f32::INFINITY,
        transfer,
        step_seed: 0,
    };
    let mut reserve = Reserve::new(grid.cell_count());
    resample(&mut particles, &mut ranges, &none, &mut reserve, &liquid, &around, &mut Scratch::default());
    level_set(&particles, &ranges, grid)
}

fn level_set(particles: &Particles, ranges: &CellRanges, grid: &UniformGrid) -> Vec<f32> {
    let averager = Averager { particles, ranges, grid };
    (0..grid.cell_count()).map(|n| averager.value(grid.cell_centers().coordinates(n), ALL_SEEN)).collect()
}

/// Particles that fill a half-space give its distance: no bias beyond 0.03 dx, noise below 0.3 dx;
/// a level one also at walls, where an inclined one is mirrored to an edge.
#[test]
fn a_flat_pool_of_particles_has_a_flat_level_set() {
    let grid = unit_grid(24);
    for slope in [0.0f32, 0.3, 1.0] {
        let normal = Vec3::new(slope, 1.0, -0.5 * slope).normalize();
        let phi: Vec<f32> = centers(&grid).map(|x| (x - 0.52).dot(normal)).collect();
        let from_particles = of_filled(&grid, &phi);
        let inset = if slope == 0.0 { 0 } else { 2 };
        let near = |n: &usize| {
            let inner = |c: usize| (inset..24 - inset).contains(&c);
            phi[*n].abs() < 0.4 * grid.dx && grid.cell_centers().coordinates(*n).into_iter().all(inner)
        };
        let errors: Vec<f32> =
            (0..phi.len()).filter(near).map(|n| (from_particles[n] - phi[n]) / grid.dx).collect();
        let mean = errors.iter().sum::<f32>() / errors.len() as f32;
        let worst = errors.iter().fold(0.0f32, |a, e| a.max(e.abs()));
        assert!(errors.len() > 300 && mean.abs() < 0.03 && worst < 0.3, "slope {slope}: {mean} {worst}");
        let lowest = from_particles.iter().fold(0.0f32, |a, &v| a.min(v)) / grid.dx;
        assert!((LOWEST_IN_CELLS..-0.5).contains(&lowest), "slope {slope}: lowest {lowest}");
    }
}

#[test]
fn a_gap_between_two_sheets_stays_open() {
    let grid = unit_grid(24);
    let half_gap = 1.25 * grid.dx;
    let phi: Vec<f32> = centers(&grid).map(|x| half_gap - (x.y - 0.5).abs()).collect();
    let from_particles = of_filled(&grid, &phi);
    for (value, x) in from_particles.iter().zip(centers(&grid)) {
        if (x.y - 0.5).abs() < 0.6 * grid.dx {
            assert!(*value > 0.2 * grid.dx, "the gap is filled at {x}: {}", value / grid.dx);
        }
    }
}

#[test]
fn a_lone_particle_is_a_ball() {
    let grid = unit_grid(16);
    let radius = particle_radius_m(&grid);
    let (mut particles, mut ranges) = (Particles::default(), CellRanges::default());
    let at = Vec3::new(0.53, 0.47, 0.53);
    particles.push(at, Vec3::ZERO, None);
    particles.sort_by_cell(&grid, &mut ranges, &mut Scratch::default());
    let phi = level_set(&particles, &ranges, &grid);
    let (mut inside, mut far) = (0, 0);
    for (phi, x) in phi.iter().zip(centers(&grid)) {
        let distance = (x - at).length();
        assert_eq!(*phi < 0.0, distance < radius, "{distance} {phi}");
        inside += usize::from(*phi < 0.0);
        if distance > 1.5 * grid.dx {
            far += 1;
            assert_eq!(*phi, f32::INFINITY);
        } else {
            assert!((phi - (distance - radius)).abs() < 0.4 * grid.dx);
        }
    }
    assert!(inside == 1 && far > 4000);
}
