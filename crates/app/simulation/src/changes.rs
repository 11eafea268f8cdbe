//! What differs between two scenes, in words.

use serde_json::Value;

/// Every leaf that differs, as `path: old -> new`.
pub fn differences(old: &Value, new: &Value) -> Vec<String> {
    let mut found = vec![];
    compare("", Some(old), Some(new), &mut found);
    found
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<String>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (old, new) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let more = b.keys().filter(|k| !a.contains_key(*k));
            for key in a.keys().chain(more) {
                compare(&join(key), a.get(key), b.get(key), found);
            }
        }
        // Lists of tables are compared by their places; lists of numbers are one value.
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.iter().chain(b).any(Value::is_object) => {
            for n in 0..a.len().max(b.len()) {
                compare(&join(&n.to_string()), a.get(n), b.get(n), found);
            }
        }
        (Some(a), Some(b)) if a == b => {}
        (a, b) => {
            let text = |v: Option<&Value>| v.map_or("(nothing)".to_owned(), shortened);
            found.push(format!("{path}: {} -> {}", text(a), text(b)));
        }
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    text.chars().take(57).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_change_has_a_line_with_its_path() {
        let old = json!({"domain": {"dx": 0.1, "max": [1, 1, 1]}, "fill": [{"v": 1}], "gone": true});
        let new = json!({"domain": {"dx": 0.2, "max": [1, 2, 1]}, "fill": [{"v": 1}, {"v": 2}], "output": {"a": 1}});
        assert_eq!(
            differences(&old, &new),
            [
                "domain.dx: 0.1 -> 0.2",
                "domain.max: [1,1,1] -> [1,2,1]",
                "fill.1: (nothing) -> {\"v\":2}",
                "gone: true -> (nothing)",
                "output: (nothing) -> {\"a\":1}",
            ]
        );
        assert!(differences(&old, &old).is_empty());
    }
}
