//! A number beside what it should be.

use serde::Serialize;

/// What a row must satisfy to pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bar {
    /// Relative error against the reference.
    ErrorAtMost(f64),
    /// The value itself.
    AtMost(f64),
    /// The value itself.
    AtLeast(f64),
}

/// One line of the validation table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// Case name.
    pub case: String,
    /// Method name.
    pub method: String,
    /// Cells, and along what.
    pub resolution: String,
    /// What was measured, with its unit.
    pub quantity: String,
    /// As measured.
    pub value: f64,
    /// What it should be, where there is such a number.
    pub reference: Option<f64>,
    /// Relative error against the reference.
    pub error: Option<f64>,
    /// What it must satisfy; `None` where it is only reported.
    pub bar: Option<Bar>,
    /// `None` where it is only reported.
    pub pass: Option<bool>,
    /// Why a failure is known and accepted for now.
    pub expected_failure: Option<String>,
}

impl Row {
    /// A reported number.
    pub fn new(resolution: impl Into<String>, quantity: impl Into<String>, value: f64) -> Row {
        Row { resolution: resolution.into(), quantity: quantity.into(), value, ..Row::default() }
    }

    /// What it should be.
    pub fn against(mut self, reference: f64) -> Row {
        self.reference = Some(reference);
        self.error = Some((self.value - reference).abs() / reference.abs());
        self
    }

    /// What it must satisfy. NaN passes no bar.
    pub fn bar(mut self, bar: Bar) -> Row {
        self.bar = Some(bar);
        self.pass = Some(match bar {
            Bar::ErrorAtMost(limit) => self.error.expect("an error bar needs a reference") <= limit,
            Bar::AtMost(limit) => self.value <= limit,
            Bar::AtLeast(limit) => self.value >= limit,
        });
        self
    }

    /// Did it miss its bar without a listed reason?
    pub fn is_unexpected_failure(&self) -> bool {
        self.pass == Some(false) && self.expected_failure.is_none()
    }

    /// Is it listed as failing, yet passes?
    pub fn is_unexpected_pass(&self) -> bool {
        self.pass == Some(true) && self.expected_failure.is_some()
    }

    fn verdict(&self) -> &'static str {
        match (self.pass, &self.expected_failure) {
            (None, _) => "reported",
            (Some(true), None) => "pass",
            (Some(false), None) => "FAIL",
            (Some(false), Some(_)) => "expected failure",
            (Some(true), Some(_)) => "PASS, listed as failing",
        }
    }

    fn columns(&self) -> [String; 9] {
        let number = |v: f64| match v.abs() {
            0.0 => "0".to_owned(),
            a if (1e-3..1e5).contains(&a) => format!("{v:.5}"),
            _ => format!("{v:.3e}"),
        };
        let percent = |v: f64| if v < 1e-4 { format!("{v:.1e}") } else { format!("{:.3} %", 100.0 * v) };
        let bar = match self.bar {
            Some(Bar::ErrorAtMost(limit)) => format!("error <= {}", percent(limit)),
            Some(Bar::AtMost(limit)) => format!("<= {}", number(limit)),
            Some(Bar::AtLeast(limit)) => format!(">= {}", number(limit)),
            None => String::new(),
        };
        [
            self.case.clone(),
            self.method.clone(),
            self.resolution.clone(),
            self.quantity.clone(),
            number(self.value),
            self.reference.map(number).unwrap_or_default(),
            self.error.map(percent).unwrap_or_default(),
            bar,
            self.verdict().to_owned(),
        ]
    }
}

/// The rows as an aligned text table.
pub fn print_table(rows: &[Row]) -> String {
    let header =
        ["case", "method", "resolution", "quantity", "value", "reference", "error", "bar", "verdict"]
            .map(String::from);
    let lines: Vec<[String; 9]> = std::iter::once(header).chain(rows.iter().map(Row::columns)).collect();
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0);
    let widths: [usize; 9] = std::array::from_fn(width);
    let mut text = String::new();
    for (n, line) in lines.iter().enumerate() {
        let cells: Vec<String> = (0..9)
            .map(|c| {
                let gap = " ".repeat(widths[c] - line[c].chars().count());
                // Numbers to the right, words to the left.
                if (4..7).contains(&c) { gap + &line[c] } else { line[c].clone() + &gap }
            })
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
        if n == 0 {
            text += &"-".repeat(widths.iter().sum::<usize>() + 16);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_judge_the_right_number_and_nan_never_passes() {
        let row = |v: f64| Row::new("32", "f / Hz", v);
        assert_eq!(row(1.005).against(1.0).bar(Bar::ErrorAtMost(0.01)).pass, Some(true));
        assert_eq!(row(1.02).against(1.0).bar(Bar::ErrorAtMost(0.01)).pass, Some(false));
        assert_eq!(row(1.9).bar(Bar::AtLeast(1.9)).pass, Some(true));
        for bar in [Bar::AtLeast(0.0), Bar::AtMost(0.0), Bar::ErrorAtMost(1.0)] {
            assert_eq!(row(f64::NAN).against(1.0).bar(bar).pass, Some(false), "{bar:?}");
        }
        assert_eq!(row(1.0).pass, None);
    }

    #[test]
    fn the_table_is_aligned_and_names_every_verdict() {
        let mut known = Row::new("32", "loss", 0.5).bar(Bar::AtMost(0.1));
        known.expected_failure = Some("first order".into());
        let text = print_table(&[
            Row::new("32", "drift", 1e-7),
            Row::new("64", "loss", 0.5).bar(Bar::AtMost(0.1)),
            known,
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert!(
            lines[2].ends_with("reported")
                && lines[3].ends_with("FAIL")
                && lines[4].ends_with("expected failure")
        );
    }
}
