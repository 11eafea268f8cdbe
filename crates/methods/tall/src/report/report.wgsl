// uses "../columns.wgsl"
// uses "../pressure/links.wgsl"
// uses "../volume/open.wgsl"
// The numbers of a step: by column, then by row of columns in a fixed order, so that they repeat. The solver's
// report on the CPU is the twin.

@group(0) @binding(8) var<storage, read> u: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> diverges: array<f32>;
@group(0) @binding(10) var<storage, read> r: array<f32>;
@group(0) @binding(11) var<storage, read> b: array<f32>;
// Volume and surface of every column.
@group(0) @binding(12) var<storage, read> held: array<vec2<f32>>;
@group(0) @binding(13) var<storage, read> residual: array<f32>;
@group(0) @binding(14) var<storage, read> left: array<f32>;
@group(0) @binding(15) var<storage, read> shift: array<vec2<f32>>;
// SLOTS numbers, each for all columns.
@group(0) @binding(16) var<storage, read_write> by_column: array<f32>;
// For every row of columns: sums as two numbers each, then the largest ones.
@group(0) @binding(17) var<storage, read_write> by_row: array<f32>;

// Twice the kinetic energy, moment of heights, unknowns, held, residual, left, bounds and floors that acted, values
// that are not finite.
const SUMS: i32 = 9;
// Squared speed, divergence, residual and right side of the pressure.
const LARGEST: i32 = 4;
const ROW: i32 = 2 * SUMS + LARGEST;
// Differences of phi over two cells below this, in cells, are rounding and have no direction.
const LEAST_SLOPE: f32 = 1e-3;
const MOST_DISPLACED: f32 = 0.5;

fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

fn phi_of(i: i32, k: i32, y: i32) -> f32 {
    let p = nearest(i, k, f32(y));
    return blend1(phi[p.low], phi[p.high], p.weight);
}

fn is_floored(s: Sample) -> bool {
    for (var d = 0; d < 6; d += 1) {
        let l = link_to(s, d);
        let in_tall = (s.j == 1 && d == 2) || (s.j == 0 && d == 3);
        let distance = select(1.0, f32(column_of(s.i, s.k).y - 1), in_tall);
        if l.weight == 0.0 && l.own * distance >= 1.0 / LEAST_THETA { return true; }
    }
    return false;
}

fn u_of(i: i32, y: i32, k: i32) -> vec3<f32> {
    let p = nearest(i, k, f32(y));
    return blend4(u[p.low], u[p.high], p.weight).xyz;
}

// Twin of liquid_velocity in the solver.
fn liquid_velocity(i: i32, y: i32, k: i32, here: f32) -> vec3<f32> {
    var from_cell = vec3<i32>(i, y, k);
    if here > 0.0 {
        var deepest = 0.0;
        for (var d = 0; d < 6; d += 1) {
            let cell = vec3<i32>(i, y, k) + step_to(d);
            if holds(cell.x, cell.y, cell.z) != CELL { continue; }
            let p = nearest(cell.x, cell.z, f32(cell.y));
            let value = blend1(phi[p.low], phi[p.high], p.weight);
            if value < deepest && blend1(fraction[p.low], fraction[p.high], p.weight) <= SOLID_ABOVE {
                deepest = value;
                from_cell = cell;
            }
        }
    }
    return u_of(from_cell.x, from_cell.y, from_cell.z);
}

@compute @workgroup_size(8, 8)
fn columns_of_step(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let column = i + grid.nx * k;
    let c = column_of(i, k);
    var numbers = array<f32, 13>();
    for (var y = c.x; y < c.x + c.y + grid.regular; y += 1) {
        let place = locate(i, k, f32(y));
        let here = blend1(phi[place.low], phi[place.high], place.weight);
        let part = clamp(0.5 - here / grid.dx_m, 0.0, 1.0) * open_part(i, k, y);
        if part == 0.0 { continue; }
        let v = liquid_velocity(i, y, k, here);
        var height = f32(y) + 0.5;
        if part < 1.0 {
            let slope = vec3<f32>(phi_of(i + 1, k, y) - phi_of(i - 1, k, y), phi_of(i, k, y + 1) - phi_of(i, k, y - 1),
                phi_of(i, k + 1, y) - phi_of(i, k - 1, y));
            let steepness = length(slope);
            if steepness > LEAST_SLOPE * grid.dx_m { height -= 0.5 * (1.0 - part) * slope.y / steepness; }
        }
        numbers[0] += part * dot(v, v);
        numbers[1] += part * height;
    }
    for (var j = 0; j < row_count(); j += 1) {
        let n = index_of(i, j, k);
        let v = u[n].xyz;
        if !is_finite(phi[n]) || !is_finite(v.x) || !is_finite(v.y) || !is_finite(v.z) { numbers[8] += 1.0; }
        if !is_unknown(n) { continue; }
        numbers[2] += 1.0;
        if is_floored(Sample(i, j, k, y_of(i, j, k), n, true)) { numbers[7] += 1.0; }
        numbers[9] = max(numbers[9], dot(v, v));
        numbers[10] = max(numbers[10], abs(diverges[n]));
        numbers[11] = max(numbers[11], abs(r[n]));
        numbers[12] = max(numbers[12], abs(b[n]));
    }
    numbers[3] = held[column].x;
    numbers[4] = residual[column];
    numbers[5] = left[column];
    numbers[6] = select(0.0, 1.0, max(abs(shift[column].x), abs(shift[column].y)) >= MOST_DISPLACED);
    let all = grid.nx * grid.nz;
    for (var n = 0; n < SUMS + LARGEST; n += 1) { by_column[n * all + column] = numbers[n]; }
}

const LANES: i32 = 64;
var<workgroup> sums: array<vec2<f32>, LANES>;

// The sum of two numbers that are each a pair of a large and a small part.
fn add_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let s = a.x + b.x;
    let back = s - a.x;
    let lost = (a.x - (s - back)) + (b.x - back);
    return vec2<f32>(s, lost + a.y + b.y);
}

@compute @workgroup_size(64)
fn rows_of_step(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let k = i32(group.x);
    let lane = i32(local);
    let all = grid.nx * grid.nz;
    for (var n = 0; n < SUMS + LARGEST; n += 1) {
        var sum = vec2<f32>(0.0);
        for (var i = lane; i < grid.nx; i += LANES) {
            let value = by_column[n * all + i + grid.nx * k];
            if n < SUMS { sum = add_pairs(sum, vec2<f32>(value, 0.0)); } else { sum.x = max(sum.x, value); }
        }
        sums[lane] = sum;
        workgroupBarrier();
        for (var apart = LANES / 2; apart > 0; apart /= 2) {
            if lane < apart {
                let other = sums[lane + apart];
                if n < SUMS { sums[lane] = add_pairs(sums[lane], other); } else { sums[lane].x = max(sums[lane].x, other.x); }
            }
            workgroupBarrier();
        }
        if lane == 0 {
            if n < SUMS {
                by_row[ROW * k + 2 * n] = sums[0].x;
                by_row[ROW * k + 2 * n + 1] = sums[0].y;
            } else {
                by_row[ROW * k + SUMS + n] = sums[0].x;
            }
        }
        workgroupBarrier();
    }
}
