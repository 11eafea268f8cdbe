//! Readers of mesh files. They take bytes, keep only positions and faces, and answer every broken input with an
//! error (test `truncated_and_garbled_files_never_panic`).

use crate::MeshError;
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use std::path::Path;

/// Reads an OBJ, PLY, STL, glTF or GLB file by its ending. Positions are taken as metres.
pub fn read_mesh(path: &Path) -> Result<TriangleMesh, MeshError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if !["obj", "ply", "stl", "gltf", "glb"].contains(&extension.as_str()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(MeshError::UnknownFormat(name));
    }
    let bytes =
        std::fs::read(path).map_err(|source| MeshError::Io { path: path.display().to_string(), source })?;
    match extension.as_str() {
        "obj" => parse_obj(&bytes),
        "ply" => parse_ply(&bytes),
        "stl" => parse_stl(&bytes),
        _ => crate::parse_gltf(&bytes, path.parent()),
    }
}

fn broken(message: impl Into<String>) -> MeshError {
    MeshError::Format(message.into())
}

/// A polygon as a fan of triangles.
fn push_polygon(mesh: &mut TriangleMesh, corners: &[u32]) {
    for n in 1..corners.len().saturating_sub(1) {
        mesh.triangles.push([corners[0], corners[n], corners[n + 1]]);
    }
}

fn check_indices(mesh: TriangleMesh) -> Result<TriangleMesh, MeshError> {
    let count = mesh.positions.len();
    match mesh.triangles.iter().flatten().find(|&&v| v as usize >= count) {
        Some(v) => Err(broken(format!("a face refers to vertex {v}, but there are {count}"))),
        None => Ok(mesh),
    }
}

/// Wavefront OBJ: `v` and `f` lines (polygons, negative indices, `v/vt/vn`); everything else is passed over.
pub fn parse_obj(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    let text = String::from_utf8_lossy(bytes);
    let mut mesh = TriangleMesh::default();
    let mut corners = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line_error = |what: &str| broken(format!("line {}: {what}", n + 1));
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let mut number = || words.next().and_then(|w| w.parse::<f32>().ok());
                let (Some(x), Some(y), Some(z)) = (number(), number(), number()) else {
                    return Err(line_error("a vertex needs three numbers"));
                };
                mesh.positions.push(Vec3::new(x, y, z));
            }
            Some("f") => {
                corners.clear();
                for word in words {
                    let index = word.split('/').next().and_then(|w| w.parse::<i64>().ok());
                    let vertex = match index {
                        Some(i) if i > 0 => i - 1,
                        Some(i) if i < 0 => mesh.positions.len() as i64 + i,
                        _ => return Err(line_error("a face corner is not a vertex number")),
                    };
                    let vertex =
                        u32::try_from(vertex).map_err(|_| line_error("a face corner names no vertex"))?;
                    corners.push(vertex);
                }
                if corners.len() < 3 {
                    return Err(line_error("a face needs three corners"));
                }
                push_polygon(&mut mesh, &corners);
            }
            _ => {}
        }
    }
    check_indices(mesh)
}

/// STL, text or binary. Vertices come unwelded, as the format has them.
pub fn parse_stl(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    let count = bytes.get(80..84).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    // Some binary files start with "solid" too: the length decides.
    let binary =
        count.is_some_and(|c| c.checked_mul(50).and_then(|n| n.checked_add(84)) == Some(bytes.len()));
    if !binary && bytes.trim_ascii_start().starts_with(b"solid") {
        return parse_stl_text(bytes);
    }
    let Some(count) = count else { return Err(broken("a binary STL file has at least 84 bytes")) };
    let expected = 84u64 + 50 * count as u64;
    if (bytes.len() as u64) < expected {
        let message = format!(
            "the file ends early: {count} triangles need {expected} bytes, there are {}",
            bytes.len()
        );
        return Err(broken(message));
    }
    let mut mesh = TriangleMesh::default();
    for record in bytes[84..].chunks_exact(50).take(count) {
        let float = |n: usize| f32::from_le_bytes([record[n], record[n + 1], record[n + 2], record[n + 3]]);
        let vertex = |v: usize| Vec3::new(float(12 + 12 * v), float(16 + 12 * v), float(20 + 12 * v));
        push_soup(&mut mesh, [vertex(0), vertex(1), vertex(2)]);
    }
    Ok(mesh)
}

fn push_soup(mesh: &mut TriangleMesh, corners: [Vec3; 3]) {
    let first = mesh.positions.len() as u32;
    mesh.positions.extend(corners);
    mesh.triangles.push([first, first + 1, first + 2]);
}

fn parse_stl_text(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    let text = String::from_utf8_lossy(bytes);
    let mut mesh = TriangleMesh::default();
    let mut corners: Vec<Vec3> = Vec::new();
    let mut ended = false;
    for (n, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("vertex") => {
                let mut number = || words.next().and_then(|w| w.parse::<f32>().ok());
                let (Some(x), Some(y), Some(z)) = (number(), number(), number()) else {
                    return Err(broken(format!("line {}: a vertex needs three numbers", n + 1)));
                };
                corners.push(Vec3::new(x, y, z));
            }
            Some("endloop") => {
                let Ok(triangle) = <[Vec3; 3]>::try_from(corners.as_slice()) else {
                    return Err(broken(format!(
                        "line {}: a facet has {} vertices, not 3",
                        n + 1,
                        corners.len()
                    )));
                };
                push_soup(&mut mesh, triangle);
                corners.clear();
            }
            Some("endsolid") => ended = true,
            _ => {}
        }
    }
    if !ended || !corners.is_empty() {
        return Err(broken("the file ends early: no `endsolid`"));
    }
    Ok(mesh)
}

#[derive(Clone, Copy, PartialEq)]
enum PlyNumber {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl PlyNumber {
    fn named(name: &str) -> Option<PlyNumber> {
        use PlyNumber::*;
        Some(match name {
            "char" | "int8" => I8,
            "uchar" | "uint8" => U8,
            "short" | "int16" => I16,
            "ushort" | "uint16" => U16,
            "int" | "int32" => I32,
            "uint" | "uint32" => U32,
            "float" | "float32" => F32,
            "double" | "float64" => F64,
            _ => return None,
        })
    }
}

struct PlyProperty {
    name: String,
    /// The type of a list's length, for lists.
    list: Option<PlyNumber>,
    number: PlyNumber,
}

struct PlyElement {
    name: String,
    count: usize,
    properties: Vec<PlyProperty>,
}

#[derive(Clone, Copy, PartialEq)]
enum PlyFormat {
    Text,
    Little,
    Big,
}

/// The numbers after a PLY header, one after the other.
struct PlyBody<'a> {
    format: PlyFormat,
    bytes: &'a [u8],
}

impl PlyBody<'_> {
    fn number(&mut self, kind: PlyNumber) -> Result<f64, MeshError> {
        if self.format == PlyFormat::Text {
            self.bytes = self.bytes.trim_ascii_start();
            let end = self.bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(self.bytes.len());
            let (word, rest) = self.bytes.split_at(end);
            self.bytes = rest;
            let number = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
            return number
                .ok_or_else(|| broken(format!("`{}` is not a number", String::from_utf8_lossy(word))));
        }
        use PlyNumber::*;
        Ok(match kind {
            I8 => self.take::<1>()?[0] as i8 as f64,
            U8 => self.take::<1>()?[0] as f64,
            I16 => i16::from_le_bytes(self.take()?) as f64,
            U16 => u16::from_le_bytes(self.take()?) as f64,
            I32 => i32::from_le_bytes(self.take()?) as f64,
            U32 => u32::from_le_bytes(self.take()?) as f64,
            F32 => f32::from_le_bytes(self.take()?) as f64,
            F64 => f64::from_le_bytes(self.take()?),
        })
    }

    /// The next bytes, in little-endian order.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MeshError> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<N>() else {
            return Err(broken("the file ends early"));
        };
        self.bytes = rest;
        let mut word = *head;
        if self.format == PlyFormat::Big {
            word.reverse();
        }
        Ok(word)
    }
}

/// PLY, text or binary of either byte order: `vertex` x y z and `face` vertex_indices; other data is passed over.
pub fn parse_ply(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    let (format, elements, body) = ply_header(bytes)?;
    let mut body = PlyBody { format, bytes: body };
    let mut mesh = TriangleMesh::default();
    let mut corners = Vec::new();
    for element in &elements {
        if element.properties.is_empty() {
            continue; // its rows hold nothing, however many are announced
        }
        let axis_of = |p: &PlyProperty| ["x", "y", "z"].iter().position(|a| *a == p.name);
        for _ in 0..element.count {
            let mut position = Vec3::NAN;
            for property in &element.properties {
                let Some(length_kind) = property.list else {
                    let value = body.number(property.number)?;
                    if let Some(axis) = axis_of(property) {
                        position[axis] = value as f32;
                    }
                    continue;
                };
                let length = body.number(length_kind)?;
                corners.clear();
                for _ in 0..length.max(0.0) as u64 {
                    corners.push(body.number(property.number)? as u32);
                }
                if element.name == "face" && property.name.starts_with("vertex_ind") {
                    push_polygon(&mut mesh, &corners);
                }
            }
            if element.name == "vertex" {
                mesh.positions.push(position);
            }
        }
    }
    check_indices(mesh)
}

fn ply_header(bytes: &[u8]) -> Result<(PlyFormat, Vec<PlyElement>, &[u8]), MeshError> {
    let mut rest = bytes;
    let mut next_line = || -> Result<String, MeshError> {
        let end = rest
            .iter()
            .take(4096)
            .position(|&b| b == b'\n')
            .ok_or_else(|| broken("the header has no end"))?;
        let line = String::from_utf8_lossy(&rest[..end]).trim().to_string();
        rest = &rest[end + 1..];
        Ok(line)
    };
    if next_line()? != "ply" {
        return Err(broken("a PLY file starts with the line `ply`"));
    }
    let mut format = None;
    let mut elements: Vec<PlyElement> = Vec::new();
    loop {
        let line = next_line()?;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let bad = || broken(format!("header line `{line}` is not understood"));
        match words.as_slice() {
            ["end_header"] => break,
            ["format", name, _] => {
                format = Some(match *name {
                    "ascii" => PlyFormat::Text,
                    "binary_little_endian" => PlyFormat::Little,
                    "binary_big_endian" => PlyFormat::Big,
                    _ => return Err(bad()),
                });
            }
            ["element", name, count] => {
                let count = count.parse().map_err(|_| bad())?;
                elements.push(PlyElement { name: name.to_string(), count, properties: Vec::new() });
            }
            ["property", "list", length, number, name] => {
                let list = Some(PlyNumber::named(length).ok_or_else(bad)?);
                let number = PlyNumber::named(number).ok_or_else(bad)?;
                let property = PlyProperty { name: name.to_string(), list, number };
                elements.last_mut().ok_or_else(bad)?.properties.push(property);
            }
            ["property", number, name] => {
                let number = PlyNumber::named(number).ok_or_else(bad)?;
                let property = PlyProperty { name: name.to_string(), list: None, number };
                elements.last_mut().ok_or_else(bad)?.properties.push(property);
            }
            [] | ["comment", ..] | ["obj_info", ..] => {}
            _ => return Err(bad()),
        }
    }
    Ok((format.ok_or_else(|| broken("the header names no format"))?, elements, rest))
}

#[cfg(test)]
mod tests;
