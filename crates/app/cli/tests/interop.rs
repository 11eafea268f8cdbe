//! The files of a run, opened by the libraries that their users have: OpenVDB's Python module, usd-core,
//! alembic3d, vtk.
//!
//! Each reader reports what it found; it must be what the PLY files of the same run hold, to the bit where
//! the format keeps bits. Where a reader is not installed its test says so and passes;
//! `FLUVIAL_INTEROP=require` makes that an error. `FLUVIAL_PYTHON` names the interpreters to try, separated
//! by colons (default: python3, /usr/bin/python3).

use crate::place::PROGRAM;
use fluvial_grids::TriangleMesh;
use fluvial_output::{read_ply, read_ply_points};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// 24 frames of a splash with everything written.
const SCENE: &str = r#"fluvial = 1
[domain]
min = [-0.5, 0, 0.25]
max = [0.5, 0.75, 0.75]
resolution = 16
[time]
frames = 23
fps = 30
[method]
name = "uniform"
tracker = "flip"
[[fill]]
shape = { box = { min = [-0.5, 0, 0.25], max = [-0.1, 0.5, 0.75] } }
[[solid]]
shape = { sphere = { center = [0.2, 0.0, 0.5], radius = 0.15 } }
[output]
particles = true
preview = false
"#;
const FRAMES: u32 = 24;
const FPS: f64 = 30.0;

/// The run in the formats of the cache, and its exports.
struct Run {
    dir: tempfile::TempDir,
}

impl Run {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

fn fluvial(dir: &Path, args: &[&str]) {
    let output = Command::new(PROGRAM).current_dir(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// One run for all tests.
fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        std::fs::write(at.join("splash.toml"), SCENE).unwrap();
        fluvial(at, &["run", "splash.toml", "-o", "ply", "--set", "output.volumes=vdb"]);
        fluvial(at, &["mesh", "ply", "-o", "again"]);
        let vtk = ["--set", "output.mesh=vtk", "--set", "output.volumes=vtk"];
        fluvial(at, &[&["run", "splash.toml", "-o", "vtk"], &vtk[..]].concat());
        fluvial(at, &["run", "splash.toml", "-o", "usd", "--set", "output.mesh=usd"]);
        fluvial(at, &["run", "splash.toml", "-o", "abc", "--set", "output.mesh=abc"]);
        fluvial(at, &["export", "ply", "--format", "abc", "-o", "joined"]);
        Run { dir }
    })
}

/// What a reader says, or `None` where it is not installed.
fn read(script: &str, modules: &[&str], args: &[String]) -> Option<Value> {
    let listed = std::env::var("FLUVIAL_PYTHON").unwrap_or_else(|_| "python3:/usr/bin/python3".into());
    let imports = |python: &str, module: &str| {
        let probe = Command::new(python).args(["-c", &format!("import numpy, {module}")]).output();
        probe.is_ok_and(|o| o.status.success())
    };
    let Some(python) = listed.split(':').find(|python| modules.iter().any(|m| imports(python, m))) else {
        let message =
            format!("`{}` cannot be imported by {listed}: not read with it", modules.join("` or `"));
        assert!(std::env::var("FLUVIAL_INTEROP").as_deref() != Ok("require"), "{message}");
        eprintln!("skipped: {message}");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(script);
    let output =
        Command::new(python).env("PYTHONDONTWRITEBYTECODE", "1").arg(&script).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}: {said}\n{}",
        script.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_str(said.trim()).unwrap())
}

/// CRC-32 as zlib computes it.
fn crc(bytes: impl IntoIterator<Item = u8>) -> u32 {
    crc32fast::hash(&bytes.into_iter().collect::<Vec<u8>>())
}

fn vectors(values: &[fluvial_foundation::Vec3]) -> u32 {
    crc(values.iter().flat_map(|v| v.to_array()).flat_map(f32::to_le_bytes))
}

fn surface(frame: u32) -> TriangleMesh {
    read_ply(&run().path(&format!("ply/surface.{frame:04}.ply"))).unwrap()
}

fn close(a: &Value, b: f64, tolerance: f64) -> bool {
    (a.as_f64().unwrap() - b).abs() <= tolerance
}

/// Every frame of a reader against the PLY files. `frames` gives which.
fn compare(found: &Value, frames: impl Iterator<Item = u32> + Clone) {
    let surfaces = found["surfaces"].as_array().unwrap();
    let clouds = found["particles"].as_array().unwrap();
    assert_eq!((surfaces.len(), clouds.len()), (frames.clone().count(), frames.clone().count()));
    for (frame, (facts, points)) in frames.zip(surfaces.iter().zip(clouds)) {
        let mesh = surface(frame);
        let time_s = f64::from(frame) / FPS;
        assert!(close(&facts["time_s"], time_s, 1e-12) && close(&points["time_s"], time_s, 1e-12), "{facts}");
        assert_eq!(facts["vertices"], mesh.positions.len());
        assert_eq!(facts["triangles"], mesh.triangles.len());
        assert_eq!(facts["positions"], vectors(&mesh.positions), "frame {frame}");
        assert_eq!(facts["velocities"], vectors(&mesh.velocities), "frame {frame}");
        assert!(close(&facts["volume_m3"], mesh.volume(), 1e-9), "{facts} {}", mesh.volume());
        let bounds = mesh.bounds();
        assert_eq!(facts["min"], json!(bounds.min.to_array().map(f64::from)));
        assert_eq!(facts["max"], json!(bounds.max.to_array().map(f64::from)));
        let cloud = read_ply_points(&run().path(&format!("ply/particles.{frame:04}.ply"))).unwrap();
        assert_eq!(points["points"], cloud.x.len());
        assert_eq!(points["positions"], vectors(&cloud.x), "frame {frame}");
        assert_eq!(points["velocities"], vectors(&cloud.v), "frame {frame}");
        assert_eq!(points["ids"], crc(cloud.id.iter().flat_map(|id| id.to_le_bytes())));
        assert_eq!(points["ages"], crc(cloud.age_s.iter().flat_map(|age| age.to_le_bytes())));
        assert!(close(&points["radius_m"], f64::from(cloud.radius), 1e-8));
    }
}

#[test]
fn usd_core_opens_the_stage() {
    let Some(found) = read("read_usd.py", &["pxr.UsdGeom"], &[run().text("usd/liquid.usda")]) else { return };
    compare(&found, 0..FRAMES);
    assert_eq!((&found["meters_per_unit"], &found["up_axis"]), (&json!(1.0), &json!("Y")));
    assert_eq!(
        (&found["start"], &found["end"], &found["per_second"]),
        (&json!(0.0), &json!(23.0), &json!(30.0))
    );
}

#[test]
fn the_alembic_library_opens_the_joined_archive_and_single_frames() {
    let Some(found) = read("read_alembic.py", &["alembic3d"], &[run().text("joined/liquid.abc")]) else {
        return;
    };
    compare(&found, 0..FRAMES);
    let single = ["abc/surface.0007.abc", "abc/particles.0007.abc"].map(|name| run().text(name));
    compare(&read("read_alembic.py", &["alembic3d"], &single).unwrap(), 7..8);
}

#[test]
fn vtk_opens_the_series() {
    let Some(found) = read("read_vtk.py", &["vtkmodules.vtkIOXML"], &[run().text("vtk")]) else { return };
    compare(&found, 0..FRAMES);
    let volumes = found["volumes"].as_array().unwrap();
    assert_eq!(volumes.len(), FRAMES as usize);
    for volume in volumes {
        assert_eq!(volume["cells"], json!([16, 12, 8]));
        assert_eq!(volume["bounds"], json!([-0.5, 0.5, 0.0, 0.75, 0.25, 0.75]));
        assert!(volume["liquid_cells"].as_u64().unwrap() > 200, "{volume}");
    }
    assert!(volumes[12]["max_speed_m_s"].as_f64().unwrap() > 0.5);
}

#[test]
fn openvdb_opens_the_volumes_and_finds_a_level_set() {
    let files: Vec<String> = (0..FRAMES).map(|n| run().text(&format!("ply/volume.{n:04}.vdb"))).collect();
    let Some(found) = read("read_openvdb.py", &["openvdb", "pyopenvdb"], &files) else { return };
    let dx = 1.0 / 16.0;
    for (frame, volume) in found["volumes"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&volume["class"], &volume["vel_class"]), (&json!("level set"), &json!("staggered")));
        assert_eq!(volume["origin"], json!([-0.5 + 0.5 * dx, 0.5 * dx, 0.25 + 0.5 * dx]));
        assert!(close(&volume["dx"], dx, 1e-9) && close(&volume["background_cells"], 3.0, 1e-6), "{volume}");
        assert!(
            close(&volume["fps"], FPS, 0.0) && close(&volume["time_s"], frame as f64 / FPS, 1e-12),
            "{volume}"
        );
        assert_eq!((&volume["frame"], &volume["file_frame"]), (&json!(frame), &json!(frame)));
        assert_eq!(volume["units"], "metre, second; y up");
        for yes in ["same_transform", "active_in_band", "inactive_is_background"] {
            assert_eq!(volume[yes], true, "{yes} in frame {frame}");
        }
        // The closed surface holds the volume that its mesh does, to a fraction of a cell along its edges and what the
        // level set goes on into the solid, which the mesh leaves out: a quarter of a cell around it is 3 % of the
        // liquid. The run's own mesh has the particles that fly, too.
        let mesh_m3 =
            read_ply(&run().dir.path().join(format!("again/surface.{frame:04}.ply"))).unwrap().volume();
        assert!(close(&volume["volume_m3"], mesh_m3, 0.05 * mesh_m3), "{volume} {mesh_m3}");
        assert!(close(&volume["median_slope"], 1.0, 0.05), "{volume}");
        assert!(volume["slopes_near_one"].as_f64().unwrap() > 0.8, "{volume}");
    }
}

/// Cells of several sizes become one sparse grid of the smallest; VTK's dense ones are refused before
/// anything is computed.
#[test]
fn openvdb_opens_the_volumes_of_an_octree() {
    let dir = tempfile::tempdir().unwrap();
    let scene = SCENE.replace("name = \"uniform\"\ntracker = \"flip\"", "name = \"octree\"\nmax_dx = 0.125");
    let scene = scene.replace("resolution = 16", "resolution = 32").replace("particles = true\n", "");
    std::fs::write(dir.path().join("octree.toml"), scene).unwrap();
    let volumes = ["--set", "output.volumes=vdb", "--frames", "8"];
    fluvial(dir.path(), &[&["run", "octree.toml", "-o", "out"], &volumes[..]].concat());
    fluvial(dir.path(), &["mesh", "out", "--frames", "8"]);
    let refused = ["run", "octree.toml", "--set", "output.volumes=vtk"];
    let refused = Command::new(PROGRAM).current_dir(dir.path()).args(refused).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("OpenVDB only") && said.contains("volumes = \"vdb\""), "{said}");
    let mesh = |file: &str| read_ply(&dir.path().join(file)).unwrap();
    let own = mesh("out/surface.0008.ply").volume();
    let again = mesh("out/mesh/surface.0008.ply").volume();
    assert!((again / own - 1.0).abs() < 0.02, "{again} {own}");

    let files: Vec<String> =
        (0..9).map(|n| dir.path().join(format!("out/volume.{n:04}.vdb")).display().to_string()).collect();
    let Some(found) = read("read_openvdb.py", &["openvdb", "pyopenvdb"], &files) else { return };
    for (frame, volume) in found["volumes"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&volume["class"], &volume["vel_class"]), (&json!("level set"), &json!("staggered")));
        assert!(close(&volume["dx"], 1.0 / 32.0, 1e-9), "{volume}");
        for yes in ["same_transform", "active_in_band", "inactive_is_background"] {
            assert_eq!(volume[yes], true, "{yes} in frame {frame}");
        }
        let mesh_m3 = mesh(&format!("out/surface.{frame:04}.ply")).volume();
        assert!(close(&volume["volume_m3"], mesh_m3, 0.05 * mesh_m3), "{volume} {mesh_m3}");
        assert!(close(&volume["median_slope"], 1.0, 0.05), "{volume}");
        assert!(volume["slopes_near_one"].as_f64().unwrap() > 0.8, "{volume}");
    }
    assert!(found["volumes"][8]["max_speed_component"].as_f64().unwrap() > 0.5);
}

#[test]
fn the_runs_of_all_formats_are_the_same_run() {
    let read = |path: &str| std::fs::read(run().path(path)).unwrap();
    // Statistics but for timings and memory.
    let steps = |dir: &str| -> Vec<(u64, f64)> {
        let text = String::from_utf8(read(&format!("{dir}/stats.jsonl"))).unwrap();
        let line = |l: &str| {
            let v: Value = serde_json::from_str(l).unwrap();
            (v["step"].as_u64().unwrap(), v["kinetic_energy_j"].as_f64().unwrap())
        };
        text.lines().map(line).collect()
    };
    for dir in ["usd", "abc", "vtk"] {
        assert_eq!(steps(dir), steps("ply"));
    }
}

#[test]
fn meshing_the_volumes_again_gives_the_runs_own_surfaces_and_finer_ones() {
    let at = run().dir.path();
    // Particles that the level set does not hold are drawn by the run alone.
    for frame in 20..24 {
        let again = read_ply(&at.join(format!("again/surface.{frame:04}.ply"))).unwrap().volume();
        let own = surface(frame).volume();
        assert!((again / own - 1.0).abs() < 0.05, "frame {frame}: {again} {own}");
    }
    fluvial(
        at,
        &["mesh", "ply", "-o", "finer", "--frames", "23", "--resolution-scale", "2", "--smoothing", "2"],
    );
    let (finer, own) = (read_ply(&at.join("finer/surface.0023.ply")).unwrap(), surface(23));
    assert!(finer.defects().is_clean() && finer.positions.len() > 3 * own.positions.len());
    assert!((finer.volume() / own.volume() - 1.0).abs() < 0.03, "{} {}", finer.volume(), own.volume());
    assert_eq!(finer.velocities.len(), finer.positions.len());
}

/// A crate that falls into a pool, as a transform over its mesh: at every frame where `bodies.csv` has it.
#[test]
fn bodies_move_as_transforms_over_one_mesh() {
    let dir = tempfile::tempdir().unwrap();
    let scene = r#"fluvial = 1
[domain]
max = [1, 1, 0.5]
resolution = 12
[time]
frames = 4
fps = 20
[[fill]]
shape = { plane = { point = [0, 0.4, 0] } }
[[body]]
name = "the \"crate\""
shape = { box = { min = [0.3, 0.5, 0.1], max = [0.6, 0.7, 0.4] } }
density = 400
velocity = [0.3, -1, 0]
angular_velocity = [0, 0, 2]
[output]
preview = false
"#;
    std::fs::write(dir.path().join("crate.toml"), scene).unwrap();
    fluvial(dir.path(), &["run", "crate.toml", "-o", "ply"]);
    for format in ["usd", "abc"] {
        fluvial(dir.path(), &["export", "ply", "--format", format, "-o", format]);
    }
    let table = std::fs::read_to_string(dir.path().join("ply/bodies.csv")).unwrap();
    let rows: Vec<Vec<f64>> =
        table.lines().skip(1).map(|l| l.split(',').take(9).map(|v| v.parse().unwrap()).collect()).collect();
    let row = |frame: usize| rows.iter().find(|row| (row[0] - frame as f64 / 20.0).abs() < 1e-9).unwrap();
    let path = |name: &str| [dir.path().join(name).display().to_string()];
    if let Some(found) = read("read_usd_bodies.py", &["pxr.UsdGeom"], &path("usd/liquid.usda")) {
        let body = &found["bodies"][0];
        assert_eq!((&body["name"], &body["vertices"]), (&json!("the \"crate\""), &json!(8)));
        let poses = body["poses"].as_array().unwrap();
        assert_eq!(poses.len(), 5);
        for (frame, pose) in poses.iter().enumerate().skip(1) {
            let pose = pose.as_array().unwrap().iter().zip(&row(frame)[2..]);
            assert!(
                pose.clone().all(|(found, &wanted)| close(found, wanted, 1e-6)),
                "frame {frame}: {pose:?}"
            );
        }
    }
    if let Some(found) = read("read_alembic_bodies.py", &["alembic3d"], &path("abc/liquid.abc")) {
        let body = &found["bodies"][0];
        assert_eq!((&body["samples_of_mesh"], &body["vertices"]), (&json!(1), &json!(8)));
        let matrices = body["matrices"].as_array().unwrap();
        assert_eq!(matrices.len(), 5);
        for (frame, matrix) in matrices.iter().enumerate().skip(1) {
            let [x, y, z, qx, qy, qz, qw] = row(frame)[2..] else { panic!("seven numbers") };
            // Where a point as a row before the matrix comes to: the third row and the last one tell axis and place.
            let up = [2.0 * (qx * qz + qw * qy), 2.0 * (qy * qz - qw * qx), 1.0 - 2.0 * (qx * qx + qy * qy)];
            for a in 0..3 {
                assert!(close(&matrix[2][a], up[a], 1e-5), "frame {frame}: {matrix} {up:?}");
                assert!(close(&matrix[3][a], [x, y, z][a], 1e-6), "frame {frame}: {matrix}");
            }
        }
    }
}
