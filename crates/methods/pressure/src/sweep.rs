//! Several half sweeps in one pass through memory.
//!
//! A stage on a slab needs the stage before on the slabs beside it. Tiles of whole slabs run all stages as a
//! wave, each stage one slab behind the one before, so that a slab stays in cache until it is done; a stage
//! keeps away from a border between tiles by as many slabs as its number. What is left around every border is
//! done in a second phase, by tiles that are centred on the borders. Both phases are parallel, and the result
//! is the same as stage after stage over the whole level.

use crate::layout::{Split, window_mut};
use crate::operator::Operator;
use crate::storage::split;
use crate::transfer::Transfer;
use fluvial_foundation::parallel;
use std::ops::Range;

/// Slabs of a tile.
const TILE: usize = 16;
/// Stages at most: around a border they reach over half a tile.
const STAGES: usize = TILE / 2 - 2;

/// What is done to a slab. The first stage of a list may not read neighbours.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    /// Gauss-Seidel on a colour, from zero.
    Start(usize),
    /// Gauss-Seidel on a colour.
    Relax(usize),
    /// Residual of colour 0, restricted along x.
    Residual,
    /// Adds the coarse correction to colour 0.
    Prolong,
    /// Sets colour 1 to the coarse solution; colour 0 is to be relaxed next.
    Guess,
    /// `x . A x` and `x . b`; colour 0 must have been relaxed last.
    Energy,
}

/// A level's vectors while its stages run.
pub(crate) struct Sweep<'a> {
    pub op: &'a Operator,
    pub b: &'a Split,
    /// To the next coarser level; needed by [`Stage::Residual`], [`Stage::Prolong`] and [`Stage::Guess`].
    pub down: Option<&'a Transfer>,
}

/// The arrays that stages write.
pub(crate) struct Target<'a> {
    pub x: &'a mut Split,
    /// Residual of colour 0, restricted along x: for every fine row a row of coarse places.
    pub restricted: &'a mut [f32],
    /// `x . A x` and `x . b` of every slab.
    pub energy: &'a mut [[f64; 2]],
}

/// The part of the target that belongs to a range of slabs.
struct Tile<'a> {
    slabs: Range<usize>,
    /// First address.
    offset: usize,
    x: [&'a mut [f32]; 2],
    restricted: &'a mut [f32],
    energy: &'a mut [[f64; 2]],
}

impl Sweep<'_> {
    /// Runs the stages in order.
    pub fn run(&self, stages: &[Stage], target: &mut Target) {
        assert!(stages.len() <= STAGES);
        target.energy.fill([0.0; 2]);
        let slabs = self.op.layout.cells[2];
        let borders = if self.op.storage.is_serial() { 0 } else { (slabs / TILE).max(1) - 1 };
        // What the borders do not reach.
        self.phase((1..=borders).map(|n| n * TILE), stages, target, |tile, stage| {
            let low = if tile.start == 0 { 0 } else { tile.start + stage };
            low..if tile.end == slabs { slabs } else { tile.end - stage }
        });
        if borders > 0 {
            // What is left, in tiles around the borders; the first and the last of them touch none.
            let cuts = (0..=borders).map(|n| n * TILE + TILE / 2);
            self.phase(cuts, stages, target, |tile, stage| {
                if tile.start == 0 || tile.end == slabs {
                    return 0..0;
                }
                let border = tile.start + TILE / 2;
                border - stage..border + stage
            });
        }
    }

    /// All stages over tiles that are cut at the given slabs; `range(tile, stage)` are the slabs it does.
    fn phase(
        &self,
        cuts: impl Iterator<Item = usize> + Clone,
        stages: &[Stage],
        target: &mut Target,
        range: impl Fn(&Range<usize>, usize) -> Range<usize> + Sync + Send,
    ) {
        let (l, storage) = (&self.op.layout, &self.op.storage);
        let ends = cuts.clone().map(|k| storage.row_start(l.slab_row(k))).chain([storage.len()]);
        let [x0, x1] = target.x.each_mut().map(|v| &mut v[..]);
        let arrays = split([x0, x1, target.restricted], ends);
        let energy = split([target.energy], cuts.clone().chain([l.cells[2]]));
        let (mut start, mut offset) = (0, 0);
        let mut tiles: Vec<Tile> = (arrays.into_iter().zip(energy))
            .zip(cuts.chain([l.cells[2]]))
            .map(|(([x0, x1, restricted], [energy]), end)| {
                let slabs = std::mem::replace(&mut start, end)..end;
                let next = offset + x0.len();
                let offset = std::mem::replace(&mut offset, next);
                Tile { slabs, offset, x: [x0, x1], restricted, energy }
            })
            .collect();
        let wave = |_: usize, tile: &mut [Tile]| {
            let tile = &mut tile[0];
            for front in tile.slabs.start..tile.slabs.end + stages.len() {
                for (n, &stage) in stages.iter().enumerate().take(front + 1) {
                    if range(&tile.slabs, n).contains(&(front - n)) {
                        self.slab(stage, tile, front - n);
                    }
                }
            }
        };
        if tiles.len() == 1 {
            wave(0, &mut tiles);
        } else {
            parallel::for_each_chunk_mut(&mut tiles, 1, wave);
        }
    }

    /// One stage on one slab.
    fn slab(&self, stage: Stage, tile: &mut Tile, k: usize) {
        let (op, b, offset) = (self.op, self.b, tile.offset);
        let energy = &mut tile.energy[k - tile.slabs.start];
        let [x0, x1] = tile.x.each_mut().map(|v| &mut **v);
        let colours = |colour: usize, x0, x1| if colour == 0 { (x0, x1) } else { (x1, x0) };
        let down = || self.down.expect("a coarser level");
        match stage {
            Stage::Start(colour) => {
                let (out, _): (&mut [f32], _) = colours(colour, x0, x1);
                op.slab(k).for_each(|row| op.relax_row_from_zero((out, offset), b, row, colour));
            }
            Stage::Relax(colour) => {
                let (out, other): (&mut [f32], &mut [f32]) = colours(colour, x0, x1);
                op.slab(k).for_each(|row| op.relax_row((out, offset), (other, offset), b, row, colour));
            }
            Stage::Residual => {
                for row in op.slab(k) {
                    op.residual_row((tile.restricted, offset), x0, (x1, offset), b, row, 0);
                    down().restrict_along_x(tile.restricted, offset, row);
                }
            }
            Stage::Prolong => {
                op.slab(k).for_each(|row| down().prolong_row(x0, offset, op, row, 0));
            }
            Stage::Guess => {
                for row in op.slab(k) {
                    row.spans.iter().for_each(|s| window_mut(x1, s.at() - offset, s.len()).fill(0.0));
                    down().prolong_row(x1, offset, op, row, 1);
                }
            }
            Stage::Energy => {
                for row in op.slab(k) {
                    // Colour 0 has just been relaxed: there `A x = b`.
                    let xb0 = op.dot_row(x0, offset, b, row, 0);
                    let [xax1, xb1] = op.energy_row(x1, (x0, offset), b, row, 1);
                    *energy = [energy[0] + (xb0 + xax1), energy[1] + (xb0 + xb1)];
                }
            }
        }
    }
}
