//! One program for all tests of this crate: every program more is linked anew.

mod alembic;
mod alembic_digest;
mod atomic;
mod disk;
mod lines;
mod machine;
mod manifest;
mod obj;
mod plot;
mod ply;
mod ply_cells;
mod ply_points;
mod usd;
mod vdb;
mod vtk;
