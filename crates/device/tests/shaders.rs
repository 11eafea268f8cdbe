//! Compiles and validates every `.wgsl` file of the tree; needs no GPU.

use std::path::{Path, PathBuf};

/// Reads a shader and, before it, what its `// uses "…"` lines name, each file once.
fn join(file: &Path, seen: &mut Vec<PathBuf>, text: &mut String) -> Result<(), String> {
    let place = file.canonicalize().map_err(|e| format!("{}: {e}", file.display()))?;
    if seen.contains(&place) {
        return Ok(());
    }
    seen.push(place.clone());
    let part = std::fs::read_to_string(&place).map_err(|e| format!("{}: {e}", file.display()))?;
    for needed in part.lines().filter_map(|l| l.strip_prefix("// uses \"")?.strip_suffix('"')) {
        join(&place.parent().expect("files have folders").join(needed), seen, text)?;
    }
    text.push_str(&part);
    Ok(())
}

/// Parses and validates WGSL for what a plain WebGPU device offers.
fn validate(text: &str) -> Result<naga::Module, String> {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    validator.validate(&module).map_err(|e| e.emit_to_string(text))?;
    Ok(module)
}

fn shaders_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the tree can be read") {
        let path = entry.expect("the tree can be read").path();
        if path.is_dir() {
            shaders_under(&path, found);
        } else if path.extension().is_some_and(|e| e == "wgsl") {
            found.push(path);
        }
    }
}

#[test]
fn every_shader_of_the_tree_compiles_and_is_valid() {
    let mut files = vec![];
    shaders_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    files.sort();
    let mut faults = vec![];
    for file in &files {
        let mut text = String::new();
        let checked = join(file, &mut vec![], &mut text).and_then(|()| validate(&text));
        if let Err(fault) = checked {
            faults.push(format!("{}: {fault}", file.display()));
        }
    }
    assert!(faults.is_empty(), "{} of {} shaders fail:\n{}", faults.len(), files.len(), faults.join("\n"));
    assert!(files.iter().any(|f| f.ends_with("tests/scale.wgsl")), "the walk finds no shaders");
}

#[test]
fn a_broken_shader_fails_with_its_line() {
    // An unknown name fails in the parser, a wrong type in the validator.
    let unknown = validate("@compute @workgroup_size(1)\nfn main() { let a = absent + 1; }").unwrap_err();
    assert!(unknown.contains("absent") && unknown.contains("2:"), "{unknown}");
    let write = "@group(0) @binding(0) var<storage, read> a: array<f32>;\n\
                 @compute @workgroup_size(1)\nfn main() { a[0] = 1.0; }";
    assert!(validate(write).unwrap_err().contains("3:"));
    let size = validate("@compute @workgroup_size(0)\nfn main() {}").unwrap_err();
    assert!(!size.is_empty());
}

#[test]
fn a_shader_that_uses_an_absent_file_fails() {
    let folder = std::env::temp_dir().join(format!("fluvial-shaders-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("user.wgsl"), "// uses \"absent.wgsl\"\n").unwrap();
    let fault = join(&folder.join("user.wgsl"), &mut vec![], &mut String::new()).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(fault.contains("absent.wgsl"), "{fault}");
}
