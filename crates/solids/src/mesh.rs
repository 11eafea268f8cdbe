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
/// For a shell it is the distance to the nearest triangle less half the thickness.
#[derive(Clone)]
pub struct MeshDistance {
    mesh: TriangleMesh,
    tree: Bvh,
    fingerprint: u64,
    /// Half the thickness, metres; shells only.
    half_thickness: Option<f32>,
}

impl std::fmt::Debug for MeshDistance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // With the fingerprint: two meshes that print alike must be alike, for what is printed stands for the shape where
        // saved states are compared with a set-up.
        let (triangles, half_m) = (self.mesh.triangles.len(), self.half_thickness);
        write!(f, "MeshDistance({triangles} triangles, {:016x}, shell {half_m:?})", self.fingerprint)
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
        let distance = self.tree.distance_squared(x, f32::INFINITY).sqrt();
        match self.half_thickness {
            Some(half) => distance - half,
            None if self.is_inside(x) => -distance,
            None => distance,
        }
    }

    /// The same where it is `known` at a point `from`, or is at least that where `known` is positive. The distance changes
    /// by no more than the way, which narrows the search, and keeps its sign where no triangle lies between.
    pub fn distance_from(&self, x: Vec3, from: Vec3, known: f32) -> f32 {
        let step = x.distance(from);
        // A shell's distance is less than that of its triangles by half the thickness.
        let half = self.half_thickness.unwrap_or(0.0);
        let bound = (1.0 + 1e-4) * ((known + half).abs().max(known.abs()) + step) + f32::MIN_POSITIVE;
        let distance = self.tree.distance_squared(x, bound * bound).sqrt();
        if self.is_shell() {
            return distance - half;
        }
        let is_same_side = known.abs() > (1.0 + 1e-4) * step || known != 0.0 && !self.is_crossed(from, x);
        let inside = if is_same_side { known < 0.0 } else { self.is_inside(x) };
        if inside { -distance } else { distance }
    }

    /// By the winding number, on which small flaws of the surface have little effect.
    fn is_inside(&self, x: Vec3) -> bool {
        self.tree.winding_number(x) > 0.5
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
