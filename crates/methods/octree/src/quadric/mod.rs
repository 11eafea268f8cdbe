//! Quadratic fits to values at cell centres, on any tree.

mod walls;

pub use walls::{WallContact, is_right_angle, meets};

use fluvial_grids::Octree;
use fluvial_grids::curvature::Derivatives;
use fluvial_grids::octree::OUTSIDE;
use std::sync::LazyLock;

/// Coefficients: 1, x y z, xx yy zz halved, yz zx xy.
const TERMS: usize = 10;
/// The same as a multiple of a register.
const PADDED: usize = 12;
/// Coefficients of a cubic.
const CUBIC_TERMS: usize = 20;
/// Fewer cells do not determine a cubic well.
const FEW_AROUND: usize = 64;
/// Most cells that a cubic is fitted to.
const MOST_AROUND: usize = 192;
/// Most cells that touch a leaf, itself among them: eight at each of eight corners.
const MOST: usize = 64;
/// Second derivatives are pulled to zero by this part of all weights.
const PULL: f64 = 1e-6;
/// The same for a quadric at a wall. The samples lie on one side there, and beside larger cells they hardly determine
/// some second derivatives: with [`PULL`] a distance that was off by 1 was off by 1.9 after the next redistancing,
/// and the surface of still water left its place at a rate of 30 a second.
/// Verified by `redistancing_does_not_feed_on_its_errors`.
const PULL_AT_WALL: f64 = 1e-3;

/// `q(d)`, with `d` counted in the cell's edges from its centre; `q` keeps the unit of the values, over the
/// edge.
#[derive(Clone, Copy, Debug)]
pub struct Quadric {
    c: [f64; TERMS],
}

#[inline]
fn basis([x, y, z]: [f64; 3]) -> [f64; TERMS] {
    [1.0, x, y, z, 0.5 * x * x, 0.5 * y * y, 0.5 * z * z, y * z, z * x, x * y]
}

/// The same with terms of third order.
#[inline]
fn cubic_basis([x, y, z]: [f64; 3]) -> [f64; CUBIC_TERMS] {
    let mut p = [0.0; CUBIC_TERMS];
    p[..TERMS].copy_from_slice(&basis([x, y, z]));
    let (xx, yy, zz) = (x * x, y * y, z * z);
    p[TERMS..].copy_from_slice(&[
        xx * x,
        yy * y,
        zz * z,
        xx * y,
        xx * z,
        yy * x,
        yy * z,
        zz * x,
        zz * y,
        x * y * z,
    ]);
    p
}

/// The cells that touch a leaf, itself among them, each once.
#[derive(Clone, Debug)]
pub struct Touching {
    cells: [u32; MOST],
    len: usize,
    /// Are these 27 equal cells, in order, x fastest?
    even: bool,
    /// Does the leaf touch a wall of the domain?
    pub at_wall: bool,
}

impl Touching {
    /// Of a leaf.
    #[inline]
    pub fn new(tree: &Octree, cell: usize) -> Touching {
        if let Some(even) = Touching::between_equals(tree, cell) {
            return even;
        }
        let nodes = tree.cell_nodes(cell).map(|node| &tree.node_cells()[node as usize]);
        let mut touching = Touching { cells: [0; MOST], len: 0, even: false, at_wall: false };
        for &other in nodes.into_iter().flatten() {
            touching.at_wall |= other == OUTSIDE;
            if other != OUTSIDE && !touching.contains(other) {
                touching.cells[touching.len] = other;
                touching.len += 1;
            }
        }
        touching
    }

    /// Of a leaf between equal ones: from neighbour to neighbour, axis by axis, without a search for the leaf's corners.
    #[inline]
    fn between_equals(tree: &Octree, cell: usize) -> Option<Touching> {
        let equal = tree.cells_of(tree.cells()[cell].level as usize);
        let mut touching = Touching { cells: [0; MOST], len: 27, even: true, at_wall: false };
        touching.cells[13] = cell as u32;
        for (axis, stride) in [(2, 9), (1, 3), (0, 1)] {
            // The middle cells of rows along the axis are known: all along later axes.
            for middle in (13 % (3 * stride)..27).step_by(3 * stride) {
                for (side, place) in [(2 * axis, middle - stride), (2 * axis + 1, middle + stride)] {
                    let next = tree.leaf_across(touching.cells[middle] as usize, side)?;
                    if !equal.contains(&(next as usize)) {
                        return None;
                    }
                    touching.cells[place] = next;
                }
            }
        }
        Some(touching)
    }

    /// Those that a fit may read. Where some are left out the others may lie on one side of the leaf, as at a wall.
    pub fn only(mut self, counts: impl Fn(usize) -> bool) -> Touching {
        if self.cells().iter().all(|&other| counts(other as usize)) {
            return self;
        }
        let mut kept = 0;
        for n in 0..self.len {
            if counts(self.cells[n] as usize) {
                self.cells[kept] = self.cells[n];
                kept += 1;
            }
        }
        Touching { len: kept, even: false, at_wall: true, ..self }
    }

    /// Has a cell been found? Looks at eight at a time without a branch.
    #[inline]
    fn contains(&self, cell: u32) -> bool {
        let (rows, _) = self.cells.as_chunks::<8>();
        let mut found = false;
        for (n, row) in rows[..self.len.div_ceil(8)].iter().enumerate() {
            for (i, &other) in row.iter().enumerate() {
                found |= (other == cell) & (8 * n + i < self.len);
            }
        }
        found
    }

    /// Where a cell lies, in the leaf's edges from its centre.
    #[inline]
    fn offset(tree: &Octree, cell: usize, other: u32) -> [f64; 3] {
        let (x, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
        ((tree.cell_center(other as usize) - x) / dx).as_dvec3().to_array()
    }

    /// The factored normal equations of a fit to these cells.
    fn factor(&self, tree: &Octree, cell: usize) -> [[f64; TERMS]; TERMS] {
        let mut normal = Normal::new();
        for &other in self.cells() {
            let d = Touching::offset(tree, cell, other);
            normal.add(d, basis(d), 0.0);
        }
        normal.factor(if self.at_wall { PULL_AT_WALL } else { PULL })
    }

    /// The fit to values.
    fn fit(
        &self,
        factor: &[[f64; TERMS]; TERMS],
        tree: &Octree,
        value: impl Fn(usize) -> f32,
        cell: usize,
    ) -> Quadric {
        let (mut b, dx) = ([0.0; TERMS], tree.cell_dx(cell));
        for &other in self.cells() {
            let d = Touching::offset(tree, cell, other);
            let (p, weight, value) = (basis(d), weight(d), value(other as usize) as f64 / dx as f64);
            for i in 0..TERMS {
                b[i] += weight * p[i] * value;
            }
        }
        Quadric { c: substitute(factor, b) }
    }

    /// Their numbers.
    #[inline]
    pub fn cells(&self) -> &[u32] {
        &self.cells[..self.len]
    }

    /// Runs `body(offset, value)`, both in the leaf's edges, over these cells and their neighbours: one ring of them, two at
    /// walls, where half of the first is missing.
    fn for_cells_around(
        &self,
        tree: &Octree,
        cell: usize,
        values: &[f32],
        mut body: impl FnMut([f64; 3], f64),
    ) {
        let (mut cells, mut len) = ([0u32; MOST_AROUND], self.len);
        cells[..len].copy_from_slice(self.cells());
        let mut done = 0;
        while done == 0 || (len < FEW_AROUND && done < len) {
            let ring = std::mem::replace(&mut done, len)..len;
            for near in ring {
                tree.for_neighbours(cells[near] as usize, |other| {
                    if len < MOST_AROUND && !cells[..len].contains(&(other as u32)) {
                        cells[len] = other as u32;
                        len += 1;
                    }
                });
            }
        }
        let (x, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
        for &other in &cells[..len] {
            let d = ((tree.cell_center(other as usize) - x) / dx).as_dvec3().to_array();
            body(d, values[other as usize] as f64 / dx as f64);
        }
    }
}

/// Corner of a cell and octant around it where the 27 cells around are found, x fastest.
const EVEN: [(usize, usize); 27] = {
    let mut places = [(0, 0); 27];
    let mut n = 0;
    while n < 27 {
        let (mut corner, mut octant, mut a, mut rest) = (0, 0, 0, n);
        while a < 3 {
            // Low cells from the low corner, high ones from the high corner, own ones from the low one.
            corner |= ((rest % 3 == 2) as usize) << a;
            octant |= ((rest % 3 != 0) as usize) << a;
            rest /= 3;
            a += 1;
        }
        places[n] = (corner, octant);
        n += 1;
    }
    places
};

/// What each of 27 equal cells brings to each coefficient.
static EVEN_FIT: LazyLock<[[f64; PADDED]; 27]> = LazyLock::new(|| {
    let offset = |n: usize| [n % 3, n / 3 % 3, n / 9].map(|v| v as f64 - 1.0);
    std::array::from_fn(|one| {
        let mut normal = Normal::new();
        (0..27).for_each(|n| normal.add(offset(n), basis(offset(n)), if n == one { 1.0 } else { 0.0 }));
        let c = normal.solve(PULL);
        std::array::from_fn(|i| if i < TERMS { c[i] } else { 0.0 })
    })
});

/// Weight of a sample in a fit: near ones count most.
#[inline]
fn weight(d: [f64; 3]) -> f64 {
    let square: f64 = d.iter().map(|v| v * v).sum();
    1.0 / ((0.5 + square) * (0.5 + square))
}

/// The normal equations of a weighted fit.
struct Normal<const N: usize> {
    a: [[f64; N]; N],
    b: [f64; N],
    total: f64,
}

impl<const N: usize> Normal<N> {
    fn new() -> Self {
        Normal { a: [[0.0; N]; N], b: [0.0; N], total: 0.0 }
    }

    #[inline]
    fn add(&mut self, d: [f64; 3], p: [f64; N], value: f64) {
        let weight = weight(d);
        for i in 0..N {
            let w = weight * p[i];
            self.b[i] += w * value;
            // The whole row, though half of it would do: it vectorises.
            for j in 0..N {
                self.a[i][j] += w * p[j];
            }
        }
        self.total += weight;
    }

    fn factor(mut self, pull: f64) -> [[f64; N]; N] {
        for i in 4..N {
            self.a[i][i] += pull * self.total;
        }
        factor(self.a)
    }

    fn solve(self, pull: f64) -> [f64; N] {
        let b = self.b;
        substitute(&self.factor(pull), b)
    }
}

/// A fit at a leaf between cells of different size or at a wall, made ready for any values.
#[derive(Clone, Debug)]
pub struct Prepared {
    touching: Touching,
    factor: [[f64; TERMS]; TERMS],
}

impl Prepared {
    /// None between equal cells: there all leaves share one fit.
    pub fn new(tree: &Octree, cell: usize) -> Option<Prepared> {
        let touching = Touching::new(tree, cell);
        (!touching.even).then(|| Prepared { factor: touching.factor(tree, cell), touching })
    }

    /// As [`Quadric::fit`], to the last bit.
    pub fn fit(&self, tree: &Octree, values: &[f32], cell: usize) -> Quadric {
        self.touching.fit(&self.factor, tree, |other| values[other], cell)
    }
}

impl Quadric {
    /// Least squares over the cells that touch a leaf.
    #[inline]
    pub fn fit(tree: &Octree, values: &[f32], cell: usize) -> Quadric {
        Quadric::fit_to(tree, values, cell, &Touching::new(tree, cell))
    }

    /// The same for cells found before.
    #[inline]
    pub fn fit_to(tree: &Octree, values: &[f32], cell: usize, touching: &Touching) -> Quadric {
        Quadric::fit_values(tree, |other| values[other], cell, touching)
    }

    /// The same for values that a function gives.
    pub fn fit_values(
        tree: &Octree,
        value: impl Fn(usize) -> f32,
        cell: usize,
        touching: &Touching,
    ) -> Quadric {
        if touching.even {
            let (mut c, dx) = ([0.0; PADDED], tree.cell_dx(cell));
            for (&other, part) in touching.cells().iter().zip(EVEN_FIT.iter()) {
                let value = value(other as usize) as f64 / dx as f64;
                for i in 0..PADDED {
                    c[i] += part[i] * value;
                }
            }
            return Quadric { c: std::array::from_fn(|i| c[i]) };
        }
        touching.fit(&touching.factor(tree, cell), tree, value, cell)
    }

    /// Derivatives of the same order of accuracy on any surroundings: as [`Self::fit`] between equal cells,
    /// where errors of odd order cancel; elsewhere the lower part of a cubic, fitted to the cells that touch
    /// a leaf and to their neighbours.
    #[inline]
    pub fn fit_evenly(tree: &Octree, values: &[f32], cell: usize) -> Quadric {
        let touching = Touching::new(tree, cell);
        if touching.even {
            return Quadric::fit_to(tree, values, cell, &touching);
        }
        let mut normal = Normal::new();
        touching.for_cells_around(tree, cell, values, |d, value| normal.add(d, cubic_basis(d), value));
        let c: [f64; CUBIC_TERMS] = normal.solve(PULL);
        Quadric { c: std::array::from_fn(|i| c[i]) }
    }

    /// At the centre.
    pub fn derivatives(&self) -> Derivatives {
        let [second, mixed] = self.bend();
        Derivatives { gradient: self.slope([0.0; 3]), second, mixed }
    }

    /// Value.
    #[inline]
    pub fn value(&self, d: [f64; 3]) -> f64 {
        basis(d).iter().zip(&self.c).map(|(p, c)| p * c).sum()
    }

    /// Gradient.
    #[inline]
    pub fn slope(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let c = &self.c;
        [
            c[1] + c[4] * x + c[8] * z + c[9] * y,
            c[2] + c[5] * y + c[7] * z + c[9] * x,
            c[3] + c[6] * z + c[7] * y + c[8] * x,
        ]
    }

    /// Second derivatives: xx yy zz, then yz zx xy.
    #[inline]
    pub fn bend(&self) -> [[f64; 3]; 2] {
        let c = &self.c;
        [[c[4], c[5], c[6]], [c[7], c[8], c[9]]]
    }

    /// The point of the zero set nearest to the centre, and the slope there: feet of the centre on tangent
    /// planes, one after the other. None where slopes fall below `steep_min` or the way leads out of the
    /// fit's reach.
    #[inline]
    pub fn closest_zero(&self, steep_min: f64) -> Option<([f64; 3], [f64; 3])> {
        let mut y = [0.0; 3];
        let mut slope = self.slope(y);
        let mut step = f64::INFINITY;
        for _ in 0..30 {
            let square: f64 = slope.iter().map(|g| g * g).sum();
            if square < steep_min * steep_min {
                return None;
            }
            let along: f64 = (0..3).map(|a| slope[a] * y[a]).sum::<f64>() - self.value(y);
            let next = [0, 1, 2].map(|a| slope[a] * along / square);
            if next.iter().map(|v| v * v).sum::<f64>() > 6.0 {
                return None;
            }
            step = (0..3).map(|a| (next[a] - y[a]).abs()).fold(0.0, f64::max);
            (y, slope) = (next, self.slope(next));
            if step < 1e-7 {
                break;
            }
        }
        (step < 1e-3).then_some((y, slope))
    }
}

/// Factors a symmetric positive definite matrix (its lower half) by Cholesky's method.
fn factor<const N: usize>(a: [[f64; N]; N]) -> [[f64; N]; N] {
    let mut l = a;
    for i in 0..N {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = if i == j { (l[i][i] - dot).sqrt() } else { (l[i][j] - dot) / l[j][j] };
        }
    }
    l
}

/// Solves a system whose matrix has been factored.
fn substitute<const N: usize>(l: &[[f64; N]; N], b: [f64; N]) -> [f64; N] {
    let mut x = b;
    for i in 0..N {
        x[i] = (x[i] - (0..i).map(|k| l[i][k] * x[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..N).rev() {
        x[i] = (x[i] - (i + 1..N).map(|k| l[k][i] * x[k]).sum::<f64>()) / l[i][i];
    }
    x
}
