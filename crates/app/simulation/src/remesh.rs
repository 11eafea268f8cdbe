//! Surfaces from cached volumes, at any resolution, without simulating again.

use fluvial_foundation::{AXES, parallel};
use fluvial_grids::{FaceField, Lattice, TriangleMesh, UniformGrid};
use fluvial_level_set::{Scratch, redistance};
use fluvial_output::{HALF_WIDTH_CELLS, VdbVolume};
use fluvial_solids::{Motion, Shape, SolidFields, rasterize};
use fluvial_solver_interface::{Setup, Wall};
use fluvial_surface::{MeshParams, SolidClip, mesh_level_set, mesh_level_set_outside, set_velocities};

/// How the surface is made again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemeshParams {
    /// The grid of the mesh; must fill the simulation's box ([`scaled_grid`]).
    pub grid: UniformGrid,
    /// Rounds of smoothing that keep the volume.
    pub smoothing: u32,
}

/// The grid with cells about `1 / scale` as large that fills the same box exactly. Only some sizes do: the
/// counts of cells along all axes must stay whole, so the scale is a multiple of 1 over their greatest common
/// divisor.
pub fn scaled_grid(grid: &UniformGrid, scale: f64) -> Option<UniformGrid> {
    let common = grid.cells.into_iter().fold(0, greatest_common_divisor);
    let part = (scale * common as f64).round();
    if !(1.0..1e9).contains(&part) {
        return None;
    }
    if part as usize == common {
        return Some(*grid);
    }
    let cells = grid.cells.map(|n| n / common * part as usize);
    let dx = (f64::from(grid.dx) * common as f64 / part) as f32;
    Some(UniformGrid { min: grid.min, cells, dx })
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Meshes a cached volume. On the simulation's own grid and without smoothing this is the mesh that the run
/// wrote, bit for bit (solids that move are placed at n / fps, to rounding).
///
/// Elsewhere phi is interpolated by Catmull-Rom splines, third order at the surface; on coarser grids it is
/// made a distance over a wider band first. Solids are placed on the new grid from their shapes.
/// Tests: `on_its_own_grid_the_mesh_is_the_solvers`, `a_finer_or_coarser_mesh_keeps_shape_and_volume`.
pub fn remesh(volume: &VdbVolume, setup: &Setup, params: &RemeshParams) -> Result<TriangleMesh, String> {
    let grid = setup.domain.grid;
    if volume.grid != grid {
        return Err("the volume has another grid than the run".into());
    }
    let mut phi = volume.phi_cell()?;
    let u_face = volume.u_face()?;
    let target = params.grid;
    let cells = target.cell_centers();
    if target != grid {
        if target.dx > grid.dx {
            widen(&mut phi, &grid, target.dx);
        }
        phi = resample(&phi, &grid.cell_centers(), &cells);
    }
    let mesh_params = MeshParams { smoothing_rounds: params.smoothing as usize };
    let mut mesh = if setup.solids.is_empty() {
        mesh_level_set(&phi, &cells, &mesh_params)
    } else {
        let solids: Vec<(&Shape, &Motion)> = setup.solids.iter().map(|s| (&s.shape, &s.motion)).collect();
        let open_walls = setup.domain.walls.map(|w| w == Wall::Open);
        let mut fields = SolidFields::default();
        rasterize(&mut fields, &solids, open_walls, &target, volume.time.time_s());
        let nodes = target.nodes();
        let placed = setup.solids_at(volume.time.time_s());
        let distance = |x| placed.distance_beside_samples(x, nodes.sample(&fields.phi_node, x), target.dx);
        let clip = SolidClip { distance: &distance, overlap: 0.0 };
        mesh_level_set_outside(&phi, &cells, &clip, &mesh_params)
    };
    add_velocities(&mut mesh, &grid, &u_face);
    Ok(mesh)
}

fn add_velocities(mesh: &mut TriangleMesh, grid: &UniformGrid, u_face: &FaceField) {
    set_velocities(mesh, |x| grid.sample_velocity(u_face, x));
}

/// Makes phi a distance as far as the corners of a larger cell may lie from the surface.
fn widen(phi: &mut [f32], grid: &UniformGrid, cell: f32) {
    let band_m = (2.0 * cell + HALF_WIDTH_CELLS * grid.dx).max(4.0 * grid.dx);
    redistance(phi, &grid.cell_centers(), band_m, &mut Scratch::new(grid));
}

/// Values at the samples of `to`, by Catmull-Rom splines along one axis after the other.
fn resample(values: &[f32], from: &Lattice, to: &Lattice) -> Vec<f32> {
    let (mut values, mut size) = (values.to_vec(), from.size);
    for axis in AXES {
        let mut next = size;
        next[axis] = to.size[axis];
        values = resample_axis(&values, size, next, axis, |n| {
            let x = to.origin[axis] + to.spacing * n as f32;
            (x - from.origin[axis]) / from.spacing
        });
        size = next;
    }
    values
}

/// One axis of [`resample`]; `place(n)` is where sample n lies among the old ones.
fn resample_axis(
    values: &[f32],
    size: [usize; 3],
    next: [usize; 3],
    axis: usize,
    place: impl Fn(usize) -> f32,
) -> Vec<f32> {
    let weights: Vec<[(usize, f32); 4]> = (0..next[axis]).map(|n| spline(place(n), size[axis])).collect();
    let stride = [1, size[0], size[0] * size[1]][axis];
    let mut out = vec![0.0; next[0] * next[1] * next[2]];
    parallel::for_each_chunk_mut(&mut out, next[0] * next[1], |k, slab| {
        for (n, out) in slab.iter_mut().enumerate() {
            let mut at = [n % next[0], n / next[0], k];
            let which = std::mem::take(&mut at[axis]);
            let base = at[0] + size[0] * (at[1] + size[1] * at[2]);
            *out = weights[which].iter().map(|&(m, w)| w * values[base + m * stride]).sum();
        }
    });
    out
}

/// Samples and weights of the Catmull-Rom spline at `x`; straight beyond the ends.
fn spline(x: f32, count: usize) -> [(usize, f32); 4] {
    let last = count as isize - 1;
    let low = (x.floor() as isize).clamp(0, (last - 1).max(0));
    let t = x - low as f32;
    let (t2, t3) = (t * t, t * t * t);
    if !(0.0..=1.0).contains(&t) || last < 3 {
        let high = (low + 1).min(last) as usize;
        return [(low as usize, 1.0 - t), (high, t), (0, 0.0), (0, 0.0)];
    }
    let weights = [
        -0.5 * t3 + t2 - 0.5 * t,
        1.5 * t3 - 2.5 * t2 + 1.0,
        -1.5 * t3 + 2.0 * t2 + 0.5 * t,
        0.5 * t3 - 0.5 * t2,
    ];
    let mut out = [(0, 0.0); 4];
    for (n, &weight) in weights.iter().enumerate() {
        let at = low - 1 + n as isize;
        let inside = at.clamp(0, last);
        out[n].0 = inside as usize;
        out[n].1 += weight;
        if at != inside {
            // The missing neighbour continues the last two in a straight line: 2 a - b.
            out[n].1 += weight;
            let other = if at < 0 { 2 } else { 1 };
            out[other].1 -= weight;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_files::{Sparse, volume_view};
    use fluvial_foundation::Vec3;
    use fluvial_output::{FrameTime, VolumeSource, encode_vdb};
    use fluvial_solver_interface::{Domain, Fill, LevelSet, Liquid, Solid, Solver, SurfaceParams, Wanted};
    use fluvial_solver_octree::OctreeSolver;
    use fluvial_solver_uniform::{Params, UniformSolver};

    fn setup(with_solid: bool) -> Setup {
        let grid = UniformGrid { min: Vec3::new(-0.5, 0.0, 0.25), cells: [24, 16, 16], dx: 1.0 / 16.0 };
        let ball = |x: f32, radius: f32| Shape::Sphere { center: Vec3::new(x, 0.5, 0.75), radius };
        let pool = Shape::Box { min: Vec3::new(-2.0, -1.0, -1.0), max: Vec3::new(2.0, 0.3, 2.0) };
        let solid = Solid::new("ball", ball(0.7, 0.28), Motion::default());
        Setup {
            domain: Domain::closed(grid),
            liquid: Liquid::default(),
            fills: vec![
                Fill { shape: pool, velocity: Vec3::ZERO },
                Fill { shape: ball(0.0, 0.15), velocity: Vec3::new(0.5, -1.0, 0.0) },
            ],
            solids: if with_solid { vec![solid] } else { vec![] },
            sources: vec![],
            sinks: vec![],
            refine: vec![],
            flow: None,
            cfl: 2.0,
        }
    }

    fn volume_of(solver: &UniformSolver) -> Vec<u8> {
        let snapshot = solver.snapshot(Wanted::LEVEL_SET);
        let level_set = snapshot.level_set.and_then(LevelSet::uniform).unwrap();
        encode_vdb(&volume_view(&level_set), FrameTime { frame: 2, fps: 24.0 })
    }

    /// Drawn by the run it has been fitted to the volume as well: of a falling drop that is no more than a twentieth of a
    /// cell.
    #[test]
    fn on_its_own_grid_the_mesh_is_the_solvers() {
        for with_solid in [false, true] {
            let setup = setup(with_solid);
            let mut solver = UniformSolver::new(setup.clone(), Params::default()).unwrap();
            for _ in 0..4 {
                solver.step(0.01).unwrap();
            }
            let bytes = volume_of(&solver);
            let params = RemeshParams { grid: setup.domain.grid, smoothing: 0 };
            let mesh = remesh(&VdbVolume::parse(bytes).unwrap(), &setup, &params).unwrap();
            assert!(mesh.triangles.len() > 1000);
            let drawn = solver.surface(&SurfaceParams::default());
            assert_eq!(mesh.triangles, drawn.triangles, "solid: {with_solid}");
            for (a, b) in mesh.positions.iter().zip(&drawn.positions) {
                assert!(a.distance(*b) < 0.05 * setup.domain.grid.dx, "solid: {with_solid}, {a} {b}");
            }
        }
    }

    #[test]
    fn a_finer_or_coarser_mesh_keeps_shape_and_volume() {
        let setup = setup(false);
        let mut solver = UniformSolver::new(setup.clone(), Params::default()).unwrap();
        for _ in 0..2 {
            solver.step(0.01).unwrap();
        }
        let bytes = volume_of(&solver);
        let volume = VdbVolume::parse(bytes).unwrap();
        let own = solver.surface(&SurfaceParams::default());
        for (scale, smoothing, tolerance) in
            [(2.0, 0, 0.005), (1.5, 0, 0.005), (0.5, 0, 0.02), (2.0, 3, 0.005)]
        {
            let grid = scaled_grid(&setup.domain.grid, scale).unwrap();
            let mesh = remesh(&volume, &setup, &RemeshParams { grid, smoothing }).unwrap();
            assert!(mesh.defects().is_clean(), "{scale}");
            assert_eq!(mesh.velocities.len(), mesh.positions.len());
            let change = mesh.volume() / own.volume() - 1.0;
            assert!(change.abs() < tolerance, "{scale}: {change}");
            let fineness = mesh.positions.len() as f64 / own.positions.len() as f64;
            assert!((fineness / (scale * scale) - 1.0).abs() < 0.2, "{scale}: {fineness}");
            let (a, b) = (mesh.bounds(), own.bounds());
            assert!((a.min - b.min).length() < 0.02 && (a.max - b.max).length() < 0.05, "{a:?} {b:?}");
        }
    }

    /// Water of cells of several sizes, a few steps in motion.
    fn octree(with_solid: bool) -> (Setup, OctreeSolver) {
        let mut setup = setup(with_solid);
        setup.domain.grid = UniformGrid { cells: [48, 32, 32], dx: 1.0 / 32.0, ..setup.domain.grid };
        let params = fluvial_solver_octree::Params { max_dx: Some(0.125), ..Default::default() };
        let mut solver = OctreeSolver::new(setup.clone(), params).unwrap();
        for _ in 0..4 {
            solver.step(0.01).unwrap();
        }
        (setup, solver)
    }

    /// Believes no box to be far from anything.
    struct Doubtful<'a>(Sparse<'a>);

    impl VolumeSource for Doubtful<'_> {
        fn grid(&self) -> UniformGrid {
            self.0.grid()
        }
        fn phi(&self, cell: [usize; 3]) -> f32 {
            self.0.phi(cell)
        }
        fn velocity(&self, axis: usize, at: [usize; 3]) -> f32 {
            self.0.velocity(axis, at)
        }
        fn depth_in_solids(&self, cell: [usize; 3]) -> f32 {
            self.0.depth_in_solids(cell)
        }
        fn is_free_of_solids(&self, _: [usize; 3], _: [usize; 3]) -> bool {
            false
        }
        fn is_sparse(&self) -> bool {
            true
        }
    }

    #[test]
    fn the_volume_of_a_tree_holds_its_liquid_and_what_it_calls_far_is_far() {
        let time = FrameTime { frame: 2, fps: 24.0 };
        for with_solid in [false, true] {
            let (setup, solver) = octree(with_solid);
            let snapshot = solver.snapshot(Wanted::LEVEL_SET);
            let liquid = snapshot.level_set.and_then(LevelSet::sparse).unwrap();
            let bytes = encode_vdb(&Sparse(&*liquid), time);
            assert!(
                bytes == encode_vdb(&Doubtful(Sparse(&*liquid)), time),
                "every voxel asked gives the same file, {with_solid}"
            );
            let volume = VdbVolume::parse(bytes).unwrap();
            let (phi, dx) = (volume.phi_cell().unwrap(), setup.domain.grid.dx);
            if !with_solid {
                let in_file: f64 = phi.iter().map(|p| f64::from(0.5 - p / dx).clamp(0.0, 1.0)).sum();
                let change = in_file * f64::from(dx).powi(3) / solver.initial_report().liquid_volume_m3 - 1.0;
                assert!(change.abs() < 2e-3, "{change}");
            }
            let params = RemeshParams { grid: setup.domain.grid, smoothing: 0 };
            let mesh = remesh(&volume, &setup, &params).unwrap();
            let own = solver.surface(&SurfaceParams::default());
            assert!(mesh.defects().is_clean());
            let change = mesh.volume() / own.volume() - 1.0;
            assert!(change.abs() < 0.01, "solid {with_solid}: {change}");
            // Velocity is there at every vertex, on walls and floor too.
            for (x, v) in mesh.positions.iter().zip(&mesh.velocities) {
                let difference = (*v - solver.velocity_at(*x)).length();
                assert!(difference < 0.12, "{x}: {v} {}", solver.velocity_at(*x));
            }
        }
    }

    #[test]
    fn splines_reproduce_quadratics_and_are_straight_beyond_the_ends() {
        let samples: Vec<f32> = (0..8).map(|n| 1.0 + 0.5 * n as f32 + 0.25 * (n * n) as f32).collect();
        let at = |x: f32, values: &[f32]| spline(x, 8).iter().map(|&(n, w)| w * values[n]).sum::<f32>();
        for x in [1.0, 2.25, 3.5, 5.999] {
            assert!((at(x, &samples) - (1.0 + 0.5 * x + 0.25 * x * x)).abs() < 1e-4, "{x}");
        }
        let line: Vec<f32> = (0..8).map(|n| 2.0 - 3.0 * n as f32).collect();
        for x in [-0.4, 0.0, 0.3, 6.8, 7.0, 7.4] {
            assert!((at(x, &line) - (2.0 - 3.0 * x)).abs() < 1e-4, "{x}");
        }
    }

    #[test]
    fn scaled_grids_fill_the_same_box() {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [96, 64, 32], dx: 0.01 };
        for scale in [0.25, 0.5, 1.0, 1.5, 2.0, 3.0] {
            let scaled = scaled_grid(&grid, scale).unwrap();
            assert!((scaled.bounds().max - grid.bounds().max).length() < 1e-5, "{scale}");
            assert!((f64::from(grid.dx / scaled.dx) / scale - 1.0).abs() < 1e-5, "{scale}");
        }
        assert_eq!(scaled_grid(&grid, 1.0), Some(grid));
        assert_eq!(scaled_grid(&grid, 0.001), None);
        assert_eq!(scaled_grid(&grid, f64::NAN), None);
    }
}
