//! Moving particles through the velocity field, out of solids and within the box.

use crate::velocity::VelocitySampler;
use crate::{Particles, retain};
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{self, CHUNK};
use fluvial_grids::{FaceField, Lattice, UniformGrid};

/// Particles keep this distance from solids and closed walls, in cells.
const MARGIN_IN_CELLS: f32 = 0.02;
/// Projections tried before a particle counts as trapped. One is exact for a flat solid; corners need more.
const PROJECTIONS: usize = 5;

/// What happened to particles on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdvectReport {
    /// Particles that ended in a solid (or nearer than the margin) and were moved out along its gradient.
    pub pushed_out_of_solids: usize,
    /// Particles that ended beyond a closed wall and were moved back into the box.
    pub pushed_inside_walls: usize,
    /// Particles that crossed an open wall; removed.
    pub left_through_open_walls: usize,
    /// Particles for which no way out of a solid was found; removed.
    pub trapped_in_solids: usize,
}

impl AdvectReport {
    fn add(&mut self, other: AdvectReport) {
        self.pushed_out_of_solids += other.pushed_out_of_solids;
        self.pushed_inside_walls += other.pushed_inside_walls;
        self.left_through_open_walls += other.left_through_open_walls;
        self.trapped_in_solids += other.trapped_in_solids;
    }
}

/// Moves particles by `dt_s` through `u_face` (frozen during the step) with Ralston's third-order
/// Runge-Kutta scheme [Ralston 1962]:
///
/// x <- x + dt (2 k1 + 3 k2 + 4 k3) / 9, k1 = u(x), k2 = u(x + dt k1 / 2), k3 = u(x + 3 dt k2 / 4).
///
/// Particles that end nearer than 0.02 dx to a solid (`phi_solid_node`, empty where there is none) are moved
/// along its gradient to that distance; beyond a closed wall they are moved back the same way. Those that
/// crossed an open wall (`open_walls`: x_min, x_max, y_min, y_max, z_min, z_max) are removed, as are those
/// that no projection frees: after the call every particle is in the box and outside all solids. Ages grow
/// by `dt_s`. Sorting is needed afterwards.
/// Tests: `advection_is_third_order`, `solids_never_hold_particles`, `walls_hold_and_open_walls_let_go`.
pub fn advect(
    particles: &mut Particles,
    u_face: &FaceField,
    phi_solid_node: &[f32],
    open_walls: [bool; 6],
    grid: &UniformGrid,
    dt_s: f32,
) -> AdvectReport {
    let velocity = VelocitySampler::new(u_face, grid);
    let confine = Confine::new(phi_solid_node, open_walls, grid);
    let mut reports = vec![AdvectReport::default(); parallel::chunk_count(particles.len(), CHUNK)];
    let arrays = particles.x.chunks_mut(CHUNK).zip(particles.age_s.chunks_mut(CHUNK));
    let mut tasks: Vec<_> = arrays.zip(&mut reports).collect();
    parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| {
        let ((x, age_s), report) = &mut task[0];
        for (x, age_s) in x.iter_mut().zip(age_s.iter_mut()) {
            let moved = runge_kutta_3(*x, &velocity, dt_s);
            // Removed particles are marked by a position that is not a number until all have moved.
            *x = confine.place(moved, report).unwrap_or(Vec3::NAN);
            *age_s += dt_s;
        }
    });
    drop(tasks);
    let mut report = AdvectReport::default();
    reports.into_iter().for_each(|part| report.add(part));
    if report.left_through_open_walls + report.trapped_in_solids > 0 {
        let gone: Vec<bool> = particles.x.iter().map(|x| x.is_nan()).collect();
        retain(particles, |i| !gone[i]);
    }
    report
}

#[inline]
fn runge_kutta_3(x: Vec3, velocity: &VelocitySampler, dt_s: f32) -> Vec3 {
    let k1 = velocity.at(x);
    let k2 = velocity.at(x + (0.5 * dt_s) * k1);
    let k3 = velocity.at(x + (0.75 * dt_s) * k2);
    x + (dt_s / 9.0) * (2.0 * k1 + 3.0 * k2 + 4.0 * k3)
}

/// Where particles may be.
struct Confine<'a> {
    phi_solid_node: &'a [f32],
    nodes: Lattice,
    /// The box, less the margin at closed walls.
    low: Vec3,
    high: Vec3,
    /// Beyond these a particle has left through an open wall; infinite at closed walls.
    exit_low: Vec3,
    exit_high: Vec3,
    margin: f32,
}

impl<'a> Confine<'a> {
    fn new(phi_solid_node: &'a [f32], open_walls: [bool; 6], grid: &UniformGrid) -> Self {
        let nodes = grid.nodes();
        assert!(phi_solid_node.is_empty() || phi_solid_node.len() == nodes.len());
        let (bounds, margin) = (grid.bounds(), MARGIN_IN_CELLS * grid.dx);
        let wall = |side: usize, if_open: Vec3, if_closed: Vec3| {
            let at = |axis: usize| if open_walls[2 * axis + side] { if_open[axis] } else { if_closed[axis] };
            Vec3::new(at(0), at(1), at(2))
        };
        Confine {
            phi_solid_node,
            nodes,
            low: wall(0, bounds.min, bounds.min + margin),
            high: wall(1, bounds.max, bounds.max - margin),
            exit_low: wall(0, bounds.min, Vec3::NEG_INFINITY),
            exit_high: wall(1, bounds.max, Vec3::INFINITY),
            margin,
        }
    }

    /// The allowed position for a particle that moved to `x`, or none if it is to be removed.
    #[inline]
    fn place(&self, x: Vec3, report: &mut AdvectReport) -> Option<Vec3> {
        if x.cmplt(self.exit_low).any() || x.cmpgt(self.exit_high).any() {
            report.left_through_open_walls += 1;
            return None;
        }
        let inside = x.max(self.low).min(self.high);
        if inside != x {
            report.pushed_inside_walls += 1;
        }
        if self.phi_solid_node.is_empty() {
            return Some(inside);
        }
        self.out_of_solids(inside, report)
    }

    fn out_of_solids(&self, mut x: Vec3, report: &mut AdvectReport) -> Option<Vec3> {
        let stencil = self.nodes.stencil(x);
        // A corner this far away says enough, even where phi grows twice as fast as distance.
        if self.phi_solid_node[stencil.base] > 4.0 * self.nodes.spacing {
            return Some(x);
        }
        let mut phi = self.nodes.interpolate(self.phi_solid_node, stencil);
        if phi >= self.margin {
            return Some(x);
        }
        for _ in 0..PROJECTIONS {
            let gradient = self.nodes.gradient(self.phi_solid_node, x);
            x += (self.margin - phi) * gradient.normalize_or_zero();
            x = x.max(self.low).min(self.high);
            phi = self.nodes.sample(self.phi_solid_node, x);
            if phi >= 0.5 * self.margin {
                report.pushed_out_of_solids += 1;
                return Some(x);
            }
        }
        report.trapped_in_solids += 1;
        None
    }
}
