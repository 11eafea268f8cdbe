//! Velocity from particles to faces and back: FLIP and APIC with trilinear weights.

use crate::sight::{self, Sight, bit};
use crate::sort::Locator;
use crate::velocity::{LANES, VelocitySampler};
use crate::{CellRanges, Particles};
use fluvial_foundation::parallel::{self, CHUNK};
use fluvial_foundation::{AXES, Axis, Vec3};
use fluvial_grids::{FaceField, Sides, UniformGrid};

/// How particles take their velocity from the grid and give it back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transfer {
    /// Particles add the grid's change to their own velocity and a little of its value
    /// [zhu-2005; brackbill-1986].
    Flip {
        /// Share of FLIP in the blend with PIC, 0 (PIC) to 1; usual are 0.97 to 1.
        ratio: f32,
    },
    /// Particles take the grid's value and its gradient
    /// [jiang-2015 §5.3].
    Apic,
}

/// How particles deposit their velocity on faces.
#[derive(Clone, Copy, Debug)]
pub struct Deposit<'a> {
    /// With rows of their own (APIC) or without.
    pub transfer: Transfer,
    /// Thin solids: faces behind them get nothing.
    pub sides: &'a Sides,
    /// The velocity that moved the particles.
    pub u_face: &'a FaceField,
    /// Cells, not 0, whose particles deposit with the slope of `u_face` where they have no rows of their own; may be empty.
    pub steep_cell: &'a [u8],
}

/// Cell layers of one scattering task. Even tasks run first, odd ones after them: neighbours that share a
/// layer of faces never run together, and every face adds up in the same order.
const LAYERS: usize = 4;

/// Moves particle velocities to faces: with w the trilinear weight of radius dx around each face,
///
/// u_f = sum_p w_fp (v_p + c_p . (x_f - x_p)) / sum_p w_fp, c_p the APIC row (absent for FLIP),
///
/// and `weight_face` = sum_p w_fp; both are 0 where no particle reaches. A particle beyond the outermost
/// samples counts at the nearest point of their hull, which is where interpolation reads it. Particles
/// must be sorted (`ranges` describe them). [jiang-2015 eq. 10], on a staggered grid.
///
/// FLIP's mean is that of the particles' places, not of the face's, which is the same where they lie around the face evenly. Beside
/// a solid they lie on one side of it, and what the mean lacks, pressure must give the liquid anew in every step: a box rolled as
/// if it carried more water with it, by 7 % in its period at 12 cells across. So particles of steep cells deposit with a slope,
/// that of the velocity which moved them [fei-2021].
/// Tests: `apic_conserves_linear_and_angular_momentum`, `apic_reproduces_linear_fields`,
/// `transfer_equals_the_plain_sum`, `particles_on_one_side_of_a_face_deposit_with_a_slope`.
pub fn particles_to_faces(
    u_face: &mut FaceField,
    weight_face: &mut FaceField,
    particles: &Particles,
    ranges: &CellRanges,
    grid: &UniformGrid,
    deposit: &Deposit,
) {
    debug_assert!(ranges.describe(particles, grid));
    let affine = deposit.transfer == Transfer::Apic && particles.has_affine();
    for axis in AXES {
        for field in [&mut *u_face, &mut *weight_face] {
            assert_eq!(field[axis].len(), grid.faces(axis).len());
            parallel::for_each_indexed_mut(&mut field[axis], |_, value| *value = 0.0);
        }
    }
    for parity in [0, 1] {
        let mut tasks = scatter_tasks(u_face, weight_face, grid, parity);
        parallel::for_each_chunk_mut(&mut tasks, 1, |_, task| match affine {
            true => scatter_layers::<true>(&mut task[0], particles, ranges, deposit, grid),
            false => scatter_layers::<false>(&mut task[0], particles, ranges, deposit, grid),
        });
    }
    for axis in AXES {
        let (u, w) = (&mut u_face[axis], &weight_face[axis]);
        parallel::for_each_beside_mut(u, w, |u, &w| *u = if w > 0.0 { *u / w } else { 0.0 });
    }
}

/// A few layers of cells and the planes of faces around them, for the sums of each component.
struct ScatterTask<'a> {
    layers: std::ops::Range<usize>,
    /// Per component: first plane held, sum of weighted velocities, sum of weights.
    planes: [(usize, &'a mut [f32], &'a mut [f32]); 3],
}

fn scatter_tasks<'a>(
    u_face: &'a mut FaceField,
    weight_face: &'a mut FaceField,
    grid: &UniformGrid,
    parity: usize,
) -> Vec<ScatterTask<'a>> {
    let layers = grid.cells[2];
    let blocks: Vec<usize> = (parity * LAYERS..layers).step_by(2 * LAYERS).collect();
    // Planes are cut two layers below each task's first layer, far from any plane a task touches.
    let cuts: Vec<usize> = blocks.iter().map(|&first| first.saturating_sub(LAYERS / 2)).collect();
    let mut u = u_face.components_mut().iter_mut();
    let mut w = weight_face.components_mut().iter_mut();
    let mut pieces: [_; 3] = std::array::from_fn(|axis| {
        let lattice = grid.faces(axis);
        let cut = |rest: Option<&'a mut Vec<f32>>| {
            let mut rest: &mut [f32] = &mut rest.expect("three components")[..];
            let mut at = 0;
            let mut pieces = Vec::with_capacity(cuts.len());
            for (n, &first) in cuts.iter().enumerate() {
                let end = cuts.get(n + 1).copied().unwrap_or(lattice.size[2]);
                let (_, tail) = rest.split_at_mut((first - at) * lattice.slab());
                let (piece, tail) = tail.split_at_mut((end - first) * lattice.slab());
                pieces.push(piece);
                (rest, at) = (tail, end);
            }
            pieces.into_iter()
        };
        (cut(u.next()), cut(w.next()))
    });
    let mut next = |axis: Axis, cut: usize| {
        let (u, w) = &mut pieces[axis];
        (cut, u.next().expect("a piece per task"), w.next().expect("a piece per task"))
    };
    (blocks.iter().zip(&cuts))
        .map(|(&first, &cut)| ScatterTask {
            layers: first..(first + LAYERS).min(layers),
            planes: [next(0, cut), next(1, cut), next(2, cut)],
        })
        .collect()
}

/// Sums of one cell's particles over the 3 x 3 x 3 faces of a component that they can reach, rows along x:
/// four weights (the last unused) and four momenta. Along its normal a component has two faces of the three.
type Reach = [[f32; LANES]; 9];

fn scatter_layers<const AFFINE: bool>(
    task: &mut ScatterTask,
    particles: &Particles,
    ranges: &CellRanges,
    deposit: &Deposit,
    grid: &UniformGrid,
) {
    let (sight, field) = (Sight::new(deposit.sides, grid), VelocitySampler::new(deposit.u_face, grid));
    let [nx, ny, _] = grid.cells;
    for k in task.layers.clone() {
        for j in 0..ny {
            let row = nx * (j + ny * k);
            if ranges.of_cells(row..row + nx).is_empty() {
                continue;
            }
            for i in 0..nx {
                let members = ranges.of_cell(row + i);
                if members.is_empty() {
                    continue;
                }
                let is_steep = !AFFINE && deposit.steep_cell.get(row + i).is_some_and(|&steep| steep != 0);
                let cell =
                    ScatterCell { at: [i, j, k], seen: sight.seen([i, j, k]), members, particles, grid };
                if is_steep {
                    let slope = |p: usize| {
                        let x = particles.x[p];
                        let beside = || field.velocity_and_gradient(&field.place(x));
                        on_side(&field, &sight, x).unwrap_or_else(beside).1
                    };
                    cell.scatter::<true, 0>(&mut task.planes[0], |p| slope(p)[0]);
                    cell.scatter::<true, 1>(&mut task.planes[1], |p| slope(p)[1]);
                    cell.scatter::<true, 2>(&mut task.planes[2], |p| slope(p)[2]);
                } else {
                    let own =
                        |axis: Axis, p: usize| if AFFINE { particles.affine[axis][p] } else { Vec3::ZERO };
                    cell.scatter::<AFFINE, 0>(&mut task.planes[0], |p| own(0, p));
                    cell.scatter::<AFFINE, 1>(&mut task.planes[1], |p| own(1, p));
                    cell.scatter::<AFFINE, 2>(&mut task.planes[2], |p| own(2, p));
                }
            }
        }
    }
}

/// A cell and its particles.
struct ScatterCell<'a> {
    at: [usize; 3],
    /// What it sees of the cells around.
    seen: u32,
    members: std::ops::Range<usize>,
    particles: &'a Particles,
    grid: &'a UniformGrid,
}

impl ScatterCell<'_> {
    /// Adds the component along `AXIS`, `row` being its slope at a particle.
    #[inline]
    fn scatter<const AFFINE: bool, const AXIS: usize>(
        &self,
        planes: &mut (usize, &mut [f32], &mut [f32]),
        row: impl Fn(usize) -> Vec3,
    ) {
        let reach = sum_cell::<AFFINE, AXIS>(self.particles, self.members.clone(), self.at, self.grid, row);
        add_to_faces(planes, &reach, AXIS, self.at, self.seen, self.grid);
    }
}

/// Sums the particles of one cell for the component along `AXIS`.
#[inline]
fn sum_cell<const AFFINE: bool, const AXIS: usize>(
    particles: &Particles,
    members: std::ops::Range<usize>,
    cell: [usize; 3],
    grid: &UniformGrid,
    row: impl Fn(usize) -> Vec3,
) -> Reach {
    let mut reach = [[0.0; LANES]; 9];
    let inverse_dx = 1.0 / grid.dx;
    for p in members {
        let c = (particles.x[p] - grid.min) * inverse_dx;
        let along = |a: Axis| reach_along(c[a], cell[a], grid.cells[a], a == AXIS, grid.dx);
        let ((wx, dx), (wy, dy), (wz, dz)) = (along(0), along(1), along(2));
        let v = particles.v[p][AXIS];
        let row = row(p);
        // Weights and, scaled alike, momenta at y = z = 0; with rows y and z add to the momenta.
        let (mut x, mut more) = ([0.0; LANES], [0.0; LANES]);
        for n in 0..3 {
            x[n] = wx[n];
            x[n + 4] = wx[n] * if AFFINE { v + row.x * dx[n] } else { v };
            more[n + 4] = wx[n];
        }
        let (rows_y, rows_z) = (if AXIS == 1 { 2 } else { 3 }, if AXIS == 2 { 2 } else { 3 });
        for z in 0..rows_z {
            for y in 0..rows_y {
                let w_yz = wy[y] * wz[z];
                let v_yz = if AFFINE { row.y * dy[y] + row.z * dz[z] } else { 0.0 };
                let sum = &mut reach[3 * z + y];
                for lane in 0..LANES {
                    sum[lane] += w_yz * if AFFINE { x[lane] + v_yz * more[lane] } else { x[lane] };
                }
            }
        }
    }
    reach
}

/// Weights and distances (metres) to the three samples that a particle of a cell can reach along an axis.
/// `t` is its position in lattice units of this component. On faces the samples are the cell's low and
/// high one (the third weight is 0); between faces they are the centres of the cell before, this, the next.
#[inline]
fn reach_along(c: f32, cell: usize, cells: usize, is_face: bool, dx: f32) -> ([f32; 3], [f32; 3]) {
    if is_face {
        let f = (c - cell as f32).clamp(0.0, 1.0);
        ([1.0 - f, f, 0.0], [-f * dx, (1.0 - f) * dx, 0.0])
    } else {
        let t = (c - 0.5).clamp(0.0, (cells - 1) as f32) - cell as f32;
        let t = t.clamp(-0.5, 0.5);
        ([(-t).max(0.0), 1.0 - t.abs(), t.max(0.0)], [(-1.0 - t) * dx, -t * dx, (1.0 - t) * dx])
    }
}

fn add_to_faces(
    planes: &mut (usize, &mut [f32], &mut [f32]),
    reach: &Reach,
    axis: Axis,
    cell: [usize; 3],
    seen: u32,
    grid: &UniformGrid,
) {
    let lattice = grid.faces(axis);
    // Sample numbers of the three reached along each axis; the outer ones may not exist (weight 0 there).
    let first = |a: Axis| cell[a] as isize - isize::from(a != axis);
    let inside = |a: Axis, s: isize| s >= 0 && (s as usize) < lattice.size[a];
    let (plane0, momentum, weight) = planes;
    for n in 0..9 {
        let (y, z) = (first(1) + (n % 3) as isize, first(2) + (n / 3) as isize);
        let outside = (axis == 1 && n % 3 == 2) || (axis == 2 && n / 3 == 2);
        if outside || !inside(1, y) || !inside(2, z) {
            continue;
        }
        let row = lattice.size[0] * (y as usize + lattice.size[1] * (z as usize - *plane0));
        for lane in 0..if axis == 0 { 2 } else { 3 } {
            let x = first(0) + lane as isize;
            if inside(0, x) && (seen == sight::ALL || is_seen(seen, axis, cell, [x, y, z])) {
                momentum[row + x as usize] += reach[n][lane + 4];
                weight[row + x as usize] += reach[n][lane];
            }
        }
    }
}

/// Does a cell see one of the two cells at a face?
fn is_seen(seen: u32, axis: Axis, cell: [usize; 3], face: [isize; 3]) -> bool {
    [0, 1].into_iter().any(|back| {
        let mut offset: [isize; 3] = std::array::from_fn(|a| face[a] - cell[a] as isize);
        offset[axis] -= back;
        offset.iter().all(|o| o.abs() <= 1) && seen & bit(offset) != 0
    })
}

/// Moves grid velocities to particles, interpolated trilinearly at x_p:
///
/// FLIP: v <- ratio (v + u_new - u_old) + (1 - ratio) u_new = ratio v + (u_new - ratio u_old) at x_p: one
/// field is interpolated, and ratio 1 on an unchanged grid changes no bit;
/// APIC: v <- u_new, rows <- gradient of the interpolant of u_new [jiang-2015 eq. 14].
///
/// Particles see no faces behind thin solids (`sides`). `u_old` is overwritten with the field that FLIP
/// interpolates. Rows appear with APIC and go with FLIP.
/// Particles that fly add `flight.push` to the velocity that they flew with; one that the liquid has carried
/// until now starts with `u_new`: what FLIP kept of its own goes no farther.
/// Tests: `flip_leaves_velocities_on_an_unchanged_grid`, `apic_conserves_linear_and_angular_momentum`,
/// `particles_far_from_the_liquid_fly`.
pub fn faces_to_particles(
    particles: &mut Particles,
    u_new: &FaceField,
    u_old: &mut FaceField,
    grid: &UniformGrid,
    sides: &Sides,
    transfer: &Transfer,
    flight: &Flight,
) {
    let sight = Sight::new(sides, grid);
    particles.set_affine(*transfer == Transfer::Apic);
    let flying = Flying { flight, locate: Locator::new(grid), new: VelocitySampler::new(u_new, grid) };
    match *transfer {
        Transfer::Flip { ratio } => {
            for axis in AXES {
                let new = &u_new[axis];
                parallel::for_each_beside_mut(&mut u_old[axis], new, |old, new| *old = new - ratio * *old);
            }
            flip(particles, &VelocitySampler::new(u_old, grid), &sight, ratio, &flying);
        }
        Transfer::Apic => apic(particles, &VelocitySampler::new(u_new, grid), &sight, &flying),
    }
}

/// Which particles fly, and what a step adds to their velocity.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// Cells that the liquid reaches, not 0, see [`mark_near`](crate::mark_near); empty: no particle flies.
    pub near_cell: &'a [u8],
    /// Velocity of each particle that flew through the step, m/s, NaN of the others:
    /// [`Scratch::flown`](crate::Scratch::flown).
    pub flown: &'a [Vec3],
    /// Gravity times the step's length, m/s.
    pub push: Vec3,
}

impl Flight<'_> {
    /// No particle flies.
    pub const NONE: Flight<'static> = Flight { near_cell: &[], flown: &[], push: Vec3::ZERO };
}

struct Flying<'a> {
    flight: &'a Flight<'a>,
    locate: Locator,
    new: VelocitySampler<'a>,
}

impl Flying<'_> {
    #[inline]
    fn velocity(&self, p: usize, x: Vec3) -> Vec3 {
        match self.flight.flown[p] {
            carried if carried.is_nan() => self.new.velocity_and_gradient(&self.new.place(x)).0,
            flown => flown + self.flight.push,
        }
    }

    #[inline]
    fn has(&self, x: Vec3) -> bool {
        self.flight.near_cell.get(self.locate.cell(x) as usize).is_some_and(|&near| near == 0)
    }
}

fn flip(particles: &mut Particles, field: &VelocitySampler, sight: &Sight, ratio: f32, flying: &Flying) {
    let Particles { x, v, .. } = particles;
    parallel::for_each_chunk_mut(v, CHUNK, |chunk, v| {
        let range = parallel::chunk_range(chunk, CHUNK, x.len());
        let firsts = range.clone().step_by(LANES);
        for ((v, x), first) in v.chunks_mut(LANES).zip(x[range].chunks(LANES)).zip(firsts) {
            let change = field.at(&field.in_cells(x));
            for (l, v) in v.iter_mut().enumerate() {
                if flying.has(x[l]) {
                    *v = flying.velocity(first + l, x[l]);
                    continue;
                }
                let change = match on_side(field, sight, x[l]) {
                    Some((change, _)) => change,
                    None => Vec3::new(change[0][l], change[1][l], change[2][l]),
                };
                *v = ratio * *v + change;
            }
        }
    });
}

/// Velocity and its gradient at a point near thin solids; none elsewhere.
#[inline]
pub(crate) fn on_side(field: &VelocitySampler, sight: &Sight, x: Vec3) -> Option<(Vec3, [Vec3; 3])> {
    if sight.sides.is_empty() {
        return None;
    }
    let at = sight.cell(x);
    let seen = sight.seen(at);
    (seen != sight::ALL).then(|| field.velocity_and_gradient_on_side(&field.place(x), at, seen))
}

fn apic(particles: &mut Particles, new: &VelocitySampler, sight: &Sight, flying: &Flying) {
    let (x, n) = (&particles.x, particles.len());
    let [ax, ay, az] = &mut particles.affine;
    let rows = ax.chunks_mut(CHUNK).zip(ay.chunks_mut(CHUNK)).zip(az.chunks_mut(CHUNK));
    let mut tasks: Vec<_> = particles.v.chunks_mut(CHUNK).zip(rows).collect();
    parallel::for_each_chunk_mut(&mut tasks, 1, |chunk, task| {
        let (v, ((ax, ay), az)) = &mut task[0];
        for (i, &x) in x[parallel::chunk_range(chunk, CHUNK, n)].iter().enumerate() {
            let (value, gradient) = match flying.has(x) {
                true => (flying.velocity(chunk * CHUNK + i, x), [Vec3::ZERO; 3]),
                false => on_side(new, sight, x).unwrap_or_else(|| new.velocity_and_gradient(&new.place(x))),
            };
            v[i] = value;
            [ax[i], ay[i], az[i]] = gradient;
        }
    });
}
