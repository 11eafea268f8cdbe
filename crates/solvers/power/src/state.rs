//! What the solver remembers from step to step, and what does not change during a run.

use crate::Params;
use fluvial_drops::Drops;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::octree::Shape;
use fluvial_grids::pyramid::Pyramid;
use fluvial_power::band::Band;
use fluvial_power::channels::PHI;
use fluvial_power::diagram::Diagram;
use fluvial_power::flow::Flow;
use fluvial_power::view::View;
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Centring, Clamps, Setup, Wall};
use fluvial_volume::Account;
use std::sync::Mutex;

/// What does not change.
pub(crate) struct Model {
    pub setup: Setup,
    pub params: Params,
    /// The box of the tree: the domain, and a layer of the largest leaves beyond open walls.
    pub shape: Shape,
    /// The domain.
    pub bounds: Aabb,
    /// What each source lets in, m3/s, where it was measured for sources that rest, and their numbers.
    pub flows_m3_s: Mutex<(Vec<usize>, Vec<Option<f64>>)>,
}

/// A tree with its diagram. Velocity, distance and pressure lie in the channels of its pages.
pub(crate) struct Tree {
    pub pyramid: Pyramid,
    pub diagram: Diagram,
}

impl Tree {
    pub fn view(&self) -> View<'_> {
        View { pyramid: &self.pyramid, diagram: &self.diagram }
    }

    /// Velocity between nodes.
    pub fn flow(&self) -> Flow<'_> {
        Flow::new(self.view())
    }

    /// Velocity that carries the surface.
    pub fn surface_flow(&self) -> Flow<'_> {
        Flow::per_axis(self.view())
    }

    /// Distance to the surface in the leaf that holds a point.
    pub fn phi(&self, x: Vec3) -> f32 {
        self.view().value(self.view().locate(x), PHI)
    }
}

/// What the leaves hold, m3, by their numbers; empty where volume is not carried by fluxes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// What the band shows of it in their power cells.
    pub content_m3: Vec<f64>,
    /// What they are owed beside.
    pub residual_m3: Vec<f64>,
}

/// The liquid at one moment.
pub(crate) struct State {
    pub tree: Tree,
    /// The surface.
    pub band: Band,
    pub held: Held,
    /// Liquid too small for the grid.
    pub drops: Drops,
    pub volume: Account,
    /// What corrections have added so far, m3.
    pub corrected_m3: f64,
    pub kinetic_energy_j: f64,
    /// The speed that the length of the next step is measured by, m/s.
    pub limiting_speed_m_s: f64,
    /// How far velocity is ahead of the surface, seconds.
    pub lead_s: f64,
    pub time_s: f64,
    pub steps: u64,
}

/// A step under way.
pub(crate) struct Step<'a> {
    pub model: &'a Model,
    pub old: &'a State,
    pub dt_s: f64,
    /// How long forces act, and how far velocity is ahead of the surface at the step's end.
    pub forces: Centring,
}

impl<'a> Step<'a> {
    /// A step with forces centred in time.
    pub fn new(model: &'a Model, old: &'a State, dt_s: f64, clamps: &mut Clamps) -> Self {
        let forces = Centring::of_step(dt_s, (old.steps > 0).then_some(old.lead_s), clamps);
        Step { model, old, dt_s, forces }
    }

    /// What gravity adds to velocities, m/s.
    pub fn push_m_s(&self) -> Vec3 {
        self.forces.push_s as f32 * self.model.setup.liquid.gravity
    }
}

impl Model {
    /// Voxels of the band along each axis.
    pub fn band_cells(&self) -> [usize; 3] {
        self.shape.cells(0).map(|n| n * self.params.band_factor as usize)
    }

    /// An empty band for this domain.
    pub fn empty_band(&self) -> std::io::Result<Band> {
        let dx = self.shape.dx / self.params.band_factor as f32;
        // At larger leaves at the surface the band must still hold the centres on both sides of it.
        let reach = (self.params.band_width * self.shape.dx).max(1.8 * self.surface_dx());
        Band::empty(self.shape.min, dx, self.band_cells(), reach)
    }

    /// Size of leaves at the surface, m.
    pub fn surface_dx(&self) -> f32 {
        let wanted = self.params.surface_dx.unwrap_or(self.shape.dx);
        wanted.clamp(self.shape.dx, self.shape.dx_of(self.shape.levels - 1))
    }

    pub fn has_solids(&self) -> bool {
        !self.setup.solids.is_empty()
    }

    /// How far a point lies beyond the open walls, m; negative inside.
    pub fn beyond_open_walls(&self, x: Vec3) -> f32 {
        let mut beyond = f32::NEG_INFINITY;
        for axis in 0..3 {
            let sides = [self.bounds.min[axis] - x[axis], x[axis] - self.bounds.max[axis]];
            for (side, distance) in sides.into_iter().enumerate() {
                if self.setup.domain.walls[2 * axis + side] == Wall::Open {
                    beyond = beyond.max(distance);
                }
            }
        }
        beyond
    }

    pub fn has_open_walls(&self) -> bool {
        self.setup.domain.walls.contains(&Wall::Open)
    }

    /// Distance to solids, m, true up to a few leaves.
    pub fn solid_distance(&self, solids: &PlacedSolids, x: Vec3) -> f32 {
        solids.distance(x, 4.0 * self.shape.dx_of(self.shape.levels - 1))
    }
}
