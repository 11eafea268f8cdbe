// uses "../columns.wgsl"
// Twin of work_by_row and part_to_take in multigrid.rs, and of the part of the way that is then taken.

@group(0) @binding(4) var<storage, read> before: array<f32>;
@group(0) @binding(5) var<storage, read> after: array<f32>;
@group(0) @binding(6) var<storage, read_write> by_row: array<vec2<f32>>;
@group(0) @binding(7) var<storage, read_write> part: array<f32>;
@group(0) @binding(8) var<storage, read> smoothed: array<f32>;
@group(0) @binding(9) var<storage, read_write> p: array<f32>;

@compute @workgroup_size(64)
fn work_by_row(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = i32(id.x);
    if row >= row_count() * grid.nz { return; }
    var sums = vec2<f32>(0.0);
    for (var n = row * grid.nx; n < (row + 1) * grid.nx; n += 1) {
        let change = p[n] - smoothed[n];
        sums += vec2<f32>(change * before[n], change * (before[n] - after[n]));
    }
    by_row[row] = sums;
}

const LANES: i32 = 256;
var<workgroup> lanes: array<vec2<f32>, 256>;

@compute @workgroup_size(256)
fn part_to_take(@builtin(local_invocation_index) local: u32) {
    var sums = vec2<f32>(0.0);
    for (var row = i32(local); row < row_count() * grid.nz; row += LANES) { sums += by_row[row]; }
    lanes[local] = sums;
    workgroupBarrier();
    if local > 0u { return; }
    var all = vec2<f32>(0.0);
    for (var n = 0; n < LANES; n += 1) { all += lanes[n]; }
    part[0] = 1.0;
    if all.y < 0.0 { part[0] = clamp(all.x / all.y, 0.0, 1.0); }
}

@compute @workgroup_size(256)
fn take_part(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = id.x + id.y * groups.x * 256u;
    if n < arrayLength(&p) { p[n] = smoothed[n] * (1.0 - part[0]) + p[n] * part[0]; }
}
