//! The unknowns of the pressure apart from the pages: blocks of 4x4x4 cells in a row, which memory streams.
//!
//! A page keeps 16 fields of a block together, so that a loop over one field reads 256 bytes of every 4096: neither
//! prefetchers nor pages of the memory management unit are made for that, and a copy of a field in pages runs at a fifth
//! of the speed of a copy of an array. The iterations of a solve go over the same few fields again and again; here they lie
//! in arrays of blocks in the order of the pages, and a block knows the numbers of those beside it: no sums of
//! bits, no search. Only blocks with unknowns are kept, and only while a solve lasts.
//!
//! Levels beyond the tree's largest leaves follow, down to a handful of cells: what [`cycle`] needs.
//!
//! ```text
//!  field:  | level 0: block, block, ... | level 1: block, ... | ... | zeros |
//!  block:  64 values: leaves (unknown), ghosts (copies of larger leaves), parents (of cells of the finer level; for multigrid)
//! ```

mod cells;
pub mod cycle;
mod faces;
pub mod operator;
mod parts;

pub use cells::{BlockCells, StreamLevel, Streams};
pub use cycle::Cycle;
pub use operator::Composite;
pub use parts::Parts;
