//! The velocity that carries particles and surface: piecewise, from grid faces and vertices.
//!
//! In cells with one piece and no solid it is the usual trilinear one of a staggered grid, whose faces without liquid
//! continue what surface and opposite faces say. Pieces that share their cell have a velocity of their own, linear between
//! their own faces: two drops in a cell do not drag each other. Pieces beside solids are read with spherical barycentric
//! coordinates [cutcell §2.1.3], which no wall's normal velocity enters. Tests: tests/transport.rs.

use crate::mesh::{CutCells, NONE};
use crate::places::SolidSides;
use fluvial_foundation::{AXES, DVec3};
use fluvial_grids::FaceField;

/// Nearer to a face than this part of a cell, a piece's surface says nothing about the velocity's slope.
const LEAST_SLOPE_BASE: f64 = 0.5;
/// Less liquid on a face, in cell faces, is no opening: a jet through a sliver says nothing about the whole face.
const LEAST_OPENING: f64 = 0.05;
/// Least weight of a piece's surface for the faces beside it.
const LEAST_SURFACE: f64 = 1e-9;

/// Normal velocities at the low and high side of a piece's cell along each axis, m/s.
pub type SideVelocities = [[f64; 2]; 3];

/// The piecewise velocity.
#[derive(Debug, Default)]
pub struct Flow {
    /// Normal velocities on the faces of the grid, m/s.
    pub u_face: FaceField,
    /// Which of them are known: 1, else 0.
    pub known_face: [Vec<u8>; 3],
    /// Velocities on the sides of every piece's cell, m/s.
    pub sides: Vec<SideVelocities>,
    /// Does the piece have its cell for itself, with one opening to every side?
    pub is_alone: Vec<bool>,
    /// The same with air that is free of divergence beside the liquid ([`crate::air`]), m/s: what carries.
    pub u_carry: FaceField,
    /// Is a face's velocity that of liquid on it, or of a wall?
    pub is_fixed: [Vec<bool>; 3],
    weight_face: [Vec<f32>; 3],
}

/// Mean velocity and place of a piece's free surface.
pub(crate) fn surface_mean(mesh: &CutCells, piece: usize, u_vertex: &[DVec3]) -> Option<(DVec3, DVec3)> {
    triangle_mean(mesh, piece, u_vertex, true)
}

/// Mean velocity and place of a piece's free surface, or of its solids.
fn triangle_mean(
    mesh: &CutCells,
    piece: usize,
    u_vertex: &[DVec3],
    is_surface: bool,
) -> Option<(DVec3, DVec3)> {
    let (mut u, mut x, mut area) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    for t in mesh.triangles_of(piece).iter().filter(|t| t.is_surface() == is_surface) {
        let a = mesh.area_vector(t).length();
        u += a / 3.0 * t.vertices.iter().map(|&v| u_vertex[v as usize]).sum::<DVec3>();
        x += a / 3.0 * t.vertices.iter().map(|&v| mesh.vertices[v as usize]).sum::<DVec3>();
        area += a;
    }
    (area > 0.0).then(|| (u / area, x / area))
}

impl Flow {
    /// Builds the velocity from those of grid faces and vertices. Faces beyond the liquid stay unknown: the caller
    /// extrapolates.
    pub fn build(&mut self, mesh: &CutCells, u_face: &[f64], u_vertex: &[DVec3], u_piece: &[DVec3]) {
        for axis in AXES {
            let faces = mesh.grid.faces(axis).len();
            for values in [&mut self.u_face[axis], &mut self.weight_face[axis]] {
                values.clear();
                values.resize(faces, 0.0);
            }
            self.known_face[axis].clear();
            self.known_face[axis].resize(faces, 0);
        }
        self.sides.clear();
        self.sides.resize(mesh.pieces.len(), SideVelocities::default());
        self.is_alone.clear();
        self.is_alone.resize(mesh.pieces.len(), true);
        self.add_openings(mesh, u_face);
        for piece in 0..mesh.pieces.len() {
            self.find_sides(mesh, piece, u_face, u_vertex, u_piece[piece]);
        }
        self.finish_faces(mesh);
    }

    /// Means over the openings of every face.
    fn add_openings(&mut self, mesh: &CutCells, u_face: &[f64]) {
        for (face, u) in mesh.faces.iter().zip(u_face).filter(|(face, _)| face.area > LEAST_OPENING) {
            let at = face_index(mesh, face.axis as usize, face.centroid);
            self.u_face[face.axis as usize][at] += (face.area * u) as f32;
            self.weight_face[face.axis as usize][at] += face.area as f32;
        }
        for axis in AXES {
            let (u, weight) = (&mut self.u_face[axis], &mut self.weight_face[axis]);
            for ((u, weight), known) in u.iter_mut().zip(weight).zip(&mut self.known_face[axis]) {
                if *weight > 0.0 {
                    *u /= *weight;
                    *known = 1;
                }
                *weight = 0.0;
            }
            self.is_fixed[axis].clear();
            self.is_fixed[axis].extend(self.known_face[axis].iter().map(|known| *known == 1));
        }
    }

    /// Velocities on the sides of a piece: of its openings, and where it has none continued from the opposite side
    /// through its surface. The latter stand for the grid's faces there too.
    fn find_sides(
        &mut self,
        mesh: &CutCells,
        piece: usize,
        u_face: &[f64],
        u_vertex: &[DVec3],
        u_mean: DVec3,
    ) {
        let (mut flux, mut area, mut count) = ([[0.0; 2]; 3], [[0.0; 2]; 3], [[0; 2]; 3]);
        for (f, side) in mesh.faces_of(piece) {
            let face = &mesh.faces[f];
            if face.area > LEAST_OPENING {
                // A face whose low side is the piece lies on the piece's high side.
                let (a, s) = (face.axis as usize, 1 - side);
                flux[a][s] += face.area * u_face[f];
                area[a][s] += face.area;
                count[a][s] += 1;
            }
        }
        let cell = mesh.pieces[piece].cell as usize;
        let at = mesh.grid.cell_centers().coordinates(cell);
        for a in AXES {
            // The domain's walls are closed, and nothing passes them.
            let on_wall = [at[a] == 0, at[a] + 1 == mesh.grid.cells[a]];
            (0..2).filter(|&s| on_wall[s]).for_each(|s| (flux[a][s], area[a][s]) = (0.0, 1.0));
        }
        let is_single = count.iter().flatten().all(|n| *n <= 1);
        self.is_alone[piece] = is_single && mesh.pieces_of(cell).len() == 1;
        // Without a free surface what bounds the piece is solid, along which its vertices move. The particles' mean has a step's gravity
        // in it, by which still water sank into a slope.
        let (u_surface, x_surface) = surface_mean(mesh, piece, u_vertex)
            .or_else(|| triangle_mean(mesh, piece, u_vertex, false))
            .unwrap_or((u_mean, mesh.pieces[piece].centroid));
        let within = (x_surface - mesh.corner(cell)).clamp(DVec3::ZERO, DVec3::ONE);
        for a in AXES {
            let mean = |s: usize| flux[a][s] / area[a][s];
            let continued =
                |from: usize, way: f64| mean(from) + (u_surface[a] - mean(from)) / way.max(LEAST_SLOPE_BASE);
            self.sides[piece][a] = match area[a].map(|area| area > 0.0) {
                [true, true] => [mean(0), mean(1)],
                [true, false] => [mean(0), continued(0, within[a])],
                [false, true] => [continued(1, 1.0 - within[a]), mean(1)],
                [false, false] => [u_surface[a]; 2],
            };
            let weight = mesh.pieces[piece].surface_area.max(LEAST_SURFACE) as f32;
            for s in (0..2).filter(|&s| area[a][s] == 0.0) {
                let at = side_index(mesh, cell, a, s);
                if self.known_face[a][at] == 0 {
                    self.u_face[a][at] += weight * self.sides[piece][a][s] as f32;
                    self.weight_face[a][at] += weight;
                }
            }
        }
    }

    fn finish_faces(&mut self, mesh: &CutCells) {
        for axis in AXES {
            let last = mesh.grid.cells[axis];
            let lattice = mesh.grid.faces(axis);
            for n in 0..lattice.len() {
                let at = lattice.coordinates(n)[axis];
                if at == 0 || at == last {
                    // The domain's walls are closed.
                    self.is_fixed[axis][n] = true;
                    (self.u_face[axis][n], self.known_face[axis][n]) = (0.0, 1);
                } else if self.weight_face[axis][n] > 0.0 {
                    self.u_face[axis][n] /= self.weight_face[axis][n];
                    self.known_face[axis][n] = 1;
                }
            }
        }
    }

    /// Velocity at a point, in cells, of a piece or, for [`NONE`], of the air.
    pub fn at(&self, mesh: &CutCells, piece: u32, x: DVec3) -> DVec3 {
        self.of(&self.u_face, mesh, piece, x)
    }

    /// As [`Self::at`], of what carries.
    pub fn carrying(&self, mesh: &CutCells, piece: u32, x: DVec3) -> DVec3 {
        self.of(&self.u_carry, mesh, piece, x)
    }

    fn of(&self, u_face: &FaceField, mesh: &CutCells, piece: u32, x: DVec3) -> DVec3 {
        if piece == NONE || self.is_alone[piece as usize] {
            return on_grid(u_face, mesh, x);
        }
        let t = (x - mesh.corner(mesh.pieces[piece as usize].cell as usize)).clamp(DVec3::ZERO, DVec3::ONE);
        let [u, v, w] = self.sides[piece as usize];
        DVec3::new(u[0] + t.x * (u[1] - u[0]), v[0] + t.y * (v[1] - v[0]), w[0] + t.z * (w[1] - w[0]))
    }

    /// As [`Self::at`], with the coordinates that respect walls beside solids, where the point lies inside its piece.
    pub fn beside_walls(
        &self,
        (mesh, sides): (&CutCells, &SolidSides),
        (piece, x): (u32, DVec3),
        u_vertex: &[DVec3],
        weights: &mut Vec<f64>,
    ) -> DVec3 {
        if piece == NONE || !sides.is_beside[piece as usize] {
            return self.carrying(mesh, piece, x);
        }
        let shape = sides.shapes.of(piece as usize);
        let inside = shape.contains(x).then(|| shape.interpolate(u_vertex, x, weights)).flatten();
        inside.filter(|u| u.is_finite()).unwrap_or_else(|| self.carrying(mesh, piece, x))
    }
}

/// Trilinear velocity of the staggered grid at a point, in cells.
fn on_grid(u_face: &FaceField, mesh: &CutCells, x: DVec3) -> DVec3 {
    DVec3::from_array(AXES.map(|a| {
        let lattice = mesh.grid.faces(a);
        let mut at = x - 0.5;
        at[a] += 0.5;
        lattice.interpolate(&u_face[a], lattice.stencil_at(at.as_vec3())) as f64
    }))
}

/// Index of the face of the grid that a point on it belongs to.
fn face_index(mesh: &CutCells, axis: usize, x: DVec3) -> usize {
    let lattice = mesh.grid.faces(axis);
    let mut at = x.floor();
    at[axis] = x[axis].round();
    lattice.index_clamped(at.x as isize, at.y as isize, at.z as isize)
}

/// Index of the face on the low or high side of a cell.
fn side_index(mesh: &CutCells, cell: usize, axis: usize, side: usize) -> usize {
    let mut at = mesh.grid.cell_centers().coordinates(cell);
    at[axis] += side;
    mesh.grid.faces(axis).index(at[0], at[1], at[2])
}
