//! Values read as if the grid were regular, and loops over its samples.

use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::{Holds, Place};

/// Velocity and, last, whether it is known (1) or not (0): the layout of a `vec4<f32>`.
pub type Velocity = [f32; 4];

/// What can be interpolated.
pub trait Value: Copy + Send + Sync {
    /// `self * (1 - w) + other * w`, in this order of operations, on the CPU and the GPU alike.
    fn blend(self, other: Self, w: f32) -> Self;
}

impl Value for f32 {
    fn blend(self, other: f32, w: f32) -> f32 {
        self * (1.0 - w) + other * w
    }
}

impl Value for Velocity {
    fn blend(self, other: Velocity, w: f32) -> Velocity {
        std::array::from_fn(|c| self[c].blend(other[c], w))
    }
}

/// The value at a place of a column.
pub fn at<T: Value>(values: &[T], place: Place) -> T {
    values[place.low].blend(values[place.high], place.weight)
}

/// The value at height `y` of the column nearest to (i, k): beyond walls, terrain and the column's top the
/// last value goes on.
pub fn nearest<T: Value>(grid: &TallGrid, values: &[T], [i, k]: [i32; 2], y: f32) -> T {
    let i = i.clamp(0, grid.nx as i32 - 1) as usize;
    let k = k.clamp(0, grid.nz as i32 - 1) as usize;
    at(values, grid.locate(i, k, y))
}

/// The eight values around a point (in cells, whole at cell centres): columns (0,0), (1,0), (0,1), (1,1),
/// each as its place in the y direction, and the weights of the second column along x and z.
///
/// As in [tall §3.8] the y direction comes first: two values a column, whatever the cell.
pub struct Around {
    /// Places in the four columns.
    pub places: [Place; 4],
    /// Weight along x.
    pub wx: f32,
    /// Weight along z.
    pub wz: f32,
}

/// Finds the values around a point; points beyond the grid are moved to its nearest sample.
pub fn around(grid: &TallGrid, [x, y, z]: [f32; 3]) -> Around {
    let x = x.clamp(0.0, (grid.nx - 1) as f32);
    let z = z.clamp(0.0, (grid.nz - 1) as f32);
    let (i, k) = (x.floor() as usize, z.floor() as usize);
    let (i1, k1) = ((i + 1).min(grid.nx - 1), (k + 1).min(grid.nz - 1));
    let places = [(i, k), (i1, k), (i, k1), (i1, k1)].map(|(i, k)| grid.locate(i, k, y));
    Around { places, wx: x - x.floor(), wz: z - z.floor() }
}

impl Around {
    /// Trilinear interpolation.
    pub fn value<T: Value>(&self, values: &[T]) -> T {
        let [a, b, c, d] = self.places.map(|p| at(values, p));
        a.blend(b, self.wx).blend(c.blend(d, self.wx), self.wz)
    }
}

/// Trilinear interpolation at a point (in cells, whole at cell centres).
pub fn interpolate<T: Value>(grid: &TallGrid, values: &[T], point: [f32; 3]) -> T {
    around(grid, point).value(values)
}

/// A sample: its column, row and cell.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Column along x.
    pub i: usize,
    /// Row.
    pub j: usize,
    /// Column along z.
    pub k: usize,
    /// Cell whose centre it lies at.
    pub y: i32,
    /// Index in fields.
    pub index: usize,
}

impl Sample {
    /// Its place as a point in cells.
    pub fn point(&self) -> [f32; 3] {
        [self.i as f32, self.y as f32, self.k as f32]
    }
}

/// Column steps of the neighbours along x-, x+, z-, z+.
pub const SIDES: [[i32; 2]; 4] = [[-1, 0], [1, 0], [0, -1], [0, 1]];

/// The six neighbouring cells of a sample one cell away: x-, x+, y-, y+, z-, z+. Those beyond walls, terrain
/// and the top are none.
pub fn neighbours<T: Value>(grid: &TallGrid, values: &[T], s: Sample) -> [Option<T>; 6] {
    [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]].map(|[di, dy, dk]| {
        let (i, y, k) = (s.i as i32 + di, s.y + dy, s.k as i32 + dk);
        (grid.holds(i, y, k) == Holds::Cell).then(|| nearest(grid, values, [i, k], y as f32))
    })
}

/// Grids with fewer samples than this are not worth other threads: the coarse levels of multigrid, above all.
const FEW_SAMPLES: usize = 8192;

/// `out[sample] = body(sample)` for every sample, in parallel by slabs of z.
pub fn for_each_sample<T: Send>(grid: &TallGrid, out: &mut [T], body: impl Fn(Sample) -> T + Sync + Send) {
    assert_eq!(out.len(), grid.samples());
    let slab = grid.nx * grid.rows();
    let fill = |k: usize, values: &mut [T]| {
        for j in 0..grid.rows() {
            for i in 0..grid.nx {
                let (y, local) = (grid.y(i, j, k), i + grid.nx * j);
                values[local] = body(Sample { i, j, k, y, index: slab * k + local });
            }
        }
    };
    if out.len() < FEW_SAMPLES {
        out.chunks_mut(slab).enumerate().for_each(|(k, values)| fill(k, values));
    } else {
        parallel::for_each_chunk_mut(out, slab, fill);
    }
}
