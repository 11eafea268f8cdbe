//! Distance to the liquid that a scene begins with.

use crate::Setup;
use fluvial_foundation::Vec3;
use fluvial_solids::PlacedSolids;

/// Fills that end nearer to a solid than this touch it, cells.
const CONTACT_CELLS: f32 = 0.1;
/// A surface is looked for this far from a contact, cells.
const FARTHEST_CONTACT_CELLS: f32 = 6.0;
/// And so far round corners of solids.
const FARTHEST_CORNER_CELLS: usize = 4;
/// By so many cells at most: walls that have no sides of their own are thicker than twice this.
const CUT_CORNER_CELLS: f32 = 0.5;
impl Setup {
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
        // In the air behind a solid, or deep in liquid. A surface inside a solid counts as far as it is.
        let is_contact = boundary(x - phi * out_of_fill(x)) > -CONTACT_CELLS * dx;
        if !is_wet || !(is_contact || phi > 0.0) {
            return phi;
        }
        // The surface may be round a corner of the solid, which the way there may cut.
        let is_open = |at: Vec3| boundary(at) > -CUT_CORNER_CELLS * dx;
        let mut round_corner = (0..FARTHEST_CORNER_CELLS * 26).filter(|_| side.is_none() && is_open(x));
        let found = round_corner.find_map(|n| {
            let (cells, place) = (1 + n / 26, if n % 26 < 13 { n % 26 } else { n % 26 + 1 });
            let to = Vec3::from_array([place % 3, place / 3 % 3, place / 9].map(|d| d as f32 - 1.0)) * dx;
            let at = x + cells as f32 * to;
            let is_near = self.fill_distance(at).abs() < dx && boundary(at) > 0.0;
            let is_seen = || (1..2 * cells).all(|step| is_open(x + 0.5 * step as f32 * to));
            if is_near && is_seen() { distance_from(at) } else { None }
        });
        found.unwrap_or(-FARTHEST_CONTACT_CELLS * dx)
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
}

#[cfg(test)]
mod tests {
    use crate::{Domain, Fill, Liquid, Setup, Solid};
    use fluvial_foundation::Vec3;
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
