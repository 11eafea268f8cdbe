// uses "../columns.wgsl"
// Twin of mod.rs: walls of the domain that liquid lets go of.

struct Walls { x_low: i32, x_high: i32, z_low: i32, z_high: i32, ceiling: i32, height: i32, bears_pa: f32, pad: i32 }
@group(0) @binding(25) var<uniform> walls: Walls;

const REACH_CELLS: f32 = 5.0;
const FAR_CELLS: f32 = -1e6;

// How far below the air's the pressure of a sample may be, Pa; 0 where nothing bounds it.
fn bears(s: Sample) -> f32 {
    let touches = (s.i == 0 && walls.x_low == 1) || (s.i + 1 == grid.nx && walls.x_high == 1)
        || (s.k == 0 && walls.z_low == 1) || (s.k + 1 == grid.nz && walls.z_high == 1)
        || (s.y + 1 == walls.height && walls.ceiling == 1);
    return select(0.0, walls.bears_pa, touches);
}
