//! Wavefront OBJ: for programs that read nothing else. It has no place for velocity; PLY has.

use crate::{OutputError, write_atomic};
use fluvial_grids::TriangleMesh;
use std::path::Path;

/// Writes positions and triangles as text. Floats are printed so that they read back to the same bits.
pub fn write_obj(path: &Path, mesh: &TriangleMesh) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        writeln!(w, "# fluvial surface, metres, y up")?;
        for p in &mesh.positions {
            writeln!(w, "v {} {} {}", p.x, p.y, p.z)?;
        }
        for [a, b, c] in &mesh.triangles {
            writeln!(w, "f {} {} {}", a + 1, b + 1, c + 1)?;
        }
        Ok(())
    })
}
