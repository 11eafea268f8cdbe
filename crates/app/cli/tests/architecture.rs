//! The tree is the diagram: fails on an upward or sideways dependency and on an ARCHITECTURE page that no
//! longer matches the tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Inside `app`, later ones may use earlier ones.
const APP_ORDER: [&str; 7] = ["scene", "output", "preview", "simulation", "fluvial", "live", "cli"];

struct Crate {
    folder: String,
    dependencies: Vec<String>,
}

/// Every crate of the workspace by package name.
fn crates() -> BTreeMap<String, Crate> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        let manifest = folder.join("Cargo.toml");
        if manifest.exists() {
            let text = std::fs::read_to_string(&manifest).unwrap();
            let toml: toml::Table = text.parse().unwrap();
            let dependencies = toml["dependencies"].as_table().unwrap().keys().cloned().collect();
            let relative = folder.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            let name = toml["package"]["name"].as_str().unwrap().to_owned();
            found.insert(name, Crate { folder: relative, dependencies });
        } else {
            folders
                .extend(std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()));
        }
    }
    found
}

/// May `user` depend on `used`? Folders as in `crates/methods/surface`.
fn allowed(user: &str, used: &str) -> bool {
    let split = |folder: &str| -> (usize, String) {
        let mut parts = folder.split('/').skip(1);
        let tier = parts.next().unwrap();
        // Linear algebra and the device stand side by side: neither knows the other.
        let rank = match tier {
            "foundation" => 0,
            "linear" | "device" => 1,
            "grids" => 2,
            "solids" => 3,
            "methods" => 4,
            "solvers" => 5,
            "app" => 6,
            other => panic!("unknown tier {other}"),
        };
        (rank, parts.next().unwrap_or("").to_owned())
    };
    let ((user_tier, user_name), (used_tier, used_name)) = (split(user), split(used));
    if user_tier != used_tier {
        return used_tier < user_tier;
    }
    let app_rank = |name: &str| APP_ORDER.iter().position(|n| *n == name).expect("unknown app crate");
    match user_tier {
        5 => match user_name.as_str() {
            // The registry lists the solvers; the suite compares them; nobody else sees another.
            "registry" => used_name != "conformance",
            "conformance" => true,
            _ => used_name == "interface",
        },
        6 => app_rank(&used_name) < app_rank(&user_name),
        _ => false,
    }
}

#[test]
fn no_crate_depends_upwards_or_sideways() {
    let crates = crates();
    let mut wrong = vec![];
    for user in crates.values() {
        for dependency in &user.dependencies {
            if let Some(used) = crates.get(dependency)
                && !allowed(&user.folder, &used.folder)
            {
                wrong.push(format!("{} must not use {}", user.folder, used.folder));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_rule_itself_refuses_what_it_should() {
    assert!(!allowed("crates/methods/surface", "crates/methods/level_set"));
    assert!(!allowed("crates/grids", "crates/methods/surface"));
    assert!(!allowed("crates/solvers/octree", "crates/solvers/uniform"));
    assert!(!allowed("crates/app/scene", "crates/app/cli"));
    assert!(!allowed("crates/solvers/octree", "crates/solvers/registry"));
    assert!(!allowed("crates/linear", "crates/device"));
    assert!(!allowed("crates/grids", "crates/methods/pressure"));
    assert!(allowed("crates/methods/pressure", "crates/linear"));
    assert!(allowed("crates/methods/mac", "crates/solids"));
    assert!(!allowed("crates/solids", "crates/methods/mac"));
    assert!(allowed("crates/solvers/registry", "crates/solvers/uniform"));
    assert!(allowed("crates/solvers/uniform", "crates/solvers/interface"));
    assert!(allowed("crates/app/cli", "crates/app/scene"));
}

#[test]
fn the_architecture_page_lists_exactly_the_crates_of_the_tree() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut listed: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with('|'))
        .filter_map(|line| line.split('`').nth(1))
        .filter(|name| name.starts_with("crates/"))
        .collect();
    let crates = crates();
    let mut present: Vec<&str> = crates.values().map(|c| c.folder.as_str()).collect();
    listed.sort_unstable();
    present.sort_unstable();
    assert_eq!(listed, present, "ARCHITECTURE.md's table and crates/ disagree");
}

#[test]
fn every_path_that_the_architecture_page_names_exists() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for name in page.split('`').skip(1).step_by(2).filter(|n| n.contains('/') && !n.contains(' ')) {
        assert!(root().join(name).exists(), "ARCHITECTURE.md names {name}, which is gone");
    }
}

/// Whoever names a method would have to hear of the next one: above the solvers, only tests and scenes do.
#[test]
fn no_source_above_the_solvers_names_a_method() {
    let names = fluvial_solver_registry::names();
    let mut folders = vec![root().join("crates/app"), root().join("crates/solvers/interface")];
    let mut wrong = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
            if entry.is_dir() && !["tests", "examples", "benches"].contains(&name.as_str()) {
                folders.push(entry);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = std::fs::read_to_string(&entry).unwrap();
                let product = text.split("\n#[cfg(test)]\n").next().unwrap_or(&text);
                let named = |line: &&str| {
                    names
                        .iter()
                        .any(|n| line.contains(&format!("\"{n}\"")) || line.contains(&format!("\"{n}/")))
                };
                wrong.extend(product.lines().filter(named).map(|l| format!("{}: {l}", entry.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every program that is linked for tests costs as much as a crate; a crate has one, made of modules, and
/// manifests say what cargo need not build. Nothing may be left unrun by that.
#[test]
fn no_test_is_left_out_of_the_test_programs() {
    let mut unrun = vec![];
    for found in crates().values() {
        let folder = root().join(&found.folder);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        unrun.extend(unrun_tests(&folder, &manifest.parse().unwrap()));
    }
    assert!(unrun.is_empty(), "{unrun:#?}");
}

/// Files with tests that cargo would pass by.
fn unrun_tests(folder: &Path, manifest: &toml::Table) -> Vec<String> {
    let lib = |key: &str| manifest.get("lib").and_then(|lib| lib.get(key)?.as_bool()).unwrap_or(true);
    let mut unrun = vec![];
    let mut say = |path: &Path, why: &str| unrun.push(format!("{}: {why}", path.display()));
    for path in sources(&folder.join("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        if !lib("test") && text.contains("#[test]") {
            say(&path, "a test, and the manifest has test = false");
        }
        let fences =
            || text.lines().filter_map(|line| line.trim_start().strip_prefix("//")?.split_once("```"));
        // Every other fence opens.
        if !lib("doctest") && fences().step_by(2).any(|(_, language)| language != "text") {
            say(&path, "an example, and the manifest has doctest = false");
        }
    }
    // Programs: tests/main.rs, and whatever the manifest names besides.
    let tests = folder.join("tests");
    let named = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten();
    let paths = named.map(|t| t.get("path").and_then(toml::Value::as_str).unwrap_or("tests/main.rs"));
    let programs: Vec<PathBuf> = paths.map(|path| folder.join(path)).collect();
    for path in sources(&tests) {
        let parent = path.parent().unwrap();
        let is_mod = path.ends_with("mod.rs");
        let name = if is_mod { parent.file_stem() } else { path.file_stem() }.unwrap().to_str().unwrap();
        let above = if is_mod { parent.parent().unwrap() } else { parent };
        let lists = |owner: PathBuf| {
            std::fs::read_to_string(owner).is_ok_and(|t| t.lines().any(|line| line == format!("mod {name};")))
        };
        if !programs.contains(&path) && !["main.rs", "mod.rs"].iter().any(|owner| lists(above.join(owner))) {
            say(&path, "no main.rs or mod.rs has it as a module");
        }
    }
    unrun
}

#[test]
fn tests_that_are_left_out_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let unrun = |manifest: &str| unrun_tests(dir.path(), &manifest.parse().unwrap()).len();
    let one_program = "[lib]\ndoctest = false\ntest = false\n[[test]]\nname = \"main\"";
    write("src/lib.rs", "//! ```text\n//! a\n//! ```\n");
    write("tests/main.rs", "mod one;\nmod two;\n");
    write("tests/one.rs", "");
    write("tests/two/mod.rs", "mod part;\n");
    write("tests/two/part.rs", "");
    assert_eq!(unrun(one_program), 0);
    write("tests/three.rs", "");
    assert_eq!(unrun(one_program), 1);
    write("src/lib.rs", "//! ```\n//! a();\n//! ```\n#[test]\nfn t() {}\n");
    assert_eq!(unrun(one_program), 3);
    assert_eq!(unrun("[[test]]\nname = \"main\""), 1);
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
