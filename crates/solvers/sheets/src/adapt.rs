//! What changes the particles and the boundaries besides the flow and sources: solids; even spacing, sheets,
//! sampling.

use crate::state::{Boundaries, Solids};
use crate::{PositionCorrection, SheetsSolver};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::{Sides, UniformGrid};
use fluvial_mac::{find_closed_cells, find_parting_cells, find_rough_patches};
use fluvial_particles::{self as carriers, Surroundings};
use fluvial_sheets::{Depth, SolidSamples, Stiffness, ThinSides, UNIT_MASS, dilate};
use fluvial_solids::{Motion, Shape, SolidFields, rasterize, side_changes};
use fluvial_solver_interface::{Clamps, Setup};
use std::sync::Arc;

/// Particles keep this distance from solids and closed walls, in cells: as much as transport gives them.
const MARGIN_IN_CELLS: f32 = 0.02;

/// Layers of cells next to air in which nothing merges. The paper has two ("a few"); the density of the
/// outermost particles, which says where the surface is, reaches over two cells more, and still water must
/// not feel what happens below.
const SURFACE_LAYERS: usize = 5;

/// Steps from one merging to the next.
const MERGE_EVERY: u64 = 4;

/// Steps from one correction of the spacing among merged particles to the next: they lie deep, where it does
/// not show, and it takes twice the time of that among small ones.
const CORRECT_MERGED_EVERY: u64 = 2;

impl SheetsSolver {
    /// The step starts from the state.
    pub(crate) fn begin(&mut self) {
        let (state, work) = (&self.state, &mut self.work);
        work.population.clone_from(&state.population);
        work.account.clone_from(&state.account);
    }

    /// Volume of so many quanta, m3.
    pub(crate) fn volume_of(&self, quanta: u64) -> f64 {
        let d0 = self.params.radius_m(self.grid.dx) as f64;
        quanta as f64 / UNIT_MASS as f64 * d0.powi(3)
    }

    /// Brings solids to a moment.
    fn rasterize_solids(&self, solids: &mut Solids, time_s: f64) {
        let (grid, shapes): (_, Vec<(&Shape, &Motion)>) =
            (&self.grid, self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect());
        rasterize(&mut solids.fields, &shapes, self.setup.open_walls(), grid, time_s);
        solids.closed_cell.resize(grid.cell_count(), false);
        find_closed_cells(&mut solids.closed_cell, &solids.fields.open_area, grid);
        solids.may_part_cell.resize(grid.cell_count(), false);
        let (sticky_walls, sticky) = (self.setup.sticky_walls(), self.setup.sticky_solids_at(time_s));
        let holds = |x: Vec3| sticky.distance(x, grid.dx) < grid.dx;
        find_parting_cells(&mut solids.may_part_cell, grid, &solids.fields.open_area, sticky_walls, holds);
        if self.setup.has_friction() {
            let (placed, walls) = (self.setup.solids_at(time_s), self.setup.wall_friction());
            let solid = |x: Vec3| self.setup.rough_solid(&placed, x, 2.0 * grid.dx);
            solids.rough = find_rough_patches(grid, &solids.fields, walls, solid);
        }
        let full = self.params.particles_per_cell as f32;
        let room: Vec<f32> = solids.fields.open_volume.iter().map(|v| full * v).collect();
        let nodes = grid.nodes();
        solids.mirror = (!shapes.is_empty()).then(|| SolidSamples {
            origin: nodes.origin,
            spacing: nodes.spacing,
            size: nodes.size,
            phi: solids.fields.phi_node.as_slice().into(),
            sides: thin_sides(&solids.fields.sides, grid),
        });
        let mut room_cell = std::mem::take(&mut solids.room_cell);
        solids.sums(&mut room_cell, &mut vec![], &room, grid);
        solids.room_cell = room_cell;
    }

    /// Places the boundaries of the state as they are at its time, no source flowing.
    pub(crate) fn place_boundaries_of_state(&mut self) {
        self.work.boundaries = Boundaries::default();
        let mut solids = std::mem::take(&mut self.state.boundaries).solids;
        self.rasterize_solids(Arc::make_mut(&mut solids), self.state.time_s);
        self.state.population.walls.solid.clone_from(&solids.mirror);
        self.work.population.walls.solid.clone_from(&solids.mirror);
        self.work.boundaries.solids = solids.clone();
        self.state.boundaries.solids = solids;
    }

    /// Open areas and boundary velocities at the end of the step, the sources' faces on top of the solids'.
    pub(crate) fn place_boundaries(&mut self, dt_s: f64) {
        let mut solids = std::mem::take(&mut self.work.boundaries.solids);
        if self.setup.has_moving_solids() {
            // Two copies take turns: the state's and the step's. The first step makes the second one.
            self.rasterize_solids(Arc::make_mut(&mut solids), self.state.time_s + dt_s);
            self.work.population.walls.solid.clone_from(&solids.mirror);
        } else {
            solids = self.state.boundaries.solids.clone();
        }
        self.work.boundaries.solids = solids;
        self.place_sources(dt_s);
        if self.setup.has_moving_solids() {
            self.stay_on_sides(dt_s);
        }
    }

    /// Particles in cells that a thin solid passes in the step stay on their side of it.
    fn stay_on_sides(&mut self, dt_s: f64) {
        let shapes: Vec<(&Shape, &Motion)> =
            self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
        let (time_s, work) = (self.state.time_s, &mut self.work);
        let (old, new) = (&self.state.boundaries.solids.fields, &work.boundaries.solids.fields);
        let changes = side_changes([old, new], &shapes, [time_s, time_s + dt_s], &self.grid);
        if changes.is_empty() {
            return;
        }
        let refuge = |cell: usize| {
            let found = changes.binary_search_by_key(&(cell as u32), |change| change.cell).ok()?;
            changes[found].refuge.map(|cell| cell as usize)
        };
        carriers::flee(&mut work.population.particles.x, &new.sides, &self.grid, refuge);
        work.population.sort();
        work.population.measure();
    }

    /// Spaces the particles evenly [sheets Alg. 4].
    pub(crate) fn correct_positions(&mut self, clamps: &mut Clamps) {
        if self.params.position_correction == PositionCorrection::Off {
            return;
        }
        let place = Place::new(&self.setup, &self.work.boundaries.solids.fields, &self.grid);
        let population = &mut self.work.population;
        let stiffness = Stiffness {
            per_step: self.params.stiffness * self.params.nominal_dt,
            anisotropic: self.params.position_correction == PositionCorrection::Anisotropic,
            d0: population.params.d0,
            largest: population.largest_radius(),
            velocity_reach: self.params.velocity_reach,
            merged: self.state.steps.is_multiple_of(CORRECT_MERGED_EVERY),
        };
        let report = population.correct(&stiffness, |from, x| place.confine(from, x));
        clamps.add("position_correction_held", report.held);
        population.sort_with_shapes();
    }

    /// Inserts particles where sheets are about to tear and takes back those that are in the way [sheets Alg.
    /// 2].
    pub(crate) fn preserve_sheets(&mut self, clamps: &mut Clamps) {
        if !self.params.preserve_sheets {
            return;
        }
        let place = Place::new(&self.setup, &self.work.boundaries.solids.fields, &self.grid);
        let report = self.work.population.preserve(|from, x| place.allows(from, x));
        clamps.add("sheet_too_light_to_split", report.too_light);
    }

    /// Merges particles in deep liquid and splits them near the surface [sheets Alg. 3].
    pub(crate) fn adapt_sampling(&mut self) {
        if !self.params.adaptive_sampling {
            return;
        }
        self.fill_depth();
        let place = Place::new(&self.setup, &self.work.boundaries.solids.fields, &self.grid);
        // Splitting cannot wait; merging only saves work, and looking for pairs costs some.
        let merges = self.state.steps.is_multiple_of(MERGE_EVERY);
        let most = if merges { self.params.particles_per_cell as u8 } else { 1 };
        let allows = |from, x| place.allows(from, x);
        self.work.population.adapt(&self.work.depth_cell, most, allows, |a, b| place.sees(a, b));
    }

    /// Deep = fluid - dilate(empty, [`SURFACE_LAYERS`]), surface = fluid - dilate(deep, once), the rest
    /// neutral [sheets Alg. 3]. Masses are those of the last measurement: spacing and sheets have moved
    /// little since.
    fn fill_depth(&mut self) {
        let full = self.params.particles_per_cell as f32;
        let (work, share) = (&mut self.work, self.params.liquid_share);
        let Solids { fields, closed_cell, .. } = &*work.boundaries.solids;
        let mass_cell = &work.population.mass_cell;
        let empty: Vec<bool> = (0..mass_cell.len())
            .map(|c| !closed_cell[c] && mass_cell[c] < share * full * fields.open_volume[c].max(0.1))
            .collect();
        let size = self.grid.cells;
        let near_empty = dilate(&empty, size, SURFACE_LAYERS);
        let deep: Vec<bool> = near_empty.iter().map(|near| !near).collect();
        let near_deep = dilate(&deep, size, 1);
        for (c, depth) in work.depth_cell.iter_mut().enumerate() {
            *depth = match (empty[c], deep[c], near_deep[c]) {
                (true, ..) => Depth::Empty,
                (_, true, _) => Depth::Deep,
                (_, _, true) => Depth::Neutral,
                _ => Depth::Surface,
            };
        }
    }
}

/// Where particles may be: in the box, outside solids, and on their side of thin ones.
pub(crate) struct Place<'a> {
    bounds: Aabb,
    around: Surroundings<'a>,
    margin: f32,
}

impl<'a> Place<'a> {
    pub fn new(setup: &Setup, solids: &'a SolidFields, grid: &'a UniformGrid) -> Self {
        let margin = MARGIN_IN_CELLS * grid.dx;
        let around = surroundings(setup, solids, grid);
        Place { bounds: grid.bounds().expand(-margin), around, margin }
    }

    fn allows(&self, from: Vec3, x: Vec3) -> bool {
        self.bounds.contains(x) && self.sees(from, x) && self.is_open(x)
    }

    fn is_open(&self, x: Vec3) -> bool {
        self.around.phi_solid_node.is_empty() || self.around.solid_at(x).0 >= self.margin
    }

    /// May new liquid begin at a place? `is_crossed` says whether a solid stands between two points.
    pub fn is_free(&self, x: Vec3, is_crossed: impl Fn(Vec3, Vec3) -> bool) -> bool {
        self.bounds.contains(x) && self.is_open(x) && self.on_its_side(x, is_crossed) == x
    }

    /// The nearest place whose cell is on the side of thin solids that a place is on.
    pub fn on_its_side(&self, x: Vec3, is_crossed: impl Fn(Vec3, Vec3) -> bool) -> Vec3 {
        self.around.on_its_side(x, is_crossed)
    }

    /// Is there no thin solid between two points?
    fn sees(&self, from: Vec3, x: Vec3) -> bool {
        self.around.walk(from, x) == x
    }

    /// The place itself where no solid is, else the nearest middle of a cell that is open; itself where all is solid.
    pub fn nearest_open(&self, x: Vec3) -> Vec3 {
        let is_open = |x: Vec3| self.around.solid_at(x).0 >= 0.0;
        if is_open(x) {
            return x;
        }
        let cells = self.around.grid.cell_centers();
        let centers = (0..cells.len()).map(|cell| {
            let [i, j, k] = cells.coordinates(cell);
            cells.position(i, j, k)
        });
        let nearest = centers.filter(|&center| is_open(center));
        let way = |center: &Vec3| center.distance_squared(x);
        nearest.min_by(|a, b| way(a).total_cmp(&way(b))).unwrap_or(x)
    }

    /// The nearest place where a particle on its way from `from` to x may be.
    fn confine(&self, from: Vec3, x: Vec3) -> Vec3 {
        let x = self.around.walk(from, x.clamp(self.bounds.min, self.bounds.max));
        if self.around.phi_solid_node.is_empty() {
            return x;
        }
        let (phi, gradient) = self.around.solid_at(x);
        if phi >= self.margin {
            return x;
        }
        self.around.walk(x, x + (self.margin - phi) * gradient.normalize_or_zero())
    }
}

/// The sides of thin solids as the particles' sums know them.
fn thin_sides(sides: &Sides, grid: &UniformGrid) -> ThinSides {
    if sides.is_empty() {
        return ThinSides::default();
    }
    let own_corners = |cell: usize| sides.is_near(cell).then(|| sides.own_corners[cell]);
    let cells = grid.cell_centers();
    ThinSides::new(grid.cells, own_corners, |cell, axis, up| {
        let beside = if up { cell + cells.stride(axis) } else { cell - cells.stride(axis) };
        !sides.are_joined(cell, beside, axis, up)
    })
}

/// What bounds the particles.
pub(crate) fn surroundings<'a>(
    setup: &Setup,
    solids: &'a SolidFields,
    grid: &'a UniformGrid,
) -> Surroundings<'a> {
    let phi_solid_node: &[f32] = if setup.solids.is_empty() { &[] } else { &solids.phi_node };
    let (sides, open_walls) = (&solids.sides, setup.open_walls());
    Surroundings { grid, phi_solid_node, sides, open_walls, solid_speed_m_s: 0.0, drift_face: None }
}
