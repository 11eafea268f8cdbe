//! The level set brought to the volume that the fluxes say is in each cell, on a tree.

use crate::sides::TreeSides;
use fluvial_foundation::parallel;
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// A cell with less surface around it than this, in its faces, has none to be settled by.
const LEAST_AREA: f32 = 0.02;
/// Less than this is rounding, in cells.
const LEAST_OWED: f32 = 1e-7;
/// Cells that a solid cuts ask for what they are owed beyond this, in cells. Their volume follows the open part of their
/// faces, the surface what flows at their centre; settled at once, the difference fed waves along the line where still
/// water meets a slope or a plate, by 8 a second. What is less stays owed and goes with the flow to cells that are whole.
/// Verified by `still_water_rests_at_solids` of the solver.
const LEAST_OWED_AT_SOLID: f32 = 0.02;
/// The surface is displaced by at most this in a step, cells; the rest waits.
const FARTHEST_CELLS: f32 = 0.5;
/// phi is changed this far from the surface, cells: as far as a redistancing stencil reaches.
const REACH_CELLS: f32 = 3.0;

/// Memory of the settlement, kept from step to step.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// Surface that belongs to a cell, m2.
    area_cell: Vec<f32>,
    /// Displacement that a cell's own mismatch asks of the surface around, metres.
    asked_cell: Vec<f32>,
    /// Displacement outwards, metres; and the same before the last widening.
    shift_cell: Vec<f32>,
    narrow_cell: Vec<f32>,
    /// Sums over the cells at each node.
    node: Vec<f32>,
    known_node: Vec<f32>,
    /// Cells near the surface.
    near: Vec<u32>,
}

impl Settlement {
    /// Displaces the surface so that each neighbourhood gets the volume that its cells are owed, in their own
    /// volumes: `fluvial_level_set::Settlement` on a tree.
    ///
    /// With a_i the surface in cell i, m_j what cell j is owed and W symmetric:
    /// `delta_i = sum_j W_ij m_j / (sum_k W_kj a_k)`, `phi_i -= delta_i`, so that to first order
    /// `sum_i a_i delta_i = sum_j m_j` whatever the sizes. `W = M^T M`, M the mean of the cells that have a node
    /// as a corner: the tent over 3 x 3 x 3 cells where all are equal. Behind a thin solid no cell is seen.
    /// Returns how often a displacement was held back. Verified by tests/flux.rs.
    pub fn displace(
        &mut self,
        phi: &mut [f32],
        owed_cell: &[f32],
        open_volume: &[f32],
        sides: TreeSides,
        tree: &Octree,
    ) -> usize {
        let Settlement { area_cell, asked_cell, shift_cell, narrow_cell, node, known_node, near } = self;
        near.clear();
        near.extend(
            (0..phi.len()).filter(|&c| phi[c].abs() < REACH_CELLS * tree.cell_dx(c)).map(|c| c as u32),
        );
        for values in [&mut *area_cell, &mut *asked_cell, &mut *shift_cell, &mut *narrow_cell] {
            values.clear();
            values.resize(phi.len(), 0.0);
        }
        let around = Around { tree, sides };
        for &cell in &*near {
            let (cell, dx) = (cell as usize, tree.cell_dx(cell as usize));
            area_cell[cell] = (1.0 - phi[cell].abs() / dx).max(0.0) * open_volume[cell] * dx * dx;
        }
        around.sum_at_nodes(node, area_cell);
        around.fill(asked_cell, near, |cell| {
            let dx = tree.cell_dx(cell);
            let owed = match open_volume[cell] < 1.0 {
                true => owed_cell[cell] - owed_cell[cell].clamp(-LEAST_OWED_AT_SOLID, LEAST_OWED_AT_SOLID),
                false => owed_cell[cell],
            };
            if owed.abs() < LEAST_OWED {
                return 0.0;
            }
            let area = around.sum(node, area_cell, cell);
            if area < LEAST_AREA * dx * dx { 0.0 } else { owed * dx.powi(3) / area }
        });
        around.sum_at_nodes(node, asked_cell);
        around.fill(narrow_cell, near, |cell| {
            if area_cell[cell] > 0.0 { around.sum(node, asked_cell, cell) } else { 0.0 }
        });
        // The cells beyond take the mean of their neighbours', so that the surface's neighbourhood moves as one.
        let known = &mut *asked_cell;
        for round in 0..2 {
            let (from, to) = match round {
                0 => (&*narrow_cell, &mut *shift_cell),
                _ => (&*shift_cell, &mut *narrow_cell),
            };
            known.iter_mut().zip(from).for_each(|(known, shift)| *known = (*shift != 0.0) as u8 as f32);
            around.sum_at_nodes(known_node, known);
            around.sum_at_nodes(node, from);
            around.fill(to, near, |cell| match from[cell] {
                0.0 if area_cell[cell] == 0.0 => {
                    let weight = around.sum(known_node, known, cell);
                    if weight == 0.0 { 0.0 } else { around.sum(node, from, cell) / weight }
                }
                shift => shift,
            });
        }
        let mut held_back = 0;
        for &cell in &*near {
            let (cell, most) = (cell as usize, FARTHEST_CELLS * tree.cell_dx(cell as usize));
            let shift = narrow_cell[cell];
            held_back += (shift.abs() > most) as usize;
            phi[cell] -= shift.clamp(-most, most);
        }
        held_back
    }
}

/// The cells around a cell, with weights.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// Sides of thin solids: cells behind them are not seen.
    pub sides: TreeSides<'a>,
}

impl Around<'_> {
    /// Replaces every value by `sum_j W_ij value_j`, see [`Settlement::displace`].
    pub fn spread(&self, value_cell: &mut Vec<f32>) {
        let mut node = vec![];
        self.sum_at_nodes(&mut node, value_cell);
        *value_cell = parallel::map_indices(value_cell.len(), |cell| self.sum(&node, value_cell, cell));
    }

    fn fill(&self, out: &mut [f32], near: &[u32], value: impl Fn(usize) -> f32 + Sync + Send) {
        let values = parallel::map_indices(near.len(), |n| value(near[n] as usize));
        near.iter().zip(values).for_each(|(&cell, value)| out[cell as usize] = value);
    }

    /// An eighth of the sum over the cells that have each node as a corner: those that appear once around it.
    fn sum_at_nodes(&self, node: &mut Vec<f32>, value_cell: &[f32]) {
        let around = self.tree.node_cells();
        node.resize(around.len(), 0.0);
        parallel::for_each_indexed_mut(node, |n, sum| {
            let cells = &around[n];
            *sum = 0.0;
            for &cell in cells.iter().filter(|&&cell| cell != OUTSIDE) {
                let value = value_cell[cell as usize];
                if value != 0.0 && cells.iter().filter(|&&other| other == cell).count() == 1 {
                    *sum += 0.125 * value;
                }
            }
        });
    }

    /// `sum_j W_ij value_j` from the sums at nodes; near thin solids over the cells that are seen.
    fn sum(&self, node: &[f32], value_cell: &[f32], cell: usize) -> f32 {
        let Some(at) = self.sides.near_place(self.tree, cell) else {
            return 0.125 * self.tree.cell_nodes(cell).iter().map(|&n| node[n as usize]).sum::<f32>();
        };
        let (cells, seen) = (self.sides.cells, self.sides.sides.seen_around(&self.sides.cells, at));
        let mut sum = 0.0;
        for n in (0..27).filter(|n| seen >> n & 1 == 1) {
            let d = [n % 3, n / 3 % 3, n / 9];
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + d[a] - 1);
            let weight: f32 = d.iter().map(|&v| if v == 1 { 0.5 } else { 0.25 }).product();
            sum += weight * value_cell[self.sides.leaf(self.tree, cells.index(i, j, k))];
        }
        sum
    }
}
