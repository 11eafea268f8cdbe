//! What the solver remembers from step to step, and the memory that a step works in.

use crate::mass::{MassScratch, Settled};
use crate::params::Params;
use crate::particles::{ParticleScratch, Particles};
use crate::thin::FineSolids;
use fluvial_drops::Drops;
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape as TreeShape;
use fluvial_linear::LowRank;
use fluvial_linear::krylov::{BicgstabScratch, CgScratch};
use fluvial_octree::advect::AdvectScratch;
use fluvial_octree::air::AirScratch;
use fluvial_octree::assemble::System;
use fluvial_octree::capillary::CapillaryScratch;
use fluvial_octree::curvature::CurvatureScratch;
use fluvial_octree::extend::ExtendScratch;
use fluvial_octree::extrapolate::ExtrapolateScratch;
use fluvial_octree::fractions::{FractionsScratch, Kinks};
use fluvial_octree::friction::FrictionScratch;
use fluvial_octree::gradient::{Geometry, PressureGradient};
use fluvial_octree::interpolate::{Centres, Sampler, Tracing};
use fluvial_octree::net_force::NetForceScratch;
use fluvial_octree::outlet::Outlet;
use fluvial_octree::redistance::{Keeps, RedistanceScratch};
use fluvial_octree::thrown::Thrown;
use fluvial_octree::volume::Open;
use fluvial_solids::RoughPatch;
use fluvial_solver_interface::{Bodies, BodyStep, Centring, Clamps, Setup, StepTimes};
use fluvial_volume::Account;
use std::sync::Arc;

/// What a run is about; it never changes.
pub(crate) struct Model {
    pub setup: Setup,
    pub params: Params,
    pub shape: TreeShape,
    /// Which solids are too thin for the finest cells somewhere.
    pub thin: Vec<bool>,
    /// The number of each solid among the bodies, where it is one.
    pub body_of_solid: Vec<Option<u32>>,
}

impl Model {
    pub fn sampler<'a>(&self, tree: &'a Octree) -> Sampler<'a> {
        Sampler::new(tree, self.params.interpolation())
    }

    /// What redistancing keeps: curvature where surface tension measures it.
    pub fn keeps(&self) -> Keeps {
        match self.setup.liquid.surface_tension > 0.0 {
            true => Keeps::Curvature(self.setup.wall_contact_cosines()),
            false => Keeps::Planes,
        }
    }

    /// Does phi move with the surface point next to it, and do cells share out what they are owed?
    ///
    /// Surface tension differentiates phi twice, and the normals of neighbouring cells differ: with the surface point's velocity
    /// parasitic currents were 1.7 times as fast, and a lopsided drop moved by 0.19 cells in a second. What moves phi then leaves errors in
    /// single cells that only these cells' own volume mends: with debts shared out the currents were 1.4 times as fast.
    pub fn moves_with_surface(&self) -> bool {
        self.setup.liquid.surface_tension == 0.0
    }

    pub fn has_solids(&self) -> bool {
        !self.setup.solids.is_empty()
    }

    /// What solids leave open, for volumes.
    pub fn open<'a>(&self, boundaries: &'a Boundaries) -> Option<Open<'a>> {
        self.has_solids().then_some(Open {
            volume_cell: &boundaries.open_volume,
            phi_solid_node: &boundaries.phi_solid_node,
            sides: boundaries.sides(),
        })
    }
}

/// Fields on one tree.
#[derive(Clone, Default)]
pub(crate) struct Fields {
    pub tree: Arc<Octree>,
    /// Signed distance at cell centres, metres.
    pub phi_cell: Vec<f32>,
    /// Velocity at face centres, m/s, extended over the whole tree.
    pub u_face: Vec<f32>,
    /// How small cells should be, 1/m: what came along with the flow, not spread.
    pub size_cell: Vec<f32>,
    /// Pressure impulse p dt / rho of the last projection, m2/s: the next solve's first guess.
    pub impulse_cell: Vec<f64>,
    /// What phi stands for in every cell, and what the cell is owed beside, in its volume.
    pub fraction_cell: Vec<f32>,
    pub residual_cell: Vec<f32>,
    /// Cells that have let go of a wall or solid: what they are owed is the gap.
    pub parted_cell: Vec<bool>,
}

impl Fields {
    /// The liquid's shape with its drops, its velocity and its pressure impulse.
    pub fn split<'a>(
        &'a mut self,
        drops: &'a mut Drops,
    ) -> (Settled<'a>, &'a mut Vec<f32>, &'a mut Vec<f64>) {
        let shape = Settled {
            phi: &mut self.phi_cell,
            size: &mut self.size_cell,
            fraction: &mut self.fraction_cell,
            residual: &mut self.residual_cell,
            parted: &mut self.parted_cell,
            drops,
        };
        (shape, &mut self.u_face, &mut self.impulse_cell)
    }
}

/// Walls and solids on one tree at one moment.
#[derive(Clone, Default)]
pub(crate) struct Boundaries {
    /// Solids' distance at nodes and cell centres, negative inside; true distances up to some cells, metres.
    /// Empty without solids.
    pub phi_solid_node: Vec<f32>,
    pub phi_solid_cell: Vec<f32>,
    /// Open part of faces and cells, without regard to sources.
    pub open_area: Vec<f32>,
    pub open_volume: Vec<f32>,
    /// Faces with too little open area, which were closed.
    pub snapped_faces: usize,
    /// Where they were measured in parts.
    pub kinks: Kinks,
    /// Velocity of solids across faces that they close, m/s.
    pub u_solid: Vec<f32>,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
    /// Cells that touch a boundary which liquid may let go of.
    pub may_part_cell: Vec<bool>,
    /// Rough pieces of walls and solids.
    pub rough: Vec<RoughPatch>,
    /// Faces that bodies close, be it in part, and the number of the body: by face, ascending.
    pub body_faces: Vec<(u32, u32)>,
    /// What part of cells moving solids have opened or closed in the step that ends now; empty where none moves.
    pub swept_part_cell: Vec<f32>,
    /// Solids around thin ones.
    pub fine: Option<Arc<FineSolids>>,
}

/// What limits the next step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Fastest liquid, m/s.
    pub speed_m_s: f64,
    /// Largest speed over cell size, 1/s.
    pub cells_1_s: f64,
    /// Edge of the smallest cell at the surface, metres.
    pub surface_dx: f64,
}

/// The liquid at one moment. A step reads one state and writes another, and the two change places when it has
/// succeeded.
#[derive(Default)]
pub(crate) struct State {
    pub fields: Fields,
    pub boundaries: Arc<Boundaries>,
    /// None where the scene has none.
    pub bodies: Option<Bodies>,
    /// None but with tracker `flip`.
    pub particles: Particles,
    /// Drops that are too small for the tree.
    pub drops: Drops,
    /// Volume bookkeeping.
    pub volume: Account,
    /// Which sources flowed during the last step: the tree is built anew when that changes.
    pub sources_flowing: Vec<bool>,
    pub limits: Limits,
    /// Kinetic energy of `u_face`, J.
    pub kinetic_energy_j: f64,
    /// Mean velocity of the liquid, m/s: what it keeps while it touches nothing.
    pub mean_velocity: [f64; 3],
    /// Finest cells that the fastest liquid has crossed since the tree was built.
    pub cells_moved: f64,
    /// How long forces acted in the last step, seconds: turns the impulse into a pressure.
    pub pushed_s: f64,
    /// How far velocity is ahead of the surface, seconds.
    pub lead_s: f64,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
    /// Faces of the last step whose velocity was the liquid's or a source's.
    pub liquid_faces: usize,
    /// T-junctions that the surface crossed in the last projection, and degenerate ones among them.
    pub junctions: [usize; 2],
}

impl State {
    /// The times of a step from it.
    pub fn times(&self, dt_s: f64) -> StepTimes {
        StepTimes { from_s: self.time_s, dt_s, last_dt_s: self.pushed_s }
    }
}

/// One step from the state that it begins with: what all stages may read.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub model: &'a Model,
    pub old: &'a State,
    pub dt_s: f64,
    /// How long forces act.
    pub forces: Centring,
}

impl<'a> Step<'a> {
    /// A step; forces on a liquid alone are centred in time.
    pub fn new(model: &'a Model, old: &'a State, dt_s: f64, clamps: &mut Clamps) -> Self {
        let forces = match old.bodies {
            Some(_) => Centring::with_bodies(dt_s),
            None => Centring::of_step(dt_s, (old.steps > 0).then_some(old.lead_s), clamps),
        };
        Step { model, old, dt_s, forces }
    }

    /// Which sources flow during the step.
    pub fn sources_flowing(&self) -> impl Iterator<Item = bool> {
        self.model.setup.sources.iter().map(|source| source.flows_for_s(self.old.time_s, self.dt_s) > 0.0)
    }
}

/// The state's liquid, with what sinks did to it.
#[derive(Default)]
pub(crate) struct Start {
    pub phi_cell: Vec<f32>,
    pub u_face: Vec<f32>,
    pub fraction_cell: Vec<f32>,
    pub residual_cell: Vec<f32>,
    /// What sinks have taken, m3.
    pub drained_m3: f64,
}

/// The sources that flow during a step, on the next tree.
#[derive(Default)]
pub(crate) struct SourcesOnTree {
    /// Sections of sources that stand still among solids that do, from step to step; by source.
    pub section_m2: Vec<Option<f64>>,
    /// The sources that they were measured for.
    pub measured_for: Option<Vec<usize>>,
    /// The outlet of each, and the part of the step for which it flows.
    pub outlets: Vec<(Outlet, f64)>,
    /// Open area of the faces as the pressure sees them.
    pub area_face: Vec<f32>,
    /// What flows into cells, m3/s, sorted by cell.
    pub flow_into_cell: Vec<(usize, f64)>,
    /// Cells at a boundary that liquid may let go of: not where a source flows behind it.
    pub may_part_cell: Vec<bool>,
}

impl SourcesOnTree {
    /// The faces in sources, the open ones at their edges too: which, with the velocity of their liquid.
    pub fn inner_faces(&self) -> impl Iterator<Item = (usize, f32)> {
        let faces = self.outlets.iter().flat_map(|(outlet, _)| &outlet.faces);
        faces.filter_map(|f| f.u_source.map(|u| (f.face, u)))
    }

    /// The faces that sources close: which, with the velocity of their liquid.
    pub fn closed_faces(&self) -> impl Iterator<Item = (usize, f32)> {
        let faces = self.outlets.iter().flat_map(|(outlet, _)| &outlet.faces);
        faces.filter(|f| self.area_face[f.face] == 0.0).map(|f| (f.face, f.u_source.unwrap_or(0.0)))
    }
}

/// The next tree, with walls, solids and sources on it as they are at the end of the step.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub tree: &'a Arc<Octree>,
    pub boundaries: &'a Boundaries,
    pub sources: &'a SourcesOnTree,
    /// Velocity of the solids at what they and sources close of each face, m/s.
    pub u_boundary: &'a [f32],
}

impl<'a> Ground<'a> {
    /// The liquid on it, with sources as boundaries.
    pub fn liquid(&self, phi_cell: &'a [f32]) -> Geometry<'a> {
        Geometry { tree: self.tree, phi_cell, open_area: &self.sources.area_face }
    }
}

/// Where the next tree's ground is kept.
#[derive(Default)]
pub(crate) struct GroundScratch {
    pub boundaries: Arc<Boundaries>,
    pub fractions: FractionsScratch,
    pub sources: SourcesOnTree,
    pub u_boundary: Vec<f32>,
}

impl GroundScratch {
    pub fn on<'a>(&'a self, tree: &'a Arc<Octree>) -> Ground<'a> {
        let GroundScratch { boundaries, sources, u_boundary, .. } = self;
        Ground { tree, boundaries, sources, u_boundary }
    }
}

/// The memory that the stages of a step work in; every stage fills what it reads.
#[derive(Default)]
pub(crate) struct Scratch {
    pub start: Start,
    pub transport: TransportScratch,
    pub sizes: SizeScratch,
    pub ground: GroundScratch,
    pub friction: FrictionScratch,
    pub bodies: BodyStep,
    pub carry: AdvectScratch,
    pub particles: ParticleScratch,
    pub distance: DistanceScratch,
    pub mass: MassScratch,
    pub tension: TensionScratch,
    pub pressure: PressureScratch,
}

/// For the velocity that carries the surface.
#[derive(Default)]
pub(crate) struct TransportScratch {
    /// The start's velocity, without divergence in the air at the surface.
    pub u_face: Vec<f32>,
    pub tracing: Tracing,
    /// The same at points, for the surface.
    pub u_point: Vec<f32>,
    pub tracing_points: Tracing,
    /// What velocities at the centres of cells are made of, and the tree that it is known on.
    pub centres: Centres,
    pub centres_on: Option<Arc<Octree>>,
    pub air: AirScratch,
    /// Velocities of slivers of faces.
    pub slivers: Vec<(usize, f32)>,
}

/// For the sizes that cells should have, 1/m.
#[derive(Default)]
pub(crate) struct SizeScratch {
    /// On the tree that the step begins with.
    pub wanted_cell: Vec<f32>,
    /// Spread over it.
    pub spread_cell: Vec<f32>,
    pub before_sweep_cell: Vec<f32>,
}

/// For making phi a distance.
#[derive(Default)]
pub(crate) struct DistanceScratch {
    pub redistance: RedistanceScratch,
    pub extend: ExtendScratch,
}

/// For the projection.
#[derive(Default)]
pub(crate) struct PressureScratch {
    pub operator: OperatorScratch,
    pub solve: SolveScratch,
    pub velocity: VelocityScratch,
}

/// For the pressure's operator.
#[derive(Default)]
pub(crate) struct OperatorScratch {
    /// phi as the pressure sees it: drops of one cell have none, nor has liquid that lets go of walls.
    pub phi_cell: Vec<f32>,
    pub gradient: PressureGradient,
    /// That of the symmetric form, which preconditions the other one.
    pub symmetric: PressureGradient,
    pub system: System,
    /// Cells that the pressure throws out of the surface.
    pub thrown: Thrown,
    /// T-junctions that the surface crosses, and degenerate ones among them.
    pub junctions: [usize; 2],
}

/// For surface tension.
#[derive(Default)]
pub(crate) struct TensionScratch {
    /// Impulse of tension on the faces that the surface crosses, m2/s.
    pub p_face: Vec<f32>,
    /// Velocity before it acts; empty without tension.
    pub u_without_push: Vec<f32>,
    pub curvature: CurvatureScratch,
    pub capillary: CapillaryScratch,
    pub net_force: NetForceScratch,
}

/// For the pressure solve.
#[derive(Default)]
pub(crate) struct SolveScratch {
    /// Velocity before the projection.
    pub u_face: Vec<f32>,
    pub rhs_cell: Vec<f64>,
    /// The bodies' term, by the rows of the system.
    pub term: LowRank,
    pub cg: CgScratch<f64>,
    pub bicgstab: BicgstabScratch<f64>,
}

/// For velocity beyond the liquid.
#[derive(Default)]
pub(crate) struct VelocityScratch {
    /// Faces whose velocity is the liquid's or a source's.
    pub known_face: Vec<bool>,
    pub extrapolate: ExtrapolateScratch,
    /// Velocity through the surfaces of solids at the cells beside them, m/s.
    pub through_cell: Vec<Vec3>,
}
