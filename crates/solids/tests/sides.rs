//! Tests of `sides`.

use fluvial_foundation::random::{splitmix64, unit_vec3};
use fluvial_foundation::{AXES, Aabb, Axis, Quat, Vec3};
use fluvial_grids::{Lattice, UniformGrid};
use fluvial_solids::{MeshDistance, Motion, Shape, SolidFields, rasterize};
use std::sync::Arc;

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [16, 15, 14], dx: 0.5 };

fn fields_of(shape: &Shape) -> SolidFields {
    let mut fields = SolidFields::default();
    rasterize(&mut fields, &[(shape, &Motion::Static)], [false; 6], &GRID, 0.0);
    fields
}

/// The cell beside one, if there is one.
fn neighbour(cells: &Lattice, at: [usize; 3], cell: usize, axis: Axis, up: bool) -> Option<usize> {
    let stride = cells.stride(axis);
    match up {
        true => (at[axis] + 1 < cells.size[axis]).then(|| cell + stride),
        false => (at[axis] > 0).then(|| cell - stride),
    }
}

/// Cells that liquid can reach from one through faces with open area.
fn flooded(fields: &SolidFields, start: usize) -> Vec<bool> {
    let cells = GRID.cell_centers();
    let mut reached = vec![false; cells.len()];
    let mut front = vec![start];
    reached[start] = true;
    while let Some(cell) = front.pop() {
        let at = cells.coordinates(cell);
        for axis in AXES {
            let faces = GRID.faces(axis);
            for up in [false, true] {
                let face = faces.index(at[0], at[1], at[2]) + up as usize * faces.stride(axis);
                if fields.open_area[axis][face] > 0.0
                    && let Some(other) = neighbour(&cells, at, cell, axis, up)
                    && !std::mem::replace(&mut reached[other], true)
                {
                    assert!(!fields.sides.is_barred(cell, axis, up), "a barred face is open");
                    front.push(other);
                }
            }
        }
    }
    reached
}

/// A closed wall around a body at a random place and angle.
struct Shell {
    wall: Shape,
    inner: Shape,
    volume_m3: f64,
}

/// A shell with its middle surface on a ball, on a box, or on a box of triangles.
fn shell(n: u64, thickness: f32) -> Shell {
    let center = Vec3::new(4.0, 3.75, 3.5) + 0.5 * (unit_vec3(n, 1) - 0.5);
    let turn = Quat::from_scaled_axis(3.0 * (unit_vec3(n, 2) - 0.5));
    let body = |out: f32| -> (Shape, f32) {
        let half = Vec3::new(2.1, 1.9, 1.8) + 0.3 * unit_vec3(n, 3) + out;
        let (shape, volume_m3) = match n % 3 {
            0 => {
                let ball = Shape::Sphere { center: Vec3::ZERO, radius: half.x };
                (ball, 4.0 / 3.0 * std::f32::consts::PI * half.x.powi(3))
            }
            _ => (Shape::Box { min: -half, max: half }, 8.0 * half.element_product()),
        };
        let shape = Box::new(shape);
        (Shape::Transform { shape, scale: 1.0, rotation: turn, translate: center }, volume_m3)
    };
    let ((outer, all_m3), (inner, hollow_m3)) = (body(0.5 * thickness), body(-0.5 * thickness));
    let volume_m3 = f64::from(all_m3 - hollow_m3);
    let wall = if n % 3 == 2 {
        // The same as a mesh: the inner surface turned inside out.
        let clip = Aabb { min: Vec3::splat(-9.0), max: Vec3::splat(9.0) };
        let mut mesh = outer.triangulate(clip, 1.0);
        let hole = inner.triangulate(clip, 1.0);
        let first = mesh.positions.len() as u32;
        mesh.positions.extend(hole.positions);
        mesh.triangles.extend(hole.triangles.iter().map(|t| [t[0], t[2], t[1]].map(|v| v + first)));
        Shape::Mesh(Arc::new(MeshDistance::new(mesh).unwrap()))
    } else {
        Shape::Difference(Box::new(outer), Box::new(inner.clone()))
    };
    Shell { wall, inner, volume_m3 }
}

#[test]
fn nothing_passes_a_closed_wall_of_any_thickness() {
    let cells = GRID.cell_centers();
    for (n, thickness_in_cells) in (0..60).zip([0.02f32, 0.1, 0.5, 1.0, 1.4, 2.0].into_iter().cycle()) {
        let n = splitmix64(n) >> 8;
        let Shell { wall, inner, .. } = shell(n, thickness_in_cells * GRID.dx);
        let fields = fields_of(&wall);
        let reached = flooded(&fields, cells.index(0, 0, 0));
        let (mut inside, mut outside) = (0, 0);
        for cell in 0..cells.len() {
            let at = cells.coordinates(cell);
            let depth = inner.distance(cells.position(at[0], at[1], at[2]));
            // A cell whose centre is within the wall or on the line belongs to either side.
            if depth < -0.87 * GRID.dx {
                assert!(!reached[cell], "{thickness_in_cells} cells, shape {n}: {at:?} at {depth}");
                inside += 1;
            } else if depth > thickness_in_cells * GRID.dx + 0.87 * GRID.dx {
                assert!(reached[cell], "{thickness_in_cells} cells, shape {n}: {at:?} is cut off");
                outside += 1;
            }
        }
        assert!(inside > 30 && outside > 300, "{inside} {outside}");
        assert!(!fields.sides.is_empty(), "{thickness_in_cells}");
    }
}

/// What the sides leave of space is what the wall does not fill: no sliver is lost.
#[test]
fn divided_cells_lose_no_space() {
    for n in 0..12 {
        let Shell { wall, volume_m3, .. } = shell(n, 0.3 * GRID.dx);
        let fields = fields_of(&wall);
        let open: f64 = fields.open_volume.iter().map(|&v| v as f64).sum();
        let missing = fields.open_volume.len() as f64 - open;
        // Corners of boxes may stick out of the grid by a little.
        let filled = volume_m3 / f64::from(GRID.dx).powi(3);
        assert!((missing / filled - 1.0).abs() < 0.1, "shape {n}: {missing} of {filled} cells");
    }
}

/// Neither edges nor corners nor bumps of thick solids are thin walls, at whatever place and angle; single cells at rims
/// of cylinders and corners of boxes still are, in three of these 160.
#[test]
fn thick_solids_have_no_sides() {
    let mut with_sides = 0;
    for n in 0..40 {
        let turned = |shape: Shape| Shape::Transform {
            shape: Box::new(shape),
            scale: 1.0,
            rotation: Quat::from_scaled_axis(3.0 * (unit_vec3(n, 2) - 0.5)),
            translate: Vec3::new(4.1, 3.6, 3.3) + 0.5 * unit_vec3(n, 1),
        };
        for shape in [
            Shape::Sphere { center: Vec3::ZERO, radius: 1.3 + 0.5 * unit_vec3(n, 3).x },
            Shape::Box { min: Vec3::new(-1.3, -1.4, -1.2), max: Vec3::new(1.2, 1.3, 1.5) },
            Shape::Cylinder { from: -1.2 * Vec3::Y, to: 1.3 * Vec3::Y, radius: 1.4 },
            Shape::Plane { point: Vec3::ZERO, normal: Vec3::Y },
        ] {
            with_sides += !fields_of(&turned(shape)).sides.is_empty() as usize;
        }
    }
    assert!(with_sides <= 3, "{with_sides} of 160");
}

/// The two sides of a wall meet round its rim, but through the wall nothing is seen, up to the rim: no unbarred face joins a
/// cell inside a bowl to one outside, both below it.
#[test]
fn a_bowl_is_closed_up_to_its_rim() {
    let (cells, nodes) = (GRID.cell_centers(), GRID.nodes());
    for n in 0..24 {
        let center = Vec3::new(4.0, 4.5, 3.5) + 0.5 * (unit_vec3(n, 1) - 0.5);
        let thickness = [0.02, 0.1, 0.5, 0.9][n as usize % 4] * GRID.dx;
        let ball = |radius| Shape::Sphere { center, radius };
        let half = Shape::Intersection(vec![ball(2.4), Shape::Plane { point: center, normal: Vec3::Y }]);
        let fields = fields_of(&Shape::Difference(Box::new(half), Box::new(ball(2.4 - thickness))));
        // Inside and outside corners of a cell's own, none for cells that reach over the rim.
        let own_of = |cell: usize| -> [usize; 2] {
            let at = cells.coordinates(cell);
            let corners = (0..8).filter(|c| fields.sides.own_corners[cell] >> c & 1 == 1);
            let places: Vec<Vec3> = corners
                .map(|c| nodes.position(at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2)))
                .collect();
            if places.iter().any(|x| x.y > center.y) {
                return [0; 2];
            }
            let inside = places.iter().filter(|x| x.distance(center) < 2.4 - 0.5 * thickness).count();
            [inside, places.len() - inside]
        };
        let mut below_the_rim = 0;
        for cell in 0..cells.len() {
            let ([inside, outside], at) = (own_of(cell), cells.coordinates(cell));
            assert!(inside == 0 || outside == 0, "bowl {n}: {at:?} is on both sides");
            for axis in AXES {
                let Some(other) = neighbour(&cells, at, cell, axis, true) else { continue };
                let [other_inside, other_outside] = own_of(other);
                if inside * other_outside + outside * other_inside > 0 {
                    assert!(fields.sides.is_barred(cell, axis, true), "bowl {n}: {at:?} along {axis}");
                    below_the_rim += 1;
                }
            }
        }
        assert!(below_the_rim > 100, "{below_the_rim}");
    }
}

/// Within two cells of its rim the sides of a wall of one to two cells meet among the cells around, and their closed cells and
/// the edges of the rim are no way through: no two steps through unbarred faces lead from a cell inside a bowl to one outside,
/// both below the rim. Over the rim it takes three.
#[test]
fn no_two_steps_lead_through_a_wall_below_its_rim() {
    let (cells, nodes, radius) = (GRID.cell_centers(), GRID.nodes(), 2.6);
    for n in 0..24 {
        let center = Vec3::new(4.0, 4.5, 3.5) + 0.5 * (unit_vec3(n, 1) - 0.5);
        let thickness = [1.0, 1.4, 1.7, 2.0][n as usize % 4] * GRID.dx;
        let ball = |radius| Shape::Sphere { center, radius };
        let half = Shape::Intersection(vec![ball(radius), Shape::Plane { point: center, normal: Vec3::Y }]);
        let fields = fields_of(&Shape::Difference(Box::new(half), Box::new(ball(radius - thickness))));
        // -1 inside and 1 outside, where all own corners are below the rim.
        let side_of = |cell: usize| {
            let at = cells.coordinates(cell);
            let own = (0..8).filter(|c| fields.sides.own_corners[cell] >> c & 1 == 1);
            let places = own.map(|c| nodes.position(at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2)));
            let side = |x: Vec3| match x.y > center.y {
                true => 0.0,
                false => (x.distance(center) - radius + 0.5 * thickness).signum(),
            };
            places.map(side).reduce(|a, b| if a == b { a } else { 0.0 }).unwrap_or(0.0)
        };
        let sides: Vec<f32> = (0..cells.len()).map(side_of).collect();
        let next = |cell: usize| {
            let (at, barred) = (cells.coordinates(cell), &fields.sides);
            let faces = (0..6).map(|face| (face / 2, face % 2 == 1));
            let open = faces.filter(move |&(axis, up)| !barred.is_barred(cell, axis, up));
            open.filter_map(move |(axis, up)| neighbour(&cells, at, cell, axis, up))
        };
        let inside: Vec<usize> = (0..cells.len()).filter(|&cell| sides[cell] < 0.0).collect();
        for &cell in &inside {
            let end = next(cell).flat_map(next).find(|&end| sides[end] > 0.0);
            let [from, to] = [cell, end.unwrap_or(cell)].map(|cell| cells.coordinates(cell));
            assert!(end.is_none(), "bowl {n}: from {from:?} to {to:?}");
        }
        assert!(inside.len() > 40, "{}", inside.len());
    }
}
