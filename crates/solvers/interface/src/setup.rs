//! The scene as ready objects, the same for every method.

use crate::{Flow, FreeBody, StepError};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Nozzle, PlacedSolids, Shape};

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
        Nozzle::new(&self.shape, self.velocity, &self.motion, time_s, domain)
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

/// Fills that end nearer to a solid than this touch it, cells.
const CONTACT_CELLS: f32 = 0.1;
/// A surface is looked for this far from a contact, cells.
const FARTHEST_CONTACT_CELLS: f32 = 6.0;
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

    /// Distance to the liquid at the start, negative inside, metres.
    pub fn fill_distance(&self, x: Vec3) -> f32 {
        self.fills.iter().map(|f| f.shape.distance(x)).fold(f32::MAX, f32::min)
    }

    /// The same, but to the part of the fills' boundary that is a surface: where a fill ends at a solid or at a closed wall
    /// of the domain, its liquid touches it. Asked on cells of edge `dx`. Where the boundary nearest to a point lies at a
    /// solid, the distance is continued linearly from the nearest point on the way out where it does not: a plane surface
    /// is a plane to the wall and into it, whatever the angle, so that still water begins at rest. Of a wall so thin that
    /// the way out may lead to either side, `side` is a place on the side in question. Where one fill ends in another there is no surface
    /// either, and the distance is that to where all fills end.
    /// Tests: `liquid_that_fills_a_box_touches_its_walls`, `fills_side_by_side_are_one`.
    pub fn fill_distance_beside(&self, solids: &PlacedSolids, x: Vec3, dx: f32, side: Option<Vec3>) -> f32 {
        let phi = self.fill_distance(x);
        if phi.abs() > FARTHEST_CONTACT_CELLS * dx {
            return phi;
        }
        let boundary =
            |x: Vec3| solids.distance(x, 2.0 * FARTHEST_CONTACT_CELLS * dx).min(self.wall_distance(x));
        let slope = |distance: &dyn Fn(Vec3) -> f32, x: Vec3| {
            let h = 0.05 * dx;
            let along = |axis: Vec3| distance(x + h * axis) - distance(x - h * axis);
            Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)) / (2.0 * h)
        };
        let out_of_fill = |x: Vec3| slope(&|x| self.fill_distance(x), x);
        let ends_in_fill = |x: Vec3, phi: f32, out: Vec3| {
            phi < 0.0
                && self.fills.len() > 1
                && self.fill_distance(x + (CONTACT_CELLS * dx - phi) * out) < 0.0
        };
        // The slope is shorter where two parts of the boundary are as near.
        let meets_surface = |x: Vec3, phi: f32, out: Vec3| {
            out.length() > 0.99 && boundary(x - phi * out) > CONTACT_CELLS * dx && !ends_in_fill(x, phi, out)
        };
        let is_between_fills = phi < 0.0 && self.fills.len() > 1 && ends_in_fill(x, phi, out_of_fill(x));
        if boundary(x) > phi.abs() + CONTACT_CELLS * dx && !is_between_fills {
            return phi;
        }
        let distance_from = |at: Vec3| {
            let (there, out) = (self.fill_distance(at), out_of_fill(at));
            meets_surface(at, there, out).then(|| there - out.dot(at - x))
        };
        // Where two parts of the boundary are as near, one of them may be a surface.
        let along = |n: usize| [Vec3::X, Vec3::Y, Vec3::Z][n / 2] * [-1.0, 1.0][n % 2];
        let beside = |n: usize| x + 0.1 * dx * along(n);
        let is_edge = || out_of_fill(x).length() <= 0.99;
        let near =
            distance_from(x).or_else(|| (0..6).filter(|_| is_edge()).find_map(|n| distance_from(beside(n))));
        if let Some(distance) = near {
            return distance;
        }
        if is_between_fills {
            let ends = (0..6).filter_map(|n| distance_from(self.end_of_liquid(x, along(n), dx)?));
            return ends.fold(-FARTHEST_CONTACT_CELLS * dx, f32::max);
        }
        // Where solids overlap their distance has no slope: the way out is to the corner that is least inside.
        let way_out = |x: Vec3| {
            let out = slope(&boundary, x);
            let corner = |n: usize| Vec3::from_array(std::array::from_fn(|a| (n >> a & 1) as f32 - 0.5));
            let openness = |n: &usize| boundary(x + dx * corner(*n));
            let best =
                || (0..8).max_by(|a, b| openness(a).total_cmp(&openness(b))).map_or(Vec3::ZERO, corner);
            if out.length() > 0.5 { out.normalize() } else { best().normalize() }
        };
        let (mut at, mut is_wet) = (x, phi < 0.0 && boundary(x) > 0.0);
        for step in 0..(2.0 * FARTHEST_CONTACT_CELLS) as usize {
            at = side.filter(|_| step == 0).unwrap_or_else(|| at + 0.5 * dx * way_out(at));
            if boundary(at) > 0.0 {
                if let Some(distance) = distance_from(at) {
                    return distance;
                }
                is_wet |= self.fill_distance(at) < 0.0;
            }
        }
        // No surface is near: in the air behind a solid, or deep in liquid. A surface inside a solid counts as far as it is.
        let is_contact = boundary(x - phi * out_of_fill(x)) > -CONTACT_CELLS * dx;
        if is_wet && (is_contact || phi > 0.0) { -FARTHEST_CONTACT_CELLS * dx } else { phi }
    }

    /// The first place along a direction that is clear of all fills, unless it is too far to matter on cells of edge `dx`.
    fn end_of_liquid(&self, x: Vec3, along: Vec3, dx: f32) -> Option<Vec3> {
        let (mut way, least) = (0.0, 0.5 * CONTACT_CELLS * dx);
        while way < 2.0 * FARTHEST_CONTACT_CELLS * dx {
            let phi = self.fill_distance(x + way * along);
            if phi >= CONTACT_CELLS * dx {
                return Some(x + way * along);
            }
            way += least.max(phi.abs());
        }
        None
    }

    /// Distance to the closed walls of the domain, positive inside, metres.
    fn wall_distance(&self, x: Vec3) -> f32 {
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

    /// Which sources flow in a step, if all of them stand still among solids that do: what was measured on
    /// sources holds as long as this stays the same.
    pub fn resting_sources(&self, time_s: f64, dt_s: f64) -> Option<Vec<usize>> {
        let rest = self.sources_flowing(time_s, dt_s).all(|(_, source)| source.motion.is_static());
        let numbers = || self.sources_flowing(time_s, dt_s).map(|(n, _)| n).collect();
        (rest && !self.has_moving_solids()).then(numbers)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Liquid;

    /// Two boxes of water that have a side in common, of different depth, and a third one above it in which both end: distances are
    /// those of their union, up to the side that they have in common.
    #[test]
    fn fills_side_by_side_are_one() {
        let dx = 0.1;
        let boxed = |min: [f32; 3], max: [f32; 3]| Shape::Box { min: Vec3::from(min), max: Vec3::from(max) };
        let domain = Domain::closed(UniformGrid { min: Vec3::splat(-5.0), cells: [100; 3], dx });
        let mut setup = Setup::new(domain);
        let fill = |shape| Fill { shape, velocity: Vec3::ZERO };
        setup.fills = vec![
            fill(boxed([-9.0, -9.0, -9.0], [0.33, 0.0, 9.0])),
            fill(boxed([0.33, -9.0, -9.0], [9.0, -0.2, 9.0])),
            fill(boxed([0.33, -0.2, -9.0], [9.0, 0.0, 9.0])),
        ];
        let solids = setup.solids_at(0.0);
        for x in [0.1, 0.3, 0.329, 0.331, 0.35, 0.5, 2.0] {
            for y in [-0.45, -0.25, -0.21, -0.19, -0.12, -0.05, 0.02, 0.2] {
                let phi = setup.fill_distance_beside(&solids, Vec3::new(x, y, 0.5), dx, None);
                assert!((phi - y).abs() < 1e-4, "at {x} {y}: {phi}");
            }
        }
        let deep = setup.fill_distance_beside(&solids, Vec3::new(0.34, -2.0, 0.5), dx, None);
        assert!(deep < -0.5, "{deep}");
    }

    /// Water in a box of four thick walls, filled to half of its height with a shape that ends at the walls: cells
    /// whose centres the walls cover are wet below the level and dry above, and the level stays where it is.
    #[test]
    fn liquid_that_fills_a_box_touches_its_walls() {
        let (inner, dx) = (Shape::Box { min: Vec3::splat(0.2), max: Vec3::splat(0.8) }, 0.1);
        let outer = Shape::Box { min: Vec3::ZERO, max: Vec3::ONE };
        let wall = Shape::Difference(Box::new(outer), Box::new(inner));
        let pool = Shape::Box { min: Vec3::splat(0.2), max: Vec3::new(0.8, 0.5, 0.8) };
        let setup = Setup {
            domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [10; 3], dx }),
            liquid: Liquid::default(),
            fills: vec![Fill { shape: pool, velocity: Vec3::ZERO }],
            solids: vec![Solid::new("box", wall, Motion::Static)],
            sources: vec![],
            sinks: vec![],
            refine: vec![],
            flow: None,
            cfl: 1.0,
        };
        let solids = setup.solids_at(0.0);
        let phi = |x: f32, y: f32| setup.fill_distance_beside(&solids, Vec3::new(x, y, 0.5), dx, None);
        for (x, y) in
            [0.17, 0.19, 0.21, 0.24, 0.5].into_iter().flat_map(|x| [0.35, 0.42, 0.52, 0.58].map(|y| (x, y)))
        {
            assert!((phi(x, y) - (y - 0.5)).abs() < 1e-4, "at {x} {y}: {}", phi(x, y));
        }
        assert!(phi(0.21, 0.21) < -0.2, "deep at the edge of the floor: {}", phi(0.21, 0.21));
    }
}
