//! Readers of mesh files. They take bytes, keep only positions and faces, and answer every broken input with
//! an error (test `truncated_and_garbled_files_never_panic`).
//!
//! A file is gone through twice: once to check and count, once to build. So a broken file costs no memory,
//! and a good one exactly that of its mesh (tests/damage of the `fluvial` command measures it).

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
        "ply" => crate::parse_ply(&bytes),
        "stl" => parse_stl(&bytes),
        _ => crate::parse_gltf(&bytes, path.parent()),
    }
}

pub(crate) fn broken(message: impl Into<String>) -> MeshError {
    MeshError::Format(message.into())
}

/// Takes what a reader finds, in the order of the file.
pub(crate) trait Sink {
    fn vertex(&mut self, position: Vec3);
    fn triangle(&mut self, corners: [u32; 3]);
}

#[derive(Default)]
struct Count {
    vertices: usize,
    triangles: usize,
    largest_corner: Option<u32>,
}

impl Sink for Count {
    fn vertex(&mut self, _: Vec3) {
        self.vertices += 1;
    }
    fn triangle(&mut self, corners: [u32; 3]) {
        self.triangles += 1;
        self.largest_corner = self.largest_corner.max(corners.into_iter().max());
    }
}

impl Sink for TriangleMesh {
    fn vertex(&mut self, position: Vec3) {
        self.positions.push(position);
    }
    fn triangle(&mut self, corners: [u32; 3]) {
        self.triangles.push(corners);
    }
}

/// The mesh of a file that `scan` goes through.
pub(crate) fn build(
    scan: impl Fn(&mut dyn Sink) -> Result<(), MeshError>,
) -> Result<TriangleMesh, MeshError> {
    let mut count = Count::default();
    scan(&mut count)?;
    if let Some(v) = count.largest_corner.filter(|&v| v as usize >= count.vertices) {
        return Err(broken(format!("a face refers to vertex {v}, but there are {}", count.vertices)));
    }
    let mut mesh = TriangleMesh {
        positions: Vec::with_capacity(count.vertices),
        velocities: Vec::new(),
        triangles: Vec::with_capacity(count.triangles),
    };
    scan(&mut mesh)?;
    Ok(mesh)
}

/// A polygon as a fan of triangles, corner by corner.
#[derive(Default)]
pub(crate) struct Fan {
    first: u32,
    previous: u32,
    corners: usize,
}

impl Fan {
    pub(crate) fn corner(&mut self, vertex: u32, sink: &mut dyn Sink) {
        match self.corners {
            0 => self.first = vertex,
            1 => {}
            _ => sink.triangle([self.first, self.previous, vertex]),
        }
        self.previous = vertex;
        self.corners += 1;
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &str> {
    // What is not text gives an empty word, which is no number and no keyword.
    let words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    words.map(|w| std::str::from_utf8(w).unwrap_or(""))
}

fn three_numbers<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Vec3> {
    let mut number = || words.next()?.parse::<f32>().ok();
    Some(Vec3::new(number()?, number()?, number()?))
}

/// Wavefront OBJ: `v` and `f` lines (polygons, negative indices, `v/vt/vn`); everything else is passed over.
pub fn parse_obj(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    build(|sink| scan_obj(bytes, sink))
}

fn scan_obj(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), MeshError> {
    let mut vertices = 0i64;
    for (n, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line_error = |what: &str| broken(format!("line {}: {what}", n + 1));
        let mut words = words(line);
        match words.next() {
            Some("v") => {
                let position = three_numbers(&mut words);
                sink.vertex(position.ok_or_else(|| line_error("a vertex needs three numbers"))?);
                vertices += 1;
            }
            Some("f") => {
                let mut fan = Fan::default();
                for word in words {
                    let index = word.split('/').next().and_then(|w| w.parse::<i64>().ok());
                    let vertex = match index {
                        Some(i) if i > 0 => i - 1,
                        Some(i) if i < 0 => vertices.saturating_add(i),
                        _ => return Err(line_error("a face corner is not a vertex number")),
                    };
                    let vertex =
                        u32::try_from(vertex).map_err(|_| line_error("a face corner names no vertex"))?;
                    fan.corner(vertex, sink);
                }
                if fan.corners < 3 {
                    return Err(line_error("a face needs three corners"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// STL, text or binary. Vertices come unwelded, as the format has them.
pub fn parse_stl(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    let count = bytes.get(80..84).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    // Some binary files start with "solid" too: the length decides.
    let expected = count.map(|c| 84 + 50 * u64::from(c));
    if expected != Some(bytes.len() as u64) && bytes.trim_ascii_start().starts_with(b"solid") {
        return build(|sink| scan_stl_text(bytes, sink));
    }
    let (Some(count), Some(expected)) = (count, expected) else {
        return Err(broken("a binary STL file has at least 84 bytes"));
    };
    if (bytes.len() as u64) < expected {
        let message = format!(
            "the file ends early: {count} triangles need {expected} bytes, there are {}",
            bytes.len()
        );
        return Err(broken(message));
    }
    build(|sink| {
        for (n, record) in bytes[84..].chunks_exact(50).take(count as usize).enumerate() {
            let float =
                |n: usize| f32::from_le_bytes([record[n], record[n + 1], record[n + 2], record[n + 3]]);
            let vertex = |v: usize| Vec3::new(float(12 + 12 * v), float(16 + 12 * v), float(20 + 12 * v));
            soup(sink, n, [vertex(0), vertex(1), vertex(2)])?;
        }
        Ok(())
    })
}

/// Triangle `n` with vertices of its own.
fn soup(sink: &mut dyn Sink, n: usize, corners: [Vec3; 3]) -> Result<(), MeshError> {
    let first = u32::try_from(3 * n).ok().filter(|v| *v <= u32::MAX - 2);
    let first = first.ok_or_else(|| broken("there are too many triangles"))?;
    corners.into_iter().for_each(|p| sink.vertex(p));
    sink.triangle([first, first + 1, first + 2]);
    Ok(())
}

fn scan_stl_text(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), MeshError> {
    let (mut corners, mut found, mut triangles, mut ended) = ([Vec3::ZERO; 3], 0, 0, false);
    for (n, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line_error = |what: String| broken(format!("line {}: {what}", n + 1));
        let mut words = words(line);
        match words.next() {
            Some("vertex") => {
                let position = three_numbers(&mut words);
                let position = position.ok_or_else(|| line_error("a vertex needs three numbers".into()))?;
                if let Some(corner) = corners.get_mut(found) {
                    *corner = position;
                }
                found += 1;
            }
            Some("endloop") if found != 3 => {
                return Err(line_error(format!("a facet has {found} vertices, not 3")));
            }
            Some("endloop") => {
                soup(sink, triangles, corners)?;
                (triangles, found) = (triangles + 1, 0);
            }
            Some("endsolid") => ended = true,
            _ => {}
        }
    }
    if !ended || found > 0 {
        return Err(broken("the file ends early: no `endsolid`"));
    }
    Ok(())
}
