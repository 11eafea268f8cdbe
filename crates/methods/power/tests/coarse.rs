//! The level set on leaves beyond the band.

use crate::trees::nested_boxes;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::pyramid::Pyramid;
use fluvial_power::band::{Band, pages_near};
use fluvial_power::channels::PHI;
use fluvial_power::coarse;
use fluvial_power::diagram::Diagram;
use fluvial_power::view::View;

/// Largest error of the leaves' distances to a surface, in metres.
fn largest_error(pyramid: &mut Pyramid, phi: impl Fn(Vec3) -> f32 + Sync) -> f32 {
    let diagram = Diagram::new(pyramid);
    let shape = *pyramid.shape();
    let (cells, dx) = (shape.cells(0).map(|n| 2 * n), 0.5 * shape.dx);
    let mut band = Band::empty(shape.min, dx, cells, 8.0 * dx).unwrap();
    let near = |b: Aabb| phi(0.5 * (b.min + b.max)).abs() < 0.5 * b.size().length() + 8.0 * dx;
    let pages = pages_near(&band, near);
    band.fill(&pages, &phi, None).unwrap();
    coarse::from_band(pyramid, &diagram, &band, |x| phi(x) < 0.0);
    let view = View { pyramid, diagram: &diagram };
    let error = |&leaf| (view.value(leaf, PHI) - phi(view.center(leaf))).abs();
    view.leaves().iter().map(error).fold(0.0, f32::max)
}

#[test]
fn distances_are_first_order_far_from_the_band() {
    let error =
        |roots: usize, phi: &(dyn Fn(Vec3) -> f32 + Sync)| largest_error(&mut nested_boxes(roots), phi);
    let level = |x: Vec3| x.y - 0.413;
    let ball = |x: Vec3| x.distance(Vec3::new(0.45, 0.4, 0.5)) - 0.25;
    let surfaces: [&(dyn Fn(Vec3) -> f32 + Sync); 2] = [&level, &ball];
    for phi in surfaces {
        let (coarse, fine) = (error(8, phi), error(16, phi));
        println!("{coarse:.1e} {fine:.1e} order {:.2}", (coarse / fine).log2());
        // A sixteenth of the largest leaves.
        assert!((coarse / fine).log2() > 0.8 && fine < 0.3 / 16.0, "{coarse} {fine}");
    }
}
