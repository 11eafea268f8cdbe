//! The next tree: smallest leaves at the surface, at solids, sources and sinks, larger ones elsewhere [power §4.2, §6.1].

use crate::Params;
use crate::state::{Model, Step, Tree};
use fluvial_foundation::Vec3;
use fluvial_grids::octree::{Cell, Shape as TreeShape};
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;
use fluvial_power::band::Band;
use fluvial_power::diagram::Diagram;
use fluvial_power::stencil::StencilTable;
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Setup, SetupError, StepError, Wall};
use std::sync::Arc;

/// Unless `levels` asks for it, no leaf is larger than 32 smallest ones, or than an eighth of the domain's shortest side.
const MOST_LEVELS: usize = 6;
const FEWEST_ROOTS: usize = 8;
/// Half the diagonal of a cube.
const HALF_DIAGONAL: f32 = 0.867;

/// The tree's box for a set-up.
pub(crate) fn tree_shape(setup: &Setup, params: &Params) -> Result<TreeShape, SetupError> {
    let grid = setup.domain.grid;
    let possible = grid.cells.iter().map(|n| n.trailing_zeros() as usize + 1).min().unwrap_or(1);
    let levels = match params.levels {
        None => {
            let shortest = grid.cells.into_iter().min().unwrap_or(1);
            let few = (1..MOST_LEVELS).take_while(|&level| shortest >> level >= FEWEST_ROOTS).count() + 1;
            possible.min(few)
        }
        Some(levels) if levels as usize > possible => {
            let [x, y, z] = grid.cells;
            let message = format!(
                "{levels} levels have leaves of {} smallest ones, and the domain's {x} x {y} x {z} are no multiple of that",
                1usize << (levels - 1)
            );
            let help = format!("give the domain sides that are, or at most {possible} levels");
            return Err(SetupError::Parameter { name: "levels", message, help });
        }
        Some(levels) => levels as usize,
    };
    if let Some(dx) = params.surface_dx {
        let exact = (dx / grid.dx).log2();
        if (exact - exact.round()).abs() > 1e-3 || exact.round() < 0.0 || exact.round() >= levels as f32 {
            let message = format!("surface_dx = {dx} m is no size of a leaf");
            let largest = grid.dx * (1u32 << (levels - 1)) as f32;
            let help = format!("give `dx`, {} m, times a power of two, up to {largest} m", grid.dx);
            return Err(SetupError::Parameter { name: "surface_dx", message, help });
        }
    }
    let root = 1usize << (levels - 1);
    let open = |side: usize| usize::from(setup.domain.walls[side] == Wall::Open);
    let roots = [0, 1, 2].map(|a| grid.cells[a] / root + open(2 * a) + open(2 * a + 1));
    let ring = Vec3::from_array([0, 1, 2].map(|a| (root * open(2 * a)) as f32));
    Ok(TreeShape { min: grid.min - grid.dx * ring, dx: grid.dx, levels, roots })
}

impl Model {
    /// Must a cell be divided, when the surface is no nearer to its centre than `distance`?
    fn is_divided(&self, cell: Cell, distance: f32, solids: &PlacedSolids, time_s: f64) -> bool {
        let (dx, x) = (self.shape.dx_of(cell.level as usize), self.shape.center(cell));
        let (radius, smallest) = (HALF_DIAGONAL * dx, self.shape.dx);
        let surface_dx = self.surface_dx();
        let is_larger = |wanted: f32| dx > 1.001 * wanted;
        let near = |distance: f32| distance < radius + smallest;
        let setup = &self.setup;
        is_larger(surface_dx) && distance < radius + self.params.surface_depth * surface_dx
            || is_larger(surface_dx) && !solids.is_empty() && near(solids.distance(x, 2.0 * dx).abs())
            || setup.refine.iter().any(|r| is_larger(r.dx) && near(r.shape.distance(x)))
            || setup.sources.iter().any(|source| {
                let pose = source.motion.pose(time_s);
                time_s < source.active_s[1] && near(source.shape.distance(pose.body_from_world(x)))
            })
            || setup.sinks.iter().any(|sink| time_s < sink.active_s[1] && near(sink.shape.distance(x).abs()))
    }

    /// A tree for a surface of which `distance(x)` is a lower bound.
    pub fn tree(
        &self,
        distance: impl Fn(Vec3) -> f32 + Sync,
        time_s: f64,
        table: Arc<StencilTable>,
    ) -> std::io::Result<Tree> {
        let solids = self.setup.solids_at(time_s);
        let divide = |cell: Cell| self.is_divided(cell, distance(self.shape.center(cell)), &solids, time_s);
        let build = |backing: Backing| Pyramid::build(backing, self.shape, divide);
        let mut pyramid = build(Backing::Reserved).or_else(|_| build(Backing::Table))?;
        let diagram = Diagram::with_table(&mut pyramid, table);
        Ok(Tree { pyramid, diagram })
    }
}

impl Step<'_> {
    /// The tree at the end of the step.
    pub fn next_tree(&self, band: &Band) -> Result<Tree, StepError> {
        let old = self.old.tree.view();
        let farthest = self.farthest();
        let distance = |x: Vec3| {
            band.linear(x).map(f32::abs).unwrap_or_else(|| {
                let leaf = old.locate(x);
                let known = old.value(leaf, fluvial_power::channels::PHI).abs();
                // Beyond the band nothing is nearer than its reach.
                (known - old.center(leaf).distance(x) - farthest).max(band.reach)
            })
        };
        let tree =
            self.model.tree(distance, self.old.time_s + self.dt_s, self.old.tree.diagram.shared_table());
        tree.map_err(|error| StepError::Pressure(format!("no memory for the tree: {error}")))
    }

    /// Nothing moves farther during the step, m.
    pub fn farthest(&self) -> f32 {
        let gravity = f64::from(self.model.setup.liquid.gravity.length());
        let speed = self.old.limiting_speed_m_s.max(self.model.boundary_speed_m_s(self.old.time_s));
        (1.5 * (speed + gravity * self.dt_s) * self.dt_s) as f32
    }
}
