//! Transport: particles and the level set go with the same piecewise velocity [cutcell §3.3].

use crate::CutCellSolver;
use crate::params::Transfer;
use crate::state::Work;
use fluvial_cutcell::flow::Flow;
use fluvial_cutcell::lag::SurfaceLag;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::places::{SolidSides, cell_of, piece_at};
use fluvial_cutcell::tracker::{carry, shift_surface, spread_to_cells};
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::Lattice;
use fluvial_level_set::{SolidsAround, redistance_before_solids};
use fluvial_solver_interface::{Clamps, Setup};

/// Particles per chunk of parallel loops.
const CHUNK: usize = 512;
/// Part of a cell that a particle crosses at most at once, in the open and beside solids.
const WAY: [f64; 2] = [1.0, 0.25];
/// Gradients are differences over this part of a cell on both sides.
const GRADIENT_REACH: f64 = 0.25;
/// Nodes beside the surface keep a phi that is so many times their distance from it at most, or this part of it at least.
const NEAR_A_DISTANCE: f32 = 2.0;
/// Nodes so near to a wall of the domain take the distance anyway: the foot of a film lies between them.
const BESIDE_WALL: usize = 2;
/// Particles keep this far from the domain's walls, in cells.
const WALL_MARGIN: f64 = 1e-4;

/// What a particle's way reads.
struct Way<'a> {
    mesh: &'a CutCells,
    sides: &'a SolidSides,
    flow: &'a Flow,
    u_vertex: &'a [DVec3],
}

impl Way<'_> {
    fn velocity(&self, piece: u32, x: DVec3, weights: &mut Vec<f64>) -> DVec3 {
        self.flow.beside_walls((self.mesh, self.sides), (piece, x), self.u_vertex, weights)
    }
}

/// How the surface runs ahead of the flow.
struct Ahead<'a> {
    lag: &'a SurfaceLag,
    phi: &'a [f32],
    nodes: Lattice,
    factor: usize,
    dx: f32,
}

impl Ahead<'_> {
    /// What a particle of liquid at a place, in cells, moves by beyond the flow: all of the surface's lag at the surface,
    /// nothing a cell below it, where the flow is free of divergence by itself.
    fn of_particle(&self, x: DVec3) -> DVec3 {
        let at = self.factor as f64 * x;
        let depth = -self.nodes.interpolate(self.phi, self.nodes.stencil_at(at.as_vec3())) / self.dx;
        let part = (1.0 - depth).clamp(0.0, 1.0);
        if part > 0.0 { f64::from(part) * self.lag.at(&self.nodes, self.factor, x) } else { DVec3::ZERO }
    }
}

/// The velocity that carries a place's surface: of the piece that it lies in, or of the air.
fn carrier(mesh: &CutCells, sides: &SolidSides, flow: &Flow, x: DVec3) -> DVec3 {
    let pieces = mesh.pieces_of(cell_of(mesh, x));
    let piece = match pieces.len() {
        0 => NONE,
        1 => pieces.start as u32,
        _ => piece_at(mesh, sides, x),
    };
    flow.carrying(mesh, piece, x)
}

/// How far a place lies beyond the open walls of the domain, m; negative inside.
pub(crate) fn beyond_open_walls(setup: &Setup, x: Vec3) -> f32 {
    let (bounds, open) = (setup.domain.bounds(), setup.open_walls());
    let [low, high] = [(bounds.min - x).to_array(), (x - bounds.max).to_array()];
    let beyond = (0..6).filter(|&side| open[side]).map(|side| [low, high][side % 2][side / 2]);
    beyond.fold(f32::MIN, f32::max)
}

impl CutCellSolver {
    /// Gives particles the velocity that the projection left: its change (FLIP), itself beside solids (PIC), or itself with
    /// its gradient (APIC). Particles in no liquid fall.
    pub(crate) fn update_particles(&mut self, dt_s: f64) {
        let gravity = (dt_s * self.setup.liquid.gravity.as_dvec3()).as_vec3();
        let (flip, dx) = (f64::from(self.params.flip), f64::from(self.grid.dx));
        let is_affine = self.params.transfer == Transfer::Apic;
        let Work { mesh, fields, places, x_in_cells, before, after, u_vertex, sides, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let way = Way { mesh, sides, flow: after, u_vertex };
        let particles = &mut fields.population.particles;
        parallel::for_each_chunk_mut(&mut particles.v, CHUNK, |chunk, out| {
            let mut weights = vec![];
            for (m, v) in out.iter_mut().enumerate() {
                let n = chunk * CHUNK + m;
                let (piece, x) = (places.piece_of[n], x_in_cells[n]);
                if piece == NONE {
                    *v += gravity;
                    continue;
                }
                let is_beside = sides.is_beside[piece as usize];
                let new =
                    if is_beside { way.velocity(piece, x, &mut weights) } else { after.at(mesh, piece, x) };
                if is_affine || sides.is_beside[piece as usize] {
                    *v = new.as_vec3();
                    continue;
                }
                let change = new - before.at(mesh, piece, x);
                *v = (flip * (v.as_dvec3() + change) + (1.0 - flip) * new).as_vec3();
            }
        });
        for axis in (0..3).filter(|_| is_affine) {
            parallel::for_each_indexed_mut(&mut particles.affine[axis], |n, row| {
                let (piece, x) = (places.piece_of[n], x_in_cells[n]);
                let is_calm = piece == NONE || sides.is_beside[piece as usize];
                let slope = |e: DVec3| {
                    let [a, b] = [-1.0, 1.0].map(|s| after.at(mesh, piece, x + s * GRADIENT_REACH * e)[axis]);
                    (b - a) / (2.0 * GRADIENT_REACH * dx)
                };
                let rows = || DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
                *row = if is_calm { Vec3::ZERO } else { rows().as_vec3() };
            });
        }
    }

    /// Takes from particles what would carry them through a wall of the domain within the step; returns from how many. The
    /// velocity that liquid had and the one that it has are both zero on a wall, so that their difference (FLIP) never
    /// stops what ran against it: a jet under a lid kept its 6.5 m/s upward, and the pressure that held it back drove it
    /// sideways from step to step, to 13 m/s. Liquid that comes to rest at a wall is slower than its distance over the step.
    pub(crate) fn stop_at_walls(&mut self, dt_s: f64) -> usize {
        let (open, size, dx) =
            (self.setup.open_walls(), self.grid.cells.map(|n| n as f64), f64::from(self.grid.dx));
        let Work { fields, x_in_cells, .. } = &mut self.work;
        let stopped = parallel::map_chunks(&mut fields.population.particles.v, CHUNK, |range, v| {
            let mut stopped = 0;
            for (v, x) in v.iter_mut().zip(&x_in_cells[range]) {
                let free = *v;
                for a in 0..3 {
                    let is_high = v[a] > 0.0;
                    if open[2 * a + is_high as usize] {
                        continue;
                    }
                    let way = if is_high { size[a] - x[a] } else { x[a] };
                    let most = (way.max(0.0) * dx / dt_s) as f32;
                    v[a] = v[a].clamp(-most, most);
                }
                stopped += (*v != free) as usize;
            }
            stopped
        });
        stopped.into_iter().sum()
    }

    /// Carries particles and level set, and mends the level set by the particles.
    pub(crate) fn advect(&mut self, dt_s: f64, clamps: &mut Clamps) {
        self.find_lag(dt_s);
        self.move_particles(dt_s);
        self.take_out_drops();
        self.carry_level_set(dt_s);
        self.find_lost(clamps);
        self.leave_through_open_walls();
    }

    /// What the surface moves by beyond the flow, as far around as a step reaches.
    fn find_lag(&mut self, dt_s: f64) {
        let (nodes, factor) = (self.nodes, self.factor());
        let nodes_per_speed = factor as f64 * dt_s / f64::from(self.grid.dx);
        let Work { mesh, after, lag, lag_air, u_triangle, u_vertex, change, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let fastest = u_vertex.iter().map(|u| u.length()).fold(0.0, f64::max);
        let most = self.setup.cfl.ceil() as usize + 2;
        let layers = ((fastest * nodes_per_speed).ceil() as usize + 2).min(most);
        let u = (&u_triangle[..], &change[..]);
        lag.find((mesh, &nodes), |piece, x| after.at(mesh, piece, x), u, layers);
        lag_air.find((mesh, &nodes), |piece, x| after.carrying(mesh, piece, x), u, layers);
    }

    fn move_particles(&mut self, dt_s: f64) {
        let (dx, grid, nodes, factor) = (f64::from(self.grid.dx), self.grid, self.nodes, self.factor());
        let size = DVec3::from_array(grid.cells.map(|n| n as f64));
        let Work { mesh, fields, places, x_in_cells, after, sides, lag, nozzles, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let ahead = Ahead { lag, phi: &fields.phi_node, nodes, factor, dx: grid.dx };
        let walls = &self.boundary.walls;
        let after = &*after;
        let in_world = |x: DVec3| grid.min + (dx * x).as_vec3();
        let velocity = |piece: u32, x: DVec3| {
            let of_source = Self::prescribed(nozzles, in_world(x));
            of_source.unwrap_or_else(|| after.at(mesh, piece, x) + ahead.of_particle(x))
        };
        let particles = &mut fields.population.particles;
        let (x_out, v_out) = (&mut particles.x, &mut particles.v);
        parallel::for_each_chunk_mut2((x_out, CHUNK), (v_out, CHUNK), |chunk, out, v_out| {
            for (m, (x_in_world, v)) in out.iter_mut().zip(v_out).enumerate() {
                let n = chunk * CHUNK + m;
                let (mut x, mut piece) = (x_in_cells[n], places.piece_of[n]);
                let mut is_stopped = false;
                let speed = v.as_dvec3().length().max(after.at(mesh, piece, x).length());
                let most = WAY[(piece != NONE && sides.is_beside[piece as usize]) as usize];
                let steps = (speed * dt_s / (dx * most)).ceil().clamp(1.0, 64.0);
                let part = dt_s / (dx * steps);
                for _ in 0..steps as usize {
                    let u = match piece {
                        NONE => v.as_dvec3(),
                        _ => {
                            let u = velocity(piece, x);
                            let half = walls.walk(x, x + 0.5 * part * u);
                            match piece_at(mesh, sides, half) {
                                // Out of the liquid: as the liquid that it came from.
                                NONE => u,
                                there => velocity(there, half),
                            }
                        }
                    };
                    let to = (x + part * u).clamp(DVec3::splat(WALL_MARGIN), size - WALL_MARGIN);
                    x = walls.walk_telling(x, to, |normal| {
                        if piece == NONE {
                            // Nothing else stops what flies.
                            let v_normal = v.as_dvec3().dot(normal).min(0.0);
                            *v -= (v_normal * normal).as_vec3();
                            is_stopped = true;
                        }
                    });
                    let next = piece_at(mesh, sides, x);
                    piece = if next == NONE { piece } else { next };
                }
                if is_stopped {
                    // In a corner a particle that flies gets no further, and must not get faster on the spot.
                    let moved = (dx / dt_s * (x - x_in_cells[n])).length() as f32;
                    *v = v.clamp_length_max(moved);
                }
                *x_in_world = grid.min + (dx * x).as_vec3();
            }
        });
        particles.age_s.iter_mut().for_each(|age| *age += dt_s as f32);
    }

    /// Displaces the surface to the volume that its body's particles hold, then carries it.
    fn carry_level_set(&mut self, dt_s: f64) {
        let (nodes, factor, grid, dx) = (self.nodes, self.factor(), self.grid, self.grid.dx);
        let (band, dt_cells, cell_m3) = (self.band_m(), dt_s / f64::from(dx), self.cell_m3());
        let boundary = &self.boundary;
        let Work {
            mesh,
            fields,
            after,
            lag_air,
            sides,
            spare,
            bodies,
            shift_body,
            shift_cell,
            local_cell,
            is_drop_body,
            nozzles,
            ..
        } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        if shift_body.iter().any(|s| *s != 0.0) || local_cell.iter().any(|s| *s != 0.0) {
            spread_to_cells(shift_cell, mesh, bodies, (shift_body, local_cell));
            shift_surface(&mut fields.phi_node, &nodes, (shift_cell, factor), dx);
            let carried = mesh.pieces.iter().zip(&bodies.of_piece).filter(|p| !is_drop_body[*p.1 as usize]);
            let moved = carried.map(|(p, _)| p.surface_area * f64::from(shift_cell[p.cell as usize]));
            fields.returned_m3 += cell_m3 * moved.sum::<f64>();
        }
        spare.clear();
        spare.resize(nodes.len(), 0.0);
        let phi = &fields.phi_node;
        let start = |x: DVec3| phi[nodes.stencil_at((factor as f64 * x).as_vec3()).base];
        let sample = |x: DVec3| boundary.sample(phi, (&nodes, factor), x).unwrap_or_else(|| start(x));
        let in_world = |x: DVec3| grid.min + (f64::from(dx) * x).as_vec3();
        let ways = (
            |x: DVec3| {
                let of_source = Self::prescribed(nozzles, in_world(x));
                of_source.unwrap_or_else(|| carrier(mesh, sides, after, x) + lag_air.at(&nodes, factor, x))
            },
            |a: DVec3, b: DVec3| boundary.walls.walk(a, b),
        );
        carry(spare, phi, (&nodes, factor), (band, dt_cells), ways, sample);
        std::mem::swap(spare, &mut fields.phi_node);
    }

    /// What is beyond an open wall has left.
    fn leave_through_open_walls(&mut self) {
        if !self.setup.open_walls().contains(&true) {
            return;
        }
        let (setup, nodes) = (&self.setup, self.nodes);
        let outside = |x: Vec3| beyond_open_walls(setup, x);
        let work = &mut self.work;
        nodes.for_each_mut(&mut work.fields.phi_node, |_, [i, j, k], phi| {
            *phi = phi.max(outside(nodes.position(i, j, k)));
        });
        let population = &mut work.fields.population;
        let leaves: Vec<bool> = population.particles.x.iter().map(|x| outside(*x) > 0.0).collect();
        let out_m3 = population.remove(&leaves);
        work.account.book_sources_and_sinks(0.0, out_m3);
    }

    /// Makes phi a distance again, on every side of a solid by itself.
    ///
    /// Nodes beside the surface keep their value while it is a distance to within a factor of [`NEAR_A_DISTANCE`]: what is cut
    /// is linear between them, and a cubic surface instead took 3 % of a splash in a second. A film on a solid may be thinner
    /// than the nearest node is far: no node shows it, and it is known by a phi that is less than the distance from the solid.
    pub(crate) fn redistance(&mut self) {
        let (nodes, band) = (self.nodes, self.band_m());
        let Work { fields, spare, level_set, .. } = &mut self.work;
        let boundary = &self.boundary;
        spare.clone_from(&fields.phi_node);
        let solids = SolidsAround::of_cells(&boundary.closed_node, &boundary.sides);
        redistance_before_solids(&mut fields.phi_node, &nodes, band, solids, level_set);
        let old = &*spare;
        nodes.for_each_mut(&mut fields.phi_node, |n, at, phi| {
            let is_wet = old[n] < 0.0;
            let changes = (0..3).any(|a| {
                let stride = nodes.stride(a);
                let low =
                    at[a] > 0 && !boundary.is_blocked(n - stride, a) && (old[n - stride] < 0.0) != is_wet;
                let high = at[a] + 1 < nodes.size[a] && !boundary.is_blocked(n, a);
                low || high && (old[n + stride] < 0.0) != is_wet
            });
            let ratio = old[n] / *phi;
            let is_beside_wall = (0..3).any(|a| at[a] < BESIDE_WALL || at[a] + BESIDE_WALL >= nodes.size[a]);
            let is_kept = !is_beside_wall
                && !boundary.is_near(n)
                && changes
                && ratio > 1.0 / NEAR_A_DISTANCE
                && ratio < NEAR_A_DISTANCE;
            let is_film = boundary.is_near(n) && old[n] < (1.0 - 1e-3) * boundary.solid_node[n];
            if is_kept || is_film {
                *phi = old[n];
            }
        });
    }
}
