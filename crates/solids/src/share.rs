//! How much of a cube lies inside a shape.

use crate::{Shape, is_plane, open_cell_volume};
use fluvial_foundation::Vec3;

/// A cube in which a shape is not one plane is divided into eight, and each of them again, down to this part of a cell.
const SMALLEST_PART: f32 = 0.126;
/// A shape that deviates from a plane by more than this part of a cube is divided.
const BENT: f32 = 0.01;

impl Shape {
    /// Part of an axis-aligned cube with its centre at `center` that lies inside the shape, 0 to 1. Edges, corners and shapes
    /// thinner than the cube count for what they are, with the accuracy that cubes of `cell_m` have:
    /// `shares_of_cubes_add_up_to_the_volume`.
    pub fn share_of_cube(&self, center: Vec3, edge_m: f32, cell_m: f32) -> f32 {
        let distance = self.distance(center);
        if distance.abs() >= 0.5 * 3f32.sqrt() * edge_m {
            return if distance < 0.0 { 1.0 } else { 0.0 };
        }
        if edge_m <= SMALLEST_PART * cell_m {
            return (0.5 - distance / edge_m).clamp(0.0, 1.0);
        }
        let toward = |corner: usize| -> Vec3 {
            Vec3::from_array(std::array::from_fn(|axis| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 }))
        };
        let phi = std::array::from_fn(|n| self.distance(center + 0.5 * edge_m * toward(n)));
        // Where the shape is curved, its distance in the middle is not the mean of those at the corners.
        let is_bent = (phi.iter().sum::<f32>() / 8.0 - distance).abs() > BENT * edge_m;
        if edge_m < 1.001 * cell_m && !is_bent && is_plane(&phi, edge_m) {
            return 1.0 - open_cell_volume(phi);
        }
        let part = |n| self.share_of_cube(center + 0.25 * edge_m * toward(n), 0.5 * edge_m, cell_m);
        (0..8).map(part).sum::<f32>() / 8.0
    }
}
