// Private to the crate, and complete in itself.
#[path = "../src/usd/attributes.rs"]
#[allow(dead_code)]
mod attributes;

use attributes::{MESH_NAMES, POINT_ATTRIBUTES, POINT_KIND, POINT_NAMES, SURFACE_ATTRIBUTES};
use fluvial_foundation::{Quat, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_output::{
    BodyLayers, BodyMesh, FrameTime, Points, PointsOf, write_usd_body_meshes, write_usd_body_poses,
    write_usd_points, write_usd_stage,
};

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
    let alike = Points {
        x: &x,
        v: &v,
        id: &id,
        age_s: &age_s,
        radius: 0.125,
        kind: None,
        radii: &[],
        of: PointsOf::Particles,
    };
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

/// `usd-core` reads it in the tests of the command.
#[test]
fn bodies_are_transforms_over_meshes_that_are_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let text = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let mesh = TriangleMesh {
        positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
        velocities: vec![],
        triangles: vec![[0, 1, 2]],
    };
    let raft = BodyMesh { name: "the \"raft\"\\".into(), mesh };
    write_usd_body_meshes(&at("bodies.usda"), &[raft]).unwrap();
    let time = FrameTime { frame: 7, fps: 24.0 };
    let pose = (Quat::from_xyzw(0.0, 0.6, 0.0, 0.8), Vec3::new(1.5, 0.25, -2.0));
    write_usd_body_poses(&at("bodies.0007.usda"), &[pose], time).unwrap();
    let layers =
        BodyLayers { count: 1, meshes: "bodies.usda".into(), poses: vec![(time, "bodies.0007.usda".into())] };
    write_usd_stage(&at("liquid.usda"), &[], &[], &[], false, Some(&layers)).unwrap();
    assert!(text("bodies.usda").contains(r#"string name = "the \"raft\"\\""#), "{}", text("bodies.usda"));
    assert!(text("bodies.usda").contains("point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]"));
    let poses = text("bodies.0007.usda");
    assert!(poses.contains("double3 xformOp:translate.timeSamples = { 7: (1.5, 0.25, -2) }"), "{poses}");
    assert!(poses.contains("quatf xformOp:orient.timeSamples = { 7: (0.8, 0, 0.6, 0) }"), "{poses}");
    let stage = text("liquid.usda");
    assert!(
        stage.contains("subLayers = [@./bodies.usda@]") && stage.contains("primPath = \"/liquid/bodies\"")
    );
    assert!(text("liquid.bodies.manifest.usda").contains("quatf xformOp:orient\n"));
}
