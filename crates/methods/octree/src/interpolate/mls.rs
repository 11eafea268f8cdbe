//! Moving least squares [octree §5.1, 5.2].

use super::lattice::{Family, Lattices, Out};
use super::stencil::Even;
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::{Located, OUTSIDE};

/// Least value of a kernel's factors [octree eq. 35], and weight above which a sample is taken [octree §5.2].
pub const EPSILON: f64 = 1e-2;
/// Samples whose weighted variance along some direction falls below this, in squares of the cell size, do not
/// determine a slope there: they lie in a plane.
const FLAT: f64 = 1e-4;
/// Below this a direction has no samples at all.
const NOTHING: f64 = 1e-12;
/// Room for samples: eight on each of three levels, and one that is not taken; a multiple of [`LANES`].
const MOST: usize = 32;
/// Room where a ring at T-junctions is added: two faces of each of the cells on both sides of six faces.
const MOST_WITH_RING: usize = 96;
/// Samples that are compared at a time.
const LANES: usize = 8;
/// Most samples mirrored at walls: less than eight on each of three levels.
const MOST_MIRRORED: usize = 24;
/// Numbers from here on are those of mirrored samples.
const FIRST_MIRRORED: u32 = u32::MAX - MOST_MIRRORED as u32;

/// The samples around a point, and what a fit needs of them as sums in rows of four: weights and weighted offsets (in
/// cells of the point's leaf), and each of these times offsets.
struct Samples<const N: usize> {
    number: [u32; N],
    weight: [f64; N],
    offset: [[f64; N]; 3],
    len: usize,
    /// Place and level of mirrored samples.
    mirrored: [([i32; 3], u32); MOST_MIRRORED],
    mirrored_len: usize,
    /// w, wx, wy, wz.
    first: [f64; 4],
    /// The same times x, y, z.
    second: [[f64; 4]; 3],
}

/// What a fit makes of its samples: sample i counts `w_i (mean - along . d_i)`.
struct Fit {
    mean: f64,
    along: [f64; 3],
}

impl<const N: usize> Samples<N> {
    fn new() -> Self {
        Samples {
            number: [OUTSIDE; N],
            weight: [0.0; N],
            offset: [[0.0; N]; 3],
            len: 0,
            mirrored: [([0; 3], 0); MOST_MIRRORED],
            mirrored_len: 0,
            first: [0.0; 4],
            second: [[0.0; 4]; 3],
        }
    }

    /// The same with room for a ring. Most points need none, and room costs time to clear.
    fn widened(&self) -> Samples<MOST_WITH_RING> {
        let mut wide = Samples::new();
        let Samples { len, mirrored, mirrored_len, first, second, .. } = *self;
        (wide.len, wide.mirrored, wide.mirrored_len) = (len, mirrored, mirrored_len);
        (wide.first, wide.second) = (first, second);
        wide.number[..len].copy_from_slice(&self.number[..len]);
        wide.weight[..len].copy_from_slice(&self.weight[..len]);
        for (wide, own) in wide.offset.iter_mut().zip(&self.offset) {
            wide[..len].copy_from_slice(&own[..len]);
        }
        wide
    }

    /// Adds a sample; one of weight zero is forgotten, without a branch.
    #[inline(always)]
    fn add(&mut self, number: u32, [x, y, z]: [f64; 3], weight: f64) {
        let n = self.len;
        (self.number[n], self.weight[n]) = (number, weight);
        (self.offset[0][n], self.offset[1][n], self.offset[2][n]) = (x, y, z);
        self.len += (weight > 0.0) as usize;
        let row = [weight, weight * x, weight * y, weight * z];
        for j in 0..4 {
            self.first[j] += row[j];
            self.second[0][j] += row[j] * x;
            self.second[1][j] += row[j] * y;
            self.second[2][j] += row[j] * z;
        }
    }

    /// Has a sample been taken? Looks at several at a time without a branch.
    #[inline(always)]
    fn contains(&self, number: u32) -> bool {
        let (rows, _) = self.number.as_chunks::<LANES>();
        let mut found = false;
        for row in &rows[..self.len.div_ceil(LANES)] {
            for &other in row {
                found |= other == number;
            }
        }
        found
    }

    /// The value at the point itself of the linear function that fits best [octree eq. 33, 34]: the weighted
    /// mean, minus the slope times the mean offset. None where samples lie in a plane, unless `flat`
    /// directions are to be left out.
    fn fit(&self, flat: bool) -> Option<Fit> {
        let total = 1.0 / self.first[0];
        let d = [self.first[1] * total, self.first[2] * total, self.first[3] * total];
        // Covariances C of the offsets.
        let c = |a: usize, b: usize| self.second[a][b + 1] * total - d[a] * d[b];
        let c = [[c(0, 0), 0.0, 0.0], [c(1, 0), c(1, 1), 0.0], [c(2, 0), c(2, 1), c(2, 2)]];
        // With b, those of offsets and values, the slope C^-1 b times d is b times C^-1 d.
        let along = if flat { solve_flat(c, d) } else { solve(c, d)? };
        let mean = 1.0 + along[0] * d[0] + along[1] * d[1] + along[2] * d[2];
        Some(Fit { mean: total * mean, along: along.map(|v| total * v) })
    }

    /// Hands out the samples with their weights in a fit.
    fn weigh(&mut self, fit: &Fit, lattices: &Lattices, out: Out) {
        let [x, y, z] = &self.offset;
        for (n, weight) in self.weight[..self.len].iter_mut().enumerate() {
            *weight *= (fit.mean - fit.along[0] * x[n]) - (fit.along[1] * y[n] + fit.along[2] * z[n]);
        }
        for (&number, &weight) in self.number[..self.len].iter().zip(&self.weight) {
            if number < FIRST_MIRRORED {
                out(number, weight);
            } else {
                let (at, level) = self.mirrored[(number - FIRST_MIRRORED) as usize];
                lattices.weigh(level as usize, at, weight, out);
            }
        }
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

/// The samples that the value at a point of the domain is made of: these eight, or what is handed out.
#[inline]
pub fn weigh(tree: &Octree, family: Family, located: &Located, x: Vec3, out: Out) -> Option<Even> {
    let lattices = Lattices { tree, family };
    let mut samples = Samples::<MOST>::new();
    let own = located.level;
    // Kernels of coarser faces reach two cells along their normal.
    let coarser = located.near_coarser || (family != Family::Cells && own + 1 < tree.shape().levels);
    let others = if coarser { collect(&mut samples, &lattices, own, own + 1, x) } else { 0 };
    // Among eight samples of its own level a point is out of reach of finer ones.
    match lattices.even(own, in_lattice(tree, family, own, x)) {
        Some(even) if others == 0 => return Some(even),
        None if located.near_finer => {
            collect(&mut samples, &lattices, own, own - 1, x);
        }
        _ => {}
    }
    collect(&mut samples, &lattices, own, own, x);
    if samples.len > 3
        && let Some(fit) = samples.fit(false)
    {
        samples.weigh(&fit, &lattices, out);
        return None;
    }
    let mut samples = samples.widened();
    add_ring(&mut samples, &lattices, located, x);
    let fit = samples.fit(true).expect("flat directions are left out");
    samples.weigh(&fit, &lattices, out);
    None
}

/// Coordinates on a level's lattice, rounded as `grids::Lattice` does.
fn in_lattice(tree: &Octree, family: Family, level: usize, x: Vec3) -> Vec3 {
    let dx = tree.shape().dx_of(level);
    (x - (tree.shape().min + dx * family.offset())) / dx
}

/// Takes the samples of a level, mirrored ones too, whose kernels exceed [`EPSILON`] at the point; offsets
/// are counted in cells of level `unit`. Returns their number.
#[inline]
fn collect(samples: &mut Samples<MOST>, lattices: &Lattices, unit: usize, level: usize, x: Vec3) -> usize {
    let Lattices { tree, family } = *lattices;
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
        let weight = weight(o);
        let taken = sample != OUTSIDE && weight > EPSILON;
        samples.add(sample, offset(o), if taken { weight } else { 0.0 });
    }
    if !interior {
        for o in (0..8).filter(|&o| weight(o) > EPSILON) {
            let at = [0, 1, 2].map(|a: usize| low[a] + ((o >> a) & 1) as i32);
            let inside = [0, 1, 2].map(|a: usize| at[a].clamp(0, count[a] - 1));
            if at != inside && family.sample(tree, level, inside).is_some() {
                samples.mirrored[samples.mirrored_len] = (at, level as u32);
                samples.mirrored_len += 1;
                samples.add(FIRST_MIRRORED + samples.mirrored_len as u32 - 1, offset(o), weight(o));
            }
        }
    }
    samples.len - before
}

/// Adds the samples next to the nearest one [octree §5.2], with the weights that eq. 35 gives beyond their
/// kernels.
fn add_ring(samples: &mut Samples<MOST_WITH_RING>, lattices: &Lattices, located: &Located, x: Vec3) {
    let Lattices { tree, family } = *lattices;
    let unit = tree.shape().dx_of(located.level) as f64;
    let x = x.as_dvec3().to_array();
    let mut add = |sample: u32| {
        if samples.contains(sample) {
            return;
        }
        let n = sample as usize;
        let (center, size) = match family {
            Family::Cells => (tree.cell_center(n), tree.cell_dx(n)),
            Family::Faces(axis) => (tree.face_center(n, axis), tree.face_dx(n)),
        };
        let (mut d, mut weight) = ([0.0; 3], 1.0);
        for a in 0..3 {
            let distance = center[a] as f64 - x[a];
            d[a] = distance / unit;
            weight *= factor(distance, size as f64);
        }
        samples.add(sample, d, weight);
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

/// The cells on both sides of a leaf's six faces, other than itself: neighbours, and at a larger one's face those that share
/// it.
fn across(tree: &Octree, cell: u32, mut body: impl FnMut(u32)) {
    for &face in &tree.cell_faces()[cell as usize] {
        tree.cells_beside(face as usize)
            .filter(|&other| other != cell as usize)
            .for_each(|other| body(other as u32));
    }
}
