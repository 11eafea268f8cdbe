//! Friction of walls and solids on a tree. [`RoughPatch`] has the equations.

use crate::gradient::Geometry;
use fluvial_foundation::parallel::{self, CHUNK, chunk_count, chunk_range, map_indices};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::{OUTSIDE, Side};
use fluvial_solids::{Drag, RoughPatch, add_rough_patches};

/// Finds the rough pieces of solids and of the domain's walls, sorted by cell. `open_area` is what solids leave of the
/// faces, walls not closed; `wall_friction` are the coefficients of the walls; `solid_at(x, dx)` gives coefficient
/// and velocity of the solid nearest to x, the middle of a cell.
pub fn rough_patches(
    tree: &Octree,
    open_area: &[f32],
    wall_friction: [f32; 6],
    solid_at: impl Fn(Vec3, f32) -> (f32, Vec3) + Sync + Send,
) -> Vec<RoughPatch> {
    let chunks = map_indices(chunk_count(tree.cell_count(), CHUNK), |chunk| {
        let mut found = Vec::new();
        for cell in chunk_range(chunk, CHUNK, tree.cell_count()) {
            let open = tree.cell_faces()[cell].map(|face| open_area[face as usize]);
            let is_wall = |side: usize| tree.leaf_across(cell, side) == Some(OUTSIDE);
            let friction = std::array::from_fn(|side| if is_wall(side) { wall_friction[side] } else { 0.0 });
            let solid = || solid_at(tree.cell_center(cell), tree.cell_dx(cell));
            add_rough_patches(&mut found, cell, open, friction, solid);
        }
        found
    });
    chunks.concat()
}

/// Memory of [`rub`].
#[derive(Default)]
pub struct FrictionScratch {
    drag_cell: Vec<Drag>,
}

/// A piece of wall pulls on a cell.
struct Pull {
    cell: u32,
    patch: u32,
    /// The piece's strength times dt over the depth of the liquid, for the part of the cell that lies above it, s/m.
    per_speed: f32,
}

/// Rough walls and solids, from [`rough_patches`], pull on the velocity of the liquid beside them for a step; not where
/// it has let go of them. `open_area` of the liquid has closed walls.
///
/// Tests: `a_layer_on_cells_of_two_sizes_slows_down_as_hydraulics_says`; the case `friction` of the validation.
pub fn rub(
    u_face: &mut [f32],
    liquid: &Geometry,
    (open_volume, parted_cell): (&[f32], &[bool]),
    patches: &[RoughPatch],
    dt_s: f32,
    scratch: &mut FrictionScratch,
) {
    let Geometry { tree, phi_cell, open_area } = *liquid;
    let drag_cell = &mut scratch.drag_cell;
    drag_cell.clear();
    drag_cell.resize(tree.cell_count(), Drag::default());
    let pulls = map_indices(chunk_count(patches.len(), CHUNK), |chunk| {
        let mut above = Above { liquid, open_volume, pulls: Vec::new(), path: Vec::new() };
        for n in chunk_range(chunk, CHUNK, patches.len()) {
            let patch = &patches[n];
            if phi_cell[patch.cell as usize] < 0.0 && !parted_cell[patch.cell as usize] {
                above.climb(n, patch, patch.strength * dt_s);
            }
        }
        above.pulls
    });
    for Pull { cell, patch, per_speed } in pulls.iter().flatten() {
        let u = tree.cell_faces()[*cell as usize].map(|face| u_face[face as usize]);
        let u = Vec3::from_array(AXES.map(|axis| 0.5 * (u[2 * axis] + u[2 * axis + 1])));
        drag_cell[*cell as usize].add(u, &patches[*patch as usize], *per_speed);
    }
    // The mean of the cells beside a face, by their volume.
    let drag_cell = &*drag_cell;
    parallel::for_each_indexed_mut(u_face, |face, u| {
        if open_area[face] > 0.0 {
            let axis = tree.face_axis(face);
            let wet = tree.cells_beside(face).filter(|&cell| phi_cell[cell] < 0.0);
            let (sum, volume) = wet.fold((0.0, 0.0), |(sum, volume), cell| {
                let part = tree.cell_dx(cell).powi(3);
                (sum + part * drag_cell[cell].change()[axis], volume + part)
            });
            *u += if volume > 0.0 { sum / volume } else { 0.0 };
        }
    });
}

/// The liquid above pieces of wall.
struct Above<'a> {
    liquid: &'a Geometry<'a>,
    open_volume: &'a [f32],
    pulls: Vec<Pull>,
    path: Vec<Reached>,
}

/// A cell on the way up.
#[derive(Clone, Copy)]
struct Reached {
    cell: u32,
    /// The part of the cell that lies above the piece.
    part: f32,
    /// The part of the piece that leads there: a fourth at every way into four smaller cells.
    branch: f32,
    /// Depth of the liquid up to the end of the cell, metres.
    depth_m: f32,
}

impl Above<'_> {
    /// Goes from a piece of wall through all liquid above it, up to the surface or to the next wall.
    fn climb(&mut self, patch_number: usize, patch: &RoughPatch, strength_dt: f32) {
        let first = Reached { cell: patch.cell, part: 1.0, branch: 1.0, depth_m: 0.0 };
        self.path.clear();
        self.enter(first, patch_number as u32, patch.toward as usize, strength_dt);
    }

    fn enter(&mut self, mut here: Reached, patch: u32, toward: usize, strength_dt: f32) {
        let Geometry { tree, phi_cell, open_area } = *self.liquid;
        let (cell, dx) = (here.cell as usize, tree.cell_dx(here.cell as usize));
        here.depth_m += self.open_volume[cell] * dx;
        self.path.push(here);
        let mut go_on = |next: u32, part: f32, branch: f32| {
            let next_phi = phi_cell[next as usize];
            if next_phi < 0.0 {
                let next = Reached { cell: next, part, branch, ..here };
                self.enter(next, patch, toward, strength_dt);
            } else {
                // The cell is filled to its middle, and the surface lies theta of the way to the next one beyond.
                let way_m = 0.5 * (dx + tree.cell_dx(next as usize));
                let theta = phi_cell[cell] / (phi_cell[cell] - next_phi);
                self.end(patch, branch, here.depth_m + theta * way_m - 0.5 * dx, strength_dt);
            }
        };
        if open_area[tree.cell_faces()[cell][toward] as usize] == 0.0 {
            self.end(patch, here.branch, here.depth_m, strength_dt);
        } else {
            match tree.across(cell)[toward] {
                Side::Outside => self.end(patch, here.branch, here.depth_m, strength_dt),
                Side::Cell(next) => {
                    // In a larger cell the piece has a share of all of it.
                    let ratio = dx / tree.cell_dx(next as usize);
                    go_on(next, here.part * ratio * ratio, here.branch);
                }
                Side::Quad(four) => four.iter().for_each(|&next| go_on(next, here.part, 0.25 * here.branch)),
            }
        }
        self.path.pop();
    }

    /// The way ends: everything on it is pulled.
    fn end(&mut self, patch: u32, branch: f32, depth_m: f32, strength_dt: f32) {
        if depth_m > 0.0 {
            let pull = |on_way: &Reached| Pull {
                cell: on_way.cell,
                patch,
                per_speed: strength_dt / depth_m * on_way.part * branch / on_way.branch,
            };
            self.pulls.extend(self.path.iter().map(pull));
        }
    }
}
