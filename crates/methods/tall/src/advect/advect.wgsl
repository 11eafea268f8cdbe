// uses "../columns.wgsl"
// uses "../walls/beyond.wgsl"
// Twin of trace_back, correct and correct_phi in mod.rs.

struct Params { acceleration_m_s2: vec3<f32>, dt_s: f32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> phi: array<f32>;
@group(0) @binding(7) var<storage, read_write> carried: array<vec4<f32>>;
// The point (in cells) that a sample's liquid came from, and what phi is there at least.
@group(0) @binding(8) var<storage, read_write> source: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> phi_out: array<f32>;

fn u_at(p: Place) -> vec4<f32> { return blend4(u[p.low], u[p.high], p.weight); }
fn u_around(a: Around) -> vec4<f32> {
    return blend4(blend4(u_at(a.a), u_at(a.b), a.wx), blend4(u_at(a.c), u_at(a.d), a.wx), a.wz);
}
fn phi_at(p: Place) -> f32 { return blend1(phi[p.low], phi[p.high], p.weight); }
fn phi_around(a: Around) -> f32 {
    return blend1(blend1(phi_at(a.a), phi_at(a.b), a.wx), blend1(phi_at(a.c), phi_at(a.d), a.wx), a.wz);
}
fn carried_at(p: Place) -> vec4<f32> { return blend4(carried[p.low], carried[p.high], p.weight); }
fn carried_around(a: Around) -> vec4<f32> {
    return blend4(blend4(carried_at(a.a), carried_at(a.b), a.wx), blend4(carried_at(a.c), carried_at(a.d), a.wx), a.wz);
}

fn trace_along(point: vec3<f32>, here: vec3<f32>, scale: f32) -> vec3<f32> {
    let middle = u_around(around(point + 0.5 * scale * here));
    return point + scale * middle.xyz;
}

// Twin of holds_a_surface in redistance/mod.rs.
fn holds_a_surface(s: Sample) -> bool {
    let bottom = phi[index_of(s.i, 0, s.k)] / grid.dx_m;
    let top = phi[index_of(s.i, 1, s.k)] / grid.dx_m;
    return s.j < 2 && column_of(s.i, s.k).y > 2 && bottom < 0.5 && top > -0.5;
}

@compute @workgroup_size(16, 4, 2)
fn trace_back(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let scale = -params.dt_s / grid.dx_m;
    let point = trace_along(vec3<f32>(f32(s.i), f32(s.y), f32(s.k)), u[s.index].xyz, scale);
    let there = around(point);
    let least = grid.dx_m * beyond_walls(point);
    let phi_there = select(max(phi_around(there), least), phi[s.index], holds_a_surface(s));
    carried[s.index] = vec4<f32>(u_around(there).xyz, phi_there);
    source[s.index] = vec4<f32>(point, least);
}

fn least_of(p: Place) -> vec3<f32> { return min(u[p.low].xyz, u[p.high].xyz); }
fn most_of(p: Place) -> vec3<f32> { return max(u[p.low].xyz, u[p.high].xyz); }

@compute @workgroup_size(16, 4, 2)
fn correct(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let scale = params.dt_s / grid.dx_m;
    let old = u[s.index].xyz;
    let once = carried[s.index].xyz;
    let forth = trace_along(vec3<f32>(f32(s.i), f32(s.y), f32(s.k)), old, scale);
    let again = carried_around(around(forth)).xyz;
    let a = around(source[s.index].xyz);
    let least = min(min(least_of(a.a), least_of(a.b)), min(least_of(a.c), least_of(a.d)));
    let most = max(max(most_of(a.a), most_of(a.b)), max(most_of(a.c), most_of(a.d)));
    let corrected = once + 0.5 * (old - again);
    let kept = select(corrected, once, (corrected < least) | (corrected > most));
    out[s.index] = vec4<f32>(kept + params.dt_s * params.acceleration_m_s2, 1.0);
    phi_out[s.index] = carried[s.index].w;
}

fn least_phi(p: Place) -> f32 { return min(phi[p.low], phi[p.high]); }
fn most_phi(p: Place) -> f32 { return max(phi[p.low], phi[p.high]); }

@compute @workgroup_size(16, 4, 2)
fn correct_phi(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let scale = params.dt_s / grid.dx_m;
    let once = carried[s.index].w;
    if holds_a_surface(s) {
        phi_out[s.index] = once;
        return;
    }
    let forth = trace_along(vec3<f32>(f32(s.i), f32(s.y), f32(s.k)), u[s.index].xyz, scale);
    let again = carried_around(around(forth)).w;
    let a = around(source[s.index].xyz);
    let least = min(min(least_phi(a.a), least_phi(a.b)), min(least_phi(a.c), least_phi(a.d)));
    let most = max(max(most_phi(a.a), most_phi(a.b)), max(most_phi(a.c), most_phi(a.d)));
    let corrected = once + 0.5 * (phi[s.index] - again);
    phi_out[s.index] = select(max(corrected, source[s.index].w), once, corrected < least || corrected > most);
}
