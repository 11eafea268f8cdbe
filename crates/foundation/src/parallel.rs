//! Parallel loops whose results do not depend on the number of threads.
//!
//! Work is cut into chunks whose size is fixed by the problem, never by the thread count; every chunk
//! writes its own output, and reductions add the chunks' partial results in chunk order.
//!
//! The functions that call rayon have no type parameters (`run`, `join_a_worker`, `install`): its machinery is
//! compiled once, in this crate. With the body of every loop it was half of all code, and half of the time that the
//! compiler took. A loop pays for it with one indirect call per chunk.

use rayon::prelude::*;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Items per chunk in loops over flat arrays: large enough to hide scheduling, small enough to balance.
pub const CHUNK: usize = 1 << 14;

/// Loops over indices are cut into so many pieces at most, each of them one call.
const MOST_PIECES: usize = 1024;
/// Items per call in loops over all items of an array, at least. Trees have few cells and much to do in each: cut into
/// chunks of [`CHUNK`], most of their loops were one chunk and ran on one thread.
const LEAST_PIECE: usize = 512;

/// Runs `body(i)` for `i` in `0..count` in parallel.
fn run(count: usize, body: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(body);
}

/// Runs `body` over ranges that together are `0..count`, in parallel.
fn run_in_pieces(count: usize, body: impl Fn(Range<usize>) + Sync) {
    let piece = count.div_ceil(MOST_PIECES).max(1);
    run(chunk_count(count, piece), &|index| body(chunk_range(index, piece, count)));
}

/// An array whose parts different calls of a loop's body write.
struct Parts<'a, T> {
    start: *mut T,
    len: usize,
    whole: PhantomData<&'a mut [T]>,
}

// SAFETY: threads get parts of the array that do not overlap, see `part`.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    fn new(whole: &'a mut [T]) -> Self {
        Parts { start: whole.as_mut_ptr(), len: whole.len(), whole: PhantomData }
    }

    /// A part of the array.
    ///
    /// # Safety
    /// No two parts that are asked for may overlap.
    unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: it lies within the array, and nothing else refers to it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// Runs `body(chunk_index, chunk)` over consecutive chunks of `out`, in parallel.
/// On grids a chunk is usually one z-slab or one x-row.
pub fn for_each_chunk_mut<T: Send>(
    out: &mut [T],
    chunk: usize,
    body: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    let (len, chunk) = (out.len(), chunk.max(1));
    let parts = Parts::new(out);
    run(chunk_count(len, chunk), &|index| {
        // SAFETY: chunks do not overlap, and each is asked for once.
        body(index, unsafe { parts.part(chunk_range(index, chunk, len)) });
    });
}

/// As [`for_each_chunk_mut`], over two arrays that are cut into the same number of chunks, each with its own
/// chunk length.
pub fn for_each_chunk_mut2<A: Send, B: Send>(
    (a, chunk_a): (&mut [A], usize),
    (b, chunk_b): (&mut [B], usize),
    body: impl Fn(usize, &mut [A], &mut [B]) + Sync + Send,
) {
    let (len_a, len_b, chunk_a, chunk_b) = (a.len(), b.len(), chunk_a.max(1), chunk_b.max(1));
    let (a, b) = (Parts::new(a), Parts::new(b));
    run(chunk_count(len_a, chunk_a).min(chunk_count(len_b, chunk_b)), &|index| {
        // SAFETY: chunks do not overlap, and each is asked for once.
        let (a, b) = unsafe {
            (a.part(chunk_range(index, chunk_a, len_a)), b.part(chunk_range(index, chunk_b, len_b)))
        };
        body(index, a, b);
    });
}

/// Runs `body(index, value)` over all values of `out`, in parallel.
pub fn for_each_indexed_mut<T: Send>(out: &mut [T], body: impl Fn(usize, &mut T) + Sync + Send) {
    let piece = piece_of(out.len());
    for_each_chunk_mut(out, piece, |chunk, values| {
        values.iter_mut().enumerate().for_each(|(n, value)| body(chunk * piece + n, value));
    });
}

/// Items per call in a loop over all items of an array.
fn piece_of(len: usize) -> usize {
    len.div_ceil(MOST_PIECES).max(LEAST_PIECE)
}

/// As [`for_each_indexed_mut`] over two arrays of one length.
pub fn for_each_indexed_mut2<A: Send, B: Send>(
    a: &mut [A],
    b: &mut [B],
    body: impl Fn(usize, &mut A, &mut B) + Sync + Send,
) {
    assert_eq!(a.len(), b.len());
    let piece = piece_of(a.len());
    for_each_chunk_mut2((a, piece), (b, piece), |chunk, a, b| {
        a.iter_mut().zip(b).enumerate().for_each(|(n, (a, b))| body(chunk * piece + n, a, b));
    });
}

/// Runs `body(value, input)` over the pairs of values at the same place of two arrays of one length, in
/// parallel. Loops of this form vectorise.
pub fn for_each_beside_mut<T: Send, I: Sync>(
    out: &mut [T],
    input: &[I],
    body: impl Fn(&mut T, &I) + Sync + Send,
) {
    assert_eq!(out.len(), input.len());
    for_each_chunk_mut(out, CHUNK, |chunk, out| {
        let input = &input[chunk_range(chunk, CHUNK, input.len())];
        out.iter_mut().zip(input).for_each(|(value, input)| body(value, input));
    });
}

/// Runs `body` on one of the worker threads: many short parallel loops inside it then start without a
/// wake-up.
pub fn on_worker<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    once(body, join_a_worker)
}

fn join_a_worker(body: &mut (dyn FnMut() + Send)) {
    rayon::join(body, || ());
}

/// Runs `body` on a pool of its own with the given number of threads (at least one).
pub fn with_threads<T: Send>(threads: usize, body: impl FnOnce() -> T + Send) -> T {
    once(body, |body| install(threads, body))
}

fn install(threads: usize, body: &mut (dyn FnMut() + Send)) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    pool.expect("the system gives threads").install(body);
}

/// The result of `body`, which `run` calls once.
fn once<T: Send>(body: impl FnOnce() -> T + Send, run: impl FnOnce(&mut (dyn FnMut() + Send))) -> T {
    let (mut body, mut result) = (Some(body), None);
    run(&mut || result = body.take().map(|body| body()));
    result.expect("the body has been run")
}

/// Runs `body(i)` for `i` in `0..count` in parallel; `body` must only touch what belongs to `i`.
pub fn for_each_index(count: usize, body: impl Fn(usize) + Sync + Send) {
    run_in_pieces(count, |piece| piece.for_each(&body));
}

/// Maps `0..count` in parallel and returns the results in index order.
pub fn map_indices<T: Send>(count: usize, body: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    let mut results = Vec::with_capacity(count);
    let places: Parts<MaybeUninit<T>> = Parts::new(&mut results.spare_capacity_mut()[..count]);
    run_in_pieces(count, |piece| {
        // SAFETY: pieces do not overlap, and each is asked for once.
        let places = unsafe { places.part(piece.clone()) };
        places.iter_mut().zip(piece).for_each(|(place, index)| {
            place.write(body(index));
        });
    });
    // SAFETY: the pieces are all of the `count` places, and each has been written.
    unsafe { results.set_len(count) };
    results
}

/// `body(range, chunk of a)` in parallel; results in the order of the chunks.
pub fn map_chunks<A: Send, R: Send + Default>(
    a: &mut [A],
    chunk: usize,
    body: impl Fn(Range<usize>, &mut [A]) -> R + Sync + Send,
) -> Vec<R> {
    let mut none: Vec<()> = vec![(); a.len()];
    map_chunks2(a, &mut none, chunk, |range, a, _| body(range, a))
}

/// `body(range, chunk of a, chunk of b)` in parallel; results in the order of the chunks.
pub fn map_chunks2<A: Send, B: Send, R: Send + Default>(
    a: &mut [A],
    b: &mut [B],
    chunk: usize,
    body: impl Fn(Range<usize>, &mut [A], &mut [B]) -> R + Sync + Send,
) -> Vec<R> {
    let len = a.len();
    assert_eq!(b.len(), len);
    let parts = a.chunks_mut(chunk).zip(b.chunks_mut(chunk));
    let mut tasks: Vec<_> = parts.map(|(a, b)| (a, b, R::default())).collect();
    for_each_chunk_mut(&mut tasks, 1, |n, task| {
        let (a, b, result) = &mut task[0];
        *result = body(chunk_range(n, chunk, len), a, b);
    });
    tasks.into_iter().map(|t| t.2).collect()
}

/// Sum over `parts` partial sums, added in index order: the same bits with any number of threads.
pub fn ordered_sum(parts: usize, partial: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    map_indices(parts, partial).into_iter().sum()
}

/// Sum of `term(i)` for `i` in `0..count`, added in chunks of fixed size.
pub fn ordered_sum_of(count: usize, term: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    ordered_sum(chunk_count(count, CHUNK), |c| chunk_range(c, CHUNK, count).map(&term).sum())
}

/// Maximum over `parts` partial maxima. NaN in any part gives NaN, so that bad values are never hidden.
pub fn ordered_max(parts: usize, partial: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    map_indices(parts, partial)
        .into_iter()
        .fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a > b { a } else { b })
}

/// The index range of chunk `index` of an array of `len` items.
pub fn chunk_range(index: usize, chunk: usize, len: usize) -> Range<usize> {
    index * chunk..((index + 1) * chunk).min(len)
}

/// How many chunks [`chunk_range`] cuts an array of `len` items into.
pub fn chunk_count(len: usize, chunk: usize) -> usize {
    len.div_ceil(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_same_bits_with_any_number_of_threads() {
        let values: Vec<f32> = (0..200_000).map(|i| (i as f32 * 0.37).sin() * 1e3).collect();
        let sum = || {
            ordered_sum(chunk_count(values.len(), CHUNK), |c| {
                values[chunk_range(c, CHUNK, values.len())].iter().map(|&v| v as f64).sum()
            })
        };
        assert_eq!(with_threads(1, sum).to_bits(), with_threads(4, sum).to_bits());
    }

    #[test]
    fn a_nan_is_not_hidden_by_the_maximum() {
        for place in 0..3 {
            assert!(ordered_max(3, |i| if i == place { f64::NAN } else { 1.0 }).is_nan());
        }
    }

    #[test]
    fn indexed_loops_reach_every_item_with_its_own_index() {
        let count = 2 * LEAST_PIECE * MOST_PIECES + 5;
        let (mut a, mut b) = (vec![0; count], vec![0; count]);
        for_each_indexed_mut(&mut a, |n, a| *a += n);
        assert!(a.iter().enumerate().all(|(n, &a)| a == n));
        for_each_indexed_mut2(&mut a, &mut b, |n, a, b| (*a, *b) = (*a + 1, 2 * n));
        assert!(a.iter().zip(&b).enumerate().all(|(n, (&a, &b))| a == n + 1 && b == 2 * n));
        for_each_beside_mut(&mut a, &b, |a, b| *a += b);
        assert!(a.iter().enumerate().all(|(n, &a)| a == 3 * n + 1));
        assert_eq!(ordered_sum_of(count, |n| n as f64), (count * (count - 1) / 2) as f64);
    }

    #[test]
    fn maps_give_every_index_its_own_result_and_panics_come_through() {
        for count in [0, 1, 7, MOST_PIECES, 3 * MOST_PIECES + 5] {
            let squares = map_indices(count, |n| vec![n; 2]);
            assert!(squares.len() == count && squares.iter().enumerate().all(|(n, v)| v == &[n; 2]));
        }
        let caught = std::panic::catch_unwind(|| map_indices(5000, |n| assert_ne!(n, 4321)));
        assert!(caught.is_err());
        assert_eq!(on_worker(|| "done".to_owned()), "done");
    }

    #[test]
    fn two_arrays_are_cut_into_as_many_chunks() {
        let (mut a, mut b) = (vec![0; 10], vec![0; 7]);
        for_each_chunk_mut2((&mut a, 3), (&mut b, 2), |n, a, b| {
            a.fill(n + 1);
            b.fill(n + 1);
        });
        assert_eq!((a, b), (vec![1, 1, 1, 2, 2, 2, 3, 3, 3, 4], vec![1, 1, 2, 2, 3, 3, 4]));
        for_each_chunk_mut2((&mut [0; 4], 1), (&mut [0; 2], 1), |n, _, _| assert!(n < 2));
    }

    #[test]
    fn chunks_cover_every_item_once() {
        let mut seen = vec![0u8; 1000];
        for_each_chunk_mut(&mut seen, 64, |_, chunk| chunk.iter_mut().for_each(|v| *v += 1));
        assert!(seen.iter().all(|&v| v == 1));
    }
}
