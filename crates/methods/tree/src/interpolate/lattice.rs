//! The lattices that samples of a family would form if all cells were of one level, and values on them.

use super::trilinear::between;
use fluvial_foundation::{Axis, DVec3, Vec3};
use fluvial_grids::Octree;
use std::ops::{Add, AddAssign, Mul, Sub};

/// What can be interpolated: numbers and vectors.
pub trait Value: Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<f32, Output = Self> {
    /// The same in double precision, in which sums are formed.
    type Wide: Copy
        + Default
        + AddAssign
        + Add<Output = Self::Wide>
        + Sub<Output = Self::Wide>
        + Mul<f64, Output = Self::Wide>;
    /// Sums over samples of the value times four factors.
    type Sums: Default;
    /// To double precision.
    fn wide(self) -> Self::Wide;
    /// And back.
    fn narrow(wide: Self::Wide) -> Self;
    /// Adds a sample to sums.
    fn add_to(sums: &mut Self::Sums, factors: [f64; 4], value: Self::Wide);
    /// The four sums times coefficients.
    fn combine(sums: &Self::Sums, coefficients: [f64; 4]) -> Self::Wide;
}

#[inline(always)]
fn add4(sums: &mut [f64; 4], factors: [f64; 4], value: f64) {
    for j in 0..4 {
        sums[j] += factors[j] * value;
    }
}

#[inline(always)]
fn dot4(a: &[f64; 4], b: [f64; 4]) -> f64 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])
}

impl Value for f32 {
    type Wide = f64;
    type Sums = [f64; 4];
    #[inline(always)]
    fn add_to(sums: &mut [f64; 4], factors: [f64; 4], value: f64) {
        add4(sums, factors, value);
    }
    #[inline(always)]
    fn combine(sums: &[f64; 4], coefficients: [f64; 4]) -> f64 {
        dot4(sums, coefficients)
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn narrow(wide: f64) -> f32 {
        wide as f32
    }
}

impl Value for Vec3 {
    type Wide = DVec3;
    type Sums = [[f64; 4]; 3];
    #[inline(always)]
    fn add_to(sums: &mut [[f64; 4]; 3], factors: [f64; 4], value: DVec3) {
        for a in 0..3 {
            add4(&mut sums[a], factors, value[a]);
        }
    }
    #[inline(always)]
    fn combine(sums: &[[f64; 4]; 3], coefficients: [f64; 4]) -> DVec3 {
        DVec3::from_array([0, 1, 2].map(|a| dot4(&sums[a], coefficients)))
    }
    #[inline(always)]
    fn wide(self) -> DVec3 {
        self.as_dvec3()
    }
    #[inline(always)]
    fn narrow(wide: DVec3) -> Vec3 {
        wide.as_vec3()
    }
}

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
pub struct Lattices<'a, V> {
    pub tree: &'a Octree,
    pub family: Family,
    pub values: &'a [V],
}

impl<V: Value> Lattices<'_, V> {
    /// The value at a place of a level: the sample's; the mean of finer ones; interpolated between coarser ones; one place
    /// beyond a wall, continued linearly. All of these keep linear fields.
    pub fn value(&self, level: usize, at: [i32; 3]) -> V::Wide {
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
            return self.values[sample as usize].wide();
        }
        if self.family.is_finer(self.tree, level, at) {
            let (mut sum, mut n) = (V::Wide::default(), 0.0);
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
    pub fn trilinear(&self, level: usize, x_in_lattice: [f64; 3]) -> V::Wide {
        sum_corners(x_in_lattice, |at| self.value(level, at))
    }

    /// Are all eight samples around a point of this level, and what lies between them?
    pub fn uniform(&self, level: usize, x_in_lattice: Vec3) -> Option<V> {
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
        let mut c = [V::default(); 8];
        for (c, sample) in c.iter_mut().zip(self.family.samples_around(self.tree, level, low)) {
            *c = *self.values.get(sample as usize)?;
        }
        Some(between(c, f))
    }
}

/// Sum over the eight lattice points around a point, with trilinear weights; points of weight zero are not asked for.
pub fn sum_corners<W>(x: [f64; 3], mut value: impl FnMut([i32; 3]) -> W) -> W
where
    W: Default + AddAssign + Mul<f64, Output = W>,
{
    let low = [x[0].floor(), x[1].floor(), x[2].floor()];
    let mut sum = W::default();
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
