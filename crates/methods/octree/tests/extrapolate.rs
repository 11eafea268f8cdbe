//! Velocity extrapolation over whole trees.

use crate::common::*;
use fluvial_foundation::{AXES, DVec3, parallel};
use fluvial_grids::Octree;
use fluvial_octree::extrapolate::{ExtrapolateScratch, extrapolate, extrapolate_rings};

/// Below a bumpy height.
fn wet(tree: &Octree) -> Vec<bool> {
    let middle = tree.shape().bounds().center().as_dvec3();
    let below = |x: DVec3| x.y < middle.y + 0.1 * (5.0 * x.x).sin() * (4.0 * x.z).cos();
    let mut known = vec![false; tree.face_count()];
    for axis in AXES {
        for face in tree.faces(axis) {
            known[face] = below(tree.face_center(face, axis).as_dvec3());
        }
    }
    known
}

#[test]
fn every_face_is_reached_and_known_ones_keep_their_bits() {
    for seed in 0..6 {
        let tree = random_tree(4, [5, 4, 3], (seed % 4) as u32, seed);
        let known = wet(&tree);
        let u = at_faces(&tree, |x| DVec3::new((3.0 * x.x).sin(), x.y * x.z, (2.0 * x.z).cos()));
        let mut out: Vec<f32> = (0..u.len()).map(|f| if known[f] { u[f] } else { f32::NAN }).collect();
        let rings = extrapolate(&mut out, &tree, |face| known[face], &mut ExtrapolateScratch::default());
        assert!(rings > 3);
        for axis in AXES {
            let range = tree.faces(axis);
            let extremes = range.clone().filter(|&f| known[f]).map(|f| u[f]);
            let (low, high) = extremes.fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(v), h.max(v)));
            for face in range {
                assert!(out[face] >= low && out[face] <= high, "no new extremes, nothing left out");
                if known[face] {
                    assert_eq!(out[face].to_bits(), u[face].to_bits());
                }
            }
        }
    }
}

#[test]
fn a_uniform_flow_goes_on() {
    let tree = random_tree(4, [5, 4, 3], 0, 9);
    let known = wet(&tree);
    let flow = DVec3::new(1.0, -2.0, 0.5);
    let u = at_faces(&tree, |_| flow);
    let mut out: Vec<f32> = (0..u.len()).map(|f| if known[f] { u[f] } else { f32::NAN }).collect();
    extrapolate(&mut out, &tree, |face| known[face], &mut ExtrapolateScratch::default());
    assert_eq!(out, u);
}

/// A flow that changes along the surface only is continued along its normal, to first order.
#[test]
fn errors_beyond_the_surface_fall_with_the_cell_size() {
    let errors = [32usize, 64].map(|finest| {
        let tree = quartered(finest, 1, |_, _| true);
        let flow = |x: DVec3| DVec3::new((3.0 * x.x + x.z).sin(), (2.0 * x.x).cos(), (4.0 * x.z).sin());
        let exact = at_faces(&tree, flow);
        let mut known = vec![false; tree.face_count()];
        for axis in AXES {
            tree.faces(axis).for_each(|face| known[face] = tree.face_center(face, axis).y < 0.5);
        }
        let mut u: Vec<f32> = (0..exact.len()).map(|f| if known[f] { exact[f] } else { f32::NAN }).collect();
        extrapolate(&mut u, &tree, |face| known[face], &mut ExtrapolateScratch::default());
        let mut worst = [0.0f32; 4];
        for axis in AXES {
            for face in tree.faces(axis) {
                let above = tree.face_center(face, axis).y - 0.5;
                if above < 3.0 * tree.face_dx(face) {
                    let error = &mut worst[tree.face_places()[face].level as usize];
                    *error = error.max((u[face] - exact[face]).abs());
                }
            }
        }
        worst
    });
    // Coarser levels have too few cells here.
    for level in 0..2 {
        assert!((errors[0][level] / errors[1][level]).log2() > 0.8, "{errors:?}");
    }
}

/// A few rings give what all of them would there, and leave the rest alone.
#[test]
fn a_few_rings_reach_as_far_as_they_should() {
    let tree = random_tree(4, [5, 4, 3], 1, 4);
    let known = wet(&tree);
    let u = at_faces(&tree, |x| DVec3::new(x.y, x.z, x.x));
    let start: Vec<f32> = (0..u.len()).map(|f| if known[f] { u[f] } else { f32::NAN }).collect();
    let (mut all, mut few) = (start.clone(), start);
    extrapolate(&mut all, &tree, |face| known[face], &mut ExtrapolateScratch::default());
    let rings = extrapolate_rings(&mut few, &tree, |face| known[face], 2, &mut ExtrapolateScratch::default());
    assert_eq!(rings, 2);
    assert!(few.iter().any(|u| u.is_nan()));
    assert!(few.iter().zip(&all).all(|(few, all)| few.is_nan() || few == all));
    for cell in 0..tree.cell_count() {
        let faces = tree.cell_faces()[cell];
        let mut near = false;
        tree.for_neighbours(cell, |other| {
            near |= tree.cell_faces()[other].iter().all(|&f| known[f as usize])
        });
        assert!(!near || faces.iter().all(|&face| !few[face as usize].is_nan()), "beside known cells");
    }
}

/// One known face is enough for its axis; others stay.
#[test]
fn a_single_face_fills_its_axis() {
    let tree = random_tree(3, [4, 3, 3], 0, 5);
    let face = tree.faces(1).start + 7;
    let mut u = vec![7.0; tree.face_count()];
    u[face] = 3.0;
    extrapolate(&mut u, &tree, |f| f == face, &mut ExtrapolateScratch::default());
    for axis in AXES {
        assert!(tree.faces(axis).all(|f| u[f] == if axis == 1 { 3.0 } else { 7.0 }), "{axis}");
    }
}

#[test]
fn threads_and_emptiness_do_no_harm() {
    let tree = random_tree(4, [4, 3, 3], 1, 2);
    let known = wet(&tree);
    let run = |threads| {
        parallel::with_threads(threads, || {
            let mut u = at_faces(&tree, |x| DVec3::new(x.y, x.z, x.x));
            extrapolate(&mut u, &tree, |face| known[face], &mut ExtrapolateScratch::default());
            u
        })
    };
    assert_eq!(run(1), run(3));
    let mut u = vec![7.0; tree.face_count()];
    assert_eq!(extrapolate(&mut u, &tree, |_| false, &mut ExtrapolateScratch::default()), 0);
    assert!(u.iter().all(|&u| u == 7.0));
}
