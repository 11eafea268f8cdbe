//! The level set brought to the volume that the fluxes say is in each cell, on a tree.

use crate::select::select;
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
/// Of what a cell is owed so much is shared out, cells: more than interpolations of a smooth flow differ by is liquid that is missing where
/// it is, at a front or under particles.
const MOST_SHARED: f32 = 0.02;
/// The surface is displaced by at most this in a step, cells; the rest waits.
const FARTHEST_CELLS: f32 = 0.5;
/// phi is changed this far from the surface, cells: as far as a redistancing stencil reaches.
const REACH_CELLS: f32 = 3.0;

/// Memory of the settlement, kept from step to step.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    links: Links,
    /// By cell of the list: surface that belongs to it, m2; displacement that its own mismatch asks of the surface
    /// around, metres; displacement outwards, metres, and the same before the last widening. One value more, always zero,
    /// stands for all other cells.
    area: Vec<f32>,
    asked: Vec<f32>,
    shift: Vec<f32>,
    narrow: Vec<f32>,
    /// Sums over the cells at each node of the list.
    node: Vec<f32>,
    known_node: Vec<f32>,
}

/// The cells near the surface and the nodes at their corners, found once for all displacements of a step.
#[derive(Clone, Debug, Default)]
struct Links {
    near: Vec<u32>,
    /// The corners of each of them, by their numbers among the nodes below.
    corners: Vec<[u32; 8]>,
    /// The cells of the list that have each node as a corner, those that appear once around it; the list's length
    /// stands for no cell.
    around_node: Vec<[u32; 8]>,
    /// Where each cell and node of the tree is in the lists.
    place_of_cell: Vec<u32>,
    place_of_node: Vec<u32>,
}

impl Links {
    fn fill(&mut self, tree: &Octree, is_near: impl Fn(usize) -> bool + Sync + Send) {
        let Links { near, corners, around_node, place_of_cell, place_of_node } = self;
        *near = select(tree.cell_count(), is_near);
        let none = near.len() as u32;
        place_of_cell.clear();
        place_of_cell.resize(tree.cell_count(), none);
        near.iter().zip(0..).for_each(|(&cell, place)| place_of_cell[cell as usize] = place);
        corners.resize(near.len(), [0; 8]);
        parallel::for_each_indexed_mut(corners, |n, nodes| *nodes = tree.cell_nodes(near[n] as usize));
        place_of_node.clear();
        place_of_node.resize(tree.node_count(), OUTSIDE);
        around_node.clear();
        for node in corners.iter_mut().flatten() {
            let place = &mut place_of_node[*node as usize];
            if *place == OUTSIDE {
                *place = around_node.len() as u32;
                around_node.push(tree.node_cells()[*node as usize]);
            }
            *node = *place;
        }
        parallel::for_each_indexed_mut(around_node, |_, cells| {
            let all = *cells;
            for cell in cells {
                let is_corner = *cell != OUTSIDE && all.iter().filter(|&other| other == cell).count() == 1;
                *cell = if is_corner { place_of_cell[*cell as usize] } else { none };
            }
        });
    }
}

/// Shape and sides around the surface, for one displacement.
struct Neighbourhood<'a> {
    links: &'a Links,
    around: Around<'a>,
}

impl Neighbourhood<'_> {
    /// An eighth of the sum over the cells that have each node as a corner.
    fn sum_at_nodes(&self, node: &mut Vec<f32>, value: &[f32]) {
        node.resize(self.links.around_node.len(), 0.0);
        parallel::for_each_indexed_mut(node, |n, sum| {
            *sum = 0.0;
            self.links.around_node[n].iter().for_each(|&cell| *sum += 0.125 * value[cell as usize]);
        });
    }

    /// `sum_j W_ij value_j` for a cell of the list.
    #[inline]
    fn sum(&self, node: &[f32], value: &[f32], n: usize) -> f32 {
        let Links { near, corners, place_of_cell, .. } = self.links;
        let beside_thin = self.around.sum_seen(near[n] as usize, |cell| value[place_of_cell[cell] as usize]);
        beside_thin.unwrap_or_else(|| 0.125 * corners[n].iter().map(|&n| node[n as usize]).sum::<f32>())
    }

    /// Gives every cell of the list a value.
    fn fill(&self, out: &mut Vec<f32>, value: impl Fn(usize, usize) -> f32 + Sync + Send) {
        let near = &self.links.near;
        out.resize(near.len() + 1, 0.0);
        out[near.len()] = 0.0;
        parallel::for_each_indexed_mut(&mut out[..near.len()], |n, out| *out = value(n, near[n] as usize));
    }
}

/// Surface that belongs to a cell, m2, so that along a normal all cells together have that of one section.
fn surface_m2(tree: &Octree, cell: usize, phi: f32, open_volume: f32) -> f32 {
    let dx = tree.cell_dx(cell);
    (1.0 - phi.abs() / dx).max(0.0) * open_volume * dx * dx
}

impl Settlement {
    /// Finds the cells that displacements may reach: up to two, before which no cell's phi may change otherwise.
    pub fn link(&mut self, phi: &[f32], tree: &Octree) {
        let reach = REACH_CELLS + FARTHEST_CELLS;
        self.links.fill(tree, |cell| phi[cell].abs() < reach * tree.cell_dx(cell));
    }

    /// Lets the cells at the surface share out what they are owed, in their own volumes and up to a fiftieth of them, before the
    /// surface is displaced by it; the amounts are booked in `volume_cell` too. Each cell gives an eighth to each of its corners, and a corner hands what it
    /// has got to its cells in proportion to their surface: `m_i' = a_i sum_n (sum_j m_j) / (8 sum_j a_j)`, sums over the
    /// cells j that have n as a corner. What all cells are owed together stays, and a displacement that is the same everywhere,
    /// `m = a d`, does not change; of waves of 4, 8 and 16 cells a half, 0.85 and 0.96 are left.
    ///
    /// Fluxes and the carried surface differ in each cell by what an interpolation cannot know, and the wave
    /// operator is symmetric for neither: where the surface was bent by the differences of neighbours, waves of a few cells on a surface that
    /// leans about two axes grew by 0.35 a second, whatever the step. Shared out they cancel; what is left is true of the
    /// whole neighbourhood. Cells that `takes_part` denies keep theirs, as do those that solids cut and all near thin ones. Verified by
    /// `debts_are_shared_out_and_none_is_lost` and, in the solver, by `a_surface_that_leans_about_two_axes_keeps_its_short_waves`.
    pub fn share_out(
        &mut self,
        (owed_cell, volume_cell): (&mut [f32], &mut [f32]),
        (phi, open_volume): (&[f32], &[f32]),
        takes_part: impl Fn(usize) -> bool + Sync + Send,
        (tree, sides): (&Octree, TreeSides),
    ) {
        let Settlement { links, area, asked, shift, node, known_node, .. } = self;
        let list = Neighbourhood { links, around: Around { tree, sides } };
        list.fill(area, |_, cell| {
            match takes_part(cell)
                && open_volume[cell] >= 1.0
                && owed_cell[cell].abs() < MOST_SHARED
                && !sides.is_near(tree, cell)
            {
                true => surface_m2(tree, cell, phi[cell], open_volume[cell]),
                false => 0.0,
            }
        });
        list.sum_at_nodes(node, area);
        let owed_m3 = |n: usize, cell: usize| {
            if area[n] > 0.0 { owed_cell[cell] * tree.cell_dx(cell).powi(3) } else { 0.0 }
        };
        list.fill(asked, owed_m3);
        list.sum_at_nodes(known_node, asked);
        let (corners, area) = (&links.corners, &*area);
        list.fill(shift, |n, _| match area[n] > 0.0 {
            true => {
                corners[n].iter().map(|&c| 0.125 * area[n] * known_node[c as usize] / node[c as usize]).sum()
            }
            false => 0.0,
        });
        for (n, &cell) in links.near.iter().enumerate().filter(|(n, _)| area[*n] > 0.0) {
            let change = (shift[n] - asked[n]) / tree.cell_dx(cell as usize).powi(3);
            owed_cell[cell as usize] += change;
            volume_cell[cell as usize] += change;
        }
    }

    /// Gives the cells at the surface what the cells in the air that touch them are owed, in their own volumes and up to a fiftieth of
    /// them; the amounts are booked in `volume_cell` too. A cell in the air gives equal parts to those of its corners that have a
    /// surface around them, and a corner hands what it has got to its cells in proportion to their surface:
    /// `m_i' = m_i + a_i sum_n (sum_j m_j / c_j) / (8 mean_n a)`, j the cells in the air with n as a corner and `c_j` the number of
    /// corners that take from them. What all cells are owed together stays.
    ///
    /// The surface is displaced by what cells in the air are owed ([`Self::displace`]). Were it left in their books, the liquid would
    /// be there twice, and the cells at the surface would owe as much. Behind a surface that goes away the two part: what a
    /// flux differs from the carried surface by stays behind in the cell that has just become empty (a thousandth of it; the transport of
    /// amounts is of first order and leaves a part of each behind), and a ball in free flight left rows of crumbs around itself. More than a fiftieth is
    /// liquid that the level set has lost, and may fly. Cells that `takes_part` denies and all near thin solids neither
    /// give nor take. Verified by `what_lies_in_the_air_goes_to_the_surface_beside_it` and, in the solver, by
    /// `a_ball_in_free_flight_sheds_nothing`.
    pub fn gather(
        &mut self,
        (owed_cell, volume_cell): (&mut [f32], &mut [f32]),
        (phi, open_volume): (&[f32], &[f32]),
        takes_part: impl Fn(usize) -> bool + Sync + Send,
        (tree, sides): (&Octree, TreeSides),
    ) {
        let Settlement { links, area, asked, shift, node, known_node, .. } = self;
        let list = Neighbourhood { links, around: Around { tree, sides } };
        let takes_part = |cell: usize| takes_part(cell) && !sides.is_near(tree, cell);
        list.fill(area, |_, cell| match takes_part(cell) {
            true => surface_m2(tree, cell, phi[cell], open_volume[cell]),
            false => 0.0,
        });
        list.sum_at_nodes(node, area);
        let (corners, area, node) = (&links.corners, &*area, &*node);
        // What each cell in the air gives to each of its corners that takes, m3.
        let given = asked;
        list.fill(given, |n, cell| {
            let owed = owed_cell[cell];
            if owed == 0.0 || owed.abs() >= MOST_SHARED || phi[cell] < tree.cell_dx(cell) || !takes_part(cell)
            {
                return 0.0;
            }
            let takers = corners[n].iter().filter(|&&c| node[c as usize] > 0.0).count();
            if takers > 0 { owed * tree.cell_dx(cell).powi(3) / takers as f32 } else { 0.0 }
        });
        list.sum_at_nodes(known_node, given);
        let (given, at_node) = (&*given, &*known_node);
        list.fill(shift, |n, cell| {
            if given[n] != 0.0 {
                return -owed_cell[cell];
            }
            let taken_m3 = |c: usize| if node[c] > 0.0 { area[n] * at_node[c] / node[c] } else { 0.0 };
            corners[n].iter().map(|&c| taken_m3(c as usize)).sum::<f32>() / tree.cell_dx(cell).powi(3)
        });
        for (&cell, change) in links.near.iter().zip(&*shift) {
            owed_cell[cell as usize] += change;
            volume_cell[cell as usize] += change;
        }
    }

    /// Displaces the surface so that each neighbourhood gets the volume that its cells are owed, in their own
    /// volumes: `fluvial_level_set::Settlement` on a tree. [`Self::link`] comes first.
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
        let Settlement { links, area, asked, shift, narrow, node, known_node } = self;
        let list = Neighbourhood { links, around: Around { tree, sides } };
        list.fill(area, |_, cell| surface_m2(tree, cell, phi[cell], open_volume[cell]));
        list.sum_at_nodes(node, area);
        let moves = |cell: usize| phi[cell].abs() < REACH_CELLS * tree.cell_dx(cell);
        list.fill(asked, |n, cell| {
            let dx = tree.cell_dx(cell);
            let owed = match open_volume[cell] < 1.0 {
                true => owed_cell[cell] - owed_cell[cell].clamp(-LEAST_OWED_AT_SOLID, LEAST_OWED_AT_SOLID),
                false => owed_cell[cell],
            };
            if owed.abs() < LEAST_OWED || !moves(cell) {
                return 0.0;
            }
            let area = list.sum(node, area, n);
            if area < LEAST_AREA * dx * dx { 0.0 } else { owed * dx.powi(3) / area }
        });
        list.sum_at_nodes(node, asked);
        list.fill(narrow, |n, _| if area[n] > 0.0 { list.sum(node, asked, n) } else { 0.0 });
        // The cells beyond take the mean of their neighbours', so that the surface's neighbourhood moves as one.
        let known = &mut *asked;
        for round in 0..2 {
            let (from, to) = match round {
                0 => (&*narrow, &mut *shift),
                _ => (&*shift, &mut *narrow),
            };
            known.iter_mut().zip(from).for_each(|(known, shift)| *known = (*shift != 0.0) as u8 as f32);
            list.sum_at_nodes(known_node, known);
            list.sum_at_nodes(node, from);
            list.fill(to, |n, cell| match from[n] {
                0.0 if area[n] == 0.0 && moves(cell) => {
                    let weight = list.sum(known_node, known, n);
                    if weight == 0.0 { 0.0 } else { list.sum(node, from, n) / weight }
                }
                shift => shift,
            });
        }
        let mut held_back = 0;
        for (&cell, &shift) in links.near.iter().zip(&*narrow) {
            let (cell, most) = (cell as usize, FARTHEST_CELLS * tree.cell_dx(cell as usize));
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
    pub fn spread(&self, value_cell: &mut [f32]) {
        let mut links = Links::default();
        links.fill(self.tree, |_| true);
        let (list, mut node) = (Neighbourhood { links: &links, around: *self }, vec![]);
        let mut value = value_cell.to_vec();
        value.push(0.0);
        list.sum_at_nodes(&mut node, &value);
        parallel::for_each_indexed_mut(value_cell, |cell, out| *out = list.sum(&node, &value, cell));
    }

    /// `sum_j W_ij value_j` over the cells that are seen near thin solids; none elsewhere.
    #[inline]
    fn sum_seen(&self, cell: usize, value: impl Fn(usize) -> f32) -> Option<f32> {
        let at = self.sides.near_place(self.tree, cell)?;
        let (cells, seen) = (self.sides.cells, self.sides.sides.seen_around(&self.sides.cells, at));
        let mut sum = 0.0;
        for n in (0..27).filter(|n| seen >> n & 1 == 1) {
            let d = [n % 3, n / 3 % 3, n / 9];
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + d[a] - 1);
            let weight: f32 = d.iter().map(|&v| if v == 1 { 0.5 } else { 0.25 }).product();
            sum += weight * value(self.sides.leaf(self.tree, cells.index(i, j, k)));
        }
        Some(sum)
    }
}
