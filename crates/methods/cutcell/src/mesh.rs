//! The cut cells of one moment: pieces, grid faces, geometry triangles, vertices, as flat arrays [cutcell
//! §2.1.1].
//!
//! All lengths are in cells of the simulation grid, from its lower corner: a cell is `[i, i + 1]`, areas are
//! in cell faces and volumes in cells. Positions are f64, because f32 metres resolve a cell of a large domain
//! to a few parts in 1e5 only.

use fluvial_foundation::{Axis, DVec3};
use fluvial_grids::UniformGrid;
use std::ops::Range;

/// No piece: beyond the domain.
pub const NONE: u32 = u32::MAX;

/// Where a vertex lies [cutcell §2.1.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum VertexKind {
    /// A node of the simulation grid.
    #[default]
    Grid,
    /// On an edge of the grid and on the geometry.
    Edge,
    /// On a face of the grid and on the geometry.
    Face,
    /// On the geometry alone.
    Geometry,
    /// A node of the tracker on a face of the grid and off the geometry; it divides grid faces into polygons.
    /// The paper has none.
    Tracker,
}

/// A connected part of the liquid inside one cell; it has one pressure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Piece {
    /// Flat index of its cell.
    pub cell: u32,
    /// Is it the whole cell?
    pub is_full: bool,
    /// Part of a cell's volume.
    pub volume: f64,
    /// Centre of volume.
    pub centroid: DVec3,
    /// Area of its free surface.
    pub surface_area: f64,
}

/// A triangle of a geometry face, counter-clockwise seen from outside its piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// Its corners.
    pub vertices: [u32; 3],
    /// The triangle of the solid it lies on, or [`NONE`] on the free surface.
    pub solid: u32,
}

impl Triangle {
    /// Does it bound the liquid against the air?
    pub fn is_surface(&self) -> bool {
        self.solid == NONE
    }
}

/// A grid face: the connected liquid that two pieces share on a face of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridFace {
    /// Its normal.
    pub axis: u8,
    /// Pieces on the low and on the high side; [`NONE`] beyond the domain.
    pub pieces: [u32; 2],
    /// Part of a cell face.
    pub area: f64,
    /// Centre of area.
    pub centroid: DVec3,
    /// First of its polygons, and one after the last. A whole face between two full cells has none.
    pub polygons: [u32; 2],
}

/// The cut cells.
#[derive(Clone, Debug)]
pub struct CutCells {
    /// The simulation grid.
    pub grid: UniformGrid,
    /// Tracker cells along the edge of a cell.
    pub factor: usize,
    /// First piece of every cell, and one more.
    pub first_piece: Vec<u32>,
    /// Pieces in the order of their cells.
    pub pieces: Vec<Piece>,
    /// Vertices in cells.
    pub vertices: Vec<DVec3>,
    /// What each vertex is.
    pub vertex_kind: Vec<VertexKind>,
    /// First geometry triangle of every piece, and one more.
    pub first_triangle: Vec<u32>,
    /// Geometry triangles in the order of their pieces.
    pub triangles: Vec<Triangle>,
    /// Grid faces by axis, then by place.
    pub faces: Vec<GridFace>,
    /// First vertex of every polygon on grid faces, and one more.
    pub first_vertex: Vec<u32>,
    /// Vertices of polygons, counter-clockwise seen from the face's high side.
    pub polygon_vertices: Vec<u32>,
    /// First entry of every piece in `piece_faces`, and one more.
    pub first_face: Vec<u32>,
    /// Grid faces of every piece.
    pub piece_faces: Vec<u32>,
    /// Vertices that were held off a node of the tracker ([`crate::nodes::LEAST_FRACTION`]).
    pub clamped_vertices: usize,
}

impl CutCells {
    /// No liquid at all; lists have their starts only.
    pub(crate) fn empty(grid: UniformGrid, factor: usize) -> Self {
        CutCells {
            grid,
            factor,
            first_piece: vec![0],
            pieces: vec![],
            vertices: vec![],
            vertex_kind: vec![],
            first_triangle: vec![0],
            triangles: vec![],
            faces: vec![],
            first_vertex: vec![0],
            polygon_vertices: vec![],
            first_face: vec![],
            piece_faces: vec![],
            clamped_vertices: 0,
        }
    }

    /// Pieces of a cell.
    pub fn pieces_of(&self, cell: usize) -> Range<usize> {
        self.first_piece[cell] as usize..self.first_piece[cell + 1] as usize
    }

    /// Geometry triangles of a piece.
    pub fn triangles_of(&self, piece: usize) -> &[Triangle] {
        &self.triangles[self.first_triangle[piece] as usize..self.first_triangle[piece + 1] as usize]
    }

    /// Grid faces of a piece, each with the side (0 low, 1 high) of the face that the piece lies on.
    pub fn faces_of(&self, piece: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = self.first_face[piece] as usize..self.first_face[piece + 1] as usize;
        self.piece_faces[range].iter().map(move |&f| {
            let side = (self.faces[f as usize].pieces[1] == piece as u32) as usize;
            (f as usize, side)
        })
    }

    /// Vertices of a polygon.
    pub fn polygon(&self, polygon: usize) -> &[u32] {
        let range = self.first_vertex[polygon] as usize..self.first_vertex[polygon + 1] as usize;
        &self.polygon_vertices[range]
    }

    /// Area vector of a geometry triangle, in cell faces.
    pub fn area_vector(&self, triangle: &Triangle) -> DVec3 {
        let [a, b, c] = triangle.vertices.map(|v| self.vertices[v as usize]);
        0.5 * (b - a).cross(c - a)
    }

    /// Low corner of a cell, in cells.
    pub fn corner(&self, cell: usize) -> DVec3 {
        let [i, j, k] = self.grid.cell_centers().coordinates(cell);
        DVec3::new(i as f64, j as f64, k as f64)
    }

    /// A position in metres.
    pub fn in_world(&self, x_in_cells: DVec3) -> DVec3 {
        self.grid.min.as_dvec3() + self.grid.dx as f64 * x_in_cells
    }

    /// What the surface of a piece adds up to.
    pub fn surface_sums(&self, piece: usize) -> SurfaceSums {
        let origin = self.corner(self.pieces[piece].cell as usize);
        let mut sums = SurfaceSums::default();
        for t in self.triangles_of(piece) {
            sums.add(t.vertices.map(|v| self.vertices[v as usize] - origin), 1.0);
        }
        for (f, side) in self.faces_of(piece) {
            let face = &self.faces[f];
            let sign = if side == 0 { 1.0 } else { -1.0 };
            if face.polygons[0] == face.polygons[1] {
                sums.add_whole_face(face.axis as Axis, sign, (face.centroid - origin)[face.axis as usize]);
            }
            for p in face.polygons[0]..face.polygons[1] {
                let polygon = self.polygon(p as usize);
                for n in 1..polygon.len() - 1 {
                    let corners = [polygon[0], polygon[n], polygon[n + 1]];
                    sums.add(corners.map(|v| self.vertices[v as usize] - origin), sign);
                }
            }
        }
        sums
    }
}

/// Sums over the closed surface of a piece: by the divergence theorem the first is zero and the second its
/// volume.
#[derive(Clone, Copy, Debug, Default)]
pub struct SurfaceSums {
    /// Sum of area vectors.
    pub area_vector: DVec3,
    /// One third of the sum of `x . n dA`.
    pub volume: f64,
}

impl SurfaceSums {
    fn add(&mut self, [a, b, c]: [DVec3; 3], sign: f64) {
        let area = 0.5 * sign * (b - a).cross(c - a);
        self.area_vector += area;
        self.volume += area.dot(a) / 3.0;
    }

    fn add_whole_face(&mut self, axis: Axis, sign: f64, x: f64) {
        self.area_vector[axis] += sign;
        self.volume += sign * x / 3.0;
    }
}
