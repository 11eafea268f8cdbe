//! Surface tension on free bodies.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Refine, Setup, Solver, Tracker};
use fluvial_solver_octree::{OctreeSolver, Params};

/// Centre of the mesh's volume.
fn centre(solver: &OctreeSolver) -> Vec3 {
    let mesh = solver.surface(&Default::default());
    let (mut moment, mut volume) = (Vec3::ZERO, 0.0);
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|n| mesh.positions[n as usize] - 0.5);
        let six = a.dot(b.cross(c));
        (moment, volume) = (moment + six * (a + b + c) / 4.0, volume + six);
    }
    moment / volume
}

/// A large and a small ball become one drop, of cells of two sizes: inner forces do not move its centre.
#[test]
fn a_lopsided_drop_stays_where_it_is() {
    let [kept, counted] = lopsided_drop(true);
    println!("moved by {kept} cells");
    assert!(kept < 0.1 && counted > 0.0, "moved by {kept} cells, kept in {counted} steps");
    let [free, counted] = lopsided_drop(false);
    println!("moved by {free} cells without");
    assert!(free > kept && counted == 0.0, "moved by {free} cells, kept in {counted} steps");
}

/// How far a drop of two sizes moves in a second, cells, and in how many steps its mean velocity was kept.
fn lopsided_drop(keep_momentum: bool) -> [f32; 2] {
    let mut setup = tank(32, 0.5);
    setup.liquid.gravity = Vec3::ZERO;
    setup.liquid.surface_tension = 20.0;
    setup.fills.clear();
    for (x, radius) in [(0.42, 0.16), (0.61, 0.08)] {
        let shape = Shape::Sphere { center: Vec3::new(x, 0.5 + 0.1 * x, 0.47), radius };
        setup.fills.push(Fill { shape, velocity: Vec3::ZERO });
    }
    let mut solver = OctreeSolver::new(setup, Params { keep_momentum, ..Params::default() }).unwrap();
    let start = centre(&solver);
    let mut counted = 0;
    while solver.time_s() < 1.0 {
        let report = solver.step(solver.suggest_dt().dt_s).unwrap();
        counted += report
            .clamps
            .iter()
            .filter(|(name, _)| *name == "mean_velocity_kept")
            .map(|(_, n)| n)
            .sum::<usize>();
    }
    [(centre(&solver) - start).length() * 32.0, counted as f32]
}

#[test]
fn a_drop_on_a_plate_takes_the_shape_of_its_cap() {
    fn with(setup: Setup, tracker: Tracker) -> Box<dyn Solver> {
        Box::new(OctreeSolver::new(setup, Params { tracker, ..Params::default() }).unwrap())
    }
    let test = fluvial_conformance::a_drop_on_a_plate_takes_the_shape_of_its_cap;
    test(|setup| with(setup, Tracker::Levelset), &[60.0, 75.0, 90.0, 120.0]);
    test(|setup| with(setup, Tracker::Flip), &[60.0, 120.0]);
}

/// The same with cells of three sizes on the plate, the finest half as large as in the other test and the largest twice.
#[test]
fn a_drop_across_sizes_on_a_plate_takes_the_shape_of_its_cap() {
    let build = |mut setup: Setup| -> Box<dyn Solver> {
        let grid = &mut setup.domain.grid;
        (grid.cells, grid.dx) = (grid.cells.map(|n| 2 * n), 0.5 * grid.dx);
        let (dx, edge) = (grid.dx, grid.bounds().max.x);
        let region = |x: f32, z: f32, dx: f32| Refine {
            shape: Shape::Box { min: Vec3::splat(-edge), max: Vec3::new(x, 2.0 * edge, z) },
            dx,
        };
        setup.refine = vec![region(0.4 * edge, 2.0 * edge, dx), region(2.0 * edge, 0.5 * edge, 2.0 * dx)];
        let coarse = Some(4.0 * dx);
        let params = Params { min_dx: coarse, max_dx: coarse, capillary_cfl: 4.0, ..Params::default() };
        let solver = OctreeSolver::new(setup, params).unwrap();
        let at_floor = |level: usize| {
            let tree = solver.tree();
            tree.cells_of(level).any(|cell| tree.cell_center(cell).y < tree.cell_dx(cell))
        };
        assert!((0..3).all(at_floor), "cells of three sizes on the plate");
        Box::new(solver)
    };
    fluvial_conformance::a_drop_on_a_plate_takes_the_shape_of_its_cap(build, &[60.0]);
}

/// Kinetic energy of a still drop of 16 cells' diameter after so many steps, J: whole, or an eighth of it between walls.
fn stirred_j(is_eighth: bool, steps: usize) -> f64 {
    let (dx, half) = (1.25e-3, 10);
    let (low, cells) = if is_eighth { (0.0, half) } else { (-(half as f32) * dx, 2 * half) };
    let mut setup = tank(cells, 0.5);
    setup.domain.grid = UniformGrid { min: Vec3::splat(low), cells: [cells; 3], dx };
    setup.liquid.gravity = Vec3::ZERO;
    setup.liquid.surface_tension = 0.0728;
    setup.fills =
        vec![Fill { shape: Shape::Sphere { center: Vec3::ZERO, radius: 8.0 * dx }, velocity: Vec3::ZERO }];
    let mut solver = OctreeSolver::new(setup, Params::default()).unwrap();
    (0..steps).map(|_| solver.step(solver.suggest_dt().dt_s).unwrap().kinetic_energy_j).fold(0.0, f64::max)
}

/// Walls through the middle of a drop mirror it: curvature and distances at them are as inside. Distances from inside the walls alone
/// pushed the drop along them, and its eighth stirred twenty times the energy of an eighth of the whole.
#[test]
fn an_eighth_of_a_drop_rests_as_the_whole() {
    let (eighth_j, whole_j) = (stirred_j(true, 40), stirred_j(false, 40));
    println!("{eighth_j:e} J of {whole_j:e} J");
    assert!(eighth_j < 2.0 * whole_j / 8.0, "{eighth_j:e} J of {whole_j:e} J");
}
