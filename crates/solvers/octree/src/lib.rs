//! The surface-adaptive octree liquid after Ando and Batty, "A Practical Octree Liquid Simulator with Adaptive Surface
//! Resolution", ACM TOG 39(4), 2020: resolution that varies along the water surface itself. The numerics are `fluvial_octree`;
//! here they become a time step. README.md maps the paper.

mod adapt;
mod advect;
mod air;
mod drops;
mod expected;
mod measure;
mod method;
mod momentum;
mod params;
mod particles;
mod pressure;
mod save;
mod sparse;
mod state;
mod step;
mod tension;
mod volume;

pub use params::{Advection, Interpolation, Params, SurfaceForm};

use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::octree::Shape as TreeShape;
use fluvial_grids::{Octree, TriangleMesh};
use fluvial_octree::contour::contour;
use fluvial_octree::extend::extend_cells;
use fluvial_octree::redistance::redistance;
use fluvial_octree::volume::liquid_fractions;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    CutCell, LevelSet, Listed, ParticleKinds, ParticleSet, PressureReport, RestoreError, Setup, SetupError,
    Snapshot, Solver, StateReader, StateWriter, StepError, StepReport, StopQuestion, SuggestedDt,
    SurfaceParams, Wall, Wanted,
};
use fluvial_surface::{set_velocities, smooth_mesh};
use measure::{Limits, Liquid};
use particles::Particles;
use state::{State, Work};
use std::borrow::Cow;
use std::sync::Arc;

/// Kinds of particles, by their place in `fluvial_solver_interface::PARTICLE_KINDS`.
const SMALL: u8 = 0;
const FLYING: u8 = 3;
/// How far drawn liquid reaches into solids, in cells, so that no gap shows.
const OVERLAP_CELLS: f32 = 0.25;

/// A liquid on an octree.
pub struct OctreeSolver {
    setup: Setup,
    params: Params,
    shape: TreeShape,
    open_walls: [bool; 6],
    state: State,
    work: Work,
    limits: Limits,
    /// T-junctions that the surface crossed in the last projection, and degenerate ones among them.
    junctions: [usize; 2],
    asked_to_stop: Option<StopQuestion>,
}

impl OctreeSolver {
    /// Places the liquid of a set-up on its first tree.
    pub fn new(setup: Setup, params: Params) -> Result<Self, SetupError> {
        if setup.sources.len() > u8::MAX as usize - 1 {
            let feature = "more than 254 sources".into();
            return Err(SetupError::Unsupported { method: "octree", feature });
        }
        let mut solver = OctreeSolver {
            shape: adapt::tree_shape(&setup, params.max_dx)?,
            open_walls: setup.domain.walls.map(|w| w == Wall::Open),
            state: State { sources_flowing: vec![false; setup.sources.len()], ..State::default() },
            work: Work::default(),
            limits: Limits::default(),
            junctions: [0; 2],
            asked_to_stop: None,
            setup,
            params,
        };
        solver.place_liquid();
        let (report, limits) = solver.report_of_state();
        solver.state.kinetic_energy_j = report.kinetic_energy_j;
        solver.state.mean_velocity = solver.mean_velocity_of_state();
        solver.limits = limits;
        if solver.state.volume.start_m3 == 0.0 && solver.setup.sources.is_empty() {
            return Err(SetupError::NoLiquid);
        }
        Ok(solver)
    }

    /// The present tree.
    pub fn tree(&self) -> &Octree {
        &self.state.fields.tree
    }

    /// T-junctions that the surface crossed in the last projection, and degenerate ones among them [octree §8].
    pub fn surface_junctions(&self) -> [usize; 2] {
        self.junctions
    }

    /// phi and velocity of the fills, made a distance.
    fn place_liquid(&mut self) {
        let tree = Arc::new(adapt::first_tree(&self.setup, &self.params, self.shape));
        let fills = &self.setup.fills;
        let phi = |x: Vec3| fills.iter().map(|f| f.shape.distance(x)).fold(f32::MAX, f32::min);
        let mut phi_cell = parallel::map_indices(tree.cell_count(), |cell| phi(tree.cell_center(cell)));
        let boundaries = self.boundaries_on(&tree, 0.0, &mut Default::default());
        redistance(&mut phi_cell, &tree, &boundaries.closed_cell, &mut self.work.redistance);
        extend_cells(&mut phi_cell, &tree, &boundaries.closed_cell, &mut self.work.extend);
        let mut u_face = vec![0.0; tree.face_count()];
        for axis in AXES {
            for face in tree.faces(axis) {
                let x = tree.face_center(face, axis);
                // The nearest fill's velocity, also in the air around it, for the first back-trace.
                let mut best = f32::INFINITY;
                for fill in fills {
                    let d = fill.shape.distance(x).max(0.0);
                    if d <= best {
                        (best, u_face[face]) = (d, fill.velocity[axis]);
                    }
                }
            }
        }
        let fields = &mut self.state.fields;
        fields.size_cell = vec![0.0; tree.cell_count()];
        fields.impulse_cell = vec![0.0; tree.cell_count()];
        (fields.tree, fields.phi_cell, fields.u_face) = (tree, phi_cell, u_face);
        self.state.boundaries = Arc::new(boundaries);
        self.open_volume_account();
    }

    /// The step has succeeded: what it made becomes the state.
    fn commit(&mut self, dt_s: f64) {
        let (state, work) = (&mut self.state, &mut self.work);
        std::mem::swap(&mut state.fields, &mut work.fields);
        std::mem::swap(&mut state.boundaries, &mut work.boundaries);
        std::mem::swap(&mut state.volume, &mut work.volume);
        std::mem::swap(&mut state.particles, &mut work.particles.particles);
        std::mem::swap(&mut state.sources_flowing, &mut work.start.sources_flowing);
        state.kinetic_energy_j = work.kinetic_energy_j;
        state.mean_velocity = work.mean_velocity;
        state.cells_moved = work.cells_moved;
        self.limits = work.limits;
        state.time_s += dt_s;
        state.last_dt_s = dt_s;
        state.steps += 1;
    }

    fn report_of_state(&self) -> (StepReport, Limits) {
        let (state, mut fractions) = (&self.state, vec![]);
        let (fields, boundaries) = (&state.fields, &state.boundaries);
        liquid_fractions(&mut fractions, &fields.tree, &fields.phi_cell, self.open(boundaries));
        let liquid = Liquid {
            tree: &fields.tree,
            phi_cell: &fields.phi_cell,
            u_face: &fields.u_face,
            area_face: &boundaries.open_area,
            u_boundary: &boundaries.u_solid,
            open_volume: &boundaries.open_volume,
            fraction_cell: &fractions,
            volume: &state.volume,
            particles: &state.particles,
        };
        self.report(&liquid, PressureReport::default())
    }
}

impl OctreeSolver {
    fn particle_set(&self) -> ParticleSet<'_> {
        let Particles { x, v, id, age_s, flies, .. } = &self.state.particles;
        let kind = flies.iter().map(|&flies| if flies != 0 { FLYING } else { SMALL }).collect();
        ParticleSet {
            x: Cow::Borrowed(x),
            v: Cow::Borrowed(v),
            id: Cow::Borrowed(id),
            age_s: Cow::Borrowed(age_s),
            radius: self.drop_radius_m(),
            kinds: Some(ParticleKinds { kind, radius: vec![self.drop_radius_m(); flies.len()] }),
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

/// Builds a set-up's first tree, and nothing else, to count its cells.
pub fn count_first_tree(setup: &Setup, params: &Params) -> Result<TreeCount, SetupError> {
    let tree = adapt::first_tree(setup, params, adapt::tree_shape(setup, params.max_dx)?);
    let phi = |x: Vec3| setup.fills.iter().map(|f| f.shape.distance(x)).fold(f32::MAX, f32::min);
    let phi_cell = parallel::map_indices(tree.cell_count(), |cell| phi(tree.cell_center(cell)));
    // Of two cells whose sides the surface lies on, one.
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
        step::step(self, dt_s)
    }

    fn stop_when(&mut self, asked: StopQuestion) {
        self.asked_to_stop = Some(asked);
    }

    fn initial_report(&self) -> StepReport {
        self.report_of_state().0
    }

    fn surface(&self, params: &SurfaceParams) -> TriangleMesh {
        let fields = &self.state.fields;
        let tree = &*fields.tree;
        let mut mesh = if self.setup.solids.is_empty() {
            contour(tree, &fields.phi_cell)
        } else {
            let solid = &self.state.boundaries.phi_solid_cell;
            let outside = |cell: usize| -solid[cell] - OVERLAP_CELLS * tree.cell_dx(cell);
            let phi: Vec<f32> = (0..tree.cell_count()).map(|c| fields.phi_cell[c].max(outside(c))).collect();
            contour(tree, &phi)
        };
        smooth_mesh(&mut mesh, self.shape.bounds(), params.smoothing as usize);
        let sampler = self.sampler(tree);
        set_velocities(&mut mesh, |x| sampler.velocity(&fields.u_face, x));
        self.add_drops(&mut mesh);
        mesh
    }

    fn snapshot(&self, wanted: Wanted) -> Snapshot<'_> {
        Snapshot {
            level_set: wanted.level_set.then(|| LevelSet::Sparse(Box::new(sparse::SparseLiquid::new(self)))),
            particles: (wanted.particles && self.has_particles()).then(|| self.particle_set()),
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
        self.sampler(&self.state.fields.tree).velocity(&self.state.fields.u_face, x_in_world)
    }

    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        self.save_state(out)
    }

    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.restore_state(from)
    }
}
