// uses "../columns.wgsl"
// Twin of surfaces and carry in mod.rs.

struct Shown { foam: f32, wet: f32, height: f32, pad: f32, come: vec4<f32> }
struct Change { scale: f32, foam_kept: f32, wet_kept: f32, laid: u32 }
@group(0) @binding(4) var<uniform> change: Change;
@group(0) @binding(5) var<storage, read> phi: array<f32>;
@group(0) @binding(6) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> surface: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> landed: array<u32>;
@group(0) @binding(9) var<storage, read> shown: array<Shown>;
@group(0) @binding(10) var<storage, read_write> out: array<Shown>;

@compute @workgroup_size(8, 8)
fn surfaces(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    var top = row_count() - 1;
    while top >= 0 && phi[index_of(i, top, k)] > 0.0 { top -= 1; }
    if top < 0 {
        surface[i + grid.nx * k] = vec4<f32>(0.0);
        return;
    }
    let low = f32(y_of(i, top, k));
    let below = phi[index_of(i, top, k)];
    var height = low;
    if top + 1 < row_count() { height = low + below / (below - phi[index_of(i, top + 1, k)]); }
    let p = locate(i, k, height);
    let v = blend4(u[p.low], u[p.high], p.weight);
    surface[i + grid.nx * k] = vec4<f32>(v.x, v.z, height, 1.0);
}

fn mixed(a: Shown, b: Shown, w: f32) -> Shown {
    return Shown(blend1(a.foam, b.foam, w), blend1(a.wet, b.wet, w), blend1(a.height, b.height, w), 0.0, blend4(a.come, b.come, w));
}

@compute @workgroup_size(8, 8)
fn carry(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    let here = surface[c];
    let fallen = f32(landed[c]) / 65536.0;
    landed[c] = 0u;
    if here.w == 0.0 {
        out[c] = Shown(0.0, shown[c].wet * change.wet_kept, shown[c].height, 0.0, vec4<f32>(0.0));
        return;
    }
    let by = change.scale * here.xy;
    let x = clamp(f32(i) - by.x, 0.0, f32(grid.nx - 1));
    let z = clamp(f32(k) - by.y, 0.0, f32(grid.nz - 1));
    let i0 = i32(floor(x));
    let k0 = i32(floor(z));
    let i1 = min(i0 + 1, grid.nx - 1);
    let k1 = min(k0 + 1, grid.nz - 1);
    let near = mixed(shown[i0 + grid.nx * k0], shown[i1 + grid.nx * k0], x - floor(x));
    let far = mixed(shown[i0 + grid.nx * k1], shown[i1 + grid.nx * k1], x - floor(x));
    let there = mixed(near, far, z - floor(z));
    var come = there.come + by.xyxy;
    if (change.laid & 1u) == 1u { come = vec4<f32>(0.0, 0.0, come.zw); }
    if (change.laid & 2u) == 2u { come = vec4<f32>(come.xy, 0.0, 0.0); }
    out[c] = Shown(there.foam * change.foam_kept + fallen, 1.0, here.z, 0.0, come);
}

@compute @workgroup_size(256)
fn copy_shown(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = id.x + id.y * 32768u * 256u;
    if n < arrayLength(&shown) { out[n] = shown[n]; }
}
