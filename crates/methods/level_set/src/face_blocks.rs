//! Faces of one axis in blocks of eight along x: which lie near the liquid, which need to be computed.

use crate::KnownFaces;
use crate::trace::{Cells, LANES, Lanes, Offsets};
use fluvial_foundation::{Axis, parallel};
use fluvial_grids::UniformGrid;
use std::ops::Range;

/// Faces of one axis by their distance from the liquid.
pub(crate) struct FaceBand<'a> {
    pub phi_cell: &'a [f32],
    pub grid: &'a UniformGrid,
    pub axis: Axis,
    pub band_m: f32,
    /// Faces nearer than this are carried to second order.
    pub smooth_m: f32,
    /// Weights of the faces of this axis that are known, and what they mean.
    pub known: Option<(&'a [f32], &'a KnownFaces<'a>)>,
}

/// Consecutive faces of a row, by their range in the slab.
pub(crate) enum Block<'a> {
    /// All farther from the liquid than the band.
    Outside(Range<usize>),
    /// At most eight, some in the band, with the mean phi of their cells.
    Band(Range<usize>, &'a Lanes),
}

impl FaceBand<'_> {
    /// Faces in one z-slab.
    pub fn slab(&self) -> usize {
        self.grid.faces(self.axis).slab()
    }

    pub fn smooth(&self) -> SmoothFaces<'_> {
        // No cell of a stencil's faces is more than sqrt(3) dx from the cell at its low corner.
        let safe_m = self.smooth_m - 1.8 * self.grid.dx;
        SmoothFaces { phi_cell: self.phi_cell, cells: self.grid.cells, smooth_m: self.smooth_m, safe_m }
    }

    /// Cuts slab k of the faces into blocks.
    #[inline]
    pub fn for_each_block(&self, k: usize, mut body: impl FnMut(Cells, Block)) {
        let [nx, ny, nz] = self.grid.cells;
        let [fx, fy, _] = self.grid.faces(self.axis).size;
        for j in 0..fy {
            let cells = |j: usize, k: usize| {
                let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
                &self.phi_cell[start..start + nx]
            };
            let high = cells(j, k);
            let low = match self.axis {
                0 => high,
                1 => cells(j.saturating_sub(1), k),
                _ => cells(j, k.saturating_sub(1)),
            };
            let mut i = 0;
            while i < fx {
                let end = (i + LANES).min(fx);
                let phi_m: Lanes = std::array::from_fn(|l| {
                    let face = (i + l).min(fx - 1);
                    let below = if self.axis == 0 { face.saturating_sub(1) } else { face };
                    0.5 * (low[below] + high[face.min(nx - 1)])
                });
                let row = fx * j + i..fx * j + end;
                let near = phi_m.iter().any(|&v| v < self.band_m);
                body(Cells { i, j, k }, if near { Block::Band(row, &phi_m) } else { Block::Outside(row) });
                i = end;
            }
        }
    }

    /// `out = values` on the faces from `first` on, less the share that is known.
    #[inline]
    pub fn blend(&self, out: &mut [f32], values: &Lanes, first: usize) {
        match self.known {
            None => out.copy_from_slice(&values[..out.len()]),
            Some((weight, known)) => {
                let weight = &weight[first..first + out.len()];
                let per_weight = 1.0 / known.full_weight;
                for l in 0..out.len() {
                    let share = weight[l] * per_weight;
                    // What is known stays to the bit: no value may have been made for it.
                    out[l] = if share < 1.0 { values[l] + share * (out[l] - values[l]) } else { out[l] };
                }
            }
        }
    }

    /// Faces of a block that needs no value: those in the band are known, the others keep the share that is.
    #[inline]
    pub fn fade(&self, out: &mut [f32], phi_m: &Lanes, first: usize) {
        let mut values = [0.0; LANES];
        for l in 0..out.len() {
            values[l] = if phi_m[l] < self.band_m { out[l] } else { 0.0 };
        }
        self.blend(out, &values, first);
    }

    /// Does a particle of a face end where first estimates are sure to have been made?
    #[inline]
    pub fn within_reach(&self, x: &Offsets, lane: usize) -> bool {
        self.known.is_none_or(|(_, known)| {
            let start = |a: Axis| if a == self.axis { 0.0 } else { 0.5 };
            (0..3).all(|a| (x[a][lane] - start(a)).abs() <= known.reach_cells as f32)
        })
    }
}

/// Which faces are near enough to the liquid to be carried to second order (mean phi of their two cells below a bound).
pub(crate) struct SmoothFaces<'a> {
    phi_cell: &'a [f32],
    cells: [usize; 3],
    smooth_m: f32,
    /// Where phi is below this, every face of a stencil next to the cell is one of them.
    safe_m: f32,
}

impl SmoothFaces<'_> {
    #[inline]
    fn phi(&self, c: [usize; 3]) -> f32 {
        let c: [usize; 3] = std::array::from_fn(|a| c[a].min(self.cells[a] - 1));
        self.phi_cell[c[0] + self.cells[0] * (c[1] + self.cells[1] * c[2])]
    }

    /// Are all eight faces of the interpolation stencil with this low corner among them?
    #[inline]
    pub fn surround(&self, axis: Axis, low: [usize; 3]) -> bool {
        self.phi(low) < self.safe_m || self.all_smooth(axis, low)
    }

    fn all_smooth(&self, axis: Axis, low: [usize; 3]) -> bool {
        (0..8).all(|corner| {
            let mut cell: [usize; 3] = std::array::from_fn(|a| low[a] + (corner >> a & 1));
            let high = self.phi(cell);
            cell[axis] = cell[axis].saturating_sub(1);
            0.5 * (high + self.phi(cell)) < self.smooth_m
        })
    }
}

/// The block has faces in the band that are not fully known.
const VALUE: u8 = 1;
/// Some of them lie where they may get a second-order correction.
const CORRECTION: u8 = 2;
/// A first estimate is needed here or by a correction within reach.
const ESTIMATE: u8 = 4;

/// What each block of faces needs; everything where nothing is known.
pub(crate) struct Needs<'a> {
    blocks: Option<&'a [u8]>,
    /// Blocks along x and rows along y.
    size: [usize; 2],
}

impl<'a> Needs<'a> {
    /// Marks the blocks of a band; `[marks, spare]` are work arrays.
    pub fn find(band: &FaceBand, [marks, spare]: &'a mut [Vec<u8>; 2]) -> Self {
        let [fx, fy, fz] = band.grid.faces(band.axis).size;
        let size = [fx.div_ceil(LANES), fy];
        let Some((weight, known)) = band.known else { return Needs { blocks: None, size } };
        let slab = size[0] * size[1];
        crate::fit(marks, slab * fz);
        crate::fit(spare, slab * fz);
        parallel::for_each_chunk_mut(marks, slab, |k, marks| {
            band.for_each_block(k, |at, block| {
                let mark = &mut marks[at.i / LANES + size[0] * at.j];
                *mark = 0;
                if let Block::Band(row, phi_m) = block {
                    let start = k * band.slab() + row.start;
                    for (weight, &phi) in weight[start..start + row.len()].iter().zip(phi_m) {
                        if *weight < known.full_weight && phi < band.band_m {
                            *mark |= if phi < band.smooth_m { VALUE | CORRECTION } else { VALUE };
                        }
                    }
                }
            });
        });
        // Stencils of a correction reach one face farther than its particle.
        let reach = known.reach_cells + 1;
        spread(spare, marks, [size[0], fy, fz], [reach.div_ceil(LANES), reach, reach]);
        parallel::for_each_beside_mut(marks, spare, |mark, near| {
            *mark |= if *mark & VALUE != 0 || near & CORRECTION != 0 { ESTIMATE } else { 0 };
        });
        Needs { blocks: Some(marks), size }
    }

    #[inline]
    fn has(&self, at: Cells, what: u8) -> bool {
        self.blocks.is_none_or(|blocks| {
            blocks[at.i / LANES + self.size[0] * (at.j + self.size[1] * at.k)] & what != 0
        })
    }

    #[inline]
    pub fn value(&self, at: Cells) -> bool {
        self.has(at, VALUE)
    }

    #[inline]
    pub fn correction(&self, at: Cells) -> bool {
        self.has(at, CORRECTION)
    }

    #[inline]
    pub fn estimate(&self, at: Cells) -> bool {
        self.has(at, ESTIMATE)
    }
}

/// `out` = all bits of `marks` within `reach` along each axis.
fn spread(out: &mut [u8], marks: &[u8], [nx, ny, nz]: [usize; 3], reach: [usize; 3]) {
    let around = |c: usize, a: usize, n: usize| c.saturating_sub(reach[a])..(c + reach[a] + 1).min(n);
    let slab = nx * ny;
    parallel::for_each_chunk_mut(out, slab, |k, out| {
        // Along z, then y, then x, each pass over whole rows.
        let mut along_z = vec![0u8; slab];
        for k in around(k, 2, nz) {
            along_z.iter_mut().zip(&marks[slab * k..slab * (k + 1)]).for_each(|(all, mark)| *all |= mark);
        }
        let mut row = vec![0u8; nx];
        for j in 0..ny {
            row.fill(0);
            for j in around(j, 1, ny) {
                row.iter_mut().zip(&along_z[nx * j..nx * (j + 1)]).for_each(|(all, mark)| *all |= mark);
            }
            for i in 0..nx {
                out[nx * j + i] = row[around(i, 0, nx)].iter().fold(0, |all, mark| all | mark);
            }
        }
    });
}
