//! Solids on the columns: terrain and voxelised fractions [tall §3.1, §3.9.1].
//!
//! What stands on the floor and fills whole cells is terrain. Other static solids are kept as a list of cells by
//! column, moving ones are voxelised in every step.

use crate::TallSolver;
use crate::frame::Frame;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;
use fluvial_solids::{PlacedSolids, open_cell_volume};
use fluvial_solver_interface::{Setup, Wall};
use fluvial_tall::exchange::CellList;
use fluvial_tall::field::Velocity;
use fluvial_tall::pressure::stencil::SOLID_ABOVE;
use fluvial_tall::solids::{Ground, Placed, place};
use fluvial_tall::walls::Walls;

/// Half the diagonal of a cell, in cells: a solid farther away does not touch it.
const HALF_DIAGONAL: f32 = 0.867;
/// Solids are looked for this far, in cells, where nothing is near.
const LOOK_CELLS: f32 = 64.0;

/// Static solids by column.
#[derive(Default)]
pub(crate) struct Terrain {
    /// Heights, cells.
    pub heights: Vec<i32>,
    /// What lies above.
    pub ground: Ground,
    /// How high tops of tall cells may be, see `remesh::limit_ranges`.
    pub limits: Vec<[f32; 2]>,
}

/// Solids and what they leave open, on the columns of one moment.
#[derive(Default)]
pub(crate) struct SolidFields {
    /// Solid fraction as the projection sees it, by sample.
    pub fraction: Vec<f32>,
    /// Velocity of what is solid, by sample.
    pub u_solid: Vec<Velocity>,
    /// Open part of the cell of each sample.
    pub open_cell: Vec<f32>,
    /// Open volume of each column's tall cell, in cells.
    pub open_tall: Vec<f32>,
}

impl SolidFields {
    pub fn open(&self) -> fluvial_tall::volume::Open<'_> {
        fluvial_tall::volume::Open { cell: &self.open_cell, tall: &self.open_tall }
    }
}

/// The part of a cell that solids fill.
fn filled(solids: &PlacedSolids, center: Vec3, dx: f32) -> f32 {
    let distance = solids.distance(center, dx);
    if distance.abs() > HALF_DIAGONAL * dx {
        return if distance < 0.0 { 1.0 } else { 0.0 };
    }
    let corner = |n: usize| Vec3::from_array(std::array::from_fn(|a| (n >> a & 1) as f32 - 0.5));
    1.0 - open_cell_volume(std::array::from_fn(|n| solids.distance(center + dx * corner(n), 2.0 * dx)))
}

fn static_solids(setup: &Setup) -> PlacedSolids<'_> {
    let all = setup.solids.iter().filter(|s| s.motion.is_static());
    PlacedSolids::new(all.map(|s| (&s.shape, &s.motion)), 0.0)
}

fn moving_solids(setup: &Setup, time_s: f64) -> PlacedSolids<'_> {
    let all = setup.solids.iter().filter(|s| !s.motion.is_static());
    PlacedSolids::new(all.map(|s| (&s.shape, &s.motion)), time_s)
}

impl Terrain {
    pub fn new(setup: &Setup, frame: &Frame, regular: usize) -> Terrain {
        let solids = static_solids(setup);
        let [nx, nz] = frame.columns;
        let top = frame.height();
        let columns = parallel::map_indices(nx * nz, |c| {
            let (i, k) = (c % nx, c / nx);
            let (mut height, mut cells, mut y) = (0, vec![], 0);
            while y < top && !solids.is_empty() {
                let center = frame.center(i, y, k);
                let distance = solids.distance(center, LOOK_CELLS * frame.dx) / frame.dx;
                if distance > HALF_DIAGONAL + 1.0 {
                    y += (distance - HALF_DIAGONAL) as i32;
                    continue;
                }
                let part = filled(&solids, center, frame.dx);
                if part > SOLID_ABOVE && y == height {
                    height += 1;
                } else if part > 0.0 {
                    cells.push([y as f32, part]);
                }
                y += 1;
            }
            (height, cells)
        });
        let above = if frame.is_open_above { 0.0 } else { 1.0 };
        let ground = Ground { first: vec![0], cells: vec![], height: top, above };
        let mut terrain = Terrain { ground, ..Terrain::default() };
        for (height, cells) in columns {
            let lowest = (height + LEAST_TALL) as f32;
            let obstacle = cells.iter().find(|cell| cell[0] > height as f32).map_or(f32::MAX, |cell| cell[0]);
            // A column that reaches the ceiling has a cell of it: above its last one there is air.
            let highest = (top + 1 - regular as i32) as f32;
            terrain.limits.push([highest.max(lowest), obstacle.max(lowest)]);
            terrain.heights.push(height);
            terrain.ground.cells.extend(cells);
            terrain.ground.first.push(terrain.ground.cells.len() as u32);
        }
        terrain
    }
}

/// The walls of the domain that liquid lets go of.
pub(crate) fn letting_go(setup: &Setup, frame: &Frame) -> Walls {
    let lets_go = [0, 1, 4, 5, 3].map(|side| setup.domain.walls[side] == Wall::Solid);
    let liquid = setup.liquid;
    Walls::new(lets_go, frame.height(), frame.dx, liquid.density, liquid.gravity.length())
}

impl TallSolver {
    /// How high tops of tall cells may be at a moment: they stay below solids, and below the sources and sinks that are
    /// active at the begin of the step.
    pub(crate) fn limit_tops(&self, limits: &mut Vec<[f32; 2]>, begin_s: f64, end_s: f64) {
        limits.clone_from(&self.terrain.limits);
        let setup = &self.setup;
        let moving = setup.solids.iter().filter(|s| !s.motion.is_static());
        let solids = moving.map(|s| s.motion.pose(end_s).world_bounds(s.shape.bounds()));
        let flowing = setup.sources_flowing(begin_s, end_s - begin_s);
        let sources = flowing.map(|(_, s)| s.motion.pose(end_s).world_bounds(s.shape.bounds()));
        let sinks = setup.active_sinks(begin_s).map(|(_, sink)| sink.shape.bounds());
        for bounds in solids.chain(sources).chain(sinks) {
            self.frame.for_each_column(bounds, |column, lowest| {
                let ground = (self.terrain.heights[column] + LEAST_TALL) as f32;
                let limit = &mut limits[column][1];
                *limit = limit.min((lowest as f32).max(ground));
            });
        }
    }

    /// Solids that move at a moment, by the cells that they touch, with the numbers of bodies, from 1 on, behind their velocities.
    pub(crate) fn moving_cells(&self, time_s: f64) -> CellList {
        let (frame, setup) = (&self.frame, &self.setup);
        let moving = moving_solids(setup, time_s);
        // A cell that a solid touches, or whose own solid takes its velocity, is no farther away.
        let (near, among_moving) = (2.0 * frame.dx, setup.bodies_among_moving());
        let all = setup.solids.iter().filter(|s| !s.motion.is_static());
        let boxes = all.map(|s| s.motion.pose(time_s).world_bounds(s.shape.bounds()).expand(near));
        frame.list(boxes, |i, y, k| {
            let x = frame.center(i, y, k);
            let (n, v) = moving.nearest_solid(x, near)?;
            let part = filled(&moving, x, frame.dx);
            let body = among_moving[n].map_or(0.0, |body| (body + 1) as f32);
            (part > 0.0 || v != Vec3::ZERO).then_some((y, part, [v.x, v.y, v.z, body]))
        })
    }

    /// Puts the solids of a moment on the columns.
    pub(crate) fn place_solids(&self, out: &mut SolidFields, grid: &TallGrid, time_s: f64) {
        out.fraction.resize(grid.samples(), 0.0);
        out.u_solid.resize(grid.samples(), [0.0; 4]);
        out.open_cell.resize(grid.samples(), 1.0);
        out.open_tall.resize(grid.columns.len(), 0.0);
        let moving = self.setup.has_moving_solids().then(|| self.moving_cells(time_s));
        let SolidFields { fraction, u_solid, open_cell, open_tall } = out;
        let placed = Placed { fraction, open_cell, open_tall, u_solid };
        place(placed, grid, &self.terrain.ground, moving.as_ref());
    }
}
