//! What the solver remembers from step to step, and what a step works in.

use crate::measure::Limits;
use crate::particles::{ParticleWork, Particles};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_linear::krylov::{BicgstabScratch, CgScratch};
use fluvial_octree::assemble::System;
use fluvial_octree::capillary::CapillaryScratch;
use fluvial_octree::curvature::CurvatureScratch;
use fluvial_octree::extend::ExtendScratch;
use fluvial_octree::extrapolate::ExtrapolateScratch;
use fluvial_octree::fractions::FractionsScratch;
use fluvial_octree::gradient::PressureGradient;
use fluvial_octree::interpolate::Tracing;
use fluvial_octree::redistance::RedistanceScratch;
use fluvial_volume::Account;
use std::sync::Arc;

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
}

/// Solids and sources on one tree at one moment.
#[derive(Clone, Default)]
pub(crate) struct Boundaries {
    /// Solids' distance at nodes and cell centres, negative inside; true distances up to some cells, metres. Empty without solids.
    pub phi_solid_node: Vec<f32>,
    pub phi_solid_cell: Vec<f32>,
    /// Open part of faces and cells, without regard to sources.
    pub open_area: Vec<f32>,
    pub open_volume: Vec<f32>,
    /// Velocity of solids across faces that they close, m/s.
    pub u_solid: Vec<f32>,
    /// Cells without any open face.
    pub closed_cell: Vec<bool>,
}

/// Cells and faces of active sources on one tree.
#[derive(Clone, Default)]
pub(crate) struct SourceTags {
    /// Index into the set-up's sources plus one, 0 elsewhere; empty when none is active.
    pub cell: Vec<u8>,
    /// Open area and boundary velocity as the pressure sees them.
    pub area_face: Vec<f32>,
    pub u_boundary: Vec<f32>,
}

/// The liquid at one moment. A step reads it whole and replaces it only when it has succeeded.
#[derive(Default)]
pub(crate) struct State {
    pub fields: Fields,
    pub boundaries: Arc<Boundaries>,
    /// None but with tracker `flip`.
    pub particles: Particles,
    /// Length of the last step, seconds: turns the impulse into a pressure.
    pub last_dt_s: f64,
    /// Volume bookkeeping and its controllers.
    pub volume: Account,
    /// Kinetic energy of `u_face`, J.
    pub kinetic_energy_j: f64,
    /// Mean velocity of the liquid, m/s: what it keeps while it touches nothing.
    pub mean_velocity: [f64; 3],
    /// Which sources flowed during the last step.
    pub sources_flowing: Vec<bool>,
    /// Finest cells that the fastest liquid has crossed since the tree was built.
    pub cells_moved: f64,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Steps taken.
    pub steps: u64,
}

/// What a step begins with: the state's fields, with what sources and sinks did to them.
#[derive(Default)]
pub(crate) struct Start {
    pub phi_cell: Vec<f32>,
    pub u_face: Vec<f32>,
    /// Its velocity for tracing.
    pub tracing: Tracing,
    /// Cells of active sources: index into the set-up's sources plus one, 0 elsewhere; empty when none is active.
    pub tags: Vec<u8>,
    pub volume: Account,
    pub sources_flowing: Vec<bool>,
}

/// What a step makes and works in; nothing in here outlives it.
#[derive(Default)]
pub(crate) struct Work {
    pub start: Start,
    /// The next state's.
    pub fields: Fields,
    pub boundaries: Arc<Boundaries>,
    pub sources: SourceTags,
    pub particles: ParticleWork,
    pub gradient: PressureGradient,
    pub volume: Account,
    pub cells_moved: f64,
    pub kinetic_energy_j: f64,
    pub mean_velocity: [f64; 3],
    pub limits: Limits,
    /// phi as the pressure sees it: drops of one cell have none.
    pub phi_pressure: Vec<f32>,
    /// Liquid share of each cell's volume.
    pub fraction_cell: Vec<f32>,
    /// Faces whose velocity is the liquid's or a source's.
    pub known_face: Vec<bool>,
    pub rhs_cell: Vec<f64>,
    /// Impulse of tension on the faces that the surface crosses, m2/s.
    pub surface_pressure_face: Vec<f32>,
    /// Bodies of liquid as tension sees them.
    pub label_cell: Vec<u32>,
    pub curvature: CurvatureScratch,
    pub capillary: CapillaryScratch,
    /// Where what is at a sample now was when the step began.
    pub departure: Vec<Vec3>,
    /// Sizes, and a copy for spreading.
    pub size_cell: Vec<f32>,
    pub spread_cell: Vec<f32>,
    /// Back-and-forth errors on the old tree.
    pub error_old: Vec<f32>,
    /// Velocity through walls at the cells beside them, m/s.
    pub through_cell: Vec<Vec3>,
    /// What the start's velocity carries along: without sources or sinks in the air at the surface.
    pub u_transport: Vec<f32>,
    pub surface_air: Vec<bool>,
    pub system: System,
    pub cg: CgScratch<f64>,
    pub bicgstab: BicgstabScratch<f64>,
    pub redistance: RedistanceScratch,
    pub extend: ExtendScratch,
    pub extrapolate: ExtrapolateScratch,
    pub fractions: FractionsScratch,
}
