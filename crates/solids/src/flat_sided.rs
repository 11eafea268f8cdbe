//! Openings of cells at the edges and corners of a box, in closed form.
//!
//! In such a cell the solid is the part that lies inside at most three planes at right angles to each other. What it closes of a face
//! is a polygon, the face cut by each plane in turn. The outward areas of all sides of a closed body sum to zero, so that
//! with the closed parts a_f of the cell's faces, `n_f` their outward normals, the solid's own side k has the area
//! `A_k = -n_k . sum a_f n_f`; and its volume is `(sum a_f d_f + sum A_k d_k) / 3`, d the distances of the sides' planes from
//! any point. Exact, and a twentieth of the work of measuring the cell in parts ([`crate::KinkedCell`]).
//! Verified by `boxes_close_what_parts_of_cells_say`, `edges_of_boxes_take_what_they_fill`.

use crate::rasterize::ON_SURFACE_CELLS;
use crate::{Placed, Shape};
use fluvial_foundation::{AXES, Axis, Vec3};

/// A box is measured so where it is at least so many cells thick: then no cell lies between two opposite sides of it.
const LEAST_CELLS: f32 = 2.0;

/// A box anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatSided {
    /// Directions of its edges, each of length 1.
    axes: [Vec3; 3],
    center: Vec3,
    /// Half of its edges, metres.
    half: Vec3,
}

/// What a solid leaves open of a cell and its faces, 0 to 1; faces x low, x high, y low, y high, z low, z high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open {
    /// Of the cell.
    pub volume: f32,
    /// Of its faces.
    pub areas: [f32; 6],
}

impl Open {
    /// Everything.
    pub const ALL: Open = Open { volume: 1.0, areas: [1.0; 6] };

    /// What is left by two solids that have nothing in common.
    pub(crate) fn beside(self, other: Open) -> Open {
        let both = |a: f32, b: f32| (a + b - 1.0).max(0.0);
        Open {
            volume: both(self.volume, other.volume),
            areas: std::array::from_fn(|n| both(self.areas[n], other.areas[n])),
        }
    }
}

/// Inside is where `normal . x <= offset`, x in cells from the low corner of a cell.
#[derive(Clone, Copy, Debug)]
struct Side {
    normal: Vec3,
    offset: f32,
}

impl Side {
    /// How far a point is outside, in cells; nearly on the side is on it, as at nodes.
    #[inline]
    fn beyond(&self, x: Vec3) -> f32 {
        let distance = self.normal.dot(x) - self.offset;
        if distance.abs() < ON_SURFACE_CELLS { 0.0 } else { distance }
    }
}

impl FlatSided {
    /// A solid as a box, if it is one.
    pub fn of(solid: &Placed) -> Option<FlatSided> {
        let (mut shape, mut rotation, mut scale, mut translate) =
            (solid.shape, solid.pose.rotation, 1.0, solid.pose.translate);
        while let Shape::Transform { shape: inner, scale: by, rotation: turn, translate: shift } = shape {
            translate += rotation * (scale * *shift);
            (shape, rotation, scale) = (inner, rotation * *turn, scale * by);
        }
        let Shape::Box { min, max } = shape else { return None };
        let half = 0.5 * scale * (*max - *min);
        Some(FlatSided {
            axes: Vec3::AXES.map(|axis| rotation * axis),
            center: translate + rotation * (0.5 * scale * (*min + *max)),
            half,
        })
    }

    /// Is it thick enough for cells of edge `dx`?
    pub fn is_thick(&self, dx: f32) -> bool {
        2.0 * self.half.min_element() >= LEAST_CELLS * dx
    }

    /// Does a plane along one of the sides of either lie between two boxes, or less than `most_m` deep in one of them? What is left of a
    /// cell is then what is left beside both, to `most_m` of its faces.
    pub fn is_apart(&self, other: &FlatSided, most_m: f32) -> bool {
        let between = other.center - self.center;
        let reach = |solid: &FlatSided, along: Vec3| {
            AXES.into_iter().map(|a| solid.half[a] * solid.axes[a].dot(along).abs()).sum::<f32>()
        };
        let is_plane_between =
            |along: Vec3| between.dot(along).abs() + most_m >= reach(self, along) + reach(other, along);
        self.axes.into_iter().chain(other.axes).any(is_plane_between)
    }

    /// What it leaves of the cell of edge `dx` above `low`.
    pub fn open_part(&self, low: Vec3, dx: f32) -> Open {
        let (mut sides, mut count) = ([Side { normal: Vec3::ZERO, offset: 0.0 }; 3], 0);
        let from_low = (self.center - low) / dx;
        for axis in AXES {
            // Of two opposite sides the nearer one to the cell.
            let along = self.axes[axis].dot(Vec3::splat(0.5) - from_low);
            let normal = if along < 0.0 { -self.axes[axis] } else { self.axes[axis] };
            let side = Side { normal, offset: normal.dot(from_low) + self.half[axis] / dx };
            let reach = 0.5 * normal.abs().element_sum();
            let middle = normal.dot(Vec3::splat(0.5)) - side.offset;
            if middle - reach >= 0.0 {
                return Open::ALL;
            }
            if middle + reach > 0.0 {
                (sides[count], count) = (side, count + 1);
            }
        }
        let sides = &sides[..count];
        let closed: [f32; 6] = std::array::from_fn(|face| closed_area(face / 2, face % 2 == 1, sides));
        let sum = Vec3::from_array(AXES.map(|a| closed[2 * a + 1] - closed[2 * a]));
        let own = |side: &Side| -side.normal.dot(sum) * side.offset;
        let volume = (closed[1] + closed[3] + closed[5] + sides.iter().map(own).sum::<f32>()) / 3.0;
        Open { volume: 1.0 - volume.clamp(0.0, 1.0), areas: closed.map(|area| 1.0 - area) }
    }
}

/// Corners of a face that is cut three times, at most.
const CORNERS: usize = 8;

/// Part of a face of the unit cell inside all sides.
fn closed_area(axis: Axis, up: bool, sides: &[Side]) -> f32 {
    let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
    let corner = |a: f32, b: f32| {
        let mut x = Vec3::ZERO;
        (x[axis], x[s], x[t]) = (up as usize as f32, a, b);
        x
    };
    let (mut polygon, mut count) = ([Vec3::ZERO; CORNERS], 4);
    polygon[..4].copy_from_slice(&[corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)]);
    for side in sides {
        let (mut cut, mut kept) = ([Vec3::ZERO; CORNERS], 0);
        let mut keep = |x: Vec3| {
            if kept < CORNERS {
                (cut[kept], kept) = (x, kept + 1);
            }
        };
        for n in 0..count {
            let (a, b) = (polygon[n], polygon[(n + 1) % count]);
            let (at_a, at_b) = (side.beyond(a), side.beyond(b));
            if at_a <= 0.0 {
                keep(a);
            }
            if (at_a <= 0.0) != (at_b <= 0.0) && at_a != 0.0 && at_b != 0.0 {
                keep(a + at_a / (at_a - at_b) * (b - a));
            }
        }
        (polygon, count) = (cut, kept);
    }
    let twice = |n: usize| {
        let (a, b) = (polygon[n], polygon[(n + 1) % count]);
        a[s] * b[t] - a[t] * b[s]
    };
    (0.5 * (0..count).map(twice).sum::<f32>()).clamp(0.0, 1.0)
}
