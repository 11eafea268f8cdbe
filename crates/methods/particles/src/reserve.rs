//! Liquid that no particle holds: the deep cells, and what is on its way between them and the particles.

use fluvial_foundation::parallel;
use std::collections::BTreeMap;

/// The region of cells without liquid.
pub const NO_REGION: u32 = u32::MAX;

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
    /// Volume that particles are yet to take up, wherever they are; negative: that they hold beyond their liquid's.
    pub rest_m3: f64,
    /// The same of every connected region of liquid. One pool for all would let liquid through walls: what crowded
    /// particles give up on one side of a plate came out on the other, against the head there. Empty where regions are not told apart.
    pub rest_of_region_m3: Vec<f64>,
    /// The region of each cell, [`NO_REGION`] outside the liquid; empty where they are not told apart.
    pub region_cell: Vec<u32>,
    /// Volume that sources have brought and no particle holds yet.
    pub inflow_m3: f64,
}

impl Reserve {
    /// An empty one.
    pub fn new(cells: usize) -> Self {
        Reserve { deep_cell: vec![0; cells], ..Reserve::default() }
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
        particle_m3 * (particles as f64 + PER_CELL as f64 * deep) + self.all_rest_m3() + self.inflow_m3
    }

    /// Volume that particles are yet to take up anywhere, m3.
    pub fn all_rest_m3(&self) -> f64 {
        self.rest_m3 + self.rest_of_region_m3.iter().sum::<f64>()
    }

    /// Tells `regions` of liquid apart from now on, numbered by `region_cell`. What a region of before has to give goes to those that
    /// have most of their cells from it, by the number of these; where there is none, to those that have cells of it; and where none
    /// has, and at first, to all by their cells. (A plate that passes a layer of cells takes nothing along.) Without regions all is one.
    /// Test: `the_rest_of_a_region_stays_in_it`.
    pub fn tell_regions_apart(&mut self, region_cell: &[u32], regions: usize) {
        if regions == 0 {
            self.rest_m3 = self.all_rest_m3();
            self.rest_of_region_m3.clear();
            self.region_cell.clear();
            return;
        }
        let before = std::mem::replace(&mut self.rest_of_region_m3, vec![0.0; regions]);
        let mut common: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        // Cells beside each other are mostly in the same two regions.
        let pairs = self.region_cell.iter().zip(region_cell);
        let mut both = pairs.filter(|&(&old, &new)| old != NO_REGION && new != NO_REGION).peekable();
        while let Some(pair) = both.next() {
            let mut cells = 1.0;
            while both.next_if_eq(&pair).is_some() {
                cells += 1.0;
            }
            *common.entry((*pair.0 as usize, *pair.1 as usize)).or_default() += cells;
        }
        let mut most = vec![0.0f64; regions];
        common.iter().for_each(|(&(_, new), &cells)| most[new] = most[new].max(cells));
        for (old, rest_m3) in before.into_iter().enumerate() {
            let all = || common.range((old, 0)..(old + 1, 0)).map(|(&(_, new), &cells)| (new, cells));
            let heirs: Vec<(usize, f64)> = all().filter(|&(new, cells)| cells == most[new]).collect();
            let heirs = if heirs.is_empty() { all().collect() } else { heirs };
            let cells: f64 = heirs.iter().map(|(_, cells)| cells).sum();
            if heirs.is_empty() {
                self.rest_m3 += rest_m3;
            }
            heirs.iter().for_each(|(new, part)| self.rest_of_region_m3[*new] += rest_m3 * part / cells);
        }
        let cells = || region_cell.iter().filter(|region| **region != NO_REGION);
        let share_m3 = std::mem::take(&mut self.rest_m3) / cells().count().max(1) as f64;
        cells().for_each(|region| self.rest_of_region_m3[*region as usize] += share_m3);
        self.region_cell.clear();
        self.region_cell.extend_from_slice(region_cell);
    }

    /// Puts a volume into the pool of a cell.
    pub fn add_rest(&mut self, cell: usize, volume_m3: f64) {
        match self.region_of(cell) {
            Some(region) => self.rest_of_region_m3[region] += volume_m3,
            None => self.rest_m3 += volume_m3,
        }
    }

    /// The pool of a cell: that of its region, or the one of all.
    #[inline]
    pub fn region_of(&self, cell: usize) -> Option<usize> {
        self.region_cell.get(cell).filter(|region| **region != NO_REGION).map(|region| *region as usize)
    }
}
