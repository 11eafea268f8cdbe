//! Thin solids: their sides on a lattice of finest cells, where the tree is as fine as it can be.

use crate::state::{Boundaries, Model, Start, Step};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::octree::Shape as TreeShape;
use fluvial_grids::sides::NEAR_CELLS;
use fluvial_grids::{Octree, UniformGrid};
use fluvial_octree::sides::TreeSides;
use fluvial_solids::{Motion, Shape, SideChange, SolidFields, rasterize, side_changes};
use fluvial_solver_interface::Setup;
use std::sync::Arc;

/// The tree is finest this far from thin solids, in finest cells: where sides matter, and as far as a solid may
/// move before the tree is built anew.
pub(crate) const FINEST_AROUND_CELLS: f32 = NEAR_CELLS as f32 + 2.5;
/// A solid counts as thin when it would be so on a grid coarser by this much: at other places and angles it may
/// look thinner than at the start.
const MARGIN: f32 = 1.3;

/// Most finest cells around a thin solid. The lattice is dense, some 50 bytes a cell: a solid in a larger box keeps
/// the openings that nodes give it, and may leak where it is thinner than two finest cells.
const MOST_CELLS: usize = 1 << 24;

/// All solids on a lattice of finest cells.
#[derive(Clone, Debug)]
pub(crate) struct FineSolids {
    pub grid: UniformGrid,
    /// The lattice's first cell among the tree's finest ones.
    pub offset: [u32; 3],
    pub fields: SolidFields,
}

/// Which solids are too thin for the finest cells somewhere.
pub(crate) fn find_thin(setup: &Setup, shape: &TreeShape) -> Vec<bool> {
    let is_thin = |body: &Shape, motion: &Motion, dx: f32| {
        let bounds = motion.pose(0.0).world_bounds(body.bounds());
        // A moving solid has its sides wherever it may come to.
        let around = if motion.is_static() { bounds } else { shape.bounds() };
        let finest = TreeShape { dx, ..*shape };
        if cells_around(&finest, around, shape.bounds()).0.cell_count() > MOST_CELLS {
            return false;
        }
        let (grid, _) = cells_around(&finest, bounds, shape.bounds());
        let mut fields = SolidFields::default();
        rasterize(&mut fields, &[(body, motion)], [true; 6], &grid, 0.0);
        !fields.sides.is_empty()
    };
    let of = |s: &fluvial_solver_interface::Solid| {
        [1.0, MARGIN].iter().any(|m| is_thin(&s.shape, &s.motion, m * shape.dx))
    };
    let thin: Vec<bool> = setup.solids.iter().map(of).collect();
    // They share one lattice.
    let boxes = setup.solids.iter().zip(&thin).filter(|(_, thin)| **thin);
    let together = boxes.map(|(s, _)| s.motion.pose(0.0).world_bounds(s.shape.bounds()));
    let around =
        if setup.has_moving_solids() { shape.bounds() } else { together.fold(Aabb::EMPTY, Aabb::union) };
    let fits = cells_around(shape, around, shape.bounds()).0.cell_count() <= MOST_CELLS;
    thin.iter().map(|&thin| thin && fits).collect()
}

/// The finest cells around a box, as far as the domain goes, and the first of them.
fn cells_around(shape: &TreeShape, around: Aabb, domain: Aabb) -> (UniformGrid, [u32; 3]) {
    let wide = around.expand((FINEST_AROUND_CELLS + 1.0) * shape.dx);
    let (low, high) = (wide.min.max(domain.min), wide.max.min(domain.max));
    let first = ((low - domain.min) / shape.dx).floor().max(Vec3::ZERO);
    let end = ((high - domain.min) / shape.dx).ceil();
    let all = ((domain.max - domain.min) / shape.dx).round();
    let cells = std::array::from_fn(|a| (end[a].min(all[a]) - first[a]).max(2.0) as usize);
    let offset = std::array::from_fn(|a| first[a] as u32);
    (UniformGrid { min: domain.min + shape.dx * first, cells, dx: shape.dx }, offset)
}

impl Model {
    /// All solids around the thin ones at a moment; none where no solid is thin. What is known of an earlier
    /// moment saves work.
    pub fn fine_solids(&self, time_s: f64, known: Option<&Arc<FineSolids>>) -> Option<Arc<FineSolids>> {
        if !self.thin.contains(&true) {
            return None;
        }
        let is_moving = self.setup.has_moving_solids();
        if let Some(known) = known.filter(|_| !is_moving) {
            return Some(known.clone());
        }
        let mut fine = known.map_or_else(
            || {
                let thin = self.setup.solids.iter().zip(&self.thin).filter(|(_, thin)| **thin);
                let bounds = thin.map(|(s, _)| s.motion.pose(time_s).world_bounds(s.shape.bounds()));
                let domain = self.shape.bounds();
                let around = if is_moving { domain } else { bounds.fold(Aabb::EMPTY, Aabb::union) };
                let (grid, offset) = cells_around(&self.shape, around, domain);
                FineSolids { grid, offset, fields: SolidFields::default() }
            },
            |known| FineSolids::clone(known),
        );
        let solids: Vec<(&Shape, &Motion)> =
            self.setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
        rasterize(&mut fine.fields, &solids, self.setup.open_walls(), &fine.grid, time_s);
        Some(Arc::new(fine))
    }
}

impl Boundaries {
    /// The sides of thin solids.
    pub fn sides(&self) -> TreeSides<'_> {
        self.fine.as_deref().map_or(TreeSides::NONE, FineSolids::sides)
    }

    /// Finest leaves near thin solids have the openings of their own side.
    pub fn open_on_sides(&mut self, tree: &Octree) {
        let Some(fine) = self.fine.clone() else { return };
        let (sides, cells) = (fine.sides(), fine.grid.cell_centers());
        for leaf in tree.cells_of(0) {
            let Some(at) = sides.near_place(tree, leaf) else { continue };
            self.open_volume[leaf] = fine.fields.open_volume[cells.index(at[0], at[1], at[2])];
            for (side, &face) in tree.cell_faces()[leaf].iter().enumerate() {
                let (axis, up, face) = (side / 2, side % 2, face as usize);
                if tree.face_places()[face].level == 0 {
                    let faces = fine.grid.faces(axis);
                    let at = faces.index(at[0], at[1], at[2]) + up * faces.stride(axis);
                    self.open_area[face] = fine.fields.open_area[axis][at];
                }
            }
        }
    }
}

impl FineSolids {
    pub fn sides(&self) -> TreeSides<'_> {
        TreeSides { sides: &self.fields.sides, cells: self.grid.cell_centers(), offset: self.offset }
    }
}

/// The thin solids during a step.
pub(crate) struct ThinSolids {
    /// All solids around them at the end of the step; none where no solid is thin.
    pub fine: Option<Arc<FineSolids>>,
    /// The cells that one of them passes on the way.
    pub changes: Vec<SideChange>,
}

impl ThinSolids {
    /// The solids around thin ones, where one of these passes cells.
    pub fn passing(&self) -> Option<&FineSolids> {
        self.fine.as_deref().filter(|_| !self.changes.is_empty())
    }

    /// Moves particles out of the way of passing solids.
    pub fn drive(&self, x: &mut [Vec3]) {
        let Some(fine) = self.passing() else { return };
        let refuge = |cell: usize| {
            let found = self.changes.binary_search_by_key(&(cell as u32), |change| change.cell).ok()?;
            self.changes[found].refuge.map(|cell| cell as usize)
        };
        fluvial_particles::flee(x, &fine.fields.sides, &fine.grid, refuge);
    }
}

impl Step<'_> {
    /// The liquid that the step begins with: sinks have taken theirs, and cells that a thin solid passes have what is on
    /// their new side.
    pub fn begin(&self, start: &mut Start) -> ThinSolids {
        let thin = self.thin_solids();
        self.begin_with_sinks(start);
        self.change_sides(start, &thin);
        thin
    }

    fn thin_solids(&self) -> ThinSolids {
        let (setup, time_s) = (&self.model.setup, self.old.time_s);
        let old = self.old.boundaries.fine.as_ref();
        let new = self.model.fine_solids(time_s + self.dt_s, old);
        let changes = match (old, &new) {
            (Some(old), Some(new)) if setup.has_moving_solids() => {
                let solids: Vec<(&Shape, &Motion)> =
                    setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
                let times = [time_s, time_s + self.dt_s];
                side_changes([&old.fields, &new.fields], &solids, times, &new.grid)
            }
            _ => Vec::new(),
        };
        ThinSolids { fine: new, changes }
    }

    /// Cells that a thin solid passes in the step begin it with what is on their new side.
    fn change_sides(&self, start: &mut Start, thin: &ThinSolids) {
        let Some(fine) = thin.passing() else { return };
        let (tree, sides) = (&*self.old.fields.tree, fine.sides());
        for change in &thin.changes {
            let Some(donor) = change.donor else { continue };
            let [cell, donor] = [change.cell, donor].map(|c| sides.leaf(tree, c as usize));
            start.phi_cell[cell] = start.phi_cell[donor];
            for side in 0..6 {
                let [face, from] = [cell, donor].map(|c| tree.cell_faces()[c][side] as usize);
                let at = sides.cells.coordinates(change.cell as usize);
                let faces = fine.grid.faces(side / 2);
                let fine_face = faces.index(at[0], at[1], at[2]) + side % 2 * faces.stride(side / 2);
                let barred = sides.sides.is_barred(change.cell as usize, side / 2, side % 2 == 1);
                start.u_face[face] =
                    if barred { fine.fields.u_solid[side / 2][fine_face] } else { start.u_face[from] };
            }
        }
    }
}
