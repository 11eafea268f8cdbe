//! The power diagram of a pyramid: a code for every leaf, power cells for every code [power §6.1].

use crate::channels;
use crate::neighbourhood::{Code, Kind, larger_bit};
use crate::stencil::{PowerCell, StencilTable};
use crate::view::{Place, View};
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::paged::{Layout, Reader};
use fluvial_grids::pyramid::{Halo, Level, NEIGHBOURS, Pyramid, bits};
use std::sync::Arc;

/// Leaves per task.
const LEAVES: usize = 256;

/// The power diagram of the leaves of a pyramid, within the walls of its box.
///
/// A leaf at a wall is treated as if the tree went on as its mirror image: the wall is then the plane between
/// a leaf and its image, and nothing else changes. The image of a neighbour beyond a wall is the neighbour on
/// this side.
#[derive(Clone, Debug, Default)]
pub struct Diagram {
    table: Arc<StencilTable>,
    leaves: Vec<Place>,
    /// Numbers of the leaves beside each, in the order of its faces: `beside[beside_from[n]..beside_from[n + 1]]`.
    beside: Vec<u32>,
    beside_from: Vec<u32>,
    /// By level and block: leaves away from walls whose neighbours are all of the same size.
    uniform: Vec<Vec<u64>>,
}

impl Diagram {
    /// Finds the codes of all leaves, keeps them in the pyramid's field [`channels::CODE`] and prepares their
    /// power cells.
    pub fn new(pyramid: &mut Pyramid) -> Diagram {
        Diagram::with_table(pyramid, Arc::default())
    }

    /// As [`Self::new`] with the power cells that another tree has met.
    pub fn with_table(pyramid: &mut Pyramid, table: Arc<StencilTable>) -> Diagram {
        let mut diagram = Diagram { table, leaves: list_leaves(pyramid), ..Diagram::default() };
        for level in pyramid.levels_mut() {
            let uniform = encode_level(level);
            let mut codes = vec![Code::UNIFORM];
            for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
                let others = level.cells()[n].active & !uniform[n];
                let field = level.grid.channel(page, channels::CODE);
                codes.extend(bits(others).filter_map(|cell| match Kind::from_field(field[cell]) {
                    Kind::Leaf(code) => Some(code),
                    _ => None,
                }));
            }
            StencilTable::prepare(&mut diagram.table, codes);
            diagram.uniform.push(uniform);
        }
        diagram.connect(pyramid);
        diagram
    }

    /// Lists the leaves beside each.
    fn connect(&mut self, pyramid: &Pyramid) {
        let view = View { pyramid, diagram: self };
        let count = self.leaves.len();
        let parts = parallel::map_indices(parallel::chunk_count(count, LEAVES), |task| {
            let (mut beside, mut counts) = (vec![], vec![]);
            for n in parallel::chunk_range(task, LEAVES, count) {
                let before = beside.len();
                view.for_each_neighbour(self.leaves[n], |other| beside.push(view.number(other) as u32));
                counts.push((beside.len() - before) as u32);
            }
            (beside, counts)
        });
        let (mut beside, mut from) = (vec![], vec![0]);
        for (part, counts) in parts {
            beside.extend(part);
            counts.iter().for_each(|count| from.push(from[from.len() - 1] + count));
        }
        (self.beside, self.beside_from) = (beside, from);
    }

    /// Numbers of the leaves beside a leaf, in the order of its faces.
    #[inline]
    pub fn beside(&self, number: usize) -> &[u32] {
        &self.beside[self.beside_from[number] as usize..self.beside_from[number + 1] as usize]
    }

    /// All leaves in the order of their numbers, which is that of places.
    #[inline]
    pub fn leaves(&self) -> &[Place] {
        &self.leaves
    }

    /// What other trees can go on with.
    pub fn shared_table(&self) -> Arc<StencilTable> {
        self.table.clone()
    }

    /// The power cells that were met.
    #[inline]
    pub fn table(&self) -> &StencilTable {
        &self.table
    }

    /// By block of a level, the leaves away from walls whose neighbours are all of the same size: their
    /// stencil is that of a uniform grid.
    pub fn uniform(&self, level: usize) -> &[u64] {
        &self.uniform[level]
    }

    /// The power cell of a leaf, in units of its edge.
    pub fn cell(&self, level: &Level, at: [u32; 3]) -> &PowerCell {
        match Kind::from_field(level.grid.get(channels::CODE, at)) {
            Kind::Leaf(code) => self.table.get(code),
            other => panic!("no leaf at {at:?}, but {other:?}"),
        }
    }
}

fn list_leaves(pyramid: &Pyramid) -> Vec<Place> {
    let mut out = Vec::with_capacity(pyramid.active_count());
    for (l, level) in pyramid.levels().iter().enumerate() {
        let layout = level.grid.layout();
        for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
            let first = layout.first_of(page);
            let leaf = |cell: usize| Place { level: l as u32, cell: first | cell as u64 };
            out.extend(bits(level.cells()[n].active).map(leaf));
        }
    }
    out
}

/// The places around a cell that lie beyond the domain, a bit each.
pub fn outside_places(layout: &Layout, at: [u32; 3]) -> u32 {
    let inner = AXES.iter().all(|&a| at[a] > 0 && at[a] + 1 < layout.cells()[a]);
    if inner {
        return 0;
    }
    let is_outside = |offset: &[i8; 3]| !layout.contains(AXES.map(|a| at[a] as i64 + offset[a] as i64));
    (0..18).filter(|&k| is_outside(&NEIGHBOURS[k])).fold(0, |mask, k| mask | 1 << k)
}

/// The place on this side of the walls that an offset beyond them is the image of.
fn mirrored(layout: &Layout, at: [u32; 3], offset: [i8; 3]) -> [i8; 3] {
    AXES.map(|a| {
        let next = at[a] as i64 + offset[a] as i64;
        if (0..layout.cells()[a] as i64).contains(&next) { offset[a] } else { 0 }
    })
}

/// Writes the codes of a level's leaves; returns which leaves of each block are uniform.
fn encode_level(level: &mut Level) -> Vec<u64> {
    let layout = *level.grid.layout();
    let (active, ghost) = (level.active().clone(), level.ghost().clone());
    let cells = level.cells().to_vec();
    let used = level.used().to_vec();
    let uniform: Vec<u64> = {
        let of = |n: usize| {
            let own = cells[n].active;
            if own == 0 {
                return 0;
            }
            let halo = active.halo(level.grid.blocks().pages()[n]);
            // Cells beyond walls are in no set: leaves at walls are not uniform.
            NEIGHBOURS.iter().fold(own, |mask, &offset| mask & halo.at_offset(offset))
        };
        parallel::map_indices(cells.len(), of)
    };
    level.grid.for_each_block(Some(&used), [channels::CODE], |n, page, _: &Reader<64>, [code]| {
        code.fill(0.0);
        bits(uniform[n]).for_each(|cell| code[cell] = Kind::Leaf(Code::UNIFORM).to_field());
        bits(cells[n].ghost).for_each(|cell| code[cell] = Kind::Ghost.to_field());
        let others = cells[n].active & !uniform[n];
        if others == 0 {
            return;
        }
        let halos = (active.halo(page), ghost.halo(page));
        for cell in bits(others) {
            let at = layout.decode(layout.first_of(page) | cell as u64);
            code[cell] = Kind::Leaf(code_of(&layout, &halos, at, cell)).to_field();
        }
    });
    uniform
}

fn code_of(layout: &Layout, (active, ghost): &(Halo, Halo), at: [u32; 3], cell: usize) -> Code {
    let parity = AXES.iter().fold(0, |p, &a| p | (at[a] & 1) << a);
    let outward = AXES.map(|a| if parity >> a & 1 == 1 { 1 } else { -1 });
    let mut larger = 0;
    for offset in NEIGHBOURS.iter().filter(|o| (0..3).all(|a| o[a] == 0 || o[a] == outward[a])) {
        let bit = larger_bit(*offset).expect("a face or an edge");
        larger |= u32::from(ghost.bit(cell, mirrored(layout, at, *offset))) << bit;
    }
    if larger != 0 {
        return Code::with_larger(parity, larger);
    }
    let is_same = |k: &usize| active.bit(cell, mirrored(layout, at, NEIGHBOURS[*k]));
    Code::with_smaller((0..18).filter(is_same).fold(0, |mask, k| mask | 1 << k))
}
