//! What every tree must satisfy.

use super::{Octree, wide};
use fluvial_foundation::{AXES, parallel};

impl Octree {
    /// Panics where a leaf touches one that is more than twice as large, by a face, an edge or a corner, and
    /// where leaves do not fill the domain. Runs after every build with debug assertions.
    #[inline]
    pub fn check(&self) {
        let finest = |level: usize| 1usize << (3 * level);
        let volume: usize = (0..self.shape.levels).map(|l| self.cells_of(l).len() * finest(l)).sum();
        assert_eq!(volume, self.shape.cells(0).iter().product(), "leaves fill the domain");
        let rows = parallel::chunk_count(self.leaves.len(), parallel::CHUNK);
        parallel::for_each_index(rows, |chunk| {
            for cell in parallel::chunk_range(chunk, parallel::CHUNK, self.leaves.len()) {
                self.check_neighbours(cell);
            }
        });
    }

    fn check_neighbours(&self, cell: usize) {
        let place = self.leaves[cell];
        let (level, at) = (place.level as usize, wide(place.at));
        if level + 1 >= self.shape.levels {
            return;
        }
        let cells = self.shape.cells(level);
        for n in (0..27u32).filter(|&n| n != 13) {
            let offset = [n % 3, n / 3 % 3, n / 9];
            let next = AXES.map(|a| (at[a] + offset[a]).wrapping_sub(1));
            if AXES.iter().any(|&a| next[a] as usize >= cells[a]) {
                continue;
            }
            let parent = next.map(|v| v >> 1);
            let graded = self.leaf_at(level + 1, parent).is_some() || self.is_divided(level + 1, parent);
            assert!(graded, "leaf {place:?} touches one more than twice as large at {next:?}");
        }
    }
}
