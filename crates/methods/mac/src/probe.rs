//! The pressure at a point.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid, ghost_theta};

/// Where the impulse is known, and what bounds it.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// The grid.
    pub grid: &'a UniformGrid,
    /// p dt / (rho dx), m/s.
    pub q_cell: &'a [f32],
    /// The liquid's level set.
    pub phi_cell: &'a [f32],
    /// Cells without any open face.
    pub closed_cell: &'a [bool],
    /// The part of each face that is open.
    pub open_area: &'a FaceField,
}

/// The impulse at a point: the mean of what the unknowns around it extrapolate, each with its own gradient,
/// so that a hydrostatic pressure is exact up to walls and surface. `None` where no cell around is liquid.
///
/// Test: `the_pressure_of_still_water_is_exact_up_to_the_floor`.
pub fn impulse_at(x: Vec3, probe: &Probe) -> Option<f64> {
    let cells = probe.grid.cell_centers();
    let stencil = cells.stencil(x);
    let base = cells.coordinates(stencil.base);
    let (mut sum, mut weights) = (0.0f64, 0.0f64);
    for corner in 0..8 {
        let high = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
        let at: [usize; 3] = std::array::from_fn(|a| (base[a] + high[a]).min(cells.size[a] - 1));
        let cell = cells.index(at[0], at[1], at[2]);
        if !probe.is_liquid(cell) {
            continue;
        }
        let weight: f64 = (0..3)
            .map(|a| if high[a] == 1 { stencil.fraction[a] } else { 1.0 - stencil.fraction[a] } as f64)
            .product::<f64>()
            .max(1e-6);
        let offset = (x - cells.position(at[0], at[1], at[2])) / probe.grid.dx;
        sum += weight * (probe.q_cell[cell] + probe.slope(at).dot(offset)) as f64;
        weights += weight;
    }
    (weights > 0.0).then(|| sum / weights)
}

impl Probe<'_> {
    fn is_liquid(&self, cell: usize) -> bool {
        self.phi_cell[cell] < 0.0 && !self.closed_cell[cell]
    }

    /// Change of the impulse per cell around an unknown: central differences, ghost values in air, one-sided
    /// at walls.
    fn slope(&self, at: [usize; 3]) -> Vec3 {
        let cells = self.grid.cell_centers();
        let cell = cells.index(at[0], at[1], at[2]);
        let (phi, q) = (self.phi_cell, self.q_cell);
        let side = |axis: usize, up: bool| -> Option<f32> {
            let lattice = self.grid.faces(axis);
            let face = lattice.index(at[0], at[1], at[2]) + if up { lattice.stride(axis) } else { 0 };
            if self.open_area[axis][face] == 0.0 {
                return None;
            }
            let edge = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
            if edge {
                return Some(0.0);
            }
            let stride = cells.stride(axis);
            let neighbour = if up { cell + stride } else { cell - stride };
            Some(if self.is_liquid(neighbour) {
                q[neighbour]
            } else {
                q[cell] * (1.0 - 1.0 / ghost_theta(phi[cell], phi[neighbour]).0)
            })
        };
        let slope = |axis: usize| match (side(axis, false), side(axis, true)) {
            (Some(low), Some(high)) => 0.5 * (high - low),
            (Some(low), None) => q[cell] - low,
            (None, Some(high)) => high - q[cell],
            (None, None) => 0.0,
        };
        Vec3::new(slope(0), slope(1), slope(2))
    }
}
