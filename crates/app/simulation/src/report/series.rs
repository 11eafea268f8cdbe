//! What a run's streams hold, as curves.

use crate::cache::{PROBES, STATS};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Points that a curve keeps: more than a plot has pixels would only fill the page.
const MOST_POINTS: usize = 1000;

/// The lines of `stats.jsonl`, of which the last may still be short.
pub struct Steps {
    lines: Vec<Value>,
}

impl Steps {
    pub fn read(dir: &Path) -> Steps {
        let text = std::fs::read_to_string(dir.join(STATS)).unwrap_or_default();
        Steps { lines: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() }
    }

    /// The lines of steps: without the initial state.
    fn taken(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(|l| l["step"].as_u64() > Some(0))
    }

    pub fn last(&self, pointer: &str) -> Option<f64> {
        self.lines.last()?.pointer(pointer)?.as_f64()
    }

    pub fn mean(&self, pointer: &str) -> Option<f64> {
        let values: Vec<f64> = self.taken().filter_map(|l| l.pointer(pointer)?.as_f64()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// A quantity over time; the first line, where nothing has been solved yet, on request.
    pub fn curve(&self, pointer: &str, with_start: bool) -> Vec<[f64; 2]> {
        self.curve_of(with_start, |line| line.pointer(pointer)?.as_f64())
    }

    pub fn curve_of(&self, with_start: bool, value: impl Fn(&Value) -> Option<f64>) -> Vec<[f64; 2]> {
        let lines = self.lines.iter().filter(|l| with_start || l["step"].as_u64() > Some(0));
        thinned(lines.filter_map(|l| Some([l["time_s"].as_f64()?, value(l)?])).collect())
    }

    /// Steps by what limited them, most frequent first.
    pub fn limiters(&self) -> Vec<(String, usize)> {
        let mut counts = BTreeMap::new();
        for name in self.taken().filter_map(|l| l["dt_limiter"].as_str()) {
            *counts.entry(name.to_owned()).or_insert(0) += 1;
        }
        let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        counts
    }

    /// Clamps summed over the run.
    pub fn clamps(&self) -> Vec<(String, u64)> {
        let mut sums: Vec<(String, u64)> = vec![];
        for (name, count) in self.lines.iter().filter_map(|l| l["clamps"].as_object()).flatten() {
            let count = count.as_u64().unwrap_or(0);
            match sums.iter_mut().find(|(n, _)| n == name) {
                Some((_, sum)) => *sum += count,
                None => sums.push((name.clone(), count)),
            }
        }
        sums
    }
}

/// The columns of `probes.csv`: name and curve.
pub fn read_probes(dir: &Path) -> Vec<(String, Vec<[f64; 2]>)> {
    let text = std::fs::read_to_string(dir.join(PROBES)).unwrap_or_default();
    let mut lines = text.lines();
    let names: Vec<String> = split(lines.next().unwrap_or("")).into_iter().skip(1).collect();
    let mut curves = vec![vec![]; names.len()];
    for line in lines {
        let numbers: Vec<f64> = line.split(',').map_while(|n| n.parse().ok()).collect();
        if numbers.len() == names.len() + 1 {
            for (curve, value) in curves.iter_mut().zip(&numbers[1..]) {
                curve.push([numbers[0], *value]);
            }
        }
    }
    names.into_iter().zip(curves.into_iter().map(thinned)).collect()
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
    fn quoted_names_are_one_column() {
        assert_eq!(split("time_s,\"a,b \"\"c\"\"\",H"), ["time_s", "a,b \"c\"", "H"]);
    }
}
