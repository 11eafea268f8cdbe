//! The only list of methods. Scene format, schema, prediction, validation, benchmarks and documentation read
//! it; a new method is its crate, one line in `BUILT_IN` and its row in the README
//! (docs/adding-a-solver.md).
//!
//! A program that embeds Fluvial may [`register`] methods of its own, which scenes then name like any other.

use fluvial_solver_interface::{Entry, ExpectedFailure, Method, Variant};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;
use std::sync::{Arc, RwLock};

/// The methods of this program; the first is the default.
const BUILT_IN: &[Entry] = &[
    Entry::of::<fluvial_solver_uniform::Params>(),
    Entry::of::<fluvial_solver_octree::Params>(),
    Entry::of::<fluvial_solver_sheets::Params>(),
    Entry::of::<fluvial_solver_tall::Params>(),
    Entry::of::<fluvial_solver_power::Params>(),
    Entry::of::<fluvial_solver_cutcell::Params>(),
];

static REGISTERED: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// Adds a method to those that scenes can name. Returns false, and adds nothing, if the name is taken.
pub fn register(entry: Entry) -> bool {
    let mut registered = REGISTERED.write().expect("nobody panics while holding the list");
    let mut known = BUILT_IN.iter().chain(&*registered);
    if known.any(|other| other.name == entry.name) {
        return false;
    }
    registered.push(entry);
    true
}

/// All methods, built-in ones first.
pub fn methods() -> Vec<Entry> {
    let registered = REGISTERED.read().expect("nobody panics while holding the list");
    BUILT_IN.iter().chain(&*registered).copied().collect()
}

/// The names of all methods in scene files.
pub fn names() -> Vec<&'static str> {
    methods().iter().map(|entry| entry.name).collect()
}

/// The method that a scene has without saying so.
pub fn default_name() -> &'static str {
    BUILT_IN[0].name
}

/// The forms in which validation runs methods.
pub fn variants() -> Vec<Variant> {
    methods().iter().flat_map(|entry| (entry.variants)()).collect()
}

/// The forms that a name stands for: one (`uniform/flip`), or all of a method (`uniform`).
pub fn find_variants(name: &str) -> Vec<Variant> {
    let is_meant = |v: &Variant| v.name == name || v.method.name() == name;
    variants().into_iter().filter(is_meant).collect()
}

/// Why a row of validation is known to miss its bar, if it is.
pub fn expected_failure(case: &str, variant: &str, quantity: &str) -> Option<&'static str> {
    let entries = methods();
    let mut known = entries.iter().flat_map(|entry| (entry.expected_failures)());
    let is_meant =
        |e: &&ExpectedFailure| (e.case, e.quantity) == (case, quantity) && e.variants.contains(&variant);
    known.find(is_meant).map(|e| e.reason)
}

/// The method that a scene has chosen, with its parameters. In a file it is a table of the parameters and the
/// `name`.
#[derive(Clone, Debug)]
pub struct ChosenMethod(Arc<dyn Method>);

impl ChosenMethod {
    /// A method by name; parameters that are not given have their defaults.
    pub fn new(name: &str, params: serde_json::Value) -> Result<Self, String> {
        let entry = methods().into_iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| format!("there is no method `{name}`"))?;
        if let Some(stranger) = first_stranger(&entry, &params) {
            return Err(format!("the method `{name}` has no parameter `{stranger}`"));
        }
        (entry.read)(params).map(ChosenMethod).map_err(|error| error.to_string())
    }
}

/// The first of some parameters that a method does not have.
fn first_stranger(entry: &Entry, params: &serde_json::Value) -> Option<String> {
    let schema = (entry.schema)(&mut SchemaGenerator::default());
    let known = schema.get("properties").and_then(serde_json::Value::as_object);
    let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
    params.as_object()?.keys().find(|name| !is_known(name)).cloned()
}

impl Deref for ChosenMethod {
    type Target = dyn Method;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Default for ChosenMethod {
    fn default() -> Self {
        ChosenMethod::new(default_name(), serde_json::json!({})).expect("a method has defaults")
    }
}

impl From<&Variant> for ChosenMethod {
    fn from(variant: &Variant) -> Self {
        ChosenMethod(variant.method.clone())
    }
}

impl PartialEq for ChosenMethod {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.params()) == (other.name(), other.params())
    }
}

impl Serialize for ChosenMethod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serde_json::Map::new();
        table.insert("name".into(), self.name().into());
        if let serde_json::Value::Object(params) = self.params() {
            table.extend(params);
        }
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChosenMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = serde_json::Map::deserialize(deserializer)?;
        let name = table.remove("name");
        let name = match &name {
            None => default_name(),
            Some(serde_json::Value::String(name)) => name,
            Some(_) => return Err(serde::de::Error::custom("a method's name is a text")),
        };
        ChosenMethod::new(name, table.into()).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ChosenMethod {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Method".into()
    }

    /// One table per method, told apart by `name`.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = |entry: Entry| {
            let mut schema = (entry.schema)(generator);
            let name = serde_json::json!({
                "description": "Which method simulates the scene.",
                "type": "string", "enum": [entry.name], "default": default_name(),
            });
            if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut)
            {
                let rest = std::mem::take(properties);
                properties.insert("name".into(), name);
                properties.extend(rest);
            }
            schema.insert("description".into(), entry.about.into());
            schema
        };
        let tables: Vec<Schema> = methods().into_iter().map(table).collect();
        schemars::json_schema!({ "description": "The method and its own parameters.", "oneOf": tables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_one_variant_or_all() {
        assert_eq!(find_variants("uniform").len(), 3);
        assert_eq!(find_variants("uniform/flip").len(), 1);
        assert!(find_variants("flip").is_empty());
        for entry in methods() {
            let is_validated = !find_variants(entry.name).is_empty();
            assert!(
                is_validated != entry.about.starts_with("In work"),
                "{} is validated or in work",
                entry.name
            );
        }
    }

    #[test]
    fn a_chosen_method_is_written_and_read_with_all_its_parameters() {
        for variant in variants() {
            let chosen = ChosenMethod::from(&variant);
            let json = serde_json::to_value(&chosen).unwrap();
            assert_eq!(json["name"], variant.method.name());
            assert_eq!(serde_json::from_value::<ChosenMethod>(json).unwrap(), chosen);
        }
        let flip = ChosenMethod::new("uniform", serde_json::json!({"tracker": "flip"})).unwrap();
        assert!(flip.capabilities().particles);
        assert_ne!(flip, ChosenMethod::default());
        assert!(ChosenMethod::new("none", serde_json::json!({})).unwrap_err().contains("no method `none`"));
        for (method, stranger) in [("uniform", "typo"), ("uniform", "band_factor"), ("octree", "flip_ratioo")]
        {
            let refused = ChosenMethod::new(method, serde_json::json!({ stranger: 1 })).unwrap_err();
            assert!(refused.contains(&format!("`{method}` has no parameter `{stranger}`")), "{refused}");
        }
    }

    #[test]
    fn every_method_has_a_name_of_its_own() {
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), methods().len());
        assert!(!register(BUILT_IN[0]), "a name can be taken once");
    }
}
