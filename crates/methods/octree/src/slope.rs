//! Slopes at cells from the cells across their sides.

use fluvial_foundation::DVec3;
use fluvial_grids::Octree;

/// This part of the trace is added to the diagonal of the fit's matrix, so that the slope is zero along
/// directions in which there are no neighbours.
const REGULARISATION: f64 = 1e-7;

/// Slopes of `N` fields at a cell: least squares over the neighbours for which `counts` is true, weighted by
/// the inverse square of their distance. Exact for linear fields wherever the neighbours span the space.
/// Verified by `extend.rs` and `interpolation.rs`.
#[inline]
pub fn slopes<const N: usize>(
    tree: &Octree,
    cell: usize,
    counts: impl Fn(usize) -> bool,
    value: impl Fn(usize) -> [f32; N],
) -> [DVec3; N] {
    let (x, own) = (tree.cell_center(cell).as_dvec3(), value(cell));
    let (mut m, mut b) = ([[0.0; 3]; 3], [DVec3::ZERO; N]);
    tree.for_neighbours(cell, |other| {
        if counts(other) {
            let d = tree.cell_center(other).as_dvec3() - x;
            let weighted = d * (1.0 / d.length_squared());
            for i in 0..3 {
                for j in 0..=i {
                    m[i][j] += weighted[i] * d[j];
                }
            }
            let values = value(other);
            for n in 0..N {
                b[n] += (values[n] as f64 - own[n] as f64) * weighted;
            }
        }
    });
    let trace = m[0][0] + m[1][1] + m[2][2];
    if trace == 0.0 {
        return [DVec3::ZERO; N];
    }
    for (i, row) in m.iter_mut().enumerate() {
        row[i] += REGULARISATION * trace;
    }
    solve(m, b)
}

/// Cholesky's method for a positive definite system, given by its lower half, and several right sides.
#[inline]
fn solve<const N: usize>(m: [[f64; 3]; 3], b: [DVec3; N]) -> [DVec3; N] {
    let xx = m[0][0].sqrt();
    let (xy, xz) = (m[1][0] / xx, m[2][0] / xx);
    let yy = (m[1][1] - xy * xy).sqrt();
    let yz = (m[2][1] - xz * xy) / yy;
    let zz = (m[2][2] - xz * xz - yz * yz).sqrt();
    b.map(|b| {
        let x = b.x / xx;
        let y = (b.y - xy * x) / yy;
        let z = (b.z - xz * x - yz * y) / zz;
        let z = z / zz;
        let y = (y - yz * z) / yy;
        DVec3::new((x - xy * y - xz * z) / xx, y, z)
    })
}
