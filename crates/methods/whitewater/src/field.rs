//! Level set and velocity of a liquid at one moment, in blocks near the surface: what a volume file holds, no more.

use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;

/// Edge of a block, cells; that of a leaf in a volume file.
pub const BLOCK: usize = 8;
const BLOCK_CELLS: usize = BLOCK * BLOCK * BLOCK;
/// A block that is all air, or all liquid, far from the surface.
const AIR: u32 = u32::MAX;
const LIQUID: u32 = u32::MAX - 1;
/// Stands for a velocity that is not known: interpolated with any weight, zero included, it gives no number. (A large number with
/// the product of two small weights gave 1e14 m/s beside cell centres.) Test: `velocity_beside_a_cell_centre_is_the_cells`.
const UNKNOWN: f32 = f32::INFINITY;
/// The same in a file, where all numbers are finite.
const SAVED_UNKNOWN: f32 = 1e30;

/// What is known of the liquid at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Signed distance to the surface, metres, negative inside, cut off at some cells.
    pub phi: f32,
    /// Velocity, m/s, where it is known: in the liquid and some cells around.
    pub u: Option<Vec3>,
}

/// A liquid at one moment, at any point. Methods serve whitewater through [`Field`]; tests through formulas.
pub trait Moment: Sync {
    /// Distance and velocity at a place.
    fn sample(&self, x_in_world: Vec3) -> Sample;
}

/// Level set and velocity at cell centres, `[u.x, u.y, u.z, phi]` each, in blocks of 8^3 cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    grid: UniformGrid,
    /// What phi is cut off at, metres.
    far_m: f32,
    /// Blocks along each axis; one layer more than the cells need where faces lie beyond the last cells.
    blocks: [usize; 3],
    /// Which block of `values`, or [`AIR`], or [`LIQUID`].
    table: Vec<u32>,
    values: Vec<[f32; 4]>,
}

impl Field {
    /// A field without liquid; `far_m` is what phi is cut off at.
    pub fn air(grid: UniformGrid, far_m: f32) -> Field {
        let blocks = grid.cells.map(|n| n / BLOCK + 1);
        Field { grid, far_m, blocks, table: vec![AIR; blocks.iter().product()], values: vec![] }
    }

    /// A field from formulas for distance and velocity, for tests. Velocity is known where phi < `far_m`.
    pub fn from_formulas(
        grid: UniformGrid,
        far_m: f32,
        phi: impl Fn(Vec3) -> f32,
        u: impl Fn(Vec3) -> Vec3,
    ) -> Field {
        let mut builder = FieldBuilder::new(grid, far_m);
        let cells = grid.cell_centers();
        for n in 0..cells.len() {
            let at = cells.coordinates(n).map(|i| i as i32);
            let x = cells.position(at[0] as usize, at[1] as usize, at[2] as usize);
            let value = phi(x).clamp(-far_m, far_m);
            builder.set_phi(at, value);
        }
        let sizes = grid.cells.map(|n| n as i32 + 1);
        for at in box_of(sizes) {
            let low = grid.min + grid.dx * Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32);
            if phi(low + 0.5 * grid.dx) >= far_m + 2.0 * grid.dx {
                continue;
            }
            let face = |a: usize| u(low + 0.5 * grid.dx * (Vec3::ONE - Vec3::AXES[a]))[a];
            builder.set_velocity(at, AXES.map(face));
        }
        builder.finish()
    }

    /// Where the samples lie.
    pub fn grid(&self) -> UniformGrid {
        self.grid
    }

    /// What phi is cut off at, metres.
    pub fn far_m(&self) -> f32 {
        self.far_m
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        4 * self.table.len() + 16 * self.values.len()
    }

    /// Its parts, to be saved.
    pub fn parts(&self) -> (&[u32], Vec<[f32; 4]>) {
        let saved = |v: &[f32; 4]| v.map(|v| v.min(SAVED_UNKNOWN));
        (&self.table, self.values.iter().map(saved).collect())
    }

    /// A field from what [`Self::parts`] gave; an error where they do not fit the grid.
    pub fn from_parts(
        grid: UniformGrid,
        far_m: f32,
        table: Vec<u32>,
        values: Vec<[f32; 4]>,
    ) -> Result<Field, String> {
        let empty = Field::air(grid, far_m);
        let count = values.len() / BLOCK_CELLS;
        let is_known = |&n: &u32| n == AIR || n == LIQUID || (n as usize) < count;
        if table.len() != empty.table.len()
            || !values.len().is_multiple_of(BLOCK_CELLS)
            || !table.iter().all(is_known)
        {
            return Err("the level set of the last frame does not fit the grid".into());
        }
        let known = |v: [f32; 4]| v.map(|v| if v < SAVED_UNKNOWN { v } else { UNKNOWN });
        Ok(Field { table, values: values.into_iter().map(known).collect(), ..empty })
    }

    fn block_of(&self, at: [i32; 3]) -> usize {
        let [i, j, k] = at.map(|v| v as usize / BLOCK);
        i + self.blocks[0] * (j + self.blocks[1] * k)
    }

    /// Values of a cell, `[u.x, u.y, u.z, phi]`; the nearest cell's where it lies beyond the walls.
    #[inline]
    pub(crate) fn cell(&self, at: [i32; 3]) -> [f32; 4] {
        let at: [i32; 3] = std::array::from_fn(|a| at[a].clamp(0, self.grid.cells[a] as i32 - 1));
        match self.table[self.block_of(at)] {
            AIR => [UNKNOWN, UNKNOWN, UNKNOWN, self.far_m],
            LIQUID => [UNKNOWN, UNKNOWN, UNKNOWN, -self.far_m],
            block => self.values[block as usize * BLOCK_CELLS + in_block(at)],
        }
    }

    /// Direction out of the liquid at a cell, and the slope of phi along it.
    pub(crate) fn cell_slope(&self, at: [i32; 3]) -> (Vec3, f32) {
        let beside = |a: usize, by: i32| {
            let mut at = at;
            at[a] += by;
            self.cell(at)[3]
        };
        let slope = Vec3::from_array(AXES.map(|a| beside(a, 1) - beside(a, -1))) / (2.0 * self.grid.dx);
        let length = slope.length();
        (if length > 0.0 { slope / length } else { Vec3::ZERO }, length)
    }

    /// Runs `body(cell)` over the cells of every block that has values, block by block; returns the results of
    /// the blocks in order.
    pub(crate) fn map_blocks<R: Send>(&self, body: impl Fn([i32; 3]) -> R + Sync + Send) -> Vec<R> {
        let is_stored = |n: &usize| self.table[*n] < LIQUID;
        let stored: Vec<usize> = (0..self.table.len()).filter(is_stored).collect();
        let [nx, ny, _] = self.blocks;
        fluvial_foundation::parallel::map_indices(stored.len(), |n| {
            let n = stored[n];
            body([n % nx, n / nx % ny, n / (nx * ny)].map(|b| (b * BLOCK) as i32))
        })
    }

    /// The eight cells around a place with their weights: lowest cell and fractions.
    #[inline]
    fn corner(&self, x: Vec3) -> ([i32; 3], Vec3) {
        let most = Vec3::from_array(self.grid.cells.map(|n| (n.max(2) - 1) as f32));
        let at = ((x - self.grid.min) / self.grid.dx - 0.5).clamp(Vec3::ZERO, most);
        let low = at.floor().min(most - 1.0);
        (low.to_array().map(|v| v as i32), at - low)
    }

    /// Direction of growing phi at a place by differences of a cell; zero where phi is cut off.
    pub fn normal(&self, x: Vec3) -> Vec3 {
        let dx = self.grid.dx;
        let along =
            |a: usize| self.sample(x + dx * Vec3::AXES[a]).phi - self.sample(x - dx * Vec3::AXES[a]).phi;
        Vec3::from_array(AXES.map(along)).normalize_or_zero()
    }

    /// Fastest liquid, m/s.
    pub fn max_speed(&self) -> f32 {
        let speed2 = |v: &[f32; 4]| Vec3::new(v[0], v[1], v[2]).length_squared();
        let known = self.values.iter().filter(|v| v[0].is_finite());
        known.map(speed2).fold(0.0, f32::max).sqrt()
    }
}

impl Moment for Field {
    #[inline]
    fn sample(&self, x: Vec3) -> Sample {
        let (low, f) = self.corner(x);
        let values = self.corners(low);
        let sum: [f32; 4] = std::array::from_fn(|c| {
            let along = |n: usize| values[n][c] + f.x * (values[n + 1][c] - values[n][c]);
            let (a, b) = (along(0) + f.y * (along(2) - along(0)), along(4) + f.y * (along(6) - along(4)));
            a + f.z * (b - a)
        });
        if sum[0].is_finite() {
            return Sample { phi: sum[3], u: Some(Vec3::new(sum[0], sum[1], sum[2])) };
        }
        Sample { phi: sum[3], u: mean_of_known(&values, f) }
    }
}

impl Field {
    /// Values of the eight cells above a cell, x fastest.
    #[inline]
    fn corners(&self, low: [i32; 3]) -> [[f32; 4]; 8] {
        let inner = low.map(|v| v as usize % BLOCK);
        let is_within = inner.iter().all(|&v| v + 1 < BLOCK);
        let block = self.table[self.block_of(low)];
        if is_within && block < LIQUID {
            let first = block as usize * BLOCK_CELLS + in_block(low);
            let values = &self.values[first..];
            return [0, 1, 8, 9, 64, 65, 72, 73].map(|n| values[n]);
        }
        std::array::from_fn(|n| {
            self.cell([low[0] + (n & 1) as i32, low[1] + (n >> 1 & 1) as i32, low[2] + (n >> 2) as i32])
        })
    }
}

/// Velocity where some of the eight cells have none: the mean of the others by their weights.
#[cold]
fn mean_of_known(values: &[[f32; 4]; 8], f: Vec3) -> Option<Vec3> {
    let (mut sum, mut weights) = (Vec3::ZERO, 0.0);
    for (n, value) in values.iter().enumerate().filter(|(_, v)| v[0].is_finite()) {
        let part = |a: usize| if n >> a & 1 == 1 { f[a] } else { 1.0 - f[a] };
        let weight = part(0) * part(1) * part(2);
        sum += weight * Vec3::new(value[0], value[1], value[2]);
        weights += weight;
    }
    (weights > 1e-3).then(|| sum / weights)
}

fn in_block(at: [i32; 3]) -> usize {
    let [i, j, k] = at.map(|v| v as usize % BLOCK);
    i + BLOCK * (j + BLOCK * k)
}

fn box_of([nx, ny, nz]: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

/// Makes a [`Field`] from values in any order, as a volume file gives them.
pub struct FieldBuilder {
    field: Field,
}

impl FieldBuilder {
    /// All air.
    pub fn new(grid: UniformGrid, far_m: f32) -> Self {
        FieldBuilder { field: Field::air(grid, far_m) }
    }

    fn is_within(&self, at: [i32; 3]) -> bool {
        AXES.iter().all(|&a| at[a] >= 0 && at[a] <= self.field.grid.cells[a] as i32)
    }

    /// A cube of cells that is liquid far from the surface; its corner and edge are multiples of a block's edge.
    pub fn set_liquid(&mut self, origin: [i32; 3], edge: i32) {
        let blocks = edge / BLOCK as i32;
        for offset in box_of([blocks; 3]) {
            let at: [i32; 3] = std::array::from_fn(|a| origin[a] + BLOCK as i32 * offset[a]);
            if self.is_within(at) {
                let block = self.field.block_of(at);
                self.field.table[block] = LIQUID;
            }
        }
    }

    /// The values at a voxel; none beyond the grid.
    fn place(&mut self, at: [i32; 3]) -> Option<&mut [f32; 4]> {
        if !self.is_within(at) {
            return None;
        }
        let field = &mut self.field;
        let n = field.block_of(at);
        if field.table[n] >= LIQUID {
            let phi = if field.table[n] == AIR { field.far_m } else { -field.far_m };
            field.table[n] = (field.values.len() / BLOCK_CELLS) as u32;
            field.values.resize(field.values.len() + BLOCK_CELLS, [UNKNOWN, UNKNOWN, UNKNOWN, phi]);
        }
        Some(&mut field.values[field.table[n] as usize * BLOCK_CELLS + in_block(at)])
    }

    /// The level set at the centre of a cell.
    pub fn set_phi(&mut self, at: [i32; 3], phi: f32) {
        if let Some(value) = self.place(at) {
            value[3] = phi;
        }
    }

    /// The velocities on the low faces of a cell, which may lie one beyond the last.
    pub fn set_velocity(&mut self, at: [i32; 3], u: [f32; 3]) {
        if let Some(value) = self.place(at) {
            value[..3].copy_from_slice(&u);
        }
    }

    /// The field: velocities are averaged to cell centres where all faces of a cell are known.
    ///
    /// One lattice for all four numbers makes a sample a fourth as dear, and the error is of second order as that of
    /// the interpolation. Test: `samples_are_of_second_order`.
    pub fn finish(self) -> Field {
        let mut field = self.field;
        let faces = field.clone();
        let cells = field.grid.cells.map(|n| n as i32);
        let face = |at: [i32; 3]| match faces.table[faces.block_of(at)] {
            block if block < LIQUID => faces.values[block as usize * BLOCK_CELLS + in_block(at)],
            _ => [UNKNOWN; 4],
        };
        let [nx, ny, _] = field.blocks;
        for (n, &block) in faces.table.iter().enumerate().filter(|(_, block)| **block < LIQUID) {
            let origin = [n % nx, n / nx % ny, n / (nx * ny)].map(|b| (b * BLOCK) as i32);
            for offset in box_of([BLOCK as i32; 3]) {
                let at: [i32; 3] = std::array::from_fn(|a| origin[a] + offset[a]);
                let value = &mut field.values[block as usize * BLOCK_CELLS + in_block(at)];
                let low = face(at);
                let high = |a: usize| {
                    let mut at = at;
                    at[a] += 1;
                    face(at)[a]
                };
                let is_cell = AXES.iter().all(|&a| at[a] < cells[a]);
                let known = f32::is_finite;
                let u = AXES.map(|a| if is_cell && known(low[a]) { high(a) } else { UNKNOWN });
                let is_known = u.iter().all(|&u| known(u));
                for a in AXES {
                    value[a] = if is_known { 0.5 * (low[a] + u[a]) } else { UNKNOWN };
                }
            }
        }
        field
    }
}
