use fluvial_foundation::Vec3;
use fluvial_output::{
    PointCloud, PointsOf, decode_ply_points, encode_ply_points, read_ply_points, write_ply_points,
};

fn cloud() -> PointCloud {
    PointCloud {
        x: vec![Vec3::new(0.1, 0.2, 0.3), Vec3::Y, -Vec3::Z],
        v: vec![Vec3::X, Vec3::ZERO, Vec3::new(-1.5, 2.5, 1e-9)],
        id: vec![7, 0, (1 << 53) - 1],
        age_s: vec![0.0, 0.25, 3.0],
        radius: 0.0123,
        ..PointCloud::default()
    }
}

fn cloud_of_kinds() -> PointCloud {
    PointCloud { kind: Some(vec![0, 2, 1]), radii: vec![0.0123, 0.0123, 0.0246], ..cloud() }
}

#[test]
fn particles_read_back_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.ply");
    let nobody = PointCloud { radius: 1.0, kind: Some(vec![]), ..PointCloud::default() };
    let white = PointCloud { of: PointsOf::Whitewater, ..cloud_of_kinds() };
    let none = PointCloud { radius: 1.0, ..PointCloud::default() };
    for cloud in [cloud(), cloud_of_kinds(), white, none, nobody] {
        write_ply_points(&path, &cloud.as_points()).unwrap();
        assert_eq!(read_ply_points(&path).unwrap(), cloud);
    }
}

#[test]
fn every_truncation_and_every_bit_flip_is_an_error_and_never_a_panic() {
    damage(&cloud());
    damage(&cloud_of_kinds());
}

fn damage(cloud: &PointCloud) {
    let good = encode_ply_points(&cloud.as_points());
    for length in 0..good.len() {
        assert!(decode_ply_points(&good[..length]).is_err(), "cut at {length}");
    }
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        // The radius stands twice, in the header and in every particle; flipped in the header, its text
        // changes.
        assert!(decode_ply_points(&bad).map_or(true, |c| c.radius != cloud.radius), "bit {bit}");
    }
    assert!(decode_ply_points(&[good, vec![0]].concat()).is_err(), "trailing byte");
}
