// uses "../columns.wgsl"
// uses "../cells.wgsl"
// Twin of pour, impose and drain in mod.rs.

struct Beyond { first_x: i32, first_z: i32, end_x: i32, end_z: i32, height: i32, conserves: i32, pad0: i32, pad1: i32 }
@group(0) @binding(4) var<uniform> beyond: Beyond;
@group(0) @binding(5) var<storage, read_write> phi: array<f32>;
@group(0) @binding(6) var<storage, read_write> u: array<vec4<f32>>;

fn is_left(s: Sample) -> bool {
    return s.i < beyond.first_x || s.i >= beyond.end_x || s.k < beyond.first_z || s.k >= beyond.end_z
        || s.y >= beyond.height;
}

@compute @workgroup_size(16, 4, 2)
fn pour(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let entry = find_cell(s.i + grid.nx * s.k, s.y);
    if entry < 0 { return; }
    phi[s.index] = min(phi[s.index], list_cells[entry].y);
    if list_u[entry].w > 0.0 { u[s.index] = list_u[entry]; }
}

// The velocity alone, after the pressure.
@compute @workgroup_size(16, 4, 2)
fn impose(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let entry = find_cell(s.i + grid.nx * s.k, s.y);
    if entry < 0 { return; }
    if list_u[entry].w > 0.0 { u[s.index] = list_u[entry]; }
}

@compute @workgroup_size(16, 4, 2)
fn drain(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    var value = phi[s.index];
    let entry = find_cell(s.i + grid.nx * s.k, s.y);
    if entry >= 0 { value = max(value, list_cells[entry].y); }
    if is_left(s) { value = max(value, grid.dx_m); }
    phi[s.index] = value;
}
