//! What cells near thin solids see of the liquid that a scene begins with.

use crate::Setup;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::sides::UNSEEN_CELLS;
use fluvial_grids::{Lattice, Sides};
use fluvial_solids::PlacedSolids;

/// Liquid is looked for at so many points along each edge of a cell.
const POINTS: usize = 4;
/// Half the diagonal of a cell, in cells.
const HALF_DIAGONAL: f32 = 0.87;
/// Solids nearer than this to a line of sight are in its way, in cells.
const MARGIN_CELLS: f32 = 1e-3;

/// What a cell sees of the fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillSight {
    /// Liquid and air.
    Seen,
    /// The air beside cells that see liquid.
    Air,
    /// Nothing: a solid is between.
    Hidden,
}

impl FillSight {
    /// The distance to the liquid that is seen, of the distance to all, both in metres. Liquid and its surface are hidden behind a solid.
    /// Air is no liquid, wherever it is: its distances are those of the surface that cells beside it see. (Cut off as well, those in a
    /// bowl's wall above the water bent the level surface beside them by a twentieth of a cell, and it never came to rest.)
    #[inline]
    pub fn distance_m(self, phi_m: f32, dx: f32) -> f32 {
        match self {
            FillSight::Seen => phi_m,
            FillSight::Air if phi_m >= 0.0 => phi_m,
            _ => phi_m.max(UNSEEN_CELLS * dx),
        }
    }
}

impl Setup {
    /// What cells see of the fills: all of it where they are not near thin solids. Liquid behind a solid is not seen: a cell that
    /// the solid divides belongs to one side, and what lies in its other part is the neighbour's there. Water may lie in a cell
    /// below all of its open corners: a puddle less than a cell deep on a round floor is cut off where only corners are asked.
    /// Tests: `liquid_behind_a_thin_wall_is_not_seen`, `a_puddle_below_all_corners_is_seen`.
    pub fn sees_fill(&self, solids: &PlacedSolids, sides: &Sides, cells: &Lattice) -> Vec<FillSight> {
        if sides.is_empty() {
            return vec![FillSight::Seen; cells.len()];
        }
        let holds: Vec<bool> =
            parallel::map_indices(cells.len(), |cell| self.is_fill_in(solids, sides, cells, cell));
        let sees = |marked: &[bool], cell: usize| {
            let at = cells.coordinates(cell);
            let seen = sides.seen_around(cells, at);
            let is_marked = |n: usize| {
                let [i, j, k] = [n % 3, n / 3 % 3, n / 9];
                marked[cells.index(at[0] + i - 1, at[1] + j - 1, at[2] + k - 1)]
            };
            (0..27).filter(|n| seen >> n & 1 == 1).any(is_marked)
        };
        let is_seen: Vec<bool> =
            parallel::map_indices(cells.len(), |cell| !sides.is_near(cell) || sees(&holds, cell));
        parallel::map_indices(cells.len(), |cell| match is_seen[cell] {
            true => FillSight::Seen,
            false if sees(&is_seen, cell) => FillSight::Air,
            false => FillSight::Hidden,
        })
    }

    /// Is there liquid in the part of a cell that is on its side?
    fn is_fill_in(&self, solids: &PlacedSolids, sides: &Sides, cells: &Lattice, cell: usize) -> bool {
        let (own, dx) = (sides.own_corners[cell], cells.spacing);
        let [i, j, k] = cells.coordinates(cell);
        let center = cells.position(i, j, k);
        let phi = self.fill_distance(center);
        if own == 0 || phi > HALF_DIAGONAL * dx {
            return false;
        }
        let corner =
            |n: usize| center + dx * Vec3::from_array(std::array::from_fn(|a| (n >> a & 1) as f32 - 0.5));
        let own_corners = || (0..8).filter(|n| own >> n & 1 == 1).map(corner);
        if phi < -HALF_DIAGONAL * dx || own_corners().any(|x| self.fill_distance(x) < 0.0) {
            return true;
        }
        let margin_m = MARGIN_CELLS * dx;
        (0..POINTS.pow(3)).any(|n| {
            let place = [n % POINTS, n / POINTS % POINTS, n / POINTS.pow(2)];
            let x = center + dx * Vec3::from_array(place.map(|p| (p as f32 + 0.5) / POINTS as f32 - 0.5));
            self.fill_distance(x) < 0.0
                && solids.distance(x, dx) > margin_m
                && own_corners().any(|corner| !solids.is_crossed(x, corner, margin_m))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FillSight;
    use crate::{Domain, Fill, Liquid, Setup, Solid};
    use fluvial_foundation::Vec3;
    use fluvial_grids::UniformGrid;
    use fluvial_solids::{Motion, Shape, SolidFields, rasterize};

    /// A wall and a fill among ten cells of a tenth, and what its cells see.
    fn seen(wall: Shape, fill: Shape) -> (UniformGrid, SolidFields, Vec<FillSight>) {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [10; 3], dx: 0.1 };
        let mut fields = SolidFields::default();
        rasterize(&mut fields, &[(&wall, &Motion::Static)], [false; 6], &grid, 0.0);
        let setup = Setup {
            domain: Domain::closed(grid),
            liquid: Liquid::default(),
            fills: vec![Fill { shape: fill, velocity: Vec3::ZERO }],
            solids: vec![Solid::new("wall", wall, Motion::Static)],
            sources: vec![],
            sinks: vec![],
            refine: vec![],
            flow: None,
            cfl: 1.0,
        };
        let seen = setup.sees_fill(&setup.solids_at(0.0), &fields.sides, &grid.cell_centers());
        (grid, fields, seen)
    }

    /// A shell of a tenth of a cell full of water, at an angle to the grid: cells whose larger part lies outside see
    /// none of it, also where water fills a third of them.
    #[test]
    fn liquid_behind_a_thin_wall_is_not_seen() {
        let ball = |radius| Shape::Sphere { center: Vec3::splat(0.513), radius };
        let shell = Shape::Difference(Box::new(ball(0.31)), Box::new(ball(0.3)));
        let (grid, fields, seen) = seen(shell, ball(0.3));
        let cells = grid.cell_centers();
        let (mut inner, mut outer) = (0, 0);
        for cell in (0..cells.len()).filter(|&cell| fields.sides.is_near(cell)) {
            let at = cells.coordinates(cell);
            // In the ball when most of the cell is; cells that are halved count for nothing.
            let off = (cells.position(at[0], at[1], at[2]) - 0.513).length() - 0.305;
            if off.abs() > 0.01 {
                assert_eq!(seen[cell] == FillSight::Seen, off < 0.0, "{at:?}");
                *if off < 0.0 { &mut inner } else { &mut outer } += (off.abs() < 0.4 * grid.dx) as usize;
            }
        }
        assert!(inner > 20 && outer > 20, "{inner} {outer}");
    }

    /// A puddle 0.8 cells deep on the round floor of a bowl with a wall of two cells, in one row of cells whose open corners are all
    /// above it: every cell with a part of its open space below the level sees it.
    #[test]
    fn a_puddle_below_all_corners_is_seen() {
        let center = Vec3::new(0.5, 0.61, 0.5);
        let ball = |radius| Shape::Sphere { center, radius };
        let below = |y: f32| Shape::Plane { point: Vec3::new(0.0, y, 0.0), normal: Vec3::Y };
        let half = Shape::Intersection(vec![ball(0.6), below(0.61)]);
        let bowl = Shape::Difference(Box::new(half), Box::new(ball(0.4)));
        let (grid, fields, seen) = seen(bowl, Shape::Intersection(vec![ball(0.5), below(0.29)]));
        let cells = grid.cell_centers();
        let mut wet = 0;
        for (cell, seen) in seen.into_iter().enumerate() {
            let at = cells.coordinates(cell);
            let out = Vec3::new(at[0] as f32 - 4.5, 0.0, at[2] as f32 - 4.5).length() * grid.dx;
            // The level meets the bowl at 0.24.
            if at[1] == 2 && out < 0.24 && fields.sides.own_corners[cell] != 0 {
                assert!(fields.sides.is_near(cell) && seen == FillSight::Seen, "{at:?}");
                wet += 1;
            }
        }
        assert!(wet >= 12, "{wet}");
    }
}
