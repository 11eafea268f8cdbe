use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::interpolate::{Interpolation, Sampler};
use fluvial_octree::particles::flight::{FlightInfo, Surroundings, carry, update_velocities};
use fluvial_octree::sides::TreeSides;

fn tree() -> Octree {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 1, roots: [16; 3] };
    Octree::build(shape, 0, |_| false)
}

/// In a rotation the midpoint rule errs by `(omega dt)^3 r / 6` a step; a solid half space and a closed wall
/// hold what would pass.
#[test]
fn particles_move_with_the_liquid_and_stop_at_walls() {
    let tree = tree();
    let sampler = Sampler::new(&tree, Interpolation::Mls);
    // A rotation that sinks at the side of high x, and flows outwards at high z.
    let spin = |x: Vec3| {
        let out = if x.z > 0.8 { 1.0 } else { 0.0 };
        Vec3::new(0.5 - x.y + out, x.x - 0.5, if x.x > 0.8 { -1.0 } else { 0.0 })
    };
    let u: Vec<f32> = (0..tree.face_count())
        .map(|f| spin(tree.face_center(f, tree.face_axis(f)))[tree.face_axis(f)])
        .collect();
    let around = Surroundings {
        sides: TreeSides::NONE,
        bounds: tree.shape().bounds(),
        open_walls: [false; 6],
        has_solids: true,
        solid_distance: |x: Vec3| x.z - 0.25,
        dx: 1.0 / 16.0,
        margin_m: 0.001,
    };
    let dt = 0.1f32;
    let mut x = [Vec3::new(0.7, 0.5, 0.5), Vec3::new(0.9, 0.5, 0.3), Vec3::new(0.95, 0.5, 0.95)];
    let info = carry(&mut x, (&sampler, &u), &around, dt);
    let exact = Vec3::new(0.5 + 0.2 * dt.cos(), 0.5 + 0.2 * dt.sin(), 0.5);
    assert!(x[0].distance(exact) < 0.2 * dt.powi(3) / 5.0, "{}", x[0]);
    assert!((x[1].z - 0.25 - 0.00101).abs() < 1e-5, "{}", x[1]);
    assert!((x[2].x - 0.999).abs() < 1e-6, "{}", x[2]);
    assert_eq!(info, FlightInfo { pushed: 1, trapped: 0 });
}

#[test]
fn flip_keeps_what_the_grid_cannot_hold() {
    let tree = tree();
    let sampler = Sampler::new(&tree, Interpolation::Mls);
    let (old, new) = (vec![1.0; tree.face_count()], vec![3.0; tree.face_count()]);
    let (mut v, x) = ([Vec3::splat(1.5)], [Vec3::splat(0.4)]);
    update_velocities(&mut v, &x, &sampler, (&new, &old), 0.5);
    assert!(v[0].distance(Vec3::splat(3.25)) < 1e-6, "half of its own 0.5 is left");
}
