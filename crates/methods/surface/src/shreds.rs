//! Takes shreds out of a level set.

use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// Liquid samples among the 27 around and at a sample from which on it is no shred: a sheet of one cell has nine, six at its edge, a
/// thread three.
const LEAST_AROUND: usize = 7;
/// Where a shred was, the surface is so many cells away at least.
const AIR_CELLS: f32 = 0.3;

/// phi without the shreds that a level set tears thin liquid into: samples with few liquid ones around become air. What they hold is then
/// drawn from its volume, see [`crate::add_pieces`], as one with the thin liquid beside it. Beyond the walls the outermost samples
/// go on, so that a puddle of less than a cell stays.
///
/// Test: `sheets_and_puddles_stay_and_shreds_go`.
pub fn without_shreds(phi_cell: &[f32], cells: &Lattice) -> Vec<f32> {
    let is_liquid = |at: [usize; 3], n: isize| {
        let [i, j, k] = [n % 3, n / 3 % 3, n / 9];
        let [x, y, z] = at.map(|i| i as isize - 1);
        phi_cell[cells.index_clamped(x + i, y + j, z + k)] < 0.0
    };
    parallel::map_indices(phi_cell.len(), |cell| {
        let phi = phi_cell[cell];
        if phi >= 0.0 || phi < -cells.spacing {
            return phi;
        }
        let at = cells.coordinates(cell);
        let around = (0..27).filter(|&n| is_liquid(at, n)).count();
        if around < LEAST_AROUND { (-phi).max(AIR_CELLS * cells.spacing) } else { phi }
    })
}
