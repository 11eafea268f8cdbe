//! Implicit mean-curvature flow of the liquid's surface [cutcell §4, eq. 11; thurey-2010].
//!
//! `(M + tau L) x' = M x` with the lumped mass `M` (a third of the area around a vertex), the cotangent
//! Laplacian `L` and the flow's time `tau`, an area. Then `x' - x = -tau kappa n` gives the curvature as it
//! will be after the flow: short waves, which would limit the time step, are damped in it by `1 / (1 + tau
//! k^2)`. On a ball of radius R it is `(2 / R) / (1 + 2 tau / R^2)` (test `curvature_of_a_ball`). Lengths are
//! in cells.

use crate::cut::{find, unite};
use crate::mesh::CutCells;
use crate::vertices::{Walls, find_walls};
use fluvial_foundation::DVec3;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_linear::{Params, SolveError};

/// Triangles with less area than this part of their longest edge's square weigh as if they had it: the
/// cotangents of slivers would drown those of their neighbours. All three of a triangle are scaled alike,
/// which keeps the matrix positive definite.
const LEAST_ASPECT: f64 = 1e-3;

/// The surface and its flow. Kept from step to step as scratch.
#[derive(Default)]
pub struct CurvatureFlow {
    /// Vertices of the mesh that lie on the free surface.
    pub vertices: Vec<u32>,
    /// Surface triangles over that list.
    pub triangles: Vec<[u32; 3]>,
    /// Normals, area-weighted and tangent to walls, into the air.
    pub normals: Vec<DVec3>,
    /// Places after the flow, volume preserved.
    pub moved: Vec<DVec3>,
    /// Sum of the principal curvatures at every vertex of the list, per cell; positive for a drop.
    pub curvature: Vec<f64>,
    /// Slivers whose weights were clamped.
    pub clamped_triangles: usize,
    /// Largest number of iterations of the three solves.
    pub iterations: usize,
    walls: Vec<Walls>,
    number: Vec<u32>,
    scratch: CgScratch<f64>,
}

impl CurvatureFlow {
    /// Flows for `tau`, in square cells.
    pub fn flow(&mut self, mesh: &CutCells, tau: f64, params: &Params) -> Result<(), SolveError> {
        self.gather(mesh);
        let start: Vec<DVec3> = self.vertices.iter().map(|&v| mesh.vertices[v as usize]).collect();
        self.find_normals(&start);
        self.moved.clone_from(&start);
        self.iterations = 0;
        if self.vertices.is_empty() {
            self.curvature.clear();
            return Ok(());
        }
        let matrix = self.assemble(&start, tau);
        let mut amg = Amg::new(&matrix, AmgParams::default());
        // The unknown is the displacement: its right side, -tau L x, has no large constant part to cancel. Of a vertex on a
        // wall it has no part along the wall's normal, as if the surface went on behind it mirrored: where it ends instead, it is
        // drawn away from the wall, and curvature beside it was a tenth too low.
        let pulls: Vec<DVec3> =
            (0..start.len()).map(|n| self.walls[n].without(pull(&matrix, &start, n))).collect();
        for axis in 0..3 {
            let b: Vec<f64> = pulls.iter().map(|pull| pull[axis]).collect();
            let mut d = vec![0.0; b.len()];
            let info =
                conjugate_gradients(&mut d, &matrix, &mut amg.on(&matrix), &b, params, &mut self.scratch)?;
            self.iterations = self.iterations.max(info.iterations);
            self.moved.iter_mut().zip(&d).for_each(|(x, d)| x[axis] += d);
        }
        self.curvature.clear();
        for (n, x) in start.iter().enumerate() {
            let d = self.walls[n].without(self.moved[n] - *x);
            self.moved[n] = *x + d;
            self.curvature.push(-d.dot(self.normals[n]) / tau);
        }
        self.preserve_volume(&start);
        Ok(())
    }

    /// Curvature per vertex of the mesh; 0 off the surface.
    pub fn curvature_of_mesh(&self, out: &mut Vec<f64>, mesh: &CutCells) {
        out.clear();
        out.resize(mesh.vertices.len(), 0.0);
        self.vertices.iter().zip(&self.curvature).for_each(|(&v, &k)| out[v as usize] = k);
    }

    fn gather(&mut self, mesh: &CutCells) {
        const UNSEEN: u32 = u32::MAX;
        self.number.clear();
        self.number.resize(mesh.vertices.len(), UNSEEN);
        self.vertices.clear();
        self.triangles.clear();
        for t in mesh.triangles.iter().filter(|t| t.is_surface()) {
            self.triangles.push(t.vertices.map(|v| {
                let number = &mut self.number[v as usize];
                if *number == UNSEEN {
                    *number = self.vertices.len() as u32;
                    self.vertices.push(v);
                }
                *number
            }));
        }
        let mut walls = Vec::new();
        find_walls(&mut walls, mesh, true);
        self.walls.clear();
        self.walls.extend(self.vertices.iter().map(|&v| walls[v as usize]));
    }

    fn find_normals(&mut self, at: &[DVec3]) {
        self.normals.clear();
        self.normals.resize(at.len(), DVec3::ZERO);
        for t in &self.triangles {
            let area = area_vector(at, t);
            t.iter().for_each(|&v| self.normals[v as usize] += area);
        }
        for (n, walls) in self.normals.iter_mut().zip(&self.walls) {
            *n = walls.tangent_direction(*n);
        }
    }

    /// `M + tau L` in flux form; its row sums are `M`.
    fn assemble(&mut self, at: &[DVec3], tau: f64) -> FluxMatrix<f32> {
        let mut mass = vec![0.0; at.len()];
        let mut entries: Vec<(u32, u32, f64)> = Vec::with_capacity(6 * self.triangles.len());
        self.clamped_triangles = 0;
        for t in &self.triangles {
            let double_area = 2.0 * area_vector(at, t).length();
            let [a, b, c] = t.map(|v| at[v as usize]);
            let longest = [a - b, b - c, c - a].iter().map(|e| e.length_squared()).fold(0.0, f64::max);
            let least = 2.0 * LEAST_ASPECT * longest;
            self.clamped_triangles += (double_area < least) as usize;
            for n in 0..3 {
                mass[t[n] as usize] += double_area / 6.0;
                let (i, j, k) = (t[n], t[(n + 1) % 3], t[(n + 2) % 3]);
                let [x, y, z] = [i, j, k].map(|v| at[v as usize]);
                // The angle at k weighs the edge between i and j.
                let cotangent = (x - z).dot(y - z) / double_area.max(least);
                if i != j && longest > 0.0 {
                    entries.push((i, j, -0.5 * tau * cotangent));
                    entries.push((j, i, -0.5 * tau * cotangent));
                }
            }
        }
        entries.sort_by_key(|e| (e.0, e.1));
        let (mut start, mut column, mut value) = (vec![0u32; at.len() + 1], vec![], vec![]);
        let mut n = 0;
        while n < entries.len() {
            let (i, j, _) = entries[n];
            let mut sum = 0.0;
            while n < entries.len() && (entries[n].0, entries[n].1) == (i, j) {
                sum += entries[n].2;
                n += 1;
            }
            column.push(j);
            value.push(sum as f32);
            start[i as usize + 1] = column.len() as u32;
        }
        for n in 1..start.len() {
            start[n] = start[n].max(start[n - 1]);
        }
        FluxMatrix::from_sorted(Csr::new(at.len(), start, column, value), mass)
    }

    /// Moves every connected part of the surface along its normals until it has swept no volume.
    fn preserve_volume(&mut self, start: &[DVec3]) {
        let mut parent: Vec<u32> = (0..start.len() as u32).collect();
        for t in &self.triangles {
            unite(&mut parent, t[0], t[1]);
            unite(&mut parent, t[0], t[2]);
        }
        let part: Vec<u32> = (0..start.len() as u32).map(|v| find(&mut parent, v)).collect();
        let mut shift = vec![(0.0, 0.0); start.len()];
        // Newton's method; the volume is nearly linear in the shift, and the third step is rounding.
        for _ in 0..4 {
            shift.fill((0.0, 0.0));
            for t in &self.triangles {
                let (swept, gain) = &mut shift[part[t[0] as usize] as usize];
                *swept += swept_volume(start, &self.moved, t);
                let area = area_vector(&self.moved, t);
                *gain += t.iter().map(|&v| self.normals[v as usize].dot(area)).sum::<f64>() / 3.0;
            }
            for (v, x) in self.moved.iter_mut().enumerate() {
                let (swept, gain) = shift[part[v] as usize];
                if gain > 0.0 {
                    *x -= swept / gain * self.normals[v];
                }
            }
        }
    }

    /// Volume between the surface and where it flowed to, and the areas before and after.
    pub fn swept_volume_and_areas(&self, mesh: &CutCells) -> (f64, [f64; 2]) {
        let start: Vec<DVec3> = self.vertices.iter().map(|&v| mesh.vertices[v as usize]).collect();
        let sum = |at: &[DVec3]| self.triangles.iter().map(|t| area_vector(at, t).length()).sum::<f64>();
        let swept = self.triangles.iter().map(|t| swept_volume(&start, &self.moved, t)).sum();
        (swept, [sum(&start), sum(&self.moved)])
    }
}

fn area_vector(at: &[DVec3], t: &[u32; 3]) -> DVec3 {
    let [a, b, c] = t.map(|v| at[v as usize]);
    0.5 * (b - a).cross(c - a)
}

/// Volume that a triangle sweeps on straight ways: the integral of its mean velocity times its area, which is
/// quadratic in time, so that Simpson's rule is exact.
fn swept_volume(from: &[DVec3], to: &[DVec3], t: &[u32; 3]) -> f64 {
    let [p, q] = [from, to].map(|at| t.map(|v| at[v as usize]));
    let half: [DVec3; 3] = std::array::from_fn(|n| 0.5 * (p[n] + q[n]));
    let area = |x: [DVec3; 3]| 0.5 * (x[1] - x[0]).cross(x[2] - x[0]);
    let way = (0..3).map(|n| q[n] - p[n]).sum::<DVec3>() / 3.0;
    way.dot(area(p) + 4.0 * area(half) + area(q)) / 6.0
}

/// `-tau L x` of a vertex: the off-diagonal part of the flux form.
fn pull(matrix: &FluxMatrix<f32>, at: &[DVec3], n: usize) -> DVec3 {
    let (columns, values) = matrix.off_diagonal().row(n);
    columns.iter().zip(values).map(|(&c, &v)| -f64::from(v) * (at[c as usize] - at[n])).sum()
}
