use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::gradient::Geometry;
use fluvial_octree::momentum::{add_to_liquid, mean_velocity};
use fluvial_octree::volume::{Fits, liquid_fractions};

/// A ball at rest across two sizes of cells that is given a velocity has it as its mean, and none in the
/// air far from it. It is free until a face of one of its cells is closed.
#[test]
fn liquid_takes_up_a_velocity_and_has_its_mean() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 2, roots: [8; 3] };
    let tree = Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).x < 0.5);
    let ball = |x: Vec3| x.distance(Vec3::splat(0.5)) - 0.3;
    let phi: Vec<f32> = (0..tree.cell_count()).map(|c| ball(tree.cell_center(c))).collect();
    let mut fractions = vec![];
    liquid_fractions(&mut fractions, &tree, &phi, None, Fits::NONE);
    let (mut u, mut area) = (vec![0.0; tree.face_count()], vec![1.0; tree.face_count()]);
    let v = Vec3::new(1.0, -2.0, 0.5);
    add_to_liquid(&mut u, &tree, &phi, v);
    let mean = |area: &[f32]| {
        let geometry = Geometry { tree: &tree, phi_cell: &phi, open_area: area };
        mean_velocity(&geometry, &fractions, &u)
    };
    let (found, free) = mean(&area);
    assert!(free);
    assert!(AXES.iter().all(|&a| (found[a] - v[a] as f64).abs() < 1e-6), "{found:?}");
    let far = tree.locate(Vec3::splat(0.05)).cell as usize;
    assert!(tree.cell_faces()[far].iter().all(|&face| u[face as usize] == 0.0));
    let middle = tree.locate(Vec3::splat(0.5)).cell as usize;
    area[tree.cell_faces()[middle][0] as usize] = 0.5;
    assert!(!mean(&area).1);
}

const AXES: [usize; 3] = fluvial_foundation::AXES;
