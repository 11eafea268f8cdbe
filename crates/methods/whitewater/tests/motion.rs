//! How particles move, against exact solutions.

use super::{params, unit_box, walls};
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, PlacedSolids, Shape};
use fluvial_whitewater::{Fate, Field, Interval, Kind, Params, Particle, Tally, relax, travel};

fn particle(kind: Kind, x: Vec3, v: Vec3) -> Particle {
    Particle { x, v, id: 0, age_s: 0.0, foam_left_s: 100.0, radius_m: 1e-3, kind }
}

fn air(grid: UniformGrid) -> Field {
    Field::air(grid, 3.0 * grid.dx)
}

/// Moves a particle through intervals of one moment that does not change.
fn play(p: &mut Particle, field: &Field, frames: usize, length_s: f32, params: &Params) -> (Fate, Tally) {
    let around = walls(&field.grid(), length_s);
    let mut tally = Tally::default();
    for _ in 0..frames {
        let interval = Interval { start: field, end: field, length_s };
        let fate = travel(p, 0.0, &interval, &around, params, &mut tally);
        if fate != Fate::Lives {
            return (fate, tally);
        }
    }
    (Fate::Lives, tally)
}

#[test]
fn spray_follows_the_drag_equation() {
    let grid = unit_box(16);
    let params = Params { wind: Vec3::new(0.3, 0.0, 0.0), spray_response_s: 0.4, ..params(&grid) };
    let (x0, v0) = (Vec3::new(0.2, 0.3, 0.5), Vec3::new(0.5, 3.0, 0.1));
    let exact = |t: f64| {
        let (tau, g) = (0.4f64, params.gravity.as_dvec3());
        let terminal = params.wind.as_dvec3() + tau * g;
        let v = terminal + (v0.as_dvec3() - terminal) * (-t / tau).exp();
        (x0.as_dvec3() + terminal * t + (v0.as_dvec3() - terminal) * tau * (1.0 - (-t / tau).exp()), v)
    };
    for (frames, length_s) in [(6, 0.05), (24, 0.0125), (1, 0.3)] {
        let mut p = particle(Kind::Spray, x0, v0);
        assert_eq!(play(&mut p, &air(grid), frames, length_s, &params).0, Fate::Lives);
        let (x, v) = exact(0.3);
        assert!((p.x.as_dvec3() - x).length() < 2e-6, "{} {x}", p.x);
        assert!((p.v.as_dvec3() - v).length() < 1e-5, "{} {v}", p.v);
        assert!((p.age_s - 0.3).abs() < 1e-6);
    }
}

#[test]
fn a_bubble_reaches_its_terminal_speed_and_becomes_foam() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [12, 64, 8], dx: 1.0 / 16.0 };
    let flow = Vec3::new(0.05, 0.0, 0.0);
    let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 3.5, |_| flow);
    let params = Params { bubble_rise_m_s: 0.3, bubble_response_s: 0.2, ..params(&grid) };
    let mut p = particle(Kind::Bubble, Vec3::new(0.1, 1.0, 0.25), Vec3::ZERO);
    play(&mut p, &field, 10, 0.1, &params);
    // x(t) = v_t (t - tau (1 - e^(-t/tau))).
    let rise = 0.3 * (1.0 - 0.2 * (1.0 - (-5.0f32).exp()));
    assert!((p.x.y - 1.0 - rise).abs() < 1e-5, "{} {rise}", p.x.y);
    assert!((p.v.y - 0.3 * (1.0 - (-5.0f32).exp())).abs() < 1e-5, "{}", p.v);
    play(&mut p, &field, 30, 0.1, &params);
    assert!((p.v - flow - 0.3 * Vec3::Y).length() < 1e-5, "{}", p.v);
    play(&mut p, &field, 70, 0.1, &params);
    assert_eq!(p.kind, Kind::Foam);
    assert!((p.x.y - 3.5).abs() < 1e-5 && p.v == flow, "{} {}", p.x, p.v);
}

#[test]
fn foam_follows_the_flow() {
    // An even flow exactly, whatever the frames.
    let grid = unit_box(16);
    let even = |_| Vec3::new(0.4, 0.0, 0.1);
    let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 0.5, even);
    for (frames, length_s) in [(1, 1.0), (24, 1.0 / 24.0)] {
        let mut p = particle(Kind::Foam, Vec3::new(0.2, 0.5, 0.2), even(Vec3::ZERO));
        play(&mut p, &field, frames, length_s, &params(&grid));
        assert!((p.x - Vec3::new(0.6, 0.5, 0.3)).length() < 1e-6 && p.kind == Kind::Foam, "{}", p.x);
    }
    // A turning one in the second order of cells and frames.
    let turn = |x: Vec3| 2.0 * (x - 0.5).cross(Vec3::Y);
    let error = |n: usize| {
        let grid = unit_box(n);
        let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 0.5, turn);
        let mut p = particle(Kind::Foam, Vec3::new(0.8, 0.5, 0.5), turn(Vec3::new(0.8, 0.5, 0.5)));
        // Steps as long as cells and frames ask.
        let params = Params { bubble_response_s: 1e3, ..params(&grid) };
        play(&mut p, &field, n / 2, 2.0 / n as f32, &params);
        let angle: f32 = -2.0;
        let exact = Vec3::new(0.5 + 0.3 * angle.cos(), 0.5, 0.5 - 0.3 * angle.sin());
        p.x.distance(exact)
    };
    let (coarse, fine) = (error(8), error(16));
    assert!((coarse / fine).log2() > 1.7 && fine < 2e-3, "{coarse} {fine}");
}

#[test]
fn foam_dissolves_and_spray_that_falls_back_becomes_foam() {
    let grid = unit_box(16);
    let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 0.4, |_| Vec3::ZERO);
    let params = params(&grid);
    let mut p = Particle { foam_left_s: 0.3, ..particle(Kind::Foam, Vec3::new(0.5, 0.4, 0.5), Vec3::ZERO) };
    assert_eq!(play(&mut p, &field, 20, 0.05, &params).0, Fate::Dissolved);
    let mut p = particle(Kind::Spray, Vec3::new(0.5, 0.7, 0.5), Vec3::ZERO);
    let mut kinds = vec![];
    for _ in 0..60 {
        play(&mut p, &field, 1, 1.0 / 48.0, &params);
        kinds.push(p.kind);
    }
    kinds.dedup();
    assert_eq!(kinds, [Kind::Spray, Kind::Bubble, Kind::Foam]);
    assert!((p.x.y - 0.4).abs() < 1e-4, "{}", p.x);
}

#[test]
fn walls_hold_open_sides_do_not_and_dry_floors_keep_spray() {
    let grid = unit_box(16);
    let (params, field) = (params(&grid), air(grid));
    let mut p = particle(Kind::Spray, Vec3::new(0.5, 0.5, 0.5), Vec3::new(2.0, 0.0, 0.0));
    let (fate, _) = play(&mut p, &field, 100, 0.05, &params);
    assert_eq!(fate, Fate::Landed);
    assert!(grid.bounds().contains(p.x) && p.x.y < 0.01, "{}", p.x);
    let mut around = walls(&grid, 0.5);
    around.open_walls[1] = true;
    let interval = Interval { start: &field, end: &field, length_s: 0.5 };
    let mut p = particle(Kind::Spray, Vec3::new(0.5, 0.5, 0.5), Vec3::new(4.0, 0.0, 0.0));
    assert_eq!(travel(&mut p, 0.0, &interval, &around, &params, &mut Tally::default()), Fate::Left);
}

#[test]
fn solids_push_what_they_meet_and_thin_ones_hold() {
    let grid = unit_box(16);
    let (params, field) = (params(&grid), air(grid));
    let interval = Interval { start: &field, end: &field, length_s: 0.1 };
    let slab =
        |low: f32, high: f32| Shape::Box { min: Vec3::new(low, -1.0, -1.0), max: Vec3::new(high, 2.0, 2.0) };
    // A plate a thousandth of a cell thick stops a fast drop.
    let plate = slab(0.6, 0.60005);
    let mut around = walls(&grid, 0.1);
    around.solids = vec![PlacedSolids::new([(&plate, &Motion::Static)].into_iter(), 0.0)];
    let mut p = particle(Kind::Spray, Vec3::new(0.4, 0.5, 0.5), Vec3::new(6.0, 0.0, 0.0));
    travel(&mut p, 0.0, &interval, &around, &params, &mut Tally::default());
    assert!(p.x.x < 0.6 && p.v.x.abs() < 1e-3, "{} {}", p.x, p.v);
    // A piston takes along what it runs over.
    let piston = slab(-1.0, 0.3);
    let velocity = Vec3::new(2.0, 0.0, 0.0);
    let motion = Motion::Constant { linear: velocity, angular: Vec3::ZERO, about: Vec3::ZERO };
    let solids = (1..=4).map(|n| PlacedSolids::new([(&piston, &motion)].into_iter(), 0.025 * f64::from(n)));
    around.solids = solids.collect();
    let mut p = particle(Kind::Spray, Vec3::new(0.32, 0.5, 0.5), Vec3::ZERO);
    travel(&mut p, 0.0, &interval, &around, &params, &mut Tally::default());
    assert!(p.x.x >= 0.5 && p.x.x < 0.52 && (p.v.x - 2.0).abs() < 1e-3, "{} {}", p.x, p.v);
}

#[test]
fn relaxation_does_not_depend_on_the_steps() {
    let run = |steps: usize| {
        let (mut x, mut v) = (Vec3::ZERO, Vec3::new(3.0, 0.0, 0.0));
        let h = 2.0 / steps as f32;
        (0..steps).for_each(|_| relax(&mut x, &mut v, Vec3::Y, 0.5, h));
        (x, v)
    };
    let (a, b) = (run(1), run(64));
    assert!(a.0.distance(b.0) < 1e-5 && a.1.distance(b.1) < 1e-5, "{a:?} {b:?}");
}

/// A surface rises by one and a half layers from frame to frame, faster than its liquid says: foam stays on it.
#[test]
fn foam_stays_on_a_surface_that_rises_between_frames() {
    let grid = unit_box(16);
    let params = params(&grid);
    let at = |y: f32| Field::from_formulas(grid, 3.0 * grid.dx, move |x| x.y - y, |_| Vec3::ZERO);
    let (start, end, length_s) = (at(0.5), at(0.5 + 1.5 * params.layer_m), 4.0 * params.bubble_response_s);
    let mut p = particle(Kind::Foam, Vec3::new(0.5, 0.5, 0.5), Vec3::ZERO);
    let interval = Interval { start: &start, end: &end, length_s };
    travel(&mut p, 0.0, &interval, &walls(&grid, length_s), &params, &mut Tally::default());
    assert!(p.kind == Kind::Foam && (p.x.y - 0.5 - 1.5 * params.layer_m).abs() < 1e-3, "{p:?}");
}
