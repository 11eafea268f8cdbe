//! One mistake at a time: each must give a place, a message and a fix, and none may panic.

use fluvial_scene::{Scene, SceneError};
use std::path::Path;
use table::{GOOD, MISTAKES, Mistake};

mod table;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let cube = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\n\
                f 1 5 7 3\nf 2 4 8 6\nf 1 2 6 5\nf 3 7 8 4\nf 1 3 4 2\n";
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("hole.obj", cube);
    write("flipped.obj", &format!("{cube}f 7 8 6 5\n"));
    write("cube.obj", &format!("{cube}f 5 6 8 7\n"));
    write("garbage.stl", "this is no mesh at all");
    write(
        "poses.txt",
        "# tx ty tz qx qy qz qw\n0 0 0 0 0 0 1\n0.5, 0, 0, 0, 0, 0, 1\n1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\n",
    );
    write("bad-poses.txt", "0 0 0 0 0 0 1\n\n1 2 3\n");
    folder
}

fn attempt(text: &str, folder: &Path, overrides: &[(String, String)]) -> Result<(), SceneError> {
    Scene::parse("test.toml", text, folder, overrides)?.build().map(|_| ())
}

#[test]
fn the_good_scene_is_good() {
    let folder = folder();
    if let Err(e) = attempt(GOOD, folder.path(), &[]) {
        panic!("{:?}", miette::Report::new(e));
    }
    for (from, to) in [
        ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ mesh = { path = \"cube.obj\" } }"),
        (
            "motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 1.0, translate = [1, 0, 0] }] }",
            "motion = { file = \"poses.txt\" }",
        ),
    ] {
        assert!(GOOD.contains(from));
        attempt(&GOOD.replacen(from, to, 1), folder.path(), &[]).unwrap();
    }
}

#[test]
fn every_mistake_is_placed_explained_and_answered() {
    let folder = folder();
    assert!(MISTAKES.len() >= 40, "{}", MISTAKES.len());
    let wrong: Vec<String> = MISTAKES.iter().filter_map(|m| complaint(m, folder.path())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What is wrong with the answer to a mistake, if anything.
fn complaint((from, to, message, offending, help): &Mistake, folder: &Path) -> Option<String> {
    assert!(GOOD.contains(from), "`{from}` is not in the good scene");
    let text = GOOD.replacen(from, to, 1);
    let Err(error) = attempt(&text, folder, &[]) else { return Some(format!("`{to}` was accepted")) };
    let (file, line, column) = error.location().unwrap_or_default();
    let (file, found) = (file.to_string(), error.offending_text().unwrap_or_default().to_string());
    // The line is where the change was made, unless something is missing or clashes with another line.
    let changed = text[..GOOD.find(from).unwrap()].matches('\n').count() + 1;
    let reach = to.matches('\n').count().max(from.matches('\n').count());
    let elsewhere = ["lacks", "no cell size", "no multiple"].iter().any(|w| error.message().contains(w))
        || help.contains("TOML");
    let checks = [
        (file == "test.toml" && line >= 1 && column >= 1, "place"),
        (elsewhere || (changed..=changed + reach).contains(&line), "line"),
        (error.message().contains(message), "message"),
        (found.starts_with(offending), "underlined text"),
        (error.help_text().contains(help) && error.help_text().len() > 5, "help"),
    ];
    let (shown, advice) = (error.message().to_string(), error.help_text().to_string());
    let printed = format!("{:?}", miette::Report::new(error));
    let in_print = printed.contains(&format!("test.toml:{line}:{column}"));
    let failed: Vec<&str> =
        checks.into_iter().chain([(in_print, "print")]).filter(|c| !c.0).map(|c| c.1).collect();
    let report = || format!("{failed:?} for `{to}`: {shown}\nat {line}:{column} `{found}`\nhelp: {advice}");
    (!failed.is_empty()).then(report)
}

#[test]
fn a_scene_without_liquid_is_refused() {
    let text = "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 8\n";
    let error = attempt(text, Path::new("."), &[]).unwrap_err();
    assert!(error.message().contains("no liquid"));
    assert_eq!(error.location(), Some(("test.toml", 1, 1)));
    assert!(attempt("", Path::new("."), &[]).unwrap_err().message().contains("lacks `fluvial`"));
}

#[test]
fn overrides_are_applied_and_their_mistakes_shown() {
    let set = |path: &str, value: &str| {
        let overrides = [(path.to_string(), value.to_string())];
        Scene::parse("test.toml", GOOD, Path::new("."), &overrides)
    };
    assert_eq!(set("time.frames", "3").unwrap().time.frames, 3);
    assert_eq!(set("solid[0].name", "cube").unwrap().solid[0].name.as_deref(), Some("cube"));
    assert_eq!(set("solid.0.name", "\"a b\"").unwrap().solid[0].name.as_deref(), Some("a b"));
    assert_eq!(set("domain.walls.y_max", "open").unwrap().domain.walls.y_max, fluvial_scene::WallSpec::Open);
    let finer = set("domain.resolution", "64").unwrap();
    assert_eq!((finer.domain.dx, finer.domain.resolution), (None, Some(64)));
    assert!(finer.build().unwrap().notes[0].contains("domain.resolution=64 replaces the scene's `dx`"));
    assert!(
        !set("domain.dx", "0.125").unwrap().build().unwrap().notes.iter().any(|n| n.contains("replaces"))
    );
    let text = GOOD.replace("flip_ratio = 0.97", "tracker = \"flip\"");
    let with = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Scene::parse("test.toml", &text, Path::new("."), &overrides)
    };
    let other = with(&[("method.name", "sheets")]).unwrap().build().unwrap();
    assert!(
        other.notes[0].contains("method.name=sheets replaces the scene's `tracker`"),
        "{:?}",
        other.notes
    );
    let tree = with(&[("method.name", "octree")]).unwrap();
    assert_eq!(tree.method.params()["tracker"], "flip", "which trees know too");
    assert!(with(&[("method.tracker", "flip"), ("method.name", "sheets")]).is_err(), "asked for by name");
    assert!(!set("output.preview", "false").unwrap().output.preview);
    let moved = set("fill[0].shape.box.min[1]", "0.25").unwrap();
    let fluvial_scene::ShapeSpec::Box(shape) = &moved.fill[0].shape else { panic!() };
    assert_eq!(shape.min, [0.0, 0.25, 0.0]);

    let refused = |path: &str, value: &str| -> (String, String, usize, String) {
        let e = set(path, value).and_then(|s| s.build()).map(|_| ()).unwrap_err();
        let (file, line, column) = e.location().unwrap();
        assert_eq!((file, line), ("--set", 1), "{e}");
        (e.message().to_string(), e.help_text().to_string(), column, e.offending_text().unwrap().to_string())
    };
    assert!(refused("time.frame", "3").1.contains("did you mean `frames`?"));
    assert!(refused("tiem.frames", "3").1.contains("did you mean `time`?"));
    assert_eq!(refused("time.frames", "many").3, "many");
    assert_eq!(refused("time.frames", "-1").2, 13);
    assert!(refused("solid[7].name", "x").1.contains("1 entries"));
    assert!(refused("refine[0].dx", "0.1").0.contains("the scene has no [[refine]]"));
    assert!(refused("time.frames.more", "3").0.contains("cannot be set inside an integer"));
    assert!(refused("time..frames", "3").0.contains("not a path"));
    assert!(refused("time[frames", "3").0.contains("not a path"));
    assert!(refused("time.frames", "[1,").0.contains("not a value"));
    assert!(refused("", "3").0.contains("not a path"));
    assert!(refused("domain.dx", "0.3").0.contains("no multiple"));
    assert!(refused("domain.resolution", "100000").1.contains("at most"));
}

#[test]
fn endless_nesting_is_refused() {
    for text in [
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a{} = 1", ".a".repeat(100_000)),
        format!("[a{}]", ".a".repeat(100_000)),
        format!("a = {}", "{ a = ".repeat(100_000)),
        format!("[[fill]]\nshape = {}", "{ union = [".repeat(5000)),
    ] {
        assert!(attempt(&format!("fluvial = 1\n{text}\n"), Path::new("."), &[]).is_err());
    }
    let path = format!("a{}", ".a".repeat(100_000));
    assert!(
        attempt(GOOD, Path::new("."), &[(path, "1".into())]).unwrap_err().message().contains("not a path")
    );
}

#[test]
fn missing_files_name_the_nearest_scene() {
    let error = Scene::load("dambreak", &[]).unwrap_err();
    assert!(error.help_text().contains("`dam-break`"), "{}", error.help_text());
    let folder = folder();
    let path = folder.path().join("latin.toml");
    std::fs::write(&path, b"fluvial = 1\n# caf\xe9\n").unwrap();
    let error = Scene::load(path.to_str().unwrap(), &[]).unwrap_err();
    assert_eq!(error.location().map(|l| (l.1, l.2)), Some((2, 6)));
}

mod fuzz {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn truncated_scenes_never_panic(at in 0..GOOD.len()) {
            let _ = attempt(&GOOD[..at], Path::new("."), &[]);
        }

        #[test]
        fn garbled_scenes_never_panic(
            edits in prop::collection::vec((0..GOOD.len(), "[ -~\\n]{0,3}", 0usize..4), 1..6)
        ) {
            let mut text = GOOD.to_string();
            for (at, new, removed) in edits {
                let at = at.min(text.len());
                let end = (at + removed).min(text.len());
                text.replace_range(at..end, &new);
            }
            let _ = attempt(&text, Path::new("."), &[]);
        }

        #[test]
        fn any_override_never_panics(
            path in "(domain|time|solid|fill|output|method)?[.\\[]?(0|1|name|dx|shape|keys)?[\\].]{0,2}[a-z0-9]{0,4}",
            value in "[ -~]{0,8}"
        ) {
            let _ = attempt(GOOD, Path::new("."), &[(path, value)]);
        }

        #[test]
        fn any_text_never_panics(text in "\\PC{0,200}") {
            let _ = attempt(&text, Path::new("."), &[]);
        }
    }
}
