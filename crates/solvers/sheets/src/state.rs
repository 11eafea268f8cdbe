//! What the solver remembers from step to step, and what a step works in.

use crate::surface::UNKNOWN;
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_mac::{Cover, FrictionScratch, NO_GAP, Openings, Outlet, Parting, SolidFaces, Sources, Unknowns};
use fluvial_particles as carriers;
use fluvial_sheets::{Depth, Population, SolidSamples, dilate, tent_sums};
use fluvial_solids::{Column, RoughPatch, SolidFields};
use fluvial_solver_interface::{Bodies, BodyStep, StepTimes};
use fluvial_volume::Account;
use std::sync::Arc;

/// Fields on the grid at one moment.
pub(crate) struct Fields {
    /// Density deficit of every cell in masses of a small particle, negative in liquid [sheets eq. 5].
    pub phi_cell: Vec<f32>,
    /// Distance from the surface of bulk liquid where it is near, in cells; `UNKNOWN` elsewhere.
    pub distance_cell: Vec<f32>,
    /// Velocity at face centres, m/s, extended past the surface and into solids.
    pub u_face: FaceField,
    /// Pressure impulse p dt / (rho dx) of the last projection, m/s: the next solve's first guess.
    pub impulse_cell: Vec<f32>,
    /// 0 where liquid has let go of a wall or solid, `NO_GAP` elsewhere: particles open the gap by themselves.
    pub gap_cell: Vec<f32>,
}

impl Fields {
    pub fn zero(grid: &UniformGrid) -> Self {
        Fields {
            phi_cell: vec![0.0; grid.cell_count()],
            distance_cell: vec![UNKNOWN; grid.cell_count()],
            u_face: FaceField::constant(grid, 0.0),
            impulse_cell: vec![0.0; grid.cell_count()],
            gap_cell: vec![NO_GAP; grid.cell_count()],
        }
    }
}

/// Solids on the grid at one moment.
#[derive(Clone, Default)]
pub(crate) struct Solids {
    pub fields: SolidFields,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
    /// Cells at a wall or solid that liquid may let go of.
    pub may_part_cell: Vec<bool>,
    /// Rough pieces of walls and solids.
    pub rough: Vec<RoughPatch>,
    /// What the 5^3 cells around each hold when they are full, in small particles, as [`Solids::sums`] weighs them.
    pub room_cell: Vec<f32>,
    /// The solids as the particles see them: density counts the liquid's mirror image in solids, as it does
    /// in walls. None without solids.
    pub mirror: Option<SolidSamples>,
}

impl Solids {
    /// The sum over the 5^3 cells around every cell, the nearer the heavier ([`tent_sums`]), as far as thin solids hide none
    /// of them.
    pub fn sums(&self, out: &mut Vec<f32>, pass: &mut Vec<f32>, values: &[f32], grid: &UniformGrid) {
        match &self.mirror {
            Some(mirror) => mirror.sides.sums(out, pass, values, grid.cells),
            None => tent_sums(out, pass, values, grid.cells),
        }
    }

    /// Is any of the 5^3 cells around every cell marked, as far as thin solids hide none of them?
    pub fn any(&self, marked: &[bool], grid: &UniformGrid) -> Vec<bool> {
        match &self.mirror {
            Some(mirror) => mirror.sides.any(marked, grid.cells),
            None => dilate(marked, grid.cells, 2),
        }
    }
}

/// Solids and active sources on the grid at one moment.
#[derive(Clone, Default)]
pub(crate) struct Boundaries {
    /// One for both the state and the step while all solids are at rest.
    pub solids: Arc<Solids>,
    pub sources: Sources,
}

impl Boundaries {
    /// The faces as the projection sees them.
    pub fn openings<'a>(&'a self, cover: &'a Cover, grid: &'a UniformGrid) -> Openings<'a> {
        let fields = &self.solids.fields;
        cover.openings(&self.sources, grid, &fields.open_area, &fields.u_solid)
    }

    pub fn solid_faces(&self) -> SolidFaces<'_> {
        let SolidFields { phi_node, open_area, u_solid, sides, .. } = &self.solids.fields;
        SolidFaces { phi_node, open_area, u_solid, sides }
    }
}

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
pub(crate) struct State {
    /// Particles, sorted and measured.
    pub population: Population,
    pub fields: Fields,
    pub boundaries: Boundaries,
    /// None where the scene has none.
    pub bodies: Option<Bodies>,
    /// Length of the last step, seconds.
    pub last_dt_s: f64,
    /// The liquid's account, without bodies. Particles have whole numbers of quanta, so that it adds up
    /// exactly.
    pub account: Account,
    /// Kinetic energy, J.
    pub kinetic_energy_j: f64,
    /// The speed that the length of the next step is measured by.
    pub limiting_speed_m_s: f64,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
}

impl State {
    /// The times of a step from it.
    pub fn times(&self, dt_s: f64) -> StepTimes {
        StepTimes { from_s: self.time_s, dt_s, last_dt_s: self.last_dt_s }
    }
}

/// What a step makes; the arrays keep their memory from step to step, not their values.
pub(crate) struct Work {
    /// The next state's.
    pub population: Population,
    pub fields: Fields,
    pub boundaries: Boundaries,
    pub bodies: BodyStep,
    pub account: Account,
    pub kinetic_energy_j: f64,
    pub limiting_speed_m_s: f64,
    pub carriers: Carriers,
    pub density: Density,
    pub velocity: GridVelocity,
    /// The sources' faces on top of the solids'.
    pub cover: Cover,
    /// Inlets of sources that stand still among solids that do, from step to step; by source.
    pub inlets: Vec<Option<Inlet>>,
    /// The sources that they were measured for, while nothing moves.
    pub inlets_for: Option<Vec<usize>>,
    pub unknowns: Unknowns,
    pub parting: Parting,
    pub friction: FrictionScratch,
    /// What solids take of the velocity that gravity gives the films on them, m/s.
    pub carried_weight_cell: Vec<Vec3>,
    /// Velocity before the projection, without the pressure on the surface; filled where there is any, and among bodies.
    pub u_without_push: FaceField,
    /// What adaptive sampling may do in each cell.
    pub depth_cell: Vec<Depth>,
    pub level_set: level_set::Scratch,
}

/// A source among solids at one moment.
pub(crate) struct Inlet {
    /// Its faces and its flow.
    pub outlet: Outlet,
    /// Its liquid as columns that particles follow one another in.
    pub columns: Vec<Column>,
}

/// The particles as the shared transport knows them.
#[derive(Default)]
pub(crate) struct Carriers {
    pub before: carriers::Particles,
    pub after: carriers::Particles,
    pub ranges: carriers::CellRanges,
    pub scratch: carriers::Scratch,
    pub collisions: carriers::Collisions,
    /// Velocity that carries particles and distances: without what flows through slivers of faces.
    pub carrying_face: FaceField,
    /// Velocity that the flow moves with beside solids, where any moves.
    pub drift_face: FaceField,
}

/// What the particles' density says of the cells.
pub(crate) struct Density {
    /// Mass around each cell over what fits.
    pub crowding_cell: Vec<f32>,
    /// What shall leave each cell for its liquid to become even, in cells.
    pub beyond_cell: Vec<f32>,
    /// The distance as the flow has carried it, in cells, and how far the mass wants it elsewhere.
    pub carried_cell: Vec<f32>,
    pub shift_cell: Vec<f32>,
    /// What the 5^3 cells around hold by the carried distance, and what surface they have.
    pub wanted_cell: Vec<f32>,
    pub surface_cell: Vec<f32>,
    pub pass: Vec<f32>,
    /// Cells whose surroundings, as far as crowding counts them, are all below the surface.
    pub bulk_cell: Vec<bool>,
    /// Cells that the surface of bulk liquid runs through below their middle: no unknowns, but they move
    /// with it.
    pub skin_cell: Vec<bool>,
    /// The same a round before, while films are added to it.
    pub skin_before: Vec<bool>,
    /// Cells that hold liquid and touch a solid.
    pub film_cell: Vec<bool>,
}

/// The faces' velocity on its way from the particles through forces and pressure to its extension.
pub(crate) struct GridVelocity {
    /// What the particles weigh on the faces.
    pub weight_face: FaceField,
    /// Velocity that the particles gave the grid, before forces: FLIP carries the difference.
    pub u_before: FaceField,
    /// Faces that the particles themselves have given a velocity.
    pub known_face: [Vec<u8>; 3],
    /// Faces that particles or the projection have given a velocity (or that extrapolation has reached).
    pub valid_face: [Vec<u8>; 3],
    /// Velocity before it is constrained to solids.
    pub u_free: FaceField,
}

impl State {
    pub fn new(grid: &UniformGrid, population: Population) -> Self {
        State {
            population,
            fields: Fields::zero(grid),
            boundaries: Boundaries::default(),
            bodies: None,
            last_dt_s: 0.0,
            account: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            time_s: 0.0,
            steps: 0,
        }
    }
}

impl Work {
    pub fn new(grid: &UniformGrid, population: Population) -> Self {
        let cells = grid.cell_count();
        let faces = || FaceField::constant(grid, 0.0);
        let marks = || std::array::from_fn(|axis| vec![0; grid.faces(axis).len()]);
        Work {
            population,
            fields: Fields::zero(grid),
            boundaries: Boundaries::default(),
            bodies: BodyStep::default(),
            account: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            inlets: vec![],
            inlets_for: None,
            carriers: Carriers::default(),
            density: Density {
                crowding_cell: vec![0.0; cells],
                beyond_cell: vec![0.0; cells],
                carried_cell: vec![UNKNOWN; cells],
                shift_cell: vec![0.0; cells],
                wanted_cell: vec![0.0; cells],
                surface_cell: vec![0.0; cells],
                pass: vec![],
                bulk_cell: vec![false; cells],
                skin_cell: vec![false; cells],
                skin_before: vec![false; cells],
                film_cell: vec![false; cells],
            },
            velocity: GridVelocity {
                weight_face: faces(),
                u_before: faces(),
                known_face: marks(),
                valid_face: marks(),
                u_free: FaceField::default(),
            },
            cover: Cover::default(),
            unknowns: Unknowns::none(grid),
            parting: Parting::default(),
            friction: FrictionScratch::default(),
            carried_weight_cell: vec![Vec3::ZERO; cells],
            u_without_push: FaceField::default(),
            depth_cell: vec![Depth::Empty; cells],
            level_set: level_set::Scratch::default(),
        }
    }
}
