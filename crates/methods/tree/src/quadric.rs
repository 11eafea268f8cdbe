//! Quadratic fits to values at cell centres, on any tree.

use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// Coefficients: 1, x y z, xx yy zz halved, yz zx xy.
const TERMS: usize = 10;
/// Most cells that touch a leaf, itself among them: eight at each of eight corners.
const MOST: usize = 64;
/// Pull of second derivatives to zero, relative to all weights: only where samples do not tell, in the cells at a wall.
const PULL: f64 = 1e-6;

/// `q(d)`, with `d` counted in the cell's edges from its centre; `q` keeps the unit of the values, over the edge.
#[derive(Clone, Copy, Debug)]
pub struct Quadric {
    c: [f64; TERMS],
}

#[inline]
fn basis([x, y, z]: [f64; 3]) -> [f64; TERMS] {
    [1.0, x, y, z, 0.5 * x * x, 0.5 * y * y, 0.5 * z * z, y * z, z * x, x * y]
}

impl Quadric {
    /// Least squares over the cells that touch a leaf, near ones first.
    pub fn fit(tree: &Octree, values: &[f32], cell: usize) -> Quadric {
        let (x, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
        let (mut a, mut b, mut total) = ([[0.0; TERMS]; TERMS], [0.0; TERMS], 0.0);
        touching(tree, cell, |other| {
            let d = ((tree.cell_center(other) - x) / dx).as_dvec3().to_array();
            let square: f64 = d.iter().map(|v| v * v).sum();
            let weight = 1.0 / ((0.5 + square) * (0.5 + square));
            let value = values[other] as f64 / dx as f64;
            let p = basis(d);
            for i in 0..TERMS {
                b[i] += weight * p[i] * value;
                for j in 0..=i {
                    a[i][j] += weight * p[i] * p[j];
                }
            }
            total += weight;
        });
        for i in 4..TERMS {
            a[i][i] += PULL * total;
        }
        Quadric { c: solve(a, b) }
    }

    /// Value.
    pub fn value(&self, d: [f64; 3]) -> f64 {
        basis(d).iter().zip(&self.c).map(|(p, c)| p * c).sum()
    }

    /// Gradient.
    pub fn slope(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let c = &self.c;
        [
            c[1] + c[4] * x + c[8] * z + c[9] * y,
            c[2] + c[5] * y + c[7] * z + c[9] * x,
            c[3] + c[6] * z + c[7] * y + c[8] * x,
        ]
    }

    /// Second derivatives: xx yy zz, then yz zx xy.
    pub fn bend(&self) -> [[f64; 3]; 2] {
        let c = &self.c;
        [[c[4], c[5], c[6]], [c[7], c[8], c[9]]]
    }

    /// The point of the zero set nearest to the centre, and the slope there: feet of the centre on tangent planes, one after
    /// the other. None where slopes fall below `steep_min` or the way leads out of the fit's reach.
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
            if step < 1e-9 {
                break;
            }
        }
        (step < 1e-3).then_some((y, slope))
    }
}

/// The leaves around a leaf's corners, itself among them, some of them several times.
#[inline]
pub fn for_touching(tree: &Octree, cell: usize, mut body: impl FnMut(usize)) {
    for node in tree.cell_nodes(cell) {
        for &other in &tree.node_cells()[node as usize] {
            if other != OUTSIDE {
                body(other as usize);
            }
        }
    }
}

/// As [`for_touching`], each once.
fn touching(tree: &Octree, cell: usize, mut body: impl FnMut(usize)) {
    let (mut seen, mut len) = ([0; MOST], 0);
    for_touching(tree, cell, |other| {
        if !seen[..len].contains(&other) {
            seen[len] = other;
            len += 1;
            body(other);
        }
    });
}

/// Solves a symmetric positive definite system (its lower half) by Cholesky's method.
fn solve(a: [[f64; TERMS]; TERMS], b: [f64; TERMS]) -> [f64; TERMS] {
    let (mut l, mut x) = (a, b);
    for i in 0..TERMS {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = if i == j { (l[i][i] - dot).sqrt() } else { (l[i][j] - dot) / l[j][j] };
        }
        x[i] = (x[i] - (0..i).map(|k| l[i][k] * x[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..TERMS).rev() {
        x[i] = (x[i] - (i + 1..TERMS).map(|k| l[k][i] * x[k]).sum::<f64>()) / l[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::{Vec3, random::unit_f32};
    use fluvial_grids::octree::Shape;

    /// Quadratics come back, on cells of any surroundings away from walls.
    #[test]
    fn quadratic_fields_are_fitted_exactly() {
        let shape = Shape { min: Vec3::ZERO, dx: 0.25, levels: 3, roots: [5, 4, 4] };
        let tree =
            Octree::build(shape, 0, |c| unit_f32(c.at[0] as u64 + 9 * c.at[1] as u64, c.at[2] as u64) < 0.3);
        let field = |x: Vec3| 1.0 + x.x - 2.0 * x.y + 0.3 * x.x * x.x - 0.2 * x.y * x.z + 0.1 * x.z * x.z;
        let values: Vec<f32> = (0..tree.cell_count()).map(|c| field(tree.cell_center(c))).collect();
        let bounds = shape.bounds().expand(-0.5);
        let mut inner = 0;
        for cell in (0..tree.cell_count()).filter(|&c| bounds.contains(tree.cell_center(c))) {
            let mut sizes = 0;
            touching(&tree, cell, |_| sizes += 1);
            let dx = tree.cell_dx(cell);
            let q = Quadric::fit(&tree, &values, cell);
            if sizes < 20 {
                continue;
            }
            inner += 1;
            for d in [[0.4, -0.3, 0.2], [-0.5, 0.5, 0.5]] {
                let x = tree.cell_center(cell) + dx * Vec3::new(d[0] as f32, d[1] as f32, d[2] as f32);
                assert!((q.value(d) * dx as f64 - field(x) as f64).abs() < 2e-4, "cell {cell}");
            }
        }
        assert!(inner > 50, "{inner}");
    }
}
