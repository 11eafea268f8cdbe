//! What solids leave open of faces and cells.

use crate::common::*;
use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{AXES, DVec3, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::cut::cube_below_plane;
use fluvial_grids::octree::{Shape, Side};
use fluvial_octree::divergence::inflow;
use fluvial_octree::fractions::{
    FractionsScratch, Kinks, close_walls, measure_kinks, open_fractions, solid_velocity,
};
use fluvial_octree::gradient::Geometry;
use fluvial_solids::{Motion, PlacedSolids, Shape as SolidShape};

fn at_nodes(tree: &Octree, f: impl Fn(DVec3) -> f64) -> Vec<f32> {
    (0..tree.node_count()).map(|node| f(tree.node_position(node).as_dvec3()) as f32).collect()
}

/// Open areas of faces and volumes of cells.
fn fractions(tree: &Octree, phi_solid: impl Fn(DVec3) -> f64) -> (Vec<f32>, Vec<f32>) {
    let (mut area_face, mut volume_cell) = (vec![], vec![]);
    let phi = at_nodes(tree, phi_solid);
    open_fractions(&mut area_face, &mut volume_cell, tree, &phi, &mut FractionsScratch::default());
    (area_face, volume_cell)
}

fn open_volume(tree: &Octree, volume_cell: &[f32]) -> f64 {
    (0..tree.cell_count()).map(|c| volume_cell[c] as f64 * (tree.cell_dx(c) as f64).powi(3)).sum()
}

/// Planes through random trees: the open volume is exact, and the open sides of a cell close up with the
/// plane in it, their sum being normal to it. T-junctions too, seen from the large cell.
#[test]
fn planes_cut_exact_volumes_and_closed_cells() {
    let mut cut_junctions = 0;
    for seed in 0..12 {
        let tree = random_tree(4, [5, 4, 3], (seed % 4) as u32, seed);
        let bounds = tree.shape().bounds();
        let normal = (unit_vec3(seed, 1).as_dvec3() - 0.5).normalize();
        let middle = bounds.center().as_dvec3() + 0.1 * unit_vec3(seed, 2).as_dvec3();
        let plane = |x: DVec3| (x - middle).dot(normal);
        let (area_face, volume_cell) = fractions(&tree, plane);
        let size = bounds.size().as_dvec3();
        let value = plane(bounds.center().as_dvec3());
        let exact = size.element_product() * (1.0 - cube_below_plane(value, (normal * size).to_array()));
        let error = open_volume(&tree, &volume_cell) / exact - 1.0;
        assert!(error.abs() < 1e-5, "{error}");
        for cell in 0..tree.cell_count() {
            let faces = tree.cell_faces()[cell].map(|face| face as usize);
            if faces.iter().any(|&face| tree.face_dx(face) != tree.cell_dx(cell)) {
                continue;
            }
            let area = faces.map(|face| area_face[face] as f64);
            let sum = DVec3::new(area[1] - area[0], area[3] - area[2], area[5] - area[4]);
            assert!(sum.cross(normal).length() < 1e-4 && sum.dot(normal) > -1e-5, "{sum} {normal}");
            let cut = |&&face: &&usize| tree.is_junction(face) && (0.01..0.99).contains(&area_face[face]);
            cut_junctions += faces.iter().filter(cut).count();
        }
    }
    assert!(cut_junctions > 100, "{cut_junctions}");
}

/// Volume of a ball across two levels, half of it on each: second order.
#[test]
fn a_solid_ball_keeps_its_volume() {
    let (centre, radius) = (DVec3::splat(0.5), 0.31);
    let exact = 4.0 / 3.0 * std::f64::consts::PI * radius * radius * radius;
    let errors = [32, 64].map(|finest| {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / finest as f32, levels: 2, roots: [finest / 2; 3] };
        let tree = Octree::build(shape, 0, |cell| shape.center(cell).x < 0.5);
        let (_, volume_cell) = fractions(&tree, |x| (x - centre).length() - radius);
        (1.0 - open_volume(&tree, &volume_cell)) / exact - 1.0
    });
    assert!(errors[1].abs() < 0.004 && (errors[0] / errors[1]).log2() > 1.9, "{errors:?}");
}

/// Liquid that goes along with a solid flows nowhere into it; at rest it feels the solid push.
#[test]
fn a_moving_solid_brings_its_own_volume() {
    let tree = random_tree(4, [5, 4, 3], 1, 3);
    let centre = tree.shape().bounds().center().as_dvec3();
    let (mut area_face, _) = fractions(&tree, |x| (x - centre).length() - 0.35);
    let flow = Vec3::new(0.4, -0.3, 0.9);
    let mut u_solid = vec![];
    solid_velocity(&mut u_solid, &tree, (&area_face, [false; 6]), |_| flow);
    assert!((0..u_solid.len()).all(|f| (u_solid[f] != 0.0) == (area_face[f] < 1.0)));
    let phi_cell = vec![-1.0; tree.cell_count()];
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &area_face };
    let mut rhs = vec![0.0; tree.cell_count()];
    inflow(&mut rhs, &geometry, &at_faces(&tree, |_| flow.as_dvec3()), Some(&u_solid));
    assert!(rhs.iter().all(|v| v.abs() < 1e-6));
    inflow(&mut rhs, &geometry, &vec![0.0; tree.face_count()], Some(&u_solid));
    let pushed: f64 = rhs.iter().map(|v| v.abs()).sum();
    assert!(rhs.iter().sum::<f64>().abs() < 1e-6 && pushed > 0.1, "{pushed}");
    close_walls(&mut area_face, &tree, [true, true, false, true, true, true]);
    for axis in AXES {
        for face in tree.faces(axis) {
            let sides = tree.sides(face);
            let bottom = axis == 1 && sides[0] == Side::Outside;
            assert!(bottom || !sides.contains(&Side::Outside) || area_face[face] == 0.0);
            assert!(!bottom || area_face[face] == 1.0);
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let tree = random_tree(4, [4, 4, 4], 1, 8);
    let bumpy = |x: DVec3| (7.0 * x.x).sin() + (9.0 * x.y).cos() * (8.0 * x.z).sin();
    let run = |threads| parallel::with_threads(threads, || fractions(&tree, bumpy));
    assert_eq!(run(1), run(3));
}

/// A box leaves what it does not fill of a tree, through cells of several sizes.
#[test]
fn edges_of_a_box_take_what_they_fill() {
    let mut worst_of_nodes = 0.0f64;
    for seed in 0..6 {
        let tree = random_tree(4, [5, 4, 3], (seed % 3) as u32, seed);
        let bounds = tree.shape().bounds();
        let size = bounds.size();
        let (min, max) = (bounds.min + size * 0.213, bounds.min + size * (0.61 + 0.03 * seed as f32));
        let shape = SolidShape::Box { min, max };
        let solids = PlacedSolids::new([(&shape, &Motion::Static)].into_iter(), 0.0);
        let (mut area_face, mut volume_cell) = fractions(&tree, |x| f64::from(shape.distance(x.as_vec3())));
        let filled = |volume_cell: &[f32]| {
            (size.as_dvec3().element_product() - open_volume(&tree, volume_cell))
                / (max - min).as_dvec3().element_product()
        };
        worst_of_nodes = worst_of_nodes.max((filled(&volume_cell) - 1.0).abs());
        let phi = at_nodes(&tree, |x| f64::from(shape.distance(x.as_vec3())));
        let kinks = measure_kinks(&mut area_face, &mut volume_cell, &tree, &phi, &solids, None);
        let error = filled(&volume_cell) - 1.0;
        assert!(error.abs() < 0.01, "seed {seed}: {error}");
        // On another tree what is known from this one is what would be measured there.
        let other = random_tree(4, [5, 4, 3], (seed % 3) as u32, seed + 6);
        let phi = at_nodes(&other, |x| f64::from(shape.distance(x.as_vec3())));
        let measured = |known: Option<(&Octree, &Kinks)>| {
            let (mut area, mut volume) = fractions(&other, |x| f64::from(shape.distance(x.as_vec3())));
            let kinks = measure_kinks(&mut area, &mut volume, &other, &phi, &solids, known);
            let found = kinks.volume_cell.iter().filter(|v| !v.is_nan()).count();
            (area, volume, found)
        };
        assert!(measured(None) == measured(Some((&tree, &kinks))), "seed {seed}");
    }
    assert!(worst_of_nodes > 0.02, "the nodes alone are off by {worst_of_nodes}: nothing is tested");
}
