//! What a method says about itself, before a solver of it exists.
//!
//! A solver crate implements [`Method`] and [`Listed`] for its parameters and stands in the registry's list;
//! scene format, schema, prediction, validation and benchmarks ask here and know no method by name.

use crate::support;
use crate::{ParamError, Setup, SetupError, Solver, Survey, Tracker};
use fluvial_grids::UniformGrid;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A method with its parameters: what the scene's `[method]` table says.
pub trait Method: std::fmt::Debug + Send + Sync {
    /// The method's name in scene files.
    fn name(&self) -> &'static str;
    /// The parameters, without the name.
    fn params(&self) -> serde_json::Value;
    /// The first parameter that is out of range.
    fn first_error(&self) -> Option<ParamError>;
    /// What it can do with these parameters.
    fn capabilities(&self) -> Capabilities;
    /// By which factor its pressure solve reduces the residual.
    fn pressure_tolerance(&self) -> f64;
    /// Refuses a set-up that makes no sense, that asks for what the method lacks by its capabilities, that is too large for
    /// it, or that its parameters do not fit. Nothing large may be allocated to find out.
    fn check_size(&self, setup: &Setup) -> Result<(), SetupError>;
    /// What it will do otherwise than the set-up says, a sentence each.
    fn notes(&self, setup: &Setup) -> Vec<String>;
    /// Does it make spray and foam itself with these parameters ([`Solver::whitewater`])?
    fn makes_whitewater(&self) -> bool;
    /// The grid at whose cell centres it looks for liquid of fills: a fill that covers none of them is not there.
    fn fill_samples(&self, grid: &UniformGrid) -> UniformGrid;
    /// What a run will need.
    fn predict(&self, scenario: &Scenario) -> Needs;
    /// Makes a solver with the liquid of a set-up in its place.
    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError>;
}

/// A kind of method as its crate describes it, implemented by its parameters; the rest of [`Method`] follows.
pub trait Listed:
    Serialize + DeserializeOwned + JsonSchema + Default + std::fmt::Debug + Send + Sync + 'static
{
    /// The method's name in scene files.
    const NAME: &'static str;
    /// What it is for, in a sentence.
    const ABOUT: &'static str;
    /// See [`Method::first_error`].
    fn first_error(&self) -> Option<ParamError>;
    /// See [`Method::capabilities`].
    fn capabilities(&self) -> Capabilities;
    /// See [`Method::pressure_tolerance`].
    fn pressure_tolerance(&self) -> f64;
    /// See [`Method::check_size`]; numbers and capabilities have been checked before.
    fn check_size(&self, setup: &Setup) -> Result<(), SetupError>;
    /// See [`Method::notes`].
    fn notes(&self, _: &Setup) -> Vec<String> {
        vec![]
    }
    /// See [`Method::makes_whitewater`].
    fn makes_whitewater(&self) -> bool {
        false
    }
    /// See [`Method::fill_samples`]; the grid itself for most.
    fn fill_samples(&self, grid: &UniformGrid) -> UniformGrid {
        *grid
    }
    /// See [`Method::predict`].
    fn predict(&self, scenario: &Scenario) -> Needs;
    /// See [`Method::build`].
    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError>;
    /// The forms in which validation runs it.
    fn variants() -> Vec<Variant>;
    /// The rows of validation that are known to miss their bar. The tests fail when one starts to pass.
    fn expected_failures() -> &'static [ExpectedFailure];
}

impl<M: Listed> Method for M {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn params(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn first_error(&self) -> Option<ParamError> {
        Listed::first_error(self)
    }

    fn capabilities(&self) -> Capabilities {
        Listed::capabilities(self)
    }

    fn pressure_tolerance(&self) -> f64 {
        Listed::pressure_tolerance(self)
    }

    fn check_size(&self, setup: &Setup) -> Result<(), SetupError> {
        support::check(M::NAME, &Listed::capabilities(self), setup)?;
        Listed::check_size(self, setup)
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        Listed::notes(self, setup)
    }

    fn makes_whitewater(&self) -> bool {
        Listed::makes_whitewater(self)
    }

    fn fill_samples(&self, grid: &UniformGrid) -> UniformGrid {
        Listed::fill_samples(self, grid)
    }

    fn predict(&self, scenario: &Scenario) -> Needs {
        Listed::predict(self, scenario)
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        support::check(M::NAME, &Listed::capabilities(self), &setup)?;
        Listed::build(self, setup.with_fills_past_walls())
    }
}

impl dyn Method + '_ {
    /// The first parameter that is out of range, as an error.
    pub fn check_params(&self) -> Result<(), SetupError> {
        let Some((name, wanted)) = self.first_error() else { return Ok(()) };
        let (message, help) = match &self.params()[name] {
            serde_json::Value::String(choice) => (
                format!("the method `{}` has no {name} `{choice}`", self.name()),
                format!("this method has {wanted}"),
            ),
            _ => (format!("`{name}` is out of range"), format!("give {wanted}")),
        };
        Err(SetupError::Parameter { name, message, help })
    }
}

/// A row of validation that is known to miss its bar, and why. It is never a reason to drop the row.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedFailure {
    /// The case's name.
    pub case: &'static str,
    /// Names of the variants that miss it.
    pub variants: &'static [&'static str],
    /// The row's quantity, or quantity and resolution with a comma between where it fails at that one alone.
    pub quantity: &'static str,
    /// Why it fails.
    pub reason: &'static str,
}

/// What a method can do, for scenes that ask for more than it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Does it carry particles?
    pub particles: bool,
    /// Can volumes be written?
    pub volumes: Volumes,
    /// Can cells differ in size (`[[refine]]`)?
    pub adaptive: bool,
    /// Can the flow be given instead of computed (`[flow]`)?
    pub given_flow: bool,
    /// Does the surface meet boundaries at angles that they give (`contact_angles`)?
    pub contact_angles: bool,
    /// Do walls and solids take momentum from liquid that moves along them (`friction`)?
    pub friction: bool,
    /// Does surface tension act (`liquid.surface_tension`)?
    pub surface_tension: bool,
    /// May gravity point anywhere, or only along -y?
    pub any_gravity: bool,
    /// Do solids thinner than a cell hold liquid?
    pub thin_walls: bool,
    /// May solids move?
    pub moving_solids: bool,
    /// Does the liquid move bodies (`[[body]]`)?
    pub bodies: bool,
}

/// How a method's level set can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volumes {
    /// It has none.
    None,
    /// In formats that store only what lies near the surface.
    Sparse,
    /// In any format.
    Dense,
}

/// A run that is to be predicted.
#[derive(Clone, Copy, Debug)]
pub struct Scenario<'a> {
    /// What the solver will be given.
    pub setup: &'a Setup,
    /// What was seen of it.
    pub survey: &'a Survey,
    /// Simulated time, seconds.
    pub end_s: f64,
}

/// What a run will need, files and pictures not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Cells at the start.
    pub cells: f64,
    /// Those of them that hold liquid.
    pub liquid_cells: f64,
    /// Main memory of the program at its peak, bytes.
    pub memory_bytes: f64,
    /// Particles at the most.
    pub particles: f64,
    /// Vertices of the surface mesh at the most.
    pub vertices: f64,
    /// A volume file, bytes.
    pub volume_bytes: f64,
    /// A checkpoint, bytes, at most.
    pub checkpoint_bytes: f64,
}

impl Variant {
    /// The method of this form with some parameters changed.
    pub fn with_params(&self, changes: serde_json::Value) -> Result<Arc<dyn Method>, serde_json::Error> {
        let mut params = self.method.params();
        if let (Some(params), Some(changes)) = (params.as_object_mut(), changes.as_object()) {
            params.extend(changes.clone());
        }
        (self.read)(params)
    }
}

/// A form in which validation runs a method.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The method's name, and behind a slash what tells its forms apart.
    pub name: &'static str,
    /// With these parameters.
    pub method: Arc<dyn Method>,
    /// The same without anything that corrects volume, whose divergence would hide what exact cases look
    /// for.
    pub uncorrected: Arc<dyn Method>,
    /// How its transport alone can be tested.
    pub transport: TransportTest,
    /// Reads the method with other parameters.
    pub read: fn(serde_json::Value) -> Result<Arc<dyn Method>, serde_json::Error>,
}

/// How a method's transport can be tested without the rest of a step.
#[derive(Clone, Debug)]
pub enum TransportTest {
    /// It cannot.
    None,
    /// By the kernels of the uniform grid, which it uses.
    UniformKernels(Tracker),
    /// By the method itself in a given flow, with these parameters.
    GivenFlow(Arc<dyn Method>),
}

/// A line of the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The method's name in scene files.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// The schema of its parameters.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// The method with the given parameters, the rest by default.
    pub read: fn(serde_json::Value) -> Result<Arc<dyn Method>, serde_json::Error>,
    /// The forms in which validation runs it.
    pub variants: fn() -> Vec<Variant>,
    /// The rows of validation that are known to miss their bar.
    pub expected_failures: fn() -> &'static [ExpectedFailure],
}

/// A method of a kind with the given parameters, the rest by default.
pub fn read_method<M: Listed>(params: serde_json::Value) -> Result<Arc<dyn Method>, serde_json::Error> {
    Ok(Arc::new(serde_json::from_value::<M>(params)?))
}

impl Entry {
    /// The line of a method.
    pub const fn of<M: Listed>() -> Entry {
        Entry {
            name: M::NAME,
            about: M::ABOUT,
            schema: M::json_schema,
            read: read_method::<M>,
            variants: M::variants,
            expected_failures: M::expected_failures,
        }
    }
}

/// More cells than this cannot be addressed by 32-bit cell numbers.
const MOST_NUMBERED_CELLS: f64 = 4.0e9;

/// Refuses more cells than 32-bit numbers can address; `bytes_per_cell` is what a cell takes.
pub fn check_cell_count(cells: f64, bytes_per_cell: f64) -> Result<(), SetupError> {
    if cells <= MOST_NUMBERED_CELLS {
        return Ok(());
    }
    Err(SetupError::TooLarge {
        cells,
        most: MOST_NUMBERED_CELLS,
        gib: cells * bytes_per_cell / f64::powi(1024.0, 3),
    })
}
