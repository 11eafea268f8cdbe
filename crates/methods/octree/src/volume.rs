//! How much of cells, and of the domain, is liquid.

use crate::interpolate::{Interpolation, Sampler};
use crate::quadric::{Prepared, Quadric};
use crate::select::select;
use crate::sides::TreeSides;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::cut::{CUBE_FACES, cube_below_plane, octants_below, tetrahedron_below_both};
use fluvial_grids::octree::{OUTSIDE, Side};

/// Cells farther from the surface, in their edges, are liquid as a whole or not at all: somewhat more than
/// half a diagonal.
const NEAR: f32 = 1.1;
/// Second differences of phi above this part of the edge are an edge or a sheet, not a curved surface.
const SHARP: f64 = 0.3;
/// How far the surface moves while fits that are ready for it are used, cells; beyond it they are made when needed.
const MOVES: f32 = 0.5;

/// What solids leave open.
#[derive(Clone, Copy, Debug)]
pub struct Open<'a> {
    /// Open part of every cell, 0 to 1.
    pub volume_cell: &'a [f32],
    /// Solids' signed distance at nodes.
    pub phi_solid_node: &'a [f32],
    /// Sides of thin solids.
    pub sides: TreeSides<'a>,
}

/// Share of every cell's volume that is liquid and outside of solids, from phi as a distance at cell centres.
///
/// Cells near the surface are cut by the plane of phi's slope with phi's mean over the cell
/// (`phi + h^2/24 lap phi`) as its offset, which takes the curvature within the cell into account; slopes are
/// central differences between equal cells, those of a quadratic fit elsewhere. Where phi bends sharply each
/// octant is cut by a plane of its own. In cells that solids cut too both fields are linear on 24 tetrahedra.
/// Exact for planes. Verified by `volume.rs`.
pub fn liquid_fractions(
    fraction_cell: &mut Vec<f32>,
    tree: &Octree,
    phi_cell: &[f32],
    open: Option<Open>,
    fits: &Fits,
) {
    assert_eq!(phi_cell.len(), tree.cell_count(), "one phi per cell");
    fraction_cell.resize(tree.cell_count(), 0.0);
    parallel::for_each_indexed_mut(fraction_cell, |cell, out| {
        *out = fraction(tree, phi_cell, open, fits, cell) as f32;
    });
}

/// Quadratic fits at the cells near the surface that need one, made ready for the shapes that the surface takes in
/// turn on one tree. They spare work and change no bit.
#[derive(Clone, Debug, Default)]
pub struct Fits {
    /// Where each cell's is in the list; [`OUTSIDE`] without one, empty without any.
    of_cell: Vec<u32>,
    prepared: Vec<Prepared>,
}

impl Fits {
    /// No fit is ready.
    pub const NONE: &'static Fits = &Fits { of_cell: vec![], prepared: vec![] };

    /// For surfaces on a tree that are near this one.
    pub fn prepare(&mut self, tree: &Octree, phi_cell: &[f32]) {
        let is_near = |cell: usize| phi_cell[cell].abs() < (NEAR + MOVES) * tree.cell_dx(cell);
        let needs_one = |cell: usize| is_near(cell) && differences(tree, phi_cell, cell).is_none();
        self.of_cell.clear();
        self.of_cell.resize(tree.cell_count(), OUTSIDE);
        let cells = select(tree.cell_count(), needs_one);
        let prepared = parallel::map_indices(cells.len(), |n| Prepared::new(tree, cells[n] as usize));
        self.prepared.clear();
        for (&cell, fit) in cells.iter().zip(prepared) {
            if let Some(fit) = fit {
                self.of_cell[cell as usize] = self.prepared.len() as u32;
                self.prepared.push(fit);
            }
        }
    }

    /// As [`Quadric::fit`].
    pub(crate) fn fit(&self, tree: &Octree, phi_cell: &[f32], cell: usize) -> Quadric {
        match self.of_cell.get(cell) {
            Some(&n) if n != OUTSIDE => self.prepared[n as usize].fit(tree, phi_cell, cell),
            _ => Quadric::fit(tree, phi_cell, cell),
        }
    }
}

/// Liquid volume, m3: the sum of [`liquid_fractions`] times the cells' volumes.
pub fn liquid_volume(tree: &Octree, phi_cell: &[f32], open: Option<Open>) -> f64 {
    assert_eq!(phi_cell.len(), tree.cell_count(), "one phi per cell");
    parallel::ordered_sum(parallel::chunk_count(tree.cell_count(), parallel::CHUNK), |n| {
        let cells = parallel::chunk_range(n, parallel::CHUNK, tree.cell_count());
        let fraction = |cell: usize| fraction(tree, phi_cell, open, Fits::NONE, cell);
        cells.map(|cell| (tree.cell_dx(cell) as f64).powi(3) * fraction(cell)).sum()
    })
}

#[inline]
fn fraction(tree: &Octree, phi_cell: &[f32], open: Option<Open>, fits: &Fits, cell: usize) -> f64 {
    let (phi, near) = (phi_cell[cell], NEAR * tree.cell_dx(cell));
    let volume = open.map_or(1.0, |open| open.volume_cell[cell]) as f64;
    if volume <= 0.0 || phi >= near {
        return 0.0;
    }
    if phi <= -near {
        return volume;
    }
    if let Some(open) = open
        && let Some(at) = open.sides.near_place(tree, cell)
    {
        return volume * share_on_side(tree, phi_cell, open, cell, at);
    }
    match open {
        Some(open) if volume < 1.0 => volume * share_beside_solid(tree, phi_cell, open.phi_solid_node, cell),
        _ => share(tree, phi_cell, fits, cell),
    }
}

/// Liquid part of the open part of a cell near a thin solid, from phi as it sees it.
fn share_on_side(tree: &Octree, phi_cell: &[f32], open: Open, cell: usize, at: [usize; 3]) -> f64 {
    let patch = open.sides.patch(tree, phi_cell, at, 1);
    let (center, size, dx) = (patch.center, patch.lattice.size, tree.cell_dx(cell) as f64);
    let value = |d: [isize; 3]| -> f64 {
        let [i, j, k] = std::array::from_fn(|a| center[a].saturating_add_signed(d[a]).min(size[a] - 1));
        patch.values()[patch.lattice.index(i, j, k)] as f64
    };
    // At a wall of the domain the plane goes on.
    let beyond = |a: usize, up: isize| {
        let mut d = [0; 3];
        d[a] = up;
        let outside = if up > 0 { center[a] + 1 == size[a] } else { center[a] == 0 };
        if !outside {
            return value(d);
        }
        d[a] = -up;
        2.0 * value([0; 3]) - value(d)
    };
    let here = value([0; 3]);
    if open.volume_cell[cell] >= 1.0 {
        let slope = [0, 1, 2].map(|a| 0.5 * (beyond(a, 1) - beyond(a, -1)) / dx);
        let bend = [0, 1, 2].map(|a| (beyond(a, 1) + beyond(a, -1) - 2.0 * here) / dx);
        let offset = if bend.iter().all(|b| b.abs() < SHARP) { bend.iter().sum::<f64>() / 24.0 } else { 0.0 };
        return cube_below_plane(here / dx + offset, slope);
    }
    // Means of the cells that meet at each point of the lattice of half the size.
    let points: [f64; 27] = std::array::from_fn(|n| {
        let step = [n % 3, n / 3 % 3, n / 9].map(|s| s as isize - 1);
        let corners = (0..8).map(|c| std::array::from_fn(|a| if c >> a & 1 == 1 { step[a] } else { 0 }));
        corners.map(value).sum::<f64>() / 8.0
    });
    let place = open.sides.cells.index(at[0], at[1], at[2]);
    let own = open.sides.sides.own_corners[place];
    let nodes = tree.cell_nodes(cell).map(|node| open.phi_solid_node[node as usize] as f64);
    share_of_open(
        &points,
        std::array::from_fn(|n| if own >> n & 1 == 1 { -nodes[n] } else { nodes[n].abs() }),
    )
}

/// Liquid part of an open cell near the surface.
fn share(tree: &Octree, phi_cell: &[f32], fits: &Fits, cell: usize) -> f64 {
    let (slope, bend) = differences(tree, phi_cell, cell).unwrap_or_else(|| {
        let fit = fits.fit(tree, phi_cell, cell);
        (fit.slope([0.0; 3]), fit.bend()[0])
    });
    if bend.iter().all(|b| b.abs() < SHARP) {
        let here = phi_cell[cell] as f64 / tree.cell_dx(cell) as f64;
        return cube_below_plane(here + bend.iter().sum::<f64>() / 24.0, slope);
    }
    octants_below(&around(tree, phi_cell, cell))
}

/// Central and second differences along the axes, in edges, of a cell between equal ones.
fn differences(tree: &Octree, phi_cell: &[f32], cell: usize) -> Option<([f64; 3], [f64; 3])> {
    let faces = tree.cell_faces()[cell];
    let dx = tree.cell_dx(cell);
    let mut v = [0.0; 6];
    for side in 0..6 {
        let face = faces[side] as usize;
        let Side::Cell(other) = tree.sides(face)[side % 2] else { return None };
        // A face of a larger cell has it as its one cell on this side.
        if tree.face_dx(face) != dx {
            return None;
        }
        v[side] = phi_cell[other as usize] as f64 / dx as f64;
    }
    let here = phi_cell[cell] as f64 / dx as f64;
    Some((
        [0, 1, 2].map(|a| 0.5 * (v[2 * a + 1] - v[2 * a])),
        [0, 1, 2].map(|a| (v[2 * a] + v[2 * a + 1]) - 2.0 * here),
    ))
}

/// phi on a lattice of half the cell's size, 3 x 3 x 3, x fastest, the cell's own value in the middle.
fn around(tree: &Octree, phi_cell: &[f32], cell: usize) -> [f64; 27] {
    let sampler = Sampler::new(tree, Interpolation::Mls);
    let (x, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
    std::array::from_fn(|n| {
        if n == 13 {
            return phi_cell[cell] as f64;
        }
        let offset = Vec3::new((n % 3) as f32 - 1.0, (n / 3 % 3) as f32 - 1.0, (n / 9) as f32 - 1.0);
        sampler.cells(phi_cell, x + 0.5 * dx * offset) as f64
    })
}

/// Share of the open part of a cell that is liquid.
fn share_beside_solid(tree: &Octree, phi_cell: &[f32], phi_solid_node: &[f32], cell: usize) -> f64 {
    let points = around(tree, phi_cell, cell);
    share_of_open(&points, tree.cell_nodes(cell).map(|node| -phi_solid_node[node as usize] as f64))
}

/// The same from phi on the lattice of half the cell's size, and the solids' distance, negative in the open, at its
/// corners.
pub(crate) fn share_of_open(points: &[f64; 27], nodes: [f64; 8]) -> f64 {
    let corners: [[f64; 2]; 8] =
        std::array::from_fn(|n| [points[2 * (n & 1) + 6 * (n >> 1 & 1) + 18 * (n >> 2)], nodes[n]]);
    let centre = [points[13], nodes.iter().sum::<f64>() / 8.0];
    let middles = [12, 14, 10, 16, 4, 22].map(|n| points[n]);
    let (mut wet, mut open) = (0.0, 0.0);
    for (face, middle) in CUBE_FACES.iter().zip(middles) {
        let ring = face.map(|n| corners[n]);
        let middle = [middle, 0.25 * ((ring[0][1] + ring[2][1]) + (ring[1][1] + ring[3][1]))];
        for edge in 0..4 {
            let tetrahedron = [centre, middle, ring[edge], ring[(edge + 1) % 4]];
            wet += tetrahedron_below_both(tetrahedron);
            open += tetrahedron_below_both(tetrahedron.map(|v| [-1.0, v[1]]));
        }
    }
    if open > 0.0 { (wet / open).clamp(0.0, 1.0) } else { (centre[0] < 0.0) as u8 as f64 }
}
