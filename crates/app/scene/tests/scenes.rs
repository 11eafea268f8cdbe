//! The built-in scenes, the schema and the reference.

use fluvial_scene::{ProbeKind, Scene, builtin_scenes, describe, predict, reference_markdown, schema};
use fluvial_solver_registry::names;
use std::path::Path;

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn every_built_in_scene_builds_and_says_what_it_shows() {
    for (name, text) in builtin_scenes() {
        let scene = Scene::load(name, &[]).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
        let ready = scene.build().unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
        assert_eq!(ready.name, *name);
        // What holds of its method at large is no fault of the scene.
        let of_method = ready.method.notes(&ready.setup);
        let notes: Vec<_> = ready.notes.iter().filter(|note| !of_method.contains(note)).collect();
        assert!(notes.is_empty(), "{name}: {notes:?}");
        assert!((20..100).contains(&describe(text).len()), "{name}: {}", describe(text));
        assert!(!ready.probes.is_empty(), "{name}");
        let costs = predict(&ready);
        assert!(costs.cells <= 300_000, "{name}: {costs:?}");
        assert!(costs.liquid_cells > 0 || !ready.setup.sources.is_empty(), "{name}: {costs:?}");
    }
}

#[test]
fn every_scene_file_is_built_in() {
    let mut files: Vec<String> = std::fs::read_dir(repository().join("scenes"))
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut names: Vec<&str> = builtin_scenes().iter().map(|(n, _)| *n).collect();
    names.sort();
    assert_eq!(files, names);
}

#[test]
fn the_dam_break_is_what_it_says() {
    let ready = Scene::load("dam-break", &[]).unwrap().build().unwrap();
    let costs = predict(&ready);
    assert_eq!(costs.cells, 88 * 44 * 44);
    // A pool of 8 cm and a column of 46; cells count whole, by their centres, and the pool is 4.4 of them deep.
    let liquid_m3 = 1.6 * 0.8 * 0.08 + 0.46 * 0.38 * 0.42;
    let liquid = costs.liquid_cells as f64 / costs.cells as f64 / (liquid_m3 / (1.6 * 0.8 * 0.8));
    assert!((liquid - 1.0).abs() < 0.07, "{liquid}");
    assert!(matches!(ready.probes[0].kind, ProbeKind::Height { x, z } if x == 1.58 && z == 0.3));
    assert_eq!((ready.frames, ready.fps), (96, 24.0));
}

#[test]
fn a_given_flow_is_handed_over_and_excludes_what_it_makes_meaningless() {
    let ready = Scene::load("enright-sheets", &[]).unwrap().build().unwrap();
    assert_eq!(ready.setup.flow, Some(fluvial_solver_interface::Flow::Enright { period_s: 3.0 }));
    for (key, value, message, help) in [
        ("liquid.gravity", "[0, -1, 0]", "gravity has no place", "[0, 0, 0]"),
        ("liquid.surface_tension", "0.07", "surface tension has no place", "remove"),
        ("domain.max", "[2, 1, 1]", "from 0 to 1 m", "max = [1, 1, 1]"),
        ("fill.0.velocity", "[1, 0, 0]", "a velocity has no place", "remove"),
        ("method.name", "\"octree\"", "no support for [flow]", "sheets"),
    ] {
        // What other methods do not know either.
        let text = builtin_scenes().iter().find(|(name, _)| *name == "enright-sheets").unwrap().1;
        let text = text.replace("adaptive_sampling = false", "").replace("particles = true", "");
        let scene = Scene::parse("e.toml", &text, Path::new("."), &[(key.into(), value.into())]).unwrap();
        let said = format!("{:?}", miette::Report::new(scene.build().unwrap_err()));
        assert!(said.contains(message) && said.contains(help), "{key}: {said}");
    }
}

#[test]
fn an_octree_writes_sparse_volumes_only_and_particles_where_it_has_them() {
    let build = |changes: &[(&str, &str)]| {
        let changes: Vec<(String, String)> =
            changes.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        Scene::load("moving-cylinder", &changes).unwrap().build()
    };
    assert!(build(&[("output.volumes", "vdb")]).is_ok());
    assert!(build(&[("output.particles", "true"), ("method.tracker", "flip")]).is_ok());
    for (key, value, message, help) in [
        ("output.volumes", "vtk", "writes volumes as OpenVDB only", "volumes = \"vdb\""),
        ("output.particles", "true", "no particles to write", "tracker = \"flip\""),
    ] {
        let said = format!("{:?}", miette::Report::new(build(&[(key, value)]).unwrap_err()));
        assert!(said.contains(message) && said.contains(help), "{said}");
    }
}

#[test]
fn a_resolved_scene_reads_back_to_the_same_set_up() {
    for (name, _) in builtin_scenes() {
        let scene = Scene::load(name, &[("time.frames".into(), "7".into())]).unwrap();
        let resolved = scene.resolved();
        assert_eq!(resolved["time"]["frames"], 7);
        assert_eq!(resolved["method"]["name"], scene.build().unwrap().method.name());
        let text = serde_json::to_string(&resolved).unwrap();
        let again = Scene::from_resolved(name, serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again.resolved(), resolved);
        let (a, b) = (scene.build().unwrap(), again.build().unwrap());
        assert_eq!(format!("{:?}", a.setup), format!("{:?}", b.setup));
    }
}

#[test]
fn file_names_of_a_resolved_scene_are_absolute() {
    let text = "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 8\n[[fill]]\nshape = { mesh = { path = \"a.obj\" } }\n";
    let scene = Scene::parse("x.toml", text, Path::new("some/where"), &[]).unwrap();
    let resolved = scene.resolved();
    let path = resolved["fill"][0]["shape"]["mesh"]["path"].as_str().unwrap();
    assert!(Path::new(path).is_absolute() && path.ends_with("a.obj"), "{path}");
}

#[test]
fn sides_that_nearly_fit_are_moved_and_said_so() {
    let text = "fluvial = 1\n[domain]\nmax = [1, 0.503, 1]\nresolution = 64\n[[fill]]\nshape = { plane = { point = [0, 0.2, 0] } }\n";
    let ready = Scene::parse("x.toml", text, Path::new("."), &[]).unwrap().build().unwrap();
    assert_eq!(ready.setup.domain.grid.cells, [64, 32, 64]);
    assert_eq!(ready.notes.len(), 1);
    assert!(ready.notes[0].contains("y side"), "{:?}", ready.notes);
}

#[test]
fn the_motion_of_the_rod_goes_around_the_tank() {
    let ready = Scene::load("stirring-cylinder", &[]).unwrap().build().unwrap();
    let rod = &ready.setup.solids[0];
    let quarter = std::f64::consts::FRAC_PI_2 / 3.0;
    let middle = rod.motion.pose(quarter).world_from_body(rod.shape.bounds().center());
    // a quarter turn about +y takes +x to -z
    assert!((middle.x - 0.5).abs() < 1e-5 && (middle.z - 0.25).abs() < 1e-5, "{middle}");
}

/// A dam break in a cube.
const COLUMN: &str = "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 64\n[time]\nframes = 120\nfps = 24\n\
     [[fill]]\nshape = { box = { min = [0, 0, 0], max = [0.4, 0.5, 1] } }\n";

#[test]
fn finer_scenes_are_predicted_to_cost_more() {
    let cost = |n: &str, tracker: &str| {
        let overrides = [("domain.resolution".into(), n.into()), ("method.tracker".into(), tracker.into())];
        let scene = Scene::parse("column.toml", COLUMN, Path::new("."), &overrides);
        predict(&scene.unwrap().build().unwrap())
    };
    let (coarse, fine) = (cost("64", "levelset"), cost("128", "levelset"));
    assert_eq!(fine.cells, 8 * coarse.cells);
    assert!(fine.memory_bytes > 4 * coarse.memory_bytes);
    assert!(fine.disk_bytes_per_frame > 2 * coarse.disk_bytes_per_frame);
    assert!(cost("64", "flip").memory_bytes > coarse.memory_bytes);
}

/// Peak memory as measured (without pictures) over 1 to 24 frames: the prediction is of the whole run.
#[test]
fn memory_is_predicted_near_what_was_measured() {
    for (name, resolution, tracker, measured_mb) in [
        ("column", "32", "levelset", 29.9),
        ("column", "32", "flip", 37.6),
        ("column", "32", "apic", 41.2),
        ("column", "64", "levelset", 92.0),
        ("column", "96", "levelset", 253.6),
        ("column", "128", "levelset", 561.7),
        ("dam-break-obstacle", "128", "levelset", 180.8),
        ("dam-break-obstacle", "64", "levelset", 36.0),
        ("dam-break-obstacle", "64", "flip", 39.8),
        ("water-drop", "64", "levelset", 91.4),
        ("filling-tank", "64", "levelset", 167.9),
    ] {
        let overrides = [
            ("domain.resolution".into(), resolution.into()),
            ("method.tracker".into(), tracker.into()),
            ("output.preview".into(), "false".into()),
        ];
        let scene = match name {
            "column" => Scene::parse("column.toml", COLUMN, Path::new("."), &overrides),
            _ => Scene::load(name, &overrides),
        };
        let ready = scene.unwrap().build().unwrap();
        let ratio = predict(&ready).memory_bytes as f64 / 1e6 / measured_mb;
        assert!((0.8..1.2).contains(&ratio), "{name} {resolution} {tracker}: {ratio}");
    }
}

/// The same for trees, which grow while they run; every scene of the method.
#[test]
fn memory_of_trees_is_predicted_near_what_was_measured() {
    let mut far = vec![];
    for (name, resolution, frames, tracker, measured_mb) in [
        ("water-drop", "64", "60", "levelset", 66.1),
        ("water-drop", "64", "24", "flip", 114.7),
        ("moving-cylinder", "64", "96", "levelset", 73.3),
        ("moving-cylinder", "128", "48", "levelset", 155.0),
        ("seaplane", "128", "72", "flip", 89.8),
        ("seaplane", "256", "48", "flip", 185.4),
        ("rocky-waterfall", "64", "96", "flip", 53.8),
        ("merging-bodies", "64", "96", "levelset", 42.9),
    ] {
        let overrides = [
            ("method.name", "octree"),
            ("domain.resolution", resolution),
            ("time.frames", frames),
            ("method.tracker", tracker),
            ("output.preview", "false"),
        ];
        let overrides = overrides.map(|(k, v)| (k.to_owned(), v.to_owned()));
        let ready = Scene::load(name, &overrides).unwrap().build().unwrap();
        let ratio = predict(&ready).memory_bytes as f64 / 1e6 / measured_mb;
        println!("{name} {resolution} {tracker}: {ratio:.2}");
        if !(0.8..1.2).contains(&ratio) {
            far.push((name, resolution, ratio));
        }
    }
    assert!(far.is_empty(), "{far:?}");
}

/// Every table refuses unknown keys in the schema too, so that editors which use it say the same as the
/// program.
#[test]
fn the_schema_is_strict_and_explains_every_key() {
    fn visit(value: &serde_json::Value, path: &str, seen: &mut usize) {
        if let Some(properties) = value.get("properties").and_then(|p| p.as_object()) {
            assert_eq!(value.get("additionalProperties"), Some(&false.into()), "{path}");
            for (key, property) in properties {
                *seen += 1;
                let explained = property.get("description").is_some() || value.get("description").is_some();
                assert!(explained, "{path}.{key} has no description");
            }
        }
        match value {
            serde_json::Value::Object(map) => {
                map.iter().for_each(|(k, v)| visit(v, &format!("{path}.{k}"), seen))
            }
            serde_json::Value::Array(items) => items.iter().for_each(|v| visit(v, path, seen)),
            _ => {}
        }
    }
    let mut seen = 0;
    visit(&schema(), "", &mut seen);
    assert!(seen > 80, "{seen}");
}

#[test]
fn the_reference_in_docs_is_up_to_date() {
    let path = repository().join("docs/scene-reference.md");
    let wanted = reference_markdown();
    if std::env::var_os("FLUVIAL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/scene-reference.md is stale: run FLUVIAL_UPDATE_DOCS=1 cargo test -p fluvial-scene"
    );
}

/// Bodies that begin inside of something are noted; those that touch it, hang through an open wall or are tied to it are not.
#[test]
fn bodies_that_overlap_something_at_the_start_are_noted() {
    let notes = |walls: &str, bodies: &str| {
        let text = format!(
            "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 16\n{walls}\n[[fill]]\nshape = {{ box = {{ min = [0,0,0], max = [1,0.2,1] }} }}\n\
             [[solid]]\nname = \"shelf\"\nshape = {{ box = {{ min = [0,0.4,0], max = [0.3,0.5,1] }} }}\n{bodies}"
        );
        Scene::parse("x.toml", &text, Path::new("."), &[]).unwrap().build().unwrap().notes
    };
    let ball = |name: &str, x: f32| {
        format!(
            "[[body]]\nname = \"{name}\"\ndensity = 100\nshape = {{ sphere = {{ center = [{x}, 0.8, 0.5], radius = 0.1 }} }}\n"
        )
    };
    let only = |notes: Vec<String>, parts: &[&str]| {
        assert!(notes.len() == 1 && parts.iter().all(|part| notes[0].contains(part)), "{notes:?}");
    };
    only(notes("", &ball("out", 1.0)), &["`out`", "x_max"]);
    assert!(notes("walls = { x_max = \"open\" }", &ball("out", 1.0)).is_empty());
    only(notes("", &(ball("a", 0.5) + &ball("b", 0.55))), &["`a`", "body `b`"]);
    assert!(notes("", &(ball("a", 0.5) + &ball("b", 0.7) + &ball("c", 0.9))).is_empty());
    let block = |low: f32| {
        format!(
            "[[body]]\nname = \"block\"\ndensity = 100\nshape = {{ box = {{ min = [0.1, {low}, 0.1], max = [0.2, 0.7, 0.2] }} }}\n"
        )
    };
    only(notes("", &block(0.45)), &["`block`", "solid `shelf`", "0.05 m"]);
    assert!(notes("", &block(0.5)).is_empty());
}

/// What is allowed and probably not meant is noted; what cannot be meant is refused.
#[test]
fn scenes_that_are_probably_not_meant_so_are_noted_or_refused() {
    let load = |changes: &[(&str, &str)]| {
        let changes: Vec<_> = changes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Scene::load("filling-tank", &changes).unwrap().build()
    };
    assert!(load(&[]).unwrap().notes.is_empty());
    let notes = load(&[("domain.resolution", "16")]).unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("`source[0]`") && n.contains("cells across")), "{notes:?}");
    let notes = load(&[("liquid.gravity", "[0, -981, 0]")]).unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("981 m/s2")), "{notes:?}");
    let notes = load(&[("liquid.surface_tension", "72.8")]).unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("meant in mN/m")), "{notes:?}");
    let notes = load(&[("domain.friction.y_min", "2")]).unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("a friction of 2 is more than any wall's")), "{notes:?}");
    // A cube of 1 m with a ball on a pedestal (0.0198 m3) in it, filled by 0.1 m3/s from the start.
    let fill_up = [("source[0].flow", "0.1"), ("source[0].active", "[0, 20]"), ("time.frames", "500")];
    let notes = load(&fill_up).unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("is full after about 9.8")), "{notes:?}");
    let box_scene = |rest: &str| {
        let text = format!("fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 16\n{rest}");
        Scene::parse("box.toml", &text, Path::new("."), &[]).unwrap().build().unwrap().notes
    };
    let pool = |height: &str| {
        format!("[[fill]]\nshape = {{ box = {{ min = [0, 0, 0], max = [1, {height}, 1] }} }}\n")
    };
    let notes = box_scene(&pool("1000"));
    assert!(notes.iter().any(|n| n.contains("leave no air")), "{notes:?}");
    let drain = "[[sink]]\nshape = { sphere = { center = [0.5, 0, 0.5], radius = 0.005 } }\n";
    let notes = box_scene(&(pool("0.5") + drain));
    assert!(notes.iter().any(|n| n.contains("`sink[0]` covers the centre of no cell")), "{notes:?}");
    let buried = "[[source]]\nshape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.1 } }\nvelocity = [0, -1, 0]\n\
                  [[solid]]\nshape = { box = { min = [0, 0, 0], max = [1, 0.4, 1] } }\n";
    let notes = box_scene(buried);
    assert!(notes.iter().any(|n| n.contains("`source[0]` lies wholly inside solids")), "{notes:?}");
    let refused = load(&[("liquid.gravity", "[0, -1e30, 0]")]).unwrap_err();
    assert!(refused.to_string().contains("cannot be simulated"), "{refused}");
    let text = "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 16\n\
                [[fill]]\nshape = { box = { min = [0, 0, 0], max = [1, 0.5, 1] } }\n\
                [[solid]]\nshape = { box = { min = [-1, -1, -1], max = [2, 0.6, 2] } }\n";
    let scene = Scene::parse("covered.toml", text, Path::new("."), &[]).unwrap();
    let said = scene.build().unwrap_err().to_string();
    assert!(said.contains("solids cover all liquid"), "{said}");
    let sink = |top: &str, more: &str| {
        let text =
            text.replace("[[solid]]", "[[sink]]").replace("0.6, 2] } }", &format!("{top}, 2] }} }}{more}"));
        Scene::parse("sink.toml", &text, Path::new("."), &[]).unwrap().build().unwrap().notes
    };
    let taken = |notes: &[String], when: &str| {
        notes.iter().any(|n| n.contains("`sink[0]` covers all") && n.contains(when))
    };
    assert!(taken(&sink("0.6", ""), "at once"));
    assert!(taken(&sink("0.6", "\nactive = [1.5, 2]"), "at 1.5 s"));
    assert!(!taken(&sink("0.4", ""), ""));
}

/// No method takes friction and does nothing about it.
#[test]
fn friction_is_refused_by_methods_that_lack_it() {
    for method in names() {
        let set = [
            ("method.name".to_string(), method.to_string()),
            ("domain.friction.y_min".into(), "0.01".into()),
        ];
        let scene = Scene::load("filling-tank", &set).unwrap();
        let (has, built) = (scene.method.capabilities().friction, scene.build());
        assert_eq!(built.is_ok(), has, "{method}");
        assert!(has || built.unwrap_err().to_string().contains("friction"), "{method}");
    }
}

/// A method that says that thin walls leak in it is believed, and the solid is named.
#[test]
fn walls_that_the_method_does_not_hold_are_noted() {
    let notes = |method: &str, thickness: &str| {
        let text = format!(
            "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 32\n[method]\nname = \"{method}\"\n\
             [[fill]]\nshape = {{ box = {{ min = [0, 0, 0], max = [0.4, 0.5, 1] }} }}\n\
             [[solid]]\nname = \"gate\"\nshape = {{ box = {{ min = [0.51, -1, -1], max = [{thickness}, 0.7, 2] }} }}\n"
        );
        Scene::parse("gate.toml", &text, Path::new("."), &[]).unwrap().build().unwrap().notes
    };
    for method in names() {
        let leaks = !Scene::load("dam-break", &[("method.name".into(), method.into())])
            .unwrap()
            .method
            .capabilities()
            .thin_walls;
        let is_named = |notes: &[String]| notes.iter().any(|n| n.contains("`gate` is 0.6 cells thick"));
        assert_eq!(is_named(&notes(method, "0.53")), leaks, "{method}");
        assert!(!notes(method, "0.6").iter().any(|n| n.contains("thick")), "{method}");
    }
    assert!(notes("tall", "0.53").iter().any(|n| n.contains("thick")), "there is a method of that kind");
}

/// An adaptive method is limited by its own cells, not by the box of the finest ones.
#[test]
fn a_box_of_eight_thousand_million_finest_cells_is_no_limit_for_a_tree() {
    let text = |method: &str| {
        format!(
            "fluvial = 1\n[domain]\nmax = [1, 1, 1]\nresolution = 2048\n[method]\nname = \"{method}\"\n\
             [[fill]]\nshape = {{ box = {{ min = [0, 0, 0], max = [1, 0.25, 1] }} }}\n"
        )
    };
    let build =
        |method: &str| Scene::parse("large.toml", &text(method), Path::new("."), &[]).unwrap().build();
    let ready = build("octree").unwrap();
    let needs = predict(&ready);
    assert!(needs.cells < 20_000_000, "{needs:?}");
    let refused = build("uniform").unwrap_err().to_string();
    assert!(refused.contains("too many cells: 8.590e9"), "{refused}");
}

const POOL: &str = r#"
fluvial = 1
[domain]
max = [1, 1, 1]
resolution = 16
[[fill]]
shape = { box = { min = [0, 0, 0], max = [1, 0.5, 1] } }
[[solid]]
name = "rock"
shape = { sphere = { center = [0.2, 0.1, 0.2], radius = 0.1 } }
"#;

fn pool_with(bodies: &str) -> Result<fluvial_scene::Ready, fluvial_scene::SceneError> {
    Scene::parse("pool.toml", &format!("{POOL}{bodies}"), Path::new("."), &[])?.build()
}

#[test]
fn bodies_are_handed_over_as_solids_that_move_freely() {
    let ready = pool_with(
        r#"
[[body]]
name = "raft"
shape = { box = { min = [0.4, 0.45, 0.4], max = [0.7, 0.55, 0.7] } }
density = 400
locked = ["x", "turn_y"]
[[body]]
shape = { sphere = { center = [0.5, 0.8, 0.5], radius = 0.1 } }
mass = 2
velocity = [0, -1, 0]
joints = [
  { kind = "rope", to = "raft", anchor = [0.5, 0.8, 0.5], other_anchor = [0.5, 0.5, 0.5] },
  { kind = "hinge", anchor = [0.5, 0.8, 0.5], axis = [0, 0, 1], limits = [-90, 90] },
]
"#,
    )
    .unwrap();
    let bodies = ready.setup.bodies();
    assert_eq!(ready.setup.body_numbers(), [1, 2]);
    assert_eq!((bodies[0].name.as_str(), bodies[1].name.as_str()), ("raft", "body 2"));
    assert_eq!(
        (bodies[0].start.locked_translation, bodies[0].start.locked_rotation),
        ([true, false, false], [false, true, false])
    );
    assert_eq!(bodies[1].start.velocity.y, -1.0);
    let joints = ready.setup.joints();
    assert_eq!((joints.len(), joints[0].body, joints[0].other, joints[1].other), (2, 1, Some(0), None));
    assert_eq!(ready.setup.bodies_among_moving(), [Some(0), Some(1)]);
}

#[test]
fn bodies_that_make_no_sense_are_refused_with_the_fix() {
    let ball = "shape = { sphere = { center = [0.5, 0.8, 0.5], radius = 0.1 } }";
    for (body, message) in [
        (ball.to_owned(), "the body has no mass"),
        (format!("{ball}\ndensity = 1\nmass = 1"), "exclude each other"),
        (
            "shape = { plane = { point = [0, 0, 0], normal = [0, 1, 0] } }\nmass = 1".to_owned(),
            "no finite volume",
        ),
        (format!("{ball}\nmass = 1\nname = \"rock\""), "two solids have the name"),
        (format!("{ball}\nmass = 1\njoints = [{{ kind = \"hinge\", anchor = [0, 0, 0] }}]"), "no axis"),
        (
            format!(
                "{ball}\nmass = 1\njoints = [{{ kind = \"slider\", to = \"x\", axis = [0, 1, 0], anchor = [0, 0, 0] }}]"
            ),
            "tied to no other body",
        ),
        (format!("{ball}\nmass = 1\n[method]\nname = \"cutcell\""), "`cutcell` has no support for [[body]]"),
    ] {
        let error = pool_with(&format!("[[body]]\n{body}\n")).expect_err(message).to_string();
        assert!(error.contains(message), "{error} instead of {message}");
    }
}
