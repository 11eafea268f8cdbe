//! What the solver remembers from step to step, and the arrays a step works in.

use crate::forces::SurfaceCells;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_particles::{self as particles, CellRanges, Particles};
use fluvial_volume::Account;

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
pub(crate) struct State {
    /// Signed distance at cell centres, metres, saturated at the band.
    pub phi_cell: Vec<f32>,
    /// Velocity at face centres, m/s, extended past the surface and into solids.
    pub u_face: FaceField,
    /// The same with divergence-free air at the surface: what carries surface and particles. Its values out there
    /// are no velocity of any liquid, so `u_face` keeps the plain extension.
    pub u_transport: FaceField,
    /// Pressure impulse p dt / (rho dx) of the last projection, m/s: the next solve's first guess.
    pub impulse_cell: Vec<f32>,
    /// Length of the last step, seconds: turns the impulse into a pressure.
    pub last_dt_s: f64,
    /// Empty for the level-set tracker.
    pub particles: Particles,
    /// Volume bookkeeping and its controllers.
    pub volume: Account,
    /// Kinetic energy of `u_face`, J.
    pub kinetic_energy_j: f64,
    /// Which sources flowed during the last step.
    pub sources_flowing: Vec<bool>,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
}

/// What sources and sinks change, as it was before: put back when the step fails. Of the faces, [`SourceFace`] keeps it.
#[derive(Default)]
pub(crate) struct Undo {
    pub is_kept: bool,
    pub phi_cell: Vec<f32>,
    pub particles: Particles,
    pub volume: Account,
    pub sources_flowing: Vec<bool>,
}

/// A face of a cell in a source.
pub(crate) struct SourceFace {
    pub axis: usize,
    pub face: usize,
    /// What the source gives it, m/s.
    pub u_source: f32,
    /// `u_face` and `u_transport` as they were.
    pub u_before: [f32; 2],
}

/// Arrays that a step fills; nothing in here outlives it.
pub(crate) struct Work {
    pub phi_cell: Vec<f32>,
    pub u_face: FaceField,
    pub u_transport: FaceField,
    /// Velocity after transport, before forces: FLIP carries the difference. During transport, the weights of the
    /// particles on the faces.
    pub u_before_forces: FaceField,
    /// The particles after transport; those of the state stay until the step has succeeded.
    pub particles: Particles,
    pub cell_ranges: CellRanges,
    pub particle_scratch: particles::Scratch,
    /// Open area and boundary velocity as the pressure sees them: solids, and sources on top.
    pub area_face: FaceField,
    pub u_boundary: FaceField,
    pub undo: Undo,
    /// Faces of the cells of active sources, each once.
    pub source_faces: Vec<SourceFace>,
    /// Cells of active sources: index into the set-up's sources plus one, 0 elsewhere.
    pub source_cell: Vec<u8>,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
    /// Cells whose pressure is unknown.
    pub unknown_cell: Vec<bool>,
    /// Liquid cells without a liquid neighbour, away from solids: they fly, no pressure acts.
    pub ballistic_cell: Vec<bool>,
    /// Air cells that touch an unknown.
    pub surface_air_cell: Vec<bool>,
    /// Faces whose velocity the projection set (or that extrapolation has reached).
    pub valid_face: [Vec<u8>; 3],
    pub rhs_cell: Vec<f32>,
    pub impulse_cell: Vec<f32>,
    pub kinetic_energy_j: f64,
    /// The account after this step's transport.
    pub volume: Account,
    /// Velocity before the solids had their say.
    pub u_free: FaceField,
    /// The cells that crossed faces touch.
    pub surface: SurfaceCells,
    /// Pressure of tension and wave drag on the surface over density, m2/s2; set in the cells at the surface.
    pub surface_pressure_cell: Vec<f32>,
    /// Liquid share of each cell's volume.
    pub fraction_cell: Vec<f32>,
    pub level_set: level_set::Scratch,
}

impl State {
    pub fn new(grid: &UniformGrid, sources: usize) -> Self {
        State {
            sources_flowing: vec![false; sources],
            phi_cell: vec![0.0; grid.cell_count()],
            u_face: FaceField::constant(grid, 0.0),
            u_transport: FaceField::constant(grid, 0.0),
            impulse_cell: vec![0.0; grid.cell_count()],
            last_dt_s: 0.0,
            particles: Particles::default(),
            volume: Account::default(),
            kinetic_energy_j: 0.0,
            time_s: 0.0,
            steps: 0,
        }
    }
}

impl Work {
    pub fn new(grid: &UniformGrid, with_particles: bool, with_solids: bool) -> Self {
        let cells = grid.cell_count();
        let faces = || FaceField::constant(grid, 0.0);
        let when = |wanted: bool| if wanted { faces() } else { FaceField::default() };
        Work {
            phi_cell: vec![0.0; cells],
            u_face: faces(),
            u_transport: faces(),
            u_before_forces: when(with_particles),
            particles: Particles::default(),
            cell_ranges: CellRanges::default(),
            particle_scratch: particles::Scratch::default(),
            area_face: faces(),
            u_boundary: faces(),
            undo: Undo::default(),
            source_faces: Vec::new(),
            source_cell: vec![0; cells],
            closed_cell: vec![false; cells],
            unknown_cell: vec![false; cells],
            ballistic_cell: vec![false; cells],
            surface_air_cell: vec![false; cells],
            valid_face: std::array::from_fn(|axis| vec![0; grid.faces(axis).len()]),
            rhs_cell: vec![0.0; cells],
            impulse_cell: vec![0.0; cells],
            kinetic_energy_j: 0.0,
            volume: Account::default(),
            u_free: when(with_solids),
            surface: SurfaceCells::default(),
            surface_pressure_cell: vec![0.0; cells],
            fraction_cell: vec![0.0; cells],
            level_set: level_set::Scratch::default(),
        }
    }
}

/// The two cells of a face, absent beyond the domain's walls, with the face's place in its array.
#[derive(Clone, Copy)]
pub(crate) struct FaceCells {
    pub low: Option<usize>,
    pub high: Option<usize>,
}

/// Runs `body(face, cells, value)` over all faces of one axis in parallel, a z-slab a chunk.
pub(crate) fn for_each_face<T: Send>(
    out: &mut [T],
    grid: &UniformGrid,
    axis: usize,
    body: impl Fn(usize, FaceCells, &mut T) + Sync + Send,
) {
    let faces = grid.faces(axis);
    let cells = grid.cell_centers();
    let stride = cells.stride(axis);
    let last = grid.cells[axis];
    fluvial_foundation::parallel::for_each_chunk_mut(out, faces.slab(), |k, slab| {
        let slab_start = k * faces.slab();
        for (j, row) in slab.chunks_mut(faces.size[0]).enumerate() {
            // Flat index of the cell on the high side of the row's first face; beyond the wall it is not read.
            let row_cell = grid.cells[0] * (j + grid.cells[1] * k);
            for (i, value) in row.iter_mut().enumerate() {
                let along = [i, j, k][axis];
                let high = row_cell + i;
                let cells = FaceCells {
                    low: (along > 0).then(|| high.wrapping_sub(stride)),
                    high: (along < last).then_some(high),
                };
                body(slab_start + j * faces.size[0] + i, cells, value);
            }
        }
    });
}
