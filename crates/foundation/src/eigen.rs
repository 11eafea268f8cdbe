//! Eigenvalues and eigenvectors of symmetric 3x3 matrices.

use crate::{Mat3, Vec3};

/// A symmetric 3x3 matrix: xx, yy, zz, xy, xz, yz.
pub type Symmetric = [f32; 6];

/// `m = R diag(values) R^T`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eigen {
    /// Eigenvalues, largest first.
    pub values: [f32; 3],
    /// Their eigenvectors: orthonormal, right-handed.
    pub vectors: [Vec3; 3],
}

impl Eigen {
    /// `R diag(values) R^T` with other values.
    pub fn with_values(&self, values: [f32; 3]) -> Symmetric {
        let mut m = [0.0; 6];
        for (v, s) in self.vectors.iter().zip(values) {
            m[0] += s * v.x * v.x;
            m[1] += s * v.y * v.y;
            m[2] += s * v.z * v.z;
            m[3] += s * v.x * v.y;
            m[4] += s * v.x * v.z;
            m[5] += s * v.y * v.z;
        }
        m
    }
}

/// `m x`.
#[inline]
pub fn apply(m: &Symmetric, x: Vec3) -> Vec3 {
    let [xx, yy, zz, xy, xz, yz] = *m;
    Vec3::new(xx * x.x + xy * x.y + xz * x.z, xy * x.x + yy * x.y + yz * x.z, xz * x.x + yz * x.y + zz * x.z)
}

/// Sweeps after which the rest is rounding: convergence is quadratic, four do for any matrix that was tried.
const SWEEPS: usize = 8;

/// Eigenvalues and -vectors by cyclic Jacobi rotations, which keep their accuracy relative to the largest
/// eigenvalue when two or three of them agree, or are zero. Values are scaled first, so that neither tiny nor
/// large ones leave f32.
///
/// Tests: `random_matrices_are_put_together_again`, `degenerate_matrices_keep_orthonormal_vectors`.
pub fn eigen(m: &Symmetric) -> Eigen {
    let scale = m.iter().fold(0.0f32, |a, b| a.max(b.abs()));
    if !(scale > 0.0 && scale.is_finite()) {
        return Eigen { values: [0.0; 3], vectors: [Vec3::X, Vec3::Y, Vec3::Z] };
    }
    let [xx, yy, zz, xy, xz, yz] = m.map(|v| v / scale);
    let mut a = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    let mut vectors = [[1.0f32, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..SWEEPS {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off < 1e-9 {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            rotate(&mut a, &mut vectors, p, q);
        }
    }
    let mut order = [0usize, 1, 2];
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    // Rows of `vectors` are the eigenvectors.
    let row = |i: usize| Vec3::from_array(vectors[i]);
    let (first, second) = (row(order[0]).normalize(), row(order[1]));
    let second = (second - first * first.dot(second)).normalize();
    let basis = Mat3::from_cols(first, second, first.cross(second));
    Eigen { values: order.map(|i| a[i][i] * scale), vectors: [basis.x_axis, basis.y_axis, basis.z_axis] }
}

/// One Jacobi rotation that makes a[p][q] zero.
#[inline]
fn rotate(a: &mut [[f32; 3]; 3], vectors: &mut [[f32; 3]; 3], p: usize, q: usize) {
    let apq = a[p][q];
    if apq == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * apq);
    let t = if theta.abs() > 1e9 {
        0.5 / theta
    } else {
        theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt())
    };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let r = 3 - p - q;
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    (a[p][q], a[q][p]) = (0.0, 0.0);
    let (arp, arq) = (a[r][p], a[r][q]);
    (a[r][p], a[r][q]) = (c * arp - s * arq, s * arp + c * arq);
    (a[p][r], a[q][r]) = (a[r][p], a[r][q]);
    for k in 0..3 {
        let (vp, vq) = (vectors[p][k], vectors[q][k]);
        (vectors[p][k], vectors[q][k]) = (c * vp - s * vq, s * vp + c * vq);
    }
}

#[cfg(test)]
mod tests {
    use super::{Symmetric, apply, eigen};
    use crate::Vec3;
    use crate::random::unit_f32;

    /// Largest error of `m = R diag R^T` and of the vectors' orthonormality, relative to `m`.
    fn error(m: &Symmetric) -> f32 {
        let e = eigen(m);
        let again = e.with_values(e.values);
        let scale = m.iter().fold(f32::MIN_POSITIVE, |a, b| a.max(b.abs()));
        let mut worst = m.iter().zip(&again).fold(0.0f32, |w, (a, b)| w.max((a - b).abs() / scale));
        for i in 0..3 {
            for j in 0..3 {
                let want = if i == j { 1.0 } else { 0.0 };
                worst = worst.max((e.vectors[i].dot(e.vectors[j]) - want).abs());
            }
            // An eigenvector is one: m v = s v.
            let residual = (apply(m, e.vectors[i]) - e.values[i] * e.vectors[i]).length() / scale;
            worst = worst.max(residual);
        }
        assert!(e.values[0] >= e.values[1] && e.values[1] >= e.values[2], "{e:?}");
        assert!(e.vectors[0].cross(e.vectors[1]).dot(e.vectors[2]) > 0.999, "right-handed");
        worst
    }

    #[test]
    fn random_matrices_are_put_together_again() {
        for n in 0..20_000u64 {
            let exponent = 60.0 * (unit_f32(n, 9) - 0.5);
            let m: Symmetric = std::array::from_fn(|k| (unit_f32(n, k as u64) - 0.5) * exponent.exp());
            assert!(error(&m) < 3e-6, "{m:?}: {}", error(&m));
        }
    }

    #[test]
    fn degenerate_matrices_keep_orthonormal_vectors() {
        // Diagonal, double, triple, rank one and rank two in oblique directions, nearly double, zero.
        let outer = |v: Vec3, s: f32| {
            [v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z].map(|c| s * c)
        };
        let add = |a: Symmetric, b: Symmetric| std::array::from_fn(|k| a[k] + b[k]);
        let (u, v) = (Vec3::new(1.0, 2.0, -0.5).normalize(), Vec3::new(2.0, -1.0, 0.0).normalize());
        let cases: [Symmetric; 8] = [
            [0.0; 6],
            [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            [2.0, 2.0, 1e-12, 0.0, 0.0, 0.0],
            outer(u, 3.0),
            add(outer(u, 1.0), outer(v, 1.0)),
            add([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], outer(u, 1e-6)),
            add([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], outer(v, -1.0)),
            [1e-30, 1e-30, 1e-30, 1e-31, 0.0, 0.0],
        ];
        for m in cases {
            assert!(error(&m) < 3e-6, "{m:?}: {}", error(&m));
        }
        // A sheet: one eigenvalue exactly zero, its vector the normal.
        let e = eigen(&add(outer(u, 1.0), outer(v, 0.5)));
        assert!(e.vectors[2].dot(u.cross(v)).abs() > 1.0 - 1e-6 && e.values[2].abs() < 1e-6, "{e:?}");
    }
}
