//! Volume, centre of mass and inertia of shapes.

use fluvial_foundation::{AXES, DMat3, DQuat, DVec3, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::{Shape, open_cell_volume};
use std::f64::consts::PI;

/// Of a shape with density 1, in the shape's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// m3.
    pub volume_m3: f64,
    /// Centre of mass, metres.
    pub center: DVec3,
    /// Inertia about the centre of mass over density, m5.
    pub inertia: DMat3,
}

/// Cells along the longest edge of a shape whose integrals are taken on a grid.
const GRID_CELLS: usize = 64;

/// Volume, centre and inertia: exact for single shapes and closed meshes (of their triangles), for shells as of
/// triangles with a thickness, and for booleans by volumes of cut cells on a grid, to about 1e-3. `None` where the
/// volume is not finite and positive.
///
/// Test: `mass_properties_are_the_known_ones`.
pub fn mass_properties(shape: &Shape) -> Option<MassProperties> {
    let found = match shape {
        Shape::Box { min, max } => {
            let size = (*max - *min).as_dvec3();
            let square = size * size;
            let volume_m3 = size.element_product();
            let of_axis = |a: usize| volume_m3 / 12.0 * (square.element_sum() - square[a]);
            MassProperties {
                volume_m3,
                center: 0.5 * (*min + *max).as_dvec3(),
                inertia: DMat3::from_diagonal(DVec3::new(of_axis(0), of_axis(1), of_axis(2))),
            }
        }
        Shape::Sphere { center, radius } => {
            let volume_m3 = 4.0 / 3.0 * PI * f64::from(*radius).powi(3);
            let inertia = DMat3::from_diagonal(DVec3::splat(0.4 * volume_m3 * f64::from(*radius).powi(2)));
            MassProperties { volume_m3, center: center.as_dvec3(), inertia }
        }
        Shape::Cylinder { from, to, radius } => {
            let (height, r) = (from.as_dvec3().distance(to.as_dvec3()), f64::from(*radius));
            let volume_m3 = PI * r * r * height;
            let across = volume_m3 * (3.0 * r * r + height * height) / 12.0;
            about_axis(volume_m3, *from, *to, [0.5 * volume_m3 * r * r, across])
        }
        Shape::Capsule { from, to, radius } => {
            let (height, r) = (from.as_dvec3().distance(to.as_dvec3()), f64::from(*radius));
            let (middle, ends) = (PI * r * r * height, 4.0 / 3.0 * PI * r * r * r);
            let along = 0.5 * middle * r * r + 0.4 * ends * r * r;
            let across = middle * (3.0 * r * r + height * height) / 12.0
                + ends * (0.4 * r * r + 0.25 * height * height + 0.375 * height * r);
            about_axis(middle + ends, *from, *to, [along, across])
        }
        Shape::Torus { center, axis, major_radius, minor_radius } => {
            let (ring, tube) = (f64::from(*major_radius), f64::from(*minor_radius));
            let volume_m3 = 2.0 * PI * PI * ring * tube * tube;
            let along = volume_m3 * (ring * ring + 0.75 * tube * tube);
            let across = volume_m3 * (0.5 * ring * ring + 0.625 * tube * tube);
            about_axis(volume_m3, *center - *axis, *center + *axis, [along, across])
        }
        Shape::Mesh(mesh) if mesh.is_shell() => of_shell(mesh.mesh(), shell_thickness_m(shape)),
        Shape::Mesh(mesh) => of_mesh(mesh.mesh()),
        Shape::Transform { shape, scale, rotation, translate } => {
            let inner = mass_properties(shape)?;
            let (scale, turn) = (f64::from(*scale), DMat3::from_quat(rotation.as_dquat().normalize()));
            MassProperties {
                volume_m3: scale.powi(3) * inner.volume_m3,
                center: turn * (scale * inner.center) + translate.as_dvec3(),
                inertia: scale.powi(5) * (turn * inner.inertia * turn.transpose()),
            }
        }
        Shape::Union(_) | Shape::Intersection(_) | Shape::Difference(..) => on_grid(shape)?,
        Shape::Plane { .. } => return None,
    };
    (found.volume_m3.is_finite() && found.volume_m3 > 0.0).then_some(found)
}

/// Round about the axis from `from` to `to`: inertia along it and across.
fn about_axis(volume_m3: f64, from: Vec3, to: Vec3, [along, across]: [f64; 2]) -> MassProperties {
    let axis = (to.as_dvec3() - from.as_dvec3()).normalize_or(DVec3::Y);
    let turn = DMat3::from_quat(DQuat::from_rotation_arc(DVec3::Y, axis));
    let inertia = turn * DMat3::from_diagonal(DVec3::new(across, along, across)) * turn.transpose();
    MassProperties { volume_m3, center: 0.5 * (from.as_dvec3() + to.as_dvec3()), inertia }
}

/// A shell is nearer than half its thickness to its triangles: inside of one, the distance is minus half of it.
fn shell_thickness_m(shape: &Shape) -> f64 {
    let Shape::Mesh(mesh) = shape else { return 0.0 };
    let [a, b, c] = mesh.mesh().triangles[0].map(|v| mesh.mesh().positions[v as usize]);
    -2.0 * f64::from(shape.distance((a + b + c) / 3.0))
}

/// The second moments of points as an inertia about the centre.
fn from_moments(volume_m3: f64, first: DVec3, second: DMat3) -> MassProperties {
    let center = first / volume_m3;
    let second = second - volume_m3 * outer(center);
    let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
    MassProperties { volume_m3, center, inertia: trace * DMat3::IDENTITY - second }
}

fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v.x * v, v.y * v, v.z * v)
}

/// Sums over the tetrahedra between the triangles and one point: exact for polyhedra.
fn of_mesh(mesh: &TriangleMesh) -> MassProperties {
    let base = mesh.bounds().center().as_dvec3();
    let (mut volume_m3, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|v| mesh.positions[v as usize].as_dvec3() - base);
        let part = a.dot(b.cross(c)) / 6.0;
        volume_m3 += part;
        first += part / 4.0 * (a + b + c);
        second += part / 20.0 * (outer(a) + outer(b) + outer(c) + outer(a + b + c));
    }
    let about = from_moments(volume_m3, first, second);
    MassProperties { center: about.center + base, ..about }
}

/// Sums over triangles with a thickness.
fn of_shell(mesh: &TriangleMesh, thickness_m: f64) -> MassProperties {
    let (mut volume_m3, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|v| mesh.positions[v as usize].as_dvec3());
        let normal = (b - a).cross(c - a);
        let part = 0.5 * normal.length() * thickness_m;
        volume_m3 += part;
        first += part / 3.0 * (a + b + c);
        second += part / 12.0 * (outer(a) + outer(b) + outer(c) + outer(a + b + c));
        second += part * thickness_m * thickness_m / 12.0 * outer(normal.normalize_or_zero());
    }
    from_moments(volume_m3, first, second)
}

/// Sums over the cells of a grid, each with the part of it inside the shape.
fn on_grid(shape: &Shape) -> Option<MassProperties> {
    let bounds = shape.bounds();
    let size = bounds.size();
    if !(size.is_finite() && size.min_element() > 0.0) {
        return None;
    }
    let dx = size.max_element() / GRID_CELLS as f32;
    let cells = size.map(|s| (s / dx).ceil() + 2.0).to_array().map(|n| n as usize);
    let low = bounds.center() - 0.5 * dx * Vec3::from_array(cells.map(|n| n as f32));
    let (mut volume_m3, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    let node = |[i, j, k]: [usize; 3]| low + dx * Vec3::new(i as f32, j as f32, k as f32);
    let [nx, ny, nz] = cells;
    for at in (0..nx * ny * nz).map(|n| [n % nx, n / nx % ny, n / (nx * ny)]) {
        let corner = |c: usize| node(std::array::from_fn(|a| at[a] + (c >> a & 1)));
        let center = corner(0) + 0.5 * dx;
        let outside = match shape.distance(center) {
            far if far > dx => continue,
            deep if deep < -dx => 0.0,
            _ => open_cell_volume(std::array::from_fn(|c| shape.distance(corner(c)))),
        };
        let part = f64::from(1.0 - outside) * f64::from(dx).powi(3);
        let x = (center - low).as_dvec3();
        volume_m3 += part;
        first += part * x;
        second += part * (outer(x) + f64::from(dx * dx) / 12.0 * DMat3::IDENTITY);
    }
    (volume_m3 > 0.0).then(|| {
        let about = from_moments(volume_m3, first, second);
        MassProperties { center: about.center + low.as_dvec3(), ..about }
    })
}

/// The inverse of a symmetric matrix on the axes that are not locked, zero on the others.
pub(crate) fn inverse_on_free_axes(matrix: DMat3, locked: [bool; 3]) -> DMat3 {
    // A locked axis is given an inertia of its own that is coupled to none, and taken out of the inverse.
    let mut held = matrix;
    for a in AXES.into_iter().filter(|&a| locked[a]) {
        for b in AXES {
            held.col_mut(a)[b] = 0.0;
            held.col_mut(b)[a] = 0.0;
        }
        held.col_mut(a)[a] = 1.0;
    }
    let mut inverse = held.inverse();
    for a in AXES.into_iter().filter(|&a| locked[a]) {
        inverse.col_mut(a)[a] = 0.0;
    }
    inverse
}
