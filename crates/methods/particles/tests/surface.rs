//! The level set of particles alone, and the coarse correction.

mod common;
use common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_particles::*;

fn unit_grid(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn filled(grid: &UniformGrid, phi: &[f32]) -> Cloud {
    let mut cloud = Cloud::default();
    cloud.resample(phi, &FaceField::constant(grid, 0.0), &[], grid, f32::INFINITY, 0);
    cloud
}

/// Particles that fill a half-space give its distance: no bias beyond 0.03 dx, noise below 0.3 dx;
/// a level one also at walls, where an inclined one is mirrored to an edge.
#[test]
fn a_flat_pool_of_particles_has_a_flat_level_set() {
    let grid = unit_grid(24);
    for slope in [0.0f32, 0.3, 1.0] {
        let normal = Vec3::new(slope, 1.0, -0.5 * slope).normalize();
        let phi = fill(grid.cell_centers(), |x| (x - 0.52).dot(normal));
        let from_particles = filled(&grid, &phi).level_set(&grid);
        let inset = if slope == 0.0 { 0 } else { 2 };
        let near = |n: &usize| {
            let inner = |c: usize| (inset..24 - inset).contains(&c);
            phi[*n].abs() < 0.4 * grid.dx && grid.cell_centers().coordinates(*n).into_iter().all(inner)
        };
        let errors: Vec<f32> =
            (0..phi.len()).filter(near).map(|n| (from_particles[n] - phi[n]) / grid.dx).collect();
        let mean = errors.iter().sum::<f32>() / errors.len() as f32;
        let worst = errors.iter().fold(0.0f32, |a, e| a.max(e.abs()));
        assert!(errors.len() > 300 && mean.abs() < 0.03 && worst < 0.3, "slope {slope}: {mean} {worst}");
    }
}

#[test]
fn a_gap_between_two_sheets_stays_open() {
    let grid = unit_grid(24);
    let half_gap = 1.25 * grid.dx;
    let phi = fill(grid.cell_centers(), |x| half_gap - (x.y - 0.5).abs());
    let from_particles = filled(&grid, &phi).level_set(&grid);
    for n in 0..phi.len() {
        let [i, j, k] = grid.cell_centers().coordinates(n);
        let y = grid.cell_centers().position(i, j, k).y;
        if (y - 0.5).abs() < 0.6 * grid.dx {
            assert!(
                from_particles[n] > 0.2 * grid.dx,
                "layer {j} is filled: {}",
                from_particles[n] / grid.dx
            );
        }
    }
}

#[test]
fn a_lone_particle_is_a_ball() {
    let grid = unit_grid(16);
    let radius = particle_radius_m(&grid);
    let mut particles = Particles::default();
    let at = Vec3::new(0.53, 0.47, 0.53);
    particles.push(at, Vec3::ZERO, None);
    let phi = Cloud::of(particles, &grid).level_set(&grid);
    let (mut inside, mut far) = (0, 0);
    for n in 0..phi.len() {
        let [i, j, k] = grid.cell_centers().coordinates(n);
        let distance = (grid.cell_centers().position(i, j, k) - at).length();
        assert_eq!(phi[n] < 0.0, distance < radius, "{distance} {}", phi[n]);
        inside += usize::from(phi[n] < 0.0);
        if distance > 1.5 * grid.dx {
            far += 1;
            assert_eq!(phi[n], 3.0 * grid.dx);
        } else {
            assert!((phi[n] - (distance - radius)).abs() < 0.4 * grid.dx);
        }
    }
    assert!(inside == 1 && far > 4000);
}

#[test]
fn lost_liquid_comes_back_and_left_liquid_goes() {
    let grid = unit_grid(20);
    let drop = |x: Vec3| (x - 0.5).length() - 0.12;
    let phi = fill(grid.cell_centers(), drop);
    let cloud = filled(&grid, &phi);
    // The grid has lost the whole drop. (The fine correction brings the rest: `a_lost_drop_comes_back`.)
    let mut lost = vec![3.0 * grid.dx; phi.len()];
    combine_narrow_band(&mut lost, &cloud.level_set(&grid), &grid);
    let back = volume(&lost, &grid) / volume(&phi, &grid);
    assert!((back - 1.0).abs() < 0.3, "{back} of the drop is back");
    // The grid has a drop that no particle knows; only what lies deeper than a cell stays.
    let mut left = phi.clone();
    combine_narrow_band(&mut left, &Cloud::of(Particles::default(), &grid).level_set(&grid), &grid);
    for n in 0..phi.len() {
        assert_eq!(left[n] < 0.0, phi[n] < -grid.dx);
    }
}
