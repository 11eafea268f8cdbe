//! Printing to a reader that may have gone: `fluvial check scene.toml | head -2` ends quietly.

use std::io::{ErrorKind, Write};

/// As `println!`, but ends the program where the reader has closed the pipe, as `head` does when it has enough.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// Prints a line.
pub(crate) fn line(text: std::fmt::Arguments) {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        // A full disk or a closed terminal: what the command does matters more than what it says.
        _ => {}
    }
}
