//! Velocity at centres, nodes and any point from power faces: exact for linear fields, second order, continuous.

use crate::trees::{nested_boxes, random_pyramid};
use fluvial_foundation::random::unit_vec3;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;
use fluvial_power::diagram::Diagram;
use fluvial_power::flow::{Cursor, Flow};
use fluvial_power::pairs::Boundary;
use fluvial_power::view::View;
use fluvial_power::{centers, faces, nodes};

/// Sets all face velocities from a field and finds those of centres and nodes.
fn prepare(pyramid: &mut Pyramid, field: impl Fn(DVec3) -> DVec3 + Sync + Send) -> Diagram {
    let diagram = Diagram::new(pyramid);
    faces::update(pyramid, &diagram, Boundary::default(), |_: &mut (), _, face, u| {
        *u = field(face.centroid.as_dvec3()).dot(face.normal.as_dvec3()) as f32;
    });
    centers::from_faces(pyramid, &diagram, None);
    nodes::from_centers(pyramid);
    diagram
}

/// Largest error at random points of a box.
fn largest_error(view: View, low: Vec3, high: Vec3, field: impl Fn(DVec3) -> DVec3) -> f64 {
    let flow = Flow::new(view);
    let mut cursor = Cursor::default();
    let error = |n: u64| {
        let x = low + unit_vec3(n, 5) * (high - low);
        (flow.velocity(&mut cursor, x).as_dvec3() - field(x.as_dvec3())).length()
    };
    (0..20_000).map(error).fold(0.0, f64::max)
}

fn linear(x: DVec3) -> DVec3 {
    DVec3::new(
        0.3 + x.x - 2.0 * x.y + 0.5 * x.z,
        -1.0 + 0.7 * x.x + 0.4 * x.y - x.z,
        0.2 - 0.6 * x.x + x.y + 0.9 * x.z,
    )
}

#[test]
fn linear_fields_are_exact_across_transitions() {
    for seed in 0..3 {
        let mut pyramid = random_pyramid(Backing::Reserved, 3, [8; 3], 12, seed);
        let diagram = prepare(&mut pyramid, linear);
        let bounds = pyramid.shape().bounds();
        // Three layers of the largest leaves at walls: fits see the velocity at walls, which is zero.
        let rim = 3.0 * pyramid.shape().dx_of(2);
        let view = View { pyramid: &pyramid, diagram: &diagram };
        let error = largest_error(view, bounds.min + rim, bounds.max - rim, linear);
        assert!(error < 1e-5 * 20.0, "{error}");
    }
}

#[test]
fn smooth_fields_are_second_order_across_transitions() {
    let field = |x: DVec3| {
        let k = 2.0;
        DVec3::new(
            (k * x.y).sin() * (k * x.z).cos(),
            (k * x.z).sin() * (k * x.x).cos(),
            (k * x.x).sin() * (k * x.y).cos(),
        )
    };
    let error = |roots: usize| {
        let mut pyramid = nested_boxes(roots);
        let diagram = prepare(&mut pyramid, field);
        largest_error(
            View { pyramid: &pyramid, diagram: &diagram },
            Vec3::splat(0.2),
            Vec3::splat(0.8),
            field,
        )
    };
    let (coarse, fine) = (error(16), error(32));
    let order = (coarse / fine).log2();
    println!("{coarse:.3e} {fine:.3e} order {order:.2}");
    assert!(order > 1.8, "{coarse} {fine}: order {order}");
}

#[test]
fn velocity_is_continuous() {
    let mut pyramid = random_pyramid(Backing::Reserved, 3, [6; 3], 10, 7);
    // Anything but smooth: neighbours have nothing to do with each other.
    let diagram = prepare(&mut pyramid, |x| (937.0 * x).map(f64::sin));
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let (flow, bounds) = (Flow::new(view), pyramid.shape().bounds());
    let step = 1e-3 * pyramid.shape().dx;
    for n in 0..40_000 {
        let x = bounds.min + unit_vec3(n, 1) * bounds.size();
        // Onto the nearest plane between finest leaves: half of the points lie on sides of leaves.
        let axis = (n % 3) as usize;
        let mut on = x;
        on[axis] = bounds.min[axis]
            + ((x[axis] - bounds.min[axis]) / pyramid.shape().dx).round() * pyramid.shape().dx;
        let side = |s: f32| flow.velocity(&mut Cursor::default(), on + s * step * Vec3::AXES[axis]);
        let jump = side(1.0).distance(side(-1.0));
        assert!(jump < 0.04, "{jump} at {on}");
    }
}
