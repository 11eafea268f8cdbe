// uses "../columns.wgsl"
// uses "../other.wgsl"
// Twin of surface_back in mod.rs: the grid is the surface's, the other the velocity's.

struct Params { ratio: f32, dt_s: f32, pad0: f32, pad1: f32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> phi: array<f32>;
@group(0) @binding(6) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;

fn u_at(p: Place) -> vec4<f32> { return blend4(u[p.low], u[p.high], p.weight); }
fn phi_at(p: Place) -> f32 { return blend1(phi[p.low], phi[p.high], p.weight); }

fn velocity(point: vec3<f32>) -> vec3<f32> {
    let x = clamp(point.x, 0.0, f32(other.nx - 1));
    let z = clamp(point.z, 0.0, f32(other.nz - 1));
    let i = i32(floor(x));
    let k = i32(floor(z));
    let i1 = min(i + 1, other.nx - 1);
    let k1 = min(k + 1, other.nz - 1);
    let near = blend4(u_at(other_locate(i, k, point.y)), u_at(other_locate(i1, k, point.y)), x - floor(x));
    let far = blend4(u_at(other_locate(i, k1, point.y)), u_at(other_locate(i1, k1, point.y)), x - floor(x));
    return blend4(near, far, z - floor(z)).xyz;
}

@compute @workgroup_size(16, 4, 2)
fn surface_back(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let scale = -params.dt_s / other.dx_m;
    let point = (vec3<f32>(f32(s.i), f32(s.y), f32(s.k)) + 0.5) / params.ratio - 0.5;
    let middle = velocity(point + 0.5 * scale * velocity(point));
    let a = around((point + scale * middle + 0.5) * params.ratio - 0.5);
    let near = blend1(phi_at(a.a), phi_at(a.b), a.wx);
    let far = blend1(phi_at(a.c), phi_at(a.d), a.wx);
    out[s.index] = blend1(near, far, a.wz);
}
