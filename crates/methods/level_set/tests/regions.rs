//! Connected liquid.

use crate::common::*;
use fluvial_grids::UniformGrid;
use fluvial_level_set::{label_regions, spread_labels};

fn areas(g: &UniformGrid) -> [Vec<f32>; 3] {
    std::array::from_fn(|axis| vec![1.0; g.faces(axis).len()])
}

fn label(g: &UniformGrid, phi: &[f32], area: &[Vec<f32>; 3]) -> (Vec<u32>, usize) {
    let mut labels = vec![];
    let count = label_regions(&mut labels, phi, [&area[0], &area[1], &area[2]], g);
    (labels, count)
}

#[test]
fn two_drops_touching_at_an_edge_only_are_two() {
    let g = cube(4);
    let l = g.cell_centers();
    let mut phi = vec![1.0; l.len()];
    phi[l.index(1, 1, 1)] = -1.0;
    phi[l.index(2, 2, 1)] = -1.0;
    let (labels, count) = label(&g, &phi, &areas(&g));
    assert_eq!(count, 2);
    assert_eq!((labels[l.index(1, 1, 1)], labels[l.index(2, 2, 1)]), (0, 1));
    assert_eq!(labels[0], u32::MAX);
    phi[l.index(2, 1, 1)] = -1.0;
    assert_eq!(label(&g, &phi, &areas(&g)).1, 1);
}

#[test]
fn closed_faces_part_what_touches() {
    let g = cube(4);
    let phi = vec![-1.0; g.cell_count()];
    for axis in 0..3 {
        let mut area = areas(&g);
        let faces = g.faces(axis);
        for f in 0..faces.len() {
            if faces.coordinates(f)[axis] == 2 {
                area[axis][f] = 0.0;
            }
        }
        let (labels, count) = label(&g, &phi, &area);
        assert_eq!(count, 2, "axis {axis}");
        for (n, label) in labels.iter().enumerate() {
            assert_eq!(*label as usize, g.cell_centers().coordinates(n)[axis] / 2);
        }
        let open = faces.coordinates(0);
        assert_eq!(open, [0, 0, 0]);
    }
}

/// A drop on each side of a wall between cells 1 and 2: air takes the label of its own side, and the lower one where both reach it.
#[test]
fn labels_spread_by_a_layer_and_not_through_walls() {
    let g = cube(5);
    let l = g.cell_centers();
    let mut area = areas(&g);
    let faces = g.faces(0);
    for f in (0..faces.len()).filter(|&f| faces.coordinates(f)[0] == 2 && faces.coordinates(f)[1] < 4) {
        area[0][f] = 0.0;
    }
    let mut labels = vec![u32::MAX; l.len()];
    (labels[l.index(1, 1, 1)], labels[l.index(3, 1, 1)]) = (7, 3);
    let mut spread = vec![];
    spread_labels(&mut spread, &labels, [&area[0], &area[1], &area[2]], &g);
    assert_eq!(spread.iter().filter(|&&n| n == 7).count(), 6, "a drop at a wall, and the five cells around");
    assert_eq!(spread.iter().filter(|&&n| n == 3).count(), 7);
    assert_eq!((spread[l.index(2, 1, 1)], spread[l.index(1, 2, 1)]), (3, 7));
    for _ in 0..3 {
        labels.clone_from(&spread);
        spread_labels(&mut spread, &labels, [&area[0], &area[1], &area[2]], &g);
    }
    assert_eq!((spread[l.index(1, 3, 1)], spread[l.index(1, 4, 1)]), (7, 7), "one cell a call");
    assert_eq!(spread[l.index(2, 4, 1)], 3, "above the wall both sides reach it");
}

/// Combs that meet only at the far end: labels must merge late, and flood fill gives the same.
#[test]
fn random_liquid_as_flood_fill_finds_it() {
    let g = UniformGrid { cells: [13, 11, 9], ..cube(13) };
    let l = g.cell_centers();
    for seed in 0..20 {
        let phi: Vec<f32> =
            (0..l.len() as u64).map(|n| fluvial_foundation::random::unit_f32(n, seed) - 0.36).collect();
        let mut area = areas(&g);
        for (axis, area) in area.iter_mut().enumerate() {
            for (f, a) in area.iter_mut().enumerate() {
                *a = (fluvial_foundation::random::unit_f32(f as u64, 100 + axis as u64) - 0.2).max(0.0);
            }
        }
        let (labels, count) = label(&g, &phi, &area);
        let mut expected = vec![u32::MAX; l.len()];
        let mut regions = 0;
        for start in 0..l.len() {
            if phi[start] >= 0.0 || expected[start] != u32::MAX {
                continue;
            }
            let mut todo = vec![start];
            expected[start] = regions;
            while let Some(cell) = todo.pop() {
                let c = l.coordinates(cell);
                for axis in 0..3 {
                    let faces = g.faces(axis);
                    let mut visit = |other: [usize; 3], face: [usize; 3]| {
                        let (o, f) =
                            (l.index(other[0], other[1], other[2]), faces.index(face[0], face[1], face[2]));
                        if phi[o] < 0.0 && area[axis][f] > 0.0 && expected[o] == u32::MAX {
                            expected[o] = regions;
                            todo.push(o);
                        }
                    };
                    let mut next = c;
                    next[axis] += 1;
                    if next[axis] < g.cells[axis] {
                        visit(next, next);
                    }
                    if c[axis] > 0 {
                        let mut last = c;
                        last[axis] -= 1;
                        visit(last, c);
                    }
                }
            }
            regions += 1;
        }
        assert_eq!((labels, count), (expected, regions as usize));
    }
}
