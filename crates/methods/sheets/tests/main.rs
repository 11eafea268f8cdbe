//! One program for all tests of this crate: every program more is linked anew.

mod around;
mod cells;
mod deposit;
mod history;
mod kernels;
mod lane_kinds;
mod neighbours;
mod particles;
mod shapes;
mod sheet;
mod sight;
mod spread;
mod topology;
