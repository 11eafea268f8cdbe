//! Cells that both the interface and a solid cut: the common part of two regions, by tetrahedra.

use crate::volume::Neighbourhood;
use fluvial_foundation::DVec3;

/// A surface counts as level by this power of the cosine of its slope: 0.8 at 10 degrees, 0.1 at 30.
const LEVEL_POWER: i32 = 16;

/// Share of the open part (solid phi >= 0, given at the corners) of cell `c` that is liquid (phi < 0).
///
/// The cell is cut into 24 tetrahedra (centre, face centre, edge), symmetric in all axes; both fields are
/// linear on each. With a direction `up`, in units of 1 / dx, a surface across it is taken level in the cell, at the height
/// that it has at the cell's centre ([`crate::liquid_fractions`] says why): phi gives way to its part along `up` by a power of
/// its slope there, so that films on slopes, steep surfaces and sheets are as they are.
pub(crate) fn cut_cell_share(around: &Neighbourhood, solid: [f64; 8], c: [isize; 3], up: DVec3) -> f64 {
    let mut liquid: [f64; 27] =
        std::array::from_fn(|n| around.at(std::array::from_fn(|a| c[a] + offset(n, a))));
    if up != DVec3::ZERO {
        let slope = |a: usize| 0.5 * (liquid[13 + 3usize.pow(a as u32)] - liquid[13 - 3usize.pow(a as u32)]);
        let rise = DVec3::new(slope(0), slope(1), slope(2)).dot(up);
        let (level, along) = (rise.clamp(0.0, 1.0).powi(LEVEL_POWER), rise * up / up.length_squared());
        let center = liquid[13];
        for (n, phi) in liquid.iter_mut().enumerate() {
            let d = DVec3::new(offset(n, 0) as f64, offset(n, 1) as f64, offset(n, 2) as f64);
            *phi += level * (center + along.dot(d) - *phi);
        }
    }
    // Samples at the cell's corners: the mean of eight cells, and the node itself.
    let corner = |n: usize| -> [f64; 2] {
        let side = |a: usize| if n >> a & 1 == 1 { 1 } else { -1 };
        let sum: f64 = (0..8)
            .map(|m| liquid[sample(std::array::from_fn(|a| if m >> a & 1 == 1 { side(a) } else { 0 }))])
            .sum();
        [sum / 8.0, solid[n]]
    };
    let corners: [[f64; 2]; 8] = std::array::from_fn(corner);
    let center = [liquid[13], solid.iter().sum::<f64>() / 8.0];
    let (mut open, mut wet) = (0.0, 0.0);
    for face in 0..6 {
        let (axis, high) = (face / 2, face % 2);
        let mut toward = [0; 3];
        toward[axis] = if high == 1 { 1 } else { -1 };
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let ring = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(a, b)| corners[high << axis | a << u | b << v]);
        let middle = [
            0.5 * (liquid[13] + liquid[sample(toward)]),
            0.25 * ((ring[0][1] + ring[2][1]) + (ring[1][1] + ring[3][1])),
        ];
        for edge in 0..4 {
            let tetrahedron = [center, middle, ring[edge], ring[(edge + 1) % 4]];
            let open_part = share_below(tetrahedron.map(|p| -p[1]));
            open += open_part;
            wet += open_part - wet_and_solid_complement(tetrahedron);
        }
    }
    if open > 0.0 { (wet / open).clamp(0.0, 1.0) } else { (center[0] < 0.0) as u8 as f64 }
}

/// Share of the open part of a box that is liquid. Its open part is the same in every section along one axis: `solid` is the
/// solid's distance at the corners of a section, around it. `liquid` is phi at the corners of both ends and at their centres.
///
/// The section is cut into the triangles that [`cut_cell_share`] has on a cell's faces, the box over each of them into three
/// tetrahedra: the share of a short box is how the share of the cell behind it changes with the box.
pub(crate) fn open_prism_share(liquid: [([f64; 4], f64); 2], solid: [f64; 4]) -> f64 {
    let [begin, end] = liquid.map(|(corners, center)| {
        let ring: [[f64; 2]; 4] = std::array::from_fn(|n| [corners[n], solid[n]]);
        (ring, [center, 0.25 * ((solid[0] + solid[2]) + (solid[1] + solid[3]))])
    });
    let (mut open, mut wet) = (0.0, 0.0);
    for n in 0..4 {
        let m = (n + 1) % 4;
        let [a, b] = [begin, end].map(|(ring, center)| [center, ring[n], ring[m]]);
        for tetrahedron in [[a[0], a[1], a[2], b[2]], [a[0], a[1], b[1], b[2]], [a[0], b[0], b[1], b[2]]] {
            let open_part = share_below(tetrahedron.map(|p| -p[1]));
            open += open_part;
            wet += open_part - wet_and_solid_complement(tetrahedron);
        }
    }
    if open > 0.0 { (wet / open).clamp(0.0, 1.0) } else { (begin.1[0] < 0.0) as u8 as f64 }
}

/// Open but dry share of a tetrahedron with vertex values (liquid phi, solid phi).
fn wet_and_solid_complement(tetrahedron: [[f64; 2]; 4]) -> f64 {
    let mut sum = 0.0;
    for_each_part_above(tetrahedron, |share, part| sum += share * share_below(part.map(|p| -p[1])));
    sum
}

/// Component `a` of the offset of sample `n` of 3x3x3.
fn offset(n: usize, a: usize) -> isize {
    ([n % 3, n / 3 % 3, n / 9][a]) as isize - 1
}

fn sample(d: [isize; 3]) -> usize {
    ((d[0] + 1) + 3 * (d[1] + 1) + 9 * (d[2] + 1)) as usize
}

/// Share of a tetrahedron where the linear function with these vertex values is negative.
fn share_below(mut v: [f64; 4]) -> f64 {
    v.sort_by(f64::total_cmp);
    let [a, b, c, d] = v;
    if a >= 0.0 {
        0.0
    } else if d < 0.0 {
        1.0
    } else if b >= 0.0 {
        a * a * a / ((a - b) * (a - c) * (a - d))
    } else if c < 0.0 {
        1.0 - d * d * d / ((d - a) * (d - b) * (d - c))
    } else {
        // Two below: a wedge, as the sum of the tetrahedra of its triangulation.
        let (ac, ad, bc, bd) = (a / (a - c), a / (a - d), b / (b - c), b / (b - d));
        ac * ad * (1.0 - bc) + bc * ad + bc * bd * (1.0 - ad)
    }
}

/// Cuts a tetrahedron where its first value changes sign and gives the pieces where it is not negative,
/// with their share of the volume.
fn for_each_part_above(tetrahedron: [[f64; 2]; 4], mut body: impl FnMut(f64, [[f64; 2]; 4])) {
    let mut p = tetrahedron;
    p.sort_by(|a, b| b[0].total_cmp(&a[0])); // above first
    let above = p.iter().filter(|v| v[0] >= 0.0).count();
    let cut = |a: [f64; 2], b: [f64; 2]| {
        let t = a[0] / (a[0] - b[0]);
        ([0.0, a[1] + t * (b[1] - a[1])], t)
    };
    match above {
        0 => {}
        4 => body(1.0, p),
        1 => {
            let ((b, tb), (c, tc), (d, td)) = (cut(p[0], p[1]), cut(p[0], p[2]), cut(p[0], p[3]));
            body(tb * tc * td, [p[0], b, c, d]);
        }
        3 => {
            // The corner below is cut off: a prism of three tetrahedra.
            let ((a, ta), (b, tb), (c, tc)) = (cut(p[0], p[3]), cut(p[1], p[3]), cut(p[2], p[3]));
            let (ra, rb, rc) = (1.0 - ta, 1.0 - tb, 1.0 - tc); // from the corner
            body(1.0 - rc, [p[0], p[1], p[2], c]);
            body(rc * (1.0 - rb), [p[0], p[1], b, c]);
            body(rb * rc * (1.0 - ra), [p[0], a, b, c]);
        }
        _ => {
            let ((ac, tac), (ad, tad)) = (cut(p[0], p[2]), cut(p[0], p[3]));
            let ((bc, tbc), (bd, tbd)) = (cut(p[1], p[2]), cut(p[1], p[3]));
            body(tac * tad * (1.0 - tbc), [p[0], ac, ad, bc]);
            body(tbc * tad, [p[0], p[1], ad, bc]);
            body(tbc * tbd * (1.0 - tad), [p[1], ad, bc, bd]);
        }
    }
}
