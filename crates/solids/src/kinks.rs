//! Openings of cells in which a solid is not one plane: at its edges and corners, where curvature is strong, and in walls
//! of about a cell, in which a node between two faces knows the distance to the nearer one only.
//!
//! Such a cell is measured on [`PARTS`]^3 parts with the solids' distance at their corners, and so are its faces. Of the parts,
//! those count that the corners of the cell's own side are joined to.
//! Verified by `edges_of_boxes_take_what_they_fill`, `walls_of_a_cell_are_as_thick_as_they_are`.

use crate::rasterize::ON_SURFACE_CELLS;
use crate::sides::signed_by_reach;
use crate::{PlacedSolids, open_cell_volume, open_face_area};
use fluvial_foundation::{AXES, Axis, Vec3};
use fluvial_grids::Lattice;

/// Parts along an edge of a cell.
const PARTS: usize = 4;
/// Their corners.
const SIDE: usize = PARTS + 1;
/// Distances at corners are those of a plane when they differ from one by less, in cells: a ball of three cells is one.
const PLANE: f32 = 0.1;
/// The slope of a distance is 1, but where a node in a wall is nearer to the wall's other face.
const SLOPE: f32 = 0.02;

/// Are the distances at the corners of a cell those of a plane?
pub fn is_plane(phi: &[f32; 8], dx: f32) -> bool {
    let mean = phi.iter().sum::<f32>() / 8.0;
    let slope =
        AXES.map(|axis| (0..8).map(|n| if n >> axis & 1 == 1 { phi[n] } else { -phi[n] }).sum::<f32>() / 4.0);
    let plane = |n: usize| mean + AXES.map(|a| slope[a] * ((n >> a & 1) as f32 - 0.5)).iter().sum::<f32>();
    let length = Vec3::from_array(slope).length();
    (length - dx).abs() < SLOPE * dx && (0..8).all(|n| (phi[n] - plane(n)).abs() < PLANE * dx)
}

/// A cell, or the lower side of one along an axis.
#[derive(Clone, Copy, Debug)]
pub struct KinkedCell<'a> {
    /// The solids around.
    pub solids: &'a PlacedSolids<'a>,
    /// Its corner with the lowest coordinates, m.
    pub low: Vec3,
    /// Its edge, m.
    pub dx: f32,
    /// The solids' distance at its corners, x fastest, m.
    pub phi: [f32; 8],
}

/// The cell in parts: what is open at their corners, and which of them are joined.
#[derive(Clone, Debug)]
pub struct CellInParts<'a> {
    cell: KinkedCell<'a>,
    /// The solids' distance at the parts' corners, m.
    phi: [f32; SIDE * SIDE * SIDE],
    /// Corners outside the solids.
    open: u128,
    /// Per axis: corners from which an edge upwards meets no solid.
    free: [u128; 3],
}

/// Parts whose side is chosen: the whole cell, or one of its faces.
#[derive(Clone, Copy)]
enum Among {
    Cell,
    /// Axis, and the corners' place along it.
    Face(Axis, usize),
}

impl<'a> KinkedCell<'a> {
    /// The cell between nodes of a grid above one of them.
    pub(crate) fn new(solids: &'a PlacedSolids<'a>, nodes: &Lattice, at: [usize; 3], phi: [f32; 8]) -> Self {
        KinkedCell { solids, low: nodes.position(at[0], at[1], at[2]), dx: nodes.spacing, phi }
    }

    /// The whole cell, with all of its faces.
    pub fn in_parts(self) -> CellInParts<'a> {
        self.parts(Among::Cell)
    }

    /// The lower face along an axis alone.
    pub fn lower_face_in_parts(self, axis: Axis) -> CellInParts<'a> {
        self.parts(Among::Face(axis, 0))
    }

    fn parts(self, among: Among) -> CellInParts<'a> {
        let h = self.dx / PARTS as f32;
        let (mut phi, mut open) = ([0.0f32; SIDE * SIDE * SIDE], 0u128);
        among.for_each_corner(|n, sub| {
            phi[n] = if let Some(corner) = corner_of_cell(sub) {
                self.phi[corner]
            } else {
                // A corner h away narrows the search in meshes, and tells the sign where nothing lies between the two: the
                // one farthest from the surface is the likeliest to.
                let beside = |axis: Axis| {
                    let mut before = sub;
                    before[axis] -= 1;
                    before
                };
                let all = AXES.into_iter().filter(|&axis| sub[axis] > 0).map(beside);
                let farther =
                    |a: &[usize; 3], b: &[usize; 3]| phi[index(*a)].abs().total_cmp(&phi[index(*b)].abs());
                let before = all.max_by(farther).unwrap_or(sub);
                self.distance_from(self.place(sub), self.place(before), phi[index(before)])
            };
            open |= u128::from(phi[n] > 0.0) << n;
        });
        let mut free = [0u128; 3];
        among.for_each_corner(|n, sub| {
            for axis in AXES.into_iter().filter(|&a| sub[a] < PARTS && !among.is_across(a)) {
                let mut end = sub;
                end[axis] += 1;
                let other = index(end);
                if open >> n & open >> other & 1 == 1 {
                    let is_near = phi[n] + phi[other] <= (1.0 + 1e-3) * h;
                    let is_free = !is_near || !self.is_crossed(self.place(sub), self.place(end));
                    free[axis] |= u128::from(is_free) << n;
                }
            }
        });
        CellInParts { cell: self, phi, open, free }
    }

    /// Place of a corner of a part.
    fn place(&self, [x, y, z]: [usize; 3]) -> Vec3 {
        self.low + self.dx / PARTS as f32 * Vec3::new(x as f32, y as f32, z as f32)
    }

    fn distance_from(&self, x: Vec3, from: Vec3, known: f32) -> f32 {
        let distance = self.solids.distance_from(x, self.dx, from, known);
        if distance.abs() < ON_SURFACE_CELLS * self.dx { 0.0 } else { distance }
    }

    fn is_crossed(&self, a: Vec3, b: Vec3) -> bool {
        self.solids.is_crossed(a, b, ON_SURFACE_CELLS * self.dx)
    }
}

impl Among {
    fn is_across(self, axis: Axis) -> bool {
        matches!(self, Among::Face(flat, _) if flat == axis)
    }

    /// Visits all corners of the parts, those before another one along an axis first.
    fn for_each_corner(self, mut body: impl FnMut(usize, [usize; 3])) {
        let range = |a: Axis| match self {
            Among::Face(axis, at) if axis == a => at..=at,
            _ => 0..=PARTS,
        };
        for z in range(2) {
            for y in range(1) {
                for x in range(0) {
                    body(index([x, y, z]), [x, y, z]);
                }
            }
        }
    }
}

impl CellInParts<'_> {
    /// Open part of the cell on the side of some of its open corners.
    pub fn open_volume(&self, corners: u8) -> f32 {
        let joined = self.joined(Among::Cell, corners);
        let mut sum = 0.0;
        for n in 0..PARTS * PARTS * PARTS {
            let low = [n % PARTS, n / PARTS % PARTS, n / (PARTS * PARTS)];
            sum += match self.seen(joined, low, None) {
                Ok(open) => open,
                Err(phi) => open_cell_volume(phi),
            };
        }
        sum / (PARTS * PARTS * PARTS) as f32
    }

    /// Open part of a face, on the side of some of the cell's open corners.
    pub fn open_area(&self, axis: Axis, up: bool, corners: u8) -> f32 {
        let at = if up { PARTS } else { 0 };
        let joined = self.joined(Among::Face(axis, at), corners);
        let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut sum = 0.0;
        for n in 0..PARTS * PARTS {
            let mut low = [at; 3];
            (low[s], low[t]) = (n % PARTS, n / PARTS);
            sum += match self.seen(joined, low, Some(axis)) {
                Ok(open) => open,
                Err(phi) => open_face_area([0, 1 << s, 1 << t, 1 << s | 1 << t].map(|c| phi[c])),
            };
        }
        sum / (PARTS * PARTS) as f32
    }

    /// The parts' corners that some of the cell's own are joined to.
    fn joined(&self, among: Among, corners: u8) -> u128 {
        let mut all = 0u128;
        let mut joined = 0u128;
        among.for_each_corner(|n, sub| {
            all |= 1 << n;
            if let Some(corner) = corner_of_cell(sub) {
                joined |= u128::from(corners >> corner & 1) << n;
            }
        });
        joined &= self.open;
        loop {
            let mut grown = joined;
            for axis in AXES.into_iter().filter(|&a| !among.is_across(a)) {
                let (stride, free) = (SIDE.pow(axis as u32), self.free[axis] & all);
                grown |= (grown & free) << stride;
                grown |= grown >> stride & free;
            }
            if grown == joined {
                return joined;
            }
            joined = grown;
        }
    }

    /// Distances at the corners of a part as the chosen side sees them; what is open of it where they all are on one side.
    fn seen(&self, joined: u128, low: [usize; 3], flat: Option<Axis>) -> Result<f32, [f32; 8]> {
        let exists = |n: usize| flat.is_none_or(|axis| n >> axis & 1 == 0);
        let corner = |n: usize| -> [usize; 3] { std::array::from_fn(|a| low[a] + (n >> a & 1)) };
        let (mut own, mut count, mut phi) = (0u8, 0, [-1.0; 8]);
        for n in (0..8).filter(|&n| exists(n)) {
            let m = index(corner(n));
            phi[n] = self.phi[m];
            own |= ((joined >> m & 1) as u8) << n;
            count += 1;
        }
        if own == 0 || own.count_ones() == count {
            return Ok(if own == 0 { 0.0 } else { 1.0 });
        }
        let h = self.cell.dx / PARTS as f32;
        let reach = |n: usize, axis: Axis| {
            let toward = if n >> axis & 1 == 1 { -Vec3::AXES[axis] } else { Vec3::AXES[axis] };
            self.cell.solids.reach_m(self.cell.place(corner(n)), phi[n], toward, h) / h
        };
        // Four corners do not tell whether the solid is a plane.
        let in_solid_too = flat.is_some() || !is_plane(&phi, h);
        Err(signed_by_reach(&phi, own, in_solid_too, reach))
    }
}

/// Which of the cell's own corners a corner of a part is, if it is one.
fn corner_of_cell(sub: [usize; 3]) -> Option<usize> {
    let is_one = sub.iter().all(|s| s % PARTS == 0);
    is_one.then(|| AXES.iter().map(|&a| (sub[a] / PARTS) << a).sum())
}

/// Number of a corner of a part.
fn index([x, y, z]: [usize; 3]) -> usize {
    x + SIDE * (y + SIDE * z)
}
