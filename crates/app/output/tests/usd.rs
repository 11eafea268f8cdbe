// Private to the crate, and complete in itself.
#[path = "../src/usd/attributes.rs"]
#[allow(dead_code)]
mod attributes;

use attributes::{MESH_NAMES, POINT_ATTRIBUTES, POINT_KIND, POINT_NAMES, SURFACE_ATTRIBUTES};
use fluvial_foundation::Vec3;
use fluvial_output::{FrameTime, Points, write_usd_points};

#[test]
fn names_and_attributes_agree() {
    let names = |list: &str| -> Vec<String> {
        list.lines().map(|l| l.split_once(' ').unwrap().1.to_owned()).collect()
    };
    assert_eq!(names(&[POINT_ATTRIBUTES, POINT_KIND].concat()), POINT_NAMES);
    assert_eq!(names(SURFACE_ATTRIBUTES), MESH_NAMES[..5]);
}

/// A layer is told apart and every array found again by its place, as a reader would: `usd-core` itself
/// reads layers in the tests of the command (tests/interop.rs).
#[test]
fn a_layer_has_its_sections_and_its_arrays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.usdc");
    let (x, v) = ([Vec3::X, Vec3::new(0.1, 0.2, 0.3)], [Vec3::Y, Vec3::Z]);
    let (id, age_s) = ([7, 1 << 40], [0.5, 0.25]);
    let alike = Points { x: &x, v: &v, id: &id, age_s: &age_s, radius: 0.125, kind: None, radii: &[] };
    write_usd_points(&path, &alike, FrameTime { frame: 3, fps: 24.0 }).unwrap();
    let plain = std::fs::read(&path).unwrap();
    assert!(!plain.windows(13).any(|w| w == b"primvars:kind"));
    let points = Points { kind: Some(&[1, 2]), radii: &[0.25, 0.125], ..alike };
    write_usd_points(&path, &points, FrameTime { frame: 3, fps: 24.0 }).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    assert_eq!(&bytes[..10], b"PXR-USDC\0\x08");
    let contents = u64_at(16);
    assert_eq!((u64_at(contents), contents + 8 + 6 * 32), (6, bytes.len()));
    let mut end = 0;
    for (n, name) in ["TOKENS", "STRINGS", "FIELDS", "FIELDSETS", "PATHS", "SPECS"].iter().enumerate() {
        let entry = contents + 8 + 32 * n;
        assert!(bytes[entry..].starts_with(name.as_bytes()));
        let (start, length) = (u64_at(entry + 16), u64_at(entry + 24));
        assert!(start >= end && start + length <= contents, "{name}");
        end = start + length;
    }
    let ids: Vec<u8> = [2u64, 7, 1 << 40].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert!(bytes.windows(ids.len()).any(|w| w == ids));
    let list = |values: [[u8; 4]; 2]| [&2u64.to_le_bytes()[..], &values.concat()].concat();
    for array in [list([1i32, 2].map(i32::to_le_bytes)), list([0.5f32, 0.25].map(f32::to_le_bytes))] {
        assert!(bytes.windows(array.len()).any(|w| w == array), "kinds and widths, one each");
    }
    assert!(bytes.windows(13).any(|w| w == b"primvars:kind"));
}
