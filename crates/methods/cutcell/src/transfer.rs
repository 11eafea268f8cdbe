//! From particles to grid faces and vertices [cutcell §3.3].
//!
//! A face or vertex hears the particles of its own pieces and of the pieces that these share a grid face with: never
//! anything behind a wall. Weights fall linearly to zero at one cell along every axis, times the particle's volume; affine
//! particles (APIC) give their velocity where it is read, so that a linear field is reproduced exactly.
//! Tests: tests/transport.rs.

use crate::iso::PIECES;
use crate::mesh::{CutCells, NONE};
use crate::places::Places;
use fluvial_foundation::{DVec3, Vec3, parallel};

/// Particles as the transfers see them.
#[derive(Clone, Copy)]
pub struct Parcels<'a> {
    /// Positions, in cells.
    pub x: &'a [DVec3],
    /// Velocities, m/s.
    pub v: &'a [Vec3],
    /// Rows of the velocity's gradient, 1/s; empty without them.
    pub affine: [&'a [Vec3]; 3],
    /// Volumes; any unit.
    pub volume: &'a [f32],
    /// Edge of a cell, m.
    pub dx: f64,
}

impl Parcels<'_> {
    fn velocity(&self, n: usize, at: DVec3) -> DVec3 {
        let v = self.v[n].as_dvec3();
        if self.affine[0].is_empty() {
            return v;
        }
        let way = self.dx * (at - self.x[n]);
        v + DVec3::from_array(self.affine.map(|rows| rows[n].as_dvec3().dot(way)))
    }
}

/// A sum of velocities with its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    u: DVec3,
    weight: f64,
}

impl Sum {
    fn add_points(&mut self, parcels: &Parcels, points: &[u32], at: DVec3) {
        for &n in points {
            let d = (at - parcels.x[n as usize]).abs();
            if d.max_element() < 1.0 {
                let hat = (1.0 - d.x) * (1.0 - d.y) * (1.0 - d.z);
                let weight = hat * parcels.volume[n as usize] as f64;
                self.u += weight * parcels.velocity(n as usize, at);
                self.weight += weight;
            }
        }
    }
}

/// Weights below this share of a particle's volume are rounding.
const LEAST_WEIGHT: f64 = 1e-9;
/// The weight of a piece's mean where no particle is heard: anything heard elsewhere outweighs it.
const NO_WEIGHT: f64 = 1e-30;

/// The pieces of a face and their neighbours, each once.
fn ring(out: &mut Vec<u32>, mesh: &CutCells, own: impl Iterator<Item = u32>) {
    out.clear();
    for piece in own.filter(|p| *p != NONE) {
        out.push(piece);
        out.extend(mesh.faces_of(piece as usize).map(|(f, side)| mesh.faces[f].pieces[1 - side]));
    }
    out.sort_unstable();
    out.dedup();
    out.retain(|p| *p != NONE);
}

/// Velocities of pieces, faces and vertices before the projection.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// Mean velocity of every piece's particles, m/s.
    pub u_piece: Vec<DVec3>,
    /// Normal velocity of every grid face, m/s; 0 on the domain's walls.
    pub u_face: Vec<f64>,
    /// Velocity of every vertex, m/s.
    pub u_vertex: Vec<DVec3>,
    /// Pieces without particles, which took their neighbours' velocity.
    pub empty_pieces: usize,
    known: Vec<bool>,
    sums: Vec<Sum>,
}

impl Gathered {
    /// Gathers from particles.
    pub fn gather(&mut self, mesh: &CutCells, places: &Places, parcels: &Parcels) {
        self.gather_pieces(mesh, places, parcels);
        let u_piece = &self.u_piece;
        self.u_face.clear();
        self.u_face.resize(mesh.faces.len(), 0.0);
        parallel::for_each_chunk_mut(&mut self.u_face, PIECES, |chunk, out| {
            let mut around = Vec::new();
            for (n, u) in out.iter_mut().enumerate() {
                let face = &mesh.faces[chunk * PIECES + n];
                if face.pieces.contains(&NONE) {
                    continue;
                }
                ring(&mut around, mesh, face.pieces.into_iter());
                let mut sum = Sum::default();
                around.iter().for_each(|&p| sum.add_points(parcels, places.of(p as usize), face.centroid));
                let mean = || 0.5 * (u_piece[face.pieces[0] as usize] + u_piece[face.pieces[1] as usize]);
                let velocity = if sum.weight > LEAST_WEIGHT { sum.u / sum.weight } else { mean() };
                *u = velocity[face.axis as usize];
            }
        });
        self.gather_vertices(mesh, places, parcels);
    }

    /// Means of pieces; pieces without particles take the mean of their neighbours, from the nearest ones on.
    fn gather_pieces(&mut self, mesh: &CutCells, places: &Places, parcels: &Parcels) {
        let pieces = mesh.pieces.len();
        self.u_piece.clear();
        self.u_piece.resize(pieces, DVec3::ZERO);
        parallel::for_each_chunk_mut(&mut self.u_piece, PIECES, |chunk, out| {
            for (n, u) in out.iter_mut().enumerate() {
                let mut sum = Sum::default();
                for &p in places.of(chunk * PIECES + n) {
                    let volume = parcels.volume[p as usize] as f64;
                    sum.u += volume * parcels.v[p as usize].as_dvec3();
                    sum.weight += volume;
                }
                *u = if sum.weight > 0.0 { sum.u / sum.weight } else { DVec3::ZERO };
            }
        });
        self.known.clear();
        self.known.extend((0..pieces).map(|p| !places.of(p).is_empty()));
        let mut unknown: Vec<u32> = (0..pieces as u32).filter(|&p| !self.known[p as usize]).collect();
        self.empty_pieces = unknown.len();
        while !unknown.is_empty() {
            let (u_piece, known) = (&self.u_piece, &self.known);
            let mean = |&piece: &u32| {
                let (mut sum, mut count) = (DVec3::ZERO, 0.0);
                for (f, side) in mesh.faces_of(piece as usize) {
                    let other = mesh.faces[f].pieces[1 - side];
                    if other != NONE && known[other as usize] {
                        sum += u_piece[other as usize];
                        count += 1.0;
                    }
                }
                (count > 0.0).then(|| (piece, sum / count))
            };
            let found: Vec<(u32, DVec3)> = unknown.iter().filter_map(mean).collect();
            if found.is_empty() {
                break;
            }
            for (piece, u) in found {
                self.u_piece[piece as usize] = u;
                self.known[piece as usize] = true;
            }
            unknown.retain(|&p| !self.known[p as usize]);
        }
    }

    /// Vertices of geometry triangles hear the pieces that they bound.
    fn gather_vertices(&mut self, mesh: &CutCells, places: &Places, parcels: &Parcels) {
        let chunks = parallel::chunk_count(mesh.pieces.len(), PIECES);
        let parts = parallel::map_indices(chunks, |chunk| {
            let (mut found, mut around, mut own) = (Vec::new(), Vec::new(), Vec::new());
            for piece in parallel::chunk_range(chunk, PIECES, mesh.pieces.len()) {
                let triangles = mesh.triangles_of(piece);
                if triangles.is_empty() {
                    continue;
                }
                own.clear();
                own.extend(triangles.iter().flat_map(|t| t.vertices));
                own.sort_unstable();
                own.dedup();
                ring(&mut around, mesh, std::iter::once(piece as u32));
                for &v in &own {
                    let mut sum = Sum::default();
                    let at = mesh.vertices[v as usize];
                    around.iter().for_each(|&p| sum.add_points(parcels, places.of(p as usize), at));
                    if sum.weight <= LEAST_WEIGHT {
                        sum = Sum { u: NO_WEIGHT * self.u_piece[piece], weight: NO_WEIGHT };
                    }
                    found.push((v, sum));
                }
            }
            found
        });
        self.sums.clear();
        self.sums.resize(mesh.vertices.len(), Sum::default());
        for (v, sum) in parts.into_iter().flatten() {
            self.sums[v as usize].u += sum.u;
            self.sums[v as usize].weight += sum.weight;
        }
        self.u_vertex.clear();
        let mean = |s: &Sum| if s.weight > 0.0 { s.u / s.weight } else { DVec3::ZERO };
        self.u_vertex.extend(self.sums.iter().map(mean));
    }
}
