//! Redistancing: what must not move, and how close the result comes to the distance.

use crate::common::*;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::{Lattice, Sides};
use fluvial_level_set::{
    Scratch, SolidsAround, extend_into_solids, liquid_volume, redistance, redistance_among_solids,
    redistance_before_solids,
};

const BAND: f32 = 4.0;

/// Samples that are not a power of two apart, away from the origin.
fn lattice(size: [usize; 3]) -> Lattice {
    Lattice { size, origin: Vec3::new(-0.3, 0.7, 0.1), spacing: 0.013 }
}

fn direction(n: u64) -> [f64; 3] {
    let r = (random::unit_vec3(n, 3) - 0.5).as_dvec3().normalize();
    [r.x, r.y, r.z]
}

/// A plane through the lattice, in one of many directions.
fn plane(l: &Lattice, case: u64) -> Vec<f32> {
    let normal = match case {
        0 => [0.0, 1.0, 0.0],
        1 => [1.0, 0.0, 0.0],
        2 => [0.0, 0.0, -1.0],
        3 => [0.6, 0.8, 0.0],
        4 => [3f64.sqrt().recip(); 3],
        _ => direction(case),
    };
    let r = random::unit_vec3(case, 9);
    let center: [f64; 3] = std::array::from_fn(|a| {
        l.origin[a] as f64 + (0.35 + 0.3 * r[a] as f64) * l.spacing as f64 * (l.size[a] - 1) as f64
    });
    fill_band(l, BAND * l.spacing, |x| (0..3).map(|a| normal[a] * (x[a] - center[a])).sum())
}

#[test]
fn planes_at_rest_stay_also_at_walls_and_edges() {
    let l = lattice([20, 17, 18]);
    let mut scratch = Scratch::default();
    for case in 0..40 {
        let exact = plane(&l, case);
        let mut phi = exact.clone();
        for _ in 0..5 {
            redistance(&mut phi, &l, BAND * l.spacing, &mut scratch);
        }
        let near = max_difference(&phi, &exact, l.spacing, |n| exact[n].abs() < 1.8 * l.spacing);
        let far = max_difference(&phi, &exact, l.spacing, |_| true);
        assert!(
            near < 1e-6 && far < 1e-4,
            "plane {case}: {near} dx near the interface, {far} dx in the band"
        );
        assert_eq!(scratch.redistance_report.unresolved_cells, 0);
    }
}

#[test]
fn a_thousand_times_does_not_drift() {
    let l = lattice([10, 9, 8]);
    let mut scratch = Scratch::default();
    for case in [0, 4, 7] {
        let exact = plane(&l, case);
        let mut phi = exact.clone();
        for _ in 0..1000 {
            redistance(&mut phi, &l, BAND * l.spacing, &mut scratch);
        }
        let drift = max_difference(&phi, &exact, l.spacing, |n| exact[n].abs() < 1.8 * l.spacing);
        assert!(drift < 1e-6, "plane {case}: {drift} dx");
    }
}

#[test]
fn a_plane_against_closed_cells_stays() {
    let l = lattice([20, 18, 16]);
    let exact = plane(&l, 9);
    let closed: Vec<bool> = (0..l.len())
        .map(|n| {
            let c = l.coordinates(n);
            (6..12).contains(&c[0]) && c[2] < 9 || c[1] == 3
        })
        .collect();
    let mut phi: Vec<f32> = exact.iter().zip(&closed).map(|(&v, &c)| if c { 0.04 } else { v }).collect();
    let mut scratch = Scratch::default();
    for _ in 0..20 {
        extend_into_solids(&mut phi, &closed, &l, 5, |_| Vec3::ZERO, &mut scratch);
        redistance(&mut phi, &l, BAND * l.spacing, &mut scratch);
    }
    let moved = max_difference(&phi, &exact, l.spacing, |n| !closed[n] && exact[n].abs() < 1.8 * l.spacing);
    assert!(moved < 3e-6, "{moved} dx");
}

/// Liquid before a thick wall, air behind it, both continued to its middle: the liquid has no surface there.
#[test]
fn air_behind_a_solid_is_no_surface_before_it() {
    let l = lattice([20, 8, 8]);
    let closed: Vec<bool> = (0..l.len()).map(|n| (8..12).contains(&l.coordinates(n)[0])).collect();
    let far = BAND * l.spacing;
    let mut phi: Vec<f32> = (0..l.len()).map(|n| if l.coordinates(n)[0] < 10 { -far } else { far }).collect();
    let before = phi.clone();
    redistance_among_solids(
        &mut phi,
        &l,
        far,
        SolidsAround::of_cells(&closed, Sides::NONE),
        &mut Scratch::default(),
    );
    assert_eq!(phi, before);
    redistance(&mut phi, &l, far, &mut Scratch::default());
    assert_ne!(phi, before, "without the wall it is a surface");
}

/// A level far above a solid, a twentieth of a cell above samples: liquid and air beside it lie in two cells, of which one may be
/// nearly a cell away. Looked for within a quarter, they were not found, and the level was gone.
#[test]
fn a_level_beside_samples_is_shown_above_a_solid() {
    let l = lattice([8, 16, 8]);
    let closed: Vec<bool> = (0..l.len()).map(|n| l.coordinates(n)[1] < 3).collect();
    let far = BAND * l.spacing;
    for above in [0.04f32, 0.5, 0.96] {
        let level = |n: usize| ((l.coordinates(n)[1] as f32 - 8.0 - above) * l.spacing).clamp(-far, far);
        let exact: Vec<f32> = (0..l.len()).map(level).collect();
        let mut phi = exact.clone();
        let solids = SolidsAround::of_cells(&closed, Sides::NONE);
        redistance_before_solids(&mut phi, &l, far, solids, &mut Scratch::default());
        for (n, (phi, exact)) in phi.iter().zip(&exact).enumerate().filter(|(n, _)| !closed[*n]) {
            assert!((phi - exact).abs() < 1e-3 * l.spacing, "{above}: {phi} of {exact} at {n}");
        }
    }
}

/// Water in a tank with walls of three cells, continued into the walls with the air outside: neither the air behind a wall nor
/// the water before it takes the place where the two meet in the wall for a surface.
#[test]
fn liquid_before_a_wall_is_no_surface_behind_it() {
    let l = lattice([16, 20, 8]);
    let closed: Vec<bool> = (0..l.len()).map(|n| (5..8).contains(&l.coordinates(n)[0])).collect();
    let (dx, far) = (l.spacing, BAND * l.spacing);
    let level = |n: usize| (l.coordinates(n)[1] as f32 - 12.3) * dx;
    let mut phi: Vec<f32> =
        (0..l.len()).map(|n| if l.coordinates(n)[0] < 6 { far } else { level(n).clamp(-far, far) }).collect();
    let exact = phi.clone();
    for _ in 0..6 {
        extend_into_solids(&mut phi, &closed, &l, 5, |_| Vec3::ZERO, &mut Scratch::default());
        redistance_before_solids(
            &mut phi,
            &l,
            far,
            SolidsAround::of_cells(&closed, Sides::NONE),
            &mut Scratch::default(),
        );
    }
    let outside = max_difference(&phi, &exact, dx, |n| l.coordinates(n)[0] < 5);
    let inside = max_difference(&phi, &exact, dx, |n| l.coordinates(n)[0] > 7);
    assert!(outside < 1e-4 && inside < 1e-3, "{outside} cells off behind the wall, {inside} in the tank");
}

/// A box floats half under and a little tilted: what is continued into it from below is flat and not the surface's plane. The liquid below it comes
/// no nearer to a surface, however often distances are found anew.
#[test]
fn inside_a_floating_box_is_no_surface() {
    let l = Lattice { size: [20, 18, 20], origin: Vec3::splat(0.5), spacing: 1.0 };
    let away = |n: usize| {
        let d = Vec3::from_array(l.coordinates(n).map(|i| i as f32)) - Vec3::new(9.5, 8.0, 9.5);
        let d = d / Vec3::new(7.0, 3.5, 7.0);
        let axis = (0..3).fold(0, |best, a| if d[a].abs() > d[best].abs() { a } else { best });
        d[axis].signum() * Vec3::AXES[axis]
    };
    let is_closed = |n: usize| {
        let [i, j, k] = l.coordinates(n);
        let tilt = if i < 10 { 0 } else { 1 };
        (3..17).contains(&i) && (3..17).contains(&k) && (5 + tilt..12 + tilt).contains(&j)
    };
    let closed: Vec<bool> = (0..l.len()).map(is_closed).collect();
    let mut phi = fill_band(&l, BAND, |x| x[1] - 8.0);
    let before = phi.clone();
    let mut scratch = Scratch::default();
    for _ in 0..15 {
        extend_into_solids(&mut phi, &closed, &l, 5, away, &mut scratch);
        redistance_among_solids(
            &mut phi,
            &l,
            BAND,
            SolidsAround::of_cells(&closed, Sides::NONE),
            &mut scratch,
        );
    }
    // Beside the box nothing changes, below it the contact line is farther away than the plane was.
    let open = (0..l.len()).filter(|&n| !closed[n]);
    let nearer = open.map(|n| before[n].abs() - phi[n].abs()).fold(0.0, f32::max);
    assert!(nearer < 0.3, "{nearer} cells");
}

/// A level surface runs out on a solid slope, and into the side of a solid that ends above it: open cells beyond the line where the two meet
/// lie above cells of the solid. However often phi is continued into the solid and distances are found anew, theirs stay
/// those of the level, and noise does not grow.
#[test]
fn a_level_that_ends_at_a_solid_goes_on_as_a_plane() {
    let l = Lattice { size: [32, 20, 8], origin: Vec3::splat(0.5), spacing: 1.0 };
    let slope = |steep: f32, lean: f32| {
        move |x: Vec3| {
            (x.y - 6.0 - steep * (x.x - 12.0) - lean * (x.z - 4.0))
                / (1.0f32 + steep * steep + lean * lean).sqrt()
        }
    };
    let corner = |n: usize| Vec3::from_array(std::array::from_fn(|a| (n >> a & 1) as f32 - 0.5));
    for (steep, lean) in [(0.2, 0.0), (0.4, 0.0), (0.4, 0.1), (1.0, 0.2), (3.0, 0.5), (-0.4, 0.1)] {
        let solid = slope(steep, lean);
        let is_closed = |n: usize| {
            let x = Vec3::from_array(l.coordinates(n).map(|i| i as f32 + 0.5));
            (0..8).all(|c| solid(x + corner(c)) < 0.0)
        };
        let closed: Vec<bool> = (0..l.len()).map(is_closed).collect();
        let nodes = Lattice { size: l.size.map(|n| n + 1), origin: Vec3::ZERO, spacing: 1.0 };
        let at_node = |n: usize| solid(Vec3::from_array(nodes.coordinates(n).map(|i| i as f32)));
        let phi_solid_node: Vec<f32> = (0..nodes.len()).map(at_node).collect();
        let around =
            SolidsAround { closed_cell: &closed, phi_solid_node: &phi_solid_node, sides: Sides::NONE };
        for level in [9.04, 9.3, 9.54, 9.8] {
            let exact = fill_band(&l, BAND, |x| x[1] - level);
            // Up to three cells beyond the line where the two meet.
            let is_near = |n: usize| {
                let [x, _, z] = l.coordinates(n).map(|i| i as f32 + 0.5);
                let line = 12.0 + (level as f32 - 6.0 - lean * (z - 4.0)) / steep;
                !closed[n] && exact[n].abs() < 1.5 && (x - line) * steep.signum() < 2.5
            };
            for noise in [0.0, 1e-3] {
                let bump = |n: usize| noise * (random::unit_vec3(n as u64, 5).x - 0.5);
                let mut phi: Vec<f32> = (0..l.len())
                    .map(|n| if exact[n].abs() < BAND { exact[n] + bump(n) } else { exact[n] })
                    .collect();
                let mut scratch = Scratch::default();
                let mut off = vec![];
                for round in 0..61 {
                    extend_into_solids(&mut phi, &closed, &l, 5, |_| Vec3::ZERO, &mut scratch);
                    redistance_before_solids(&mut phi, &l, BAND, around, &mut scratch);
                    if round % 20 == 0 {
                        off.push(max_difference(&phi, &exact, 1.0, is_near));
                    }
                }
                let most = if noise == 0.0 { 1e-5 } else { 2.0 * f64::from(noise) };
                let worst = off.iter().copied().fold(0.0, f64::max);
                assert!(worst < most, "slope {steep} {lean}, level {level}, noise {noise}: {off:?}");
            }
        }
    }
}

/// Amplitude of the surface's Fourier mode, by the crossings of columns.
fn wave_amplitude(phi: &[f32], l: &Lattice, k: f64, mean: f64) -> f64 {
    let n = l.size[0];
    let crossing = |i: usize| {
        let v = |j: usize| phi[l.index(i, j, 1)] as f64;
        let j = (0..l.size[1] - 1).find(|&j| v(j) < 0.0 && v(j + 1) >= 0.0).unwrap();
        j as f64 + 0.5 + v(j) / (v(j) - v(j + 1))
    };
    2.0 / n as f64 * (0..n).map(|i| (crossing(i) - mean) * (k * (i as f64 + 0.5)).cos()).sum::<f64>()
}

#[test]
fn tiny_waves_survive() {
    let l = Lattice { size: [32, 16, 4], origin: Vec3::splat(0.5), spacing: 1.0 };
    let mut scratch = Scratch::default();
    for wavelength in [64.0, 32.0, 16.0, 8.0] {
        for mean in [8.2, 8.5, 7.97] {
            let k = std::f64::consts::TAU / wavelength;
            let mut phi = fill_band(&l, BAND, |x| x[1] - mean - 0.05 * (k * x[0]).cos());
            let before = wave_amplitude(&phi, &l, k, mean);
            for _ in 0..200 {
                redistance(&mut phi, &l, BAND, &mut scratch);
            }
            let change = wave_amplitude(&phi, &l, k, mean) / before - 1.0;
            println!("wavelength {wavelength} mean {mean}: amplitude {:+.2e}", change);
            assert!(change.abs() < 0.01, "wavelength {wavelength}, mean {mean}: {change}");
        }
    }
}

/// A sphere from a phi with the same zero set whose gradient is between a half and two.
#[test]
fn sphere_order() {
    let (center, radius) = ([0.47, 0.52, 0.505], 0.3);
    let [mut near, mut far] = [vec![], vec![]];
    for n in [16, 32, 64] {
        let g = cube(n);
        let l = g.cell_centers();
        let band = BAND * g.dx;
        let exact = fill_band(&l, band, |x| distance(x, center) - radius);
        let mut phi = fill(&l, |x| {
            let d = distance(x, center) - radius;
            d * (1.0 + 0.5 * (3.0 * x[0] + 1.0).sin() * (2.0 * x[1]).cos() + 0.5 * x[2] + d)
        });
        redistance(&mut phi, &l, band, &mut Scratch::default());
        near.push(max_difference(&phi, &exact, 1.0, |i| exact[i].abs() < 0.5 * g.dx));
        far.push(max_difference(&phi, &exact, 1.0, |i| exact[i].abs() < 3.0 * g.dx));
    }
    println!(
        "interface {near:.7?} order {:.2}; three cells {far:.7?} order {:.2}",
        order(&near),
        order(&far)
    );
    assert!(order(&near) > 3.0, "displacement of the interface {near:?}");
    assert!(order(&far) > 3.0, "distance {far:?}");
    assert!(far[1] * 32.0 < 5e-4, "{far:?}");
}

/// Beyond the band phi is exactly the band, whatever it was.
#[test]
fn far_cells_saturate_and_signs_stay() {
    let g = cube(24);
    let l = g.cell_centers();
    let before = fill(&l, |x| 5.0 * (distance(x, [0.5; 3]) - 0.3) * (1.5 + (9.0 * x[1]).sin()));
    let mut phi = before.clone();
    redistance(&mut phi, &l, BAND * g.dx, &mut Scratch::default());
    for (new, old) in phi.iter().zip(&before) {
        assert!((*new < 0.0) == (*old < 0.0) && new.abs() <= BAND * g.dx);
    }
    assert_eq!(phi[0], BAND * g.dx);
    let inside = phi[l.index(12, 12, 12)];
    assert_eq!(inside, -BAND * g.dx);
}

fn volume(phi: &[f32], g: &fluvial_grids::UniformGrid) -> f64 {
    liquid_volume(phi, &vec![1.0; phi.len()], &vec![1.0; g.nodes().len()], g)
}

#[test]
fn edges_do_not_wear_off() {
    let g = cube(24);
    let l = g.cell_centers();
    let angle = 0.4f64;
    let mut phi = fill_band(&l, BAND * g.dx, |x| {
        let r = [x[0] - 0.51, x[1] - 0.48, x[2] - 0.5];
        let (s, c) = angle.sin_cos();
        let d = [(c * r[0] - s * r[1]).abs(), (s * r[0] + c * r[1]).abs(), r[2].abs()].map(|v| v - 0.25);
        let outside = d.iter().map(|v| v.max(0.0).powi(2)).sum::<f64>().sqrt();
        outside + d[0].max(d[1]).max(d[2]).min(0.0)
    });
    let before = volume(&phi, &g);
    let mut scratch = Scratch::default();
    for _ in 0..100 {
        redistance(&mut phi, &l, BAND * g.dx, &mut scratch);
    }
    let change = volume(&phi, &g) / before - 1.0;
    println!("cube of 12 cells: volume {change:+.2e}, {:?}", scratch.redistance_report);
    assert!(change.abs() < 3e-3, "{change}");
}

/// Drops of about a cell: not resolved, but redistancing must not eat them up. Below a cell they may shrink
/// (the grid cannot tell them from noise) but must not grow.
#[test]
fn small_drops_do_not_vanish() {
    let g = cube(16);
    let l = g.cell_centers();
    let dx = g.dx as f64;
    for (radius, bound) in [(0.3, 1.0), (0.7, 0.4), (1.5, 0.02), (2.0, 0.005), (3.0, 0.001)] {
        let mut phi =
            fill_band(&l, BAND * g.dx, |x| distance(x, [8.5 * dx, 8.45 * dx, 7.6 * dx]) - radius * dx);
        let before = volume(&phi, &g);
        for _ in 0..100 {
            redistance(&mut phi, &l, BAND * g.dx, &mut Scratch::default());
        }
        let change = volume(&phi, &g) / before - 1.0;
        println!("drop of radius {radius} dx: volume {change:+.2e}");
        assert!(change.abs() <= bound && change < 0.1, "{radius}: {change}");
    }
}

/// A falling sheet of 1.3 cells may thin out and tear, but no liquid comes from nowhere.
#[test]
fn sheets_do_not_grow_when_carried() {
    let g = cube(20);
    let l = g.cell_centers();
    let dx = g.dx as f64;
    let mut phi = fill_band(&l, BAND * g.dx, |x| (x[1] - 0.6).abs() - 0.65 * dx);
    let before = volume(&phi, &g);
    let mut u = fluvial_grids::FaceField::constant(&g, 0.0);
    u[1].fill(-0.3 * g.dx);
    let (mut next, mut scratch) = (phi.clone(), Scratch::default());
    for step in 0..30 {
        fluvial_level_set::advect_phi(
            &mut next,
            &phi,
            &u,
            &g,
            1.0,
            fluvial_level_set::PhiAdvection::Cubic,
            BAND * g.dx,
            &mut scratch,
        );
        std::mem::swap(&mut phi, &mut next);
        redistance(&mut phi, &l, BAND * g.dx, &mut scratch);
        let change = volume(&phi, &g) / before - 1.0;
        assert!(change < 0.05, "volume {change:+.3} after {step} steps");
    }
}

#[test]
fn a_field_without_interface_or_with_nan_is_no_trouble() {
    let l = lattice([7, 5, 6]);
    let mut phi = vec![0.001; l.len()];
    redistance(&mut phi, &l, 0.05, &mut Scratch::default());
    assert!(phi.iter().all(|&v| v == 0.05));
    let mut phi = plane(&l, 0);
    phi[17] = f32::NAN;
    redistance(&mut phi, &l, 0.05, &mut Scratch::default());
    assert!(phi[17].is_nan(), "bad values are not hidden");
}

/// Slabs of one to three cells are what two-dimensional tests use.
#[test]
fn thin_slabs_work() {
    for depth in [1, 2, 3] {
        let l = lattice([24, 20, depth]);
        let circle = |x: [f64; 3]| (x[0] + 0.15).hypot(x[1] - 0.83) - 0.08;
        let exact = fill_band(&l, BAND * l.spacing, circle);
        let mut phi = fill(&l, |x| circle(x) * (1.3 + 3.0 * x[0]));
        redistance(&mut phi, &l, BAND * l.spacing, &mut Scratch::default());
        let error = max_difference(&phi, &exact, l.spacing, |n| exact[n].abs() < 3.0 * l.spacing);
        assert!(error < 2e-3, "depth {depth}: {error} dx");
    }
}

/// A tongue on the floor of a thin slab, its top tilted across the slab: the closest points of cells above it
/// lie beyond the side walls. The plane that is seen there must not go on along the walls far ahead of the
/// tongue, where no liquid is.
#[test]
fn tilted_tops_do_not_go_on_along_the_walls() {
    let l = Lattice { size: [60, 16, 4], origin: Vec3::splat(0.5), spacing: 1.0 };
    for tilt in [0.1, 0.2, -0.3] {
        let mut phi = fill_band(&l, 5.0, |x| (x[1] - 5.0 - tilt * (x[2] - 2.0)).max(x[0] - 20.3));
        redistance(&mut phi, &l, 5.0, &mut Scratch::default());
        for n in (0..l.len()).filter(|&n| l.coordinates(n)[0] >= 31) {
            assert_eq!(phi[n], 5.0, "tilt {tilt}, cell {:?}", l.coordinates(n));
        }
    }
}

/// A cap's edge on the floor of a corner, phi ahead of it no distance but rough, as transport leaves it from step to step: the
/// closest points of cells ahead lie below the floor. No plane of what is far from the interface makes them nearer than they
/// are, and none comes nearer from step to step: it did, to 0.02 cells where the cap is 4 away.
#[test]
fn distances_ahead_of_a_front_on_the_floor() {
    let l = Lattice { size: [16; 3], origin: Vec3::splat(0.5), spacing: 1.0 };
    let cap = |x: [f64; 3]| distance(x, [1.0, -20.0, 2.0]) - 22.4;
    let exact = fill_band(&l, BAND, cap);
    for seed in 0..4 {
        let mut phi = exact.clone();
        for round in 0..12 {
            let chance = |n: usize| random::unit_vec3(n as u64, 16 * round + seed).x - 0.5;
            phi.iter_mut().enumerate().for_each(|(n, phi)| *phi += 0.3 * chance(n) * (*phi - 1.0).max(0.0));
            redistance(&mut phi, &l, BAND, &mut Scratch::default());
            // Where the surface goes on below the floor as a plane it is nearer than the ball.
            let nearer = (0..l.len()).map(|n| exact[n] - phi[n]).fold(0.0, f32::max);
            let most = if round == 0 { 1.0 } else { 2.2 };
            assert!(nearer < most, "seed {seed}, round {round}: {nearer} cells nearer than the cap");
        }
    }
}
