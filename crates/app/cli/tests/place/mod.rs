//! A folder with files in it, and the program at work there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The program that was built along with the tests.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fluvial");

pub struct Place {
    pub dir: tempfile::TempDir,
}

impl Place {
    /// With these files, by name and text.
    pub fn new(files: &[(&str, &str)]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Place { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let own = std::env::var_os("FLUVIAL_BIN").map(PathBuf::from);
        let mut command = Command::new(own.unwrap_or_else(|| PROGRAM.into()));
        command.current_dir(self.dir.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs and checks the exit code; returns what was said on both streams.
    pub fn expect(&self, code: i32, args: &[&str]) -> String {
        let output = self.output(args);
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        // Long lines are broken on the terminal.
        said.replace("\n  │ ", " ").replace("\n        ", " ")
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// The files of a run by name, without what may differ between two runs of one scene.
pub fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            match name.as_str() {
                "checkpoint" | "log.txt" | "report.html" | "run.json" | "manifest.txt" => {}
                "stats.jsonl" => {
                    let text = std::fs::read_to_string(&entry).unwrap();
                    let lines = text.lines().map(|line| {
                        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
                        let map = line.as_object_mut().unwrap();
                        assert!(map.remove("stages_s").is_some() && map.remove("peak_rss_bytes").is_some());
                        line.to_string() + "\n"
                    });
                    found.insert(name, lines.collect::<String>().into_bytes());
                }
                _ if entry.is_dir() => folders.push(entry),
                _ => drop(found.insert(name, std::fs::read(&entry).unwrap())),
            }
        }
    }
    found
}

/// Fails where a run's folder differs from what is expected.
pub fn assert_same(expected: &BTreeMap<String, Vec<u8>>, dir: &Path, what: &str) {
    let found = contents(dir);
    let names = |m: &BTreeMap<String, Vec<u8>>| m.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(&found), "{what}");
    for (name, bytes) in expected {
        assert!(found[name] == *bytes, "{what}: {name} differs");
    }
}
