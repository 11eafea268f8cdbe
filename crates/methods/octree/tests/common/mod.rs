//! Trees and pressure problems that tests and examples share.
#![allow(dead_code)] // examples use a part

use fluvial_foundation::random::{splitmix64, unit_f32, unit_vec3};
use fluvial_foundation::{AXES, DVec3, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_linear::Params;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{BicgstabScratch, CgScratch, bicgstab, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_octree::assemble::System;
use fluvial_octree::divergence::inflow;
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientInfo, GradientParams, PressureGradient};

/// A unit cube of four levels whose quarters along x have cells of different sizes: finest where x < 1/4,
/// coarsest beyond 3/4, as in the authors' test. `wanted` tells where cells matter at all.
pub fn quartered(finest: usize, passes: u32, wanted: impl Fn(Vec3, f32) -> bool + Sync) -> Octree {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / finest as f32, levels: 4, roots: [finest / 8; 3] };
    Octree::build(shape, passes, |cell| {
        let dx = shape.dx_of(cell.level as usize);
        let x = shape.center(cell);
        4.0 * (x.x - 0.5 * dx) < cell.level as f32 && wanted(x, dx)
    })
}

/// Divides cells at random, the more often the nearer they are to a random point.
pub fn random_tree(levels: usize, roots: [usize; 3], passes: u32, seed: u64) -> Octree {
    let shape = Shape { min: Vec3::new(-0.5, 0.25, 0.0), dx: 0.0625, levels, roots };
    let size = shape.bounds().size();
    let centre = shape.min + size * unit_vec3(seed, 0);
    Octree::build(shape, passes, |cell| {
        let near = (shape.center(cell) - centre).length() / size.length();
        let key = cell.at.iter().fold(cell.level as u64, |k, &v| splitmix64(k ^ (v as u64 + 1)));
        unit_f32(key, seed) < 0.6 * (1.1 - 2.0 * near)
    })
}

/// Open everywhere but on the walls of the domain.
pub fn closed_box(tree: &Octree) -> Vec<f32> {
    let wall = |face: usize| tree.sides(face).contains(&fluvial_grids::octree::Side::Outside);
    (0..tree.face_count()).map(|face| if wall(face) { 0.0 } else { 1.0 }).collect()
}

/// Samples a function at cell centres.
pub fn at_cells(tree: &Octree, f: impl Fn(DVec3) -> f64) -> Vec<f32> {
    (0..tree.cell_count()).map(|cell| f(tree.cell_center(cell).as_dvec3()) as f32).collect()
}

/// Samples the normal component of a vector field at face centres.
pub fn at_faces(tree: &Octree, f: impl Fn(DVec3) -> DVec3) -> Vec<f32> {
    let mut u = vec![0.0; tree.face_count()];
    for axis in AXES {
        for face in tree.faces(axis) {
            u[face] = f(tree.face_center(face, axis).as_dvec3())[axis] as f32;
        }
    }
    u
}

/// The symmetric form's matrix, for the preconditioner.
pub fn matrix<V: fluvial_linear::krylov::Real>(system: &System) -> FluxMatrix<V> {
    let value = system.value.iter().map(|&v| V::from_f64(v)).collect();
    let csr = Csr::new(system.cells.len(), system.start.clone(), system.column.clone(), value);
    FluxMatrix::new(csr, system.row_sum.clone())
}

/// A projection: pressure at cells, velocity after it, and what was met.
pub struct Projected {
    pub p_cell: Vec<f64>,
    pub u_face: Vec<f32>,
    pub info: GradientInfo,
}

/// Makes a velocity divergence-free in the given form, to a relative residual of `tolerance`.
pub fn project(geometry: &Geometry, form: FreeSurface, u_face: &[f32], tolerance: f64) -> Projected {
    let mut gradient = PressureGradient::default();
    let mut system = System::default();
    let mut rhs_cell = vec![0.0; geometry.tree.cell_count()];
    inflow(&mut rhs_cell, geometry, u_face, None);
    let params = Params { relative_tolerance: tolerance, max_iterations: 400, ..Params::DEFAULT };

    gradient.prepare(geometry, &GradientParams::default());
    system.assemble(geometry, &gradient);
    let symmetric = matrix::<f32>(&system);
    let mut amg = Amg::new(&symmetric, AmgParams::default());
    let info = gradient.prepare(geometry, &GradientParams { form, ..GradientParams::default() });
    system.assemble(geometry, &gradient);
    let operator = matrix::<f64>(&system);
    let rhs = system.gather(&rhs_cell);
    let mut p = vec![0.0; rhs.len()];
    let mut cycle = amg.on(&symmetric);
    let solved = if form == FreeSurface::SecondOrder {
        bicgstab::<f64, _, _>(&mut p, &operator, &mut cycle, &rhs, &params, &mut BicgstabScratch::default())
    } else {
        conjugate_gradients::<f64, _, _>(
            &mut p,
            &operator,
            &mut cycle,
            &rhs,
            &params,
            &mut CgScratch::default(),
        )
    };
    solved.expect("the system has a solution");
    let mut p_cell = vec![0.0; geometry.tree.cell_count()];
    system.scatter(&mut p_cell, &p);
    let mut u_face = u_face.to_vec();
    gradient.subtract(&mut u_face, geometry, &p_cell);
    Projected { p_cell, u_face, info }
}

/// Largest error of the pressure on every level for a ball of liquid with `p = r^2 - R^2` whose surface
/// crosses four levels, over nine radii `0.4 + q sqrt(3)/2 dx`.
pub fn ball_errors(finest: usize, passes: u32, form: FreeSurface, radii: &[i32]) -> ([f64; 4], GradientInfo) {
    let mut worst = [0.0f64; 4];
    let info = for_ball_errors(DVec3::splat(0.5), finest, passes, form, radii, |level, error| {
        worst[level] = worst[level].max(error.abs());
    });
    (worst, info)
}

/// The same errors one by one, with their level, of a ball around any centre.
pub fn for_ball_errors(
    centre: DVec3,
    finest: usize,
    passes: u32,
    form: FreeSurface,
    radii: &[i32],
    mut body: impl FnMut(usize, f64),
) -> GradientInfo {
    let mut total = GradientInfo::default();
    for &q in radii {
        let radius = 0.4 + q as f64 * 0.5 * 3f64.sqrt() / finest as f64;
        let tree =
            quartered(finest, passes, |x, dx| (x.as_dvec3() - centre).length() - radius < 3.0 * dx as f64);
        let phi_cell = at_cells(&tree, |x| (x - centre).length() - radius);
        let open_area = closed_box(&tree);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let u_face = at_faces(&tree, |x| 2.0 * (x - centre));
        let projected = project(&geometry, form, &u_face, 1e-9);
        for cell in (0..tree.cell_count()).filter(|&cell| phi_cell[cell] < 0.0) {
            let x = tree.cell_center(cell).as_dvec3();
            let exact = (x - centre).length_squared() - radius * radius;
            body(tree.cells()[cell].level as usize, projected.p_cell[cell] - exact);
        }
        total.surface_junctions += projected.info.surface_junctions;
        total.degenerate_junctions += projected.info.degenerate_junctions;
    }
    total
}

/// Speed that is left of still liquid under a gravity normal to its tilted surface, as a part of what gravity
/// gave: the largest at faces where a pressure acts, and the root of the mean square.
pub fn speed_at_rest(tree: &Octree, normal: DVec3, form: FreeSurface) -> (f64, f64, GradientInfo) {
    let middle = tree.shape().bounds().center().as_dvec3() + DVec3::new(0.0213, 0.0171, 0.0093);
    let phi_cell = at_cells(tree, |x| (x - middle).dot(normal));
    let open_area = closed_box(tree);
    let geometry = Geometry { tree, phi_cell: &phi_cell, open_area: &open_area };
    let projected = project(&geometry, form, &at_faces(tree, |_| -normal), 1e-10);
    let mut gradient = PressureGradient::default();
    gradient.prepare(&geometry, &GradientParams { form, ..GradientParams::default() });
    let left: Vec<f64> = (0..tree.face_count())
        .filter(|&face| gradient.acts_on(face))
        .map(|face| projected.u_face[face].abs() as f64)
        .collect();
    let mean = (left.iter().map(|u| u * u).sum::<f64>() / left.len() as f64).sqrt();
    (left.iter().copied().fold(0.0, f64::max), mean, projected.info)
}
