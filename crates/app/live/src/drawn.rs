//! What is seen of a simulation at one moment.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_preview::WhitePoint;
use fluvial_solver_interface::SurfaceMap;

/// What is seen of a simulation at one moment.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Simulated time, seconds.
    pub time_s: f64,
    /// The last complete frame.
    pub frame: u32,
    /// The box of the simulation.
    pub domain: Aabb,
    /// The liquid's closed surface.
    pub liquid: TriangleMesh,
    /// Solids in the world, and their number among the bodies where they are some.
    pub solids: Vec<(TriangleMesh, Option<usize>)>,
    /// Spray, foam and bubbles.
    pub white: Vec<WhitePoint>,
    /// What lies on surface and ground, where the method knows it.
    pub map: Option<SurfaceMap>,
    /// Seconds by stage of the last frame's steps, and of what is drawn.
    pub stages_s: Vec<(String, f64)>,
}

impl Drawn {
    /// The body that a ray meets first.
    pub fn body_at(&self, origin: Vec3, direction: Vec3) -> Option<usize> {
        let mut first = (f32::INFINITY, None);
        for (mesh, body) in &self.solids {
            for triangle in &mesh.triangles {
                let t = meets(origin, direction, triangle.map(|v| mesh.positions[v as usize]));
                if let Some(t) = t.filter(|t| *t < first.0) {
                    first = (t, *body);
                }
            }
        }
        first.1
    }
}

/// Distance along a ray to a triangle, from either side [moller-1997].
fn meets(origin: Vec3, direction: Vec3, [a, b, c]: [Vec3; 3]) -> Option<f32> {
    let (ab, ac) = (b - a, c - a);
    let across = direction.cross(ac);
    let size = ab.dot(across);
    if size.abs() < 1e-12 {
        return None;
    }
    let from = origin - a;
    let u = from.dot(across) / size;
    let along = from.cross(ab);
    let v = direction.dot(along) / size;
    let t = ac.dot(along) / size;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0).then_some(t)
}
