use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_f32;
use fluvial_sheets::{Symmetric, apply, eigen};

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
    let outer =
        |v: Vec3, s: f32| [v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z].map(|c| s * c);
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
