//! Liquid that no particle holds: the deep cells, and what is on its way between them and the particles.

use fluvial_foundation::parallel;

/// Particles that a full cell holds.
pub(crate) const PER_CELL: usize = 8;

/// The liquid that no particle holds. With the particles it is all the liquid there is:
/// [`resample`](crate::resample()) moves mass between them and makes none.
///
/// A particle is an eighth of a cell's volume for life. A cell deeper than the band is full by definition. When
/// it becomes deep it takes its particles in, when it leaves the deep it is filled with new ones; what the
/// numbers do not match is in `rest_m3` until cells with too few or too many particles take it up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reserve {
    /// Cells that are full without particles, not 0.
    pub deep_cell: Vec<u8>,
    /// Volume that particles are yet to take up; negative: that they hold beyond their liquid's.
    pub rest_m3: f64,
    /// Volume that sources have brought and no particle holds yet.
    pub inflow_m3: f64,
}

impl Reserve {
    /// An empty one.
    pub fn new(cells: usize) -> Self {
        Reserve { deep_cell: vec![0; cells], rest_m3: 0.0, inflow_m3: 0.0 }
    }

    /// Volume of one particle in cells of edge `dx`.
    pub fn particle_m3(dx: f32) -> f64 {
        (dx as f64).powi(3) / PER_CELL as f64
    }

    /// All liquid: `particles` of them, the deep cells (with the open part of each cell; empty: all of it) and
    /// what is on its way, m3.
    pub fn volume_m3(&self, particles: usize, open_volume: &[f32], dx: f32) -> f64 {
        let open = |cell: usize| open_volume.get(cell).map_or(1.0, |&open| open as f64);
        let deep = parallel::ordered_sum_of(self.deep_cell.len(), |cell| match self.deep_cell[cell] {
            0 => 0.0,
            _ => open(cell),
        });
        let particle_m3 = Self::particle_m3(dx);
        particle_m3 * (particles as f64 + PER_CELL as f64 * deep) + self.rest_m3 + self.inflow_m3
    }
}
