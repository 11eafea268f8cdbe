//! One program for all tests of this crate: every program more is linked anew.

mod amg;
mod krylov;
