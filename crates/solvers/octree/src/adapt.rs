//! The tree adapts to the liquid [octree §6].

use crate::bodies::{FINEST_AROUND_BODIES_CELLS, bodies_at};
use crate::measure::boundary_speed_m_s;
use crate::params::Params;
use crate::state::{SizeScratch, Start, Step};
use crate::thin::FINEST_AROUND_CELLS;
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::{SMOOTHING_PASSES, Shape as TreeShape};
use fluvial_octree::interpolate::Tracing;
use fluvial_octree::sizing::{self, Scene};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Setup, SetupError};
use std::sync::Arc;

/// Unless `max_dx` asks for it, no coarsest cell is larger than 32 finest ones, or than an eighth of the
/// domain's shortest side: a calm surface is as coarse as it may be, and must still be one.
const MOST_LEVELS: usize = 6;
const FEWEST_ROOTS: usize = 8;
/// Rounds of the progressive start [octree §6.4].
const FIRST_ROUNDS: usize = 3;
/// The tree is built anew when liquid may have crossed this many finest cells: its levels are three cells
/// wide at least.
const REBUILD_AFTER_CELLS: f64 = 1.0;

/// How many times `dx` was doubled to give `size_m`, if a number of times was.
fn doublings(name: &'static str, size_m: f32, dx: f32) -> Result<usize, SetupError> {
    let exact = (size_m / dx).log2();
    let nearest = exact.round().max(0.0);
    // Lengths of scenes are typed with four digits.
    if (exact - nearest).abs() < 1e-3 {
        return Ok(nearest as usize);
    }
    let below = dx * exact.floor().max(0.0).exp2();
    let help = match size_m < dx {
        true => format!("the smallest is {dx} m, the domain's `dx`"),
        false => format!("give {below} or {} m", 2.0 * below),
    };
    let message =
        format!("{name} = {size_m} m is no size of a cell: those are `dx`, {dx} m, times a power of two");
    Err(SetupError::Parameter { name, message, help })
}

/// The size of the tree's cells where one of `wanted_m` is asked for: the largest that is not larger.
pub(crate) fn size_given(wanted_m: f32, shape: &TreeShape) -> f32 {
    let level = (1.0001 * wanted_m / shape.dx).log2().floor().clamp(0.0, (shape.levels - 1) as f32);
    shape.dx * level.exp2()
}

/// The tree's box for a set-up: as many levels as all sides allow.
pub(crate) fn tree_shape(setup: &Setup, params: &Params) -> Result<TreeShape, SetupError> {
    let grid = setup.domain.grid;
    let possible = grid.cells.iter().map(|n| n.trailing_zeros() as usize + 1).min().unwrap_or(1);
    let levels = match params.max_dx {
        None => {
            let shortest = grid.cells.into_iter().min().unwrap_or(1);
            let few = (1..MOST_LEVELS).take_while(|&level| shortest >> level >= FEWEST_ROOTS).count() + 1;
            possible.min(few)
        }
        Some(max_dx) => {
            let levels = doublings("max_dx", max_dx, grid.dx)? + 1;
            if levels > possible {
                let [x, y, z] = grid.cells;
                let message = format!(
                    "max_dx = {max_dx} m is {} finest cells, and the domain's {x} x {y} x {z} are no multiple of that",
                    1usize << (levels - 1)
                );
                let most = grid.dx * (1usize << (possible - 1)) as f32;
                let help = format!("give the domain sides that are, or a max_dx of at most {most} m");
                return Err(SetupError::Parameter { name: "max_dx", message, help });
            }
            levels
        }
    };
    if let Some(min_dx) = params.min_dx
        && doublings("min_dx", min_dx, grid.dx)? >= levels
    {
        let largest = grid.dx * (1usize << (levels - 1)) as f32;
        let message = format!("min_dx = {min_dx} m is larger than the largest cell, {largest} m");
        let help = format!("give at most {largest} m, or a larger `max_dx`");
        return Err(SetupError::Parameter { name: "min_dx", message, help });
    }
    let roots = grid.cells.map(|n| n >> (levels - 1));
    Ok(TreeShape { min: grid.min, dx: grid.dx, levels, roots })
}

/// The first tree, from the shapes themselves.
pub(crate) fn first_tree(setup: &Setup, params: &Params, shape: TreeShape, thin: &[bool]) -> Octree {
    let solids = setup.solids_at(0.0);
    let phi_solid = |x: Vec3| solids.distance(x, f32::MAX);
    let phi_solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)> =
        if solids.is_empty() { None } else { Some(&phi_solid) };
    let thin = thin_at(setup, thin, 0.0);
    let finest = (shape.dx, &thin, &bodies_at(setup, 0.0));
    let forced = |x: Vec3, reach: f32| forced_dx(setup, finest, x, reach, 0.0);
    let sizing = params.sizing(shape.dx);
    let phi = |x: Vec3| setup.fill_distance(x);
    sizing::build_first(shape, SMOOTHING_PASSES, FIRST_ROUNDS, &sizing, phi, phi_solid, forced)
}

/// The thin solids at a moment.
fn thin_at<'a>(setup: &'a Setup, thin: &[bool], time_s: f64) -> PlacedSolids<'a> {
    let solids = setup.solids.iter().zip(thin).filter(|(_, thin)| **thin);
    PlacedSolids::new(solids.map(|(s, _)| (&s.shape, &s.motion)), time_s)
}

/// The cell size that `[[refine]]` regions, sources, sinks, thin solids and the surfaces of bodies force within `reach` of a
/// point.
fn forced_dx(
    setup: &Setup,
    (finest_dx, thin, bodies): (f32, &PlacedSolids, &PlacedSolids),
    x: Vec3,
    reach: f32,
    time_s: f64,
) -> f32 {
    let mut dx = f32::INFINITY;
    for region in &setup.refine {
        if region.dx < dx && region.shape.distance(x) < reach {
            dx = region.dx;
        }
    }
    for source in setup.sources.iter().filter(|s| time_s < s.active_s[1]) {
        let pose = source.motion.pose(time_s);
        if finest_dx < dx && source.shape.distance(pose.body_from_world(x)) < reach {
            dx = finest_dx;
        }
    }
    for sink in setup.sinks.iter().filter(|s| time_s < s.active_s[1]) {
        if finest_dx < dx && sink.shape.distance(x) < reach {
            dx = finest_dx;
        }
    }
    let around_m = reach + FINEST_AROUND_CELLS * finest_dx;
    if finest_dx < dx && thin.distance(x, around_m) < around_m {
        dx = finest_dx;
    }
    let around_m = reach + FINEST_AROUND_BODIES_CELLS * finest_dx;
    if finest_dx < dx && bodies.distance(x, around_m).abs() < around_m {
        dx = finest_dx;
    }
    // A cell is divided when it is larger than what is wanted: rounding must not divide one that fits.
    1.0001 * dx
}

/// The tree that a step goes on to.
pub(crate) struct Adapted<'a> {
    pub tree: Arc<Octree>,
    /// How many finest cells the fastest liquid will have crossed since it was built.
    pub cells_moved: f64,
    /// How small the cells of the present tree should be, 1/m.
    pub size_cell: &'a [f32],
}

impl Step<'_> {
    /// Sizes are evaluated and spread, and the next tree is built for where the surface will be.
    pub fn adapt<'b>(&self, start: &Start, tracing: &Tracing, scratch: &'b mut SizeScratch) -> Adapted<'b> {
        self.find_sizes(&mut scratch.wanted_cell, start);
        let (tree, cells_moved) = self.next_tree(start, tracing, scratch);
        Adapted { tree, cells_moved, size_cell: &scratch.wanted_cell }
    }

    /// How small the cells of the present tree should be, 1/m: evaluated on the liquid, or what time has left
    /// of earlier wishes.
    fn find_sizes(&self, size_cell: &mut Vec<f32>, start: &Start) {
        let (model, old) = (self.model, &self.old.fields);
        let params = model.params.sizing(model.shape.dx);
        let scene = Scene {
            tree: &old.tree,
            phi_cell: &start.phi_cell,
            phi_solid_cell: model.has_solids().then_some(&self.old.boundaries.phi_solid_cell[..]),
            u_face: &start.u_face,
        };
        size_cell.resize(old.tree.cell_count(), 0.0);
        sizing::evaluate(size_cell, &scene, &params);
        self.refine_at_drops(size_cell);
        sizing::keep(size_cell, &old.size_cell, params.remaining(self.dt_s as f32));
    }

    /// The next tree, and how many finest cells the fastest liquid will have crossed since it was built. The
    /// present tree stays until liquid may have moved far enough, or sources begin or end.
    fn next_tree(&self, start: &Start, tracing: &Tracing, scratch: &mut SizeScratch) -> (Arc<Octree>, f64) {
        let (setup, shape, tree) = (&self.model.setup, self.model.shape, &self.old.fields.tree);
        let speed_m_s = self.old.limits.speed_m_s.max(boundary_speed_m_s(setup, self.old));
        let moved = speed_m_s * self.dt_s / shape.dx as f64;
        let since_built = self.old.cells_moved + moved;
        let sources_changed = !self.sources_flowing().eq(self.old.sources_flowing.iter().copied());
        if since_built < REBUILD_AFTER_CELLS && !sources_changed {
            return (tree.clone(), since_built);
        }
        let params = self.model.params.sizing(shape.dx);
        let SizeScratch { wanted_cell, spread_cell: spread, before_sweep_cell } = scratch;
        spread.clone_from(wanted_cell);
        sizing::spread(spread, before_sweep_cell, tree, params.sweeps);
        let sampler = self.model.sampler(tree);
        let phi = |x: Vec3| sampler.cells(&start.phi_cell, x);
        let from = |x: Vec3| x - self.dt_s as f32 * tracing.v_cell[tree.locate(x).cell as usize];
        let thin = thin_at(setup, &self.model.thin, self.old.time_s + self.dt_s);
        let finest = (shape.dx, &thin, &bodies_at(setup, self.old.time_s + self.dt_s));
        let forced = |x: Vec3, reach: f32| forced_dx(setup, finest, x, reach, self.old.time_s);
        let new = sizing::build(SMOOTHING_PASSES, &params, (tree, spread), phi, from, forced);
        (new.map_or_else(|| tree.clone(), Arc::new), moved)
    }
}
