// uses "links.wgsl"
// uses "../walls/walls.wgsl"
// Twin of build_rows and layers in stencil.rs.

// The six weights, the diagonal, and how far below the air's the pressure may be.
struct Row { a: vec4<f32>, b: vec4<f32> }
@group(0) @binding(6) var<storage, read> layers: array<vec2<f32>>;
@group(0) @binding(7) var<storage, read_write> rows_out: array<Row>;
@group(0) @binding(8) var<storage, read_write> layers_out: array<vec2<f32>>;

// Twin of layers in stencil.rs; one invocation a column.
@compute @workgroup_size(8, 8)
fn finest_layers(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    layers_out[i + grid.nx * k] = vec2<f32>(layer(i, k));
}

@compute @workgroup_size(16, 4, 2)
fn build_rows(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    var weights = array<f32, 6>();
    var diagonal = 0.0;
    var bound = 0.0;
    if is_unknown(s.index) {
        var vertical = 1.0;
        if s.j < 2 { vertical = 1.0 / layers[s.i + grid.nx * s.k][s.j]; }
        for (var d = 0; d < 6; d += 1) {
            let l = link_to(s, d);
            let scale = select(1.0, vertical, d / 2 == 1);
            weights[d] = scale * l.weight;
            diagonal += scale * l.own;
        }
        bound = bears(s);
    }
    rows_out[s.index] = Row(vec4<f32>(weights[0], weights[1], weights[2], weights[3]),
        vec4<f32>(weights[4], weights[5], diagonal, bound));
}
