// Private to the crate, and complete in itself.
#[path = "../src/bvh.rs"]
#[allow(dead_code)]
mod bvh;

use bvh::{Bvh, closest_point_on_triangle};
use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;

#[test]
fn the_nearest_point_of_a_triangle_beats_every_sample() {
    for n in 0..300 {
        let triangle: [Vec3; 3] = std::array::from_fn(|v| unit_vec3(n, v as u64));
        let x = 3.0 * unit_vec3(n, 9) - 1.0;
        let nearest = closest_point_on_triangle(x, &triangle);
        let mut best = f32::INFINITY;
        for i in 0..=40 {
            for j in 0..=40 - i {
                let (u, v) = (i as f32 / 40.0, j as f32 / 40.0);
                let p = triangle[0] + u * (triangle[1] - triangle[0]) + v * (triangle[2] - triangle[0]);
                best = best.min(x.distance(p));
            }
        }
        assert!(x.distance(nearest) <= best + 1e-6);
        assert!(x.distance(nearest) >= best - 0.05);
    }
}

#[test]
fn the_tree_agrees_with_a_look_at_every_triangle() {
    let triangles: Vec<[Vec3; 3]> = (0..500)
        .map(|n| {
            let base = unit_vec3(n, 0);
            [base, base + 0.1 * unit_vec3(n, 1), base + 0.1 * unit_vec3(n, 2)]
        })
        .collect();
    let tree = Bvh::new(triangles.clone());
    for n in 0..500 {
        let x = 2.0 * unit_vec3(n, 7) - 0.5;
        let slow = triangles
            .iter()
            .map(|t| x.distance_squared(closest_point_on_triangle(x, t)))
            .fold(f32::INFINITY, f32::min);
        assert_eq!(tree.distance_squared(x, f32::INFINITY), slow);
    }
}
