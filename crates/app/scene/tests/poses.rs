use fluvial_foundation::Vec3;
use fluvial_scene::{PosesError, parse_poses};

#[test]
fn remarks_commas_and_matrices_are_read_and_lines_are_named() {
    let text = "# a door\n0 1 2 0 0 0 1\n\n1, 2, 3, 0, 0, 0, -2 # turned\n1 0 0 4 0 1 0 5 0 0 1 6 0 0 0 1\n";
    let poses = parse_poses(text).unwrap();
    let places: Vec<Vec3> = poses.iter().map(|p| p.translate).collect();
    assert_eq!(places, [Vec3::new(0.0, 1.0, 2.0), Vec3::new(1.0, 2.0, 3.0), Vec3::new(4.0, 5.0, 6.0)]);
    for (bad, line) in [("0 1 2 0 0 0 0", 1), ("\n0 1 2", 2), ("1 2 3 4 5 6 nan", 1), ("0 0 0 0 0 0 1 x", 1)]
    {
        assert_eq!(parse_poses(bad), Err(PosesError::NotAPose { line }), "{bad}");
    }
    assert_eq!(parse_poses(" # nothing\n"), Err(PosesError::Empty));
    assert!(parse_poses(&"1 ".repeat(17)).is_err(), "too many numbers");
}

#[test]
fn every_truncation_and_every_changed_byte_is_survived() {
    let text = "1 2 3 0 0 0.5 1\n1 0 0 4 0 1 0 5 0 0 1 6 0 0 0 1\n-1e3, 2, 3, 0, 1, 0, 0\n";
    for at in 0..text.len() {
        let _ = parse_poses(&text[..at]);
        for byte in 0..128u8 {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = parse_poses(std::str::from_utf8(&bytes).unwrap());
        }
    }
}
