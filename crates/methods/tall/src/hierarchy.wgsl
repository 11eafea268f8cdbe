// Twin of TallGrid::coarser in crates/grids/src/tall.rs, and of copies between vectors; one invocation an item.

struct Sizes { fine_nx: i32, fine_nz: i32, nx: i32, nz: i32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> fine: array<vec2<i32>>;
@group(0) @binding(2) var<storage, read_write> coarse: array<vec2<i32>>;

@compute @workgroup_size(8, 8)
fn coarsen_columns(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= sizes.nx || k >= sizes.nz { return; }
    var lowest = 2147483647;
    var top = 0;
    for (var n = 0; n < 4; n += 1) {
        let fi = 2 * i + (n & 1);
        let fk = 2 * k + (n >> 1u);
        if fi >= sizes.fine_nx || fk >= sizes.fine_nz { continue; }
        let c = fine[fi + sizes.fine_nx * fk];
        lowest = min(lowest, c.x);
        top = max(top, c.x + c.y);
    }
    let terrain = lowest / 2;
    coarse[i + sizes.nx * k] = vec2<i32>(terrain, max((top + 1) / 2 - terrain, 2));
}

@group(0) @binding(3) var<storage, read> a: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

fn item(id: vec3<u32>, groups: vec3<u32>) -> u32 { return id.x + id.y * groups.x * 256u; }

@compute @workgroup_size(256)
fn zero(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = item(id, groups);
    if n < arrayLength(&out) { out[n] = 0.0; }
}

@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = item(id, groups);
    if n < arrayLength(&out) { out[n] = a[n]; }
}

@group(0) @binding(6) var<storage, read> columns_in: array<vec2<i32>>;
@group(0) @binding(7) var<storage, read_write> columns_out: array<vec2<i32>>;

@compute @workgroup_size(256)
fn copy_columns(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = item(id, groups);
    if n < arrayLength(&columns_out) { columns_out[n] = columns_in[n]; }
}

// A whole state; one invocation a sample.
@group(0) @binding(8) var<storage, read> phi_in: array<f32>;
@group(0) @binding(9) var<storage, read_write> phi_out: array<f32>;
@group(0) @binding(10) var<storage, read> u_in: array<vec4<f32>>;
@group(0) @binding(11) var<storage, read_write> u_out: array<vec4<f32>>;
@group(0) @binding(12) var<storage, read> pressure_in: array<f32>;
@group(0) @binding(13) var<storage, read_write> pressure_out: array<f32>;
@group(0) @binding(14) var<storage, read> residual_in: array<f32>;
@group(0) @binding(15) var<storage, read_write> residual_out: array<f32>;

@compute @workgroup_size(256)
fn copy_state(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = item(id, groups);
    if n >= arrayLength(&phi_out) { return; }
    phi_out[n] = phi_in[n];
    u_out[n] = u_in[n];
    pressure_out[n] = pressure_in[n];
    if n < arrayLength(&columns_out) {
        columns_out[n] = columns_in[n];
        residual_out[n] = residual_in[n];
    }
}
