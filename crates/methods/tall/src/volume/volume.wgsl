// uses "../columns.wgsl"
// uses "open.wgsl"
// Twin of mod.rs; one invocation a column, but for displace, which has one a sample.

struct Params { dt_s: f32, pad0: f32, pad1: f32, pad2: f32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> phi: array<f32>;
// Volume and surface of every column.
@group(0) @binding(8) var<storage, read_write> held_out: array<vec2<f32>>;
@group(0) @binding(9) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> flux: array<vec2<f32>>;
@group(0) @binding(11) var<storage, read> before: array<vec2<f32>>;
@group(0) @binding(12) var<storage, read> now: array<vec2<f32>>;
@group(0) @binding(13) var<storage, read_write> residual: array<f32>;
@group(0) @binding(14) var<storage, read> lacking_in: array<f32>;
@group(0) @binding(15) var<storage, read_write> out: array<f32>;
@group(0) @binding(16) var<storage, read> shift: array<f32>;

const CLEAR_CELLS: f32 = 1.1;
const LEAST_SURFACE: f32 = 0.05;
const MOST_DISPLACED: f32 = 0.5;
const ROUNDS: i32 = 4;
const LEAST_FILM: f32 = 0.5;

fn share(phi_cells: f32) -> f32 { return clamp(0.5 - phi_cells, 0.0, 1.0); }

fn phi_at(p: Place) -> f32 { return blend1(phi[p.low], phi[p.high], p.weight); }
fn phi_around(a: Around) -> f32 {
    return blend1(blend1(phi_at(a.a), phi_at(a.b), a.wx), blend1(phi_at(a.c), phi_at(a.d), a.wx), a.wz);
}

// Volume and surface that a cell adds to its column.
fn part_of(phi_here: f32, open: f32, displaced: f32) -> vec2<f32> {
    let cells = phi_here / grid.dx_m + displaced;
    return vec2<f32>(share(cells) * open, max(1.0 - abs(cells), 0.0) * open);
}

fn held(i: i32, k: i32, displaced: f32) -> vec2<f32> {
    var sum = vec2<f32>(0.0);
    let c = column_of(i, k);
    let column = i + grid.nx * k;
    let bottom = index_of(i, 0, k);
    let top = index_of(i, 1, k);
    let deepest = max(phi[bottom], phi[top]) / grid.dx_m + displaced;
    if deepest <= -0.5 {
        sum += part_of(-grid.dx_m * (1.0 + abs(displaced)), open_tall[column], displaced);
    } else {
        let inside = open_inside(i, k);
        for (var y = c.x; y < c.x + c.y; y += 1) {
            var part = inside;
            if y == c.x { part = open_cell[bottom]; } else if y == c.x + c.y - 1 { part = open_cell[top]; }
            sum += part_of(phi_at(locate(i, k, f32(y))), part, displaced);
        }
    }
    for (var row = 2; row < row_count(); row += 1) {
        let n = index_of(i, row, k);
        sum += part_of(phi[n], open_cell[n], displaced);
    }
    return sum;
}

@compute @workgroup_size(8, 8)
fn measure(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    held_out[i32(id.x) + grid.nx * i32(id.y)] = held(i32(id.x), i32(id.y), 0.0);
}

// What flows through the face at height y between columns a and b along an axis (0 or 2).
fn face(a: vec2<i32>, b: vec2<i32>, axis: i32, y: i32) -> f32 {
    let area = min(open_part(a.x, a.y, y), open_part(b.x, b.y, y));
    if area == 0.0 { return 0.0; }
    let pa = locate(a.x, a.y, f32(y));
    let pb = locate(b.x, b.y, f32(y));
    let ua = blend4(u[pa.low], u[pa.high], pa.weight).xyz;
    let ub = blend4(u[pb.low], u[pb.high], pb.weight).xyz;
    let travel = 0.5 * (ua + ub) * (params.dt_s / grid.dx_m);
    let swept = select(travel.z, travel.x, axis == 0) * area;
    if swept == 0.0 { return 0.0; }
    let length = max(max(abs(travel.x), abs(travel.y)), abs(travel.z));
    let here = 0.5 * (phi_at(pa) / grid.dx_m + phi_at(pb) / grid.dx_m);
    let clear = 1.5 * length + CLEAR_CELLS;
    if abs(here) > min(clear, 4.0) { return select(0.0, swept, here < 0.0); }
    let pieces = max(ceil(length), 1.0);
    let start = vec3<f32>(0.5 * f32(a.x + b.x), f32(y), 0.5 * f32(a.y + b.y));
    var sum = 0.0;
    for (var piece = 0; piece < i32(pieces); piece += 1) {
        let back = (f32(piece) + 0.5) / pieces;
        sum += share(phi_around(around(start - back * travel)) / grid.dx_m);
    }
    return swept * (sum / pieces);
}

fn deep(a: vec2<i32>, b: vec2<i32>, y: i32) -> bool {
    return max(phi_at(locate(a.x, a.y, f32(y))), phi_at(locate(b.x, b.y, f32(y)))) < -4.0 * grid.dx_m;
}

fn wall(a: vec2<i32>, b: vec2<i32>, axis: i32) -> f32 {
    let ca = column_of(a.x, a.y);
    let cb = column_of(b.x, b.y);
    let low = max(ca.x, cb.x);
    let high = max(ca.x + ca.y, cb.x + cb.y) + grid.regular;
    let first = low + 1;
    let last = min(ca.x + ca.y, cb.x + cb.y) - 1;
    var sum = 0.0;
    var y = low;
    while y < high {
        if y == first && last - first > 1 && deep(a, b, first) && deep(a, b, last - 1) {
            sum += 0.5 * f32(last - first) * (face(a, b, axis, first) + face(a, b, axis, last - 1));
            y = last;
            continue;
        }
        sum += face(a, b, axis, y);
        y += 1;
    }
    return sum;
}

@compute @workgroup_size(8, 8)
fn fluxes(@builtin(global_invocation_id) id: vec3<u32>) {
    let c = vec2<i32>(id.xy);
    if c.x >= grid.nx || c.y >= grid.nz { return; }
    var out = vec2<f32>(0.0);
    if c.x + 1 < grid.nx { out.x = wall(c, c + vec2<i32>(1, 0), 0); }
    if c.y + 1 < grid.nz { out.y = wall(c, c + vec2<i32>(0, 1), 2); }
    flux[c.x + grid.nx * c.y] = out;
}

@compute @workgroup_size(8, 8)
fn lacking(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    var from_x = 0.0;
    var from_z = 0.0;
    if i > 0 { from_x = flux[c - 1].x; }
    if k > 0 { from_z = flux[c - grid.nx].y; }
    let flowed = (from_x - flux[c].x) + (from_z - flux[c].y);
    out[c] = (before[c].x - now[c].x) + (residual[c] + flowed);
}

struct Beyond { first_x: i32, first_z: i32, end_x: i32, end_z: i32, height: i32, conserves: i32, pad0: i32, pad1: i32 }
@group(0) @binding(17) var<uniform> beyond: Beyond;
// What has come in, and what has left, of every column in this step.
@group(0) @binding(18) var<storage, read> poured: array<f32>;
@group(0) @binding(19) var<storage, read_write> left: array<f32>;

fn is_outside(i: i32, k: i32) -> bool {
    return i < beyond.first_x || i >= beyond.end_x || k < beyond.first_z || k >= beyond.end_z;
}

// Sinks have taken what phi stood for before less what it stands for now. Beyond open walls all is taken later.
@compute @workgroup_size(8, 8)
fn take(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    left[c] = select(before[c].x - now[c].x, 0.0, is_outside(i, k) && beyond.conserves == 1);
}

// Adds to what columns lack what has come in and has not left; beyond open walls all leaves.
@compute @workgroup_size(8, 8)
fn exchange(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    let lack = out[c] + (poured[c] - left[c]);
    if is_outside(i, k) {
        left[c] += lack + now[c].x;
        out[c] = -now[c].x;
    } else {
        out[c] = lack;
    }
}

fn given(from_column: i32, to_column: i32) -> f32 {
    if now[to_column].y < LEAST_SURFACE { return 0.0; }
    return select(0.25, 0.125, now[from_column].y >= LEAST_SURFACE) * lacking_in[from_column];
}

@compute @workgroup_size(8, 8)
fn spread_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    var sum = lacking_in[c];
    if i > 0 { sum += given(c - 1, c) - given(c, c - 1); }
    if i + 1 < grid.nx { sum += given(c + 1, c) - given(c, c + 1); }
    if k > 0 { sum += given(c - grid.nx, c) - given(c, c - grid.nx); }
    if k + 1 < grid.nz { sum += given(c + grid.nx, c) - given(c, c + grid.nx); }
    out[c] = sum;
}

@compute @workgroup_size(8, 8)
fn displacements(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    var displaced = 0.0;
    if now[c].y >= LEAST_SURFACE {
        let wanted = now[c].x + lacking_in[c];
        var here = now[c];
        for (var round = 0; round < ROUNDS; round += 1) {
            if here.y < LEAST_SURFACE { break; }
            displaced = clamp(displaced + (wanted - here.x) / here.y, -MOST_DISPLACED, MOST_DISPLACED);
            here = held(i, k, -displaced);
        }
    }
    out[c] = displaced;
}

@compute @workgroup_size(16, 4, 2)
fn displace(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let c = s.i + grid.nx * s.k;
    var value = phi[s.index] - shift[c] * grid.dx_m;
    let is_dry = now[c].y == 0.0 && phi[index_of(s.i, 0, s.k)] > 0.0;
    if is_dry && lacking_in[c] >= LEAST_FILM {
        let over_ground = f32(s.y - column_of(s.i, s.k).x) + 0.5;
        value = min(value, (over_ground - lacking_in[c]) * grid.dx_m);
    }
    out[s.index] = value;
}

// What phi does not stand for of what every column shall hold.
@compute @workgroup_size(8, 8)
fn close(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    let c = i32(id.x) + grid.nx * i32(id.y);
    residual[c] = (now[c].x + lacking_in[c]) - before[c].x;
}
