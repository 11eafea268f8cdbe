//! Transfers against their exact invariants and against the plain sum.

use crate::common::*;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_particles::*;

/// Linear and angular momentum of faces of mass `weight`.
fn momentum_of_faces(u: &FaceField, w: &FaceField, grid: &UniformGrid) -> (DVec3, DVec3) {
    let (mut linear, mut angular) = (DVec3::ZERO, DVec3::ZERO);
    for axis in 0..3 {
        let lattice = grid.faces(axis);
        for n in 0..lattice.len() {
            let [i, j, k] = lattice.coordinates(n);
            let mut p = DVec3::ZERO;
            p[axis] = u[axis][n] as f64 * w[axis][n] as f64;
            linear += p;
            angular += lattice.position(i, j, k).as_dvec3().cross(p);
        }
    }
    (linear, angular)
}

/// The same of particles: each row c adds the moment of its affine motion over the kernel's spread,
/// sum_f w (x_f - x_p) (x_f - x_p)^T c = f (1 - f) dx^2 c per axis [jiang-2015 §5.3.1].
fn momentum_of_particles(particles: &Particles, grid: &UniformGrid) -> (DVec3, DVec3) {
    let (mut linear, mut angular) = (DVec3::ZERO, DVec3::ZERO);
    for p in 0..particles.len() {
        let x = particles.x[p].as_dvec3();
        linear += particles.v[p].as_dvec3();
        angular += x.cross(particles.v[p].as_dvec3());
        for axis in 0..3 {
            if particles.has_affine() {
                let c = (x - grid.faces(axis).origin.as_dvec3()) / grid.dx as f64;
                let f = c - c.floor();
                let spread = f * (1.0 - f) * (grid.dx as f64).powi(2);
                let mut unit = DVec3::ZERO;
                unit[axis] = 1.0;
                angular += (spread * particles.affine[axis][p].as_dvec3()).cross(unit);
            }
        }
    }
    (linear, angular)
}

#[test]
fn apic_conserves_linear_and_angular_momentum() {
    let grid = grid([11, 13, 17], 0.1);
    let mut cloud = Cloud::of(scattered(&grid, 3000, 1.0, true), &grid);
    let before = momentum_of_particles(&cloud.particles, &grid);
    let (u, w) = cloud.to_faces(&grid, &Transfer::Apic);
    let on_faces = momentum_of_faces(&u, &w, &grid);
    faces_to_particles(
        &mut cloud.particles,
        &u,
        &mut u.clone(),
        &grid,
        fluvial_grids::Sides::NONE,
        &Transfer::Apic,
        &Flight::NONE,
    );
    let after = momentum_of_particles(&cloud.particles, &grid);
    for (name, got) in [("faces", on_faces), ("particles", after)] {
        let linear = (got.0 - before.0).length() / before.0.length();
        let angular = (got.1 - before.1).length() / before.1.length();
        assert!(linear < 1e-5 && angular < 1e-5, "{name}: {linear:e} {angular:e}");
    }
    // The rows matter: without them angular momentum is lost.
    let flip = cloud.to_faces(&grid, &Transfer::Flip { ratio: 1.0 });
    let without = momentum_of_faces(&flip.0, &flip.1, &grid);
    assert!((without.1 - before.1).length() / before.1.length() > 1e-3);
}

#[test]
fn transfer_equals_the_plain_sum() {
    let grid = grid([5, 6, 7], 0.2);
    for (affine, transfer) in [(true, Transfer::Apic), (false, Transfer::Flip { ratio: 0.97 })] {
        let cloud = Cloud::of(scattered(&grid, 60, 0.0, affine), &grid);
        let (u, w) = cloud.to_faces(&grid, &transfer);
        let mut without_particles = 0;
        for axis in 0..3 {
            let lattice = grid.faces(axis);
            let high = lattice.position(lattice.size[0] - 1, lattice.size[1] - 1, lattice.size[2] - 1);
            for n in 0..lattice.len() {
                let [i, j, k] = lattice.coordinates(n);
                let (mut momentum, mut weight) = (0.0f64, 0.0f64);
                for p in 0..cloud.particles.len() {
                    let away = lattice.position(i, j, k) - cloud.particles.x[p].clamp(lattice.origin, high);
                    let hat = (Vec3::ONE - away.abs() / grid.dx).max(Vec3::ZERO).as_dvec3();
                    let v = cloud.particles.v[p][axis]
                        + if affine { cloud.particles.affine[axis][p].dot(away) } else { 0.0 };
                    weight += hat.element_product();
                    momentum += hat.element_product() * v as f64;
                }
                assert!((w[axis][n] as f64 - weight).abs() < 1e-4, "{} {weight}", w[axis][n]);
                assert!((u[axis][n] as f64 * w[axis][n] as f64 - momentum).abs() < 2e-4);
                if weight == 0.0 {
                    without_particles += 1;
                    assert_eq!(u[axis][n], 0.0);
                }
            }
        }
        assert!(without_particles > 0);
    }
}

#[test]
fn uniform_velocity_survives_a_round_trip() {
    let grid = grid([9, 8, 10], 0.1);
    let velocity = Vec3::new(0.3, -1.7, 2.9);
    for transfer in [Transfer::Apic, Transfer::Flip { ratio: 0.97 }] {
        let mut particles = scattered(&grid, 3000, 0.0, false);
        particles.v.fill(velocity);
        let mut cloud = Cloud::of(particles, &grid);
        let (u, w) = cloud.to_faces(&grid, &transfer);
        for axis in 0..3 {
            for (u, _) in u[axis].iter().zip(&w[axis]).filter(|(_, w)| **w > 0.0) {
                assert!((u - velocity[axis]).abs() < 2e-6, "{u}");
            }
        }
        let u = fill_faces(&grid, |_| velocity);
        faces_to_particles(
            &mut cloud.particles,
            &u,
            &mut u.clone(),
            &grid,
            fluvial_grids::Sides::NONE,
            &transfer,
            &Flight::NONE,
        );
        assert!(cloud.particles.v.iter().all(|v| *v == velocity));
    }
}

#[test]
fn flip_leaves_velocities_on_an_unchanged_grid() {
    let grid = grid([8, 8, 8], 0.1);
    let mut particles = scattered(&grid, 500, 0.0, true);
    let before = particles.clone();
    let u = fill_faces(&grid, |x| Vec3::new((9.0 * x.y).sin(), x.x * x.z, (7.0 * x.x).cos()));
    faces_to_particles(
        &mut particles,
        &u,
        &mut u.clone(),
        &grid,
        fluvial_grids::Sides::NONE,
        &Transfer::Flip { ratio: 1.0 },
        &Flight::NONE,
    );
    assert_eq!(particles.v, before.v);
    assert!(!particles.has_affine(), "FLIP drops the rows");
    // With ratio r a share 1 - r of the difference to the grid goes.
    faces_to_particles(
        &mut particles,
        &u,
        &mut u.clone(),
        &grid,
        fluvial_grids::Sides::NONE,
        &Transfer::Flip { ratio: 0.9 },
        &Flight::NONE,
    );
    for p in 0..particles.len() {
        let on_grid = grid.sample_velocity(&u, particles.x[p]);
        assert!((particles.v[p] - before.v[p].lerp(on_grid, 0.1)).length() < 1e-5);
    }
}

/// Linear fields come through both ways, next to walls included.
#[test]
fn apic_reproduces_linear_fields() {
    let grid = grid([9, 8, 7], 0.1);
    let rows = [Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.3, 0.7, -1.1), Vec3::new(-0.4, 2.0, -1.7)];
    let linear = |x: Vec3| Vec3::new(0.2, -1.0, 0.4) + Vec3::from(rows.map(|row| row.dot(x)));
    let exact = fill_faces(&grid, linear);
    let mut cloud = Cloud::of(scattered(&grid, 5000, 0.0, false), &grid);
    faces_to_particles(
        &mut cloud.particles,
        &exact,
        &mut exact.clone(),
        &grid,
        fluvial_grids::Sides::NONE,
        &Transfer::Apic,
        &Flight::NONE,
    );
    for p in 0..cloud.particles.len() {
        for axis in 0..3 {
            assert!((cloud.particles.affine[axis][p] - rows[axis]).length() < 2e-5);
        }
    }
    let (u, w) = cloud.to_faces(&grid, &Transfer::Apic);
    let mut reached = 0;
    for axis in 0..3 {
        for n in 0..u[axis].len() {
            if w[axis][n] > 1e-3 {
                reached += 1;
                let error = (u[axis][n] - exact[axis][n]).abs();
                assert!(error < 2e-5, "component {axis} is off by {error}");
            }
        }
    }
    assert!(reached > 1500);
}

/// FLIP particles above a tilted plane, as beside a solid, moved by a linear field: with its slope they give the faces on that
/// plane its value, without they give that of their own places.
#[test]
fn particles_on_one_side_of_a_face_deposit_with_a_slope() {
    let grid = grid([9, 8, 7], 0.1);
    let rows = [Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.3, 0.7, -1.1), Vec3::new(-0.4, 2.0, -1.7)];
    let linear = |x: Vec3| Vec3::new(0.2, -1.0, 0.4) + Vec3::from(rows.map(|row| row.dot(x)));
    let exact = fill_faces(&grid, linear);
    let mut particles = Particles::default();
    let middle = 0.5 * (grid.bounds().min + grid.bounds().max);
    let all = scattered(&grid, 8000, 0.6, false);
    for &x in all.x.iter().filter(|x| (**x - middle).dot(Vec3::new(0.3, 1.0, 0.2)) > 0.0) {
        particles.push(x, linear(x), None);
    }
    let cloud = Cloud::of(particles, &grid);
    let worst = |steep: u8| {
        let (mut u, mut w) = (FaceField::constant(&grid, 7.0), FaceField::constant(&grid, 7.0));
        let deposit = Deposit {
            transfer: Transfer::Flip { ratio: 0.98 },
            sides: fluvial_grids::Sides::NONE,
            u_face: &exact,
            steep_cell: &vec![steep; grid.cell_count()],
        };
        particles_to_faces(&mut u, &mut w, &cloud.particles, &cloud.ranges, &grid, &deposit);
        let off =
            |axis: usize, n: usize| if w[axis][n] > 0.5 { (u[axis][n] - exact[axis][n]).abs() } else { 0.0 };
        (0..3)
            .flat_map(|axis| (0..u[axis].len()).map(move |n| (axis, n)))
            .map(|(a, n)| off(a, n))
            .fold(0.0, f32::max)
    };
    assert!(worst(1) < 2e-5, "off by {}", worst(1));
    assert!(worst(0) > 0.05, "off by {}: the particles lie around the faces", worst(0));
}

/// A slab of one cell has no neighbour along its thin axis, whichever it is.
#[test]
fn thin_slabs_work_along_every_axis() {
    for thin in 0..3 {
        let mut cells = [6, 6, 6];
        cells[thin] = 1;
        let grid = grid(cells, 0.1);
        let u = fill_faces(&grid, |x| Vec3::new(1.0, 2.0, 3.0) + 0.1 * x[(thin + 1) % 3]);
        let mut cloud = Cloud::of(scattered(&grid, 300, 0.0, true), &grid);
        faces_to_particles(
            &mut cloud.particles,
            &u,
            &mut u.clone(),
            &grid,
            fluvial_grids::Sides::NONE,
            &Transfer::Apic,
            &Flight::NONE,
        );
        for p in 0..cloud.particles.len() {
            let expected = grid.sample_velocity(&u, cloud.particles.x[p]);
            assert!((cloud.particles.v[p] - expected).length() < 1e-5);
        }
        let (_, w) = cloud.to_faces(&grid, &Transfer::Apic);
        for axis in 0..3 {
            let sum: f64 = w[axis].iter().map(|&w| w as f64).sum();
            assert!((sum - 300.0).abs() < 1e-3, "no weight is lost at walls: {sum}");
        }
    }
}
