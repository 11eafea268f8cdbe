// uses "../columns.wgsl"
// Twin of top_ranges, keep_off_shallows (along x, then along z), limit_ranges, middles, smooth_pass, limit_pass and columns_from_tops in mod.rs; one invocation a column.

struct Params { cells_below: f32, cells_above: f32, difference: f32, pad: f32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> phi: array<f32>;
@group(0) @binding(6) var<storage, read_write> ranges: array<vec2<f32>>;
@group(0) @binding(7) var<storage, read> tops: array<f32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;
@group(0) @binding(9) var<storage, read_write> columns_out: array<vec2<i32>>;

@group(0) @binding(10) var<storage, read> limits: array<vec2<f32>>;

const LEAST_TALL: i32 = 2;

@compute @workgroup_size(8, 8)
fn top_ranges(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = column_of(i, k);
    let ground = f32(c.x + LEAST_TALL);
    // The first air above the column's foot, and just over the last liquid; -1 while there is none.
    var lowest = -1.0;
    var highest = -1.0;
    for (var j = 0; j < row_count(); j += 1) {
        let here = phi[index_of(i, j, k)];
        let y = f32(y_of(i, j, k));
        if here <= 0.0 {
            highest = y + 1.0;
        } else if lowest < 0.0 {
            lowest = y;
        }
        if j == 1 {
            let foot = phi[index_of(i, 0, k)];
            let below = f32(c.x);
            if (foot <= 0.0) != (here <= 0.0) {
                let crossing = below + (y - below) * (foot / (foot - here));
                if foot <= 0.0 {
                    lowest = floor(crossing);
                    highest = floor(crossing) + 1.0;
                } else {
                    lowest = below;
                }
            }
        }
    }
    let column = i + grid.nx * k;
    if highest < 0.0 {
        ranges[column] = vec2<f32>(ground, ground);
        return;
    }
    if lowest < 0.0 { lowest = f32(c.x + c.y + grid.regular); }
    ranges[column] = vec2<f32>(max(highest + params.cells_above - f32(grid.regular), ground),
        max(lowest - params.cells_below, ground));
}

@compute @workgroup_size(8, 8)
fn lowest_along_x(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let reach = i32(ceil(params.cells_below));
    var lowest = ranges[i + grid.nx * k].y;
    for (var x = max(i - reach, 0); x <= min(i + reach, grid.nx - 1); x += 1) { lowest = min(lowest, ranges[x + grid.nx * k].y); }
    out[i + grid.nx * k] = lowest;
}

@compute @workgroup_size(8, 8)
fn lowest_along_z(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let reach = i32(ceil(params.cells_below));
    var lowest = tops[i + grid.nx * k];
    for (var z = max(k - reach, 0); z <= min(k + reach, grid.nz - 1); z += 1) { lowest = min(lowest, tops[i + grid.nx * z]); }
    ranges[i + grid.nx * k].y = max(lowest, f32(column_of(i, k).x + LEAST_TALL));
}

@compute @workgroup_size(8, 8)
fn limit_ranges(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    let column = i32(id.x) + grid.nx * i32(id.y);
    ranges[column] = min(ranges[column], limits[column]);
}

@compute @workgroup_size(8, 8)
fn middles(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    let column = i32(id.x) + grid.nx * i32(id.y);
    out[column] = 0.5 * (ranges[column].x + ranges[column].y);
}

fn sides(i: i32, k: i32) -> vec4<f32> {
    return vec4<f32>(tops[max(i - 1, 0) + grid.nx * k], tops[min(i + 1, grid.nx - 1) + grid.nx * k],
        tops[i + grid.nx * max(k - 1, 0)], tops[i + grid.nx * min(k + 1, grid.nz - 1)]);
}

@compute @workgroup_size(8, 8)
fn smooth_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let column = i + grid.nx * k;
    let s = sides(i, k);
    let top = 0.5 * tops[column] + 0.125 * (((s.x + s.y) + s.z) + s.w);
    out[column] = max(min(top, ranges[column].y), ranges[column].x);
}

@compute @workgroup_size(8, 8)
fn limit_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let column = i + grid.nx * k;
    let s = sides(i, k);
    let lowest = min(min(s.x, s.y), min(s.z, s.w));
    out[column] = max(min(tops[column], lowest + params.difference), ranges[column].x);
}

@compute @workgroup_size(8, 8)
fn columns_from_tops(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    let column = i32(id.x) + grid.nx * i32(id.y);
    let terrain = columns[column].x;
    columns_out[column] = vec2<i32>(terrain, max(i32(floor(tops[column] + 0.5)) - terrain, LEAST_TALL));
}
