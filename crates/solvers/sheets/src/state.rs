//! What the solver remembers from step to step, and the arrays a step works in.

use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_particles as carriers;
use fluvial_sheets::{Depth, Population};

/// The liquid's account, in masses of a small particle: whole numbers of quanta, so that it adds up exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Account {
    pub start_m3: f64,
    pub inflow_m3: f64,
    pub outflow_m3: f64,
    /// Volume at the last measurement: the particles', less what is squeezed into cells that are full.
    pub volume_m3: f64,
    pub largest_expected_m3: f64,
}

impl Account {
    pub fn expected_m3(&self) -> f64 {
        self.start_m3 + self.inflow_m3 - self.outflow_m3
    }

    /// Error relative to the largest volume that there should have been.
    pub fn error(&self) -> f64 {
        if self.largest_expected_m3 > 0.0 {
            (self.volume_m3 - self.expected_m3()) / self.largest_expected_m3
        } else {
            0.0
        }
    }
}

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
pub(crate) struct State {
    /// Particles, sorted and measured.
    pub population: Population,
    /// Density deficit of every cell in masses of a small particle, negative in liquid [sheets eq. 5].
    pub phi_cell: Vec<f32>,
    /// Velocity at face centres, m/s, extended past the surface and into solids.
    pub u_face: FaceField,
    /// Pressure impulse p dt / (rho dx) of the last projection, m/s: the next solve's first guess.
    pub impulse_cell: Vec<f32>,
    /// Length of the last step, seconds.
    pub last_dt_s: f64,
    pub account: Account,
    /// Kinetic energy, J.
    pub kinetic_energy_j: f64,
    /// Which sources flowed during the last step.
    pub sources_flowing: Vec<bool>,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
}

/// Arrays that a step fills; nothing in here outlives it.
pub(crate) struct Work {
    pub population: Population,
    pub phi_cell: Vec<f32>,
    pub u_face: FaceField,
    /// Velocity that the particles gave the grid, before forces: FLIP carries the difference.
    pub u_before: FaceField,
    pub impulse_cell: Vec<f32>,
    pub account: Account,
    pub kinetic_energy_j: f64,
    pub sources_flowing: Vec<bool>,
    /// The particles as the shared transport knows them: before and after it.
    pub carriers: [carriers::Particles; 2],
    pub carrier_ranges: carriers::CellRanges,
    pub carrier_scratch: carriers::Scratch,
    /// Open area and boundary velocity as the pressure sees them: solids, and sources on top.
    pub area_face: FaceField,
    pub u_boundary: FaceField,
    /// Cells of active sources: index into the set-up's sources plus one, 0 elsewhere.
    pub source_cell: Vec<u8>,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
    /// Mass around each cell over what fits.
    pub crowding_cell: Vec<f32>,
    /// What the 5^3 cells around each hold when they are full, in small particles.
    pub room_cell: Vec<f32>,
    pub depth_cell: Vec<Depth>,
    /// Cells that the surface of bulk liquid runs through below their middle: no unknowns, but they move with it.
    pub skin_cell: Vec<bool>,
    /// Cells whose pressure is unknown.
    pub unknown_cell: Vec<bool>,
    /// Faces that particles or the projection have given a velocity (or that extrapolation has reached).
    pub valid_face: [Vec<u8>; 3],
    /// Faces that the particles themselves have given a velocity.
    pub known_face: [Vec<u8>; 3],
    pub rhs_cell: Vec<f32>,
    /// Velocity before the solids had their say.
    pub u_free: FaceField,
    pub level_set: level_set::Scratch,
}

impl State {
    pub fn new(grid: &UniformGrid, population: Population, sources: usize) -> Self {
        State {
            population,
            phi_cell: vec![0.0; grid.cell_count()],
            u_face: FaceField::constant(grid, 0.0),
            impulse_cell: vec![0.0; grid.cell_count()],
            last_dt_s: 0.0,
            account: Account::default(),
            kinetic_energy_j: 0.0,
            sources_flowing: vec![false; sources],
            time_s: 0.0,
            steps: 0,
        }
    }
}

impl Work {
    pub fn new(grid: &UniformGrid, population: Population, with_solids: bool) -> Self {
        let cells = grid.cell_count();
        let faces = || FaceField::constant(grid, 0.0);
        Work {
            population,
            phi_cell: vec![0.0; cells],
            u_face: faces(),
            u_before: faces(),
            impulse_cell: vec![0.0; cells],
            account: Account::default(),
            kinetic_energy_j: 0.0,
            sources_flowing: vec![],
            carriers: Default::default(),
            carrier_ranges: carriers::CellRanges::default(),
            carrier_scratch: carriers::Scratch::default(),
            area_face: faces(),
            u_boundary: faces(),
            source_cell: vec![0; cells],
            closed_cell: vec![false; cells],
            crowding_cell: vec![0.0; cells],
            room_cell: vec![0.0; cells],
            depth_cell: vec![Depth::Empty; cells],
            skin_cell: vec![false; cells],
            unknown_cell: vec![false; cells],
            valid_face: std::array::from_fn(|axis| vec![0; grid.faces(axis).len()]),
            known_face: std::array::from_fn(|axis| vec![0; grid.faces(axis).len()]),
            rhs_cell: vec![0.0; cells],
            u_free: if with_solids { faces() } else { FaceField::default() },
            level_set: level_set::Scratch::default(),
        }
    }
}

/// The two cells of a face, absent beyond the domain's walls.
#[derive(Clone, Copy)]
pub(crate) struct FaceCells {
    pub low: Option<usize>,
    pub high: Option<usize>,
}

impl FaceCells {
    pub fn any(self, is: impl Fn(usize) -> bool) -> bool {
        [self.low, self.high].into_iter().flatten().any(is)
    }
}

/// Runs `body(face, cells, value)` over all faces of one axis in parallel, a z-slab a chunk.
pub(crate) fn for_each_face<T: Send>(
    out: &mut [T],
    grid: &UniformGrid,
    axis: usize,
    body: impl Fn(usize, FaceCells, &mut T) + Sync + Send,
) {
    let (faces, cells) = (grid.faces(axis), grid.cell_centers());
    let (stride, last) = (cells.stride(axis), grid.cells[axis]);
    fluvial_foundation::parallel::for_each_chunk_mut(out, faces.slab(), |k, slab| {
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
                body(k * faces.slab() + j * faces.size[0] + i, cells, value);
            }
        }
    });
}
