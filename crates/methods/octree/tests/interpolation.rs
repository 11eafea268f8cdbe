//! Interpolation: exact on linear fields, trilinear in uniform surroundings, continuous where it promises to
//! be.

use crate::common::*;
use fluvial_foundation::random::{unit_f32, unit_vec3};
use fluvial_foundation::{AXES, DVec3, Vec3, parallel};
use fluvial_grids::octree::Shape;
use fluvial_grids::{Octree, UniformGrid};
use fluvial_octree::interpolate::{Interpolation, Sampler, Tracing};

const KINDS: [Interpolation; 2] = [Interpolation::Mls, Interpolation::Continuous];

/// Points in the domain, some of them on and beyond its walls, some on cell boundaries.
fn points(tree: &Octree, count: u64, seed: u64) -> Vec<Vec3> {
    let bounds = tree.shape().bounds();
    (0..count)
        .map(|n| {
            let mut x = bounds.min + bounds.size() * unit_vec3(n, seed);
            for axis in AXES {
                match (8.0 * unit_f32(n, seed + 7 + axis as u64)) as u32 {
                    0 => x[axis] = bounds.min[axis],
                    1 => x[axis] = bounds.max[axis],
                    2 => {
                        let steps = ((x[axis] - bounds.min[axis]) / tree.shape().dx).round();
                        x[axis] = bounds.min[axis] + steps * tree.shape().dx;
                    }
                    _ => {}
                }
            }
            x
        })
        .collect()
}

#[test]
fn linear_fields_are_reproduced_everywhere() {
    let slope = DVec3::new(0.8, -0.6, 0.5);
    let linear = |x: DVec3| 0.3 + slope.dot(x);
    let vector = |x: DVec3| DVec3::new(linear(x), 0.1 - linear(x), 0.5 * linear(x));
    for (seed, passes) in [(1, 0), (2, 1), (3, 3), (4, 0)] {
        let tree = random_tree(4, [5, 4, 3], passes, seed);
        let (q_cell, u_face) = (at_cells(&tree, linear), at_faces(&tree, vector));
        let mut tracing = Tracing::default();
        tracing.fill(&tree, &u_face);
        let mut slow = 0;
        for kind in KINDS {
            let sampler = Sampler::new(&tree, kind);
            for x in points(&tree, 4000, seed) {
                let wanted = x.as_dvec3();
                let error = (sampler.cells(&q_cell, x) as f64 - linear(wanted)).abs();
                assert!(error < 1e-6, "{kind:?} {x}: {error:.1e}");
                let error = (sampler.velocity(&u_face, x).as_dvec3() - vector(wanted)).abs().max_element();
                assert!(error < 1e-6, "{kind:?} faces {x}: {error:.1e}");
                let error = (tracing.at(&tree, x).as_dvec3() - vector(wanted)).abs().max_element();
                assert!(error < 1.5e-6, "tracing {x}: {error:.1e}");
                slow += !sampler.is_fast(x) as usize;
            }
        }
        assert!(slow > 1000, "{slow}");
    }
}

/// A field of no particular shape.
fn bumpy(x: DVec3) -> f64 {
    (3.0 * x.x + 1.0).sin() * (4.0 * x.y).cos() + (5.0 * x.z + 2.0 * x.x * x.y).sin()
}

/// In uniform surroundings every variant has the bits of a uniform grid.
#[test]
fn uniform_surroundings_give_the_bits_of_a_uniform_grid() {
    // Fine for x < 1/4, then levels of a few cells each.
    let shape = Shape { min: Vec3::new(0.1, 0.2, 0.3), dx: 1.0 / 64.0, levels: 3, roots: [16; 3] };
    let tree = Octree::build(shape, 3, |cell| shape.center(cell).x < 0.35);
    let vector = |x: DVec3| DVec3::new(bumpy(x), bumpy(2.0 * x), bumpy(0.5 * x));
    let (q_cell, u_face) = (at_cells(&tree, bumpy), at_faces(&tree, vector));
    let mut compared = [0; 2];
    for level in [0usize, 2] {
        let grid = UniformGrid { min: shape.min, cells: shape.cells(level), dx: shape.dx_of(level) };
        let centers = grid.cell_centers();
        // The tree's samples where it has the level, anything elsewhere.
        let place = |n: usize, size: [usize; 3]| [n % size[0], n / size[0] % size[1], n / size[0] / size[1]];
        let known = |found: Option<u32>, values: &[f32]| found.map_or(9.0, |n| values[n as usize]);
        let at = |n: usize, size: [usize; 3]| place(n, size).map(|v| v as u32);
        let q_grid: Vec<f32> =
            (0..centers.len()).map(|n| known(tree.leaf_at(level, at(n, centers.size)), &q_cell)).collect();
        let u_grid = AXES.map(|axis| {
            let size = grid.faces(axis).size;
            let value = |n: usize| known(tree.face_at(level, axis, at(n, size)), &u_face);
            (0..grid.faces(axis).len()).map(value).collect::<Vec<f32>>()
        });
        for x in points(&tree, 4000, 5) {
            // A uniform grid is constant beyond its outermost samples.
            let edge = 0.501 * grid.dx;
            let hull = (x - grid.min).cmpge(Vec3::splat(edge)).all()
                && (grid.bounds().max - x).cmpge(Vec3::splat(edge)).all();
            // Far enough from the changes of size for every kernel.
            let calm = if level == 0 { x.x < 0.36 } else { x.x > 0.9 };
            if !(hull && calm) {
                continue;
            }
            for kind in KINDS {
                let sampler = Sampler::new(&tree, kind);
                assert!(sampler.is_fast(x), "{x}");
                assert_eq!(sampler.cells(&q_cell, x).to_bits(), centers.sample(&q_grid, x).to_bits());
                compared[(level > 0) as usize] += 1;
                for axis in AXES {
                    let faces = grid.faces(axis);
                    let u = sampler.velocity(&u_face, x)[axis];
                    assert_eq!(u.to_bits(), sampler.component(&u_face, axis, x).to_bits());
                    assert_eq!(u.to_bits(), faces.sample(&u_grid[axis], x).to_bits());
                }
            }
        }
    }
    assert!(compared.iter().all(|&n| n > 300), "{compared:?}");
}

/// Largest step of a value between points `step` apart along lines through the tree, in units of what the
/// field's slope allows.
fn largest_jump(tree: &Octree, step: f32, value: impl Fn(Vec3) -> f32) -> f32 {
    let bounds = tree.shape().bounds();
    let mut largest = 0.0f32;
    for line in 0..60 {
        let from = bounds.min + bounds.size() * unit_vec3(line, 1);
        let axis = line as usize % 3;
        // Boundaries of all regions lie at multiples of half a finest cell.
        let boundaries = 2 * tree.shape().cells(0)[axis];
        for n in 1..boundaries {
            let at = bounds.min[axis] + 0.5 * tree.shape().dx * n as f32;
            let (mut low, mut high) = (from, from);
            (low[axis], high[axis]) = (at - step, at + step);
            largest = largest.max((value(high) - value(low)).abs());
        }
    }
    largest
}

#[test]
fn the_continuous_variant_has_no_jumps() {
    let gentle = |x: DVec3| bumpy(0.4 * x);
    for (seed, passes) in [(1, 0), (2, 3), (5, 1)] {
        let tree = random_tree(4, [5, 4, 3], passes, seed);
        let (q_cell, u_face) = (at_cells(&tree, gentle), at_faces(&tree, |x| DVec3::splat(gentle(x))));
        let jump = |kind: Interpolation, step: f32| {
            let sampler = Sampler::new(&tree, kind);
            let cells = largest_jump(&tree, step, |x| sampler.cells(&q_cell, x));
            AXES.iter().fold(cells, |most, &axis| {
                most.max(largest_jump(&tree, step, |x| sampler.component(&u_face, axis, x)))
            })
        };
        // The field's slope is below 6; what remains beyond it would be a jump.
        let step = 1e-6;
        let (continuous, mls) = (jump(Interpolation::Continuous, step), jump(Interpolation::Mls, step));
        assert!(continuous < 2.0 * step * 6.0 + 1e-5, "{continuous}");
        // The other variant does jump: the test would see it.
        assert!(mls > 1e-3, "{mls}");
        println!("largest jumps: {continuous:.1e} {mls:.1e}");
    }
}

/// Both variants are second order on smooth fields, whatever the tree.
#[test]
fn errors_fall_with_the_square_of_the_cell_size() {
    for kind in KINDS {
        let errors = [32usize, 64].map(|finest| {
            let tree = quartered(finest, 0, |_, _| true);
            let q_cell = at_cells(&tree, bumpy);
            let u_face = at_faces(&tree, |x| DVec3::splat(bumpy(x)));
            let sampler = Sampler::new(&tree, kind);
            let mut errors = [0.0f64; 2];
            for n in 0..4000 {
                let x = unit_vec3(n, 3);
                let wanted = bumpy(x.as_dvec3());
                let found = [sampler.cells(&q_cell, x), sampler.component(&u_face, n as usize % 3, x)];
                for (error, found) in errors.iter_mut().zip(found) {
                    *error = error.max((found as f64 - wanted).abs());
                }
            }
            errors
        });
        for n in 0..2 {
            let order = (errors[0][n] / errors[1][n]).log2();
            assert!(order > 1.7, "{kind:?} {n}: order {order:.2} {errors:?}");
        }
    }
}

/// Twice as fine, a quarter of the error: where sizes meet too.
#[test]
fn traced_velocity_is_of_second_order() {
    let vector = |x: DVec3| DVec3::new(bumpy(x), bumpy(0.7 * x), bumpy(1.3 * x));
    let error = |finest: usize| {
        let tree = quartered(finest, 1, |x, dx| (x - 0.4).length() < 0.2 + 2.0 * dx);
        let mut tracing = Tracing::default();
        tracing.fill(&tree, &at_faces(&tree, vector));
        let sampler = Sampler::new(&tree, Interpolation::Mls);
        let slow: Vec<Vec3> = points(&tree, 20000, 3).into_iter().filter(|&x| !sampler.is_fast(x)).collect();
        assert!(slow.len() > 1000, "{}", slow.len());
        let of = |x: &Vec3| (tracing.at(&tree, *x).as_dvec3() - vector(x.as_dvec3())).abs().max_element();
        slow.iter().map(of).fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(64), error(128));
    assert!((coarse / fine).log2() > 1.8, "{coarse:.1e} {fine:.1e}");
}

#[test]
fn points_outside_take_the_value_on_the_hull() {
    let tree = random_tree(4, [5, 4, 3], 1, 6);
    let q_cell = at_cells(&tree, bumpy);
    let bounds = tree.shape().bounds();
    for kind in KINDS {
        let sampler = Sampler::new(&tree, kind);
        for n in 0..100 {
            let x = bounds.min + bounds.size() * (3.0 * unit_vec3(n, 0) - 1.0);
            let hull = x.clamp(bounds.min, bounds.max);
            assert_eq!(sampler.cells(&q_cell, x).to_bits(), sampler.cells(&q_cell, hull).to_bits());
        }
    }
}

/// A slab one coarsest cell thick: no second sample across it, and yet every value is found.
#[test]
fn a_slab_one_cell_thick_is_constant_across() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25, levels: 2, roots: [6, 6, 1] };
    let tree = Octree::build(shape, 0, |cell| cell.at[0] == 0);
    let q_cell = at_cells(&tree, |x| 1.0 + x.x - 2.0 * x.y);
    let values = parallel::map_indices(2, |n| {
        let sampler = Sampler::new(&tree, KINDS[n]);
        let error = |x: Vec3| (sampler.cells(&q_cell, x) - (1.0 + x.x - 2.0 * x.y)).abs();
        (0..500).map(|n| error(unit_vec3(n, 0) * shape.bounds().max)).fold(0.0, f32::max)
    });
    assert!(values.iter().all(|&error| error < 1e-5), "{values:?}");
}
