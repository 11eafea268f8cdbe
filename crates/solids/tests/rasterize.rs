//! Tests of `rasterize`.

use fluvial_foundation::{AXES, Quat, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{BAND_CELLS, Key, Motion, Shape, SolidFields, rasterize};

const OPEN: [bool; 6] = [true; 6];

fn unit_grid(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn raster(shapes: &[Shape], n: usize) -> SolidFields {
    let mut out = SolidFields::default();
    let solids: Vec<_> = shapes.iter().map(|s| (s, &Motion::Static)).collect();
    rasterize(&mut out, &solids, OPEN, &unit_grid(n), 0.0);
    out
}

/// The convergence order between successive halvings must stay near 2.
fn assert_second_order(errors: &[f64], what: &str) {
    let mean = (errors[0] / errors[errors.len() - 1]).log2() / (errors.len() - 1) as f64;
    assert!(mean > 1.8, "{what}: {errors:?}, order {mean}");
}

#[test]
fn volume_areas_and_flux_around_a_ball_converge_at_second_order() {
    let (center, radius) = (Vec3::new(0.513, 0.487, 0.504), 0.31f32);
    let ball = Shape::Sphere { center, radius };
    let exact_volume = 4.0 / 3.0 * std::f64::consts::PI * (radius as f64).powi(3);
    let (mut volume, mut area, mut flux) = (vec![], vec![], vec![]);
    for n in [16, 32, 64] {
        let fields = raster(std::slice::from_ref(&ball), n);
        let dx = 1.0 / n as f64;
        let solid: f64 = fields.open_volume.iter().map(|&v| 1.0 - v as f64).sum::<f64>() * dx.powi(3);
        volume.push((solid - exact_volume).abs());
        // Areas of all sections x = i dx of the ball, largest error.
        let mut worst = 0.0f64;
        for i in 0..=n {
            let faces = unit_grid(n).faces(0);
            let closed: f64 =
                (0..n * n).map(|m| 1.0 - fields.open_area[0][i + faces.size[0] * m] as f64).sum();
            let rest = (radius as f64).powi(2) - (i as f64 * dx - center.x as f64).powi(2);
            worst = worst.max((closed * dx * dx - std::f64::consts::PI * rest.max(0.0)).abs());
        }
        area.push(worst);
        // Flux of F = x out of the ball through the interface = 3 V, from the faces alone: by Gauss on every
        // cell the interface vector (out of the ball) is the sum of open areas, and F is taken at the cell's
        // centre.
        let grid = unit_grid(n);
        let cells = grid.cell_centers();
        let mut sum = 0.0;
        for m in 0..cells.len() {
            let c = cells.coordinates(m);
            let x = cells.position(c[0], c[1], c[2]);
            for a in AXES {
                let low = grid.faces(a).index(c[0], c[1], c[2]);
                let high = low + grid.faces(a).stride(a);
                let difference = fields.open_area[a][high] as f64 - fields.open_area[a][low] as f64;
                sum += difference * x[a] as f64 * dx * dx;
            }
        }
        flux.push((sum - 3.0 * exact_volume).abs());
    }
    assert_second_order(&volume, "volume");
    assert_second_order(&area, "area");
    assert_second_order(&flux, "flux");
}

#[test]
fn the_nodal_distance_is_the_clamped_exact_one() {
    let shape = Shape::Difference(
        Box::new(Shape::Sphere { center: Vec3::new(0.4, 0.5, 0.6), radius: 0.33 }),
        Box::new(Shape::Cylinder {
            from: Vec3::new(0.5, 0.0, 0.5),
            to: Vec3::new(0.5, 1.0, 0.5),
            radius: 0.07,
        }),
    );
    let other = Shape::Box { min: Vec3::new(0.8, -1.0, 0.1), max: Vec3::new(0.91, 0.4, 0.2) };
    let n = 40;
    let fields = raster(&[shape.clone(), other.clone()], n);
    let (nodes, band) = (unit_grid(n).nodes(), BAND_CELLS / n as f32);
    for m in 0..nodes.len() {
        let [i, j, k] = nodes.coordinates(m);
        let x = nodes.position(i, j, k);
        let exact = shape.distance(x).min(other.distance(x)).clamp(-band, band);
        assert!(
            (fields.phi_node[m] - exact).abs() <= 1.1e-3 / n as f32,
            "{x}: {} {exact}",
            fields.phi_node[m]
        );
    }
}

#[test]
fn a_flat_side_on_grid_faces_closes_them_in_spite_of_rounding() {
    // 0.1 * n is not a float; the box's top and the nodes agree up to rounding only.
    let n = 30;
    let top = 0.3f32;
    let fields = raster(&[Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, top, 2.0) }], n);
    let faces = unit_grid(n).faces(1);
    for k in 0..n {
        for i in 0..n {
            assert_eq!(fields.open_area[1][faces.index(i, 9, k)], 0.0);
            assert_eq!(fields.open_area[1][faces.index(i, 10, k)], 1.0);
            let cells = unit_grid(n).cell_centers();
            assert_eq!(fields.open_volume[cells.index(i, 8, k)], 0.0);
            assert_eq!(fields.open_volume[cells.index(i, 9, k)], 1.0);
        }
    }
    assert!(fields.any_solid());
}

#[test]
fn walls_are_closed_unless_open() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [4, 5, 6], dx: 0.1 };
    let mut fields = SolidFields::default();
    let post = Shape::Box { min: Vec3::new(-1.0, -1.0, -1.0), max: Vec3::new(9.0, 0.125, 9.0) };
    rasterize(&mut fields, &[(&post, &Motion::Static)], [false, true, false, true, false, false], &grid, 0.0);
    let x = grid.faces(0);
    assert_eq!(fields.open_area[0][x.index(0, 3, 3)], 0.0);
    assert_eq!(fields.open_area[0][x.index(4, 3, 3)], 1.0);
    assert!((fields.open_area[0][x.index(4, 1, 3)] - 0.75).abs() < 1e-5, "an open wall keeps its fraction");
    assert_eq!(fields.open_area[1][grid.faces(1).index(2, 0, 2)], 0.0);
    assert_eq!(fields.open_area[1][grid.faces(1).index(2, 5, 2)], 1.0);
    assert!(!rasterize(
        &mut fields,
        &[(&post, &Motion::Static)],
        [false, true, false, true, false, false],
        &grid,
        1.0
    ));
    assert!(
        rasterize(&mut fields, &[(&post, &Motion::Static)], OPEN, &grid, 1.0),
        "other walls, other fields"
    );
    assert_eq!(fields.open_area[1][grid.faces(1).index(2, 5, 2)], 1.0);
}

#[test]
fn slivers_are_closed_and_counted() {
    let n = 10;
    // open gap of 0.0005 dx beside a wall-filling block is below the smallest area, one of 0.01 dx is not
    let block =
        |gap: f32| Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.5 + 0.1 * (1.0 - gap), 2.0, 2.0) };
    let open_in = |fields: &SolidFields| fields.open_area[1][unit_grid(n).faces(1).index(5, 5, 5)];
    let wide = raster(&[block(0.01)], n);
    assert!((open_in(&wide) - 0.01).abs() < 1e-4);
    assert_eq!(wide.snapped_faces, 0);
    let thin = raster(&[block(0.0005)], n);
    assert_eq!(open_in(&thin), 0.0);
    assert!(thin.snapped_faces + thin.snapped_nodes > 0);
}

#[test]
fn a_moving_solid_is_followed_with_its_velocity_and_leaves_no_trace() {
    let n = 32;
    let grid = unit_grid(n);
    let floor = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, 0.1, 2.0) };
    let ball = Shape::Sphere { center: Vec3::new(0.3, 0.5, 0.5), radius: 0.12 };
    let motion = Motion::Constant {
        linear: Vec3::new(0.4, 0.1, 0.0),
        angular: Vec3::new(0.0, 3.0, 1.0),
        about: Vec3::new(0.3, 0.5, 0.5),
    };
    let solids: [(&Shape, &Motion); 2] = [(&floor, &Motion::Static), (&ball, &motion)];
    let mut kept = SolidFields::default();
    for t in [0.0, 0.3, 0.6, 0.5] {
        assert!(rasterize(&mut kept, &solids, OPEN, &grid, t));
        let mut fresh = SolidFields::default();
        rasterize(&mut fresh, &solids, OPEN, &grid, t);
        assert_eq!(kept.phi_node, fresh.phi_node);
        assert_eq!(kept.open_area, fresh.open_area);
        assert_eq!(kept.u_solid, fresh.u_solid);
        assert_eq!(kept.open_volume, fresh.open_volume);
        let mut checked = 0;
        for axis in AXES {
            let faces = grid.faces(axis);
            for m in 0..faces.len() {
                let c = faces.coordinates(m);
                let x = faces.position(c[0], c[1], c[2]);
                let to_ball = ball.distance(motion.pose(t).body_from_world(x));
                if to_ball < 1.0 / n as f32 {
                    assert!((kept.u_solid[axis][m] - motion.velocity_at(t, x)[axis]).abs() < 1e-6);
                    checked += 1;
                } else if to_ball > 4.0 / n as f32 || x.y < 0.1 {
                    assert_eq!(kept.u_solid[axis][m], 0.0);
                }
            }
        }
        assert!(checked > 1000, "{checked}");
    }
    assert!(!rasterize(&mut kept, &solids, OPEN, &grid, 0.5), "nothing moved");
}

#[test]
fn a_body_held_by_its_keys_is_not_computed_again() {
    let grid = unit_grid(16);
    let ball = Shape::Sphere { center: Vec3::splat(0.3), radius: 0.1 };
    let key = |time_s, x: f32| Key { time_s, translate: Vec3::new(x, 0.0, 0.0), rotation: Quat::IDENTITY };
    let motion = Motion::Keys { about: Vec3::ZERO, keys: vec![key(0.0, 0.0), key(1.0, 0.4)] };
    let mut fields = SolidFields::default();
    let solids: [(&Shape, &Motion); 1] = [(&ball, &motion)];
    assert!(rasterize(&mut fields, &solids, OPEN, &grid, 0.5));
    assert!(rasterize(&mut fields, &solids, OPEN, &grid, 1.5));
    assert!(!rasterize(&mut fields, &solids, OPEN, &grid, 2.5));
    let mut still = SolidFields::default();
    let there = Shape::Sphere { center: Vec3::new(0.7, 0.3, 0.3), radius: 0.1 };
    rasterize(&mut still, &[(&there, &Motion::Static)], OPEN, &grid, 0.0);
    for (a, b) in fields.phi_node.iter().zip(&still.phi_node) {
        assert!((a - b).abs() < 1e-6);
    }
}

/// Open volume of a grid with a solid in it, and the open area of the face layer in its middle across each axis, in parts
/// of all.
fn openings(shape: &Shape, n: usize) -> (f64, [f64; 3]) {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let mut fields = SolidFields::default();
    rasterize(&mut fields, &[(shape, &Motion::Static)], [true; 6], &grid, 0.0);
    let volume = fields.open_volume.iter().map(|&v| f64::from(v)).sum::<f64>() / (n * n * n) as f64;
    let areas = [0, 1, 2].map(|axis| {
        let faces = grid.faces(axis);
        let layer = (0..faces.len()).filter(|&f| faces.coordinates(f)[axis] == n / 2);
        layer.map(|f| f64::from(fields.open_area[axis][f])).sum::<f64>() / (n * n) as f64
    });
    (volume, areas)
}

/// A box leaves what it does not fill, wherever it is between the nodes: its edges and corners are not cut off.
#[test]
fn edges_of_boxes_take_what_they_fill() {
    for shift in [0.0, 0.011, 0.023, 0.037] {
        let (min, max) = (Vec3::new(0.21, 0.23, 0.26) + shift, Vec3::new(0.74, 0.71, 0.78) + shift);
        let size = (max - min).as_dvec3();
        let (volume, areas) = openings(&Shape::Box { min, max }, 20);
        let filled = (1.0 - volume) / (size.x * size.y * size.z);
        assert!((filled - 1.0).abs() < 2e-3, "shift {shift}: {filled}");
        let sections = [size.y * size.z, size.z * size.x, size.x * size.y];
        for (axis, section) in sections.into_iter().enumerate() {
            let closed = (1.0 - areas[axis]) / section;
            assert!((closed - 1.0).abs() < 2e-3, "shift {shift}, axis {axis}: {closed}");
        }
    }
}

/// Slanted boxes beside each other in closed form leave of cells and faces what measuring them in parts does, to what the parts are worth.
#[test]
fn boxes_close_what_parts_of_cells_say() {
    let n = 16;
    let grid = unit_grid(n);
    let size = Vec3::new(0.31, 0.24, 0.42);
    let slanted = |shape: Shape| Shape::Transform {
        shape: Box::new(shape),
        scale: 1.0,
        rotation: fluvial_foundation::Quat::from_scaled_axis(Vec3::new(0.4, -0.7, 0.2)),
        translate: Vec3::new(0.37, 0.47, 0.45),
    };
    let fields = |shapes: &[Shape]| {
        let mut fields = SolidFields::default();
        let solids: Vec<_> = shapes.iter().map(|shape| (shape, &Motion::Static)).collect();
        rasterize(&mut fields, &solids, [true; 6], &grid, 0.0);
        fields
    };
    // Beside it a second one, a cell and a fifth away.
    let plain = Shape::Box { min: -0.5 * size, max: 0.5 * size };
    let shift = Vec3::X * (size.x + 0.075);
    let second = Shape::Box { min: shift - 0.5 * size, max: shift + 0.5 * size };
    // An intersection with itself is no box to the program, but the same solid.
    let twice = |shape: &Shape| Shape::Intersection(vec![shape.clone(), shape.clone()]);
    let exact = fields(&[slanted(plain.clone()), slanted(second.clone())]);
    let parts = fields(&[slanted(twice(&plain)), slanted(twice(&second))]);
    let filled: f64 = exact.open_volume.iter().map(|&v| 1.0 - f64::from(v)).sum();
    let volume = 2.0 * size.as_dvec3().to_array().iter().product::<f64>() * (n * n * n) as f64;
    assert!((filled / volume - 1.0).abs() < 5e-4, "{}", filled / volume);
    let apart = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let worst = apart(&exact.open_volume, &parts.open_volume);
    assert!(worst < 0.03, "volumes differ by up to {worst}");
    for axis in 0..3 {
        let worst = apart(&exact.open_area[axis], &parts.open_area[axis]);
        assert!(worst < 0.06, "axis {axis}: areas differ by up to {worst}");
    }
}

/// Slanted boxes fill what they fill, however near they are to each other; where they overlap, what they have in common counts once.
#[test]
fn boxes_beside_each_other_fill_what_they_fill() {
    let (n, edge) = (16, 0.3f32);
    let grid = unit_grid(n);
    let half = Vec3::splat(0.5 * edge);
    let filled = |gap: f32| {
        let place = |side: f32| Shape::Transform {
            shape: Box::new(Shape::Box { min: -half, max: half }),
            scale: 1.0,
            rotation: Quat::from_scaled_axis(Vec3::new(0.4, -0.7, 0.2)),
            translate: Vec3::splat(0.5)
                + 0.5 * side * (edge + gap) * (Quat::from_scaled_axis(Vec3::new(0.4, -0.7, 0.2)) * Vec3::X),
        };
        let shapes = [place(-1.0), place(1.0)];
        let mut fields = SolidFields::default();
        rasterize(
            &mut fields,
            &shapes.each_ref().map(|shape| (shape, &Motion::Static)),
            [true; 6],
            &grid,
            0.0,
        );
        fields.open_volume.iter().map(|&v| 1.0 - f64::from(v)).sum::<f64>() / (n * n * n) as f64
    };
    let one = f64::from(edge).powi(3);
    for cells in [0.0, 0.05, 0.2, 0.5, 0.9] {
        let part = filled(cells / n as f32) / (2.0 * one);
        assert!((part - 1.0).abs() < 1e-3, "{cells} cells apart they fill {part}");
    }
    let overlap = 0.5 / f64::from(n as f32);
    let exact = 2.0 * one - overlap * one / f64::from(edge);
    let part = filled(-overlap as f32) / exact;
    assert!((part - 1.0).abs() < 5e-3, "half a cell in each other they fill {part}");
}

/// Walls of a box without a lid fill what they fill, whether nodes lie between their faces or not.
#[test]
fn walls_of_a_cell_are_as_thick_as_they_are() {
    let n = 24;
    for cells in [0.1, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0] {
        let wall = cells / n as f32;
        let (low, high) = (Vec3::new(0.263, 0.217, 0.263), Vec3::new(0.751, 0.7, 0.751));
        let inner = Shape::Box { min: low, max: high + Vec3::Y };
        let outer = Shape::Box { min: low - wall, max: high + Vec3::new(wall, 0.0, wall) };
        let volume = |min: Vec3, max: Vec3| (max - min).as_dvec3().to_array().iter().product::<f64>();
        let exact = volume(low - wall, high + Vec3::new(wall, 0.0, wall)) - volume(low, high);
        let (open, _) = openings(&Shape::Difference(Box::new(outer), Box::new(inner)), n);
        // In parts of what is inside.
        let error = (1.0 - open - exact) / volume(low, high);
        assert!(error.abs() < 4e-3, "{cells} cells: {error}");
    }
}

/// A ball that comes down to the floor moves the faces around it, but not the floor; its velocity can be changed where it is.
#[test]
fn walls_do_not_move_with_a_solid_beside_them() {
    let grid = unit_grid(16);
    let ball = Shape::Sphere { center: Vec3::new(0.5, 0.2, 0.5), radius: 0.15 };
    let motion =
        |speed: f32| Motion::Constant { linear: -speed * Vec3::Y, angular: Vec3::Z, about: Vec3::splat(0.5) };
    let mut fields = SolidFields::default();
    rasterize(&mut fields, &[(&ball, &motion(2.0))], [false; 6], &grid, 0.0);
    let faces = grid.faces(1);
    let (floor, above) = (faces.index(8, 0, 8), faces.index(8, 1, 8));
    assert_eq!((fields.u_solid[1][floor], fields.mover(&grid, 1, [8, 0, 8])), (0.0, None));
    assert!((fields.u_solid[1][above] + 2.0).abs() < 0.1, "{}", fields.u_solid[1][above]);
    assert_eq!(fields.mover(&grid, 1, [8, 1, 8]), Some(0));
    fields.set_twists(&grid, &[motion(3.0).twist(0.0)]);
    let mut anew = SolidFields::default();
    rasterize(&mut anew, &[(&ball, &motion(3.0))], [false; 6], &grid, 0.0);
    assert_eq!(fields.u_solid, anew.u_solid);
}
