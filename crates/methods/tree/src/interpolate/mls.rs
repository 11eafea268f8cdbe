//! Moving least squares [octree §5.1, 5.2].

use super::lattice::{Family, Lattices};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::{Located, Side};

/// Least value of a kernel's factors [octree eq. 35], and weight above which a sample is taken [octree §5.2].
pub const EPSILON: f64 = 1e-2;
/// Samples whose weighted variance along some direction falls below this, in squares of the cell size, do not determine a
/// slope there: they lie in a plane.
const FLAT: f64 = 1e-4;
/// Below this a direction has no samples at all.
const NOTHING: f64 = 1e-12;
/// Most samples: eight on each of three levels, or a ring around one face at T-junctions.
const MOST: usize = 128;

/// No sample of the tree: a mirrored one.
const MIRRORED: u32 = u32::MAX;

/// Samples around a point: numbers, offsets from it in cells of its leaf, weights, values.
struct Samples {
    number: [u32; MOST],
    offset: [[f64; 3]; MOST],
    weight: [f64; MOST],
    value: [f64; MOST],
    len: usize,
}

impl Samples {
    fn push(&mut self, number: u32, offset: [f64; 3], weight: f64, value: f64) {
        self.number[self.len] = number;
        self.offset[self.len] = offset;
        self.weight[self.len] = weight;
        self.value[self.len] = value;
        self.len += 1;
    }

    /// The value at the point itself of the linear function that fits best [octree eq. 33, 34]: the weighted mean, minus the
    /// slope times the mean offset. None where samples lie in a plane, unless `flat` directions are to be left out.
    fn fit(&self, flat: bool) -> Option<f64> {
        let (mut total, mut mean, mut mean_offset) = (0.0, 0.0, [0.0; 3]);
        for n in 0..self.len {
            let w = self.weight[n];
            total += w;
            mean += w * self.value[n];
            for a in 0..3 {
                mean_offset[a] += w * self.offset[n][a];
            }
        }
        mean /= total;
        for m in &mut mean_offset {
            *m /= total;
        }
        // Covariances of the offsets, and of the offsets with the values.
        let (mut c, mut b) = ([[0.0; 3]; 3], [0.0; 3]);
        for n in 0..self.len {
            let w = self.weight[n] / total;
            let value = self.value[n] - mean;
            let mut d = self.offset[n];
            for a in 0..3 {
                d[a] -= mean_offset[a];
            }
            for i in 0..3 {
                b[i] += w * d[i] * value;
                for j in 0..=i {
                    c[i][j] += w * d[i] * d[j];
                }
            }
        }
        let slope = solve(c, b, flat)?;
        Some(mean - (0..3).map(|a| slope[a] * mean_offset[a]).sum::<f64>())
    }
}

/// Solves a symmetric 3 x 3 system (its lower half) by Cholesky's method; see [`Samples::fit`] for `flat`.
fn solve(c: [[f64; 3]; 3], b: [f64; 3], flat: bool) -> Option<[f64; 3]> {
    let (mut l, mut y) = ([[0.0; 3]; 3], [0.0; 3]);
    for i in 0..3 {
        for j in 0..i {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = if l[j][j] > 0.0 { (c[i][j] - dot) / l[j][j] } else { 0.0 };
        }
        let pivot = c[i][i] - (0..i).map(|k| l[i][k] * l[i][k]).sum::<f64>();
        if pivot < FLAT && !flat {
            return None;
        }
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
    Some(slope)
}

/// One factor of a sample's kernel [octree eq. 35].
#[inline]
fn factor(distance: f64, size: f64) -> f64 {
    (1.0 - distance.abs() / size).max(EPSILON)
}

/// Value at a point of the domain.
pub fn interpolate(tree: &Octree, family: Family, values: &[f32], located: &Located, x: Vec3) -> f32 {
    let lattices = Lattices { tree, family, values };
    let mut samples = Samples {
        number: [0; MOST],
        offset: [[0.0; 3]; MOST],
        weight: [0.0; MOST],
        value: [0.0; MOST],
        len: 0,
    };
    let own = located.level;
    // Kernels of coarser faces reach two cells along their normal.
    let coarser = located.near_coarser || (family != Family::Cells && own + 1 < tree.shape().levels);
    let mut others = 0;
    if located.near_finer {
        others += collect(&mut samples, &lattices, own, own - 1, x);
    }
    if coarser {
        others += collect(&mut samples, &lattices, own, own + 1, x);
    }
    if others == 0
        && let Some(value) = lattices.uniform(own, in_lattice(tree, family, own, x))
    {
        return value;
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

/// Takes the samples of a level, mirrored ones too, whose kernels exceed [`EPSILON`] at the point; offsets are counted in
/// cells of level `unit`. Returns their number.
fn collect(samples: &mut Samples, lattices: &Lattices, unit: usize, level: usize, x: Vec3) -> usize {
    let Lattices { tree, family, values } = *lattices;
    let (count, before) = (family.count(tree, level), samples.len);
    let offset = family.offset();
    let dx = tree.shape().dx_of(level) as f64;
    let scale = dx / tree.shape().dx_of(unit) as f64;
    let mut at_point = [0.0; 3];
    for a in 0..3 {
        at_point[a] = (x[a] as f64 - tree.shape().min[a] as f64) / dx - offset[a] as f64;
    }
    let low = [at_point[0].floor(), at_point[1].floor(), at_point[2].floor()];
    let at_low = [low[0] as i32, low[1] as i32, low[2] as i32];
    let around = family.samples_around(tree, level, at_low);
    for o in 0..8 {
        let (mut at, mut inside, mut d, mut weight) = (at_low, at_low, [0.0; 3], 1.0);
        for a in 0..3 {
            at[a] += (o >> a) & 1;
            d[a] = at[a] as f64 - at_point[a];
            weight *= factor(d[a], 1.0);
            inside[a] = at[a].clamp(0, count[a] - 1);
        }
        if weight <= EPSILON {
            continue;
        }
        let offset = [d[0] * scale, d[1] * scale, d[2] * scale];
        if at == inside {
            let sample = around[o as usize];
            if let Some(&value) = values.get(sample as usize) {
                samples.push(sample, offset, weight, value as f64);
            }
        } else if family.sample(tree, level, inside).is_some() {
            samples.push(MIRRORED, offset, weight, lattices.value(level, at));
        }
    }
    samples.len - before
}

/// Adds the samples next to the nearest one [octree §5.2], with the weights that eq. 35 gives beyond their kernels.
fn add_ring(samples: &mut Samples, lattices: &Lattices, located: &Located, x: Vec3) {
    let Lattices { tree, family, values } = *lattices;
    let unit = tree.shape().dx_of(located.level) as f64;
    let mut add = |sample: u32| {
        if samples.number[..samples.len].contains(&sample) {
            return;
        }
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
        samples.push(sample, d, weight, values[n] as f64);
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
