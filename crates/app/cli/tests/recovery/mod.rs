//! Runs that are stopped, killed, starved of disk or robbed of their folder go on as if nothing had been.
//!
//! What is compared, byte for byte: surfaces, probes.csv, pictures, the film, and stats.jsonl without the two
//! keys that speak of the machine (`stages_s`, `peak_rss_bytes`).
//!
//! On demand: `FLUVIAL_KILLS=200 cargo test -p fluvial-cli --test main -- --ignored --nocapture many_kills`,
//! and, as root, `... -- --ignored --nocapture a_disk`.

mod disks;
mod kills;

use crate::place::{Place, assert_same, contents};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Something of everything that a run must remember: a solid that moves, a body, a source that starts and ends,
/// probes, whitewater.
const SCENE: &str = r#"# Everything that moves.
fluvial = 1
[domain]
min = [0, 0, 0]
max = [1, 1, 0.5]
resolution = 16
[time]
frames = 6
fps = 30
cfl = 1.0
[[fill]]
shape = { box = { min = [0, 0, 0], max = [0.4, 0.5, 0.5] } }
[[solid]]
name = "paddle"
shape = { box = { min = [0.6, 0, 0.1], max = [0.7, 0.5, 0.4] } }
motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 0.2, translate = [0.2, 0, 0] }] }
[[solid]]
name = "stone"
shape = { mesh = { path = "stone.obj" } }
[[body]]
name = "crate"
shape = { box = { min = [0.1, 0.52, 0.1], max = [0.28, 0.68, 0.26] } }
density = 400
angular_velocity = [0, 0, 2]
[[source]]
shape = { sphere = { center = [0.25, 0.8, 0.25], radius = 0.1 } }
velocity = [1, 0, 0]
active = [0.03, 0.12]
[[probe]]
name = "H1"
kind = "height"
at = [0.2, 0.25]
[[probe]]
name = "P1"
kind = "pressure"
at = [0.1, 0.1, 0.25]
[whitewater]
amount = 20
trapped_air = [0.01, 0.3]
energy = [0.0, 0.5]
max_particles = 300
[output]
preview_size = [64, 48]
checkpoint_every_s = 0.001
checkpoints_kept = 2
"#;

const STONE: &str =
    "v 0.85 0.0 0.2\nv 0.95 0.0 0.2\nv 0.9 0.0 0.3\nv 0.9 0.1 0.25\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 3 4 1\n";

const TRACKERS: [&str; 3] = ["levelset", "flip", "apic"];

/// A folder with that scene.
fn new_place() -> Place {
    Place::new(&[("scene.toml", SCENE), ("stone.obj", STONE)])
}

#[test]
fn a_run_is_longer_shorter_or_rewound_by_resuming_it() {
    let place = new_place();
    let set = ["--set", "method.tracker=flip"];
    let run = |args: &[&str]| place.expect(0, &[&["run", "scene.toml"], &set[..], args].concat());
    run(&["-o", "whole", "--set", "output.checkpoints_kept=100"]);
    run(&["-o", "short", "--frames", "3"]);
    place.expect(0, &["resume", "short", "--frames", "6"]);
    let expected = contents(&place.path("whole"));
    assert_same(&expected, &place.path("short"), "extended");
    // Nothing to do is no error.
    assert!(place.expect(0, &["resume", "short"]).contains("all 6 frames are there"));
    for from in ["4", "2", "0"] {
        let said = place.expect(0, &["resume", "whole", "--from-frame", from]);
        assert!(said.contains(&format!("going on after frame {from}")), "{said}");
        assert_same(&expected, &place.path("whole"), "rewound");
    }
    place.expect(0, &["resume", "whole", "--from-start"]);
    assert_same(&expected, &place.path("whole"), "from the start");
    place.expect(2, &["resume", "nowhere"]);
}

#[test]
fn what_has_changed_is_named_and_only_used_on_request() {
    let place = new_place();
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).unwrap();
    place.expect(0, &["run", "scene.toml", "-o", "out", "--frames", "2", "--no-preview"]);
    write("scene.toml", &SCENE.replace("velocity = [1, 0, 0]", "velocity = [2, 0, 0]"));
    write("stone.obj", &STONE.replace("0.1 0.25", "0.12 0.25"));
    let said = place.expect(2, &["resume", "out", "--frames", "4"]);
    for part in ["source.0.velocity", "[1.0,0.0,0.0] -> [2.0,0.0,0.0]", "stone.obj", "--allow-changed"] {
        assert!(said.replace('\n', " ").contains(part), "no {part}: {said}");
    }
    place.expect(0, &["resume", "out", "--frames", "4", "--allow-changed"]);
    // From now on this is the run's scene.
    place.expect(0, &["resume", "out", "--frames", "5"]);
    // Another grid cannot take over the state.
    write("scene.toml", &SCENE.replace("resolution = 16", "resolution = 20"));
    let said = place.expect(1, &["resume", "out", "--frames", "6", "--allow-changed"]);
    assert!(said.contains("cannot be changed"), "{said}");
    // A scene file that is gone has not changed.
    write("scene.toml", SCENE);
    write("stone.obj", STONE);
    place.expect(0, &["run", "scene.toml", "-o", "two", "--frames", "1", "--no-preview"]);
    std::fs::remove_file(place.path("scene.toml")).unwrap();
    place.expect(0, &["resume", "two", "--frames", "2"]);
}

#[test]
fn info_finds_every_kind_of_damage_and_says_how_to_mend_it() {
    let place = new_place();
    let set = ["--set", "output.checkpoints_kept=100"];
    place.expect(0, &[&["run", "scene.toml", "-o", "out", "--no-preview"], &set[..]].concat());
    let expected = contents(&place.path("out"));
    assert!(place.expect(0, &["info", "out"]).contains("frames to be trusted: 0 to 6"));
    std::fs::write(place.path("out/notes.txt"), "mine").unwrap();
    assert!(place.expect(0, &["info", "out"]).contains("not of this run: notes.txt"));
    std::fs::remove_file(place.path("out/notes.txt")).unwrap();

    let mut bytes = std::fs::read(place.path("out/surface.0003.ply")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(place.path("out/surface.0003.ply"), bytes).unwrap();
    std::fs::remove_file(place.path("out/surface.0005.ply")).unwrap();
    let said = place.expect(1, &["info", "out"]);
    for part in ["damaged: surface.0003.ply", "missing: surface.0005.ply", "0 to 2, 4, 6", "--from-frame 2"] {
        assert!(said.contains(part), "no {part}: {said}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&place.output(&["info", "out", "--json"]).stdout).unwrap();
    assert_eq!(json["trusted"], serde_json::json!([[0, 2], [4, 4], [6, 6]]));
    place.expect(0, &["resume", "out", "--from-frame", "2"]);
    assert_same(&expected, &place.path("out"), "mended");
    place.expect(0, &["info", "out"]);

    // The newest checkpoint is damaged: the one before serves.
    let newest = |n: usize| {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(place.path("out/checkpoint")).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all[all.len() - 1 - n].clone()
    };
    let bytes = std::fs::read(newest(0)).unwrap();
    std::fs::write(newest(0), &bytes[..bytes.len() - 9]).unwrap();
    assert!(place.expect(1, &["info", "out"]).contains("its checksum does not match"));
    place.expect(0, &["resume", "out", "--frames", "7"]);
    place.expect(0, &["run", "scene.toml", "-o", "seven", "--no-preview", "--frames", "7"]);
    assert_same(&contents(&place.path("seven")), &place.path("out"), "from the older checkpoint");

    // A damaged record ends in a message.
    let run_json = place.path("out/run.json");
    let text = std::fs::read_to_string(&run_json).unwrap();
    std::fs::write(&run_json, text.replace("\"fps\": 30", "\"fps\": 31")).unwrap();
    assert!(place.expect(1, &["resume", "out"]).contains("checksum does not match"));
    assert!(place.expect(1, &["info", "out"]).contains("damaged"));
}

#[test]
#[cfg(unix)]
fn a_signal_stops_with_a_checkpoint_and_two_programs_never_share_a_folder() {
    for signal in ["-INT", "-TERM"] {
        let place = new_place();
        let set = ["--set", "output.checkpoint_every_s=1000"];
        let args = [
            &["run", "scene.toml", "-o", "out", "--frames", "100000", "--no-preview", "--ignore-disk-space"],
            &set[..],
        ]
        .concat();
        let mut child = place.spawn(&args);
        let start = Instant::now();
        while !place.path("out/surface.0002.ply").exists() {
            assert!(start.elapsed().as_secs() < 60, "frame 2 never came");
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = place.expect(2, &["resume", "out"]);
        assert!(said.contains("another fluvial is at work"), "{said}");
        assert!(place.expect(0, &["info", "out"]).contains("running"));
        place.expect(0, &["report", "out"]);
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert!(place.expect(0, &["info", "out"]).contains("interrupted"));
        let done = std::fs::read_dir(place.path("out")).unwrap().count().to_string();
        let said = place.expect(0, &["resume", "out", "--frames", &done]);
        assert!(said.contains("going on after frame"), "{said}");
        place.expect(0, &["run", "scene.toml", "-o", "calm", "--no-preview", "--frames", &done]);
        assert_same(&contents(&place.path("calm")), &place.path("out"), signal);
    }
}

#[test]
fn a_vanished_folder_ends_the_run_with_a_message_and_nothing_is_lost() {
    let place = new_place();
    place.expect(0, &["run", "scene.toml", "-o", "calm", "--no-preview", "--frames", "20"]);
    let child =
        place.command(&["run", "scene.toml", "-o", "out", "--no-preview", "--frames", "20"]).spawn().unwrap();
    let start = Instant::now();
    while !place.path("out/surface.0002.ply").exists() {
        assert!(start.elapsed().as_secs() < 60, "frame 2 never came");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::rename(place.path("out"), place.path("elsewhere")).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("could not") && !said.contains("panicked"), "{said}");
    place.expect(0, &["resume", "elsewhere"]);
    assert_same(&contents(&place.path("calm")), &place.path("elsewhere"), "moved");
}

/// Without a source the step in progress is given up: most of these signals come in the middle of one.
#[test]
#[cfg(unix)]
fn a_step_that_is_given_up_is_taken_again_by_the_resumed_run() {
    let start_of_source = SCENE.find("[[source]]").unwrap();
    let end_of_source = start_of_source + SCENE[start_of_source..].find("[[probe]]").unwrap();
    let scene = SCENE[..start_of_source].to_owned() + &SCENE[end_of_source..];
    let place = Place::new(&[("scene.toml", &scene), ("stone.obj", STONE)]);
    let set = ["--set", "method.tracker=flip", "--set", "output.checkpoint_every_s=1000", "--no-preview"];
    place.expect(0, &[&["run", "scene.toml", "-o", "calm", "--frames", "20"], &set[..]].concat());
    let mut child = place.spawn(&[&["run", "scene.toml", "-o", "out", "--frames", "20"], &set[..]].concat());
    let mut stops = 0;
    for wait in 0.. {
        let start = Instant::now();
        while !place.path("out/surface.0000.ply").exists()
            || start.elapsed() < Duration::from_millis(60 + 7 * wait)
        {
            assert!(start.elapsed().as_secs() < 60, "frame 0 never came");
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        match child.wait().unwrap().code() {
            Some(0) => break,
            Some(3) => stops += 1,
            // On a busy machine the signal may come before the program listens for it, and ends it at once.
            None => {}
            other => panic!("{other:?}"),
        }
        child = place.spawn(&["resume", "out"]);
    }
    assert!(stops >= 1);
    assert_same(&contents(&place.path("calm")), &place.path("out"), &format!("{stops} stops"));
}

#[test]
fn a_run_that_was_killed_over_its_report_gets_it() {
    let place = new_place();
    place.expect(0, &["run", "scene.toml", "-o", "out", "--frames", "1", "--no-preview"]);
    std::fs::remove_file(place.path("out/report.html")).unwrap();
    std::fs::write(place.path("out/report.html.partial"), "<html>").unwrap();
    place.expect(0, &["resume", "out"]);
    assert!(place.path("out/report.html").exists() && !place.path("out/report.html.partial").exists());
}

/// As if the run had been made by a program with other arithmetic.
#[test]
fn a_program_that_computes_other_numbers_is_refused_unless_allowed() {
    let place = new_place();
    place.expect(0, &["run", "scene.toml", "-o", "out", "--frames", "2", "--no-preview"]);
    for entry in std::fs::read_dir(place.path("out/checkpoint")).unwrap().map(|e| e.unwrap().path()) {
        let mut bytes = std::fs::read(&entry).unwrap();
        let key = b"\"fingerprint\":";
        let digit = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
        bytes[digit] = if bytes[digit] == b'1' { b'2' } else { b'1' };
        let end = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&entry, bytes).unwrap();
    }
    let said = place.expect(2, &["resume", "out", "--frames", "3"]);
    assert!(said.contains("computes other numbers") && said.contains("--allow-changed"), "{said}");
    assert!(!place.path("out/surface.0003.ply").exists());
    place.expect(0, &["resume", "out", "--frames", "3", "--allow-changed"]);
    assert!(place.path("out/surface.0003.ply").exists());
}
