//! What the solver remembers from step to step, and what a step works in.

use crate::solids::SolidFields;
use crate::spray::SprayWork;
use fluvial_grids::TallGrid;
use fluvial_solver_interface::{Bodies, BodyStep, Centring};
use fluvial_tall::bodies::{Coupled, Element, Pair, Pressed};
use fluvial_tall::exchange::CellList;
use fluvial_tall::extrapolate;
use fluvial_tall::field::Velocity;
use fluvial_tall::hierarchy::coarsen_until;
use fluvial_tall::pressure::multigrid::Multigrid;
use fluvial_tall::remesh;
use fluvial_tall::spray::SprayFields;
use fluvial_tall::volume::{Divided, Flow, Held, Open};
use fluvial_volume::Account;

/// Fields of the liquid at one moment.
#[derive(Clone)]
pub(crate) struct Fields {
    /// The columns with their heights.
    pub grid: TallGrid,
    /// Signed distance, metres, at most five cells.
    pub phi: Vec<f32>,
    /// Velocity, m/s.
    pub u: Vec<Velocity>,
    /// Pressure, Pa: the next solve's first guess.
    pub pressure: Vec<f32>,
    /// Liquid of every column that phi does not stand for, in cells.
    pub residual: Vec<f32>,
}

impl Fields {
    pub fn zero(grid: TallGrid) -> Fields {
        let (samples, columns) = (grid.samples(), grid.columns.len());
        Fields {
            grid,
            phi: vec![0.0; samples],
            u: vec![[0.0, 0.0, 0.0, 1.0]; samples],
            pressure: vec![0.0; samples],
            residual: vec![0.0; columns],
        }
    }
}

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
pub(crate) struct State {
    pub fields: Fields,
    /// The solids on its columns.
    pub solids: SolidFields,
    /// What phi stands for, by column.
    pub held: Vec<Held>,
    pub volume: Account,
    /// Kinetic energy, J.
    pub kinetic_energy_j: f64,
    /// The speed that the length of the next step is measured by, m/s.
    pub limiting_speed_m_s: f64,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
    /// Length of the last step, seconds; zero where there was none.
    pub last_dt_s: f64,
    /// How far velocity is ahead of the surface, seconds.
    pub lead_s: f64,
    /// Rigid bodies, and what the last step has lent each of them (`fluvial_tall::bodies`).
    pub bodies: Option<Bodies>,
    pub owed: Vec<Pair>,
    /// Spray, mist, foam and the maps of the surface, where they are wanted.
    pub spray: Option<SprayFields>,
}

impl State {
    pub fn new(grid: TallGrid) -> State {
        State {
            held: vec![Held::default(); grid.columns.len()],
            fields: Fields::zero(grid),
            solids: SolidFields::default(),
            volume: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            time_s: 0.0,
            steps: 0,
            last_dt_s: 0.0,
            lead_s: 0.0,
            bodies: None,
            owed: vec![],
            spray: None,
        }
    }
}

/// What a step makes; the arrays keep their memory from step to step, not their values.
pub(crate) struct Work {
    /// The next state's.
    pub fields: Fields,
    pub solids: SolidFields,
    pub held: Vec<Held>,
    pub volume: Account,
    pub kinetic_energy_j: f64,
    pub limiting_speed_m_s: f64,
    /// How long forces act in the step.
    pub centring: Centring,
    /// The solids at the end of the step on the old columns; of no interest where none moves.
    pub solids_before: SolidFields,
    /// How high tops of tall cells may be.
    pub limits: Vec<[f32; 2]>,
    /// The state's columns and coarser ones.
    pub grids: Vec<TallGrid>,
    pub extrapolate: extrapolate::Scratch,
    /// The state's velocity, with values in the air.
    pub u_air: Vec<Velocity>,
    /// The state's phi, made a distance or clamped.
    pub phi_start: Vec<f32>,
    /// phi and velocity on the state's columns, after transport.
    pub phi_carried: Vec<f32>,
    pub u_carried: Vec<Velocity>,
    /// What the back-trace finds, and where.
    pub carried: Vec<[f32; 4]>,
    pub from: Vec<[f32; 4]>,
    pub spare: Vec<f32>,
    pub remesh: remesh::Scratch,
    pub multigrid: Multigrid,
    /// Liquid that flows to the next column along x and z, in cells.
    pub flux: Vec<[f32; 2]>,
    /// What sources bring into every column, in cells, and its moment of heights; and what sinks take of it.
    pub poured_column: Vec<[f32; 2]>,
    pub taken: Vec<f32>,
    /// What has come into sources by the end of the step, by cell.
    pub poured: CellList,
    pub in_m3: f64,
    pub out_m3: f64,
    /// What every column holds on its ground and aloft, what both lack, and what it shall hold, in cells.
    pub divided: Vec<Divided>,
    pub lacking: Vec<[f32; 2]>,
    pub spread: Vec<[f32; 2]>,
    pub target: Vec<f32>,
    pub shift: Vec<([f32; 2], bool)>,
    pub bodies: BodyStep,
    pub coupled: Vec<Coupled>,
    /// All bodies' surfaces, and what lies there.
    pub elements: Vec<Element>,
    pub pressed: Vec<Pressed>,
    pub spray: SprayWork,
}

impl Work {
    pub fn new(grid: &TallGrid) -> Work {
        let (samples, columns) = (grid.samples(), grid.columns.len());
        let grids = coarsen_until(grid, |_| false);
        let (scalar, vector) = (|| vec![0.0f32; samples], || vec![[0.0f32; 4]; samples]);
        Work {
            fields: Fields::zero(grid.clone()),
            solids: SolidFields::default(),
            held: vec![Held::default(); columns],
            volume: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            centring: Centring::default(),
            solids_before: SolidFields::default(),
            limits: vec![],
            extrapolate: extrapolate::Scratch::new(&grids),
            grids,
            u_air: vector(),
            phi_start: scalar(),
            phi_carried: scalar(),
            u_carried: vector(),
            carried: vector(),
            from: vector(),
            spare: scalar(),
            remesh: remesh::Scratch::default(),
            multigrid: Multigrid::new(grid),
            flux: vec![[0.0; 2]; columns],
            poured_column: vec![[0.0; 2]; columns],
            taken: vec![0.0; columns],
            poured: CellList::empty(columns),
            in_m3: 0.0,
            out_m3: 0.0,
            divided: vec![Divided::default(); columns],
            lacking: vec![[0.0; 2]; columns],
            spread: vec![[0.0; 2]; columns],
            target: vec![0.0; columns],
            shift: vec![([0.0; 2], false); columns],
            bodies: BodyStep::default(),
            coupled: vec![],
            elements: vec![],
            pressed: vec![],
            spray: SprayWork::default(),
        }
    }

    /// What flows in a step on the state's columns.
    pub fn flow<'a>(&'a self, grid: &'a TallGrid, open: &'a Open<'a>, dt_s: f64) -> Flow<'a> {
        Flow { grid, u: &self.u_air, phi: &self.phi_start, open, dt_s: dt_s as f32 }
    }
}
