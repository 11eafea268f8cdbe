//! Mean curvature of the surface where it crosses faces [octree §4.6].

pub use crate::quadric::WallContact;
use crate::quadric::{Quadric, is_right_angle};
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::Octree;
use fluvial_grids::curvature::{Curvature, Derivatives};
use fluvial_grids::octree::{OUTSIDE, Side};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

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
    /// Those whose curvature was limited to `2 / dx`, what cells can carry, or that lie near a centre of curvature.
    pub limited: usize,
}

/// kappa, the sum of both principal curvatures (2/R for a ball of liquid), 1/m, at every face that the
/// surface crosses; zero on others. One value per T-junction.
///
/// The cells beside such faces find it at their nearest points of the surface ([`Derivatives::curvature_at_surface`]). Between the means of the liquid and of the air cells of a face it is
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
    let limited = AtomicUsize::new(0);
    parallel::for_each_chunk_mut(kappa_cell, TASK, |n, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let cell = n * TASK + i;
            *out = f32::NAN;
            if beside[cell].load(Relaxed) {
                let found = at_surface(tree, phi_cell, contact, cell);
                *out = found.kappa as f32 / tree.cell_dx(cell);
                limited.fetch_add(found.is_limited as usize, Relaxed);
            }
        }
    });
    let cells = kappa_cell.iter().filter(|kappa| !kappa.is_nan()).count();
    let info = CurvatureInfo { cells, limited: limited.into_inner() };
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

/// The curvature at the point of the surface nearest to a cell's centre, per edge: from differences of fourth order between equal
/// cells and at walls that mirror phi, from a fit elsewhere.
fn at_surface(tree: &Octree, phi_cell: &[f32], contact: &WallContact, cell: usize) -> Curvature {
    let unit = 1.0 / f64::from(tree.cell_dx(cell));
    let derivatives = match EqualCells::around(tree, contact, cell) {
        Some(cells) => Derivatives::fourth_order(|d| f64::from(phi_cell[cells.at(d)]) * unit),
        None => Quadric::fit_between_walls(tree, phi_cell, cell, contact).derivatives(),
    };
    derivatives.curvature_at_surface(f64::from(phi_cell[cell]) * unit)
}

/// Numbers of the cells that [`Derivatives::fourth_order`] reads, all equal, by their place in a cube of five cells.
struct EqualCells([u32; 125]);

impl EqualCells {
    /// Around a leaf; none where a cell is of another size or a wall that does not mirror phi is near.
    fn around(tree: &Octree, contact: &WallContact, cell: usize) -> Option<Self> {
        let mut cells = EqualCells([cell as u32; 125]);
        for reach in [1, 2] {
            for axis in AXES {
                for up in [-reach, reach] {
                    let mut d = [0; 3];
                    d[axis] = up;
                    cells.0[Self::place(d)] = walk(tree, contact, cell, d)?;
                    for across in [-reach, reach] {
                        d[(axis + 1) % 3] = across;
                        cells.0[Self::place(d)] = walk(tree, contact, cell, d)?;
                    }
                }
            }
        }
        Some(cells)
    }

    fn at(&self, d: [isize; 3]) -> usize {
        self.0[Self::place(d)] as usize
    }

    fn place([i, j, k]: [isize; 3]) -> usize {
        (62 + i + 5 * j + 25 * k) as usize
    }
}

/// The leaf `d` steps from one to equal ones, axis by axis; a step through a wall that mirrors phi turns around.
fn walk(tree: &Octree, contact: &WallContact, cell: usize, d: [isize; 3]) -> Option<u32> {
    let equal = tree.cells_of(tree.cells()[cell].level as usize);
    let mut at = cell as u32;
    for axis in AXES {
        let mut up = d[axis] > 0;
        for _ in 0..d[axis].abs() {
            let side = 2 * axis + up as usize;
            match tree.leaf_across(at as usize, side)? {
                OUTSIDE if contact[side].is_some_and(is_right_angle) => up = !up,
                OUTSIDE => return None,
                next if equal.contains(&(next as usize)) => at = next,
                _ => return None,
            }
        }
    }
    Some(at)
}
