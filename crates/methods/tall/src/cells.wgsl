// uses "columns.wgsl"
// Twin of CellList in exchange/mod.rs: values of some cells, by column.

@group(0) @binding(20) var<storage, read> list_first: array<u32>;
// y and value, lowest first.
@group(0) @binding(21) var<storage, read> list_cells: array<vec2<f32>>;
@group(0) @binding(22) var<storage, read> list_u: array<vec4<f32>>;

// The entry of cell y of a column, or -1.
fn find_cell(column: i32, y: i32) -> i32 {
    var low = i32(list_first[column]);
    let end = i32(list_first[column + 1]);
    var high = end;
    while low < high {
        let middle = (low + high) / 2;
        if list_cells[middle].x < f32(y) { low = middle + 1; } else { high = middle; }
    }
    if low < end && list_cells[low].x == f32(y) { return low; }
    return -1;
}
