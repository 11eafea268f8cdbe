//! Velocity at the corners of leaves, from the velocities at leaves' centres.
//!
//! Among leaves of one size a node takes the mean of the eight around it. Where sizes differ, the value at the
//! node of the affine field that fits the eight octants' leaves best: exact for linear fields. A node's value
//! depends on its place and on the leaves around it alone, so that every level that keeps the node keeps the same.
//! Beyond walls the leaves go on as their mirror images, whose normal velocity is reversed: at a wall it is zero.

use crate::channels::{CENTER_VELOCITY, CODE, NODE_VELOCITY};
use crate::neighbourhood::{Code, Kind};
use crate::view::{kind_in, value_in};
use fluvial_foundation::{AXES, DVec3, Vec3};
use fluvial_grids::paged::{Layout, Reader, SolverGrid};
use fluvial_grids::pyramid::{Level, Pyramid};

/// What holds the slopes back where the leaves around a node do not determine them, relative to what determines others.
const RIDGE: f64 = 1e-9;

/// Finds the velocity of all nodes. The centres' velocities must be known in all leaves.
pub fn from_centers(pyramid: &mut Pyramid) {
    let levels = pyramid.levels_mut();
    for l in 0..levels.len() {
        let (finer, rest) = levels.split_at_mut(l);
        let (level, coarser) = rest.split_first_mut().expect("level l");
        let around = [finer.last().map(|l| &l.grid), coarser.first().map(|l| &l.grid)];
        nodes_of_level(level, around);
    }
}

fn nodes_of_level(level: &mut Level, [finer, coarser]: [Option<&SolverGrid>; 2]) {
    let layout = *level.grid.layout();
    let steps: [u64; 8] =
        std::array::from_fn(|o| layout.encode([0, 1, 2].map(|a| i64::from(o as u32 >> a & 1) - 1)));
    level.grid.for_each_block(None, NODE_VELOCITY, |_, page, reader, mut out| {
        for cell in 0..64 {
            let code = layout.first_of(page) | cell as u64;
            let around = steps.map(|step| layout.add(code, step));
            let read =
                |channel: usize, at: u64| reader.channel(layout.page(at), channel)[layout.cell_in_page(at)];
            let kinds = around.map(|at| Kind::from_field(read(CODE, at)));
            let is_leaf = |k: &Kind| matches!(k, Kind::Leaf(_));
            if !kinds.iter().any(is_leaf) {
                continue;
            }
            let v = if kinds.iter().all(is_leaf) {
                let sum = |channel: usize| around.iter().map(|&at| read(channel, at)).sum::<f32>();
                Vec3::from_array(CENTER_VELOCITY.map(|c| 0.125 * sum(c)))
            } else {
                Octants { reader, layout, finer, coarser }.fit(layout.decode(code))
            };
            AXES.iter().for_each(|&a| out[a][cell] = v[a]);
        }
    });
}

/// Reads the leaves around nodes.
struct Octants<'a> {
    reader: &'a Reader<'a, 64>,
    layout: Layout,
    finer: Option<&'a SolverGrid>,
    coarser: Option<&'a SolverGrid>,
}

impl Octants<'_> {
    /// The affine fit at a node.
    fn fit(&self, node: [u32; 3]) -> Vec3 {
        let (mut matrix, mut right) = ([[0.0f64; 4]; 4], [DVec3::ZERO; 4]);
        let cells = self.layout.cells();
        for octant in 0..8u32 {
            // Beyond a wall the octant on this side of it stands for its image.
            let mut side = AXES.map(|a| octant >> a & 1);
            let mut mirror = [1.0f64; 3];
            for a in AXES {
                if node[a] == 0 && side[a] == 0 || node[a] == cells[a] && side[a] == 1 {
                    side[a] ^= 1;
                    mirror[a] = -1.0;
                }
            }
            let Some((d, v)) = self.leaf(node, side) else { continue };
            let mirror = DVec3::from_array(mirror);
            let (d, v) = (d * mirror, v.as_dvec3() * mirror);
            let basis = [1.0, d.x, d.y, d.z];
            for i in 0..4 {
                right[i] += basis[i] * v;
                (0..4).for_each(|j| matrix[i][j] += basis[i] * basis[j]);
            }
        }
        (1..4).for_each(|i| matrix[i][i] += RIDGE);
        value_at_origin(matrix, right)
    }

    /// The leaf in an octant of a node: where its centre lies from the node, in cells of the level, and its velocity.
    fn leaf(&self, node: [u32; 3], side: [u32; 3]) -> Option<(DVec3, Vec3)> {
        let at = AXES.map(|a| i64::from(node[a] + side[a]) - 1);
        let own = self.layout.encode(at);
        let from = |center: [f64; 3]| DVec3::from_array(AXES.map(|a| center[a] - f64::from(node[a])));
        let read = |c: usize| self.reader.channel(self.layout.page(own), c)[self.layout.cell_in_page(own)];
        if let Kind::Leaf(_) = Kind::from_field(read(CODE)) {
            let v = Vec3::from_array(CENTER_VELOCITY.map(read));
            return Some((from(at.map(|v| v as f64 + 0.5)), v));
        }
        let in_grid = |grid: &SolverGrid, at: [i64; 3]| {
            let cell = grid.layout().encode(at);
            let v = || Vec3::from_array(CENTER_VELOCITY.map(|c| value_in(grid, c, cell)));
            matches!(kind_in(grid, cell), Kind::Leaf(Code(_))).then(v)
        };
        let fine = AXES.map(|a| i64::from(2 * node[a] + side[a]) - 1);
        if let Some(v) = self.finer.and_then(|grid| in_grid(grid, fine)) {
            return Some((from(fine.map(|v| 0.5 * (v as f64 + 0.5))), v));
        }
        let coarse = at.map(|v| v >> 1);
        let v = self.coarser.and_then(|grid| in_grid(grid, coarse))?;
        Some((from(coarse.map(|v| 2.0 * (v as f64 + 0.5))), v))
    }
}

/// Solves the four equations by elimination with the diagonal as pivots, and returns the field at the node.
fn value_at_origin(mut m: [[f64; 4]; 4], mut r: [DVec3; 4]) -> Vec3 {
    // The slopes are eliminated first, from the last on: what is left is the value.
    for pivot in (1..4).rev() {
        for row in 0..pivot {
            let factor = m[row][pivot] / m[pivot][pivot];
            (0..4).for_each(|c| m[row][c] -= factor * m[pivot][c]);
            let eliminated = factor * r[pivot];
            r[row] -= eliminated;
        }
    }
    (r[0] / m[0][0]).as_vec3()
}
