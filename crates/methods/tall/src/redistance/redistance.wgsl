// uses "../columns.wgsl"
// Twin of clamp_frame, start and pass in mod.rs.

@group(0) @binding(4) var<storage, read> phi: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

const REACH_CELLS: f32 = 5.0;

fn beside_surface(s: Sample) -> bool {
    let liquid = phi[s.index] <= 0.0;
    for (var d = 0; d < 6; d += 1) {
        let cell = vec3<i32>(s.i, s.y, s.k) + step_to(d);
        if holds(cell.x, cell.y, cell.z) != CELL { continue; }
        let p = nearest(cell.x, cell.z, f32(cell.y));
        if (blend1(phi[p.low], phi[p.high], p.weight) <= 0.0) != liquid { return true; }
    }
    return false;
}

fn holds_a_surface(s: Sample) -> bool {
    let bottom = phi[index_of(s.i, 0, s.k)] / grid.dx_m;
    let top = phi[index_of(s.i, 1, s.k)] / grid.dx_m;
    return s.j < 2 && column_of(s.i, s.k).y > 2 && bottom < 0.5 && top > -0.5;
}

@compute @workgroup_size(16, 4, 2)
fn clamp_frame(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let reach = select(REACH_CELLS, 1.0, beside_surface(s) && !holds_a_surface(s)) * grid.dx_m;
    out[s.index] = clamp(phi[s.index], -reach, reach);
}

@compute @workgroup_size(16, 4, 2)
fn start(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let here = phi[s.index];
    let reach = REACH_CELLS * grid.dx_m;
    if holds_a_surface(s) {
        out[s.index] = clamp(here, -reach, reach);
    } else if beside_surface(s) {
        out[s.index] = clamp(here, -grid.dx_m, grid.dx_m);
    } else {
        out[s.index] = select(reach, -reach, here <= 0.0);
    }
}

fn eikonal(near: vec3<f32>, dx: f32) -> f32 {
    let low = min(near.x, near.y);
    let high = max(near.x, near.y);
    let first = min(low, near.z);
    let mid = max(low, near.z);
    let second = min(mid, high);
    let third = max(mid, high);
    let one = first + dx;
    if one <= second { return one; }
    let gap = second - first;
    let two = 0.5 * (first + second + sqrt(2.0 * dx * dx - gap * gap));
    if two <= third { return two; }
    let sum = first + second + third;
    let squares = first * first + second * second + third * third;
    return (sum + sqrt(max(sum * sum - 3.0 * (squares - dx * dx), 0.0))) / 3.0;
}

@compute @workgroup_size(16, 4, 2)
fn distance_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let here = phi[s.index];
    if beside_surface(s) || holds_a_surface(s) {
        out[s.index] = here;
        return;
    }
    let reach = REACH_CELLS * grid.dx_m;
    var near = vec3<f32>(reach);
    for (var axis = 0; axis < 3; axis += 1) {
        for (var side = 0; side < 2; side += 1) {
            let cell = vec3<i32>(s.i, s.y, s.k) + step_to(2 * axis + side);
            if holds(cell.x, cell.y, cell.z) != CELL { continue; }
            let p = nearest(cell.x, cell.z, f32(cell.y));
            near[axis] = min(near[axis], abs(blend1(phi[p.low], phi[p.high], p.weight)));
        }
    }
    let distance = min(eikonal(near, grid.dx_m), reach);
    out[s.index] = select(distance, -distance, here <= 0.0);
}
