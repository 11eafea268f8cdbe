//! Particles among the finest cells, against plain sums over all of them.

use crate::common::random_tree;
use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{AXES, Vec3};
use fluvial_octree::particles::{Bins, for_around, to_faces};
use fluvial_octree::sides::TreeSides;
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Sorting loses no particle and puts each into the cell that holds it.
    #[test]
    fn sorted_particles_are_in_their_cells(seed in 0u64..1000) {
        let tree = random_tree(3, [2, 3, 2], 1, seed);
        let bounds = tree.shape().bounds();
        let x: Vec<Vec3> = (0..300).map(|p| bounds.min + bounds.size() * unit_vec3(p, seed)).collect();
        let mut bins = Bins::default();
        let order = bins.sort(&tree, &x, |p| !p.is_multiple_of(7)).to_vec();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..300).collect::<Vec<u32>>());
        let mut seen = 0;
        for cell in 0..tree.cell_count() {
            for p in bins.of(cell) {
                let p = order[p] as usize;
                prop_assert!(tree.locate(x[p]).cell as usize == cell && !p.is_multiple_of(7));
                seen += 1;
            }
        }
        let finest = (0..300).filter(|&p: &usize| !p.is_multiple_of(7) && tree.locate(x[p]).level == 0).count();
        prop_assert_eq!((seen, bins.count()), (finest, finest));
    }

    /// The 27 places around a cell, each once.
    #[test]
    fn around_are_the_touching_cells(seed in 0u64..1000) {
        let tree = random_tree(3, [2, 3, 2], 1, seed);
        for cell in tree.cells_of(0).step_by(7) {
            let mut found = vec![];
            for_around(&tree, tree.cells()[cell].at.map(u32::from), |other| found.push(other));
            found.sort_unstable();
            let reach = 1.01 * tree.shape().dx;
            let touches = |other: &usize| {
                (tree.cell_center(*other) - tree.cell_center(cell)).abs().max_element() < reach
            };
            prop_assert_eq!(found, tree.cells_of(0).filter(touches).collect::<Vec<_>>());
        }
    }

    /// Every finest face gets the trilinear mean of all particles, no other face anything.
    #[test]
    fn transfer_equals_the_plain_sum(seed in 0u64..1000) {
        let tree = random_tree(3, [2, 3, 2], 1, seed);
        let (bounds, dx) = (tree.shape().bounds(), tree.shape().dx);
        let place = |p: u64| bounds.min + bounds.size() * unit_vec3(p, seed);
        let x: Vec<Vec3> = (0..400).map(place).filter(|&x| tree.locate(x).level == 0).collect();
        let mut bins = Bins::default();
        let order = bins.sort(&tree, &x, |_| true).to_vec();
        let x: Vec<Vec3> = order.iter().map(|&p| x[p as usize]).collect();
        let v: Vec<Vec3> = (0..x.len()).map(|p| unit_vec3(p as u64, 77) - 0.5).collect();
        let mut near = vec![];
        bins.mark_around(&mut near, &tree, |_| true);
        prop_assert_eq!(near.len(), tree.cells_of(0).len());
        let mut u_face = vec![9.0; tree.face_count()];
        to_faces(&mut u_face, &tree, (&bins, &near), (&x, &v), TreeSides::NONE, |_, mean| {
            assert!(mean.weight > 0.0);
            mean.u
        });
        for axis in AXES {
            for face in tree.faces(axis) {
                let hat = |d: f32| (1.0 - d.abs() / dx).max(0.0);
                let weight = |x: Vec3| {
                    let away = x - tree.face_center(face, axis);
                    hat(away.x) * hat(away.y) * hat(away.z)
                };
                let (mut sum, mut weights) = (0.0f64, 0.0f64);
                if tree.faces_of(axis, 0).contains(&face) {
                    for p in 0..x.len() {
                        sum += (weight(x[p]) * v[p][axis]) as f64;
                        weights += weight(x[p]) as f64;
                    }
                }
                let expected = if weights > 0.0 { sum / weights } else { 9.0 };
                prop_assert!((u_face[face] as f64 - expected).abs() < 1e-5 || weights < 1e-5, "{} {}", u_face[face], expected);
            }
        }
        // What is not marked has no particle around.
        for cell in tree.cells_of(0).filter(|&cell| !near[cell].load(Relaxed)) {
            let mut around = 0;
            for_around(&tree, tree.cells()[cell].at.map(u32::from), |other| around += bins.of(other).len());
            prop_assert_eq!(around, 0);
        }
    }
}
