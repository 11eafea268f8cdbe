use fluvial_output::{remove_leftovers, write_atomic, write_bytes_atomic};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::{fs, io};

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.txt");
    write_bytes_atomic(&path, b"old").unwrap();
    let error = write_atomic(&path, |w| {
        w.write_all(b"half of the ne")?;
        Err(io::Error::new(io::ErrorKind::StorageFull, "no space"))
    })
    .unwrap_err();
    assert!(error.to_string().contains("a.txt") && error.to_string().contains("no space"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_panic_inside_the_writer_never_shows_a_half_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.txt");
    let p = path.clone();
    let _ = std::panic::catch_unwind(move || {
        write_atomic(&p, |w| {
            w.write_all(b"half")?;
            panic!("killed")
        })
    });
    assert!(!path.exists());
    assert_eq!(remove_leftovers(dir.path()).unwrap(), 1);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_with_the_file_name() {
    // /dev/full accepts opens and refuses every write: the checked write must notice at flush.
    let mut writer = BufWriter::new(File::options().write(true).open("/dev/full").unwrap());
    writer.write_all(b"x").unwrap();
    assert!(writer.into_inner().is_err());
    let error = write_bytes_atomic(Path::new("/nowhere/at/all.txt"), b"x").unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all.txt"), "{error}");
}
