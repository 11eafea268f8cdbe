//! Damaged files of every kind that is read: an error where damage can be told, never a panic, and no more
//! memory than twice the file's size, what is handed back, and a small constant that stands in the table of
//! formats.

mod allocator;
mod formats;
mod samples;

use formats::{FORMATS, Format, Read};
use std::path::Path;
use std::sync::Mutex;

#[global_allocator]
static COUNTING: allocator::Counting = allocator::Counting;

/// Memory is counted for the whole program: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A number that looks random.
fn mixed(n: usize) -> usize {
    fluvial_foundation::random::splitmix64(n as u64) as usize
}

/// The file cut at every place, and with every byte changed; `step` leaves some out.
fn damaged(good: &[u8], step: usize) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    let cut = (0..good.len()).step_by(step).map(|n| (format!("cut at {n}"), good[..n].to_vec()));
    let changed = (0..good.len()).step_by(step).map(|n| {
        let mut bad = good.to_vec();
        bad[n] ^= (mixed(n) % 255) as u8 + 1;
        (format!("byte {n} changed"), bad)
    });
    cut.chain(changed)
}

/// Fails where reading takes too much. Memory is counted for the whole program, in which the test harness
/// allocates too when another test begins or ends; what the reader itself takes is taken in every one of three calls.
fn read_measured(format: &Format, name: &str, bytes: &[u8], what: &str) -> Read {
    let own = bytes.len() as isize + format.slack as isize + formats::unpacked(format, bytes);
    for _ in 0..2 {
        let (result, taken) = allocator::measured(|| (format.read)(bytes));
        if taken.peak <= own + taken.kept.max(0) {
            return result;
        }
    }
    let (result, taken) = allocator::measured(|| (format.read)(bytes));
    let (peak, size) = (taken.peak, bytes.len());
    assert!(peak <= own + taken.kept.max(0), "{name}, {what}: {peak} bytes for {size}");
    result
}

#[test]
fn samples_are_read_and_every_format_has_a_fuzz_target_with_seeds() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz");
    let names = |folder: &str, ending: &str| -> Vec<String> {
        let entries = std::fs::read_dir(fuzz.join(folder)).unwrap().map(|e| e.unwrap().file_name());
        let mut names: Vec<String> =
            entries.map(|n| n.to_str().unwrap().strip_suffix(ending).unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let mut wanted: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    wanted.sort();
    assert_eq!(names("fuzz_targets", ".rs"), wanted);
    assert_eq!(names("seeds", ""), wanted);
    for format in &FORMATS {
        for (name, bytes) in (format.samples)() {
            assert!((format.read)(&bytes).is_some(), "{name}");
            let sealed = format.seal.map(|seal| seal(bytes.clone()));
            assert!(sealed.is_none_or(|sealed| sealed == bytes), "{name}: the sample's checksum is another");
        }
    }
}

#[test]
fn behind_a_checksum_every_cut_and_every_changed_byte_is_an_error() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    for name in ["surface", "particles", "record", "checkpoint"] {
        let format = formats::format(name);
        for (name, good) in (format.samples)() {
            for (what, bad) in damaged(&good, 1) {
                assert!((format.read)(&bad).is_none(), "{name}, {what}");
            }
        }
    }
    let (name, good) = samples::vdb().remove(0);
    for (what, bad) in damaged(&good, 1) {
        assert!(fluvial_output::VdbVolume::parse(bad).is_err(), "{name}, {what}");
    }
}

#[test]
fn no_cut_and_no_changed_byte_is_a_panic_or_takes_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    for format in &FORMATS {
        for (name, good) in (format.samples)() {
            drop((format.read)(&good)); // what is made once is no cost of the file
            read_measured(format, name, &good, "whole");
            // The long ones (volumes, states) are mostly numbers.
            let step = good.len().div_ceil(4000);
            for (what, bad) in damaged(&good, step) {
                let bad = format.seal.map_or(bad.clone(), |seal| seal(bad));
                read_measured(format, name, &bad, &what);
            }
        }
    }
}

/// What fuzzing found, by format.
#[test]
fn what_fuzzing_found_stays_mended() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/damage/found");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let format = formats::format(name.split('.').next().unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let bytes = format.seal.map_or(bytes.clone(), |seal| seal(bytes));
        drop((format.read)(&bytes));
        read_measured(format, &name, &bytes, "as found");
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn hostile_files_are_refused_without_work() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let refused = |format: &str, bytes: &[u8]| {
        let start = std::time::Instant::now();
        let format = formats::format(format);
        assert!(read_measured(format, format.name, bytes, "hostile").is_none(), "{}", format.name);
        assert!(start.elapsed().as_secs_f64() < 2.0, "{}", format.name);
    };
    // Each node has its successor twice as a child: 2^60 nodes.
    let nodes: Vec<String> = (1..60).map(|n| format!(r#"{{"children":[{n},{n}]}}"#)).collect();
    refused("gltf", format!(r#"{{"nodes":[{},{{}}]}}"#, nodes.join(",")).as_bytes());
    // One vertex read a million million times.
    let again = r#"{"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":1000000000000,"type":"VEC3"}],
        "bufferViews":[{"buffer":0,"byteStride":0}],"buffers":[{"uri":"data:;base64,AAAAAAAAAAAAAAAA"}]}"#;
    refused("gltf", again.as_bytes());
    refused("gltf", &[b"[".repeat(100_000), b"]".repeat(100_000)].concat());
    refused("ply", &[b"ply\n".to_vec(), b"element a 1\n".repeat(100_000)].concat());
    // A picture of 2^31 pixels a side in 60 bytes.
    let mut png = samples::picture().remove(0).1;
    png[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let crc = crc32fast::hash(&png[12..29]);
    png[29..33].copy_from_slice(&crc.to_be_bytes());
    refused("picture", &png);
    refused("heightfield", &png);
}
