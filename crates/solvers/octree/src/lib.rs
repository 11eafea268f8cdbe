//! The surface-adaptive octree liquid after Ando and Batty, "A Practical Octree Liquid Simulator with
//! Adaptive Surface Resolution", ACM TOG 39(4), 2020: resolution that varies along the water surface itself.
//! The numerics are `fluvial_octree`; here they become a time step. README.md maps the paper.

mod adapt;
mod bodies;
mod boundaries;
mod draw;
mod drops;
mod expected;
mod fills;
mod mass;
mod measure;
mod method;
mod params;
mod particles;
mod pressure;
mod save;
mod sources;
mod sparse;
mod state;
mod step;
mod tension;
mod thin;
mod transport;

pub use params::{Advection, Interpolation, Params, SurfaceForm};

use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::{Octree, TriangleMesh};
use fluvial_octree::extend::extend_cells;
use fluvial_octree::gradient::Geometry;
use fluvial_octree::momentum::mean_velocity;
use fluvial_octree::redistance::redistance_on_sides;
use fluvial_octree::volume::Fits;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Bodies, BodyReport, BodyStep, Clamps, CutCell, LevelSet, Listed, ParticleKinds, ParticleSet,
    RestoreError, Setup, SetupError, Snapshot, Solver, StateReader, StateWriter, StepError, StepMomentum,
    StepReport, StopQuestion, SuggestedDt, SurfaceParams, Wanted,
};
use fluvial_surface::{set_velocities, smooth_mesh};
use fluvial_volume::Account;
use measure::Liquid;
use particles::Particles;
use state::{Fields, Ground, GroundScratch, Limits, Model, Scratch, State, Step};
use std::borrow::Cow;
use std::sync::Arc;
use thin::FineSolids;

/// Kinds of particles, by their place in `fluvial_solver_interface::PARTICLE_KINDS`.
const SMALL: u8 = 0;
const FLYING: u8 = 3;
/// Names of drops begin here.
const FIRST_DROP_ID: u64 = 1 << 63;

/// A liquid on an octree.
pub struct OctreeSolver {
    model: Model,
    state: State,
    /// What a step writes; it becomes the state when the step has succeeded.
    next: State,
    scratch: Scratch,
    asked_to_stop: Option<StopQuestion>,
}

impl OctreeSolver {
    /// Places the liquid of a set-up on its first tree.
    pub fn new(mut setup: Setup, params: Params) -> Result<Self, SetupError> {
        fills::continue_beyond_walls(&mut setup);
        let shape = adapt::tree_shape(&setup, &params)?;
        let mut solver = OctreeSolver {
            model: Model {
                thin: thin::find_thin(&setup, &shape),
                body_of_solid: bodies::bodies_of_solids(&setup),
                setup,
                params,
                shape,
            },
            state: State::default(),
            next: State::default(),
            scratch: Scratch::default(),
            asked_to_stop: None,
        };
        solver.state.bodies = Bodies::new(&solver.model.setup)?;
        solver.model.setup.place_bodies(solver.state.bodies.as_ref(), 0.0);
        solver.place_liquid();
        if solver.model.setup.has_moving_solids() {
            solver.follow_solids()?;
        }
        let (report, limits) = solver.report_of_state();
        solver.state.kinetic_energy_j = report.kinetic_energy_j;
        solver.state.limits = limits;
        if solver.state.volume.start_m3 == 0.0 && solver.model.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(solver)
    }

    /// The present tree.
    pub fn tree(&self) -> &Octree {
        &self.state.fields.tree
    }

    /// T-junctions that the surface crossed in the last projection, and degenerate ones among them [octree
    /// §8].
    pub fn surface_junctions(&self) -> [usize; 2] {
        self.state.junctions
    }

    /// Adds a drop in the air, with the given centre and velocity. It flies until it meets the liquid or a wall; its
    /// volume counts as if it had been there from the start. Test: `a_drop_flies_and_falls_in`.
    pub fn add_drop(&mut self, x: Vec3, v: Vec3, volume_m3: f64) {
        self.state.drops.push(x, v, volume_m3);
        self.state.volume.start_m3 += volume_m3;
    }

    /// phi and velocity of the fills, with phi made a distance, and their volume.
    fn place_liquid(&mut self) {
        let OctreeSolver { model, state, scratch, .. } = self;
        let setup = &model.setup;
        let tree = Arc::new(adapt::first_tree(setup, &model.params, model.shape, &model.thin));
        let solids = setup.solids_at(0.0);
        let fine = model.fine_solids(0.0, None);
        let sides = fine.as_deref().map(FineSolids::sides);
        let mut phi_cell = parallel::map_indices(tree.cell_count(), |cell| {
            let near = sides.and_then(|sides| Some((sides, sides.near_place(&tree, cell)?)));
            let side = near.and_then(|(sides, at)| sides.sides.own_place(&sides.cells, at));
            setup.fill_distance_beside(&solids, tree.cell_center(cell), tree.cell_dx(cell), side)
        });
        if let Some(sides) = sides {
            let seen = setup.sees_fill(&solids, sides.sides, &sides.cells);
            parallel::for_each_indexed_mut(&mut phi_cell, |cell, phi| {
                if let Some([i, j, k]) = sides.place(&tree, cell) {
                    *phi = seen[sides.cells.index(i, j, k)].distance_m(*phi, model.shape.dx);
                }
            });
        }
        let boundaries = model.boundaries_on(&tree, 0.0, (fine, None), &mut scratch.ground.fractions);
        let (closed, redistancing) = (&boundaries.closed_cell, &mut scratch.distance.redistance);
        redistance_on_sides(&mut phi_cell, &tree, closed, (boundaries.sides(), model.keeps()), redistancing);
        let solid = &boundaries.phi_solid_cell;
        extend_cells(&mut phi_cell, &tree, &boundaries.closed_cell, solid, &mut scratch.distance.extend);
        let mut u_face = vec![0.0; tree.face_count()];
        for axis in AXES {
            for face in tree.faces(axis) {
                let velocity = setup.fill_velocity(tree.face_center(face, axis), f32::INFINITY);
                u_face[face] = velocity.map_or(0.0, |v| v[axis]);
            }
        }
        let (mut fraction_cell, mut volume) = (vec![], Account::default());
        model.fill_fractions(&mut fraction_cell, &tree, &phi_cell, &boundaries, Fits::NONE);
        volume.open(mass::total_m3(&tree, &fraction_cell));
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &boundaries.open_area };
        state.mean_velocity = mean_velocity(&geometry, &fraction_cell, &u_face).0;
        let (size_cell, impulse_cell) = (vec![0.0; tree.cell_count()], vec![0.0; tree.cell_count()]);
        let (residual_cell, parted_cell) = (vec![0.0; tree.cell_count()], vec![false; tree.cell_count()]);
        state.fields = Fields {
            tree,
            phi_cell,
            u_face,
            size_cell,
            impulse_cell,
            fraction_cell,
            residual_cell,
            parted_cell,
        };
        (state.boundaries, state.volume) = (Arc::new(boundaries), volume);
        state.sources_flowing = vec![false; setup.sources.len()];
    }

    /// Gives the liquid at the start the motion of the solids in it, in a step of no length: they move from the first
    /// moment on, so it does. See `fluvial_mac::follow_solids`. Test: `liquid_sets_out_with_the_solids_in_it`.
    fn follow_solids(&mut self) -> Result<(), SetupError> {
        let OctreeSolver { model, state, scratch: c, .. } = self;
        let mut u = std::mem::take(&mut state.fields.u_face);
        let step = Step::new(model, state, 0.0, &mut Clamps::default());
        let Fields { tree, phi_cell, residual_cell, parted_cell, .. } = &state.fields;
        let GroundScratch { sources, u_boundary, .. } = &mut c.ground;
        step.place_sources(tree, &state.boundaries, sources, u_boundary);
        let ground = Ground { tree, boundaries: &state.boundaries, sources, u_boundary };
        let mut parted = parted_cell.clone();
        let clamps = &mut Clamps::default();
        step.prepare_gradient(ground.liquid(phi_cell), &mut c.pressure.operator, clamps);
        let moved = (&mut u[..], &mut vec![]);
        let still = (&BodyStep::default(), &[][..]);
        step.project(moved, (phi_cell, residual_cell, &mut parted), ground, still, &mut c.pressure)
            .map_err(|error| SetupError::Invalid(error.to_string()))?;
        let liquid = (&phi_cell[..], &residual_cell[..], &parted[..]);
        step.extend_velocity(&mut u, liquid, ground, &mut c.pressure, clamps);
        state.fields.u_face = u;
        Ok(())
    }

    /// What a step has made becomes the state.
    fn commit(&mut self, tree: Arc<Octree>, cells_moved: f64) {
        let OctreeSolver { model, state, next, scratch, .. } = self;
        (next.fields.tree, next.cells_moved) = (tree, cells_moved);
        next.boundaries = scratch.ground.boundaries.clone();
        next.junctions = scratch.pressure.operator.junctions;
        next.bodies = scratch.bodies.take();
        std::mem::swap(state, next);
        model.setup.place_bodies(state.bodies.as_ref(), state.time_s);
    }

    fn report_of_state(&self) -> (StepReport, Limits) {
        let state = &self.state;
        let (fields, boundaries) = (&state.fields, &state.boundaries);
        let liquid = Liquid {
            tree: &fields.tree,
            phi_cell: &fields.phi_cell,
            u_face: &fields.u_face,
            area_face: &boundaries.open_area,
            u_boundary: &boundaries.u_solid,
            flow_into_cell: &[],
            open_volume: &boundaries.open_volume,
            phi_solid_cell: &boundaries.phi_solid_cell,
            fraction_cell: &fields.fraction_cell,
            residual_cell: &fields.residual_cell,
            parted_cell: &fields.parted_cell,
            wanted_m3_s: &|_| 0.0,
            volume: &state.volume,
            particles: state.particles.len(),
            drops: &state.drops,
        };
        let (report, limits) = self.model.report(&liquid);
        (StepReport { faces: state.liquid_faces, ..report }, limits)
    }
}

impl OctreeSolver {
    fn particle_set(&self) -> ParticleSet<'_> {
        let Particles { x, v, id, age_s, .. } = &self.state.particles;
        let (drops, radius) = (&self.state.drops, self.model.drop_radius_m());
        fn both<T: Copy>(a: &[T], b: &[T]) -> Cow<'static, [T]> {
            Cow::Owned([a, b].concat())
        }
        let radii = drops.volume_m3.iter().map(|&volume| fluvial_drops::radius_m(volume));
        // Drops and particles count their names apart.
        let drop_id: Vec<u64> = drops.id.iter().map(|id| id | FIRST_DROP_ID).collect();
        ParticleSet {
            x: both(x, &drops.x),
            v: both(v, &drops.v),
            id: both(id, &drop_id),
            age_s: both(age_s, &drops.age_s),
            radius,
            kinds: Some(ParticleKinds {
                kind: [vec![SMALL; x.len()], vec![FLYING; drops.len()]].concat(),
                radius: std::iter::repeat_n(radius, x.len()).chain(radii).collect(),
            }),
        }
    }

    /// The cells that the plane at a z cuts.
    fn cut_cells(&self, z: f32) -> Vec<CutCell> {
        let fields = &self.state.fields;
        let cut = |cell: usize| {
            let (x, dx) = (fields.tree.cell_center(cell), fields.tree.cell_dx(cell));
            let low = z - (x.z - 0.5 * dx);
            let min = [x.x - 0.5 * dx, x.y - 0.5 * dx];
            (0.0..dx).contains(&low).then(|| CutCell { min, dx, phi: fields.phi_cell[cell] })
        };
        (0..fields.tree.cell_count()).filter_map(cut).collect()
    }
}

/// Cells of a first tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeCount {
    /// All.
    pub cells: usize,
    /// Those whose centre is in liquid.
    pub liquid_cells: usize,
    /// Those that the surface passes.
    pub surface_cells: usize,
    /// Area of the surface, in faces of finest cells.
    pub surface_faces: f64,
}

/// Finest cells along a side up to which the first tree is built to be counted: two seconds, half a gigabyte.
const MOST_COUNTED: usize = 1024;

/// Counts the cells of a set-up's first tree, or estimates them: that of cells twice as large is built where it would be too large
/// to be built just to be counted. Cells follow the surface, so there are four times as many.
pub fn estimate_first_tree(setup: &Setup, params: &Params) -> Result<TreeCount, SetupError> {
    let grid = &setup.domain.grid;
    let can_halve = grid.cells.iter().all(|n| n % 2 == 0);
    if !can_halve || grid.cells.iter().all(|&n| n <= MOST_COUNTED) {
        return count_first_tree(setup, params);
    }
    let mut coarse = setup.clone();
    coarse.domain.grid.cells = grid.cells.map(|n| n / 2);
    coarse.domain.grid.dx = 2.0 * grid.dx;
    let half = estimate_first_tree(&coarse, params)?;
    Ok(TreeCount {
        cells: 4 * half.cells,
        liquid_cells: 4 * half.liquid_cells,
        surface_cells: 4 * half.surface_cells,
        surface_faces: 4.0 * half.surface_faces,
    })
}

/// Builds a set-up's first tree, and nothing else, to count its cells.
pub fn count_first_tree(setup: &Setup, params: &Params) -> Result<TreeCount, SetupError> {
    let shape = adapt::tree_shape(setup, params)?;
    let tree = adapt::first_tree(setup, params, shape, &thin::find_thin(setup, &shape));
    let phi_cell =
        parallel::map_indices(tree.cell_count(), |cell| setup.fill_distance(tree.cell_center(cell)));
    // When the surface lies exactly on a shared face, only the cell on its liquid side counts.
    let near = |cell: &usize| (-0.5..0.5).contains(&(phi_cell[*cell] / tree.cell_dx(*cell)));
    let faces = |cell: usize| f64::from(tree.cell_dx(cell) / tree.shape().dx).powi(2);
    Ok(TreeCount {
        cells: tree.cell_count(),
        liquid_cells: phi_cell.iter().filter(|&&phi| phi < 0.0).count(),
        surface_cells: (0..tree.cell_count()).filter(near).count(),
        surface_faces: (0..tree.cell_count()).filter(near).map(faces).sum(),
    })
}

impl Solver for OctreeSolver {
    fn method(&self) -> &'static str {
        Params::NAME
    }

    fn time_s(&self) -> f64 {
        self.state.time_s
    }

    fn suggest_dt(&self) -> SuggestedDt {
        self.largest_dt()
    }

    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError> {
        parallel::on_worker(|| step::step(self, dt_s))
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn initial_report(&self) -> StepReport {
        self.report_of_state().0
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        let fields = &self.state.fields;
        let mut mesh = self.contour();
        smooth_mesh(&mut mesh, self.model.shape.bounds(), params.smoothing as usize);
        let sampler = self.model.sampler(&fields.tree);
        set_velocities(&mut mesh, |x| sampler.velocity(&fields.u_face, x));
        self.draw_all_volume(&mut mesh);
        mesh
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        Snapshot {
            level_set: wanted.level_set.then(|| LevelSet::Sparse(Box::new(sparse::SparseLiquid::new(self)))),
            particles: (wanted.particles && (self.model.has_particles() || self.model.conserves_volume()))
                .then(|| self.particle_set()),
            cut_cells: wanted.cut_at_z.map(|z| self.cut_cells(z)),
        }
    }

    fn height_at(&self, x: f32, z: f32) -> f64 {
        self.column_height(x, z)
    }

    fn pressure_at(&self, x_in_world: Vec3) -> f64 {
        self.pressure_at_point(x_in_world)
    }

    fn volume_in(&self, shape: &Shape) -> f64 {
        self.volume_inside(shape)
    }

    fn velocity_at(&self, x_in_world: Vec3) -> Vec3 {
        self.model.sampler(&self.state.fields.tree).velocity(&self.state.fields.u_face, x_in_world)
    }

    fn momentum_of_last_step(&self) -> Option<StepMomentum> {
        self.last_momentum()
    }

    fn bodies(&self) -> Vec<BodyReport> {
        Bodies::reports_of(self.state.bodies.as_ref(), self.state.pushed_s)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
