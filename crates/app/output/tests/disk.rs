use fluvial_output::free_bytes;

#[test]
#[cfg(target_os = "linux")]
fn a_folder_has_room_and_a_missing_one_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    assert!(free_bytes(dir.path()).is_some_and(|free| free > 1 << 16));
    assert_eq!(free_bytes(&dir.path().join("nowhere")), None);
}
