//! Advection: order in time, solids, walls, threads.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_particles::*;

/// Linear fields are interpolated exactly, so a rigid rotation leaves the error of the time scheme alone.
#[test]
fn advection_is_third_order() {
    let grid = grid([20, 20, 20], 0.1);
    let center = grid.bounds().center();
    let axis = Vec3::new(0.6, 0.0, 0.8);
    let u = fill_faces(&grid, |x| axis.cross(x - center));
    let start = center + Vec3::new(0.3, 0.4, -0.2);
    let exact = center + fluvial_foundation::Quat::from_axis_angle(axis, 2.0) * (start - center);
    let error = |steps: usize| {
        let mut particles = Particles::default();
        particles.push(start, Vec3::ZERO, None);
        let mut cloud = Cloud::of(particles, &grid);
        for _ in 0..steps {
            let report = cloud.advect(&u, &Surroundings::closed(&grid), 2.0 / steps as f32);
            assert_eq!(report, AdvectReport::default());
        }
        assert!((cloud.particles.age_s[0] - 2.0).abs() < 1e-5);
        (cloud.particles.x[0] - exact).length()
    };
    let order = (error(4) / error(8)).log2();
    assert!((order - 3.0).abs() < 0.2, "order {order}, errors {} {}", error(4), error(8));
}

/// A flow u(x - w t) that moves along with the velocity w is steady in a frame that does: a particle on a rotation there
/// ends where the rotation and w take it. In the frozen flow it is 0.07 m off.
#[test]
fn a_flow_that_moves_along_is_met_in_its_own_frame() {
    let grid = grid([20, 20, 20], 0.1);
    let (center, axis, along) = (grid.bounds().center(), Vec3::new(0.6, 0.0, 0.8), Vec3::new(0.3, -0.2, 0.1));
    let u = fill_faces(&grid, |x| along + axis.cross(x - center));
    let drift = fill_faces(&grid, |_| along);
    let start = center + Vec3::new(0.3, 0.4, -0.2);
    let turned = fluvial_foundation::Quat::from_axis_angle(axis, 0.5) * (start - center);
    let exact = center + turned + 0.5 * along;
    let error = |drift_face| {
        let mut particles = Particles::default();
        particles.push(start, Vec3::ZERO, None);
        let mut cloud = Cloud::of(particles, &grid);
        cloud.advect(&u, &Surroundings { drift_face, ..Surroundings::closed(&grid) }, 0.5);
        (cloud.particles.x[0] - exact).length()
    };
    assert!(error(Some(&drift)) < 2e-3, "{}", error(Some(&drift)));
    assert!(error(None) > 0.03, "{}", error(None));
}

/// A flow straight into a sphere and a wedge between it and the walls, with steps of several cells.
#[test]
fn solids_never_hold_particles() {
    let grid = grid([16, 16, 16], 0.1);
    let center = grid.bounds().center() - Vec3::new(0.0, 0.3, 0.0);
    let phi = |x: Vec3| {
        ((x - center).length() - 0.45).min(0.6 * (x.x - grid.min.x) + 0.8 * (x.y - grid.min.y) - 0.3)
    };
    let solid = fill(grid.nodes(), phi);
    let u = fill_faces(&grid, |x| (center - x) * 4.0 + Vec3::new(0.0, -1.0, 0.0));
    let mut particles = scattered(&grid, 4000, 0.0, true);
    retain(&mut particles, |p, i| phi(p.x[i]) > 0.01);
    let count = particles.len();
    let mut cloud = Cloud::of(particles, &grid);
    let (mut pushed, mut trapped) = (0, 0);
    for _ in 0..10 {
        let report = cloud.advect(&u, &with_solids(&grid, &solid), 0.05);
        pushed += report.pushed_out_of_solids;
        trapped += report.trapped_in_solids;
        for &x in &cloud.particles.x {
            assert!(grid.nodes().sample(&solid, x) > 0.0 && grid.bounds().contains(x), "{x}");
        }
    }
    assert!(pushed > count && trapped < count / 100, "{pushed} pushed, {trapped} trapped of {count}");
    assert_eq!(cloud.particles.len() + trapped, count);
}

#[test]
fn a_flat_solid_pushes_back_along_its_normal() {
    let grid = grid([8, 8, 8], 0.1);
    let floor = grid.min.y + 0.25;
    let solid = fill(grid.nodes(), |x| x.y - floor);
    let u = fill_faces(&grid, |_| Vec3::new(0.5, -1.0, 0.0));
    let mut particles = Particles::default();
    let start = Vec3::new(0.0, floor + 0.01, 0.5);
    particles.push(start, Vec3::ZERO, None);
    let mut cloud = Cloud::of(particles, &grid);
    let report = cloud.advect(&u, &with_solids(&grid, &solid), 0.1);
    assert_eq!(report.pushed_out_of_solids, 1);
    let expected = Vec3::new(start.x + 0.05, floor + 0.02 * grid.dx, start.z);
    let x = cloud.particles.x[0];
    assert!((x - expected).length() < 1e-5, "{x}");
}

/// In the edge between two solids nodal distances bend. Particles there are moved out once, and then stay.
#[test]
fn particles_do_not_creep_along_edges() {
    let grid = grid([8, 8, 8], 0.1);
    let corner = grid.min + 0.21;
    let solid = fill(grid.nodes(), |x| (x.x - corner.x).min(0.6 * (x.y - corner.y) + 0.8 * (x.z - corner.z)));
    let still = fill_faces(&grid, |_| Vec3::ZERO);
    let mut particles = scattered(&grid, 4000, 0.0, true);
    retain(&mut particles, |p, i| (-0.05..0.02).contains(&grid.nodes().sample(&solid, p.x[i])));
    let mut cloud = Cloud::of(particles, &grid);
    let first = cloud.advect(&still, &with_solids(&grid, &solid), 0.1);
    let second = cloud.advect(&still, &with_solids(&grid, &solid), 0.1);
    assert!(first.pushed_out_of_solids > 100 && second.pushed_out_of_solids == 0, "{first:?} {second:?}");
}

/// One far from the liquid flies on its parabola, one that hits the floor slides on; both are deaf to the grid.
#[test]
fn particles_far_from_the_liquid_fly() {
    let grid = grid([12, 12, 12], 0.1);
    let phi = vec![1.0; grid.cell_count()];
    let mut near = vec![];
    mark_near(&mut near, &phi, &grid);
    let mut u = fill_faces(&grid, |_| Vec3::splat(9.0));
    let (push, dt_s) = (Vec3::new(0.0, -0.05, 0.0), 0.02);
    let (v, start) = (Vec3::new(0.5, 1.0, -0.2), grid.min + Vec3::splat(0.3));
    let low = Vec3::new(start.x, grid.min.y + 0.002, start.z);
    for transfer in [Transfer::Apic, Transfer::Flip { ratio: 0.98 }] {
        let mut particles = Particles::default();
        particles.push(start, v, None);
        particles.push(low, v - 2.0 * Vec3::Y, None);
        let mut cloud = Cloud::of(particles, &grid);
        for step in 1..=10 {
            let mut moved = Particles::default();
            let (ranges, around) = (&mut cloud.ranges, Surroundings::closed(&grid));
            advect(&mut moved, ranges, &cloud.particles, (&u, &near), &around, dt_s, &mut cloud.scratch);
            let flight = Flight { near_cell: &near, flown: cloud.scratch.flown(), push };
            faces_to_particles(
                &mut moved,
                &u.clone(),
                &mut u,
                &grid,
                fluvial_grids::Sides::NONE,
                &transfer,
                &flight,
            );
            cloud.particles = moved;
            let of = |id: u64| cloud.particles.id.iter().position(|&other| other == id).unwrap();
            let (flies, slides, t) = (of(0), of(1), step as f32 * dt_s);
            let exact = start + t * v + 0.5 * (step * (step - 1)) as f32 * dt_s * push;
            assert!((cloud.particles.x[flies] - exact).length() < 1e-5, "{transfer:?}, step {step}");
            let (x, v_slides) = (cloud.particles.x[slides], cloud.particles.v[slides]);
            assert!((x.y - grid.min.y - 0.02 * grid.dx).abs() < 1e-5 && (x.x - low.x - t * v.x).abs() < 1e-5);
            assert!((v_slides - Vec3::new(v.x, 0.0, v.z) - push).length() < 1e-4, "{v_slides}");
        }
    }
}

#[test]
fn walls_hold_and_open_walls_let_go() {
    let grid = grid([8, 8, 8], 0.1);
    let u = fill_faces(&grid, |x| 5.0 * (x - grid.bounds().center()));
    let count = 2000;
    let closed = {
        let mut cloud = Cloud::of(scattered(&grid, count, 0.0, false), &grid);
        let report = cloud.advect(&u, &Surroundings::closed(&grid), 0.1);
        assert_eq!((cloud.particles.len(), report.left_through_open_walls), (count, 0));
        assert!(cloud.particles.x.iter().all(|&x| grid.bounds().contains(x)));
        report.pushed_inside_walls
    };
    assert!(closed > count / 3, "{closed}");
    for wall in 0..6 {
        let mut open = [false; 6];
        open[wall] = true;
        let mut cloud = Cloud::of(scattered(&grid, count, 0.0, true), &grid);
        let before = cloud.particles.clone();
        let around = Surroundings { open_walls: open, ..Surroundings::closed(&grid) };
        let left = cloud.advect(&u, &around, 0.1).left_through_open_walls;
        let particles = &cloud.particles;
        assert!(left > count / 20 && left < count / 3, "wall {wall}: {left}");
        assert_eq!(particles.len(), count - left);
        assert_eq!(particles.affine[2].len(), count - left);
        assert!(particles.x.iter().all(|&x| grid.bounds().contains(x)));
        // Everyone that stays keeps what is its own, whatever place it gets.
        let mut old = vec![None; count];
        (0..count).for_each(|p| old[before.id[p] as usize] = Some((before.v[p], before.affine[2][p])));
        for p in 0..particles.len() {
            let own = old[particles.id[p] as usize].take();
            assert_eq!(own, Some((particles.v[p], particles.affine[2][p])));
        }
    }
}
