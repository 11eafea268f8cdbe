//! How much liquid the band shows in every power cell.

use crate::band::{self, Band, PageCubes, Voxel};
use crate::channels::PHI;
use crate::neighbourhood::Code;
use crate::view::{Place, View};
use fluvial_foundation::{Vec3, parallel};

/// Voxels farther from the surface than this are on the side of all leaves around them, in edges of the leaf.
const CLEAR_LEAVES: f32 = 1.5;
/// Pages per task.
const PAGES: usize = 16;

/// A leaf with what voxels are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The leaf.
    pub leaf: Place,
    /// Its number.
    pub number: u32,
    /// 1 where its centre is liquid, else 0.
    pub whole: f32,
    dx: f32,
    is_uniform: bool,
}

impl<'a> View<'a> {
    /// Number of a leaf.
    pub fn number(&self, leaf: Place) -> usize {
        self.level(leaf.level).number_at(leaf.cell).expect("a leaf") as usize
    }

    /// Volume of a leaf's power cell, m3.
    pub fn power_volume(&self, leaf: Place) -> f64 {
        let code = self.code(leaf).expect("a leaf");
        self.diagram.table().get(code).volume * f64::from(self.level(leaf.level).dx).powi(3)
    }

    /// The leaf whose power cell holds a point: that of the least power `|x - c|^2 - 3/4 dx^2` [power §4.1] among the leaf around it and
    /// those beside.
    pub fn power_leaf(&self, around: Place, x: Vec3) -> Place {
        let power =
            |leaf: Place| self.center(leaf).distance_squared(x) - 0.75 * self.level(leaf.level).dx.powi(2);
        let (mut nearest, mut least) = (around, power(around));
        self.for_each_face(around, |face| {
            if let Some(other) = face.other {
                let power = power(other);
                if power < least {
                    (nearest, least) = (other, power);
                }
            }
        });
        nearest
    }

    fn find(&self, leaf: Place) -> Found {
        Found {
            leaf,
            number: self.number(leaf) as u32,
            whole: f32::from(u8::from(self.value(leaf, PHI) < 0.0)),
            dx: self.level(leaf.level).dx,
            is_uniform: self.code(leaf) == Some(Code::UNIFORM),
        }
    }
}

/// Calls `body(memory of the task, leaf, voxel)` for the voxels that may differ from what the leaf that holds their centre is as a whole, full or
/// empty, or, at transitions, lie in the power cell of another leaf. Returns the memories in the order of pages.
pub fn differing<M: Default + Send>(
    view: View,
    band: &Band,
    has_solids: bool,
    body: impl Fn(&mut M, &Found, Voxel) + Sync,
) -> Vec<M> {
    let pages = band.grid.blocks().pages();
    let layout = band.grid.layout();
    let cubes = PageCubes::new(band, view.pyramid.shape().dx);
    let of_page = |memory: &mut M, page: u64| {
        let (first, phi) = (layout.decode(layout.first_of(page)), band.grid.channel(page, band::PHI));
        for (low, at) in cubes.of_page(first) {
            let (least, most) = range(phi, cubes, low);
            if least > most {
                continue;
            }
            let found = view.find(view.leaf_at(at));
            let agrees = if found.whole == 0.0 { least >= band.dx } else { most <= -band.dx };
            let clear = CLEAR_LEAVES * found.dx;
            if agrees && (found.is_uniform || least > clear || most < -clear) {
                continue;
            }
            // Whole voxels on the side of a leaf whose power cell is itself do not differ from it.
            let differs = |phi: f32| {
                let agrees = if found.whole == 0.0 { phi >= band.dx } else { phi <= -band.dx };
                phi != 0.0 && !(found.is_uniform && agrees)
            };
            for cell in cubes.rows(low).flatten().filter(|&cell| differs(phi[cell])) {
                body(memory, &found, band.voxel(page, cell, has_solids));
            }
        }
    };
    parallel::map_indices(parallel::chunk_count(pages.len(), PAGES), |task| {
        let mut memory = M::default();
        let pages = &pages[parallel::chunk_range(task, PAGES, pages.len())];
        pages.iter().for_each(|&page| of_page(&mut memory, page));
        memory
    })
}

/// Least and largest distance of the voxels in a cube of a page; the least is larger where there are none.
#[inline]
fn range(phi: &[f32; 256], cubes: PageCubes, low: usize) -> (f32, f32) {
    let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
    for row in cubes.rows(low) {
        for &phi in &phi[row] {
            least = least.min(if phi == 0.0 { f32::INFINITY } else { phi });
            most = most.max(if phi == 0.0 { f32::NEG_INFINITY } else { phi });
        }
    }
    (least, most)
}

/// Adds `differs(voxel)`, which is zero far from the surface, to what the leaf that holds the voxel's centre has, by number of leaf.
pub fn add_by_leaf(
    out: &mut [f32],
    view: View,
    band: &Band,
    has_solids: bool,
    differs: impl Fn(&Voxel) -> f64 + Sync,
) {
    let parts = band.by_page(has_solids, |sums: &mut Vec<(u32, f64)>, voxel| {
        let differs = differs(&voxel);
        if differs != 0.0 {
            sums.push((view.number(view.locate(voxel.center)) as u32, differs));
        }
    });
    parts.into_iter().flatten().for_each(|(n, differs)| out[n as usize] += differs as f32);
}

/// Liquid in every power cell, m3, by number of leaf. A leaf counts as full or empty by its own distance, times `open_m3(n, leaf)`, and what its voxels
/// show to differ from that is added: voxels belong to the power cell that their centre lies in.
/// Test: `power_cells_hold_all_liquid`.
pub fn liquid(
    view: View,
    band: &Band,
    leaves: &[Place],
    has_solids: bool,
    open_m3: impl Fn(Place) -> f64 + Sync + Send,
) -> Vec<f64> {
    let mut content = parallel::map_indices(leaves.len(), |n| {
        if view.value(leaves[n], PHI) < 0.0 { open_m3(leaves[n]) } else { 0.0 }
    });
    let voxel_m3 = f64::from(band.dx).powi(3);
    let parts = differing(view, band, has_solids, |sums: &mut Vec<(u32, f64)>, found, voxel| {
        let Voxel { center, phi, part, open } = voxel;
        let is_own = found.is_uniform || phi.abs() > CLEAR_LEAVES * found.dx;
        let (mut number, mut whole) = (found.number, found.whole);
        if !is_own {
            let leaf = view.power_leaf(found.leaf, center);
            if leaf != found.leaf {
                let other = view.find(leaf);
                (number, whole) = (other.number, other.whole);
            }
        }
        let differs = f64::from((part - whole) * open) * voxel_m3;
        match sums.last_mut() {
            Some((last, sum)) if *last == number => *sum += differs,
            _ if differs != 0.0 => sums.push((number, differs)),
            _ => {}
        }
    });
    parts.into_iter().flatten().for_each(|(n, differs)| content[n as usize] += differs);
    content
}
