//! One kind of error: what is wrong, where, and how to put it right.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt::{self, Display};
use std::ops::Range;

/// A mistake in a scene. Printed by miette it shows file, line and column, the text underlined, and the help.
#[derive(Debug)]
pub struct SceneError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: String,
    help: String,
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    source: NamedSource<String>,
    file: String,
    span: Range<usize>,
    line: usize,
    column: usize,
    offending: String,
}

impl SceneError {
    /// An error without a place in any text, as when the file does not exist.
    pub(crate) fn nowhere(message: impl Into<String>, help: impl Into<String>) -> SceneError {
        SceneError(Box::new(Inner { message: message.into(), help: help.into(), place: None }))
    }

    /// An error at a byte range of a named text.
    pub(crate) fn at(
        (file, text): (&str, &str),
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> SceneError {
        let mut span = span.start.min(text.len())..span.end.min(text.len());
        while !text.is_char_boundary(span.start) {
            span.start -= 1;
        }
        while !text.is_char_boundary(span.end) {
            span.end += 1;
        }
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let place = Place {
            source: NamedSource::new(file, text.to_string()),
            file: file.to_string(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            offending: text[span.clone()].to_string(),
            span,
        };
        SceneError(Box::new(Inner { message: message.into(), help: help.into(), place: Some(place) }))
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// How to put it right.
    pub fn help_text(&self) -> &str {
        &self.0.help
    }

    /// The file (or `--set`), line and column, both from 1.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        self.0.place.as_ref().map(|p| (p.file.as_str(), p.line, p.column))
    }

    /// The text that is underlined.
    pub fn offending_text(&self) -> Option<&str> {
        self.0.place.as_ref().map(|p| p.offending.as_str())
    }
}

impl Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for SceneError {}

impl Diagnostic for SceneError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(&self.0.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.place.as_ref().map(|p| &p.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.0.place.as_ref()?;
        let label = LabeledSpan::new(Some("here".into()), place.span.start, place.span.len());
        Some(Box::new(std::iter::once(label)))
    }
}

/// The known word that was probably meant: one slip of the keys away, or much alike.
pub(crate) fn near_miss<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let slips = |k: &str| strsim::damerau_levenshtein(&word, &k.to_lowercase());
    let alike = |k: &str| strsim::jaro_winkler(&word, &k.to_lowercase());
    let score = |k: &str| alike(k) + strsim::normalized_damerau_levenshtein(&word, &k.to_lowercase());
    let best = known.into_iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (slips(best) <= 1 + word.chars().count() / 5 || alike(best) > 0.8).then_some(best)
}

/// A help line for a word that is not known: the near miss first, then all that are known.
pub(crate) fn help_for_unknown(word: &str, known: &[&str]) -> String {
    let list = known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
    match near_miss(word, known.iter().copied()) {
        Some(best) => format!("did you mean `{best}`? Known here: {list}"),
        None => format!("known here: {list}"),
    }
}
