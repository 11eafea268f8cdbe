//! A ball of particles in Enright's deformation: drawn out into a thin sheet and back [leveque-1996;
//! enright-2002].

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::{Lattice, TriangleMesh};
use fluvial_sheets::{
    Bins, Kind, Population, Preserved, SheetParams, SheetSurface, Stiffness, SurfaceShape, Topology, Walls,
};
use fluvial_solver_interface::Flow;
use fluvial_surface::{MeshParams, mesh_samples};

pub const CENTER: Vec3 = Vec3::splat(0.35);
pub const RADIUS: f32 = 0.15;
pub const END_S: f32 = 3.0;

/// What is switched on.
#[derive(Clone, Copy)]
pub struct Options {
    pub preserve: bool,
    pub correct: bool,
}

pub struct Enright {
    pub population: Population,
    pub time_s: f32,
    pub total: Preserved,
    pub most_inserted: usize,
    n: usize,
}

impl Enright {
    /// Sampled as on a grid of n^3 cells, eight particles a cell.
    pub fn new(n: usize) -> Self {
        let cell_m = 1.0 / n as f32;
        let d0 = 0.5 * cell_m;
        let bins = Bins { min: Vec3::ZERO, cell_m, size: [n; 3] };
        let mut population = Population::new(bins, Walls::NONE, SheetParams::new(d0));
        let m = 2 * n;
        for index in 0..m * m * m {
            let at = Vec3::new((index % m) as f32, (index / m % m) as f32, (index / (m * m)) as f32);
            let x = d0 * (at + 0.5);
            if x.distance(CENTER) < RADIUS {
                population.particles.push_small(x, Vec3::ZERO);
            }
        }
        population.sort();
        population.measure();
        Enright { population, time_s: 0.0, total: Preserved::default(), most_inserted: 0, n }
    }

    /// One step: fourth-order Runge-Kutta through the flow, then the method.
    pub fn step(&mut self, dt_s: f32, options: Options) {
        let flow = Flow::Enright { period_s: END_S as f64 };
        let (t, population) = (self.time_s as f64, &mut self.population);
        let particles = &mut population.particles;
        parallel::for_each_chunk_mut2(
            (&mut particles.x, parallel::CHUNK),
            (&mut particles.v, parallel::CHUNK),
            |_, x, v| {
                for (x, v) in x.iter_mut().zip(v) {
                    *x = flow.carry(*x, t, dt_s as f64);
                    *v = flow.velocity(*x, t + dt_s as f64);
                }
            },
        );
        self.time_s += dt_s;
        population.grow_older(dt_s);
        population.sort();
        population.measure();
        if options.correct {
            let stiffness = Stiffness {
                per_step: 0.3,
                anisotropic: true,
                d0: population.params.d0,
                largest: population.params.d0,
                velocity_reach: 1.0,
                merged: true,
            };
            population.correct(&stiffness, |_, x| x);
        }
        if options.preserve {
            let report = population.preserve(|_, _| true);
            self.total.inserted += report.inserted;
            self.total.collapsed += report.collapsed;
            self.total.too_light += report.too_light;
            self.most_inserted = self.most_inserted.max(population.count(Kind::Inserted));
        }
    }

    /// The surface at `refinement` samples a cell.
    pub fn mesh(&mut self, refinement: usize) -> TriangleMesh {
        self.population.sort();
        self.population.measure();
        let n = self.n * refinement;
        let spacing = 1.0 / n as f32;
        let origin = Vec3::splat(0.5 * spacing);
        let shape = SurfaceShape { spacing, origin, size: [n; 3], sheet_reach: 1.5 };
        let field = self.population.surface_field(&shape);
        let surface = SheetSurface::sample(&field, &shape);
        let lattice = Lattice { size: [n; 3], origin, spacing };
        let params = MeshParams { smoothing_rounds: 2 };
        let mut mesh =
            mesh_samples(&lattice, &params, |j, k, out| surface.fill_row(j, k, out), |at| surface.value(at));
        field.pull_mesh(&mut mesh.positions, &mesh.triangles);
        mesh
    }

    pub fn topology(mesh: &TriangleMesh) -> Topology {
        Topology::of(&mesh.positions, &mesh.triangles)
    }
}

/// Volume of the ball.
pub fn ball_m3() -> f64 {
    4.0 / 3.0 * std::f64::consts::PI * (RADIUS as f64).powi(3)
}
