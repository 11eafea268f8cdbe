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
