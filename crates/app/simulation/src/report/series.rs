//! What a run's streams hold, as curves.

use crate::cache::{PROBES, STATS};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Points that a curve keeps: more than a plot has pixels would only fill the page.
const MOST_POINTS: usize = 1000;
/// A longer line is none of ours.
const LONGEST_LINE: u64 = 1 << 20;

/// The numbers of a line of `stats.jsonl` that are shown, by the names they have there.
#[derive(Deserialize)]
#[allow(missing_docs)]
pub struct StepLine {
    pub step: u64,
    pub time_s: f64,
    pub dt_s: Option<f64>,
    pub cells: Option<f64>,
    pub particles: Option<f64>,
    pub liquid_volume_m3: Option<f64>,
    pub inflow_m3: Option<f64>,
    pub outflow_m3: Option<f64>,
    pub volume_error: Option<f64>,
    pub raw_volume_error: Option<f64>,
    pub kinetic_energy_j: Option<f64>,
    pub potential_energy_j: Option<f64>,
    pub max_speed_m_s: Option<f64>,
    pub max_divergence_1_s: Option<f64>,
    #[serde(default)]
    pub pressure: PressureLine,
    pub peak_rss_bytes: Option<f64>,
}

/// Of the pressure solve.
#[derive(Default, Deserialize)]
#[allow(missing_docs)]
pub struct PressureLine {
    pub iterations: Option<f64>,
    pub relative_residual: Option<f64>,
}

/// What is summed up over the lines.
#[derive(Deserialize)]
struct Words<'a> {
    #[serde(borrow)]
    dt_limiter: Option<Cow<'a, str>>,
    clamps: Option<serde_json::Map<String, Value>>,
}

/// The lines of `stats.jsonl`, of which the last may still be short.
#[derive(Default)]
pub struct Steps {
    lines: Vec<StepLine>,
    limiters: BTreeMap<String, usize>,
    clamps: Vec<(String, u64)>,
}

impl Steps {
    /// Of the run in a folder; none where it has none.
    pub fn read(dir: &Path) -> Steps {
        File::open(dir.join(STATS)).map_or_else(|_| Steps::default(), |f| Steps::parse(BufReader::new(f)))
    }

    /// From a stream; lines that are no steps are passed over.
    pub fn parse(from: impl BufRead) -> Steps {
        let mut steps = Steps::default();
        for_each_line(from, |line| {
            let (Ok(step), Ok(words)) = (serde_json::from_str::<StepLine>(line), serde_json::from_str(line))
            else {
                return;
            };
            steps.add_words(&step, words);
            steps.lines.push(step);
        });
        steps
    }

    fn add_words(&mut self, step: &StepLine, words: Words) {
        if let Some(name) = words.dt_limiter.filter(|_| step.step > 0) {
            *self.limiters.entry(name.into_owned()).or_insert(0) += 1;
        }
        for (name, count) in words.clamps.into_iter().flatten() {
            let count = count.as_u64().unwrap_or(0);
            match self.clamps.iter_mut().find(|(n, _)| *n == name) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => self.clamps.push((name, count)),
            }
        }
    }

    /// A quantity of the last line.
    pub fn last(&self, value: impl Fn(&StepLine) -> Option<f64>) -> Option<f64> {
        value(self.lines.last()?)
    }

    /// The mean of a quantity over the steps.
    pub fn mean(&self, value: impl Fn(&StepLine) -> Option<f64>) -> Option<f64> {
        let steps = self.lines.iter().filter(|l| l.step > 0).filter_map(value);
        let (sum, count) = steps.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        (count > 0.0).then(|| sum / count)
    }

    /// A quantity over time; the first line, where nothing has been solved yet, on request.
    pub fn curve(&self, with_start: bool, value: impl Fn(&StepLine) -> Option<f64>) -> Vec<[f64; 2]> {
        let lines = self.lines.iter().filter(|l| with_start || l.step > 0);
        thinned(lines.filter_map(|l| Some([l.time_s, value(l)?])).collect())
    }

    /// Steps by what limited them, most frequent first.
    pub fn limiters(&self) -> Vec<(String, usize)> {
        let mut counts: Vec<(String, usize)> = self.limiters.iter().map(|(k, n)| (k.clone(), *n)).collect();
        counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        counts
    }

    /// Clamps summed over the run.
    pub fn clamps(&self) -> &[(String, u64)] {
        &self.clamps
    }
}

/// Whole lines of text, one at a time.
fn for_each_line(mut from: impl BufRead, mut body: impl FnMut(&str)) {
    let mut line = vec![];
    loop {
        line.clear();
        match std::io::Read::take(&mut from, LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => std::str::from_utf8(&line).into_iter().for_each(|l| body(l.trim_end_matches('\n'))),
        }
    }
}

/// The columns of `probes.csv`: name and curve.
pub fn read_probes(dir: &Path) -> Vec<(String, Vec<[f64; 2]>)> {
    File::open(dir.join(PROBES)).map_or_else(|_| vec![], |f| parse_probes(BufReader::new(f)))
}

/// As [`read_probes`], from a stream; lines that are no rows are passed over.
pub fn parse_probes(from: impl BufRead) -> Vec<(String, Vec<[f64; 2]>)> {
    let mut columns: Option<Vec<(String, Vec<[f64; 2]>)>> = None;
    for_each_line(from, |line| {
        let Some(columns) = &mut columns else {
            columns = Some(split(line).into_iter().skip(1).map(|name| (name, vec![])).collect());
            return;
        };
        let fields = line.split(',').count();
        let mut numbers = line.split(',').map_while(|n| n.parse::<f64>().ok());
        if fields != columns.len() + 1 || numbers.clone().count() != fields {
            return;
        }
        let time_s = numbers.next().unwrap_or(0.0);
        columns.iter_mut().zip(numbers).for_each(|((_, curve), value)| curve.push([time_s, value]));
    });
    let columns = columns.unwrap_or_default().into_iter();
    columns.map(|(name, curve)| (name, thinned(curve))).collect()
}

/// The fields of a line of CSV (RFC 4180).
fn split(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut().expect("never empty");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields
}

/// Keeps the least and the greatest value of every stretch, so that no spike is lost.
fn thinned(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 2);
    let mut kept = vec![];
    for part in points.chunks(stretch) {
        let by = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        if let (Some(low), Some(high)) = (part.iter().min_by(by), part.iter().max_by(by)) {
            let (a, b) = if low[0] <= high[0] { (low, high) } else { (high, low) };
            kept.extend([*a, *b]);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_keep_their_spikes() {
        let mut points: Vec<[f64; 2]> = (0..10_000).map(|n| [n as f64, (n as f64 / 500.0).sin()]).collect();
        points[7777][1] = 9.0;
        points[1234][1] = -9.0;
        let thin = thinned(points);
        assert!(thin.len() <= MOST_POINTS, "{}", thin.len());
        assert!(thin.contains(&[7777.0, 9.0]) && thin.contains(&[1234.0, -9.0]));
        assert!(thin.is_sorted_by(|a, b| a[0] <= b[0]));
    }

    #[test]
    fn what_is_no_step_or_no_row_is_passed_over() {
        let text = concat!(
            r#"{"step":0,"time_s":0,"dt_limiter":null,"cells":7}"#,
            "\n",
            r#"{"step":1,"time_s":0.5,"dt_s":0.5,"dt_limiter":"cfl","clamps":{"a":2},"pressure":{"iterations":4}}"#,
            "\nnonsense\n{}\n[1]\n",
            r#"{"step":2,"time_s":1,"dt_limiter":"cfl","clamps":{"b":1,"a":3},"pressure":{"iterations":6}}"#,
            "\n",
            r#"{"step":3,"time_s":2,"dt_li"#,
        );
        let steps = Steps::parse(text.as_bytes());
        assert_eq!(steps.mean(|l| l.pressure.iterations), Some(5.0));
        assert_eq!(steps.limiters(), [("cfl".to_owned(), 2)]);
        assert_eq!(steps.clamps(), [("a".to_owned(), 5), ("b".to_owned(), 1)]);
        assert_eq!(steps.curve(true, |l| l.cells), [[0.0, 7.0]]);
        assert_eq!(steps.last(|l| Some(l.time_s)), Some(1.0));
        let probes = parse_probes("time_s,H,P\n0,1,2\n0.5,1,x\n0.5,3,4\n1,2\n1,2,3,4\n1,5".as_bytes());
        assert_eq!(probes[0], ("H".to_owned(), vec![[0.0, 1.0], [0.5, 3.0]]));
        assert_eq!(probes[1], ("P".to_owned(), vec![[0.0, 2.0], [0.5, 4.0]]));
    }

    #[test]
    fn quoted_names_are_one_column() {
        assert_eq!(split("time_s,\"a,b \"\"c\"\"\",H"), ["time_s", "a,b \"c\"", "H"]);
    }
}
