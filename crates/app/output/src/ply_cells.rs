//! The cells of a cut plane as PLY, binary little endian: four corners and a quad a cell, with the level set
//! at its centre. As for surfaces, the header carries a CRC-32 of what follows.

use crate::ply::{PlyError, find_header_end, header_value};
use crate::{OutputError, write_atomic};
use std::path::Path;

/// Bytes of a cell: four corners, and a face with its count, four numbers and a float.
const CORNER_BYTES: usize = 4 * 12;
const FACE_BYTES: usize = 1 + 4 * 4 + 4;

/// A square of a cut plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutCell {
    /// Lower corner, x and y, metres.
    pub min: [f32; 2],
    /// Edge, metres.
    pub dx: f32,
    /// The liquid's level set at the cell's centre, metres.
    pub phi: f32,
}

/// The cells that a plane of constant z cuts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellCut {
    /// Where the plane lies, metres.
    pub z: f32,
    /// Its cells.
    pub cells: Vec<CutCell>,
}

/// Writes a cut.
pub fn write_ply_cells(path: &Path, cut: &CellCut) -> Result<(), OutputError> {
    let bytes = encode_ply_cells(cut);
    write_atomic(path, |w| w.write_all(&bytes))
}

/// The bytes of the file.
pub fn encode_ply_cells(cut: &CellCut) -> Vec<u8> {
    let mut body = Vec::with_capacity(cut.cells.len() * (CORNER_BYTES + FACE_BYTES));
    for CutCell { min: [x, y], dx, .. } in &cut.cells {
        for [i, j] in [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]] {
            for value in [x + i * dx, y + j * dx, cut.z] {
                body.extend_from_slice(&value.to_le_bytes());
            }
        }
    }
    for (n, cell) in cut.cells.iter().enumerate() {
        body.push(4);
        (0..4).for_each(|corner| body.extend_from_slice(&(4 * n as u32 + corner).to_le_bytes()));
        body.extend_from_slice(&cell.phi.to_le_bytes());
    }
    let mut bytes = header(cut.cells.len(), cut.z, crc32fast::hash(&body)).into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

fn header(count: usize, z: f32, crc: u32) -> String {
    format!(
        "ply\nformat binary_little_endian 1.0\n\
         comment fluvial cells of a cut, metres, y up\n\
         comment z {z}\n\
         comment crc32 {crc:08x}\n\
         element vertex {}\n\
         property float x\nproperty float y\nproperty float z\n\
         element face {count}\n\
         property list uchar int vertex_indices\nproperty float phi\nend_header\n",
        4 * count,
    )
}

/// Reads a cut that [`write_ply_cells`] wrote, verified by its checksum.
pub fn read_ply_cells(path: &Path) -> Result<CellCut, PlyError> {
    let bytes = std::fs::read(path).map_err(|e| OutputError::new("read", path, e))?;
    decode_ply_cells(&bytes).map_err(|what| PlyError::Format { path: path.display().to_string(), what })
}

/// As [`read_ply_cells`], from memory.
pub fn decode_ply_cells(bytes: &[u8]) -> Result<CellCut, String> {
    let end = find_header_end(bytes)?;
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "the header is not text")?;
    let count = header_value(text, "element face ")?.parse::<u32>().map_err(|e| e.to_string())? as usize;
    let z = header_value(text, "comment z ")?.parse::<f32>().map_err(|e| e.to_string())?;
    let crc = u32::from_str_radix(header_value(text, "comment crc32 ")?, 16).map_err(|e| e.to_string())?;
    if text != header(count, z, crc) {
        return Err("the header differs from the one fluvial writes".into());
    }
    let body = &bytes[end..];
    if body.len() as u64 != count as u64 * (CORNER_BYTES + FACE_BYTES) as u64 {
        return Err(format!("{} bytes of data where {count} cells belong", body.len()));
    }
    if crc32fast::hash(body) != crc {
        return Err("the data does not match its checksum: the file is damaged".into());
    }
    let (corners, faces) = body.split_at(count * CORNER_BYTES);
    let float = |bytes: &[u8], at: usize| {
        f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let cell = |(corner, face): (&[u8], &[u8])| {
        let min = [float(corner, 0), float(corner, 4)];
        CutCell { min, dx: float(corner, 12) - min[0], phi: float(face, FACE_BYTES - 4) }
    };
    let cells = corners.chunks_exact(CORNER_BYTES).zip(faces.chunks_exact(FACE_BYTES)).map(cell).collect();
    Ok(CellCut { z, cells })
}
