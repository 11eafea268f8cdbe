//! Tests of `fractions`.

use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_f32;
use fluvial_solids::{open_cell_volume, open_face_area};

/// Corner numbers (x fastest) of a cell's faces, each low-low, high-low, low-high, high-high in its own axes.
const CELL_FACES: [[usize; 4]; 6] =
    [[0, 2, 4, 6], [1, 3, 5, 7], [0, 1, 4, 5], [2, 3, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]];

fn corner(n: usize) -> Vec3 {
    Vec3::new((n & 1) as f32, (n >> 1 & 1) as f32, (n >> 2 & 1) as f32)
}

/// Volume of the unit cube where n . x > d, by the inclusion-exclusion formula over the corners
/// (valid for positive components): V(n . x < d) = sum over corners (-1)^|c| max(0, d - n . c)^3 / (6 n1
/// n2 n3).
fn cube_above(n: Vec3, d: f32) -> f64 {
    let below: f64 = (0..8)
        .map(|c| {
            let rest = (d as f64 - n.as_dvec3().dot(corner(c).as_dvec3())).max(0.0);
            let sign = if (c as u32).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * rest.powi(3)
        })
        .sum::<f64>()
        / (6.0 * (n.x as f64) * (n.y as f64) * (n.z as f64));
    1.0 - below
}

#[test]
fn planes_cut_exact_volumes_and_areas() {
    for trial in 0..300 {
        let r = |k| 0.1 + unit_f32(trial, k);
        let n = Vec3::new(r(0), r(1), r(2));
        let d = unit_f32(trial, 3) * n.element_sum();
        let phi: [f32; 8] = std::array::from_fn(|c| n.dot(corner(c)) - d);
        let exact = cube_above(n, d);
        assert!(
            (open_cell_volume(phi) as f64 - exact).abs() < 3e-5,
            "{n} {d}: {} {exact}",
            open_cell_volume(phi)
        );
        // The complement fills the rest.
        assert!((open_cell_volume(phi.map(|v| -v)) as f64 + exact - 1.0).abs() < 3e-5);
        // A face z = 0: area of the unit square where n.x x + n.y y > d.
        let corner_part = |x: f64| x.max(0.0).powi(2);
        let (nx, ny, d) = (n.x as f64, n.y as f64, d as f64);
        let below = corner_part(d) - corner_part(d - nx) - corner_part(d - ny) + corner_part(d - nx - ny);
        let exact = 1.0 - below / (2.0 * nx * ny);
        let area = open_face_area([phi[0], phi[1], phi[2], phi[3]]);
        assert!((area as f64 - exact).abs() < 1e-5, "{n} {d}: {area} {exact}");
    }
}

/// The part of a tetrahedron's interface, as area vector pointing to phi > 0.
fn interface(points: [Vec3; 4], phi: [f32; 4]) -> Vec3 {
    let (inside, outside): (Vec<usize>, Vec<usize>) = (0..4).partition(|&n| phi[n] <= 0.0);
    let cut = |i: usize, o: usize| points[i].lerp(points[o], phi[i] / (phi[i] - phi[o]));
    let polygon: Vec<Vec3> = match (inside.len(), outside.len()) {
        (1, 3) => outside.iter().map(|&o| cut(inside[0], o)).collect(),
        (3, 1) => inside.iter().map(|&i| cut(i, outside[0])).collect(),
        (2, 2) => {
            let [a, b, c, d] = [inside[0], inside[1], outside[0], outside[1]];
            vec![cut(a, c), cut(a, d), cut(b, d), cut(b, c)]
        }
        _ => return Vec3::ZERO,
    };
    let area: Vec3 = (1..polygon.len() - 1)
        .map(|n| (polygon[n] - polygon[0]).cross(polygon[n + 1] - polygon[0]))
        .sum::<Vec3>()
        * 0.5;
    let outward = points[outside[0]] - points[inside[0]];
    if area.dot(outward) < 0.0 { -area } else { area }
}

/// Divergence theorem on the solid part of a cell: its faces and its interface close up,
/// sum of (1 - open) n over the faces = - interface vector, for any corner values.
#[test]
fn a_cut_cell_is_closed() {
    let mut cut_cells = 0;
    for trial in 0..500 {
        let phi: [f32; 8] = std::array::from_fn(|c| unit_f32(trial, c as u64) - 0.5);
        let mut faces = Vec3::ZERO;
        let mut inner = Vec3::ZERO;
        let center = (Vec3::splat(0.5), phi.iter().sum::<f32>() / 8.0);
        for (f, face) in CELL_FACES.iter().enumerate() {
            let corners = face.map(|n| phi[n]);
            faces[f / 2] += (1.0 - open_face_area(corners)) * if f % 2 == 0 { -1.0 } else { 1.0 };
            let [a, b, c, d] = face.map(|n| (corner(n), phi[n]));
            let m = (0.25 * (a.0 + b.0 + c.0 + d.0), 0.25 * ((a.1 + d.1) + (b.1 + c.1)));
            for (p, q) in [(a, b), (d, c), (b, d), (c, a)] {
                inner += interface([p.0, q.0, m.0, center.0], [p.1, q.1, m.1, center.1]);
            }
        }
        cut_cells += (inner.length() > 0.1) as usize;
        assert!((faces + inner).length() < 1e-5, "{faces} {inner}");
    }
    assert!(cut_cells > 400);
}

#[test]
fn fractions_do_not_care_for_the_order_of_corners() {
    for trial in 0..200 {
        let v: [f32; 8] = std::array::from_fn(|c| unit_f32(trial, c as u64) - 0.5);
        let mirrored: [f32; 8] = std::array::from_fn(|c| v[c ^ 1]);
        let turned: [f32; 8] = std::array::from_fn(|c| v[(c & 4) | (c >> 1 & 1) | (c & 1) << 1]);
        assert!((open_cell_volume(v) - open_cell_volume(mirrored)).abs() < 1e-6);
        assert!((open_cell_volume(v) - open_cell_volume(turned)).abs() < 1e-6);
        assert!(
            (open_face_area([v[0], v[1], v[2], v[3]]) - open_face_area([v[1], v[0], v[3], v[2]])).abs()
                < 1e-6
        );
    }
}
