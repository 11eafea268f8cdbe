//! `report.html`: one page that tells how a run goes or went. It needs no network and no other file.

pub mod series;

use crate::cells::draw_cells;
use crate::draw::{FILM, picture_name};
use crate::frame_files::frame_path;
use crate::record::{RunRecord, RunStatus};
use fluvial_foundation::StageTimers;
use fluvial_output::{Axis, OutputError, Plot, Style, read_ply_cells, write_bytes_atomic};
use fluvial_preview::{FilmWriter, Image};
use fluvial_scene::Scene;
use series::{StepLine, Steps, read_probes};
use std::fmt::Write;
use std::path::Path;

/// Of a plot, in its own units; the page scales it.
const PLOT: [f64; 2] = [460.0, 300.0];
/// Okabe and Ito's, for what limits the step.
const COLORS: [&str; 5] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#999999"];

/// Writes the report of the run in `dir`, finished or not, to `path`.
pub fn write_report(dir: &Path, record: &RunRecord, path: &Path) -> Result<(), OutputError> {
    write_bytes_atomic(path, page(dir, record).as_bytes())
}

fn page(dir: &Path, record: &RunRecord) -> String {
    let steps = Steps::read(dir);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0} – Fluvial report</title>\n<style>\n{1}</style>\n</head>\n<body>\n",
        escape(&record.name),
        include_str!("report/style.css")
    );
    page += &head(record);
    page += "<main>\n<section class=\"first\">\n";
    page += &film(dir, record);
    page += &figures(record, &steps);
    page += "</section>\n";
    page += &cells(dir, record);
    page += &warnings(record);
    page += &plots(dir, record, &steps);
    page += &timings(record);
    page += &setup(record, &steps);
    let _ = write!(
        page,
        "<footer>Written by Fluvial {} from {}, stats.jsonl and probes.csv. Every step is in these; what is plotted \
         keeps the extremes of each stretch.</footer>\n</main>\n</body>\n</html>\n",
        escape(&record.fluvial),
        crate::record::RUN_JSON
    );
    page
}

fn head(record: &RunRecord) -> String {
    let (class, status) = match record.status {
        RunStatus::Running => ("", "running"),
        RunStatus::Done => ("done", "done"),
        RunStatus::Interrupted => ("", "interrupted"),
        RunStatus::Failed => ("failed", "failed"),
    };
    let cells = cells_of(record).map_or(String::new(), |[x, y, z]| format!(", {x} × {y} × {z} cells"));
    let tracker = record.scene["method"]["tracker"].as_str().map_or(String::new(), |t| format!(" / {t}"));
    let done = record.last_frame.unwrap_or(0);
    format!(
        "<header><div><h1>{}<span class=\"badge {class}\">{status}</span></h1>\n\
         <p>{}{}{cells}, frame {done} of {} at {} fps</p></div></header>\n",
        escape(&record.name),
        escape(&record.method),
        escape(&tracker),
        record.frames,
        record.fps
    )
}

fn cells_of(record: &RunRecord) -> Option<[u64; 3]> {
    let domain = &record.scene["domain"];
    let side = |a: usize| Some(domain["max"][a].as_f64()? - domain["min"][a].as_f64()?);
    let sides = [side(0)?, side(1)?, side(2)?];
    let longest = sides.iter().copied().fold(0.0, f64::max);
    let dx = domain["dx"].as_f64().or_else(|| Some(longest / domain["resolution"].as_f64()?))?;
    Some(sides.map(|s| (s / dx).round() as u64))
}

/// What cannot be trusted of the run.
fn warnings(record: &RunRecord) -> String {
    let findings = &record.totals.findings;
    if findings.warnings.is_empty() {
        return String::new();
    }
    let row = |w: &crate::guard::Warning| format!("<li>Frame {}: {}</li>\n", w.frame, escape(&w.message));
    let rows: String = findings.warnings.iter().map(row).collect();
    format!("<section><h2>Warnings</h2>\n<ul>\n{rows}</ul></section>\n")
}

/// The film as it is on disk, or made of the pictures that there are so far.
fn film(dir: &Path, record: &RunRecord) -> String {
    let on_disk = (record.status == RunStatus::Done).then(|| std::fs::read(dir.join(FILM)).ok()).flatten();
    let Some(bytes) = on_disk.or_else(|| film_so_far(dir, record)) else { return String::new() };
    let seconds = f64::from(record.last_frame.unwrap_or(0)) / record.fps;
    format!(
        "<figure class=\"film\"><img alt=\"The liquid, frame by frame\" src=\"data:image/png;base64,{}\">\
         <figcaption>Preview: {} s of simulated time, looped</figcaption></figure>\n",
        base64(&bytes),
        rounded(seconds)
    )
}

/// The last frame's cells, where they differ in size.
fn cells(dir: &Path, record: &RunRecord) -> String {
    let cut = record.last_frame.and_then(|frame| {
        let cut = read_ply_cells(&frame_path(dir, "cells", frame, "ply")).ok()?;
        let ready = Scene::from_resolved(&record.name, record.scene.clone()).ok()?.build().ok()?;
        let time_s = f64::from(frame) / record.fps;
        let setup = &ready.setup;
        Some((draw_cells(&cut, setup.domain.bounds(), &setup.solids, time_s, [1280, 720]), cut))
    });
    let Some((image, cut)) = cut else { return String::new() };
    format!(
        "<section><h2>Cells</h2>\n<figure class=\"film\"><img alt=\"Cells of a cut through the middle\" \
         src=\"data:image/png;base64,{}\"><figcaption>The last frame, cut at z = {} m: {} cells, liquid darker where they are \
         finer. <code>fluvial render DIR --show cells</code> draws every frame.</figcaption></figure></section>\n",
        base64(&image.encode_png()),
        rounded(f64::from(cut.z)),
        grouped(cut.cells.len() as u64),
    )
}

fn film_so_far(dir: &Path, record: &RunRecord) -> Option<Vec<u8>> {
    let mut film = FilmWriter::new(record.fps as f32);
    let mut last: Option<Image> = None;
    for frame in 0..=record.last_frame? {
        if let Ok(image) = Image::read_png(&dir.join(picture_name(frame)))
            && last.as_ref().is_none_or(|l| (l.width, l.height) == (image.width, image.height))
        {
            last = Some(image);
        }
        last.iter().for_each(|image| film.push(image));
    }
    film.to_apng().ok().filter(|_| last.is_some())
}

fn figures(record: &RunRecord, steps: &Steps) -> String {
    let totals = &record.totals;
    let frames = f64::from(record.last_frame.unwrap_or(0)).max(1.0);
    let number = |v: Option<f64>| v.map_or("–".into(), rounded);
    let per_frame = format!("{} <small>s a frame</small>", rounded(totals.wall_s / frames));
    let rows = [
        ("Wall time", format!("{} <small>{}</small>", duration(totals.wall_s), per_frame_note(record))),
        ("Speed", per_frame),
        ("Steps", format!("{} <small>{} redone</small>", totals.steps, totals.retries)),
        ("Volume within", format!("{} %", rounded(100.0 * totals.largest_volume_error))),
        ("Liquid now", format!("{} <small>m³</small>", number(steps.last(|l| l.liquid_volume_m3)))),
        ("Liquid cells", steps.last(|l| l.cells).map_or("–".into(), |n| grouped(n as u64))),
        (
            "Pressure",
            format!("{} <small>iterations a step</small>", number(steps.mean(|l| l.pressure.iterations))),
        ),
        (
            "Peak memory",
            totals
                .peak_rss_bytes
                .map_or("–".into(), |b| format!("{} <small>MB</small>", rounded(b as f64 / 1e6))),
        ),
    ];
    let cards: String =
        rows.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")).collect();
    format!("<dl class=\"figures\">\n{cards}</dl>\n")
}

fn per_frame_note(record: &RunRecord) -> String {
    match record.resumed {
        0 => format!("{} threads", record.threads),
        1 => "resumed once".into(),
        n => format!("resumed {n} times"),
    }
}

/// A card with a plot.
fn card(page: &mut String, title: &str, about: &str, plot: Plot) {
    if plot.series.iter().all(|s| s.points.len() < 2) {
        return;
    }
    let slug: String = title.chars().filter(char::is_ascii_alphabetic).collect();
    let id = format!("{slug}{}", page.len());
    let svg = plot.to_svg_sized(PLOT[0], PLOT[1], &id);
    let _ = writeln!(page, "<figure class=\"card\"><h3>{}</h3><p>{about}</p>{svg}</figure>", escape(title));
}

fn over_time(label: &str) -> Plot {
    Plot { x: Axis::linear("time (s)"), y: Axis::linear(label), ..Plot::default() }
}

fn over_time_log(label: &str) -> Plot {
    Plot { y: Axis::log(label), ..over_time("") }
}

fn plots(dir: &Path, record: &RunRecord, steps: &Steps) -> String {
    let mut page = String::new();
    let energy = |line: &StepLine| Some(line.kinetic_energy_j? + line.potential_energy_j?);
    let expected = {
        let start = steps.curve(true, |l| l.liquid_volume_m3).first().map_or(0.0, |p| p[1]);
        steps.curve(true, move |l| Some(start + l.inflow_m3? - l.outflow_m3?))
    };
    page += "<section><h2>Volume and energy</h2><div class=\"plots\">\n";
    card(
        &mut page,
        "Liquid volume",
        "Dashed: start + inflow − outflow.",
        over_time("m³").with("volume", Style::Line, steps.curve(true, |l| l.liquid_volume_m3)).with(
            "expected",
            Style::Dashed,
            expected,
        ),
    );
    card(
        &mut page,
        "Volume error",
        "Of the largest expected volume. Raw: had no correction acted.",
        over_time("%").with("error", Style::Line, steps.curve(true, |l| Some(100.0 * l.volume_error?))).with(
            "raw",
            Style::Dashed,
            steps.curve(true, |l| Some(100.0 * l.raw_volume_error?)),
        ),
    );
    card(
        &mut page,
        "Energy",
        "Must not grow without a source or a moving solid.",
        over_time("J")
            .with("total", Style::Line, steps.curve(true, energy))
            .with("potential", Style::Dashed, steps.curve(true, |l| l.potential_energy_j))
            .with("kinetic", Style::Line, steps.curve(true, |l| l.kinetic_energy_j)),
    );
    card(
        &mut page,
        "Fastest liquid",
        "",
        over_time("m/s").with("", Style::Line, steps.curve(true, |l| l.max_speed_m_s)),
    );
    page += "</div></section>\n<section><h2>Steps and solver</h2><div class=\"plots\">\n";
    page += &limiter_card(steps);
    card(
        &mut page,
        "Pressure iterations",
        "Should stay level.",
        over_time("iterations").with("", Style::Line, steps.curve(false, |l| l.pressure.iterations)),
    );
    card(
        &mut page,
        "Residual of the pressure",
        "Norm of the true residual over that of the right side.",
        over_time_log("relative").with("", Style::Line, steps.curve(false, |l| l.pressure.relative_residual)),
    );
    card(
        &mut page,
        "Divergence left",
        "Largest in a liquid cell.",
        over_time_log("1/s").with("", Style::Line, steps.curve(false, |l| l.max_divergence_1_s)),
    );
    let particles = steps.curve(true, |l| l.particles);
    let mut cells = over_time("count").with("liquid cells", Style::Line, steps.curve(true, |l| l.cells));
    if particles.iter().any(|p| p[1] > 0.0) {
        cells = cells.with("particles", Style::Dashed, particles);
    }
    card(&mut page, "Cells", "That hold liquid.", cells);
    card(
        &mut page,
        "Memory",
        "Most held so far.",
        over_time("MB").with("", Style::Line, steps.curve(true, |l| Some(l.peak_rss_bytes? / 1e6))),
    );
    page += "</div></section>\n";
    page + &probe_plots(dir, record)
}

/// Step length, and what limited it.
fn limiter_card(steps: &Steps) -> String {
    let mut body = String::new();
    card(
        &mut body,
        "Step length",
        "And what kept it from being longer:",
        over_time_log("s").with("", Style::Line, steps.curve(false, |l| l.dt_s)),
    );
    let limiters = steps.limiters();
    let all: usize = limiters.iter().map(|(_, n)| n).sum();
    let (mut bar, mut key) = (String::new(), String::new());
    for (n, (name, count)) in limiters.iter().enumerate() {
        let (color, share) = (COLORS[n % COLORS.len()], 100.0 * *count as f64 / all as f64);
        let word = match name.as_str() {
            "cfl" => "speed",
            "surface_tension" => "surface tension",
            other => other,
        };
        let _ = write!(bar, "<i style=\"width:{share:.2}%;background:{color}\"></i>");
        let _ = write!(
            key,
            "<span><i style=\"background:{color}\"></i>{} {} %</span>",
            escape(word),
            rounded(share)
        );
    }
    let strip = format!("<div class=\"share\">{bar}</div><div class=\"key\">{key}</div>");
    body.replacen("<svg ", &format!("{strip}<svg "), 1)
}

/// One plot for each kind of gauge.
fn probe_plots(dir: &Path, record: &RunRecord) -> String {
    let curves = read_probes(dir);
    let kind = |name: &str| {
        let probes = record.scene["probe"].as_array()?;
        probes.iter().find(|p| p["name"].as_str() == Some(name))?["kind"].as_str()
    };
    let mut page = String::new();
    for (wanted, title, unit) in
        [("height", "Height of the surface", "m"), ("pressure", "Pressure", "Pa"), ("volume", "Volume", "m³")]
    {
        let chosen: Vec<_> = curves.iter().filter(|(name, _)| kind(name) == Some(wanted)).collect();
        for part in chosen.chunks(6) {
            let plot = part.iter().fold(over_time(unit), |plot, (name, curve)| {
                plot.with(name.clone(), Style::Line, curve.clone())
            });
            card(&mut page, title, "", plot);
        }
    }
    if page.is_empty() {
        return page;
    }
    format!("<section><h2>Probes</h2><div class=\"plots\">\n{page}</div></section>\n")
}

/// Where the wall time went.
fn timings(record: &RunRecord) -> String {
    let totals = &record.totals;
    let rows = |timers: &StageTimers, class: &'static str| -> Vec<(String, f64, &'static str)> {
        timers.iter().map(|(name, s)| (name.replace('_', " "), s, class)).collect()
    };
    let mut all = rows(&totals.stages_s, "");
    all.extend(rows(&totals.outputs_s, "output"));
    all.retain(|(_, seconds, _)| *seconds >= 1e-3);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let sum: f64 = all.iter().map(|r| r.1).sum();
    if sum == 0.0 {
        return String::new();
    }
    let longest = all[0].1;
    let bars: String = all
        .iter()
        .map(|(name, seconds, class)| {
            format!(
                "<li class=\"{class}\"><span>{}</span><span class=\"track\"><i style=\"width:{:.2}%\"></i></span>\
                 <b>{} · {:.1} %</b></li>\n",
                escape(name),
                100.0 * seconds / longest,
                duration(*seconds),
                100.0 * seconds / sum
            )
        })
        .collect();
    format!(
        "<section><h2>Where the time went</h2><p>Blue: stages of the step. Amber: what is written.</p>\
         <div class=\"card\"><ul class=\"bars\">\n{bars}</ul></div></section>\n"
    )
}

fn setup(record: &RunRecord, steps: &Steps) -> String {
    let scene = &record.scene;
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(s) => s.replace('_', " "),
        serde_json::Value::Array(items) => items.iter().map(number).collect::<Vec<_>>().join(", "),
        other => number(other),
    };
    let mut rows: Vec<(String, String)> = vec![];
    let domain = &scene["domain"];
    rows.push(("Domain".into(), format!("{} to {} m", text(&domain["min"]), text(&domain["max"]))));
    if let Some(method) = scene["method"].as_object() {
        for (key, value) in method {
            let name = if key == "name" { "method" } else { key };
            rows.push((capitalised(&name.replace('_', " ")), text(value)));
        }
    }
    if let Some(liquid) = scene["liquid"].as_object() {
        for (key, value) in liquid {
            let unit = match key.as_str() {
                "density" => " kg/m³",
                "surface_tension" => " N/m",
                "gravity" => " m/s²",
                _ => "",
            };
            rows.push((capitalised(&key.replace('_', " ")), format!("{}{unit}", text(value))));
        }
    }
    for (key, name) in [("fill", "Fills"), ("solid", "Solids"), ("source", "Sources"), ("sink", "Sinks")] {
        if let Some(items) = scene[key].as_array().filter(|items| !items.is_empty()) {
            rows.push((name.into(), items.len().to_string()));
        }
    }
    rows.push(("Cells a step at most (CFL)".into(), text(&scene["time"]["cfl"])));
    for (name, count) in steps.clamps() {
        rows.push((format!("Held back: {}", name.replace('_', " ")), grouped(*count)));
    }
    let machine = &record.machine;
    rows.push(("Machine".into(), format!("{}, {} cores, {}", machine.cpu, machine.cores, machine.platform)));
    rows.push(("Threads".into(), record.threads.to_string()));
    if !record.computes_on.is_empty() {
        rows.push(("Computes on".into(), record.computes_on.clone()));
    }
    rows.push(("Version".into(), record.fluvial.clone()));
    let rows: String = rows
        .iter()
        .map(|(k, v)| format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(k), escape(v)))
        .collect();
    format!(
        "<section><h2>Set-up</h2><div class=\"card\"><table>\n{rows}\
         <tr><th>Command</th><td><code>{}</code></td></tr>\n</table></div></section>\n",
        escape(&record.command)
    )
}

/// A number of the scene as it was written there: many are kept in single precision.
fn number(value: &serde_json::Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), |v| (v as f32).to_string())
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Three figures.
fn rounded(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        a if !(1e-3..1e6).contains(&a) => format!("{value:.1e}").replace('-', "−"),
        a if a >= 100.0 => format!("{value:.0}"),
        a if a >= 10.0 => format!("{value:.1}"),
        a if a >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or("")).collect();
    groups.join("\u{202f}")
}

fn duration(seconds: f64) -> String {
    let s = seconds.max(0.0) as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, _) => format!("{} s", rounded(seconds)),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - group.len()));
        for n in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * n) & 63) as usize] as char;
            text.push(if n <= group.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_its_rfc() {
        let text = |s: &str| base64(s.as_bytes());
        assert_eq!(["", "f", "fo", "foo", "foobar"].map(text), ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 1234.5, 42.42, 3.2149, 0.0123].map(rounded), ["0", "1234", "42.4", "3.21", "0.012"]);
        assert_eq!(grouped(1234567), "1\u{202f}234\u{202f}567");
        assert_eq!([2.5, 65.0, 7325.0].map(duration), ["2.50 s", "1 min 05 s", "2 h 02 min"]);
    }

    #[test]
    fn a_run_without_a_single_step_has_a_report_and_it_asks_for_nothing_from_outside() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = crate::record::tests::record();
        record.name = "<b>&".into();
        let text = page(dir.path(), &record);
        assert!(text.contains("&lt;b&gt;&amp;") && text.ends_with("</html>\n"));
        std::fs::write(dir.path().join("stats.jsonl"), "{\"step\":0,\"time_s\":0}\n{\"st").unwrap();
        std::fs::write(dir.path().join("probes.csv"), "time_s,H\n0,1\n1,").unwrap();
        let text = page(dir.path(), &record);
        for outside in ["http://", "https://", "src=\"/", "@import", "url("] {
            let own = text.matches("http://www.w3.org/2000/svg").count() * usize::from(outside == "http://");
            assert_eq!(text.matches(outside).count(), own, "{outside}");
        }
    }
}
