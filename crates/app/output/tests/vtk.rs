use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, TriangleMesh, UniformGrid};
use fluvial_output::{FrameTime, VolumeView, write_vti, write_vtp};
use std::io::Read;
use std::path::Path;

/// Bytes that are zipped together.
const BLOCK: usize = 1 << 18;

/// The appended data, and the offset of each array by name.
fn open(path: &Path) -> (Vec<u8>, Vec<(String, usize)>) {
    let bytes = std::fs::read(path).unwrap();
    let mark = b"<AppendedData encoding=\"raw\">\n_";
    let start = bytes.windows(mark.len()).position(|w| w == mark).unwrap();
    let xml = String::from_utf8(bytes[..start].to_vec()).unwrap();
    let value = |line: &str, key: &str| {
        line.split(&format!("{key}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let arrays = xml.lines().filter(|l| l.contains("appended"));
    let arrays = arrays.map(|l| (value(l, "Name"), value(l, "offset").parse().unwrap())).collect();
    assert!(bytes.ends_with(b"\n</AppendedData>\n</VTKFile>\n"));
    (bytes[start + mark.len()..].to_vec(), arrays)
}

fn word(data: &[u8], at: usize) -> usize {
    u64::from_le_bytes(data[at..at + 8].try_into().unwrap()) as usize
}

#[test]
fn arrays_lie_where_the_xml_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vtp");
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
    let mesh = TriangleMesh { velocities: positions.clone(), positions, triangles: vec![[0, 1, 2]] };
    write_vtp(&path, &mesh, FrameTime { frame: 1, fps: 4.0 }).unwrap();
    let (data, arrays) = open(&path);
    let sizes: Vec<_> = arrays.iter().map(|(name, at)| (name.as_str(), word(&data, *at))).collect();
    assert_eq!(sizes, [("v", 36), ("Points", 36), ("connectivity", 12), ("offsets", 4)]);
    assert!(String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(">0.25</DataArray>"));
}

#[test]
fn volumes_unzip_to_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vti");
    let grid = UniformGrid { min: Vec3::ZERO, cells: [50, 40, 35], dx: 0.1 };
    let phi: Vec<f32> = (0..grid.cell_count()).map(|n| (n as f32 * 0.01).sin()).collect();
    let u = FaceField::constant(&grid, 2.0);
    let volume = VolumeView { grid, phi_cell: &phi, u_face: &u, phi_solid_node: None };
    write_vti(&path, &volume, FrameTime { frame: 0, fps: 24.0 }).unwrap();
    let (data, arrays) = open(&path);
    let unzip = |at: usize| -> Vec<u8> {
        let blocks = word(&data, at);
        assert_eq!(word(&data, at + 8), BLOCK);
        let (mut from, mut out) = (at + 24 + 8 * blocks, vec![]);
        for n in 0..blocks {
            let length = word(&data, at + 24 + 8 * n);
            flate2::read::ZlibDecoder::new(&data[from..from + length]).read_to_end(&mut out).unwrap();
            from += length;
        }
        assert_eq!(out.len() % BLOCK, word(&data, at + 16));
        out
    };
    let wanted: Vec<u8> = phi.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(unzip(arrays[0].1), wanted);
    let near = 2.0f32.to_le_bytes().repeat(3);
    for (n, v) in unzip(arrays[1].1).chunks_exact(12).enumerate() {
        assert_eq!(v, if phi[n] < 0.3 { near.as_slice() } else { &[0; 12] }, "cell {n}");
    }
}
