//! What `octree` says about itself.

use crate::adapt::{size_given, tree_shape};
use crate::expected::EXPECTED_FAILURES;
use crate::{OctreeSolver, Params, estimate_first_tree};
use fluvial_foundation::Vec3;
use fluvial_grids::octree::MAX_CELLS;
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{
    Capabilities, ExpectedFailure, Listed, Needs, ParamError, Scenario, Setup, SetupError, Solver, Tracker,
    TransportTest, VERTICES_PER_FACE, Variant, VolumeCorrection, Volumes, read_method,
};
use std::sync::Arc;

/// Memory by cell of the tree, more by liquid cell and by particle, fitted to peaks of its scenes; a
/// checkpoint's.
const BYTES_PER_CELL: f64 = 640.0;
const BYTES_PER_LIQUID_CELL: f64 = 1290.0;
const BYTES_PER_PARTICLE: f64 = 260.0;
const BYTES_FIXED: f64 = 10e6;
const CHECKPOINT_BYTES_PER_CELL: f64 = 34.0;
const CHECKPOINT_BYTES_PER_PARTICLE: f64 = 36.0;
const CHECKPOINT_BYTES_FIXED: f64 = 4e3;
/// How far the largest tree of a run lies between the first and one with the finest cells all along the
/// surface, with [`LIVELY_CELLS`] along the longest side: where liquid falls; and for each part of the
/// surface that solids pass through, with the waves they make. The smaller the cells, the fewer places ask
/// for the smallest.
const LIVELY_SHARE: f64 = 0.8;
const LIVELY_SHARE_FLIP: f64 = 1.0;
const WAKE_WIDTH: f64 = 4.0;
const LIVELY_CELLS: f64 = 64.0;
const LIVELY_POWER: f64 = 0.65;
/// A tree with the finest cells all along the surface has so many cells and liquid cells for each face of
/// surface.
const CELLS_PER_FACE: f64 = 14.0;
const LIQUID_CELLS_PER_FACE: f64 = 6.6;
/// Particles in a full cell of the band.
const PARTICLES_PER_CELL: f64 = 8.0;
/// A sparse volume by face of closed surface.
const VDB_BYTES_PER_FACE: f64 = 65.0;
/// Moments at which moving solids are looked at, and points along each side.
const LOOKS: usize = 64;

impl Listed for Params {
    const NAME: &'static str = "octree";
    const ABOUT: &'static str = "Cells as small as the surface asks for, on an octree that follows it.";

    fn first_error(&self) -> Option<ParamError> {
        self.first_error()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: self.tracker == Tracker::Flip,
            volumes: Volumes::Sparse,
            adaptive: true,
            given_flow: false,
            contact_angles: true,
            friction: true,
            surface_tension: true,
            any_gravity: true,
            thin_walls: true,
            moving_solids: true,
            bodies: true,
        }
    }

    fn pressure_tolerance(&self) -> f64 {
        self.pressure.pressure_tolerance
    }

    /// The finest cells need not all exist: a side must fit the tree's coordinates, memory is predicted.
    fn check_size(&self, setup: &Setup) -> Result<(), SetupError> {
        let longest = setup.domain.grid.cells.into_iter().fold(0, usize::max);
        if longest > MAX_CELLS {
            return Err(SetupError::Invalid(format!(
                "{longest} finest cells along a side are too many: the method `octree` has {MAX_CELLS} at most"
            )));
        }
        tree_shape(setup, self).map(drop)
    }

    /// Regions get the largest cells of the tree that are not larger than they ask for.
    fn notes(&self, setup: &Setup) -> Vec<String> {
        let Ok(shape) = tree_shape(setup, self) else { return vec![] };
        let mut notes = vec![];
        for (n, region) in setup.refine.iter().enumerate() {
            let given = size_given(region.dx, &shape);
            if (given / region.dx - 1.0).abs() > 1e-3 {
                notes.push(format!(
                    "refine {} asks for cells of {} m and gets {given} m: sizes are `dx` times a power of two, from {} to {} m",
                    n + 1,
                    region.dx,
                    shape.dx,
                    size_given(f32::MAX, &shape),
                ));
            }
        }
        notes
    }

    /// The first tree is built and counted, a very large one estimated; a splash makes it grow towards one that is fine all along the
    /// surface.
    fn predict(&self, scenario: &Scenario) -> Needs {
        let first = estimate_first_tree(scenario.setup, self).unwrap_or_default();
        let has_particles = self.tracker == Tracker::Flip;
        let share = lively_share(scenario, if has_particles { LIVELY_SHARE_FLIP } else { LIVELY_SHARE });
        let faces = first.surface_faces;
        let grown = |first: usize, finest: f64| first as f64 + share * (finest - first as f64).max(0.0);
        let inside = scenario.survey.inside;
        let cells = grown(first.cells, CELLS_PER_FACE * faces);
        let liquid_cells = grown(first.liquid_cells, (LIQUID_CELLS_PER_FACE * faces).min(inside.cells));
        let band_cells = share * faces * f64::from(self.narrow_band);
        let particles = if has_particles { band_cells * PARTICLES_PER_CELL } else { 0.0 };
        Needs {
            cells: first.cells as f64,
            liquid_cells: first.liquid_cells as f64,
            memory_bytes: BYTES_FIXED
                + cells * BYTES_PER_CELL
                + liquid_cells * BYTES_PER_LIQUID_CELL
                + particles * BYTES_PER_PARTICLE,
            particles,
            vertices: VERTICES_PER_FACE * grown(first.surface_cells, faces),
            volume_bytes: VDB_BYTES_PER_FACE * (inside.surface_faces + share * faces),
            checkpoint_bytes: CHECKPOINT_BYTES_PER_CELL * cells
                + CHECKPOINT_BYTES_PER_PARTICLE * particles
                + CHECKPOINT_BYTES_FIXED,
        }
    }

    fn build(&self, setup: Setup) -> Result<Box<dyn Solver>, SetupError> {
        Ok(Box::new(OctreeSolver::new(setup, self.clone())?))
    }

    fn variants() -> Vec<Variant> {
        let variant = |name, tracker| {
            let params = Params { tracker, ..Params::default() };
            let uncorrected = Params { volume_correction: VolumeCorrection::Off, ..params.clone() };
            Variant {
                name,
                method: Arc::new(params),
                uncorrected: Arc::new(uncorrected),
                transport: TransportTest::None,
                read: read_method::<Params>,
            }
        };
        vec![variant("octree/levelset", Tracker::Levelset), variant("octree/flip", Tracker::Flip)]
    }

    fn expected_failures() -> &'static [ExpectedFailure] {
        EXPECTED_FAILURES
    }
}

/// How far a tree will grow towards the finest cells all along the surface, 0 to `most`.
fn lively_share(scenario: &Scenario, most: f64) -> f64 {
    let setup = scenario.setup;
    let longest = setup.domain.grid.cells.into_iter().fold(0, usize::max) as f64;
    let at_this_size = |share: f64| share * (LIVELY_CELLS / longest.max(LIVELY_CELLS)).powf(LIVELY_POWER);
    let moves = setup.fills.iter().any(|fill| fill.velocity != Vec3::ZERO) || !setup.sources.is_empty();
    let falls = scenario.survey.upright_faces > 0.0;
    // Where bodies will be is not known; what they stir runs on through all of the surface.
    let has_bodies = setup.solids.iter().any(|solid| solid.free.is_some());
    if moves || has_bodies || (falls && setup.liquid.gravity != Vec3::ZERO) {
        return at_this_size(most);
    }
    at_this_size((WAKE_WIDTH * swept_share(scenario)).min(most))
}

/// The part of the surface, seen from above, that moving solids pass through during a run.
fn swept_share(scenario: &Scenario) -> f64 {
    let setup = scenario.setup;
    let moving: Vec<_> = setup.solids.iter().filter(|s| !s.motion.is_static()).collect();
    if moving.is_empty() {
        return 0.0;
    }
    let bounds = setup.domain.grid.bounds();
    let times = (0..=LOOKS).map(|n| scenario.end_s * n as f64 / LOOKS as f64);
    let placed: Vec<PlacedSolids> =
        times.map(|t| PlacedSolids::new(moving.iter().map(|s| (&s.shape, &s.motion)), t)).collect();
    let place =
        |n: usize, axis: usize| bounds.min[axis] + bounds.size()[axis] * (n as f32 + 0.5) / LOOKS as f32;
    let (mut surface, mut swept) = (0, 0);
    for column in 0..LOOKS * LOOKS {
        let at = |y| Vec3::new(place(column % LOOKS, 0), y, place(column / LOOKS, 2));
        let wet = |x: &Vec3| setup.fill_distance(*x) < 0.0;
        let Some(top) = (0..LOOKS).rev().map(|n| at(place(n, 1))).find(wet) else { continue };
        surface += 1;
        // The moments are apart: half the way of a solid between two of them belongs to it.
        let reach = 0.5 * bounds.size().max_element() / LOOKS as f32;
        swept += usize::from(placed.iter().any(|solids| solids.distance(top, reach) < reach));
    }
    swept as f64 / f64::from(surface.max(1))
}
