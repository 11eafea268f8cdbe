//! Velocities on faces: divergence, projection and flux budget [cutcell §3.3, 3.4, eq. 7 to 10].
//!
//! A grid face has its normal velocity, a vertex has a velocity, and a geometry triangle has the mean of its
//! vertices' (on the free surface) or its solid's. Velocities are in m/s, pressures in Pa; areas and
//! distances come in cells.

use crate::iso::{IsoSamples, PIECES};
use crate::mesh::{CutCells, NONE};
use fluvial_foundation::{DVec3, parallel};

/// The step's numbers.
#[derive(Clone, Copy, Debug)]
pub struct StepScales {
    /// Time step, s.
    pub dt_s: f64,
    /// Density of the liquid, kg/m3.
    pub density: f64,
    /// Edge of a cell, m.
    pub dx: f64,
}

impl StepScales {
    /// `dt / (rho dx)`: from a pressure difference over one cell to a velocity.
    fn velocity_per_pascal(&self) -> f64 {
        self.dt_s / (self.density * self.dx)
    }
}

/// What sources say: the pressure does not change the velocities of their faces, and they let volume into pieces. Both lists
/// are empty where there are none.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Does a source say the velocity of the face?
    pub is_given: Vec<bool>,
    /// Volume that sources let into every piece in a second, in cell faces times m/s.
    pub supply: Vec<f64>,
}

impl Given {
    /// Nothing is given.
    pub const NOTHING: Given = Given { is_given: vec![], supply: vec![] };

    /// Does a source say the velocity of a face?
    pub fn is_given(&self, face: usize) -> bool {
        self.is_given.get(face).is_some_and(|given| *given)
    }

    /// Sets the velocities of faces between pieces and of triangles of the free surface that `at` knows one for, at their centres
    /// in cells (true for the surface). A piece that more flows out of by them than comes in lies where a source lets in: what is
    /// missing is its supply. What comes in by more than leaves is for the pressure to lead on. The far end of a source's liquid
    /// in the air moves with it; the source fills the room behind.
    pub fn prescribe(
        &mut self,
        (u_face, u_triangle): (&mut [f64], &mut [DVec3]),
        mesh: &CutCells,
        at: impl Fn(DVec3, bool) -> Option<DVec3>,
    ) {
        self.is_given.clear();
        self.is_given.resize(mesh.faces.len(), false);
        self.supply.clear();
        self.supply.resize(mesh.pieces.len(), 0.0);
        for (f, face) in mesh.faces.iter().enumerate().filter(|(_, face)| !face.pieces.contains(&NONE)) {
            if let Some(u) = at(face.centroid, false) {
                let u = u[face.axis as usize];
                (self.is_given[f], u_face[f]) = (true, u);
                self.supply[face.pieces[0] as usize] += face.area * u;
                self.supply[face.pieces[1] as usize] -= face.area * u;
            }
        }
        for piece in 0..mesh.pieces.len() {
            let first = mesh.first_triangle[piece] as usize;
            for (n, t) in mesh.triangles_of(piece).iter().enumerate().filter(|(_, t)| t.is_surface()) {
                let center = t.vertices.iter().map(|&v| mesh.vertices[v as usize]).sum::<DVec3>() / 3.0;
                if let Some(u) = at(center, true) {
                    u_triangle[first + n] = u;
                    self.supply[piece] += mesh.area_vector(t).dot(u);
                }
            }
        }
        self.supply.iter_mut().for_each(|supply| *supply = supply.max(0.0));
    }

    fn supply(&self, piece: usize) -> f64 {
        self.supply.get(piece).copied().unwrap_or(0.0)
    }
}

/// Velocity of every geometry triangle before the projection [cutcell §3.3]: the mean of its vertices' on the
/// free surface, the solid's on solids (`u_solid` gives it for a solid's triangle and a position in cells).
pub fn triangle_velocities(
    out: &mut [DVec3],
    mesh: &CutCells,
    u_vertex: &[DVec3],
    u_solid: impl Fn(u32, DVec3) -> DVec3 + Sync + Send,
) {
    assert_eq!(out.len(), mesh.triangles.len());
    parallel::for_each_chunk_mut(out, PIECES, |chunk, out| {
        for (out, t) in out.iter_mut().zip(&mesh.triangles[chunk * PIECES..]) {
            let mean = |of: &[DVec3]| t.vertices.iter().map(|&v| of[v as usize]).sum::<DVec3>() / 3.0;
            *out = if t.is_surface() { mean(u_vertex) } else { u_solid(t.solid, mean(&mesh.vertices)) };
        }
    });
}

/// Velocities of grid faces and geometry triangles, and what sources let in.
pub type Flows<'a> = (&'a [f64], &'a [DVec3], &'a Given);

/// Volume that leaves a piece in a second, in cell faces times m/s: through grid faces, and through geometry
/// triangles, less what sources let in.
fn outflow(mesh: &CutCells, piece: usize, (u_face, u_triangle, given): Flows) -> f64 {
    let sign = |side: usize| if side == 0 { 1.0 } else { -1.0 };
    let grid: f64 = mesh.faces_of(piece).map(|(f, side)| sign(side) * mesh.faces[f].area * u_face[f]).sum();
    let first = mesh.first_triangle[piece] as usize;
    let own = mesh.triangles_of(piece).iter().enumerate();
    let own = own.map(|(n, t)| mesh.area_vector(t).dot(u_triangle[first + n])).sum::<f64>();
    grid + own - given.supply(piece)
}

/// Right side of the pressure system for every piece [cutcell eq. 7]: `-(rho dx / dt)` times what flows out.
pub fn right_side(out: &mut [f64], mesh: &CutCells, flows: Flows, scales: &StepScales) {
    let scale = -1.0 / scales.velocity_per_pascal();
    parallel::for_each_chunk_mut(out, PIECES, |chunk, out| {
        for (n, out) in out.iter_mut().enumerate() {
            *out = scale * outflow(mesh, chunk * PIECES + n, flows);
        }
    });
}

/// Projects the velocities of grid faces [cutcell eq. 8]: `u -= dt / rho (p_high - p_low) / |x_high -
/// x_low|`. `q_face` holds what surface tension adds to the pressures' difference [cutcell §4], if there is any. Faces of the domain's walls are left alone.
pub fn project_faces(
    u_face: &mut [f64],
    mesh: &CutCells,
    iso: &IsoSamples,
    pressure: &[f64],
    q_face: Option<&[f64]>,
    scales: &StepScales,
) {
    let scale = scales.velocity_per_pascal();
    parallel::for_each_chunk_mut(u_face, PIECES, |chunk, out| {
        for (n, u) in out.iter_mut().enumerate() {
            let f = chunk * PIECES + n;
            let face = &mesh.faces[f];
            if face.pieces.contains(&NONE) {
                continue;
            }
            let [low, high] = face.pieces.map(|p| pressure[p as usize]);
            let tension = q_face.map_or(0.0, |q| q[f]);
            let distance = iso.to_sample[f][0] + iso.to_sample[f][1];
            *u -= scale * (high - low + tension) / distance;
        }
    });
}

/// What the flux budget did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetReport {
    /// Pieces whose correction was clamped.
    pub clamped: usize,
    /// Largest part of a correction that a clamp took, m/s.
    pub largest_cut_m_s: f64,
}

/// The flux budget [cutcell eq. 9, 10]: what still flows out of a piece after grid faces were projected is
/// taken evenly from its free surface. `out` is the change of normal velocity there, m/s, for every piece. It
/// is held at what the pressure gradient itself would give, `|dt p / (rho phi)|` [cutcell §3.4]: beyond that
/// it is the solver's residual over a tiny area. Clamps are counted.
pub fn flux_budget(
    out: &mut [f64],
    mesh: &CutCells,
    iso: &IsoSamples,
    pressure: &[f64],
    flows: Flows,
    scales: &StepScales,
) -> BudgetReport {
    let scale = scales.velocity_per_pascal();
    let parts = parallel::map_chunks(out, PIECES, |range, out| {
        let mut report = BudgetReport::default();
        for (piece, out) in range.zip(out) {
            let area = mesh.pieces[piece].surface_area;
            *out = 0.0;
            if area <= 0.0 {
                continue;
            }
            let wanted = -outflow(mesh, piece, flows) / area;
            let limit = scale * (pressure[piece] / iso.phi_piece[piece]).abs();
            *out = wanted.clamp(-limit, limit);
            let cut = (wanted - *out).abs();
            report.clamped += (cut > 0.0) as usize;
            report.largest_cut_m_s = report.largest_cut_m_s.max(cut);
        }
        report
    });
    parts.into_iter().fold(BudgetReport::default(), |a, b| BudgetReport {
        clamped: a.clamped + b.clamped,
        largest_cut_m_s: a.largest_cut_m_s.max(b.largest_cut_m_s),
    })
}
