//! Which piece a point lies in, and the points of every piece.

use crate::interpolation::PieceShapes;
use crate::mesh::{CutCells, NONE};
use fluvial_foundation::{DVec3, parallel};

/// Points per chunk of parallel loops.
pub(crate) const POINTS: usize = 512;

/// Points sorted into pieces. Kept from step to step as scratch.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Piece of every point, [`NONE`] where there is no liquid.
    pub piece_of: Vec<u32>,
    /// First point of every piece in `points`, and one more.
    first: Vec<u32>,
    points: Vec<u32>,
}

impl Places {
    /// Sorts points, in cells, into the pieces of a mesh.
    pub fn find(&mut self, mesh: &CutCells, sides: &SolidSides, x: &[DVec3]) {
        self.piece_of.clear();
        self.piece_of.resize(x.len(), NONE);
        parallel::for_each_chunk_mut(&mut self.piece_of, POINTS, |chunk, out| {
            for (piece, x) in out.iter_mut().zip(&x[chunk * POINTS..]) {
                *piece = piece_at(mesh, sides, *x);
            }
        });
        self.first.clear();
        self.first.resize(mesh.pieces.len() + 1, 0);
        for &piece in self.piece_of.iter().filter(|p| **p != NONE) {
            self.first[piece as usize + 1] += 1;
        }
        for n in 1..self.first.len() {
            self.first[n] += self.first[n - 1];
        }
        self.points.clear();
        self.points.resize(self.first.last().map_or(0, |n| *n as usize), 0);
        let mut next = self.first.clone();
        for (point, &piece) in self.piece_of.iter().enumerate().filter(|p| *p.1 != NONE) {
            self.points[next[piece as usize] as usize] = point as u32;
            next[piece as usize] += 1;
        }
    }

    /// Points of a piece, in their order.
    pub fn of(&self, piece: usize) -> &[u32] {
        &self.points[self.first[piece] as usize..self.first[piece + 1] as usize]
    }
}

/// Which pieces touch solids, and the boundaries of those that points are looked for in.
#[derive(Clone, Debug, Default)]
pub struct SolidSides {
    /// Does a solid bound the piece?
    pub is_beside: Vec<bool>,
    /// Boundaries of cut pieces beside solids, and of those that share their cell with others.
    pub shapes: PieceShapes,
}

impl SolidSides {
    /// Looks at all pieces.
    pub fn find(&mut self, mesh: &CutCells) {
        self.is_beside.clear();
        let is_beside = |p: usize| mesh.triangles_of(p).iter().any(|t| !t.is_surface());
        self.is_beside.extend((0..mesh.pieces.len()).map(is_beside));
        let is_beside = &self.is_beside;
        self.shapes.gather(mesh, |p| {
            let piece = &mesh.pieces[p];
            !piece.is_full && (is_beside[p] || mesh.pieces_of(piece.cell as usize).len() > 1)
        });
    }
}

/// The cell of a point; points on the far walls of the domain belong to the last cell, and points outside to
/// the nearest.
pub fn cell_of(mesh: &CutCells, x: DVec3) -> usize {
    let at = x.floor();
    mesh.grid.cell_centers().index_clamped(at.x as isize, at.y as isize, at.z as isize)
}

/// The piece that a point lies in. A point of a cell that lies outside of its liquid belongs to the nearest piece that no
/// solid hides from it; [`NONE`] where there is none.
pub fn piece_at(mesh: &CutCells, sides: &SolidSides, x: DVec3) -> u32 {
    let pieces = mesh.pieces_of(cell_of(mesh, x));
    let is_simple = pieces.len() == 1 && !sides.is_beside[pieces.start];
    if pieces.is_empty() || is_simple {
        return if is_simple { pieces.start as u32 } else { NONE };
    }
    let mut nearest = (f64::INFINITY, NONE);
    for piece in pieces {
        if mesh.pieces[piece].is_full {
            return piece as u32;
        }
        if sides.shapes.of(piece).contains(x) {
            return piece as u32;
        }
        let centroid = mesh.pieces[piece].centroid;
        let hidden = mesh.triangles_of(piece).iter().filter(|t| !t.is_surface()).any(|t| {
            let corners = t.vertices.map(|v| mesh.vertices[v as usize]);
            is_crossed(corners, x, centroid)
        });
        let distance = centroid.distance_squared(x);
        if !hidden && distance < nearest.0 {
            nearest = (distance, piece as u32);
        }
    }
    nearest.1
}

/// Does the way from `a` to `b` cross a triangle?
pub fn is_crossed([p, q, r]: [DVec3; 3], a: DVec3, b: DVec3) -> bool {
    let n = (q - p).cross(r - p);
    let (da, db) = (n.dot(a - p), n.dot(b - p));
    if da * db >= 0.0 {
        return false;
    }
    let x = a + da / (da - db) * (b - a);
    let side = |u: DVec3, v: DVec3| (v - u).cross(x - u).dot(n);
    side(p, q) >= 0.0 && side(q, r) >= 0.0 && side(r, p) >= 0.0
}
