//! How the program ends when it does not succeed: one look for all errors, and the exit code.

use fluvial_scene::SceneError;
use std::process::ExitCode;

/// The computation failed.
pub const FAILED: u8 = 1;
/// The scene or the command line is wrong.
const BAD_INPUT: u8 = 2;
/// Stopped on request.
pub const INTERRUPTED: u8 = 3;
/// All frames are there, but they cannot be trusted.
const UNTRUSTED: u8 = 4;

/// An error on its way to the terminal, with the exit code that it means.
pub struct Failure {
    report: miette::Report,
    code: u8,
}

impl Failure {
    /// Something went wrong while computing or writing.
    pub fn failed(error: anyhow::Error) -> Failure {
        Failure { report: miette::miette!("{}", whole(&error)), code: FAILED }
    }

    /// As [`Self::failed`], with advice.
    pub fn failed_with_help(error: anyhow::Error, help: String) -> Failure {
        Failure { report: miette::miette!(help = help, "{}", whole(&error)), code: FAILED }
    }

    /// The user asked for something that cannot be.
    pub fn bad_input(message: impl std::fmt::Display, help: impl std::fmt::Display) -> Failure {
        Failure { report: miette::miette!(help = help.to_string(), "{message}"), code: BAD_INPUT }
    }

    /// Stopped by Ctrl-C; what was done up to then is described.
    pub fn interrupted(what: impl std::fmt::Display) -> Failure {
        Failure { report: miette::miette!("interrupted: {what}"), code: INTERRUPTED }
    }

    /// All frames are there, but they cannot be trusted.
    pub fn untrusted(what: impl std::fmt::Display, help: &str) -> Failure {
        Failure { report: miette::miette!(help = help, "{what}"), code: UNTRUSTED }
    }

    /// Prints the error and gives the exit code.
    pub fn report(self) -> ExitCode {
        eprintln!("{:?}", self.report);
        ExitCode::from(self.code)
    }
}

/// An error and its causes, each printed once: the text of some errors already contains that of their cause.
fn whole(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(|c| c.to_string()) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Failure {
        Failure { report: miette::Report::new(error), code: BAD_INPUT }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::failed(error)
    }
}

impl From<fluvial_output::OutputError> for Failure {
    fn from(error: fluvial_output::OutputError) -> Failure {
        Failure::failed(error.into())
    }
}
