//! A look at a set-up before anything is computed: how much liquid and surface there will be, for
//! predictions.

use crate::Setup;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_grids::cut::cube_below_plane;
use std::cell::Cell;

/// A splash has more surface than the liquid at the start.
const SURFACE_GROWTH: f64 = 2.0;
/// Vertices of the surface mesh by area of a cell's face.
pub const VERTICES_PER_FACE: f64 = 1.25;
/// Blocks are not looked into below this part of the grid's longest side: counts need no more.
const FINEST_LOOK: usize = 128;

/// Liquid and surface at the start, in cells and cell faces of the finest grid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Survey {
    /// Liquid outside solids, with all of its surface.
    pub inside: Inside,
    /// The free surface: that of the fills where neither wall nor solid touches it.
    pub free_faces: f64,
    /// The part of it that stands upright: that liquid will fall.
    pub upright_faces: f64,
    /// The domain's floor where there are sources, which cover it in time; 0 without sources.
    pub flooded_faces: f64,
}

impl Survey {
    /// Looks at a set-up.
    pub fn of(setup: &Setup) -> Survey {
        let grid = &setup.domain.grid;
        let bounds = grid.bounds();
        let in_fill = |x: Vec3| setup.fill_distance(x);
        let in_solid = |x: Vec3| {
            let distances =
                setup.solids.iter().map(|s| s.shape.distance(s.motion.pose(0.0).body_from_world(x)));
            distances.fold(f32::INFINITY, f32::min)
        };
        let beyond_walls = |x: Vec3| (bounds.min - x).max(x - bounds.max).max_element();
        let bounded = |x: Vec3| in_fill(x).max(-in_solid(x)).max(beyond_walls(x));
        let margin = 0.25 * grid.dx;
        let normal = |x: Vec3| {
            let slope = |e: Vec3| in_fill(x + margin * e) - in_fill(x - margin * e);
            Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z)).normalize_or_zero()
        };
        let is_free = |x: Vec3, d: f32| {
            let foot = x - d * normal(x);
            beyond_walls(foot) < -margin && in_solid(foot) > margin
        };
        let down = setup.liquid.gravity.normalize_or_zero();
        let is_upright = |x: Vec3, d: f32| normal(x).dot(down).abs() < 0.9 && is_free(x, d);
        let floor = (grid.cells[0] * grid.cells[2]) as f64;
        Survey {
            inside: inside_cells(grid, &bounded),
            free_faces: surface_faces(grid, &in_fill, &is_free),
            upright_faces: surface_faces(grid, &in_fill, &is_upright),
            flooded_faces: if setup.sources.is_empty() { 0.0 } else { floor },
        }
    }

    /// Vertices of the largest surface mesh that is expected, on a grid of the finest cells.
    pub fn most_vertices(&self) -> f64 {
        SURFACE_GROWTH * VERTICES_PER_FACE * self.inside.surface_faces.max(2.0 * self.flooded_faces)
    }
}

impl Setup {
    /// What walls and solids leave room for at the start, m3; none where a wall is open.
    pub fn room_m3(&self) -> Option<f64> {
        if self.open_walls().contains(&true) {
            return None;
        }
        let (size, solids) = (self.domain.bounds().size().as_dvec3(), self.solids_at(0.0));
        // Whole distances: blocks far inside solids are then counted at once.
        let in_solids = |x: Vec3| solids.distance(x, f32::MAX);
        let filled_m3 = if solids.is_empty() { 0.0 } else { self.inside_m3(&in_solids) };
        Some(size.x * size.y * size.z - filled_m3)
    }

    /// Liquid of the fills outside solids, m3.
    pub fn filled_m3(&self) -> f64 {
        let solids = self.solids_at(0.0);
        self.inside_m3(&|x| self.fill_distance(x).max(-solids.distance(x, f32::MAX)))
    }

    /// Volume inside a shape and the domain, in blocks as small as a look ever is, which planes cut.
    fn inside_m3(&self, distance: &dyn Fn(Vec3) -> f32) -> f64 {
        let UniformGrid { min, cells, dx } = self.domain.grid;
        let parts = (FINEST_LOOK / cells.into_iter().max().unwrap_or(1)).max(1);
        let leaf_m = dx * finest_leaf(&self.domain.grid) as f32 / parts as f32;
        let size = Vec3::from_array(cells.map(|n| n as f32)) * dx;
        volume_in(min, size, 1.01 * leaf_m, distance)
    }
}

/// What lies inside a shape, in cells of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inside {
    /// Cells whose centre is inside.
    pub cells: f64,
    /// Area of its surface within the grid, in cell faces.
    pub surface_faces: f64,
}

/// Counts cells whose centre is inside (`distance < 0`, slope at most 1), looking only where the surface is.
pub fn inside_cells(grid: &UniformGrid, distance: &dyn Fn(Vec3) -> f32) -> Inside {
    let mut inside = Inside::default();
    let leaf = finest_leaf(grid);
    count(&mut inside, grid, [0; 3], grid.cells, leaf, distance, &|_, _| true);
    if inside.cells == 0.0 && leaf > 1 {
        // A shape that falls between the looks: look at single cells.
        count(&mut inside, grid, [0; 3], grid.cells, 1, distance, &|_, _| true);
    }
    inside
}

/// Area of the part of a shape's surface that `counts` says so, asked with a place near it and its distance.
fn surface_faces(
    grid: &UniformGrid,
    distance: &dyn Fn(Vec3) -> f32,
    counts: &dyn Fn(Vec3, f32) -> bool,
) -> f64 {
    let mut inside = Inside::default();
    count(&mut inside, grid, [0; 3], grid.cells, finest_leaf(grid), distance, counts);
    inside.surface_faces
}

/// Least thickness of a solid along the normals of its surface within the grid, at most a cell, metres; a cell where it is
/// nowhere thinner. Test: `walls_are_as_thin_as_they_are_and_edges_are_none`.
pub fn thinnest_wall_m(grid: &UniformGrid, distance: &dyn Fn(Vec3) -> f32) -> f32 {
    const LOOKS: usize = 16;
    let step_m = grid.dx / LOOKS as f32;
    let thinnest_m = Cell::new(grid.dx);
    let look = |x: Vec3, d: f32| {
        let slope = |e: Vec3| distance(x + 0.25 * step_m * e) - distance(x - 0.25 * step_m * e);
        let slope = Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z)) / (0.5 * step_m);
        // Between two faces that are equally near there is no normal.
        if (slope.length() - 1.0).abs() < 0.05 {
            let foot = x - d * slope.normalize();
            // Beside an edge of a difference the distance is that of a face's plane, and the foot lies off the solid.
            if distance(foot).abs() > 0.25 * step_m {
                return true;
            }
            let looks = (1..=LOOKS).map(|n| n as f32 * step_m);
            // Seen from behind the far face, that face is as far as it is behind.
            let far_face_m = |depth_m: f32| {
                let behind_m = distance(foot - depth_m * slope.normalize());
                (behind_m > 0.0).then_some(depth_m - behind_m)
            };
            let thickness_m = looks.filter_map(far_face_m).next().unwrap_or(grid.dx);
            thinnest_m.set(thinnest_m.get().min(thickness_m));
        }
        true
    };
    surface_faces(grid, distance, &look);
    thinnest_m.get()
}

/// Volume of a box that is inside a shape (`distance < 0`, slope at most 1). Blocks no longer than `leaf_m` are cut by the plane that the distance has
/// at their centre.
fn volume_in(min: Vec3, size: Vec3, leaf_m: f32, distance: &dyn Fn(Vec3) -> f32) -> f64 {
    let (center, all_m3) = (min + 0.5 * size, size.as_dvec3().element_product());
    let (d, radius) = (distance(center), 0.5 * size.length());
    if d.abs() >= radius {
        return if d < 0.0 { all_m3 } else { 0.0 };
    }
    let longest = AXES.into_iter().max_by(|a, b| size[*a].total_cmp(&size[*b])).unwrap_or(0);
    if size[longest] > leaf_m {
        let mut half = size;
        half[longest] *= 0.5;
        let mut second = min;
        second[longest] += half[longest];
        return volume_in(min, half, leaf_m, distance) + volume_in(second, half, leaf_m, distance);
    }
    let slope = AXES.map(|axis| {
        let way = 0.25 * size[axis] * Vec3::AXES[axis];
        2.0 * f64::from(distance(center + way) - distance(center - way))
    });
    all_m3 * cube_below_plane(f64::from(d), slope)
}

fn finest_leaf(grid: &UniformGrid) -> usize {
    grid.cells.into_iter().max().unwrap_or(1).div_ceil(FINEST_LOOK)
}

fn count(
    inside: &mut Inside,
    grid: &UniformGrid,
    lo: [usize; 3],
    hi: [usize; 3],
    leaf: usize,
    distance: &dyn Fn(Vec3) -> f32,
    counts: &dyn Fn(Vec3, f32) -> bool,
) {
    let centers = grid.cell_centers();
    let low = centers.position(lo[0], lo[1], lo[2]);
    let high = centers.position(hi[0] - 1, hi[1] - 1, hi[2] - 1);
    let center = 0.5 * (low + high);
    let d = distance(center);
    let size: [usize; 3] = std::array::from_fn(|a| hi[a] - lo[a]);
    let cells = size.iter().product::<usize>() as f64;
    let radius = 0.5 * low.distance(high) + 0.5 * grid.dx;
    if d > radius {
        return;
    }
    if d < -radius {
        inside.cells += cells;
        return;
    }
    let longest = AXES.into_iter().max_by_key(|&a| size[a]).unwrap_or(0);
    if size[longest] > leaf {
        let middle = lo[longest] + size[longest] / 2;
        let (mut first_hi, mut second_lo) = (hi, lo);
        (first_hi[longest], second_lo[longest]) = (middle, middle);
        count(inside, grid, lo, first_hi, leaf, distance, counts);
        count(inside, grid, second_lo, hi, leaf, distance, counts);
        return;
    }
    if d < 0.0 {
        inside.cells += cells;
    }
    // The area is the volume of a shell `leaf` cells thick, over its thickness.
    if d.abs() <= 0.501 * leaf as f32 * grid.dx && counts(center, d) {
        inside.surface_faces += cells / leaf as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_is_counted_within_a_few_percent_at_any_resolution() {
        for n in [32usize, 100, 400] {
            let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
            let ball = |x: Vec3| x.distance(Vec3::splat(0.5)) - 0.3;
            let inside = inside_cells(&grid, &ball);
            let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.027 * (n as f64).powi(3);
            let area = 4.0 * std::f64::consts::PI * 0.09 * (n as f64).powi(2);
            assert!((inside.cells / volume - 1.0).abs() < 0.02, "{n}: {} {volume}", inside.cells);
            assert!((inside.surface_faces / area - 1.0).abs() < 0.1, "{n}: {} {area}", inside.surface_faces);
        }
    }

    #[test]
    fn volumes_between_the_cells_are_exact() {
        let ball = |x: Vec3| x.distance(Vec3::new(0.48, 0.53, 0.51)) - 0.3;
        let volume = volume_in(Vec3::ZERO, Vec3::ONE, 1.0 / 64.0, &ball);
        assert!((volume / (4.0 / 3.0 * std::f64::consts::PI * 0.027) - 1.0).abs() < 1e-3, "{volume}");
        let slab = |x: Vec3| (x.y - 0.41).abs() - 0.0147;
        let volume = volume_in(Vec3::ZERO, Vec3::ONE, 1.0 / 64.0, &slab);
        assert!((volume / 0.0294 - 1.0).abs() < 1e-3, "{volume}");
    }

    #[test]
    fn a_drop_smaller_than_the_look_is_found() {
        let n = 1000usize;
        let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1e-3 };
        let drop = |x: Vec3| x.distance(Vec3::new(0.3005, 0.5005, 0.7005)) - 0.8e-3;
        assert_eq!(inside_cells(&grid, &drop).cells, 1.0);
    }

    #[test]
    fn walls_are_as_thin_as_they_are_and_edges_are_none() {
        for n in [20usize, 200] {
            let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
            let in_box = |x: Vec3, half: f32| {
                let q = (x - Vec3::new(0.51, 0.52, 0.47)).abs() - half;
                q.max(Vec3::ZERO).length() + q.max_element().min(0.0)
            };
            assert_eq!(thinnest_wall_m(&grid, &|x| in_box(x, 0.31)), grid.dx, "a block of {n} cells");
            for cells in [0.25f32, 0.7, 1.3] {
                let bowl = |x: Vec3| in_box(x, 0.31).max(-in_box(x, 0.31 - cells * grid.dx));
                let (found, thick) = (thinnest_wall_m(&grid, &bowl) / grid.dx, cells.min(1.0));
                assert!((found - thick).abs() < 0.1, "a wall of {cells} cells of {n}: {found}");
            }
        }
        // A floor of two cells with a round hole.
        let grid = UniformGrid { min: Vec3::ZERO, cells: [20; 3], dx: 0.025 };
        let slab = |x: Vec3| (x.y - 0.175).abs() - 0.025;
        let hole = |x: Vec3| Vec3::new(x.x - 0.25, 0.0, x.z - 0.25).length() - 0.06;
        assert_eq!(thinnest_wall_m(&grid, &|x| slab(x).max(-hole(x))), grid.dx);
    }
}
