//! Moving least squares [octree §5.1, 5.2].

use super::lattice::{Family, Lattices};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::{Located, OUTSIDE, Side};

/// Least value of a kernel's factors [octree eq. 35], and weight above which a sample is taken [octree §5.2].
pub const EPSILON: f64 = 1e-2;
/// Samples whose weighted variance along some direction falls below this, in squares of the cell size, do not
/// determine a slope there: they lie in a plane.
const FLAT: f64 = 1e-4;
/// Below this a direction has no samples at all.
const NOTHING: f64 = 1e-12;
/// Most samples: eight on each of three levels, and room for one that is not taken.
const MOST: usize = 25;
/// Most samples in a ring at T-junctions.
const MOST_IN_RING: usize = 128;

/// No sample of the tree: a mirrored one.
const MIRRORED: u32 = u32::MAX;

/// What a fit needs of the samples around a point, as sums over them in rows of four: weights and weighted
/// offsets (in cells of the point's leaf), each of these times offsets, and times values.
struct Samples {
    number: [u32; MOST],
    len: usize,
    /// w, wx, wy, wz.
    first: [f64; 4],
    /// The same times x, y, z.
    second: [[f64; 4]; 3],
    /// The same times values.
    values: [f64; 4],
}

impl Samples {
    fn new() -> Self {
        Samples { number: [MIRRORED; MOST], len: 0, first: [0.0; 4], second: [[0.0; 4]; 3], values: [0.0; 4] }
    }

    #[inline(always)]
    fn push(&mut self, number: u32, offset: [f64; 3], weight: f64, value: f64) {
        self.number[self.len] = number;
        self.len += 1;
        self.add(offset, weight, value);
    }

    #[inline(always)]
    fn add(&mut self, [x, y, z]: [f64; 3], weight: f64, value: f64) {
        let row = [weight, weight * x, weight * y, weight * z];
        for j in 0..4 {
            self.first[j] += row[j];
            self.second[0][j] += row[j] * x;
            self.second[1][j] += row[j] * y;
            self.second[2][j] += row[j] * z;
            self.values[j] += row[j] * value;
        }
    }

    /// The value at the point itself of the linear function that fits best [octree eq. 33, 34]: the weighted
    /// mean, minus the slope times the mean offset. None where samples lie in a plane, unless `flat`
    /// directions are to be left out.
    fn fit(&self, flat: bool) -> Option<f64> {
        let total = 1.0 / self.first[0];
        let d = [self.first[1] * total, self.first[2] * total, self.first[3] * total];
        // Covariances C of the offsets.
        let c = |a: usize, b: usize| self.second[a][b + 1] * total - d[a] * d[b];
        let c = [[c(0, 0), 0.0, 0.0], [c(1, 0), c(1, 1), 0.0], [c(2, 0), c(2, 1), c(2, 2)]];
        // With b, those of offsets and values, the slope C^-1 b times d is b times C^-1 d.
        let along = if flat { solve_flat(c, d) } else { solve(c, d)? };
        let mean = 1.0 + along[0] * d[0] + along[1] * d[1] + along[2] * d[2];
        let [sum, x, y, z] = self.values;
        Some(total * ((mean * sum - along[0] * x) - (along[1] * y + along[2] * z)))
    }
}

/// Solves a symmetric 3 x 3 system (its lower half) by its cofactors; None where a pivot of the elimination
/// falls below [`FLAT`].
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
#[inline]
pub fn interpolate(tree: &Octree, family: Family, values: &[f32], located: &Located, x: Vec3) -> f32 {
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
        return value as f32;
    }
    add_ring(&mut samples, &lattices, located, x);
    samples.fit(true).expect("flat directions are left out") as f32
}

/// Coordinates on a level's lattice, rounded as `grids::Lattice` does.
fn in_lattice(tree: &Octree, family: Family, level: usize, x: Vec3) -> Vec3 {
    let dx = tree.shape().dx_of(level);
    (x - (tree.shape().min + dx * family.offset())) / dx
}

/// Takes the samples of a level, mirrored ones too, whose kernels exceed [`EPSILON`] at the point; offsets
/// are counted in cells of level `unit`. Returns their number.
#[inline]
fn collect(samples: &mut Samples, lattices: &Lattices, unit: usize, level: usize, x: Vec3) -> usize {
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
    if interior && around == [OUTSIDE; 8] {
        return 0;
    }
    let weight = |o: usize| kernel[0][o & 1] * kernel[1][(o >> 1) & 1] * kernel[2][o >> 2];
    let offset = |o: usize| [d[0][o & 1], d[1][(o >> 1) & 1], d[2][o >> 2]];
    for (o, &sample) in around.iter().enumerate() {
        // Absent samples count with weight zero instead of by a branch: where they are is as good as random.
        let taken = (sample as usize) < values.len() && weight(o) > EPSILON;
        let value = values[if taken { sample as usize } else { 0 }] as f64;
        let (weight, value) = if taken { (weight(o), value) } else { (0.0, 0.0) };
        samples.number[samples.len] = sample;
        samples.len += taken as usize;
        samples.add(offset(o), weight, value);
    }
    if !interior {
        for o in (0..8).filter(|&o| weight(o) > EPSILON) {
            let at = [0, 1, 2].map(|a: usize| low[a] + ((o >> a) & 1) as i32);
            let inside = [0, 1, 2].map(|a: usize| at[a].clamp(0, count[a] - 1));
            if at != inside && family.sample(tree, level, inside).is_some() {
                samples.push(MIRRORED, offset(o), weight(o), lattices.value(level, at));
            }
        }
    }
    samples.len - before
}

/// Adds the samples next to the nearest one [octree §5.2], with the weights that eq. 35 gives beyond their
/// kernels.
fn add_ring(samples: &mut Samples, lattices: &Lattices, located: &Located, x: Vec3) {
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
        samples.add(d, weight, values[n] as f64);
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
