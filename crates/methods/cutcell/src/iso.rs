//! Where pressures live: one iso-distance per cut piece, found by scan rays [cutcell §3.1, 3.2, eq. 3].
//!
//! A scan ray starts at the centroid of a grid face and runs along its normal into the piece, reading the
//! tracker's phi. The distances that it meets are an interval; the piece's iso-distance is the middle of the
//! intersection of the intervals of all of its faces. Pieces without free surface keep their pressure at the
//! cell's centre [cutcell §2.1.2].

use crate::mesh::{CutCells, NONE};
use crate::nodes::Tracker;
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::Lattice;

/// Pieces whose iso-distance is nearer to the surface than this, in cells, take the surface's pressure
/// [cutcell §3.3].
pub const LEAST_DISTANCE: f64 = 1e-3;

/// Pieces per chunk of parallel loops.
pub(crate) const PIECES: usize = 1024;

/// The places of pressure samples.
#[derive(Clone, Debug, Default)]
pub struct IsoSamples {
    /// Iso-distance of every piece in cells, negative; 0 for pieces without free surface.
    pub phi_piece: Vec<f64>,
    /// Distance from every grid face to the pressure samples on its low and high side, in cells.
    pub to_sample: Vec<[f64; 2]>,
    /// Is the piece so near to the surface that its pressure is the surface's?
    pub is_dropped: Vec<bool>,
    /// Dropped pieces.
    pub dropped: usize,
    /// Rays that found their piece's iso-distance behind the face they started from.
    pub backward_rays: usize,
    /// Rays that did not meet their piece's iso-distance and use the middle of the cell.
    pub missed_rays: usize,
    /// Faces whose two samples were nearer to each other than [`LEAST_DISTANCE`] and were held apart.
    pub floored_faces: usize,
}

/// A ray through tracker nodes' phi: values at steps of a tracker cell from the face on, in cells.
#[derive(Default)]
struct Ray {
    phi: Vec<f64>,
    /// Length that may be used, in cells.
    length: f64,
}

impl IsoSamples {
    /// Finds all places for the cut cells of a tracker.
    pub fn find(&mut self, mesh: &CutCells, tracker: &Tracker) {
        let nodes = tracker.nodes();
        let pieces = mesh.pieces.len();
        self.phi_piece.clear();
        self.phi_piece.resize(pieces, 0.0);
        parallel::for_each_chunk_mut(&mut self.phi_piece, PIECES, |chunk, out| {
            let mut ray = Ray::default();
            for (n, phi) in out.iter_mut().enumerate() {
                let piece = chunk * PIECES + n;
                if mesh.pieces[piece].surface_area > 0.0 {
                    *phi = iso_distance(mesh, (tracker, &nodes), piece, &mut ray);
                }
            }
        });
        self.agree_beside_solids(mesh);
        self.is_dropped.clear();
        let surfaces = self.phi_piece.iter().zip(&mesh.pieces);
        self.is_dropped.extend(surfaces.map(|(phi, p)| p.surface_area > 0.0 && phi.abs() < LEAST_DISTANCE));
        self.dropped = self.is_dropped.iter().filter(|d| **d).count();
        self.place(mesh, tracker, &nodes);
    }

    /// Pieces beside solids take over the iso-distance of the open ones beside them, from piece to piece. Solids add no gradient
    /// [cutcell §2.1.2], and a piece that one cuts has to have the distance that it would have without: along a level surface
    /// phi does not change, so that two pieces with different distances have no common place on a ray between them, and still
    /// water ran along a slope with the difference of their pressures. Pieces that no open one is joined with keep their own.
    /// Test: `still_water_rests_beside_what_cuts_its_cells` of the solver.
    fn agree_beside_solids(&mut self, mesh: &CutCells) {
        let has_surface = |p: usize| mesh.pieces[p].surface_area > 0.0;
        let is_beside = |p: usize| mesh.triangles_of(p).iter().any(|t| !t.is_surface());
        let mut is_settled: Vec<bool> =
            (0..mesh.pieces.len()).map(|p| has_surface(p) && !is_beside(p)).collect();
        let mut waiting: Vec<usize> =
            (0..mesh.pieces.len()).filter(|&p| has_surface(p) && !is_settled[p]).collect();
        while !waiting.is_empty() {
            let of_neighbours = |&piece: &usize| {
                let (mut sum, mut area) = (0.0, 0.0);
                for (f, side) in mesh.faces_of(piece) {
                    let face = &mesh.faces[f];
                    let other = face.pieces[1 - side];
                    if other != NONE && is_settled[other as usize] {
                        sum += face.area * self.phi_piece[other as usize];
                        area += face.area;
                    }
                }
                (area > 0.0).then(|| (piece, sum / area))
            };
            let found: Vec<(usize, f64)> = waiting.iter().filter_map(of_neighbours).collect();
            if found.is_empty() {
                return;
            }
            for (piece, phi) in found {
                (self.phi_piece[piece], is_settled[piece]) = (phi, true);
            }
            waiting.retain(|&p| !is_settled[p]);
        }
    }

    /// Places the two samples of every grid face.
    fn place(&mut self, mesh: &CutCells, tracker: &Tracker, nodes: &Lattice) {
        self.to_sample.clear();
        self.to_sample.resize(mesh.faces.len(), [0.0; 2]);
        let phi_piece = &self.phi_piece;
        let counts = parallel::map_chunks(&mut self.to_sample, PIECES, |range, out| {
            let (mut ray, mut count) = (Ray::default(), [0; 3]);
            for (face, out) in range.zip(out) {
                *out = place_face(mesh, (tracker, nodes), face, phi_piece, (&mut ray, &mut count));
            }
            count
        });
        let sum = |n: usize| counts.iter().map(|c| c[n]).sum();
        (self.backward_rays, self.missed_rays, self.floored_faces) = (sum(0), sum(1), sum(2));
    }

    /// Position of the pressure sample of a face's side, in cells.
    pub fn position(&self, mesh: &CutCells, face: usize, side: usize) -> DVec3 {
        let f = &mesh.faces[face];
        let mut x = f.centroid;
        x[f.axis as usize] += if side == 0 { -1.0 } else { 1.0 } * self.to_sample[face][side];
        x
    }
}

/// Distances from one face to its two samples; counts rays that found their iso-distance behind the face,
/// rays that did not find it, and floored faces.
///
/// The paper uses the cell's centre wherever a ray fails. Most such rays fail because the iso-distance lies
/// behind the face they start from, in the neighbouring cell: the line is then followed there, and the
/// distance is negative. The gradient stays between the two true places; with the cell's centre it was wrong
/// by its own size on the sphere of `tests/pressure_order.rs`. Only where the two samples would come too
/// close does the cell's centre stand in.
fn place_face(
    mesh: &CutCells,
    source: (&Tracker, &Lattice),
    face: usize,
    phi_piece: &[f64],
    (ray, count): (&mut Ray, &mut [usize; 3]),
) -> [f64; 2] {
    const CENTER: f64 = 0.5;
    let pieces = mesh.faces[face].pieces;
    let mut to_sample = [CENTER; 2];
    for side in (0..2).filter(|&s| pieces[s] != NONE) {
        let phi = phi_piece[pieces[side] as usize];
        if phi == 0.0 {
            continue;
        }
        ray.scan(mesh, source, face, side);
        let ahead = ray.find(phi, mesh.factor);
        let found = ahead.or_else(|| {
            ray.scan(mesh, source, face, 1 - side);
            ray.find(phi, mesh.factor).map(|d| -d)
        });
        count[0] += found.is_some_and(|d| d < 0.0) as usize;
        count[1] += found.is_none() as usize;
        to_sample[side] = found.unwrap_or(CENTER);
    }
    if pieces.contains(&NONE) {
        return to_sample;
    }
    if to_sample[0] + to_sample[1] < LEAST_DISTANCE {
        let behind = to_sample.iter_mut().filter(|d| **d < 0.0);
        behind.for_each(|d| {
            count[1] += 1;
            *d = CENTER;
        });
    }
    if to_sample[0] + to_sample[1] < LEAST_DISTANCE {
        count[2] += 1;
        to_sample = [0.5 * LEAST_DISTANCE; 2];
    }
    to_sample
}

/// The middle of what the intervals of all faces have in common. Where they have nothing in common, the
/// middle of the gap is as far from all as can be, and rays that do not reach it use the middle of the cell.
fn iso_distance(mesh: &CutCells, source: (&Tracker, &Lattice), piece: usize, ray: &mut Ray) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, 0.0f64);
    for (face, side) in mesh.faces_of(piece) {
        ray.scan(mesh, source, face, side);
        if let Some([least, most]) = ray.interval(mesh.factor) {
            low = low.max(least);
            high = high.min(most);
        }
    }
    if low.is_finite() {
        return 0.5 * (low + high);
    }
    // A drop inside one cell has no rays: its mean depth, volume over surface, stands for them. It has no
    // other gradient than the surface's, and with one unknown any distance gives the same velocity.
    let piece = &mesh.pieces[piece];
    -piece.volume / piece.surface_area
}

impl Ray {
    /// Reads phi from a face into the piece on one of its sides, up to the cell's far side or to a solid in
    /// between.
    fn scan(&mut self, mesh: &CutCells, (tracker, nodes): (&Tracker, &Lattice), face: usize, side: usize) {
        let f = &mesh.faces[face];
        let axis = f.axis as usize;
        let r = mesh.factor as f64;
        let sign = if side == 0 { -1.0 } else { 1.0 };
        let to_cells = 1.0 / tracker.grid.dx as f64;
        self.phi.clear();
        for step in 0..=mesh.factor {
            let mut x = f.centroid * r;
            // Faces lie on nodes' planes: whole numbers, free of the centroid's rounding.
            x[axis] = x[axis].round() + sign * step as f64;
            let phi = nodes.interpolate(tracker.phi_node, nodes.stencil_at(x.as_vec3()));
            self.phi.push(phi as f64 * to_cells);
        }
        self.length = 1.0;
        if f.pieces[side] == NONE {
            self.length = 0.0;
            return;
        }
        for t in mesh.triangles_of(f.pieces[side] as usize).iter().filter(|t| !t.is_surface()) {
            let corners = t.vertices.map(|v| mesh.vertices[v as usize] - f.centroid);
            if let Some(distance) = meets(corners, axis, sign) {
                self.length = self.length.min(distance);
            }
        }
    }

    /// The distances that the ray meets before it leaves the liquid.
    fn interval(&self, factor: usize) -> Option<[f64; 2]> {
        let h = 1.0 / factor as f64;
        let (mut least, mut most) = (self.phi[0].min(0.0), self.phi[0].min(0.0));
        for n in 1..self.phi.len() {
            let here = n as f64 * h;
            if here > self.length {
                break;
            }
            if self.phi[n] >= 0.0 {
                most = 0.0;
                break;
            }
            least = least.min(self.phi[n]);
            most = most.max(self.phi[n]);
        }
        (least < 0.0).then_some([least, most])
    }

    /// How far the iso-distance lies from the face, in cells.
    fn find(&self, phi: f64, factor: usize) -> Option<f64> {
        let h = 1.0 / factor as f64;
        for n in 1..self.phi.len() {
            let (a, b) = (self.phi[n - 1] - phi, self.phi[n] - phi);
            if a == 0.0 {
                return Some((n - 1) as f64 * h);
            }
            if a * b <= 0.0 {
                let distance = (n as f64 - 1.0 + a / (a - b)) * h;
                return (distance <= self.length).then_some(distance);
            }
            if self.phi[n] >= 0.0 {
                return None;
            }
        }
        None
    }
}

/// Distance from the origin along an axis to a triangle, if the ray meets it.
fn meets(corners: [DVec3; 3], axis: usize, sign: f64) -> Option<f64> {
    let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
    let cross = |a: DVec3, b: DVec3| a[p] * b[q] - a[q] * b[p];
    let [a, b, c] = corners;
    let w = [cross(b, c), cross(c, a), cross(a, b)];
    let inside = w.iter().all(|w| *w >= 0.0) || w.iter().all(|w| *w <= 0.0);
    let sum: f64 = w.iter().sum();
    if !inside || sum == 0.0 {
        return None;
    }
    let distance = sign * (w[0] * a[axis] + w[1] * b[axis] + w[2] * c[axis]) / sum;
    (distance > 0.0).then_some(distance)
}
