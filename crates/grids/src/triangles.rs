//! Indexed triangle meshes and the checks that they are closed, oriented and manifold.

use fluvial_foundation::{Aabb, Vec3};
use std::collections::HashMap;

/// Triangles counter-clockwise seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleMesh {
    /// Vertex positions, metres.
    pub positions: Vec<Vec3>,
    /// Velocity per vertex, m/s; empty where unknown.
    pub velocities: Vec<Vec3>,
    /// Vertex indices, three per triangle.
    pub triangles: Vec<[u32; 3]>,
}

/// What a mesh lacks to bound a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeshDefects {
    /// Edges with a triangle on one side only.
    pub boundary_edges: usize,
    /// Edges that more than two triangles share, or two in the same direction.
    pub bad_edges: usize,
    /// Vertices whose triangles form more than one fan.
    pub bad_vertices: usize,
}

impl MeshDefects {
    /// Closed, consistently oriented and manifold?
    pub fn is_clean(&self) -> bool {
        *self == MeshDefects::default()
    }
}

impl TriangleMesh {
    /// Adds another mesh.
    pub fn append(&mut self, mut other: TriangleMesh) {
        let first = self.positions.len() as u32;
        self.positions.append(&mut other.positions);
        self.velocities.append(&mut other.velocities);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|n| first + n)));
    }

    /// Smallest box around the vertices.
    pub fn bounds(&self) -> Aabb {
        self.positions.iter().fold(Aabb::EMPTY, |b, &p| b.include(p))
    }

    /// Enclosed volume by the divergence theorem (positive for outward orientation), m3.
    pub fn volume(&self) -> f64 {
        self.triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| self.positions[v as usize].as_dvec3());
                a.dot(b.cross(c)) / 6.0
            })
            .sum()
    }

    /// Can it be drawn and written: are all numbers finite, all corners there, and velocities none or one for each vertex?
    pub fn is_sound(&self) -> bool {
        let vertices = self.positions.len();
        self.positions.iter().chain(&self.velocities).all(|v| v.is_finite())
            && self.triangles.iter().flatten().all(|&v| (v as usize) < vertices)
            && (self.velocities.is_empty() || self.velocities.len() == vertices)
    }

    /// Area-weighted vertex normals, unit length.
    pub fn vertex_normals(&self) -> Vec<Vec3> {
        let mut normals = vec![Vec3::ZERO; self.positions.len()];
        for t in &self.triangles {
            let [a, b, c] = t.map(|v| self.positions[v as usize]);
            let n = (b - a).cross(c - a);
            for &v in t {
                normals[v as usize] += n;
            }
        }
        normals.into_iter().map(|n| n.normalize_or_zero()).collect()
    }

    /// Counts everything that keeps the mesh from being closed, oriented and manifold.
    pub fn defects(&self) -> MeshDefects {
        let mut defects = MeshDefects::default();
        // Each directed edge must appear once, and its reverse once.
        let mut edges: HashMap<(u32, u32), u32> = HashMap::with_capacity(self.triangles.len() * 3);
        for t in &self.triangles {
            for e in 0..3 {
                *edges.entry((t[e], t[(e + 1) % 3])).or_default() += 1;
            }
        }
        for (&(a, b), &count) in &edges {
            if count > 1 {
                defects.bad_edges += 1;
            } else if !edges.contains_key(&(b, a)) {
                defects.boundary_edges += 1;
            }
        }
        // Around a vertex, opposite edges must chain into a single loop.
        let mut next: HashMap<(u32, u32), u32> = HashMap::with_capacity(self.triangles.len() * 3);
        let mut degree = vec![0u32; self.positions.len()];
        for t in &self.triangles {
            for e in 0..3 {
                next.insert((t[e], t[(e + 1) % 3]), t[(e + 2) % 3]);
                degree[t[e] as usize] += 1;
            }
        }
        for t in &self.triangles {
            for e in 0..3 {
                let (v, start) = (t[e], t[(e + 1) % 3]);
                if degree[v as usize] == 0 {
                    continue;
                }
                let (mut at, mut steps) = (start, 0);
                while let Some(&n) = next.get(&(v, at)) {
                    (at, steps) = (n, steps + 1);
                    if at == start || steps > degree[v as usize] {
                        break;
                    }
                }
                if steps != degree[v as usize] {
                    defects.bad_vertices += 1;
                }
                degree[v as usize] = 0; // seen
            }
        }
        defects
    }
}
