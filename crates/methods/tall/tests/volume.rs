//! Volume kept by columns, on their ground and aloft.

use crate::scenes::*;
use fluvial_tall::volume::{Divided, Flow, Open, Start, displacements, divide, lacking, measure};

/// Nothing flows, and transport has made a sheet above a pool thicker by a cell: the sheet shall give it back, not the pool.
#[test]
fn what_a_sheet_gains_is_not_taken_from_the_pool_below() {
    let grid = fluvial_grids::TallGrid::new([4, 20, 4], 0.1, vec![[0, 4]; 16]);
    let open_tall = vec![4.0; 16];
    let open_cell = vec![1.0; grid.samples()];
    let open = Open { cell: &open_cell, tall: &open_tall };
    let under_sheet = |thickness: f32| {
        field(&grid, move |_, y, _| {
            let (pool, sheet) = (y + 0.5 - 6.0, (y + 0.5 - 16.0).abs() - 0.5 * thickness);
            pool.min(sheet).clamp(-5.0, 5.0) * 0.1
        })
    };
    let (before, after) = (under_sheet(3.0), under_sheet(4.0));
    let mut held = vec![Default::default(); 16];
    measure(&mut held, &grid, &before, &open);
    let u = vec![[0.0, 0.0, 0.0, 1.0]; grid.samples()];
    let flow = Flow { grid: &grid, u: &u, phi: &before, open: &open, dt_s: 0.1 };
    let mut now = vec![Divided::default(); 16];
    divide(&mut now, &grid, &after, &open, |_| false, |_| false);
    let (residual, flux) = (vec![0.0; 16], vec![[0.0; 2]; 16]);
    let mut lack = vec![[0.0; 2]; 16];
    lacking(&mut lack, &Start { phi: &before, held: &held, residual: &residual }, &flow, &flux, &now);
    let mut shift = vec![([0.0; 2], false); 16];
    displacements(&mut shift, &grid, &after, &open, (&now, &lack));
    for (lack, (shift, _)) in lack.iter().zip(&shift) {
        assert!(lack[0].abs() < 1e-5 && (lack[1] + 1.0).abs() < 1e-5, "{lack:?}");
        assert!(shift[0].abs() < 1e-5 && (shift[1] + 0.5).abs() < 1e-4, "{shift:?}");
    }
}
