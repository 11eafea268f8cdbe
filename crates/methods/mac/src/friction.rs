//! Friction of walls and solids on a uniform grid. [`RoughPatch`] has the equations.

use crate::for_each_face;
use fluvial_foundation::parallel::{for_each_beside_mut, for_each_chunk_mut, map_indices};
use fluvial_foundation::{AXES, Axis, Vec3};
use fluvial_grids::{FaceField, Lattice, UniformGrid, ghost_theta};
use fluvial_solids::{Drag, RoughPatch, SolidFields, add_rough_patches, open_face_area};

/// Finds the rough pieces of solids and of the domain's walls, sorted by cell. `wall_friction` are the
/// coefficients of the walls, 0 for open ones; `solid_at(x)` gives coefficient and velocity of the solid nearest to x.
pub fn find_rough_patches(
    grid: &UniformGrid,
    solids: &SolidFields,
    wall_friction: [f32; 6],
    solid_at: impl Fn(Vec3) -> (f32, Vec3) + Sync + Send,
) -> Vec<RoughPatch> {
    let (cells, nodes) = (grid.cell_centers(), grid.nodes());
    // Also of the domain's walls, where `open_area` is 0.
    let open_outside_solids = |axis: Axis, at: [usize; 3]| {
        let node = nodes.index(at[0], at[1], at[2]);
        let (s, t) = (nodes.stride((axis + 1) % 3), nodes.stride((axis + 2) % 3));
        open_face_area([node, node + s, node + t, node + s + t].map(|n| solids.phi_node[n]))
    };
    let slabs = map_indices(cells.size[2], |k| {
        let mut found = Vec::new();
        for cell in k * cells.slab()..(k + 1) * cells.slab() {
            let at = cells.coordinates(cell);
            let (mut open, mut friction) = ([1.0; 6], [0.0; 6]);
            for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
                let (faces, side) = (grid.faces(axis), 2 * axis + up);
                if at[axis] + up == up * grid.cells[axis] {
                    let mut place = at;
                    place[axis] += up;
                    (open[side], friction[side]) = (open_outside_solids(axis, place), wall_friction[side]);
                } else {
                    let face = faces.index(at[0], at[1], at[2]) + up * faces.stride(axis);
                    open[side] = solids.open_area[axis][face];
                }
            }
            add_rough_patches(&mut found, cell, open, friction, || {
                solid_at(cells.position(at[0], at[1], at[2]))
            });
        }
        found
    });
    slabs.concat()
}

/// The liquid that rough boundaries pull on.
#[derive(Clone, Copy)]
pub struct RoughLiquid<'a> {
    grid: &'a UniformGrid,
    phi_cell: &'a [f32],
    gap_cell: &'a [f32],
    open_area: &'a FaceField,
    open_volume: &'a [f32],
}

/// Memory of [`rub`].
#[derive(Default)]
pub struct FrictionScratch {
    runs: Vec<Run>,
    /// The pieces that pull across slabs.
    along_z: Vec<u32>,
    drag_cell: Vec<Drag>,
}

/// The cells above a piece that it pulls on.
#[derive(Clone, Copy, Default)]
struct Run {
    cells: usize,
    /// The piece's strength times dt over the depth of the liquid, s/m.
    per_speed: f32,
}

/// Rough walls and solids, from [`find_rough_patches`], pull on the velocity of the liquid beside them for a step.
///
/// Tests: `a_layer_slows_down_as_hydraulics_says`, `an_oblique_floor_pulls_on_a_layer_as_a_level_one_does`,
/// `a_moving_wall_drags_liquid_along`, `friction_takes_energy_from_any_flow`.
pub fn rub(
    u_face: &mut FaceField,
    liquid: &RoughLiquid,
    patches: &[RoughPatch],
    dt_s: f32,
    scratch: &mut FrictionScratch,
) {
    let RoughLiquid { grid, phi_cell, open_area, .. } = *liquid;
    let (cells, FrictionScratch { runs, along_z, drag_cell }) = (grid.cell_centers(), scratch);
    runs.resize(patches.len(), Run::default());
    for_each_beside_mut(runs, patches, |run, patch| *run = liquid.run_above(patch, dt_s));
    along_z.clear();
    along_z.extend((0..patches.len() as u32).filter(|&n| patches[n as usize].toward / 2 == 2));
    drag_cell.resize(phi_cell.len(), Drag::default());
    let (u, runs, along_z) = (&*u_face, &*runs, &*along_z);
    let velocity = |cell: usize| {
        let [i, j, k] = cells.coordinates(cell);
        Vec3::from_array(AXES.map(|axis| {
            let (faces, u) = (grid.faces(axis), &u[axis]);
            let low = faces.index(i, j, k);
            0.5 * (u[low] + u[low + faces.stride(axis)])
        }))
    };
    for_each_chunk_mut(drag_cell, cells.slab(), |k, drag_cell| {
        drag_cell.fill(Drag::default());
        let start = k * cells.slab();
        let mut pull = |n: usize, cell: usize| {
            drag_cell[cell - start].add(velocity(cell), &patches[n], runs[n].per_speed);
        };
        let first =
            |slab: usize| patches.partition_point(|patch| (patch.cell as usize) < slab * cells.slab());
        for n in (first(k)..first(k + 1)).filter(|&n| patches[n].toward / 2 != 2) {
            for above in 0..runs[n].cells {
                pull(n, step(&cells, &patches[n], above));
            }
        }
        for n in along_z.iter().map(|&n| n as usize) {
            let [i, j, from] = cells.coordinates(patches[n].cell as usize);
            let above = if patches[n].toward % 2 == 1 { k.checked_sub(from) } else { from.checked_sub(k) };
            if above.is_some_and(|above| above < runs[n].cells) {
                pull(n, cells.index(i, j, k));
            }
        }
    });
    // The transpose of the mean over a cell's two faces, by the liquid's mass: so no energy is made.
    for axis in AXES {
        let (area, drag_cell) = (&open_area[axis], &*drag_cell);
        for_each_face(&mut u_face[axis], grid, axis, |face, cells, u| {
            if area[face] > 0.0 {
                let wet = [cells.low, cells.high].into_iter().flatten().filter(|&cell| phi_cell[cell] < 0.0);
                let (sum, count) =
                    wet.fold((0.0, 0.0), |(sum, n), c| (sum + drag_cell[c].change()[axis], n + 1.0));
                *u += if count > 0.0 { sum / count } else { 0.0 };
            }
        });
    }
}

impl<'a> RoughLiquid<'a> {
    /// Liquid with its level set among solids; `gap_cell` is not negative where it has let go of a boundary.
    pub fn new(
        phi_cell: &'a [f32],
        gap_cell: &'a [f32],
        grid: &'a UniformGrid,
        solids: &'a SolidFields,
    ) -> Self {
        let SolidFields { open_area, open_volume, .. } = solids;
        RoughLiquid { grid, phi_cell, gap_cell, open_area, open_volume }
    }

    /// The liquid above a piece of wall: up to the surface, or to the next wall.
    fn run_above(&self, patch: &RoughPatch, dt_s: f32) -> Run {
        let (grid, cells) = (self.grid, self.grid.cell_centers());
        let (axis, up) = (patch.toward as usize / 2, patch.toward as usize % 2);
        let (faces, dx) = (grid.faces(axis), grid.dx);
        let is_wet = |cell: usize| self.phi_cell[cell] < 0.0;
        let (mut run, mut depth_m) = (Run::default(), 0.0);
        if !is_wet(patch.cell as usize) || self.gap_cell[patch.cell as usize] >= 0.0 {
            return run;
        }
        loop {
            let cell = step(&cells, patch, run.cells);
            let at = cells.coordinates(cell);
            let face = faces.index(at[0], at[1], at[2]) + up * faces.stride(axis);
            run.cells += 1;
            depth_m += self.open_volume[cell] * dx;
            if at[axis] + up == up * grid.cells[axis] || self.open_area[axis][face] == 0.0 {
                break;
            }
            let next = step(&cells, patch, run.cells);
            if !is_wet(next) {
                // The last cell is filled to its middle, and the surface is theta cells beyond.
                depth_m += (ghost_theta(self.phi_cell[cell], self.phi_cell[next]).0 - 0.5) * dx;
                break;
            }
        }
        // A surface inside the wall has no liquid above it.
        run.per_speed = patch.strength * dt_s / depth_m;
        if depth_m > 0.0 { run } else { Run::default() }
    }
}

/// The cell so many cells above a piece of wall.
fn step(cells: &Lattice, patch: &RoughPatch, above: usize) -> usize {
    let way = above * cells.stride(patch.toward as usize / 2);
    if patch.toward % 2 == 1 { patch.cell as usize + way } else { patch.cell as usize - way }
}
