//! What cells hold beside what phi stands for: carried with the flow, and handed from tree to tree.

use crate::interpolate::Tracing;
use crate::select::select;
use crate::sides::TreeSides;
use crate::slope::slopes;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::{Cell, OUTSIDE};

/// Cells without a surface get this part of what those with one get, when an amount is shared among them.
const FAR_SHARE: f64 = 1e-3;

/// Cells that a search for an open one looks at before it gives up.
const FARTHEST_SEARCH: usize = 343;

/// What cells are owed, and what decides where it goes.
#[derive(Clone, Copy)]
pub struct Owed<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// By cell, in its volume.
    pub residual_cell: &'a [f32],
    /// The surface.
    pub phi_cell: &'a [f32],
    /// Amounts in these cells stay.
    pub stays_cell: &'a [bool],
    /// Amounts deeper in the liquid than this stay, in the cell's edges.
    pub deep_cells: f32,
    /// Open part of every cell: closed ones take nothing.
    pub open_volume: &'a [f32],
    /// Open sides of the domain: x low, x high, y low, y high, z low, z high.
    pub open_walls: [bool; 6],
    /// Sides of thin solids: nothing passes them.
    pub sides: TreeSides<'a>,
}

/// What cells are owed goes with the flow: `moved` gets each amount, in volumes of its new cells, at the place
/// where the flow carries its cell in `dt_s`, shared by the open cells that the carried cell overlaps. The sum
/// is kept but for what leaves through open walls, which is returned, m3. Verified by tests/flux.rs.
pub fn carry_residual(moved: &mut Vec<f32>, owed: &Owed, tracing: &Tracing, dt_s: f32) -> f64 {
    let Owed { tree, residual_cell, phi_cell, stays_cell, deep_cells, open_walls, sides, .. } = *owed;
    let bounds = tree.shape().bounds();
    moved.clear();
    moved.resize(tree.cell_count(), 0.0);
    let has_left = |x: Vec3| {
        let beyond = |a: usize| [x[a] < bounds.min[a], x[a] > bounds.max[a]];
        (0..3).any(|a| (0..2).any(|side| open_walls[2 * a + side] && beyond(a)[side]))
    };
    let place = |cell: usize| {
        let x = tree.cell_center(cell);
        if stays_cell[cell] || phi_cell[cell] <= -deep_cells * tree.cell_dx(cell) {
            return Goal::Here;
        }
        let to = sides.walk(x, tracing.trace(tree, x, tracing.v_cell[cell], dt_s));
        if has_left(to) {
            return Goal::Outside;
        }
        if x == to { Goal::Here } else { shares(owed, cell, to) }
    };
    let cells = select(residual_cell.len(), |cell| residual_cell[cell] != 0.0);
    let goals = parallel::map_indices(cells.len(), |n| place(cells[n] as usize));
    let mut left_m3 = 0.0;
    for (cell, goal) in cells.into_iter().map(|cell| cell as usize).zip(goals) {
        let amount_m3 = f64::from(residual_cell[cell]) * cell_m3(tree, cell);
        match goal {
            Goal::Here => moved[cell] += residual_cell[cell],
            Goal::Outside => left_m3 += amount_m3,
            Goal::Shared { parts, sum } => {
                for (leaf, weight) in parts.into_iter().filter(|(_, weight)| *weight > 0.0) {
                    let leaf = leaf as usize;
                    moved[leaf] += (amount_m3 * weight / sum / cell_m3(tree, leaf)) as f32;
                }
            }
        }
    }
    left_m3
}

/// Where the flow takes what a cell is owed.
enum Goal {
    Here,
    Outside,
    /// Leaves with the parts of the carried cell that they overlap, and the sum of these.
    Shared {
        parts: [(u32, f64); 8],
        sum: f64,
    },
}

/// The open leaves that a cell overlaps when its centre is at a point: the planes of its own level's lattice cut it
/// into eight boxes. When none is open the amount stays.
fn shares(owed: &Owed, cell: usize, x: Vec3) -> Goal {
    let Owed { tree, open_volume, sides, .. } = *owed;
    let (shape, dx) = (tree.shape(), tree.cell_dx(cell));
    let place = (x - shape.min) / dx - 0.5;
    let (low, t) = (place.floor(), place - place.floor());
    let home = tree.locate(x).cell as usize;
    let (mut parts, mut sum) = ([(OUTSIDE, 0.0f64); 8], 0.0);
    let lowest = [0, 1, 2].map(|a| (low[a] as i32) as u32);
    let leaves = tree.leaves_around(tree.cells()[cell].level as usize, lowest);
    for (n, part) in parts.iter_mut().enumerate() {
        let (mut weight, mut center) = (1.0, Vec3::ZERO);
        for a in 0..3 {
            let high = n >> a & 1 == 1;
            weight *= f64::from(if high { t[a] } else { 1.0 - t[a] });
            center[a] =
                shape.min[a] + dx * (low[a] + 0.5 + if high { 0.5 * (1.0 + t[a]) } else { 0.5 * t[a] });
        }
        let inside = shape.bounds().contains(center);
        if weight == 0.0 || !inside {
            continue;
        }
        let leaf = if leaves[n] == OUTSIDE { tree.locate(center).cell } else { leaves[n] } as usize;
        if open_volume[leaf] > 0.0 && (leaf == home || sides.sees(tree, home, leaf)) {
            *part = (leaf as u32, weight);
            sum += weight;
        }
    }
    if sum < 1e-3 { Goal::Here } else { Goal::Shared { parts, sum } }
}

/// Volumes of cells from tree to tree, in the cells' volumes: a cell of both trees keeps its own, one made of
/// smaller cells gets their sum, and those that a cell has been divided into get what phi stands for in each
/// (`fraction_cell`), and shares of the difference, by the surface that they hold.
/// Verified by tests/flux.rs.
pub fn hand_over(
    volume_cell: &mut Vec<f32>,
    (old, volume_old): (&Octree, &[f32]),
    new: &Octree,
    (phi_cell, fraction_cell, open_volume): (&[f32], &[f32], &[f32]),
) {
    volume_cell.resize(new.cell_count(), 0.0);
    let weight = |cell: usize| -> f64 {
        let near = (1.0 - phi_cell[cell].abs() / new.cell_dx(cell)).max(0.0);
        f64::from(open_volume[cell]) * (f64::from(near) + FAR_SHARE) * cell_m3(new, cell)
    };
    parallel::for_each_indexed_mut(volume_cell, |cell, volume| {
        let place = new.cells()[cell];
        let found = old.locate(new.cell_center(cell));
        if found.level == place.level as usize {
            *volume = volume_old[found.cell as usize];
            return;
        }
        if found.level < place.level as usize {
            let mut sum = 0.0;
            for_leaves_in(old, place, &mut |leaf| sum += f64::from(volume_old[leaf]) * cell_m3(old, leaf));
            *volume = (sum / cell_m3(new, cell)) as f32;
            return;
        }
        let parent = found.cell as usize;
        let (mut stood_for, mut weights, mut count) = (0.0, 0.0, 0);
        for_leaves_in(new, old.cells()[parent], &mut |leaf| {
            stood_for += f64::from(fraction_cell[leaf]) * cell_m3(new, leaf);
            weights += weight(leaf);
            count += 1;
        });
        let owed_m3 = f64::from(volume_old[parent]) * cell_m3(old, parent) - stood_for;
        // A closed cell may still hold what a solid has left it with: its leaves share it evenly.
        let share = if weights > 0.0 { weight(cell) / weights } else { 1.0 / f64::from(count) };
        *volume = fraction_cell[cell] + (owed_m3 * share / cell_m3(new, cell)) as f32;
    });
}

/// What part of each cell of a tree solids open or close between two moments, given the open part of cells at both, each
/// on the tree of its moment.
pub fn swept_parts((old, open_old): (&Octree, &[f32]), (new, open_new): (&Octree, &[f32])) -> Vec<f32> {
    parallel::map_indices(new.cell_count(), |cell| {
        let place = new.cells()[cell];
        let found = old.locate(new.cell_center(cell));
        let mut open = open_old[found.cell as usize];
        if found.level < place.level as usize {
            let mut sum = 0.0;
            for_leaves_in(old, place, &mut |leaf| sum += f64::from(open_old[leaf]) * cell_m3(old, leaf));
            open = (sum / cell_m3(new, cell)) as f32;
        }
        (open - open_new[cell]).abs()
    })
}

/// What a moving solid has covered goes to the nearest open cell, in steps through faces that no thin solid divides:
/// what stayed in closed cells would come out on the other side. Cells in the direction away from the solid's inside
/// come first: a solid passes less than half of its thickness in a step, so that they are on the side where the liquid
/// was. Test: `liquid_that_a_wall_covers_stays_on_its_side`.
pub fn leave_closed_cells(
    volume_cell: &mut [f32],
    tree: &Octree,
    (open_volume, phi_solid_cell): (&[f32], &[f32]),
    sides: TreeSides,
) {
    for cell in (0..tree.cell_count()).filter(|&cell| open_volume[cell] == 0.0) {
        if volume_cell[cell] == 0.0 {
            continue;
        }
        let [away] = slopes(tree, cell, |_| true, |cell| [phi_solid_cell[cell]]);
        let offset = |other: usize| (tree.cell_center(other) - tree.cell_center(cell)).as_dvec3();
        let is_open = |other: usize| open_volume[other] > 0.0;
        let lies_away = |other: usize| is_open(other) && offset(other).dot(away) > 0.0;
        let refuge = nearest(tree, cell, lies_away, sides).or_else(|| nearest(tree, cell, is_open, sides));
        if let Some(refuge) = refuge {
            let amount_m3 = f64::from(std::mem::take(&mut volume_cell[cell])) * cell_m3(tree, cell);
            volume_cell[refuge] += (amount_m3 / cell_m3(tree, refuge)) as f32;
        }
    }
}

/// The first cell that is `wanted` in order of steps through faces that no thin solid divides.
fn nearest(tree: &Octree, start: usize, wanted: impl Fn(usize) -> bool, sides: TreeSides) -> Option<usize> {
    let (mut found, mut next) = (vec![start], 0);
    while next < found.len() && found.len() < FARTHEST_SEARCH {
        let cell = found[next];
        next += 1;
        for &face in &tree.cell_faces()[cell] {
            for other in tree.cells_beside(face as usize) {
                if found.contains(&other) || sides.divides(tree, cell, other) {
                    continue;
                }
                if wanted(other) {
                    return Some(other);
                }
                found.push(other);
            }
        }
    }
    None
}

/// Calls `body` for the leaves that make up a cell, in order.
fn for_leaves_in(tree: &Octree, cell: Cell, body: &mut impl FnMut(usize)) {
    let at = cell.at.map(u32::from);
    if let Some(leaf) = tree.leaf_at(cell.level as usize, at) {
        return body(leaf as usize);
    }
    if cell.level == 0 {
        return;
    }
    for n in 0..8u16 {
        let at = std::array::from_fn(|a| 2 * cell.at[a] + (n >> a & 1));
        for_leaves_in(tree, Cell { at, level: cell.level - 1 }, body);
    }
}

/// Volume of a leaf, m3.
#[inline]
fn cell_m3(tree: &Octree, cell: usize) -> f64 {
    f64::from(tree.cell_dx(cell)).powi(3)
}
