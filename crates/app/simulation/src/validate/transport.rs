//! A body carried by a given velocity, by the same kernels and in the same order as a step of the solver.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::{self as level_set, PhiAdvection};
use fluvial_particles::{
    self as particles, CellRanges, Liquid, Occasion, Particles, Reserve, Surroundings, Transfer,
};
use fluvial_solids::Shape;
use fluvial_solver_interface::Tracker;

/// phi is a distance within so many cells.
const BAND_CELLS: f32 = 6.0;
/// Depth of the particle band, cells: the uniform method's default.
const PARTICLE_BAND_CELLS: f32 = 4.0;

pub struct Body {
    pub grid: UniformGrid,
    pub phi_cell: Vec<f32>,
    tracker: Tracker,
    phi_next: Vec<f32>,
    u_full: FaceField,
    u_face: FaceField,
    other_particles: Particles,
    particles: Particles,
    reserve: Reserve,
    ranges: CellRanges,
    level_set_scratch: level_set::Scratch,
    particle_scratch: particles::Scratch,
    steps: u64,
}

impl Body {
    pub fn new(grid: UniformGrid, shape: &Shape, tracker: Tracker) -> Body {
        let centers = grid.cell_centers();
        let band_m = BAND_CELLS * grid.dx;
        let distance = |index| {
            let [i, j, k] = centers.coordinates(index);
            shape.distance(centers.position(i, j, k)).clamp(-band_m, band_m)
        };
        let phi_cell: Vec<f32> = (0..grid.cell_count()).map(distance).collect();
        let mut body = Body {
            tracker,
            phi_next: phi_cell.clone(),
            phi_cell,
            u_full: FaceField::constant(&grid, 0.0),
            u_face: FaceField::constant(&grid, 0.0),
            particles: Particles::default(),
            reserve: Reserve::new(grid.cell_count()),
            other_particles: Particles::default(),
            ranges: CellRanges::default(),
            level_set_scratch: level_set::Scratch::new(&grid),
            particle_scratch: particles::Scratch::default(),
            steps: 0,
            grid,
        };
        level_set::redistance(&mut body.phi_cell, &centers, band_m, &mut body.level_set_scratch);
        body.refill(Occasion::Start);
        body
    }

    /// Sets the flow that carries the body.
    pub fn set_velocity(&mut self, velocity: impl Fn(Vec3) -> Vec3) {
        for axis in 0..3 {
            let faces = self.grid.faces(axis);
            for (index, u) in self.u_full[axis].iter_mut().enumerate() {
                let [i, j, k] = faces.coordinates(index);
                *u = velocity(faces.position(i, j, k))[axis];
            }
        }
    }

    /// Carries the body over `dt_s` by `scale` times the flow.
    pub fn step(&mut self, dt_s: f32, scale: f32) {
        let band_m = BAND_CELLS * self.grid.dx;
        for axis in 0..3 {
            let scaled = self.u_face[axis].iter_mut().zip(&self.u_full[axis]);
            scaled.for_each(|(u, full)| *u = scale * full);
        }
        level_set::advect_phi(
            &mut self.phi_next,
            &self.phi_cell,
            &self.u_face,
            &self.grid,
            dt_s,
            PhiAdvection::default(),
            band_m,
            &mut self.level_set_scratch,
        );
        std::mem::swap(&mut self.phi_cell, &mut self.phi_next);
        if self.tracker != Tracker::Levelset {
            self.correct_by_particles(dt_s);
        }
        let centers = self.grid.cell_centers();
        level_set::redistance(&mut self.phi_cell, &centers, band_m, &mut self.level_set_scratch);
        self.steps += 1;
        self.refill(Occasion::Step);
    }

    fn correct_by_particles(&mut self, dt_s: f32) {
        let around = Surroundings::closed(&self.grid);
        let (moved, ranges, scratch) =
            (&mut self.other_particles, &mut self.ranges, &mut self.particle_scratch);
        particles::advect(moved, ranges, &self.particles, (&self.u_face, &[]), &around, dt_s, scratch);
        particles::correct_by_particles(&mut self.phi_cell, moved, ranges, &around, scratch);
        std::mem::swap(&mut self.particles, moved);
    }

    fn refill(&mut self, occasion: Occasion) {
        if self.tracker == Tracker::Levelset {
            return;
        }
        let fraction = |&phi: &f32| (0.5 - phi / self.grid.dx).clamp(0.0, 1.0);
        let liquid = Liquid {
            phi_cell: &self.phi_cell,
            fraction_cell: &self.phi_cell.iter().map(fraction).collect::<Vec<f32>>(),
            open_volume: [&[]; 2],
            from_deep_cell: &[],
            u_face: &self.u_face,
            band_m: PARTICLE_BAND_CELLS * self.grid.dx,
            transfer: Transfer::Apic,
            step_seed: self.steps,
            occasion,
        };
        let around = Surroundings::closed(&self.grid);
        let (out, ranges, scratch) =
            (&mut self.other_particles, &mut self.ranges, &mut self.particle_scratch);
        self.particles.sort_by_cell(&self.grid, ranges, scratch);
        particles::resample(out, ranges, &self.particles, &mut self.reserve, &liquid, &around, scratch);
        std::mem::swap(&mut self.particles, out);
    }

    /// m3.
    pub fn volume(&self) -> f64 {
        let open = vec![1.0; self.grid.cell_count()];
        let far = vec![f32::MAX; self.grid.nodes().len()];
        level_set::liquid_volume(&self.phi_cell, &open, &far, &self.grid)
    }

    /// Connected pieces.
    pub fn pieces(&self) -> usize {
        let open = FaceField::constant(&self.grid, 1.0);
        level_set::label_regions(&mut vec![], &self.phi_cell, [&open[0], &open[1], &open[2]], &self.grid)
    }

    /// Volume in exactly one of two bodies on the same grid, m3.
    pub fn difference(&self, other: &Body) -> f64 {
        let cell_m3 = f64::from(self.grid.dx).powi(3);
        let share = |phi: f32| f64::from((0.5 - phi / self.grid.dx).clamp(0.0, 1.0));
        self.phi_cell.iter().zip(&other.phi_cell).map(|(&a, &b)| (share(a) - share(b)).abs() * cell_m3).sum()
    }
}
