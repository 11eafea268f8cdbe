//! Grids of doubling cell size [tall §3.3.1], for extrapolation and multigrid alike.

use fluvial_grids::TallGrid;

/// The grid and ever coarser ones, finest first, until `stop` holds or one column with one cubic cell is
/// left.
pub fn coarsen_until(finest: &TallGrid, stop: impl Fn(&TallGrid) -> bool) -> Vec<TallGrid> {
    let mut grids = vec![finest.clone()];
    loop {
        let last = grids.last().expect("starts with one");
        if stop(last) || (last.nx == 1 && last.nz == 1 && last.regular == 1) {
            return grids;
        }
        grids.push(last.coarser());
    }
}

/// Brings a hierarchy to new heights of its finest grid.
pub fn refresh(grids: &mut [TallGrid], finest: &TallGrid) {
    grids[0].clone_from(finest);
    for n in 1..grids.len() {
        let (fine, coarse) = grids.split_at_mut(n);
        coarse[0].cover(&fine[n - 1]);
    }
}
