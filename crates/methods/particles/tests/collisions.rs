//! Particles that cross each other, against the solution of `dw/dt = -w |w| / dx`.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::Sides;
use fluvial_particles::*;

/// Lets the cloud collide in a flow, in equal steps.
fn collide_in_steps(cloud: &mut Cloud, u: impl Fn(Vec3) -> Vec3 + Sync + Send, dt_s: f32, steps: usize) {
    let grid = grid([6, 5, 4], 0.1);
    let u_face = fill_faces(&grid, u);
    let ranges = &cloud.ranges;
    let members = Members { of_cell: |cell| ranges.of_cell(cell), weight: |_| 1.0, near_cell: &[] };
    for _ in 0..steps {
        let (particles, dt_s) = (&mut cloud.particles, dt_s / steps as f32);
        collide(particles, &u_face, (&grid, Sides::NONE), &members, dt_s, &mut Collisions::default());
    }
}

/// One particle of each cell is seven times as fast as the others, which come against it.
#[test]
fn streams_that_cross_stop_each_other() {
    let grid = grid([6, 5, 4], 0.1);
    let mut particles = Particles::default();
    let cells = grid.cell_centers();
    for cell in 0..cells.len() {
        let [i, j, k] = cells.coordinates(cell);
        for n in 0..8 {
            let x = cells.position(i, j, k) + 0.02 * Vec3::new(0.3 * n as f32 - 1.0, 0.5, -0.4);
            particles.push(x, Vec3::X * if n == 3 { 7.0 } else { -1.0 }, None);
        }
    }
    let before = Cloud::of(particles, &grid);
    let kept = 1.0 / (1.0 + 7.0f32.sqrt() * 0.05 / 0.1);
    for steps in [1, 5] {
        let mut cloud = Cloud::of(before.particles.clone(), &grid);
        collide_in_steps(&mut cloud, |_| Vec3::ZERO, 0.05, steps);
        for (after, before) in cloud.particles.v.iter().zip(&before.particles.v) {
            assert!((*after - kept * *before).length() < 1e-5, "{after} of {before} in {steps} steps");
        }
        assert!(cloud.particles.v.iter().sum::<Vec3>().length() < 1e-3);
    }
}

/// Nothing collides in a flow that all particles follow, nor does a particle that is alone in its cell.
#[test]
fn collisions_leave_linear_flows_alone() {
    let grid = grid([6, 5, 4], 0.1);
    let linear = |x: Vec3| Vec3::new(0.2 + 3.0 * x.y, 2.0 * x.z - x.x, 4.0 * x.x + x.z);
    let mut cloud = Cloud::of(scattered(&grid, 800, 1.0, false), &grid);
    cloud.particles.v = cloud.particles.x.iter().map(|x| linear(*x)).collect();
    let before = cloud.particles.v.clone();
    collide_in_steps(&mut cloud, linear, 0.5, 1);
    let largest = cloud.particles.v.iter().zip(&before).map(|(a, b)| (*a - *b).length()).fold(0.0, f32::max);
    assert!(largest < 1e-5, "{largest}");
    let mut alone = Cloud::of(scattered(&grid, 1, 1.0, false), &grid);
    let before = alone.particles.v.clone();
    collide_in_steps(&mut alone, |_| Vec3::ZERO, 0.5, 1);
    assert_eq!(alone.particles.v, before);
}
