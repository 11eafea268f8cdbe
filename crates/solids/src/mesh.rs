//! Triangle meshes as shapes: the inside of closed ones, and shells around any.

use crate::bvh::Bvh;
use fluvial_foundation::{Aabb, Vec3, random::splitmix64};
use fluvial_grids::TriangleMesh;
use std::collections::HashMap;

/// Why a file gives no solid.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// It cannot be read at all.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The name's ending is none that is known.
    #[error("`{0}` is no known mesh format; known are .obj, .ply, .stl, .gltf and .glb")]
    UnknownFormat(String),
    /// The content breaks the format.
    #[error("{0}")]
    Format(String),
    /// There is nothing in it.
    #[error("the mesh has no triangles")]
    Empty,
    /// The surface does not enclose a volume.
    #[error(
        "the mesh is not closed: {open_edges} open edges, one at ({:.6}, {:.6}, {:.6})", at.x, at.y, at.z
    )]
    Holes {
        /// Edges that lack a neighbour in the other direction.
        open_edges: usize,
        /// The middle of one of them, metres.
        at: Vec3,
    },
    /// Faces meet at edges in a way that leaves inside and outside undefined.
    #[error(
        "the mesh is not a proper surface: at {bad_edges} edges faces of opposite orientation or too many faces meet, \
         one at ({:.6}, {:.6}, {:.6})", at.x, at.y, at.z
    )]
    Orientation {
        /// How many such edges.
        bad_edges: usize,
        /// The middle of one of them, metres.
        at: Vec3,
    },
}

/// Exact signed distance to a closed mesh: nearest triangle over a tree of boxes, sign by the winding number.
/// Of a shell: the distance to the nearest triangle less half the thickness.
#[derive(Clone)]
pub struct MeshDistance {
    mesh: TriangleMesh,
    tree: Bvh,
    fingerprint: u64,
    /// Metres; of shells alone.
    half_thickness: Option<f32>,
}

impl std::fmt::Debug for MeshDistance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MeshDistance({} triangles)", self.mesh.triangles.len())
    }
}

impl MeshDistance {
    /// Welds equal vertices, turns an inside-out mesh, and refuses one that encloses no volume.
    pub fn new(mesh: TriangleMesh) -> Result<MeshDistance, MeshError> {
        check_numbers(&mesh)?;
        let mut welded = weld_equal(&mesh);
        if welded.triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        if check_closed(&welded).is_err() {
            // Some exporters write the same vertex with different last digits.
            let cell = 1e-5 * welded.bounds().size().max_element();
            let low = welded.bounds().min;
            let loose = weld(&mesh, |p| {
                ((p - low) / cell.max(f32::MIN_POSITIVE)).round().to_array().map(|v| v as u32)
            });
            if check_closed(&loose).is_ok() && !loose.triangles.is_empty() {
                welded = loose;
            }
        }
        check_closed(&welded)?;
        if welded.volume() < 0.0 {
            welded.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        Ok(Self::over(welded, None))
    }

    /// All points nearer to a mesh, open or closed, than half of a thickness.
    /// Test: `a_shell_has_two_sides_and_a_rim`.
    pub fn shell(mesh: TriangleMesh, thickness_m: f32) -> Result<MeshDistance, MeshError> {
        check_numbers(&mesh)?;
        let welded = weld_equal(&mesh);
        if welded.triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        Ok(Self::over(welded, Some(0.5 * thickness_m)))
    }

    fn over(mesh: TriangleMesh, half_thickness: Option<f32>) -> MeshDistance {
        let corners = mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize])).collect();
        let words = mesh.positions.iter().flat_map(|p| p.to_array().map(f32::to_bits));
        let words = words.chain(mesh.triangles.iter().flatten().copied());
        let words = words.chain(half_thickness.map(f32::to_bits));
        let fingerprint = words.fold(7, |h, w| splitmix64(h ^ w as u64));
        MeshDistance { tree: Bvh::new(corners), mesh, fingerprint, half_thickness }
    }

    /// Is it a shell?
    pub fn is_shell(&self) -> bool {
        self.half_thickness.is_some()
    }

    /// A box around it.
    pub fn bounds(&self) -> Aabb {
        self.mesh.bounds().expand(self.half_thickness.unwrap_or(0.0))
    }

    /// Signed distance, negative inside, metres.
    pub fn distance(&self, x: Vec3) -> f32 {
        self.distance_beside(x, f32::INFINITY, 0.0)
    }

    /// The same at a point `step` metres from one where it is `known`. The distance changes by no more than
    /// the step, which narrows the search, and keeps its sign where it was larger than that.
    pub fn distance_beside(&self, x: Vec3, step: f32, known: f32) -> f32 {
        // A shell's distance is less than that of its triangles by half the thickness.
        let half = self.half_thickness.unwrap_or(0.0);
        let bound = (1.0 + 1e-4) * ((known + half).abs().max(known.abs()) + step) + f32::MIN_POSITIVE;
        let mut distance = self.tree.distance_squared(x, bound * bound).sqrt();
        if distance >= bound {
            distance = self.tree.distance_squared(x, f32::INFINITY).sqrt(); // rounding beat the bound
        }
        if self.half_thickness.is_some() {
            return distance - half;
        }
        // By the winding number, which small flaws of the surface do not upset.
        let inside =
            if known.abs() > (1.0 + 1e-4) * step { known < 0.0 } else { self.tree.winding_number(x) > 0.5 };
        if inside { -distance } else { distance }
    }

    /// Does a segment meet a triangle?
    pub fn is_crossed(&self, from: Vec3, to: Vec3) -> bool {
        self.tree.is_crossed(from, to)
    }

    /// The welded mesh, outward.
    pub fn mesh(&self) -> &TriangleMesh {
        &self.mesh
    }

    /// A number that changes when any vertex or triangle does.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

fn check_numbers(mesh: &TriangleMesh) -> Result<(), MeshError> {
    if mesh.triangles.iter().flatten().any(|&v| v as usize >= mesh.positions.len()) {
        return Err(MeshError::Format("a triangle refers to a vertex that does not exist".into()));
    }
    match mesh.positions.iter().position(|p| !p.is_finite()) {
        Some(n) => Err(MeshError::Format(format!("vertex {n} is not a finite number"))),
        None => Ok(()),
    }
}

/// Equal vertices become one.
fn weld_equal(mesh: &TriangleMesh) -> TriangleMesh {
    weld(mesh, |p| (p + Vec3::ZERO).to_array().map(f32::to_bits)) // -0 + 0 = 0
}

/// Vertices with one key become one; triangles that lose a side are dropped.
fn weld(mesh: &TriangleMesh, key: impl Fn(Vec3) -> [u32; 3]) -> TriangleMesh {
    let mut seen: HashMap<[u32; 3], u32> = HashMap::with_capacity(mesh.positions.len());
    let mut out = TriangleMesh::default();
    let renamed: Vec<u32> = mesh
        .positions
        .iter()
        .map(|&p| {
            *seen.entry(key(p)).or_insert_with(|| {
                out.positions.push(p);
                out.positions.len() as u32 - 1
            })
        })
        .collect();
    let triangles = mesh.triangles.iter().map(|t| t.map(|v| renamed[v as usize]));
    out.triangles = triangles.filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]).collect();
    out
}

/// Every edge must be run as often in one direction as in the other: then the surface has no boundary and
/// winding numbers are whole. (Edges that four faces share in pairs, as where two boxes touch, are fine.)
fn check_closed(mesh: &TriangleMesh) -> Result<(), MeshError> {
    let mut edges: Vec<(u32, u32, i8)> = mesh
        .triangles
        .iter()
        .flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])])
        .map(|(a, b)| if a < b { (a, b, 1) } else { (b, a, -1) })
        .collect();
    edges.sort_unstable();
    let (mut open, mut bad) = (Vec::new(), Vec::new());
    for group in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let balance: i64 = group.iter().map(|e| e.2 as i64).sum();
        if balance != 0 {
            if group.len() == 1 { &mut open } else { &mut bad }.push((group[0].0, group[0].1));
        }
    }
    let middle = |(a, b): (u32, u32)| 0.5 * (mesh.positions[a as usize] + mesh.positions[b as usize]);
    match (open.first(), bad.first()) {
        (Some(&e), _) => Err(MeshError::Holes { open_edges: open.len(), at: middle(e) }),
        (None, Some(&e)) => Err(MeshError::Orientation { bad_edges: bad.len(), at: middle(e) }),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use fluvial_foundation::{Aabb, random::unit_vec3};

    const EVERYWHERE: Aabb = Aabb { min: Vec3::splat(-9.0), max: Vec3::splat(9.0) };

    /// The distance to a tessellated shape must agree with the shape's own, up to the tessellation's sag.
    fn agrees(shape: &Shape, cell: f32, tolerance: f32) {
        let mesh = MeshDistance::new(shape.triangulate(EVERYWHERE, cell)).unwrap();
        let (mut inside, mut outside) = (0, 0);
        for n in 0..3000 {
            let bounds = shape.bounds().expand(0.3);
            let x = bounds.min + unit_vec3(n, 2) * bounds.size();
            let (exact, found) = (shape.distance(x), mesh.distance(x));
            assert!((exact - found).abs() < tolerance, "{shape:?} at {x}: {exact} {found}");
            if found < 0.0 { inside += 1 } else { outside += 1 }
        }
        assert!(inside > 100 && outside > 100, "{inside} {outside}");
    }

    #[test]
    fn mesh_distance_agrees_with_the_shapes_it_was_made_of() {
        agrees(&Shape::Box { min: Vec3::new(-0.2, 0.1, 0.0), max: Vec3::new(0.4, 0.5, 0.9) }, 0.1, 1e-6);
        agrees(&Shape::Sphere { center: Vec3::new(0.1, 0.0, 0.2), radius: 0.5 }, 0.02, 1e-3);
        agrees(
            &Shape::Torus {
                center: Vec3::ZERO,
                axis: Vec3::new(1.0, 1.0, 0.2),
                major_radius: 0.6,
                minor_radius: 0.2,
            },
            0.02,
            1e-3,
        );
        agrees(&Shape::Cylinder { from: Vec3::ZERO, to: Vec3::new(0.3, 0.5, 0.1), radius: 0.3 }, 0.02, 1e-3);
        agrees(&Shape::Capsule { from: Vec3::ZERO, to: Vec3::new(0.3, 0.5, 0.1), radius: 0.3 }, 0.02, 1e-3);
    }

    #[test]
    fn the_sign_is_right_arbitrarily_close_to_the_surface() {
        let ball = Shape::Sphere { center: Vec3::ZERO, radius: 0.5 };
        let mesh = MeshDistance::new(ball.triangulate(EVERYWHERE, 0.05)).unwrap();
        for (n, t) in mesh.mesh().triangles.iter().enumerate() {
            let [a, b, c] = t.map(|v| mesh.mesh().positions[v as usize]);
            let weights = unit_vec3(n as u64, 1) + 0.05;
            let weights = weights / weights.element_sum();
            let normal = (b - a).cross(c - a).normalize();
            let p = weights.x * a + weights.y * b + weights.z * c;
            assert!(mesh.distance(p + 1e-4 * normal) > 0.0);
            assert!(mesh.distance(p - 1e-4 * normal) < 0.0);
        }
    }

    #[test]
    fn a_known_neighbour_changes_nothing_but_the_work() {
        let ring = Shape::Torus { center: Vec3::ZERO, axis: Vec3::Y, major_radius: 0.6, minor_radius: 0.2 };
        let mesh = MeshDistance::new(ring.triangulate(EVERYWHERE, 0.05)).unwrap();
        for n in 0..3000 {
            let a = 2.0 * unit_vec3(n, 2) - 1.0;
            let b = a + 0.2 * (unit_vec3(n, 3) - 0.5);
            assert_eq!(mesh.distance(b), mesh.distance_beside(b, a.distance(b), mesh.distance(a)));
        }
    }

    fn cube() -> TriangleMesh {
        Shape::Box { min: Vec3::ZERO, max: Vec3::ONE }.triangulate(EVERYWHERE, 1.0)
    }

    /// Of a square sheet: flat beside it, round along its rim, and crossed by what passes through it.
    #[test]
    fn a_shell_has_two_sides_and_a_rim() {
        let corner = |x: f32, z: f32| Vec3::new(x, 0.0, z);
        let positions = vec![corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
        let sheet = TriangleMesh { positions, triangles: vec![[0, 1, 2], [0, 2, 3]], ..Default::default() };
        let shape = Shape::Mesh(std::sync::Arc::new(MeshDistance::shell(sheet, 0.1).unwrap()));
        for (x, distance) in [
            (Vec3::new(0.3, 0.25, 0.6), 0.2),
            (Vec3::new(0.3, -0.25, 0.6), 0.2),
            (Vec3::new(0.3, 0.02, 0.6), -0.03),
            (Vec3::new(1.3, 0.4, 0.5), 0.45),
        ] {
            assert!((shape.distance(x) - distance).abs() < 1e-6, "{x}");
            let beside = Vec3::new(0.9, 0.1, 0.2);
            let known = shape.distance_beside(x, x.distance(beside), shape.distance(beside));
            assert!((known - distance).abs() < 1e-6, "{x}");
        }
        let [above, below] = [Vec3::new(0.5, 0.3, 0.5), Vec3::new(0.6, -0.3, 0.4)];
        assert!(shape.is_crossed(above, below, 1e-4));
        assert!(!shape.is_crossed(above, above + Vec3::X, 1e-4));
        assert!(shape.bounds().contains(Vec3::new(-0.04, 0.04, 0.5)));
    }

    #[test]
    fn holes_and_flips_are_counted_and_located() {
        let mut hole = cube();
        hole.triangles.pop();
        match MeshDistance::new(hole) {
            Err(MeshError::Holes { open_edges: 3, at }) => {
                assert!(at.cmpge(Vec3::ZERO).all() && at.cmple(Vec3::ONE).all());
            }
            other => panic!("{other:?}"),
        }
        let mut flipped = cube();
        flipped.triangles[0].swap(0, 1);
        assert!(matches!(MeshDistance::new(flipped), Err(MeshError::Orientation { bad_edges: 3, .. })));
        assert!(matches!(MeshDistance::new(TriangleMesh::default()), Err(MeshError::Empty)));
        let mut wild = cube();
        wild.triangles[0][0] = 99;
        assert!(matches!(MeshDistance::new(wild), Err(MeshError::Format(_))));
        let mut nan = cube();
        nan.positions[0].x = f32::NAN;
        assert!(matches!(MeshDistance::new(nan), Err(MeshError::Format(_))));
    }

    #[test]
    fn triangle_soup_is_welded_and_turned_outward() {
        let cube = cube();
        let mut soup = TriangleMesh::default();
        for (n, t) in cube.triangles.iter().enumerate() {
            let first = soup.positions.len() as u32;
            // last digits differ, as after a round trip through text
            soup.positions
                .extend(t.map(|v| cube.positions[v as usize] + 1e-7 * unit_vec3(n as u64, v as u64)));
            soup.triangles.push([first, first + 2, first + 1]); // inside out
        }
        let mesh = MeshDistance::new(soup).unwrap();
        assert_eq!(mesh.mesh().positions.len(), cube.positions.len());
        assert!((mesh.mesh().volume() - 1.0).abs() < 1e-5);
        assert!(mesh.distance(Vec3::splat(0.5)) < -0.49);
    }
}
