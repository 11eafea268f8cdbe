//! Every kind of file that the program reads: samples, the reader, and what it may cost. The table is shared
//! by the tests beside it and by the fuzz targets.

use crate::samples::{self, Files};
use fluvial_output::{ManifestEntries, VdbVolume, decode_ply, decode_ply_points};
use fluvial_preview::Image;
use fluvial_scene::{Scene, parse_poses};
use fluvial_simulation::checkpoint::read_verified;
use fluvial_simulation::record::RunRecord;
use fluvial_simulation::report::series::{Steps, parse_probes};
use fluvial_solids::{GreyImage, parse_gltf, parse_obj, parse_ply, parse_stl};
use fluvial_solver_interface::{Solver, StateReader};
use std::any::Any;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

/// What a reader hands back; `None` for an error.
pub type Read = Option<Box<dyn Any>>;

/// A kind of file.
pub struct Format {
    /// Also of the fuzz target.
    pub name: &'static str,
    pub samples: fn() -> Files,
    pub read: fn(&[u8]) -> Read,
    /// Makes the checksum right again, where there is one: otherwise nothing behind it would be tested.
    pub seal: Option<fn(Vec<u8>) -> Vec<u8>>,
    /// Bytes that a reader may take beyond the file's own size and what it hands back.
    pub slack: usize,
}

/// Messages, headers, small tables.
const KIB: usize = 1024;

pub const FORMATS: [Format; 17] = [
    Format { name: "obj", samples: samples::obj, read: |b| hold(parse_obj(b)), seal: None, slack: 4 * KIB },
    Format { name: "stl", samples: samples::stl, read: |b| hold(parse_stl(b)), seal: None, slack: 4 * KIB },
    // The header's table: up to 1000 lines.
    Format { name: "ply", samples: samples::ply, read: |b| hold(parse_ply(b)), seal: None, slack: 128 * KIB },
    Format {
        name: "gltf",
        samples: samples::gltf,
        read: |b| hold(parse_gltf(b, None)),
        seal: None,
        slack: 64 * KIB,
    },
    Format {
        name: "heightfield",
        samples: samples::heightfield,
        read: |b| hold(GreyImage::decode(b)),
        seal: None,
        // A picture is packed: its pixels are allowed for below, this is the decoders' own tables.
        slack: 512 * KIB,
    },
    Format { name: "motion", samples: samples::motion, read: read_motion, seal: None, slack: 4 * KIB },
    // The schema of the format and the tree of the text.
    Format { name: "scene", samples: samples::scene, read: read_scene, seal: None, slack: 4096 * KIB },
    Format { name: "vdb", samples: samples::vdb, read: read_vdb, seal: Some(|b| b), slack: 16 * KIB },
    Format {
        name: "surface",
        samples: samples::surface,
        read: |b| hold(decode_ply(b)),
        seal: Some(seal_ply),
        slack: 4 * KIB,
    },
    Format {
        name: "particles",
        samples: samples::particles,
        read: |b| hold(decode_ply_points(b)),
        seal: Some(seal_ply),
        slack: 4 * KIB,
    },
    Format {
        name: "manifest",
        samples: samples::manifest,
        read: |b| Some(Box::new(ManifestEntries::parse(b))),
        seal: Some(seal_manifest),
        slack: 4 * KIB,
    },
    Format {
        name: "record",
        samples: samples::record,
        read: read_record,
        seal: Some(seal_record),
        slack: 1024 * KIB,
    },
    Format {
        name: "checkpoint",
        samples: samples::checkpoint,
        read: read_checkpoint,
        seal: Some(seal_checkpoint),
        slack: 64 * KIB,
    },
    // One behind the checkpoint's checksum: the reader itself trusts what it is given only as far as it
    // must.
    Format { name: "state", samples: samples::state, read: read_state, seal: Some(|b| b), slack: 64 * KIB },
    Format {
        name: "stats",
        samples: samples::stats,
        read: |b| Some(Box::new(Steps::parse(b))),
        seal: None,
        slack: 64 * KIB,
    },
    Format {
        name: "probes",
        samples: samples::probes,
        read: |b| Some(Box::new(parse_probes(b))),
        seal: None,
        slack: 64 * KIB,
    },
    Format {
        name: "picture",
        samples: samples::picture,
        read: |b| hold(Image::decode_png(b)),
        seal: None,
        slack: 256 * KIB,
    },
];

/// The kind with this name.
pub fn format(name: &str) -> &'static Format {
    static ALL: [Format; 17] = FORMATS;
    ALL.iter().find(|f| f.name == name).expect("a format of the table")
}

/// Room for what a packed file unpacks to, by its header, whether or not it is handed back in the end: the
/// pixels of a picture, 32 bytes each, since decoders hold some of them twice; the values of a volume's cells
/// and faces.
pub fn unpacked(format: &Format, bytes: &[u8]) -> isize {
    match format.name {
        "heightfield" | "picture" => {
            let [width, height] = GreyImage::size(bytes).unwrap_or_default();
            if width.max(height) > 8192 { 0 } else { 32 * width as isize * height as isize }
        }
        "vdb" => VdbVolume::parse_unverified(bytes).map_or(0, |volume| {
            let cells: usize = volume.grid.cells.iter().product();
            let faces: usize = volume.grid.cells.iter().map(|n| cells / n * (n + 1)).sum();
            if cells > MOST_CELLS { 0 } else { 4 * (cells + faces) as isize }
        }),
        _ => 0,
    }
}

/// The values of a large empty grid are no matter of the file's.
const MOST_CELLS: usize = 1 << 16;

fn hold<T: 'static, E: ToString>(result: Result<T, E>) -> Read {
    // The message is made too: it may quote the file.
    result.map_err(|e| e.to_string()).ok().map(|value| Box::new(value) as Box<dyn Any>)
}

fn read_motion(bytes: &[u8]) -> Read {
    let text = std::str::from_utf8(bytes).ok()?;
    hold(parse_poses(text).map_err(|e| format!("{e:?}")))
}

fn read_scene(bytes: &[u8]) -> Read {
    let text = std::str::from_utf8(bytes).ok()?;
    match Scene::parse("scene.toml", text, Path::new("/nowhere"), &[]) {
        Ok(scene) if names_files(&scene.resolved()) => Some(Box::new(scene)),
        Ok(scene) => hold(scene.build()),
        Err(error) => hold::<(), _>(Err(error)),
    }
}

/// Files that a scene names are formats of their own.
fn names_files(scene: &serde_json::Value) -> bool {
    match scene {
        serde_json::Value::Object(map) => {
            map.iter().any(|(k, v)| ["path", "image", "file"].contains(&k.as_str()) || names_files(v))
        }
        serde_json::Value::Array(items) => items.iter().any(names_files),
        _ => false,
    }
}

fn read_vdb(bytes: &[u8]) -> Read {
    let volume = VdbVolume::parse_unverified(bytes).ok()?;
    if volume.grid.cells.iter().product::<usize>() > MOST_CELLS {
        return Some(Box::new(()));
    }
    let values = (volume.phi_cell(), volume.u_face());
    Some(Box::new(values))
}

fn read_record(bytes: &[u8]) -> Read {
    let record = RunRecord::decode(bytes).ok()?;
    if names_files(&record.scene) {
        return Some(Box::new(record));
    }
    let scene = Scene::from_resolved(&record.name, record.scene.clone()).map_err(|e| e.to_string()).ok()?;
    hold(scene.build().map(|ready| (record, ready)))
}

fn read_checkpoint(bytes: &[u8]) -> Read {
    hold(read_verified(&mut &*bytes, bytes.len() as u64, Path::new("a.checkpoint")))
}

/// A solver for each tracker, to be restored again and again.
static SOLVERS: LazyLock<[Mutex<Box<dyn Solver>>; 2]> =
    LazyLock::new(|| ["levelset", "flip"].map(|tracker| Mutex::new(samples::fresh_solver(tracker))));

fn read_state(bytes: &[u8]) -> Read {
    let restore = |solver: &Mutex<Box<dyn Solver>>| {
        let mut from = bytes;
        let mut reader = StateReader::new(&mut from, bytes.len() as u64);
        let mut solver = solver.lock().unwrap_or_else(|e| e.into_inner());
        solver.restore(&mut reader).is_ok()
    };
    SOLVERS.iter().any(restore).then(|| Box::new(()) as Box<dyn Any>)
}

/// The header of our PLY files has the checksum of what follows.
fn seal_ply(mut bytes: Vec<u8>) -> Vec<u8> {
    let find = |what: &[u8]| bytes.windows(what.len()).position(|w| w == what).map(|at| at + what.len());
    if let (Some(crc), Some(body)) = (find(b"comment crc32 "), find(b"end_header\n"))
        && crc + 8 <= bytes.len()
    {
        let text = format!("{:08x}", crc32fast::hash(&bytes[body..]));
        bytes[crc..crc + 8].copy_from_slice(text.as_bytes());
    }
    bytes
}

/// Every line begins with the checksum of its rest.
fn seal_manifest(bytes: Vec<u8>) -> Vec<u8> {
    let mut sealed = vec![];
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let rest = line.get(9..).unwrap_or_default();
        let content = rest.strip_suffix(b"\n").unwrap_or(rest);
        sealed.extend(format!("{:08x} ", crc32fast::hash(content)).bytes());
        sealed.extend(rest);
    }
    sealed
}

/// The last line has the checksum of all before.
fn seal_record(bytes: Vec<u8>) -> Vec<u8> {
    let mark = b",\n  \"crc32\": ";
    let at = bytes.windows(mark.len()).rposition(|w| w == mark).unwrap_or(bytes.len());
    let crc = crc32fast::hash(&bytes[..at]);
    [&bytes[..at], format!(",\n  \"crc32\": \"{crc:08x}\"\n}}\n").as_bytes()].concat()
}

/// The last four bytes are the checksum of all before.
fn seal_checkpoint(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.len().checked_sub(4) {
        let crc = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
    }
    bytes
}
