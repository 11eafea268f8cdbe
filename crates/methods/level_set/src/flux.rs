//! Liquid carried across faces: the volume companion of the level set.

use crate::cut_volume::open_prism_share;
use crate::volume::Neighbourhood;
use fluvial_foundation::{AXES, Axis, DVec3, Vec3};
use fluvial_grids::cut::cube_below_plane;
use fluvial_grids::patch::Patch;
use fluvial_grids::sides::{LOW_CORNERS, shared_corners};
use fluvial_grids::{FaceField, Lattice, Sides, UniformGrid};

/// A surface that bends by more than this over a cell, in cells, is an edge or a sheet: no quadric fits it.
const SHARPEST_BEND_CELLS: f64 = 0.3;
/// Half the diagonal of a box of one cell with a margin for the curvature of phi, cells.
const CLEAR_OF_BOX_CELLS: f32 = 1.1;

/// What solids leave of the faces.
#[derive(Clone, Copy, Debug)]
pub struct OpenFaces<'a> {
    /// Open part of every face, 0 to 1.
    pub area: &'a FaceField,
    /// The solids' distance at the nodes; empty without solids.
    pub phi_solid_node: &'a [f32],
    /// Sides of thin solids.
    pub sides: &'a Sides,
}

/// Volume of liquid that crosses every face in `dt_s`, in cells' volumes, positive along the axis.
///
/// `f = A u dt / dx * share`, share the liquid part of the slanting box that the face sweeps backwards along the
/// flow. The box's volume is exact, because u is the flux through the face; its centre lies on the path of the
/// face's centre at half the step, so that motion along the face is second order in dt. Boxes of neighbouring
/// faces leave no gap. A box longer than a cell is cut into pieces along its path. In each piece phi is the
/// quadric of the nearest cell's 19 neighbours; where it bends sharply, each octant of the piece is cut by the
/// trilinear interpolant. Of a face that a solid cuts, the share is that of the open part: at a slanting wall the
/// surface meets the face elsewhere than its open part, and what the whole face sweeps would be booked in cells
/// whose liquid phi moves otherwise. Ripples at the contact line grew from that difference.
///
/// What leaves a cell through a face enters its neighbour, so that the sum over cells changes by what crosses
/// the domain's boundary alone. Near thin solids a cell's phi is as it sees it (`sides`). Deep inside all shares are 1: what is left is the divergence of u.
/// Verified by tests/flux.rs.
pub fn liquid_flux(
    flux_face: &mut FaceField,
    phi: &[f32],
    u_face: &FaceField,
    open: &OpenFaces,
    grid: &UniformGrid,
    dt_s: f32,
    band_m: f32,
) {
    let cells = grid.cell_centers();
    let around = Seen { around: Neighbourhood { phi, cells: grid.cells }, cells, sides: open.sides };
    let per_dx = dt_s / grid.dx;
    let flow = Flow { u_face, grid, per_dx };
    let [x, y, z] = flux_face.components_mut();
    flux_along::<0>(x, &around, &flow, open, band_m);
    flux_along::<1>(y, &around, &flow, open, band_m);
    flux_along::<2>(z, &around, &flow, open, band_m);
}

impl OpenFaces<'_> {
    /// The solids' distance at a face's corners, in the order of [`open_prism_share`], negative on other sides of thin
    /// ones than that of the cells at it; `None` where no corner is open.
    fn corners(&self, grid: &UniformGrid, axis: Axis, at: [usize; 3]) -> Option<[f64; 4]> {
        if self.phi_solid_node.is_empty() {
            return None;
        }
        let (nodes, cells) = (grid.nodes(), grid.cell_centers());
        let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut own = LOW_CORNERS[axis];
        if !self.sides.is_empty() && at[axis] > 0 && at[axis] < cells.size[axis] {
            let high = cells.index(at[0], at[1], at[2]);
            let of = |cell: usize| self.sides.own_corners[cell];
            own = shared_corners(of(high), of(high - cells.stride(axis)), axis, false);
        }
        let node = nodes.index(at[0], at[1], at[2]);
        let corners = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(a, b)| {
            let phi = self.phi_solid_node[node + a * nodes.stride(s) + b * nodes.stride(t)];
            f64::from(if own >> (a << s | b << t) & 1 == 1 { phi } else { -phi.abs() })
        });
        corners.iter().any(|phi| *phi > 0.0).then_some(corners)
    }
}

/// The flow that carries liquid: `per_dx` is dt / dx.
struct Flow<'a> {
    u_face: &'a FaceField,
    grid: &'a UniformGrid,
    per_dx: f32,
}

/// phi, and what cells see of it.
struct Seen<'a> {
    around: Neighbourhood<'a>,
    cells: Lattice,
    sides: &'a Sides,
}

/// The faces of one axis, which is known where the loop is compiled: vectors are indexed by it throughout.
fn flux_along<const AXIS: Axis>(flux: &mut [f32], seen: &Seen, flow: &Flow, open: &OpenFaces, band_m: f32) {
    let Seen { around: Neighbourhood { phi, .. }, cells, .. } = seen;
    let (faces, stride) = (flow.grid.faces(AXIS), cells.stride(AXIS));
    let (u, area) = (flow.u_face[AXIS].as_slice(), open.area[AXIS].as_slice());
    faces.for_each_mut(flux, |face, at, flux| {
        let travel = u[face] * flow.per_dx;
        let swept = travel * area[face];
        if swept == 0.0 {
            *flux = 0.0;
            return;
        }
        let mut beside = at;
        beside[AXIS] = at[AXIS].min(cells.size[AXIS] - 1);
        let high = cells.index(beside[0], beside[1], beside[2]);
        let is_wall = at[AXIS] == 0 || at[AXIS] == cells.size[AXIS];
        let low = if is_wall { high } else { high - stride };
        let from = if travel > 0.0 { phi[low] } else { phi[high] };
        *flux = if from >= band_m {
            0.0
        } else if from <= -band_m {
            swept
        } else {
            let solid = if area[face] < 1.0 { open.corners(flow.grid, AXIS, at) } else { None };
            swept * swept_share::<AXIS>(seen, flow, at, 0.5 * (phi[low] + phi[high]), solid)
        };
    });
}

/// Liquid share of what a face sweeps: `phi_face` is the distance at its centre, `solid` the solids' distance at its
/// corners where they cut it.
fn swept_share<const AXIS: Axis>(
    seen: &Seen,
    flow: &Flow,
    at: [usize; 3],
    phi_face: f32,
    solid: Option<[f64; 4]>,
) -> f32 {
    let Flow { u_face, grid, per_dx } = *flow;
    let u = velocity_at_face::<AXIS>(u_face, grid, at);
    let reach_m = (u.length() * per_dx * 1.5 + CLEAR_OF_BOX_CELLS) * grid.dx;
    if phi_face.abs() > reach_m {
        return (phi_face < 0.0) as u8 as f32;
    }
    let length = (u[AXIS] * per_dx).abs();
    let pieces = length.ceil().max(1.0) as usize;
    let dt = per_dx / pieces as f32;
    let (along, mut edges) = (u[AXIS] * dt, [Vec3::X, Vec3::Y, Vec3::Z]);
    // In cells from the first cell's centre.
    let mut x = Vec3::from_array(at.map(|v| v as f32));
    x[AXIS] -= 0.5;
    let (mut u, mut sum) = (u, 0.0);
    for piece in 1..=pieces {
        // The box's centre is where the face's centre was half a piece ago; the next one starts a whole one ago.
        let middle = x - 0.5 * dt * u;
        edges[AXIS] = dt * u;
        edges[AXIS][AXIS] = along;
        sum += share_at(seen, grid.dx, middle, edges, solid.map(|corners| (AXIS, corners)));
        if piece < pieces {
            let at = |x: Vec3| grid.sample_velocity(u_face, grid.min + grid.dx * (x + 0.5));
            x -= dt * at(middle);
            u = at(x);
        }
    }
    (sum / pieces as f64) as f32
}

/// Velocity at a face's centre: its own component, and the means of the four nearest of the others.
#[inline]
fn velocity_at_face<const AXIS: Axis>(u_face: &FaceField, grid: &UniformGrid, at: [usize; 3]) -> Vec3 {
    let mut u = Vec3::ZERO;
    let (mut below, mut above) = (at, at);
    below[AXIS] = at[AXIS].saturating_sub(1);
    above[AXIS] = at[AXIS].min(grid.cells[AXIS] - 1);
    for other in AXES {
        let faces = grid.faces(other);
        let values = u_face[other].as_slice();
        if other == AXIS {
            u[other] = values[faces.index(at[0], at[1], at[2])];
            continue;
        }
        let a = faces.index(below[0], below[1], below[2]);
        let b = faces.index(above[0], above[1], above[2]);
        let stride = faces.stride(other);
        u[other] = 0.25 * ((values[a] + values[a + stride]) + (values[b] + values[b + stride]));
    }
    u
}

/// Liquid share of a slanting box around a point, both in cells, the point from the first cell's centre; of what a solid
/// leaves of it, whose distance at the corners across an axis is given.
fn share_at(seen: &Seen, dx: f32, x: Vec3, edges: [Vec3; 3], solid: Option<(Axis, [f64; 4])>) -> f64 {
    let Seen { around, cells, sides } = seen;
    let at: [usize; 3] = std::array::from_fn(|a| (x[a].round().max(0.0) as usize).min(cells.size[a] - 1));
    if !sides.is_near(cells.index(at[0], at[1], at[2])) {
        return share_among(around, dx, x, edges, solid);
    }
    let patch = Patch::new(|cell| around.phi[cell], cells, sides, at, 2);
    let low = |a: usize| (at[a] - patch.center[a]) as f32;
    let around = Neighbourhood { phi: patch.values(), cells: patch.lattice.size };
    share_among(&around, dx, x - Vec3::new(low(0), low(1), low(2)), edges, solid)
}

fn share_among(
    around: &Neighbourhood,
    dx: f32,
    x: Vec3,
    edges: [Vec3; 3],
    solid: Option<(Axis, [f64; 4])>,
) -> f64 {
    let cell: [isize; 3] =
        std::array::from_fn(|a| (x[a].round() as isize).clamp(0, around.cells[a] as isize - 1));
    let here = around.at(cell);
    let offset: [f64; 3] = std::array::from_fn(|a| (x[a] - cell[a] as f32) as f64);
    let half = 0.5 * edges.iter().map(|e| e.abs()).sum::<Vec3>().as_dvec3();
    let beyond = (half + DVec3::from_array(offset).abs()).length();
    if here.abs() > (beyond + 0.1) * dx as f64 {
        return (here < 0.0) as u8 as f64;
    }
    if let Some((axis, solid)) = solid {
        let [along, s, t] = [axis, (axis + 1) % 3, (axis + 2) % 3].map(|a| edges[a]);
        let phi = |a: f32, b: f32, c: f32| {
            trilinear(around, (x + a * along + b * s + c * t).as_dvec3().to_array()).0
        };
        let corners = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)];
        let liquid = [-0.5, 0.5].map(|a| (corners.map(|(b, c)| phi(a, b, c)), phi(a, 0.0, 0.0)));
        return open_prism_share(liquid, solid);
    }
    let quadric = Quadric::at(around, cell);
    let sharpest = quadric.bend.iter().fold(0.0f64, |most, b| most.max(b.abs()));
    if sharpest < SHARPEST_BEND_CELLS * dx as f64 {
        return quadric.share(offset, edges.map(|e| e.as_dvec3()));
    }
    let mut sum = 0.0;
    for octant in 0..8 {
        let side = |a: usize| if octant >> a & 1 == 1 { 0.25 } else { -0.25 };
        let at = x + (side(0) * edges[0] + side(1) * edges[1] + side(2) * edges[2]);
        let (value, slope) = trilinear(around, at.as_dvec3().to_array());
        sum += cube_below_plane(value, edges.map(|e| 0.5 * e.as_dvec3().dot(DVec3::from_array(slope))));
    }
    sum / 8.0
}

/// The second-order Taylor polynomial of phi at a cell's centre, lengths in cells.
struct Quadric {
    value: f64,
    slope: [f64; 3],
    bend: [f64; 3],
    /// Mixed second derivatives: xy, yz, zx.
    twist: [f64; 3],
}

impl Quadric {
    fn at(around: &Neighbourhood, c: [isize; 3]) -> Self {
        let [nx, ny, _] = around.cells.map(|n| n as isize);
        let is_inner = (0..3).all(|a| c[a] > 0 && c[a] + 1 < around.cells[a] as isize);
        if !is_inner {
            return Self::through(|d| around.at([c[0] + d[0], c[1] + d[1], c[2] + d[2]]));
        }
        // Cells with neighbours on all sides need no look at the walls.
        let (cell, farthest) = (c[0] + nx * (c[1] + ny * c[2]), 1 + nx * (1 + ny));
        let near = &around.phi[(cell - farthest) as usize..(cell + farthest + 1) as usize];
        Self::through(|d| f64::from(near[(farthest + d[0] + nx * (d[1] + ny * d[2])) as usize]))
    }

    /// The polynomial of 19 values, each given by its offset.
    #[inline(always)]
    fn through(phi: impl Fn([isize; 3]) -> f64) -> Self {
        let value = phi([0; 3]);
        let (mut slope, mut bend, mut twist) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let b = (a + 1) % 3;
            let at = |s: isize, t: isize| {
                let mut d = [0; 3];
                (d[a], d[b]) = (s, t);
                phi(d)
            };
            let (low, high) = (at(-1, 0), at(1, 0));
            slope[a] = 0.5 * (high - low);
            bend[a] = (low + high) - 2.0 * value;
            twist[a] = 0.25 * ((at(1, 1) + at(-1, -1)) - (at(1, -1) + at(-1, 1)));
        }
        Quadric { value, slope, bend, twist }
    }

    /// Liquid share of a box: the plane of the polynomial's mean and of its slope at the centre.
    fn share(&self, d: [f64; 3], edges: [DVec3; 3]) -> f64 {
        let Quadric { mut value, slope, bend, twist } = *self;
        let mut there = [0.0; 3];
        for a in 0..3 {
            let (b, c) = ((a + 1) % 3, (a + 2) % 3);
            value += d[a] * (slope[a] + 0.5 * bend[a] * d[a] + twist[a] * d[b]);
            value += edges.iter().map(|e| bend[a] * e[a] * e[a] + 2.0 * twist[a] * e[a] * e[b]).sum::<f64>()
                / 24.0;
            there[a] = slope[a] + bend[a] * d[a] + twist[a] * d[b] + twist[c] * d[c];
        }
        cube_below_plane(value, edges.map(|e| e.dot(DVec3::from_array(there))))
    }
}

/// Value and slope of the trilinear interpolant at a point, in cells from the first cell's centre.
fn trilinear(around: &Neighbourhood, x: [f64; 3]) -> (f64, [f64; 3]) {
    let low: [isize; 3] =
        std::array::from_fn(|a| (x[a].floor() as isize).clamp(-1, around.cells[a] as isize - 1));
    let t: [f64; 3] = std::array::from_fn(|a| x[a] - low[a] as f64);
    let v: [f64; 8] =
        std::array::from_fn(|n| around.at(std::array::from_fn(|a| low[a] + (n >> a & 1) as isize)));
    let mix = |a: f64, b: f64, t: f64| (1.0 - t) * a + t * b;
    // Along x, then y, then z; slopes are differences along their own axis.
    let along_x: [f64; 4] = std::array::from_fn(|n| mix(v[2 * n], v[2 * n + 1], t[0]));
    let step_x: [f64; 4] = std::array::from_fn(|n| v[2 * n + 1] - v[2 * n]);
    let face = |f: [f64; 4]| mix(mix(f[0], f[1], t[1]), mix(f[2], f[3], t[1]), t[2]);
    let [low_z, high_z] = [mix(along_x[0], along_x[1], t[1]), mix(along_x[2], along_x[3], t[1])];
    let step_y = mix(along_x[1] - along_x[0], along_x[3] - along_x[2], t[2]);
    (mix(low_z, high_z, t[2]), [face(step_x), step_y, high_z - low_z])
}

/// What leaves a cell, in its volume: the sum of the fluxes through its faces, counted outwards.
#[inline]
pub fn outflow(flux_face: &FaceField, grid: &UniformGrid, [i, j, k]: [usize; 3]) -> f32 {
    let along = |axis: Axis| {
        let faces = grid.faces(axis);
        let low = faces.index(i, j, k);
        flux_face[axis][low + faces.stride(axis)] - flux_face[axis][low]
    };
    along(0) + along(1) + along(2)
}
