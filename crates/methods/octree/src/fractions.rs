//! How much of faces and cells solids leave open, from the solids' signed distance at the tree's nodes.
//!
//! A face between equal cells is cut at its four corners' values; a T-junction is as open as the four small
//! faces that it consists of, so that large and small cells see the same opening; a cell beside finer ones is
//! cut in eight, with the nodes in the middle of its edges and faces where there are any. Exact for planes.
//! Verified by `fractions.rs`.

use fluvial_foundation::{AXES, Axis, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::cut::{cube_below, octant_corners, square_below};
use fluvial_grids::octree::{OUTSIDE, Side};
use fluvial_solids::{KinkedCell, PlacedSolids, is_plane};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A cell has a node outside of solids, or one inside.
const OPEN: u8 = 1;
const SOLID: u8 = 2;

/// Memory of [`open_fractions`], to be kept from call to call.
#[derive(Debug, Default)]
pub struct FractionsScratch {
    /// What a cell's nodes are.
    nodes_of_cell: Vec<AtomicU8>,
}

/// What [`measure_kinks`] has measured, in the order of the tree's cells and faces; NaN on all others.
#[derive(Clone, Debug, Default)]
pub struct Kinks {
    /// Open parts of cells.
    pub volume_cell: Vec<f32>,
    /// Open parts of faces.
    pub area_face: Vec<f32>,
}

/// Open parts, 0 to 1, of every face and every cell, where solids are negative in `phi_solid_node`. Walls of
/// the domain count as open: see [`close_walls`].
pub fn open_fractions(
    area_face: &mut Vec<f32>,
    volume_cell: &mut Vec<f32>,
    tree: &Octree,
    phi_solid_node: &[f32],
    scratch: &mut FractionsScratch,
) {
    assert_eq!(phi_solid_node.len(), tree.node_count(), "one phi per node");
    let marks = &mut scratch.nodes_of_cell;
    marks.clear();
    marks.resize_with(tree.cell_count(), AtomicU8::default);
    let marks = &marks[..];
    // Marks only ever gain bits: the order in which threads set them does not matter.
    parallel::for_each_index(parallel::chunk_count(tree.node_count(), parallel::CHUNK), |n| {
        for node in parallel::chunk_range(n, parallel::CHUNK, tree.node_count()) {
            let mark = if phi_solid_node[node] > 0.0 { OPEN } else { SOLID };
            for &cell in tree.node_cells()[node].iter().filter(|&&cell| cell != OUTSIDE) {
                let known = &marks[cell as usize];
                if known.load(Relaxed) & mark == 0 {
                    known.fetch_or(mark, Relaxed);
                }
            }
        }
    });
    let phi = |node: u32| -phi_solid_node[node as usize] as f64;
    volume_cell.resize(tree.cell_count(), 0.0);
    parallel::for_each_indexed_mut(volume_cell, |cell, out| {
        *out = whole(marks[cell].load(Relaxed)).unwrap_or_else(|| cell_open(tree, cell, &phi));
    });
    area_face.resize(tree.face_count(), 0.0);
    parallel::for_each_indexed_mut(area_face, |face, out| {
        // A cell that is whole has whole sides.
        let of_side = |side: &Side| match side {
            Side::Cell(cell) => whole(marks[*cell as usize].load(Relaxed)),
            _ => None,
        };
        *out = tree.sides(face).iter().find_map(of_side).unwrap_or_else(|| face_open(tree, face, &phi));
    });
}

/// Measures cells in which a solid is not one plane, and their faces, in parts: at edges and corners of solids
/// (see [`KinkedCell`]). `phi_solid_node` is the distance to `solids`; what was measured on another tree, of the same
/// solids in the same place, is `known`. Test: `edges_of_a_box_take_what_they_fill`.
pub fn measure_kinks(
    area_face: &mut [f32],
    volume_cell: &mut [f32],
    tree: &Octree,
    phi_solid_node: &[f32],
    solids: &PlacedSolids,
    known: Option<(&Octree, &Kinks)>,
) -> Kinks {
    let shape = tree.shape();
    let open_corners = |phi: &[f32; 8]| (0..8).fold(0, |open, n| open | ((phi[n] > 0.0) as u8) << n);
    let kinked = |level: usize, at: [u32; 3], phi: [f32; 8]| {
        let dx = shape.dx_of(level);
        let low = shape.min + dx * Vec3::from_array(at.map(|v| v as f32));
        KinkedCell { solids, low, dx, phi }
    };
    let open_volume = &*volume_cell;
    let of_cell = parallel::map_indices(tree.cell_count(), |cell| {
        let open = open_volume[cell];
        if open <= 0.0 || open >= 1.0 {
            return f32::NAN;
        }
        let phi = tree.cell_nodes(cell).map(|node| phi_solid_node[node as usize]);
        if phi.iter().all(|&phi| phi <= 0.0) || is_plane(&phi, tree.cell_dx(cell)) {
            return f32::NAN;
        }
        let place = tree.cells()[cell];
        let (level, at) = (place.level as usize, place.at.map(u32::from));
        let before = known.and_then(|(tree, known)| {
            tree.leaf_at(level, at).map(|cell| known.volume_cell[cell as usize]).filter(|v| !v.is_nan())
        });
        before.unwrap_or_else(|| {
            let cell = kinked(level, at, phi);
            match solids.open_beside_box(cell.low, cell.dx) {
                Some(open) => open.volume,
                None => cell.in_parts().open_volume(open_corners(&phi)),
            }
        })
    });
    let is_kinked = |cell: usize| !of_cell[cell].is_nan();
    let of_face = parallel::map_indices(tree.face_count(), |face| {
        if !tree.cells_beside(face).any(is_kinked) {
            return f32::NAN;
        }
        let (axis, place) = (tree.face_axis(face), tree.face_places()[face]);
        let area = |level: usize, at: [u32; 3]| {
            let before = known.and_then(|(tree, known)| {
                let face = tree.face_at(level, axis, at).filter(|&face| !tree.is_junction(face as usize));
                face.map(|face| known.area_face[face as usize]).filter(|v| !v.is_nan())
            });
            before.unwrap_or_else(|| {
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                let mut phi = [-1.0; 8];
                let corners = [0, 1 << b, 1 << b | 1 << c, 1 << c];
                for (corner, node) in corners.into_iter().zip(tree.face_nodes(level, axis, at)) {
                    phi[corner] = phi_solid_node[node as usize];
                }
                let cell = kinked(level, at, phi);
                match solids.open_beside_box(cell.low, cell.dx) {
                    Some(open) => open.areas[2 * axis],
                    None => cell.lower_face_in_parts(axis).open_area(axis, false, open_corners(&phi)),
                }
            })
        };
        let (level, at) = (place.level as usize, place.at.map(u32::from));
        if !tree.is_junction(face) {
            return area(level, at);
        }
        small_faces(axis, at).map(|at| area(level - 1, at)).iter().sum::<f32>() / 4.0
    });
    let replace = |open: &mut [f32], measured: &[f32]| {
        parallel::for_each_indexed_mut(open, |n, open| {
            if !measured[n].is_nan() {
                *open = measured[n];
            }
        });
    };
    replace(volume_cell, &of_cell);
    replace(area_face, &of_face);
    Kinks { volume_cell: of_cell, area_face: of_face }
}

/// The four faces that a T-junction consists of.
fn small_faces(axis: Axis, at: [u32; 3]) -> [[u32; 3]; 4] {
    [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[s, t]| {
        let mut small = at.map(|v| 2 * v);
        small[(axis + 1) % 3] += s;
        small[(axis + 2) % 3] += t;
        small
    })
}

/// All open or all solid?
fn whole(mark: u8) -> Option<f32> {
    match mark {
        OPEN => Some(1.0),
        SOLID => Some(0.0),
        _ => None,
    }
}

/// Open part of a face; `phi` is negative in the open.
fn face_open(tree: &Octree, face: usize, phi: &impl Fn(u32) -> f64) -> f32 {
    let (axis, place) = (tree.face_axis(face), tree.face_places()[face]);
    let (level, at) = (place.level as usize, place.at.map(u32::from));
    if !tree.is_junction(face) {
        return square_below(tree.face_nodes(level, axis, at).map(phi)) as f32;
    }
    let sum: f64 = small_faces(axis, at)
        .map(|small| square_below(tree.face_nodes(level - 1, axis, small).map(phi)))
        .iter()
        .sum();
    (0.25 * sum) as f32
}

/// Open part of a cell; `phi` is negative in the open.
fn cell_open(tree: &Octree, cell: usize, phi: &impl Fn(u32) -> f64) -> f32 {
    match halves(tree, cell, phi) {
        Err(corners) => cube_below(corners) as f32,
        Ok(points) => {
            ((0..8).map(|octant| cube_below(octant_corners(&points, octant))).sum::<f64>() / 8.0) as f32
        }
    }
}

/// Values at a cell's nodes: at its corners if it has no others, else on a lattice of half its size (3 x 3 x
/// 3, x fastest), nodes that do not exist being the means of the ends of the edge or face, or of the cell,
/// that they are in the middle of.
fn halves(tree: &Octree, cell: usize, value: &impl Fn(u32) -> f64) -> Result<[f64; 27], [f64; 8]> {
    let corners = tree.cell_nodes(cell).map(value);
    let place = tree.cells()[cell];
    if place.level == 0 {
        return Err(corners);
    }
    let mut hanging = false;
    let points = std::array::from_fn(|n| {
        let step = [n % 3, n / 3 % 3, n / 9];
        // Corners whose mean the place is: both along axes where it lies in the middle.
        let ends = (0..8).filter(|&c| AXES.iter().all(|&a| step[a] == 1 || step[a] / 2 == (c >> a) & 1));
        let count = ends.clone().count();
        let mean = ends.map(|c| corners[c]).sum::<f64>() / count as f64;
        if count == 1 || count == 8 {
            return mean;
        }
        let fine = [0, 1, 2].map(|a| 2 * place.at[a] as u32 + step[a] as u32);
        let node = tree.node_at(place.level as usize - 1, fine);
        hanging |= node.is_some();
        node.map_or(mean, value)
    });
    if hanging { Ok(points) } else { Err(corners) }
}

/// Closes walls of the domain: x low, x high, y low, y high, z low, z high.
pub fn close_walls(area_face: &mut [f32], tree: &Octree, closed: [bool; 6]) {
    assert_eq!(area_face.len(), tree.face_count(), "one area per face");
    for axis in AXES {
        for level in 0..tree.shape().levels {
            let last = tree.shape().cells(level)[axis];
            for face in tree.faces_of(axis, level) {
                let at = tree.face_places()[face].at[axis] as usize;
                if (at == 0 && closed[2 * axis]) || (at == last && closed[2 * axis + 1]) {
                    area_face[face] = 0.0;
                }
            }
        }
    }
}

/// Velocity of solids across every face that they close, be it in part: `velocity` at its centre along its
/// normal, m/s; zero on open faces, and on the `closed` walls of the domain, which do not move whatever stands at them. What
/// [`crate::divergence::inflow`] takes.
pub fn solid_velocity(
    u_face: &mut Vec<f32>,
    tree: &Octree,
    (area_face, closed): (&[f32], [bool; 6]),
    velocity: impl Fn(Vec3) -> Vec3 + Sync,
) {
    assert_eq!(area_face.len(), tree.face_count(), "one area per face");
    u_face.resize(tree.face_count(), 0.0);
    parallel::for_each_indexed_mut(u_face, |face, u| {
        let (axis, sides) = (tree.face_axis(face), tree.sides(face));
        let is_wall = (0..2).any(|n| sides[n] == Side::Outside && closed[2 * axis + n]);
        let moves = area_face[face] < 1.0 && !is_wall;
        *u = if moves { velocity(tree.face_center(face, axis))[axis] } else { 0.0 };
    });
}
