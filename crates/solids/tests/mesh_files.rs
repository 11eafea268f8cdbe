//! Tests of `mesh_files`.

use fluvial_foundation::random::splitmix64;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::{
    MeshDistance, MeshError, Shape, parse_gltf, parse_obj, parse_ply, parse_stl, read_mesh,
};

/// A cube with distinct sides, as every format must give it back.
fn cube() -> TriangleMesh {
    let shape = Shape::Box { min: Vec3::new(0.1, 0.2, 0.3), max: Vec3::new(0.6, 0.9, 1.2) };
    shape.triangulate(Aabb::EMPTY, 1.0)
}

fn obj() -> Vec<u8> {
    let mut text = String::from("# cube\nmtllib none.mtl\no cube\n");
    for p in &cube().positions {
        text += &format!("v {} {} {}\nvn 0 1 0\n", p.x, p.y, p.z);
    }
    // quads, with texture and normal numbers and negative indices mixed
    for [a, b, c, d] in [[1, 5, 7, 3], [2, 4, 8, 6], [1, 2, 6, 5], [3, 7, 8, 4], [1, 3, 4, 2]] {
        text += &format!("f {a}//1 {b}//1 {c}/1/1 {d}\n");
    }
    text += "f -4 -3 -1 -2\n";
    text.into_bytes()
}

fn stl_binary() -> Vec<u8> {
    let mesh = cube();
    let mut bytes = b"solid it is not, in spite of this".to_vec();
    bytes.resize(80, 0);
    bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
    for t in &mesh.triangles {
        bytes.extend([0u8; 12]);
        bytes
            .extend(t.iter().flat_map(|&v| mesh.positions[v as usize].to_array()).flat_map(f32::to_le_bytes));
        bytes.extend([0u8; 2]);
    }
    bytes
}

fn stl_text() -> Vec<u8> {
    let mesh = cube();
    let mut text = String::from("solid cube\n");
    for t in &mesh.triangles {
        text += "facet normal 0 0 0\n outer loop\n";
        for &v in t {
            let p = mesh.positions[v as usize];
            text += &format!("  vertex {:e} {:e} {:e}\n", p.x, p.y, p.z);
        }
        text += " endloop\nendfacet\n";
    }
    (text + "endsolid cube\n").into_bytes()
}

fn ply(format: &str) -> Vec<u8> {
    let mesh = cube();
    let header = format!(
        "ply\nformat {format} 1.0\ncomment a cube\nelement vertex 8\nproperty double x\nproperty float y\nproperty float z\n\
         property uchar red\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n",
        mesh.triangles.len()
    );
    let mut bytes = header.into_bytes();
    let big = format == "binary_big_endian";
    let mut word = |mut w: Vec<u8>| {
        if big {
            w.reverse();
        }
        bytes.extend(w);
    };
    if format == "ascii" {
        for p in &mesh.positions {
            bytes.extend(format!("{} {} {} 255\n", p.x as f64, p.y, p.z).into_bytes());
        }
        for t in &mesh.triangles {
            bytes.extend(format!("3 {} {} {}\n", t[0], t[1], t[2]).into_bytes());
        }
        return bytes;
    }
    for p in &mesh.positions {
        word((p.x as f64).to_le_bytes().to_vec());
        word(p.y.to_le_bytes().to_vec());
        word(p.z.to_le_bytes().to_vec());
        word(vec![255]);
    }
    for t in &mesh.triangles {
        word(vec![3]);
        t.iter().for_each(|&v| word((v as i32).to_le_bytes().to_vec()));
    }
    bytes
}

fn gltf_parts() -> (String, Vec<u8>) {
    let mesh = cube();
    // stored mirrored, moved and scaled; the nodes undo it: scale -2, then shift under a parent
    let stored = |p: Vec3| (p - Vec3::new(1.0, 0.0, -1.0)) / Vec3::new(-2.0, 2.0, 2.0);
    let mut data: Vec<u8> =
        mesh.positions.iter().flat_map(|&p| stored(p).to_array()).flat_map(f32::to_le_bytes).collect();
    data.extend(
        mesh.triangles.iter().flat_map(|t| [t[0], t[2], t[1]]).flat_map(|v| (v as u16).to_le_bytes()),
    );
    let indices = mesh.triangles.len() * 3;
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],
        "nodes":[{{"children":[1],"translation":[1,0,-1]}},{{"mesh":0,"scale":[-2,2,2]}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":8,"type":"VEC3"}},
                     {{"bufferView":1,"componentType":5123,"count":{indices},"type":"SCALAR"}}],
        "bufferViews":[{{"buffer":0,"byteLength":96}},{{"buffer":0,"byteOffset":96,"byteLength":{}}}],
        "buffers":[{{"byteLength":{}BUFFER}}]}}"#,
        2 * indices,
        data.len()
    );
    (json, data)
}

fn gltf_embedded() -> Vec<u8> {
    let (json, data) = gltf_parts();
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for c in data.chunks(3) {
        let word = c.iter().fold(0u32, |w, &b| w << 8 | b as u32) << (8 * (3 - c.len()));
        text.extend(
            (0..4).map(
                |n| if n <= c.len() { digits[(word >> (18 - 6 * n) & 63) as usize] as char } else { '=' },
            ),
        );
    }
    json.replace("BUFFER", &format!(r#","uri":"data:application/octet-stream;base64,{text}""#)).into_bytes()
}

fn glb() -> Vec<u8> {
    let (json, data) = gltf_parts();
    let mut json = json.replace("BUFFER", "").into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut bytes = b"glTF".to_vec();
    bytes.extend(2u32.to_le_bytes());
    bytes.extend(((12 + 8 + json.len() + 8 + data.len()) as u32).to_le_bytes());
    for (kind, chunk) in [(0x4E4F_534Au32, json), (0x004E_4942, data)] {
        bytes.extend((chunk.len() as u32).to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(chunk);
    }
    bytes
}

type Parser = fn(&[u8]) -> Result<TriangleMesh, MeshError>;

fn all_formats() -> Vec<(&'static str, Vec<u8>, Parser)> {
    let gltf: Parser = |b| parse_gltf(b, None);
    vec![
        ("obj", obj(), parse_obj),
        ("stl binary", stl_binary(), parse_stl),
        ("stl text", stl_text(), parse_stl),
        ("ply text", ply("ascii"), parse_ply),
        ("ply little", ply("binary_little_endian"), parse_ply),
        ("ply big", ply("binary_big_endian"), parse_ply),
        ("gltf", gltf_embedded(), gltf),
        ("glb", glb(), gltf),
    ]
}

#[test]
fn every_format_gives_the_same_solid() {
    let reference = MeshDistance::new(cube()).unwrap();
    for (name, bytes, parse) in all_formats() {
        let raw = parse(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(raw.volume() > 0.0, "{name} is inside out");
        let mesh = MeshDistance::new(raw).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(mesh.mesh().positions.len(), 8, "{name}");
        assert!((mesh.mesh().volume() - reference.mesh().volume()).abs() < 1e-6, "{name}");
        let x = Vec3::new(0.4, 0.5, 1.0);
        assert!((mesh.distance(x) - reference.distance(x)).abs() < 1e-6, "{name}");
    }
}

#[test]
fn truncated_and_garbled_files_never_panic() {
    for (name, bytes, parse) in all_formats() {
        let mut refused = 0;
        for length in 0..bytes.len() {
            let result = parse(&bytes[..length]).and_then(MeshDistance::new);
            refused += result.is_err() as usize;
        }
        // only the last bytes (line ends, padding) may be missing without harm
        assert!(refused + 40 > bytes.len(), "{name}: {refused} of {}", bytes.len());
        for trial in 0..3000u64 {
            let mut garbled = bytes.clone();
            for flip in 0..1 + trial % 4 {
                let word = splitmix64(trial * 7 + flip);
                let at = (word % garbled.len() as u64) as usize;
                garbled[at] ^= (word >> 32) as u8 | 1;
            }
            let _ = parse(&garbled).and_then(MeshDistance::new);
        }
    }
}

#[test]
fn hostile_counts_are_refused_quickly() {
    let huge = b"ply\nformat binary_little_endian 1.0\nelement vertex 99999999999\nproperty float x\nproperty float y\nproperty float z\nend_header\n";
    assert!(parse_ply(huge).is_err());
    let empty_rows = b"ply\nformat ascii 1.0\nelement nothing 18446744073709551615\nend_header\n";
    assert!(parse_ply(empty_rows).is_ok());
    // As an unsigned number -1 would be vertex 0, or the last of all.
    let negative = String::from_utf8(ply("ascii")).unwrap().replace("\n3 0 ", "\n3 -1 ");
    assert!(negative.contains("3 -1 ") && parse_ply(negative.as_bytes()).is_err());
    let mut stl = vec![0u8; 84];
    stl[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(parse_stl(&stl).is_err());
    let circle = br#"{"scenes":[{"nodes":[0]}],"nodes":[{"children":[0]}]}"#;
    assert!(parse_gltf(circle, None).is_err());
    let draco = br#"{"extensionsRequired":["KHR_draco_mesh_compression"]}"#;
    assert!(parse_gltf(draco, None).unwrap_err().to_string().contains("KHR_draco_mesh_compression"));
}

#[test]
fn files_are_read_by_their_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Cube.OBJ");
    std::fs::write(&path, obj()).unwrap();
    assert_eq!(read_mesh(&path).unwrap().triangles.len(), 12);
    assert!(matches!(read_mesh(&folder.path().join("cube.fbx")), Err(MeshError::UnknownFormat(_))));
    assert!(matches!(read_mesh(&folder.path().join("none.ply")), Err(MeshError::Io { .. })));
}
