//! Velocity where there is no liquid: iterated averages over the whole tree [octree §7.1].

use fluvial_foundation::{Axis, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::{OUTSIDE, Side};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// A face has a value, or one is being found in the present ring.
const KNOWN: u8 = 1;
const ASKED: u8 = 2;
/// Cells that one task looks at.
const CHUNK: usize = 2048;

/// Memory of [`extrapolate`], to be kept from call to call.
#[derive(Debug, Default)]
pub struct ExtrapolateScratch {
    /// What is known of faces.
    known: Vec<AtomicU8>,
    /// Cells that were reached: all their faces have, or are getting, a value.
    reached: Vec<AtomicBool>,
    /// Cells of the present ring.
    ring: Vec<u32>,
    /// Faces that rings of cells did not reach.
    missing: Vec<u32>,
}

/// Gives every face that is not `known` the mean of the neighbours of its axis that have a value, in rings of
/// cells around those whose faces are known, until all do: values are continued constantly from the nearest
/// liquid, no new extremes arise, known values stay. Returns the number of rings. Without any known face
/// nothing changes. Every ring reads only earlier ones: the same bits with any number of threads. Verified by
/// `extrapolate.rs`.
pub fn extrapolate(
    u_face: &mut [f32],
    tree: &Octree,
    known: impl Fn(usize) -> bool + Sync,
    scratch: &mut ExtrapolateScratch,
) -> usize {
    let rings = extrapolate_rings(u_face, tree, known, usize::MAX, scratch);
    rings + fill_missing(u_face, tree, scratch)
}

/// The same for no more than `most` rings of cells. Faces beyond keep what they have.
pub fn extrapolate_rings(
    u_face: &mut [f32],
    tree: &Octree,
    known: impl Fn(usize) -> bool + Sync,
    most: usize,
    scratch: &mut ExtrapolateScratch,
) -> usize {
    assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
    begin(tree, known, scratch);
    let ExtrapolateScratch { known, reached, ring, .. } = scratch;
    let (known, reached) = (&known[..], &reached[..]);
    let mut rings = 0;
    while !ring.is_empty() && rings < most {
        let u = &*u_face;
        let pieces = parallel::map_indices(parallel::chunk_count(ring.len(), CHUNK), |n| {
            let mut piece = Piece::default();
            for &cell in &ring[parallel::chunk_range(n, CHUNK, ring.len())] {
                piece.ask_cell(tree, u, known, cell);
            }
            piece
        });
        let any_found = pieces.iter().any(|piece| !piece.found.is_empty());
        if !any_found && pieces.iter().any(|piece| !piece.failed.is_empty()) {
            break;
        }
        rings += any_found as usize;
        let next = parallel::map_indices(parallel::chunk_count(ring.len(), CHUNK), |n| {
            let mut next = vec![];
            for &cell in &ring[parallel::chunk_range(n, CHUNK, ring.len())] {
                tree.for_neighbours(cell as usize, |other| {
                    let reached = &reached[other];
                    if !reached.load(Relaxed) && !reached.swap(true, Relaxed) {
                        next.push(other as u32);
                    }
                });
            }
            next
        });
        ring.clear();
        ring.extend(next.into_iter().flatten());
        for piece in pieces {
            for (face, mean) in piece.found {
                u_face[face as usize] = mean;
                known[face as usize].store(KNOWN, Relaxed);
            }
            for FaceOfCell { face, cell } in piece.failed {
                known[face as usize].store(0, Relaxed);
                ring.push(cell);
            }
        }
    }
    rings
}

/// What one task finds in a ring.
#[derive(Default)]
struct Piece {
    found: Vec<(u32, f32)>,
    /// Faces without a known neighbour, to be tried again in the next ring.
    failed: Vec<FaceOfCell>,
}

/// A face, and the cell through which it was reached.
struct FaceOfCell {
    face: u32,
    cell: u32,
}

impl Piece {
    /// Finds values for the unknown faces of a cell.
    fn ask_cell(&mut self, tree: &Octree, u: &[f32], known: &[AtomicU8], cell: u32) {
        let faces = &tree.cell_faces()[cell as usize];
        let unknown = |face: u32| known[face as usize].load(Relaxed) == 0;
        if !faces.iter().any(|&face| unknown(face)) {
            return;
        }
        let even = EvenCell::new(tree, cell as usize);
        for (side, &face) in faces.iter().enumerate() {
            if unknown(face) && known[face as usize].fetch_or(ASKED, Relaxed) == 0 {
                let mean = match &even {
                    Some(even) => mean_of(u, known, even.neighbours(tree, side)),
                    None => mean_of_neighbours(tree, u, known, face as usize),
                };
                match mean {
                    Some(mean) => self.found.push((face, mean)),
                    None => self.failed.push(FaceOfCell { face, cell }),
                }
            }
        }
    }
}

/// A cell between equal ones and walls.
struct EvenCell {
    cell: u32,
    /// Cells across its sides, [`OUTSIDE`] at walls.
    across: [u32; 6],
}

impl EvenCell {
    #[inline]
    fn new(tree: &Octree, cell: usize) -> Option<EvenCell> {
        let equal = tree.cells_of(tree.cells()[cell].level as usize);
        let mut across = [0; 6];
        for (side, out) in across.iter_mut().enumerate() {
            *out = tree.leaf_across(cell, side)?;
            if *out != OUTSIDE && !equal.contains(&(*out as usize)) {
                return None;
            }
        }
        Some(EvenCell { cell: cell as u32, across })
    }

    /// The neighbours of the face on a side: before and after it along its axis, then in its plane. The
    /// cell on the other side of the face finds the same ones in the same order.
    #[inline]
    fn neighbours(&self, tree: &Octree, side: usize) -> [u32; 6] {
        let (axis, high) = (side / 2, side % 2);
        let face = |cell: u32, side: usize| tree.cell_faces().get(cell as usize).map_or(OUTSIDE, |f| f[side]);
        let beyond = |n: usize| if n == high { self.across[side] } else { self.cell };
        let mut faces = [OUTSIDE; 6];
        faces[0] = face(beyond(0), 2 * axis);
        faces[1] = face(beyond(1), 2 * axis + 1);
        for n in 0..4 {
            faces[2 + n] = face(self.across[(2 * axis + 2 + n) % 6], side);
        }
        faces
    }
}

/// Finds out what is known, and the first ring: cells with unknown faces that have a known one or touch a
/// cell whose faces all are.
fn begin(tree: &Octree, is_known: impl Fn(usize) -> bool + Sync, scratch: &mut ExtrapolateScratch) {
    let ExtrapolateScratch { known, reached, ring, .. } = scratch;
    known.resize_with(tree.face_count(), AtomicU8::default);
    parallel::for_each_indexed_mut(known, |face, known| {
        *known.get_mut() = if is_known(face) { KNOWN } else { 0 };
    });
    let known = &known[..];
    reached.resize_with(tree.cell_count(), AtomicBool::default);
    parallel::for_each_indexed_mut(reached, |cell, reached| {
        let faces = &tree.cell_faces()[cell];
        *reached.get_mut() = faces.iter().all(|&face| known[face as usize].load(Relaxed) != 0);
    });
    let reached = &reached[..];
    let first = parallel::map_indices(parallel::chunk_count(tree.cell_count(), CHUNK), |n| {
        let mut first = vec![];
        for cell in parallel::chunk_range(n, CHUNK, tree.cell_count()) {
            if !reached[cell].load(Relaxed) {
                let faces = &tree.cell_faces()[cell];
                let mut near = faces.iter().any(|&face| known[face as usize].load(Relaxed) != 0);
                if !near {
                    tree.for_neighbours(cell, |other| near |= reached[other].load(Relaxed));
                }
                if near {
                    first.push(cell as u32);
                }
            }
        }
        first
    });
    ring.clear();
    ring.extend(first.into_iter().flatten());
    ring.iter().for_each(|&cell| reached[cell as usize].store(true, Relaxed));
}

/// Face by face what rings of cells did not reach: where hardly a face was known.
fn fill_missing(u_face: &mut [f32], tree: &Octree, scratch: &mut ExtrapolateScratch) -> usize {
    let ExtrapolateScratch { known, missing, .. } = scratch;
    missing.clear();
    missing.extend((0..tree.face_count() as u32).filter(|&f| *known[f as usize].get_mut() & KNOWN == 0));
    let mut rings = 0;
    loop {
        let (u, known) = (&*u_face, &known[..]);
        let found =
            parallel::map_indices(missing.len(), |n| mean_of_neighbours(tree, u, known, missing[n] as usize));
        if found.iter().all(Option::is_none) {
            return rings;
        }
        rings += 1;
        for (&face, mean) in missing.iter().zip(found) {
            if let Some(mean) = mean {
                u_face[face as usize] = mean;
                known[face as usize].store(KNOWN, Relaxed);
            }
        }
        missing.retain(|&face| known[face as usize].load(Relaxed) & KNOWN == 0);
    }
}

/// Mean over those of some faces that have a value.
#[inline]
fn mean_of(u: &[f32], known: &[AtomicU8], faces: [u32; 6]) -> Option<f32> {
    let (mut sum, mut count) = (0.0f64, 0.0f64);
    for face in faces {
        if known.get(face as usize).is_some_and(|known| known.load(Relaxed) & KNOWN != 0) {
            (sum, count) = (sum + u[face as usize] as f64, count + 1.0);
        }
    }
    (count > 0.0).then(|| (sum / count) as f32)
}

/// Mean over the neighbouring faces of the same axis that have a value.
fn mean_of_neighbours(tree: &Octree, u: &[f32], known: &[AtomicU8], face: usize) -> Option<f32> {
    let axis = tree.face_axis(face);
    for (n, side) in tree.sides(face).into_iter().enumerate() {
        // The side of the face seen from a cell as large as it.
        if let Side::Cell(cell) = side
            && tree.cells()[cell as usize].level == tree.face_places()[face].level
            && let Some(even) = EvenCell::new(tree, cell as usize)
        {
            return mean_of(u, known, even.neighbours(tree, 2 * axis + 1 - n));
        }
    }
    let (mut sum, mut count) = (0.0f64, 0u32);
    let mut seen = [u32::MAX; 64];
    for_neighbours(tree, face, axis, |other| {
        if known[other as usize].load(Relaxed) & KNOWN == 0 || seen[..count as usize].contains(&other) {
            return;
        }
        seen[count as usize] = other;
        sum += u[other as usize] as f64;
        count += 1;
    });
    (count > 0).then(|| (sum / count as f64) as f32)
}

/// The faces of an axis of the cells beside a face, and of the cells across those cells' other sides. Some
/// come twice.
pub(crate) fn for_neighbours(tree: &Octree, face: usize, axis: Axis, mut body: impl FnMut(u32)) {
    let of_cell = |cell: u32, body: &mut dyn FnMut(u32)| {
        let faces = &tree.cell_faces()[cell as usize];
        for side in [2 * axis, 2 * axis + 1] {
            if faces[side] as usize != face {
                body(faces[side]);
            }
        }
    };
    for side in tree.sides(face) {
        cells_of(side, |cell| {
            of_cell(cell, &mut body);
            for (n, &aside) in
                tree.cell_faces()[cell as usize].iter().enumerate().filter(|(n, _)| n / 2 != axis)
            {
                cells_of(tree.sides(aside as usize)[n % 2], |other| {
                    // Only the face in the same plane, or the nearest one: that on the side of `face`.
                    let high = tree.cell_faces()[cell as usize][2 * axis + 1] as usize == face;
                    let beside = tree.cell_faces()[other as usize][2 * axis + high as usize];
                    if beside as usize != face {
                        body(beside);
                    }
                });
            }
        });
    }
}

fn cells_of(side: Side, mut body: impl FnMut(u32)) {
    match side {
        Side::Outside => {}
        Side::Cell(cell) => body(cell),
        Side::Quad(cells) => cells.into_iter().for_each(body),
    }
}
