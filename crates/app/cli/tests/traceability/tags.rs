//! Citations in comments. There is one form, `[key §4.6, eq. 32]`, where `key` is an entry of
//! `references.bib`; places are optional (`[key]`) and several citations share a bracket with "; ".
//!
//! A bracket counts as a citation when it begins with a key, or has what only citations have: a section sign,
//! "eq.", "Alg", "Fig.", "et al", a year, or a key with a year. Whatever counts must have the form, so that
//! neither a misspelt key nor another style passes unseen. Code in backticks and links are no citations.

use std::collections::BTreeSet;

/// What a place in a paper may be called.
const PLACES: [&str; 6] = ["§", "eq. ", "Alg. ", "Fig. ", "Table ", "App. "];

/// What gives a citation away, whatever its form.
const SIGNS: [&str; 10] =
    ["§", "eq.", "Eq.", "Alg", "alg.", "Fig.", "et al", "paper", "algorithm", "equation"];

/// The keys of a bibliography.
pub struct Bibliography(BTreeSet<String>);

impl Bibliography {
    /// Fails on a key that stands twice and on one that names another year than its entry.
    pub fn parse(text: &str) -> Result<Bibliography, String> {
        let mut keys = BTreeSet::new();
        for entry in text.split("\n@").skip(1) {
            let key = entry.split_once('{').and_then(|(_, rest)| rest.split_once(','));
            let key = key.ok_or_else(|| format!("no key: {entry}"))?.0;
            let year = key.rsplit_once('-').map(|(_, year)| year);
            let spaceless = entry.replace(' ', "");
            if year.is_some_and(|year| !spaceless.contains(&format!("year={{{year}}}"))) {
                return Err(format!("{key} is of another year"));
            }
            if !keys.insert(key.to_owned()) {
                return Err(format!("{key} stands twice"));
            }
        }
        Ok(Bibliography(keys))
    }
}

/// Comments of a source file, lines that follow each other joined, with the number of the first.
pub fn comments(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = vec![];
    let mut before = false;
    for (n, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//");
        if let Some(comment) = comment {
            let comment = comment.trim_start_matches(['/', '!']).trim();
            match found.last_mut() {
                Some((_, joined)) if before => *joined += &format!(" {comment}"),
                _ => found.push((n + 1, comment.to_owned())),
            }
        }
        before = comment.is_some();
    }
    found
}

/// Every citation in a piece of prose: its text, or what is wrong with it.
pub fn check(prose: &str, bibliography: &Bibliography) -> Vec<Result<String, String>> {
    // What stands in backticks is code; an unpaired one hides nothing.
    let mut pieces: Vec<&str> = prose.split('`').collect();
    let unpaired = if pieces.len().is_multiple_of(2) { pieces.pop() } else { None };
    let plain: Vec<&str> = pieces.into_iter().step_by(2).chain(unpaired).collect();
    let plain = plain.join("`");
    let mut found = vec![];
    for (start, _) in plain.match_indices('[') {
        let rest = &plain[start + 1..];
        let Some(end) = rest.find(']') else { continue };
        let (inside, after) = (&rest[..end], &rest[end + 1..]);
        let link = after.starts_with('(') || after.starts_with('[') || after.starts_with(": http");
        if !link && !inside.contains('[') && looks_like_a_citation(inside, bibliography) {
            let mistake = inside.split("; ").find_map(|cited| mistake(cited, bibliography).err());
            found.push(match mistake {
                None => Ok(inside.to_owned()),
                Some(mistake) => Err(format!("[{inside}]: {mistake}")),
            });
        }
    }
    found
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && ["18", "19", "20"].iter().any(|century| word.starts_with(century))
}

fn looks_like_a_citation(inside: &str, bibliography: &Bibliography) -> bool {
    let words = || inside.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let first = inside.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or("");
    let named = bibliography.0.contains(&first.to_lowercase());
    let dated = inside.contains(|c: char| c.is_alphabetic()) && words().any(is_year);
    named || dated || SIGNS.iter().any(|sign| inside.contains(sign))
}

/// `key`, or `key place, place`; a place without a name goes on with the name before it.
fn mistake(cited: &str, bibliography: &Bibliography) -> Result<(), String> {
    let (key, places) = cited.split_once(' ').unwrap_or((cited, ""));
    if !bibliography.0.contains(key) {
        return Err(format!("references.bib has no {key:?}"));
    }
    for (n, place) in places.split(", ").filter(|_| !places.is_empty()).enumerate() {
        let number = PLACES.iter().find_map(|name| place.strip_prefix(name));
        let number = number.or((n > 0).then_some(place));
        if !number
            .is_some_and(|number| number.split(" to ").count() <= 2 && number.split(" to ").all(is_number))
        {
            return Err(format!("{place:?} is no place in a paper ({PLACES:?}, then 3, 3.1 or 3 to 5)"));
        }
    }
    Ok(())
}

/// 4, 3.7.1, 12b, A.2
fn is_number(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    text.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric()))
        && letters <= 1
        && text.len() > letters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bibliography() -> Bibliography {
        let text = "% five\n\n@article{octree,\n year = {2020}\n}\n\n@book{ng-2009,\n year    = {2009}\n}\n";
        Bibliography::parse(text).unwrap()
    }

    fn passes(prose: &str) -> bool {
        let found = check(prose, &bibliography());
        assert_eq!(found.len(), 1, "{prose}: {found:?}");
        found[0].is_ok()
    }

    #[test]
    fn the_one_form_passes() {
        for prose in [
            "See [octree eq. 24].",
            "[octree §4.6, eq. 27 to 32]",
            "[octree §4.3, 4.5]",
            "[octree Alg. 3; ng-2009 §3.2]",
            "[ng-2009]",
            "`[F grad]` of [octree §4.3]",
            "[octree App. A.2, Table 3, Fig. 9]",
        ] {
            assert!(passes(prose), "{prose}");
        }
    }

    #[test]
    fn missing_keys_and_other_forms_fail() {
        for prose in [
            "[octre eq. 24]",
            "[tall §3.7.1]",
            "[octree §3; ng-2010]",
            "[ng-2010]",
            "[Ng, Min, Gibou 2009]",
            "[Ng et al.]",
            "[octree paper eq. 26]",
            "[octree, eq. 26]",
            "[Octree §4]",
            "[octree: Ando, Batty]",
            "[octree eq. 8-10]",
            "[octree eq. ]",
            "[octree section four]",
            "an unpaired ` and [octree paper §4]",
            "[Alg. 4]",
        ] {
            assert!(!passes(prose), "{prose}");
        }
    }

    #[test]
    fn other_brackets_are_left_alone() {
        for prose in [
            "[default: all]",
            "`[octree paper eq. 26]`",
            "[page 2020](https://example.org)",
            "[5.6e-5]",
            "[I + lambda H, g]",
            "[-own, last - own]",
            "rows [0, 2048)",
        ] {
            assert!(check(prose, &bibliography()).is_empty(), "{prose}");
        }
    }

    #[test]
    fn comments_are_joined_over_lines_and_code_is_no_comment() {
        let text = "//! One [octree\n//! eq. 4].\n\nlet a = b[octree]; // §\n    /// Two.\n";
        let expected = [(1, "One [octree eq. 4].".to_owned()), (5, "Two.".to_owned())];
        assert_eq!(comments(text), expected);
    }

    #[test]
    fn a_bibliography_with_a_false_or_doubled_key_fails() {
        assert!(Bibliography::parse("\n@book{ng-2008,\n year = {2009}\n}\n").is_err());
        assert!(Bibliography::parse("\n@book{ng,\n}\n\n@book{ng,\n}\n").is_err());
    }
}
