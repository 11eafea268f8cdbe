//! The coefficients of an operator on all levels, ready for streaming [power §6.3].
//!
//! On a level the operator is `sum_k w_k (p_i - p_k) + e p_i` over leaves and ghosts, with symmetric `w`.
//! Summed over the levels after [`Pyramid::propagate`] and before [`Pyramid::accumulate`] this is the
//! operator on the leaves, and symmetric with it: a leaf's connection with a smaller one is the ghost's on
//! the finer level.
//!
//! Most leaves have the coefficients of a uniform grid and are known by a bit. All others refer to a [`Row`];
//! equal rows are kept once. The paper looks rows up by the 19-bit code in every application, and for a ghost
//! the rows of up to six neighbours; a number per row, found once for a tree, spares both, and carries cut
//! faces as well.

use crate::diagram::Diagram;
use crate::pairs::{Boundary, Pairs, neighbour_steps};
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::paged::SolverGrid;
use fluvial_grids::pyramid::{BlockCells, CellSet, Level, NEIGHBOURS, Pyramid, bits};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Ghost distances are no shorter than this part of the distance between centres: the floor's error is first
/// order and must stay below that of the grid.
pub const SURFACE_FRACTION_FLOOR: f64 = 1e-3;

/// Coefficients of one cell, in units of the level's edge.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Row {
    /// `w` of the cells around, in nine rows along x (y fastest): low, centre, high, zero.
    pub weight: [[f32; 4]; 9],
    /// `e`: what leads to the free surface.
    pub excess: f32,
    /// Sum of all `w` and `e`.
    pub diagonal: f32,
}

/// The cells of a block that have coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRows {
    /// Leaves with the stencil of a uniform grid.
    pub uniform: u64,
    /// Leaves and ghosts with a row.
    pub special: u64,
    /// Place in [`LevelRows::row_of`] of the first of them.
    pub first: u32,
}

/// The coefficients of a level.
#[derive(Clone, Debug, Default)]
pub struct LevelRows {
    /// By position of a block in the grid's list.
    pub blocks: Vec<BlockRows>,
    /// Number of the row of every special cell.
    pub row_of: Vec<u32>,
}

/// The coefficients of a symmetric operator on a pyramid.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// By level.
    pub levels: Vec<LevelRows>,
    /// The different rows.
    pub rows: Vec<Row>,
    /// Open areas of the faces towards the 18 neighbours, for each row.
    pub areas: Vec<[f32; 18]>,
    /// Ghost distances that were held at [`SURFACE_FRACTION_FLOOR`].
    pub floored: usize,
}

/// Which discretisation the coefficients are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Faces of the octree, with the distance of centres along the axis [power §4.3]: `L_1`.
    First,
    /// Faces of the power diagram [power §4.1]: `L_2`.
    Second,
}

/// Where the weight of a neighbour stands in a row: row along x and place in it.
pub const fn place(k: usize) -> (usize, usize) {
    let [x, y, z] = NEIGHBOURS[k];
    ((3 * (z + 1) + y + 1) as usize, (x + 1) as usize)
}

/// Blocks per task.
const BLOCKS: usize = 256;

type Key = [u32; 55];
/// Rows that are known, by their bits. Nothing iterates over it.
type Known = HashMap<Key, u32, BuildHasherDefault<Mixer>>;

/// A hash of words, each multiplied into what was before: keys are bits of numbers that nobody chooses to collide.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// What a task finds: numbers of rows are the task's own.
#[derive(Default)]
struct Part {
    blocks: Vec<BlockRows>,
    row_of: Vec<u32>,
    rows: Vec<(Row, [f32; 18])>,
    known: Known,
    floored: usize,
}

impl Rows {
    /// Finds the coefficients of all leaves and ghosts. With a free surface its `phi` must stand in ghosts
    /// too ([`Pyramid::propagate`]).
    pub fn new(pyramid: &Pyramid, diagram: &Diagram, boundary: Boundary, order: Order) -> Rows {
        let mut out = Rows::default();
        let mut known = Known::default();
        for l in 0..pyramid.levels().len() {
            let builder = Builder::new(pyramid, diagram, boundary, order, l);
            let count = builder.level.grid.blocks().len();
            let parts = parallel::map_indices(parallel::chunk_count(count, BLOCKS), |task| {
                builder.part(parallel::chunk_range(task, BLOCKS, count))
            });
            let mut level = LevelRows::default();
            parts.into_iter().for_each(|part| out.append(&mut level, part, &mut known));
            out.levels.push(level);
        }
        out
    }

    fn append(&mut self, level: &mut LevelRows, part: Part, known: &mut Known) {
        let number: Vec<u32> = part
            .rows
            .into_iter()
            .map(|(row, areas)| {
                *known.entry(key(&row, &areas)).or_insert_with(|| {
                    self.rows.push(row);
                    self.areas.push(areas);
                    self.rows.len() as u32 - 1
                })
            })
            .collect();
        let shift = level.row_of.len() as u32;
        level.blocks.extend(part.blocks.into_iter().map(|b| BlockRows { first: b.first + shift, ..b }));
        level.row_of.extend(part.row_of.into_iter().map(|n| number[n as usize]));
        self.floored += part.floored;
    }

    /// By number of leaf: has it other than the plain stencil?
    pub fn special_leaves(&self, pyramid: &Pyramid) -> Vec<bool> {
        let mut special = vec![false; pyramid.active_count()];
        for (level, rows) in pyramid.levels().iter().zip(&self.levels) {
            for (n, block) in rows.blocks.iter().enumerate() {
                let leaves = bits(level.cells()[n].active).zip(level.first()[n] as usize..);
                leaves.for_each(|(cell, number)| special[number] = block.special >> cell & 1 == 1);
            }
        }
        special
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let level = |l: &LevelRows| size_of::<BlockRows>() * l.blocks.len() + 4 * l.row_of.len();
        self.rows.len() * (size_of::<Row>() + 72) + self.levels.iter().map(level).sum::<usize>()
    }
}

fn key(row: &Row, areas: &[f32; 18]) -> Key {
    let mut key = [0; 55];
    let weights = row.weight.iter().flatten().chain([&row.excess]).chain(areas);
    key.iter_mut().zip(weights).for_each(|(k, v)| *k = v.to_bits());
    key
}

struct Builder<'a> {
    level: &'a Level,
    uniform: &'a [u64],
    pairs: Pairs<'a, SolverGrid>,
    /// Leaves and ghosts that are liquid; None: all.
    liquid: Option<CellSet>,
    order: Order,
}

impl<'a> Builder<'a> {
    fn new(
        pyramid: &'a Pyramid,
        diagram: &'a Diagram,
        boundary: Boundary<'a>,
        order: Order,
        l: usize,
    ) -> Self {
        let level = &pyramid.levels()[l];
        let layout = *level.grid.layout();
        let min = pyramid.shape().min;
        let pairs = Pairs {
            fields: &level.grid,
            layout,
            table: diagram.table(),
            boundary,
            min: AXES.map(|a| f64::from(min[a])),
            dx: f64::from(level.dx),
            steps: neighbour_steps(&layout),
        };
        let liquid = boundary.phi.map(|phi| {
            let pages = level.grid.blocks().pages();
            CellSet::from_pages(layout, pages.to_vec(), |page| {
                let BlockCells { active, ghost } =
                    level.cells()[level.grid.blocks().position(page).expect("listed")];
                let field = level.grid.channel(page, phi);
                bits(active | ghost).filter(|&c| field[c] < 0.0).fold(0, |m, c| m | 1 << c)
            })
        });
        Builder { level, uniform: diagram.uniform(l), pairs, liquid, order }
    }

    /// The leaves of a block with six liquid neighbours of the same size and no solid near.
    fn plain(&self, position: usize, page: u64) -> u64 {
        let mut plain = self.uniform[position];
        if let (Some(liquid), true) = (&self.liquid, plain != 0) {
            let halo = liquid.halo(page);
            plain &= liquid.mask(page);
            NEIGHBOURS[..6].iter().for_each(|&offset| plain &= halo.at_offset(offset));
        }
        if let Some(solid) = self.pairs.boundary.solid {
            let far = |&cell: &usize| {
                let at = self.pairs.layout.decode(self.pairs.layout.first_of(page) | cell as u64);
                let center = AXES.map(|a| self.pairs.min[a] + self.pairs.dx * (f64::from(at[a]) + 0.5));
                // The corners of a cell are sqrt(3)/2 of its edge away from its centre.
                solid(center) > 0.87 * self.pairs.dx
            };
            plain = bits(plain).filter(far).fold(0, |m, c| m | 1 << c);
        }
        plain
    }

    fn part(&self, positions: std::ops::Range<usize>) -> Part {
        let mut part = Part::default();
        let pages = self.level.grid.blocks().pages();
        for position in positions {
            let page = pages[position];
            let uniform = self.plain(position, page);
            let BlockCells { active, ghost } = self.level.cells()[position];
            let mut block = BlockRows { uniform, special: 0, first: part.row_of.len() as u32 };
            for cell in bits((active | ghost) & !uniform) {
                let code = self.pairs.layout.first_of(page) | cell as u64;
                if let Some((row, areas)) = self.row(code, &mut part.floored) {
                    block.special |= 1 << cell;
                    let next = part.rows.len() as u32;
                    let number = *part.known.entry(key(&row, &areas)).or_insert(next);
                    if number == next {
                        part.rows.push((row, areas));
                    }
                    part.row_of.push(number);
                }
            }
            part.blocks.push(block);
        }
        part
    }

    /// The row of a leaf or ghost; None where no liquid is or no face is open.
    fn row(&self, cell: u64, floored: &mut usize) -> Option<(Row, [f32; 18])> {
        if !self.pairs.is_liquid(cell) {
            return None;
        }
        let mut row = Row { weight: [[0.0; 4]; 9], excess: 0.0, diagonal: 0.0 };
        let mut areas = [0.0; 18];
        let (mut excess, mut diagonal) = (0.0, 0.0);
        for k in 0..18 {
            let Some((area, distance)) = self.face(cell, k).filter(|f| f.0 > 0.0) else { continue };
            areas[k] = area as f32;
            let mut weight = area / distance;
            if let Some(fraction) = self.pairs.surface_fraction(cell, k) {
                *floored += usize::from(fraction < SURFACE_FRACTION_FLOOR);
                weight /= fraction.max(SURFACE_FRACTION_FLOOR);
                excess += weight;
            } else {
                let (line, at) = place(k);
                row.weight[line][at] = weight as f32;
            }
            diagonal += weight;
        }
        (row.excess, row.diagonal) = (excess as f32, diagonal as f32);
        (diagonal > 0.0).then_some((row, areas))
    }

    fn face(&self, cell: u64, k: usize) -> Option<(f64, f64)> {
        match self.order {
            Order::Second => self.pairs.pair(cell, k).map(|p| (p.open_area, p.distance)),
            Order::First => self.pairs.octree_face(cell, k),
        }
    }
}
