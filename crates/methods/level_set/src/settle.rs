//! The level set brought to the volume that the fluxes say is in each cell.

use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{for_each_chunk_mut, for_each_chunk_mut2, map_indices};
use fluvial_grids::{FaceField, Lattice, Sides, UniformGrid};

/// A cell with less surface around it than this, in faces of a cell, is not settled: too little surface
/// would have to move too far.
const LEAST_AREA: f32 = 0.02;
/// Less than this is rounding, in cells.
const LEAST_OWED: f32 = 1e-7;
/// The surface is displaced by at most this in a step, cells; the rest waits.
const FARTHEST_CELLS: f32 = 0.5;
/// Of what a cell beside thin solids is owed, as much as this waits, in cells, but for a tenth of it in a step. What fluxes bring there and what
/// the surface is taken to hold differ by what each makes of cut cells; settled at once, the difference tilts the surface, the flow
/// answers, and still water in the wedge between a slanted plate and a wall moved ever faster: from 1e-6 to 0.5 m/s in three seconds. (If a tenth
/// of all that is owed were settled, splashes would be drops: 1e-3 of a bowl's water came over its rim.)
/// Test: `a_level_that_slanted_plates_pierce_begins_at_rest` in the uniform solver.
const WAITING_BESIDE_SOLIDS: f32 = 0.005;
const PROMPT_PART: f32 = 0.1;
/// phi is changed this far from the surface, cells: as far as a redistancing stencil reaches.
const REACH_CELLS: f32 = 3.0;
/// Weights of a cell and its neighbours along one axis.
const TENT: [f32; 3] = [0.25, 0.5, 0.25];

/// A cell near the surface.
#[derive(Clone, Copy, Debug)]
struct Near {
    cell: u32,
    /// It has neighbours on all sides.
    is_inner: bool,
}

/// Memory of the settlement, kept from step to step.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// Surface that belongs to a cell, in faces of a cell.
    area_cell: Vec<f32>,
    /// Displacement that a cell's own mismatch asks of the surface around, in cells.
    asked_cell: Vec<f32>,
    /// Displacement outwards, in cells; and the same before the last widening.
    shift_cell: Vec<f32>,
    narrow_cell: Vec<f32>,
    /// Cells near the surface, slab by slab.
    near: Vec<Vec<Near>>,
}

impl Settlement {
    /// Displaces the surface so that each neighbourhood gets the volume that its cells are owed.
    ///
    /// With a_i the surface in cell i, in faces of a cell, w a tent over 3 x 3 x 3 cells and m_j what cell j is
    /// owed, in cells: `delta_i = sum_j w_ij m_j / (sum_k w_kj a_k)`, `phi_i -= delta_i dx`. To first order
    /// `sum_i a_i delta_i = sum_j m_j`: what is displaced is what was owed. `a_i = max(0, 1 - |phi_i| / dx) V_i`
    /// is how volume answers to phi_i. Cells without a surface around keep what they are owed; behind
    /// a thin solid there is none (`sides`). Returns how
    /// often a displacement was held back. Verified by tests/settle.rs.
    pub fn displace(
        &mut self,
        phi: &mut [f32],
        owed_cell: &[f32],
        open_volume: &[f32],
        sides: &Sides,
        grid: &UniformGrid,
    ) -> usize {
        let cells = grid.cell_centers();
        self.find_near(phi, grid);
        let Settlement { area_cell, asked_cell, shift_cell, narrow_cell, near } = self;
        for values in [&mut *area_cell, &mut *asked_cell, &mut *shift_cell, &mut *narrow_cell] {
            values.clear();
            values.resize(phi.len(), 0.0);
        }
        let (inverse, slab) = (1.0 / grid.dx, cells.slab());
        let (tent, near) = (Tent { cells, sides }, &*near);
        let phi_now = &*phi;
        fill(area_cell, near, slab, |Near { cell, .. }| {
            (1.0 - phi_now[cell as usize].abs() * inverse).max(0.0) * open_volume[cell as usize]
        });
        let area = &*area_cell;
        fill(asked_cell, near, slab, |near| {
            let owed = owed_cell[near.cell as usize];
            if owed.abs() < LEAST_OWED {
                return 0.0;
            }
            let around = tent.sum(near, |n| area[n]);
            if around < LEAST_AREA {
                return 0.0;
            }
            let prompt = match sides.is_near(near.cell as usize) {
                true => (owed.abs() - WAITING_BESIDE_SOLIDS).max(PROMPT_PART * owed.abs()),
                false => owed.abs(),
            };
            prompt.copysign(owed) / around
        });
        let asked = &*asked_cell;
        fill(narrow_cell, near, slab, |near| {
            if area[near.cell as usize] > 0.0 { tent.sum(near, |n| asked[n]) } else { 0.0 }
        });
        // The cells beyond take the mean of their neighbours', so that the surface's neighbourhood moves as one.
        for round in 0..2 {
            let (from, to) = match round {
                0 => (&*narrow_cell, &mut *shift_cell),
                _ => (&*shift_cell, &mut *narrow_cell),
            };
            fill(to, near, slab, |near| match from[near.cell as usize] {
                0.0 if area[near.cell as usize] == 0.0 => {
                    let weight = tent.sum(near, |n| (from[n] != 0.0) as u8 as f32);
                    if weight == 0.0 { 0.0 } else { tent.sum(near, |n| from[n]) / weight }
                }
                shift => shift,
            });
        }
        let shift = &*narrow_cell;
        let held = map_indices(near.len(), |k| {
            near[k].iter().filter(|near| shift[near.cell as usize].abs() > FARTHEST_CELLS).count()
        });
        for_each_chunk_mut(phi, cells.slab(), |k, slab| {
            for &Near { cell, .. } in &near[k] {
                let by = shift[cell as usize].clamp(-FARTHEST_CELLS, FARTHEST_CELLS);
                slab[cell as usize - k * cells.slab()] -= by * grid.dx;
            }
        });
        held.iter().sum()
    }

    fn find_near(&mut self, phi: &[f32], grid: &UniformGrid) {
        let (cells, reach_m) = (grid.cell_centers(), REACH_CELLS * grid.dx);
        self.near.resize_with(cells.size[2], Vec::new);
        for_each_chunk_mut(&mut self.near, 1, |k, found| {
            let (first, found) = (k * cells.slab(), &mut found[0]);
            found.clear();
            let [nx, ny, nz] = cells.size;
            for (j, row) in phi[first..first + cells.slab()].chunks(nx).enumerate() {
                let row_is_inner = j > 0 && j + 1 < ny && k > 0 && k + 1 < nz;
                for i in (0..nx).filter(|&i| row[i].abs() < reach_m) {
                    let is_inner = row_is_inner && i > 0 && i + 1 < nx;
                    found.push(Near { cell: (first + nx * j + i) as u32, is_inner });
                }
            }
        });
    }
}

/// Writes the values of the cells near the surface, `near` and `values` slab by slab.
fn fill(values: &mut [f32], near: &[Vec<Near>], slab: usize, value: impl Fn(Near) -> f32 + Sync + Send) {
    for_each_chunk_mut(values, slab, |k, values| {
        for &near in &near[k] {
            values[near.cell as usize - k * slab] = value(near);
        }
    });
}

/// Weighted sums over a cell and its 26 neighbours.
#[derive(Clone, Copy)]
struct Tent<'a> {
    cells: Lattice,
    sides: &'a Sides,
}

impl Tent<'_> {
    /// `sum w value` over the neighbours that are there and that the cell sees.
    #[inline]
    fn sum(&self, Near { cell, is_inner }: Near, value: impl Fn(usize) -> f32) -> f32 {
        let cell = cell as usize;
        if !is_inner || self.sides.is_near(cell) {
            return self.sum_of_seen(cell, &value);
        }
        let [_, row, slab] = [0, 1, 2].map(|axis| self.cells.stride(axis));
        let mut sum = 0.0;
        for dk in 0..3 {
            for dj in 0..3 {
                let first = cell + dk * slab + dj * row - (slab + row + 1);
                for di in 0..3 {
                    sum += TENT[dk] * TENT[dj] * TENT[di] * value(first + di);
                }
            }
        }
        sum
    }

    #[cold]
    fn sum_of_seen(&self, cell: usize, value: &impl Fn(usize) -> f32) -> f32 {
        let at = self.cells.coordinates(cell);
        let seen = self.sides.seen_around(&self.cells, at);
        let mut sum = 0.0;
        for n in (0..27).filter(|n| seen >> n & 1 == 1) {
            let d = [n % 3, n / 3 % 3, n / 9];
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| (at[a] + d[a]).wrapping_sub(1));
            if i < self.cells.size[0] && j < self.cells.size[1] && k < self.cells.size[2] {
                sum += TENT[d[0]] * TENT[d[1]] * TENT[d[2]] * value(self.cells.index(i, j, k));
            }
        }
        sum
    }
}

/// What cells are owed, and what decides where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Owed<'a> {
    /// By cell, in its volume.
    pub residual_cell: &'a [f32],
    /// The surface.
    pub phi_cell: &'a [f32],
    /// Amounts deeper in the liquid than this stay, metres.
    pub deep_m: f32,
    /// Cells whose amounts stay; empty for none.
    pub waits_cell: &'a [bool],
    /// Open part of every cell: closed ones take nothing.
    pub open_volume: &'a [f32],
    /// Open sides of the domain: x low, x high, y low, y high, z low, z high.
    pub open_walls: [bool; 6],
    /// Sides of thin solids: nothing passes them.
    pub sides: &'a Sides,
}

/// Amounts that the flow carries to other cells, slab by slab: from which cell, to which place.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    to: Vec<Vec<(u32, Vec3)>>,
}

impl Carried {
    /// Carries what cells are owed with the flow: `moved` gets each amount at the place to which the flow carries
    /// its cell's centre in `dt_s`, shared among the open cells around it; what is deep or waits stays in its cell,
    /// where that is open. The sum is kept but for what leaves through open walls, which is returned. Verified by
    /// tests/settle.rs.
    pub fn carry(
        &mut self,
        moved: &mut [f32],
        owed: &Owed,
        u_face: &FaceField,
        grid: &UniformGrid,
        dt_s: f32,
    ) -> f64 {
        let (cells, bounds) = (grid.cell_centers(), grid.bounds());
        let Owed { residual_cell, phi_cell, deep_m, waits_cell, open_volume, open_walls, sides } = *owed;
        let slab = cells.slab();
        self.to.resize_with(cells.size[2], Vec::new);
        for_each_chunk_mut2((moved, slab), (&mut self.to, 1), |k, moved, to| {
            to[0].clear();
            for (n, moved) in moved.iter_mut().enumerate() {
                let cell = k * slab + n;
                let owed = residual_cell[cell];
                *moved = owed;
                let stays = phi_cell[cell] <= -deep_m || waits_cell.get(cell) == Some(&true);
                if owed == 0.0 || stays && open_volume[cell] > 0.0 {
                    continue;
                }
                let (i, j) = (n % cells.size[0], n / cells.size[0]);
                let x = cells.position(i, j, k);
                let mut end = x;
                if !stays {
                    let middle = x + 0.5 * dt_s * grid.sample_velocity(u_face, x);
                    end = x + dt_s * grid.sample_velocity(u_face, middle);
                    if sides.is_near(cell) {
                        let (_, way) =
                            sides.walk(&cells, [i, j, k], [0.0; 3], ((end - x) / grid.dx).to_array());
                        end = x + grid.dx * Vec3::from_array(way);
                    }
                }
                *moved = 0.0;
                to[0].push((cell as u32, end));
            }
        });
        let has_left = |x: Vec3| {
            let beyond = |a: usize| [x[a] < bounds.min[a], x[a] > bounds.max[a]];
            (0..3).any(|a| (0..2).any(|side| open_walls[2 * a + side] && beyond(a)[side]))
        };
        let mut left = 0.0;
        for &(cell, x) in self.to.iter().flatten() {
            let amount = residual_cell[cell as usize];
            if has_left(x) {
                left += f64::from(amount);
            } else if !deposit(moved, amount, x, (open_volume, sides), &cells) {
                moved[cell as usize] += amount;
            }
        }
        left
    }
}

/// Shares an amount among the open cells around a point, trilinearly; false when there is none.
fn deposit(
    moved: &mut [f32],
    amount: f32,
    x: Vec3,
    (open_volume, sides): (&[f32], &Sides),
    cells: &Lattice,
) -> bool {
    let stencil = cells.stencil(x);
    let at: [usize; 3] = std::array::from_fn(|a| {
        let place = (x[a] - cells.origin[a]) / cells.spacing;
        (place.round().max(0.0) as usize).min(cells.size[a] - 1)
    });
    let seen = sides.seen_around(cells, at);
    let sees = |cell: usize| {
        let to = cells.coordinates(cell);
        let d: [usize; 3] = std::array::from_fn(|a| (to[a] + 1).wrapping_sub(at[a]));
        d.iter().all(|d| *d < 3) && seen >> (d[0] + 3 * d[1] + 9 * d[2]) & 1 == 1
    };
    let step = |axis: usize| if cells.size[axis] > 1 { cells.stride(axis) } else { 0 };
    let mut corners = [(0usize, 0.0f32); 8];
    let mut sum = 0.0;
    for (n, corner) in corners.iter_mut().enumerate() {
        let mut weight = 1.0;
        let mut cell = stencil.base;
        for a in 0..3 {
            let high = n >> a & 1 == 1;
            weight *= if high { stencil.fraction[a] } else { 1.0 - stencil.fraction[a] };
            cell += if high { step(a) } else { 0 };
        }
        if open_volume[cell] > 0.0 && (!sides.is_near(cell) || sees(cell)) {
            *corner = (cell, weight);
            sum += weight;
        }
    }
    if sum < 1e-3 {
        return false;
    }
    for (cell, weight) in corners {
        if weight > 0.0 {
            moved[cell] += amount * weight / sum;
        }
    }
    true
}
