//! `probes.csv`: what gauges read after every step.

use fluvial_output::{FileMark, LineStream, OutputError};
use fluvial_scene::{Probe, ProbeKind};
use fluvial_solver_interface::Solver;
use std::fmt::Write;
use std::path::Path;

/// What a gauge reads now.
pub fn read(probe: &Probe, solver: &dyn Solver) -> f64 {
    match &probe.kind {
        ProbeKind::Height { x, z } => solver.height_at(*x, *z),
        ProbeKind::Pressure { at } => solver.pressure_at(*at),
        ProbeKind::Volume { shape } => solver.volume_in(shape),
    }
}

/// The open `probes.csv`.
pub struct ProbeTable {
    stream: LineStream,
    probes: Vec<Probe>,
    row: String,
}

impl ProbeTable {
    /// Starts the table: `time_s` and one column per probe.
    pub fn create(path: &Path, probes: Vec<Probe>) -> Result<Self, OutputError> {
        let mut stream = LineStream::create(path)?;
        let header = probes.iter().fold("time_s".to_owned(), |line, p| line + "," + &quoted(&p.name));
        stream.write_line(&header)?;
        Ok(ProbeTable { stream, probes, row: String::new() })
    }

    /// Goes on after a place that [`Self::mark`] told.
    pub fn reopen(path: &Path, probes: Vec<Probe>, mark: FileMark) -> Result<Self, OutputError> {
        Ok(ProbeTable { stream: LineStream::reopen(path, mark)?, probes, row: String::new() })
    }

    /// Length and checksum of the table so far.
    pub fn mark(&self) -> FileMark {
        self.stream.mark()
    }

    /// Adds a row. Numbers are printed so that they read back to the same bits.
    pub fn record(&mut self, time_s: f64, solver: &dyn Solver) -> Result<(), OutputError> {
        self.row.clear();
        let _ = write!(self.row, "{time_s}");
        for probe in &self.probes {
            let _ = write!(self.row, ",{}", read(probe, solver));
        }
        self.stream.write_line(&self.row)
    }

    /// Makes the rows durable.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.stream.sync()
    }
}

/// A CSV field (RFC 4180); line breaks in a name become spaces.
fn quoted(name: &str) -> String {
    let name = name.replace(['\n', '\r'], " ");
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_stay_one_column() {
        assert_eq!(quoted("H1"), "H1");
        assert_eq!(quoted("a,b \"c\"\n"), "\"a,b \"\"c\"\" \"");
    }
}
