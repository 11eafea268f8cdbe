//! Mean-curvature flow and surface tension.

use crate::common::{phi_at_nodes, unit_grid};
use fluvial_cutcell::curvature_flow::CurvatureFlow;
use fluvial_cutcell::cut::{CutScratch, cut_liquid};
use fluvial_cutcell::iso::IsoSamples;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::poisson::System;
use fluvial_cutcell::tension::{
    accelerate_along_surface, add_to_right_side, differences_at_faces, pressure_of_pieces,
};
use fluvial_cutcell::velocity::{Given, StepScales, project_faces, right_side};
use fluvial_foundation::DVec3;
use fluvial_linear::Params;
use fluvial_linear::krylov::CgScratch;

const TIGHT: Params = Params { relative_tolerance: 1e-10, max_iterations: 500, ..Params::DEFAULT };

fn cut_shape(cells: usize, factor: usize, phi: impl Fn(DVec3) -> f64) -> (CutCells, IsoSamples) {
    let grid = unit_grid([cells; 3]);
    let phi_node = phi_at_nodes(&grid, factor, phi);
    let tracker = Tracker { grid, factor, phi_node: &phi_node };
    let mesh = cut_liquid(&tracker, &mut CutScratch::default());
    let mut iso = IsoSamples::default();
    iso.find(&mesh, &tracker);
    (mesh, iso)
}

/// Mean and largest relative error of the curvature against that of the implicit flow.
fn ball_errors(radius: f64, tau: f64) -> [f64; 2] {
    let center = DVec3::new(5.03, 4.96, 5.01);
    let (mesh, _) = cut_shape(10, 2, |x| (x - center).length() - radius);
    let mut flow = CurvatureFlow::default();
    flow.flow(&mesh, tau, &TIGHT).expect("it converges");
    let exact = 2.0 / radius / (1.0 + 2.0 * tau / (radius * radius));
    let errors: Vec<f64> = flow.curvature.iter().map(|k| k / exact - 1.0).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let most = errors.iter().fold(0.0, |m: f64, e| m.max(e.abs()));
    println!(
        "radius {radius}: mean {mean:.4}, largest {most:.4}, {} slivers, {} iterations",
        flow.clamped_triangles, flow.iterations
    );
    [mean, most]
}

#[test]
fn curvature_of_a_ball() {
    let [mean, most] = ball_errors(2.0, 0.25);
    assert!(mean.abs() < 0.02 && most < 0.15, "{mean} {most}");
    let [mean, most] = ball_errors(4.0, 0.25);
    assert!(mean.abs() < 0.01 && most < 0.1, "{mean} {most}");
}

/// An eighth of a ball between three walls is curved beside them as the whole ball is there: the surface does not end on a wall,
/// which would draw it away and make its curvature a tenth too low beside it.
#[test]
fn curvature_of_a_ball_between_walls() {
    let (radius, tau) = (4.03, 0.25);
    let (mesh, _) = cut_shape(6, 2, |x| x.length() - radius);
    let mut flow = CurvatureFlow::default();
    flow.flow(&mesh, tau, &TIGHT).expect("it converges");
    let exact = 2.0 / radius / (1.0 + 2.0 * tau / (radius * radius));
    let (mut sum, mut count) = (0.0, 0.0);
    for (&v, k) in flow.vertices.iter().zip(&flow.curvature) {
        if mesh.vertices[v as usize].min_element() < 0.75 {
            (sum, count) = (sum + k, count + 1.0);
        }
    }
    let off: f64 = sum / count / exact - 1.0;
    assert!(off.abs() < 0.03, "curvature beside walls is off by {off}");
}

/// A cube, a film with a rim, and a pool between walls: the flow takes area and leaves the volume.
#[test]
fn area_decreases_and_volume_stays() {
    type Phi = fn(DVec3) -> f64;
    let shapes: [Phi; 3] = [
        |x| (x - 3.02).abs().max_element() - 1.53,
        |x| {
            let d = (x - 3.0).abs() - DVec3::new(2.0, 0.3, 2.0);
            d.max_element()
        },
        |x| x.y - 2.6 - 0.4 * (2.0 * x.x).cos() * x.z.sin(),
    ];
    for (n, phi) in shapes.iter().enumerate() {
        let (mesh, _) = cut_shape(6, 4, phi);
        let mut flow = CurvatureFlow::default();
        flow.flow(&mesh, 0.05, &TIGHT).expect("it converges");
        let (swept, [before, after]) = flow.swept_volume_and_areas(&mesh);
        let volume: f64 = mesh.pieces.iter().map(|p| p.volume).sum();
        println!("shape {n}: area {before} to {after}, swept {swept} of {volume}");
        assert!(after < 0.999 * before, "shape {n}: {before} {after}");
        assert!(swept.abs() < 1e-9 * volume, "shape {n}: {swept} of {volume}");
        // Only vertices on walls may lie on walls, and they stay there.
        for (&v, x) in flow.vertices.iter().zip(&flow.moved) {
            let from = mesh.vertices[v as usize];
            (0..3).filter(|&a| from[a] == 0.0 || from[a] == 6.0).for_each(|a| assert_eq!(x[a], from[a]));
        }
    }
}

/// A drop at rest: inside it the pressure is `2 sigma / R` above the air's, and one step leaves little
/// velocity.
#[test]
fn a_static_drop_has_laplaces_jump() {
    let (radius, sigma, tau) = (3.0, 0.072, 0.25);
    let center = DVec3::new(4.03, 3.96, 4.01);
    let (mesh, iso) = cut_shape(8, 4, |x| (x - center).length() - radius);
    let scales = StepScales { dt_s: 0.01, density: 1000.0, dx: 1.0 };
    let mut flow = CurvatureFlow::default();
    flow.flow(&mesh, tau, &TIGHT).expect("it converges");
    let mut q_vertex = vec![];
    flow.curvature_of_mesh(&mut q_vertex, &mesh);
    q_vertex.iter_mut().for_each(|q| *q *= sigma / scales.dx);
    let mut q_piece = vec![0.0; mesh.pieces.len()];
    pressure_of_pieces(&mut q_piece, &mesh, &q_vertex);
    let mut q_face = vec![0.0; mesh.faces.len()];
    differences_at_faces(&mut q_face, &mesh, &iso, &q_piece);
    let mut u_face = vec![0.0; mesh.faces.len()];
    let u_triangle = vec![DVec3::ZERO; mesh.triangles.len()];
    let (mut rhs, mut p) = (vec![0.0; mesh.pieces.len()], vec![0.0; mesh.pieces.len()]);
    right_side(&mut rhs, &mesh, (&u_face, &u_triangle, &Given::NOTHING), &scales);
    add_to_right_side(&mut rhs, &mesh, &iso, &q_face, &Given::NOTHING);
    let system = System::assemble(&mesh, &iso, &Given::NOTHING);
    system.solve(&mut p, &rhs, &TIGHT, &mut CgScratch::default()).expect("it converges");
    project_faces(&mut u_face, &mesh, &iso, &p, Some(&q_face), &scales);
    let jump = 2.0 * sigma / radius / (1.0 + 2.0 * tau / (radius * radius));
    for (piece, p) in mesh.pieces.iter().zip(&p).filter(|p| p.0.is_full) {
        assert!((p / jump - 1.0).abs() < 0.03, "{piece:?}: {p} of {jump}");
    }
    // What one step would give if the jump acted over one cell without being balanced.
    let unbalanced = scales.dt_s * jump / (scales.density * scales.dx);
    let inner = mesh.faces.iter().zip(&u_face).filter(|f| !f.0.pieces.contains(&NONE));
    let fastest = inner.fold(0.0, |m: f64, (_, u)| m.max(u.abs()));
    let mut u_vertex = vec![DVec3::ZERO; mesh.vertices.len()];
    accelerate_along_surface(&mut u_vertex, &mesh, &q_vertex, &scales);
    let along = u_vertex.iter().fold(0.0, |m: f64, u| m.max(u.length()));
    println!(
        "fastest {:.4} of unbalanced, along the surface {:.4}",
        fastest / unbalanced,
        along / unbalanced
    );
    assert!(fastest < 0.03 * unbalanced, "{fastest} {unbalanced}");
}

/// On a plane surface the tangential acceleration of a linear q is exact, away from walls.
#[test]
fn acceleration_along_a_plane_is_exact() {
    let normal = DVec3::new(0.3, 1.0, -0.2).normalize();
    let (mesh, _) = cut_shape(4, 3, |x| (x - 2.05).dot(normal));
    let slope = DVec3::new(0.7, -0.4, 1.1);
    let q_vertex: Vec<f64> = mesh.vertices.iter().map(|x| slope.dot(*x)).collect();
    let scales = StepScales { dt_s: 0.01, density: 1000.0, dx: 0.5 };
    let mut u_vertex = vec![DVec3::ZERO; mesh.vertices.len()];
    accelerate_along_surface(&mut u_vertex, &mesh, &q_vertex, &scales);
    let wanted = -0.01 / (1000.0 * 0.5) * (slope - slope.dot(normal) * normal);
    let inner = |x: DVec3| x.cmpgt(DVec3::ZERO).all() && x.cmplt(DVec3::splat(4.0)).all();
    let mut count = 0;
    for v in mesh.triangles.iter().flat_map(|t| t.vertices).filter(|&v| inner(mesh.vertices[v as usize])) {
        // phi is f32: the plane is flat to 1e-7, and slivers tilt by more.
        assert!(
            (u_vertex[v as usize] - wanted).length() < 1e-3 * wanted.length(),
            "{}",
            u_vertex[v as usize]
        );
        count += 1;
    }
    assert!(count > 100);
}
