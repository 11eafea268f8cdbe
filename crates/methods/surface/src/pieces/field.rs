//! The sum of the pieces' bells on a sparse lattice.

use super::shape::{LEVEL, Shape};
use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_grids::Lattice;

/// Samples along the edge of a block.
const EDGE: usize = 8;
/// Samples of a block.
const BLOCK: usize = EDGE * EDGE * EDGE;
/// No block is there.
const NONE: u32 = u32::MAX;

/// The field: [`LEVEL`] minus the sum of the bells, negative in the liquid, on those blocks of a lattice that a bell reaches.
pub struct Field {
    /// The whole lattice.
    pub lattice: Lattice,
    /// Blocks along each axis.
    blocks: [usize; 3],
    /// The place of each block among those that are kept.
    slot: Vec<u32>,
    /// Values of the blocks that are kept.
    values: Vec<f32>,
    /// The first of the shapes that reach each kept block.
    first: Vec<u32>,
    shape: Vec<u32>,
}

impl Field {
    /// Adds up the shapes' bells on a lattice of that spacing.
    pub fn new(shapes: &[Shape], spacing: f32) -> Field {
        let bounds = shapes.iter().fold(Aabb::EMPTY, |all, shape| all.union(shape.reach())).expand(spacing);
        let origin = bounds.min;
        let size = ((bounds.max - origin) / spacing).ceil();
        let lattice = Lattice { size: [size.x, size.y, size.z].map(|n| n as usize + 1), origin, spacing };
        let blocks = lattice.size.map(|n| n.div_ceil(EDGE));
        let mut slot = vec![NONE; blocks[0] * blocks[1] * blocks[2]];
        let (first, shape) = list(shapes, &lattice, blocks, &mut slot);
        let mut field = Field { lattice, blocks, slot, values: vec![], first, shape };
        field.fill(shapes);
        field
    }

    fn fill(&mut self, shapes: &[Shape]) {
        let kept: Vec<usize> = (0..self.slot.len()).filter(|&block| self.slot[block] != NONE).collect();
        let mut values = vec![LEVEL; kept.len() * BLOCK];
        parallel::for_each_chunk_mut(&mut values, BLOCK, |slot, out| {
            let base = self.base(kept[slot]);
            for &n in &self.shape[self.range(slot)] {
                let shape = &shapes[n as usize];
                let Aabb { min, max } = shape.reach();
                let range = |axis: usize| {
                    let sample = |x: Vec3| {
                        (x[axis] - self.lattice.origin[axis]) / self.lattice.spacing - base[axis] as f32
                    };
                    sample(min).max(0.0) as usize..(sample(max).max(0.0) as usize + 2).min(EDGE)
                };
                for k in range(2) {
                    for j in range(1) {
                        for i in range(0) {
                            let x = self.lattice.position(base[0] + i, base[1] + j, base[2] + k);
                            out[i + EDGE * (j + EDGE * k)] -= shape.weight * Shape::bell(shape.place(x));
                        }
                    }
                }
            }
        });
        self.values = values;
    }

    fn range(&self, slot: usize) -> std::ops::Range<usize> {
        self.first[slot] as usize..self.first[slot + 1] as usize
    }

    /// The first sample of a block.
    fn base(&self, block: usize) -> [usize; 3] {
        let [nx, ny, _] = self.blocks;
        [block % nx, block / nx % ny, block / (nx * ny)].map(|n| n * EDGE)
    }

    fn block_of(&self, at: [usize; 3]) -> usize {
        let [i, j, k] = at.map(|n| n / EDGE);
        i + self.blocks[0] * (j + self.blocks[1] * k)
    }

    /// The value of a sample.
    pub fn value(&self, at: [usize; 3]) -> f32 {
        let slot = self.slot[self.block_of(at)];
        if slot == NONE {
            return LEVEL;
        }
        let [i, j, k] = at.map(|n| n % EDGE);
        self.values[slot as usize * BLOCK + i + EDGE * (j + EDGE * k)]
    }

    /// The values of a row of samples.
    pub fn fill_row(&self, j: usize, k: usize, out: &mut [f32]) {
        for (block, out) in out.chunks_mut(EDGE).enumerate() {
            let slot = self.slot[self.block_of([block * EDGE, j, k])];
            if slot == NONE {
                out.fill(LEVEL);
                continue;
            }
            let first = slot as usize * BLOCK + EDGE * (j % EDGE + EDGE * (k % EDGE));
            out.copy_from_slice(&self.values[first..][..out.len()]);
        }
    }

    /// The shapes whose bells may reach a point or places up to so many spacings, at most 1, from it.
    pub fn shapes_near<'a>(
        &'a self,
        x: Vec3,
        spacings: f32,
        shapes: &'a [Shape],
    ) -> impl Iterator<Item = u32> + 'a {
        let margin_m = spacings * self.lattice.spacing;
        self.listed_at(x).iter().copied().filter(move |&n| shapes[n as usize].may_reach(x, margin_m))
    }

    /// The shapes whose bells reach the block that a point lies in, or a spacing more.
    pub fn listed_at(&self, x: Vec3) -> &[u32] {
        let at = ((x - self.lattice.origin) / self.lattice.spacing).max(Vec3::ZERO);
        let at = [at.x, at.y, at.z].map(|n| n as usize);
        let at = std::array::from_fn(|a| at[a].min(self.lattice.size[a] - 1));
        match self.slot[self.block_of(at)] {
            NONE => &[],
            slot => &self.shape[self.range(slot as usize)],
        }
    }
}

/// Gives each block that a bell reaches its place in `slot` and lists the shapes by place.
fn list(shapes: &[Shape], lattice: &Lattice, blocks: [usize; 3], slot: &mut [u32]) -> (Vec<u32>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = vec![];
    for (n, shape) in shapes.iter().enumerate() {
        // A sample more on either side, for vertices that lie between two blocks.
        let reach = shape.reach().expand(lattice.spacing);
        let block = |x: Vec3, axis: usize| {
            let sample = ((x[axis] - lattice.origin[axis]) / lattice.spacing).max(0.0) as usize;
            (sample / EDGE).min(blocks[axis] - 1)
        };
        let [i, j, k] = [0, 1, 2].map(|axis| block(reach.min, axis)..=block(reach.max, axis));
        for k in k {
            for j in j.clone() {
                pairs.extend(i.clone().map(|i| ((i + blocks[0] * (j + blocks[1] * k)) as u32, n as u32)));
            }
        }
    }
    pairs.sort_unstable();
    let mut first = vec![];
    for (n, (block, _)) in pairs.iter().enumerate() {
        if slot[*block as usize] == NONE {
            slot[*block as usize] = first.len() as u32;
            first.push(n as u32);
        }
    }
    first.push(pairs.len() as u32);
    (first, pairs.into_iter().map(|(_, shape)| shape).collect())
}
