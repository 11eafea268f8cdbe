//! Moving particles through the velocity field, out of solids and within the box, and into the order of
//! cells.

use crate::particles::{fit, take};
use crate::sight::Sight;
use crate::sort::{GONE, Locator, order_by_keys};
use crate::velocity::{LANES, Lanes, VelocitySampler};
use crate::{CellRanges, Particles, Scratch, Surroundings};
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{self, CHUNK};
use fluvial_grids::{FaceField, Lattice};

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
    /// Particles for which no way out of a solid was found; removed ([`Scratch::trapped`] names them).
    pub trapped_in_solids: usize,
}

impl AdvectReport {
    fn plus(mut self, other: AdvectReport) -> AdvectReport {
        self.pushed_out_of_solids += other.pushed_out_of_solids;
        self.pushed_inside_walls += other.pushed_inside_walls;
        self.left_through_open_walls += other.left_through_open_walls;
        self.trapped_in_solids += other.trapped_in_solids;
        self
    }
}

/// Moves particles by `dt_s` through `u_face` with Ralston's third-order Runge-Kutta scheme [ralston-1962]:
///
/// x <- x + dt (2 k1 + 3 k2 + 4 k3) / 9, k1 = u(x), k2 = u(x + dt k1 / 2), k3 = u(x + 3 dt k2 / 4).
///
/// The flow is frozen during the step, or moves along with the solids in it: with `around.drift_face` w it is
/// u(x - w t) at the time t of the step, w that of the particle's start. In a frozen flow a particle in front of a solid
/// runs ahead into slower liquid, and the solid catches up with it; one behind falls back.
///
/// Particles that end nearer than 0.01 dx to a solid are moved along its gradient to 0.02 dx; beyond a closed wall they are
/// moved back the same way. Those that crossed an open wall are removed, as are those
/// that no projection frees; particles near thin solids stay on their side of the wall. Afterwards every particle is in the box and outside all solids. Ages grow by
/// `dt_s`. `particles` stay as they are (a step that fails needs them); `moved` come sorted by cell, and
/// `ranges` describe them.
///
/// Particles in cells that `near_cell` does not mark fly: x <- x + dt v. One that meets a wall or a solid
/// has along the normal n the velocity of its way, n . (x_new - x_old) / dt, but never one that no solid has
/// and not less than before. Without marks none flies.
/// Tests: `advection_is_third_order`, `a_flow_that_moves_along_is_met_in_its_own_frame`, `solids_never_hold_particles`, `walls_hold_and_open_walls_let_go`,
/// `particles_far_from_the_liquid_fly`.
pub fn advect(
    moved: &mut Particles,
    ranges: &mut CellRanges,
    particles: &Particles,
    (u_face, near_cell): (&FaceField, &[u8]),
    around: &Surroundings,
    dt_s: f32,
    scratch: &mut Scratch,
) -> AdvectReport {
    let velocity = VelocitySampler::new(u_face, around.grid);
    let drift = around.drift_face.map(|drift| VelocitySampler::new(drift, around.grid));
    let (confine, locate) = (Confine::new(around), Locator::new(around.grid));
    let n = particles.len();
    let mut reports = vec![(AdvectReport::default(), vec![]); parallel::chunk_count(n, CHUNK)];
    // The new positions wait in the array of velocities until their order is known.
    let places = &mut moved.v;
    fit(places, n);
    fit(&mut scratch.keys, n);
    fit(&mut scratch.v, n);
    let arrays =
        places.chunks_mut(CHUNK).zip(scratch.keys.chunks_mut(CHUNK)).zip(scratch.v.chunks_mut(CHUNK));
    let mut tasks: Vec<_> = arrays.zip(&mut reports).collect();
    let cells_per_speed = dt_s / around.grid.dx;
    parallel::for_each_chunk_mut(&mut tasks, 1, |chunk, task| {
        let (((places, keys), v), (report, trapped)) = &mut task[0];
        let range = parallel::chunk_range(chunk, CHUNK, n);
        let before = particles.v[range.clone()].chunks(LANES);
        let lanes = places.chunks_mut(LANES).zip(keys.chunks_mut(LANES)).zip(v.chunks_mut(LANES));
        let eights = particles.x[range.clone()].chunks(LANES).zip(before).zip(lanes);
        for (eight, ((x, before), ((places, keys), v))) in eights.enumerate() {
            let u = mean_velocity(&velocity, drift.as_ref(), x, cells_per_speed);
            for (l, (place, key)) in places.iter_mut().zip(keys).enumerate() {
                let flies = near_cell.get(locate.cell(x[l]) as usize).is_some_and(|&near| near == 0);
                let u = if flies { before[l] } else { Vec3::new(u[0][l], u[1][l], u[2][l]) };
                let goal = x[l] + dt_s * u;
                v[l] = [before[l], if flies { u } else { Vec3::NAN }];
                let trapped_before = report.trapped_in_solids;
                let allowed = confine.place(x[l], goal, report);
                if report.trapped_in_solids > trapped_before {
                    trapped.push((range.start + LANES * eight + l) as u32);
                }
                *place = allowed.unwrap_or(goal);
                *key = allowed.map_or(GONE, |x| locate.cell(x));
                if flies && *place != goal {
                    let normal = (*place - goal).normalize_or_zero();
                    let held = (normal.dot(*place - x[l]) / dt_s).min(around.solid_speed_m_s);
                    v[l] = [u + (held - normal.dot(u)).max(0.0) * normal; 2];
                }
            }
        }
    });
    drop(tasks);
    order_by_keys(ranges, scratch, around.grid.cell_count());
    take(&mut moved.x, &moved.v, &scratch.order);
    moved.take_all_but_positions(particles, &scratch.order);
    parallel::for_each_beside_mut(&mut moved.v, &scratch.order, |v, &p| *v = scratch.v[p as usize][0]);
    fit(&mut scratch.flown, scratch.order.len());
    let (order, v) = (&scratch.order, &scratch.v);
    parallel::for_each_beside_mut(&mut scratch.flown, order, |flown, &p| *flown = v[p as usize][1]);
    parallel::for_each_indexed_mut(&mut moved.age_s, |_, age_s| *age_s += dt_s);
    scratch.trapped.clear();
    reports.into_iter().fold(AdvectReport::default(), |sum, (report, trapped)| {
        scratch.trapped.extend(trapped);
        sum.plus(report)
    })
}

/// The mean velocity of eight particles over a step of `s` = dt / dx.
#[inline(always)]
fn mean_velocity(
    velocity: &VelocitySampler,
    drift: Option<&VelocitySampler>,
    x: &[Vec3],
    s: f32,
) -> [Lanes; 3] {
    let start = velocity.in_cells(x);
    let w = drift.map_or([[0.0; LANES]; 3], |drift| drift.at(&start));
    let go = |u: &[Lanes; 3], s: f32| {
        let mut x = start;
        for axis in 0..3 {
            for l in 0..LANES {
                x[axis][l] += s * (u[axis][l] - w[axis][l]);
            }
        }
        x
    };
    let k1 = velocity.at(&start);
    let k2 = velocity.at(&go(&k1, 0.5 * s));
    let k3 = velocity.at(&go(&k2, 0.75 * s));
    let mut mean = k1;
    for axis in 0..3 {
        for l in 0..LANES {
            mean[axis][l] = (2.0 * k1[axis][l] + 3.0 * k2[axis][l] + 4.0 * k3[axis][l]) * (1.0 / 9.0);
        }
    }
    mean
}

/// Where particles may be.
struct Confine<'a> {
    around: &'a Surroundings<'a>,
    sight: Sight<'a>,
    phi_solid_node: &'a [f32],
    nodes: Lattice,
    /// The box, less the margin at closed walls.
    low: Vec3,
    high: Vec3,
    /// Beyond these a particle has left through an open wall; infinite at closed walls.
    exit_low: Vec3,
    exit_high: Vec3,
    /// Distance from solids that particles are moved out to, and the least that they may have. Nodal distances bend at
    /// edges, where a particle ends up somewhat nearer than it was moved to: with one distance for both it would be
    /// moved in every step, and creep along the edge through still water.
    margin: f32,
    nearest: f32,
}

impl<'a> Confine<'a> {
    fn new(around: &'a Surroundings<'a>) -> Self {
        let Surroundings { grid, phi_solid_node, sides, open_walls, .. } = *around;
        let nodes = grid.nodes();
        assert!(phi_solid_node.is_empty() || phi_solid_node.len() == nodes.len());
        let (bounds, margin) = (grid.bounds(), MARGIN_IN_CELLS * grid.dx);
        let wall = |side: usize, if_open: Vec3, if_closed: Vec3| {
            let at = |axis: usize| if open_walls[2 * axis + side] { if_open[axis] } else { if_closed[axis] };
            Vec3::new(at(0), at(1), at(2))
        };
        Confine {
            around,
            sight: Sight::new(sides, grid),
            phi_solid_node,
            nodes,
            low: wall(0, bounds.min, bounds.min + margin),
            high: wall(1, bounds.max, bounds.max - margin),
            exit_low: wall(0, bounds.min, Vec3::NEG_INFINITY),
            exit_high: wall(1, bounds.max, Vec3::INFINITY),
            margin,
            nearest: 0.5 * margin,
        }
    }

    /// The allowed position for a particle that moved from `start` to `x`, or none if it is to be removed.
    #[inline]
    fn place(&self, start: Vec3, x: Vec3, report: &mut AdvectReport) -> Option<Vec3> {
        let x = if self.sight.sides.is_empty() { x } else { self.sight.walk(start, x) };
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
        if !self.sight.sides.is_empty() {
            let at = self.sight.cell(inside);
            let own = self.sight.sides.own_corners[self.sight.cells.index(at[0], at[1], at[2])];
            if self.sight.is_near(at) && own != 0 {
                return Some(self.out_of_sides(inside, report));
            }
        }
        self.out_of_solids(inside, report)
    }

    /// Out of solids on the own side of the cell that a particle is in.
    fn out_of_sides(&self, mut x: Vec3, report: &mut AdvectReport) -> Vec3 {
        for n in 0..=PROJECTIONS {
            let at = self.sight.cell(x);
            let (phi, gradient) = self.around.solid_on_side(x, at);
            if phi >= self.nearest {
                report.pushed_out_of_solids += (n > 0) as usize;
                return x;
            }
            let out = x + (self.margin - phi) * gradient.normalize_or_zero();
            x = self.sight.walk(x, out).max(self.low).min(self.high);
        }
        // In a narrow corner of its cell's side: to the most open corner.
        report.pushed_out_of_solids += 1;
        let at = self.sight.cell(x);
        let own = self.sight.sides.own_corners[self.sight.cells.index(at[0], at[1], at[2])];
        let phi = self.nodes.corner_values(self.phi_solid_node, self.nodes.index(at[0], at[1], at[2]));
        let best = (0..8).filter(|n| own >> n & 1 == 1).max_by(|a, b| phi[*a].total_cmp(&phi[*b]));
        let Some(best) = best else { return x };
        let toward = |a: usize| if best >> a & 1 == 1 { 0.49 } else { -0.49 };
        let center = self.sight.cells.position(at[0], at[1], at[2]);
        center + self.nodes.spacing * Vec3::new(toward(0), toward(1), toward(2))
    }

    fn out_of_solids(&self, mut x: Vec3, report: &mut AdvectReport) -> Option<Vec3> {
        let stencil = self.nodes.stencil(x);
        // A corner this far away says enough, even where phi grows twice as fast as distance.
        if self.phi_solid_node[stencil.base] > 4.0 * self.nodes.spacing {
            return Some(x);
        }
        let mut phi = self.nodes.interpolate(self.phi_solid_node, stencil);
        if phi >= self.nearest {
            return Some(x);
        }
        for _ in 0..PROJECTIONS {
            let gradient = self.nodes.gradient(self.phi_solid_node, x);
            x += (self.margin - phi) * gradient.normalize_or_zero();
            x = x.max(self.low).min(self.high);
            phi = self.nodes.sample(self.phi_solid_node, x);
            if phi >= self.nearest {
                report.pushed_out_of_solids += 1;
                return Some(x);
            }
        }
        report.trapped_in_solids += 1;
        None
    }
}
