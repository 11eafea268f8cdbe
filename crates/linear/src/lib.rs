//! Linear algebra of large sparse systems, for operators on any grid.
//!
//! [`krylov`] methods work on anything that can be applied row by row; [`sparse`] matrices keep row sums
//! exactly; algebraic multigrid ([`amg`]) preconditions them. [`LowRank`] terms stand
//! beside them. [`Params`] says when a solve ends, [`Info`] how
//! it went. Results do not depend on the number of threads.

pub mod amg;
pub mod krylov;
mod low_rank;
mod sealed;
pub mod sparse;
mod stop;

pub use low_rank::{Block, Coupled, LowRank, RANK, weigh};
pub use stop::{Info, Norm, Params, SolveError};
