//! `probes.csv`: what gauges read after every step.

use fluvial_foundation::Vec3;
use fluvial_output::{LineStream, OutputError};
use fluvial_solids::Shape;
use fluvial_solver_interface::Solver;
use std::fmt::Write;
use std::path::Path;

/// A gauge.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its column.
    pub name: String,
    /// What it measures.
    pub kind: ProbeKind,
}

/// What a gauge measures.
#[derive(Clone, Debug)]
pub enum ProbeKind {
    /// Height of the highest liquid above the domain floor on a vertical, metres.
    Height {
        /// Metres.
        x: f32,
        /// Metres.
        z: f32,
    },
    /// Pressure at a point, Pa.
    Pressure {
        /// Metres.
        at: Vec3,
    },
    /// Liquid volume inside a shape, m3.
    Volume {
        /// In world space.
        shape: Shape,
    },
}

impl Probe {
    /// What it reads now.
    pub fn read(&self, solver: &dyn Solver) -> f64 {
        match &self.kind {
            ProbeKind::Height { x, z } => solver.height_at(*x, *z),
            ProbeKind::Pressure { at } => solver.pressure_at(*at),
            ProbeKind::Volume { shape } => solver.volume_in(shape),
        }
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

    /// Adds a row. Numbers are printed so that they read back to the same bits.
    pub fn record(&mut self, time_s: f64, solver: &dyn Solver) -> Result<(), OutputError> {
        self.row.clear();
        let _ = write!(self.row, "{time_s}");
        for probe in &self.probes {
            let _ = write!(self.row, ",{}", probe.read(solver));
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
