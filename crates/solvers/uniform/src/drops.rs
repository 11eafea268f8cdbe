//! Drops: how they leave the liquid of the grid, fly, and become liquid of the grid again.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::mass::{FAR_CELLS, MassWork};
use crate::state::Fields;
use fluvial_drops::{Home, MARGIN_CELLS, Obstacles, SMALLEST, fly};
use fluvial_foundation::parallel::{chunk_count, chunk_range, map_indices};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{Lattice, Sides};
use fluvial_particles::{Surroundings, flee};
use fluvial_solids::SolidFields;

/// A cell at the surface pays for negative residuals in the air as if it held this much, in cells' volumes.
const SHARE_OF_THE_NEAR: f32 = 1e-4;
impl UniformSolver {
    /// Lets drops fly; those that reach liquid and those that fill a cell become liquid of the grid.
    pub(crate) fn move_drops(&mut self, dt_s: f64) {
        let (grid, cells) = (self.grid, self.grid.cell_centers());
        let drops = &mut self.work.mass.drops;
        drops.clone_from(&self.state.drops);
        self.work.mass.arrived.clear();
        if drops.is_empty() {
            return;
        }
        let solids = &self.work.boundaries.solids.fields;
        let (phi_node, nodes) = (&solids.phi_node, grid.nodes());
        let around = Obstacles {
            bounds: grid.bounds(),
            open_walls: self.setup.open_walls(),
            has_solids: !self.setup.solids.is_empty(),
            solid_distance: |x| nodes.sample(phi_node, x),
            solid_normal: |x| nodes.gradient(phi_node, x).normalize_or_zero(),
            solid_velocity: |x| grid.sample_velocity(&solids.u_solid, x),
            margin_m: MARGIN_CELLS * grid.dx,
        };
        let sight = surroundings(&self.setup, solids, &self.grid);
        let refuge = |cell: usize| {
            let changes = &self.work.side_changes;
            let found = changes.binary_search_by_key(&(cell as u32), |change| change.cell).ok()?;
            changes[found].refuge.map(|cell| cell as usize)
        };
        flee(&mut drops.x, &solids.sides, &grid, refuge);
        let walk = |from, to| sight.walk(from, to);
        let push_m_s = self.work.centring.push_s as f32 * self.setup.liquid.gravity;
        self.work.mass.out_m3 += fly(drops, &around, walk, dt_s as f32, push_m_s);
        let (phi_cell, open_volume) = (&mut self.work.fields.phi_cell, &solids.open_volume);
        let MassWork { drops, arrived, volume_cell, .. } = &mut self.work.mass;
        let cell_m3 = f64::from(grid.dx).powi(3);
        let home = OnGrid { sight: &sight, cells: &cells, phi_cell, open_volume };
        drops.arrive(&home, arrived);
        let full = drops.fill_cells(&home, arrived);
        for (cell, volume_m3) in full {
            stamp(phi_cell, (&cells, &solids.sides), cell, (volume_m3 / cell_m3) as f32);
        }
        for (cell, _, volume) in arrived {
            *volume /= cell_m3;
            volume_cell[*cell] += *volume as f32;
        }
    }

    /// Positive residuals in the air become drops, with the air's velocity and this step's gravity. Negative
    /// ones move to the neighbours by what they hold, or else to those nearest to the surface. All pay at once: the
    /// order of the cells does not matter.
    pub(crate) fn shed_drops(&mut self) {
        let (grid, cells) = (self.grid, self.grid.cell_centers());
        let SolidFields { sides, open_volume, .. } = &self.work.boundaries.solids.fields;
        let u = &self.state.fields.u_face;
        let Fields { phi_cell: phi, residual_cell: residual, .. } = &mut self.work.fields;
        let drops = &mut self.work.mass.drops;
        let (far_m, chunk) = (FAR_CELLS * grid.dx, 8 * cells.slab());
        let found = map_indices(chunk_count(phi.len(), chunk), |n| {
            let range = chunk_range(n, chunk, phi.len());
            range.filter(|&cell| residual[cell] != 0.0 && phi[cell] > far_m).collect::<Vec<_>>()
        });
        let found: Vec<usize> = found.into_iter().flatten().collect();
        let near = |other: usize| (FAR_CELLS - phi[other] / grid.dx).max(0.0);
        let mut debts = vec![];
        for &cell in found.iter().filter(|cell| residual[**cell] < 0.0) {
            let share = |other: usize| match open_volume[other] > 0.0 {
                true => residual[other].max(0.0) + SHARE_OF_THE_NEAR * near(other),
                false => 0.0,
            };
            let sum: f32 = around((&cells, sides), cell).map(|(other, _)| share(other)).sum();
            if sum > 0.0 {
                let pays = |other: usize| (other, residual[cell] * share(other) / sum);
                debts.extend(around((&cells, sides), cell).map(|(other, _)| pays(other)));
                debts.push((cell, -residual[cell]));
            }
        }
        for (cell, amount) in debts {
            residual[cell] += amount;
        }
        let push = self.work.centring.push_s as f32 * self.setup.liquid.gravity;
        for cell in found {
            if f64::from(residual[cell]) > SMALLEST {
                let [i, j, k] = cells.coordinates(cell);
                let x = cells.position(i, j, k);
                let volume_m3 = f64::from(std::mem::take(&mut residual[cell])) * f64::from(grid.dx).powi(3);
                drops.push(x, grid.sample_velocity(u, x) + push, volume_m3);
            }
        }
    }

    /// Drops that have become liquid give it their momentum: a face stands for half of the cells beside it.
    pub(crate) fn absorb_momentum(&mut self) {
        let (cells, Fields { fraction_cell, u_face, .. }) = (self.grid.cell_centers(), &mut self.work.fields);
        for &(cell, v, volume) in &self.work.mass.arrived {
            let at = cells.coordinates(cell);
            for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
                let faces = self.grid.faces(axis);
                let face = faces.index(at[0], at[1], at[2]) + if up { faces.stride(axis) } else { 0 };
                let is_wall = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
                let other =
                    if up { cell + cells.stride(axis) } else { cell.wrapping_sub(cells.stride(axis)) };
                let beyond = if is_wall { 0.0 } else { fraction_cell[other] };
                // The liquid there is now has the drop's volume already.
                let half = 0.5 * volume as f32;
                let share = half / (0.5 * (fraction_cell[cell] + beyond)).max(half);
                u_face[axis][face] += share * (v[axis] - u_face[axis][face]);
            }
        }
    }
}

/// The cell of a point; the outermost one for points on the walls.
fn cell_of(cells: &Lattice, x: Vec3) -> usize {
    let at = ((x - cells.origin) / cells.spacing).round();
    cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)
}

/// The grid as drops see it.
struct OnGrid<'a> {
    sight: &'a Surroundings<'a>,
    cells: &'a Lattice,
    phi_cell: &'a [f32],
    open_volume: &'a [f32],
}

impl Home for OnGrid<'_> {
    fn cell_of(&self, x: Vec3) -> usize {
        cell_of(self.cells, x)
    }

    fn phi_at(&self, x: Vec3) -> f32 {
        self.sight.sample_cells(self.phi_cell, x)
    }

    fn edge_m(&self, _cell: usize) -> f32 {
        self.cells.spacing
    }

    fn room_m3(&self, cell: usize) -> f64 {
        f64::from(self.open_volume[cell]) * f64::from(self.cells.spacing).powi(3)
    }
}

/// The cells around one that it sees, itself included.
fn around((cells, sides): (&Lattice, &Sides), cell: usize) -> impl Iterator<Item = (usize, [isize; 3])> {
    let (at, cells) = (cells.coordinates(cell), *cells);
    let seen = sides.seen_around(&cells, at);
    (0..27usize).filter(move |n| seen >> n & 1 == 1).filter_map(move |n| {
        let d = [n % 3, n / 3 % 3, n / 9].map(|v| v as isize - 1);
        let on: [isize; 3] = std::array::from_fn(|a| at[a] as isize + d[a]);
        let inside = (0..3).all(|a| on[a] >= 0 && on[a] < cells.size[a] as isize);
        inside.then(|| (cells.index(on[0] as usize, on[1] as usize, on[2] as usize), d))
    })
}

/// A ball of a volume, in cells, around a cell's centre becomes liquid.
fn stamp(phi_cell: &mut [f32], grid: (&Lattice, &Sides), cell: usize, volume: f32) {
    let radius = (0.75 * volume / std::f32::consts::PI).cbrt();
    for (other, d) in around(grid, cell) {
        let distance = d.iter().map(|v| (v * v) as f32).sum::<f32>().sqrt();
        phi_cell[other] = phi_cell[other].min((distance - radius) * grid.0.spacing);
    }
}
