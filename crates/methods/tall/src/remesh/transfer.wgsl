// uses "../columns.wgsl"
// uses "../other.wgsl"
// Twin of transfer and fit in mod.rs; the grid is new, the other old; one invocation a column.

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
