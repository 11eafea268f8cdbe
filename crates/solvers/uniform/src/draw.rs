//! The level set drawn with all of its volume.

use crate::UniformSolver;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::cut::octants_below;
use fluvial_grids::{Lattice, TriangleMesh};
use fluvial_surface::{Bells, DrawnCell, Piece, Place, VolumeToFit, draw_volume, half_thickness_m};

/// Neighbourhoods of a cell and a little more.
const NEIGHBOURHOOD_SUMS: usize = 2;

impl UniformSolver {
    /// Fits a mesh of the level set `phi` to what its cells hold, and draws beside it what it knows nothing of.
    pub(crate) fn draw_all_volume(&self, mesh: &mut TriangleMesh, phi: &[f32]) {
        let (cells, dx) = (self.grid.cell_centers(), self.grid.dx);
        let fields = &self.state.fields;
        let solid = |x: Vec3| self.solid_distance(x);
        let mut lacking_cell = vec![0.0; phi.len()];
        cells.for_each_mut(&mut lacking_cell, |cell, at, lacking| {
            let (fraction, held) = (fields.fraction_cell[cell], fields.held(cell) as f32);
            let drawn = DrawnCell { dx, phi: phi[cell], fraction, held };
            let solid_m = || solid(cells.position(at[0], at[1], at[2]));
            *lacking = drawn.lacking_m3(solid_m, || drawn_share(phi, &cells, at));
        });
        let half_m: Vec<f32> = mesh.positions.iter().map(|&x| half_thickness_m(solid(x), dx)).collect();
        let wanted_m3 = self.state.volume.volume_m3;
        let drops = &self.state.drops;
        let flying = (0..drops.len()).map(|n| Piece::flying(drops.x[n], drops.v[n], drops.volume_m3[n], dx));
        let to = VolumeToFit {
            cells: &Bells { cells: &cells, sums: NEIGHBOURHOOD_SUMS },
            lacking_cell,
            wanted_m3,
        };
        draw_volume(mesh, &half_m, to, flying, |cell| {
            let [i, j, k] = cells.coordinates(cell);
            let mut center = cells.position(i, j, k);
            let depth_m = solid(center);
            if depth_m < 0.0 {
                center -= depth_m * self.solid_normal(center);
            }
            let velocity = self.grid.sample_velocity(&fields.u_face, center);
            Place { center, dx, wall: film_wall(phi, &cells, cell), velocity }
        });
    }

    /// Distance to solids, metres; far without any.
    pub(crate) fn solid_distance(&self, x: Vec3) -> f32 {
        if self.setup.solids.is_empty() {
            return f32::INFINITY;
        }
        self.grid.nodes().sample(&self.state.boundaries.solids.fields.phi_node, x)
    }

    fn solid_normal(&self, x: Vec3) -> Vec3 {
        self.grid.nodes().gradient(&self.state.boundaries.solids.fields.phi_node, x).normalize_or(Vec3::Y)
    }
}

/// The part of a cell that a mesh of samples at cell centres encloses: between them it interpolates, beyond the
/// outermost ones the surface goes on as it is there.
fn drawn_share(value_cell: &[f32], cells: &Lattice, at: [usize; 3]) -> f32 {
    let value = |d: [isize; 3]| {
        let [i, j, k] = std::array::from_fn(|a| at[a] as isize + d[a]);
        f64::from(value_cell[cells.index_clamped(i, j, k)])
    };
    // Means of the cells that meet at each point of the lattice of half the size.
    let points: [f64; 27] = std::array::from_fn(|n| {
        let step = [n % 3, n / 3 % 3, n / 9].map(|s| s as isize - 1);
        let corners = (0..8).map(|c| std::array::from_fn(|a| if c >> a & 1 == 1 { step[a] } else { 0 }));
        corners.map(value).sum::<f64>() / 8.0
    });
    octants_below(&points) as f32
}

/// The wall that a film in a cell with a dry centre lies on: where phi, continued to the wall, is deepest.
fn film_wall(phi: &[f32], cells: &Lattice, cell: usize) -> Option<(Axis, bool)> {
    let at = cells.coordinates(cell);
    let at_wall = |axis: Axis, high: bool| {
        let is_there = cells.size[axis] > 1 && at[axis] == if high { cells.size[axis] - 1 } else { 0 };
        let stride = cells.stride(axis);
        is_there.then(|| 1.5 * phi[cell] - 0.5 * phi[if high { cell - stride } else { cell + stride }])
    };
    let walls = (0..3).flat_map(|axis| [(axis, false), (axis, true)]);
    let wet = walls.filter_map(|(axis, high)| at_wall(axis, high).map(|value| (value, (axis, high))));
    let deepest = wet.min_by(|a, b| a.0.total_cmp(&b.0));
    deepest.filter(|(value, _)| phi[cell] >= 0.0 && *value < 0.0).map(|(_, wall)| wall)
}
