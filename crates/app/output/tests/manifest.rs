use fluvial_output::{FileMark, MANIFEST, Manifest, ManifestEntries, read_manifest};

#[test]
fn what_is_recorded_is_read_back_and_the_last_line_counts() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("a b.ply", "one");
    write("c.png", "");
    let mut manifest = Manifest::create(dir.path()).unwrap();
    manifest.record(&["a b.ply".into(), "c.png".into()]).unwrap();
    write("a b.ply", "two");
    manifest.record(&["a b.ply".into(), "c.png".into()]).unwrap();
    let entries = read_manifest(dir.path()).unwrap();
    assert_eq!(entries.files["a b.ply"], FileMark { bytes: 3, crc32: crc32fast::hash(b"two") });
    assert_eq!((entries.files.len(), entries.damaged_lines), (2, 0));
    let lines = std::fs::read_to_string(dir.path().join(MANIFEST)).unwrap();
    assert_eq!(lines.lines().count(), 3, "what has not changed is not written twice");
    assert!(manifest.record(&["gone".into()]).is_err());

    manifest.forget(|name| name == "c.png").unwrap();
    write("d", "four");
    manifest.record(&["d".into()]).unwrap();
    let names: Vec<String> = read_manifest(dir.path()).unwrap().files.into_keys().collect();
    assert_eq!(names, ["a b.ply", "d"]);
}

#[test]
fn a_killed_writer_leaves_a_short_line_that_the_next_one_cuts_off() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "a").unwrap();
    std::fs::write(dir.path().join("b"), "b").unwrap();
    Manifest::create(dir.path()).unwrap().record(&["a".into(), "b".into()]).unwrap();
    let whole = std::fs::read(dir.path().join(MANIFEST)).unwrap();
    for length in 0..whole.len() {
        std::fs::write(dir.path().join(MANIFEST), &whole[..length]).unwrap();
        assert_eq!(read_manifest(dir.path()).unwrap().damaged_lines, 0, "cut at {length}");
        Manifest::reopen(dir.path()).unwrap().record(&["a".into(), "b".into()]).unwrap();
        assert_eq!(std::fs::read(dir.path().join(MANIFEST)).unwrap(), whole, "cut at {length}");
    }
}

#[test]
fn every_flipped_bit_costs_a_line_and_never_gives_a_wrong_mark() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    Manifest::create(dir.path()).unwrap().record(&["a".into(), "b".into(), "c".into()]).unwrap();
    let whole = std::fs::read(dir.path().join(MANIFEST)).unwrap();
    let good = ManifestEntries::parse(&whole).files;
    for bit in 0..whole.len() * 8 {
        let mut bad = whole.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let entries = ManifestEntries::parse(&bad);
        assert!(entries.files.len() < 3, "bit {bit}");
        assert!(entries.files.iter().all(|(name, mark)| good.get(name) == Some(mark)), "bit {bit}");
    }
}
