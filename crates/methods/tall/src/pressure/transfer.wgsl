// uses "../columns.wgsl"
// uses "../other.wgsl"
// Twin of transfer.rs: what goes between levels of multigrid.

struct Params { keep_bubbles: u32, pad0: u32, pad1: u32, pad2: u32 }
struct Row { a: vec4<f32>, b: vec4<f32> }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> values: array<f32>;
@group(0) @binding(6) var<storage, read_write> out: array<f32>;
@group(0) @binding(7) var<storage, read> layers: array<vec2<f32>>;
@group(0) @binding(8) var<storage, read_write> layers_out: array<vec2<f32>>;
@group(0) @binding(9) var<storage, read> rows: array<Row>;
@group(0) @binding(10) var<storage, read> p: array<f32>;

fn value_at(cell: vec3<i32>) -> f32 {
    let at = other_nearest(cell.x, cell.z, f32(cell.y));
    return blend1(values[at.low], values[at.high], at.weight);
}

fn mean_fraction(cell: vec3<i32>) -> f32 {
    var sum = 0.0;
    for (var n = 0; n < 8; n += 1) {
        let fine = fine_cell(cell, n);
        let held = other_holds(fine.x, fine.y, fine.z);
        if held == SOLID {
            sum += 1.0;
        } else if held == CELL {
            sum += value_at(fine);
        }
    }
    return sum * 0.125;
}

fn mean_phi(cell: vec3<i32>) -> f32 {
    var all = 0.0;
    var count = 0.0;
    var air = 0.0;
    var air_count = 0.0;
    for (var n = 0; n < 8; n += 1) {
        let fine = fine_cell(cell, n);
        let held = other_holds(fine.x, fine.y, fine.z);
        if held == SOLID { continue; }
        let below = value_at(fine);
        let value = select(below, max(below, other.dx_m), held == AIR);
        all += value;
        count += 1.0;
        if value > 0.0 {
            air += value;
            air_count += 1.0;
        }
    }
    if params.keep_bubbles == 1u && air_count > 0.0 && air_count < count { return air / air_count; }
    if count > 0.0 { return all / count; }
    return other.dx_m;
}

// The ends of the line that fits a column's values best: x the lower, y the upper.
fn ends_of(sum: f32, moment: f32, n: f32) -> vec2<f32> {
    let mean = (1.0 / n) * sum;
    let rise = 6.0 / (n * (n + 1.0));
    return vec2<f32>(mean + (-rise) * moment, mean + rise * moment);
}

@compute @workgroup_size(16, 4, 2)
fn coarsen_phi(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if s.j >= 2 {
        out[s.index] = mean_phi(vec3<i32>(s.i, s.y, s.k));
        return;
    }
    let c = column_of(s.i, s.k);
    let n = f32(c.y);
    let middle = 0.5 * (n - 1.0);
    var sum = 0.0;
    var moment = 0.0;
    for (var t = 0; t < c.y; t += 1) {
        let v = mean_phi(vec3<i32>(s.i, c.x + t, s.k));
        sum += v;
        moment += (f32(t) - middle) * v;
    }
    out[s.index] = ends_of(sum, moment, n)[s.j];
}

@compute @workgroup_size(16, 4, 2)
fn coarsen_fraction(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if s.j >= 2 {
        out[s.index] = clamp(mean_fraction(vec3<i32>(s.i, s.y, s.k)), 0.0, 1.0);
        return;
    }
    let c = column_of(s.i, s.k);
    let n = f32(c.y);
    let middle = 0.5 * (n - 1.0);
    var sum = 0.0;
    var moment = 0.0;
    for (var t = 0; t < c.y; t += 1) {
        let v = mean_fraction(vec3<i32>(s.i, c.x + t, s.k));
        sum += v;
        moment += (f32(t) - middle) * v;
    }
    out[s.index] = clamp(ends_of(sum, moment, n)[s.j], 0.0, 1.0);
}

// Thickness times value and thickness of what an end (0 lower, 1 upper) of a coarse tall cell stands for.
fn end_sums(i: i32, end: i32, k: i32, with_values: bool) -> vec2<f32> {
    let c = column_of(i, k);
    let covered = select(2 * (c.x + c.y), 2 * c.x + 2, end == 0);
    var sums = vec2<f32>(0.0);
    for (var n = 0; n < 4; n += 1) {
        let fi = 2 * i + (n & 1);
        let fk = 2 * k + (n >> 1u);
        if fi >= other.nx || fk >= other.nz {
            sums.y += select(0.0, 2.0, end == 0);
            continue;
        }
        let fine = other_columns[fi + other.nx * fk];
        let ends = layers[fi + other.nx * fk];
        if end == 0 { sums.y += f32(min(fine.x - 2 * c.x, 2)); }
        for (var j = end; j < other.regular + 2; j += 1) {
            let y = select(fine.x + fine.y + j - 2, fine.x, j == 0);
            if y >= covered { break; }
            var thickness = 1.0;
            if j < 2 { thickness = ends[j]; }
            if with_values { sums.x += thickness * values[other_index(fi, j, fk)]; }
            sums.y += thickness;
        }
    }
    return sums;
}

@compute @workgroup_size(8, 8)
fn coarsen_layers(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let lower = end_sums(i, 0, k, false).y * 0.125;
    let upper = end_sums(i, 1, k, false).y * 0.125;
    layers_out[i + grid.nx * k] = vec2<f32>(lower, upper);
}

@compute @workgroup_size(16, 4, 2)
fn restrict_residual(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if s.j < 2 {
        let sums = end_sums(s.i, s.j, s.k, true);
        out[s.index] = 4.0 * (sums.x / sums.y);
        return;
    }
    var sum = 0.0;
    for (var n = 0; n < 8; n += 1) {
        let fine = fine_cell(vec3<i32>(s.i, s.y, s.k), n);
        if other_holds(fine.x, fine.y, fine.z) == CELL { sum += value_at(fine); }
    }
    out[s.index] = 0.5 * sum;
}

fn prolonged(s: Sample) -> f32 {
    var sum = 0.0;
    var total = 0.0;
    for (var n = 0; n < 8; n += 1) {
        let cell = coarse_cell(vec3<i32>(s.i, s.y, s.k), n);
        if other_holds(cell.x, cell.y, cell.z) == CELL {
            let weight = coarse_weight(n);
            sum += weight * value_at(cell);
            total += weight;
        }
    }
    return sum / total;
}

@compute @workgroup_size(16, 4, 2)
fn prolong(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if rows[s.index].b.z == 0.0 {
        out[s.index] = 0.0;
    } else {
        out[s.index] = prolonged(s);
    }
}

@compute @workgroup_size(16, 4, 2)
fn add_prolonged(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if rows[s.index].b.z == 0.0 {
        out[s.index] = 0.0;
    } else {
        let bound = rows[s.index].b.w;
        let old = p[s.index];
        let value = old + prolonged(s);
        // What is held back stays: twin of is_held_back and bounded in stencil.rs.
        out[s.index] = select(select(value, max(value, -bound), bound > 0.0), old, bound > 0.0 && old <= -bound);
    }
}
