use fluvial_output::{FileMark, LineStream};

#[test]
fn lines_can_be_read_while_the_file_grows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let mut stream = LineStream::create(&path).unwrap();
    stream.write_line("time_s,H1").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "time_s,H1\n");
    stream.write_json(&[1.5, 2.0]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "time_s,H1\n[1.5,2.0]\n");
}

#[test]
fn a_stream_goes_on_after_its_mark_and_cuts_off_what_follows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let mut stream = LineStream::create(&path).unwrap();
    stream.write_line("one").unwrap();
    let mark = stream.mark();
    assert_eq!(mark, FileMark::of(&path).unwrap());
    stream.write_line("two").unwrap();
    std::fs::write(&path, "one\ntwo\nthr").unwrap();
    let mut again = LineStream::reopen(&path, mark).unwrap();
    again.write_line("2").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n2\n");
    assert_eq!(again.mark(), FileMark::of(&path).unwrap());
    for other in ["onE\ntwo\n", "on", ""] {
        std::fs::write(&path, other).unwrap();
        assert!(LineStream::reopen(&path, mark).is_err(), "{other}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), other, "left as it was");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_at_the_line_that_did_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stats.jsonl");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let mut stream = LineStream::create(&path).unwrap();
    let error = stream.write_line("{}").unwrap_err();
    assert!(error.to_string().starts_with(&format!("could not write {}", path.display())), "{error}");
}
