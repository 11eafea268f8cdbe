// uses "links.wgsl"
// uses "../cells.wgsl"
// Twin of right_side, divergence and subtract_gradient in projection.rs.

struct Params { density_kg_m3: f32, dt_s: f32, pad0: f32, pad1: f32 }
struct Row { a: vec4<f32>, b: vec4<f32> }
@group(0) @binding(6) var<uniform> params: Params;
@group(0) @binding(7) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read> u_solid: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> out: array<f32>;
@group(0) @binding(10) var<storage, read> rows: array<Row>;
@group(0) @binding(11) var<storage, read> p: array<f32>;
@group(0) @binding(12) var<storage, read_write> u_out: array<vec4<f32>>;

// Where the neighbouring cell in direction d is read; the ends of a tall cell see each other.
fn place_of(s: Sample, d: i32) -> Place {
    if d == 2 {
        let below = select(s.index, s.index - grid.nx, s.j > 0);
        return Place(below, below, 0.0);
    }
    if d == 3 {
        let above = select(s.index, s.index + grid.nx, s.j + 1 < row_count());
        return Place(above, above, 0.0);
    }
    let step = step_to(d);
    return nearest(s.i + step.x, s.k + step.z, f32(s.y + step.y));
}

// The solid's velocity beyond face d; terrain and walls rest.
fn solid_velocity(s: Sample, d: i32, part: f32) -> f32 {
    let cell = vec3<i32>(s.i, s.y, s.k) + step_to(d);
    if part == 0.0 || holds(cell.x, cell.y, cell.z) != CELL { return 0.0; }
    let at = place_of(s, d);
    return blend4(u_solid[at.low], u_solid[at.high], at.weight)[d / 2];
}

fn face_velocity(s: Sample, d: i32) -> f32 {
    let axis = d / 2;
    let l = link_to(s, d);
    let at = place_of(s, d);
    let mean = 0.5 * (u[s.index][axis] + blend4(u[at.low], u[at.high], at.weight)[axis]);
    return mean * (1.0 - l.solid) + solid_velocity(s, d, l.solid) * l.solid;
}

fn outflow(s: Sample) -> f32 {
    if !is_unknown(s.index) { return 0.0; }
    var thickness = 1.0;
    if s.j < 2 { thickness = layer(s.i, s.k); }
    return ((face_velocity(s, 1) - face_velocity(s, 0)) + (face_velocity(s, 3) - face_velocity(s, 2)) / thickness)
        + (face_velocity(s, 5) - face_velocity(s, 4));
}

@compute @workgroup_size(16, 4, 2)
fn right_side(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let scale = params.density_kg_m3 * grid.dx_m / params.dt_s;
    out[s.index] = scale * outflow(s);
}

// Velocity (and 1) of the source that a cell lies in.
fn source_at(cell: vec3<i32>) -> vec4<f32> {
    if cell.x < 0 || cell.z < 0 || cell.x >= grid.nx || cell.z >= grid.nz { return vec4<f32>(0.0); }
    let entry = find_cell(cell.x + grid.nx * cell.z, cell.y);
    if entry < 0 || list_cells[entry].y > 0.0 { return vec4<f32>(0.0); }
    return select(vec4<f32>(0.0), list_u[entry], list_u[entry].w > 0.0);
}

@compute @workgroup_size(16, 4, 2)
fn let_in(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    if !is_unknown(s.index) { return; }
    let here = vec3<i32>(s.i, s.y, s.k);
    let own = source_at(here);
    var sum = 0.0;
    for (var d = 0; d < 6; d += 1) {
        let axis = d / 2;
        let sign = select(-1.0, 1.0, (d & 1) == 1);
        let there = source_at(here + step_to(d));
        let enters_here = own.w > 0.0 && there.w == 0.0 && own[axis] * sign < 0.0;
        let passes_by = own.w == 0.0 && there.w > 0.0 && there[axis] * sign > 0.0;
        if !enters_here && !passes_by { continue; }
        let l = link_to(s, d);
        if l.solid < 1.0 && l.weight == 0.0 { continue; }
        var vertical = 1.0;
        if axis == 1 && s.j < 2 { vertical = 1.0 / layer(s.i, s.k); }
        sum += vertical * (select(0.0, abs(own[axis]), enters_here) + sign * face_velocity(s, d));
    }
    out[s.index] -= params.density_kg_m3 * grid.dx_m / params.dt_s * sum;
}

// The outward velocity through lateral face n of cell (i, y, k), inside a column, and the solid part of that face.
fn lateral_face(i: i32, y: i32, k: i32, n: i32) -> vec2<f32> {
    let d = select(n + 2, n, n < 2);
    let step = step_to(d);
    let axis = d / 2;
    let at = nearest(i + step.x, k + step.z, f32(y));
    let own = nearest(i, k, f32(y));
    let held = holds(i + step.x, y, k + step.z);
    var solid = select(0.0, 1.0, held == SOLID);
    var solid_u = 0.0;
    if held == CELL {
        let part = blend1(fraction[at.low], fraction[at.high], at.weight);
        solid = solid_part(blend1(fraction[own.low], fraction[own.high], own.weight), part);
        if solid < 1.0 && blend1(phi[at.low], phi[at.high], at.weight) > 0.0 { solid = 0.0; }
        solid_u = blend4(u_solid[at.low], u_solid[at.high], at.weight)[axis];
    }
    let here = blend4(u[own.low], u[own.high], own.weight)[axis];
    let mean = 0.5 * (here + blend4(u[at.low], u[at.high], at.weight)[axis]);
    return vec2<f32>(select(-1.0, 1.0, (n & 1) == 1) * (mean * (1.0 - solid) + solid_u * solid), solid);
}

// What the sub-cells of a tall cell's half let out beyond the line between its ends, through sides whose faces at its end are open.
fn missed(s: Sample) -> f32 {
    let c = column_of(s.i, s.k);
    var sum = 0.0;
    for (var n = 0; n < 4; n += 1) {
        let bottom = lateral_face(s.i, c.x, s.k, n);
        let top = lateral_face(s.i, c.x + c.y - 1, s.k, n);
        if select(bottom.y, top.y, s.j == 1) >= 1.0 { continue; }
        for (var t = 1; t < c.y - 1; t += 1) {
            let from_middle = 2 * t - (c.y - 1);
            var part = 1.0;
            if from_middle == 0 { part = 0.5; } else if (from_middle > 0) != (s.j == 1) { continue; }
            sum += part * (lateral_face(s.i, c.x + t, s.k, n).x - blend1(bottom.x, top.x, f32(t) / f32(c.y - 1)));
        }
    }
    return sum / (0.5 * f32(c.y));
}

@compute @workgroup_size(16, 4, 2)
fn right_side_counting(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    let scale = params.density_kg_m3 * grid.dx_m / params.dt_s;
    if s.j >= 2 || !is_unknown(index_of(s.i, 0, s.k)) || !is_unknown(index_of(s.i, 1, s.k)) {
        out[s.index] = scale * outflow(s);
        return;
    }
    out[s.index] = scale * (outflow(s) + missed(s));
}

@compute @workgroup_size(16, 4, 2)
fn divergence(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    out[s.index] = outflow(s) / grid.dx_m;
}

// Weight of the gradient above a sample in its own.
fn upper_weight(s: Sample) -> f32 {
    let below_all = 1.0 / f32(column_of(s.i, s.k).y);
    if s.j == 0 { return 1.0 - below_all; }
    return select(0.5, below_all, s.j == 1);
}

fn difference(s: Sample, d: i32, l: Link) -> f32 {
    var there = 0.0;
    if l.weight != 0.0 {
        let at = place_of(s, d);
        there = blend1(p[at.low], p[at.high], at.weight);
    }
    return l.weight * there - l.own * p[s.index];
}

@compute @workgroup_size(16, 4, 2)
fn subtract_gradient(@builtin(global_invocation_id) id: vec3<u32>) {
    let s = sample_of(id);
    if !s.inside { return; }
    var new_u = u[s.index];
    if rows[s.index].b.z != 0.0 {
        let scale = params.dt_s / (params.density_kg_m3 * grid.dx_m);
        let bound = rows[s.index].b.w;
        var held = 1.0;
        if bound > 0.0 { held = 1.0 - clamp(-p[s.index] / bound, 0.0, 1.0); }
        for (var axis = 0; axis < 3; axis += 1) {
            let old = u[s.index][axis];
            let low = link_to(s, 2 * axis);
            let high = link_to(s, 2 * axis + 1);
            let over_low = old - solid_velocity(s, 2 * axis, low.solid);
            let over_high = old - solid_velocity(s, 2 * axis + 1, high.solid);
            let stopped_low = low.solid * select(over_low, held * over_low, over_low > 0.0);
            let stopped_high = high.solid * select(over_high, held * over_high, over_high < 0.0);
            var weight = 0.5;
            if axis == 1 { weight = upper_weight(s); }
            let above = weight * (scale * difference(s, 2 * axis + 1, high) + stopped_high);
            let below = (1.0 - weight) * (scale * difference(s, 2 * axis, low) - stopped_low);
            new_u[axis] = old - (above - below);
        }
    }
    u_out[s.index] = new_u;
}
