// uses "../columns.wgsl"
// Twin of phi_in_solids and velocity_in_solids in mod.rs.

@group(0) @binding(4) var<storage, read> phi: array<f32>;
@group(0) @binding(5) var<storage, read> fraction: array<f32>;
@group(0) @binding(6) var<storage, read_write> phi_out: array<f32>;
@group(0) @binding(7) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read> u_solid: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> u_out: array<vec4<f32>>;

const SOLID_ABOVE: f32 = 0.9;
const REACH_CELLS: f32 = 5.0;

// Direction n of the CPU's order (x-, x+, z-, z+, y-, y+) as step_to counts it.
fn direction(n: i32) -> i32 {
    if n < 2 { return n; }
    return select(n + 2, n - 2, n >= 4);
}

fn fraction_at(p: Place) -> f32 { return blend1(fraction[p.low], fraction[p.high], p.weight); }

@compute @workgroup_size(16, 4, 2)
fn phi_in_solids(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if fraction[s.index] <= SOLID_ABOVE {
        phi_out[s.index] = phi[s.index];
        return;
    }
    var level = 0.0;
    var count = 0.0;
    var all = 0.0;
    var all_count = 0.0;
    var vertical = 0.0;
    var has_vertical = false;
    for (var n = 0; n < 6; n += 1) {
        let cell = vec3<i32>(s.i, s.y, s.k) + step_to(direction(n));
        if holds(cell.x, cell.y, cell.z) != CELL { continue; }
        let p = nearest(cell.x, cell.z, f32(cell.y));
        let value = blend1(phi[p.low], phi[p.high], p.weight);
        all += value;
        all_count += 1.0;
        if fraction_at(p) > SOLID_ABOVE { continue; }
        if n == 4 {
            vertical = value + grid.dx_m;
            has_vertical = true;
        } else if n == 5 {
            vertical = value - grid.dx_m;
            has_vertical = true;
        } else {
            level += value;
            count += 1.0;
        }
    }
    var value = phi[s.index];
    if count > 0.0 {
        value = level / count;
    } else if has_vertical {
        value = vertical;
    } else if all_count > 0.0 {
        value = all / all_count;
    }
    let reach = REACH_CELLS * grid.dx_m;
    phi_out[s.index] = clamp(value, -reach, reach);
}

@compute @workgroup_size(16, 4, 2)
fn velocity_in_solids(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if fraction[s.index] <= SOLID_ABOVE {
        u_out[s.index] = u[s.index];
        return;
    }
    let own = u_solid[s.index].xyz;
    var sum = vec3<f32>(0.0);
    var count = 0.0;
    for (var n = 0; n < 6; n += 1) {
        let step = step_to(direction(n));
        let cell = vec3<i32>(s.i, s.y, s.k) + step;
        if holds(cell.x, cell.y, cell.z) != CELL { continue; }
        let p = nearest(cell.x, cell.z, f32(cell.y));
        if fraction_at(p) > SOLID_ABOVE { continue; }
        let value = blend4(u[p.low], u[p.high], p.weight).xyz;
        sum += select(value, 2.0 * own - value, step != vec3<i32>(0));
        count += 1.0;
    }
    if count > 0.0 {
        u_out[s.index] = vec4<f32>(sum / count, 1.0);
    } else {
        u_out[s.index] = vec4<f32>(own, 1.0);
    }
}
