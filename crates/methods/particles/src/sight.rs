//! What particles near thin solids see of the grid.

use crate::Surroundings;
use fluvial_foundation::Vec3;
use fluvial_grids::{Lattice, Sides, UniformGrid};

/// Every cell around one, see [`Sides::seen_around`].
pub(crate) const ALL: u32 = (1 << 27) - 1;

/// The bit of the cell at an offset of at most one cell per axis.
#[inline]
pub(crate) fn bit(offset: [isize; 3]) -> u32 {
    1 << ((offset[0] + 1) + 3 * (offset[1] + 1) + 9 * (offset[2] + 1))
}

/// Cells and the sides that they belong to.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub sides: &'a Sides,
    pub cells: Lattice,
    low: Vec3,
    inverse_dx: f32,
}

impl<'a> Sight<'a> {
    pub fn new(sides: &'a Sides, grid: &UniformGrid) -> Self {
        Sight { sides, cells: grid.cell_centers(), low: grid.min, inverse_dx: 1.0 / grid.dx }
    }

    /// The cell that a point lies in; the nearest one for points outside the box.
    #[inline]
    pub fn cell(&self, x: Vec3) -> [usize; 3] {
        let c = ((x - self.low) * self.inverse_dx).max(Vec3::ZERO);
        std::array::from_fn(|a| (c[a] as usize).min(self.cells.size[a] - 1))
    }

    #[inline]
    pub fn is_near(&self, [i, j, k]: [usize; 3]) -> bool {
        self.sides.is_near(self.cells.index(i, j, k))
    }

    /// The cells around one that it sees.
    #[inline]
    pub fn seen(&self, at: [usize; 3]) -> u32 {
        self.sides.seen_around(&self.cells, at)
    }

    /// A value of the cells at a point of the cell `at`, trilinear; what is not seen counts as the mean of the
    /// seen.
    pub fn sample(&self, values: &[f32], x: Vec3, at: [usize; 3], seen: u32) -> f32 {
        let stencil = self.cells.stencil(x);
        if seen == ALL {
            return self.cells.interpolate(values, stencil);
        }
        let low = self.cells.coordinates(stencil.base);
        let mut corners = self.cells.corner_values(values, stencil.base);
        let sees = |n: usize| {
            let offset = std::array::from_fn(|a| (low[a] + (n >> a & 1)) as isize - at[a] as isize);
            offset.iter().all(|o| o.abs() <= 1) && seen & bit(offset) != 0
        };
        replace_unseen(&mut corners, std::array::from_fn(sees));
        let unit = Lattice { size: [2; 3], origin: Vec3::ZERO, spacing: 1.0 };
        unit.interpolate(&corners, fluvial_grids::lattice::Stencil { base: 0, ..stencil })
    }

    /// Follows a particle from `x` to `goal`; it slides along the walls that bar its way.
    pub fn walk(&self, x: Vec3, goal: Vec3) -> Vec3 {
        let start = self.cell(x);
        if !self.is_near(start) && !self.is_near(self.cell(goal)) {
            return goal;
        }
        let center = self.cells.position(start[0], start[1], start[2]);
        let relative = |x: Vec3| ((x - center) * self.inverse_dx).to_array();
        let to = relative(goal);
        let (_, end) = self.sides.walk(&self.cells, start, relative(x), to);
        // Who meets no wall keeps every bit of the goal.
        if end == to { goal } else { center + Vec3::from_array(end) / self.inverse_dx }
    }
}

/// Gives corners that are not seen the mean of those that are.
pub(crate) fn replace_unseen(corners: &mut [f32; 8], seen: [bool; 8]) {
    let count = seen.iter().filter(|s| **s).count();
    if count > 0 && count < 8 {
        let sum: f32 = corners.iter().zip(seen).map(|(v, seen)| if seen { *v } else { 0.0 }).sum();
        corners.iter_mut().zip(seen).filter(|(_, seen)| !seen).for_each(|(v, _)| *v = sum / count as f32);
    }
}

/// Moves particles out of cells that a thin solid has passed, to the nearest point of the cell that `refuge` names:
/// they stay on their side.
pub fn flee(
    x: &mut [Vec3],
    sides: &Sides,
    grid: &UniformGrid,
    refuge: impl Fn(usize) -> Option<usize> + Sync,
) {
    let sight = Sight::new(sides, grid);
    let half = Vec3::splat(0.49 * grid.dx);
    fluvial_foundation::parallel::for_each_indexed_mut(x, |_, x| {
        let [i, j, k] = sight.cell(*x);
        if let Some(to) = refuge(sight.cells.index(i, j, k)) {
            let [i, j, k] = sight.cells.coordinates(to);
            let center = sight.cells.position(i, j, k);
            *x = x.clamp(center - half, center + half);
        }
    });
}

impl Surroundings<'_> {
    /// Where a particle on its way from `x` to `goal` comes to: it slides along thin solids.
    pub fn walk(&self, x: Vec3, goal: Vec3) -> Vec3 {
        if self.sides.is_empty() { goal } else { Sight::new(self.sides, self.grid).walk(x, goal) }
    }

    /// The place for new liquid at a point near a thin solid: itself where it sees an own corner of its cell, else
    /// the nearest point of a cell around of which it sees one. `is_crossed` says whether a solid stands between two
    /// points.
    pub fn on_its_side(&self, x: Vec3, is_crossed: impl Fn(Vec3, Vec3) -> bool) -> Vec3 {
        let sight = Sight::new(self.sides, self.grid);
        let at = sight.cell(x);
        if !sight.is_near(at) {
            return x;
        }
        let (nodes, half) = (self.grid.nodes(), Vec3::splat(0.49 * self.grid.dx));
        let sees = |cell: [usize; 3]| {
            let own = self.sides.own_corners[sight.cells.index(cell[0], cell[1], cell[2])];
            (0..8).filter(|n| own >> n & 1 == 1).any(|n| {
                let [i, j, k]: [usize; 3] = std::array::from_fn(|a| cell[a] + (n >> a & 1));
                !is_crossed(x, nodes.position(i, j, k))
            })
        };
        if sees(at) {
            return x;
        }
        let mut best = (f32::INFINITY, x);
        for n in 0..27 {
            let offset = [n % 3, n / 3 % 3, n / 9];
            let cell: [usize; 3] = std::array::from_fn(|a| (at[a] + offset[a]).wrapping_sub(1));
            if (0..3).all(|a| cell[a] < sight.cells.size[a]) {
                let center = sight.cells.position(cell[0], cell[1], cell[2]);
                let place = x.clamp(center - half, center + half);
                let way = x.distance_squared(place);
                if way < best.0 && sees(cell) {
                    best = (way, place);
                }
            }
        }
        best.1
    }

    /// A value of the cells at a point, trilinear, as the point's cell sees it.
    pub fn sample_cells(&self, values: &[f32], x: Vec3) -> f32 {
        let sight = Sight::new(self.sides, self.grid);
        let at = sight.cell(x);
        sight.sample(values, x, at, sight.seen(at))
    }

    /// Distance from solids at a point and its gradient; near thin ones as its cell's own side sees them.
    pub fn solid_at(&self, x: Vec3) -> (f32, Vec3) {
        let sight = Sight::new(self.sides, self.grid);
        let at = sight.cell(x);
        if sight.is_near(at) {
            return self.solid_on_side(x, at);
        }
        let nodes = self.grid.nodes();
        (nodes.sample(self.phi_solid_node, x), nodes.gradient(self.phi_solid_node, x))
    }

    /// Distance from solids and its gradient at a point of the cell `at`, as the cell's own side sees them:
    /// other sides count as solid.
    pub(crate) fn solid_on_side(&self, x: Vec3, at: [usize; 3]) -> (f32, Vec3) {
        let (nodes, cells) = (self.grid.nodes(), self.grid.cell_centers());
        let base = nodes.index(at[0], at[1], at[2]);
        let own = self.sides.own_corners[cells.index(at[0], at[1], at[2])];
        let phi = nodes.corner_values(self.phi_solid_node, base);
        let of_side: [f32; 8] =
            std::array::from_fn(|n| if own >> n & 1 == 1 { phi[n] } else { -phi[n].abs() });
        let unit =
            Lattice { size: [2; 3], origin: nodes.position(at[0], at[1], at[2]), spacing: nodes.spacing };
        (unit.sample(&of_side, x), unit.gradient(&of_side, x))
    }
}
