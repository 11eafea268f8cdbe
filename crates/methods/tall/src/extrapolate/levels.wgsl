// uses "../columns.wgsl"
// uses "../other.wgsl"
// Twin of restrict_known, fill_coarsest and prolong_unknown in mod.rs.

@group(0) @binding(4) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> other_u: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> out: array<vec4<f32>>;

const KNOWN: f32 = 0.999;

// The grid is coarse, the other fine.
@compute @workgroup_size(16, 4, 2)
fn restrict_known(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    var sum = vec3<f32>(0.0);
    var count = 0.0;
    for (var n = 0; n < 8; n += 1) {
        let cell = fine_cell(vec3<i32>(s.i, s.y, s.k), n);
        if other_holds(cell.x, cell.y, cell.z) == CELL {
            let p = other_nearest(cell.x, cell.z, f32(cell.y));
            let value = blend4(other_u[p.low], other_u[p.high], p.weight);
            if value.w >= KNOWN {
                sum += value.xyz;
                count += 1.0;
            }
        }
    }
    if count > 0.0 {
        out[s.index] = vec4<f32>(sum / count, 1.0);
    } else {
        out[s.index] = vec4<f32>(0.0);
    }
}

// One invocation for the single column of the coarsest grid.
@compute @workgroup_size(1)
fn fill_coarsest() {
    let count_all = grid.nx * row_count() * grid.nz;
    var sum = vec3<f32>(0.0);
    var count = 0.0;
    for (var n = 0; n < count_all; n += 1) {
        if u[n].w >= KNOWN {
            sum += u[n].xyz;
            count += 1.0;
        }
    }
    let mean = vec4<f32>(sum / max(count, 1.0), 1.0);
    for (var n = 0; n < count_all; n += 1) {
        if u[n].w >= KNOWN {
            out[n] = u[n];
        } else {
            out[n] = mean;
        }
    }
}

// The grid is fine, the other coarse.
@compute @workgroup_size(16, 4, 2)
fn prolong_unknown(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if u[s.index].w >= KNOWN {
        out[s.index] = u[s.index];
        return;
    }
    var sum = vec3<f32>(0.0);
    var total = 0.0;
    for (var n = 0; n < 8; n += 1) {
        let cell = coarse_cell(vec3<i32>(s.i, s.y, s.k), n);
        if other_holds(cell.x, cell.y, cell.z) == CELL {
            let p = other_nearest(cell.x, cell.z, f32(cell.y));
            let weight = coarse_weight(n);
            sum += weight * blend4(other_u[p.low], other_u[p.high], p.weight).xyz;
            total += weight;
        }
    }
    out[s.index] = vec4<f32>(sum / total, 1.0);
}
