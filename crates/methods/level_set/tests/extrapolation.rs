//! Velocity past the liquid and phi into solids.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_level_set::*;

fn marked(g: &UniformGrid, inside: impl Fn([f64; 3]) -> bool) -> [Vec<u8>; 3] {
    std::array::from_fn(|axis| {
        fill(&g.faces(axis), |x| inside(x) as u8 as f64).iter().map(|&v| v as u8).collect()
    })
}

#[test]
fn constant_velocity_extends_by_the_layers_asked_for() {
    let g = cube(16);
    let u0 = [0.7, -0.21, 0.33];
    let mut valid = marked(&g, |x| distance(x, [0.5; 3]) < 0.2);
    let before = valid.clone();
    let mut u = velocity(&g, |x| if distance(x, [0.5; 3]) < 0.2 { u0 } else { [9.0; 3] });
    extrapolate_velocity(&mut u, &mut valid, &g, 3, &mut Scratch::default());
    for axis in 0..3 {
        let faces = g.faces(axis);
        for f in 0..faces.len() {
            let c = faces.coordinates(f);
            // Layers are steps through faces: count them to the nearest marked face.
            let steps = (0..faces.len())
                .filter(|&m| before[axis][m] != 0)
                .map(|m| (0..3).map(|a| faces.coordinates(m)[a].abs_diff(c[a])).sum::<usize>())
                .min()
                .unwrap();
            let expected = if steps <= 3 { u0[axis] as f32 } else { 9.0 };
            assert!(
                (u[axis][f] - expected).abs() < 1e-6,
                "axis {axis} {c:?}: {} at {steps} steps",
                u[axis][f]
            );
            assert_eq!(valid[axis][f] as usize, if steps <= 3 { steps + 1 } else { 0 });
        }
    }
}

#[test]
fn across_a_flat_front_velocity_is_constant_along_the_normal() {
    let g = cube(12);
    let shear = |x: [f64; 3]| [x[0] - 2.0 * x[2], x[2], 3.0 * x[0]];
    let mut valid = marked(&g, |x| x[1] < 0.51);
    let mut u = velocity(&g, |x| if x[1] < 0.51 { shear(x) } else { [7.0; 3] });
    extrapolate_velocity(&mut u, &mut valid, &g, 4, &mut Scratch::default());
    for axis in 0..3 {
        let exact = fill(&g.faces(axis), |x| if x[1] < 0.51 + 4.0 / 12.0 { shear(x)[axis] } else { 7.0 });
        assert!(max_difference(&u[axis], &exact, 1.0, |_| true) < 1e-6);
    }
}

/// A linear field beyond a curved front: the error is that of going along the normal, first order in dx.
#[test]
fn linear_velocity_stays_within_the_distance_extended() {
    for n in [16, 32] {
        let g = cube(n);
        let field = |x: [f64; 3]| [x[0] + x[1], x[1] - x[2], x[2] * 0.5];
        let mut valid = marked(&g, |x| distance(x, [0.5; 3]) < 0.3);
        let mut u = velocity(&g, |x| if distance(x, [0.5; 3]) < 0.3 { field(x) } else { [0.0; 3] });
        extrapolate_velocity(&mut u, &mut valid, &g, 2, &mut Scratch::default());
        for axis in 0..3 {
            let exact = fill(&g.faces(axis), |x| field(x)[axis]);
            let error = max_difference(&u[axis], &exact, g.dx, |f| valid[axis][f] != 0);
            assert!(error < 3.0, "{n}: {error} dx");
        }
    }
}

/// A tank deep under its surface, with noise of a twentieth of a cell beside a thick solid: inside it the continued
/// values stay liquid. (Continued from layer to layer, noise triples with every one.)
#[test]
fn noise_does_not_grow_in_solids() {
    let g = cube(24);
    let l = g.cell_centers();
    let closed: Vec<bool> =
        fill(&l, |x| distance([x[0], 0.5, x[2]], [0.5; 3]) - 0.2).iter().map(|&d| d < 0.0).collect();
    let noise = |x: [f64; 3]| ((x[0] * 7919.0 + x[1] * 104729.0 + x[2] * 1299709.0).sin() * 43758.5).fract();
    let mut phi = fill(&l, |x| x[1] - 0.9 + 0.05 * g.dx as f64 * noise(x));
    let exact = fill(&l, |x| x[1] - 0.9);
    extend_into_solids(&mut phi, &closed, &l, 5, |_| Vec3::ZERO, &mut Scratch::default());
    let error = max_difference(&phi, &exact, g.dx, |_| true);
    // Five cells of a slope that noise changes by up to 0.05 in each direction.
    assert!(error < 0.3, "{error} cells");
}

#[test]
fn a_plane_continues_into_solids() {
    let g = UniformGrid { min: Vec3::new(0.1, 0.0, -0.2), cells: [18, 16, 14], dx: 0.05 };
    let l = g.cell_centers();
    let plane = |x: [f64; 3]| 0.48 * (x[0] - 0.5) + 0.6 * (x[1] - 0.4) + 0.64 * (x[2] - 0.1);
    let exact = fill(&l, plane);
    // A ball, a wall one cell thick and a corner block.
    let closed: Vec<bool> = (0..l.len())
        .map(|n| {
            let c = l.coordinates(n);
            let x = l.position(c[0], c[1], c[2]);
            x.distance(Vec3::new(0.5, 0.4, 0.1)) < 0.19 || c[0] == 14 || c.iter().all(|&v| v < 4)
        })
        .collect();
    let mut phi: Vec<f32> = exact.iter().zip(&closed).map(|(&v, &c)| if c { 77.0 } else { v }).collect();
    extend_into_solids(&mut phi, &closed, &l, 8, |_| Vec3::ZERO, &mut Scratch::default());
    let error = max_difference(&phi, &exact, g.dx, |_| true);
    assert!(error < 1e-5, "{error} dx");
}

#[test]
fn only_as_many_layers_of_solid_as_asked_for() {
    let g = cube(10);
    let l = g.cell_centers();
    let closed: Vec<bool> = (0..l.len()).map(|n| l.coordinates(n)[1] < 6).collect();
    let mut phi = fill(&l, |x| if x[1] < 0.6 { 5.0 } else { x[0] - x[1] });
    extend_into_solids(&mut phi, &closed, &l, 2, |_| Vec3::ZERO, &mut Scratch::default());
    let exact = fill(&l, |x| if x[1] < 0.4 { 5.0 } else { x[0] - x[1] });
    assert!(max_difference(&phi, &exact, 1.0, |_| true) < 1e-6);
}

/// A wall of closed cells between air that is far from any liquid and liquid: each half of it takes what lies beside
/// it, also a single middle layer, so that no liquid appears beyond a wall that moves on.
#[test]
fn both_sides_of_a_wall_continue_to_its_middle() {
    let g = cube(10);
    let l = g.cell_centers();
    for thickness in [0.12, 0.22, 0.42] {
        // The wall's middle lies a little to the right of the middle of a cell.
        let off = |n: usize| l.position(l.coordinates(n)[0], 0, 0).x - 0.46;
        let closed: Vec<bool> = (0..l.len()).map(|n| off(n).abs() < 0.5 * thickness).collect();
        // Saturated air on the left, liquid whose depth is a distance on the right.
        let exact: Vec<f32> =
            (0..l.len()).map(|n| if off(n) < 0.0 { 0.4 } else { -0.1 - 0.1 * off(n) }).collect();
        let mut phi: Vec<f32> = exact.iter().zip(&closed).map(|(&v, &c)| if c { 77.0 } else { v }).collect();
        let away = |n: usize| Vec3::X * off(n).signum();
        extend_into_solids(&mut phi, &closed, &l, 8, away, &mut Scratch::default());
        let error = max_difference(&phi, &exact, 1.0, |_| true);
        assert!(error < 1e-6, "{thickness}: {error}");
    }
}
