//! Which pages a band has, and how the smallest leaves cut them.

use super::Band;
use fluvial_foundation::{AXES, Aabb, Vec3, parallel};

/// The pages of a band that `may_hold` does not rule out, ascending. It is asked for boxes that shrink: first for
/// the whole range, then for the eight parts of what it has not ruled out.
pub fn pages_near(band: &Band, may_hold: impl Fn(Aabb) -> bool + Sync) -> Vec<u64> {
    let layout = band.grid.layout();
    let count = AXES.map(|a| layout.cells()[a].div_ceil(layout.block_side(a)));
    let whole = count.iter().copied().max().unwrap_or(1).next_power_of_two();
    let side = Vec3::from_array(AXES.map(|a| layout.block_side(a) as f32 * band.dx));
    let mut boxes = vec![[0u32; 3]];
    let mut size = whole;
    loop {
        let kept = parallel::map_indices(boxes.len(), |n| {
            let low = boxes[n];
            let inside = AXES.iter().all(|&a| low[a] < count[a]);
            let min = band.min + side * Vec3::from_array(low.map(|v| v as f32));
            inside && may_hold(Aabb { min, max: min + side * size as f32 })
        });
        let kept = boxes.iter().zip(kept).filter(|(_, keep)| *keep).map(|(low, _)| *low);
        if size == 1 {
            let page = |low: [u32; 3]| {
                layout.page(layout.encode(AXES.map(|a| i64::from(low[a] * layout.block_side(a)))))
            };
            let mut pages: Vec<u64> = kept.map(page).collect();
            pages.sort_unstable();
            return pages;
        }
        size /= 2;
        boxes = kept
            .flat_map(|low| (0..8u32).map(move |n| [0, 1, 2].map(|a| low[a] + size * (n >> a & 1))))
            .collect();
    }
}

/// How the smallest leaves cut pages into cubes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageCubes {
    /// Voxels along a leaf.
    side: u32,
    /// Voxels of a cube along each axis; a leaf may be larger than a page.
    sides: [u32; 3],
    counts: [u32; 3],
}

impl PageCubes {
    pub fn new(band: &Band, smallest_m: f32) -> PageCubes {
        let (side, layout) = ((smallest_m / band.dx).round() as u32, band.grid.layout());
        let sides = AXES.map(|a| side.min(layout.block_side(a)));
        PageCubes { side, sides, counts: AXES.map(|a| layout.block_side(a) / sides[a]) }
    }

    /// Of every cube of a page: its first voxel, and the cell of the finest level that it lies in.
    pub fn of_page(self, first: [u32; 3]) -> impl Iterator<Item = (usize, [u32; 3])> {
        let [x, y, z] = self.counts;
        (0..x * y * z).map(move |n| {
            let at = [n % x, n / x % y, n / (x * y)];
            let low = AXES.map(|a| at[a] * self.sides[a]);
            ((low[0] + 8 * low[1] + 64 * low[2]) as usize, AXES.map(|a| (first[a] + low[a]) / self.side))
        })
    }

    /// First voxels of a cube's rows, and how long these are.
    pub fn rows(self, low: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let (length, y) = (self.sides[0] as usize, self.sides[1] as usize);
        (0..y * self.sides[2] as usize).map(move |n| {
            let row = low + 8 * (n % y) + 64 * (n / y);
            row..row + length
        })
    }
}

impl Band {
    /// The committed pages and all within `rings` of them, ascending.
    pub fn pages_around(&self, rings: usize) -> Vec<u64> {
        let layout = self.grid.layout();
        let steps = layout.page_steps();
        let cells = layout.cells();
        let mut pages = self.grid.blocks().pages().to_vec();
        for _ in 0..rings {
            let around = |n: usize| steps.map(|step| layout.add_pages(pages[n], step));
            let mut next: Vec<u64> =
                parallel::map_indices(pages.len(), around).into_iter().flatten().collect();
            next.sort_unstable();
            next.dedup();
            let is_inside = |page: &u64| {
                let low = layout.decode(layout.first_of(*page));
                AXES.iter().all(|&a| low[a] < cells[a])
            };
            next.retain(is_inside);
            pages = next;
        }
        pages
    }
}
