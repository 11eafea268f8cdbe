//! Lists of the cells or faces that a condition chooses.

use fluvial_foundation::parallel;

/// Items that one task looks at.
const TASK: usize = 2048;

/// The numbers below `count` that `is_chosen`, ascending; the condition is asked in parallel.
pub fn select(count: usize, is_chosen: impl Fn(usize) -> bool + Sync + Send) -> Vec<u32> {
    let pieces = parallel::map_indices(parallel::chunk_count(count, TASK), |n| {
        let numbers = parallel::chunk_range(n, TASK, count).filter(|&n| is_chosen(n));
        numbers.map(|n| n as u32).collect::<Vec<_>>()
    });
    pieces.concat()
}
