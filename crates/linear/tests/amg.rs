//! The cycle as a preconditioner of what has no outlet.

use fluvial_foundation::random::unit_f32;
use fluvial_linear::Params;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, Preconditioner, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};

/// Unknowns in pairs without any outlet, one pair on both sides of the end of a block of Gauss-Seidel (1024 rows). There
/// `M + M^T - A` was singular, the cycle gave that pair nothing, and a solve ended as "not positive definite".
#[test]
fn two_sealed_unknowns_on_both_sides_of_a_block_s_end() {
    let rows = 4096usize;
    let partner = |row: usize| if row % 2 == 1 { row + 1 } else { row.wrapping_sub(1) };
    let (mut start, mut column, mut excess) = (vec![0u32], vec![], vec![0.0; rows]);
    for row in 0..rows {
        if partner(row) < rows {
            column.push(partner(row) as u32);
        } else {
            excess[row] = 1.0;
        }
        start.push(column.len() as u32);
    }
    let value = vec![-1.0f32; column.len()];
    let matrix = FluxMatrix::new(Csr::new(rows, start, column, value), excess);
    let mut amg = Amg::new(&matrix, AmgParams::default());
    let (mut r, mut z) = (vec![0.0f32; rows], vec![0.0f32; rows]);
    (r[1023], r[1024]) = (1.0, -1.0);
    let energy = Preconditioner::<f32>::apply(&mut amg.on(&matrix), &mut z, &r);
    assert!(energy > 0.1, "r . M r is {energy}");
    let b: Vec<f64> = (0..rows).map(|n| f64::from(unit_f32(n as u64, 9)) - 0.5).collect();
    let mut x = vec![0.0; rows];
    let stop = Params { max_iterations: 20, ..Params::DEFAULT };
    let scratch = &mut CgScratch::<f32>::default();
    conjugate_gradients(&mut x, &matrix, &mut amg.on(&matrix), &b, &stop, scratch).expect("a solution");
}
