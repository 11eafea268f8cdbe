//! The fine level set that carries the liquid's shape: its transport, and its bodies, whose volumes particles know.
//!
//! Lengths are in cells of the simulation grid, phi in metres. Tests: tests/transport.rs.

use crate::cut::{find, unite};
use crate::mesh::{CutCells, NONE};
use crate::places::Places;
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::Lattice;

/// Connected bodies of liquid: pieces joined through grid faces.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// Body of every piece.
    pub of_piece: Vec<u32>,
    /// Volume of every body as cut, in cells.
    pub volume: Vec<f64>,
    /// Area of its free surface, in cell faces.
    pub surface_area: Vec<f64>,
    /// Volume of its particles, in cells.
    pub held: Vec<f64>,
}

impl Bodies {
    /// Finds the bodies of a mesh, and what the particles in them hold (`volume`, in cells). Pieces whose shape is given, as by a
    /// source, hold what they are.
    pub fn find(
        &mut self,
        mesh: &CutCells,
        places: &Places,
        volume: impl Fn(u32) -> f64,
        is_given: impl Fn(usize) -> bool,
    ) {
        let mut parent: Vec<u32> = (0..mesh.pieces.len() as u32).collect();
        for face in mesh.faces.iter().filter(|f| !f.pieces.contains(&NONE) && f.area > 0.0) {
            unite(&mut parent, face.pieces[0], face.pieces[1]);
        }
        self.of_piece.clear();
        for list in [&mut self.volume, &mut self.surface_area, &mut self.held] {
            list.clear();
        }
        for piece in 0..mesh.pieces.len() {
            let root = find(&mut parent, piece as u32) as usize;
            // Roots are the smallest of their set: they are numbered before they are asked for.
            let body = if root == piece { self.volume.len() as u32 } else { self.of_piece[root] };
            if root == piece {
                self.volume.push(0.0);
                self.surface_area.push(0.0);
                self.held.push(0.0);
            }
            self.of_piece.push(body);
            self.volume[body as usize] += mesh.pieces[piece].volume;
            self.surface_area[body as usize] += mesh.pieces[piece].surface_area;
            self.held[body as usize] += match is_given(piece) {
                true => mesh.pieces[piece].volume,
                false => places.of(piece).iter().map(|&p| volume(p)).sum::<f64>(),
            };
        }
    }

    /// How far the surface of every body must move outward, beyond what its cells move it by (`local_cell`), for it to hold
    /// what its particles hold, in cells, at most `most`; returns how many were held back.
    pub fn shifts(&self, out: &mut Vec<f64>, mesh: &CutCells, local_cell: &[f32], most: f64) -> usize {
        out.clear();
        let mut clamped = 0;
        let mut local = vec![0.0; self.volume.len()];
        for (piece, body) in mesh.pieces.iter().zip(&self.of_piece) {
            local[*body as usize] += piece.surface_area * f64::from(local_cell[piece.cell as usize]);
        }
        let volumes = self.volume.iter().zip(&local).map(|(volume, local)| volume + local);
        for ((volume, held), area) in volumes.zip(&self.held).zip(&self.surface_area) {
            let lacking = held - volume;
            // Differences of rounding move nothing: still water stays as it is to the bit.
            let is_owed = lacking.abs() > 1e-5 * held && *area > 0.0;
            let shift = if is_owed { lacking / area } else { 0.0 };
            clamped += (shift.abs() > most) as usize;
            out.push(shift.clamp(-most, most));
        }
        clamped
    }
}

/// Displacements by cell: those of the cell's bodies, on average, and its own (`local_cell`); around the liquid the mean of
/// the cells beside. NaN elsewhere.
pub fn spread_to_cells(
    out: &mut Vec<f32>,
    mesh: &CutCells,
    bodies: &Bodies,
    (of_body, local_cell): (&[f64], &[f32]),
) {
    let cells = mesh.grid.cell_centers();
    let own: Vec<f32> = parallel::map_indices(cells.len(), |cell| {
        let pieces = mesh.pieces_of(cell);
        let count = pieces.len() as f64;
        let sum: f64 = pieces.map(|p| of_body[bodies.of_piece[p] as usize]).sum();
        if count > 0.0 { (sum / count) as f32 + local_cell[cell] } else { f32::NAN }
    });
    out.clear();
    out.resize(cells.len(), f32::NAN);
    cells.for_each_mut(out, |cell, at, out| {
        *out = own[cell];
        if out.is_nan() {
            let around = (0..27usize).filter_map(|n| {
                let to = [n % 3, n / 3 % 3, n / 9];
                let at: [usize; 3] = std::array::from_fn(|a| (at[a] + to[a]).wrapping_sub(1));
                let inside = (0..3).all(|a| at[a] < cells.size[a]);
                inside.then(|| own[cells.index(at[0], at[1], at[2])]).filter(|v| !v.is_nan())
            });
            *out = mean(around);
        }
    });
}

fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) = values.fold((0.0f64, 0.0), |(s, n), v| (s + v as f64, n + 1.0));
    (sum / count) as f32
}

/// Moves the surface outward by what cells say ([`spread_to_cells`], in cells of `dx` metres).
pub fn shift_surface(phi: &mut [f32], nodes: &Lattice, (shift_cell, factor): (&[f32], usize), dx: f32) {
    let cells = nodes.size.map(|n| (n - 1) / factor);
    nodes.for_each_mut(phi, |_, at, phi| {
        let beside = |a: usize| {
            let low = if at[a].is_multiple_of(factor) {
                (at[a] / factor).saturating_sub(1)
            } else {
                at[a] / factor
            };
            low..=(at[a] / factor).min(cells[a] - 1)
        };
        let touching = beside(2).flat_map(|k| beside(1).flat_map(move |j| beside(0).map(move |i| (i, j, k))));
        let values = touching.map(|(i, j, k)| shift_cell[i + cells[0] * (j + cells[1] * k)]);
        let shift = mean(values.filter(|v| !v.is_nan()));
        if shift.is_finite() && shift != 0.0 {
            *phi -= shift * dx;
        }
    });
}

/// Carries phi along: `out` at a node is what `sample` finds where the node's liquid was `dt_cells` ago (`dt / dx`), by the
/// midpoint rule. Nodes farther than `band_m` from the surface keep their value. `velocity` is asked in cells and
/// answers in m/s; `walk` says where a way ends that solids may bound.
pub fn carry(
    out: &mut [f32],
    phi: &[f32],
    (nodes, factor): (&Lattice, usize),
    (band_m, dt_cells): (f32, f64),
    (velocity, walk): (impl Fn(DVec3) -> DVec3 + Sync + Send, impl Fn(DVec3, DVec3) -> DVec3 + Sync + Send),
    sample: impl Fn(DVec3) -> f32 + Sync + Send,
) {
    let per_node = 1.0 / factor as f64;
    let most = DVec3::from_array(nodes.size.map(|n| (n - 1) as f64 * per_node));
    nodes.for_each_mut(out, |node, at, out| {
        *out = phi[node];
        if phi[node].abs() >= band_m {
            return;
        }
        let x = DVec3::from_array(at.map(|n| n as f64 * per_node));
        let half = walk(x, (x - 0.5 * dt_cells * velocity(x)).clamp(DVec3::ZERO, most));
        let way = dt_cells * velocity(half);
        // What does not move keeps its bits.
        if way != DVec3::ZERO {
            *out = sample(walk(x, (x - way).clamp(DVec3::ZERO, most)));
        }
    });
}

/// Cubic interpolation at a place in lattice units, held within the eight samples around; the four samples along an axis
/// are shifted inward at the lattice's ends, so that polynomials of third degree are exact there too.
pub fn sample_cubic(values: &[f32], nodes: &Lattice, at: DVec3) -> f32 {
    if nodes.size.iter().any(|n| *n < 4) {
        return nodes.interpolate(values, nodes.stencil_at(at.as_vec3()));
    }
    let (mut first, mut low, mut weight) = ([0usize; 3], [0usize; 3], [[0.0f64; 4]; 3]);
    for a in 0..3 {
        low[a] = (at[a].max(0.0) as usize).min(nodes.size[a] - 2);
        first[a] = low[a].saturating_sub(1).min(nodes.size[a] - 4);
        let t = at[a] - first[a] as f64;
        let [p, q, r, s] = [t, t - 1.0, t - 2.0, t - 3.0];
        weight[a] = [-q * r * s / 6.0, p * r * s / 2.0, -p * q * s / 2.0, p * q * r / 6.0];
    }
    let mut sum = 0.0;
    for c in 0..4 {
        for b in 0..4 {
            let start = nodes.index(first[0], first[1] + b, first[2] + c);
            let row: f64 = (0..4).map(|n| weight[0][n] * values[start + n] as f64).sum();
            sum += weight[1][b] * weight[2][c] * row;
        }
    }
    let corners = nodes.corner_values(values, nodes.index(low[0], low[1], low[2]));
    let (least, most) = corners.iter().fold((f32::MAX, f32::MIN), |(l, m), &v| (l.min(v), m.max(v)));
    (sum as f32).clamp(least, most)
}

/// A node around a place, as seen from there; lengths per node.
#[derive(Clone, Copy, Debug)]
pub struct SeenNode {
    /// What is known there.
    pub value: f64,
    /// Its slope.
    pub slope: DVec3,
    /// The way from the node to the place, at most one along each axis.
    pub way: DVec3,
}

/// The value at a place from those of the nodes around that see it; none without any.
///
/// With trilinear weights w and ways d, `sum w (phi + g . d / 2)` is exact for polynomials of second degree; `sum w (phi + g . d)` is as
/// wrong as `sum w phi`, with the other sign, and films on solids grew by it. Where nodes are hidden `sum w d` is not zero, and the
/// mean slope along half of it keeps planes exact. Test: `values_beside_solids_are_read_to_second_degree`.
pub fn value_from_nodes(nodes: impl Iterator<Item = SeenNode>) -> Option<f64> {
    const LEAST_WEIGHT: f64 = 1e-9;
    let (mut value, mut slope, mut way, mut weights) = (0.0, DVec3::ZERO, DVec3::ZERO, 0.0);
    for node in nodes {
        let part = 1.0 - node.way.abs().min(DVec3::ONE);
        let weight = part.x * part.y * part.z + LEAST_WEIGHT;
        value += weight * (node.value + 0.5 * node.slope.dot(node.way));
        slope += weight * node.slope;
        way += weight * node.way;
        weights += weight;
    }
    (weights > 0.0).then(|| (value + 0.5 * slope.dot(way) / weights) / weights)
}

/// How a surface that lacks volume in a neighbourhood is displaced there.
#[derive(Clone, Copy, Debug)]
pub struct LocalShift {
    /// Displacements below this are left to the body as a whole, in cells: particles enter and leave cells in layers.
    pub ignored: f64,
    /// Part of the rest that a step displaces.
    pub part: f64,
    /// At most, in cells.
    pub most: f64,
}

/// Displacements of the surface by cell, in cells: what the particles of a neighbourhood of a few cells hold beyond the cut
/// cells there, over the area of their surface. Liquid that transport lost at a thin front comes back at the front; given
/// back by the body as a whole, it would come from the top of the pool behind, and with it energy.
pub fn local_shifts(out: &mut Vec<f32>, mesh: &CutCells, held_cell: &[f64], rule: &LocalShift) {
    let size = mesh.grid.cells;
    let sum = |cell: usize, of: &dyn Fn(usize) -> f64| mesh.pieces_of(cell).map(of).sum::<f64>();
    let lacking = |cell: usize| held_cell[cell] - sum(cell, &|p| mesh.pieces[p].volume);
    let mut lack: Vec<f64> = (0..held_cell.len()).map(lacking).collect();
    let mut area: Vec<f64> =
        (0..held_cell.len()).map(|cell| sum(cell, &|p| mesh.pieces[p].surface_area)).collect();
    for _ in 0..2 {
        add_neighbours(&mut lack, size);
        add_neighbours(&mut area, size);
    }
    out.clear();
    out.extend(lack.iter().zip(&area).map(|(lack, area)| {
        let wanted = if *area > 0.0 { lack / area } else { 0.0 };
        let beyond = wanted.signum() * (wanted.abs() - rule.ignored).max(0.0);
        (rule.part * beyond).clamp(-rule.most, rule.most) as f32
    }));
}

/// Adds to every value those beside it along all axes, one after the other.
fn add_neighbours(values: &mut [f64], size: [usize; 3]) {
    for axis in 0..3 {
        let stride = [1, size[0], size[0] * size[1]][axis];
        let old = values.to_vec();
        parallel::for_each_indexed_mut(values, |n, value| {
            let at = n / stride % size[axis];
            *value += if at > 0 { old[n - stride] } else { 0.0 };
            *value += if at + 1 < size[axis] { old[n + stride] } else { 0.0 };
        });
    }
}
