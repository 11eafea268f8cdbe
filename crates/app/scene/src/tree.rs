//! The scene's text as a tree in which every key and value knows where it stands, in the file or in a
//! `--set`.

use crate::error::SceneError;
use fluvial_solver_registry::ChosenMethod;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A byte range of one of the sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub source: usize,
    pub span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime,
    /// A number that does not fit.
    TooLarge,
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_place: Place,
    pub node: Node,
}

/// The texts that a tree was made of: the file first, then each `--set`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(pub Vec<(String, String)>);

impl Sources {
    pub fn error(&self, place: &Place, message: impl Into<String>, help: impl Into<String>) -> SceneError {
        match self.0.get(place.source) {
            Some((name, text)) => SceneError::at((name, text), place.span.clone(), message, help),
            None => SceneError::nowhere(message, help),
        }
    }
}

/// Is it a number like `.1` or `-.1`?
fn begins_with_point(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']).strip_prefix('.');
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl Default for Node {
    fn default() -> Self {
        Node { value: Value::Table(Vec::new()), place: Place { source: usize::MAX, span: 0..0 } }
    }
}

impl Node {
    /// Parses the file, source 0.
    pub fn parse(sources: &Sources) -> Result<Node, SceneError> {
        let Some((_, text)) = sources.0.first() else { return Ok(Node::default()) };
        let table = DeTable::parse(text).map_err(|e| {
            let at = e.span().unwrap_or(0..0);
            let help = match begins_with_point(&text[at.start.min(text.len())..]) {
                true => "a number begins with a digit: 0.1, not .1",
                false => {
                    "the file must be TOML 1.1: `key = value` lines under `[table]` headers, strings in quotes"
                }
            };
            sources.error(&Place { source: 0, span: at }, e.message().to_string(), help)
        })?;
        let entries = table.get_ref().iter().map(|(k, v)| entry(k, v, 0, 0)).collect();
        // Complaints about the file as a whole point at its first line that says anything.
        let first = text.find(|c: char| !c.is_whitespace()).unwrap_or(0);
        let first_entry = table.get_ref().iter().map(|(k, _)| k.span()).min_by_key(|s| s.start);
        let span = first_entry.unwrap_or(first..first);
        Ok(Node { value: Value::Table(entries), place: Place { source: 0, span } })
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            Value::Array(items) => key.parse::<usize>().ok().and_then(|n| items.get(n)),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The place of a dotted path, or of the deepest part of it that exists.
    pub fn locate(&self, path: &str) -> Place {
        let mut node = self;
        for key in path.split('.').filter(|k| !k.is_empty()) {
            match node.get(key) {
                Some(next) => node = next,
                None => break,
            }
        }
        node.place.clone()
    }

    /// "a string", "an integer" ... for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::String(_) => "a string",
            Value::Integer(_) | Value::TooLarge => "an integer",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Datetime => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The plain value, for serde.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::String(s) => s.clone().into(),
            Value::Integer(i) => (*i).into(),
            Value::Float(f) => (*f).into(),
            Value::Boolean(b) => (*b).into(),
            Value::Datetime | Value::TooLarge => serde_json::Value::Null, // refused before
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(entries) => {
                serde_json::Value::Object(entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect())
            }
        }
    }

    /// Applies `--set path=value`; the text has been added as the last source. Returns the other keys that it
    /// replaces.
    pub fn set(&mut self, path: &str, value: &str, sources: &Sources) -> Result<Vec<String>, SceneError> {
        let source = sources.0.len() - 1;
        let whole = Place { source, span: 0..path.len() };
        let keys = split_path(path).ok_or_else(|| {
            sources.error(
                &whole,
                format!("`{path}` is not a path"),
                "write `--set time.frames=10` or `--set solid[0].name=\"box\"`",
            )
        })?;
        let node = parse_value(value, path.len() + 1, source, sources)?;
        let (last, parents) = keys.split_last().expect("split_path gives at least one key");
        let mut at = self;
        for (key, next) in parents.iter().zip(&keys[1..]) {
            if matches!(at.value, Value::Table(_)) && at.get(key).is_none() && next.parse::<usize>().is_ok() {
                let help =
                    format!("`--set` changes entries that are there: write a [[{key}]] into the scene first");
                return Err(sources.error(&whole, format!("the scene has no [[{key}]]"), help));
            }
            at = at.child_mut(key, &whole, sources)?;
        }
        let mut replaced = vec![];
        match &mut at.value {
            Value::Table(entries) => {
                let is_replaced = |entry: &mut Entry| match (parents, last.as_str()) {
                    // dx and resolution say the same thing: the new one replaces the old one.
                    ([domain], "dx") if domain == "domain" => entry.key == "resolution",
                    ([domain], "resolution") if domain == "domain" => entry.key == "dx",
                    // Another method does without what the scene's own method was told and it does not know.
                    ([method], "name") if method == "method" => {
                        entry.key_place.source == 0 && is_unknown_to_method(&node, &entry.key)
                    }
                    _ => false,
                };
                replaced.extend(entries.extract_if(.., is_replaced).map(|entry| entry.key));
                let entry = Entry { key: last.clone(), key_place: whole, node };
                match entries.iter_mut().find(|e| e.key == *last) {
                    Some(old) => *old = entry,
                    None => entries.push(entry),
                }
            }
            _ => *at.child_mut(last, &whole, sources)? = node,
        }
        Ok(replaced)
    }

    fn child_mut(&mut self, key: &str, place: &Place, sources: &Sources) -> Result<&mut Node, SceneError> {
        let kind = self.kind();
        match &mut self.value {
            Value::Table(entries) => {
                let found = entries.iter().position(|e| e.key == key).unwrap_or_else(|| {
                    let node = Node { value: Value::Table(Vec::new()), place: place.clone() };
                    entries.push(Entry { key: key.to_string(), key_place: place.clone(), node });
                    entries.len() - 1
                });
                Ok(&mut entries[found].node)
            }
            Value::Array(items) => {
                let count = items.len();
                let index = key.parse::<usize>().ok().filter(|&n| n < count);
                match index {
                    Some(n) => Ok(&mut items[n]),
                    None => {
                        let help = format!("the list has {count} entries, numbered from 0");
                        Err(sources.error(place, format!("there is no entry `{key}`"), help))
                    }
                }
            }
            _ => {
                Err(sources.error(place, format!("`{key}` cannot be set inside {kind}"), "shorten the path"))
            }
        }
    }
}

/// Does a method, named by a text, lack a parameter?
fn is_unknown_to_method(name: &Node, key: &str) -> bool {
    let Value::String(name) = &name.value else { return false };
    let method = ChosenMethod::new(name, serde_json::json!({}));
    key != "name" && method.is_ok_and(|method| method.params().get(key).is_none())
}

fn place(span: Range<usize>, shift: usize, source: usize) -> Place {
    Place { source, span: span.start + shift..span.end + shift }
}

fn entry(
    key: &toml::Spanned<toml::de::DeString<'_>>,
    value: &toml::Spanned<DeValue<'_>>,
    shift: usize,
    source: usize,
) -> Entry {
    Entry {
        key: key.get_ref().to_string(),
        key_place: place(key.span(), shift, source),
        node: convert(value, shift, source),
    }
}

fn convert(value: &toml::Spanned<DeValue<'_>>, shift: usize, source: usize) -> Node {
    let converted = match value.get_ref() {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => {
            i64::from_str_radix(i.as_str(), i.radix()).map_or(Value::TooLarge, Value::Integer)
        }
        DeValue::Float(f) => f.as_str().parse().map_or(Value::TooLarge, Value::Float),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::Array(items.iter().map(|v| convert(v, shift, source)).collect()),
        DeValue::Table(table) => {
            Value::Table(table.iter().map(|(k, v)| entry(k, v, shift, source)).collect())
        }
    };
    Node { value: converted, place: place(value.span(), shift, source) }
}

/// No key of the format lies deeper.
const LONGEST_PATH: usize = 64;

/// `a.b[2].c` and `a.b.2.c` alike.
fn split_path(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    for part in path.split('.') {
        let mut pieces = part.split('[');
        let name = pieces.next()?;
        keys.push(name.trim().to_string());
        for piece in pieces {
            keys.push(piece.strip_suffix(']')?.trim().to_string());
        }
    }
    let plausible = keys.len() <= LONGEST_PATH && keys.iter().all(|k| !k.is_empty());
    plausible.then_some(keys)
}

/// The value of a `--set`: TOML, or a bare word as a string.
fn parse_value(value: &str, shift: usize, source: usize, sources: &Sources) -> Result<Node, SceneError> {
    match DeValue::parse(value.trim()) {
        Ok(parsed) => Ok(convert(&parsed, shift + (value.len() - value.trim_start().len()), source)),
        Err(e) => {
            let word = value.trim();
            let whole = Place { source, span: shift..shift + value.len() };
            let bare = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
            if bare && word.starts_with(|c: char| c.is_alphabetic() || c == '/' || c == '.') {
                return Ok(Node { value: Value::String(word.to_string()), place: whole });
            }
            let help = "values are TOML: 3, 0.5, true, \"text\", [1, 2, 3]";
            Err(sources.error(&whole, format!("`{value}` is not a value: {}", e.message()), help))
        }
    }
}
