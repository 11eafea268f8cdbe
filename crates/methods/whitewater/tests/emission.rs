//! How much is born, against integrals.

use super::{params, unit_box, walls};
use fluvial_foundation::{Vec3, parallel};
use fluvial_whitewater::{
    Ball, Field, Kind, Moment, Params, Ramp, Site, Stretch, Surroundings, Whitewater, emit, find_sites,
};

/// A plane at an angle through a box, in liquid whose neighbours move against each other by the same everywhere.
fn shear(n: usize) -> (Field, Vec3) {
    let normal = Vec3::new(0.5, 1.0, 0.3).normalize();
    let grid = unit_box(n);
    let phi = move |x: Vec3| (x - 0.5).dot(normal);
    (Field::from_formulas(grid, 3.0 * grid.dx, phi, |x| Vec3::new(2.0 + 3.0 * x.y, 0.0, 0.0)), normal)
}

/// The mean velocity difference of `u = a y e_x` over the cells within reach has the same value at every cell; times the rate, the
/// energy's ramp and the plane's area it is the integral.
#[test]
fn emission_is_the_integral_over_the_surface() {
    let rate = |n: usize| {
        let (field, normal) = shear(n);
        let grid = field.grid();
        let own = |v: f32| Ramp { min: 0.0, max: 2.0 * v };
        // Half of the full potential of air; energy and crests without effect.
        let reach_m = params(&grid).reach_m;
        let difference = around(&field, Vec3::splat(0.5), reach_m).velocity_difference;
        let exact = 3.0 * reach_m.max(2.5 * grid.dx) / 2.5 * shear_mean();
        assert!((difference / exact - 1.0).abs() < 1e-3, "{difference} {exact}");
        let params = Params {
            trapped_air: own(difference),
            energy: Ramp { min: 0.0, max: 1e-6 },
            crest: Ramp { min: 1e5, max: 2e5 },
            ..params(&grid)
        };
        // The plane's part within a ball of radius 0.25 about the middle: no walls.
        let sites = find_sites(&field, &params);
        let near = sites.iter().filter(|s| {
            let [i, j, k] = s.cell.map(|v| v as usize);
            let off = grid.cell_centers().position(i, j, k) - 0.5;
            (off - off.dot(normal) * normal).length() < 0.25
        });
        let sum: f64 = near.map(|s| f64::from(s.air_1_s)).sum();
        let exact = 0.5 * f64::from(params.air_rate_1_m2_s) * std::f64::consts::PI * 0.25 * 0.25;
        sum / exact - 1.0
    };
    let (coarse, fine) = (rate(16), rate(32));
    assert!(fine.abs() < 0.01 && coarse.abs() < 0.04, "{coarse} {fine}");
}

fn around(field: &Field, x: Vec3, reach_m: f32) -> Surroundings {
    Ball::new(reach_m, field.grid().dx).look_around(field, x, field.sample(x).u.unwrap())
}

/// Mean of `|j| (1 + i j / (|j| r))` by the weights, cells: the part in i is odd and vanishes.
fn shear_mean() -> f32 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in 0..125 {
        let at = Vec3::new((n % 5) as f32 - 2.0, (n / 5 % 5) as f32 - 2.0, (n / 25) as f32 - 2.0);
        let weight = 1.0 - at.length() / 2.5;
        if weight > 0.0 && at != Vec3::ZERO {
            sum += weight * at.y.abs();
            weights += weight;
        }
    }
    sum / weights
}

#[test]
fn counts_are_rate_times_time_however_it_is_cut() {
    let (field, _) = shear(24);
    let grid = field.grid();
    let params = Params { trapped_air: Ramp { min: 0.0, max: 0.1 }, air_rate_1_m2_s: 3e4, ..params(&grid) };
    let sites = find_sites(&field, &params);
    let rate: f64 = sites.iter().map(|s| f64::from(s.air_1_s + s.crest_1_s)).sum();
    let count = |parts: u32| {
        let mut births = vec![];
        let length_s = 1.0 / parts as f32;
        for frame in 0..parts {
            emit(
                &mut births,
                &field,
                &sites,
                Stretch { frame, from_s: 0.0, length_s, after_s: 0.0 },
                &params,
            );
        }
        births.len() as f64
    };
    let noise = 3.0 * rate.sqrt();
    for parts in [1, 24, 60, 240] {
        assert!((count(parts) - rate).abs() < noise, "{parts} parts: {} of {rate} +- {noise}", count(parts));
    }
}

/// Where a site lies on a ball about the middle of the box.
fn on_ball(field: &Field, site: &Site, radius: f32) -> Vec3 {
    let [i, j, k] = site.cell.map(|v| v as usize);
    let out = field.grid().cell_centers().position(i, j, k) - 0.5;
    0.5 + radius * out.normalize()
}

#[test]
fn curvature_is_that_of_a_ball_and_crests_move_outwards() {
    let errors = [24, 48].map(|n| {
        let grid = unit_box(n);
        let ball = |x: Vec3| x.distance(Vec3::splat(0.5)) - 0.3;
        let field = Field::from_formulas(grid, 3.0 * grid.dx, ball, |_| 5.0 * Vec3::Y);
        let params = Params { crest: Ramp { min: 1.0, max: 2.0 }, ..params(&grid) };
        let sites = find_sites(&field, &params);
        assert!(sites.iter().all(|s| s.air_1_s == 0.0), "a ball that moves as one traps no air");
        // The cap where the normal is within acos 0.6 of upwards.
        let cap: f64 = sites.iter().map(|s| f64::from(s.crest_1_s)).sum();
        let exact = f64::from(params.crest_rate_1_m2_s) * 2.0 * std::f64::consts::PI * 0.09 * 0.4;
        let off = |s: &Site| {
            let found = around(&field, on_ball(&field, s, 0.3), params.reach_m).curvature;
            (f64::from(found) * 0.15 - 1.0).abs()
        };
        [sites.iter().map(off).sum::<f64>() / sites.len() as f64, (cap / exact - 1.0).abs()]
    });
    let [coarse, fine] = errors;
    assert!(coarse[0] < 0.1 && fine[0] < 0.06, "{errors:?}");
    assert!(coarse[1] < 0.1 && fine[1] < 0.04, "{errors:?}");
}

/// Particles leave bumps of a cell on a surface, higher or lower by a part of one, and drops of a cell or two fly about.
/// Neither throws off spray, though both are as curved as a crest and move.
#[test]
fn neither_bumps_of_a_cell_nor_drops_are_crests() {
    let grid = unit_box(48);
    let params = Params { crest_rate_1_m2_s: 1e6, ..params(&grid) };
    let drop = |x: Vec3| x.distance(Vec3::new(0.5, 0.8, 0.5)) - 1.5 * grid.dx;
    let wave = std::f32::consts::PI / (1.5 * grid.dx);
    let bumps = |x: Vec3| x.y - 0.4 - 0.25 * grid.dx * (wave * x.x).sin() * (wave * x.z).sin();
    let field =
        Field::from_formulas(grid, 3.0 * grid.dx, |x| drop(x).min(bumps(x)), |_| Vec3::new(0.0, 5.0, 0.0));
    let born: f32 = find_sites(&field, &params).iter().map(|s| s.crest_1_s).sum();
    assert_eq!(born, 0.0);
    // A thin sheet that stands up out of the liquid does.
    let sheet = |x: Vec3| (x.y - 0.4).min((x.x - 0.5).abs().max(x.y - 0.6) - 1.5 * grid.dx);
    let field = Field::from_formulas(grid, 3.0 * grid.dx, sheet, |_| Vec3::new(0.0, 5.0, 0.0));
    let born: f32 = find_sites(&field, &params).iter().map(|s| s.crest_1_s).sum();
    let area = 3.0 * grid.dx;
    assert!((0.5..2.0).contains(&(born / (params.crest_rate_1_m2_s * area))), "{born}");
}

/// Two fronts that meet trap air, parting ones do not.
#[test]
fn air_is_trapped_where_liquid_meets() {
    let grid = unit_box(24);
    let sum = |sign: f32| -> f32 {
        let u = move |x: Vec3| Vec3::new(if x.x < 0.5 { sign * 2.0 } else { -sign * 2.0 }, 0.0, 0.0);
        let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 0.5, u);
        find_sites(&field, &params(&grid)).iter().map(|s| s.air_1_s).sum()
    };
    assert!(sum(1.0) > 100.0 && sum(-1.0) == 0.0, "{} {}", sum(1.0), sum(-1.0));
}

/// A liquid whose front hits another, over some frames.
fn collide(threads: usize, most: usize) -> Whitewater {
    parallel::with_threads(threads, || {
        let grid = unit_box(24);
        let params = Params { most, ..params(&grid) };
        let around = walls(&grid, 1.0 / 24.0);
        let mut whitewater = Whitewater::new();
        for frame in 0..8 {
            let u = |x: Vec3| Vec3::new(if x.x < 0.5 { 2.0 } else { -2.0 }, 1.0, 0.0);
            let field = Field::from_formulas(grid, 3.0 * grid.dx, |x| x.y - 0.5, u);
            whitewater.advance(field, frame, &around, &params);
        }
        whitewater
    })
}

#[test]
fn threads_do_not_matter_and_numbers_are_in_order() {
    let (one, four) = (collide(1, usize::MAX), collide(4, usize::MAX));
    assert!(one.particles == four.particles && one.totals == four.totals);
    assert!(one.particles.is_sorted_by_key(|p| p.id) && one.particles.len() > 300, "{:?}", one.totals);
    assert!(one.particles.iter().any(|p| p.kind == Kind::Bubble));
}

#[test]
fn what_is_too_much_is_refused_evenly_and_counted() {
    let (all, some) = (collide(2, usize::MAX), collide(2, 200));
    assert!(some.particles.len() <= 200 && some.totals.refused > 0);
    let born = |w: &Whitewater| w.totals.born.iter().sum::<u64>();
    assert_eq!(born(&all), born(&some) + some.totals.refused);
}

/// A second of a liquid that two fronts meet in, stronger and weaker, while a ball flies up out of it.
fn a_second(fps: u32) -> [[f64; 3]; 2] {
    let grid = unit_box(24);
    let rate = 2e5;
    let params = Params {
        crest: Ramp { min: 1.0, max: 6.0 },
        energy: Ramp { min: 0.0, max: 1.0 },
        air_rate_1_m2_s: rate,
        crest_rate_1_m2_s: 8.0 * rate,
        foam_lifetime_s: 0.5,
        ..params(&grid)
    };
    let around = walls(&grid, 1.0 / fps as f32);
    let mut whitewater = Whitewater::new();
    let mut standing = [0.0; 3];
    for frame in 0..=fps {
        let t = frame as f32 / fps as f32;
        let turn = std::f32::consts::TAU * t;
        let level = 0.35 + 0.04 * turn.sin();
        let (rise, strength) = (0.04 * std::f32::consts::TAU * turn.cos(), 2.5 * (0.5 * turn).sin().powi(2));
        let (speed, height) = (1.6 - 3.2 * t, 0.5 + 1.6 * t - 1.6 * t * t);
        let ball = move |x: Vec3| x.distance(Vec3::new(0.5, height, 0.5)) - 0.09;
        let pool = move |x: Vec3| x.y - level;
        let phi = move |x: Vec3| pool(x).min(ball(x));
        let u = move |x: Vec3| match ball(x) < pool(x) {
            true => Vec3::new(0.0, speed, 0.0),
            false => Vec3::new(if x.x < 0.5 { strength } else { -strength }, rise, 0.0),
        };
        whitewater.advance(Field::from_formulas(grid, 3.0 * grid.dx, phi, u), frame, &around, &params);
        let counts = whitewater.counts();
        // The trapezoidal rule: the ends count half.
        let weight = if frame == 0 || frame == fps { 0.5 } else { 1.0 } / f64::from(fps);
        (0..3).for_each(|k| standing[k] += weight * counts[k] as f64);
    }
    [whitewater.totals.born.map(|n| n as f64), standing]
}

/// The same liquid at 24 and at 60 frames a second: as many of each kind are born, and as many of each are there in the mean.
#[test]
fn frame_rates_give_the_same_counts() {
    let (slow, fast) = (a_second(24), a_second(60));
    for (what, a, b) in [("born", slow[0], fast[0]), ("there", slow[1], fast[1])] {
        for (kind, (a, b)) in a.into_iter().zip(b).enumerate() {
            assert!(a > 500.0 && (a / b - 1.0).abs() < 0.05, "{what} of kind {kind}: {a} {b}");
        }
    }
}
