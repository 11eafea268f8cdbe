// uses "../columns.wgsl"
// uses "../other.wgsl"
// Twins of seed.rs and step.rs: the grid is that after the step, the other that before it.

struct Params {
    gravity: vec3<f32>,
    dt_s: f32,
    low: vec3<f32>,
    trials_1_s: f32,
    high: vec3<f32>,
    trial_s: f32,
    spray_tau_s: f32,
    mist_tau_s: f32,
    foam_s: f32,
    radius_m: f32,
    mist_part: f32,
    foam_part: f32,
    open: u32,
    step: u32,
    most: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}
struct Particle {
    x: vec3<f32>,
    radius_m: f32,
    v: vec3<f32>,
    left_s: f32,
    // What it is; between `advance` and `place_all`, times 256, what is left of it.
    kind: u32,
    seed: u32,
    id: u32,
    age_s: f32,
}
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> phi: array<f32>;
@group(0) @binding(6) var<storage, read> phi_before: array<f32>;
@group(0) @binding(7) var<storage, read> u_before: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read> fraction: array<f32>;
@group(0) @binding(9) var<storage, read_write> particles: array<Particle>;
// What fell in, by column. Sums of whole numbers do not depend on their order.
@group(0) @binding(10) var<storage, read_write> landed: array<atomic<u32>>;
@group(0) @binding(11) var<storage, read_write> counts: array<u32>;
// Sums of the counts before each block.
@group(0) @binding(12) var<storage, read_write> blocks: array<u32>;
// Live, next_id, wanted, escaped, fallen, foam, refused, and what `place_all` finds to place.
@group(0) @binding(13) var<storage, read_write> counters: array<atomic<u32>, 8>;
@group(0) @binding(14) var<storage, read_write> placed: array<Particle>;

const LIVE: u32 = 0u;
const NEXT_ID: u32 = 1u;
const WANTED: u32 = 2u;
const ESCAPED: u32 = 3u;
const FALLEN: u32 = 4u;
const FOAM_MADE: u32 = 5u;
const REFUSED: u32 = 6u;
const TO_PLACE: u32 = 7u;

const SPRAY: u32 = 0u;
const FOAM: u32 = 1u;
const MIST: u32 = 3u;
const TRIAL: u32 = 4u;
const CHILDREN: u32 = 4u;
const BLOCK: u32 = 1024u;
const HALF_DIAGONAL: f32 = 0.8661;

fn mix_bits(value: u32) -> u32 {
    var v = value;
    v = (v ^ (v >> 16u)) * 0x7feb352du;
    v = (v ^ (v >> 15u)) * 0x846ca68bu;
    return v ^ (v >> 16u);
}
fn chance(seed: u32, n: u32) -> f32 { return f32(mix_bits(seed ^ mix_bits(n + 0x9e3779b9u)) >> 8u) / 16777216.0; }

fn growth(a: f32) -> f32 {
    let x = a / 16.0;
    var e = x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))));
    for (var n = 0; n < 4; n += 1) { e *= 2.0 + e; }
    return min(e, 1e30);
}

fn phi_place(p: Place) -> f32 { return blend1(phi[p.low], phi[p.high], p.weight); }
fn phi_after(x: vec3<f32>) -> f32 {
    let a = around(x);
    return blend1(blend1(phi_place(a.a), phi_place(a.b), a.wx), blend1(phi_place(a.c), phi_place(a.d), a.wx), a.wz);
}
fn solid_place(p: Place) -> f32 { return blend1(fraction[p.low], fraction[p.high], p.weight); }
fn solid_part(x: vec3<f32>) -> f32 {
    let a = around(x);
    return blend1(blend1(solid_place(a.a), solid_place(a.b), a.wx), blend1(solid_place(a.c), solid_place(a.d), a.wx), a.wz);
}

fn other_around(point: vec3<f32>) -> Around {
    let x = clamp(point.x, 0.0, f32(other.nx - 1));
    let z = clamp(point.z, 0.0, f32(other.nz - 1));
    let i = i32(floor(x));
    let k = i32(floor(z));
    let i1 = min(i + 1, other.nx - 1);
    let k1 = min(k + 1, other.nz - 1);
    return Around(other_locate(i, k, point.y), other_locate(i1, k, point.y), other_locate(i, k1, point.y),
        other_locate(i1, k1, point.y), x - floor(x), z - floor(z));
}
fn before_place(p: Place) -> f32 { return blend1(phi_before[p.low], phi_before[p.high], p.weight); }
fn phi_earlier(x: vec3<f32>) -> f32 {
    let a = other_around(x);
    return blend1(blend1(before_place(a.a), before_place(a.b), a.wx), blend1(before_place(a.c), before_place(a.d), a.wx), a.wz);
}
fn u_place(p: Place) -> vec4<f32> { return blend4(u_before[p.low], u_before[p.high], p.weight); }
fn velocity(x: vec3<f32>) -> vec3<f32> {
    let a = other_around(x);
    return blend4(blend4(u_place(a.a), u_place(a.b), a.wx), blend4(u_place(a.c), u_place(a.d), a.wx), a.wz).xyz;
}

fn phi_at(x: vec3<f32>, at_s: f32) -> f32 {
    let u = velocity(x);
    let before = phi_earlier(x - at_s / grid.dx_m * u);
    let after = phi_after(x + (params.dt_s - at_s) / grid.dx_m * u);
    let part = at_s / params.dt_s;
    return before * (1.0 - part) + after * part;
}

fn is_solid(x: vec3<f32>) -> bool {
    let i = min(i32(max(floor(x.x + 0.5), 0.0)), grid.nx - 1);
    let k = min(i32(max(floor(x.z + 0.5), 0.0)), grid.nz - 1);
    return x.y + 0.5 < f32(column_of(i, k).x) || solid_part(x) > 0.5;
}

fn item(id: vec3<u32>) -> u32 { return id.x + id.y * 32768u * 256u; }

// Trial particles.

fn share() -> f32 {
    let room = f32(params.most - min(atomicLoad(&counters[LIVE]), params.most));
    return clamp(room / (8.0 * f32(max(atomicLoad(&counters[WANTED]), 1u))), 0.015625, 1.0);
}

fn trial_count(i: i32, row: i32, k: i32, part: f32) -> vec2<u32> {
    let n = other_index(i, row, k);
    let here = phi_before[n];
    if here > HALF_DIAGONAL * other.dx_m || here < -(1.0 + HALF_DIAGONAL) * other.dx_m { return vec2<u32>(0u); }
    let seed = mix_bits(params.step ^ mix_bits(u32(n)));
    let wanted = params.trials_1_s * part * params.dt_s;
    return vec2<u32>(u32(floor(wanted + chance(seed, 0u))), seed);
}

// A trial particle; none where its kind says that it is something else.
fn trial(cell: vec3<f32>, seed: u32) -> Particle {
    let start = cell + vec3<f32>(chance(seed, 0u), chance(seed, 1u), chance(seed, 2u)) - 0.5;
    let here = phi_earlier(start);
    let inside = all(start >= params.low) && all(start <= params.high);
    let v = velocity(start);
    let born_s = chance(seed, 3u) * params.dt_s;
    let kind = select(TRIAL, SPRAY, here > 0.0 || here < -other.dx_m || !inside);
    return Particle(start + born_s / other.dx_m * v, -here, v, params.trial_s, kind, seed, 0u, -born_s);
}

fn seed_of(column: u32, to: u32, writes: bool) -> u32 {
    let i = i32(column) % other.nx;
    let k = i32(column) / other.nx;
    let c = other_columns[column];
    let part = share();
    let live = atomicLoad(&counters[LIVE]);
    let next = atomicLoad(&counters[NEXT_ID]);
    var found = 0u;
    for (var row = 2; row < other.regular + 2; row += 1) {
        let many = trial_count(i, row, k, part);
        for (var n = 0u; n < many.x; n += 1u) {
            let cell = vec3<f32>(f32(i), f32(c.x + c.y + row - 2), f32(k));
            var p = trial(cell, mix_bits(many.y + 1u + n));
            if p.kind != TRIAL { continue; }
            if writes && live + to + found < params.most {
                p.id = next + CHILDREN * (to + found);
                particles[live + to + found] = p;
            }
            found += 1u;
        }
    }
    return found;
}

@compute @workgroup_size(256)
fn seed_count(@builtin(global_invocation_id) id: vec3<u32>) {
    let column = item(id);
    if column >= u32(other.nx * other.nz) { return; }
    counts[column] = seed_of(column, 0u, false);
}

@compute @workgroup_size(256)
fn seed(@builtin(global_invocation_id) id: vec3<u32>) {
    let column = item(id);
    if column >= u32(other.nx * other.nz) { return; }
    seed_of(column, blocks[column / BLOCK] + counts[column], true);
}

// Prefix sums: of blocks of 1024 in `counts`, of the blocks in `blocks`; the sum of all becomes what is to be placed.

var<workgroup> part: array<u32, 256>;

@compute @workgroup_size(256)
fn sum_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = group.x + group.y * 32768u;
    let first = block * BLOCK + 4u * t;
    var own = array<u32, 4>(0u, 0u, 0u, 0u);
    var sum = 0u;
    for (var n = 0u; n < 4u; n += 1u) {
        own[n] = sum;
        if first + n < arrayLength(&counts) { sum += counts[first + n]; }
    }
    part[t] = sum;
    workgroupBarrier();
    for (var step = 1u; step < 256u; step *= 2u) {
        var more = 0u;
        if t >= step { more = part[t - step]; }
        workgroupBarrier();
        part[t] += more;
        workgroupBarrier();
    }
    let before = part[t] - sum;
    for (var n = 0u; n < 4u; n += 1u) {
        if first + n < arrayLength(&counts) { counts[first + n] = before + own[n]; }
    }
    if t == 255u && block < arrayLength(&blocks) { blocks[block] = part[255]; }
}

// One workgroup.
@compute @workgroup_size(256)
fn sum_all(@builtin(local_invocation_index) t: u32) {
    var before = 0u;
    for (var first = 0u; first < arrayLength(&blocks); first += 256u) {
        var sum = 0u;
        if first + t < arrayLength(&blocks) { sum = blocks[first + t]; }
        part[t] = sum;
        workgroupBarrier();
        for (var step = 1u; step < 256u; step *= 2u) {
            var more = 0u;
            if t >= step { more = part[t - step]; }
            workgroupBarrier();
            part[t] += more;
            workgroupBarrier();
        }
        if first + t < arrayLength(&blocks) { blocks[first + t] = before + part[t] - sum; }
        before += part[255];
        workgroupBarrier();
    }
    if t == 0u { atomicStore(&counters[TO_PLACE], before); }
}

// What was born lives, as far as there is room.
@compute @workgroup_size(1)
fn take_in() {
    let born = atomicLoad(&counters[TO_PLACE]);
    let live = atomicLoad(&counters[LIVE]);
    let all = min(live + born, params.most);
    let wanted = u32(f32(born) / share());
    atomicStore(&counters[LIVE], all);
    atomicStore(&counters[WANTED], wanted);
    atomicAdd(&counters[NEXT_ID], CHILDREN * born);
    atomicAdd(&counters[REFUSED], live + born - all);
}

// Steps.

// Zero where it has left through an open side.
fn hold(particle: ptr<function, Particle>) -> bool {
    for (var c = 0u; c < 3u; c += 1u) {
        var at = (*particle).x[c];
        var side = 6u;
        if at < params.low[c] { side = 2u * c; at = params.low[c]; }
        if at > params.high[c] { side = 2u * c + 1u; at = params.high[c]; }
        if side == 6u { continue; }
        if ((params.open >> side) & 1u) == 1u { return false; }
        (*particle).x[c] = at;
        (*particle).v[c] = 0.0;
    }
    return true;
}

fn moved(particle: Particle, h_s: f32, tau_s: f32) -> Particle {
    var p = particle;
    let grown = growth(h_s / tau_s);
    let kept = 1.0 / (1.0 + grown);
    let lost = grown / (1.0 + grown);
    let terminal = tau_s * params.gravity;
    let way = h_s * terminal + tau_s * lost * (p.v - terminal);
    p.x = p.x + way / grid.dx_m;
    p.v = terminal + kept * (p.v - terminal);
    return p;
}

fn gone(particle: Particle) -> Particle {
    var p = particle;
    p.kind = TRIAL;
    return p;
}

fn wait_for(particle: Particle, from_s: f32, h_s: f32) -> Particle {
    let is_tested = particle.left_s <= h_s;
    let used_s = select(h_s, particle.left_s, is_tested);
    var there = moved(particle, used_s, params.spray_tau_s);
    if !hold(&there) || is_solid(there.x) { return gone(there); }
    if !is_tested {
        there.left_s = particle.left_s - h_s;
        there.kind |= 1u << 8u;
        return there;
    }
    if phi_at(there.x, from_s + used_s) <= 2.0 * particle.radius_m { return gone(there); }
    let slip = there.v - velocity(there.x);
    there.radius_m = sqrt(slip.x * slip.x + slip.y * slip.y + slip.z * slip.z);
    there.left_s = h_s - used_s;
    there.age_s = h_s - used_s;
    there.kind |= CHILDREN << 8u;
    atomicAdd(&counters[ESCAPED], CHILDREN);
    return there;
}

fn child(p: Particle, n: u32) -> Particle {
    let seed = mix_bits(p.seed + n + 1u);
    let noise = p.radius_m * (vec3<f32>(chance(seed, 8u), chance(seed, 9u), chance(seed, 10u)) - 0.5);
    let is_mist = chance(seed, 11u) < params.mist_part;
    let size = chance(seed, 12u);
    let drop = Particle(p.x, params.radius_m * (0.5 + 1.5 * size * size) * select(1.0, 0.5, is_mist), p.v + noise,
        params.foam_s * (0.5 + chance(seed, 13u)), select(SPRAY, MIST, is_mist), seed, p.id + n, p.age_s);
    return moved(drop, p.left_s, select(params.spray_tau_s, params.mist_tau_s, is_mist));
}

fn land(x: vec3<f32>, radius_m: f32) {
    let near = floor(min(max(x, params.low), params.high) + 0.5);
    let i = min(i32(near.x), grid.nx - 1);
    let k = min(i32(near.z), grid.nz - 1);
    let section = 3.14159274 * radius_m * radius_m / (grid.dx_m * grid.dx_m);
    atomicAdd(&landed[i + grid.nx * k], u32(65536.0 * (7.0 * section)));
    atomicAdd(&counters[FALLEN], 1u);
}

fn fall(p: Particle, h_s: f32) -> Particle {
    var there = moved(p, h_s, select(params.spray_tau_s, params.mist_tau_s, p.kind == MIST));
    if !hold(&there) || is_solid(there.x) { return gone(there); }
    let after = phi_after(there.x);
    if after >= 0.0 {
        there.kind |= 1u << 8u;
        return there;
    }
    let above = max(phi_earlier(p.x), 0.0);
    let met = p.x + above / (above - after) * (there.x - p.x);
    land(met, p.radius_m);
    if p.kind == MIST || chance(p.seed, 14u) >= params.foam_part { return gone(there); }
    there.kind = FOAM | (1u << 8u);
    there.x = met;
    there.v = velocity(met);
    atomicAdd(&counters[FOAM_MADE], 1u);
    return there;
}

fn slope_at(x: vec3<f32>) -> vec3<f32> {
    let h = vec3<f32>(0.5, 0.0, 0.0);
    return vec3<f32>(phi_after(x + h) - phi_after(x - h), phi_after(x + h.yxz) - phi_after(x - h.yxz),
        phi_after(x + h.yzx) - phi_after(x - h.yzx)) / grid.dx_m;
}

fn drift(p: Particle, h_s: f32) -> Particle {
    let scale = h_s / grid.dx_m;
    let middle = velocity(p.x + 0.5 * scale * velocity(p.x));
    var foam = p;
    foam.v = middle;
    foam.left_s = p.left_s - h_s;
    foam.x = p.x + scale * middle;
    if foam.left_s <= 0.0 || !hold(&foam) || is_solid(foam.x) { return gone(foam); }
    for (var n = 0; n < 2; n += 1) {
        let slope = slope_at(foam.x);
        let length2 = slope.x * slope.x + slope.y * slope.y + slope.z * slope.z;
        foam.x = foam.x - phi_after(foam.x) / max(length2, 0.01) / grid.dx_m * slope;
    }
    if !hold(&foam) { return gone(foam); }
    let here = phi_after(foam.x);
    if here < -grid.dx_m { return gone(foam); }
    foam.kind = select(FOAM, SPRAY, here > grid.dx_m) | (1u << 8u);
    return foam;
}

@compute @workgroup_size(256)
fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = item(id);
    if n >= params.most { return; }
    if n >= atomicLoad(&counters[LIVE]) {
        counts[n] = 0u;
        return;
    }
    var p = particles[n];
    let from_s = max(-p.age_s, 0.0);
    let h_s = params.dt_s - from_s;
    p.age_s = max(p.age_s, 0.0) + h_s;
    if p.kind == TRIAL { p = wait_for(p, from_s, h_s); }
    else if p.kind == FOAM { p = drift(p, h_s); }
    else { p = fall(p, h_s); }
    particles[n] = p;
    counts[n] = p.kind >> 8u;
}

@compute @workgroup_size(256)
fn place_all(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = item(id);
    if n >= atomicLoad(&counters[LIVE]) { return; }
    var p = particles[n];
    let count = p.kind >> 8u;
    p.kind &= 255u;
    let to = blocks[n / BLOCK] + counts[n];
    for (var c = 0u; c < count; c += 1u) {
        if to + c >= params.most { return; }
        if count == 1u { placed[to] = p; } else { placed[to + c] = child(p, c); }
    }
}

@compute @workgroup_size(1)
fn count_placed() {
    let all = atomicLoad(&counters[TO_PLACE]);
    let live = min(all, params.most);
    atomicStore(&counters[LIVE], live);
    atomicAdd(&counters[REFUSED], all - live);
}

@compute @workgroup_size(256)
fn take_back(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = item(id);
    if n < atomicLoad(&counters[LIVE]) { particles[n] = placed[n]; }
}
