//! The pressure system of cut cells [cutcell §3.3, eq. 4 to 7, eq. 14].
//!
//! With areas in cell faces, distances in cells and one pressure per piece,
//!
//! `sum_grid A_j (p_i - p_j) / |x_i - x_j| + A_surface p_i / |phi_i| = -(rho dx / dt) sum A_j u_j . n_j`.
//!
//! It is symmetric, and diagonally dominant with a non-negative excess [cutcell eq. 6]: the free surface's.
//! Solids add nothing.

use crate::iso::{IsoSamples, PIECES};
use crate::mesh::{CutCells, NONE};
use crate::velocity::Given;
use fluvial_foundation::parallel;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_linear::{Info, Params, SolveError};

/// The system, and which unknown each piece is.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Row of every piece, [`NONE`] for dropped ones.
    pub row_of: Vec<u32>,
    /// Piece of every row.
    pub piece_of: Vec<u32>,
    /// The matrix in flux form.
    pub matrix: FluxMatrix<f32>,
}

/// Coefficient of a grid face between two pieces: area over distance [cutcell eq. 4]; 0 on the domain's
/// walls, and where the velocity is given.
pub fn coefficient(mesh: &CutCells, iso: &IsoSamples, given: &Given, face: usize) -> f64 {
    let f = &mesh.faces[face];
    let [low, high] = iso.to_sample[face];
    let is_closed = f.pieces.contains(&NONE) || f.area <= 0.0 || given.is_given(face);
    if is_closed { 0.0 } else { f.area / (low + high) }
}

/// Coefficient of a piece's free surface [cutcell eq. 5].
pub fn surface_coefficient(mesh: &CutCells, iso: &IsoSamples, piece: usize) -> f64 {
    let phi = iso.phi_piece[piece];
    if phi < 0.0 { mesh.pieces[piece].surface_area / -phi } else { 0.0 }
}

impl System {
    /// Assembles the matrix.
    pub fn assemble(mesh: &CutCells, iso: &IsoSamples, given: &Given) -> Self {
        let pieces = mesh.pieces.len();
        let (mut row_of, mut piece_of) = (vec![NONE; pieces], vec![]);
        for piece in (0..pieces).filter(|&p| !iso.is_dropped[p]) {
            row_of[piece] = piece_of.len() as u32;
            piece_of.push(piece as u32);
        }
        let rows = piece_of.len();
        let parts = parallel::map_indices(parallel::chunk_count(rows, PIECES), |chunk| {
            let mut part = RowPart::default();
            for row in parallel::chunk_range(chunk, PIECES, rows) {
                part.add_row((mesh, iso, given), piece_of[row] as usize, &row_of);
            }
            part
        });
        let (mut start, mut column, mut value, mut excess) = (vec![0u32], vec![], vec![], vec![]);
        for part in parts {
            let first = column.len() as u32;
            start.extend(part.ends.iter().map(|e| e + first));
            column.extend_from_slice(&part.column);
            value.extend_from_slice(&part.value);
            excess.extend_from_slice(&part.excess);
        }
        let matrix = FluxMatrix::from_sorted(Csr::new(rows, start, column, value), excess);
        System { row_of, piece_of, matrix }
    }

    /// Solves for the pressure of every piece from a right side per piece; dropped pieces get 0. `pressure`
    /// holds the start.
    pub fn solve(
        &self,
        pressure: &mut [f64],
        rhs_piece: &[f64],
        params: &Params,
        scratch: &mut CgScratch<f32>,
    ) -> Result<Info, SolveError> {
        let b: Vec<f64> = self.piece_of.iter().map(|&p| rhs_piece[p as usize]).collect();
        let mut x: Vec<f64> = self.piece_of.iter().map(|&p| pressure[p as usize]).collect();
        let mut amg = Amg::new(&self.matrix, AmgParams::default());
        let info = conjugate_gradients(&mut x, &self.matrix, &mut amg.on(&self.matrix), &b, params, scratch)?;
        for (p, row) in pressure.iter_mut().zip(&self.row_of) {
            *p = if *row == NONE { 0.0 } else { x[*row as usize] };
        }
        Ok(info)
    }
}

/// Rows of the matrix, built apart from the others.
#[derive(Default)]
struct RowPart {
    ends: Vec<u32>,
    column: Vec<u32>,
    value: Vec<f32>,
    excess: Vec<f64>,
    entries: Vec<(u32, f64)>,
}

impl RowPart {
    fn add_row(
        &mut self,
        (mesh, iso, given): (&CutCells, &IsoSamples, &Given),
        piece: usize,
        row_of: &[u32],
    ) {
        let mut excess = surface_coefficient(mesh, iso, piece);
        self.entries.clear();
        for (face, side) in mesh.faces_of(piece) {
            let other = mesh.faces[face].pieces[1 - side];
            let c = coefficient(mesh, iso, given, face);
            if c == 0.0 {
                continue;
            }
            match row_of[other as usize] {
                NONE => excess += c, // its pressure is the surface's
                row => self.entries.push((row, c)),
            }
        }
        self.entries.sort_unstable_by_key(|e| e.0);
        let mut n = 0;
        while n < self.entries.len() {
            // Two pieces may share several faces.
            let column = self.entries[n].0;
            let mut sum = 0.0;
            while n < self.entries.len() && self.entries[n].0 == column {
                sum += self.entries[n].1;
                n += 1;
            }
            self.column.push(column);
            self.value.push(-sum as f32);
        }
        self.ends.push(self.column.len() as u32);
        self.excess.push(excess);
    }
}
