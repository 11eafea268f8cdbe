use super::*;
use crate::guard::Guard;
use crate::progress::Silent;
use crate::run::run;
use crate::toy::FallingBlock;
use fluvial_output::read_ply;
use fluvial_scene::{MeshFormat, ProbeKind, VolumeFormat};
use fluvial_solver_interface::Solver;
use std::sync::atomic::AtomicBool;

const PLAN: FramePlan = FramePlan { frames: 3, fps: 10.0 };

fn settings(dir: &Path) -> CacheSettings {
    CacheSettings {
        dir: dir.to_owned(),
        name: "block".into(),
        command: "fluvial run block".into(),
        source: SceneSource::default(),
        inputs: vec![],
        scene: serde_json::json!({"fluvial": 1}),
        fingerprint: 0,
        threads: 1,
        computes_on: "processor".into(),
        plan: PLAN,
        probes: vec![Probe { name: "H".into(), kind: ProbeKind::Height { x: 0.5, z: 0.5 } }],
        has_bodies: false,
        whitewater: None,
        formats: FileFormats {
            mesh: MeshFormat::Ply,
            volumes: VolumeFormat::None,
            particles: false,
            cut_z: 0.0,
            bodies: [].into(),
        },
        surface: SurfaceParams::default(),
        picture: None,
        checkpoint_every: Duration::from_nanos(1),
        checkpoints_kept: 100,
        watch_disk: true,
        guard: Guard::unbounded(),
    }
}

fn run_block(dir: &Path, block: &mut FallingBlock) -> Option<RunEnd> {
    let mut cache = Cache::create(settings(dir), block.method()).unwrap();
    let end = run(block, PLAN, &mut cache, &mut Silent, &AtomicBool::new(false)).ok();
    cache.finish(end).unwrap();
    end
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_run_leaves_a_complete_cache() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run_block(dir.path(), &mut FallingBlock::new(0.05)), Some(RunEnd::Done));
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();

    let lines: Vec<_> = read("stats.jsonl").lines().map(json).collect();
    assert_eq!(lines.len(), 7, "the initial state and six steps");
    assert_eq!(lines[0]["dt_limiter"], serde_json::Value::Null);
    assert_eq!(lines[1]["dt_limiter"], "cfl");
    assert_eq!(lines[2]["dt_limiter"], "frame");
    assert_eq!(lines[6]["clamps"]["theta_floor"], 2);
    for key in [
        "frame",
        "step",
        "time_s",
        "dt_s",
        "dt_limiter",
        "cells",
        "faces",
        "particles",
        "liquid_volume_m3",
        "volume_error",
        "kinetic_energy_j",
        "potential_energy_j",
        "max_speed_m_s",
        "max_divergence_1_s",
        "pressure",
        "stages_s",
        "peak_rss_bytes",
        "inflow_m3",
        "outflow_m3",
        "raw_volume_error",
    ] {
        assert!(lines[3].get(key).is_some(), "no {key}");
    }
    assert!(lines[3]["pressure"].get("relative_residual").is_some());

    // y after n steps of 0.05 s is 10 - 9.81 * 0.05^2 * n (n + 1) / 2; the gauge reads the top.
    let probes = read("probes.csv");
    let rows: Vec<Vec<&str>> = probes.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows[0], ["time_s", "H"]);
    assert_eq!(rows.len(), 8);
    let height: f64 = rows[7][1].parse().unwrap();
    assert!((height - (11.0 - 9.81 * 0.0025 * 21.0)).abs() < 1e-12, "{height}");

    for frame in 0..=3 {
        let mesh = read_ply(&dir.path().join(format!("surface.{frame:04}.ply"))).unwrap();
        assert!(mesh.defects().is_clean() && (mesh.volume() - 1.0).abs() < 1e-5);
    }
    let run = json(&read("run.json"));
    assert_eq!((run["status"].as_str(), run["last_frame"].as_u64()), (Some("done"), Some(3)));
    assert_eq!(run["totals"]["steps"], 6);
    assert_eq!(run["scene"]["fluvial"], 1);
}

#[test]
fn a_failed_run_keeps_its_frames_and_a_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let mut block = FallingBlock::new(0.1);
    block.longest_good_dt_s = 0.0;
    assert_eq!(run_block(dir.path(), &mut block), None);
    let run = json(&std::fs::read_to_string(dir.path().join("run.json")).unwrap());
    assert_eq!((run["status"].as_str(), run["last_frame"].as_u64()), (Some("failed"), Some(0)));
    assert!(read_ply(&dir.path().join("surface.failed.ply")).unwrap().defects().is_clean());
    assert!(read_ply(&dir.path().join("surface.0000.ply")).is_ok());
}

/// Everything in a folder, without what may differ: times, memory, and the files that speak of them.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = vec![];
    for entry in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if name == "stats.jsonl" {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let lines = text.lines().map(|line| {
                let mut line = json(line);
                line["stages_s"].take();
                line["peak_rss_bytes"].take();
                line.to_string()
            });
            found.push((name, lines.collect::<String>().into_bytes()));
        } else if !["run.json", "manifest.txt", "checkpoint"].contains(&name.as_str()) {
            found.push((name, std::fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_run_resumed_from_any_of_its_checkpoints_ends_the_same() {
    let dir = tempfile::tempdir().unwrap();
    run_block(dir.path(), &mut FallingBlock::new(0.04));
    let expected = contents(dir.path());
    let checkpoints = crate::checkpoint::list_checkpoints(dir.path());
    assert_eq!(checkpoints.len(), 10, "before each of nine steps, and at the end");
    // From the newest to the oldest: resuming removes the checkpoints that lie ahead.
    for (position, path) in checkpoints {
        let checkpoint = crate::checkpoint::read_checkpoint(&path).unwrap();
        let mut record = RunRecord::read(dir.path()).unwrap();
        record.frames = PLAN.frames;
        // A line that a kill cut in two.
        let stats = dir.path().join("stats.jsonl");
        std::fs::write(&stats, std::fs::read_to_string(&stats).unwrap() + "{\"fra").unwrap();
        let mut block = FallingBlock::new(0.04);
        checkpoint.restore(&mut block).unwrap();
        let mut settings = settings(dir.path());
        settings.checkpoint_every = Duration::from_secs(1000);
        let mut cache = Cache::resume(settings, record, &checkpoint, false).unwrap();
        let stop = AtomicBool::new(false);
        let end = crate::run::run_from(position, &mut block, PLAN, &mut cache, &mut Silent, &stop);
        assert_eq!(end.unwrap(), RunEnd::Done);
        cache.finish(Some(RunEnd::Done)).unwrap();
        assert_eq!(contents(dir.path()), expected, "{position:?}");
        std::fs::remove_file(&crate::checkpoint::list_checkpoints(dir.path())[0].1).unwrap();
    }
}

#[test]
fn frames_are_told_from_names() {
    let frames =
        ["surface.0012.ply", "preview/0003.png", "volume.10000.vdb", "run.json", "surface.failed.ply"];
    assert_eq!(frames.map(frame_of), [Some(12), Some(3), Some(10000), None, None]);
}
