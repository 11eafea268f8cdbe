//! The level set drawn with all of its volume, as in `uniform`.

use crate::OctreeSolver;
use crate::state::Fields;
use fluvial_foundation::{AXES, Aabb, Axis, Vec3, parallel};
use fluvial_grids::cut::octants_below;
use fluvial_grids::{Octree, TriangleMesh};
use fluvial_octree::contour::{SolidClip, contour, contour_outside};
use fluvial_octree::interpolate::{Interpolation, Sampler};
use fluvial_octree::settle::Around;
use fluvial_surface::{DrawnCell, Neighbourhoods, Piece, Place, VolumeToFit, draw_volume, half_thickness_m};

/// The tree's cells, and those around each.
struct TreeCells<'a>(Around<'a>);

impl Neighbourhoods for TreeCells<'_> {
    fn cell_at(&self, x: Vec3) -> usize {
        self.0.tree.locate(x).cell as usize
    }

    fn spread(&self, value_cell: &mut Vec<f32>) {
        self.0.spread(value_cell);
    }

    fn sample(&self, value_cell: &[f32], x: Vec3) -> f32 {
        value_cell[self.cell_at(x)]
    }

    fn domain(&self) -> (Aabb, f32) {
        (self.0.tree.shape().bounds(), self.0.tree.shape().dx)
    }
}

impl OctreeSolver {
    /// The mesh of the level set outside the solids.
    pub(crate) fn contour(&self) -> TriangleMesh {
        let Fields { tree, phi_cell, .. } = &self.state.fields;
        if !self.model.has_solids() {
            return contour(tree, phi_cell);
        }
        let (solids, reach_m) = (
            self.model.setup.solids_at(self.state.time_s),
            2.0 * self.model.shape.dx_of(self.model.shape.levels - 1),
        );
        let distance = |x| solids.distance(x, reach_m);
        let solid = SolidClip { distance_cell: &self.state.boundaries.phi_solid_cell, distance: &distance };
        contour_outside(tree, phi_cell, &solid)
    }

    /// Fits a mesh of the level set to what its cells hold, and draws beside it what it knows nothing of.
    pub(crate) fn draw_all_volume(&self, mesh: &mut TriangleMesh) {
        let Fields { tree, phi_cell: phi, fraction_cell, residual_cell, u_face, .. } = &self.state.fields;
        let distance_cell = &self.state.boundaries.phi_solid_cell;
        let lacking_cell = parallel::map_indices(phi.len(), |cell| {
            let (fraction, held) = (fraction_cell[cell], fraction_cell[cell] + residual_cell[cell]);
            let drawn = DrawnCell { dx: tree.cell_dx(cell), phi: phi[cell], fraction, held };
            let solid_m = || distance_cell.get(cell).copied().unwrap_or(f32::INFINITY);
            drawn.lacking_m3(solid_m, || drawn_share(tree, phi, cell))
        });
        let cells = TreeCells(Around { tree, sides: self.state.boundaries.sides() });
        let placed = self.model.setup.solids_at(self.state.time_s);
        let solid = |x: Vec3, dx: f32| if placed.is_empty() { dx } else { placed.distance(x, dx) };
        let half_m: Vec<f32> = mesh
            .positions
            .iter()
            .map(|&x| {
                let dx = tree.cell_dx(cells.cell_at(x));
                half_thickness_m(solid(x, dx), dx)
            })
            .collect();
        let wanted_m3 = self.state.volume.volume_m3;
        let (drops, dx) = (&self.state.drops, tree.shape().dx);
        let flying = (0..drops.len()).map(|n| Piece::flying(drops.x[n], drops.v[n], drops.volume_m3[n], dx));
        let sampler = self.model.sampler(tree);
        let to = VolumeToFit { cells: &cells, lacking_cell, wanted_m3 };
        draw_volume(mesh, &half_m, to, flying, |cell| {
            let (mut center, dx) = (tree.cell_center(cell), tree.cell_dx(cell));
            let depth_m = solid(center, dx);
            if depth_m < 0.0 {
                let side =
                    |axis: Vec3| solid(center + 0.1 * dx * axis, dx) - solid(center - 0.1 * dx * axis, dx);
                let out = Vec3::new(side(Vec3::X), side(Vec3::Y), side(Vec3::Z)).normalize_or(Vec3::Y);
                center -= depth_m * out;
            }
            let velocity = sampler.velocity(u_face, center);
            Place { center, dx, wall: film_wall(tree, phi, cell), velocity }
        });
    }
}

/// The part of a cell that a mesh of samples at cell centres encloses: between them it interpolates, beyond the
/// outermost ones the surface goes on as it is there.
fn drawn_share(tree: &Octree, value_cell: &[f32], cell: usize) -> f32 {
    let (x, dx, here) = (tree.cell_center(cell), tree.cell_dx(cell), value_cell[cell]);
    if here.abs() > 1.8 * dx {
        return (here < 0.0) as u8 as f32;
    }
    let bounds = tree.shape().bounds();
    let sampler = Sampler::new(tree, Interpolation::Mls);
    let points: [f64; 27] = std::array::from_fn(|n| {
        if n == 13 {
            return f64::from(here);
        }
        let mut at =
            x + 0.5 * dx * Vec3::new((n % 3) as f32 - 1.0, (n / 3 % 3) as f32 - 1.0, (n / 9) as f32 - 1.0);
        for axis in AXES {
            if at[axis] <= bounds.min[axis] || at[axis] >= bounds.max[axis] {
                at[axis] = x[axis];
            }
        }
        f64::from(sampler.cells(value_cell, at))
    });
    octants_below(&points) as f32
}

/// The wall that a film in a cell with a dry centre lies on: where phi, continued to the wall, is deepest.
fn film_wall(tree: &Octree, phi: &[f32], cell: usize) -> Option<(Axis, bool)> {
    let (x, dx, bounds) = (tree.cell_center(cell), tree.cell_dx(cell), tree.shape().bounds());
    let sampler = Sampler::new(tree, Interpolation::Mls);
    let walls = (0..3).flat_map(|axis| [(axis, false), (axis, true)]);
    let at_wall = |(axis, high): (Axis, bool)| {
        let mut at = x;
        at[axis] = if high { bounds.max[axis] } else { bounds.min[axis] };
        ((at[axis] - x[axis]).abs() < 0.6 * dx).then(|| (sampler.cells(phi, at), (axis, high)))
    };
    let deepest = walls.filter_map(at_wall).min_by(|a, b| a.0.total_cmp(&b.0));
    deepest.filter(|(value, _)| phi[cell] >= 0.0 && *value < 0.0).map(|(_, wall)| wall)
}
