//! The pressure system `[grad]^T [V A] [F grad] p = [grad]^T [V A] u` [octree eq. 3] in compressed rows.

use crate::divergence::signed_area;
use crate::gradient::{Geometry, PressureGradient};
use fluvial_foundation::parallel;
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_linear::{Block, LowRank};

/// Marks cells without a pressure.
pub const NO_ROW: u32 = u32::MAX;
/// Rows that one task assembles.
const ROWS: usize = 4096;
/// Most entries of a row before equal columns are joined: six faces with five cells each, and three siblings
/// at each.
const MOST: usize = 48;
/// Weak bond between two small cells of a T-junction, in their edges, see [`System::bonds`].
const BOND: f64 = 1e-3;

/// A sparse system as row sums and entries off the diagonal, in which form coefficients cancel exactly
/// between liquid cells. Unknowns are the liquid cells with an open face, in the order of the cells.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Row of every cell, [`NO_ROW`] without one.
    pub row_of_cell: Vec<u32>,
    /// Cell of every row.
    pub cells: Vec<u32>,
    /// First entry of each row, and one more.
    pub start: Vec<u32>,
    /// Columns, ascending within a row, without the diagonal.
    pub column: Vec<u32>,
    /// Entries, m.
    pub value: Vec<f64>,
    /// Sum of each whole row, diagonal included: what leads to the surface.
    pub row_sum: Vec<f64>,
    /// Pairs of small cells of a T-junction that a solid parts, in both orders, sorted, where one of them is
    /// led to the surface by junctions alone. Those see but the mean of their pressures: without a weak bond
    /// the difference is undetermined and the matrix singular. A bond acts on no velocity, and on what differs from the
    /// last pressure alone: see [`System::add_bonds`].
    pub bonds: Vec<(u32, u32)>,
}

/// Rows of one task.
#[derive(Default)]
struct Piece {
    lengths: Vec<u32>,
    column: Vec<u32>,
    value: Vec<f64>,
    row_sum: Vec<f64>,
}

impl System {
    /// Assembles the matrix. With the symmetric form it is symmetric to the last bit: both of a pair sum the
    /// same products in the same order.
    pub fn assemble(&mut self, geometry: &Geometry, gradient: &PressureGradient) {
        self.number(geometry);
        self.bond(geometry, gradient);
        let tasks = parallel::chunk_count(self.cells.len(), ROWS);
        let pieces = parallel::map_indices(tasks, |n| {
            let mut piece = Piece::default();
            for row in parallel::chunk_range(n, ROWS, self.cells.len()) {
                self.assemble_row(&mut piece, geometry, gradient, row);
            }
            piece
        });
        let entries: usize = pieces.iter().map(|p| p.column.len()).sum();
        assert!(entries < u32::MAX as usize, "entries are counted in 32 bits");
        self.start.clear();
        self.start.push(0);
        self.column.clear();
        self.value.clear();
        self.row_sum.clear();
        let mut end = 0;
        for piece in pieces {
            self.start.extend(piece.lengths.iter().map(|length| {
                end += length;
                end
            }));
            self.column.extend(piece.column);
            self.value.extend(piece.value);
            self.row_sum.extend(piece.row_sum);
        }
    }

    /// Gives liquid cells with an open face their rows.
    fn number(&mut self, geometry: &Geometry) {
        let tree = geometry.tree;
        self.cells.clear();
        self.row_of_cell.clear();
        for (cell, faces) in tree.cell_faces().iter().enumerate() {
            let open = || faces.iter().any(|&face| geometry.open_area[face as usize] > 0.0);
            let wet = geometry.phi_cell[cell] < 0.0 && open();
            self.row_of_cell.push(if wet { self.cells.len() as u32 } else { NO_ROW });
            if wet {
                self.cells.push(cell as u32);
            }
        }
    }

    /// Finds the bonds: groups of cells joined by faces between equals, and whether one of these leads to the
    /// surface.
    fn bond(&mut self, geometry: &Geometry, gradient: &PressureGradient) {
        self.bonds = parted_siblings(geometry);
        if self.bonds.is_empty() {
            return;
        }
        let tree = geometry.tree;
        let mut group: Vec<u32> = (0..tree.cell_count() as u32).collect();
        let mut anchored = vec![false; tree.cell_count()];
        for face in (0..tree.face_count()).filter(|&face| gradient.acts_on(face) && !tree.is_junction(face)) {
            let wet = tree.sides(face).map(|side| match side {
                Side::Cell(cell) if geometry.phi_cell[cell as usize] < 0.0 => Some(cell),
                _ => None,
            });
            match wet {
                [Some(a), Some(b)] => {
                    let (a, b) = (first_of(&mut group, a), first_of(&mut group, b));
                    group[a.max(b) as usize] = a.min(b);
                }
                [Some(cell), None] | [None, Some(cell)] => {
                    anchored[cell as usize] |= gradient.row_sum(geometry, face) != 0.0;
                }
                [None, None] => {}
            }
        }
        for cell in (0..tree.cell_count()).filter(|&cell| anchored[cell]).collect::<Vec<_>>() {
            anchored[first_of(&mut group, cell as u32) as usize] = true;
        }
        let mut floats = |cell: u32| !anchored[first_of(&mut group, cell) as usize];
        self.bonds.retain(|&(a, b)| floats(a) || floats(b));
        self.bonds.sort_unstable();
        self.bonds.dedup();
    }

    fn assemble_row(&self, piece: &mut Piece, geometry: &Geometry, gradient: &PressureGradient, row: usize) {
        let tree = geometry.tree;
        let cell = self.cells[row] as usize;
        let dx = tree.cell_dx(cell) as f64;
        let mut entries = [(0u32, 0.0f64); MOST];
        let (mut len, mut row_sum) = (0, 0.0);
        for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
            let face = face as usize;
            if !gradient.acts_on(face) {
                continue;
            }
            let open = geometry.open_area[face] as f64;
            let area = open * signed_area(dx, side);
            row_sum += area * gradient.row_sum(geometry, face);
            for (other, c) in gradient.row(geometry, face).entries().filter(|&(other, _)| other != cell) {
                let column = self.row_of_cell[other];
                // Own area times the other's coefficient: areas go as the squares of sizes, coefficients as
                // their quarters, so that the other's product has the same factors in powers of two.
                let value = area * c;
                match entries[..len].iter_mut().find(|entry| entry.0 == column) {
                    Some(entry) => entry.1 += value,
                    None => {
                        entries[len] = (column, value);
                        len += 1;
                    }
                }
            }
        }
        let own = self.bonds.partition_point(|bond| (bond.0 as usize) < cell);
        for &(_, other) in self.bonds[own..].iter().take_while(|bond| bond.0 as usize == cell) {
            let (column, value) = (self.row_of_cell[other as usize], -BOND * dx);
            match entries[..len].iter_mut().find(|entry| entry.0 == column) {
                Some(entry) => entry.1 += value,
                None => {
                    entries[len] = (column, value);
                    len += 1;
                }
            }
        }
        let entries = &mut entries[..len];
        entries.sort_unstable_by_key(|entry| entry.0);
        piece.lengths.push(len as u32);
        piece.column.extend(entries.iter().map(|entry| entry.0));
        piece.value.extend(entries.iter().map(|entry| entry.1));
        piece.row_sum.push(row_sum);
    }

    /// Adds what the bonds would do to the last pressure `q` to the right side: they then hold `p - q` together. On p
    /// itself they pull hydrostatic pressures of siblings at different heights to one value, and still water over a
    /// sloped solid flowed at 1e-2 of `g dt`. Verified by `still_water_rests_at_solids` of the solver.
    pub fn add_bonds(&self, rhs_cell: &mut [f64], tree: &Octree, q_cell: &[f64]) {
        for &(a, b) in &self.bonds {
            let (a, b) = (a as usize, b as usize);
            rhs_cell[a] += BOND * f64::from(tree.cell_dx(a)) * (q_cell[a] - q_cell[b]);
        }
    }

    /// Values of cells with a row, in the order of the rows.
    pub fn gather(&self, of_cell: &[f64]) -> Vec<f64> {
        self.cells.iter().map(|&cell| of_cell[cell as usize]).collect()
    }

    /// Puts values of rows back to their cells, zero elsewhere.
    pub fn scatter(&self, out_cell: &mut [f64], of_row: &[f64]) {
        assert_eq!(out_cell.len(), self.row_of_cell.len(), "one value per cell");
        out_cell.fill(0.0);
        self.cells.iter().zip(of_row).for_each(|(&cell, &value)| out_cell[cell as usize] = value);
    }

    /// The same for the rows of a term of low rank: from cells to rows, without those of cells that have none.
    pub fn place(&self, out: &mut LowRank, of_cells: &[Block]) {
        out.blocks.resize_with(of_cells.len(), Block::default);
        for (out, block) in out.blocks.iter_mut().zip(of_cells) {
            out.clear();
            out.weight = block.weight;
            for (&cell, values) in block.rows.iter().zip(&block.values) {
                let row = self.row_of_cell[cell as usize];
                if row != NO_ROW {
                    out.rows.push(row);
                    out.values.push(*values);
                }
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let words = self.row_of_cell.capacity()
            + self.cells.capacity()
            + self.start.capacity()
            + self.column.capacity();
        4 * words + 8 * (self.value.capacity() + self.row_sum.capacity())
    }
}

/// Pairs of small liquid cells of a T-junction whose shared face is closed, in both orders.
fn parted_siblings(geometry: &Geometry) -> Vec<(u32, u32)> {
    let tree = geometry.tree;
    let pieces = parallel::map_indices(parallel::chunk_count(tree.face_count(), parallel::CHUNK), |n| {
        let mut found = vec![];
        for face in parallel::chunk_range(n, parallel::CHUNK, tree.face_count()) {
            if geometry.open_area[face] <= 0.0 || !tree.is_junction(face) {
                continue;
            }
            for side in tree.sides(face) {
                let Side::Quad(cells) = side else { continue };
                let wet = |cell: u32| geometry.phi_cell[cell as usize] < 0.0;
                for &a in cells.iter().filter(|&&a| wet(a)) {
                    let faces = &tree.cell_faces()[a as usize];
                    for &b in cells.iter().filter(|&&b| b != a && wet(b)) {
                        let others = &tree.cell_faces()[b as usize];
                        let shared = faces.iter().find(|f| **f as usize != face && others.contains(f));
                        if shared.is_some_and(|&f| geometry.open_area[f as usize] <= 0.0) {
                            found.push((a, b));
                        }
                    }
                }
            }
        }
        found
    });
    pieces.into_iter().flatten().collect()
}

/// The first known cell of a cell's group; shortens the way there.
fn first_of(group: &mut [u32], mut cell: u32) -> u32 {
    while group[cell as usize] != cell {
        let next = group[group[cell as usize] as usize];
        group[cell as usize] = next;
        cell = next;
    }
    cell
}
