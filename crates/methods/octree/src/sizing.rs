//! Where cells should be small: the sizing function, its decay and spreading, and trees built from it [octree
//! §6].
//!
//! A size `S` in 1/m asks for cells no larger than `1/S`. It is evaluated at the surface of the present tree,
//! kept alive for a while as it moves along ([`SizingParams::decay`], [`keep`]), spread to the cells around
//! ([`spread`]), and read off where the next tree is built ([`SizingParams::divides`], [`build`]).

use crate::gradient::gradient_row;
use crate::interpolate::{Interpolation, Sampler};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::{Shape, Side};

/// A cell's half diagonal, in edges.
const HALF_DIAGONAL: f32 = 0.866_025_4;

/// Weights and rates of the sizing function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizingParams {
    /// Weight of curvature of liquid and solid, `gamma_phi`.
    pub curvature_weight: f32,
    /// Weight of stretching, `gamma_u`, s/m; 3 suits speeds of the order of 1 m/s.
    pub velocity_weight_s_m: f32,
    /// What is left of a size, `T_1`, after `decay_time_s`.
    pub decay: f32,
    /// `T_2`, seconds.
    pub decay_time_s: f32,
    /// Rounds of [`spread`].
    pub sweeps: usize,
    /// `alpha`: 1 is fully adaptive, 0 uniformly fine near the surface.
    pub strength: f32,
    /// No cell is divided into smaller ones than this, metres; 0 for no such bound.
    pub smallest_dx: f32,
}

impl Default for SizingParams {
    fn default() -> Self {
        SizingParams {
            curvature_weight: 4.0,
            velocity_weight_s_m: 3.0,
            decay: 0.9,
            decay_time_s: 0.01,
            sweeps: 5,
            strength: 1.0,
            smallest_dx: 0.0,
        }
    }
}

impl SizingParams {
    /// `R(dt) = T_1^(dt / T_2)`: what is left of a size after a time [octree eq. 36].
    pub fn remaining(&self, dt_s: f32) -> f32 {
        self.decay.powf(dt_s / self.decay_time_s)
    }

    /// The size that a cell counts with when its division is decided,
    /// `2^(ln(dx / dx_0) / ln(1 + alpha)) dx_0` [octree eq. 38]: its own for alpha 1, larger the smaller
    /// alpha.
    pub fn pseudo_dx(&self, dx: f32, finest_dx: f32) -> f32 {
        if dx <= finest_dx {
            return finest_dx;
        }
        // Zero strength divides by zero: everything wants to be finest.
        (((dx / finest_dx).ln() / (1.0 + self.strength).ln()).exp2() * finest_dx).min(f32::MAX)
    }

    /// Must a cell be divided, given phi and S at its centre [octree §6.3]?
    pub fn divides(&self, dx: f32, finest_dx: f32, phi: f32, size_1_m: f32) -> bool {
        let allowed = 0.5001 * dx >= self.smallest_dx;
        // The limit of small alpha, where any size at all would do: along the surface cells are as small as
        // they may be.
        if self.strength == 0.0 {
            return allowed && phi.abs() < dx;
        }
        let dx = self.pseudo_dx(dx, finest_dx);
        allowed && phi.abs() < dx && size_1_m * dx > 1.0
    }
}

/// What the sizing function looks at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// Liquid level set at cell centres.
    pub phi_cell: &'a [f32],
    /// Solids' signed distance at cell centres, if there are any.
    pub phi_solid_cell: Option<&'a [f32]>,
    /// Velocity at faces, m/s.
    pub u_face: &'a [f32],
}

/// Cells deeper in a solid than this, in their own size, ask for nothing.
const DEEP_IN_SOLID_CELLS: f32 = 2.0;

/// `S = gamma_phi |lap(phi + phi_solid)| + gamma_u sqrt(sum_i (du_i/dx_i)^2)` at cells beside the surface,
/// zero elsewhere [octree eq. 39]. The Laplacian sums gradients over a cell's faces; at T-junctions it is an
/// estimate of the right order, no more. Verified by `sizing.rs`.
pub fn evaluate(out_cell: &mut [f32], scene: &Scene, params: &SizingParams) {
    let tree = scene.tree;
    assert_eq!(out_cell.len(), tree.cell_count(), "one size per cell");
    parallel::for_each_indexed_mut(out_cell, |cell, out| {
        *out = if is_at_surface(scene, cell) { size_of(scene, params, cell) } else { 0.0 };
    });
}

fn is_at_surface(scene: &Scene, cell: usize) -> bool {
    // Deep in a solid the level set has no meaning.
    let deep_m = -DEEP_IN_SOLID_CELLS * scene.tree.cell_dx(cell);
    if scene.phi_solid_cell.is_some_and(|solid| solid[cell] < deep_m) {
        return false;
    }
    let wet = scene.phi_cell[cell] < 0.0;
    let mut differs = false;
    scene.tree.for_neighbours(cell, |other| differs |= (scene.phi_cell[other] < 0.0) != wet);
    differs
}

fn size_of(scene: &Scene, params: &SizingParams, cell: usize) -> f32 {
    let tree = scene.tree;
    let faces = tree.cell_faces()[cell];
    let dx = tree.cell_dx(cell) as f64;
    let phi = |cell: usize| {
        scene.phi_cell[cell] as f64 + scene.phi_solid_cell.map_or(0.0, |solid| solid[cell] as f64)
    };
    let (mut laplacian, mut stretch) = (0.0, 0.0);
    for axis in AXES {
        let [low, high] = [0, 1].map(|side| faces[2 * axis + side] as usize);
        // At a wall the level set continues linearly: it has no second derivative across it.
        if ![low, high].iter().any(|&face| tree.sides(face).contains(&Side::Outside)) {
            let slope = |face: usize| -> f64 {
                gradient_row(tree, face).entries().map(|(other, c)| c * phi(other)).sum()
            };
            laplacian += (slope(high) - slope(low)) / dx;
        }
        let change = (scene.u_face[high] - scene.u_face[low]) as f64 / dx;
        stretch += change * change;
    }
    params.curvature_weight * laplacian.abs() as f32 + params.velocity_weight_s_m * stretch.sqrt() as f32
}

/// `S = max(R S*, S)`: sizes that came along with the flow keep what time has left of them [octree §6.1].
pub fn keep(size_cell: &mut [f32], came_along_cell: &[f32], remaining: f32) {
    assert_eq!(size_cell.len(), came_along_cell.len(), "one size per cell");
    size_cell.iter_mut().zip(came_along_cell).for_each(|(s, &old)| *s = s.max(remaining * old));
}

/// `S_i = sum_m v_m max(S_i, S_m) / sum_m v_m` over face neighbours, `sweeps` times [octree eq. 37]: sizes
/// reach the coarse cells around, since the next tree is built from the sizes at cell centres alone. No size
/// decreases.
pub fn spread(size_cell: &mut Vec<f32>, scratch: &mut Vec<f32>, tree: &Octree, sweeps: usize) {
    assert_eq!(size_cell.len(), tree.cell_count(), "one size per cell");
    scratch.clear();
    scratch.resize(tree.cell_count(), 0.0);
    for _ in 0..sweeps {
        let size = &size_cell[..];
        parallel::for_each_indexed_mut(scratch, |cell, out| {
            let (mut sum, mut volume) = (0.0, 0.0);
            tree.for_neighbours(cell, |other| {
                let dx = tree.cell_dx(other);
                sum += dx * dx * dx * size[cell].max(size[other]);
                volume += dx * dx * dx;
            });
            // Rounding of the mean must not take from a size.
            *out = if volume > 0.0 { (sum / volume).max(size[cell]) } else { size[cell] };
        });
        std::mem::swap(size_cell, scratch);
    }
}

/// Builds the next tree from spread sizes on the present one. `phi` is the level set on it. `from(x)` is the
/// present place of the liquid that will be at x when the tree is used, so that tree and liquid arrive
/// together. `wanted_dx(x, r)` may ask for a cell size of its own within `r` of a point (infinite where it
/// does not), whether the surface is near or not. Cells are divided as long as the sizes or `wanted_dx` ask
/// for it. None where the next tree is the present one.
pub fn build(
    passes: u32,
    params: &SizingParams,
    (tree, size_cell): (&Octree, &[f32]),
    phi: impl Fn(Vec3) -> f32 + Sync,
    from: impl Fn(Vec3) -> Vec3 + Sync,
    wanted_dx: impl Fn(Vec3, f32) -> f32 + Sync,
) -> Option<Octree> {
    let (sampler, shape) = (Sampler::new(tree, Interpolation::Mls), *tree.shape());
    tree.rebuild(passes, |cell| {
        let (x, dx) = (shape.center(cell), shape.dx_of(cell.level as usize));
        wanted_dx(x, HALF_DIAGONAL * dx) < dx || {
            let x = from(x);
            let phi = phi(x);
            // Sizes are interpolated near the surface only, since most cells are far from it.
            phi.abs() < params.pseudo_dx(dx, shape.dx)
                && params.divides(dx, shape.dx, phi, sampler.cells(size_cell, x))
        }
    })
}

/// The first tree, from functions of space, without ever visiting all finest cells [octree §6.4]: begins with
/// cells of the middle level around the surface, then evaluates, spreads and builds `rounds` times (three in
/// the paper).
pub fn build_first(
    shape: Shape,
    passes: u32,
    rounds: usize,
    params: &SizingParams,
    phi: impl Fn(Vec3) -> f32 + Sync,
    phi_solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)>,
    wanted_dx: impl Fn(Vec3, f32) -> f32 + Sync,
) -> Octree {
    let middle = shape.levels / 2;
    let mut tree = Octree::build(shape, passes, |cell| {
        let (x, dx) = (shape.center(cell), shape.dx_of(cell.level as usize));
        wanted_dx(x, HALF_DIAGONAL * dx) < dx || (cell.level as usize > middle && phi(x).abs() < 2.0 * dx)
    });
    let mut scratch = vec![];
    for _ in 0..rounds {
        let at_cells = |f: &(dyn Fn(Vec3) -> f32 + Sync)| {
            parallel::map_indices(tree.cell_count(), |cell| f(tree.cell_center(cell)))
        };
        let (phi_cell, phi_solid_cell) = (at_cells(&phi), phi_solid.map(at_cells));
        let u_face = vec![0.0; tree.face_count()];
        let mut size_cell = vec![0.0; tree.cell_count()];
        let scene = Scene {
            tree: &tree,
            phi_cell: &phi_cell,
            phi_solid_cell: phi_solid_cell.as_deref(),
            u_face: &u_face,
        };
        evaluate(&mut size_cell, &scene, params);
        spread(&mut size_cell, &mut scratch, &tree, params.sweeps);
        let next = build(passes, params, (&tree, &size_cell), &phi, |x| x, &wanted_dx);
        tree = next.unwrap_or(tree);
    }
    tree
}
