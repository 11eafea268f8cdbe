// uses "../columns.wgsl"
// Twin of mark_known and band_pass in mod.rs.

struct Params { band_m: f32, pad0: f32, pad1: f32, pad2: f32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> phi: array<f32>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4<f32>>;

const KNOWN: f32 = 0.999;

@compute @workgroup_size(16, 4, 2)
fn mark_known(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if phi[s.index] <= 0.0 {
        out[s.index] = vec4<f32>(u[s.index].xyz, 1.0);
    } else {
        out[s.index] = vec4<f32>(0.0);
    }
}

@compute @workgroup_size(16, 4, 2)
fn band_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let here = phi[s.index];
    if here <= 0.0 || here >= params.band_m {
        out[s.index] = u[s.index];
        return;
    }
    var sum = vec3<f32>(0.0);
    var total = 0.0;
    for (var axis = 0; axis < 3; axis += 1) {
        var drop = 0.0;
        var upwind = vec3<f32>(0.0);
        for (var side = 0; side < 2; side += 1) {
            let cell = vec3<i32>(s.i, s.y, s.k) + step_to(2 * axis + side);
            if holds(cell.x, cell.y, cell.z) != CELL { continue; }
            let p = nearest(cell.x, cell.z, f32(cell.y));
            let there = blend1(phi[p.low], phi[p.high], p.weight);
            let value = blend4(u[p.low], u[p.high], p.weight);
            if value.w >= KNOWN && here - there > drop {
                drop = here - there;
                upwind = value.xyz;
            }
        }
        sum += drop * upwind;
        total += drop;
    }
    if total > 0.0 {
        out[s.index] = vec4<f32>(sum / total, 1.0);
    } else {
        out[s.index] = u[s.index];
    }
}
