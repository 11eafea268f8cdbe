//! Files that grow by a line per step: `stats.jsonl` and `probes.csv`.

use crate::OutputError;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A text file that gains whole lines. Each line is handed to the system in one write, so that a run that is
/// killed leaves at most the last line short, and readers may follow the file while the run goes on.
#[derive(Debug)]
pub struct LineStream {
    file: File,
    path: PathBuf,
    line: Vec<u8>,
}

impl LineStream {
    /// Starts the file anew.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let file = File::create(path).map_err(|e| OutputError::new("create", path, e))?;
        Ok(LineStream { file, path: path.to_owned(), line: Vec::new() })
    }

    /// Appends one line (without its line break).
    pub fn write_line(&mut self, line: &str) -> Result<(), OutputError> {
        debug_assert!(!line.contains('\n'));
        self.line.clear();
        self.line.extend_from_slice(line.as_bytes());
        self.line.push(b'\n');
        self.file.write_all(&self.line).map_err(|e| OutputError::new("write", &self.path, e))
    }

    /// Appends one value as a line of JSON.
    pub fn write_json(&mut self, value: &impl serde::Serialize) -> Result<(), OutputError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(|e| OutputError::new("write", &self.path, e.into()))?;
        self.line.push(b'\n');
        self.file.write_all(&self.line).map_err(|e| OutputError::new("write", &self.path, e))
    }

    /// Makes everything written so far durable.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.file.sync_all().map_err(|e| OutputError::new("write", &self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_read_while_the_file_grows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let mut stream = LineStream::create(&path).unwrap();
        stream.write_line("time_s,H1").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "time_s,H1\n");
        stream.write_json(&[1.5, 2.0]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "time_s,H1\n[1.5,2.0]\n");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_reported_at_the_line_that_did_not_fit() {
        let mut stream = LineStream {
            file: File::options().write(true).open("/dev/full").unwrap(),
            path: "stats.jsonl".into(),
            line: vec![],
        };
        let error = stream.write_line("{}").unwrap_err();
        assert!(error.to_string().starts_with("could not write stats.jsonl"), "{error}");
    }
}
