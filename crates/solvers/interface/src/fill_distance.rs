//! Distance to the liquid that a scene begins with.

use crate::Setup;
use fluvial_foundation::Vec3;
use fluvial_solids::PlacedSolids;

/// Fills that end nearer to a solid than this touch it, cells: a little less than a tenth, so that rounding does not decide on films that
/// are as thick.
pub(crate) const CONTACT_CELLS: f32 = 0.099;
/// The slope of a distance is shorter than this where two parts of a boundary are as near.
const STRAIGHT: f32 = 0.99;
/// Cosine of the largest angle between two boundaries that lie on each other: beyond it they cross.
const FACING: f32 = 0.97;
/// Boundaries that lean towards each other by less (sine of the angle) lie on each other.
const LEAST_LEAN: f32 = 0.05;
/// Boundaries that are nearer than twice a contact so far along them lie on each other, cells.
const PARTING_CELLS: f32 = 3.0;
/// A surface is looked for this far from a contact, cells.
const FARTHEST_CONTACT_CELLS: f32 = 6.0;
/// Half of the edge of the cube in which air beside a surface is looked for, and of the least cubes that it is cut into, cells.
const SEARCH_CELLS: [f32; 2] = [8.0, 0.5];
/// A line of sight may cut corners of solids by so many cells at most: walls that have no sides of their own are thicker than
/// twice this.
const CUT_CORNER_CELLS: f32 = 0.5;

impl Setup {
    /// Distance to the liquid at the start, negative inside, metres.
    pub fn fill_distance(&self, x: Vec3) -> f32 {
        self.fills.iter().map(|f| f.shape.distance(x)).fold(f32::MAX, f32::min)
    }

    /// The same, but to the part of the fills' boundary that is a surface: where a fill ends at a solid or at a closed wall
    /// of the domain, its liquid touches it, and where one fill ends in another there is no surface either. Asked on cells of
    /// edge `dx`. Where the boundary nearest to a point is no surface, the distance is that to the plane of the surface
    /// nearest on the way out of the solid, or else nearest of all that is seen from there: a plane surface is a
    /// plane to the wall and into it, whatever the angle, and round the edge of a lid, so that still water begins at rest. Of a
    /// wall so thin that the way out may lead to either side, `side` is a place on the side in question.
    /// Tests: `liquid_that_fills_a_box_touches_its_walls`, `fills_side_by_side_are_one`.
    pub fn fill_distance_beside(&self, solids: &PlacedSolids, x: Vec3, dx: f32, side: Option<Vec3>) -> f32 {
        let (phi, start) = (self.fill_distance(x), Start { setup: self, solids, dx });
        if phi.abs() > FARTHEST_CONTACT_CELLS * dx || start.is_at_open_surface(x, phi) {
            return phi;
        }
        if let Some(surface) = start.surface_below(x).or_else(|| start.surface_at_kink(x)) {
            return surface.distance(x);
        }
        let way = start.leave_solid(x, side);
        if let Some(surface) = way.surface {
            return surface.distance(x);
        }
        // In the open, air has its distance also from a solid that liquid touches on the other side.
        let is_dry = phi > 0.0 && start.boundary(x) > 0.0;
        if is_dry || start.ends_inside_solid(x, phi) {
            return phi;
        }
        let seen = way.open.filter(|_| side.is_none()).and_then(|from| start.surface_seen(from));
        let seen = seen.map(|surface| surface.distance(x));
        match way.is_wet {
            true => seen.unwrap_or(-FARTHEST_CONTACT_CELLS * dx),
            // On its dry side a wall is no liquid, whatever is seen over its rim.
            false => seen.filter(|distance| *distance > 0.0).unwrap_or(phi),
        }
    }
}

/// Fills among solids, on cells of edge `dx`.
struct Start<'a> {
    setup: &'a Setup,
    solids: &'a PlacedSolids<'a>,
    dx: f32,
}

/// A plane of the liquid's surface, as a place sees it.
#[derive(Clone, Copy)]
struct Surface {
    at: Vec3,
    /// Distance there: exact, also where a kink is near, which bends the slope.
    phi: f32,
    /// Slope, out of the liquid.
    out: Vec3,
}

impl Surface {
    fn distance(&self, x: Vec3) -> f32 {
        self.phi - self.out.dot(self.at - x)
    }

    /// The surface below the place.
    fn point(&self) -> Vec3 {
        self.at - self.phi * self.out
    }
}

/// The way out of a solid.
#[derive(Default)]
struct Way {
    /// The first surface below a place on it.
    surface: Option<Surface>,
    /// The first place in the open.
    open: Option<Vec3>,
    /// Does it pass liquid in the open?
    is_wet: bool,
}

/// The search for the nearest surface that is seen from a place.
struct Search {
    from: Vec3,
    nearest: Option<Surface>,
    distance: f32,
}

impl Search {
    fn offer(&mut self, surface: Option<Surface>, is_seen: impl Fn(&Surface) -> bool) {
        let Some(surface) = surface else { return };
        let distance = surface.point().distance(self.from);
        if distance < self.distance && is_seen(&surface) {
            (self.nearest, self.distance) = (Some(surface), distance);
        }
    }
}

/// Slope of a distance, by differences.
fn slope(distance: impl Fn(Vec3) -> f32, x: Vec3, h: f32) -> Vec3 {
    let along = |axis: Vec3| distance(x + h * axis) - distance(x - h * axis);
    Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)) / (2.0 * h)
}

impl Start<'_> {
    fn fill(&self, x: Vec3) -> f32 {
        self.setup.fill_distance(x)
    }

    /// Distance to solids and closed walls, negative inside.
    fn boundary(&self, x: Vec3) -> f32 {
        self.solids.distance(x, 2.0 * FARTHEST_CONTACT_CELLS * self.dx).min(self.setup.wall_distance(x))
    }

    fn out_of_fill(&self, x: Vec3) -> Vec3 {
        slope(|x| self.fill(x), x, 0.05 * self.dx)
    }

    /// Does the liquid go on in another fill where a place in one is nearest to its end?
    fn goes_on(&self, x: Vec3, phi: f32, out: Vec3) -> bool {
        phi < 0.0 && self.setup.fills.len() > 1 && self.fill(x + (CONTACT_CELLS * self.dx - phi) * out) < 0.0
    }

    /// Is the surface nearer than every solid?
    fn is_at_open_surface(&self, x: Vec3, phi: f32) -> bool {
        let is_between_fills = || phi < 0.0 && self.goes_on(x, phi, self.out_of_fill(x));
        self.boundary(x) > phi.abs() + CONTACT_CELLS * self.dx && !is_between_fills()
    }

    /// The surface that is the part of the fills' boundary nearest to a place; none where that lies at a solid or in another fill.
    fn surface_below(&self, at: Vec3) -> Option<Surface> {
        let surface = Surface { at, phi: self.fill(at), out: self.out_of_fill(at) };
        let is_surface = surface.out.length() > STRAIGHT
            && !self.touches_solid(surface.point(), surface.out)
            && !self.goes_on(at, surface.phi, surface.out);
        is_surface.then_some(surface)
    }

    /// Does the fills' boundary end at a solid here? One that comes to the solid at an angle is a surface as far as the line where they
    /// meet.
    fn touches_solid(&self, end: Vec3, out: Vec3) -> bool {
        let (open, contact) = (self.boundary(end), CONTACT_CELLS * self.dx);
        let h = 0.05 * self.dx;
        let is_parallel = |s: f32| {
            let at = end + s * out;
            (self.boundary(at + h * out) - self.boundary(at - h * out)).abs() > 2.0 * h * FACING
        };
        let is_edge = || self.fill(end - contact * out) > -contact * FACING;
        let lies_on =
            || [0.0, contact, -contact].into_iter().any(is_parallel) && !self.parts_from_solid(end, out);
        // The domain's walls, and sheets that a contact reaches through, are where fills end that come near to them.
        let is_sheet = || [-contact, contact].into_iter().all(|s| self.boundary(end + s * out) > 0.0);
        let is_wall = || self.setup.wall_distance(end) <= contact || is_sheet();
        open <= -contact || open <= contact && (is_wall() || is_edge() || lies_on())
    }

    /// Does the fills' boundary leave the solid's on both sides of a place where they all but have a direction in common? A level above a plate that
    /// hardly leans crosses it.
    fn parts_from_solid(&self, end: Vec3, out: Vec3) -> bool {
        let wall = self.way_out(end);
        let lean = wall - wall.dot(out) * out;
        if lean.length() < LEAST_LEAN {
            return false;
        }
        let along = lean.normalize();
        [-PARTING_CELLS, PARTING_CELLS].into_iter().all(|cells| {
            let beside = end + cells * self.dx * along;
            let on_boundary = beside - self.fill(beside) * out;
            self.boundary(on_boundary).abs() > 2.0 * CONTACT_CELLS * self.dx
        })
    }

    /// Where two parts of the fills' boundary are as near, one of them may be a surface: that of a place close by. Between two drops
    /// there is no other.
    fn surface_at_kink(&self, x: Vec3) -> Option<Surface> {
        let is_kink = self.out_of_fill(x).length() <= STRAIGHT;
        let close = [Vec3::X, Vec3::Y, Vec3::Z].into_iter().flat_map(|axis| [-axis, axis]);
        close.filter(|_| is_kink).find_map(|axis| self.surface_below(x + CONTACT_CELLS * self.dx * axis))
    }

    /// A fill goes on into a solid, and its surface inside it counts as far as it is, from both sides, unless it ends at a wall of the
    /// domain there.
    fn ends_inside_solid(&self, x: Vec3, phi: f32) -> bool {
        let (end, contact) = (x - phi * self.out_of_fill(x), CONTACT_CELLS * self.dx);
        self.boundary(end) <= -contact && self.setup.wall_distance(end) > contact
    }

    /// Away from solids.
    fn way_out(&self, x: Vec3) -> Vec3 {
        let out = slope(|x| self.boundary(x), x, 0.05 * self.dx);
        if out.length() > 0.5 {
            return out.normalize();
        }
        // Where solids overlap their distance has no slope: the way out is to the corner that is least inside.
        let openness = |corner: &Vec3| self.boundary(x + self.dx * *corner);
        let best = corners().max_by(|a, b| openness(a).total_cmp(&openness(b)));
        best.map_or(Vec3::ZERO, Vec3::normalize)
    }

    /// Goes away from solids, beginning on a side where there are two, as far as the first surface below.
    fn leave_solid(&self, x: Vec3, side: Option<Vec3>) -> Way {
        let is_open = self.boundary(x) > 0.0;
        let mut way =
            Way { surface: None, open: is_open.then_some(x), is_wet: is_open && self.fill(x) < 0.0 };
        let mut at = x;
        for step in 0..(2.0 * FARTHEST_CONTACT_CELLS) as usize {
            at = side.filter(|_| step == 0).unwrap_or_else(|| at + 0.5 * self.dx * self.way_out(at));
            if self.boundary(at) <= 0.0 {
                continue;
            }
            way.surface = self.surface_below(at);
            if way.surface.is_some() {
                break;
            }
            way.open = way.open.or(Some(at));
            way.is_wet |= self.fill(at) < 0.0;
        }
        way
    }

    /// The surface nearest to a place of those that are seen from there.
    fn surface_seen(&self, from: Vec3) -> Option<Surface> {
        let mut search = Search { from, nearest: None, distance: FARTHEST_CONTACT_CELLS * self.dx };
        self.search_cube(&mut search, from, SEARCH_CELLS[0] * self.dx);
        search.nearest
    }

    /// Looks for surfaces from the air in a cube: distances to a union of fills are exact in the air alone.
    fn search_cube(&self, search: &mut Search, center: Vec3, half: f32) {
        let (reach, phi) = (3f32.sqrt() * half, self.fill(center));
        let nearest = (center - search.from).abs() - Vec3::splat(half);
        // Both distances change by no more than the way.
        if phi < -reach || nearest.max(Vec3::ZERO).length() > search.distance {
            return;
        }
        let open = self.boundary(center);
        if open < -reach {
            return;
        }
        if phi > 0.0 && open > 0.0 {
            let from = search.from;
            search.offer(self.surface_below(center), |surface| self.sees(from, surface));
        }
        if phi > reach || half <= SEARCH_CELLS[1] * self.dx {
            return;
        }
        for corner in corners() {
            self.search_cube(search, center + half * corner, 0.5 * half);
        }
    }

    /// Is there no solid between a place and a surface?
    fn sees(&self, from: Vec3, surface: &Surface) -> bool {
        let to = surface.point() + CONTACT_CELLS * self.dx * surface.out;
        let steps = ((to - from).length() / (0.5 * self.dx)).ceil() as usize;
        let place = |step: usize| from.lerp(to, step as f32 / steps as f32);
        (1..steps).all(|step| self.boundary(place(step)) > -CUT_CORNER_CELLS * self.dx)
    }
}

/// The corners of a cube of edge 1 around the origin.
fn corners() -> impl Iterator<Item = Vec3> {
    (0..8).map(|n: usize| Vec3::from_array(std::array::from_fn(|a| (n >> a & 1) as f32 - 0.5)))
}

#[cfg(test)]
mod tests {
    use crate::{Domain, Fill, Liquid, Setup, Solid};
    use fluvial_foundation::{Quat, Vec3};
    use fluvial_grids::UniformGrid;
    use fluvial_solids::{Motion, Shape};

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

    /// Water ends on the lower side of a lid and stands a little higher beside it: below the lid, near to its edge, distances are those
    /// from the level.
    #[test]
    fn a_level_is_seen_round_the_edge_of_a_lid() {
        let dx = 0.1;
        let boxed = |min: [f32; 3], max: [f32; 3]| Shape::Box { min: Vec3::from(min), max: Vec3::from(max) };
        let mut setup =
            Setup::new(Domain::closed(UniformGrid { min: Vec3::splat(-5.0), cells: [100; 3], dx }));
        let fill = |shape| Fill { shape, velocity: Vec3::ZERO };
        setup.fills = vec![
            fill(boxed([-9.0, -9.0, -9.0], [0.33, 0.2, 9.0])),
            fill(boxed([0.1, -9.0, -9.0], [9.0, 0.0, 9.0])),
        ];
        let lid = boxed([0.33, 0.0, -9.0], [9.0, 0.4, 9.0]);
        setup.solids = vec![Solid::new("lid", lid, Motion::Static)];
        let solids = setup.solids_at(0.0);
        for (x, y) in [
            (0.3, 0.14),
            (0.3, 0.05),
            (0.3, -0.05),
            (0.34, -0.05),
            (0.39, -0.05),
            (0.34, -0.15),
            (0.45, -0.05),
        ] {
            let phi = setup.fill_distance_beside(&solids, Vec3::new(x, y, 0.5), dx, None);
            assert!((phi - (y - 0.2)).abs() < 1e-4, "at {x} {y}: {phi}");
        }
    }

    /// Water of one level that ends at a lid's side and on its lower side, in fills that have a side in common at the lid's edge: around the
    /// edge, in liquid and lid, distances are those from the level. Below the edge they were up to 3.5 cells too deep.
    #[test]
    fn a_level_is_seen_round_the_edge_of_a_lid_that_fills_end_at() {
        let dx = 1.0 / 32.0;
        let boxed = |min: [f32; 3], max: [f32; 3]| Shape::Box { min: Vec3::from(min), max: Vec3::from(max) };
        let mut setup = Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [32; 3], dx }));
        let fill = |shape| Fill { shape, velocity: Vec3::ZERO };
        setup.fills = vec![
            fill(boxed([-1.0, -1.0, -1.0], [0.6, 0.47, 2.0])),
            fill(boxed([0.6, -1.0, -1.0], [2.0, 0.4, 2.0])),
        ];
        let lid = boxed([0.6, 0.4, -1.0], [2.0, 0.52, 2.0]);
        setup.solids = vec![Solid::new("lid", lid, Motion::Static)];
        let solids = setup.solids_at(0.0);
        for (i, j) in (14..21).flat_map(|i| (11..17).map(move |j| (i, j))) {
            let x = dx * (Vec3::new(i as f32, j as f32, 16.0) + 0.5);
            let phi = setup.fill_distance_beside(&solids, x, dx, None);
            assert!((phi - (x.y - 0.47)).abs() < 1e-5, "at {x}: {phi}");
        }
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

    /// A level in a tilted box of thin walls that the fill ends at: where the level and a wall are as near, distances are those from the
    /// level; outside, beside the rim, there is air.
    #[test]
    fn a_level_in_a_tilted_box_is_exact_beside_its_walls() {
        let (cells, half, center) = (24usize, 0.2437f32, Vec3::new(0.507, 0.471, 0.507));
        let dx = 1.0 / cells as f32;
        let wall = 4.0 * dx;
        let turned = |shape: Shape| Shape::Transform {
            shape: Box::new(shape),
            scale: 1.0,
            rotation: Quat::from_rotation_z(30f32.to_radians()),
            translate: center,
        };
        let outer =
            Shape::Box { min: Vec3::splat(-half - wall), max: Vec3::new(half + wall, 0.25, half + wall) };
        let inner = Shape::Box { min: Vec3::splat(-half), max: Vec3::new(half, 2.0, half) };
        let below = Shape::Plane { point: center - 0.06 * Vec3::Y, normal: Vec3::Y };
        let mut setup = Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [cells; 3], dx }));
        let shape = Shape::Intersection(vec![turned(inner.clone()), below]);
        setup.fills = vec![Fill { shape, velocity: Vec3::ZERO }];
        let bowl = turned(Shape::Difference(Box::new(outer), Box::new(inner.clone())));
        setup.solids = vec![Solid::new("bowl", bowl, Motion::Static)];
        let (solids, cavity) = (setup.solids_at(0.0), turned(inner));
        for n in 0..cells.pow(3) {
            let at = [n % cells, n / cells % cells, n / cells / cells].map(|c| c as f32 + 0.5);
            let x = dx * Vec3::from_array(at);
            let (outside, level) = (cavity.distance(x), x.y - (center.y - 0.06));
            let phi = setup.fill_distance_beside(&solids, x, dx, None);
            if outside < 0.7 * dx && level.abs() < 3.0 * dx {
                assert!((phi - level).abs() < 1e-4 * dx, "at {x}: {phi} for {level}");
            }
            assert!(outside < wall + dx || phi > 0.0, "liquid outside at {x}: {phi}");
        }
    }

    /// Two drops: halfway between them, and nearer to a wall than to both, there is air.
    #[test]
    fn between_two_drops_is_air() {
        let dx = 1.0f32 / 16.0;
        let mut setup = Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [16; 3], dx }));
        let drop = |i: f32| {
            let center = dx * (Vec3::new(i, 8.0, 8.0) + Vec3::new(0.5, 0.79, 0.5));
            Fill { shape: Shape::Sphere { center, radius: 0.3 * dx }, velocity: Vec3::ZERO }
        };
        setup.fills = vec![drop(6.0), drop(8.0)];
        let solids = setup.solids_at(0.0);
        for n in 0..16usize.pow(3) {
            let at = [n % 16, n / 16 % 16, n / 256].map(|c| c as f32 + 0.5);
            let x = dx * Vec3::from_array(at);
            let (raw, phi) = (setup.fill_distance(x), setup.fill_distance_beside(&solids, x, dx, None));
            assert!((raw > 0.0) == (phi > 0.0), "at {at:?} {phi} for {raw}");
        }
    }
}
