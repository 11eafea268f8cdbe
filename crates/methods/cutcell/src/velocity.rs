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

/// Volume that leaves a piece in a second, in cell faces times m/s: through grid faces, and through geometry
/// triangles.
fn outflow(mesh: &CutCells, piece: usize, u_face: &[f64], u_triangle: &[DVec3]) -> f64 {
    let sign = |side: usize| if side == 0 { 1.0 } else { -1.0 };
    let grid: f64 = mesh.faces_of(piece).map(|(f, side)| sign(side) * mesh.faces[f].area * u_face[f]).sum();
    let first = mesh.first_triangle[piece] as usize;
    let own = mesh.triangles_of(piece).iter().enumerate();
    grid + own.map(|(n, t)| mesh.area_vector(t).dot(u_triangle[first + n])).sum::<f64>()
}

/// Right side of the pressure system for every piece [cutcell eq. 7]: `-(rho dx / dt)` times what flows out.
pub fn right_side(
    out: &mut [f64],
    mesh: &CutCells,
    u_face: &[f64],
    u_triangle: &[DVec3],
    scales: &StepScales,
) {
    let scale = -1.0 / scales.velocity_per_pascal();
    parallel::for_each_chunk_mut(out, PIECES, |chunk, out| {
        for (n, out) in out.iter_mut().enumerate() {
            *out = scale * outflow(mesh, chunk * PIECES + n, u_face, u_triangle);
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
    (u_face, u_triangle): (&[f64], &[DVec3]),
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
            let wanted = -outflow(mesh, piece, u_face, u_triangle) / area;
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
