//! The lattices that samples of a family would form if all cells were of one level, and values on them.

use super::trilinear::between;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::Octree;

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

/// Values of a family on the levels' lattices.
#[derive(Clone, Copy)]
pub struct Lattices<'a> {
    pub tree: &'a Octree,
    pub family: Family,
    pub values: &'a [f32],
}

impl Lattices<'_> {
    /// The value at a place of a level: the sample's; the mean of finer ones; interpolated between coarser
    /// ones; one place beyond a wall, continued linearly. All of these keep linear fields.
    #[inline]
    pub fn value(&self, level: usize, at: [i32; 3]) -> f64 {
        let count = self.family.count(self.tree, level);
        for a in 0..3 {
            if at[a] >= 0 && at[a] < count[a] {
                continue;
            }
            let (mut edge, mut inner) = (at, at);
            edge[a] = at[a].clamp(0, count[a] - 1);
            inner[a] = (2 * edge[a] - at[a]).clamp(0, count[a] - 1);
            return self.value(level, edge) * 2.0 - self.value(level, inner);
        }
        if let Some(sample) = self.family.sample(self.tree, level, at) {
            return self.values[sample as usize] as f64;
        }
        if self.family.is_finer(self.tree, level, at) {
            let (mut sum, mut n) = (0.0, 0.0);
            for child in self.family.children(at) {
                (sum, n) = (sum + self.value(level - 1, child), n + 1.0);
            }
            return sum * (1.0 / n);
        }
        // A coarser lattice has this place at quarters and halves of its cells.
        let offset = self.family.offset();
        let mut x = [0.0; 3];
        for a in 0..3 {
            x[a] = 0.5 * (at[a] as f64 + offset[a] as f64) - offset[a] as f64;
        }
        self.trilinear(level + 1, x)
    }

    /// Trilinear interpolation on a level's lattice at coordinates counted in its samples.
    #[inline]
    pub fn trilinear(&self, level: usize, x_in_lattice: [f64; 3]) -> f64 {
        sum_corners(x_in_lattice, |at| self.value(level, at))
    }

    /// Are all eight samples around a point of this level, and what lies between them?
    #[inline]
    pub fn uniform(&self, level: usize, x_in_lattice: Vec3) -> Option<f32> {
        let count = self.family.count(self.tree, level);
        let (mut low, mut f) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            if count[a] < 2 {
                return None;
            }
            // As `trilinear::split`.
            low[a] = (x_in_lattice[a] as i32).clamp(0, count[a] - 2);
            f[a] = x_in_lattice[a] - low[a] as f32;
        }
        let mut c = [0.0; 8];
        for (c, sample) in c.iter_mut().zip(self.family.samples_around(self.tree, level, low)) {
            *c = *self.values.get(sample as usize)?;
        }
        Some(between(c, f))
    }
}

/// Sum over the eight lattice points around a point, with trilinear weights; points of weight zero are not
/// evaluated.
#[inline]
pub fn sum_corners(x: [f64; 3], mut value: impl FnMut([i32; 3]) -> f64) -> f64 {
    let low = [x[0].floor(), x[1].floor(), x[2].floor()];
    let mut sum = 0.0;
    for o in 0..8 {
        let (mut weight, mut at) = (1.0, [0; 3]);
        for a in 0..3 {
            let high = (o >> a) & 1;
            let f = x[a] - low[a];
            weight *= if high == 1 { f } else { 1.0 - f };
            at[a] = low[a] as i32 + high;
        }
        if weight != 0.0 {
            sum += value(at) * weight;
        }
    }
    sum
}
