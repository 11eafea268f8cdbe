//! From a paper to the code and back: every citation in a comment has its entry in `references.bib`, and
//! every function that a README's paper table names exists.

mod tables;
mod tags;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below a folder whose names end so, in order of their names.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| path.to_str().unwrap().ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_citation_has_its_entry_and_the_one_form() {
    let bibliography = tags::Bibliography::parse(&read(&root().join("references.bib"))).unwrap();
    let mut wrong = vec![];
    let mut cited = 0;
    for path in files(&root().join("crates"), &[".rs", ".wgsl", ".md"]) {
        // The checker's own tests are full of mistakes.
        if path.ends_with("tests/traceability/tags.rs") {
            continue;
        }
        let text = read(&path);
        let prose = if path.extension().unwrap() == "md" { vec![(1, text)] } else { tags::comments(&text) };
        for (line, comment) in prose {
            let found = tags::check(&comment, &bibliography);
            cited += found.len();
            let mistakes = found.into_iter().filter_map(Result::err);
            wrong.extend(mistakes.map(|mistake| format!("{}, from line {line}: {mistake}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cited > 100, "only {cited} citations found: the search is broken");
}

#[test]
fn every_row_of_a_paper_table_names_what_exists() {
    let sources = tables::Sources::load(&root());
    let mut wrong = vec![];
    let mut rows = 0;
    for readme in files(&root().join("crates"), &["README.md"]) {
        let folder = readme.parent().unwrap();
        for row in tables::paper_rows(&read(&readme)) {
            rows += 1;
            let mistakes = sources.mistakes(folder, &row);
            wrong.extend(mistakes.iter().map(|mistake| format!("{}: {row}: {mistake}", readme.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(rows > 30, "only {rows} rows found: the search is broken");
}

/// A crate of numerics that cites papers says in its README what is where.
#[test]
fn every_methods_crate_that_cites_has_a_paper_table() {
    let bibliography = tags::Bibliography::parse(&read(&root().join("references.bib"))).unwrap();
    let mut wrong = vec![];
    for manifest in files(&root().join("crates/methods"), &["Cargo.toml"]) {
        let folder = manifest.parent().unwrap();
        let cites = |path: &PathBuf| {
            tags::comments(&read(path))
                .iter()
                .any(|(_, comment)| !tags::check(comment, &bibliography).is_empty())
        };
        let readme = folder.join("README.md");
        let has_table = readme.exists() && !tables::paper_rows(&read(&readme)).is_empty();
        if files(&folder.join("src"), &[".rs"]).iter().any(cites) && !has_table {
            wrong.push(folder.to_owned());
        }
    }
    assert!(wrong.is_empty(), "papers are cited, no README with a table | paper | here |: {wrong:#?}");
}
