//! Moving least squares [octree §5.1, 5.2].

use super::lattice::{Family, Lattices, Value};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::{Located, Side};
use std::ops::{AddAssign, Mul, Sub};

/// Least value of a kernel's factors [octree eq. 35], and weight above which a sample is taken [octree §5.2].
pub const EPSILON: f64 = 1e-2;
/// Samples whose weighted variance along some direction falls below this, in squares of the cell size, do not determine a
/// slope there: they lie in a plane.
const FLAT: f64 = 1e-4;
/// Below this a direction has no samples at all.
const NOTHING: f64 = 1e-12;
/// Most samples: eight on each of three levels.
const MOST: usize = 24;
/// Most samples in a ring at T-junctions.
const MOST_IN_RING: usize = 128;

/// No sample of the tree: a mirrored one.
const MIRRORED: u32 = u32::MAX;

/// What a fit needs of the samples around a point: sums over them of weights, offsets in cells of the point's leaf, values, and
/// products of these.
struct Samples<W> {
    number: [u32; MOST],
    len: usize,
    weight: f64,
    offset: [f64; 3],
    /// xx xy yy xz yz zz.
    squares: [f64; 6],
    value: W,
    products: [W; 3],
}

impl<W> Samples<W>
where
    W: Copy + Default + AddAssign + Sub<Output = W> + Mul<f64, Output = W>,
{
    fn new() -> Self {
        Samples {
            number: [MIRRORED; MOST],
            len: 0,
            weight: 0.0,
            offset: [0.0; 3],
            squares: [0.0; 6],
            value: W::default(),
            products: [W::default(); 3],
        }
    }

    #[inline(always)]
    fn push(&mut self, number: u32, offset: [f64; 3], weight: f64, value: W) {
        self.number[self.len] = number;
        self.len += 1;
        self.add(offset, weight, value);
    }

    #[inline(always)]
    fn add(&mut self, [x, y, z]: [f64; 3], weight: f64, value: W) {
        let w = [weight * x, weight * y, weight * z];
        self.weight += weight;
        self.value += value * weight;
        for a in 0..3 {
            self.offset[a] += w[a];
            self.products[a] += value * w[a];
        }
        let squares = [w[0] * x, w[1] * x, w[1] * y, w[2] * x, w[2] * y, w[2] * z];
        for (sum, square) in self.squares.iter_mut().zip(squares) {
            *sum += square;
        }
    }

    /// The value at the point itself of the linear function that fits best [octree eq. 33, 34]: the weighted mean, minus the
    /// slope times the mean offset. None where samples lie in a plane, unless `flat` directions are to be left out.
    fn fit(&self, flat: bool) -> Option<W> {
        let total = 1.0 / self.weight;
        let mean = self.value * total;
        let d = self.offset.map(|d| d * total);
        // Covariances C of the offsets, and b of the offsets with the values.
        let s = self.squares.map(|s| s * total);
        let c = [
            [s[0] - d[0] * d[0], 0.0, 0.0],
            [s[1] - d[1] * d[0], s[2] - d[1] * d[1], 0.0],
            [s[3] - d[2] * d[0], s[4] - d[2] * d[1], s[5] - d[2] * d[2]],
        ];
        // The slope C^-1 b times d, as b times C^-1 d: one system for all components.
        let along = if flat { solve_flat(c, d) } else { solve(c, d)? };
        let b = |a: usize| self.products[a] * total - mean * d[a];
        Some(mean - b(0) * along[0] - b(1) * along[1] - b(2) * along[2])
    }
}

/// Solves a symmetric 3 x 3 system (its lower half) by its cofactors; None where a pivot of the elimination falls below [`FLAT`].
#[inline]
fn solve(c: [[f64; 3]; 3], b: [f64; 3]) -> Option<[f64; 3]> {
    let [[xx, _, _], [xy, yy, _], [xz, yz, zz]] = c;
    let minor = xx * yy - xy * xy;
    let adjugate = [
        [yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy],
        [xz * yz - xy * zz, xx * zz - xz * xz, xy * xz - xx * yz],
        [xy * yz - xz * yy, xy * xz - xx * yz, minor],
    ];
    let determinant = xx * adjugate[0][0] + xy * adjugate[0][1] + xz * adjugate[0][2];
    if xx < FLAT || minor < FLAT * xx || determinant < FLAT * minor {
        return None;
    }
    let scale = 1.0 / determinant;
    Some(adjugate.map(|row| (row[0] * b[0] + row[1] * b[1] + row[2] * b[2]) * scale))
}

/// The same by Cholesky's method with directions that have no samples left out.
fn solve_flat(c: [[f64; 3]; 3], b: [f64; 3]) -> [f64; 3] {
    let (mut l, mut y) = ([[0.0; 3]; 3], [0.0; 3]);
    for i in 0..3 {
        for j in 0..i {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = if l[j][j] > 0.0 { (c[i][j] - dot) / l[j][j] } else { 0.0 };
        }
        let pivot = c[i][i] - (0..i).map(|k| l[i][k] * l[i][k]).sum::<f64>();
        if pivot < NOTHING {
            continue;
        }
        l[i][i] = pivot.sqrt();
        y[i] = (b[i] - (0..i).map(|k| l[i][k] * y[k]).sum::<f64>()) / l[i][i];
    }
    let mut slope = [0.0; 3];
    for i in (0..3).rev().filter(|&i| l[i][i] > 0.0) {
        slope[i] = (y[i] - (i + 1..3).map(|k| l[k][i] * slope[k]).sum::<f64>()) / l[i][i];
    }
    slope
}

/// One factor of a sample's kernel [octree eq. 35].
#[inline]
fn factor(distance: f64, size: f64) -> f64 {
    (1.0 - distance.abs() / size).max(EPSILON)
}

/// Value at a point of the domain.
pub fn interpolate<V: Value>(tree: &Octree, family: Family, values: &[V], located: &Located, x: Vec3) -> V {
    let lattices = Lattices { tree, family, values };
    let mut samples = Samples::new();
    let own = located.level;
    // Kernels of coarser faces reach two cells along their normal.
    let coarser = located.near_coarser || (family != Family::Cells && own + 1 < tree.shape().levels);
    let others = if coarser { collect(&mut samples, &lattices, own, own + 1, x) } else { 0 };
    // Among eight samples of its own level a point is out of reach of finer ones.
    match lattices.uniform(own, in_lattice(tree, family, own, x)) {
        Some(value) if others == 0 => return value,
        None if located.near_finer => {
            collect(&mut samples, &lattices, own, own - 1, x);
        }
        _ => {}
    }
    collect(&mut samples, &lattices, own, own, x);
    if samples.len > 3
        && let Some(value) = samples.fit(false)
    {
        return V::narrow(value);
    }
    add_ring(&mut samples, &lattices, located, x);
    V::narrow(samples.fit(true).expect("flat directions are left out"))
}

/// Coordinates on a level's lattice, rounded as `grids::Lattice` does.
fn in_lattice(tree: &Octree, family: Family, level: usize, x: Vec3) -> Vec3 {
    let dx = tree.shape().dx_of(level);
    (x - (tree.shape().min + dx * family.offset())) / dx
}

/// Takes the samples of a level, mirrored ones too, whose kernels exceed [`EPSILON`] at the point; offsets are counted in
/// cells of level `unit`. Returns their number.
#[inline]
fn collect<V: Value>(
    samples: &mut Samples<V::Wide>,
    lattices: &Lattices<V>,
    unit: usize,
    level: usize,
    x: Vec3,
) -> usize {
    let Lattices { tree, family, values } = *lattices;
    let (count, before) = (family.count(tree, level), samples.len);
    let (offset, shape) = (family.offset(), tree.shape());
    let inverse = 1.0 / shape.dx_of(level) as f64;
    let scale = if level < unit { 0.5 } else { (1 << (level - unit)) as f64 };
    // Of the two samples along each axis: kernels and offsets.
    let (mut low, mut kernel, mut d, mut interior) = ([0; 3], [[0.0; 2]; 3], [[0.0; 2]; 3], true);
    for a in 0..3 {
        let at_point = (x[a] as f64 - shape.min[a] as f64) * inverse - offset[a] as f64;
        let floor = at_point.floor();
        let f = at_point - floor;
        low[a] = floor as i32;
        kernel[a] = [(1.0 - f).max(EPSILON), f.max(EPSILON)];
        d[a] = [-f * scale, (1.0 - f) * scale];
        interior &= low[a] >= 0 && low[a] + 1 < count[a];
    }
    let around = family.samples_around(tree, level, low);
    for o in 0..8 {
        let [i, j, k] = [o & 1, (o >> 1) & 1, o >> 2];
        let weight = kernel[0][i] * kernel[1][j] * kernel[2][k];
        if weight <= EPSILON {
            continue;
        }
        let offset = [d[0][i], d[1][j], d[2][k]];
        if let Some(&value) = values.get(around[o] as usize) {
            samples.push(around[o], offset, weight, value.wide());
        } else if !interior {
            let at = [low[0] + i as i32, low[1] + j as i32, low[2] + k as i32];
            let inside = [0, 1, 2].map(|a: usize| at[a].clamp(0, count[a] - 1));
            if at != inside && family.sample(tree, level, inside).is_some() {
                samples.push(MIRRORED, offset, weight, lattices.value(level, at));
            }
        }
    }
    samples.len - before
}

/// Adds the samples next to the nearest one [octree §5.2], with the weights that eq. 35 gives beyond their kernels.
fn add_ring<V: Value>(samples: &mut Samples<V::Wide>, lattices: &Lattices<V>, located: &Located, x: Vec3) {
    let Lattices { tree, family, values } = *lattices;
    let unit = tree.shape().dx_of(located.level) as f64;
    let (mut ring, mut len) = ([0; MOST_IN_RING], 0);
    let mut add = |sample: u32| {
        if samples.number[..samples.len].contains(&sample) || ring[..len].contains(&sample) {
            return;
        }
        ring[len] = sample;
        len += 1;
        let n = sample as usize;
        let (center, size) = match family {
            Family::Cells => (tree.cell_center(n), tree.cell_dx(n)),
            Family::Faces(axis) => (tree.face_center(n, axis), tree.face_dx(n)),
        };
        let (mut d, mut weight) = ([0.0; 3], 1.0);
        for a in 0..3 {
            let distance = center[a] as f64 - x[a] as f64;
            d[a] = distance / unit;
            weight *= factor(distance, size as f64);
        }
        samples.add(d, weight, values[n].wide());
    };
    // The nearest sample is the own leaf's, or one that its sides share with neighbours.
    match family {
        Family::Cells => {
            add(located.cell);
            across(tree, located.cell, add);
        }
        Family::Faces(axis) => {
            let mut both = |cell: u32| {
                let faces = tree.cell_faces()[cell as usize];
                add(faces[2 * axis]);
                add(faces[2 * axis + 1]);
            };
            both(located.cell);
            across(tree, located.cell, both);
        }
    }
}

/// The cells across the six sides of a leaf.
fn across(tree: &Octree, cell: u32, mut body: impl FnMut(u32)) {
    for &face in &tree.cell_faces()[cell as usize] {
        for side in tree.sides(face as usize) {
            match side {
                Side::Outside => {}
                Side::Cell(other) => body(other),
                Side::Quad(others) => others.into_iter().for_each(&mut body),
            }
        }
    }
}
