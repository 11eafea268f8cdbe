//! Surface tension at boundaries.

use crate::{Build, advance, dam_break};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Setup, Solver};
use std::f64::consts::PI;

const SIGMA: f64 = 0.0728;
const DENSITY: f64 = 1000.0;
const EDGE_M: f32 = 0.01;
const CELLS: usize = 24;
/// The caps stay clear of the side walls: the widest has a foot of 0.34 edges' radius.
const VOLUME_M3: f64 = PI / 81.0 * 1e-6;

/// Radius of the ball of which a cap of [`VOLUME_M3`] is that meets the floor at an angle.
fn ball_radius_m(degrees: f64) -> f64 {
    let c = degrees.to_radians().cos();
    (3.0 * VOLUME_M3 / (PI * (2.0 + c) * (1.0 - c) * (1.0 - c))).cbrt()
}

/// A drop without weight on a floor, its shape the exact cap of an angle.
fn drop_on_a_plate(shape_deg: f64, floor_deg: f64) -> Setup {
    let mut setup = dam_break(CELLS, EDGE_M);
    let (radius, cosine) = (ball_radius_m(shape_deg), shape_deg.to_radians().cos());
    let middle = 0.5 * EDGE_M;
    let center = Vec3::new(middle, (-radius * cosine) as f32, middle);
    setup.fills[0].shape = Shape::Sphere { center, radius: radius as f32 };
    setup.liquid.gravity = Vec3::ZERO;
    setup.liquid.surface_tension = SIGMA as f32;
    setup.domain.contact_angles_deg[2] = floor_deg as f32;
    setup
}

/// The vertices of a mesh's largest piece: drops that have come off are not the drop on the plate.
fn largest_piece(mesh: &TriangleMesh) -> Vec<DVec3> {
    // The least vertex that is known to be joined to each.
    let mut root: Vec<usize> = (0..mesh.positions.len()).collect();
    fn find(root: &mut [usize], mut vertex: usize) -> usize {
        while root[vertex] != vertex {
            root[vertex] = root[root[vertex]];
            vertex = root[vertex];
        }
        vertex
    }
    for triangle in &mesh.triangles {
        let roots = triangle.map(|vertex| find(&mut root, vertex as usize));
        let least = roots.into_iter().min().expect("three corners");
        roots.into_iter().for_each(|other| root[other] = least);
    }
    let pieces: Vec<usize> = (0..root.len()).map(|vertex| find(&mut root, vertex)).collect();
    let mut sizes = vec![0; root.len()];
    pieces.iter().for_each(|&piece| sizes[piece] += 1);
    let largest = (0..sizes.len()).max_by_key(|&piece| sizes[piece]);
    let is_part = |vertex: &usize| Some(pieces[*vertex]) == largest;
    (0..pieces.len()).filter(is_part).map(|vertex| mesh.positions[vertex].as_dvec3()).collect()
}

/// Height of the drop, and how far its side is from that of a cap, on average over a layer a cell above the floor, from its
/// mesh: nearer to the floor the mesh is closed by what the liquid's volume says.
fn height_and_misfit_m(solver: &dyn Solver, radius: f64, cosine: f64) -> [f64; 2] {
    let drop = largest_piece(&solver.surface(&Default::default()));
    let (dx, middle) = (f64::from(EDGE_M) / CELLS as f64, 0.5 * f64::from(EDGE_M));
    let height = drop.iter().map(|x| x.y).fold(0.0, f64::max);
    let misfit = |x: DVec3| (x - DVec3::new(middle, -radius * cosine, middle)).length() - radius;
    let side: Vec<f64> = drop.into_iter().filter(|x| (x.y / dx - 1.0).abs() < 0.5).map(misfit).collect();
    [height, side.iter().sum::<f64>() / side.len() as f64]
}

/// Exact caps of the given contact angles stay what they are for as long as a free drop takes for a swing: with any other angle
/// at the floor tension would set them in motion at once.
pub fn a_drop_on_a_plate_takes_the_shape_of_its_cap(build: Build, angles_deg: &[f64]) {
    let swing_s = |radius: f64| 2.0 * PI * (DENSITY * radius.powi(3) / (8.0 * SIGMA)).sqrt();
    let mut all_good = true;
    for &degrees in angles_deg {
        let (radius, c) = (ball_radius_m(degrees), degrees.to_radians().cos());
        let (height, foot) = (radius * (1.0 - c), radius * (1.0 - c * c).sqrt());
        let mut solver = build(drop_on_a_plate(degrees, degrees));
        let (mut worst, mut fastest) = ([0.0f64; 2], 0.0f64);
        let unit_m_s = (SIGMA / (DENSITY * radius)).sqrt();
        for n in 1..=8 {
            let reports = advance(solver.as_mut(), 0.125 * n as f64 * swing_s(radius));
            fastest = reports.iter().map(|r| r.max_speed_m_s).fold(fastest, f64::max);
            let [found, misfit] = height_and_misfit_m(solver.as_ref(), radius, c);
            worst = [worst[0].max((found / height - 1.0).abs()), worst[1].max(misfit.abs() / foot)];
        }
        println!("{degrees} degrees: height and radius off by {worst:.4?}, speed {:.4}", fastest / unit_m_s);
        all_good &= worst[0] < 0.03 && worst[1] < 0.03;
    }
    assert!(all_good, "the numbers above say where");
}

#[test]
fn the_largest_piece_of_a_mesh_is_all_of_the_drop_and_nothing_else() {
    let positions: Vec<Vec3> = (0..8).map(|n| Vec3::splat(n as f32)).collect();
    // A strip of five vertices that its triangles do not list in order, and another piece beside it.
    let triangles = vec![[4, 6, 7], [0, 5, 1], [6, 4, 2], [2, 6, 7], [7, 3, 4]];
    let found = largest_piece(&TriangleMesh { positions, velocities: vec![], triangles });
    assert_eq!(found, [2, 3, 4, 6, 7].map(|n| DVec3::splat(n as f64)));
}
