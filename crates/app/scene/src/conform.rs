//! Checks a scene's tree against the schema: known keys, types, ranges. The same schema makes the reference,
//! so that what is documented is what is accepted.

use crate::error::{SceneError, help_for_unknown};
use crate::tree::{Entry, Node, Place, Sources, Value};
use serde_json::Value as Json;

/// The first way in which the tree breaks the schema.
pub(crate) fn check(tree: &Node, schema: &Json, sources: &Sources) -> Result<(), SceneError> {
    let checker = Checker { root: schema, sources };
    if let Some(version) = tree.get("fluvial")
        && !matches!(version.value, Value::Integer(1))
    {
        let help = "this program reads format version 1: write `fluvial = 1`";
        return Err(sources.error(&version.place, "unknown format version", help));
    }
    if let Some(name) = tree.get("method").and_then(|m| m.get("name")) {
        checker.method_name(name)?;
    }
    checker.node(tree, schema, "")
}

struct Checker<'a> {
    root: &'a Json,
    sources: &'a Sources,
}

impl<'a> Checker<'a> {
    fn fail(&self, place: &Place, message: impl Into<String>, help: impl Into<String>) -> SceneError {
        self.sources.error(place, message, help)
    }

    fn method_name(&self, name: &Node) -> Result<(), SceneError> {
        let known = fluvial_solver_registry::names();
        match name.as_str() {
            Some(n) if known.contains(&n) => Ok(()),
            Some(n) => {
                let message = format!("there is no method `{n}`");
                Err(self.fail(&name.place, message, help_for_unknown(n, &known)))
            }
            None => Err(self.fail(
                &name.place,
                format!("expected a method's name, found {}", name.kind()),
                format!("write name = \"{}\"", known[0]),
            )),
        }
    }

    /// Follows `$ref` and the non-null branch of an optional value.
    fn resolve(&self, schema: &'a Json) -> &'a Json {
        resolve(self.root, schema)
    }

    fn node(&self, node: &Node, schema: &'a Json, path: &str) -> Result<(), SceneError> {
        let mut resolved = self.resolve(schema);
        if path == "method" {
            let name =
                node.get("name").and_then(Node::as_str).unwrap_or(fluvial_solver_registry::default_name());
            resolved = method_schema(resolved, name);
        }
        if let Some(words) = string_choices(resolved) {
            return self.choice(node, &words);
        }
        if let Some(variants) = resolved["oneOf"].as_array() {
            return self.variant(node, variants, path);
        }
        match type_of(resolved) {
            "object" => self.table(node, resolved, path),
            "array" => self.list(node, resolved, path),
            "number" | "integer" => self.number(node, resolved, schema, path),
            "string" if node.as_str().is_some() => Ok(()),
            "boolean" if matches!(node.value, Value::Boolean(_)) => Ok(()),
            wanted => Err(self.wrong_type(
                node,
                if wanted == "string" { "a string" } else { "true or false" },
                path,
            )),
        }
    }

    fn wrong_type(&self, node: &Node, wanted: &str, path: &str) -> SceneError {
        let example = match wanted {
            "a string" => "put the text in quotes: \"...\"",
            "true or false" => "write true or false, without quotes",
            "a table" => "write { key = value, ... } or a [table] of its own",
            "a list" => "write [a, b, c]",
            _ => "write a plain number such as 3 or 0.5, without quotes",
        };
        let name = path.rsplit('.').find(|p| p.parse::<usize>().is_err()).unwrap_or("the scene");
        self.fail(&node.place, format!("`{name}` wants {wanted}, found {}", node.kind()), example)
    }

    fn choice(&self, node: &Node, words: &[&str]) -> Result<(), SceneError> {
        match node.as_str() {
            Some(word) if words.contains(&word) => Ok(()),
            Some(word) => Err(self.fail(
                &node.place,
                format!("`{word}` is not a choice here"),
                help_for_unknown(word, words),
            )),
            None => {
                let help = format!("choose one of \"{}\"", words.join("\", \""));
                Err(self.fail(&node.place, format!("expected a word, found {}", node.kind()), help))
            }
        }
    }

    /// A table with exactly one key that names what it is, as shapes are.
    fn variant(&self, node: &Node, variants: &'a [Json], path: &str) -> Result<(), SceneError> {
        let property = |v: &'a Json| v["properties"].as_object().and_then(|p| p.iter().next());
        let names: Vec<&str> = variants.iter().filter_map(property).map(|(n, _)| n.as_str()).collect();
        let all = format!("choose one of `{}`", names.join("`, `"));
        let Value::Table(entries) = &node.value else {
            return Err(self.fail(
                &node.place,
                format!("expected a shape in {{ }}, found {}", node.kind()),
                all,
            ));
        };
        if let Some(unknown) = entries.iter().find(|e| !names.contains(&e.key.as_str())) {
            let message = format!("there is no `{}` here", unknown.key);
            return Err(self.fail(&unknown.key_place, message, help_for_unknown(&unknown.key, &names)));
        }
        match entries.as_slice() {
            [] => Err(self.fail(&node.place, "the table is empty", all)),
            [one] => {
                let schema =
                    variants.iter().filter_map(property).find(|(n, _)| **n == one.key).map(|(_, s)| s);
                let schema = schema.expect("the key is among the names");
                self.node(&one.node, schema, &join(path, &one.key))
            }
            [first, second, ..] => {
                let message = format!("`{}` and `{}` exclude each other", first.key, second.key);
                Err(self.fail(
                    &second.key_place,
                    message,
                    "combine shapes with `union`, `intersection` or `difference`",
                ))
            }
        }
    }

    fn table(&self, node: &Node, schema: &'a Json, path: &str) -> Result<(), SceneError> {
        let Value::Table(entries) = &node.value else { return Err(self.wrong_type(node, "a table", path)) };
        let no_properties = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&no_properties);
        for entry in entries {
            self.known_key(entry, properties)?;
        }
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let Some(missing) = required.iter().filter_map(Json::as_str).find(|k| node.get(k).is_none()) {
            let description = properties.get(missing).map(|s| description(self.root, s)).unwrap_or_default();
            let example = if missing == "fluvial" { "start the file with `fluvial = 1`" } else { "add it" };
            let what =
                if path.is_empty() { "the scene".to_string() } else { format!("`{}`", as_in_set(path)) };
            let message = format!("{what} lacks `{missing}`");
            return Err(self.fail(&node.place, message, format!("{example}: {description}")));
        }
        for entry in entries {
            self.node(&entry.node, &schema["properties"][&entry.key], &join(path, &entry.key))?;
        }
        Ok(())
    }

    fn known_key(&self, entry: &Entry, known: &serde_json::Map<String, Json>) -> Result<(), SceneError> {
        if known.contains_key(&entry.key) {
            return Ok(());
        }
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let message = format!("unknown key `{}`", entry.key);
        if entry.key.contains("viscosity") {
            let help = "liquids have no viscosity here: remove it. Walls and solids that slow liquid down have `friction`";
            return Err(self.fail(&entry.key_place, message, help));
        }
        Err(self.fail(&entry.key_place, message, help_for_unknown(&entry.key, &names)))
    }

    fn list(&self, node: &Node, schema: &'a Json, path: &str) -> Result<(), SceneError> {
        let Value::Array(items) = &node.value else {
            let is_tables = type_of(self.resolve(&schema["items"])) == "object" && !path.contains('.');
            if is_tables && matches!(node.value, Value::Table(_)) {
                let help = format!("write it with two brackets: [[{path}]]");
                return Err(self.fail(&node.place, format!("`{path}` is a list of tables"), help));
            }
            return Err(self.wrong_type(node, "a list", path));
        };
        let limit = |key: &str| schema[key].as_u64().map(|n| n as usize);
        let (least, most) = (limit("minItems").unwrap_or(0), limit("maxItems").unwrap_or(usize::MAX));
        if items.len() < least || items.len() > most {
            let wanted = match (least, most) {
                (a, b) if a == b => format!("{a} values"),
                (a, usize::MAX) => format!("at least {a} values"),
                (a, b) => format!("{a} to {b} values"),
            };
            let message = format!("expected {wanted}, found {}", items.len());
            return Err(self.fail(&node.place, message, format!("give {wanted}, separated by commas")));
        }
        for (n, item) in items.iter().enumerate() {
            self.node(item, &schema["items"], &join(path, &n.to_string()))?;
        }
        Ok(())
    }

    fn number(&self, node: &Node, resolved: &Json, outer: &Json, path: &str) -> Result<(), SceneError> {
        let whole = type_of(resolved) == "integer";
        let value = match &node.value {
            Value::Integer(i) => *i as f64,
            Value::Float(f) if !whole => *f,
            Value::TooLarge => {
                return Err(self.fail(&node.place, "the number is too large", "give a smaller number"));
            }
            _ => return Err(self.wrong_type(node, if whole { "a whole number" } else { "a number" }, path)),
        };
        let single = resolved["format"].as_str() == Some("float");
        if !value.is_finite() || (single && !(value as f32).is_finite()) {
            return Err(self.fail(
                &node.place,
                "the number is not finite",
                "give an ordinary number; nan, inf and values beyond 1e38 mean nothing here",
            ));
        }
        let bound = |key: &str| outer[key].as_f64().or(resolved[key].as_f64());
        let largest =
            bound("maximum").or((resolved["format"].as_str() == Some("uint32")).then_some(u32::MAX as f64));
        let help = if let Some(low) = bound("exclusiveMinimum").filter(|&low| value <= low) {
            format!("give a number greater than {low}")
        } else if let Some(low) = bound("minimum").filter(|&low| value < low) {
            format!("give a number of at least {low}")
        } else if let Some(high) = largest.filter(|&high| value > high) {
            format!("give a number of at most {high}")
        } else if let Some(high) = bound("exclusiveMaximum").filter(|&high| value >= high) {
            format!("give a number less than {high}")
        } else {
            return Ok(());
        };
        let name = path.rsplit('.').find(|p| p.parse::<usize>().is_err()).unwrap_or("number");
        Err(self.fail(&node.place, format!("`{name}` = {value} is out of range"), help))
    }
}

/// The schema of one method's table.
pub(crate) fn method_schema<'a>(schema: &'a Json, name: &str) -> &'a Json {
    let variants = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    variants.iter().find(|v| v["properties"]["name"]["enum"][0] == name).unwrap_or(schema)
}

/// A dotted path with the numbers of entries as `--set` takes them: `solid[0].shape`.
fn as_in_set(path: &str) -> String {
    let mut out = String::new();
    for key in path.split('.') {
        match key.parse::<usize>() {
            Ok(n) => out += &format!("[{n}]"),
            Err(_) if out.is_empty() => out += key,
            Err(_) => out += &format!(".{key}"),
        }
    }
    out
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// The schema behind `$ref`s and optional values.
pub(crate) fn resolve<'a>(root: &'a Json, mut schema: &'a Json) -> &'a Json {
    loop {
        if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
            schema = &root["$defs"][name];
        } else if let Some(some) =
            schema["anyOf"].as_array().and_then(|a| a.iter().find(|s| s["type"] != "null"))
        {
            schema = some;
        } else {
            return schema;
        }
    }
}

/// The type's name; of `[type, "null"]` the first.
pub(crate) fn type_of(schema: &Json) -> &str {
    schema["type"].as_str().or(schema["type"][0].as_str()).unwrap_or("")
}

/// The words of an enum of strings.
pub(crate) fn string_choices(schema: &Json) -> Option<Vec<&str>> {
    if let Some(words) = schema["enum"].as_array() {
        return Some(words.iter().filter_map(Json::as_str).collect());
    }
    let mut words = Vec::new();
    for variant in schema["oneOf"].as_array()? {
        match (variant["const"].as_str(), variant["enum"].as_array()) {
            (Some(word), _) => words.push(word),
            (None, Some(list)) => words.extend(list.iter().filter_map(Json::as_str)),
            (None, None) => return None,
        }
    }
    Some(words)
}

/// A property's own description, or that of its type.
pub(crate) fn description(root: &Json, schema: &Json) -> String {
    let own = schema["description"].as_str();
    let text = own.or(resolve(root, schema)["description"].as_str()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
