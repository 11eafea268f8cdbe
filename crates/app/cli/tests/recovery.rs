//! Runs that are stopped, killed, starved of disk or robbed of their folder go on as if nothing had been.
//!
//! What is compared, byte for byte: surfaces, probes.csv, pictures, the film, and stats.jsonl without the two keys
//! that speak of the machine (`stages_s`, `peak_rss_bytes`).
//!
//! On demand: `FLUVIAL_KILLS=200 cargo test -p fluvial --test recovery -- --ignored --nocapture many_kills`, and, as
//! root, `... -- --ignored --nocapture a_disk`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Something of everything that a run must remember: a solid that moves, a source that starts and ends, probes.
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
[output]
preview_size = [64, 48]
checkpoint_every_s = 0.001
checkpoints_kept = 2
"#;

const STONE: &str =
    "v 0.85 0.0 0.2\nv 0.95 0.0 0.2\nv 0.9 0.0 0.3\nv 0.9 0.1 0.25\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 3 4 1\n";

const TRACKERS: [&str; 3] = ["levelset", "flip", "apic"];

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("scene.toml"), SCENE).unwrap();
        std::fs::write(dir.path().join("stone.obj"), STONE).unwrap();
        Place { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let own = std::env::var_os("FLUVIAL_BIN").map(PathBuf::from);
        let mut command = Command::new(own.unwrap_or_else(|| assert_cmd::cargo::cargo_bin("fluvial")));
        command.current_dir(self.dir.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs and checks the exit code; returns what was said on both streams.
    fn expect(&self, code: i32, args: &[&str]) -> String {
        let output = self.output(args);
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        // Long lines are broken on the terminal.
        said.replace("\n  │ ", " ").replace("\n        ", " ")
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// The files of a run by name, without what may differ between two runs of one scene.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            match name.as_str() {
                "checkpoint" | "log.txt" | "report.html" | "run.json" | "manifest.txt" => {}
                "stats.jsonl" => {
                    let text = std::fs::read_to_string(&entry).unwrap();
                    let lines = text.lines().map(|line| {
                        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
                        let map = line.as_object_mut().unwrap();
                        assert!(map.remove("stages_s").is_some() && map.remove("peak_rss_bytes").is_some());
                        line.to_string() + "\n"
                    });
                    found.insert(name, lines.collect::<String>().into_bytes());
                }
                _ if entry.is_dir() => folders.push(entry),
                _ => drop(found.insert(name, std::fs::read(&entry).unwrap())),
            }
        }
    }
    found
}

fn assert_same(expected: &BTreeMap<String, Vec<u8>>, dir: &Path, what: &str) {
    let found = contents(dir);
    let names = |m: &BTreeMap<String, Vec<u8>>| m.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(&found), "{what}");
    for (name, bytes) in expected {
        assert!(found[name] == *bytes, "{what}: {name} differs");
    }
}

fn partials(dir: &Path) -> Vec<String> {
    let folders = [dir.to_owned(), dir.join("preview"), dir.join("checkpoint")];
    let entries = folders.iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten();
    entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.ends_with(".partial"))
        .collect()
}

/// A small generator: which instant is hit is up to the machine anyway.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

#[derive(Default, Debug)]
struct Tally {
    kills: usize,
    while_writing: usize,
    before_the_record: usize,
    without_checkpoint: usize,
    while_resuming: usize,
    by_file: BTreeMap<String, usize>,
    runs: usize,
}

/// Starts a program and kills it, at a random instant or when it begins to write a file. False: it was faster.
fn kill_once(
    place: &Place,
    args: &[&str],
    out: &Path,
    usual: Duration,
    dice: &mut Dice,
    tally: &mut Tally,
) -> bool {
    let mut child = place.spawn(args);
    let wait = usual.mul_f64(dice.next());
    // Two of three are aimed at a file that is being written.
    let aimed = dice.next() < 0.67;
    let start = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let waited = start.elapsed() >= wait;
        if waited && (!aimed || !partials(out).is_empty()) {
            break;
        }
        if !waited {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    tally.kills += 1;
    let left = partials(out);
    tally.while_writing += usize::from(!left.is_empty());
    for name in left {
        let letters = name.trim_end_matches(".partial").chars().filter(|c| !c.is_ascii_digit());
        *tally.by_file.entry(letters.collect()).or_default() += 1;
    }
    true
}

/// Kills until there are `wanted` kills; every run is resumed to its end and compared.
fn kill(wanted: usize, preview: &dyn Fn(usize) -> bool) -> Tally {
    let (mut tally, mut dice) = (Tally::default(), Dice(20261115));
    let mut references = BTreeMap::new();
    for trial in 0.. {
        if tally.kills >= wanted {
            break;
        }
        let (tracker, preview) = (TRACKERS[trial % 3], preview(trial));
        let place = Place::new();
        let (set, show) = (format!("method.tracker={tracker}"), format!("output.preview={preview}"));
        let run = |out: &'static str| {
            ["run", "scene.toml", "--set", &set, "--set", &show, "-o", out].map(String::from)
        };
        let args = |out| run(out).to_vec();
        let (expected, usual) = references.entry((tracker, preview)).or_insert_with(|| {
            let args = args("calm");
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let start = Instant::now();
            place.expect(0, &args);
            (contents(&place.path("calm")), start.elapsed())
        });
        let out = place.path("out");
        let start_args = args("out");
        let start_args: Vec<&str> = start_args.iter().map(String::as_str).collect();
        if !kill_once(&place, &start_args, &out, *usual, &mut dice, &mut tally) {
            continue;
        }
        // Some are killed again while they are being resumed.
        for _ in 0..2 {
            look_at_the_remains(&place, &out, expected, &mut tally);
            if dice.next() < 0.6 || !out.join("run.json").exists() {
                break;
            }
            let before = tally.kills;
            kill_once(&place, &["resume", "out"], &out, *usual, &mut dice, &mut tally);
            tally.while_resuming += tally.kills - before;
        }
        let said = if out.join("run.json").exists() {
            place.expect(0, &["resume", "out"])
        } else {
            tally.before_the_record += 1;
            place.expect(0, &start_args)
        };
        tally.without_checkpoint += usize::from(said.contains("begins again"));
        assert_same(expected, &out, &format!("trial {trial}, {tracker}"));
        place.expect(0, &["info", "out"]);
        tally.runs += 1;
    }
    tally
}

/// What a killed run leaves: every file under a final name is complete.
fn look_at_the_remains(place: &Place, out: &Path, expected: &BTreeMap<String, Vec<u8>>, tally: &mut Tally) {
    if !out.join("run.json").exists() {
        return;
    }
    for (name, bytes) in expected {
        let grows = ["stats.jsonl", "probes.csv"].contains(&name.as_str());
        if let Ok(found) =
            std::fs::read(out.join(name)).map_err(|_| ()).and_then(|f| if grows { Err(()) } else { Ok(f) })
        {
            assert!(found == *bytes, "{name} is there but not complete; {tally:?}");
        }
    }
    let said = place.expect(0, &["info", "out"]);
    assert!(said.contains("fluvial resume out") || said.contains("done"), "{said}");
}

#[test]
fn a_few_kills() {
    let tally = kill(6, &|trial| trial == 1);
    println!("{tally:#?}");
}

#[test]
#[ignore = "takes minutes; see the top of this file"]
fn many_kills() {
    let wanted = std::env::var("FLUVIAL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let start = Instant::now();
    // The film takes most of such a short run: it is there in every other one, by trackers in turn.
    let tally = kill(wanted, &|trial| trial / 3 % 2 == 0);
    println!("{tally:#?}\nin {:.0} s", start.elapsed().as_secs_f64());
    assert!(2 * tally.while_writing >= tally.kills, "too few kills while files were written: {tally:?}");
}

#[test]
fn a_run_is_longer_shorter_or_rewound_by_resuming_it() {
    let place = Place::new();
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
    let place = Place::new();
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
    let place = Place::new();
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
        let place = Place::new();
        let set = ["--set", "output.checkpoint_every_s=1000"];
        let args =
            [&["run", "scene.toml", "-o", "out", "--frames", "100000", "--no-preview"], &set[..]].concat();
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
    let place = Place::new();
    place.expect(0, &["run", "scene.toml", "-o", "calm", "--no-preview", "--frames", "40"]);
    let child =
        place.command(&["run", "scene.toml", "-o", "out", "--no-preview", "--frames", "40"]).spawn().unwrap();
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
        let place = Place::new();
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
                    let grows = ["stats.jsonl", "probes.csv"].contains(&name.as_str());
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
    let place = Place::new();
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
