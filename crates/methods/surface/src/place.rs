//! Where the vertex of a loop sits in its cell.

use crate::cases::{Case, edge_corners};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Lattice;

/// A cell of the padded lattice: its box, its eight corner values and which axes end at a domain wall.
pub struct CellSamples {
    low: Vec3,
    high: Vec3,
    /// phi at the corners; beyond a wall the linear extrapolation to the wall plane.
    phi: [f32; 8],
    /// Side (0 low, 1 high) that is the domain wall, per axis.
    wall: [Option<usize>; 3],
}

/// Vertex flag: bit `2 axis + side` marks the walls that the vertex lies on.
pub type WallFlags = u8;
/// Vertex flag: the free surface meets a wall here.
pub const CONTACT: WallFlags = 1 << 6;

impl CellSamples {
    /// Gathers padded cell `cell`, which spans samples cell - 1 to cell. `value` gives phi at a sample.
    pub fn gather(lattice: &Lattice, cell: [usize; 3], value: impl Fn([usize; 3]) -> f32) -> CellSamples {
        let mut wall = [None; 3];
        let (mut low, mut high) = (Vec3::ZERO, Vec3::ZERO);
        for a in AXES {
            let at = |sample: f32| lattice.origin[a] + lattice.spacing * sample;
            let n = lattice.size[a];
            wall[a] = if cell[a] == 0 { Some(0) } else { (cell[a] == n).then_some(1) };
            low[a] = at(if cell[a] == 0 { -0.5 } else { cell[a] as f32 - 1.0 });
            high[a] = at(if cell[a] == n { n as f32 - 0.5 } else { cell[a] as f32 });
        }
        // Values far from the surface do not influence its position; clamping them keeps infinities out of the arithmetic.
        // NaN counts as air.
        let limit = 4.0 * lattice.spacing;
        let bounded = |s: [usize; 3]| value(s).min(limit).max(-limit);
        let phi = std::array::from_fn(|corner| {
            let mut sample = [0; 3];
            for a in AXES {
                sample[a] = (cell[a] + (corner >> a & 1)).clamp(1, lattice.size[a]) - 1;
            }
            let nearest = bounded(sample);
            let mut extrapolated = nearest;
            for a in AXES {
                if wall[a] == Some(corner >> a & 1) && lattice.size[a] > 1 {
                    let mut inner = sample;
                    inner[a] = if sample[a] == 0 { 1 } else { sample[a] - 1 };
                    extrapolated += 0.5 * (nearest - bounded(inner));
                }
            }
            extrapolated
        });
        CellSamples { low, high, phi, wall }
    }

    /// The vertex of loop `which`: the mean of its edge crossings, then projected onto the zero of the
    /// trilinear interpolant. On wall axes it lies on the wall plane; along the wall it follows the crossings
    /// of the free surface where the loop has some, so that contact lines stay sharp.
    pub fn vertex(&self, signs: usize, case: &Case, which: u8) -> (Vec3, WallFlags) {
        let mut flags = 0;
        for a in AXES {
            flags |= self.wall[a].map_or(0, |side| 1 << (2 * a + side));
        }
        let (mut sum, mut count) = (Vec3::ZERO, 0.0);
        let (mut cap_sum, mut cap_count) = (Vec3::ZERO, 0.0);
        for edge in 0..12 {
            let [p, q] = edge_corners(edge);
            if signs >> p & 1 == signs >> q & 1 || case.loop_of_edge[edge] != which {
                continue;
            }
            let axis = edge / 4;
            let mut at = self.corner(p);
            if self.wall[axis].is_some() {
                (cap_sum, cap_count) = (cap_sum + at, cap_count + 1.0);
            } else {
                let t = self.phi[p] / (self.phi[p] - self.phi[q]);
                at[axis] += t.clamp(0.0, 1.0) * (self.high[axis] - self.low[axis]);
                (sum, count) = (sum + at, count + 1.0);
            }
        }
        let mut x = if count > 0.0 { sum / count } else { cap_sum / cap_count };
        for a in AXES {
            if let Some(side) = self.wall[a] {
                x[a] = if side == 0 { self.low[a] } else { self.high[a] };
            }
        }
        // Where the cell holds another sheet, the interpolant's zero may belong to that one. A vertex on a wall is
        // moved only if the surface, extended to the wall, passes it.
        if case.loops == 1 && (count > 0.0 || self.interpolate(x).0 > 0.0) {
            x = self.project(self.project(x));
        }
        if flags != 0 && count > 0.0 {
            flags |= CONTACT;
        }
        (x, flags)
    }

    fn corner(&self, c: usize) -> Vec3 {
        let pick = |a: usize| if c >> a & 1 == 0 { self.low[a] } else { self.high[a] };
        Vec3::new(pick(0), pick(1), pick(2))
    }

    /// The trilinear interpolant and its gradient; outside the cell its continuation.
    fn interpolate(&self, x: Vec3) -> (f32, Vec3) {
        let size = self.high - self.low;
        let f = (x - self.low) / size;
        let c = &self.phi;
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let plane = |d: [f32; 4], s: f32, t: f32| lerp(lerp(d[0], d[1], s), lerp(d[2], d[3], s), t);
        let (near, far) = ([c[0], c[1], c[2], c[3]], [c[4], c[5], c[6], c[7]]);
        let gradient = Vec3::new(
            plane([c[1] - c[0], c[3] - c[2], c[5] - c[4], c[7] - c[6]], f.y, f.z),
            plane([c[2] - c[0], c[3] - c[1], c[6] - c[4], c[7] - c[5]], f.x, f.z),
            plane([c[4] - c[0], c[5] - c[1], c[6] - c[2], c[7] - c[3]], f.x, f.y),
        );
        (lerp(plane(near, f.x, f.y), plane(far, f.x, f.y), f.z), gradient / size)
    }

    /// One Newton step x - phi grad phi / |grad phi|^2 along the axes without wall. Kept in the cell, which
    /// keeps the mesh from folding; on a wall, half a cell from the samples that decided the cell's signs, a
    /// sloping surface may meet the wall beside the cell, so there it may leave by less than half a cell.
    fn project(&self, x: Vec3) -> Vec3 {
        let (value, mut gradient) = self.interpolate(x);
        let mut margin = 0.0;
        for a in AXES {
            if self.wall[a].is_some() {
                gradient[a] = 0.0;
                margin = 0.45;
            }
        }
        let squared = gradient.length_squared();
        if squared < 1e-12 {
            return x;
        }
        let size = self.high - self.low;
        let step = (-value / squared * gradient).clamp(-0.5 * size, 0.5 * size);
        (x + step).clamp(self.low - margin * size, self.high + margin * size)
    }
}
