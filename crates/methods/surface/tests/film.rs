use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_surface::{WallFilm, add_wall_films};

#[test]
fn slabs_join_and_have_their_volume() {
    let domain = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
    for wall in [(1, false), (0, true)] {
        let (axis, along) = (wall.0, (wall.0 + 1) % 3);
        let film = |n: usize| {
            let mut center = Vec3::splat(0.55);
            center[axis] = if wall.1 { 0.95 } else { 0.05 };
            center[along] += 0.1 * n as f32;
            WallFilm { wall, center, dx: 0.1, volume_m3: 1e-4 * (n + 1) as f32, velocity: Vec3::X }
        };
        let mut mesh = TriangleMesh::default();
        add_wall_films(&mut mesh, &[film(0), film(1), film(2)], domain, 0.1);
        assert!(mesh.defects().is_clean() && mesh.velocities.len() == 24);
        assert!((mesh.volume() - 6e-4).abs() < 1e-8, "{}", mesh.volume());
        let from_wall = |x: &Vec3| if wall.1 { 1.0 - x[axis] } else { x[axis] };
        let mut heights: Vec<i32> =
            mesh.positions.iter().map(|x| (from_wall(x) * 1e4).round() as i32).filter(|h| *h > 0).collect();
        heights.sort_unstable();
        assert_eq!(
            heights,
            [100, 100, 150, 150, 150, 150, 250, 250, 250, 250, 300, 300],
            "shared corners agree"
        );
    }
}
