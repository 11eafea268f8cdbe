// The tall-cell grid as if it were regular: twin of crates/grids/src/tall.rs and of field.rs.

struct Grid {
    nx: i32,
    regular: i32,
    nz: i32,
    dx_m: f32,
}
@group(0) @binding(0) var<uniform> grid: Grid;
// Terrain height and height of the tall cell of every column.
@group(0) @binding(1) var<storage, read> columns: array<vec2<i32>>;

const CELL: u32 = 0u;
const SOLID: u32 = 1u;
const AIR: u32 = 2u;

struct Place { low: i32, high: i32, weight: f32 }
struct Sample { i: i32, j: i32, k: i32, y: i32, index: i32, inside: bool }

fn column_of(i: i32, k: i32) -> vec2<i32> { return columns[i + grid.nx * k]; }
fn row_count() -> i32 { return grid.regular + 2; }
fn index_of(i: i32, j: i32, k: i32) -> i32 { return i + grid.nx * (j + row_count() * k); }

fn y_of(i: i32, j: i32, k: i32) -> i32 {
    let c = column_of(i, k);
    return select(c.x + c.y + j - 2, c.x, j == 0);
}

fn holds(i: i32, y: i32, k: i32) -> u32 {
    if i < 0 || k < 0 || i >= grid.nx || k >= grid.nz { return SOLID; }
    let c = column_of(i, k);
    if y < c.x { return SOLID; }
    if y >= c.x + c.y + grid.regular { return AIR; }
    return CELL;
}

fn locate(i: i32, k: i32, y: f32) -> Place {
    let c = column_of(i, k);
    let top = f32(c.y - 1);
    let in_tall = y - f32(c.x);
    var row = 0;
    var weight = 0.0;
    if in_tall < top {
        weight = max(in_tall, 0.0) / top;
    } else {
        let over = min(in_tall - top, f32(grid.regular));
        row = 1 + i32(floor(over));
        weight = over - floor(over);
    }
    let low = index_of(i, row, k);
    return Place(low, select(low, low + grid.nx, row <= grid.regular), weight);
}

// The column nearest to (i, k), at height y.
fn nearest(i: i32, k: i32, y: f32) -> Place {
    return locate(clamp(i, 0, grid.nx - 1), clamp(k, 0, grid.nz - 1), y);
}

struct Around { a: Place, b: Place, c: Place, d: Place, wx: f32, wz: f32 }

fn around(point: vec3<f32>) -> Around {
    let x = clamp(point.x, 0.0, f32(grid.nx - 1));
    let z = clamp(point.z, 0.0, f32(grid.nz - 1));
    let i = i32(floor(x));
    let k = i32(floor(z));
    let i1 = min(i + 1, grid.nx - 1);
    let k1 = min(k + 1, grid.nz - 1);
    return Around(locate(i, k, point.y), locate(i1, k, point.y), locate(i, k1, point.y), locate(i1, k1, point.y),
        x - floor(x), z - floor(z));
}

fn blend1(a: f32, b: f32, w: f32) -> f32 { return a * (1.0 - w) + b * w; }
fn blend4(a: vec4<f32>, b: vec4<f32>, w: f32) -> vec4<f32> { return a * (1.0 - w) + b * w; }

// The sample of an invocation: x along columns, y along rows, z along columns.
fn sample_of(id: vec3<u32>) -> Sample {
    let i = i32(id.x);
    let j = i32(id.y);
    let k = i32(id.z);
    if i >= grid.nx || j >= row_count() || k >= grid.nz { return Sample(0, 0, 0, 0, 0, false); }
    return Sample(i, j, k, y_of(i, j, k), index_of(i, j, k), true);
}

// Steps to the six neighbouring cells, in the order x-, x+, y-, y+, z-, z+.
fn step_to(d: i32) -> vec3<i32> {
    let s = select(-1, 1, (d & 1) == 1);
    let axis = d / 2;
    return vec3<i32>(select(0, s, axis == 0), select(0, s, axis == 1), select(0, s, axis == 2));
}
