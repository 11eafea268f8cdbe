use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_output::{decode_ply, encode_ply, read_ply, write_ply};

fn mesh(has_velocity: bool) -> TriangleMesh {
    let positions = vec![Vec3::ZERO, Vec3::new(0.1, 0.2, 0.3), Vec3::Y, Vec3::Z];
    TriangleMesh {
        velocities: if has_velocity { positions.iter().map(|p| *p * -3.0).collect() } else { vec![] },
        positions,
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    }
}

#[test]
fn surfaces_read_back_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    for (name, m) in [("v", mesh(true)), ("p", mesh(false)), ("empty", TriangleMesh::default())] {
        let path = dir.path().join(name);
        write_ply(&path, &m).unwrap();
        assert_eq!(read_ply(&path).unwrap(), m);
        assert_eq!(std::fs::read(&path).unwrap(), encode_ply(&m));
    }
}

#[test]
fn every_truncation_and_every_bit_flip_is_an_error_and_never_a_panic() {
    let good = encode_ply(&mesh(true));
    for length in 0..good.len() {
        assert!(decode_ply(&good[..length]).is_err(), "cut at {length}");
    }
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(decode_ply(&bad).is_err(), "bit {bit}");
    }
    assert!(decode_ply(&[good.clone(), vec![0]].concat()).is_err(), "trailing byte");
}
