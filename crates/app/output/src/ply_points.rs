//! Particles as PLY, binary little endian: position, velocity, radius, age, id per vertex, and their kind
//! where they differ.
//!
//! PLY has no 64-bit integers: `id` is a double, which is exact up to 2^53. As for surfaces, the header
//! carries a CRC-32 of what follows.

use crate::ply::{PlyError, find_header_end, header_value};
use crate::{OutputError, PointCloud, Points, PointsOf, write_atomic};
use fluvial_foundation::Vec3;
use std::path::Path;

/// Bytes of a particle: eight floats and a double, and a byte where they have kinds.
fn point_bytes(kinds: bool) -> usize {
    8 * 4 + 8 + usize::from(kinds)
}

/// Writes particles.
pub fn write_ply_points(path: &Path, points: &Points) -> Result<(), OutputError> {
    let bytes = encode_ply_points(points);
    write_atomic(path, |w| w.write_all(&bytes))
}

/// The bytes of the file.
pub fn encode_ply_points(points: &Points) -> Vec<u8> {
    let count = points.x.len();
    assert!(points.v.len() == count && points.id.len() == count && points.age_s.len() == count);
    let kinds = points.have_kinds();
    assert!(points.kind.is_none_or(|k| k.len() == count));
    assert!(!kinds || points.radii.len() == count);
    let mut body = Vec::with_capacity(count * point_bytes(kinds));
    for n in 0..count {
        let (x, v) = (points.x[n], points.v[n]);
        for value in [x.x, x.y, x.z, v.x, v.y, v.z, points.radius_of(n), points.age_s[n]] {
            body.extend_from_slice(&value.to_le_bytes());
        }
        body.extend_from_slice(&(points.id[n] as f64).to_le_bytes());
        body.extend(points.kind.map(|k| k[n]));
    }
    let mut bytes = header(count, kinds, points.of, points.radius, crc32fast::hash(&body)).into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

fn header(count: usize, kinds: bool, of: PointsOf, radius: f32, crc: u32) -> String {
    let names = of.kinds().iter().enumerate().map(|(n, name)| format!("{n} {name}"));
    let (comment, kind) = match kinds {
        true => (format!("comment kind {}\n", names.collect::<Vec<_>>().join(", ")), "property uchar kind\n"),
        false => (String::new(), ""),
    };
    let name = of.name();
    format!(
        "ply\nformat binary_little_endian 1.0\n\
         comment fluvial {name}, metres and seconds, y up\n\
         comment radius {radius}\n{comment}\
         comment crc32 {crc:08x}\n\
         element vertex {count}\n\
         property float x\nproperty float y\nproperty float z\n\
         property float vx\nproperty float vy\nproperty float vz\n\
         property float pscale\nproperty float age\nproperty double id\n{kind}end_header\n"
    )
}

/// Reads particles that [`write_ply_points`] wrote, verified by their checksum.
pub fn read_ply_points(path: &Path) -> Result<PointCloud, PlyError> {
    let bytes = std::fs::read(path).map_err(|e| OutputError::new("read", path, e))?;
    decode_ply_points(&bytes).map_err(|what| PlyError::Format { path: path.display().to_string(), what })
}

/// As [`read_ply_points`], from memory.
pub fn decode_ply_points(bytes: &[u8]) -> Result<PointCloud, String> {
    let end = find_header_end(bytes)?;
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "the header is not text")?;
    let count = header_value(text, "element vertex ")?.parse::<u32>().map_err(|e| e.to_string())? as usize;
    let radius = header_value(text, "comment radius ")?.parse::<f32>().map_err(|e| e.to_string())?;
    let crc = u32::from_str_radix(header_value(text, "comment crc32 ")?, 16).map_err(|e| e.to_string())?;
    let kinds = text.contains("property uchar kind");
    let of = match text.contains("comment fluvial whitewater") {
        true => PointsOf::Whitewater,
        false => PointsOf::Particles,
    };
    if text != header(count, kinds, of, radius, crc) {
        return Err("the header differs from the one fluvial writes".into());
    }
    let body = &bytes[end..];
    if body.len() as u64 != count as u64 * point_bytes(kinds) as u64 {
        return Err(format!("{} bytes of data where {count} particles belong", body.len()));
    }
    if crc32fast::hash(body) != crc {
        return Err("the checksum does not match: the file is damaged".into());
    }
    let mut cloud = PointCloud {
        x: Vec::with_capacity(count),
        v: Vec::with_capacity(count),
        id: Vec::with_capacity(count),
        age_s: Vec::with_capacity(count),
        radius,
        kind: kinds.then(|| Vec::with_capacity(count)),
        radii: Vec::with_capacity(if kinds { count } else { 0 }),
        of,
    };
    for point in body.chunks_exact(point_bytes(kinds)) {
        let f = |n: usize| f32::from_le_bytes(point[4 * n..4 * n + 4].try_into().expect("four bytes"));
        cloud.x.push(Vec3::new(f(0), f(1), f(2)));
        cloud.v.push(Vec3::new(f(3), f(4), f(5)));
        cloud.age_s.push(f(7));
        cloud.id.push(f64::from_le_bytes(point[32..40].try_into().expect("eight bytes")) as u64);
        if kinds {
            cloud.radii.push(f(6));
            cloud.kind.iter_mut().for_each(|kinds| kinds.push(point[40]));
        }
    }
    Ok(cloud)
}
