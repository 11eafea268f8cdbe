//! Which of the solids that move a face belongs to, and how fast it is.

use crate::rasterize::is_inside_or_open;
use crate::{BAND_CELLS, SolidFields, Twist};
use fluvial_foundation::{AXES, Axis, parallel};
use fluvial_grids::{Lattice, UniformGrid};

impl SolidFields {
    /// Which of the solids that move lies nearest to a face, and less than [`BAND_CELLS`] from it; numbered among those
    /// that move. None at closed walls of the domain, which no solid carries along.
    pub fn mover(&self, grid: &UniformGrid, axis: Axis, at: [usize; 3]) -> Option<usize> {
        let (_, walls, _) = self.key?;
        is_inside_or_open(grid, walls, axis, at)
            .then(|| self.nearest_mover(&grid.nodes(), axis, at))
            .flatten()
    }

    fn nearest_mover(&self, nodes: &Lattice, axis: Axis, [i, j, k]: [usize; 3]) -> Option<usize> {
        let node = nodes.index(i, j, k);
        let (s, t) = (nodes.stride((axis + 1) % 3), nodes.stride((axis + 2) % 3));
        let corner = [node, node + s, node + t, node + s + t];
        let phi = corner.map(|n| self.phi_node[n]);
        let nearest = (0..4).fold(0, |best, c| if phi[c] < phi[best] { c } else { best });
        let owner = self.owner_node[corner[nearest]] as usize;
        (owner > 0 && phi[nearest] < BAND_CELLS * nodes.spacing).then(|| owner - 1)
    }

    /// Gives the moving solids other velocities, in the order of those that move, at the places where they are.
    pub fn set_twists(&mut self, grid: &UniformGrid, twists: &[Twist]) {
        for (state, twist) in self.moving_state.iter_mut().zip(twists) {
            state.1 = *twist;
        }
        let Some(region) = self.moving_region else { return };
        let mut u_solid = std::mem::take(&mut self.u_solid);
        for axis in AXES {
            let faces = grid.faces(axis);
            let range = region.touching(faces.size, std::array::from_fn(|a| a != axis));
            parallel::for_each_chunk_mut(&mut u_solid[axis], faces.slab(), |k, slab| {
                let rows =
                    if (range.lo[2]..range.hi[2]).contains(&k) { range.lo[1]..range.hi[1] } else { 0..0 };
                for (j, i) in rows.flat_map(|j| (range.lo[0]..range.hi[0]).map(move |i| (j, i))) {
                    if let Some(n) = self.mover(grid, axis, [i, j, k]) {
                        slab[i + faces.size[0] * j] = twists[n].at(faces.position(i, j, k))[axis];
                    }
                }
            });
        }
        self.u_solid = u_solid;
    }
}
