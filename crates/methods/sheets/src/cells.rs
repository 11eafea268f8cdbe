//! Flags and sums over boxes of cells, an x-row at a time.

use fluvial_foundation::parallel;

/// The cells that are set, and all within `width` cells of them along every axis.
///
/// Test: `boxes_are_those_of_the_definition`.
pub fn dilate(cells: &[bool], size: [usize; 3], width: usize) -> Vec<bool> {
    box_filter(cells, size, width, |a, b| *a |= b)
}

/// The sum over the cells within `width` of every cell along every axis, as far as they exist.
///
/// Test: `boxes_are_those_of_the_definition`.
pub fn box_sums(cells: &[f32], size: [usize; 3], width: usize) -> Vec<f32> {
    box_filter(cells, size, width, |a, b| *a += b)
}

/// Joins every value with those within `width`, axis after axis.
fn box_filter<T: Copy + Send + Sync>(
    cells: &[T],
    [nx, ny, nz]: [usize; 3],
    width: usize,
    join: impl Fn(&mut T, T) + Sync + Send,
) -> Vec<T> {
    let mut out = cells.to_vec();
    let mut before = cells.to_vec();
    let (slab, w) = (nx * ny, width);
    let join_row = |out: &mut [T], row: &[T]| out.iter_mut().zip(row).for_each(|(a, b)| join(a, *b));
    parallel::for_each_chunk_mut(&mut out, slab, |k, out| {
        for (j, out) in out.chunks_mut(nx).enumerate() {
            let row = &before[slab * k + nx * j..][..nx];
            for shift in (1..=w).filter(|s| *s < nx) {
                join_row(&mut out[shift..], &row[..nx - shift]);
                join_row(&mut out[..nx - shift], &row[shift..]);
            }
        }
    });
    before.copy_from_slice(&out);
    parallel::for_each_chunk_mut(&mut out, slab, |k, out| {
        for (j, out) in out.chunks_mut(nx).enumerate() {
            for other in (j.saturating_sub(w)..=(j + w).min(ny - 1)).filter(|other| *other != j) {
                join_row(out, &before[slab * k + nx * other..][..nx]);
            }
        }
    });
    before.copy_from_slice(&out);
    parallel::for_each_chunk_mut(&mut out, slab, |k, out| {
        for other in (k.saturating_sub(w)..=(k + w).min(nz - 1)).filter(|other| *other != k) {
            join_row(out, &before[slab * other..][..slab]);
        }
    });
    out
}
