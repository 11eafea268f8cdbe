//! What adapts: the tree to the liquid, boundaries to the tree, the liquid to sources and sinks.

use crate::OctreeSolver;
use crate::params::Params;
use crate::state::{Boundaries, SourceTags};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::{SMOOTHING_PASSES, Shape as TreeShape, Side};
use fluvial_octree::extend::extend_cells;
use fluvial_octree::fractions::{close_walls, open_fractions, solid_velocity};
use fluvial_octree::redistance::redistance;
use fluvial_octree::sizing::{self, Scene};
use fluvial_octree::volume::{Open, liquid_volume};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Setup, SetupError};
use std::sync::Arc;

/// Unless `max_dx` asks for it, no coarsest cell is larger than 32 finest ones, or than an eighth of the domain's shortest side: a
/// calm surface is as coarse as it may be, and must still be one.
const MOST_LEVELS: usize = 6;
const FEWEST_ROOTS: usize = 8;
/// Rounds of the progressive start [octree §6.4].
const FIRST_ROUNDS: usize = 3;
/// The tree is built anew when liquid may have crossed this many finest cells: its levels are three cells wide at least.
const REBUILD_AFTER_CELLS: f64 = 1.0;
/// Solids' distances are true up to this many cells.
const SOLID_BAND_CELLS: f32 = 3.0;
/// Nodes nearer than this part of a cell to a solid's surface lie on it, see `fluvial_solids::rasterize`.
const ON_SURFACE_CELLS: f32 = 1e-3;

/// The tree's box for a set-up: as many levels as all sides allow.
pub(crate) fn tree_shape(setup: &Setup, max_dx: Option<f32>) -> Result<TreeShape, SetupError> {
    let grid = setup.domain.grid;
    let possible = grid.cells.iter().map(|n| n.trailing_zeros() as usize + 1).min().unwrap_or(1);
    let levels = match max_dx {
        None => {
            let shortest = grid.cells.into_iter().min().unwrap_or(1);
            let few = (1..MOST_LEVELS).take_while(|&level| shortest >> level >= FEWEST_ROOTS).count() + 1;
            possible.min(few)
        }
        Some(max_dx) => {
            let levels = (max_dx / grid.dx * 1.0001).log2().floor().max(0.0) as usize + 1;
            if levels > possible {
                let [x, y, z] = grid.cells;
                return Err(SetupError::Invalid(format!(
                    "method.max_dx = {max_dx} m is {} finest cells, and the domain's {x} x {y} x {z} are no multiple of that: \
                     give the domain sides that are, or a max_dx of at most {} m",
                    1usize << (levels - 1),
                    grid.dx * (1usize << (possible - 1)) as f32,
                )));
            }
            levels
        }
    };
    let roots = grid.cells.map(|n| n >> (levels - 1));
    Ok(TreeShape { min: grid.min, dx: grid.dx, levels, roots })
}

/// The first tree, from the shapes themselves.
pub(crate) fn first_tree(setup: &Setup, params: &Params, shape: TreeShape) -> Octree {
    let phi = |x: Vec3| setup.fills.iter().map(|f| f.shape.distance(x)).fold(f32::MAX, f32::min);
    let solids = solids_at(setup, 0.0);
    let phi_solid = |x: Vec3| solids.distance(x, f32::MAX);
    let phi_solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)> =
        if solids.is_empty() { None } else { Some(&phi_solid) };
    let forced = |x: Vec3, reach: f32| forced_dx(setup, shape.dx, x, reach, 0.0);
    let sizing = params.sizing(shape.dx);
    sizing::build_first(shape, SMOOTHING_PASSES, FIRST_ROUNDS, &sizing, phi, phi_solid, forced)
}

/// The cell size that `[[refine]]` regions and sources force within `reach` of a point.
fn forced_dx(setup: &Setup, finest_dx: f32, x: Vec3, reach: f32, time_s: f64) -> f32 {
    let mut dx = f32::INFINITY;
    for region in &setup.refine {
        if region.dx < dx && region.shape.distance(x) < reach {
            dx = region.dx;
        }
    }
    for source in setup.sources.iter().filter(|s| time_s < s.active_s[1]) {
        if finest_dx < dx && source.shape.distance(x) < reach {
            dx = finest_dx;
        }
    }
    // A cell is divided when it is larger than what is wanted: rounding must not divide one that fits.
    1.0001 * dx
}

pub(crate) fn solids_at(setup: &Setup, time_s: f64) -> PlacedSolids<'_> {
    PlacedSolids::new(setup.solids.iter().map(|s| (&s.shape, &s.motion)), time_s)
}

impl OctreeSolver {
    /// Evaluates and keeps sizes, and builds the next tree where liquid has moved far enough.
    pub(crate) fn adapt(&mut self, dt_s: f64) {
        let params = self.params.sizing(self.shape.dx);
        self.balance_surface_air();
        let old = &self.state.fields;
        self.work.start.tracing.fill(&old.tree, &self.work.u_transport);
        let (tree, start) = (&old.tree, &self.work.start);
        let scene = Scene {
            tree,
            phi_cell: &start.phi_cell,
            phi_solid_cell: (!self.setup.solids.is_empty())
                .then_some(self.state.boundaries.phi_solid_cell.as_slice()),
            u_face: &start.u_face,
        };
        let mut size_cell = std::mem::take(&mut self.work.size_cell);
        size_cell.resize(tree.cell_count(), 0.0);
        sizing::evaluate(&mut size_cell, &scene, &params);
        sizing::keep(&mut size_cell, &old.size_cell, params.remaining(dt_s as f32));
        let moved = self.limits.speed_m_s.max(self.max_boundary_speed()) * dt_s / self.shape.dx as f64;
        self.work.cells_moved = self.state.cells_moved + moved;
        let sources_changed = start.sources_flowing != self.state.sources_flowing;
        self.work.fields.tree = tree.clone();
        if self.work.cells_moved >= REBUILD_AFTER_CELLS || sources_changed {
            self.work.cells_moved = moved;
            let mut spread = std::mem::take(&mut self.work.spread_cell);
            spread.clone_from(&size_cell);
            sizing::spread(&mut spread, &mut self.work.error_old, tree, params.sweeps);
            let sampler = self.sampler(tree);
            let phi = |x: Vec3| sampler.cells(&start.phi_cell, x);
            let from = |x: Vec3| x - dt_s as f32 * start.tracing.v_cell[tree.locate(x).cell as usize];
            let new = sizing::build(
                self.shape,
                SMOOTHING_PASSES,
                &params,
                (tree, &spread),
                phi,
                from,
                |x, reach| forced_dx(&self.setup, self.shape.dx, x, reach, self.state.time_s),
            );
            if new.cells() != tree.cells() {
                self.work.fields.tree = Arc::new(new);
            }
            self.work.spread_cell = spread;
        }
        self.work.size_cell = size_cell;
    }

    /// Solids on the new tree at the end of the step, sources on top.
    pub(crate) fn place_boundaries(&mut self, dt_s: f64) {
        let moving = self.setup.solids.iter().any(|s| !s.motion.is_static());
        let tree = self.work.fields.tree.clone();
        if !moving && Arc::ptr_eq(&tree, &self.state.fields.tree) {
            self.work.boundaries = self.state.boundaries.clone();
        } else {
            let mut scratch = std::mem::take(&mut self.work.fractions);
            self.work.boundaries =
                Arc::new(self.boundaries_on(&tree, self.state.time_s + dt_s, &mut scratch));
            self.work.fractions = scratch;
        }
        let mut sources = std::mem::take(&mut self.work.sources);
        self.tag_sources(&mut sources.cell, &tree);
        self.close_sources(&mut sources, &tree, &self.work.boundaries);
        self.work.sources = sources;
    }

    /// What solids leave of a tree at a moment.
    pub(crate) fn boundaries_on(
        &self,
        tree: &Octree,
        time_s: f64,
        scratch: &mut fluvial_octree::fractions::FractionsScratch,
    ) -> Boundaries {
        let mut out = Boundaries::default();
        let solids = solids_at(&self.setup, time_s);
        if solids.is_empty() {
            out.open_area = vec![1.0; tree.face_count()];
            out.open_volume = vec![1.0; tree.cell_count()];
            out.u_solid = vec![0.0; tree.face_count()];
        } else {
            let shape = tree.shape();
            out.phi_solid_node = parallel::map_indices(tree.node_count(), |node| {
                let dx = shape.dx_of(tree.nodes()[node].level as usize);
                let phi = solids.distance(tree.node_position(node), 2.0 * SOLID_BAND_CELLS * dx);
                if phi.abs() < ON_SURFACE_CELLS * dx { 0.0 } else { phi }
            });
            out.phi_solid_cell = parallel::map_indices(tree.cell_count(), |cell| {
                solids.distance(tree.cell_center(cell), f32::MAX)
            });
            open_fractions(&mut out.open_area, &mut out.open_volume, tree, &out.phi_solid_node, scratch);
            let (reach, area) = (SOLID_BAND_CELLS * shape.dx_of(shape.levels - 1), &mut out.open_area);
            area.iter_mut().filter(|a| **a < fluvial_solids::SMALLEST_OPEN_AREA).for_each(|a| *a = 0.0);
            solid_velocity(&mut out.u_solid, tree, area, |x| solids.velocity(x, reach));
        }
        close_walls(&mut out.open_area, tree, self.open_walls.map(|open| !open));
        let area = &out.open_area;
        out.closed_cell =
            tree.cell_faces().iter().map(|faces| faces.iter().all(|&f| area[f as usize] == 0.0)).collect();
        out
    }

    /// Tags the cells of active sources; empty when there are none.
    pub(crate) fn tag_sources(&self, tags: &mut Vec<u8>, tree: &Octree) {
        tags.clear();
        for (n, source) in self.active_sources() {
            tags.resize(tree.cell_count(), 0);
            parallel::for_each_chunk_mut(tags, parallel::CHUNK, |chunk, tags| {
                for (i, tag) in tags.iter_mut().enumerate() {
                    if source.shape.distance(tree.cell_center(chunk * parallel::CHUNK + i)) < 0.0 {
                        *tag = n as u8 + 1;
                    }
                }
            });
        }
    }

    /// Faces of tagged cells are boundaries with a velocity: inside, the source's; on its skin only the outward part
    /// (nothing is sucked in behind).
    fn close_sources(&self, sources: &mut SourceTags, tree: &Octree, boundaries: &Boundaries) {
        let SourceTags { cell: tags, area_face, u_boundary } = sources;
        area_face.clone_from(&boundaries.open_area);
        u_boundary.clone_from(&boundaries.u_solid);
        if tags.is_empty() {
            return;
        }
        for face in 0..tree.face_count() {
            if let Some(v) = self.source_velocity(tree, tags, face) {
                let open = area_face[face];
                u_boundary[face] = open * v + (1.0 - open) * u_boundary[face];
                area_face[face] = 0.0;
            }
        }
    }

    /// The velocity that an active source gives a face; none where it touches no source.
    pub(crate) fn source_velocity(&self, tree: &Octree, tags: &[u8], face: usize) -> Option<f32> {
        let axis = tree.face_axis(face);
        let tag = |side: Side| match side {
            Side::Outside => 0,
            Side::Cell(cell) => tags[cell as usize],
            Side::Quad(cells) => cells.iter().map(|&c| tags[c as usize]).max().unwrap_or(0),
        };
        let velocity = |tag: u8| self.setup.sources[tag as usize - 1].velocity[axis];
        let [low, high] = tree.sides(face).map(tag);
        match (low, high) {
            (0, 0) => None,
            (low, 0) => Some(velocity(low).max(0.0)),
            (0, high) => Some(velocity(high).min(0.0)),
            (low, _) => Some(velocity(low)),
        }
    }

    fn active_sources(&self) -> impl Iterator<Item = (usize, &fluvial_solver_interface::Source)> {
        let time_s = self.state.time_s;
        let active = move |[from, to]: [f64; 2]| from <= time_s && time_s < to;
        self.setup.sources.iter().enumerate().filter(move |(_, s)| active(s.active_s))
    }

    /// Copies the state's liquid, fills active sources and empties active sinks.
    ///
    /// Shapes that start now, or only drip (no velocity, hence no flux): what they add is inflow. Shapes that go
    /// on flowing are booked by their flux; topping them up mends what transport lost and books nothing.
    pub(crate) fn begin_with_sources(&mut self) {
        let mut start = std::mem::take(&mut self.work.start);
        start.phi_cell.clone_from(&self.state.fields.phi_cell);
        start.u_face.clone_from(&self.state.fields.u_face);
        start.volume.clone_from(&self.state.volume);
        start.sources_flowing.clone_from(&self.state.sources_flowing);
        let tree = self.state.fields.tree.clone();
        self.tag_sources(&mut start.tags, &tree);
        let time_s = self.state.time_s;
        let active = |[from, to]: [f64; 2]| from <= time_s && time_s < to;
        let sinks: Vec<_> = self.setup.sinks.iter().filter(|s| active(s.active_s)).collect();
        for (n, source) in self.setup.sources.iter().enumerate() {
            start.sources_flowing[n] = active(source.active_s);
        }
        if start.tags.is_empty() && sinks.is_empty() {
            self.work.start = start;
            return;
        }
        let at_cells = |phi: &mut [f32], change: &(dyn Fn(f32, Vec3) -> f32 + Sync)| {
            parallel::for_each_chunk_mut(phi, parallel::CHUNK, |chunk, phi| {
                for (i, phi) in phi.iter_mut().enumerate() {
                    *phi = change(*phi, tree.cell_center(chunk * parallel::CHUNK + i));
                }
            });
        };
        let volume = |phi: &[f32]| liquid_volume(&tree, phi, self.open(&self.state.boundaries));
        let before_m3 = volume(&start.phi_cell);
        let flowed = |n: usize| self.state.sources_flowing[n] && self.setup.sources[n].velocity != Vec3::ZERO;
        for (_, source) in self.active_sources().filter(|&(n, _)| flowed(n)) {
            at_cells(&mut start.phi_cell, &|phi, x| phi.min(source.shape.distance(x)));
        }
        let topped_up_m3 = volume(&start.phi_cell);
        for (_, source) in self.active_sources().filter(|&(n, _)| !flowed(n)) {
            at_cells(&mut start.phi_cell, &|phi, x| phi.min(source.shape.distance(x)));
        }
        let filled_m3 = volume(&start.phi_cell);
        for sink in sinks {
            at_cells(&mut start.phi_cell, &|phi, x| phi.max(-sink.shape.distance(x)));
        }
        let after_m3 = volume(&start.phi_cell);
        if !start.tags.is_empty() {
            for face in 0..tree.face_count() {
                if let Some(v) = self.source_velocity(&tree, &start.tags, face) {
                    start.u_face[face] = v;
                }
            }
        }
        start.volume.book_sources_and_sinks(filled_m3 - topped_up_m3, filled_m3 - after_m3);
        self.remeasure_bodies(&mut start, topped_up_m3 - before_m3);
        self.work.start = start;
    }

    /// What solids leave open, for volumes.
    pub(crate) fn open<'a>(&self, boundaries: &'a Boundaries) -> Option<Open<'a>> {
        (!self.setup.solids.is_empty()).then_some(Open {
            volume_cell: &boundaries.open_volume,
            phi_solid_node: &boundaries.phi_solid_node,
        })
    }

    /// Makes phi a distance to the same surface again, and continues it into solids.
    pub(crate) fn redistance(&mut self, clamps: &mut fluvial_solver_interface::Clamps) {
        let work = &mut self.work;
        let (tree, phi) = (&work.fields.tree, &mut work.fields.phi_cell);
        let closed = &work.boundaries.closed_cell;
        let info = redistance(phi, tree, closed, &mut work.redistance);
        clamps.add("flat_distances", info.flat);
        if !self.setup.solids.is_empty() {
            extend_cells(phi, tree, closed, &mut work.extend);
        }
    }
}
