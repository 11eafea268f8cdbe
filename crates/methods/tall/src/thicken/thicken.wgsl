// uses "../columns.wgsl"
// Twin of thicken in mod.rs.

struct Params { scale: f32, pad0: f32, pad1: f32, pad2: f32, places: array<vec4<f32>, 16> }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> phi: array<f32>;
@group(0) @binding(7) var<storage, read_write> carried: array<f32>;
// Carried phi as whole numbers of the same order: the least of several does not depend on their order.
@group(0) @binding(8) var<storage, read_write> least: array<atomic<i32>>;

fn ordered(value: f32) -> i32 {
    let bits = bitcast<i32>(value);
    return bits ^ ((bits >> 31u) & 0x7fffffff);
}

@compute @workgroup_size(256)
fn order(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = id.x + id.y * 32768u * 256u;
    if n < arrayLength(&carried) { atomicStore(&least[n], ordered(carried[n])); }
}

@compute @workgroup_size(256)
fn take_least(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = id.x + id.y * 32768u * 256u;
    if n >= arrayLength(&carried) { return; }
    let bits = atomicLoad(&least[n]);
    carried[n] = bitcast<f32>(bits ^ ((bits >> 31u) & 0x7fffffff));
}

fn phi_place(p: Place) -> f32 { return blend1(phi[p.low], phi[p.high], p.weight); }
fn phi_there(x: vec3<f32>) -> f32 {
    let a = around(x);
    return blend1(blend1(phi_place(a.a), phi_place(a.b), a.wx), blend1(phi_place(a.c), phi_place(a.d), a.wx), a.wz);
}
fn u_place(p: Place) -> vec4<f32> { return blend4(u[p.low], u[p.high], p.weight); }
fn u_there(x: vec3<f32>) -> vec3<f32> {
    let a = around(x);
    return blend4(blend4(u_place(a.a), u_place(a.b), a.wx), blend4(u_place(a.c), u_place(a.d), a.wx), a.wz).xyz;
}
fn unit(a: vec3<f32>) -> vec3<f32> { return a / sqrt(a.x * a.x + a.y * a.y + a.z * a.z); }

fn unite(middle: vec3<f32>, radius: f32) {
    let first = vec3<i32>(floor(middle + 0.5)) - 2;
    for (var n = 0; n < 125; n += 1) {
        let i = first.x + n % 5;
        let y = first.y + n / 5 % 5;
        let k = first.z + n / 25;
        if i < 0 || k < 0 || i >= grid.nx || k >= grid.nz { continue; }
        let c = column_of(i, k);
        let row = y - c.x - c.y + 2;
        if row < 2 || row >= row_count() { continue; }
        let by = vec3<f32>(f32(i), f32(y), f32(k)) - middle;
        let far = sqrt(by.x * by.x + by.y * by.y + by.z * by.z) * grid.dx_m - radius;
        atomicMin(&least[index_of(i, row, k)], ordered(far));
    }
}

@compute @workgroup_size(16, 4, 2)
fn thicken(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside || s.j < 2 { return; }
    let here = phi[s.index];
    if here > 0.0 || here < -1.5 * grid.dx_m { return; }
    let cell = vec3<f32>(f32(s.i), f32(s.y), f32(s.k));
    let h = vec3<f32>(0.5, 0.0, 0.0);
    let slope = vec3<f32>(phi_there(cell + h) - phi_there(cell - h), phi_there(cell + h.yxz) - phi_there(cell - h.yxz),
        phi_there(cell + h.yzx) - phi_there(cell - h.yzx));
    let length2 = slope.x * slope.x + slope.y * slope.y + slope.z * slope.z;
    if length2 < 0.01 * grid.dx_m * grid.dx_m { return; }
    let normal = unit(slope);
    let left = phi_there(cell - 3.0 * normal);
    let right = phi_there(cell + 3.0 * normal);
    if left <= 0.0 || right <= 0.0 { return; }
    let middle = cell + (here / (left - here) - here / (right - here)) * 1.5 * normal;
    var along = vec3<f32>(0.0);
    if abs(normal.y) < 0.8 { along = unit(vec3<f32>(normal.z, 0.0, -normal.x)); } else { along = unit(vec3<f32>(0.0, -normal.z, normal.y)); }
    let other = vec3<f32>(normal.y * along.z - normal.z * along.y, normal.z * along.x - normal.x * along.z,
        normal.x * along.y - normal.y * along.x);
    for (var n = 0; n < 16; n += 1) {
        let place = params.places[n];
        let x = middle + place.x * along + place.y * other;
        let radius = -phi_there(x);
        if radius <= 0.0 { continue; }
        let half = u_there(x + 0.5 * params.scale * u_there(x));
        unite(x + params.scale * half, radius);
    }
}
