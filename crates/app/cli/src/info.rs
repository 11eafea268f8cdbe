//! `fluvial info`: what a run's folder holds, verified.

use crate::args::InfoArgs;
use crate::bar::short;
use crate::check::bytes;
use crate::failure::Failure;
use crate::log;
use crate::resume::read_record;
use crate::say::say;
use anyhow::anyhow;
use fluvial_simulation::info::{Info, inspect};
use std::fmt::Write;

/// Verifies every checksum and says what is there. Fails where anything is missing or damaged.
pub fn info(args: InfoArgs) -> Result<(), Failure> {
    let record = read_record(&args.dir)?;
    let info = inspect(&args.dir, &record, log::is_held(&args.dir))?;
    if args.json {
        say!("{:#}", serde_json::json!(info));
    } else {
        say!("{}", describe(&info).trim_end());
    }
    if info.is_sound() {
        return Ok(());
    }
    let count = info.missing.len() + info.damaged.len();
    let error = anyhow!("{count} of the run's files cannot be trusted");
    match info.advice {
        Some(advice) => Err(Failure::failed_with_help(error, advice)),
        None => Err(Failure::failed(error)),
    }
}

fn describe(info: &Info) -> String {
    let mut text = format!("{}: method {}, {}", info.name, info.method, info.state);
    let last = info.last_frame.map_or("no frame yet".into(), |n| format!("frames 0 to {n}"));
    let _ = writeln!(text, ", {last} of {} at {} fps", info.frames, info.fps);
    let _ = writeln!(
        text,
        "{} files, {}: read and compared with their checksums",
        short(info.good),
        bytes(info.good_bytes)
    );
    let _ = writeln!(text, "frames to be trusted: {}", ranges(&info.trusted));
    for c in &info.checkpoints {
        let state = c.error.as_deref().unwrap_or("good");
        let _ = writeln!(
            text,
            "checkpoint after frame {}, step {}: {}, {state}",
            c.frame,
            c.step,
            bytes(c.bytes)
        );
    }
    for (what, names) in [
        ("missing", &info.missing),
        ("damaged", &info.damaged),
        ("half written, removed by the next resume", &info.leftovers),
        ("complete but not recorded, written again by the next resume", &info.unrecorded),
        ("not of this run", &info.foreign),
    ] {
        if !names.is_empty() {
            let _ = writeln!(text, "{what}: {}", list(names));
        }
    }
    if let Some(advice) = info.advice.as_ref().filter(|_| info.is_sound()) {
        let _ = writeln!(text, "{advice}");
    }
    text
}

fn ranges(ranges: &[[u32; 2]]) -> String {
    let one = |[a, b]: &[u32; 2]| if a == b { a.to_string() } else { format!("{a} to {b}") };
    if ranges.is_empty() { "none".into() } else { ranges.iter().map(one).collect::<Vec<_>>().join(", ") }
}

/// The first dozen names.
fn list(names: &[String]) -> String {
    let shown = names.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 12 { format!("{shown} and {} more", names.len() - 12) } else { shown }
}
