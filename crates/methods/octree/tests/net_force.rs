use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::gradient::{Geometry, GradientParams, PressureGradient};
use fluvial_octree::net_force::{NetForceScratch, subtract_net_force};

/// A pressure that grows along x over the surface of a ball pushes it: with volumes of faces as masses,
/// the momentum that it gives along x is taken off a free ball to rounding, and is left to one in a
/// closed box.
#[test]
fn a_free_ball_is_not_moved_and_one_at_a_wall_is() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 1, roots: [16; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let ball = |x: Vec3| x.distance(Vec3::splat(0.5)) - 0.3;
    let phi: Vec<f32> = (0..tree.cell_count()).map(|c| ball(tree.cell_center(c))).collect();
    let mut area = vec![1.0; tree.face_count()];
    let crossed = |face: usize| {
        let wet = tree.cells_beside(face).filter(|&c| phi[c] < 0.0).count();
        wet == 1
    };
    let p: Vec<f32> = (0..tree.face_count())
        .map(|f| if crossed(f) { 1.0 + tree.face_center(f, tree.face_axis(f)).x } else { 0.0 })
        .collect();
    let velocity = |area: &[f32]| {
        let geometry = Geometry { tree: &tree, phi_cell: &phi, open_area: area };
        let mut gradient = PressureGradient::default();
        gradient.prepare(&geometry, &GradientParams::default());
        let mut u = vec![0.0; tree.face_count()];
        gradient.add_surface_pressure(&mut u, &geometry, &p);
        let before = u.clone();
        subtract_net_force(&mut u, &geometry, &p, &mut NetForceScratch::default());
        let middle = tree.cell_faces()[tree.locate(Vec3::splat(0.5)).cell as usize];
        [0, 2, 4].map(|side| u[middle[side] as usize] - before[middle[side] as usize])
    };
    // By Gauss the net force along x is the integral of dp/dx = 1 over the ball: each face's pressure
    // acts on its whole area, so that the volume is that of the liquid cells, and the velocity is minus 1
    // to the error of the stairs.
    let [x, y, z] = velocity(&area);
    assert!((x.abs() - 1.0).abs() < 0.01 && y.abs() < 1e-5 && z.abs() < 1e-5, "{x} {y} {z}");
    let middle = tree.locate(Vec3::splat(0.5)).cell as usize;
    area[tree.cell_faces()[middle][0] as usize] = 0.0;
    assert_eq!(velocity(&area), [0.0; 3]);
}
