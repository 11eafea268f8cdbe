//! Paper tables of READMEs: tables whose first column is headed "paper". All columns but the first name in
//! backticks what implements and verifies a row: paths (`module::{one, two}`, `Type::method`) and files
//! (`step.rs`).
//!
//! A name must be defined in the sources or tests of the README's crate or of a crate that the row names
//! (`fluvial_grids`); a mention in a comment or a call is not enough.

use super::{files, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The rows of all paper tables, without heads and rules.
pub fn paper_rows(page: &str) -> Vec<String> {
    let mut rows = vec![];
    let mut inside = false;
    for line in page.lines() {
        let first = line.strip_prefix('|').map(|rest| rest.split('|').next().unwrap().trim());
        match first {
            Some("paper") => inside = true,
            Some(cell) if inside && !cell.starts_with("--") => rows.push(line.to_owned()),
            Some(_) => {}
            None => inside = false,
        }
    }
    rows
}

/// What is defined where.
pub struct Sources {
    root: PathBuf,
    /// By the crate's name in code, as `fluvial_grids`: its folder and all names that it defines.
    crates: BTreeMap<String, (PathBuf, BTreeSet<String>)>,
}

impl Sources {
    pub fn load(root: &Path) -> Sources {
        let mut crates = BTreeMap::new();
        for manifest in files(&root.join("crates"), &["Cargo.toml"]) {
            let toml: toml::Table = read(&manifest).parse().unwrap();
            let name = toml["package"]["name"].as_str().unwrap().replace('-', "_");
            let folder = manifest.parent().unwrap().to_owned();
            // Tests verify rows; files with a path attribute are tests' too.
            let sources = ["src", "tests"].map(|part| files(&folder.join(part), &[".rs"])).concat();
            let names = sources.iter().flat_map(|path| definitions(&read(path))).collect();
            crates.insert(name, (folder, names));
        }
        Sources { root: root.to_owned(), crates }
    }

    /// What a row of the table in a crate's folder names and nobody has.
    pub fn mistakes(&self, folder: &Path, row: &str) -> Vec<String> {
        let cells = row.trim_matches('|').split_once('|').map_or("", |(_, rest)| rest);
        let spans: Vec<&str> = cells.split('`').skip(1).step_by(2).collect();
        let named = |name: &str| self.crates.get(&name.replace('-', "_"));
        let words = || cells.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        let mut places: Vec<_> = words().filter_map(named).collect();
        places.extend(self.crates.values().find(|(own, _)| own == folder));
        let mut wrong = vec![];
        if spans.is_empty() {
            wrong.push("names nothing in backticks".to_owned());
        }
        for span in spans {
            if span.ends_with(".rs") || span.ends_with(".wgsl") {
                let mut folders = vec![self.root.join("crates")];
                folders
                    .extend(places.iter().flat_map(|(at, _)| [at.clone(), at.join("src"), at.join("tests")]));
                if !folders.iter().any(|at| at.join(span).exists()) {
                    wrong.push(format!("no file {span}"));
                }
                continue;
            }
            for name in names(span) {
                let known =
                    named(&name).is_some() || places.iter().any(|(_, defined)| defined.contains(&name));
                if !known {
                    wrong.push(format!("nothing called {name:?} is defined (`{span}`)"));
                }
            }
        }
        wrong
    }
}

/// The names in a path such as `module::{one, two}`; what is no path is one name, which nobody has.
fn names(span: &str) -> Vec<String> {
    let braced = span.matches('{').count() == 1 && span.ends_with('}');
    let flat = if braced {
        span.trim_end_matches('}').replace("::{", "::").replace(", ", "::")
    } else {
        span.into()
    };
    flat.split("::").map(str::to_owned).collect()
}

/// Names that a source file defines: items, fields and variants. Comments and strings define nothing.
fn definitions(text: &str) -> BTreeSet<String> {
    const ITEMS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "mod", "const", "static", "type"];
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap();
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
        // Items: the word after their kind. What stands in a string is behind a quote.
        let mut before_quote = code.split('"').next().unwrap().split_whitespace();
        while let Some(word) = before_quote.next() {
            if ITEMS.contains(&word)
                && let Some(next) = before_quote.clone().next()
            {
                found
                    .extend(next.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned));
            }
        }
        // Fields and variants begin their line: `name: Type,`, `Name,`, `Name {`, `Name(Type),`.
        let start = code.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        if let Some(first) = words.find(|w| !["pub", "crate"].contains(w))
            && let Some(rest) = start.strip_prefix(first)
        {
            let variant = first.starts_with(char::is_uppercase)
                && (matches!(rest, "," | " {") || rest.starts_with('(') && rest.ends_with("),"));
            let field = rest.starts_with(": ") && rest.ends_with(',');
            if variant || field {
                found.insert(first.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        //! gone::away, fn commented_out() {}
        pub(crate) fn spread<T>(a: &mut [T]) { let text = \"fn quoted()\"; called(text) }
        pub mod sizing {
        pub enum FreeSurface {
            Naive,
            Sharp(f32),
        }
        pub struct Params {
            pub relative_tolerance: f64,
        }
    ";

    fn sources() -> Sources {
        let names = definitions(SOURCE);
        let own = (PathBuf::from("/own"), names);
        let other = (PathBuf::from("/other"), BTreeSet::from(["Octree".to_owned()]));
        let crates = [("fluvial_own".to_owned(), own), ("fluvial_grids".to_owned(), other)];
        Sources {
            root: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."),
            crates: BTreeMap::from(crates),
        }
    }

    fn passes(row: &str) -> bool {
        sources().mistakes(Path::new("/own"), row).is_empty()
    }

    #[test]
    fn what_is_defined_passes() {
        for row in [
            "| §6.2, `max(W, 0)` | `sizing::spread` | |",
            "| §6.2 | `FreeSurface::Naive`, `FreeSurface::Sharp` | |",
            "| §6.2 | `sizing::{spread, FreeSurface}`, `Params::relative_tolerance` | |",
            "| §6.3 | `fluvial_grids::Octree` | |",
            "| §6.3 | `Octree` of `fluvial-grids` | `app/cli/tests/traceability/tables.rs` |",
        ] {
            assert!(passes(row), "{row}: {:?}", sources().mistakes(Path::new("/own"), row));
        }
    }

    #[test]
    fn what_is_missing_fails() {
        for row in [
            "| §6.2 | nothing | |",
            "| `spread` | | |",
            "| §6.2 | `sizing::spred` | |",
            "| §6.2 | `gone::spread` | |",
            "| §6.2 | `away` | |",
            "| §6.2 | `commented_out` | |",
            "| §6.2 | `quoted` | |",
            "| §6.2 | `called` | |",
            "| §6.2 | `text` | |",
            "| §6.2 | `spread(a)` | |",
            "| §6.2 | `sizing::{spread, gone}` | |",
            "| §6.3 | `Octree` | |",
            "| §6.3 | `fluvial_gone::spread` | |",
            "| §6.3 | `spread` | `gone.rs` |",
        ] {
            assert!(!passes(row), "{row}");
        }
    }

    #[test]
    fn rows_are_those_of_paper_tables_only() {
        let page = "| a | b |\n|---|---|\n| 1 | `x` |\n\n| paper | here |\n|---|---|\n| §1 | `y` |\n| §2 | z |\n\n| §3 | w |";
        assert_eq!(paper_rows(page), ["| §1 | `y` |", "| §2 | z |"]);
    }
}
