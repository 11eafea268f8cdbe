//! The progress bar.

use fluvial_simulation::progress::{Progress, Status};
use fluvial_solver_interface::DtLimiter;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::Duration;

/// The bar on the terminal, if there is one: warnings are printed above it.
static SHOWN: OnceLock<ProgressBar> = OnceLock::new();

/// Frame, simulated time, step length and its limiter, cells, volume drift, time left.
pub struct Bar {
    bar: ProgressBar,
    /// Without a terminal: a line for every tenth of the frames.
    lines: bool,
    last: String,
    frames: u32,
}

impl Bar {
    /// A bar for a run of `frames` frames.
    pub fn new(frames: u32) -> Bar {
        let lines = !std::io::stderr().is_terminal();
        let bar = if lines { ProgressBar::hidden() } else { ProgressBar::new(frames.into()) };
        let style =
            ProgressStyle::with_template("{bar:24.cyan/blue} {pos}/{len}  {msg}").expect("a valid template");
        bar.set_style(style.progress_chars("━╸─"));
        let _ = SHOWN.set(bar.clone());
        Bar { bar, lines, last: String::new(), frames }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&mut self, status: &Status) {
        self.last = describe(status);
        self.bar.set_message(self.last.clone());
    }

    fn frame(&mut self, frame: u32) {
        self.bar.set_position(frame.into());
        let tenth = |n: u32| u64::from(n) * 10 / u64::from(self.frames.max(1));
        if self.lines && tenth(frame) != tenth(frame - 1) {
            eprintln!("frame {frame}/{}  {}", self.frames, self.last);
        }
    }
}

/// Prints to the terminal without tearing the bar.
pub fn print_above(text: &str) {
    match SHOWN.get() {
        Some(bar) => bar.suspend(|| eprint!("{text}")),
        None => eprint!("{text}"),
    }
}

fn describe(status: &Status) -> String {
    let limiter = match status.limiter {
        Some(DtLimiter::Cfl) => "speed",
        Some(DtLimiter::Gravity) => "gravity",
        Some(DtLimiter::SurfaceTension) => "surface tension",
        Some(DtLimiter::Frame) => "frame",
        Some(DtLimiter::Retry) => "retry",
        None => "start",
    };
    let particles =
        if status.particles > 0 { format!(" {} particles", short(status.particles)) } else { String::new() };
    format!(
        "t {:.3}/{:.3} s  dt {:.2e} s ({limiter})  {} cells{particles}  volume {:+.3} %  left {}",
        status.time_s,
        status.end_s,
        status.dt_s,
        short(status.cells),
        100.0 * status.volume_error,
        status.eta.map_or("?".into(), duration),
    )
}

/// 1234567 as 1.23 M.
pub fn short(count: usize) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.1} k", count as f64 / 1e3),
        _ => format!("{:.2} M", count as f64 / 1e6),
    }
}

/// Hours, minutes and seconds, as few as needed.
pub fn duration(d: Duration) -> String {
    let s = d.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) if s < 10 => format!("{:.1} s", d.as_secs_f64()),
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_enough_to_read() {
        assert_eq!([short(999), short(54_321), short(2_097_152)], ["999", "54.3 k", "2.10 M"]);
        let d = |s: f64| duration(Duration::from_secs_f64(s));
        assert_eq!([d(2.25), d(42.0), d(185.0), d(7325.0)], ["2.2 s", "42 s", "3 min 05 s", "2 h 02 min"]);
    }
}
