// uses "../columns.wgsl"
// Twin of Open in mod.rs: what solids leave open.

@group(0) @binding(6) var<storage, read> open_cell: array<f32>;
@group(0) @binding(7) var<storage, read> open_tall: array<f32>;

// Mean open part of a tall cell's sub-cells between its ends.
fn open_inside(i: i32, k: i32) -> f32 {
    let ends = open_cell[index_of(i, 0, k)] + open_cell[index_of(i, 1, k)];
    return (open_tall[i + grid.nx * k] - ends) / f32(max(column_of(i, k).y - 2, 1));
}

fn open_part(i: i32, k: i32, y: i32) -> f32 {
    let c = column_of(i, k);
    let row = y - c.x - c.y + 2;
    if y < c.x { return 0.0; }
    if y == c.x { return open_cell[index_of(i, 0, k)]; }
    if row < 1 { return open_inside(i, k); }
    if row >= row_count() { return 1.0; }
    return open_cell[index_of(i, row, k)];
}
