//! A drag on waves that the grid cannot carry, where surface tension feeds them.
//!
//! Tension acts where the surface crosses faces, and the surface moves as the flow around cell centres does. With B what a pressure on the surface
//! does to velocity and T what velocity does to the surface, a wave's `omega^2` is an eigenvalue of `T P B K`, P the projection and K the
//! curvature: real for `T = B^T`, which is first order on a staircase of cells, and one of a pair of complex numbers for waves that
//! another T carries alike. On a drop of 26 cells' diameter ripples of two cells, where its surface runs along an axis, grow so by 5 a
//! second, 0.01 of their frequency, with any step; with phi moved by the surface point next to it by 6, with velocities by means over faces by
//! 10. A pressure
//!
//! `s = C c n . L^T L u`
//!
//! on the surface takes `(C / 288) (c / dx) (k dx)^5` a second of a wave of number k, c the speed of waves one cell long and L = -(1/12) sum
//! of second differences along the axes on whose both sides an equal cell is beside the surface: 0.17 c / dx of ripples of two cells, 3e-6 c / dx
//! of a wave of 16. Uniform and linear velocities feel nothing. It is a quarter of the drag of `uniform`, whose velocities by means and whose lack of
//! a filter need more.

use crate::sides::TreeSides;
use crate::slope::slopes;
use crate::surface_links::SurfaceLinks;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;

/// Strength of the drag: with 0.3 ripples on a tube of liquid of 26 cells' diameter still grow by 1 a second, with 1 they decay by 2.
const DRAG: f32 = 1.0;
/// The drag is explicit in time; a step takes at most this much of the shortest wave.
const LARGEST_DRAG_PER_STEP: f32 = 1.0;
/// `L^T L` of the shortest wave on a surface along the cells, alternating in two directions.
const ROUGHEST: f32 = 64.0 / 144.0;

/// Memory of [`drag_short_waves`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct ShortWaveScratch {
    links: SurfaceLinks,
    /// Velocity at the cells of the list, L of it, and `L^T L` of it.
    v: Vec<Vec3>,
    once: Vec<Vec3>,
    twice: Vec<Vec3>,
}

/// What makes waves, and for how long the drag acts.
#[derive(Clone, Copy, Debug)]
pub struct Waves {
    /// m/s2.
    pub gravity_m_s2: f32,
    /// Surface tension over density, m3/s2.
    pub tension_over_density: f32,
    /// Seconds.
    pub push_s: f32,
}

impl Waves {
    /// C c on cells of an edge, m/s, and whether the step's length bounds it; `c^2 = g / k + sigma k / rho` with `k = 1 / dx`.
    fn drag_m_s(&self, dx: f32) -> (f32, bool) {
        let wave_m_s = (self.gravity_m_s2 * dx + self.tension_over_density / dx).sqrt();
        let largest = LARGEST_DRAG_PER_STEP * dx / (std::f32::consts::PI * ROUGHEST * self.push_s);
        ((DRAG * wave_m_s).min(largest), DRAG * wave_m_s > largest)
    }
}

/// Adds the drag to the pressure over density at the cells beside the surface, NaN in all others. Returns in how many of them the step's length
/// bounds it. Verified by `short_waves.rs`.
pub fn drag_short_waves(
    s_cell: &mut [f32],
    (tree, sides): (&Octree, TreeSides),
    (phi_cell, u_face): (&[f32], &[f32]),
    waves: Waves,
    scratch: &mut ShortWaveScratch,
) -> usize {
    let ShortWaveScratch { links, v, once, twice } = scratch;
    links.find(tree, sides, |cell| !s_cell[cell].is_nan());
    let SurfaceLinks { cells, pairs, .. } = &*links;
    for values in [&mut *v, &mut *once, &mut *twice] {
        values.clear();
        values.resize(cells.len(), Vec3::ZERO);
    }
    parallel::for_each_indexed_mut(v, |row, v| {
        let u = tree.cell_faces()[cells[row] as usize].map(|face| u_face[face as usize]);
        *v = 0.5 * Vec3::new(u[0] + u[1], u[2] + u[3], u[4] + u[5]);
    });
    let v = &*v;
    parallel::for_each_indexed_mut(once, |row, once| {
        let differences = pairs[row].map(|[low, high]| 2.0 * v[row] - (v[low as usize] + v[high as usize]));
        *once = (differences[0] + differences[1] + differences[2]) / 12.0;
    });
    // One after the other: rows write to those of their neighbours.
    for (row, &value) in once.iter().enumerate() {
        for [low, high] in pairs[row] {
            twice[row] += 2.0 / 12.0 * value;
            twice[low as usize] -= value / 12.0;
            twice[high as usize] -= value / 12.0;
        }
    }
    let mut bounded = 0;
    for (row, &cell) in cells.iter().enumerate() {
        let cell = cell as usize;
        let (drag, is_bounded) = waves.drag_m_s(tree.cell_dx(cell));
        let [slope] = slopes(tree, cell, |other| !sides.divides(tree, cell, other), |cell| [phi_cell[cell]]);
        s_cell[cell] += drag * slope.as_vec3().normalize_or_zero().dot(twice[row]);
        bounded += is_bounded as usize;
    }
    bounded
}
