//! Surfaces as PLY, binary little endian, with velocity per vertex (`vx vy vz`, m/s).
//!
//! The header carries a CRC-32 of everything after it; reading verifies it, so that a damaged cache is
//! noticed and never drawn.

use crate::{OutputError, write_atomic};
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use std::path::Path;

const END_OF_HEADER: &[u8] = b"end_header\n";
/// Bytes of a face: the count 3 and three indices.
const FACE_BYTES: usize = 13;

/// Why a PLY file could not be read as a surface of ours.
#[derive(Debug, thiserror::Error)]
pub enum PlyError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] OutputError),
    /// Not what [`write_ply`] writes.
    #[error("{path} is not a surface written by fluvial: {what}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Writes a surface. Without velocities the three velocity properties are left out.
pub fn write_ply(path: &Path, mesh: &TriangleMesh) -> Result<(), OutputError> {
    let (header, body) = encode_parts(mesh);
    write_atomic(path, |w| {
        w.write_all(header.as_bytes())?;
        w.write_all(&body)
    })
}

/// The bytes of the file.
pub fn encode_ply(mesh: &TriangleMesh) -> Vec<u8> {
    let (header, body) = encode_parts(mesh);
    [header.into_bytes(), body].concat()
}

fn encode_parts(mesh: &TriangleMesh) -> (String, Vec<u8>) {
    let has_velocity = !mesh.velocities.is_empty();
    assert!(!has_velocity || mesh.velocities.len() == mesh.positions.len(), "one velocity per vertex");
    let vertex_bytes = vertex_bytes(has_velocity);
    let mut body =
        Vec::with_capacity(mesh.positions.len() * vertex_bytes + mesh.triangles.len() * FACE_BYTES);
    let mut put = |v: Vec3| v.to_array().map(|c| body.extend_from_slice(&c.to_le_bytes()));
    for (i, &position) in mesh.positions.iter().enumerate() {
        put(position);
        if has_velocity {
            put(mesh.velocities[i]);
        }
    }
    for triangle in &mesh.triangles {
        body.push(3);
        triangle.iter().for_each(|v| body.extend_from_slice(&v.to_le_bytes()));
    }
    let crc = crc32fast::hash(&body);
    (header(mesh.positions.len(), mesh.triangles.len(), has_velocity, crc), body)
}

fn vertex_bytes(has_velocity: bool) -> usize {
    if has_velocity { 24 } else { 12 }
}

fn header(vertices: usize, faces: usize, has_velocity: bool, crc: u32) -> String {
    let velocity =
        if has_velocity { "property float vx\nproperty float vy\nproperty float vz\n" } else { "" };
    format!(
        "ply\nformat binary_little_endian 1.0\n\
         comment fluvial surface, metres and metres per second, y up\n\
         comment crc32 {crc:08x}\n\
         element vertex {vertices}\n\
         property float x\nproperty float y\nproperty float z\n{velocity}\
         element face {faces}\n\
         property list uchar int vertex_indices\nend_header\n"
    )
}

/// Reads a surface that [`write_ply`] wrote, verified by its checksum.
pub fn read_ply(path: &Path) -> Result<TriangleMesh, PlyError> {
    let bytes = std::fs::read(path).map_err(|e| OutputError::new("read", path, e))?;
    decode_ply(&bytes).map_err(|what| PlyError::Format { path: path.display().to_string(), what })
}

/// Where the data starts.
pub(crate) fn find_header_end(bytes: &[u8]) -> Result<usize, String> {
    let place = bytes.windows(END_OF_HEADER.len()).take(4096).position(|w| w == END_OF_HEADER);
    Ok(place.ok_or("the header has no end")? + END_OF_HEADER.len())
}

/// What follows `prefix` on its line.
pub(crate) fn header_value<'a>(text: &'a str, prefix: &str) -> Result<&'a str, String> {
    text.lines().find_map(|l| l.strip_prefix(prefix)).ok_or(format!("no `{prefix}`"))
}

/// As [`read_ply`], from memory.
pub fn decode_ply(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let end = find_header_end(bytes)?;
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "the header is not text")?;
    let count = |prefix: &str| {
        let value = header_value(text, prefix)?;
        value.parse::<u32>().map(|n| n as usize).map_err(|e| format!("{prefix}: {e}"))
    };
    let (vertices, faces) = (count("element vertex ")?, count("element face ")?);
    let crc = header_value(text, "comment crc32 ")?;
    let crc = u32::from_str_radix(crc, 16).map_err(|e| format!("checksum: {e}"))?;
    let has_velocity = text.contains("property float vx\n");
    // Comparing whole headers is the strictest parser: any flipped bit shows.
    if text != header(vertices, faces, has_velocity, crc) {
        return Err("the header differs from the one fluvial writes".into());
    }
    let body = &bytes[end..];
    let expected = vertices as u64 * vertex_bytes(has_velocity) as u64 + faces as u64 * FACE_BYTES as u64;
    if body.len() as u64 != expected {
        return Err(format!("{} bytes of data where {expected} belong", body.len()));
    }
    if crc32fast::hash(body) != crc {
        return Err("the checksum does not match: the file is damaged".into());
    }
    decode_body(body, vertices, has_velocity)
}

fn decode_body(body: &[u8], vertices: usize, has_velocity: bool) -> Result<TriangleMesh, String> {
    let stride = vertex_bytes(has_velocity);
    let (vertex_data, face_data) = body.split_at(vertices * stride);
    let vec3 = |b: &[u8]| {
        let f = |o: usize| f32::from_le_bytes([b[o], b[o + 1], b[o + 2], b[o + 3]]);
        Vec3::new(f(0), f(4), f(8))
    };
    let positions = vertex_data.chunks_exact(stride).map(&vec3).collect();
    let velocities = if has_velocity {
        vertex_data.chunks_exact(stride).map(|b| vec3(&b[12..])).collect()
    } else {
        vec![]
    };
    let mut triangles = Vec::with_capacity(face_data.len() / FACE_BYTES);
    for face in face_data.chunks_exact(FACE_BYTES) {
        let index = |o: usize| u32::from_le_bytes([face[o], face[o + 1], face[o + 2], face[o + 3]]);
        let triangle = [index(1), index(5), index(9)];
        if face[0] != 3 || triangle.iter().any(|&v| v as usize >= vertices) {
            return Err("a face that is no triangle of the vertices".into());
        }
        triangles.push(triangle);
    }
    Ok(TriangleMesh { positions, velocities, triangles })
}
