// uses "columns.wgsl"
// The second grid of kernels that go between two levels: as columns.wgsl, for the grid that is read.

struct OtherGrid {
    nx: i32,
    regular: i32,
    nz: i32,
    dx_m: f32,
}
@group(0) @binding(2) var<uniform> other: OtherGrid;
@group(0) @binding(3) var<storage, read> other_columns: array<vec2<i32>>;

fn other_index(i: i32, j: i32, k: i32) -> i32 { return i + other.nx * (j + (other.regular + 2) * k); }

fn other_holds(i: i32, y: i32, k: i32) -> u32 {
    if i < 0 || k < 0 || i >= other.nx || k >= other.nz { return 1u; }
    let c = other_columns[i + other.nx * k];
    if y < c.x { return 1u; }
    if y >= c.x + c.y + other.regular { return 2u; }
    return 0u;
}

fn other_locate(i: i32, k: i32, y: f32) -> Place {
    let c = other_columns[i + other.nx * k];
    let top = f32(c.y - 1);
    let in_tall = y - f32(c.x);
    var row = 0;
    var weight = 0.0;
    if in_tall < top {
        weight = max(in_tall, 0.0) / top;
    } else {
        let over = min(in_tall - top, f32(other.regular));
        row = 1 + i32(floor(over));
        weight = over - floor(over);
    }
    let low = other_index(i, row, k);
    return Place(low, select(low, low + other.nx, row <= other.regular), weight);
}

fn other_nearest(i: i32, k: i32, y: f32) -> Place {
    return other_locate(clamp(i, 0, other.nx - 1), clamp(k, 0, other.nz - 1), y);
}

// Fine cell n (0 to 7) of a coarse cell.
fn fine_cell(cell: vec3<i32>, n: i32) -> vec3<i32> {
    return vec3<i32>(2 * cell.x + (n & 1), 2 * cell.y + ((n >> 1u) & 1), 2 * cell.z + (n >> 2u));
}

// Coarse cell n (0 to 7) around a fine cell along one axis.
fn coarse_along(c: i32, beside: bool) -> i32 {
    return select(c >> 1u, (c >> 1u) + select(-1, 1, (c & 1) == 1), beside);
}

fn coarse_cell(cell: vec3<i32>, n: i32) -> vec3<i32> {
    return vec3<i32>(coarse_along(cell.x, (n & 1) == 1), coarse_along(cell.y, ((n >> 1u) & 1) == 1),
        coarse_along(cell.z, (n >> 2u) == 1));
}

fn coarse_weight(n: i32) -> f32 {
    let wx = select(0.75, 0.25, (n & 1) == 1);
    let wy = select(0.75, 0.25, ((n >> 1u) & 1) == 1);
    let wz = select(0.75, 0.25, (n >> 2u) == 1);
    return wx * wy * wz;
}
