//! Liquid fractions and volumes.

use crate::common::*;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::{Sides, UniformGrid};
use fluvial_level_set::*;
use std::f64::consts::PI;

/// Fraction of a unit cube below a plane by fine sampling of two axes, exact along the third.
fn sampled(phi: f64, g: [f64; 3]) -> f64 {
    let long = (0..3).max_by(|&a, &b| g[a].abs().total_cmp(&g[b].abs())).unwrap();
    let (u, v) = ((long + 1) % 3, (long + 2) % 3);
    let n = 400;
    let at = |m: usize| (m as f64 + 0.5) / n as f64 - 0.5;
    let mut sum = 0.0;
    for a in 0..n {
        for b in 0..n {
            let rest = phi + g[u] * at(a) + g[v] * at(b);
            let share = 0.5 - rest / g[long].abs();
            sum += share.clamp(0.0, 1.0);
        }
    }
    sum / (n * n) as f64
}

#[test]
fn fractions_of_random_planes() {
    for case in 0..60 {
        let r = random::unit_vec3(case, 5) - 0.5;
        let mut g = [r.x as f64, r.y as f64, r.z as f64];
        match case % 6 {
            1 => g[0] = 0.0,
            2 => (g[0], g[1]) = (0.0, 0.0),
            3 => g[1] *= 1e-4,
            4 => g[2] *= 1e-7,
            _ => {}
        }
        let span: f64 = g.iter().map(|v| v.abs()).sum::<f64>() * 0.5;
        let phi = span * (2.2 * random::unit_f32(case, 6) as f64 - 1.1);
        let dx = 0.037;
        let gradient = Vec3::new(g[0] as f32, g[1] as f32, g[2] as f32) / dx;
        let fraction = liquid_fraction(phi as f32, gradient, dx) as f64;
        let expected = sampled(phi, g);
        assert!((fraction - expected).abs() < 2e-5, "{g:?} {phi}: {fraction} {expected}");
        let rest = liquid_fraction(-phi as f32, gradient, dx) as f64;
        assert!((fraction + rest - 1.0).abs() < 1e-6, "{g:?} {phi}: liquid and air fill the cell");
    }
    assert_eq!(liquid_fraction(-1.0, Vec3::ZERO, 0.1), 1.0);
    assert_eq!(liquid_fraction(1.0, Vec3::ZERO, 0.1), 0.0);
}

fn open_everywhere(g: &UniformGrid) -> (Vec<f32>, Vec<f32>) {
    (vec![1.0; g.cell_count()], vec![1.0; g.nodes().len()])
}

#[test]
fn volume_below_planes_is_exact_up_to_the_walls() {
    let g = UniformGrid { min: Vec3::new(0.3, -0.1, 0.0), cells: [9, 8, 7], dx: 0.125 };
    let (open, solid) = open_everywhere(&g);
    let bounds = g.bounds();
    let size = bounds.size().as_dvec3();
    for (normal, center) in [([0.0, 1.0, 0.0], [0.0, 0.43, 0.0]), ([0.48, 0.6, 0.64], [0.8, 0.4, 0.45])] {
        let phi = fill(&g.cell_centers(), |x| (0..3).map(|a| normal[a] * (x[a] - center[a])).sum());
        // The whole box as one cell, stretched to a unit cube.
        let middle = bounds.center().as_dvec3();
        let value: f64 = (0..3).map(|a| normal[a] * (middle[a] - center[a])).sum();
        let stretched =
            Vec3::new((normal[0] * size.x) as f32, (normal[1] * size.y) as f32, (normal[2] * size.z) as f32);
        let exact = liquid_fraction(value as f32, stretched, 1.0) as f64 * size.x * size.y * size.z;
        let volume = liquid_volume(&phi, &open, &solid, &g);
        assert!((volume - exact).abs() < 1e-6 * exact, "{volume} {exact}");
    }
}

#[test]
fn sphere_volume_order() {
    let (center, radius) = ([0.48, 0.51, 0.5], 0.3);
    let errors: Vec<f64> = [16, 32, 64]
        .map(|n| {
            let g = cube(n);
            let (open, solid) = open_everywhere(&g);
            let phi = fill(&g.cell_centers(), |x| distance(x, center) - radius);
            (liquid_volume(&phi, &open, &solid, &g) / (4.0 / 3.0 * PI * radius.powi(3)) - 1.0).abs()
        })
        .into();
    println!("sphere {errors:.7?} order {:.2}", order(&errors));
    assert!(order(&errors) > 2.5 && errors[0] < 2e-4, "{errors:?}");
}

/// Share of a cell that is open, as the solids' side computes it: the plane's.
fn open_volumes(g: &UniformGrid, normal: [f64; 3], plane: impl Fn([f64; 3]) -> f64) -> Vec<f32> {
    let gradient = Vec3::new(-normal[0] as f32, -normal[1] as f32, -normal[2] as f32);
    fill(&g.cell_centers(), &plane).iter().map(|&v| liquid_fraction(-v, gradient, g.dx)).collect()
}

#[test]
fn sphere_cut_by_a_solid_plane_order() {
    let (center, radius) = ([0.5, 0.5, 0.5], 0.3);
    let normal = [0.6, 0.64, 0.48];
    let height = 0.11; // of the centre above the solid
    let plane = |x: [f64; 3]| (0..3).map(|a| normal[a] * (x[a] - center[a])).sum::<f64>() + height;
    let cap = radius - height;
    let exact = 4.0 / 3.0 * PI * radius.powi(3) - PI * cap * cap * (3.0 * radius - cap) / 3.0;
    let errors: Vec<f64> = [16, 32, 64]
        .map(|n| {
            let g = cube(n);
            let phi = fill(&g.cell_centers(), |x| distance(x, center) - radius);
            let solid = fill(&g.nodes(), plane);
            (liquid_volume(&phi, &open_volumes(&g, normal, plane), &solid, &g) / exact - 1.0).abs()
        })
        .into();
    println!("sphere cut by a solid {errors:.7?} order {:.2}", order(&errors));
    assert!(order(&errors) > 1.9 && errors[0] < 6e-3, "{errors:?}");
}

/// A film on a slope thinner than a cell: the product of fractions would be wrong by a large factor.
#[test]
fn film_on_a_slope_is_exact() {
    let g = cube(12);
    let normal = [0.6, 0.8, 0.0];
    let plane = |x: [f64; 3]| normal[0] * (x[0] - 0.5) + normal[1] * (x[1] - 0.5);
    let thickness = 0.4 / 12.0;
    let phi = fill(&g.cell_centers(), |x| plane(x) - thickness);
    let solid = fill(&g.nodes(), plane);
    let open = open_volumes(&g, normal, plane);
    let film = liquid_volume(&phi, &open, &solid, &g);
    let dry = fill(&g.cell_centers(), plane);
    let all = |phi: &[f32]| liquid_volume(phi, &vec![1.0; g.cell_count()], &vec![1.0; solid.len()], &g);
    let exact = all(&phi) - all(&dry);
    assert!((film / exact - 1.0).abs() < 1e-5, "{film} {exact}");
}

/// A sheet of a third of a cell, midway between two layers of cells that are dry.
#[test]
fn thin_sheets_count() {
    let g = cube(10);
    let (open, solid) = open_everywhere(&g);
    for thickness in [0.033, 0.06] {
        let phi = fill(&g.cell_centers(), |x| (x[1] - 0.55).abs() - 0.5 * thickness);
        let volume = liquid_volume(&phi, &open, &solid, &g);
        assert!((volume / thickness - 1.0).abs() < 1e-5, "{thickness}: {volume}");
    }
}

/// A wall leaves one side of the cells along it. What they hold of level water answers to the height at their own centres alone
/// where fluxes carry it, as those do: the section of the open part by the height, and nothing by a neighbour's. Measured as
/// phi is between the centres, a part of the answer is the neighbour's.
#[test]
fn a_wave_along_a_wall_changes_the_cells_that_it_is_in() {
    let g = cube(12);
    let normal = [0.75f64.sqrt(), 0.5, 0.0];
    let plane = |x: [f64; 3]| normal[0] * (x[0] - 0.55) + normal[1] * (x[1] - 0.5);
    let (open, solid) = (open_volumes(&g, normal, plane), fill(&g.nodes(), plane));
    let level = fill(&g.cell_centers(), |x| x[1] - 0.52);
    let held = |phi: &[f32], up: Vec3| {
        let mut out = vec![0.0; g.cell_count()];
        liquid_fractions(&mut out, phi, &open, &solid, Sides::NONE, &g, up);
        out
    };
    let cells = g.cell_centers();
    let (cut, beside) = (cells.index(6, 6, 6), cells.index(7, 6, 6));
    assert!(open[cut] > 0.2 && open[cut] < 0.8 && open[beside] == 1.0, "{} {}", open[cut], open[beside]);
    let answer = |of: usize, to: usize, up: Vec3| {
        let wave = 1e-3 * g.dx;
        let [low, high] = [-wave, wave].map(|by| {
            let mut phi = level.clone();
            // The column, on both sides of the surface.
            for row in [5, 6, 7] {
                let [i, _, k] = cells.coordinates(to);
                phi[cells.index(i, row, k)] += by;
            }
            held(&phi, up)[of]
        });
        (low - high) / 2e-3
    };
    let [own, others, before] =
        [answer(cut, cut, Vec3::Y), answer(cut, beside, Vec3::Y), answer(cut, beside, Vec3::ZERO)];
    assert!(others.abs() < 0.02 * own, "{others} by the neighbour, {own} by itself");
    assert!(before > 0.1 * own, "{before} of {own}: the scene is about something");
    let level_is_level = (held(&level, Vec3::Y)[cut] - held(&level, Vec3::ZERO)[cut]).abs();
    assert!(level_is_level < 1e-5, "{level_is_level}");
}
