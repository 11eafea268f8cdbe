//! Fills that end at the domain's walls go on beyond them.

use crate::fill_distance::CONTACT_CELLS;
use crate::{Setup, Wall};
use fluvial_solids::Shape;

/// Shapes with faces at closed walls, as if the walls were not there.
struct PastWalls {
    /// Where a wall is closed, lower or higher faces of shapes from here on out touch it, metres...
    touches: [[Option<f32>; 3]; 2],
    /// ...and are moved here.
    far: [[f32; 3]; 2],
}

impl Setup {
    /// Moves those faces of fills outwards that lie at a closed wall of the domain: no surface is there, and what is beyond walls is of
    /// no interest. A box of water that ends at the walls is so the same as one that is larger than the domain: distances to its surface are exact also
    /// where a solid passes through the wall beside the surface, where a search for the surface that is seen from there can only be good.
    /// Test: `a_pool_that_ends_at_the_walls_is_one_that_goes_on_beyond`.
    pub(crate) fn with_fills_past_walls(mut self) -> Setup {
        let (bounds, contact) = (self.domain.bounds(), CONTACT_CELLS * self.domain.grid.dx);
        let (min, max) = (bounds.min.to_array(), bounds.max.to_array());
        let is_closed = |axis: usize, up: usize| self.domain.walls[2 * axis + up] != Wall::Open;
        let size = (bounds.max - bounds.min).max_element();
        let walls = PastWalls {
            touches: [
                std::array::from_fn(|a| is_closed(a, 0).then_some(min[a] + contact)),
                std::array::from_fn(|a| is_closed(a, 1).then_some(max[a] - contact)),
            ],
            far: [min.map(|x| x - size), max.map(|x| x + size)],
        };
        self.fills.iter_mut().for_each(|fill| walls.extend(&mut fill.shape));
        self
    }
}

impl PastWalls {
    fn extend(&self, shape: &mut Shape) {
        match shape {
            Shape::Box { min, max } => {
                for a in 0..3 {
                    if self.touches[0][a].is_some_and(|touches| min[a] <= touches) {
                        min[a] = min[a].min(self.far[0][a]);
                    }
                    if self.touches[1][a].is_some_and(|touches| max[a] >= touches) {
                        max[a] = max[a].max(self.far[1][a]);
                    }
                }
            }
            Shape::Union(parts) | Shape::Intersection(parts) => {
                parts.iter_mut().for_each(|part| self.extend(part));
            }
            Shape::Difference(whole, less) => [whole, less].into_iter().for_each(|part| self.extend(part)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Domain, Fill, Setup, Solid};
    use fluvial_foundation::{Quat, Vec3};
    use fluvial_grids::UniformGrid;
    use fluvial_solids::{Motion, Shape};

    /// A slanted plate that passes through walls pierces the level of a pool: nearer to the walls than to the level, distances are those from
    /// the level. They were half a cell, the distance to the wall. Where the plate hides the level there is liquid below it and air above it.
    #[test]
    fn a_pool_that_ends_at_the_walls_is_one_that_goes_on_beyond() {
        let (dx, level) = (1.0f32 / 30.0, 0.37f32);
        for [about_x, about_y, about_z] in [[0.0f32, 0.0, 25.0], [20.0, 30.0, 25.0]] {
            let mut setup =
                Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [30, 24, 21], dx }));
            let pool = Shape::Box { min: Vec3::ZERO, max: Vec3::new(1.0, level, 0.7) };
            setup.fills = vec![Fill { shape: pool, velocity: Vec3::ZERO }];
            let half = Vec3::new(0.2, 0.04, 0.5);
            let plate = Shape::Transform {
                shape: Box::new(Shape::Box { min: -half, max: half }),
                scale: 1.0,
                rotation: Quat::from_rotation_z(about_z.to_radians())
                    * Quat::from_rotation_y(about_y.to_radians())
                    * Quat::from_rotation_x(about_x.to_radians()),
                translate: Vec3::new(0.75, 0.3, 0.4),
            };
            setup.solids = vec![Solid::new("plate", plate, Motion::Static)];
            let setup = setup.with_fills_past_walls();
            let solids = setup.solids_at(0.0);
            for n in 0..30 * 24 * 21 {
                let at = [n % 30, n / 30 % 24, n / 720].map(|c| c as f32 + 0.5);
                let x = dx * Vec3::from_array(at);
                let (to_level, open) = (x.y - level, solids.distance(x, dx));
                if to_level.abs() > 3.0 * dx || open < -dx {
                    continue;
                }
                let phi = setup.fill_distance_beside(&solids, x, dx, None);
                let is_hidden = to_level < -0.5 * dx && phi < to_level && open < 1.5 * dx;
                assert!(is_hidden || (phi - to_level).abs() < 1e-3 * dx, "at {at:?}: {phi} for {to_level}");
            }
        }
    }
}
