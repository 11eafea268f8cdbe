//! Liquid that ends at solids: vertices on the lines where its surface meets them, and on their edges.

use super::gradient_at_node;
use super::sheets::PAIRS;
use fluvial_foundation::planes::{Planes, root};
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// By how much slopes of the solids' distance along two edges differ where a solid has an edge between them.
const KINK: f32 = 0.2;
/// Distance over which the solids' normal is taken, in edges of a cell.
const CLOSE: f32 = 0.02;

/// Solids that the liquid must not be drawn inside of.
#[derive(Clone, Copy)]
pub struct SolidClip<'a> {
    /// Distance to the solids at the cells' centres, negative inside, metres.
    pub distance_cell: &'a [f32],
    /// The same anywhere; how far it is right beyond a cell or two does not matter.
    pub distance: &'a (dyn Fn(Vec3) -> f32 + Sync),
}

impl SolidClip<'_> {
    /// The vertex of a sheet through a node whose edges between cells are `ends`, first those inside the liquid: the mean of where the
    /// liquid ends on them, or where the solids and its surface, or two sides of a solid, meet. None at the domain's walls.
    pub(super) fn vertex(
        &self,
        tree: &Octree,
        phi_cell: &[f32],
        cells: &[u32; 8],
        ends: impl Iterator<Item = (u32, u32)>,
    ) -> Option<Vec3> {
        if cells.contains(&OUTSIDE) {
            return None;
        }
        let depth = |cell: u32| -self.distance_cell[cell as usize];
        let bounds = cells.iter().fold(Aabb::EMPTY, |all, &c| all.include(tree.cell_center(c as usize)));
        let has_edge = self.has_edge(tree, cells);
        let mut crossings = [(Vec3::ZERO, 0.0, false); PAIRS];
        let (mut count, mut on_solid, mut sum) = (0, 0, Vec3::ZERO);
        for (inside, outside) in ends {
            let (from, to) = (tree.cell_center(inside as usize), tree.cell_center(outside as usize));
            // Far from where it begins if a field does not end it.
            let way = |low: f32, high: f32| if high >= 0.0 { low / (low - high) } else { f32::INFINITY };
            let to_surface = way(phi_cell[inside as usize], phi_cell[outside as usize]);
            let mut to_solid = way(depth(inside), depth(outside));
            if has_edge && to_solid <= 1.0 {
                to_solid = root(|t| -(self.distance)(from.lerp(to, t)), depth(inside), depth(outside));
            }
            let x = from.lerp(to, to_solid.min(to_surface).clamp(0.0, 1.0));
            sum += x - bounds.min;
            let is_solid = to_solid < to_surface;
            crossings[count] = (x, tree.cell_dx(inside as usize), is_solid);
            (count, on_solid) = (count + 1, on_solid + usize::from(is_solid));
        }
        let mean = sum / count as f32;
        if on_solid == 0 || on_solid == count && !has_edge {
            return Some((bounds.min + mean).clamp(bounds.min, bounds.max));
        }
        let (mut planes, slope) =
            (Planes::default(), gradient_at_node(tree, phi_cell, cells).normalize_or_zero());
        for &(x, dx, is_solid) in &crossings[..count] {
            planes.add(x - bounds.min, if is_solid { self.normal(x, CLOSE * dx) } else { slope });
        }
        Some((bounds.min + planes.nearest(mean)).clamp(bounds.min, bounds.max))
    }

    /// Does a solid have an edge between the cells? Its distance then grows along parallel edges by different amounts. Cells of
    /// several sizes are taken to have one.
    fn has_edge(&self, tree: &Octree, cells: &[u32; 8]) -> bool {
        let dx = tree.cell_dx(cells[0] as usize);
        if cells.iter().any(|&cell| tree.cell_dx(cell as usize) != dx) {
            return true;
        }
        let grows = |low: usize, axis: usize| {
            self.distance_cell[cells[low | 1 << axis] as usize] - self.distance_cell[cells[low] as usize]
        };
        AXES.into_iter().any(|axis| {
            let slopes = (0..8).filter(|low| low >> axis & 1 == 0).map(|low| grows(low, axis));
            let (least, most) =
                slopes.fold((f32::MAX, f32::MIN), |(least, most), by| (least.min(by), most.max(by)));
            most - least > KINK * dx
        })
    }

    /// The normal of the solid next to a point, into it.
    fn normal(&self, x: Vec3, h: f32) -> Vec3 {
        let distance = (self.distance)(x);
        let along = |axis: Vec3| distance - (self.distance)(x + h * axis);
        Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)).normalize_or_zero()
    }
}
