//! Mean curvature of the surface where it crosses faces [octree §4.6].

use crate::quadric::Quadric;
pub use crate::quadric::WallContact;
use fluvial_foundation::parallel;
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Memory of [`curvature`], to be kept from call to call.
#[derive(Debug, Default)]
pub struct CurvatureScratch {
    /// Cells beside a face that the surface crosses.
    beside: Vec<AtomicBool>,
    kappa_cell: Vec<f32>,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurvatureInfo {
    /// Cells beside the surface.
    pub cells: usize,
    /// Those whose curvature was limited to `2 / dx`, what cells can carry.
    pub limited: usize,
}

/// kappa, the sum of both principal curvatures (2/R for a ball of liquid), 1/m, at every face that the
/// surface crosses; zero on others. One value per T-junction.
///
/// The cells beside such faces find it at their nearest points of the surface: second derivatives of phi, a
/// distance, at the centre give the principal curvatures there, which are those at the surface's distance
/// away, `k = k_0 / (1 + phi k_0)`. Between the means of the liquid and of the air cells of a face it is
/// linear; where phi vanishes between them is the face's value. Second order on all levels and across them; at walls that
/// the surface meets at their contact angles second order for right angles, first for others.
/// Verified by `curvature.rs`.
pub fn curvature(
    kappa_face: &mut Vec<f32>,
    tree: &Octree,
    phi_cell: &[f32],
    contact: &WallContact,
    scratch: &mut CurvatureScratch,
) -> CurvatureInfo {
    filtered_curvature(kappa_face, tree, (phi_cell, contact), scratch, |_| {})
}

/// The same with a filter between cells and faces: it is given kappa of the cells beside the surface, NaN in
/// all others.
pub fn filtered_curvature(
    kappa_face: &mut Vec<f32>,
    tree: &Octree,
    (phi_cell, contact): (&[f32], &WallContact),
    scratch: &mut CurvatureScratch,
    filter: impl FnOnce(&mut [f32]),
) -> CurvatureInfo {
    assert_eq!(phi_cell.len(), tree.cell_count(), "one phi per cell");
    let CurvatureScratch { beside, kappa_cell } = scratch;
    beside.clear();
    beside.resize_with(tree.cell_count(), AtomicBool::default);
    let beside = &beside[..];
    parallel::for_each_index(parallel::chunk_count(tree.face_count(), parallel::CHUNK), |n| {
        for face in parallel::chunk_range(n, parallel::CHUNK, tree.face_count()) {
            if let Some((cells, len)) = crossed(tree, phi_cell, face) {
                cells[..len].iter().for_each(|&cell| beside[cell as usize].store(true, Relaxed));
            }
        }
    });
    kappa_cell.resize(tree.cell_count(), 0.0);
    parallel::for_each_chunk_mut(kappa_cell, TASK, |n, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let cell = n * TASK + i;
            let is_beside = beside[cell].load(Relaxed);
            *out = if is_beside { at_surface(tree, phi_cell, contact, cell) } else { f32::NAN };
        }
    });
    let mut info = CurvatureInfo::default();
    for (cell, kappa) in kappa_cell.iter().enumerate().filter(|(_, kappa)| !kappa.is_nan()) {
        info.cells += 1;
        info.limited += (kappa.abs() >= 2.0 / tree.cell_dx(cell)) as usize;
    }
    filter(kappa_cell);
    let kappa_cell = &kappa_cell[..];
    kappa_face.resize(tree.face_count(), 0.0);
    parallel::for_each_indexed_mut(kappa_face, |face, out| {
        let crossed = crossed(tree, phi_cell, face);
        *out = crossed.map_or(0.0, |(cells, len)| at_crossing(phi_cell, kappa_cell, &cells[..len]));
    });
    info
}

/// Cells that one task looks at.
const TASK: usize = 2048;

/// The cells beside a face if phi changes sign between them.
#[inline]
fn crossed(tree: &Octree, phi_cell: &[f32], face: usize) -> Option<([u32; 5], usize)> {
    let wet = |cell: u32| phi_cell[cell as usize] < 0.0;
    match tree.sides(face) {
        [Side::Cell(a), Side::Cell(b)] => (wet(a) != wet(b)).then_some(([a, b, 0, 0, 0], 2)),
        [Side::Cell(a), Side::Quad(q)] | [Side::Quad(q), Side::Cell(a)] => {
            q.iter().any(|&b| wet(b) != wet(a)).then_some(([a, q[0], q[1], q[2], q[3]], 5))
        }
        _ => None,
    }
}

/// The value where phi vanishes between the means of liquid and air cells.
fn at_crossing(phi_cell: &[f32], kappa_cell: &[f32], cells: &[u32]) -> f32 {
    // Number, phi and kappa of air and of liquid cells.
    let mut means = [[0.0f32; 3]; 2];
    for &cell in cells {
        let (phi, kappa) = (phi_cell[cell as usize], kappa_cell[cell as usize]);
        let mean = &mut means[(phi < 0.0) as usize];
        *mean = [mean[0] + 1.0, mean[1] + phi, mean[2] + kappa];
    }
    let [[phi_air, kappa_air], [phi_wet, kappa_wet]] = means.map(|[n, phi, kappa]| [phi / n, kappa / n]);
    let theta = phi_wet / (phi_wet - phi_air);
    kappa_wet + theta * (kappa_air - kappa_wet)
}

/// The curvature at the point of the surface nearest to a cell's centre.
fn at_surface(tree: &Octree, phi_cell: &[f32], contact: &WallContact, cell: usize) -> f32 {
    let fit = Quadric::fit_between_walls(tree, phi_cell, cell, contact);
    let dx = tree.cell_dx(cell);
    let [gx, gy, gz] = fit.slope([0.0; 3]);
    let [[xx, yy, zz], [yz, zx, xy]] = fit.bend();
    let square = gx * gx + gy * gy + gz * gz;
    // A ridge midway between surfaces has no normal.
    if square < 1e-6 {
        return 0.0;
    }
    // Mean and Gaussian curvature of the level set through the centre [goldman-2005], per edge.
    let mean = (xx * (gy * gy + gz * gz) + yy * (gz * gz + gx * gx) + zz * (gx * gx + gy * gy)
        - 2.0 * (gx * gy * xy + gy * gz * yz + gz * gx * zx))
        / (square * square.sqrt());
    let gauss = (gx * gx * (yy * zz - yz * yz)
        + gy * gy * (zz * xx - zx * zx)
        + gz * gz * (xx * yy - xy * xy)
        + 2.0
            * (gx * gy * (yz * zx - xy * zz)
                + gy * gz * (zx * xy - yz * xx)
                + gz * gx * (xy * yz - zx * yy)))
        / (square * square);
    // Back to the surface, a distance of phi away; not through a centre of curvature.
    let away = phi_cell[cell] as f64 / (dx as f64 * square.sqrt());
    let spread = (1.0 - away * mean + away * away * gauss).max(0.25);
    let kappa = (mean - 2.0 * away * gauss) / spread;
    (kappa as f32).clamp(-2.0, 2.0) / dx
}
