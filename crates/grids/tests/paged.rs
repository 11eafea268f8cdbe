//! The same tests over both back ends.

use fluvial_foundation::parallel::with_threads;
use fluvial_foundation::random::splitmix64;
use fluvial_grids::paged::{Backing, LevelSetGrid, SolverGrid, Store};
use std::collections::BTreeMap;

const BACKINGS: [Backing; 2] = [Backing::Reserved, Backing::Table];

fn grids(cells: [u32; 3]) -> impl Iterator<Item = SolverGrid> {
    BACKINGS.into_iter().map(move |backing| SolverGrid::new(backing, cells).unwrap())
}

fn page_of(grid: &SolverGrid, at: [u32; 3]) -> u64 {
    grid.layout().page(grid.layout().encode(at.map(i64::from)))
}

#[test]
fn random_commits_writes_and_releases_agree_with_a_map() {
    for mut grid in grids([200, 40, 90]) {
        let mut truth: BTreeMap<(usize, [u32; 3]), f32> = BTreeMap::new();
        for n in 0..4000u64 {
            let word = splitmix64(n);
            let at = [word % 200, (word >> 8) % 40, (word >> 16) % 90].map(|v| v as u32);
            let page = page_of(&grid, at);
            if word >> 60 == 0 {
                grid.release(&[page]);
                truth.retain(|&(_, at), _| page_of(&grid, at) != page);
            } else {
                let channel = (word >> 40) as usize % 16;
                grid.commit(&[page]).unwrap();
                grid.set(channel, at, n as f32);
                truth.insert((channel, at), n as f32);
            }
        }
        let mut sum = 0.0;
        for (&(channel, at), &value) in &truth {
            assert_eq!(grid.get(channel, at), value);
            sum += value as f64;
        }
        // Nothing else is there.
        let all = grid.blocks().pages().iter().flat_map(|&p| (0..16).map(move |c| (p, c)));
        let held: f64 = all.flat_map(|(p, c)| grid.channel(p, c).iter()).map(|&v| v as f64).sum();
        assert_eq!(held, sum);
    }
}

#[test]
fn pages_that_are_not_committed_read_as_zeros() {
    for grid in grids([2048; 3]) {
        assert_eq!(grid.get(3, [2047, 1000, 5]), 0.0);
        assert_eq!(grid.bytes(), 0);
    }
}

#[test]
#[should_panic(expected = "only committed pages can be written")]
fn writing_where_nothing_is_committed_is_refused() {
    SolverGrid::new(Backing::Reserved, [8; 3]).unwrap().set(0, [0; 3], 1.0);
}

#[test]
#[should_panic(expected = "the loop writes this channel")]
fn a_loop_cannot_read_what_it_writes() {
    let mut grid = SolverGrid::new(Backing::Table, [8; 3]).unwrap();
    grid.commit(&[0]).unwrap();
    grid.for_each_block(None, [2], |_, page, reader, [out]| out[0] = reader.channel(page, 2)[0]);
}

#[test]
#[should_panic(expected = "positions ascend")]
fn a_loop_cannot_visit_a_block_twice() {
    let mut grid = SolverGrid::new(Backing::Table, [8; 3]).unwrap();
    grid.commit(&[0, 1]).unwrap();
    grid.for_each_block(Some(&[1, 1]), [2], |_, _, _, [out]| out[0] = 1.0);
}

/// Sum over the six neighbours through halos, against single reads.
#[test]
fn neighbours_across_pages_are_found_by_bit_arithmetic() {
    for mut grid in grids([23, 18, 13]) {
        let layout = *grid.layout();
        let mut pages = vec![];
        for z in 0..13 {
            for y in 0..18 {
                for x in 0..23 {
                    pages.push(page_of(&grid, [x, y, z]));
                }
            }
        }
        pages.sort_unstable();
        pages.dedup();
        grid.commit(&pages).unwrap();
        let value =
            |at: [u32; 3]| (splitmix64(at[0] as u64 + 64 * at[1] as u64 + 4096 * at[2] as u64) >> 44) as f32;
        let inside = |at: [u32; 3]| layout.contains(at.map(i64::from));
        grid.for_each_block(None, [0], |_, page, _, [out]| {
            for cell in 0..64 {
                let at = layout.decode(layout.first_of(page) | cell);
                out[cell as usize] = if inside(at) { value(at) } else { 0.0 };
            }
        });
        let units = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];
        let steps = units.map(|d| layout.encode(d));
        grid.for_each_block(None, [1], |_, page, reader, [out]| {
            for (cell, out) in out.iter_mut().enumerate() {
                let code = layout.first_of(page) | cell as u64;
                let read = |step| {
                    let next = layout.add(code, step);
                    reader.channel(layout.page(next), 0)[layout.cell_in_page(next)]
                };
                *out = steps.iter().map(|&s| read(s)).sum();
            }
        });
        for at in [[0u32, 0, 0], [22, 17, 12], [3, 4, 8], [11, 15, 7], [0, 9, 12]] {
            let near = units.map(|d| [0, 1, 2].map(|a| at[a].wrapping_add_signed(d[a] as i32)));
            let expected: f32 = near.iter().map(|&n| if inside(n) { value(n) } else { 0.0 }).sum();
            assert_eq!(grid.get(1, at), expected);
        }
    }
}

#[test]
fn sums_over_blocks_have_the_same_bits_with_any_number_of_threads() {
    for mut grid in grids([100; 3]) {
        let pages: Vec<u64> = (0..5000).collect();
        grid.commit(&pages).unwrap();
        let mut sum = |threads| {
            with_threads(threads, || {
                grid.sum_blocks(None, [0], |position, _, _, [out]| {
                    out[0] = (position as f32).sin();
                    out[0] as f64
                })
            })
        };
        assert_eq!(sum(1).to_bits(), sum(3).to_bits());
    }
}

#[test]
fn level_set_pages_hold_blocks_of_8_by_8_by_4() {
    for backing in BACKINGS {
        let mut grid = LevelSetGrid::new(backing, [40, 40, 40]).unwrap();
        assert_eq!([0, 1, 2].map(|a| grid.layout().block_side(a)), [8, 8, 4]);
        grid.commit(&[0, 3]).unwrap();
        grid.set(3, [7, 7, 3], 5.0);
        assert_eq!(grid.channel(0, 3)[255], 5.0);
    }
}

/// Resident pages of this process.
#[cfg(target_os = "linux")]
fn resident_pages() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

/// 4096 blocks spread over a range of half a terabyte take 4096 pages of memory, and none after they are
/// given back. Runs alone in a process of its own: other tests take memory too.
#[test]
#[ignore = "run by the test below"]
#[cfg(target_os = "linux")]
fn memory_follows_what_is_committed() {
    let mut grid = SolverGrid::new(Backing::Reserved, [2040; 3]).unwrap();
    let pages: Vec<u64> = (0..4096).map(|n| n * 32_000).collect();
    let before = resident_pages();
    grid.commit(&pages).unwrap();
    grid.for_each_block(None, [5], |_, _, _, [out]| out.fill(1.0));
    let held = resident_pages() - before;
    assert!((4096..4096 + 600).contains(&held), "{held} pages for 4096");
    grid.release(&pages);
    let left = resident_pages() - before;
    assert!(left < 600, "{left} pages after all were given back");
    assert_eq!(grid.channel(pages[7], 5)[0], 0.0);
    grid.commit(&pages[7..8]).unwrap();
    assert_eq!(grid.channel(pages[7], 5)[0], 0.0, "a page that comes back is empty");
    // Five eighths of every eight pages, as a slab has of the boxes that pages follow each other in.
    let slab: Vec<u64> = (1 << 20..(1 << 20) + 8192).filter(|n| n % 8 < 5).collect();
    let before = resident_pages();
    grid.commit(&slab).unwrap();
    grid.for_each_block(None, [5], |_, _, _, [out]| out.fill(1.0));
    let held = resident_pages() - before;
    assert!((held as usize) < slab.len() + 600, "{held} pages for {}", slab.len());
}

/// With 64 MB of writable memory allowed, as on a machine without overcommit, reserving works; committing
/// fails cleanly when memory is short and leaves the grid usable.
#[test]
#[ignore = "run by the test below"]
#[cfg(target_os = "linux")]
fn refusals_leave_the_grid_as_it_was() {
    let mut grid = SolverGrid::new(Backing::Reserved, [2040; 3]).unwrap();
    grid.commit(&[3]).unwrap();
    grid.channel_mut(3, 0)[0] = 1.0;
    let apart: Vec<u64> = (0..100).map(|n| 5 + n * 512).collect();
    assert!(grid.commit(&apart).is_err(), "200 MB were granted out of 64");
    assert_eq!(grid.blocks().pages(), &[3]);
    assert_eq!(grid.channel(3, 0)[0], 1.0);
}

/// Address space for one reservation but not for two: the second grid falls back to its table.
#[test]
#[ignore = "run by the test below"]
#[cfg(target_os = "linux")]
fn without_addresses_a_table_serves() {
    assert!(SolverGrid::new(Backing::Reserved, [2040; 3]).is_err());
    let mut grid = SolverGrid::new_anywhere([2040; 3]).unwrap();
    grid.commit(&[77]).unwrap();
    grid.channel_mut(77, 0)[9] = 2.0;
    assert_eq!(grid.channel(77, 0)[9], 2.0);
}

#[test]
#[cfg(target_os = "linux")]
fn limits_of_the_system_are_met_in_processes_of_their_own() {
    let exe = std::env::current_exe().unwrap();
    for (limit, test) in [
        ("true", "memory_follows_what_is_committed"),
        ("ulimit -d 65536", "refusals_leave_the_grid_as_it_was"),
        ("ulimit -v 4000000", "without_addresses_a_table_serves"),
    ] {
        let command = format!(r#"{limit} && exec "$0" --ignored --exact --test-threads 1 paged::{test}"#);
        let output = std::process::Command::new("sh").arg("-c").arg(&command).arg(&exe).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{test}: {text}");
    }
}

#[test]
fn ranges_beyond_the_address_space_are_refused() {
    for backing in BACKINGS {
        assert!(Store::new(backing, 1 << 40).is_err());
    }
}
