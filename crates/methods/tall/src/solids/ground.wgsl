// uses "../columns.wgsl"
// uses "../cells.wgsl"
// Twin of place in mod.rs; one invocation a column. The list has the solids that move.

struct Params { height: i32, above: f32, pad0: i32, pad1: i32 }
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> first: array<u32>;
// y and solid part.
@group(0) @binding(6) var<storage, read> cells: array<vec2<f32>>;
@group(0) @binding(7) var<storage, read_write> fraction: array<f32>;
@group(0) @binding(8) var<storage, read_write> open_cell: array<f32>;
@group(0) @binding(9) var<storage, read_write> open_tall: array<f32>;
@group(0) @binding(10) var<storage, read_write> u_solid: array<vec4<f32>>;

fn resting_part(column: i32, y: i32) -> f32 {
    if y >= params.height { return params.above; }
    for (var n = first[column]; n < first[column + 1]; n += 1u) {
        if cells[n].x == f32(y) { return cells[n].y; }
    }
    return 0.0;
}

fn solid_part(column: i32, y: i32) -> f32 {
    let resting = resting_part(column, y);
    let entry = find_cell(column, y);
    if entry < 0 { return resting; }
    return min(resting + list_cells[entry].y, 1.0);
}

@compute @workgroup_size(8, 8)
fn place(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let k = i32(id.y);
    if i >= grid.nx || k >= grid.nz { return; }
    let column = i + grid.nx * k;
    for (var j = 0; j < row_count(); j += 1) {
        let part = solid_part(column, y_of(i, j, k));
        fraction[index_of(i, j, k)] = part;
        open_cell[index_of(i, j, k)] = 1.0 - part;
    }
    let c = columns[column];
    let is_clear = first[column] == first[column + 1] && list_first[column] == list_first[column + 1]
        && c.x + c.y <= params.height;
    let n = f32(c.y);
    let middle = 0.5 * (n - 1.0);
    var open = 0.0;
    var sum = 0.0;
    var moment = 0.0;
    if is_clear {
        open = n;
    } else {
        for (var t = 0; t < c.y; t += 1) {
            let part = solid_part(column, c.x + t);
            open += 1.0 - part;
            if t > 0 {
                sum += part;
                moment += (f32(t) - middle) * part;
            }
        }
    }
    open_tall[column] = open;
    if c.y > 2 {
        let rise = 6.0 / (n * (n + 1.0));
        let mean = 1.0 / n * sum;
        fraction[index_of(i, 0, k)] = clamp(mean + -rise * moment, 0.0, 1.0);
        fraction[index_of(i, 1, k)] = clamp(mean + rise * moment, 0.0, 1.0);
    }
    for (var j = 0; j < row_count(); j += 1) {
        let at = index_of(i, j, k);
        u_solid[at] = vec4<f32>(0.0);
        if fraction[at] > 0.0 {
            let entry = find_cell(column, y_of(i, j, k));
            if entry >= 0 { u_solid[at] = list_u[entry]; }
        }
    }
}
