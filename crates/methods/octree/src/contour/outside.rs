//! Liquid that ends at solids: vertices on the lines where its surface meets them, and on their edges.

use super::gradient_at_node;
use super::sheets::PAIRS;
use fluvial_foundation::planes::{Planes, end_of_liquid, has_kink, normal_beside_edge};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

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
            let depth_on_way = has_edge.then_some(|t| -(self.distance)(from.lerp(to, t)));
            let phi = [inside, outside].map(|cell| phi_cell[cell as usize]);
            let (way, is_solid) = end_of_liquid(phi, [depth(inside), depth(outside)], depth_on_way);
            let x = from.lerp(to, way.clamp(0.0, 1.0));
            sum += x - bounds.min;
            crossings[count] = (x, tree.cell_dx(inside as usize), is_solid);
            (count, on_solid) = (count + 1, on_solid + usize::from(is_solid));
        }
        let mean = sum / count as f32;
        if on_solid == 0 || on_solid == count && !has_edge {
            return Some((bounds.min + mean).clamp(bounds.min, bounds.max));
        }
        let normal = |x: Vec3, dx: f32| normal_beside_edge(|x| -(self.distance)(x), x, dx);
        let (mut planes, slope) =
            (Planes::default(), gradient_at_node(tree, phi_cell, cells).normalize_or_zero());
        for &(x, dx, is_solid) in &crossings[..count] {
            planes.add(x - bounds.min, if is_solid { normal(x, dx) } else { slope });
        }
        Some((bounds.min + planes.nearest(mean)).clamp(bounds.min, bounds.max))
    }

    /// Does a solid have an edge between the cells? Cells of several sizes are taken to have one.
    fn has_edge(&self, tree: &Octree, cells: &[u32; 8]) -> bool {
        let dx = tree.cell_dx(cells[0] as usize);
        if cells.iter().any(|&cell| tree.cell_dx(cell as usize) != dx) {
            return true;
        }
        has_kink(&cells.map(|cell| self.distance_cell[cell as usize]), Vec3::splat(dx))
    }
}
