//! Surface tension [octree §4.6, eq. 27 to 32].

use crate::OctreeSolver;
use fluvial_foundation::{AXES, parallel};
use fluvial_grids::Octree;
use fluvial_octree::capillary::filter_curvature;
use fluvial_octree::curvature::filtered_curvature;
use fluvial_octree::gradient::{Geometry, gradient_row};
use fluvial_octree::regions::{NO_REGION, label_regions};
use fluvial_solver_interface::Clamps;

impl OctreeSolver {
    /// The pressure `sigma kappa` on the surface, and nothing that would move a free body as a whole.
    pub(crate) fn add_tension(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let work = &mut self.work;
        let tree = work.fields.tree.clone();
        let sigma = self.setup.liquid.surface_tension / self.setup.liquid.density;
        let per_curvature = dt_s as f32 * sigma;
        let (p_face, capillary) = (&mut work.surface_pressure_face, &mut work.capillary);
        let stable = self.params.capillary_cfl > 0.0;
        let phi = &work.phi_pressure;
        let mut filtered = true;
        let info = filtered_curvature(p_face, &tree, phi, &mut work.curvature, |kappa| {
            if stable {
                filtered = filter_curvature(kappa, &tree, sigma as f64 * dt_s * dt_s, capillary);
            }
        });
        clamps.add("curvature_limited", info.limited);
        clamps.add("capillary_filter_unfinished", !filtered as usize);
        parallel::for_each_chunk_mut(p_face, parallel::CHUNK, |_, p| {
            p.iter_mut().for_each(|p| *p *= per_curvature);
        });
        let geometry = Geometry { tree: &tree, phi_cell: phi, open_area: &work.sources.area_face };
        work.gradient.add_surface_pressure(&mut work.fields.u_face, &geometry, p_face);

        let count = label_regions(&mut work.label_cell, &tree, phi, geometry.open_area);
        let kicks = net_kicks(&geometry, &work.label_cell, count, p_face);
        let label_cell = &work.label_cell;
        parallel::for_each_chunk_mut(&mut work.fields.u_face, parallel::CHUNK, |n, u| {
            for (i, u) in u.iter_mut().enumerate() {
                let face = n * parallel::CHUNK + i;
                let label = tree.cells_beside(face).map(|cell| label_cell[cell]).find(|&l| l != NO_REGION);
                if let Some(label) = label {
                    *u -= kicks[label as usize][tree.face_axis(face)];
                }
            }
        });
    }
}

/// The velocity that a pressure on the surface (times dt / rho, m2/s) would give each body as a whole; none to bodies that touch a wall
/// or a solid, which may push back.
///
/// Tension does not move a closed surface: the integral of kappa n vanishes. Curvatures with errors do, and a body in free fall would
/// set off. Pressures inside cancel in the sum of `V_f [grad p]` over all faces of an axis, because divergence is the
/// gradient's transpose; what is left is the surface's: `sum_f A_f s_f p_f` over the faces that it crosses, s the share of
/// the face's gradient that liquid cells have. A uniform velocity is what the same pressure without its net force would add
/// besides. Verified by `a_lopsided_drop_stays_where_it_is`.
fn net_kicks(geometry: &Geometry, label_cell: &[u32], count: usize, p_face: &[f32]) -> Vec<[f32; 3]> {
    let tree = geometry.tree;
    let mut impulse = vec![[0.0f64; 3]; count];
    let mut volume_m3 = vec![0.0f64; count];
    let mut free = vec![true; count];
    for (cell, &label) in label_cell.iter().enumerate().filter(|(_, label)| **label != NO_REGION) {
        volume_m3[label as usize] += (tree.cell_dx(cell) as f64).powi(3);
        let open = tree.cell_faces()[cell].iter().all(|&face| geometry.open_area[face as usize] == 1.0);
        free[label as usize] &= open;
    }
    for axis in AXES {
        for face in tree.faces(axis).filter(|&face| p_face[face] != 0.0) {
            let (label, share) = body_and_share(geometry, label_cell, tree, face);
            let area_m2 = (tree.face_dx(face) as f64).powi(2);
            impulse[label as usize][axis] += area_m2 * share * p_face[face] as f64;
        }
    }
    let kick = |n: usize| if free[n] { impulse[n].map(|i| (i / volume_m3[n]) as f32) } else { [0.0; 3] };
    (0..count).map(kick).collect()
}

/// The body at a face that the surface crosses, and the part that its cells have in the face's gradient, towards the high side.
fn body_and_share(geometry: &Geometry, label_cell: &[u32], tree: &Octree, face: usize) -> (u32, f64) {
    let (mut label, mut wet, mut all) = (0, 0.0, 0.0);
    for (cell, c) in gradient_row(tree, face).entries() {
        all += 0.5 * c.abs();
        if geometry.phi_cell[cell] < 0.0 {
            (label, wet) = (label_cell[cell], wet + c);
        }
    }
    (label, wet / all)
}
