//! How far the velocity of [`crate::flow`] lags behind the surface's own.
//!
//! The flux budget [cutcell eq. 9, 10] gives every triangle of the free surface a normal velocity with which its piece keeps
//! its volume. The flow inside cells is interpolated from grid faces, which know nothing of the shape in between: a film
//! of half a cell that ran out on a floor gained 18 % of its volume from it in 0.8 s, at any step and on any tracker. The
//! difference of the two, along the surface's normals, is kept at the nodes of the tracker and continued outward and
//! inward, so that surface and particles move by the sum. Test: `a_film_runs_out_with_its_volume` of the solver.

use crate::iso::PIECES;
use crate::mesh::{CutCells, Triangle};
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::Lattice;

/// The lag at the nodes of the tracker. Kept from step to step as scratch.
#[derive(Clone, Debug, Default)]
pub struct SurfaceLag {
    /// Velocity that the flow lacks, m/s.
    at_node: Vec<Vec3>,
    /// Area of the triangles around a node, or 1 where the lag is continued to; 0 where none is known.
    weight: Vec<f32>,
    /// Nodes with a weight, in the order in which they were found.
    known: Vec<u32>,
    triangles: Vec<Lagging>,
}

/// Times that triangles tell the nodes around what they still lack: the mean of neighbours with other normals is less than each
/// of them wants.
const SWEEPS: usize = 2;

/// A triangle of the free surface.
#[derive(Clone, Copy, Debug, Default)]
struct Lagging {
    /// Low node of the tracker's cell that it lies in.
    base: u32,
    /// Its centre within that cell, 0 to 1 along each axis.
    within: DVec3,
    normal: DVec3,
    area: f64,
    /// Normal velocity that the flow lacks here, m/s.
    wanted: f64,
    /// What of it the nodes around do not give yet.
    lacking: f64,
}

/// Least share of a triangle for a corner of its cell.
const LEAST_SHARE: f64 = 1e-3;

impl Lagging {
    /// The share of a corner of the tracker's cell, by linear interpolation.
    fn share(&self, corner: usize) -> f64 {
        let part = |a: usize| if corner >> a & 1 == 1 { self.within[a] } else { 1.0 - self.within[a] };
        (part(0) * part(1) * part(2)).max(LEAST_SHARE)
    }
}

impl SurfaceLag {
    /// Finds the lag of a flow (the velocity in a piece, at a place in cells) behind the normal velocities of triangles: those before the projection (`u_triangle`) and
    /// the change of their piece (`change_piece`), m/s. It is continued over `layers` layers of nodes.
    pub fn find(
        &mut self,
        (mesh, nodes): (&CutCells, &Lattice),
        flow: impl Fn(u32, DVec3) -> DVec3 + Sync + Send,
        (u_triangle, change_piece): (&[DVec3], &[f64]),
        layers: usize,
    ) {
        self.forget(nodes.len());
        self.find_triangles((mesh, nodes), flow, (u_triangle, change_piece));
        self.find_nodes(nodes);
        for _ in 0..SWEEPS {
            self.tell_nodes(nodes);
        }
        self.continue_over(nodes, layers);
    }

    /// The lag at a place, in cells of the grid; zero far from the surface.
    pub fn at(&self, nodes: &Lattice, factor: usize, x: DVec3) -> DVec3 {
        if self.known.is_empty() { DVec3::ZERO } else { self.read(nodes, (factor as f64 * x).as_vec3()) }
    }

    fn read(&self, nodes: &Lattice, at: Vec3) -> DVec3 {
        let stencil = nodes.stencil_at(at);
        let t = stencil.fraction.map(f64::from);
        let mut sum = DVec3::ZERO;
        for corner in 0..8usize {
            let bits = [corner & 1, corner >> 1 & 1, corner >> 2];
            let part = |a: usize| if bits[a] == 1 { t[a] } else { 1.0 - t[a] };
            let n = corner_node(nodes, stencil.base, corner);
            sum += part(0) * part(1) * part(2) * self.at_node[n].as_dvec3();
        }
        sum
    }

    fn forget(&mut self, nodes: usize) {
        if self.at_node.len() != nodes {
            self.at_node = vec![Vec3::ZERO; nodes];
            self.weight = vec![0.0; nodes];
            self.known.clear();
        }
        for n in self.known.drain(..) {
            self.at_node[n as usize] = Vec3::ZERO;
            self.weight[n as usize] = 0.0;
        }
    }

    fn find_triangles(
        &mut self,
        (mesh, nodes): (&CutCells, &Lattice),
        flow: impl Fn(u32, DVec3) -> DVec3 + Sync + Send,
        (u_triangle, change_piece): (&[DVec3], &[f64]),
    ) {
        let chunks = parallel::chunk_count(mesh.pieces.len(), PIECES);
        let lagging = |piece: usize, n: usize, t: &Triangle| {
            let vector = mesh.area_vector(t);
            let area = vector.length();
            let normal = vector / area;
            let x = t.vertices.iter().map(|&v| mesh.vertices[v as usize]).sum::<DVec3>() / 3.0;
            let at = (mesh.factor as f64 * x).as_vec3();
            let u = u_triangle[mesh.first_triangle[piece] as usize + n];
            let wanted = normal.dot(u - flow(piece as u32, x)) + change_piece[piece];
            let stencil = nodes.stencil_at(at);
            let (base, within) = (stencil.base as u32, DVec3::from_array(stencil.fraction.map(f64::from)));
            Lagging { base, within, normal, area, wanted, lacking: wanted }
        };
        let parts = parallel::map_indices(chunks, |chunk| {
            let mut found = vec![];
            for piece in parallel::chunk_range(chunk, PIECES, mesh.pieces.len()) {
                let own = mesh.triangles_of(piece).iter().enumerate().filter(|(_, t)| t.is_surface());
                found.extend(own.map(|(n, t)| lagging(piece, n, t)).filter(|t| t.area > 0.0));
            }
            found
        });
        self.triangles.clear();
        parts.into_iter().for_each(|part| self.triangles.extend(part));
    }

    /// Lists the nodes around triangles, with the area there.
    fn find_nodes(&mut self, nodes: &Lattice) {
        for t in &self.triangles {
            for c in 0..8 {
                let n = corner_node(nodes, t.base as usize, c);
                if self.weight[n] == 0.0 {
                    self.known.push(n as u32);
                }
                self.weight[n] += t.area as f32;
            }
        }
    }

    /// Nodes take the mean of what the triangles around them lack.
    fn tell_nodes(&mut self, nodes: &Lattice) {
        for t in &mut self.triangles {
            let corner = |c: usize| self.at_node[corner_node(nodes, t.base as usize, c)].as_dvec3();
            let has: DVec3 = (0..8).map(|c| t.share(c) * corner(c)).sum();
            t.lacking = t.wanted - t.normal.dot(has);
        }
        for t in &self.triangles {
            for c in 0..8 {
                let n = corner_node(nodes, t.base as usize, c);
                let part = t.area / f64::from(self.weight[n]);
                self.at_node[n] += (part * t.lacking * t.normal).as_vec3();
            }
        }
    }

    /// Continues the lag from layer to layer: a node takes the mean of those beside it that know one.
    fn continue_over(&mut self, nodes: &Lattice, layers: usize) {
        let beside = |n: usize| {
            let at = nodes.coordinates(n);
            (0..3usize).flat_map(move |a| {
                let stride = nodes.stride(a);
                let low = (at[a] > 0).then(|| n - stride);
                let high = (at[a] + 1 < nodes.size[a]).then(|| n + stride);
                [low, high].into_iter().flatten()
            })
        };
        let mut start = 0;
        for _ in 0..layers {
            let end = self.known.len();
            for index in start..end {
                for n in beside(self.known[index] as usize) {
                    if self.weight[n] == 0.0 {
                        // Marked, so that it is listed once; its own layer does not read it.
                        self.weight[n] = -1.0;
                        self.known.push(n as u32);
                    }
                }
            }
            let (at_node, weight, layer) = (&self.at_node, &self.weight, &self.known[end..]);
            let means: Vec<Vec3> = parallel::map_indices(layer.len(), |index| {
                let told = beside(layer[index] as usize).filter(|&n| weight[n] > 0.0);
                let (sum, count) = told.fold((Vec3::ZERO, 0.0), |(s, c), n| (s + at_node[n], c + 1.0));
                sum / count
            });
            for (&n, mean) in self.known[end..].iter().zip(means) {
                (self.at_node[n as usize], self.weight[n as usize]) = (mean, 1.0);
            }
            start = end;
        }
    }
}

fn corner_node(nodes: &Lattice, base: usize, corner: usize) -> usize {
    base + (corner & 1) + nodes.stride(1) * (corner >> 1 & 1) + nodes.stride(2) * (corner >> 2)
}
