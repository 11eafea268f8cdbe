//! Trees that tests share.

use fluvial_foundation::Vec3;
use fluvial_foundation::random::splitmix64;
use fluvial_grids::octree::Shape;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;

/// Divides the cells around random points, down to a random level each.
pub fn random_pyramid(backing: Backing, levels: usize, roots: [usize; 3], points: u64, seed: u64) -> Pyramid {
    let shape = Shape { min: Vec3::new(-0.5, 0.25, 1.0), dx: 0.125, levels, roots };
    let draw = |n: u64, k: u64| splitmix64(splitmix64(seed) ^ (8 * n + k)) as usize;
    let point = |n| ([0, 1, 2].map(|a| draw(n, a as u64) % shape.cells(0)[a]), draw(n, 3) % (levels - 1));
    let points: Vec<([usize; 3], usize)> = (0..points).map(point).collect();
    Pyramid::build(backing, shape, |cell| {
        let holds = |p: &[usize; 3]| (0..3).all(|a| p[a] >> cell.level == cell.at[a] as usize);
        points.iter().any(|(p, level)| *level < cell.level as usize && holds(p))
    })
    .unwrap()
}

/// Three levels in the unit box, whose transitions lie at the same places for any multiple of 8 roots:
/// smallest leaves in a box of 2x1x2 eighths, next ones in an eighth around it.
pub fn nested_boxes(roots: usize) -> Pyramid {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25 / roots as f32, levels: 3, roots: [roots; 3] };
    let (low, high) = (Vec3::new(0.25, 0.375, 0.25), Vec3::new(0.5, 0.5, 0.5));
    let pyramid = Pyramid::build(Backing::Reserved, shape, |cell| {
        let margin = [0.0, 0.0, 0.125][cell.level as usize];
        let center = shape.center(cell);
        center.cmpgt(low - margin).all() && center.cmplt(high + margin).all()
    });
    let pyramid = pyramid.unwrap();
    let leaves = (roots / 8).pow(3) * (4 * 64 + (48 - 4) * 8 + 512 - 48);
    assert_eq!(pyramid.active_count(), leaves, "grading adds nothing");
    pyramid
}
