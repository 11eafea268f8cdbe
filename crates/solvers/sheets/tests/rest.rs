//! Still water stays still.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::{Quat, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver};
use fluvial_solver_sheets::{Params, PositionCorrection, SheetsSolver};

/// Fastest liquid from one time to another, and the level's change since the start, metres.
fn unrest(setup: Setup, params: Params, [from_s, until_s]: [f64; 2]) -> (f64, f64) {
    let mut solver = SheetsSolver::new(setup, params).unwrap();
    let level = solver.height_at(0.2, 0.1);
    advance(&mut solver, from_s);
    let reports = advance(&mut solver, until_s);
    let fastest = reports.iter().fold(0.0f64, |most, report| most.max(report.max_speed_m_s));
    assert!(reports.iter().all(|report| report.volume_error.abs() < 1e-6));
    (fastest, solver.height_at(0.2, 0.1) - level)
}

/// A slab of a tank.
pub fn slab(n: usize, depth: f32) -> Setup {
    let mut setup = tank(n, depth);
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n, n * 3 / 5, 4], dx: 1.0 / n as f32 };
    setup.domain.grid = grid;
    setup
}

/// Nothing but the flow moves the particles: short waves grew by 2 a second out of rounding errors, to 1.7e-3 m/s after
/// 6 s, because the density's kernel saw them upside down.
#[test]
fn waves_do_not_grow_out_of_nothing() {
    let params = Params {
        position_correction: PositionCorrection::Off,
        adaptive_sampling: false,
        preserve_sheets: false,
        ..Params::default()
    };
    let (fastest, _) = unrest(slab(16, 0.3), params, [3.0, 4.5]);
    assert!(fastest < 5e-5, "{fastest} m/s from 3 to 4.5 s");
}

/// With everything that moves particles: 1e-3 sqrt(g h), and a level that stays. It reached 0.4 m/s and rose.
#[test]
fn a_pool_rests_with_correction_and_sampling() {
    let (fastest, rise_m) = unrest(slab(16, 0.3), Params::default(), [2.0, 4.0]);
    assert!(fastest < 1.7e-3 && rise_m.abs() < 6e-4, "{fastest} m/s from 2 to 4 s, {rise_m} m");
}

/// Water under a tilted surface in a tank, under gravity along `down`.
fn tilted(mut setup: Setup, down: Vec3) -> Setup {
    let [nx, _, nz] = setup.domain.grid.cells.map(|n| n as f32 * setup.domain.grid.dx);
    setup.liquid.gravity = 9.81 * down;
    setup.fills[0].shape = Shape::Plane { point: Vec3::new(0.5 * nx, 0.3, 0.5 * nz), normal: -down };
    setup
}

/// Faces beyond the surface fell freely, and particles beside them with those: 0.1 m/s after half a second. Then distances
/// in the outermost layer were carried upwards only: 2e-3 to 5e-3 m/s after 5 s, growing by up to 1.6 a second.
#[test]
fn still_water_stays_still_under_a_tilted_surface() {
    for angle in [0.2f32, 0.35] {
        let setup = tilted(slab(16, 0.3), Vec3::new(-angle.sin(), -angle.cos(), 0.0));
        let (fastest, rise_m) = unrest(setup, Params::default(), [0.0, 5.0]);
        assert!(fastest < 3e-5 && rise_m.abs() < 1e-4, "{fastest} m/s, {rise_m} m, tilted by {angle}");
    }
}

/// A cell whose centre the surface meets, and crosses three of its faces: 0.017 m/s after a step, 0.1 m/s after a second.
#[test]
fn still_water_stays_still_under_an_oblique_surface() {
    let mut setup = slab(16, 0.3);
    setup.domain.grid.cells[2] = 16;
    let (tilt, turn) = (0.3f32, 0.6f32);
    let down = -Vec3::new(tilt.sin() * turn.cos(), tilt.cos(), tilt.sin() * turn.sin());
    let (fastest, rise_m) = unrest(tilted(setup, down), Params::default(), [0.0, 2.0]);
    assert!(fastest < 1.7e-3 && rise_m.abs() < 1e-4, "{fastest} m/s, {rise_m} m");
}

/// The liquid's mirror image in a slope bends the level of half density by half a cell where the water ends: 2 m/s.
#[test]
fn still_water_stays_still_on_a_slope() {
    let mut setup = slab(16, 0.3);
    let shape = Shape::Plane { point: Vec3::new(0.2, 0.0, 0.0), normal: Vec3::new(-0.6, 0.8, 0.0) };
    setup.solids = vec![Solid::new("slope", shape, Motion::Static)];
    let (fastest, rise_m) = unrest(setup, Params::default(), [1.0, 3.0]);
    assert!(fastest < 3e-3 && rise_m.abs() < 6e-4, "{fastest} m/s from 1 to 3 s, {rise_m} m");
}

/// Films too thin for the pressure, on shelves so many cells below the surface and where water ends on slopes, fell freely while the
/// solid held them: 0.1 to 1.2 sqrt(g h) within two seconds.
#[test]
fn films_on_solids_rest() {
    let dx = 0.05;
    let shelf = |cells: f32| Shape::Box {
        min: Vec3::new(0.8, -1.0, -1.0),
        max: Vec3::new(2.0, 0.47 - cells * dx, 2.0),
    };
    let slope =
        |y: f32, normal: Vec3| Shape::Plane { point: Vec3::new(0.5, y, 0.5), normal: normal.normalize() };
    let solids = [
        shelf(0.0),
        shelf(0.2),
        shelf(0.4),
        slope(0.33, Vec3::new(-0.4, 1.0, 0.1)),
        slope(0.445, Vec3::new(-0.15, 1.0, 0.04)),
        slope(0.04, Vec3::new(-1.3, 1.0, 0.1)),
    ];
    for (n, solid) in solids.into_iter().enumerate() {
        let mut setup = tank(20, 0.47);
        setup.domain.grid.cells = [20, 12, 6];
        setup.solids = vec![Solid::new("solid", solid, Motion::Static)];
        let (fastest, _) = unrest(setup, Params::default(), [0.0, 1.5]);
        assert!(fastest < 2e-4, "{fastest} m/s above solid {n}");
    }
}

/// What flows through narrow openings was passed on to the faces around them by particles, and currents along the line where
/// the water ends grew by 1.3 a second: 2.3e-3 m/s after 7 s.
#[test]
fn no_current_grows_along_a_slope() {
    let mut setup = tank(32, 0.47);
    setup.domain.grid.cells = [32, 17, 8];
    let normal = Vec3::new(-0.4, 1.0, 0.1).normalize();
    let slope = Shape::Plane { point: Vec3::new(0.5, 0.33, 0.5), normal };
    setup.solids = vec![Solid::new("slope", slope, Motion::Static)];
    let (fastest, _) = unrest(setup, Params::default(), [6.0, 7.0]);
    assert!(fastest < 1e-4, "{fastest} m/s");
}

/// In the narrow gap between a tilted box and the floor the density is low; it counted as air without pressure, and water
/// flew into it at sqrt(2 g h).
#[test]
fn still_water_stays_still_beside_a_narrow_gap() {
    let mut setup = tank(16, 0.3137);
    setup.domain.grid.cells = [16, 9, 12];
    let shape = Shape::Transform {
        shape: Box::new(Shape::Box { min: Vec3::new(-0.1, -0.3, -0.1), max: Vec3::new(0.1, 0.3, 0.1) }),
        scale: 1.0,
        rotation: Quat::from_rotation_z(0.26) * Quat::from_rotation_y(0.52) * Quat::from_rotation_x(0.35),
        translate: Vec3::new(0.75, 0.3, 0.4),
    };
    setup.solids = vec![Solid::new("box", shape, Motion::Static)];
    let (fastest, _) = unrest(setup, Params::default(), [0.0, 1.0]);
    assert!(fastest < 1e-3, "{fastest} m/s");
}

/// An open bowl 0.49 m wide, off the grid lines, filled up to its walls, which are so many cells thick.
fn bowl(wall_cells: f32) -> Setup {
    let mut setup = tank(24, 0.5);
    setup.domain.grid.cells[1] = 17;
    let wall = wall_cells * setup.domain.grid.dx;
    let (low, high, floor, rim) = (0.263, 0.751, 0.217, 0.65);
    let shape = |min: [f32; 3], max: [f32; 3]| Shape::Box { min: Vec3::from(min), max: Vec3::from(max) };
    setup.fills[0].shape = shape([low, floor, low], [high, 0.513, high]);
    let (out_low, out_high, below) = (low - wall, high + wall, floor - wall);
    let walls = [
        shape([out_low, below, out_low], [out_high, floor, out_high]),
        shape([out_low, below, out_low], [low, rim, out_high]),
        shape([high, below, out_low], [out_high, rim, out_high]),
        shape([out_low, below, out_low], [out_high, rim, low]),
        shape([out_low, below, high], [out_high, rim, out_high]),
    ];
    setup.solids = walls.map(|shape| Solid::new("wall", shape, Motion::Static)).into();
    setup
}

/// Bowls of any thickness: 0.7 m/s after 0.8 s in thick ones,
/// because light particles at the walls pushed their neighbours away, and the mass that was then lacking two cells below
/// the surface moved it; 0.02 m/s in thin ones, where mass lay behind the wall and distances were taken through it.
#[test]
fn still_water_stays_still_in_bowls_off_the_grid() {
    for wall_cells in [0.1, 0.5, 1.0, 1.4, 2.0] {
        let (fastest, _) = unrest(bowl(wall_cells), Params::default(), [0.0, 0.9]);
        assert!(fastest < 1e-4, "{fastest} m/s with walls of {wall_cells} cells");
    }
}

/// A bowl tilted by 30 degrees, filled to a level within it, its walls so many cells thick.
pub fn tilted_bowl(wall_cells: f32) -> Setup {
    let mut setup = tank(24, 0.5);
    setup.domain.grid.cells[1] = 19;
    let (center, half) = (Vec3::new(0.507, 0.471, 0.507), 0.2437);
    let wall = wall_cells * setup.domain.grid.dx;
    let boxed = |low: f32, top: f32| Shape::Box { min: Vec3::splat(-low), max: Vec3::new(low, top, low) };
    let tilted = |shape: Shape| Shape::Transform {
        shape: Box::new(shape),
        scale: 1.0,
        rotation: Quat::from_rotation_z(std::f32::consts::PI / 6.0),
        translate: center,
    };
    let below = Shape::Plane { point: Vec3::new(0.0, 0.411, 0.0), normal: Vec3::Y };
    setup.fills[0].shape = Shape::Intersection(vec![tilted(boxed(half, 2.0)), below]);
    let shape = tilted(Shape::Difference(Box::new(boxed(half + wall, 0.25)), Box::new(boxed(half, 2.0))));
    setup.solids = vec![Solid::new("bowl", shape, Motion::Static)];
    setup
}

/// Seeds in the bowls' edges were pushed out of the surface by the first step, and where a corner has too little surface for
/// the mass to tell its place the bent density told it: 0.1 to 0.3 m/s.
#[test]
fn still_water_stays_still_in_tilted_bowls() {
    for wall_cells in [0.1, 1.0, 2.0] {
        let (fastest, _) = unrest(tilted_bowl(wall_cells), Params::default(), [0.0, 0.6]);
        assert!(fastest < 1e-4, "{fastest} m/s with walls of {wall_cells} cells");
    }
}

/// A round bowl, half a hollow ball about the origin of what it returns, its wall so many cells thick, and water in it to a few cells'
/// depth, whose fill ends within the wall.
fn round_bowl(wall_cells: f32) -> (Setup, Vec3, f32) {
    let mut setup = tank(16, 0.5);
    setup.domain.grid.cells = [16; 3];
    let (center, radius, wall) = (Vec3::new(0.493, 0.507, 0.511), 0.3, wall_cells * setup.domain.grid.dx);
    let ball = |radius| Shape::Sphere { center, radius };
    let below = |depth: f32| Shape::Plane { point: center - depth * Vec3::Y, normal: Vec3::Y };
    setup.fills[0].shape = Shape::Intersection(vec![ball(radius - 0.5 * wall), below(0.18)]);
    let half = Shape::Intersection(vec![ball(radius), below(0.0)]);
    let shape = Shape::Difference(Box::new(half), Box::new(ball(radius - wall)));
    setup.solids = vec![Solid::new("bowl", shape, Motion::Static)];
    (setup, center, radius)
}

/// Particles of a fill that reaches into a thin wall begin on the liquid's side. Seen from within the wall neither of its faces was in
/// the way: 3 % of the water of a bowl of half a cell began in cells of its outer side and fell, 1.6 % with a tenth of a cell.
#[test]
fn what_fills_a_thin_bowl_begins_in_it() {
    for wall_cells in [0.1, 0.5, 1.0] {
        let (setup, center, radius) = round_bowl(wall_cells);
        let mut solver = SheetsSolver::new(setup, Params::default()).unwrap();
        advance(&mut solver, 0.25);
        let particles = &solver.population().particles;
        let below = particles.x.iter().filter(|x| x.distance(center) > radius).count();
        assert_eq!(below, 0, "of {} with a wall of {wall_cells} cells", particles.len());
    }
}
