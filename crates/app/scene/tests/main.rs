//! One program for all tests of this crate: every program more is linked anew.

mod mistakes;
mod poses;
mod scenes;
mod whitewater;
