//! How much liquid the band shows in every power cell.

use crate::band::{Band, Voxel};
use crate::channels::PHI;
use crate::neighbourhood::Code;
use crate::view::{Place, View};
use fluvial_foundation::{Vec3, parallel};

/// Voxels farther from the surface than this are on the side of all leaves around them, in edges of the leaf.
const CLEAR_LEAVES: f32 = 1.5;

/// The leaf that was asked last.
#[derive(Default)]
struct Last {
    leaf: Option<Found>,
    sums: Vec<(u32, f64)>,
}

#[derive(Clone, Copy)]
struct Found {
    leaf: Place,
    center: Vec3,
    half: f32,
    is_uniform: bool,
    number: u32,
    whole: f32,
}

impl<'a> View<'a> {
    /// Number of a leaf.
    pub fn number(&self, leaf: Place) -> usize {
        let level = self.level(leaf.level);
        level.number(level.grid.layout().decode(leaf.cell)).expect("a leaf") as usize
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

    fn find(&self, x: Vec3) -> Found {
        let leaf = self.locate(x);
        let is_uniform = self.code(leaf) == Some(Code::UNIFORM);
        Found {
            leaf,
            center: self.center(leaf),
            half: 0.5 * self.level(leaf.level).dx,
            is_uniform,
            number: self.number(leaf) as u32,
            whole: f32::from(u8::from(self.value(leaf, PHI) < 0.0)),
        }
    }
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
    let parts = band.by_page(has_solids, |last: &mut Last, Voxel { center, phi, part, open }| {
        let mut found = match last.leaf {
            Some(found) if (center - found.center).abs().max_element() < found.half => found,
            _ => view.find(center),
        };
        last.leaf = Some(found);
        if found.is_uniform || phi.abs() > CLEAR_LEAVES * 2.0 * found.half {
            if part == found.whole {
                return;
            }
        } else {
            let leaf = view.power_leaf(found.leaf, center);
            if leaf != found.leaf {
                found = view.find(view.center(leaf));
            }
        }
        let differs = f64::from((part - found.whole) * open) * voxel_m3;
        match last.sums.last_mut() {
            Some((number, sum)) if *number == found.number => *sum += differs,
            _ if differs != 0.0 => last.sums.push((found.number, differs)),
            _ => {}
        }
    });
    parts.into_iter().flat_map(|last| last.sums).for_each(|(n, differs)| content[n as usize] += differs);
    content
}
