// uses "../columns.wgsl"
// Twin of press, push, shed and body_velocities in mod.rs.

@group(0) @binding(4) var<storage, read> phi: array<f32>;
@group(0) @binding(5) var<storage, read> fraction: array<f32>;
// Gravity and the step's length; density.
@group(0) @binding(6) var<uniform> falls: vec4<f32>;
@group(0) @binding(7) var<uniform> liquid: vec4<f32>;
@group(0) @binding(8) var<storage, read> p: array<f32>;
@group(0) @binding(9) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read> elements: array<Element>;
@group(0) @binding(11) var<storage, read_write> pressed: array<Pressed>;
// STRIDE numbers of four a body.
@group(0) @binding(12) var<storage, read_write> bodies: array<vec4<f32>>;
@group(0) @binding(14) var<storage, read_write> u_water: array<vec4<f32>>;
@group(0) @binding(13) var<storage, read_write> u_solid: array<vec4<f32>>;

// Middle in cells and the body's number; area along the outward normal.
struct Element { at: vec4<f32>, area: vec4<f32> }
// Velocity and pressure; what lies there.
struct Pressed { flow: vec4<f32>, beside: vec4<f32> }

const DRY: f32 = 0.0;
const WET: f32 = 1.0;
const DEEP: f32 = 2.0;
const ENCLOSED: f32 = 3.0;

const STRIDE: i32 = 31;
// First and last element, coarse part.
const SPAN: i32 = 0;
const CENTER: i32 = 1;
const INVERSE_MASS: i32 = 2;
const INVERSE_INERTIA: i32 = 3;
const ADDED: i32 = 6;
const CARRIED: i32 = 12;
const START: i32 = 18;
const BEFORE: i32 = 20;
const NOW: i32 = 22;
const OWED: i32 = 24;
const GIVEN: i32 = 26;
const LENT: i32 = 28;
// What it gives to unresolved flow, and its surface in tall cells.
const SHED: i32 = 30;

const SOLID_ABOVE: f32 = 0.9;
const LEAST_TALL: i32 = 2;
const LEAST_WEIGHT: f32 = 1e-3;
const DRAG: f32 = 0.5;

fn of_body(body: i32, n: i32) -> vec3<f32> { return bodies[STRIDE * body + n].xyz; }
fn matrix_of_body(body: i32, n: i32) -> mat3x3<f32> {
    return mat3x3<f32>(of_body(body, n), of_body(body, n + 1), of_body(body, n + 2));
}

// Velocity of a body at a point in cells.
fn body_velocity(body: i32, at: vec3<f32>) -> vec3<f32> {
    let arm = grid.dx_m * (at - of_body(body, CENTER));
    return of_body(body, NOW) + cross(of_body(body, NOW + 1), arm);
}

@compute @workgroup_size(256)
fn press(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = i32(id.x + 256u * groups.x * id.y);
    if n >= i32(arrayLength(&elements)) { return; }
    let point = elements[n].at.xyz;
    let body = i32(elements[n].at.w);
    let area = elements[n].area.xyz;
    let m2 = sqrt(area.x * area.x + area.y * area.y + area.z * area.z);
    let normal = area / m2;
    let u_body = body_velocity(body, point);
    let stops_pa = (1.0 - bodies[STRIDE * body + SPAN].z) * liquid.x * grid.dx_m / falls.w;
    let weight_pa = -liquid.x * falls.y * grid.dx_m;
    let near = around(point);
    let slab = grid.nx * row_count();
    var open = 0.0;
    var distance = 0.0;
    var wet = 0.0;
    var sum = 0.0;
    var deep = 0.0;
    var flow = vec3<f32>(0.0);
    for (var c = 0; c < 8; c += 1) {
        let column = c / 2;
        var place = near.a;
        if column == 1 { place = near.b; } else if column == 2 { place = near.c; } else if column == 3 { place = near.d; }
        let wx = select(1.0 - near.wx, near.wx, (column & 1) == 1);
        let wz = select(1.0 - near.wz, near.wz, column / 2 == 1);
        let wy = select(1.0 - place.weight, place.weight, (c & 1) == 1);
        let index = select(place.low, place.high, (c & 1) == 1);
        if fraction[index] > SOLID_ABOVE { continue; }
        let w = wx * wz * wy;
        open += w;
        distance += w * phi[index];
        if phi[index] > 0.0 { continue; }
        let i = index % grid.nx;
        let j = index % slab / grid.nx;
        let k = index / slab;
        let above = f32(y_of(i, j, k)) - point.y;
        let v = vec3<f32>(u[index].x, u[index].y - falls.w * falls.y, u[index].z);
        var here = p[index] + weight_pa * above;
        if column_of(i, k).y > LEAST_TALL && j < 2 {
            deep += w;
        } else {
            let away = (f32(i) - point.x) * normal.x + above * normal.y + (f32(k) - point.z) * normal.z;
            let lead = (u_body.x - v.x) * normal.x + (u_body.y - v.y) * normal.y + (u_body.z - v.z) * normal.z;
            here += stops_pa * away * lead;
        }
        wet += w;
        sum += w * here;
        flow += w * v;
    }
    var out = Pressed(vec4<f32>(0.0), vec4<f32>(DRY, 0.0, 0.0, 0.0));
    if open < LEAST_WEIGHT {
        out.beside.x = ENCLOSED;
    } else if distance <= 0.0 && wet >= LEAST_WEIGHT {
        out = Pressed(vec4<f32>(flow / wet, sum / wet), vec4<f32>(select(WET, DEEP, deep > 0.5 * wet), 0.0, 0.0, 0.0));
    }
    pressed[n] = out;
}

const LANES: i32 = 64;
var<workgroup> sums: array<vec4<f32>, LANES>;

// The sum over all lanes, in a fixed tree.
fn sum_of_lanes(lane: i32, value: vec4<f32>) -> vec4<f32> {
    sums[lane] = value;
    workgroupBarrier();
    for (var apart = LANES / 2; apart > 0; apart /= 2) {
        if lane < apart { sums[lane] += sums[lane + apart]; }
        workgroupBarrier();
    }
    let all = sums[0];
    workgroupBarrier();
    return all;
}

fn inverse_of(m: mat3x3<f32>) -> mat3x3<f32> {
    let a = cross(m[1], m[2]);
    let b = cross(m[2], m[0]);
    let c = cross(m[0], m[1]);
    return (1.0 / dot(m[0], a)) * transpose(mat3x3<f32>(a, b, c));
}

fn diagonal(v: vec3<f32>) -> mat3x3<f32> {
    return mat3x3<f32>(vec3<f32>(v.x, 0.0, 0.0), vec3<f32>(0.0, v.y, 0.0), vec3<f32>(0.0, 0.0, v.z));
}

@compute @workgroup_size(64)
fn push(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let body = i32(group.x);
    let lane = i32(local);
    let span = bodies[STRIDE * body + SPAN];
    let first = i32(span.x);
    let end = i32(span.y);
    let weight_pa = -liquid.x * falls.y * grid.dx_m;
    // Wet, deep and whole surface and heads; then flow and what is wet and comes first.
    var areas = vec4<f32>(0.0);
    var flows = vec4<f32>(0.0);
    for (var n = first + lane; n < end; n += LANES) {
        let m2 = length(elements[n].area.xyz);
        let at = pressed[n];
        areas.z += m2;
        if at.beside.x == WET || at.beside.x == DEEP {
            areas.x += m2;
            areas.w += m2 * (at.flow.w + weight_pa * elements[n].at.y);
            flows += vec4<f32>(m2 * at.flow.xyz, 0.0);
        }
        if at.beside.x == DEEP { areas.y += m2; }
    }
    areas = sum_of_lanes(lane, areas);
    flows = sum_of_lanes(lane, flows);
    var head = 0.0;
    var flow = vec3<f32>(0.0);
    if areas.x > 0.0 {
        head = areas.w / areas.x;
        flow = flows.xyz / areas.x;
    }
    // The surface is closed, so that a constant may be subtracted from the pressure: that of water at rest at the body's centre.
    let center = of_body(body, CENTER);
    let reference = select(0.0, head - weight_pa * center.y, areas.x > 0.0);
    var force = vec4<f32>(0.0);
    var torque = vec4<f32>(0.0);
    for (var n = first + lane; n < end; n += LANES) {
        var pa = pressed[n].flow.w;
        if pressed[n].beside.x == ENCLOSED && areas.x > 0.0 { pa = max(head - weight_pa * elements[n].at.y, 0.0); }
        let part = (reference - pa) * elements[n].area.xyz;
        force += vec4<f32>(part, 0.0);
        torque += vec4<f32>(cross(grid.dx_m * (elements[n].at.xyz - center), part), 0.0);
    }
    force = sum_of_lanes(lane, force);
    torque = sum_of_lanes(lane, torque);
    if lane > 0 { return; }
    var share = 0.0;
    var deep = 0.0;
    if areas.z > 0.0 { share = areas.x / areas.z; }
    if areas.x > 0.0 { deep = max(2.0 * areas.y / areas.x - 1.0, span.z) * share; }
    let speed = length(of_body(body, START) - flow);
    let drag = 0.5 * DRAG * liquid.x * 0.25 * deep * areas.z * speed * falls.w;
    for (var n = 0; n < 2; n += 1) {
        let inverse = select_matrix(n == 0, diagonal(of_body(body, INVERSE_MASS)), matrix_of_body(body, INVERSE_INERTIA));
        let lends = (share - deep) * matrix_of_body(body, ADDED + 3 * n);
        let carries = deep * matrix_of_body(body, CARRIED + 3 * n);
        let drags = diagonal(vec3<f32>(select(0.0, drag, n == 0)));
        let met = of_body(body, NOW + n);
        var given = falls.w * select(torque.xyz, force.xyz, n == 0) + of_body(body, OWED + n);
        given += carries * of_body(body, START + n) + drags * select(vec3<f32>(0.0), flow, n == 0);
        let right = of_body(body, BEFORE + n) + inverse * (given + lends * met);
        let now = inverse_of(diagonal(vec3<f32>(1.0)) + inverse * (lends + carries + drags)) * right;
        let lent = lends * (now - met);
        bodies[STRIDE * body + NOW + n] = vec4<f32>(now, 0.0);
        bodies[STRIDE * body + LENT + n] = vec4<f32>(lent, 0.0);
        bodies[STRIDE * body + GIVEN + n] = vec4<f32>(given - (carries + drags) * now - lent, 0.0);
        if n == 0 {
            let gives = (carries + drags) * now - carries * of_body(body, START) - drags * flow;
            bodies[STRIDE * body + SHED] = vec4<f32>(gives, areas.y);
        }
    }
}

@compute @workgroup_size(8, 8)
fn shed(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let water_kg = liquid.x * grid.dx_m * grid.dx_m * grid.dx_m * f32(column_of(i, k).y);
    for (var body = 0; body < i32(arrayLength(&bodies)) / STRIDE; body += 1) {
        let gives = bodies[STRIDE * body + SHED];
        if gives.w <= 0.0 { continue; }
        let span = bodies[STRIDE * body + SPAN];
        var m2 = 0.0;
        for (var n = i32(span.x); n < i32(span.y); n += 1) {
            if pressed[n].beside.x != DEEP { continue; }
            let at = elements[n].at;
            let near = vec2<i32>(max(floor(at.xz + 0.5), vec2<f32>(0.0)));
            if min(near.x, grid.nx - 1) == i && min(near.y, grid.nz - 1) == k { m2 += length(elements[n].area.xyz); }
        }
        if m2 == 0.0 { continue; }
        let by = vec4<f32>(m2 / gives.w / water_kg * gives.xyz, 0.0);
        u_water[index_of(i, 0, k)] += by;
        u_water[index_of(i, 1, k)] += by;
    }
}

fn select_matrix(first: bool, a: mat3x3<f32>, b: mat3x3<f32>) -> mat3x3<f32> {
    if first { return a; }
    return b;
}

@compute @workgroup_size(16, 4, 2)
fn body_velocities(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside || u_solid[s.index].w < 1.0 { return; }
    let body = i32(u_solid[s.index].w) - 1;
    let v = body_velocity(body, vec3<f32>(f32(s.i), f32(s.y), f32(s.k)));
    u_solid[s.index] = vec4<f32>(v, u_solid[s.index].w);
}
