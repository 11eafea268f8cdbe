// uses "../columns.wgsl"
// uses "../other.wgsl"
// Twin of transfer, transfer_phi and fit in mod.rs; the grid is new, the other old; one invocation a column.

@group(0) @binding(4) var<storage, read> values1: array<f32>;
@group(0) @binding(5) var<storage, read_write> out1: array<f32>;
@group(0) @binding(6) var<storage, read> values4: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> out4: array<vec4<f32>>;

fn old1(i: i32, y: i32, k: i32) -> f32 {
    let p = other_locate(i, k, f32(y));
    return blend1(values1[p.low], values1[p.high], p.weight);
}

fn old4(i: i32, y: i32, k: i32) -> vec4<f32> {
    let p = other_locate(i, k, f32(y));
    return blend4(values4[p.low], values4[p.high], p.weight);
}

@compute @workgroup_size(8, 8)
fn transfer_scalar(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = column_of(i, k);
    let n = f32(c.y);
    let middle = 0.5 * (n - 1.0);
    var sum = 0.0;
    var moment = 0.0;
    for (var t = 0; t < c.y; t += 1) {
        let v = old1(i, c.x + t, k);
        sum += v;
        moment += (f32(t) - middle) * v;
    }
    let mean = (1.0 / n) * sum;
    let rise = 6.0 / (n * (n + 1.0));
    out1[index_of(i, 0, k)] = mean + (-rise) * moment;
    out1[index_of(i, 1, k)] = mean + rise * moment;
    for (var j = 2; j < row_count(); j += 1) { out1[index_of(i, j, k)] = old1(i, y_of(i, j, k), k); }
}

// Twin of share in volume/mod.rs.
fn share(phi_cells: f32) -> f32 { return clamp(0.5 - phi_cells, 0.0, 1.0); }

const LONGEST_LINE: f32 = 4.5;
const LINE_ROUNDS: i32 = 8;

// Twin of line_of_liquid in mod.rs.
fn line_of_liquid(i: i32, k: i32, c: vec2<i32>, ends: vec2<f32>) -> vec2<f32> {
    let n = f32(c.y);
    var liquid = 0.0;
    for (var t = 0; t < c.y; t += 1) {
        liquid += share(old1(i, c.x + t, k) / grid.dx_m);
    }
    if liquid <= 0.0 { return max(ends, vec2<f32>(0.5)); }
    if liquid >= n { return min(ends, vec2<f32>(-0.5)); }
    let lengths = vec2<f32>(liquid - 0.5, n - 0.5 - liquid);
    let slope = min(LONGEST_LINE / max(lengths.x, lengths.y), 1.0);
    var line = vec2<f32>(-slope * lengths.x, slope * lengths.y);
    for (var round = 0; round < LINE_ROUNDS; round += 1) {
        var held = 0.0;
        var cut = 0.0;
        for (var t = 0; t < c.y; t += 1) {
            let here = blend1(line.x, line.y, f32(t) / (n - 1.0));
            held += share(here);
            cut += select(0.0, 1.0, abs(here) < 0.5);
        }
        if cut > 0.0 { line += vec2<f32>((held - liquid) / cut); }
    }
    return line;
}

// What transfer_scalar has made of phi, in tall cells that are new or that liquid comes down into.
@compute @workgroup_size(8, 8)
fn keep_liquid(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = column_of(i, k);
    let before = other_columns[i + other.nx * k];
    let low = index_of(i, 0, k);
    let high = index_of(i, 1, k);
    let ends = vec2<f32>(out1[low] / grid.dx_m, out1[high] / grid.dx_m);
    let comes_from_above = ends.x > 0.0 && ends.y <= 0.0;
    if c.x == before.x && c.y == before.y && !comes_from_above { return; }
    let line = line_of_liquid(i, k, c, ends);
    out1[low] = line.x * grid.dx_m;
    out1[high] = line.y * grid.dx_m;
}

@compute @workgroup_size(8, 8)
fn transfer_velocity(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = column_of(i, k);
    let n = f32(c.y);
    let middle = 0.5 * (n - 1.0);
    var sum = vec4<f32>(0.0);
    var moment = vec4<f32>(0.0);
    for (var t = 0; t < c.y; t += 1) {
        let v = old4(i, c.x + t, k);
        sum += v;
        moment += (f32(t) - middle) * v;
    }
    let mean = (1.0 / n) * sum;
    let rise = 6.0 / (n * (n + 1.0));
    out4[index_of(i, 0, k)] = mean + (-rise) * moment;
    out4[index_of(i, 1, k)] = mean + rise * moment;
    for (var j = 2; j < row_count(); j += 1) { out4[index_of(i, j, k)] = old4(i, y_of(i, j, k), k); }
}
