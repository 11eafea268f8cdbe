//! What the physics must come out as: cases with exact or measured answers, run on every method.
//!
//! A case is one file with one function that gives [`Row`]s and plots; [`CASES`] lists them. Coarse
//! resolutions are tests; the fine ones run on demand. A row that a method cannot pass yet stands in the
//! method's list of expected failures with the reason; the tests fail when it starts to pass.

mod bodies;
mod built_in_scenes;
mod capillary_wave;
mod dam_break;
mod drift;
mod drop_oscillation;
mod energy;
mod enright;
mod filling;
mod free_fall;
mod friction;
mod hydrostatic;
mod invariances;
mod poisson;
mod rest;
mod row;
mod set_up;
mod signal;
mod sloshing;
mod splash;
mod static_drop;
mod thin_walls;
mod transport;
mod user_scenes;
mod zalesak;

pub use row::{Bar, Row, print_table};

use crate::run::RunError;
use fluvial_output::Plot;
use fluvial_solver_interface::{SetupError, Variant};
use fluvial_solver_registry::expected_failure;
use std::sync::atomic::AtomicBool;

/// One validation case.
pub struct Case {
    /// As typed on the command line.
    pub name: &'static str,
    /// Set-up and exact result in a sentence.
    pub what: &'static str,
    /// Where the reference numbers come from.
    pub source: &'static str,
    /// Which methods it says something about: kernels that several variants share are tested once.
    pub applies: fn(&Variant) -> bool,
    /// Runs it.
    pub run: fn(&Context) -> Result<Outcome, CaseError>,
}

/// What a case runs with.
pub struct Context<'a> {
    /// The method under test.
    pub method: &'a Variant,
    /// The fine resolution, which takes minutes.
    pub fine: bool,
    /// Of the cases in [`CASES_OF_RUNS`], only the runs whose name contains this.
    pub only: Option<&'a str>,
    /// Set to stop early.
    pub stop: &'a AtomicBool,
    /// Is told the rows of each run of a long case as it ends.
    pub progress: &'a (dyn Fn(&[Row]) + Sync),
}

impl Context<'_> {
    /// Is a run of the case asked for?
    pub(crate) fn wants(&self, run: &str) -> bool {
        self.only.is_none_or(|part| run.contains(part))
    }
}

/// What a case found.
#[derive(Default)]
pub struct Outcome {
    /// Numbers.
    pub rows: Vec<Row>,
    /// Curves, each with the stem of its file name.
    pub plots: Vec<(String, Plot)>,
}

/// Why a case gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The method refused the set-up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Stopped on request.
    #[error("interrupted")]
    Interrupted,
}

/// All cases, in the order in which they are run.
pub const CASES: &[Case] = &[
    hydrostatic::CASE,
    rest::CASE,
    sloshing::CASE,
    free_fall::CASE,
    drift::CASE,
    zalesak::CASE,
    enright::CASE,
    poisson::FREE_SURFACE,
    poisson::SOLID,
    drop_oscillation::CASE,
    drop_oscillation::ACROSS_LEVELS,
    static_drop::CASE,
    capillary_wave::CASE,
    dam_break::CASE,
    friction::CASE,
    bodies::CASE,
    splash::CASE,
    energy::CASE,
    filling::CASE,
    user_scenes::CASE,
    built_in_scenes::CASE,
    invariances::CASE,
];

/// Cases of several runs with names, one of which can be asked for alone.
pub const CASES_OF_RUNS: &[&str] = &[
    rest::CASE.name,
    bodies::CASE.name,
    energy::CASE.name,
    user_scenes::CASE.name,
    built_in_scenes::CASE.name,
];

/// For cases that run on every method.
pub(crate) fn every_method(_: &Variant) -> bool {
    true
}

/// For cases that surface tension drives.
pub(crate) fn with_tension(method: &Variant) -> bool {
    method.method.capabilities().surface_tension
}

/// Runs a case and files its rows: case, method, and whether a failure was expected.
pub fn run_case(case: &Case, context: &Context) -> Result<Outcome, CaseError> {
    let mut outcome = (case.run)(context)?;
    for row in &mut outcome.rows {
        row.case = case.name.to_owned();
        row.method = context.method.name.to_owned();
        let known = |quantity: &str| expected_failure(case.name, context.method.name, quantity);
        let at_resolution = || known(&format!("{}, {}", row.quantity, row.resolution));
        row.expected_failure = known(&row.quantity).or_else(at_resolution).map(str::to_owned);
    }
    for (stem, _) in &mut outcome.plots {
        *stem = format!("{stem}-{}", context.method.name.replace('/', "-"));
    }
    Ok(outcome)
}
