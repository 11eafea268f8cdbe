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

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::random::unit_f32;

    #[test]
    fn boxes_are_those_of_the_definition() {
        let size = [7, 5, 4];
        for width in 0..4 {
            let values: Vec<f32> = (0..140).map(|n| (16.0 * unit_f32(n, 1)).floor()).collect();
            let flags: Vec<bool> = values.iter().map(|v| *v < 1.0).collect();
            let (sums, grown) = (box_sums(&values, size, width), dilate(&flags, size, width));
            for n in 0..140usize {
                let at = [n % 7, n / 7 % 5, n / 35];
                let near = |m: &usize| {
                    let other = [m % 7, m / 7 % 5, m / 35];
                    (0..3).all(|a| at[a].abs_diff(other[a]) <= width)
                };
                // Whole numbers: exact in any order.
                assert_eq!(sums[n], (0..140).filter(near).map(|m| values[m]).sum::<f32>());
                assert_eq!(grown[n], (0..140).filter(near).any(|m| flags[m]));
            }
        }
    }
}
