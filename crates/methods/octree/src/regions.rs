//! Connected bodies of liquid.

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
