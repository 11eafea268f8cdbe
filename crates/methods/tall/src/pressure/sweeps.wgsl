// uses "../columns.wgsl"
// Twin of residual, smooth_colour and mark_held_back in stencil.rs, and of the coarsest level's sweeps in multigrid.rs.

struct Row { a: vec4<f32>, b: vec4<f32> }
struct Params { colour: i32, sweeps: i32, from_zero: i32, pad: i32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> rows: array<Row>;
@group(0) @binding(6) var<storage, read> p: array<f32>;
@group(0) @binding(7) var<storage, read> b: array<f32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;
@group(0) @binding(9) var<storage, read_write> p_coarsest: array<f32>;

fn side(s: Sample, d: i32, w: f32) -> f32 {
    if w <= 0.0 { return 0.0; }
    let step = step_to(d);
    let at = nearest(s.i + step.x, s.k + step.z, f32(s.y));
    return w * blend1(p[at.low], p[at.high], at.weight);
}

fn neighbour_sum(s: Sample, row: Row) -> f32 {
    var sum = ((side(s, 0, row.a.x) + side(s, 1, row.a.y)) + side(s, 4, row.b.x)) + side(s, 5, row.b.y);
    if row.a.z > 0.0 { sum += row.a.z * p[s.index - grid.nx]; }
    if row.a.w > 0.0 { sum += row.a.w * p[s.index + grid.nx]; }
    return sum;
}

// Twin of bounded in stencil.rs.
fn bounded(row: Row, value: f32) -> f32 { return select(value, max(value, -row.b.w), row.b.w > 0.0); }

// Twin of is_held_back in stencil.rs.
fn is_held_back(row: Row, value: f32) -> bool { return row.b.w > 0.0 && value <= -row.b.w; }

@group(0) @binding(10) var<storage, read> phi: array<f32>;

@compute @workgroup_size(16, 4, 2)
fn mark_held_back(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let here = phi[s.index];
    out[s.index] = select(here, max(here, grid.dx_m), is_held_back(rows[s.index], p[s.index]));
}

@compute @workgroup_size(16, 4, 2)
fn residual(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let row = rows[s.index];
    if row.b.z == 0.0 {
        out[s.index] = 0.0;
    } else {
        let left = b[s.index] - (neighbour_sum(s, row) - row.b.z * p[s.index]);
        out[s.index] = select(left, 0.0, left > 0.0 && is_held_back(row, p[s.index]));
    }
}

@compute @workgroup_size(16, 4, 2)
fn smooth_colour(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let row = rows[s.index];
    if row.b.z == 0.0 {
        out[s.index] = 0.0;
    } else if ((s.i + s.y + s.k) & 1) != params.colour {
        out[s.index] = p[s.index];
    } else {
        out[s.index] = bounded(row, (neighbour_sum(s, row) - b[s.index]) / row.b.z);
    }
}

// The first half of a sweep from a pressure of zero.
@compute @workgroup_size(16, 4, 2)
fn smooth_from_zero(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let diagonal = rows[s.index].b.z;
    let is_swept = diagonal != 0.0 && ((s.i + s.y + s.k) & 1) == params.colour;
    out[s.index] = select(0.0, (0.0 - b[s.index]) / diagonal, is_swept);
}

// The coarsest level in one workgroup: pressures live in its memory, colour 0 goes from `even` to `odd`, colour 1 back.
const COARSEST_SAMPLES: u32 = 2048u;
const INVOCATIONS: u32 = 256u;
const OVER_RELAXATION: f32 = 1.6;
var<workgroup> even: array<f32, COARSEST_SAMPLES>;
var<workgroup> odd: array<f32, COARSEST_SAMPLES>;

fn shared_at(n: i32, from_odd: bool) -> f32 {
    if from_odd { return odd[n]; }
    return even[n];
}

fn shared_side(s: Sample, d: i32, w: f32, from_odd: bool) -> f32 {
    if w <= 0.0 { return 0.0; }
    let step = step_to(d);
    let at = nearest(s.i + step.x, s.k + step.z, f32(s.y));
    return w * blend1(shared_at(at.low, from_odd), shared_at(at.high, from_odd), at.weight);
}

fn swept(n: i32, colour: i32, from_odd: bool) -> f32 {
    let row = rows[n];
    if row.b.z == 0.0 { return 0.0; }
    let i = n % grid.nx;
    let j = n / grid.nx % row_count();
    let k = n / (grid.nx * row_count());
    let s = Sample(i, j, k, y_of(i, j, k), n, true);
    let old = shared_at(n, from_odd);
    if ((s.i + s.y + s.k) & 1) != colour { return old; }
    var sum = ((shared_side(s, 0, row.a.x, from_odd) + shared_side(s, 1, row.a.y, from_odd))
        + shared_side(s, 4, row.b.x, from_odd)) + shared_side(s, 5, row.b.y, from_odd);
    if row.a.z > 0.0 { sum += row.a.z * shared_at(n - grid.nx, from_odd); }
    if row.a.w > 0.0 { sum += row.a.w * shared_at(n + grid.nx, from_odd); }
    return bounded(row, old + OVER_RELAXATION * (bounded(row, (sum - b[n]) / row.b.z) - old));
}

@compute @workgroup_size(256)
fn solve_coarsest(@builtin(local_invocation_index) local: u32) {
    let count = u32(grid.nx * row_count() * grid.nz);
    for (var n = local; n < count; n += INVOCATIONS) {
        even[n] = select(p_coarsest[n], 0.0, params.from_zero == 1);
    }
    workgroupBarrier();
    for (var sweep = 0; sweep < params.sweeps; sweep += 1) {
        for (var n = local; n < count; n += INVOCATIONS) { odd[n] = swept(i32(n), 0, false); }
        workgroupBarrier();
        for (var n = local; n < count; n += INVOCATIONS) { even[n] = swept(i32(n), 1, true); }
        workgroupBarrier();
    }
    for (var n = local; n < count; n += INVOCATIONS) { p_coarsest[n] = even[n]; }
}
