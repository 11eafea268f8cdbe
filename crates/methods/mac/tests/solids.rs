use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Sides, UniformGrid};
use fluvial_mac::{SolidFaces, close_walls, constrain_to_solids, drift_with_solids, without_slivers};

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [8, 8, 8], dx: 0.125 };

fn constant(v: Vec3) -> FaceField {
    let mut u = FaceField::constant(&GRID, 0.0);
    AXES.into_iter().for_each(|axis| u[axis].fill(v[axis]));
    u
}

/// Below a slanting plane everything is solid; the liquid's uniform velocity becomes the solid's along
/// the normal.
#[test]
fn liquid_slips_along_a_moving_solid() {
    let normal = Vec3::new(0.6, 0.8, 0.0);
    let (liquid, solid) = (Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.0, 0.25, 3.0));
    let nodes = GRID.nodes();
    let mut phi_node = vec![0.0; nodes.len()];
    nodes.for_each_mut(&mut phi_node, |_, [i, j, k], phi| {
        *phi = (nodes.position(i, j, k) - 0.5).dot(normal);
    });
    let (closed, u_solid) = (FaceField::constant(&GRID, 0.0), constant(solid));
    let (mut u, mut scratch) = (constant(liquid), FaceField::default());
    let reached = AXES.map(|axis| vec![1; GRID.faces(axis).len()]);
    let solids =
        SolidFaces { phi_node: &phi_node, open_area: &closed, u_solid: &u_solid, sides: Sides::NONE };
    constrain_to_solids(&mut u, &mut scratch, &reached, &solids, [true; 6], &GRID);
    let expected = liquid - normal * normal.dot(liquid - solid);
    for axis in AXES {
        assert!(u[axis].iter().all(|u| (u - expected[axis]).abs() < 1e-5), "{axis}: {expected}");
    }
    // Faces that nothing reached are left alone.
    let (mut u, none) = (constant(liquid), AXES.map(|a| vec![0; reached[a].len()]));
    constrain_to_solids(&mut u, &mut scratch, &none, &solids, [true; 6], &GRID);
    assert_eq!(u, constant(liquid));
}

/// Half as fast at half the reach, and no faster inside the solid than at its surface.
#[test]
fn the_flow_moves_along_with_a_solid_beside_it() {
    let (nodes, velocity, reach_m) = (GRID.nodes(), Vec3::new(1.0, -2.0, 0.5), 4.0 * GRID.dx);
    let distance = |x: Vec3| x.x - 3.0 * GRID.dx;
    let mut phi_node = vec![0.0; nodes.len()];
    nodes.for_each_mut(&mut phi_node, |_, [i, j, k], phi| *phi = distance(nodes.position(i, j, k)));
    let mut drift = FaceField::default();
    drift_with_solids(&mut drift, &phi_node, &constant(velocity), reach_m, &GRID);
    for axis in AXES {
        let lattice = GRID.faces(axis);
        for (face, drift) in drift[axis].iter().enumerate() {
            let [i, j, k] = lattice.coordinates(face);
            let share = (1.0 - distance(lattice.position(i, j, k)) / reach_m).clamp(0.0, 1.0);
            assert!((drift - share * velocity[axis]).abs() < 1e-5, "{axis}, {face}: {drift}, {share}");
        }
    }
}

#[test]
fn both_ways_to_close_a_wall_agree() {
    let walls = [false, true, true, false, false, false];
    let open = FaceField::constant(&GRID, 1.0);
    let (mut a, mut b, mut scratch) = (constant(Vec3::ONE), constant(Vec3::ONE), FaceField::default());
    let reached = AXES.map(|axis| vec![1; GRID.faces(axis).len()]);
    let solids = SolidFaces { phi_node: &[], open_area: &open, u_solid: &open, sides: Sides::NONE };
    constrain_to_solids(&mut a, &mut scratch, &reached, &solids, walls, &GRID);
    close_walls(&mut b, walls, &GRID);
    assert_eq!(a, b);
    let zeros = AXES.map(|axis| b[axis].iter().filter(|&&u| u == 0.0).count());
    assert_eq!(zeros, [64, 64, 128]);
}

/// A face that is open by a hundredth, with 19 m/s through it, carries as its neighbours flow; all others keep their velocity.
#[test]
fn a_sliver_moves_as_the_faces_around_it() {
    let faces = GRID.faces(0);
    let (mut area, mut u) = (FaceField::constant(&GRID, 1.0), constant(Vec3::new(2.0, 0.5, -1.0)));
    let sliver = faces.index(2, 2, 2);
    (area[0][sliver], u[0][sliver]) = (0.01, 19.0);
    // Closed faces hold what has been extended into them.
    let closed = faces.index(2, 1, 2);
    (area[0][closed], u[0][closed]) = (0.0, -7.0);
    let mut carrying = FaceField::default();
    without_slivers(&mut carrying, &u, &area, 0.1, &GRID);
    assert!((carrying[0][sliver] - 2.0).abs() < 0.05, "{}", carrying[0][sliver]);
    carrying[0][sliver] = u[0][sliver];
    assert_eq!(carrying, u);
}
