//! Surface tension [octree §4.6, eq. 27 to 32].

use crate::state::{Ground, OperatorScratch, Step, TensionScratch};
use fluvial_foundation::parallel;
use fluvial_octree::capillary::filter_curvature;
use fluvial_octree::curvature::filtered_curvature;
use fluvial_octree::net_force::subtract_net_force;
use fluvial_octree::short_waves::{Waves, drag_short_waves};
use fluvial_solver_interface::Clamps;

impl Step<'_> {
    /// The pressure `sigma kappa` on the surface, less what would move a free body as a whole.
    pub fn add_tension(
        &self,
        u: &mut [f32],
        ground: Ground,
        operator: &OperatorScratch,
        scratch: &mut TensionScratch,
        clamps: &mut Clamps,
    ) {
        let liquid = &self.model.setup.liquid;
        scratch.u_without_push.clear();
        if liquid.surface_tension <= 0.0 {
            return;
        }
        scratch.u_without_push.extend_from_slice(u);
        let (push_s, sigma) = (self.push_s, liquid.surface_tension / liquid.density);
        let TensionScratch { p_face, curvature, capillary, short_waves, net_force, .. } = scratch;
        let geometry = ground.liquid(&operator.phi_cell);
        let (tree, phi) = (geometry.tree, geometry.phi_cell);
        let (mut filtered, contact) = (true, self.model.setup.wall_contact_cosines());
        let waves = Waves {
            gravity_m_s2: liquid.gravity.length(),
            tension_over_density: sigma,
            push_s: push_s as f32,
        };
        let (sides, mut bounded) = (ground.boundaries.sides(), 0);
        let info = filtered_curvature(p_face, tree, (phi, &contact), curvature, |s_cell| {
            if self.model.params.capillary_cfl > 0.0 {
                filtered = filter_curvature(s_cell, tree, sigma as f64 * self.dt_s * self.dt_s, capillary);
            }
            parallel::for_each_indexed_mut(s_cell, |_, s| *s *= sigma);
            bounded = drag_short_waves(s_cell, (tree, sides), (phi, u), waves, short_waves);
        });
        clamps.add("curvature_limited", info.limited);
        clamps.add("capillary_filter_unfinished", !filtered as usize);
        clamps.add("wave_drag_bounded", bounded);
        parallel::for_each_indexed_mut(p_face, |_, p| *p *= push_s as f32);
        operator.gradient.add_surface_pressure(u, &geometry, p_face);
        subtract_net_force(u, &geometry, p_face, net_force);
    }
}
