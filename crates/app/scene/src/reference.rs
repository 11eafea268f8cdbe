//! The scene reference, written from the schema.

use crate::conform::{description, method_schema, resolve, string_choices, type_of};
use serde_json::Value as Json;
use std::fmt::Write;

const INTRODUCTION: &str = "# Scene reference

<!-- Made from the schema; `FLUVIAL_UPDATE_DOCS=1 cargo test -p fluvial-scene` writes it anew. -->

A scene is a TOML 1.1 file. Units are SI, Y is up. Keys without a default must be given. `fluvial schema` prints
the same as a JSON schema, `fluvial check SCENE` tells what is wrong with a scene, and
`--set path=value` changes any key from the command line: `--set time.frames=10`, `--set domain.resolution=128`,
`--set \"solid[0].shape.sphere.radius=0.2\"`.
";

/// `docs/scene-reference.md`.
pub fn reference_markdown() -> String {
    let root = crate::schema();
    let mut out = INTRODUCTION.to_string();
    let properties = root["properties"].as_object().cloned().unwrap_or_default();
    out += "\n## The file\n\n";
    table(&mut out, &root, &root);
    for (key, schema) in &properties {
        let target = resolve(&root, schema);
        if key == "method" {
            methods(&mut out, &root, schema, target);
            continue;
        }
        let (title, body) = match type_of(target) {
            "object" => (format!("[{key}]"), target),
            "array" => (format!("[[{key}]]"), resolve(&root, &target["items"])),
            _ => continue,
        };
        let _ = write!(out, "\n## `{title}`\n\n{}\n\n", description(&root, schema));
        table(&mut out, &root, body);
        choices(&mut out, &root, body);
    }
    for (title, name) in [
        ("Walls", "Walls"),
        ("Contact angles", "ContactAngles"),
        ("Friction", "Friction"),
        ("Camera", "CameraSpec"),
        ("Motion", "MotionSpec"),
        ("Key frames", "KeySpec"),
        ("Joints", "JointSpec"),
    ] {
        let schema = &root["$defs"][name];
        let _ = write!(out, "\n## {title}\n\n{}\n\n", description(&root, schema));
        table(&mut out, &root, schema);
        choices(&mut out, &root, schema);
    }
    shapes(&mut out, &root);
    out
}

fn methods(out: &mut String, root: &Json, schema: &Json, target: &Json) {
    let _ =
        write!(out, "\n## `[method]`\n\n{} Each method has keys of its own.\n", description(root, schema));
    for name in fluvial_solver_registry::names() {
        let body = method_schema(target, name);
        let _ = write!(out, "\n### `name = \"{name}\"`\n\n{}\n\n", description(root, body));
        table(out, root, body);
        choices(out, root, body);
    }
}

fn shapes(out: &mut String, root: &Json) {
    let schema = &root["$defs"]["ShapeSpec"];
    let _ = write!(out, "\n## Shapes\n\n{}\n", description(root, schema));
    for variant in schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let Some((name, inner)) = variant["properties"].as_object().and_then(|p| p.iter().next()) else {
            continue;
        };
        let _ = write!(out, "\n### `{name}`\n\n{}\n", description(root, variant));
        let target = resolve(root, inner);
        if type_of(target) == "object" {
            out.push('\n');
            table(out, root, target);
        } else {
            let _ = write!(out, "\n`{name} = [ {{ ... }}, {{ ... }} ]`: {}.\n", type_name(root, inner));
        }
    }
}

fn table(out: &mut String, root: &Json, schema: &Json) {
    *out += "| key | type | default | |\n|---|---|---|---|\n";
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let default = if required.iter().any(|r| r == key) {
            "**required**".to_string()
        } else {
            default_text(root, property)
        };
        let text = description(root, property);
        let limits = limits(root, property);
        let _ = writeln!(out, "| `{key}` | {} | {default} | {text}{limits} |", type_name(root, property));
    }
}

/// The meaning of every word of the table's choices; once for all keys that have the same ones.
fn choices(out: &mut String, root: &Json, schema: &Json) {
    let properties = || schema["properties"].as_object().into_iter().flatten();
    for (n, (_, property)) in properties().enumerate() {
        let is_same = |other: &Json| resolve(root, other) == resolve(root, property);
        if properties().take(n).any(|(_, before)| is_same(before)) {
            continue;
        }
        let variants = resolve(root, property)["oneOf"].as_array().cloned().unwrap_or_default();
        let explained =
            variants.iter().filter_map(|v| Some((v["const"].as_str()?, v["description"].as_str()?)));
        let lines: Vec<String> = explained.map(|(word, text)| format!("- `\"{word}\"`: {text}\n")).collect();
        if !lines.is_empty() {
            let keys = properties().filter(|(_, other)| is_same(other)).map(|(key, _)| format!("`{key}`"));
            let _ = write!(out, "\n{}:\n\n{}", keys.collect::<Vec<_>>().join(", "), lines.concat());
        }
    }
}

fn default_text(root: &Json, property: &Json) -> String {
    let is_table = type_of(resolve(root, property)) == "object";
    match &property["default"] {
        Json::Null => "none".into(),
        Json::Array(items) if items.is_empty() => "none".into(),
        Json::Object(_) => "its defaults".into(),
        _ if is_table => "its defaults".into(),
        Json::Number(n) => {
            format!("{}", n.as_f64().map_or(f64::NAN, |v| (v as f32).to_string().parse().unwrap_or(v)))
        }
        Json::Array(items) => {
            let numbers = items.iter().map(|v| v.as_f64().map_or(v.to_string(), |f| (f as f32).to_string()));
            format!("[{}]", numbers.collect::<Vec<_>>().join(", "))
        }
        other => format!("`{other}`"),
    }
}

fn type_name(root: &Json, property: &Json) -> String {
    let schema = resolve(root, property);
    if let Some(words) = string_choices(schema) {
        return words.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(" or ");
    }
    if schema["oneOf"][0]["properties"]["name"].is_object() {
        return "table".into();
    }
    if schema["oneOf"].is_array() {
        return "[shape](#shapes)".into();
    }
    match type_of(schema) {
        "integer" => "whole number".into(),
        "array" => {
            let item = type_name(root, &schema["items"]);
            match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
                (Some(a), Some(b)) if a == b => format!("{a} {}", plural(&item)),
                (Some(a), Some(b)) => format!("{a} to {b} {}", plural(&item)),
                (Some(a), None) => format!("list of at least {a}: {item}"),
                _ => format!("list: {item}"),
            }
        }
        "object" => "table".into(),
        "boolean" => "true or false".into(),
        other => other.into(),
    }
}

fn plural(item: &str) -> String {
    format!("{item}s")
}

fn limits(root: &Json, property: &Json) -> String {
    let resolved = resolve(root, property);
    let bound = |key: &str| property[key].as_f64().or(resolved[key].as_f64());
    let low = bound("exclusiveMinimum").map(|v| format!("> {v}"));
    let low = low.or(bound("minimum").filter(|&v| v != 0.0).map(|v| format!(">= {v}")));
    let high = bound("exclusiveMaximum").map(|v| format!("< {v}"));
    let high = high.or(bound("maximum").map(|v| format!("<= {v}")));
    let parts: Vec<String> = low.into_iter().chain(high).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}
