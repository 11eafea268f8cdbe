//! Velocity at any point of the box, continuous across transitions.
//!
//! Inside a leaf without smaller neighbours velocity is trilinear between its eight nodes. A leaf with smaller neighbours
//! has hanging nodes on some of its sides and edges; it is taken for its eight children, whose corners are the
//! hanging nodes where these exist. Elsewhere the middle of an edge is the mean of its ends, and the middle of a
//! side the mean of the middles of its four edges. What lies on a side follows from the side alone, so that both
//! leaves beside it see the same: the field is continuous. It is exact for linear fields because nodes are, and second
//! order. (The paper interpolates in the tetrahedra between leaves' centres; nodes need no table of those, and no
//! tie-breaking where centres are cospherical.) Verified by `tests/flow.rs`.
//!
//! Velocities of nodes are means of means: a jet that gravity draws out contracts by a sixth too little in that field, and grows.
//! What carries the surface is therefore interpolated [per axis](Flow::per_axis) away from transitions, as in the paper (§5): every component is linear
//! between the faces that it is the normal velocity of, so that the field has the divergence that the pressure solve left.

use crate::channels::{CENTER_VELOCITY, FACE_VELOCITY, NODE_VELOCITY};
use crate::neighbourhood::Code;
use crate::view::{Place, View, value_in};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::pyramid::NEIGHBOURS;
use wide::f32x4;

/// The velocity between nodes, or between faces.
#[derive(Clone, Copy)]
pub struct Flow<'a> {
    view: View<'a>,
    min: Vec3,
    max: Vec3,
    /// Half the smallest leaves' edge, m, and its reciprocal: no cube is smaller.
    half: f32,
    per_half: f32,
    is_per_axis: bool,
}

/// A cube in which velocity is trilinear, with the velocities of its corners.
#[derive(Clone, Copy, Debug)]
struct Cube {
    low: Vec3,
    per_size: f32,
    corners: [f32x4; 8],
}

/// Cubes that were asked before: back-traces stay near each other for long. A cube is found again by the smallest one that holds the point.
pub struct Cubes<const CUBES: usize> {
    keys: [u64; CUBES],
    cubes: [Cube; CUBES],
    last: usize,
}

/// For one point after another.
pub type Cursor = Cubes<1>;
/// For points all over a few pages: the place is given by the lowest bits along each axis, so that no two cubes of a region of
/// eight by eight by four drive each other out.
pub type Cursors = Cubes<256>;

/// No cube.
const NO_KEY: u64 = u64::MAX;

impl<const CUBES: usize> Default for Cubes<CUBES> {
    fn default() -> Self {
        let none = Cube { low: Vec3::ZERO, per_size: 0.0, corners: [f32x4::ZERO; 8] };
        Cubes { keys: [NO_KEY; CUBES], cubes: [none; CUBES], last: 0 }
    }
}

impl<const CUBES: usize> Cubes<CUBES> {
    /// Least and largest component along a direction at the corners of the cube that was asked last.
    pub fn range(&self, direction: Vec3) -> (f32, f32) {
        let along = self.cubes[self.last].corners.map(|v| vector(v).dot(direction));
        (along.into_iter().fold(f32::INFINITY, f32::min), along.into_iter().fold(f32::NEG_INFINITY, f32::max))
    }
}

#[inline(always)]
fn vector(v: f32x4) -> Vec3 {
    let [x, y, z, _] = v.to_array();
    Vec3::new(x, y, z)
}

#[inline(always)]
fn lanes(v: Vec3) -> f32x4 {
    f32x4::from([v.x, v.y, v.z, 0.0])
}

impl<'a> Flow<'a> {
    /// The flow of a pyramid whose nodes are known.
    pub fn new(view: View<'a>) -> Self {
        let shape = view.pyramid.shape();
        let (bounds, half) = (shape.bounds(), 0.5 * shape.dx);
        Flow { view, min: bounds.min, max: bounds.max, half, per_half: 1.0 / half, is_per_axis: false }
    }

    /// The same, per axis where all leaves around are of one size: trilinear in each component between the centres of the
    /// faces that it belongs to.
    pub fn per_axis(view: View<'a>) -> Self {
        Flow { is_per_axis: true, ..Flow::new(view) }
    }

    /// What it reads.
    pub fn view(&self) -> View<'a> {
        self.view
    }

    /// The nearest point of the box.
    #[inline]
    pub fn clamp(&self, x: Vec3) -> Vec3 {
        x.clamp(self.min, self.max)
    }

    /// Velocity at a point, m/s; beyond the box that of its nearest point.
    #[inline]
    pub fn velocity<const CUBES: usize>(&self, cursor: &mut Cubes<CUBES>, x: Vec3) -> Vec3 {
        let x = self.clamp(x);
        let at = (x - self.min) * self.per_half;
        let [i, j, k] = [at.x as u32, at.y as u32, at.z as u32];
        let key = u64::from(i) | u64::from(j) << 21 | u64::from(k) << 42;
        let slot = ((i & 7) | (j & 7) << 3 | (k & 3) << 6) as usize % CUBES;
        if cursor.keys[slot] != key {
            let middle = self.half * Vec3::new(i as f32 + 0.5, j as f32 + 0.5, k as f32 + 0.5);
            cursor.cubes[slot] = self.load(self.clamp(self.min + middle));
            cursor.keys[slot] = key;
        }
        cursor.last = slot;
        let cube = &cursor.cubes[slot];
        let t = ((x - cube.low) * cube.per_size).clamp(Vec3::ZERO, Vec3::ONE);
        vector(trilinear(&cube.corners, t))
    }

    /// Where liquid at `x` was `dt_s` ago, by `steps` steps of the midpoint rule [power §5].
    #[inline]
    pub fn trace_back<const CUBES: usize>(
        &self,
        cursor: &mut Cubes<CUBES>,
        x: Vec3,
        dt_s: f32,
        steps: u32,
    ) -> Vec3 {
        let here = self.velocity(cursor, x);
        self.trace_back_from(cursor, (x, here), dt_s, steps)
    }

    /// The same from a point whose velocity is known.
    #[inline]
    pub fn trace_back_from<const CUBES: usize>(
        &self,
        cursor: &mut Cubes<CUBES>,
        (x, here): (Vec3, Vec3),
        dt_s: f32,
        steps: u32,
    ) -> Vec3 {
        let dt = dt_s / steps as f32;
        let (mut at, mut v) = (x, here);
        for step in 1..=steps {
            let middle = at - 0.5 * dt * v;
            at = self.clamp(at - dt * self.velocity(cursor, middle));
            if step < steps {
                v = self.velocity(cursor, at);
            }
        }
        at
    }

    /// The cube that holds a point.
    fn load(&self, x: Vec3) -> Cube {
        let leaf = self.view.locate(x);
        let level = self.view.level(leaf.level);
        let at = level.grid.layout().decode(leaf.cell);
        let low = self.min + level.dx * Vec3::from_array(at.map(|v| v as f32));
        let code = self.view.code(leaf).expect("located");
        if self.is_per_axis && code == Code::UNIFORM {
            let child = AXES.map(|a| usize::from(x[a] >= low[a] + 0.5 * level.dx));
            if let Some(corners) = self.between_faces(leaf, at, child) {
                let low = low + 0.5 * level.dx * Vec3::from_array(child.map(|v| v as f32));
                return Cube { low, per_size: 2.0 / level.dx, corners: corners.map(lanes) };
            }
        }
        if code == Code::UNIFORM || code.has_larger() {
            let corners = std::array::from_fn(|n| lanes(self.corner(leaf, n)));
            return Cube { low, per_size: 1.0 / level.dx, corners };
        }
        let half = 0.5 * level.dx;
        let child = AXES.map(|a| u32::from(x[a] >= low[a] + half));
        let corners = std::array::from_fn(|n| {
            lanes(self.sub_node(leaf, code, AXES.map(|a| child[a] + (n as u32 >> a & 1))))
        });
        let low = low + half * Vec3::from_array(child.map(|v| v as f32));
        Cube { low, per_size: 1.0 / half, corners }
    }

    /// Velocity at the corners of an octant of a leaf, per axis; None where the leaf beyond the octant's corner has another
    /// size. In an octant every component is trilinear, so that its corners determine it. Beyond walls the leaves go on as
    /// their mirror images.
    fn between_faces(&self, leaf: Place, at: [u32; 3], child: [usize; 3]) -> Option<[Vec3; 8]> {
        let grid = &self.view.level(leaf.level).grid;
        let layout = grid.layout();
        let beside = AXES.map(|a| {
            let next = i64::from(at[a]) + 2 * child[a] as i64 - 1;
            next.clamp(0, i64::from(layout.cells()[a]) - 1) - i64::from(at[a])
        });
        // Of the leaf's own coordinate, the next one, and the one beside the octant.
        let codes = AXES.map(|a| [0, 1, beside[a]].map(|n| layout.along(a, i64::from(at[a]) + n)));
        let cell = |place: [usize; 3]| codes[0][place[0]] | codes[1][place[1]] | codes[2][place[2]];
        self.view.code(Place { cell: cell([2; 3]), ..leaf })?;
        let mut corners = [Vec3::ZERO; 8];
        for axis in AXES {
            // The faces on both sides along the axis; the leaf's own row and the one beside it along the others.
            let mut value: [f32; 8] = std::array::from_fn(|n| {
                let place = |a: usize| match (a == axis, n >> a & 1) {
                    (true, high) => high,
                    (false, low) => 2 * low,
                };
                value_in(grid, FACE_VELOCITY[axis], cell(AXES.map(place)))
            });
            for a in AXES {
                for n in (0..8).filter(|n| n >> a & 1 == 0) {
                    let (first, second) = (value[n], value[n | 1 << a]);
                    let middle = 0.5 * (first + second);
                    (value[n], value[n | 1 << a]) = match (a == axis, child[a]) {
                        (true, 0) => (first, middle),
                        (true, _) => (middle, second),
                        (false, 0) => (middle, first),
                        (false, _) => (first, middle),
                    };
                }
            }
            corners.iter_mut().zip(value).for_each(|(corner, value)| corner[axis] = value);
        }
        Some(corners)
    }

    /// Velocity at a corner of a leaf.
    fn corner(&self, leaf: Place, n: usize) -> Vec3 {
        let layout = self.view.level(leaf.level).grid.layout();
        let step = layout.encode([0, 1, 2].map(|a| (n >> a & 1) as i64));
        self.view.vector(Place { cell: layout.add(leaf.cell, step), ..leaf }, NODE_VELOCITY)
    }

    /// Velocity at a node of a leaf's children, of which 0 to 2 stand along each axis.
    fn sub_node(&self, leaf: Place, code: Code, at: [u32; 3]) -> Vec3 {
        let along = |a: usize| at[a] == 1;
        match AXES.iter().filter(|&&a| along(a)).count() {
            0 => self.corner(leaf, AXES.iter().fold(0, |n, &a| n | ((at[a] / 2) as usize) << a)),
            1 => self.edge_middle(leaf, code, at),
            2 => {
                let normal = AXES.into_iter().find(|&a| !along(a)).expect("one axis is left");
                let side = 2 * normal + (at[normal] / 2) as usize;
                if code.is_smaller(side) {
                    return self.hanging(leaf, at);
                }
                let (b, c) = ((normal + 1) % 3, (normal + 2) % 3);
                let mut sum = Vec3::ZERO;
                for (axis, value) in [(b, 0), (b, 2), (c, 0), (c, 2)] {
                    let mut edge = at;
                    edge[axis] = value;
                    sum += self.edge_middle(leaf, code, edge);
                }
                0.25 * sum
            }
            _ => self.view.vector(leaf, CENTER_VELOCITY),
        }
    }

    /// The middle of an edge: a node where a leaf beside the edge is smaller, else the mean of its ends.
    fn edge_middle(&self, leaf: Place, code: Code, at: [u32; 3]) -> Vec3 {
        let axis = AXES.into_iter().find(|&a| at[a] == 1).expect("the edge's axis");
        let sign = |a: usize| at[a] as i8 - 1;
        let touches = |k: usize| {
            let offset = NEIGHBOURS[k];
            offset[axis] == 0 && AXES.iter().all(|&a| offset[a] == 0 || offset[a] == sign(a))
        };
        if (0..18).any(|k| touches(k) && code.is_smaller(k)) {
            return self.hanging(leaf, at);
        }
        let end = |value: u32| {
            AXES.iter().fold(0, |n, &a| n | ((if a == axis { value } else { at[a] } / 2) as usize) << a)
        };
        0.5 * (self.corner(leaf, end(0)) + self.corner(leaf, end(2)))
    }

    fn hanging(&self, leaf: Place, at: [u32; 3]) -> Vec3 {
        let low = self.view.level(leaf.level).grid.layout().decode(leaf.cell);
        let fine = self.view.level(leaf.level - 1).grid.layout();
        let cell = fine.encode(AXES.map(|a| i64::from(2 * low[a] + at[a])));
        self.view.vector(Place { level: leaf.level - 1, cell }, NODE_VELOCITY)
    }
}

/// Linear along each axis between the corners of a cube.
#[inline(always)]
fn trilinear(corners: &[f32x4; 8], t: Vec3) -> f32x4 {
    let [tx, ty, tz] = [t.x, t.y, t.z].map(f32x4::splat);
    let along_x = |n: usize| corners[n] + tx * (corners[n + 1] - corners[n]);
    let (low, high) =
        (along_x(0) + ty * (along_x(2) - along_x(0)), along_x(4) + ty * (along_x(6) - along_x(4)));
    low + tz * (high - low)
}
