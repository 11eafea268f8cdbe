//! glTF 2.0 (.gltf with embedded or neighbouring buffers, and .glb): triangles of the default scene, with the
//! nodes' transforms applied. Own reader, because it must answer every broken file with an error.

use crate::MeshError;
use fluvial_foundation::{DMat3, DQuat, DVec3};
use fluvial_grids::TriangleMesh;
use serde_json::Value;
use std::path::Path;

/// Nodes deeper than this are taken for a cycle.
const DEEPEST: usize = 64;

fn broken(message: impl Into<String>) -> MeshError {
    MeshError::Format(message.into())
}

/// Reads glTF or GLB bytes; `folder` is where buffers named by file lie.
pub fn parse_gltf(bytes: &[u8], folder: Option<&Path>) -> Result<TriangleMesh, MeshError> {
    let (json, blob) = split_glb(bytes)?;
    let json: Value =
        serde_json::from_slice(json).map_err(|e| broken(format!("the JSON part is broken: {e}")))?;
    let required = json["extensionsRequired"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(extension) = required
        .iter()
        .filter_map(Value::as_str)
        .find(|e| e.contains("compression") || e.contains("quantization"))
    {
        return Err(broken(format!(
            "the extension {extension} is not supported; export without compression"
        )));
    }
    let buffers = list(&json, "buffers")
        .iter()
        .map(|b| buffer_bytes(b, blob, folder))
        .collect::<Result<Vec<_>, _>>()?;
    let file = File { json: &json, buffers };
    let mut mesh = TriangleMesh::default();
    for root in file.roots()? {
        file.add_node(&mut mesh, root, (DMat3::IDENTITY, DVec3::ZERO), 0)?;
    }
    Ok(mesh)
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

fn buffer_bytes(buffer: &Value, blob: Option<&[u8]>, folder: Option<&Path>) -> Result<Vec<u8>, MeshError> {
    let Some(uri) = buffer["uri"].as_str() else {
        return blob.map(<[u8]>::to_vec).ok_or_else(|| broken("a buffer has neither data nor file"));
    };
    if let Some(rest) = uri.strip_prefix("data:") {
        let (_, data) = rest.split_once(";base64,").ok_or_else(|| broken("embedded data is not base64"))?;
        return decode_base64(data).ok_or_else(|| broken("embedded data is not base64"));
    }
    let path = folder.unwrap_or(Path::new(".")).join(uri.replace("%20", " "));
    std::fs::read(&path).map_err(|source| MeshError::Io { path: path.display().to_string(), source })
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
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

fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|v| usize::try_from(v).ok())
}

struct File<'a> {
    json: &'a Value,
    buffers: Vec<Vec<u8>>,
}

impl File<'_> {
    fn entry(&self, key: &str, n: usize) -> Result<&Value, MeshError> {
        list(self.json, key).get(n).ok_or_else(|| broken(format!("there is no {key}[{n}]")))
    }

    /// Nodes of the default scene; without scenes, the nodes that are no one's child.
    fn roots(&self) -> Result<Vec<usize>, MeshError> {
        if list(self.json, "scenes").is_empty() {
            let nodes = list(self.json, "nodes");
            let children: Vec<usize> =
                nodes.iter().flat_map(|n| list(n, "children")).filter_map(index).collect();
            return Ok((0..nodes.len()).filter(|n| !children.contains(n)).collect());
        }
        let scene = self.entry("scenes", index(&self.json["scene"]).unwrap_or(0))?;
        Ok(list(scene, "nodes").iter().filter_map(index).collect())
    }

    fn add_node(
        &self,
        mesh: &mut TriangleMesh,
        n: usize,
        parent: (DMat3, DVec3),
        depth: usize,
    ) -> Result<(), MeshError> {
        if depth > DEEPEST {
            return Err(broken("the nodes are nested too deeply or in a circle"));
        }
        let node = self.entry("nodes", n)?;
        let (linear, shift) = local_transform(node)?;
        let world = (parent.0 * linear, parent.0 * shift + parent.1);
        if let Some(m) = index(&node["mesh"]) {
            for primitive in list(self.entry("meshes", m)?, "primitives") {
                self.add_primitive(mesh, primitive, world)?;
            }
        }
        list(node, "children")
            .iter()
            .filter_map(index)
            .try_for_each(|child| self.add_node(mesh, child, world, depth + 1))
    }

    fn add_primitive(
        &self,
        mesh: &mut TriangleMesh,
        primitive: &Value,
        world: (DMat3, DVec3),
    ) -> Result<(), MeshError> {
        match index(&primitive["mode"]).unwrap_or(4) {
            4 => {}
            0..=3 => return Ok(()), // points and lines bound nothing
            mode => {
                return Err(broken(format!(
                    "primitive mode {mode} (strip or fan) is not supported; export triangles"
                )));
            }
        }
        let position = index(&primitive["attributes"]["POSITION"])
            .ok_or_else(|| broken("a primitive has no POSITION"))?;
        let first = mesh.positions.len() as u32;
        let values = self.accessor(position, "VEC3", 3)?;
        let points = values.chunks_exact(3).map(|v| world.0 * DVec3::new(v[0], v[1], v[2]) + world.1);
        mesh.positions.extend(points.map(|p| p.as_vec3()));
        let count = mesh.positions.len() as u32 - first;
        let corners: Vec<u32> = match index(&primitive["indices"]) {
            Some(accessor) => self.accessor(accessor, "SCALAR", 1)?.into_iter().map(|v| v as u32).collect(),
            None => (0..count).collect(),
        };
        if corners.iter().any(|&v| v >= count) {
            return Err(broken("an index refers to a vertex that does not exist"));
        }
        let mirrored = world.0.determinant() < 0.0;
        for t in corners.chunks_exact(3) {
            let t = if mirrored { [t[0], t[2], t[1]] } else { [t[0], t[1], t[2]] };
            mesh.triangles.push(t.map(|v| first + v));
        }
        Ok(())
    }

    /// All numbers of an accessor, as f64.
    fn accessor(&self, n: usize, kind: &str, width: usize) -> Result<Vec<f64>, MeshError> {
        let accessor = self.entry("accessors", n)?;
        if accessor["type"].as_str() != Some(kind) {
            return Err(broken(format!("accessors[{n}] is not of type {kind}")));
        }
        if !accessor["sparse"].is_null() {
            return Err(broken("sparse accessors are not supported"));
        }
        let size = match index(&accessor["componentType"]) {
            Some(5121) => 1,
            Some(5123) => 2,
            Some(5125 | 5126) => 4,
            _ => return Err(broken(format!("accessors[{n}] has an unsupported component type"))),
        };
        if width == 3 && index(&accessor["componentType"]) != Some(5126) {
            return Err(broken("positions must be 32-bit floats"));
        }
        let view_number =
            index(&accessor["bufferView"]).ok_or_else(|| broken(format!("accessors[{n}] has no data")))?;
        let view = self.entry("bufferViews", view_number)?;
        let buffer_number = index(&view["buffer"]).ok_or_else(|| broken("a buffer view names no buffer"))?;
        let buffer =
            self.buffers.get(buffer_number).ok_or_else(|| broken("a buffer view names no buffer"))?;
        let early = || broken(format!("accessors[{n}] reaches beyond its buffer"));
        let offset = |v: &Value| index(v).unwrap_or(0);
        let count = index(&accessor["count"]).ok_or_else(early)?;
        let stride = index(&view["byteStride"]).unwrap_or(width * size);
        let start =
            offset(&view["byteOffset"]).checked_add(offset(&accessor["byteOffset"])).ok_or_else(early)?;
        let mut values = Vec::new();
        for item in 0..count {
            let at = item.checked_mul(stride).and_then(|o| o.checked_add(start)).ok_or_else(early)?;
            let end = at.checked_add(width * size).ok_or_else(early)?;
            let bytes = buffer.get(at..end).ok_or_else(early)?;
            values.extend(bytes.chunks_exact(size).map(|c| match (size, c) {
                (1, c) => c[0] as f64,
                (2, c) => u16::from_le_bytes([c[0], c[1]]) as f64,
                (_, c) if width == 3 => f32::from_le_bytes([c[0], c[1], c[2], c[3]]) as f64,
                (_, c) => u32::from_le_bytes([c[0], c[1], c[2], c[3]]) as f64,
            }));
        }
        Ok(values)
    }
}

/// A node's matrix, or its scale, rotation and translation.
fn local_transform(node: &Value) -> Result<(DMat3, DVec3), MeshError> {
    let numbers = |key: &str, n: usize| -> Result<Option<Vec<f64>>, MeshError> {
        if node[key].is_null() {
            return Ok(None);
        }
        let values: Vec<f64> = list(node, key).iter().filter_map(Value::as_f64).collect();
        if values.len() == n {
            Ok(Some(values))
        } else {
            Err(broken(format!("a node's {key} needs {n} numbers")))
        }
    };
    if let Some(m) = numbers("matrix", 16)? {
        let column = |n: usize| DVec3::new(m[4 * n], m[4 * n + 1], m[4 * n + 2]);
        return Ok((DMat3::from_cols(column(0), column(1), column(2)), column(3)));
    }
    let vector = |v: Vec<f64>| DVec3::new(v[0], v[1], v[2]);
    let scale = numbers("scale", 3)?.map_or(DVec3::ONE, vector);
    let shift = numbers("translation", 3)?.map_or(DVec3::ZERO, vector);
    let rotation = numbers("rotation", 4)?
        .map_or(DQuat::IDENTITY, |q| DQuat::from_xyzw(q[0], q[1], q[2], q[3]).normalize());
    Ok((DMat3::from_quat(rotation) * DMat3::from_diagonal(scale), shift))
}
