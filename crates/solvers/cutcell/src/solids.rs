//! Solids: as triangles that cells are cut along, and as nodes that no liquid lies at.

use crate::CutCellSolver;
use fluvial_cutcell::mesh::NONE;
use fluvial_cutcell::solids::Solids;
use fluvial_cutcell::tracker::{SeenNode, sample_cubic, value_from_nodes};
use fluvial_cutcell::walk::Walls;
use fluvial_foundation::{AXES, Axis, DVec3, Vec3, parallel};
use fluvial_grids::{Lattice, Sides, UniformGrid};
use fluvial_level_set::extend_into_solids;
use fluvial_solver_interface::Setup;

/// Layers of nodes inside solids that phi is continued to.
const LAYERS: usize = 3;
/// Nodes deeper than this, in cells of the tracker, are air: liquid behind a solid's surface is taken out as a whole.
const DEEP: f32 = 2.0;

/// Where there are solids, a body whose particles hold less than this part of it is what was continued through a thin one.
const LEAST_HELD: f64 = 0.1;

/// Round solids are divided into triangles for so many cells of the tracker; `skin` makes their edges half as long: one
/// cell, as those of the liquid's surface are. A ball of two cells' radius is then 0.4 % of a cell flatter on its faces.
const CHORD: f32 = 2.0;

/// What bounds the liquid, and does not move.
#[derive(Default)]
pub(crate) struct Boundary {
    /// Solids as triangles, in cells.
    pub triangles: Solids,
    /// The same, to find what a way crosses.
    pub walls: Walls,
    /// Distance of every node from solids, metres, to a few cells of the tracker; empty without solids.
    pub solid_node: Vec<f32>,
    /// Is the node inside a solid?
    pub closed_node: Vec<bool>,
    /// Bit a: something solid is between the node and the next one along axis a. Bit 3: a solid is near.
    pub blocked_node: Vec<u8>,
    /// Thin solids between nodes, for distances.
    pub sides: Sides,
    /// Is a solid in the grid's cell or beside it? Empty without solids.
    pub near_cell: Vec<bool>,
    /// Parts of the grid's faces outside solids; empty without solids.
    pub open_face: [Vec<f32>; 3],
}

const NEAR: u8 = 1 << 3;

impl Boundary {
    pub fn new(setup: &Setup, grid: &UniformGrid, nodes: &Lattice) -> Boundary {
        let mut boundary = Boundary::default();
        if setup.solids.is_empty() {
            return boundary;
        }
        let clip = grid.bounds().expand(2.0 * grid.dx);
        for solid in &setup.solids {
            let mut mesh = solid.shape.skin(clip, CHORD * nodes.spacing);
            let pose = solid.motion.pose(0.0);
            mesh.positions.iter_mut().for_each(|x| *x = pose.world_from_body(*x));
            boundary.triangles.add(&mesh, false, grid);
        }
        boundary.triangles.align(grid, (grid.dx / nodes.spacing).round() as usize);
        boundary.walls = Walls::new(&boundary.triangles, grid);
        let (placed, band) = (setup.solids_at(0.0), 2.0 * DEEP * nodes.spacing);
        boundary.solid_node = vec![0.0; nodes.len()];
        nodes.for_each_mut(&mut boundary.solid_node, |_, [i, j, k], out| {
            *out = placed.distance(nodes.position(i, j, k), band);
        });
        boundary.closed_node = boundary.solid_node.iter().map(|d| *d <= 0.0).collect();
        boundary.find_blocked(grid, nodes);
        boundary.find_sides(nodes);
        boundary.find_near_cells(grid, nodes);
        boundary.find_open(grid, nodes);
        boundary
    }

    /// Is something solid between a node and the next one along an axis?
    pub fn is_blocked(&self, node: usize, axis: Axis) -> bool {
        self.blocked_node.get(node).is_some_and(|b| b >> axis & 1 == 1)
    }

    /// Bars what is between two open nodes.
    fn find_sides(&mut self, nodes: &Lattice) {
        let mut barred = vec![0u8; nodes.len()];
        for n in 0..nodes.len() {
            for axis in AXES.into_iter().filter(|&a| self.is_blocked(n, a)) {
                let beside = n + nodes.stride(axis);
                if !self.closed_node[n] && !self.closed_node[beside] {
                    barred[n] |= 1 << (2 * axis + 1) | Sides::NEAR;
                    barred[beside] |= 1 << (2 * axis) | Sides::NEAR;
                }
            }
        }
        if barred.iter().any(|b| *b != 0) {
            self.sides = Sides { own_corners: vec![u8::MAX; nodes.len()], barred };
        }
    }

    /// Is a solid within two nodes of a node?
    pub fn is_near(&self, node: usize) -> bool {
        self.blocked_node.get(node).is_some_and(|b| b & NEAR != 0)
    }

    pub fn has_solids(&self) -> bool {
        !self.walls.is_empty()
    }

    fn find_near_cells(&mut self, grid: &UniformGrid, nodes: &Lattice) {
        let (cells, factor) = (grid.cell_centers(), (grid.dx / nodes.spacing).round() as usize);
        let mut near_cell = vec![false; cells.len()];
        for n in (0..nodes.len()).filter(|&n| self.is_near(n)) {
            let at = nodes.coordinates(n).map(|n| n / factor);
            let at: [usize; 3] = std::array::from_fn(|a| at[a].min(grid.cells[a] - 1));
            near_cell[cells.index(at[0], at[1], at[2])] = true;
        }
        self.near_cell = near_cell;
    }

    /// Is a solid in a cell of the grid or beside it?
    pub fn is_near_cell(&self, cell: usize) -> bool {
        self.near_cell.get(cell).is_some_and(|near| *near)
    }

    /// Open parts of the grid's faces, by the middles of the tracker's faces on them.
    fn find_open(&mut self, grid: &UniformGrid, nodes: &Lattice) {
        let factor = (grid.dx / nodes.spacing).round() as usize;
        let (solid, walls) = (&self.solid_node, &self.walls);
        self.open_face = AXES.map(|axis| {
            let lattice = grid.faces(axis);
            let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
            let open = |face: usize| {
                let low = DVec3::from_array(lattice.coordinates(face).map(|n| n as f64));
                let count = (0..factor * factor).filter(|n| {
                    let mut x = low;
                    x[s] += ((n % factor) as f64 + 0.5) / factor as f64;
                    x[t] += ((n / factor) as f64 + 0.5) / factor as f64;
                    let half = 0.5 / factor as f64 * DVec3::AXES[axis];
                    let at = (factor as f64 * x).as_vec3();
                    nodes.interpolate(solid, nodes.stencil_at(at)) > 0.0
                        && !walls.is_between(x - half, x + half)
                });
                count.count() as f32 / (factor * factor) as f32
            };
            parallel::map_indices(lattice.len(), open)
        });
    }

    fn find_blocked(&mut self, grid: &UniformGrid, nodes: &Lattice) {
        let per_node = f64::from(nodes.spacing / grid.dx);
        let (walls, closed) = (&self.walls, &self.closed_node);
        let mut blocked = vec![0u8; nodes.len()];
        nodes.for_each_mut(&mut blocked, |n, at, out| {
            let x = |at: [usize; 3]| DVec3::from_array(at.map(|n| n as f64 * per_node));
            for axis in AXES.into_iter().filter(|&a| at[a] + 1 < nodes.size[a]) {
                let mut next = at;
                next[axis] += 1;
                let beside = n + nodes.stride(axis);
                let is_blocked = closed[n] || closed[beside] || walls.is_between(x(at), x(next));
                *out |= (is_blocked as u8) << axis;
            }
        });
        let near = |n: usize| {
            let at = nodes.coordinates(n);
            (0..125usize).any(|m| {
                let to = [m % 5, m / 5 % 5, m / 25];
                let at: [usize; 3] =
                    std::array::from_fn(|a| (at[a] + to[a]).saturating_sub(2).min(nodes.size[a] - 1));
                blocked[nodes.index(at[0], at[1], at[2])] & 7 != 0
            })
        };
        let near: Vec<bool> = parallel::map_indices(nodes.len(), near);
        blocked.iter_mut().zip(near).filter(|(_, near)| *near).for_each(|(b, _)| *b |= NEAR);
        self.blocked_node = blocked;
    }

    /// The nodes beside a node along an axis that nothing solid hides.
    fn beside(&self, nodes: &Lattice, n: usize, axis: usize) -> [Option<usize>; 2] {
        let at = nodes.coordinates(n)[axis];
        let stride = nodes.stride(axis);
        let is_open = |from: usize| self.blocked_node[from] >> axis & 1 == 0;
        [
            (at > 0 && is_open(n - stride)).then(|| n - stride),
            (at + 1 < nodes.size[axis] && is_open(n)).then(|| n + stride),
        ]
    }

    /// Slope of a field at a node from the nodes beside it that it sees, per node.
    fn slope(&self, values: &[f32], nodes: &Lattice, n: usize) -> DVec3 {
        DVec3::from_array(AXES.map(|axis| match self.beside(nodes, n, axis) {
            [Some(a), Some(b)] => 0.5 * f64::from(values[b] - values[a]),
            [Some(a), None] => f64::from(values[n] - values[a]),
            [None, Some(b)] => f64::from(values[b] - values[n]),
            [None, None] => 0.0,
        }))
    }

    /// phi at a place, in cells: cubic in the open; near solids from the nodes that see the place, by value and slope.
    pub fn sample(&self, phi: &[f32], (nodes, factor): (&Lattice, usize), x: DVec3) -> Option<f32> {
        let at = factor as f64 * x;
        let base = nodes.stencil_at(at.as_vec3()).base;
        if !self.has_solids() || self.blocked_node[base] & NEAR == 0 {
            return Some(sample_cubic(phi, nodes, at));
        }
        let seen = (0..8usize).filter_map(|corner| {
            let n =
                base + (corner & 1) + nodes.stride(1) * (corner >> 1 & 1) + nodes.stride(2) * (corner >> 2);
            let there = DVec3::from_array(nodes.coordinates(n).map(|n| n as f64));
            let is_hidden = self.closed_node[n] || self.walls.is_between(x, there / factor as f64);
            let slope = || self.slope(phi, nodes, n);
            (!is_hidden).then(|| SeenNode { value: f64::from(phi[n]), slope: slope(), way: at - there })
        });
        value_from_nodes(seen).map(|value| value as f32)
    }
}

impl CutCellSolver {
    /// phi as it is cut: continued into solids, and through thin ones to dry nodes behind, so that liquid touches them.
    pub(crate) fn continue_into_solids(&mut self) {
        if !self.boundary.has_solids() {
            return;
        }
        let (nodes, fine_m, boundary) = (self.nodes, self.fine_m(), &self.boundary);
        let phi = &self.work.fields.phi_node;
        let phi_cut = &mut self.work.phi_cut;
        phi_cut.clone_from(phi);
        let away = |n: usize| nodes.gradient(&boundary.solid_node, position(&nodes, n));
        extend_into_solids(phi_cut, &boundary.closed_node, &nodes, LAYERS, away, &mut self.work.level_set);
        for (phi, distance) in phi_cut.iter_mut().zip(&boundary.solid_node) {
            if *distance < -DEEP * fine_m {
                *phi = fine_m;
            }
        }
        for n in (0..nodes.len()).filter(|&n| boundary.blocked_node[n] & 7 != 0) {
            for axis in AXES.into_iter().filter(|&a| boundary.blocked_node[n] >> a & 1 == 1) {
                let beside = n + nodes.stride(axis);
                for (wet, dry, sign) in [(n, beside, 1.0), (beside, n, -1.0)] {
                    let is_behind = phi[dry] >= 0.0 || boundary.closed_node[dry];
                    if phi[wet] < 0.0 && !boundary.closed_node[wet] && is_behind {
                        let slope = sign * boundary.slope(phi, &nodes, wet)[axis];
                        let continued = phi[wet] + slope as f32;
                        phi_cut[dry] = phi_cut[dry].min(continued);
                    }
                }
            }
        }
    }

    /// Is a place, in cells, open to liquid on its side?
    pub(crate) fn is_open(&self, x: Vec3) -> bool {
        !self.boundary.has_solids() || self.setup.solids_at(0.0).distance(x, self.grid.dx) > 0.0
    }

    /// Pieces of bodies that particles do not fill: what lies behind walls. A particle beside a wall may be counted to them.
    pub(crate) fn take_out_empty_pieces(&mut self) {
        let work = &mut self.work;
        let Some(mesh) = work.mesh.as_mut() else { return };
        let bodies = &work.bodies;
        let least = if self.boundary.has_solids() { LEAST_HELD } else { 0.0 };
        let is_hollow = |body: usize| bodies.held[body] <= least * bodies.volume[body];
        let is_gone: Vec<bool> = bodies.of_piece.iter().map(|b| is_hollow(*b as usize)).collect();
        if is_gone.contains(&true) {
            fluvial_cutcell::tidy::remove_pieces(mesh, &is_gone);
            work.sides.find(mesh);
            self.sort_particles();
        }
        debug_assert!(self.work.bodies.of_piece.iter().all(|b| *b != NONE));
    }
}

fn position(nodes: &Lattice, n: usize) -> Vec3 {
    let [i, j, k] = nodes.coordinates(n);
    nodes.position(i, j, k)
}
