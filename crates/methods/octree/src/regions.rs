//! Connected bodies of liquid: their labels, volumes and descent.

use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;

/// No body: outside of the liquid.
pub const NO_REGION: u32 = u32::MAX;

/// Labels the connected bodies of liquid, cells with `phi < 0` joined through faces with an open part.
/// Returns their number; they are numbered in the order of their first cells. Verified by `volume.rs`.
pub fn label_regions(label_cell: &mut Vec<u32>, tree: &Octree, phi_cell: &[f32], area_face: &[f32]) -> usize {
    assert_eq!(phi_cell.len(), tree.cell_count(), "one phi per cell");
    assert_eq!(area_face.len(), tree.face_count(), "one area per face");
    let wet = |cell: u32| phi_cell[cell as usize] < 0.0;
    // Every cell points to one of its body that is not later, the first of them to itself.
    label_cell.clear();
    label_cell.extend((0..tree.cell_count() as u32).map(|cell| if wet(cell) { cell } else { NO_REGION }));
    for face in (0..tree.face_count()).filter(|&face| area_face[face] > 0.0) {
        match tree.sides(face) {
            [Side::Cell(a), Side::Cell(b)] if wet(a) && wet(b) => unite(label_cell, a, b),
            [Side::Cell(a), Side::Quad(others)] | [Side::Quad(others), Side::Cell(a)] if wet(a) => {
                others.into_iter().filter(|&b| wet(b)).for_each(|b| unite(label_cell, a, b));
            }
            _ => {}
        }
    }
    let mut regions = 0;
    for cell in 0..label_cell.len() {
        let label = label_cell[cell];
        if label == cell as u32 {
            label_cell[cell] = regions;
            regions += 1;
        } else if label != NO_REGION {
            // An earlier cell, which has its number already.
            label_cell[cell] = label_cell[label as usize];
        }
    }
    regions as usize
}

fn unite(labels: &mut [u32], a: u32, b: u32) {
    let (a, b) = (first_of(labels, a), first_of(labels, b));
    labels[a.max(b) as usize] = a.min(b);
}

/// The first cell known of a cell's body; shortens the way there.
fn first_of(labels: &mut [u32], mut cell: u32) -> u32 {
    while labels[cell as usize] != cell {
        let next = labels[labels[cell as usize] as usize];
        labels[cell as usize] = next;
        cell = next;
    }
    cell
}

/// The body that a cell's liquid belongs to; cells beyond the surface belong to their wettest neighbour's.
pub fn body_of_cell(tree: &Octree, cell: usize, label_cell: &[u32], phi_cell: &[f32]) -> u32 {
    if label_cell[cell] != NO_REGION {
        return label_cell[cell];
    }
    let mut best = (f32::INFINITY, NO_REGION);
    for &face in &tree.cell_faces()[cell] {
        for other in tree.cells_beside(face as usize) {
            if label_cell[other] != NO_REGION && phi_cell[other] < best.0 {
                best = (phi_cell[other], label_cell[other]);
            }
        }
    }
    best.1
}

/// Label, volume (m3) and depth (m) of the bodies, in parts: a label comes as often as the order of the cells
/// meets it. Without labels all liquid is body 0. Verified by
/// `bodies_are_measured_exactly`.
pub fn measure_bodies(
    tree: &Octree,
    phi_cell: &[f32],
    fraction_cell: &[f32],
    label_cell: Option<&[u32]>,
) -> impl Iterator<Item = (u32, f64, f32)> + use<> {
    let parts = map_indices(chunk_count(fraction_cell.len(), CHUNK), |n| {
        let mut bodies: Vec<(u32, f64, f32)> = Vec::new();
        for cell in chunk_range(n, CHUNK, fraction_cell.len()) {
            if fraction_cell[cell] > 0.0 {
                let volume_m3 = fraction_cell[cell] as f64 * (tree.cell_dx(cell) as f64).powi(3);
                let label = label_cell.map_or(0, |labels| body_of_cell(tree, cell, labels, phi_cell));
                match bodies.last_mut() {
                    Some((last, sum, depth_m)) if *last == label => {
                        *sum += volume_m3;
                        *depth_m = depth_m.max(-phi_cell[cell]);
                    }
                    _ => bodies.push((label, volume_m3, -phi_cell[cell])),
                }
            }
        }
        bodies
    });
    parts.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::liquid_fractions;
    use fluvial_foundation::Vec3;
    use fluvial_grids::octree::Shape;

    /// Two slabs are measured exactly, and all liquid together is one body without labels.
    #[test]
    fn bodies_are_measured_exactly() {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 2, roots: [8; 3] };
        let tree = Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).x < 0.5);
        let slabs = |x: Vec3| ((x.x - 0.2).abs() - 0.1).min((x.x - 0.75).abs() - 0.15);
        let phi: Vec<f32> = (0..tree.cell_count()).map(|c| slabs(tree.cell_center(c))).collect();
        let (mut fractions, mut labels) = (vec![], vec![]);
        liquid_fractions(&mut fractions, &tree, &phi, None);
        let area = vec![1.0; tree.face_count()];
        assert_eq!(label_regions(&mut labels, &tree, &phi, &area), 2);
        let mut volumes = [0.0; 2];
        measure_bodies(&tree, &phi, &fractions, Some(&labels))
            .for_each(|(n, m3, _)| volumes[n as usize] += m3);
        volumes.sort_by(f64::total_cmp);
        assert!((volumes[0] - 0.2).abs() < 1e-4 && (volumes[1] - 0.3).abs() < 1e-4, "{volumes:?}");
        let all: f64 = measure_bodies(&tree, &phi, &fractions, None).map(|(_, m3, _)| m3).sum();
        assert!((all - 0.5).abs() < 1e-4, "{all}");
    }
}
