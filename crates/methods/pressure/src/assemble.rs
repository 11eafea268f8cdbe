//! A [`PoissonProblem`] as a sparse matrix.

use crate::{PoissonProblem, PrepareInfo, ghost_coefficient};
use fluvial_foundation::parallel;
use fluvial_foundation::parallel::map_chunks;
use fluvial_linear::krylov::Real;
use fluvial_linear::sparse::{Csr, FluxMatrix};

const NOBODY: u32 = u32::MAX;

/// The matrix of a problem, with unknowns in the order of their cells.
#[derive(Default)]
pub(crate) struct Assembled {
    pub matrix: FluxMatrix<f32>,
    /// Cell of each unknown.
    pub cell: Vec<u32>,
    theta_floors: usize,
}

/// What a slab gives.
#[derive(Default)]
struct Slab {
    k: usize,
    excess: Vec<f64>,
    cell: Vec<u32>,
    theta_floors: usize,
}

/// The problem's arrays around one row of cells. Faces are in the order of the cells beyond them: low z, y,
/// x, high x, y, z.
struct Around<'a> {
    phi: &'a [f32],
    /// phi beyond the y and z faces; None outside the box.
    side: [Option<&'a [f32]>; 4],
    area_x: &'a [f32],
    area_side: [&'a [f32]; 4],
    /// First cells of the rows beyond the y and z faces.
    first: [usize; 4],
}

impl<'a> Around<'a> {
    fn new(problem: &PoissonProblem<'a>, j: usize, k: usize) -> Self {
        let [nx, ny, nz] = problem.cells;
        let cell = |j: usize, k: usize| nx * (j + ny * k);
        let area_y = |j: usize| &problem.open_area[1][nx * (j + (ny + 1) * k)..][..nx];
        let area_z = |k: usize| &problem.open_area[2][cell(j, k)..][..nx];
        let beyond = [
            (k > 0).then(|| cell(j, k - 1)),
            (j > 0).then(|| cell(j - 1, k)),
            (j + 1 < ny).then(|| cell(j + 1, k)),
            (k + 1 < nz).then(|| cell(j, k + 1)),
        ];
        Around {
            phi: &problem.phi_cell[cell(j, k)..][..nx],
            side: beyond.map(|first| first.map(|first| &problem.phi_cell[first..][..nx])),
            area_x: &problem.open_area[0][(nx + 1) * (j + ny * k)..][..nx + 1],
            area_side: [area_z(k), area_y(j), area_y(j + 1), area_z(k + 1)],
            first: beyond.map(|first| first.unwrap_or(usize::MAX)),
        }
    }

    /// Numbers the wet cells with an open face in the order of `lengths`, which receives how many faces of
    /// each lead to another wet cell. (NaN is open: it must be seen.)
    fn number(&self, out: &mut [u32], lengths: &mut Vec<u32>) {
        for i in (0..out.len()).filter(|&i| self.phi[i] < 0.0) {
            let (mut open, mut wet) = (0, 0);
            for (area, phi, _) in self.faces(i, 0) {
                let is_open = (area > 0.0 || area.is_nan()) as u32;
                open += is_open;
                wet += is_open & phi.is_some_and(|phi| phi < 0.0) as u32;
            }
            if open > 0 {
                out[i] = lengths.len() as u32;
                lengths.push(wet);
            }
        }
    }

    /// Area, phi beyond (None outside the box) and cell beyond each face of cell `i`.
    #[inline(always)]
    fn faces(&self, i: usize, cell: usize) -> [(f32, Option<f32>, usize); 6] {
        let side =
            |n: usize| (self.area_side[n][i], self.side[n].map(|p| p[i]), self.first[n].wrapping_add(i));
        let x = |i: usize, high: usize| {
            let beyond = if high == 1 { self.phi.get(i + 1) } else { self.phi.get(i.wrapping_sub(1)) };
            (self.area_x[i + high], beyond.copied(), if high == 1 { cell + 1 } else { cell.wrapping_sub(1) })
        };
        [side(0), side(1), x(i, 0), x(i, 1), side(2), side(3)]
    }
}

impl Assembled {
    /// Coefficients as in the crate's description.
    pub fn new(problem: &PoissonProblem, theta_min: f32) -> Self {
        let [nx, ny, nz] = problem.cells;
        let slab_cells = nx * ny;
        // Unknowns are numbered within their slab, then shifted by those before.
        let mut number = vec![NOBODY; slab_cells * nz];
        let lengths = map_chunks(&mut number, slab_cells.max(1), |cells, number| {
            let mut lengths = Vec::new();
            for (j, number) in number.chunks_mut(nx).enumerate() {
                Around::new(problem, j, cells.start / slab_cells).number(number, &mut lengths);
            }
            lengths
        });
        let mut first = vec![0];
        lengths.iter().for_each(|slab| first.push(first.last().expect("a start") + slab.len()));
        let new_slab = |k: usize| (first[k + 1], Slab { k, ..Slab::default() });
        let mut slabs: Vec<_> = (0..nz).map(new_slab).collect();
        let unknowns = first[nz];
        let of_all = lengths.into_iter().flatten();
        let off = Csr::from_lengths(unknowns, of_all, &mut slabs, |_, _, (column, value), slab| {
            let k = slab.k;
            let mut entries = column.iter_mut().zip(value);
            for j in 0..ny {
                let around = Around::new(problem, j, k);
                let start = slab_cells * k + nx * j;
                for i in (0..nx).filter(|i| number[start + i] != NOBODY) {
                    slab.add(&around, (i, start + i), theta_min, |beyond, coefficient| {
                        let (column, value) = entries.next().expect("as many as were counted");
                        let above = (beyond >= slab_cells * (k + 1)) as usize;
                        let slab = k + above - (beyond < slab_cells * k) as usize;
                        *column = number[beyond] + first[slab] as u32;
                        *value = -coefficient;
                    });
                }
            }
        });
        let theta_floors = slabs.iter().map(|s| s.1.theta_floors).sum();
        let (mut excess, mut cell) = (Vec::with_capacity(unknowns), Vec::with_capacity(unknowns));
        for (_, slab) in slabs {
            excess.extend_from_slice(&slab.excess);
            cell.extend_from_slice(&slab.cell);
        }
        Assembled { matrix: FluxMatrix::from_sorted(off, excess), cell, theta_floors }
    }

    pub fn info(&self) -> PrepareInfo {
        PrepareInfo {
            unknowns: self.cell.len(),
            theta_floors: self.theta_floors,
            components: self.matrix.components(),
            sealed_components: self.matrix.sealed_components(),
        }
    }

    /// Values at the unknowns.
    pub fn gather(&self, out: &mut Vec<f64>, cells: &[f32]) {
        out.resize(self.cell.len(), 0.0);
        let chunk = parallel::CHUNK;
        parallel::for_each_chunk_mut(out, chunk, |n, out| {
            let from = &self.cell[n * chunk..];
            out.iter_mut().zip(from).for_each(|(out, &cell)| *out = cells[cell as usize] as f64);
        });
    }

    /// Values at all cells, 0 where there is no unknown.
    pub fn scatter<T: Real>(&self, out: &mut [T], x: &[f64]) {
        let chunk = parallel::CHUNK;
        parallel::for_each_chunk_mut(out, chunk, |n, out| {
            out.fill(T::default());
            let cells = (n * chunk) as u32..(n * chunk + out.len()) as u32;
            let rows = self.cell.partition_point(|&c| c < cells.start)
                ..self.cell.partition_point(|&c| c < cells.end);
            for row in rows {
                out[(self.cell[row] - cells.start) as usize] = T::from_f64(x[row]);
            }
        });
    }

    pub fn bytes(&self) -> usize {
        self.matrix.bytes() + 4 * self.cell.capacity()
    }
}

impl Slab {
    /// Adds the unknown of cell `cell`, the `i`-th of its row; `link(cell beyond, coefficient)` for those
    /// that are connected to it.
    #[inline(always)]
    fn add(
        &mut self,
        around: &Around,
        (i, cell): (usize, usize),
        theta_min: f32,
        mut link: impl FnMut(usize, f32),
    ) {
        let mut excess = 0.0f64;
        for (area, phi_beyond, beyond) in around.faces(i, cell) {
            match phi_beyond {
                _ if area <= 0.0 => {}
                Some(phi) if phi < 0.0 => link(beyond, area),
                Some(phi) => {
                    let (coefficient, floored) = ghost_coefficient(around.phi[i], phi, theta_min);
                    self.theta_floors += floored as usize;
                    excess += area as f64 * coefficient;
                }
                None => excess += area as f64,
            }
        }
        self.excess.push(excess);
        self.cell.push(cell as u32);
    }
}
