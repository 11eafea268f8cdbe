//! A small file of every kind that is read, made by the program's own writers where it has one.

use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_output::{
    FileMark, FrameTime, Machine, Points, PointsOf, encode_ply, encode_ply_points, encode_vdb,
};
use fluvial_scene::Scene;
use fluvial_simulation::checkpoint::{CheckpointHeader, write_checkpoint};
use fluvial_simulation::frame_files::volume_view;
use fluvial_simulation::picture::PictureBudget;
use fluvial_simulation::record::{RunRecord, RunStatus, SceneSource, Totals};
use fluvial_simulation::stats::StatsLine;
use fluvial_simulation::{Position, StepRecord};
use fluvial_solver_interface::{LevelSet, Solver, StateWriter, SurfaceParams, Wanted};
use std::path::Path;

pub type Files = Vec<(&'static str, Vec<u8>)>;

pub const SCENE: &str = r#"fluvial = 1
[domain]
min = [0, 0, 0]
max = [1, 1, 1]
resolution = 6
[time]
frames = 2
[method]
tracker = "levelset"
[[fill]]
shape = { box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }
[[solid]]
name = "ball"
shape = { sphere = { center = [0.8, 0.2, 0.5], radius = 0.15 } }
motion = { keys = [{ t = 0.0 }, { t = 1.0, translate = [0, 0.1, 0], rotate = [0, 90, 0] }] }
[[probe]]
name = "H"
kind = "height"
at = [0.25, 0.5]
"#;

pub const SCENE_OF_SHAPES: &str = r#"fluvial = 1
[domain]
min = [-1, 0, -1]
max = [1, 1, 1]
dx = 0.125
walls = { x_max = "open" }
[time]
frames = 3
fps = 25
cfl = 1.5
[method]
name = "uniform"
tracker = "apic"
[liquid]
density = 998.2
surface_tension = 0.072
gravity = [0, -9.81, 0.5]
[[fill]]
shape = { difference = [{ box = { min = [-1, 0, -1], max = [0, 0.5, 1] } }, { sphere = { center = [0, 0, 0], radius = 0.3 } }] }
velocity = [0, 0, 1]
[[source]]
shape = { cylinder = { from = [0, 0.7, 0], to = [0, 0.9, 0], radius = 0.2 } }
velocity = [0, -1, 0]
active = [0.0, 2.0]
[[sink]]
shape = { torus = { center = [0, 0.2, 0], major_radius = 0.3, minor_radius = 0.1 } }
[[solid]]
shape = { transform = { scale = 2, rotate = [0, 45, 0], translate = [0.1, 0, 0], shape = { union = [{ capsule = { from = [0, 0, 0], to = [0, 0.2, 0], radius = 0.1 } }, { plane = { point = [0, 0, 0], normal = [0, 1, 0] } }] } } }
motion = { linear = [0.1, 0, 0], angular = [0, 1, 0], about = [0, 0.1, 0] }
[[probe]]
name = "P"
kind = "pressure"
at = [0.5, 0.05, 0.5]
[output]
mesh = "usd"
volumes = "vdb"
particles = true
"#;

/// A solver that has taken two steps.
pub fn solver(tracker: &str) -> Box<dyn Solver> {
    let mut solver = fresh_solver(tracker);
    for _ in 0..2 {
        solver.step(0.01).unwrap();
    }
    solver
}

/// One that has taken none.
pub fn fresh_solver(tracker: &str) -> Box<dyn Solver> {
    let set = [("method.tracker".to_owned(), format!("\"{tracker}\""))];
    let ready = Scene::parse("s.toml", SCENE, Path::new("."), &set).unwrap().build().unwrap();
    ready.method.build(ready.setup).unwrap()
}

fn cube() -> TriangleMesh {
    let shape = fluvial_solids::Shape::Box { min: Vec3::new(0.1, 0.2, 0.3), max: Vec3::new(0.6, 0.9, 1.2) };
    shape.triangulate(fluvial_foundation::Aabb::EMPTY, 1.0)
}

pub fn obj() -> Files {
    let mut text = String::from("# cube\nmtllib none.mtl\no cube\n");
    for p in &cube().positions {
        text += &format!("v {} {} {}\nvn 0 1 0\n", p.x, p.y, p.z);
    }
    for [a, b, c, d] in [[1, 5, 7, 3], [2, 4, 8, 6], [1, 2, 6, 5], [3, 7, 8, 4], [1, 3, 4, 2]] {
        text += &format!("f {a}//1 {b}//1 {c}/1/1 {d}\n");
    }
    vec![("cube.obj", (text + "f -4 -3 -1 -2\n").into_bytes())]
}

pub fn stl() -> Files {
    let mesh = cube();
    let corners = |t: &[u32; 3]| t.map(|v| mesh.positions[v as usize]);
    let mut binary = vec![0; 80];
    binary.extend((mesh.triangles.len() as u32).to_le_bytes());
    let mut text = String::from("solid cube\n");
    for t in &mesh.triangles {
        binary.extend([0; 12]);
        binary.extend(corners(t).iter().flat_map(|p| p.to_array()).flat_map(f32::to_le_bytes));
        binary.extend([0; 2]);
        text += "facet normal 0 0 0\n outer loop\n";
        corners(t).iter().for_each(|p| text += &format!("  vertex {:e} {:e} {:e}\n", p.x, p.y, p.z));
        text += " endloop\nendfacet\n";
    }
    vec![("binary.stl", binary), ("text.stl", (text + "endsolid cube\n").into_bytes())]
}

pub fn ply() -> Files {
    let mesh = cube();
    let make = |format: &str| {
        let mut bytes = format!(
            "ply\nformat {format} 1.0\ncomment a cube\nelement vertex 8\nproperty double x\nproperty float y\n\
             property float z\nproperty uchar red\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n",
            mesh.triangles.len()
        )
        .into_bytes();
        let mut word = |text: String, mut binary: Vec<u8>| match format {
            "ascii" => bytes.extend((text + " ").into_bytes()),
            "binary_big_endian" => {
                binary.reverse();
                bytes.extend(binary);
            }
            _ => bytes.extend(binary),
        };
        for p in &mesh.positions {
            word(p.x.to_string(), f64::from(p.x).to_le_bytes().to_vec());
            word(p.y.to_string(), p.y.to_le_bytes().to_vec());
            word(p.z.to_string(), p.z.to_le_bytes().to_vec());
            word("255".into(), vec![255]);
        }
        for t in &mesh.triangles {
            word("3".into(), vec![3]);
            t.iter().for_each(|v| word(v.to_string(), v.to_le_bytes().to_vec()));
        }
        bytes
    };
    let (text, little, big) = (make("ascii"), make("binary_little_endian"), make("binary_big_endian"));
    vec![("text.ply", text), ("little.ply", little), ("big.ply", big)]
}

pub fn gltf() -> Files {
    let mesh = cube();
    let mut data: Vec<u8> =
        mesh.positions.iter().flat_map(|p| p.to_array()).flat_map(f32::to_le_bytes).collect();
    data.extend(mesh.triangles.iter().flatten().flat_map(|v| (*v as u16).to_le_bytes()));
    let json = |buffer: &str| {
        format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"children":[1],"translation":[1,0,-1]}},{{"mesh":0,"rotation":[0,0,0,1],"scale":[-2,2,2]}}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],"accessors":[{{"bufferView":0,"componentType":5126,"count":8,"type":"VEC3"}},{{"bufferView":1,"componentType":5123,"count":36,"type":"SCALAR"}}],"bufferViews":[{{"buffer":0,"byteLength":96}},{{"buffer":0,"byteOffset":96,"byteLength":72}}],"buffers":[{{"byteLength":168{buffer}}}]}}"#
        )
    };
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64: String = data
        .chunks_exact(3)
        .flat_map(|c| {
            let word = u32::from_be_bytes([0, c[0], c[1], c[2]]);
            [18, 12, 6, 0].map(|shift| digits[(word >> shift & 63) as usize] as char)
        })
        .collect();
    let text = json(&format!(r#","uri":"data:application/octet-stream;base64,{base64}""#)).into_bytes();
    let mut json = json("").into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend(((28 + json.len() + data.len()) as u32).to_le_bytes());
    for (kind, chunk) in [(0x4E4F_534Au32, json), (0x004E_4942, data)] {
        glb.extend((chunk.len() as u32).to_le_bytes());
        glb.extend(kind.to_le_bytes());
        glb.extend(chunk);
    }
    vec![("cube.gltf", text), ("cube.glb", glb)]
}

/// Kept as files: no encoder of TIFF and JPEG is needed for anything else.
pub fn heightfield() -> Files {
    macro_rules! files {
        ($($name:literal)*) => {
            vec![$(($name, include_bytes!(concat!("../../../../../fuzz/seeds/heightfield/", $name)).to_vec())),*]
        };
    }
    files!["grey.png" "grey.tiff" "colour.jpg" "colour.png"]
}

pub fn motion() -> Files {
    let text = "# door\n0 0.5 1 0 0 0 1\n0.25, 0.5, 1, 0, 0.7071068, 0, 0.7071068 # half way\n\
                0 0 1 0.5 0 1 0 0.5 -1 0 0 1 0 0 0 1\n";
    vec![("door.txt", text.as_bytes().to_vec())]
}

pub fn scene() -> Files {
    vec![("plain.toml", SCENE.as_bytes().to_vec()), ("shapes.toml", SCENE_OF_SHAPES.as_bytes().to_vec())]
}

pub fn vdb() -> Files {
    let solver = solver("levelset");
    let snapshot = solver.snapshot(Wanted::LEVEL_SET);
    let level_set = snapshot.level_set.and_then(LevelSet::uniform).unwrap();
    vec![("volume.vdb", encode_vdb(&volume_view(&level_set), FrameTime { frame: 1, fps: 24.0 }))]
}

pub fn surface() -> Files {
    vec![
        ("surface.ply", encode_ply(&solver("levelset").surface(&SurfaceParams::default()))),
        ("still.ply", encode_ply(&cube())),
    ]
}

pub fn particles() -> Files {
    let solver = solver("flip");
    let view = solver.snapshot(Wanted::PARTICLES).particles.unwrap();
    let count = view.x.len().min(60);
    let (x, v) = (&view.x[..count], &view.v[..count]);
    let (id, age_s) = (&view.id[..count], &view.age_s[..count]);
    let alike =
        Points { x, v, id, age_s, radius: view.radius, kind: None, radii: &[], of: PointsOf::Particles };
    let (kind, radii) = (vec![2; count], vec![0.5; count]);
    let differ = Points { kind: Some(&kind), radii: &radii, ..alike };
    let white = Points { of: PointsOf::Whitewater, ..differ };
    vec![
        ("particles.ply", encode_ply_points(&alike)),
        ("particles-of-kinds.ply", encode_ply_points(&differ)),
        ("whitewater.ply", encode_ply_points(&white)),
    ]
}

pub fn manifest() -> Files {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = fluvial_output::Manifest::create(dir.path()).unwrap();
    for name in ["surface.0000.ply", "surface.0001.ply", "stats.jsonl"] {
        std::fs::write(dir.path().join(name), name).unwrap();
        manifest.record(&[name.to_owned()]).unwrap();
    }
    vec![("manifest.txt", std::fs::read(dir.path().join(fluvial_output::MANIFEST)).unwrap())]
}

fn totals() -> Totals {
    let mut totals = Totals { wall_s: 1.25, steps: 2, ..Totals::default() };
    totals.stages_s.add("pressure", 0.5);
    totals.outputs_s.add("surface", 0.25);
    totals
}

pub fn record() -> Files {
    let dir = tempfile::tempdir().unwrap();
    let scene = Scene::parse("s.toml", SCENE, Path::new("/"), &[]).unwrap();
    let record = RunRecord {
        fluvial: "0.1.0".into(),
        name: "s".into(),
        status: RunStatus::Running,
        command: "fluvial run s.toml".into(),
        resumed: 0,
        method: "uniform".into(),
        threads: 2,
        computes_on: "processor".into(),
        machine: Machine {
            cpu: "a processor".into(),
            cores: 2,
            memory_bytes: Some(1 << 30),
            platform: "linux".into(),
        },
        frames: 2,
        fps: 24.0,
        last_frame: Some(1),
        totals: totals(),
        source: SceneSource { scene: "s.toml".into(), set: vec![("a.b".into(), "1".into())], preview: true },
        inputs: vec![],
        scene: scene.resolved(),
    };
    record.write(dir.path()).unwrap();
    vec![("run.json", std::fs::read(dir.path().join("run.json")).unwrap())]
}

pub fn checkpoint() -> Files {
    let dir = tempfile::tempdir().unwrap();
    let mark = FileMark { bytes: 12, crc32: 34 };
    let header = CheckpointHeader {
        fluvial: "0.1.0".into(),
        method: "uniform".into(),
        fingerprint: 6,
        scene_crc32: 5,
        position: Position { frame: 1, step: 2 },
        time_s: 0.02,
        stats: mark,
        probes: mark,
        bodies: Some(mark),
        whitewater_bytes: 0,
        totals: totals(),
        pictures: Some(PictureBudget::new(3, 2, 1.5)),
    };
    let path = write_checkpoint(dir.path(), &header, &[], solver("levelset").as_ref()).unwrap();
    vec![("a.checkpoint", std::fs::read(path).unwrap())]
}

pub fn state() -> Files {
    let save = |tracker: &str| {
        let mut bytes = vec![];
        solver(tracker).save(&mut StateWriter::new(&mut bytes)).unwrap();
        bytes
    };
    vec![("levelset.state", save("levelset")), ("flip.state", save("flip"))]
}

pub fn stats() -> Files {
    let mut solver = solver("levelset");
    let mut text = String::new();
    for step in 0..3u64 {
        let report = if step == 0 { solver.initial_report() } else { solver.step(0.01).unwrap() };
        let time_s = solver.time_s();
        let record = StepRecord { frame: 1, step, time_s, dt_s: 0.01, limiter: None, retries: 0, report };
        text += &(serde_json::to_string(&StatsLine::new(&record, Some(1 << 20))).unwrap() + "\n");
    }
    vec![("stats.jsonl", text.into_bytes())]
}

pub fn probes() -> Files {
    vec![("probes.csv", b"time_s,H,\"a, \"\"b\"\"\"\n0,0.5,1e3\n0.041666,0.625,-2.5\n".to_vec())]
}

pub fn picture() -> Files {
    let rgb = (0..12 * 9 * 3).map(|n| (n * 37 % 251) as u8).collect();
    vec![("0001.png", fluvial_preview::Image { width: 12, height: 9, rgb }.encode_png())]
}
