//! The methods that validation and benchmarks know by name.

use fluvial_solver_interface::{Setup, SetupError, Solver};
use fluvial_solver_octree::OctreeSolver;
use fluvial_solver_sheets::SheetsSolver;
use fluvial_solver_uniform::{Params, Tracker, UniformSolver, VolumeCorrection};

/// Makes a solver for a set-up.
pub type Build = fn(Setup) -> Result<Box<dyn Solver>, SetupError>;

/// A method with its parameters.
pub struct Method {
    /// Scene name of the method, a slash, the variant.
    pub name: &'static str,
    /// What carries the liquid's shape, for cases that test the uniform grid's kernels alone; None for others.
    pub tracker: Option<Tracker>,
    /// Does it carry particles? Bars on rest and volume differ then.
    pub has_particles: bool,
    /// By which factor its pressure solve reduces the residual.
    pub pressure_tolerance: f64,
    /// Makes a solver.
    pub build: Build,
    /// The same without volume correction, whose divergence would hide what exact cases look for.
    pub build_uncorrected: Build,
}

/// All methods.
pub const METHODS: &[Method] = &[
    Method {
        name: "uniform/levelset",
        tracker: Some(Tracker::Levelset),
        has_particles: false,
        pressure_tolerance: UNIFORM_TOLERANCE,
        build: |setup| uniform(setup, Tracker::Levelset, true),
        build_uncorrected: |setup| uniform(setup, Tracker::Levelset, false),
    },
    Method {
        name: "uniform/flip",
        tracker: Some(Tracker::Flip),
        has_particles: true,
        pressure_tolerance: UNIFORM_TOLERANCE,
        build: |setup| uniform(setup, Tracker::Flip, true),
        build_uncorrected: |setup| uniform(setup, Tracker::Flip, false),
    },
    Method {
        name: "uniform/apic",
        tracker: Some(Tracker::Apic),
        has_particles: true,
        pressure_tolerance: UNIFORM_TOLERANCE,
        build: |setup| uniform(setup, Tracker::Apic, true),
        build_uncorrected: |setup| uniform(setup, Tracker::Apic, false),
    },
    Method {
        name: "octree",
        tracker: None,
        has_particles: false,
        pressure_tolerance: OCTREE_TOLERANCE,
        build: |setup| octree(setup, true),
        build_uncorrected: |setup| octree(setup, false),
    },
    Method {
        name: "sheets",
        tracker: None,
        has_particles: true,
        pressure_tolerance: SHEETS_TOLERANCE,
        build: |setup| sheets(setup, true),
        build_uncorrected: |setup| sheets(setup, false),
    },
];

/// The methods' defaults, by which the bar of hydrostatic rest is set.
const UNIFORM_TOLERANCE: f64 = 1e-5;
const OCTREE_TOLERANCE: f64 = 1e-5;
const SHEETS_TOLERANCE: f64 = 1e-5;

fn uniform(setup: Setup, tracker: Tracker, corrected: bool) -> Result<Box<dyn Solver>, SetupError> {
    let mut params = Params { tracker, ..Params::default() };
    if !corrected {
        params.volume_correction = VolumeCorrection::Off;
    }
    Ok(Box::new(UniformSolver::new(setup, params)?))
}

fn octree(setup: Setup, corrected: bool) -> Result<Box<dyn Solver>, SetupError> {
    let mut params = fluvial_solver_octree::Params::default();
    if !corrected {
        params.volume_correction = fluvial_solver_octree::VolumeCorrection::Off;
    }
    Ok(Box::new(OctreeSolver::new(setup, params)?))
}

/// Without correction of the positions, which is what moves this method's volume.
fn sheets(setup: Setup, corrected: bool) -> Result<Box<dyn Solver>, SetupError> {
    let mut params = fluvial_solver_sheets::Params::default();
    if !corrected {
        params.position_correction = fluvial_solver_sheets::PositionCorrection::Off;
    }
    Ok(Box::new(SheetsSolver::new(setup, params)?))
}

/// The solver that a scene asks for.
pub fn build(method: &fluvial_scene::Method, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
    match method {
        fluvial_scene::Method::Uniform(params) => Ok(Box::new(UniformSolver::new(setup, params.clone())?)),
        fluvial_scene::Method::Octree(params) => Ok(Box::new(OctreeSolver::new(setup, params.clone())?)),
        fluvial_scene::Method::Sheets(params) => Ok(Box::new(SheetsSolver::new(setup, params.clone())?)),
    }
}

/// The methods that a name stands for: one (`uniform/flip`), or all variants of a method (`uniform`).
pub fn find_methods(name: &str) -> Vec<&'static Method> {
    METHODS.iter().filter(|m| m.name == name || m.name.split('/').next() == Some(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_tolerance_is_the_methods_default() {
        assert_eq!(UNIFORM_TOLERANCE, Params::default().pressure_tolerance);
        assert_eq!(OCTREE_TOLERANCE, fluvial_solver_octree::Params::default().pressure_tolerance);
        assert_eq!(SHEETS_TOLERANCE, fluvial_solver_sheets::Params::default().pressure_tolerance);
    }

    #[test]
    fn names_stand_for_one_variant_or_all() {
        assert_eq!(find_methods("uniform").len(), 3);
        assert_eq!(find_methods("uniform/flip")[0].tracker, Some(Tracker::Flip));
        assert_eq!(find_methods("octree").len(), 1);
        assert!(find_methods("flip").is_empty());
    }
}
