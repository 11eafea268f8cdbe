//! Disks that fill up or become read-only. As root.

use super::{TRACKERS, new_place};
use crate::place::{Place, assert_same, contents};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A folder on a small file system of its own.
struct Mount(PathBuf);

impl Mount {
    fn new(place: &Place, options: &str) -> Mount {
        let dir = place.path("disk");
        std::fs::create_dir(&dir).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&dir).status();
        assert!(mount.unwrap().success(), "mounting needs root");
        Mount(dir)
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
#[ignore = "needs root"]
fn a_disk_that_fills_up_ends_the_run_with_a_message_and_it_goes_on_when_there_is_room() {
    for tracker in TRACKERS {
        let place = new_place();
        let set = format!("method.tracker={tracker}");
        let run = |out: &str, more: &[&str]| -> Vec<String> {
            let args =
                [&["run", "scene.toml", "-o", out, "--frames", "20", "--set", &set][..], more].concat();
            args.iter().map(|a| a.to_string()).collect()
        };
        fn strs(args: &[String]) -> Vec<&str> {
            args.iter().map(String::as_str).collect()
        }
        place.expect(0, &strs(&run("calm", &[])));
        let expected = contents(&place.path("calm"));
        let mount = Mount::new(&place, "size=700k");
        // It is refused before the start, stops early by itself, and survives the real thing.
        let said = place.expect(1, &strs(&run("disk/out", &[])));
        assert!(said.contains("the run will need about"), "{said}");
        println!("{tracker}, before the start: {said}");
        for more in [&["--ignore-disk-space"][..], &[]] {
            let _ = std::fs::remove_dir_all(place.path("disk/out"));
            if more.is_empty() {
                // The check before the start sees room that is gone later.
                mount.remount("size=64m");
                std::fs::write(place.path("disk/filler"), vec![0u8; 60_000_000]).unwrap();
                let child = place.command(&strs(&run("disk/out", &[]))).spawn().unwrap();
                while !place.path("disk/out/surface.0001.ply").exists() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // To the brim, while the run itself goes on writing.
                let _ = std::fs::write(place.path("disk/more"), vec![0u8; 8_000_000]);
                let output = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                println!("{tracker}, while it runs: {said}");
                assert_eq!(output.status.code(), Some(1), "{said}");
                assert!(said.contains("almost full") || said.contains("No space left"), "{said}");
            } else {
                let said = place.expect(1, &strs(&run("disk/out", more)));
                println!("{tracker}, full: {said}");
                assert!(said.contains("No space left") && said.contains("fluvial resume"), "{said}");
            }
            for (name, bytes) in &expected {
                if let Ok(found) = std::fs::read(place.path("disk/out").join(name)) {
                    let grows = ["stats.jsonl", "probes.csv", "bodies.csv"].contains(&name.as_str());
                    assert!(grows || found == *bytes, "{tracker}: {name} is harmed");
                }
            }
            for name in ["disk/filler", "disk/more"] {
                let _ = std::fs::remove_file(place.path(name));
            }
            mount.remount("size=64m");
            place.expect(0, &["resume", "disk/out"]);
            assert_same(&expected, &place.path("disk/out"), tracker);
            mount.remount("size=64m");
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_disk_that_becomes_read_only_ends_the_run_with_a_message() {
    let place = new_place();
    let run = |out: &'static str| ["run", "scene.toml", "-o", out, "--frames", "60", "--no-preview"];
    place.expect(0, &run("calm"));
    let mount = Mount::new(&place, "size=64m");
    let child = place.command(&run("disk/out")).spawn().unwrap();
    while !place.path("disk/out/surface.0002.ply").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // A file system with open writers cannot be remounted: a read-only one is laid over the folder.
    let out = place.path("disk/out");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "ro", "tmpfs"]).arg(&out).status();
    assert!(mounted.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Read-only file system"), "{said}");
    let said = place.expect(1, &run("disk/out"));
    println!("{said}");
    assert!(Command::new("umount").arg(&out).status().unwrap().success());
    place.expect(0, &["resume", "disk/out"]);
    assert_same(&contents(&place.path("calm")), &place.path("disk/out"), "read-only");
    drop(mount);
}
