//! Walls hold at any thickness.

use crate::{Build, Subject, advance, tank};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Fill, Setup, Solid};

/// Cells along an edge of the domain of 1 m.
const CELLS: usize = 16;
/// Height of the water in the open box, m.
const LEVEL: f64 = 0.5;
/// Liquid that may be beyond a wall after a while, as a part of all.
const LEAK: f64 = 0.005;

/// A box without a lid in the air, turned by an angle, with water in its lower half.
pub fn open_box(wall_cells: f32, angle: f32) -> Setup {
    let mut setup = tank(CELLS, 0.5);
    let (center, half) = (Vec3::new(0.51, 0.55, 0.49), Vec3::splat(0.26));
    let half_wall = 0.5 * wall_cells / CELLS as f32;
    let turned = |shape: Shape| Shape::Transform {
        shape: Box::new(shape),
        scale: 1.0,
        rotation: Quat::from_rotation_z(angle),
        translate: center,
    };
    let outer = Shape::Box { min: -half - half_wall, max: half + half_wall };
    // Through the lid.
    let inner = Shape::Box { min: -half + half_wall, max: half - half_wall + Vec3::Y };
    let below = Shape::Plane { point: Vec3::new(0.0, LEVEL as f32, 0.0), normal: Vec3::Y };
    setup.fills =
        vec![Fill { shape: Shape::Intersection(vec![turned(inner.clone()), below]), velocity: Vec3::ZERO }];
    let wall = turned(Shape::Difference(Box::new(outer), Box::new(inner)));
    setup.solids = vec![Solid::new("box", wall, Motion::Static)];
    setup
}

/// Volume of the water in [`open_box`], m3. Across z it is everywhere the same turned rectangle, cut off at the level.
fn water_m3(wall_cells: f32, angle: f32) -> f64 {
    let half = 0.26 - 0.5 * f64::from(wall_cells) / CELLS as f64;
    let (sin, cos) = f64::from(angle).sin_cos();
    let turned = |x: f64, y: f64| [0.51 + cos * x - sin * y, 0.55 + sin * x + cos * y];
    let corners =
        [turned(-half, -half), turned(half, -half), turned(half, half + 1.0), turned(-half, half + 1.0)];
    let mut section = vec![];
    for n in 0..4 {
        let (a, b) = (corners[n], corners[(n + 1) % 4]);
        if a[1] < LEVEL {
            section.push(a);
        }
        if (a[1] < LEVEL) != (b[1] < LEVEL) {
            section.push([a[0] + (LEVEL - a[1]) / (b[1] - a[1]) * (b[0] - a[0]), LEVEL]);
        }
    }
    let cross = |n: usize| {
        let (a, b) = (section[n], section[(n + 1) % section.len()]);
        a[0] * b[1] - a[1] * b[0]
    };
    (0..section.len()).map(cross).sum::<f64>() / 2.0 * 2.0 * half
}

/// Still water stays in a box whose walls are a tenth and a half of a cell thick, upright and tilted.
pub fn thin_walls_hold_still_water(subject: Subject) {
    for (wall_cells, angle) in [(0.1, 0.0), (0.1, 0.5), (0.5, 0.5), (1.3, 0.5)] {
        let setup = open_box(wall_cells, angle);
        let mut solver = (subject.build)(setup);
        let start_m3 = solver.initial_report().liquid_volume_m3;
        let filled = start_m3 / water_m3(wall_cells, angle) - 1.0;
        assert!(filled.abs() < 0.02, "{wall_cells} cells, angle {angle}: filled by {filled} too much");
        let end_m3 = advance(&mut *solver, 0.5).last().unwrap().liquid_volume_m3;
        let floor = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, 0.14, 2.0) };
        let leaked = solver.volume_in(&floor) / start_m3;
        assert!(leaked < LEAK, "{wall_cells} cells, angle {angle}: {leaked} of the water is below");
        let change = end_m3 / start_m3 - 1.0;
        assert!(change.abs() < 0.02, "{wall_cells} cells, angle {angle}: volume changed by {change}");
    }
}

/// Still water rests in tilted boxes with thin walls whose rim is two cells above it, up to `most` of the speed of long
/// waves: what is near it over the rim is no part of its surface.
pub fn water_rests_in_tilted_boxes(build: Build, most: f64) {
    let wave_m_s = (9.81 * 0.3f64).sqrt();
    for wall_cells in [0.1, 0.5, 1.0, 1.4] {
        for report in advance(build(open_box(wall_cells, 0.5)).as_mut(), 0.5) {
            let speed = report.max_speed_m_s / wave_m_s;
            assert!(speed < most, "{wall_cells} cells: {speed} of {wave_m_s} m/s");
        }
    }
}

/// Still water rests in a box with walls of a cell, whose inner faces leave slivers of a sixtieth of a cell beyond the last
/// whole cells: from the middles of those in the corners, the way out of the wall is shorter to the outside.
pub fn water_rests_beside_slivers(build: Build) {
    let (mut setup, dx) = (tank(CELLS, 0.5), 1.0 / CELLS as f32);
    let (low, high) = (Vec3::splat(4.0 - 0.0168) * dx, Vec3::splat(12.0 + 0.0168) * dx);
    let outer = Shape::Box { min: low - dx, max: high + dx };
    let inner = Shape::Box { min: low, max: high + Vec3::Y };
    let wall = Shape::Difference(Box::new(outer), Box::new(inner));
    setup.solids = vec![Solid::new("box", wall, Motion::Static)];
    let level = Vec3::new(high.x, low.y + 4.7 * dx, high.z);
    setup.fills = vec![Fill { shape: Shape::Box { min: low, max: level }, velocity: Vec3::ZERO }];
    for report in advance(build(setup).as_mut(), 0.2) {
        assert!(report.max_speed_m_s < 1e-4, "{} m/s", report.max_speed_m_s);
    }
}

/// Still water with a tilted surface through the centre of a cell rests, as far as the floor of ghost distances lets it: `most` is the largest
/// speed over `g dt`. Where every face of the cell has a floored distance of its own, no pressure holds all of them: 0.4.
pub fn a_surface_through_the_centre_of_a_cell_rests(build: Build, most: f64) {
    let (dx, g, dt_s) = (1.0 / CELLS as f32, 9.81, 0.01);
    let normal = Vec3::new(0.31, 1.0, -0.25).normalize();
    let mut setup = tank(CELLS, 0.5);
    setup.liquid.gravity = -g * normal;
    let point = Vec3::splat((0.5 * CELLS as f32 + 0.5) * dx) + 1e-6 * dx * normal;
    setup.fills = vec![Fill { shape: Shape::Plane { point, normal }, velocity: Vec3::ZERO }];
    let mut solver = build(setup);
    for _ in 0..20 {
        let speed = solver.step(dt_s).unwrap().max_speed_m_s / (f64::from(g) * dt_s);
        assert!(speed < most, "{speed} of g dt");
    }
}

/// A plate thinner than a cell pushes a pool before it, and nothing gets behind it.
pub fn a_thin_plate_pushes_all_water_before_it(subject: Subject) {
    let mut setup = tank(CELLS, 0.3);
    setup.fills[0].shape = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.62, 0.3, 2.0) };
    let plate = Shape::Box { min: Vec3::new(0.625, -1.0, -1.0), max: Vec3::new(0.64, 2.0, 2.0) };
    let linear = Vec3::new(-0.3, 0.0, 0.0);
    let motion = Motion::Constant { linear, angular: Vec3::ZERO, about: Vec3::ZERO };
    setup.solids = vec![Solid::new("plate", plate, motion)];
    let mut solver = (subject.build)(setup);
    let start_m3 = solver.initial_report().liquid_volume_m3;
    let end_m3 = advance(&mut *solver, 0.6).last().unwrap().liquid_volume_m3;
    // The plate stands at 0.45 now; what a cell holds of both sides counts to one.
    let behind = Shape::Box { min: Vec3::new(0.53, -1.0, -1.0), max: Vec3::splat(2.0) };
    let leaked = solver.volume_in(&behind) / start_m3;
    assert!(leaked < LEAK, "{leaked} of the water is behind the plate");
    assert!((end_m3 / start_m3 - 1.0).abs() < 0.03, "volume changed by {}", end_m3 / start_m3 - 1.0);
}
