//! The level set brought to the volume that the fluxes say is in each cell.

use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{for_each_chunk_mut, map_indices};
use fluvial_grids::{FaceField, Lattice, Sides, UniformGrid};

/// A cell with less surface around it than this, in faces of a cell, is not settled: too little surface
/// would have to move too far.
const LEAST_AREA: f32 = 0.02;
/// Less than this is rounding, in cells.
const LEAST_OWED: f32 = 1e-7;
/// The surface is displaced by at most this in a step, cells; the rest waits.
const FARTHEST_CELLS: f32 = 0.5;
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
        let tent_sum = |cells: &Lattice, cell: usize, is_inner: bool, value: &dyn Fn(usize) -> f32| {
            if sides.is_near(cell) {
                tent_sum_of_seen(cells, cell, sides, value)
            } else {
                tent_sum(cells, cell, is_inner, value)
            }
        };
        self.find_near(phi, grid);
        let Settlement { area_cell, asked_cell, shift_cell, narrow_cell, near } = self;
        for values in [&mut *area_cell, &mut *asked_cell, &mut *shift_cell, &mut *narrow_cell] {
            values.clear();
            values.resize(phi.len(), 0.0);
        }
        let (inverse, slab) = (1.0 / grid.dx, cells.slab());
        let fill = |values: &mut [f32], value: &(dyn Fn(usize, bool) -> f32 + Sync)| {
            for_each_chunk_mut(values, slab, |k, values| {
                for &Near { cell, is_inner } in &near[k] {
                    values[cell as usize - k * slab] = value(cell as usize, is_inner);
                }
            });
        };
        let phi_now = &*phi;
        fill(area_cell, &|cell, _| (1.0 - phi_now[cell].abs() * inverse).max(0.0) * open_volume[cell]);
        let area = &*area_cell;
        fill(asked_cell, &|cell, is_inner| {
            if owed_cell[cell].abs() < LEAST_OWED {
                return 0.0;
            }
            let around = tent_sum(&cells, cell, is_inner, &|n| area[n]);
            if around < LEAST_AREA { 0.0 } else { owed_cell[cell] / around }
        });
        let asked = &*asked_cell;
        fill(narrow_cell, &|cell, is_inner| {
            if area[cell] > 0.0 { tent_sum(&cells, cell, is_inner, &|n| asked[n]) } else { 0.0 }
        });
        // The cells beyond take the mean of their neighbours', so that the surface's neighbourhood moves as one.
        for round in 0..2 {
            let (from, to) = match round {
                0 => (&*narrow_cell, &mut *shift_cell),
                _ => (&*shift_cell, &mut *narrow_cell),
            };
            fill(to, &|cell, is_inner| match from[cell] {
                0.0 if area[cell] == 0.0 => {
                    let is_known = |n: usize| (from[n] != 0.0) as u8 as f32;
                    let weight = tent_sum(&cells, cell, is_inner, &is_known);
                    if weight == 0.0 { 0.0 } else { tent_sum(&cells, cell, is_inner, &|n| from[n]) / weight }
                }
                shift => shift,
            });
        }
        let (shift, near) = (&*narrow_cell, &*near);
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

/// `sum w value` over a cell and its 26 neighbours, those beyond the walls left out.
#[inline]
fn tent_sum(cells: &Lattice, cell: usize, is_inner: bool, value: impl Fn(usize) -> f32) -> f32 {
    let mut range = [0..3, 0..3, 0..3];
    if !is_inner {
        let at = cells.coordinates(cell);
        range = [0, 1, 2].map(|a| (at[a] == 0) as usize..if at[a] + 1 == cells.size[a] { 2 } else { 3 });
    }
    let first = cell.wrapping_sub(cells.stride(2) + cells.stride(1) + 1);
    let mut sum = 0.0;
    for dk in range[2].clone() {
        for dj in range[1].clone() {
            let row = first.wrapping_add(dk * cells.stride(2) + dj * cells.stride(1));
            for di in range[0].clone() {
                sum += TENT[dk] * TENT[dj] * TENT[di] * value(row.wrapping_add(di));
            }
        }
    }
    sum
}

/// The same over those that the cell sees.
fn tent_sum_of_seen(cells: &Lattice, cell: usize, sides: &Sides, value: impl Fn(usize) -> f32) -> f32 {
    let at = cells.coordinates(cell);
    let seen = sides.seen_around(cells, at);
    let mut sum = 0.0;
    for n in (0..27).filter(|n| seen >> n & 1 == 1) {
        let d = [n % 3, n / 3 % 3, n / 9];
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + d[a] - 1);
        sum += TENT[d[0]] * TENT[d[1]] * TENT[d[2]] * value(cells.index(i, j, k));
    }
    sum
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

/// Carries what cells are owed with the flow: `moved` gets each amount at the place to which the flow carries
/// its cell's centre in `dt_s`, shared among the open cells around it. The sum is kept but for what leaves
/// through open walls, which is returned. Verified by tests/settle.rs.
pub fn carry_residual(
    moved: &mut [f32],
    owed: &Owed,
    u_face: &FaceField,
    grid: &UniformGrid,
    dt_s: f32,
) -> f64 {
    let (cells, bounds) = (grid.cell_centers(), grid.bounds());
    let Owed { residual_cell, phi_cell, deep_m, waits_cell, open_volume, open_walls, sides } = *owed;
    let slab = cells.slab();
    moved.fill(0.0);
    let targets: Vec<Vec<(u32, Vec3)>> = map_indices(cells.size[2], |k| {
        let of_slab = k * slab..(k + 1) * slab;
        let place = |cell: usize| {
            let [i, j, _] = cells.coordinates(cell);
            let x = cells.position(i, j, k);
            if phi_cell[cell] <= -deep_m || waits_cell.get(cell) == Some(&true) {
                return (cell as u32, x);
            }
            let middle = x + 0.5 * dt_s * grid.sample_velocity(u_face, x);
            let end = x + dt_s * grid.sample_velocity(u_face, middle);
            if !sides.is_near(cell) {
                return (cell as u32, end);
            }
            let (_, end) = sides.walk(&cells, [i, j, k], [0.0; 3], ((end - x) / grid.dx).to_array());
            (cell as u32, x + grid.dx * Vec3::from_array(end))
        };
        of_slab.filter(|&cell| residual_cell[cell] != 0.0).map(place).collect()
    });
    let has_left = |x: Vec3| {
        let beyond = |a: usize| [x[a] < bounds.min[a], x[a] > bounds.max[a]];
        (0..3).any(|a| (0..2).any(|side| open_walls[2 * a + side] && beyond(a)[side]))
    };
    let mut left = 0.0;
    for (cell, x) in targets.into_iter().flatten() {
        let amount = residual_cell[cell as usize];
        if has_left(x) {
            left += f64::from(amount);
        } else if !deposit(moved, amount, x, (open_volume, sides), &cells) {
            moved[cell as usize] += amount;
        }
    }
    left
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
