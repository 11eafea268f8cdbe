//! The liquid that a scene begins with.

use fluvial_solids::Shape;
use fluvial_solver_interface::Setup;

/// A side of a box nearer to a wall than this, in finest cells, lies at it.
const AT_WALL_CELLS: f32 = 1e-2;

/// Boxes that end at a closed wall go on beyond it. There is no surface between liquid and the wall that it touches, but
/// the distance to a box is also one to its sides: the surface's cells at the wall would be fitted to those, rise by
/// 8 % of a cell, and still water would begin with a wave. Test: `a_box_of_still_water_between_walls_rests`.
pub(crate) fn continue_beyond_walls(setup: &mut Setup) {
    let (grid, open) = (setup.domain.grid, setup.open_walls());
    let bounds = grid.bounds();
    let beyond_m = bounds.size().length();
    for fill in &mut setup.fills {
        continue_shape(&mut fill.shape, &|side: usize, x: f32| {
            let (wall, out) = [(bounds.min, -1.0), (bounds.max, 1.0)][side % 2];
            let is_at_wall = out * (x - wall[side / 2]) > -AT_WALL_CELLS * grid.dx;
            if is_at_wall && !open[side] { x + out * beyond_m } else { x }
        });
    }
}

fn continue_shape(shape: &mut Shape, side: &impl Fn(usize, f32) -> f32) {
    match shape {
        Shape::Box { min, max } => {
            for axis in 0..3 {
                min[axis] = side(2 * axis, min[axis]);
                max[axis] = side(2 * axis + 1, max[axis]);
            }
        }
        Shape::Union(parts) => parts.iter_mut().for_each(|part| continue_shape(part, side)),
        _ => {}
    }
}
