//! The scene as ready objects, the same for every method.

use crate::{Flow, FreeBody, StepError};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{Measured, Motion, Nozzle, PlacedSolids, Shape};

/// What lies at a side of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wall {
    /// Nothing passes; the liquid slips along it and may let go of it.
    #[default]
    Solid,
    /// The same, but liquid never lets go of it.
    Sticky,
    /// Liquid leaves freely into air at zero pressure.
    Open,
}

/// The simulated box.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The finest grid that covers it.
    pub grid: UniformGrid,
    /// Walls in the order x_min, x_max, y_min, y_max, z_min, z_max.
    pub walls: [Wall; 6],
    /// Angles at which the surface meets the walls, measured in the liquid, degrees; of no interest at open ones.
    pub contact_angles_deg: [f32; 6],
    /// Friction coefficients of the walls; of no interest at open ones.
    pub friction: [f32; 6],
}

/// The contact angle of what neither draws liquid up nor pushes it down, degrees.
pub const NEUTRAL_ANGLE_DEG: f32 = 90.0;

impl Domain {
    /// A box with six closed walls.
    pub fn closed(grid: UniformGrid) -> Self {
        Domain {
            grid,
            walls: [Wall::Solid; 6],
            contact_angles_deg: [NEUTRAL_ANGLE_DEG; 6],
            friction: [0.0; 6],
        }
    }

    /// The box in metres.
    pub fn bounds(&self) -> Aabb {
        self.grid.bounds()
    }
}

/// The liquid's constants.
#[derive(Clone, Copy, Debug)]
pub struct Liquid {
    /// kg/m3.
    pub density: f32,
    /// N/m.
    pub surface_tension: f32,
    /// m/s2.
    pub gravity: Vec3,
}

impl Default for Liquid {
    fn default() -> Self {
        Liquid { density: 1000.0, surface_tension: 0.0, gravity: Vec3::new(0.0, -9.81, 0.0) }
    }
}

/// Liquid at the start.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Where.
    pub shape: Shape,
    /// Its velocity, m/s.
    pub velocity: Vec3,
}

/// A body that the liquid flows around.
#[derive(Clone, Debug)]
pub struct Solid {
    /// Name in messages and outputs.
    pub name: String,
    /// In its own frame.
    pub shape: Shape,
    /// World from body over time.
    pub motion: Motion,
    /// Does liquid never let go of it?
    pub sticky: bool,
    /// Friction coefficient C_f: the wall's pull is `1/2 rho C_f u^2` by area.
    pub friction: f32,
    /// Is it a body that liquid, weight and contacts move? Its solver then keeps `motion`.
    pub free: Option<FreeBody>,
}

impl Solid {
    /// A smooth solid that liquid may let go of.
    pub fn new(name: impl Into<String>, shape: Shape, motion: Motion) -> Self {
        Solid { name: name.into(), shape, motion, sticky: false, friction: 0.0, free: None }
    }
}

/// Liquid flows into the shape from behind and leaves it at a given velocity.
#[derive(Clone, Debug)]
pub struct Source {
    /// In its own frame.
    pub shape: Shape,
    /// World from shape over time.
    pub motion: Motion,
    /// Of the liquid against the shape, in the shape's frame, m/s; not zero.
    pub velocity: Vec3,
    /// First and last moment, seconds.
    pub active_s: [f64; 2],
    /// What is known of its mouth; nothing at the start.
    pub measured: Measured,
}

impl Source {
    /// Does it flow at this moment?
    pub fn is_active(&self, time_s: f64) -> bool {
        self.active_s[0] <= time_s && time_s < self.active_s[1]
    }

    /// For how long does it flow between a moment and `dt_s` later?
    pub fn flows_for_s(&self, time_s: f64, dt_s: f64) -> f64 {
        (self.active_s[1].min(time_s + dt_s) - self.active_s[0].max(time_s)).max(0.0)
    }

    /// Its shape where it is at a moment, in a domain.
    pub fn nozzle(&self, time_s: f64, domain: Aabb) -> Nozzle {
        Nozzle::measured(&self.shape, self.velocity, &self.motion, time_s, domain, &self.measured)
    }

    /// Distance to the liquid that has come into its shape up to a moment.
    pub fn filled_distance(&self, nozzle: &Nozzle, x: Vec3, time_s: f64) -> f32 {
        nozzle.filled_distance(x, time_s - self.active_s[0])
    }
}

/// Liquid inside the shape is removed.
#[derive(Clone, Debug)]
pub struct Sink {
    /// Where.
    pub shape: Shape,
    /// First and last moment, seconds.
    pub active_s: [f64; 2],
}

impl Sink {
    /// Does it take liquid at this moment?
    pub fn is_active(&self, time_s: f64) -> bool {
        self.active_s[0] <= time_s && time_s < self.active_s[1]
    }
}

/// A cell size forced inside a shape (adaptive methods).
#[derive(Clone, Debug)]
pub struct Refine {
    /// Where.
    pub shape: Shape,
    /// Cell size, metres.
    pub dx: f32,
}

/// Everything that a solver starts from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The box and its grid.
    pub domain: Domain,
    /// Constants.
    pub liquid: Liquid,
    /// Liquid at the start; where fills overlap, the last one's velocity holds.
    pub fills: Vec<Fill>,
    /// Bodies.
    pub solids: Vec<Solid>,
    /// Inflow.
    pub sources: Vec<Source>,
    /// Outflow.
    pub sinks: Vec<Sink>,
    /// Forced cell sizes.
    pub refine: Vec<Refine>,
    /// A flow that is given instead of computed: neither forces nor pressure act.
    pub flow: Option<Flow>,
    /// Cells that the fastest liquid may cross in a step; a method may let films and drops that it does not
    /// resolve go further.
    pub cfl: f32,
}

/// A step in which liquid would cross more domains than this is no step.
const FARTHEST_DOMAINS: f64 = 100.0;

impl Setup {
    /// A domain with water's constants and nothing in it; `cfl` is 2.
    pub fn new(domain: Domain) -> Self {
        Setup {
            domain,
            liquid: Liquid::default(),
            fills: vec![],
            solids: vec![],
            sources: vec![],
            sinks: vec![],
            refine: vec![],
            flow: None,
            cfl: 2.0,
        }
    }

    /// Distance to the closed walls of the domain, positive inside, metres.
    pub(crate) fn wall_distance(&self, x: Vec3) -> f32 {
        self.nearest_wall(x).map_or(f32::MAX, |(_, distance)| distance)
    }

    /// The closed wall of the domain nearest to a point, and its distance, metres.
    fn nearest_wall(&self, x: Vec3) -> Option<(usize, f32)> {
        let (bounds, open) = (self.domain.grid.bounds(), self.open_walls());
        let [low, high] = [(x - bounds.min).to_array(), (bounds.max - x).to_array()];
        let sides = (0..3).flat_map(|axis| [(2 * axis, low[axis]), (2 * axis + 1, high[axis])]);
        sides.filter(|(side, _)| !open[*side]).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Cosines of the contact angles at the walls of the domain; none at open ones.
    pub fn wall_contact_cosines(&self) -> [Option<f32>; 6] {
        let open = self.open_walls();
        std::array::from_fn(|side| (!open[side]).then(|| cosine(self.domain.contact_angles_deg[side])))
    }

    /// Cosine of the contact angle of the boundary nearest to a point: a closed wall of the domain, or a solid, whose angle is 90
    /// degrees.
    fn contact_cosine(&self, solids: &PlacedSolids, x: Vec3) -> f32 {
        let (wall, wall_m) = self.nearest_wall(x).unzip();
        let wall = wall.filter(|_| solids.distance(x, f32::MAX) >= wall_m.unwrap_or(f32::MAX));
        cosine(wall.map_or(NEUTRAL_ANGLE_DEG, |n| self.domain.contact_angles_deg[n]))
    }

    /// How far below the air's pressure that in a cell of edge `dx` must be for its liquid to let go of the boundary
    /// nearest to `x`, Pa. Where it does, surface is made: that takes the work of adhesion, `sigma (1 + cos theta)` by area
    /// (Young and Dupré), and a pull of p over a gap as wide as the cell gives `p dx`. Without tension every pull is enough;
    /// with it, liquid in the trough of a wave holds on, as it must: its pressure is `sigma kappa < 0`.
    pub fn adhesion_pa(&self, solids: &PlacedSolids, x: Vec3, dx: f32) -> f32 {
        match self.liquid.surface_tension {
            0.0 => 0.0,
            sigma => sigma * (1.0 + self.contact_cosine(solids, x)) / dx,
        }
    }

    /// Velocity of the nearest fill no farther than `reach_m`, the last one's where several are as near; also
    /// in the air around it, for the first back-trace.
    pub fn fill_velocity(&self, x: Vec3, reach_m: f32) -> Option<Vec3> {
        let (mut best, mut velocity) = (reach_m, None);
        for fill in &self.fills {
            let d = fill.shape.distance(x).max(0.0);
            if d <= best {
                (best, velocity) = (d, Some(fill.velocity));
            }
        }
        velocity
    }

    /// The sources that flow at a moment, with their numbers.
    pub fn active_sources(&self, time_s: f64) -> impl Iterator<Item = (usize, &Source)> {
        self.sources.iter().enumerate().filter(move |(_, source)| source.is_active(time_s))
    }

    /// The sources that flow at some time between a moment and `dt_s` later, with their numbers.
    pub fn sources_flowing(&self, time_s: f64, dt_s: f64) -> impl Iterator<Item = (usize, &Source)> {
        self.sources.iter().enumerate().filter(move |(_, source)| source.flows_for_s(time_s, dt_s) > 0.0)
    }

    /// Source `n` at the end of a step among those that flow during it.
    pub fn nozzle_among(&self, n: usize, time_s: f64, dt_s: f64) -> Nozzle {
        let place = |n: usize| self.sources[n].nozzle(time_s + dt_s, self.domain.bounds());
        let others = self.sources_flowing(time_s, dt_s).map(|(other, _)| other).filter(|other| *other != n);
        place(n).beside(others.map(|other| (place(other), other < n)))
    }

    /// Which sources flow in a step, if all of them stand still and no solid moves near them: what was measured on
    /// sources holds as long as this stays the same.
    ///
    /// Test: `a_source_rests_while_nothing_moves_near_it`.
    pub fn resting_sources(&self, time_s: f64, dt_s: f64) -> Option<Vec<usize>> {
        let end_s = time_s + dt_s;
        let flowing = || self.sources_flowing(time_s, dt_s);
        let (domain, dx) = (self.domain.bounds(), self.domain.grid.dx);
        let is_passed = |solid: &Solid| {
            let bounds = solid.motion.pose(end_s).world_bounds(solid.shape.bounds());
            flowing()
                .any(|(_, source)| source.nozzle(end_s, domain).cover_bounds(2.0 * dx).intersects(&bounds))
        };
        let rest = flowing().all(|(_, source)| source.motion.is_static())
            && !self.solids.iter().any(|solid| !solid.motion.is_static() && is_passed(solid));
        rest.then(|| flowing().map(|(n, _)| n).collect())
    }

    /// The sinks that take liquid at a moment, with their numbers.
    pub fn active_sinks(&self, time_s: f64) -> impl Iterator<Item = (usize, &Sink)> {
        self.sinks.iter().enumerate().filter(move |(_, sink)| sink.is_active(time_s))
    }

    /// Which sides of the domain are open.
    pub fn open_walls(&self) -> [bool; 6] {
        self.domain.walls.map(|wall| wall == Wall::Open)
    }

    /// Which sides of the domain hold on to liquid.
    pub fn sticky_walls(&self) -> [bool; 6] {
        self.domain.walls.map(|wall| wall == Wall::Sticky)
    }

    /// Is any solid or wall rough?
    pub fn has_friction(&self) -> bool {
        self.solids.iter().any(|solid| solid.friction > 0.0) || self.wall_friction() != [0.0; 6]
    }

    /// Friction coefficients of the walls of the domain, 0 for open ones.
    pub fn wall_friction(&self) -> [f32; 6] {
        let open = self.open_walls();
        std::array::from_fn(|side| if open[side] { 0.0 } else { self.domain.friction[side] })
    }

    /// Friction coefficient and velocity of the solid nearest to a point, if one is nearer than `band` metres.
    pub fn rough_solid(&self, solids: &PlacedSolids, x: Vec3, band: f32) -> (f32, Vec3) {
        let nearest = solids.nearest_solid(x, band);
        nearest.map_or((0.0, Vec3::ZERO), |(n, velocity)| (self.solids[n].friction, velocity))
    }

    /// Does any solid move?
    pub fn has_moving_solids(&self) -> bool {
        self.solids.iter().any(|solid| !solid.motion.is_static())
    }

    /// The next moment at which a solid's or a source's motion changes its velocity: a step across it would take a
    /// solid elsewhere than its velocity says, and the liquid before it would find no room.
    pub fn next_key_s(&self, time_s: f64) -> f64 {
        let motions = self.solids.iter().map(|s| &s.motion).chain(self.sources.iter().map(|s| &s.motion));
        motions.filter_map(|motion| motion.next_key_s(time_s)).fold(f64::INFINITY, f64::min)
    }

    /// The solids where they are at a moment.
    pub fn solids_at(&self, time_s: f64) -> PlacedSolids<'_> {
        PlacedSolids::new(self.solids.iter().map(|s| (&s.shape, &s.motion)), time_s)
    }

    /// The solids that hold on to liquid, where they are at a moment.
    pub fn sticky_solids_at(&self, time_s: f64) -> PlacedSolids<'_> {
        let sticky = self.solids.iter().filter(|solid| solid.sticky);
        PlacedSolids::new(sticky.map(|s| (&s.shape, &s.motion)), time_s)
    }

    /// Fastest of the solids, which move at up to `solids_m_s`, and the sources that flow at a moment, m/s.
    pub fn boundary_speed_m_s(&self, time_s: f64, solids_m_s: f64) -> f64 {
        self.active_sources(time_s).fold(solids_m_s, |most, (_, s)| most.max(s.velocity.length() as f64))
    }

    /// Is `dt_s` a length that a step can have when the fastest liquid moves at `speed_m_s`? Positive, and
    /// not so long that positions would lose all meaning.
    pub fn check_step(&self, dt_s: f64, speed_m_s: f64) -> Result<(), StepError> {
        let stage = "start";
        if !(dt_s > 0.0 && dt_s.is_finite()) {
            return Err(StepError::NotFinite { field: "the step's length", stage });
        }
        let size_m = self.domain.grid.bounds().size().length() as f64;
        let gravity = self.liquid.gravity.length() as f64;
        if speed_m_s * dt_s + gravity * dt_s * dt_s > FARTHEST_DOMAINS * size_m {
            return Err(StepError::NotFinite { field: "what liquid crosses in the step", stage });
        }
        Ok(())
    }
}

/// Exactly zero, but for less than any f32 shows beside a distance, at 90 degrees.
fn cosine(degrees: f32) -> f32 {
    f64::from(degrees).to_radians().cos() as f32
}
