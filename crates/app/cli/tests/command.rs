//! The program as a user meets it: exit codes, messages, files.

use crate::place::{PROGRAM, Place};
use std::path::Path;
use std::process::Stdio;

/// A scene that simulates in well under a second.
const TINY: &str = r#"# A tiny dam break.
fluvial = 1
[domain]
min = [0, 0, 0]
max = [1, 1, 0.5]
resolution = 16
[time]
frames = 4
fps = 24
[[fill]]
shape = { box = { min = [0, 0, 0], max = [0.4, 0.5, 0.5] } }
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
"#;

fn new_place() -> Place {
    Place::new(&[("tiny.toml", TINY)])
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn run_json(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(dir.join("run.json")).unwrap()).unwrap()
}

#[test]
fn a_run_leaves_every_file_of_the_cache_and_can_be_drawn_again() {
    let place = new_place();
    let said = place.expect(0, &["run", "tiny.toml"]);
    assert!(said.contains("4 frames in"), "{said}");
    let out = place.path("out/tiny");
    let expected = [
        "checkpoint",
        "log.txt",
        "manifest.txt",
        "preview",
        "preview.png",
        "probes.csv",
        "report.html",
        "run.json",
        "stats.jsonl",
        "surface.0000.ply",
        "surface.0001.ply",
        "surface.0002.ply",
        "surface.0003.ply",
        "surface.0004.ply",
    ];
    assert_eq!(names(&out), expected);
    assert_eq!(names(&out.join("preview")).len(), 5);
    let run = run_json(&out);
    assert_eq!((run["status"].as_str(), run["last_frame"].as_u64()), (Some("done"), Some(4)));
    assert_eq!(run["scene"]["domain"]["resolution"], 16);
    let probes = std::fs::read_to_string(out.join("probes.csv")).unwrap();
    let rows: Vec<&str> = probes.lines().collect();
    assert_eq!(rows[0], "time_s,H1,P1");
    let first: Vec<f64> = rows[1].split(',').map(|n| n.parse().unwrap()).collect();
    assert!(first[0] == 0.0 && (first[1] - 0.5).abs() < 1e-4, "{probes}");

    // What is there is never overwritten by accident, and replaced on request.
    let said = place.expect(2, &["run", "tiny.toml"]);
    assert!(said.contains("--overwrite"), "{said}");
    place.expect(0, &["run", "tiny.toml", "--overwrite", "--no-preview", "--frames", "1"]);
    assert_eq!(run_json(&out)["last_frame"], 1);
    assert!(!out.join("surface.0002.ply").exists() && !out.join("preview").exists());

    place.expect(0, &["render", "out/tiny", "--size", "80x60", "--camera", "2,1,3,0.5,0.3,0.25", "--film"]);
    let drawn = names(&out.join("render"));
    assert!(drawn.contains(&"0001.png".into()) && drawn.contains(&"film.png".into()), "{drawn:?}");
    place.expect(2, &["render", "out/tiny", "--frames", "7..9"]);
    place.expect(2, &["render", "nowhere"]);
}

#[test]
fn bad_input_exits_with_2_and_says_what_to_do() {
    let place = new_place();
    let bad = |text: &str| std::fs::write(place.path("bad.toml"), text).unwrap();
    bad(&TINY.replace("frames = 4", "framse = 4"));
    let said = place.expect(2, &["run", "bad.toml"]);
    assert!(said.contains("framse") && said.contains("frames") && said.contains("bad.toml:"), "{said}");
    bad("fluvial = ");
    place.expect(2, &["check", "bad.toml"]);
    for args in [
        &["run", "no-such-scene"] as &[&str],
        &["run", "tiny.toml", "--set", "domain.resolution"],
        &["run", "tiny.toml", "--set", "domain.resolution=abc"],
        &["run", "tiny.toml", "--threads", "0"],
        &["run", "tiny.toml", "--log", "loud"],
        &["run"],
        &["walk"],
        &["validate", "no-such-case"],
        &["validate", "hydrostatic", "--method", "no-such-method"],
        &["validate", "drop-across-levels", "--method", "uniform/flip"],
        &["bench", "no-such-case"],
        &["bench", "pressure", "--case", "no-such-case"],
        &["bench", "pressure", "--solver", "no-such-solver"],
        &["bench", "pressure", "--n", "4"],
        &["bench", "pressure", "--n", "many"],
        &["bench", "pressure", "--tolerance", "0"],
        &["bench", "pressure", "--threads", "0"],
        &["bench", "pressure", "--repeats", "0"],
    ] {
        place.expect(2, args);
    }
    let said = place.expect(2, &["validate", "drop-across-levels", "--method", "uniform/flip"]);
    assert!(said.contains("it applies to octree"), "{said}");
    assert!(!place.path("out").exists(), "nothing is written before everything is checked");
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_made_is_an_error_not_a_panic() {
    let place = new_place();
    std::fs::write(place.path("file"), "").unwrap();
    let said = place.expect(2, &["run", "tiny.toml", "-o", "file"]);
    assert!(said.contains("file"), "{said}");
    let said = place.expect(2, &["run", "tiny.toml", "-o", "file/below"]);
    assert!(said.contains("below"), "{said}");
}

/// `fluvial schema | head -1`: the reader has enough before all is printed.
#[test]
fn a_reader_that_goes_ends_a_command_quietly() {
    let mut child = std::process::Command::new(PROGRAM)
        .arg("schema")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn check_scenes_and_schema_answer_without_simulating() {
    let place = new_place();
    assert!(place.expect(0, &["check", "tiny.toml"]).contains("16 x 16 x 8"));
    let json: serde_json::Value =
        serde_json::from_slice(&place.output(&["check", "tiny.toml", "--json"]).stdout).unwrap();
    assert_eq!(json["cells"], serde_json::json!([16, 16, 8]));
    assert!(place.expect(0, &["scenes"]).contains("dam-break"));
    let schema: serde_json::Value = serde_json::from_slice(&place.output(&["schema"]).stdout).unwrap();
    assert!(schema["properties"]["domain"].is_object());
    assert!(place.expect(0, &["validate", "--list"]).contains("Martin & Moyce"));
    assert!(place.expect(0, &["bench", "--list"]).contains("dam-break-64-uniform-flip"));
    assert!(!place.path("out").exists());
}

#[test]
fn the_pressure_benchmark_prints_writes_and_plots_what_it_measured() {
    let place = new_place();
    assert!(place.expect(0, &["bench", "pressure", "--list"]).contains("sphere-jet-low"));
    let line = "bench pressure --case cut-walls,tank --n 16 --solver mg-cg,ic --tolerance 1e-3,1e-6 --threads 1,2 \
                --repeats 1 --json rows.json -o plots";
    let said = place.expect(0, &line.split_whitespace().collect::<Vec<_>>());
    assert!(said.contains("streaming copy, 2 threads") && said.contains("of the copy"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("rows.json")).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2 * 2);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("true_relative_residual") <= number("tolerance"), "{row}");
        for key in ["unknowns", "setup_s", "solve_s", "iterations", "solution_norm", "peak_bytes"] {
            assert!(number(key) > 0.0, "{key} in {row}");
        }
        // Results do not depend on the number of threads.
        let same = |other: &&serde_json::Value| {
            ["case", "n", "solver", "tolerance"].iter().all(|key| other[key] == row[key])
        };
        for other in rows.iter().filter(same) {
            assert_eq!(
                (&other["history"], &other["solution_norm"]),
                (&row["history"], &row["solution_norm"])
            );
        }
    }
    assert!(json["machine"]["cpu"].is_string() && json["copy"][1]["bytes_per_s"].as_f64().unwrap() > 1e8);
    let plot = std::fs::read_to_string(place.path("plots/pressure-cut-walls-16.svg")).unwrap();
    assert!(plot.contains("mg-cg") && plot.ends_with("</svg>\n"));
    let said = place.expect(0, &["bench", "pressure", "--table3", "--n", "16", "--repeats", "1"]);
    assert!(
        said.contains("Chentanez") && said.lines().filter(|l| l.trim_start().starts_with("16 ")).count() == 6
    );
}

#[test]
fn particles_are_drawn_by_kind_where_a_run_has_them() {
    let place = new_place();
    let sheets = [
        "--set",
        "method.name=\"sheets\"",
        "--set",
        "output.particles=true",
        "--frames",
        "1",
        "--no-preview",
    ];
    place.expect(0, &[&["run", "tiny.toml", "-o", "run"], &sheets[..]].concat());
    let cloud = fluvial_output::read_ply_points(&place.path("run/particles.0001.ply")).unwrap();
    assert_eq!(cloud.kind.as_ref().unwrap().len(), cloud.x.len());
    assert_eq!(cloud.radii.len(), cloud.x.len());
    for show in ["particles", "particles-cut"] {
        place.expect(0, &["render", "run", "--show", show, "--size", "64x36", "-o", show]);
        assert_eq!(names(&place.path(show)), ["0000.png", "0001.png"]);
    }
    let (whole, cut) = (place.path("particles/0001.png"), place.path("particles-cut/0001.png"));
    assert_ne!(std::fs::read(whole).unwrap(), std::fs::read(cut).unwrap());
    place.expect(0, &["run", "tiny.toml", "-o", "plain", "--frames", "1", "--no-preview"]);
    let said = place.expect(2, &["render", "plain", "--show", "particles"]);
    assert!(said.contains("no particles of the frames") && said.contains("particles = true"), "{said}");
}

#[test]
fn whitewater_afterwards_is_that_of_the_run() {
    let place = new_place();
    let strong =
        ["whitewater.amount=50", "whitewater.trapped_air=[0.01, 0.2]", "whitewater.energy=[0.0, 0.2]"];
    let sets: Vec<&str> = strong.iter().flat_map(|s| ["--set", s]).collect();
    let plain = ["--set", "output.volumes=vdb", "--no-preview"];
    place.expect(0, &[&["run", "tiny.toml", "-o", "run"], &plain[..], &sets].concat());
    place.expect(0, &["whitewater", "run"]);
    let mut count = 0;
    for frame in 0..=4 {
        let [beside, later] = ["run", "run/whitewater"]
            .map(|dir| std::fs::read(place.path(&format!("{dir}/whitewater.{frame:04}.ply"))).unwrap());
        assert!(beside == later, "frame {frame}");
        count += fluvial_output::decode_ply_points(&beside).unwrap().x.len();
    }
    assert!(count > 20, "{count} particles");
    let run = run_json(&place.path("run"));
    assert!(run["totals"]["whitewater"]["born_foam"].as_u64().unwrap() > 0);
    let said = place.expect(0, &["info", "run"]);
    assert!(!said.contains("damaged") && !said.contains("foreign"), "{said}");
    // A run that had none gets some; what makes no sense is refused, and so is a run without volumes.
    place.expect(0, &[&["run", "tiny.toml", "-o", "bare"], &plain[..]].concat());
    let changes = ["--set", "amount=50", "--set", "trapped_air=[0.01, 0.2]", "--set", "energy=[0.0, 0.2]"];
    place.expect(0, &[&["whitewater", "bare", "-o", "added"], &changes[..]].concat());
    let [own, added] = ["run/whitewater.0004.ply", "added/whitewater.0004.ply"]
        .map(|name| std::fs::read(place.path(name)).unwrap());
    assert!(own == added, "the same parameters give the same particles");
    place.expect(2, &["whitewater", "bare", "--set", "foam_lifetime=-1"]);
    // A volume of another moment is named, and so is one that is missing.
    std::fs::copy(place.path("bare/volume.0002.vdb"), place.path("bare/volume.0003.vdb")).unwrap();
    let said = place.expect(2, &["whitewater", "bare"]);
    assert!(said.contains("volume.0003.vdb is frame 2"), "{said}");
    std::fs::remove_file(place.path("bare/volume.0001.vdb")).unwrap();
    let said = place.expect(2, &["whitewater", "bare"]);
    assert!(said.contains("no volume of frame 1"), "{said}");
    place.expect(0, &["run", "tiny.toml", "-o", "none", "--no-preview", "--frames", "1"]);
    let said = place.expect(2, &["whitewater", "none"]);
    assert!(said.contains("output.volumes=vdb"), "{said}");
}

#[test]
fn one_and_two_threads_give_the_same_bytes() {
    for tracker in ["levelset", "flip", "apic"] {
        let place = new_place();
        let set = format!("method.tracker={tracker}");
        for threads in ["1", "2"] {
            place.expect(
                0,
                &["run", "tiny.toml", "-o", threads, "--threads", threads, "--no-preview", "--set", &set],
            );
        }
        for name in ["probes.csv", "surface.0001.ply", "surface.0004.ply"] {
            let [one, two] = ["1", "2"].map(|t| std::fs::read(place.path(t).join(name)).unwrap());
            assert!(one == two, "{tracker}: {name} differs");
        }
    }
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_exits_with_3_and_leaves_complete_files() {
    let place = new_place();
    let out = place.path("out/tiny");
    let mut child = std::process::Command::new(PROGRAM)
        .current_dir(place.dir.path())
        // Frames without end: the run is stopped long before they fill the disk that it would ask for.
        .args(["run", "tiny.toml", "--frames", "100000", "--no-preview", "--ignore-disk-space"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = std::time::Instant::now();
    while !out.join("surface.0003.ply").exists() {
        if let Some(status) = child.try_wait().unwrap() {
            let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            panic!("ended by itself, {status}: {said}");
        }
        assert!(start.elapsed().as_secs() < 60, "frame 3 never came");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let asked = std::time::Instant::now();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(3));
    // A second on a free machine; tests share theirs.
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());

    let run = run_json(&out);
    assert_eq!(run["status"], "interrupted");
    let last = run["last_frame"].as_u64().unwrap();
    assert!(last >= 3);
    for frame in 0..=last {
        let path = out.join(format!("surface.{frame:04}.ply"));
        fluvial_output::read_ply(&path).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(names(&out).iter().all(|n| !n.ends_with(".partial")));
    for name in ["stats.jsonl", "probes.csv"] {
        let text = std::fs::read_to_string(out.join(name)).unwrap();
        assert!(text.ends_with('\n') && text.lines().count() as u64 > last, "{name}");
    }
}

/// The page is the programs' own help. To bring it up to date: FLUVIAL_UPDATE_DOCS=1 cargo test -p
/// fluvial-cli
#[test]
fn the_command_reference_is_the_help_that_the_program_prints() {
    let place = new_place();
    let mut page = String::from(
        "# Command reference\n\n<!-- Written by the tests from the program's own help; see crates/app/cli/tests/command.rs. -->\n",
    );
    for command in [
        "",
        "run",
        "resume",
        "live",
        "whitewater",
        "info",
        "report",
        "check",
        "scenes",
        "schema",
        "render",
        "mesh",
        "export",
        "validate",
        "bench",
        "bench pressure",
    ] {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = String::from_utf8(place.output(&args).stdout).unwrap();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let title = format!("fluvial {command}");
        page += &format!("\n## {}\n\n```text\n{}\n```\n", title.trim_end(), lines.join("\n").trim_end());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/command-reference.md");
    if std::env::var_os("FLUVIAL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        written == page,
        "docs/command-reference.md differs from the help; FLUVIAL_UPDATE_DOCS=1 rewrites it"
    );
}
