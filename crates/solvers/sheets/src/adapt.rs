//! What changes the particles and the boundaries besides the flow: sources, sinks, solids; even spacing, sheets, sampling.

use crate::state::{FaceCells, for_each_face};
use crate::{PositionCorrection, SheetsSolver};
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::{Lattice, UniformGrid};
use fluvial_sheets::{Depth, SolidSamples, Stiffness, UNIT_MASS, box_sums, dilate};
use fluvial_solids::{Motion, Shape, SolidFields, rasterize};
use fluvial_solver_interface::{Clamps, Setup, Source};

/// Particles keep this distance from solids and closed walls, in cells: as much as transport gives them.
const MARGIN_IN_CELLS: f32 = 0.02;

/// Layers of cells next to air in which nothing merges. The paper has two ("a few"); the density of the outermost particles,
/// which says where the surface is, reaches over two cells more, and still water must not feel what happens below.
const SURFACE_LAYERS: usize = 5;

/// Steps from one merging to the next.
const MERGE_EVERY: u64 = 4;

/// Steps from one correction of the spacing among merged particles to the next: nobody sees it, and it takes twice the time of
/// that among small ones.
const CORRECT_MERGED_EVERY: u64 = 2;

impl SheetsSolver {
    /// The work starts from the state.
    pub(crate) fn begin(&mut self) {
        let (state, work) = (&self.state, &mut self.work);
        work.population.clone_from(&state.population);
        work.account = state.account;
        work.sources_flowing.clone_from(&state.sources_flowing);
    }

    /// Volume of so many quanta, m3.
    pub(crate) fn volume_of(&self, quanta: u64) -> f64 {
        let d0 = self.params.radius_m(self.grid.dx) as f64;
        quanta as f64 / UNIT_MASS as f64 * d0.powi(3)
    }

    /// Fills active sources and empties active sinks at the current moment.
    ///
    /// A source is a lattice of particles that runs through its shape at the given velocity: points that have come in since
    /// the last step become particles, so that what leaves is flux times time for any step. On the grid its faces carry that
    /// velocity, on its skin only the outward part: nothing is sucked in behind.
    pub(crate) fn apply_sources_and_sinks(&mut self) {
        let time_s = self.state.time_s;
        let active = |[from, to]: [f64; 2]| from <= time_s && time_s < to;
        self.work.source_cell.fill(0);
        let (mut added, mut removed) = (0, 0);
        for n in 0..self.setup.sources.len() {
            let source = self.setup.sources[n].clone();
            let flowed = self.work.sources_flowing[n];
            let flows = active(source.active_s);
            self.work.sources_flowing[n] = flows;
            if flows {
                self.tag_source(n, &source);
                added += self.emit(&source, flowed);
            }
        }
        for n in 0..self.setup.sinks.len() {
            let sink = &self.setup.sinks[n];
            if active(sink.active_s) {
                let population = &mut self.work.population;
                let leaves: Vec<bool> =
                    population.particles.x.iter().map(|&x| sink.shape.distance(x) <= 0.0).collect();
                removed += population.remove(&leaves);
            }
        }
        if added > 0 || removed > 0 {
            let (inflow, outflow) =
                (self.volume_of(added as u64 * UNIT_MASS as u64), self.volume_of(removed));
            self.work.account.inflow_m3 += inflow;
            self.work.account.outflow_m3 += outflow;
            self.work.population.sort();
            self.work.population.measure();
        }
    }

    fn tag_source(&mut self, index: usize, source: &Source) {
        let cells = self.grid.cell_centers();
        for_each_chunk_mut(&mut self.work.source_cell, cells.slab(), |k, tags| {
            for (n, tag) in tags.iter_mut().enumerate() {
                let x = cells.position(n % cells.size[0], n / cells.size[0], k);
                if source.shape.distance(x) < 0.0 {
                    *tag = index as u8 + 1;
                }
            }
        });
    }

    /// New particles of a source; how many.
    fn emit(&mut self, source: &Source, flowed: bool) -> usize {
        let (grid, d0) = (self.grid, self.params.radius_m(self.grid.dx));
        let per_axis = (self.params.particles_per_cell as f32).cbrt().round() as usize;
        let since_s = self.state.time_s - source.active_s[0];
        // Where the moving lattice stands, and where a point of it was a step ago.
        let phase = (source.velocity.as_dvec3() * since_s / d0 as f64).map(|v| v.rem_euclid(1.0)).as_vec3();
        let back = source.velocity * self.state.last_dt_s as f32;
        let cells = grid.cell_centers();
        let population = &mut self.work.population;
        let mut added = 0;
        for index in 0..cells.len() {
            let [i, j, k] = cells.coordinates(index);
            if source.shape.distance(cells.position(i, j, k)) > 2.0 * grid.dx {
                continue;
            }
            let corner = grid.min + grid.dx * Vec3::new(i as f32, j as f32, k as f32);
            for part in 0..per_axis.pow(3) {
                let at = [part % per_axis, part / per_axis % per_axis, part / (per_axis * per_axis)];
                let half =
                    if flowed || source.velocity != Vec3::ZERO { phase + 0.5 } else { Vec3::splat(0.5) };
                let x = corner + d0 * (Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32) + half);
                let entered = source.shape.distance(x) < 0.0
                    && (!flowed || source.velocity == Vec3::ZERO || source.shape.distance(x - back) >= 0.0);
                let free = || population.neighbours.is_empty_within(x, 0.5 * d0);
                if entered && grid.bounds().contains(x) && free() {
                    population.particles.push_small(x, source.velocity);
                    added += 1;
                }
            }
        }
        added
    }

    /// Open areas and boundary velocities at the end of the step.
    pub(crate) fn place_boundaries(&mut self, dt_s: f64) {
        let has_sources = self.work.source_cell.iter().any(|&t| t != 0);
        let moving = self.setup.solids.iter().any(|s| !s.motion.is_static());
        if self.boundaries_placed && !moving && !has_sources && !self.had_sources {
            return;
        }
        if moving || !self.boundaries_placed {
            let solids: Vec<(&Shape, &Motion)> =
                self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
            rasterize(&mut self.solids, &solids, self.open_walls, &self.grid, self.state.time_s + dt_s);
            self.mirror_at_solids();
            let full = self.params.particles_per_cell as f32;
            let room: Vec<f32> = self.solids.open_volume.iter().map(|v| full * v).collect();
            self.work.room_cell = box_sums(&room, self.grid.cells, 2);
        }
        let (grid, tags, sources) = (self.grid, &self.work.source_cell, &self.setup.sources);
        self.work.area_face.copy_from(&self.solids.open_area);
        self.work.u_boundary.copy_from(&self.solids.u_solid);
        if has_sources {
            for axis in AXES {
                let open = &self.solids.open_area[axis];
                for_each_face(&mut self.work.u_boundary[axis], &grid, axis, |face, cells, u| {
                    if let Some(v) = source_face_velocity(cells, tags, axis, |tag| sources[tag].velocity) {
                        *u = open[face] * v + (1.0 - open[face]) * *u;
                    }
                });
                for_each_face(&mut self.work.area_face[axis], &grid, axis, |_, cells, area| {
                    if cells.any(|c| tags[c] != 0) {
                        *area = 0.0;
                    }
                });
            }
        }
        let open = &self.solids.open_area;
        let faces = AXES.map(|axis| (grid.faces(axis), grid.faces(axis).stride(axis)));
        for_each_chunk_mut(&mut self.work.closed_cell, grid.cell_centers().slab(), |k, closed| {
            for (n, closed) in closed.iter_mut().enumerate() {
                let [i, j] = [n % grid.cells[0], n / grid.cells[0]];
                *closed = AXES.iter().all(|&axis| {
                    let (lattice, stride) = faces[axis];
                    let face = lattice.index(i, j, k);
                    open[axis][face] == 0.0 && open[axis][face + stride] == 0.0
                });
            }
        });
        self.boundaries_placed = true;
        self.had_sources = has_sources;
    }

    /// Density counts the liquid's mirror image in solids, as it does in walls.
    fn mirror_at_solids(&mut self) {
        if self.setup.solids.is_empty() {
            return;
        }
        let nodes = self.grid.nodes();
        let phi = self.solids.phi_node.as_slice().into();
        let solid = SolidSamples { origin: nodes.origin, spacing: nodes.spacing, size: nodes.size, phi };
        self.work.population.walls.solid = Some(solid.clone());
        self.state.population.walls.solid = Some(solid);
    }

    /// Alg. 4: even spacing.
    pub(crate) fn correct_positions(&mut self, clamps: &mut Clamps) {
        if self.params.position_correction == PositionCorrection::Off {
            return;
        }
        let place = Place::new(&self.setup, &self.solids, &self.grid);
        let population = &mut self.work.population;
        let stiffness = Stiffness {
            per_step: self.params.stiffness * self.params.nominal_dt,
            anisotropic: self.params.position_correction == PositionCorrection::Anisotropic,
            d0: population.params.d0,
            largest: population.largest_radius(),
            velocity_reach: self.params.velocity_reach,
            merged: self.state.steps.is_multiple_of(CORRECT_MERGED_EVERY),
        };
        let report = population.correct(&stiffness, |x| place.confine(x));
        clamps.add("position_correction_held", report.held);
        population.sort_with_shapes();
    }

    /// Alg. 2: insertion and collapse.
    pub(crate) fn preserve_sheets(&mut self, clamps: &mut Clamps) {
        if !self.params.preserve_sheets {
            return;
        }
        let place = Place::new(&self.setup, &self.solids, &self.grid);
        let report = self.work.population.preserve(|x| place.allows(x));
        clamps.add("sheet_too_light_to_split", report.too_light);
    }

    /// Alg. 3: merging and splitting.
    pub(crate) fn adapt_sampling(&mut self) {
        if !self.params.adaptive_sampling {
            return;
        }
        self.fill_depth();
        let place = Place::new(&self.setup, &self.solids, &self.grid);
        // Splitting cannot wait; merging only saves work, and looking for pairs costs some.
        let merges = self.state.steps.is_multiple_of(MERGE_EVERY);
        let most = if merges { self.params.particles_per_cell as u8 } else { 1 };
        self.work.population.adapt(&self.work.depth_cell, most, |x| place.allows(x));
    }

    /// Deep = fluid - dilate(empty, [`SURFACE_LAYERS`]), surface = fluid - dilate(deep, once), the rest neutral [sheets Alg. 3].
    /// Masses are those of the last measurement: spacing and sheets have moved little since.
    fn fill_depth(&mut self) {
        let full = self.params.particles_per_cell as f32;
        let (work, solids) = (&mut self.work, &self.solids);
        let share = self.params.liquid_share;
        let mass_cell = &work.population.mass_cell;
        let empty: Vec<bool> = (0..mass_cell.len())
            .map(|c| !work.closed_cell[c] && mass_cell[c] < share * full * solids.open_volume[c].max(0.1))
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

/// Where particles may be: in the box and outside solids.
struct Place<'a> {
    bounds: Aabb,
    nodes: Lattice,
    /// Empty without solids.
    phi_solid_node: &'a [f32],
    margin: f32,
}

impl<'a> Place<'a> {
    fn new(setup: &Setup, solids: &'a SolidFields, grid: &UniformGrid) -> Self {
        let margin = MARGIN_IN_CELLS * grid.dx;
        let phi_solid_node: &[f32] = if setup.solids.is_empty() { &[] } else { &solids.phi_node };
        Place { bounds: grid.bounds().expand(-margin), nodes: grid.nodes(), phi_solid_node, margin }
    }

    fn allows(&self, x: Vec3) -> bool {
        self.bounds.contains(x)
            && (self.phi_solid_node.is_empty() || self.nodes.sample(self.phi_solid_node, x) >= self.margin)
    }

    /// The nearest place where a particle may be.
    fn confine(&self, x: Vec3) -> Vec3 {
        let x = x.clamp(self.bounds.min, self.bounds.max);
        if self.phi_solid_node.is_empty() {
            return x;
        }
        let phi = self.nodes.sample(self.phi_solid_node, x);
        if phi >= self.margin {
            return x;
        }
        x + (self.margin - phi) * self.nodes.gradient(self.phi_solid_node, x).normalize_or_zero()
    }
}

/// The velocity that an active source gives a face; none where it touches no source.
fn source_face_velocity(
    cells: FaceCells,
    tags: &[u8],
    axis: usize,
    velocity: impl Fn(usize) -> Vec3,
) -> Option<f32> {
    let tag = |cell: Option<usize>| cell.map_or(0, |c| tags[c]);
    match (tag(cells.low), tag(cells.high)) {
        (0, 0) => None,
        (low, 0) => Some(velocity(low as usize - 1)[axis].max(0.0)),
        (0, high) => Some(velocity(high as usize - 1)[axis].min(0.0)),
        (low, _) => Some(velocity(low as usize - 1)[axis]),
    }
}
