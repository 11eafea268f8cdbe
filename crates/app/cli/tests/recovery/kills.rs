//! Kills at random instants, and in the middle of writing.

use super::{TRACKERS, new_place};
use crate::place::{Place, assert_same, contents};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

fn partials(dir: &Path) -> Vec<String> {
    let folders = [dir.to_owned(), dir.join("preview"), dir.join("checkpoint")];
    let entries = folders.iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten();
    entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.ends_with(".partial"))
        .collect()
}

/// A small generator: which instant is hit is up to the machine anyway.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

#[derive(Default, Debug)]
struct Tally {
    kills: usize,
    while_writing: usize,
    before_the_record: usize,
    without_checkpoint: usize,
    while_resuming: usize,
    by_file: BTreeMap<String, usize>,
    runs: usize,
}

/// Starts a program and kills it, at a random instant or when it begins to write a file. False: it was
/// faster.
fn kill_once(
    place: &Place,
    args: &[&str],
    out: &Path,
    usual: Duration,
    dice: &mut Dice,
    tally: &mut Tally,
) -> bool {
    let mut child = place.spawn(args);
    let wait = usual.mul_f64(dice.next());
    // Two of three are aimed at a file that is being written.
    let aimed = dice.next() < 0.67;
    let start = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let waited = start.elapsed() >= wait;
        if waited && (!aimed || !partials(out).is_empty()) {
            break;
        }
        if !waited {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    tally.kills += 1;
    let left = partials(out);
    tally.while_writing += usize::from(!left.is_empty());
    for name in left {
        let letters = name.trim_end_matches(".partial").chars().filter(|c| !c.is_ascii_digit());
        *tally.by_file.entry(letters.collect()).or_default() += 1;
    }
    true
}

/// Kills until there are `wanted` kills; every run is resumed to its end and compared.
fn kill(wanted: usize, preview: &dyn Fn(usize) -> bool) -> Tally {
    let (mut tally, mut dice) = (Tally::default(), Dice(20261115));
    let mut references = BTreeMap::new();
    for trial in 0.. {
        if tally.kills >= wanted {
            break;
        }
        let (tracker, preview) = (TRACKERS[trial % 3], preview(trial));
        let place = new_place();
        let (set, show) = (format!("method.tracker={tracker}"), format!("output.preview={preview}"));
        let run = |out: &'static str| {
            ["run", "scene.toml", "--set", &set, "--set", &show, "-o", out].map(String::from)
        };
        let args = |out| run(out).to_vec();
        let (expected, usual) = references.entry((tracker, preview)).or_insert_with(|| {
            let args = args("calm");
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let start = Instant::now();
            place.expect(0, &args);
            (contents(&place.path("calm")), start.elapsed())
        });
        let out = place.path("out");
        let start_args = args("out");
        let start_args: Vec<&str> = start_args.iter().map(String::as_str).collect();
        if !kill_once(&place, &start_args, &out, *usual, &mut dice, &mut tally) {
            continue;
        }
        // Some are killed again while they are being resumed.
        for _ in 0..2 {
            look_at_the_remains(&place, &out, expected, &mut tally);
            if dice.next() < 0.6 || !out.join("run.json").exists() {
                break;
            }
            let before = tally.kills;
            kill_once(&place, &["resume", "out"], &out, *usual, &mut dice, &mut tally);
            tally.while_resuming += tally.kills - before;
        }
        let said = if out.join("run.json").exists() {
            place.expect(0, &["resume", "out"])
        } else {
            tally.before_the_record += 1;
            place.expect(0, &start_args)
        };
        tally.without_checkpoint += usize::from(said.contains("begins again"));
        assert_same(expected, &out, &format!("trial {trial}, {tracker}"));
        place.expect(0, &["info", "out"]);
        tally.runs += 1;
    }
    tally
}

/// What a killed run leaves: every file under a final name is complete.
fn look_at_the_remains(place: &Place, out: &Path, expected: &BTreeMap<String, Vec<u8>>, tally: &mut Tally) {
    if !out.join("run.json").exists() {
        return;
    }
    for (name, bytes) in expected {
        let grows = ["stats.jsonl", "probes.csv", "bodies.csv"].contains(&name.as_str());
        if let Ok(found) =
            std::fs::read(out.join(name)).map_err(|_| ()).and_then(|f| if grows { Err(()) } else { Ok(f) })
        {
            assert!(found == *bytes, "{name} is there but not complete; {tally:?}");
        }
    }
    let said = place.expect(0, &["info", "out"]);
    assert!(said.contains("fluvial resume out") || said.contains("done"), "{said}");
}

#[test]
fn a_few_kills() {
    let tally = kill(6, &|trial| trial == 1);
    println!("{tally:#?}");
}

#[test]
#[ignore = "takes minutes; see main.rs"]
fn many_kills() {
    let wanted = std::env::var("FLUVIAL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let start = Instant::now();
    // The film takes most of such a short run: it is there in every other one, by trackers in turn. On a
    // machine with other work to do pictures get plainer by the clock, and cannot be compared.
    let pictures = std::env::var_os("FLUVIAL_KILLS_WITHOUT_PICTURES").is_none();
    let tally = kill(wanted, &|trial| pictures && trial / 3 % 2 == 0);
    println!("{tally:#?}\nin {:.0} s", start.elapsed().as_secs_f64());
    assert!(2 * tally.while_writing >= tally.kills, "too few kills while files were written: {tally:?}");
}
