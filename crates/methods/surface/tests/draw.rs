use fluvial_foundation::Vec3;
use fluvial_grids::Lattice;
use fluvial_surface::{Bells, MeshParams, Place, VolumeToFit, draw_volume, mesh_level_set, set_velocities};

/// A ball that lacks a twentieth, a film on the floor and a drop far from both: together they have their volume.
#[test]
fn what_has_no_mesh_is_drawn_beside_it() {
    let cells = Lattice { size: [24; 3], origin: Vec3::splat(0.5), spacing: 1.0 };
    let at = |x: f32, y: f32, z: f32| cells.index(x as usize, y as usize, z as usize);
    let phi: Vec<f32> = (0..cells.len())
        .map(|cell| {
            let [i, j, k] = cells.coordinates(cell);
            cells.position(i, j, k).distance(Vec3::new(16.0, 14.0, 12.0)) - 5.0
        })
        .collect();
    let mut mesh = mesh_level_set(&phi, &cells, &MeshParams::default());
    set_velocities(&mut mesh, |_| Vec3::ZERO);
    let ball_m3 = mesh.volume();
    let center = Vec3::new(16.0, 14.0, 12.0);
    let before_m: Vec<f32> = mesh.positions.iter().map(|x| x.distance(center)).collect();
    let mut lacking_cell = vec![0.0; cells.len()];
    let area: Vec<f32> = phi.iter().map(|phi| (1.0 - phi.abs()).max(0.0)).collect();
    let all: f32 = area.iter().sum();
    lacking_cell
        .iter_mut()
        .zip(&area)
        .for_each(|(lacking, area)| *lacking = 0.05 * ball_m3 as f32 * area / all);
    (lacking_cell[at(3.0, 0.0, 3.0)], lacking_cell[at(4.0, 20.0, 12.0)]) = (0.3, 0.2);
    let half_m = vec![0.5; mesh.positions.len()];
    let wanted_m3 = 1.05 * ball_m3 + 0.5;
    let to = VolumeToFit { cells: &Bells { cells: &cells, sums: 2 }, lacking_cell, wanted_m3 };
    draw_volume(&mut mesh, &half_m, to, std::iter::empty(), |cell| {
        let [i, j, k] = cells.coordinates(cell);
        Place {
            center: cells.position(i, j, k),
            dx: 1.0,
            wall: (j == 0).then_some((1, false)),
            velocity: Vec3::ZERO,
        }
    });
    assert!((mesh.volume() / wanted_m3 - 1.0).abs() < 2e-4 && mesh.defects().is_clean());
    let is_film = |x: &&Vec3| (**x - Vec3::new(3.0, 0.0, 3.0)).abs_diff_eq(Vec3::splat(0.5), 0.7);
    let is_drop = |x: &&Vec3| x.distance(Vec3::new(4.5, 20.5, 12.5)) < 1.0;
    assert_eq!(mesh.positions.iter().filter(is_film).count(), 8, "a slab");
    // A ball of 0.2 has a radius of 0.363; corners of a polyhedron of that volume lie up to 1.2 times as far out.
    let radii: Vec<f32> =
        mesh.positions.iter().filter(is_drop).map(|x| x.distance(Vec3::new(4.5, 20.5, 12.5))).collect();
    assert!(radii.len() >= 12 && radii.iter().all(|r| (0.98..1.25).contains(&(r / 0.363))), "{radii:?}");
    // A twentieth more is a sixtieth of the radius; what the cells lack is spread by their share of the surface.
    for (x, before) in mesh.positions.iter().zip(before_m) {
        let way_m = x.distance(center) - before;
        assert!((0.03..0.14).contains(&way_m), "{way_m} at {x}");
    }
}
