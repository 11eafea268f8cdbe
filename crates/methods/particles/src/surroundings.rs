//! Where particles may be: the box, its walls, the solids in it.

use fluvial_grids::{FaceField, Sides, UniformGrid};

/// What bounds the particles.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The grid that they move on, and the box that it fills.
    pub grid: &'a UniformGrid,
    /// Distance from solids at the grid's nodes, metres, negative inside; empty where there is none.
    pub phi_solid_node: &'a [f32],
    /// Sides of thin solids.
    pub sides: &'a Sides,
    /// Walls that particles pass: x_min, x_max, y_min, y_max, z_min, z_max.
    pub open_walls: [bool; 6],
    /// Speed of the fastest solid, m/s.
    pub solid_speed_m_s: f32,
    /// Velocity that the flow itself moves with beside solids that move, m/s; none where it is frozen during a step.
    pub drift_face: Option<&'a FaceField>,
}

impl<'a> Surroundings<'a> {
    /// A closed box without solids.
    pub fn closed(grid: &'a UniformGrid) -> Self {
        let (phi_solid_node, sides) = (&[][..], Sides::NONE);
        Surroundings {
            grid,
            phi_solid_node,
            sides,
            open_walls: [false; 6],
            solid_speed_m_s: 0.0,
            drift_face: None,
        }
    }

    /// Is there no solid?
    pub(crate) fn is_free(&self) -> bool {
        self.phi_solid_node.is_empty()
    }

    /// Distance of a cell's centre from solids: the mean of its corners.
    pub(crate) fn solid_distance(&self, cell: usize) -> f32 {
        let nodes = self.grid.nodes();
        let [i, j, k] = self.grid.cell_centers().coordinates(cell);
        0.125 * nodes.corner_values(self.phi_solid_node, nodes.index(i, j, k)).iter().sum::<f32>()
    }
}
