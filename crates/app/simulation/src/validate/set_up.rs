//! Set-ups that several cases share, and the way to run them.

use super::{CaseError, Context};
use crate::progress::Silent;
use crate::run::{FramePlan, Recorder, RunEnd, StepRecord, run};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_output::OutputError;
use fluvial_solids::{MeshDistance, Shape};
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup, Solver};
use std::path::PathBuf;
use std::sync::Arc;

/// Cells across the slabs of two-dimensional cases: the fewest that a cubic stencil fits in.
pub const SLAB_CELLS: usize = 4;

/// A closed box with its lower corner at the origin, filled with `shape` at rest.
pub fn closed_box(cells: [usize; 3], dx: f32, shape: Shape) -> Setup {
    Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells, dx }),
        liquid: Liquid::default(),
        fills: vec![Fill { shape, velocity: Vec3::ZERO }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    }
}

/// Builds the method's solver and runs it, showing every step (and the initial state) to `watch`.
pub fn drive(
    context: &Context,
    setup: Setup,
    plan: FramePlan,
    watch: &mut dyn FnMut(&StepRecord, &dyn Solver),
) -> Result<Box<dyn Solver>, CaseError> {
    drive_solver(context, context.method.method.build(setup)?, plan, watch)
}

/// As [`drive`], with a solver made before.
pub fn drive_solver(
    context: &Context,
    mut solver: Box<dyn Solver>,
    plan: FramePlan,
    watch: &mut dyn FnMut(&StepRecord, &dyn Solver),
) -> Result<Box<dyn Solver>, CaseError> {
    match run(solver.as_mut(), plan, &mut Watch(watch), &mut Silent, context.stop)? {
        RunEnd::Done => Ok(solver),
        RunEnd::Interrupted => Err(CaseError::Interrupted),
    }
}

struct Watch<'a>(&'a mut dyn FnMut(&StepRecord, &dyn Solver));

impl Recorder for Watch<'_> {
    fn step(&mut self, step: &StepRecord, solver: &dyn Solver) -> Result<(), OutputError> {
        (self.0)(step, solver);
        Ok(())
    }
    fn frame(&mut self, _: u32, _: &dyn Solver) -> Result<(), OutputError> {
        Ok(())
    }
    fn failed(&mut self, _: &dyn Solver) -> Option<PathBuf> {
        None
    }
}

/// Liquid below y = height(x), extruded along z far past the domain, as a mesh.
/// `height` is sampled over `x_range`, which must reach past the domain too.
pub fn liquid_below(x_range: [f64; 2], samples: usize, height: impl Fn(f64) -> f64) -> Shape {
    let length = x_range[1] - x_range[0];
    let mut positions = Vec::new();
    for i in 0..=samples {
        let x = x_range[0] + length * i as f64 / samples as f64;
        // Four corners a section: bottom and top, at both ends in z.
        for (y, z) in [(-length, -length), (height(x), -length), (-length, length), (height(x), length)] {
            positions.push(Vec3::new(x as f32, y as f32, z as f32));
        }
    }
    let mut triangles = Vec::new();
    let mut quad = |a: u32, b: u32, c: u32, d: u32| triangles.extend([[a, b, c], [a, c, d]]);
    for i in 0..samples as u32 {
        let (p, q) = (4 * i, 4 * i + 4);
        quad(p + 1, p + 3, q + 3, q + 1); // top
        quad(p, q, q + 2, p + 2); // bottom
        quad(p, p + 1, q + 1, q); // low z
        quad(p + 2, q + 2, q + 3, p + 3); // high z
    }
    let last = 4 * samples as u32;
    quad(0, 2, 3, 1);
    quad(last, last + 1, last + 3, last + 2);
    mesh_shape(TriangleMesh { positions, velocities: vec![], triangles })
}

/// A star-shaped body r(direction) about `center`, as a mesh.
pub fn star(center: Vec3, radius: impl Fn(DVec3) -> f64, rings: u32) -> Shape {
    let sectors = 2 * rings;
    let mut positions = Vec::new();
    let mut put = |direction: DVec3| positions.push(center + (direction * radius(direction)).as_vec3());
    put(DVec3::Y);
    for ring in 1..rings {
        let polar = std::f64::consts::PI * f64::from(ring) / f64::from(rings);
        for sector in 0..sectors {
            let azimuth = std::f64::consts::TAU * f64::from(sector) / f64::from(sectors);
            put(DVec3::new(polar.sin() * azimuth.cos(), polar.cos(), polar.sin() * azimuth.sin()));
        }
    }
    put(-DVec3::Y);
    let south = 1 + (rings - 1) * sectors;
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors + sector % sectors;
    let mut triangles = Vec::new();
    for s in 0..sectors {
        triangles.push([0, at(1, s + 1), at(1, s)]);
        triangles.push([south, at(rings - 1, s), at(rings - 1, s + 1)]);
        for r in 1..rings - 1 {
            triangles.push([at(r, s), at(r, s + 1), at(r + 1, s)]);
            triangles.push([at(r, s + 1), at(r + 1, s + 1), at(r + 1, s)]);
        }
    }
    mesh_shape(TriangleMesh { positions, velocities: vec![], triangles })
}

fn mesh_shape(mesh: TriangleMesh) -> Shape {
    Shape::Mesh(Arc::new(MeshDistance::new(mesh).expect("a closed mesh by construction")))
}

/// Volume and centre of mass of a closed surface.
pub fn centroid(mesh: &TriangleMesh) -> (f64, DVec3) {
    let (mut volume, mut moment) = (0.0, DVec3::ZERO);
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        let part = a.dot(b.cross(c)) / 6.0;
        volume += part;
        moment += part * 0.25 * (a + b + c);
    }
    (volume, moment / volume)
}

/// Second moments of a closed surface about a point: the integrals of x^2, y^2, z^2 over its volume.
pub fn second_moments(mesh: &TriangleMesh, center: DVec3) -> DVec3 {
    let mut sum = DVec3::ZERO;
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3() - center);
        // Over the tetrahedron (0, a, b, c): V/10 (a^2 + b^2 + c^2 + ab + bc + ca).
        sum += a.dot(b.cross(c)) / 60.0 * (a * a + b * b + c * c + a * b + b * c + c * a);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh_of(shape: &Shape) -> &TriangleMesh {
        match shape {
            Shape::Mesh(mesh) => mesh.mesh(),
            _ => unreachable!(),
        }
    }

    #[test]
    fn shapes_are_closed_and_have_their_volume_and_moments() {
        let ball = star(Vec3::splat(0.5), |_| 0.3, 64);
        let mesh = mesh_of(&ball);
        assert!(mesh.defects().is_clean());
        let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.027;
        let (volume, center) = centroid(mesh);
        assert!((volume / exact - 1.0).abs() < 2e-3, "{volume}");
        assert!((center - 0.5).length() < 1e-6);
        let moments = second_moments(mesh, center) / (exact * 0.09 / 5.0); // each is V R^2 / 5
        assert!((moments - DVec3::ONE).length() < 1e-2, "{moments}");

        let water = liquid_below([-1.0, 2.0], 64, |x| 0.5 + 0.1 * x);
        assert!(mesh_of(&water).defects().is_clean() && mesh_of(&water).volume() > 0.0);
        assert!(
            water.distance(Vec3::new(0.5, 0.54, 0.5)) < 0.0
                && water.distance(Vec3::new(0.5, 0.56, 0.5)) > 0.0
        );
    }
}
