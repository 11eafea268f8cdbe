// uses "walls.wgsl"
// Twin of beyond in mod.rs.

@group(0) @binding(26) var<storage, read> pressure: array<f32>;

// What is farther beyond: what was found so far, or a wall that liquid has let go of beside a point.
fn farther(found: f32, lets_go: i32, beyond: f32, beside: vec3<f32>) -> f32 {
    if lets_go == 0 || beyond < -REACH_CELLS || beyond <= found { return found; }
    let i = clamp(round(beside.x), 0.0, f32(grid.nx - 1));
    let k = clamp(round(beside.z), 0.0, f32(grid.nz - 1));
    let at = locate(i32(i), i32(k), round(beside.y));
    let there = blend1(pressure[at.low], pressure[at.high], at.weight);
    if there >= 0.0 { return found; }
    let held = 1.0 - min(-there / walls.bears_pa, 1.0);
    return max(found, beyond - held * REACH_CELLS);
}

fn beyond_walls(p: vec3<f32>) -> f32 {
    let last_x = f32(grid.nx - 1);
    let last_z = f32(grid.nz - 1);
    let top = f32(walls.height - 1);
    var found = FAR_CELLS;
    found = farther(found, walls.x_low, -0.5 - p.x, vec3<f32>(0.0, p.y, p.z));
    found = farther(found, walls.x_high, p.x - last_x - 0.5, vec3<f32>(last_x, p.y, p.z));
    found = farther(found, walls.z_low, -0.5 - p.z, vec3<f32>(p.x, p.y, 0.0));
    found = farther(found, walls.z_high, p.z - last_z - 0.5, vec3<f32>(p.x, p.y, last_z));
    found = farther(found, walls.ceiling, p.y - top - 0.5, vec3<f32>(p.x, top, p.z));
    return found;
}
