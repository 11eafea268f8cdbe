//! The `fluvial` command.
fn main() {}
