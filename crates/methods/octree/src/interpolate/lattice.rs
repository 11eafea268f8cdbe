//! The lattices that samples of a family would form if all cells were of one level, and what values on them are made of.

use super::stencil::Even;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Cell centres.
    Cells,
    /// Centres of the faces of an axis.
    Faces(Axis),
}

impl Family {
    /// Where a sample lies in its place, in cells.
    #[inline]
    pub fn offset(self) -> Vec3 {
        let mut offset = Vec3::splat(0.5);
        if let Family::Faces(axis) = self {
            offset[axis] = 0.0;
        }
        offset
    }

    /// Samples along each axis if all cells were of a level.
    #[inline]
    pub fn count(self, tree: &Octree, level: usize) -> [i32; 3] {
        let [x, y, z] = tree.shape().cells(level);
        let mut count = [x as i32, y as i32, z as i32];
        if let Family::Faces(axis) = self {
            count[axis] += 1;
        }
        count
    }

    /// The sample at a place, if there is one of this level.
    #[inline]
    pub fn sample(self, tree: &Octree, level: usize, at: [i32; 3]) -> Option<u32> {
        let at = [at[0] as u32, at[1] as u32, at[2] as u32];
        match self {
            Family::Cells => tree.leaf_at(level, at),
            Family::Faces(axis) => tree.face_at(level, axis, at),
        }
    }

    /// The samples at a place and at its neighbours on the high sides, x fastest, `OUTSIDE` without one.
    #[inline]
    pub fn samples_around(self, tree: &Octree, level: usize, at: [i32; 3]) -> [u32; 8] {
        let at = [at[0] as u32, at[1] as u32, at[2] as u32];
        match self {
            Family::Cells => tree.leaves_around(level, at),
            Family::Faces(axis) => tree.faces_around(level, axis, at),
        }
    }

    /// Places of the next finer level whose mean position is this place's: eight cells, or four faces.
    fn children(self, at: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
        (0..8).filter_map(move |o: i32| {
            let child = [2 * at[0] + (o & 1), 2 * at[1] + ((o >> 1) & 1), 2 * at[2] + (o >> 2)];
            match self {
                Family::Faces(axis) if (o >> axis) & 1 == 1 => None,
                _ => Some(child),
            }
        })
    }

    /// Are samples finer at a place without one of its own level?
    #[inline]
    pub fn is_finer(self, tree: &Octree, level: usize, at: [i32; 3]) -> bool {
        let divided = |at: [i32; 3]| tree.is_divided(level, [at[0] as u32, at[1] as u32, at[2] as u32]);
        match self {
            Family::Cells => divided(at),
            // Without a face of this level, a divided cell on one side has one or the wall on the other.
            Family::Faces(axis) => {
                let mut low = at;
                low[axis] -= 1;
                self.sample(tree, level, at).is_none() && (divided(at) || divided(low))
            }
        }
    }
}

/// The lattices of a family on a tree.
#[derive(Clone, Copy)]
pub struct Lattices<'a> {
    pub tree: &'a Octree,
    pub family: Family,
}

/// Takes a sample and its weight.
pub type Out<'a> = &'a mut dyn FnMut(u32, f64);

impl Lattices<'_> {
    /// The samples that the value at a place of a level is made of, times a weight: the place's own sample; the mean
    /// of finer ones; interpolated between coarser ones; one place beyond a wall, continued linearly. All of these
    /// keep linear fields.
    pub fn weigh(&self, level: usize, at: [i32; 3], weight: f64, out: Out) {
        let count = self.family.count(self.tree, level);
        for a in 0..3 {
            if at[a] >= 0 && at[a] < count[a] {
                continue;
            }
            let (mut edge, mut inner) = (at, at);
            edge[a] = at[a].clamp(0, count[a] - 1);
            inner[a] = (2 * edge[a] - at[a]).clamp(0, count[a] - 1);
            self.weigh(level, edge, 2.0 * weight, out);
            return self.weigh(level, inner, -weight, out);
        }
        if let Some(sample) = self.family.sample(self.tree, level, at) {
            return out(sample, weight);
        }
        if self.family.is_finer(self.tree, level, at) {
            let share = weight / self.family.children(at).count() as f64;
            return self.family.children(at).for_each(|child| self.weigh(level - 1, child, share, out));
        }
        // A coarser lattice has this place at quarters and halves of its cells.
        let offset = self.family.offset();
        let mut x = [0.0; 3];
        for a in 0..3 {
            x[a] = 0.5 * (at[a] as f64 + offset[a] as f64) - offset[a] as f64;
        }
        self.weigh_trilinear(level + 1, x, weight, out);
    }

    /// Trilinear interpolation on a level's lattice at coordinates counted in its samples, times a weight.
    #[inline]
    pub fn weigh_trilinear(&self, level: usize, x_in_lattice: [f64; 3], weight: f64, out: Out) {
        for_corners(x_in_lattice, |at, part| self.weigh(level, at, weight * part, out));
    }

    /// The eight samples around a point and the point's fractions between them, if all are of this level.
    #[inline]
    pub fn even(&self, level: usize, x_in_lattice: Vec3) -> Option<Even> {
        let count = self.family.count(self.tree, level);
        let (mut low, mut at) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            if count[a] < 2 {
                return None;
            }
            // As `trilinear::split`.
            low[a] = (x_in_lattice[a] as i32).clamp(0, count[a] - 2);
            at[a] = x_in_lattice[a] - low[a] as f32;
        }
        let samples = self.family.samples_around(self.tree, level, low);
        (!samples.contains(&OUTSIDE)).then_some(Even { samples, at })
    }
}

/// Runs `body(place, weight)` over the eight lattice points around a point with trilinear weights that are not zero.
#[inline]
pub fn for_corners(x: [f64; 3], mut body: impl FnMut([i32; 3], f64)) {
    let low = [x[0].floor(), x[1].floor(), x[2].floor()];
    for o in 0..8 {
        let (mut weight, mut at) = (1.0, [0; 3]);
        for a in 0..3 {
            let high = (o >> a) & 1;
            let f = x[a] - low[a];
            weight *= if high == 1 { f } else { 1.0 - f };
            at[a] = low[a] as i32 + high;
        }
        if weight != 0.0 {
            body(at, weight);
        }
    }
}
