//! Velocity where there is no liquid: iterated averages over the whole tree [octree §7.1].

use fluvial_foundation::{Axis, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;

/// Memory of [`extrapolate`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct ExtrapolateScratch {
    /// Faces without a value yet.
    missing: Vec<u32>,
    /// Round in which a face got its value, 0 for those that had one.
    round: Vec<u32>,
}

/// Gives every face that is not `known` the mean of the neighbours of its axis that have a value, ring by ring, until all do:
/// values are continued constantly from the nearest liquid, no new extremes arise, known values stay. Returns the number
/// of rings. Without any known face nothing changes. Every ring reads only earlier ones: the same bits with any number
/// of threads. Verified by `extrapolate.rs`.
pub fn extrapolate(
    u_face: &mut [f32],
    tree: &Octree,
    known: impl Fn(usize) -> bool + Sync,
    scratch: &mut ExtrapolateScratch,
) -> usize {
    assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
    let ExtrapolateScratch { missing, round } = scratch;
    round.clear();
    round.extend(parallel::map_indices(tree.face_count(), |face| if known(face) { 0 } else { u32::MAX }));
    missing.clear();
    missing.extend((0..tree.face_count() as u32).filter(|&face| round[face as usize] == u32::MAX));
    let mut rings = 0;
    loop {
        let (u, seen) = (&*u_face, &round[..]);
        let found = parallel::map_indices(parallel::chunk_count(missing.len(), CHUNK), |n| {
            let mut found = vec![];
            for &face in &missing[parallel::chunk_range(n, CHUNK, missing.len())] {
                if let Some(mean) = mean_of_neighbours(tree, u, seen, face as usize) {
                    found.push((face, mean));
                }
            }
            found
        });
        if found.iter().all(Vec::is_empty) {
            return rings;
        }
        rings += 1;
        for &(face, mean) in found.iter().flatten() {
            u_face[face as usize] = mean;
            round[face as usize] = rings as u32;
        }
        missing.retain(|&face| round[face as usize] == u32::MAX);
    }
}

/// Faces that one task asks.
const CHUNK: usize = 2048;

/// Mean over the neighbouring faces of the same axis that have a value.
fn mean_of_neighbours(tree: &Octree, u: &[f32], round: &[u32], face: usize) -> Option<f32> {
    let axis = tree.face_axis(face);
    let (mut sum, mut count) = (0.0f64, 0u32);
    let mut seen = [u32::MAX; 64];
    for_neighbours(tree, face, axis, |other| {
        if round[other as usize] == u32::MAX || seen[..count as usize].contains(&other) {
            return;
        }
        seen[count as usize] = other;
        sum += u[other as usize] as f64;
        count += 1;
    });
    (count > 0).then(|| (sum / count as f64) as f32)
}

/// The faces of an axis of the cells beside a face, and of the cells across those cells' other sides. Some come twice.
fn for_neighbours(tree: &Octree, face: usize, axis: Axis, mut body: impl FnMut(u32)) {
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
