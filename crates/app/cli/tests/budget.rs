//! What a run needs is known before it starts.

use crate::place::PROGRAM;
use std::path::Path;
use std::process::Command;

fn fluvial(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM).current_dir(dir).args(args).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// Level set, FLIP, and solids: the peak of a whole splash lies within a fifth of the prediction.
/// tests/scenes.rs of the scene crate holds measured peaks of longer and finer runs.
#[test]
fn memory_is_predicted_within_a_fifth() {
    let dir = tempfile::tempdir().unwrap();
    for (scene, frames, set) in [
        ("dam-break", "24", ["method.tracker=levelset", "domain.resolution=32"]),
        ("dam-break", "24", ["method.tracker=flip", "domain.resolution=32"]),
        ("dam-break-obstacle", "14", ["method.tracker=levelset", "domain.resolution=64"]),
    ] {
        let set = ["--set", set[0], "--set", set[1], "--set", "output.preview=false"];
        let (code, check) = fluvial(dir.path(), &[&["check", scene, "--json"], &set[..]].concat());
        assert_eq!(code, Some(0), "{check}");
        let predicted = json(&check)["prediction"]["memory_bytes"].as_f64().unwrap();
        let run = [&["run", scene, "--frames", frames, "-o", "out", "--overwrite"], &set[..]].concat();
        let (code, said) = fluvial(dir.path(), &run);
        assert_eq!(code, Some(0), "{said}");
        let record = json(&std::fs::read_to_string(dir.path().join("out/run.json")).unwrap());
        let measured = record["totals"]["peak_rss_bytes"].as_f64().unwrap();
        let ratio = predicted / measured;
        println!("{scene} {set:?}: predicted {:.1} MB, measured {:.1} MB", predicted / 1e6, measured / 1e6);
        assert!((0.8..=1.2).contains(&ratio), "{scene} {set:?}: {predicted} / {measured} = {ratio}");
    }
}

#[test]
fn too_much_memory_is_refused_with_a_resolution_that_fits() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["run", "dam-break", "--set", "domain.resolution=256", "--max-memory", "200M", "-o", "out"];
    let (code, said) = fluvial(dir.path(), &args);
    assert_eq!(code, Some(2), "{said}");
    assert!(!dir.path().join("out").exists(), "nothing is written");
    let said = said.replace('\n', " ");
    let suggested: u32 = said
        .split("domain.resolution=")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| panic!("no suggestion: {said}"));
    let needed = |resolution: u32| {
        let set = format!("domain.resolution={resolution}");
        let (code, check) = fluvial(dir.path(), &["check", "dam-break", "--set", &set, "--json"]);
        (code == Some(0)).then(|| json(&check)["prediction"]["memory_bytes"].as_u64().unwrap())
    };
    assert!(needed(suggested).unwrap() <= 200_000_000, "{suggested} does not fit");
    // The next finer one that the domain allows would not.
    let finer = (suggested + 1..).find_map(needed).unwrap();
    assert!(finer > 200_000_000, "{suggested} is coarser than need be: {finer}");
}
