//! The mouth of a source: a shape that liquid leaves at a given velocity, and exactly how much.
//!
//! Liquid of velocity v fills the shape and leaves it where its surface faces v, so the flow is
//! `Q = integral max(v . n, 0) dA = |v| S`, S the section that a beam of parallel lines along v has when it
//! leaves the shape ([`Nozzle::section_m2`]).
//!
//! On a grid the shape closes the part of each face that it covers. The flux of a constant v through the
//! covered parts of a cell's faces is, by the divergence theorem, what leaves the shape through the piece of
//! its surface in the cell; so a source is exact on any grid, however its cells lie, and a jet that flows on
//! at v is a solution of the cell's continuity equation. Where the surface faces back nothing may be sucked
//! in: the cover reaches a little farther back than the shape, and only cells with a positive flux count.
//!
//! Sources that overlap are one closed region. What leaves one of them into another joins the other's flow
//! and does not enter the liquid there, so the flow is that of the surface of their union
//! ([`Nozzle::beside`]).

use crate::beam::{Beam, Column, columns};
use crate::{Motion, PlacedSolids, Pose, Shape, Twist, open_face_area};
use fluvial_foundation::{Aabb, Axis, Vec3, parallel};
use std::sync::{Arc, OnceLock};

/// Lines along each side of the section that is measured.
const LINES_ACROSS: usize = 256;
/// The same where only the shape's thickness is asked for.
const FEW_LINES_ACROSS: usize = 24;
/// The cover reaches this many cells back behind the shape.
const COVER_BACK_CELLS: f32 = 1.5;
/// Squares along each side of a face whose cover is measured, each linear in itself.
const SQUARES: usize = 8;
/// Points along each side of a cell that show how much of a shape's surface in it lies in other sources.
const POINTS: usize = 8;
/// Points this near to the surface lie on it, cells.
const ON_SURFACE_CELLS: f32 = 0.01;
/// Where surfaces of two sources are nearer than this part of the shape's depth, they are the same.
const SAME_SURFACE: f32 = 0.02;

/// What is measured of a source while nothing is in its way, kept in its own frame: it then is the same wherever the source goes and
/// whatever moves elsewhere. Held by the source, shared by its nozzles.
#[derive(Clone, Debug, Default)]
pub struct Measured(Arc<Measures>);

#[derive(Debug, Default)]
struct Measures {
    /// The shape and the velocity that were measured.
    of: OnceLock<(u64, Vec3)>,
    depth_m: OnceLock<f32>,
    section_m2: OnceLock<f64>,
    columns: OnceLock<((f32, f32), Vec<Column>)>,
}

/// A source's shape at one moment, in the world.
#[derive(Clone, Debug)]
pub struct Nozzle {
    shape: Shape,
    /// Where that is, if it moves, and the outflow in its own frame.
    moved: Option<(Pose, Vec3)>,
    measured: Measured,
    /// Velocity of the liquid relative to the shape, m/s, in the axes of the world.
    outflow: Vec3,
    twist: Twist,
    /// Only what lies in this box matters.
    within: Aabb,
    /// Greatest distance from the surface inside, metres: half of the thickness of a thin shape.
    depth_m: f32,
    /// Sources that it overlaps, and whether each comes before it.
    others: Vec<(Nozzle, bool)>,
}

impl Nozzle {
    /// A shape that moves inside a box, and the velocity at which liquid leaves it in its own frame.
    pub fn new(shape: &Shape, velocity_in_body: Vec3, motion: &Motion, time_s: f64, within: Aabb) -> Self {
        Nozzle::measured(shape, velocity_in_body, motion, time_s, within, &Measured::default())
    }

    /// The same with what is known of it from other moments.
    pub fn measured(
        shape: &Shape,
        velocity_in_body: Vec3,
        motion: &Motion,
        time_s: f64,
        within: Aabb,
        measured: &Measured,
    ) -> Self {
        let Pose { rotation, translate } = motion.pose(time_s);
        let placed = Shape::Transform { shape: Box::new(shape.clone()), scale: 1.0, rotation, translate };
        let is_static = motion.is_static();
        let own = (shape.fingerprint(), velocity_in_body);
        let is_known = *measured.0.of.get_or_init(|| own) == own;
        let mut nozzle = Nozzle {
            shape: if is_static { shape.clone() } else { placed },
            moved: (!is_static).then_some((Pose { rotation, translate }, velocity_in_body)),
            measured: if is_known { measured.clone() } else { Measured::default() },
            outflow: rotation * velocity_in_body,
            twist: motion.twist(time_s),
            within,
            depth_m: 0.0,
            others: vec![],
        };
        nozzle.depth_m = match nozzle.is_whole() {
            true => *nozzle.measured.0.depth_m.get_or_init(|| nozzle.own_depth_m()),
            false => depth_m(&nozzle.shape, nozzle.outflow, within),
        };
        nozzle
    }

    /// Does all of it lie inside the box?
    fn is_whole(&self) -> bool {
        let Aabb { min, max } = self.bounds();
        self.within.contains(min) && self.within.contains(max)
    }

    /// Is it whole, and neither a solid nor another source near?
    fn is_free(&self, solids: &PlacedSolids) -> bool {
        let (center, radius) = (self.bounds().center(), 0.5 * self.bounds().size().length());
        self.is_whole() && self.others.is_empty() && solids.distance(center, 2.0 * radius) > radius
    }

    /// Shape, outflow and box in its own frame, where it is whole.
    fn own(&self) -> (&Shape, Vec3, Aabb) {
        let everywhere = Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY };
        match (&self.moved, &self.shape) {
            (Some((_, outflow)), Shape::Transform { shape, .. }) => (shape, *outflow, everywhere),
            _ => (&self.shape, self.outflow, self.within),
        }
    }

    fn own_depth_m(&self) -> f32 {
        let (shape, outflow, within) = self.own();
        depth_m(shape, outflow, within)
    }

    /// The same among other sources that flow: nothing leaves it into one of them. Each comes with whether it
    /// stands before this one: where two share a piece of their surfaces, it belongs to the first.
    ///
    /// Test: `overlapping_sources_flow_as_their_union`.
    pub fn beside(mut self, others: impl IntoIterator<Item = (Nozzle, bool)>) -> Self {
        let own = self.bounds();
        self.others = others.into_iter().filter(|(other, _)| own.intersects(&other.bounds())).collect();
        self
    }

    /// Does liquid that leaves the shape at x join another source there?
    fn joins_another(&self, x: Vec3) -> bool {
        let same_m = SAME_SURFACE * self.depth_m;
        self.others
            .iter()
            .any(|(other, is_before)| other.distance(x) < if *is_before { same_m } else { -same_m })
    }

    /// The part of the shape's surface in a cell that lies in no other source, 0 to 1.
    pub fn own_share(&self, center: Vec3, size_m: f32) -> f32 {
        if self.others.iter().all(|(other, _)| other.distance(center) > size_m) {
            return 1.0;
        }
        let (mut own, mut all) = (0, 0);
        for n in 0..POINTS * POINTS * POINTS {
            let at = [n % POINTS, n / POINTS % POINTS, n / (POINTS * POINTS)];
            let x = center + size_m * (Vec3::from_array(at.map(|n| (n as f32 + 0.5) / POINTS as f32)) - 0.5);
            let is_at_surface = self.distance(x).abs() < size_m / POINTS as f32;
            all += is_at_surface as usize;
            own += (is_at_surface && !self.joins_another(x)) as usize;
        }
        if all > 0 { own as f32 / all as f32 } else { !self.joins_another(center) as u8 as f32 }
    }

    /// Distance to the shape, negative inside.
    pub fn distance(&self, x: Vec3) -> f32 {
        self.shape.distance(x)
    }

    /// A box around the shape.
    pub fn bounds(&self) -> Aabb {
        self.shape.bounds()
    }

    /// Velocity of the liquid in the shape, m/s.
    pub fn velocity(&self, x: Vec3) -> Vec3 {
        self.outflow + self.twist.at(x)
    }

    /// Velocity of the liquid at a point in the shape or on its surface, m/s, none elsewhere. A mouth that lies in the plane of faces
    /// covers them, and what flows there is the source's liquid: taken for still, it would stop the jet that passes them.
    ///
    /// Test: `a_mouth_in_a_plane_of_faces_has_its_velocity`.
    pub fn velocity_in(&self, x: Vec3, size_m: f32) -> Option<Vec3> {
        (self.distance(x) < ON_SURFACE_CELLS * size_m).then(|| self.velocity(x))
    }

    /// Velocity of the liquid relative to the shape, m/s.
    pub fn outflow(&self) -> Vec3 {
        self.outflow
    }

    /// Distance to the liquid in the shape `since_s` seconds after it has begun to flow in from behind.
    ///
    /// Test: `a_nozzle_fills_from_behind_at_its_own_flow`.
    pub fn filled_distance(&self, x: Vec3, since_s: f64) -> f32 {
        let reach_m = self.outflow.length() as f64 * since_s;
        let here = self.distance(x);
        if reach_m > self.bounds().size().min(self.within.size()).length() as f64 {
            return here;
        }
        // A shape that begins outside the box fills from the box's wall on.
        let before = x - since_s as f32 * self.outflow;
        let outside = (self.within.min - before).max(before - self.within.max).max_element();
        here.max(-self.distance(before).max(outside))
    }

    /// Section of the flow where it leaves the shape and joins neither another source nor a solid, m2; measured once for as long as both
    /// are away from it. `band` as in [`PlacedSolids::distance`].
    ///
    /// Test: `a_free_source_is_measured_once`.
    pub fn section_among(&self, solids: &PlacedSolids, band: f32) -> f64 {
        if !self.is_free(solids) {
            return self.section_m2(|x| solids.distance(x, band) < 0.0);
        }
        let (shape, outflow, within) = self.own();
        *self.measured.0.section_m2.get_or_init(|| section_m2(shape, outflow, within, |_| true))
    }

    /// Section of the flow where it leaves the shape, joins no other source and nothing `is_blocked`, m2.
    ///
    /// Test: `sections_of_simple_shapes_are_exact`.
    pub fn section_m2(&self, is_blocked: impl Fn(Vec3) -> bool + Sync + Send) -> f64 {
        let flows = |exit: Vec3| !(is_blocked(exit) || self.joins_another(exit));
        section_m2(&self.shape, self.outflow, self.within, flows)
    }

    /// [`Self::columns`] among solids, measured as [`Self::section_among`] is.
    pub fn columns_among(&self, sizes: (f32, f32), solids: &PlacedSolids, band: f32) -> Vec<Column> {
        let anew = || self.columns(sizes.0, sizes.1, |x| solids.distance(x, band) < 0.0);
        if !self.is_free(solids) {
            return anew();
        }
        let (shape, outflow, within) = self.own();
        let measure = || (sizes, columns(shape, outflow, within, sizes, |_| false));
        let (measured_for, own) = self.measured.0.columns.get_or_init(measure);
        let placed = |column: &Column| match &self.moved {
            Some((pose, _)) => Column { entry: pose.world_from_body(column.entry), ..*column },
            None => *column,
        };
        if *measured_for == sizes { own.iter().map(placed).collect() } else { anew() }
    }

    /// The flow as columns along it, at most `width_m` wide on both sides: where each enters the shape, and
    /// its section where it leaves. Their sections add up to [`Self::section_m2`] as nearly as lines a
    /// sixteenth of a column apart show it. Rims of less than `least_share` of a full column are left out.
    ///
    /// Test: `columns_have_the_section_of_the_flow_and_begin_where_it_enters`.
    pub fn columns(
        &self,
        width_m: f32,
        least_share: f32,
        is_blocked: impl Fn(Vec3) -> bool + Sync + Send,
    ) -> Vec<Column> {
        let is_blocked = |exit: Vec3| is_blocked(exit) || self.joins_another(exit);
        columns(&self.shape, self.outflow, self.within, (width_m, least_share), is_blocked)
    }

    /// The part of a square face that the shape covers, 0 to 1, counted a little way back: the flow through
    /// the covered parts of a cell's faces is what leaves the shape in the cell.
    ///
    /// Test: `what_leaves_through_faces_is_section_times_speed`.
    pub fn covered_part(&self, center: Vec3, axis: Axis, size_m: f32) -> f32 {
        covered_part(|x| self.cover_distance(x, size_m), center, axis, size_m)
    }

    /// What the shape covers of the part of a face that sources before it leave open, 0 to 1.
    pub fn newly_covered_part(&self, center: Vec3, axis: Axis, size_m: f32) -> f32 {
        let before = || self.others.iter().filter(|(_, is_before)| *is_before).map(|(other, _)| other);
        let before_distance =
            |x: Vec3| before().map(|other| other.cover_distance(x, size_m)).fold(f32::INFINITY, f32::min);
        if before().all(|other| !other.cover_bounds(size_m).contains(center)) {
            return self.covered_part(center, axis, size_m);
        }
        let already = covered_part(before_distance, center, axis, size_m);
        let distance = |x: Vec3| self.cover_distance(x, size_m).min(before_distance(x));
        let together = covered_part(distance, center, axis, size_m);
        if already < 1.0 { ((together - already) / (1.0 - already)).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// A box that holds all that the shape covers on a grid with cells of this size.
    pub fn cover_bounds(&self, size_m: f32) -> Aabb {
        self.bounds().expand((COVER_BACK_CELLS + 1.0) * size_m)
    }

    /// Distance to the shape drawn out backwards, no larger than the shape is deep: between a point inside a
    /// thin shape and one outside, the surface is then taken for halfway.
    pub fn cover_distance(&self, x: Vec3, size_m: f32) -> f32 {
        let (direction, depth_m) = (self.outflow.normalize_or_zero(), self.depth_m.max(1e-3 * size_m));
        let (mut at, mut nearest) = (0.0, f32::INFINITY);
        while at <= COVER_BACK_CELLS * size_m {
            let distance = self.distance(x + at * direction);
            nearest = nearest.min(distance);
            at += (0.5 * distance.abs()).max(depth_m.min(0.25 * size_m));
        }
        if self.depth_m < size_m { nearest.min(depth_m) } else { nearest }
    }
}

/// Half of the thickness of a shape along a flow through it, metres.
fn depth_m(shape: &Shape, flow: Vec3, within: Aabb) -> f32 {
    let Some(beam) = Beam::new(shape, flow, within, FEW_LINES_ACROSS) else { return 0.0 };
    let deepest = |line: usize| beam.walk(shape, beam.line(line), |_, _| ()) as f64;
    parallel::ordered_max(beam.lines(), deepest) as f32
}

/// Section of a flow where it leaves a shape and `flows` on, m2.
fn section_m2(shape: &Shape, flow: Vec3, within: Aabb, flows: impl Fn(Vec3) -> bool + Sync + Send) -> f64 {
    let Some(beam) = Beam::new(shape, flow, within, LINES_ACROSS) else { return 0.0 };
    let exits = |line: usize| {
        let mut count = 0;
        beam.walk(shape, beam.line(line), |_, exit| count += usize::from(flows(exit)));
        count as f64
    };
    parallel::ordered_sum_of(beam.lines(), exits) * beam.section_m2()
}

/// The part of a square face where a distance is negative, 0 to 1.
fn covered_part(distance: impl Fn(Vec3) -> f32, center: Vec3, axis: Axis, size_m: f32) -> f32 {
    let half_diagonal = size_m * std::f32::consts::FRAC_1_SQRT_2;
    let middle = distance(center);
    if middle.abs() > half_diagonal {
        return if middle < 0.0 { 1.0 } else { 0.0 };
    }
    let step = size_m / SQUARES as f32;
    let mut low = [0.0; SQUARES + 1];
    let mut open = 0.0;
    for row in 0..=SQUARES {
        let high: [f32; SQUARES + 1] = std::array::from_fn(|column| {
            let mut x = center;
            x[(axis + 1) % 3] += (column as f32 - 0.5 * SQUARES as f32) * step;
            x[(axis + 2) % 3] += (row as f32 - 0.5 * SQUARES as f32) * step;
            distance(x)
        });
        if row > 0 {
            open +=
                (0..SQUARES).map(|n| open_face_area([low[n], low[n + 1], high[n], high[n + 1]])).sum::<f32>();
        }
        low = high;
    }
    1.0 - open / (SQUARES * SQUARES) as f32
}
