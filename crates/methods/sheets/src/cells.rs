//! Flags and sums over boxes of cells, an x-row at a time.

use fluvial_foundation::parallel;

/// The cells that are set, and all within `width` cells of them along every axis.
///
/// Test: `boxes_are_those_of_the_definition`.
pub fn dilate(cells: &[bool], size: [usize; 3], width: usize) -> Vec<bool> {
    let mut out = vec![];
    filter(&mut out, &mut vec![], cells, size, width, |a, b, _| *a |= b);
    out
}

/// The sum over the cells within `width` of every cell along every axis, as far as they exist.
///
/// Test: `boxes_are_those_of_the_definition`.
pub fn box_sums(cells: &[f32], size: [usize; 3], width: usize) -> Vec<f32> {
    let mut out = vec![];
    filter(
        &mut out,
        &mut vec![],
        cells,
        size,
        width,
        |a, b, shift| if shift == 0 { *a = b } else { *a += b },
    );
    out
}

/// The reach of [`tent_sums`], in cells.
pub(crate) const TENT: usize = 2;

/// The sum over the 5^3 cells around every cell, weighted by `(3 - |dx|) (3 - |dy|) (3 - |dz|)`, as far as they exist.
///
/// No wave has a negative response to these weights, so that what is mended by such sums decays whatever its
/// length. Plain sums over 5^3 cells answer a wave of 3.5 cells with -0.25 of it, and mending would feed it.
/// Test: `tents_answer_no_wave_with_its_opposite`.
pub fn tent_sums(out: &mut Vec<f32>, pass: &mut Vec<f32>, cells: &[f32], size: [usize; 3]) {
    filter(out, pass, cells, size, TENT, |a, b, shift| {
        if shift == 0 { *a = 3.0 * b } else { *a += (3.0 - shift as f32) * b }
    });
}

/// Joins every value with those within `width`, axis after axis; `join` is given the distance, the value's own first.
/// `pass` is its working memory.
fn filter<T: Copy + Send + Sync>(
    out: &mut Vec<T>,
    pass: &mut Vec<T>,
    cells: &[T],
    [nx, ny, nz]: [usize; 3],
    width: usize,
    join: impl Fn(&mut T, T, usize) + Sync + Send,
) {
    out.clear();
    out.extend_from_slice(cells);
    let slab = nx * ny;
    let join_row = |out: &mut [T], row: &[T], shift: usize| {
        out.iter_mut().zip(row).for_each(|(a, b)| join(a, *b, shift));
    };
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        for (j, out) in out.chunks_mut(nx).enumerate() {
            let row = &cells[slab * k + nx * j..][..nx];
            join_row(out, row, 0);
            for shift in (1..=width).filter(|s| *s < nx) {
                join_row(&mut out[shift..], &row[..nx - shift], shift);
                join_row(&mut out[..nx - shift], &row[shift..], shift);
            }
        }
    });
    pass.clone_from(out);
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        for (j, out) in out.chunks_mut(nx).enumerate() {
            for other in nearest_first(j, ny, width) {
                join_row(out, &pass[slab * k + nx * other..][..nx], other.abs_diff(j));
            }
        }
    });
    pass.clone_from(out);
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        for other in nearest_first(k, nz, width) {
            join_row(out, &pass[slab * other..][..slab], other.abs_diff(k));
        }
    });
}

/// A place among `count` and those within `width` of it.
fn nearest_first(at: usize, count: usize, width: usize) -> impl Iterator<Item = usize> {
    let others = (at.saturating_sub(width)..=(at + width).min(count - 1)).filter(move |other| *other != at);
    std::iter::once(at).chain(others)
}
