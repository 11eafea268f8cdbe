//! Where the interface meets solids, and the plane as which it goes on beyond that line.

use crate::closest_point::{Foot, dot};
use crate::cubic::Jet;
use crate::shown::{is_shown_around, is_shown_beside};
use fluvial_foundation::{DMat3, DVec3};
use fluvial_grids::Lattice;

/// The plane is fitted to cells no farther than this from where it touches, along each axis.
const FIT_CELLS: isize = 2;
/// And to values no larger than this, in cells.
const LARGEST: f32 = 2.5;
/// Part of the trace that is added to the matrix of the fit: a line of cells says nothing of slopes across it.
const REGULARISATION: f64 = 1e-3;

/// Liquid whose surface faces a solid within 60 degrees comes up against it (the cosine).
const CLOSING: f32 = 0.5;

/// What solids leave to be seen.
#[derive(Clone, Copy)]
pub(crate) struct Walls<'a> {
    /// Cells that only cells of their own kind see; may be empty.
    pub opaque_cell: &'a [bool],
    pub phi: &'a [f32],
    pub phi_solid_node: &'a [f32],
    /// See [`find_shown`].
    pub shown: &'a [u8],
}

impl Walls<'_> {
    /// Does liquid come up against a solid? Its surface stays one as far as the centre of the cell that it comes to, inside the solid too: until
    /// the cell has become liquid the pressure needs its distance.
    fn closes_gap(&self, lattice: &Lattice, at: [usize; 3], out: [f32; 3]) -> bool {
        if self.phi_solid_node.is_empty() || self.shown[lattice.index(at[0], at[1], at[2])] == 0 {
            return false;
        }
        let [nx, ny, _] = lattice.size;
        let mut away = [0.0; 3];
        for n in 0..8 {
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + (n >> a & 1));
            let value = self.phi_solid_node[i + (nx + 1) * (j + (ny + 1) * k)];
            (0..3).for_each(|a| away[a] += if n >> a & 1 == 1 { value } else { -value });
        }
        dot(out, away) < -CLOSING * dot(away, away).sqrt()
    }

    /// Is a cell's foot on an interface that open parts of cells show, and not in a solid or beyond the line where the interface meets it?
    pub fn show(&self, lattice: &Lattice, c: [usize; 3], foot: Foot) -> bool {
        match foot.out() {
            Some(out) => {
                is_shown_beside(self.shown, lattice, c, foot.base, out)
                    || self.closes_gap(lattice, cell_at(lattice, c, foot.base), out)
            }
            None => is_shown_around(self.shown, lattice, cell_at(lattice, c, foot.point)),
        }
    }

    /// A neighbour's foot as cell `c` sees it, with a plane instead of its polynomial: fitted to the cells around whose own feet are shown.
    /// The interpolant's slope at the line is also made of cells beyond it, which have their values from such planes: noise of
    /// 1e-3 cells grew by a factor of two from call to call.
    pub fn before_line(&self, lattice: &Lattice, c: [usize; 3], mut foot: Foot) -> Foot {
        let Some(out) = foot.out() else { return foot };
        let Walls { phi, shown, .. } = *self;
        if !is_shown_beside(shown, lattice, c, foot.base, out) {
            return foot;
        }
        let Jet { value, gradient, .. } = foot.jet;
        let per_cell = 1.0 / lattice.spacing;
        let (mut weight, mut mean, mut mean_off) = (0.0, DVec3::ZERO, 0.0);
        let (mut m, mut b) = (DMat3::ZERO, DVec3::ZERO);
        let middle: [isize; 3] = std::array::from_fn(|a| (c[a] as f32 + foot.base[a]).round() as isize);
        let range = |a: usize| {
            (middle[a] - FIT_CELLS).max(0)..(middle[a] + FIT_CELLS + 1).min(lattice.size[a] as isize)
        };
        for (k, j) in range(2).flat_map(|k| range(1).map(move |j| (k, j))) {
            for i in range(0) {
                let cell = lattice.index(i as usize, j as usize, k as usize);
                let v = phi[cell] * per_cell;
                if shown[cell] == 0 || v.abs() > LARGEST {
                    continue;
                }
                let at: [f32; 3] = std::array::from_fn(|a| ([i, j, k][a] - c[a] as isize) as f32);
                let own_foot = std::array::from_fn(|a| at[a] - v * out[a]);
                if !is_shown_beside(shown, lattice, c, own_foot, out) {
                    continue;
                }
                let d: [f32; 3] = std::array::from_fn(|a| at[a] - foot.base[a]);
                let off = f64::from(v - value - dot(gradient, d));
                let (d, w) = (DVec3::from_array(d.map(f64::from)), 1.0 / (1.0 + f64::from(dot(d, d))));
                weight += w;
                mean += w * d;
                mean_off += w * off;
                m += DMat3::from_cols(w * d.x * d, w * d.y * d, w * d.z * d);
                b += w * off * d;
            }
        }
        if weight == 0.0 {
            return foot;
        }
        (mean, mean_off) = (mean / weight, mean_off / weight);
        m -= weight * DMat3::from_cols(mean.x * mean, mean.y * mean, mean.z * mean);
        b -= weight * mean_off * mean;
        let trace = m.x_axis.x + m.y_axis.y + m.z_axis.z;
        let slope = (m + REGULARISATION * trace.max(f64::MIN_POSITIVE) * DMat3::IDENTITY).inverse() * b;
        let at_base = mean_off - slope.dot(mean);
        let slope = slope.as_vec3().to_array();
        foot.jet = Jet {
            value: value + at_base as f32,
            gradient: std::array::from_fn(|a| gradient[a] + slope[a]),
            hessian: [0.0; 6],
        };
        foot
    }
}

/// The cell of a place relative to another one.
pub(crate) fn cell_at(lattice: &Lattice, c: [usize; 3], x: [f32; 3]) -> [usize; 3] {
    std::array::from_fn(|a| (c[a] as f32 + x[a]).round().clamp(0.0, lattice.size[a] as f32 - 1.0) as usize)
}
