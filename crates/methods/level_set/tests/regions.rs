//! Connected liquid.

use crate::common::*;
use fluvial_grids::UniformGrid;
use fluvial_level_set::label_regions;

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
