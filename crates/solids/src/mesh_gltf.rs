//! glTF 2.0 (.gltf with embedded or neighbouring buffers, and .glb): triangles of the default scene, with the
//! nodes' transforms applied. Own reader, because it must answer every broken file with an error and never
//! take much more memory than the file: the JSON is never held as a tree, entries are parsed where they lie.

use crate::MeshError;
use crate::mesh_files::{Sink, broken, build};
use fluvial_foundation::{DMat3, DQuat, DVec3};
use fluvial_grids::TriangleMesh;
use serde::Deserialize;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;

/// Deepest nesting of nodes that is accepted.
const DEEPEST_NODE: usize = 64;
/// Deepest nesting of brackets that is accepted.
const DEEPEST_BRACKET: usize = 100;
/// Most buffers that are accepted; no exporter writes as many.
const MOST_BUFFERS: usize = 1000;
/// Data may be used many times over; more vertices or triangles than this is no solid that anyone means.
const MOST_VERTICES: usize = 1 << 26;

/// Reads glTF or GLB bytes; `folder` is where buffers named by file lie; without one they are refused.
pub fn parse_gltf(bytes: &[u8], folder: Option<&Path>) -> Result<TriangleMesh, MeshError> {
    let (json, blob) = split_glb(bytes)?;
    let json = std::str::from_utf8(json).map_err(|_| broken("the JSON part is not text"))?;
    check_depth(json)?;
    let document: Document = serde_json::from_str(json).map_err(broken_json)?;
    each::<Cow<str>>(document.extensions_required, &mut |name| {
        if name.contains("compression") || name.contains("quantization") {
            let message = format!("the extension {name} is not supported; export without compression");
            return Err(broken(message));
        }
        Ok(())
    })?;
    let mut buffers = Vec::new();
    each::<Buffer>(document.buffers, &mut |buffer| {
        if buffers.len() == MOST_BUFFERS {
            return Err(broken(format!("more than {MOST_BUFFERS} buffers")));
        }
        buffers.push(buffer_bytes(&buffer, blob, folder)?);
        Ok(())
    })?;
    let file = File {
        scenes: List::new(json, document.scenes, "scenes")?,
        nodes: List::new(json, document.nodes, "nodes")?,
        meshes: List::new(json, document.meshes, "meshes")?,
        accessors: List::new(json, document.accessors, "accessors")?,
        views: List::new(json, document.buffer_views, "bufferViews")?,
        scene: document.scene.unwrap_or(0),
        buffers,
    };
    build(|sink| file.scan(sink))
}

fn broken_json(error: serde_json::Error) -> MeshError {
    broken(format!("the JSON part is broken: {error}"))
}

/// The lists of the file, as text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    extensions_required: Option<&'a RawValue>,
    scene: Option<usize>,
    #[serde(borrow)]
    scenes: Option<&'a RawValue>,
    #[serde(borrow)]
    nodes: Option<&'a RawValue>,
    #[serde(borrow)]
    meshes: Option<&'a RawValue>,
    #[serde(borrow)]
    accessors: Option<&'a RawValue>,
    #[serde(borrow)]
    buffer_views: Option<&'a RawValue>,
    #[serde(borrow)]
    buffers: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Scene<'a> {
    #[serde(borrow)]
    nodes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Node<'a> {
    mesh: Option<usize>,
    #[serde(borrow)]
    children: Option<&'a RawValue>,
    matrix: Option<[f64; 16]>,
    scale: Option<[f64; 3]>,
    rotation: Option<[f64; 4]>,
    translation: Option<[f64; 3]>,
}

#[derive(Deserialize)]
struct Mesh<'a> {
    #[serde(borrow)]
    primitives: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Primitive {
    mode: Option<usize>,
    attributes: Option<Attributes>,
    indices: Option<usize>,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accessor<'a> {
    buffer_view: Option<usize>,
    #[serde(default)]
    byte_offset: usize,
    component_type: usize,
    count: usize,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    sparse: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View {
    buffer: usize,
    #[serde(default)]
    byte_offset: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize)]
struct Buffer<'a> {
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
}

/// Refuses brackets nested deeper than any file's: the parser keeps a note of each.
fn check_depth(json: &str) -> Result<(), MeshError> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_BRACKET {
            return Err(broken("the JSON part is nested too deeply"));
        }
    }
    Ok(())
}

/// Calls `body` for every entry of a list, which may be missing.
fn each<'a, T: Deserialize<'a>>(
    list: Option<&'a RawValue>,
    body: &mut dyn FnMut(T) -> Result<(), MeshError>,
) -> Result<(), MeshError> {
    struct Each<'f, T> {
        body: &'f mut dyn FnMut(T) -> Result<(), MeshError>,
        outcome: Result<(), MeshError>,
    }
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<'_, T> {
        type Value = Result<(), MeshError>;
        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<Self::Value, A::Error> {
            while self.outcome.is_ok() {
                match entries.next_element::<T>()? {
                    Some(entry) => self.outcome = (self.body)(entry),
                    None => return Ok(self.outcome),
                }
            }
            while entries.next_element::<IgnoredAny>()?.is_some() {}
            Ok(self.outcome)
        }
    }
    let Some(list) = list else { return Ok(()) };
    let visitor = Each { body, outcome: Ok(()) };
    serde::Deserializer::deserialize_seq(&mut serde_json::Deserializer::from_str(list.get()), visitor)
        .map_err(broken_json)?
}

/// A list of the file: where its entries start.
struct List<'a> {
    json: &'a str,
    name: &'static str,
    starts: Vec<u32>,
}

impl<'a> List<'a> {
    fn new(json: &'a str, list: Option<&'a RawValue>, name: &'static str) -> Result<List<'a>, MeshError> {
        let mut count = 0;
        each::<IgnoredAny>(list, &mut |_| {
            count += 1;
            Ok(())
        })?;
        let mut starts = Vec::with_capacity(count);
        each::<&RawValue>(list, &mut |entry| {
            let start = entry.get().as_ptr() as usize - json.as_ptr() as usize;
            starts.push(u32::try_from(start).map_err(|_| broken("the JSON part is too long"))?);
            Ok(())
        })?;
        Ok(List { json, name, starts })
    }

    fn get<T: Deserialize<'a>>(&self, n: usize) -> Result<T, MeshError> {
        let start = *self.starts.get(n).ok_or_else(|| broken(format!("there is no {}[{n}]", self.name)))?;
        let mut text = serde_json::Deserializer::from_str(&self.json[start as usize..]);
        T::deserialize(&mut text).map_err(|e| broken(format!("{}[{n}]: {e}", self.name)))
    }
}

/// The JSON chunk and the binary chunk of a GLB file; a plain glTF file is all JSON.
fn split_glb(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), MeshError> {
    if !bytes.starts_with(b"glTF") {
        return Ok((bytes, None));
    }
    let early = || broken("the file ends early");
    let word = |b: &[u8], n: usize| -> Result<usize, MeshError> {
        let w = b.get(n..n + 4).ok_or_else(early)?;
        Ok(u32::from_le_bytes([w[0], w[1], w[2], w[3]]) as usize)
    };
    let mut rest = bytes.get(12..).ok_or_else(early)?;
    let (mut json, mut blob) = (None, None);
    while !rest.is_empty() {
        let (length, kind) = (word(rest, 0)?, word(rest, 4)?);
        let end = length.checked_add(8).ok_or_else(early)?;
        let chunk = rest.get(8..end).ok_or_else(early)?;
        match kind {
            0x4E4F_534A => json = json.or(Some(chunk)),
            0x004E_4942 => blob = blob.or(Some(chunk)),
            _ => {}
        }
        rest = &rest[end..];
    }
    Ok((json.ok_or_else(|| broken("the file has no JSON chunk"))?, blob))
}

fn buffer_bytes<'a>(
    buffer: &Buffer,
    blob: Option<&'a [u8]>,
    folder: Option<&Path>,
) -> Result<Cow<'a, [u8]>, MeshError> {
    let Some(uri) = &buffer.uri else {
        return blob.map(Cow::Borrowed).ok_or_else(|| broken("a buffer has neither data nor file"));
    };
    if let Some(rest) = uri.strip_prefix("data:") {
        let (_, data) = rest.split_once(";base64,").ok_or_else(|| broken("embedded data is not base64"))?;
        return decode_base64(data).map(Cow::Owned).ok_or_else(|| broken("embedded data is not base64"));
    }
    let folder = folder.ok_or_else(|| broken(format!("the buffer `{uri}` is not in the file")))?;
    let path = folder.join(uri.replace("%20", " "));
    let bytes = std::fs::read(&path);
    bytes.map(Cow::Owned).map_err(|source| MeshError::Io { path: path.display().to_string(), source })
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

struct File<'a> {
    scenes: List<'a>,
    nodes: List<'a>,
    meshes: List<'a>,
    accessors: List<'a>,
    views: List<'a>,
    scene: usize,
    buffers: Vec<Cow<'a, [u8]>>,
}

/// The walk through the nodes of a scene: which have been visited, and how much was found.
struct Walk<'s> {
    sink: &'s mut dyn Sink,
    visited: Vec<bool>,
    vertices: usize,
    triangles: usize,
}

type Transform = (DMat3, DVec3);

impl File<'_> {
    /// The nodes of the default scene; without scenes, those that are no one's child.
    fn scan(&self, sink: &mut dyn Sink) -> Result<(), MeshError> {
        let visited = vec![false; self.nodes.starts.len()];
        let mut walk = Walk { sink, visited, vertices: 0, triangles: 0 };
        let identity = (DMat3::IDENTITY, DVec3::ZERO);
        if !self.scenes.starts.is_empty() {
            let scene: Scene = self.scenes.get(self.scene)?;
            return each(scene.nodes, &mut |root| self.node(&mut walk, root, identity, 0));
        }
        let mut is_child = vec![false; self.nodes.starts.len()];
        for n in 0..is_child.len() {
            each::<usize>(self.nodes.get::<Node>(n)?.children, &mut |child| {
                is_child.get_mut(child).into_iter().for_each(|c| *c = true);
                Ok(())
            })?;
        }
        let mut roots = (0..is_child.len()).filter(|n| !is_child[*n]);
        roots.try_for_each(|root| self.node(&mut walk, root, identity, 0))
    }

    fn node(&self, walk: &mut Walk, n: usize, parent: Transform, depth: usize) -> Result<(), MeshError> {
        let node: Node = self.nodes.get(n)?;
        // Nodes make trees (glTF 2.0, 3.5.2): what is met twice would be met without end, or 2^64 times.
        if depth > DEEPEST_NODE || std::mem::replace(&mut walk.visited[n], true) {
            return Err(broken("the nodes are nested too deeply or in a circle, or one has two parents"));
        }
        let (linear, shift) = local_transform(&node);
        let world = (parent.0 * linear, parent.0 * shift + parent.1);
        if let Some(m) = node.mesh {
            let primitives = self.meshes.get::<Mesh>(m)?.primitives;
            each(primitives, &mut |primitive| self.primitive(walk, &primitive, world))?;
        }
        each(node.children, &mut |child| self.node(walk, child, world, depth + 1))
    }

    fn primitive(&self, walk: &mut Walk, primitive: &Primitive, world: Transform) -> Result<(), MeshError> {
        match primitive.mode.unwrap_or(4) {
            4 => {}
            0..=3 => return Ok(()), // points and lines bound nothing
            mode => {
                return Err(broken(format!(
                    "primitive mode {mode} (strip or fan) is not supported; export triangles"
                )));
            }
        }
        let position = primitive.attributes.as_ref().and_then(|a| a.position);
        let position = position.ok_or_else(|| broken("a primitive has no POSITION"))?;
        let points = self.values(position, "VEC3", 3)?;
        let corners = primitive.indices.map(|a| self.values(a, "SCALAR", 1)).transpose()?;
        let corner_count = corners.as_ref().map_or(points.count, |c| c.count);
        let first = walk.vertices as u32;
        walk.vertices = walk.vertices.saturating_add(points.count);
        walk.triangles = walk.triangles.saturating_add(corner_count / 3);
        if walk.vertices.max(walk.triangles) > MOST_VERTICES {
            return Err(broken(format!("more than {MOST_VERTICES} vertices or triangles")));
        }
        for n in 0..points.count {
            let p = DVec3::new(points.float(n, 0), points.float(n, 1), points.float(n, 2));
            walk.sink.vertex((world.0 * p + world.1).as_vec3());
        }
        let mirrored = world.0.determinant() < 0.0;
        for n in 0..corner_count / 3 {
            let corner = |c: usize| corners.as_ref().map_or((3 * n + c) as u32, |list| list.whole(3 * n + c));
            let t = [corner(0), corner(1), corner(2)];
            if t.iter().any(|&v| v as usize >= points.count) {
                return Err(broken("an index refers to a vertex that does not exist"));
            }
            let t = if mirrored { [t[0], t[2], t[1]] } else { t };
            walk.sink.triangle(t.map(|v| first + v));
        }
        Ok(())
    }

    /// The numbers of an accessor, checked to lie inside their buffer.
    fn values(&self, n: usize, kind: &str, width: usize) -> Result<Values<'_>, MeshError> {
        let accessor: Accessor = self.accessors.get(n)?;
        if accessor.kind != kind {
            return Err(broken(format!("accessors[{n}] is not of type {kind}")));
        }
        if accessor.sparse.is_some() {
            return Err(broken("sparse accessors are not supported"));
        }
        let size = match (accessor.component_type, width) {
            (5126, 3) => 4,
            (_, 3) => return Err(broken("positions must be 32-bit floats")),
            (5121, _) => 1,
            (5123, _) => 2,
            (5125, _) => 4,
            _ => return Err(broken(format!("accessors[{n}] has an unsupported component type"))),
        };
        let view = accessor.buffer_view.ok_or_else(|| broken(format!("accessors[{n}] has no data")))?;
        let view: View = self.views.get(view)?;
        let buffer = self.buffers.get(view.buffer).ok_or_else(|| broken("a buffer view names no buffer"))?;
        let stride = view.byte_stride.unwrap_or(width * size);
        if stride < width * size {
            return Err(broken("a buffer view's byteStride is less than its entries"));
        }
        let start = view.byte_offset.checked_add(accessor.byte_offset);
        let last = accessor.count.saturating_sub(1).checked_mul(stride);
        let end = start.zip(last).and_then(|(s, l)| s.checked_add(l)?.checked_add(width * size));
        match (start, end) {
            _ if accessor.count == 0 => Ok(Values { bytes: &[], stride, size, count: 0 }),
            (Some(start), Some(end)) if end <= buffer.len() => {
                Ok(Values { bytes: &buffer[start..end], stride, size, count: accessor.count })
            }
            _ => Err(broken(format!("accessors[{n}] reaches beyond its buffer"))),
        }
    }
}

/// The data of an accessor.
struct Values<'a> {
    bytes: &'a [u8],
    stride: usize,
    size: usize,
    count: usize,
}

impl Values<'_> {
    fn float(&self, n: usize, component: usize) -> f64 {
        let b = &self.bytes[n * self.stride + 4 * component..][..4];
        f32::from_le_bytes([b[0], b[1], b[2], b[3]]) as f64
    }

    fn whole(&self, n: usize) -> u32 {
        let bytes = &self.bytes[n * self.stride..][..self.size];
        bytes.iter().rev().fold(0, |word, &b| word << 8 | u32::from(b))
    }
}

/// A node's matrix, or its scale, rotation and translation.
fn local_transform(node: &Node) -> Transform {
    if let Some(m) = node.matrix {
        let column = |n: usize| DVec3::new(m[4 * n], m[4 * n + 1], m[4 * n + 2]);
        return (DMat3::from_cols(column(0), column(1), column(2)), column(3));
    }
    let scale = node.scale.map_or(DVec3::ONE, DVec3::from_array);
    let shift = node.translation.map_or(DVec3::ZERO, DVec3::from_array);
    let rotation = node.rotation.map_or(DQuat::IDENTITY, |q| DQuat::from_array(q).normalize());
    (DMat3::from_quat(rotation) * DMat3::from_diagonal(scale), shift)
}
