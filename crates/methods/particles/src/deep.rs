//! Where the liquid of deep cells, which no particle holds, is after a step.

use crate::velocity::VelocitySampler;
use crate::{CellRanges, Reserve};
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};

/// Nearer to the surface than this no liquid comes from deep cells, in cells.
const LEAST_DEPTH_IN_CELLS: f32 = 0.5;

/// Finds the octants of every cell (a bit each, x fastest) whose liquid was in a deep cell before the step: those whose centre, traced
/// back along `u_face` by the midpoint rule, lies in one.
///
/// Deep cells are full and hold no particles; particles flow into them at one side, and at the other their liquid flows into
/// cells that particles leave. Counts of particles alone say that the first are crowded and the second empty, by what
/// flows across a cell in a step. `phi_cell` is the surface after the step, and `ranges` describe the particles that have moved.
/// Test: `liquid_from_deep_cells_is_found_where_the_flow_takes_it`.
pub fn find_liquid_from_deep(
    from_deep_cell: &mut Vec<u8>,
    reserve: &Reserve,
    phi_cell: &[f32],
    ranges: &CellRanges,
    u_face: &FaceField,
    grid: &UniformGrid,
    dt_s: f32,
) {
    let (cells, dx) = (grid.cell_centers(), grid.dx);
    let velocity = VelocitySampler::new(u_face, grid);
    let u = |x: Vec3| velocity.velocity_and_gradient(&velocity.place(x)).0;
    let before = |x: Vec3| x - dt_s * u(x - 0.5 * dt_s * u(x));
    let was_deep = |x: Vec3| {
        let at = ((x - grid.min) / dx).floor();
        reserve.deep_cell[cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)] != 0
    };
    let octant = |o: usize| Vec3::new((o & 1) as f32, (o >> 1 & 1) as f32, (o >> 2) as f32) - 0.5;
    from_deep_cell.resize(cells.len(), 0);
    cells.for_each_mut(from_deep_cell, |cell, [i, j, k], octants| {
        if reserve.deep_cell[cell] != 0 && ranges.count(cell) == 0 {
            *octants = u8::MAX;
            return;
        }
        *octants = 0;
        if phi_cell[cell] > -LEAST_DEPTH_IN_CELLS * dx {
            return;
        }
        // All cells around the place that the centre comes from are alike in most cells.
        let center = cells.position(i, j, k);
        let middle = before(center);
        match (0..8).filter(|&o| was_deep(middle + dx * octant(o))).count() {
            0 => {}
            8 => *octants = u8::MAX,
            _ => {
                for o in (0..8).filter(|&o| was_deep(before(center + 0.5 * dx * octant(o)))) {
                    *octants |= 1 << o;
                }
            }
        }
    });
}
