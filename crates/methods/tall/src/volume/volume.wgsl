// uses "../columns.wgsl"
// uses "../cells.wgsl"
// uses "open.wgsl"
// Twin of mod.rs; one invocation a column, but for displace, which has one a sample.

struct Params { dt_s: f32, pad0: f32, pad1: f32, pad2: f32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> phi: array<f32>;
// Volume and surface of every column...
@group(0) @binding(8) var<storage, read_write> held_out: array<vec2<f32>>;
@group(0) @binding(9) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> flux: array<vec2<f32>>;
@group(0) @binding(11) var<storage, read> before: array<vec2<f32>>;
// ...and, of the carried phi, of what stands on its ground and of what is aloft.
@group(0) @binding(12) var<storage, read> now: array<vec4<f32>>;
@group(0) @binding(13) var<storage, read_write> residual: array<f32>;
// What stands, and what is aloft.
@group(0) @binding(14) var<storage, read> lacking_in: array<vec2<f32>>;
@group(0) @binding(15) var<storage, read_write> out: array<vec2<f32>>;
@group(0) @binding(16) var<storage, read> shift: array<vec2<f32>>;
@group(0) @binding(20) var<storage, read_write> now_out: array<vec4<f32>>;
@group(0) @binding(21) var<storage, read_write> aloft_out: array<i32>;
@group(0) @binding(22) var<storage, read> after: array<vec2<f32>>;
// First row of what is aloft.
@group(0) @binding(23) var<storage, read> aloft: array<i32>;
@group(0) @binding(24) var<storage, read> phi_before: array<f32>;
@group(0) @binding(27) var<storage, read_write> phi_out: array<f32>;

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

// Of the rows from `first` to `end`; the tall cell counts as a whole, with its first row.
fn held_in(i: i32, k: i32, first: i32, end: i32, displaced: f32) -> vec2<f32> {
    var sum = vec2<f32>(0.0);
    if first == 0 {
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
    }
    for (var row = max(first, 2); row < end; row += 1) {
        let n = index_of(i, row, k);
        sum += part_of(phi[n], open_cell[n], displaced);
    }
    return sum;
}

@compute @workgroup_size(8, 8)
fn measure(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    held_out[i32(id.x) + grid.nx * i32(id.y)] = held_in(i32(id.x), i32(id.y), 0, row_count(), 0.0);
}

// What flows through the face between two cells along an axis.
fn face(a: vec3<i32>, b: vec3<i32>, axis: i32) -> f32 {
    let area = min(open_part(a.x, a.z, a.y), open_part(b.x, b.z, b.y));
    if area == 0.0 { return 0.0; }
    let pa = locate(a.x, a.z, f32(a.y));
    let pb = locate(b.x, b.z, f32(b.y));
    let ua = blend4(u[pa.low], u[pa.high], pa.weight).xyz;
    let ub = blend4(u[pb.low], u[pb.high], pb.weight).xyz;
    let travel = 0.5 * (ua + ub) * (params.dt_s / grid.dx_m);
    let swept = travel[axis] * area;
    if swept == 0.0 { return 0.0; }
    let length = max(max(abs(travel.x), abs(travel.y)), abs(travel.z));
    let here = 0.5 * (phi_at(pa) / grid.dx_m + phi_at(pb) / grid.dx_m);
    let clear = 1.5 * length + CLEAR_CELLS;
    if abs(here) > min(clear, 4.0) { return select(0.0, swept, here < 0.0); }
    let pieces = max(ceil(length), 1.0);
    let start = 0.5 * vec3<f32>(a + b);
    var sum = 0.0;
    for (var piece = 0; piece < i32(pieces); piece += 1) {
        let back = (f32(piece) + 0.5) / pieces;
        sum += share(phi_around(around(start - back * travel)) / grid.dx_m);
    }
    return swept * (sum / pieces);
}

// What flows from column a to its neighbour b at height y.
fn side(a: vec2<i32>, b: vec2<i32>, axis: i32, y: i32) -> f32 {
    return face(vec3<i32>(a.x, y, a.y), vec3<i32>(b.x, y, b.y), axis);
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
            sum += 0.5 * f32(last - first) * (side(a, b, axis, first) + side(a, b, axis, last - 1));
            y = last;
            continue;
        }
        sum += side(a, b, axis, y);
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

// Twin of first_aloft in settle.rs.
fn first_aloft(i: i32, k: i32) -> i32 {
    var widest = 0.0;
    var first = row_count();
    var is_below_liquid = false;
    for (var row = row_count() - 1; row >= 2; row -= 1) {
        let cells = phi[index_of(i, row, k)] / grid.dx_m;
        if share(cells) > 0.0 {
            is_below_liquid = true;
        } else if is_below_liquid && cells > widest {
            widest = cells;
            first = row + 1;
        }
    }
    return first;
}

@compute @workgroup_size(8, 8)
fn divide(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    var first = row_count();
    if !is_outside(i, k) { first = first_aloft(i, k); }
    var held = vec4<f32>(held_in(i, k, 0, first, 0.0), held_in(i, k, first, row_count(), 0.0));
    if poured[c].x != 0.0 && held.x <= held.z {
        first = row_count();
        held = vec4<f32>(held_in(i, k, 0, first, 0.0), vec2<f32>(0.0));
    }
    aloft_out[c] = first;
    now_out[c] = held;
}

fn sides_into(a: vec2<i32>, b: vec2<i32>, axis: i32, lowest: i32) -> f32 {
    let ca = column_of(a.x, a.y);
    let cb = column_of(b.x, b.y);
    let high = max(ca.x + ca.y, cb.x + cb.y) + grid.regular;
    var sum = 0.0;
    for (var y = lowest; y < high; y += 1) { sum += side(a, b, axis, y); }
    return sum;
}

// Twin of entering_upper in flow.rs.
fn entering_upper(i: i32, k: i32, row: i32) -> f32 {
    let lowest = y_of(i, row, k);
    let here = vec2<i32>(i, k);
    var sum = face(vec3<i32>(i, lowest - 1, k), vec3<i32>(i, lowest, k), 1);
    if i > 0 { sum += sides_into(here - vec2<i32>(1, 0), here, 0, lowest); }
    if i + 1 < grid.nx { sum -= sides_into(here, here + vec2<i32>(1, 0), 0, lowest); }
    if k > 0 { sum += sides_into(here - vec2<i32>(0, 1), here, 2, lowest); }
    if k + 1 < grid.nz { sum -= sides_into(here, here + vec2<i32>(0, 1), 2, lowest); }
    return sum;
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
    let all = (before[c].x - (now[c].x + now[c].z)) + (residual[c] + flowed);
    var upper = 0.0;
    if aloft[c] < row_count() {
        var held_before = 0.0;
        for (var row = aloft[c]; row < row_count(); row += 1) {
            let n = index_of(i, row, k);
            held_before += share(phi_before[n] / grid.dx_m) * open_cell[n];
        }
        upper = (held_before - now[c].z) + entering_upper(i, k, aloft[c]);
    }
    out[c] = vec2<f32>(all - upper, upper);
}

struct Beyond { first_x: i32, first_z: i32, end_x: i32, end_z: i32, height: i32, conserves: i32, pad0: i32, pad1: i32 }
@group(0) @binding(17) var<uniform> beyond: Beyond;
// What has come in of every column in this step, with its moment of heights, and what has left.
@group(0) @binding(18) var<storage, read> poured: array<vec2<f32>>;
@group(0) @binding(19) var<storage, read_write> left: array<f32>;

fn is_outside(i: i32, k: i32) -> bool {
    return i < beyond.first_x || i >= beyond.end_x || k < beyond.first_z || k >= beyond.end_z;
}

fn in_sink(cell: vec3<i32>) -> bool {
    if cell.x < 0 || cell.z < 0 || cell.x >= grid.nx || cell.z >= grid.nz { return false; }
    let entry = find_cell(cell.x + grid.nx * cell.z, cell.y);
    return entry >= 0 && list_cells[max(entry, 0)].y >= 0.0;
}

// Twin of Flow::taken: what sinks take, and 1 where a cell's centre lies in one. phi_before is what they leave.
fn taken_by_flow(i: i32, k: i32) -> vec2<f32> {
    var sum = vec2<f32>(0.0);
    let column = i + grid.nx * k;
    for (var entry = list_first[column]; entry < list_first[column + 1]; entry += 1u) {
        let y = i32(list_cells[entry].x);
        if list_cells[entry].y < 0.0 || holds(i, y, k) != CELL { continue; }
        sum.y = 1.0;
        let p = locate(i, k, f32(y));
        let after = blend1(phi_before[p.low], phi_before[p.high], p.weight);
        sum.x += (share(phi_at(p) / grid.dx_m) - share(after / grid.dx_m)) * open_part(i, k, y);
        let here = vec3<i32>(i, y, k);
        for (var d = 0; d < 6; d += 1) {
            let there = here + step_to(d);
            if in_sink(there) || holds(there.x, there.y, there.z) != CELL { continue; }
            if (d & 1) == 1 { sum.x -= face(here, there, d / 2); } else { sum.x += face(there, here, d / 2); }
        }
    }
    return sum;
}

// Sinks have taken what has flowed into them, or what phi stood for before less what it stands for now. Beyond open walls all is taken later.
@compute @workgroup_size(8, 8)
fn take(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    let conserves = beyond.conserves == 1;
    let by_flow = taken_by_flow(i, k);
    let taken = select(before[c].x - after[c].x, by_flow.x, conserves && by_flow.y > 0.0);
    left[c] = select(taken, 0.0, is_outside(i, k) && conserves);
}

// Adds to what columns lack what has come in and has not left; beyond open walls all leaves.
@compute @workgroup_size(8, 8)
fn exchange(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    // Twin of Divided::part_of.
    var lack = out[c];
    let first = aloft[c];
    if first < row_count() && poured[c].y >= poured[c].x * f32(y_of(i, min(first, row_count() - 1), k)) {
        lack.y += poured[c].x;
    } else {
        lack.x += poured[c].x;
    }
    lack.x -= left[c];
    if is_outside(i, k) {
        left[c] += lack.x + now[c].x;
        out[c] = vec2<f32>(-now[c].x, 0.0);
    } else {
        out[c] = lack;
    }
}

fn given(from_column: i32, to_column: i32) -> vec2<f32> {
    let has_surface = now[to_column].yw >= vec2<f32>(LEAST_SURFACE);
    let part = select(vec2<f32>(0.25), vec2<f32>(0.125), now[from_column].yw >= vec2<f32>(LEAST_SURFACE));
    return select(vec2<f32>(0.0), part * lacking_in[from_column], has_surface);
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

// How far the surfaces of rows `first` to `end`, which hold `start`, must be displaced for them to hold `lack` more.
fn displacement(i: i32, k: i32, first: i32, end: i32, start: vec2<f32>, lack: f32) -> f32 {
    var displaced = 0.0;
    var here = start;
    let wanted = start.x + lack;
    for (var round = 0; round < ROUNDS; round += 1) {
        if here.y < LEAST_SURFACE { break; }
        displaced = clamp(displaced + (wanted - here.x) / here.y, -MOST_DISPLACED, MOST_DISPLACED);
        here = held_in(i, k, first, end, -displaced);
    }
    return displaced;
}

@compute @workgroup_size(8, 8)
fn displacements(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let c = i + grid.nx * k;
    out[c] = vec2<f32>(displacement(i, k, 0, aloft[c], now[c].xy, lacking_in[c].x),
        displacement(i, k, aloft[c], row_count(), now[c].zw, lacking_in[c].y));
}

@compute @workgroup_size(16, 4, 2)
fn displace(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let c = s.i + grid.nx * s.k;
    let is_aloft = s.j >= aloft[c];
    var value = phi[s.index] - select(shift[c].x, shift[c].y, is_aloft) * grid.dx_m;
    let is_dry = now[c].y == 0.0 && phi[index_of(s.i, 0, s.k)] > 0.0;
    if !is_aloft && is_dry && lacking_in[c].x >= LEAST_FILM {
        let over_ground = f32(s.y - column_of(s.i, s.k).x) + 0.5;
        value = min(value, (over_ground - lacking_in[c].x) * grid.dx_m);
    }
    phi_out[s.index] = value;
}

// What phi does not stand for of what every column shall hold.
@compute @workgroup_size(8, 8)
fn close(@builtin(global_invocation_id) id: vec3<u32>) {
    if i32(id.x) >= grid.nx || i32(id.y) >= grid.nz { return; }
    let c = i32(id.x) + grid.nx * i32(id.y);
    residual[c] = ((now[c].x + now[c].z) + (lacking_in[c].x + lacking_in[c].y)) - before[c].x;
}
