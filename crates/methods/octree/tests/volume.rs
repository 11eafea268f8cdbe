//! Volumes of liquid, and its bodies.

use crate::common::*;
use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::cut::cube_below_plane;
use fluvial_octree::fractions::{FractionsScratch, open_fractions};
use fluvial_octree::regions::{NO_REGION, label_regions};
use fluvial_octree::volume::{Fits, Open, liquid_fractions, liquid_volume};

#[test]
fn planes_hold_exact_volumes() {
    for seed in 0..8 {
        let tree = random_tree(4, [5, 4, 3], (seed % 4) as u32, seed);
        let (bounds, size) = (tree.shape().bounds(), tree.shape().bounds().size().as_dvec3());
        let normal = (unit_vec3(seed, 4).as_dvec3() - 0.5).normalize();
        let plane = |x: DVec3| (x - bounds.center().as_dvec3()).dot(normal) + 0.07;
        let exact = size.element_product() * cube_below_plane(0.07, (normal * size).to_array());
        let error = liquid_volume(&tree, &at_cells(&tree, plane), None) / exact - 1.0;
        assert!(error.abs() < 1e-5, "{error}");
    }
}

/// The error of a ball's volume in layers: over surface and the coarsest cell's edge.
fn ball_error(finest: usize) -> f64 {
    let (centre, mut worst) = (DVec3::new(0.51, 0.49, 0.503), 0.0f64);
    for radius in [0.4, 0.41, 0.395] {
        let distance = |x: DVec3| (x - centre).length() - radius;
        let tree = quartered(finest, 1, |x, dx| distance(x.as_dvec3()).abs() < 3.0 * dx as f64);
        let exact = 4.0 / 3.0 * std::f64::consts::PI * radius * radius * radius;
        let error = liquid_volume(&tree, &at_cells(&tree, distance), None) - exact;
        let layer = 4.0 * std::f64::consts::PI * radius * radius / finest as f64;
        worst = worst.max((error / layer).abs());
    }
    worst
}

/// A ball whose surface crosses four levels is known to a thousandth of a layer of finest cells, and better
/// than that the finer.
#[test]
fn a_ball_is_known_to_a_thousandth_of_a_layer() {
    let errors = [64, 128].map(ball_error);
    println!("volume errors in finest layers: {errors:?}");
    assert!(errors[1] < 1e-3 && errors[1] < 0.5 * errors[0], "{errors:?}");
}

/// A sheet thinner than a cell with cell centres in it, and one as thick as a cell between centres.
#[test]
fn a_thin_sheet_is_seen() {
    let tree = quartered(64, 1, |_, _| true);
    for (height, thickness) in [(0.5 / 64.0 + 0.25, 0.012), (0.377, 0.02)] {
        let phi_cell = at_cells(&tree, |x| (x.y - height).abs() - 0.5 * thickness);
        let mut fraction_cell = vec![];
        liquid_fractions(&mut fraction_cell, &tree, &phi_cell, None, Fits::NONE);
        // In the finest quarter cells are as thick as the sheet.
        let finest = tree.cells_of(0).filter(|&c| tree.cell_center(c).x < 0.25);
        let volume: f64 = finest.map(|c| fraction_cell[c] as f64 / 64f64.powi(3)).sum();
        let share = volume / (0.25 * thickness);
        assert!((share - 1.0).abs() < 0.35, "{height} {thickness}: {share}");
    }
}

/// Liquid below a tilted plane, a solid beyond another one: the common part is exact.
#[test]
fn solids_displace_what_they_fill() {
    for seed in 0..6 {
        let tree = random_tree(4, [5, 4, 3], (seed % 4) as u32, seed);
        let (bounds, size) = (tree.shape().bounds(), tree.shape().bounds().size().as_dvec3());
        let middle = bounds.center().as_dvec3();
        // The solid fills z beyond a height, the liquid's plane is tilted in x and y.
        let height = 0.13 + 0.02 * seed as f64;
        let solid = |x: DVec3| (middle.z + height) - x.z;
        let normal = DVec3::new(0.6, 0.8, 0.0);
        let phi_cell = at_cells(&tree, |x| (x - middle).dot(normal) - 0.05);
        let phi_solid_node: Vec<f32> =
            (0..tree.node_count()).map(|n| solid(tree.node_position(n).as_dvec3()) as f32).collect();
        let (mut area_face, mut volume_cell) = (vec![], vec![]);
        let mut scratch = FractionsScratch::default();
        open_fractions(&mut area_face, &mut volume_cell, &tree, &phi_solid_node, &mut scratch);
        let sides = fluvial_octree::sides::TreeSides::NONE;
        let open = Open { volume_cell: &volume_cell, phi_solid_node: &phi_solid_node, sides };
        let part = cube_below_plane(-0.05, (normal * size).to_array());
        let exact = part * size.x * size.y * (0.5 * size.z + height);
        let error = liquid_volume(&tree, &phi_cell, Some(open)) / exact - 1.0;
        assert!(error.abs() < 1e-5, "{error}");
        // A solid in the way of everything leaves nothing.
        let closed = Open { volume_cell: &vec![0.0; volume_cell.len()], ..open };
        assert_eq!(liquid_volume(&tree, &phi_cell, Some(closed)), 0.0);
    }
}

#[test]
fn bodies_are_told_apart_across_levels() {
    let tree = quartered(64, 0, |_, _| true);
    let ball = |x: DVec3, at: DVec3, r: f64| (x - at).length() - r;
    let (a, b) = (DVec3::new(0.25, 0.4, 0.5), DVec3::new(0.7, 0.4, 0.5));
    let two = |x: DVec3| ball(x, a, 0.18).min(ball(x, b, 0.2));
    let bridge = |x: DVec3| two(x).min((x.y - 0.4).abs().max((x.z - 0.5).abs()) - 0.13);
    let mut label = vec![];
    let open = vec![1.0; tree.face_count()];
    let apart = at_cells(&tree, two);
    assert_eq!(label_regions(&mut label, &tree, &apart, &open), 2);
    for cell in 0..tree.cell_count() {
        let x = tree.cell_center(cell).as_dvec3();
        let left = ball(x, a, 0.18) < 0.0;
        assert_eq!(label[cell] == NO_REGION, apart[cell] >= 0.0);
        if apart[cell] < 0.0 {
            let first = label[tree.locate(a.as_vec3()).cell as usize];
            assert_eq!(label[cell] == first, left);
        }
    }
    let joined = at_cells(&tree, bridge);
    assert_eq!(label_regions(&mut label, &tree, &joined, &open), 1);
    // A closed plane in the bridge parts it.
    let mut walled = open.clone();
    tree.faces(0).filter(|&f| (tree.face_center(f, 0).x - 0.5).abs() < 1e-3).for_each(|f| walled[f] = 0.0);
    assert_eq!(label_regions(&mut label, &tree, &joined, &walled), 2);
    let fractions = |threads| {
        parallel::with_threads(threads, || {
            let mut out = vec![];
            liquid_fractions(&mut out, &tree, &joined, None, Fits::NONE);
            (out, liquid_volume(&tree, &joined, None).to_bits())
        })
    };
    assert_eq!(fractions(1), fractions(3));
}
