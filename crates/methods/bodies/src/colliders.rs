//! Shapes as rapier sees them.

use fluvial_foundation::{Aabb, Quat, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::Shape;
use rapier3d::geometry::SharedShape;
use rapier3d::math::{Pose as Placed, Rotation, Vector};
use rapier3d::parry::transformation::vhacd::VHACDParameters;
use rapier3d::parry::transformation::voxelization::FillMode;

/// Capsules that a ring is made of.
const RING_PARTS: usize = 24;
/// Voxels along the longest edge of a shape that is divided into convex parts.
const PART_VOXELS: u32 = 64;
/// A mesh that fills its hull but for this part is convex.
const CONVEX_ENOUGH: f64 = 1e-3;
/// Steps in which sampled shapes are triangulated, parts of their size.
const SAMPLES: f32 = 40.0;

pub(crate) fn vector(v: Vec3) -> Vector {
    Vector::from_array(v.to_array())
}

pub(crate) fn ours(v: Vector) -> Vec3 {
    Vec3::from_array(v.to_array())
}

pub(crate) fn placed(rotation: Quat, translate: Vec3) -> Placed {
    Placed::from_parts(vector(translate), Rotation::from_array(rotation.to_array()))
}

/// Does a shape move, so that it must be made of convex parts, or is it an obstacle, for which triangles do?
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    Body,
    Obstacle,
}

/// The convex parts or triangles of a shape in its frame; `clip` bounds shapes without end. `None` where it has
/// none.
pub(crate) fn collider(shape: &Shape, role: Role, clip: Aabb) -> Option<SharedShape> {
    let mut parts = vec![];
    collect(shape, role, clip, (1.0, Quat::IDENTITY, Vec3::ZERO), &mut parts)?;
    match parts.len() {
        0 => None,
        1 if parts[0].0 == Placed::IDENTITY => parts.pop().map(|(_, shape)| shape),
        _ => Some(SharedShape::compound(parts)),
    }
}

/// Scale, rotation and translation of a shape in the frame of the whole.
type Frame = (f32, Quat, Vec3);

fn collect(
    shape: &Shape,
    role: Role,
    clip: Aabb,
    frame: Frame,
    out: &mut Vec<(Placed, SharedShape)>,
) -> Option<()> {
    let (scale, turn, shift) = frame;
    let place = |x: Vec3| turn * (scale * x) + shift;
    // What rapier builds along y.
    let along = |from: Vec3, to: Vec3| {
        let axis = (to - from).normalize_or(Vec3::Y);
        placed(turn * Quat::from_rotation_arc(Vec3::Y, axis), place(0.5 * (from + to)))
    };
    match shape {
        Shape::Box { min, max } => {
            let half = 0.5 * scale * (*max - *min);
            out.push((placed(turn, place(0.5 * (*min + *max))), SharedShape::cuboid(half.x, half.y, half.z)));
        }
        Shape::Sphere { center, radius } => {
            out.push((placed(turn, place(*center)), SharedShape::ball(scale * radius)));
        }
        Shape::Cylinder { from, to, radius } => {
            let half = 0.5 * scale * from.distance(*to);
            out.push((along(*from, *to), SharedShape::cylinder(half, scale * radius)));
        }
        Shape::Capsule { from, to, radius } => {
            let half = 0.5 * scale * from.distance(*to);
            out.push((along(*from, *to), SharedShape::capsule_y(half, scale * radius)));
        }
        Shape::Torus { center, axis, major_radius, minor_radius } => {
            let (side, _) = axis.normalize_or(Vec3::Y).any_orthonormal_pair();
            let at = |n: usize| {
                let angle = n as f32 / RING_PARTS as f32 * std::f32::consts::TAU;
                let arm = Quat::from_axis_angle(axis.normalize_or(Vec3::Y), angle) * side;
                vector(place(*center + *major_radius * arm))
            };
            out.extend(
                (0..RING_PARTS).map(|n| {
                    (Placed::IDENTITY, SharedShape::capsule(at(n), at(n + 1), scale * minor_radius))
                }),
            );
        }
        Shape::Plane { point, normal } => {
            let out_of = SharedShape::halfspace(vector(turn * normal.normalize_or(Vec3::Y)));
            out.push((placed(Quat::IDENTITY, place(*point)), out_of));
        }
        Shape::Union(shapes) => {
            for part in shapes {
                collect(part, role, clip, frame, out)?;
            }
        }
        Shape::Transform { shape, scale: s, rotation, translate } => {
            let inner = (scale * s, turn * *rotation, place(*translate));
            collect(shape, role, clip, inner, out)?;
        }
        Shape::Mesh(mesh) => {
            let fill = if mesh.is_shell() { FillMode::SurfaceOnly } else { FillMode::default() };
            out.extend(of_mesh(mesh.mesh(), role, fill, &place)?.map(|part| (Placed::IDENTITY, part)));
        }
        Shape::Intersection(_) | Shape::Difference(..) => {
            let bounds = shape.bounds();
            let clip = if bounds.size().is_finite() { bounds } else { clip };
            let cell = clip.size().max_element() / SAMPLES;
            let mesh = shape.triangulate(clip.expand(cell), cell);
            out.extend(of_mesh(&mesh, role, FillMode::default(), &place)?.map(|p| (Placed::IDENTITY, p)));
        }
    }
    Some(())
}

/// The hull where the mesh is convex; its triangles where it stands still, and convex parts where it does not.
fn of_mesh(
    mesh: &TriangleMesh,
    role: Role,
    fill_mode: FillMode,
    place: &dyn Fn(Vec3) -> Vec3,
) -> Option<impl Iterator<Item = SharedShape>> {
    let points: Vec<Vector> = mesh.positions.iter().map(|&x| vector(place(x))).collect();
    if role == Role::Obstacle {
        return SharedShape::trimesh(points, mesh.triangles.clone()).ok().map(|s| vec![s].into_iter());
    }
    if fill_mode != FillMode::SurfaceOnly
        && let Some(hull) = SharedShape::convex_hull(&points)
    {
        let scale = f64::from(place(Vec3::X).distance(place(Vec3::ZERO)));
        let hull_volume = f64::from(hull.mass_properties(1.0).mass());
        if mesh.volume() * scale.powi(3) > (1.0 - CONVEX_ENOUGH) * hull_volume {
            return Some(vec![hull].into_iter());
        }
    }
    let params = VHACDParameters { resolution: PART_VOXELS, fill_mode, ..Default::default() };
    let parts = SharedShape::convex_decomposition_with_params(&points, &mesh.triangles, &params);
    let compound = parts.as_compound()?;
    let parts: Vec<SharedShape> = compound.shapes().iter().map(|(_, part)| part.clone()).collect();
    Some(parts.into_iter())
}
