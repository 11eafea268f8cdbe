//! Line 5 of Algorithm 1: incompressibility [tall §3.7], with the bodies in it [tall §3.9.1].

use crate::state::Work;
use crate::{TallDivergence, TallSolver};
use fluvial_solver_interface::{Clamps, PressureReport};
use fluvial_tall::bodies::shed;
use fluvial_tall::exchange::impose;
use fluvial_tall::pressure::projection::{
    Liquid, let_in, right_side, right_side_counting, subtract_gradient,
};
use fluvial_tall::pressure::stencil::floored_distances;
use fluvial_tall::solids::velocity_in_solids;

impl TallSolver {
    /// Solves for the pressure by a fixed number of cycles and subtracts its gradient. Bodies receive the pressure after
    /// every cycle, and the next one meets them as they then move.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> PressureReport {
        let cycles = self.params.cycles(self.state.steps == 0);
        self.couple_bodies(dt_s);
        let Work { fields, solids, multigrid, coupled, .. } = &mut self.work;
        multigrid.build(&fields.grid, &fields.phi, &solids.fraction, &self.walls);
        multigrid.levels[0].p.copy_from_slice(&fields.pressure);
        let (has_bodies, iterations) = (!coupled.is_empty(), cycles.full + cycles.v);
        for cycle in 0..iterations {
            if cycle == 0 || has_bodies {
                self.show_bodies();
                self.find_right_side();
            }
            self.work.multigrid.cycle(cycle, &cycles);
            self.push_bodies(dt_s);
        }
        let finest = &self.work.multigrid.levels[0];
        let largest = finest.b.iter().fold(0.0f32, |most, b| most.max(b.abs()));
        let left = self.work.multigrid.largest_residual();
        self.show_bodies();
        self.release_bodies(dt_s);
        self.correct_velocity(clamps);
        let relative_residual = if largest > 0.0 { left / f64::from(largest) } else { 0.0 };
        PressureReport { iterations, relative_residual }
    }

    /// Divergence of the carried velocity between the solids as they move.
    fn find_right_side(&mut self) {
        let push_s = self.work.centring.push_s;
        let Work { fields, solids, u_carried, multigrid, poured, .. } = &mut self.work;
        let liquid = Liquid {
            phi: &fields.phi,
            fraction: &solids.fraction,
            u_solid: &solids.u_solid,
            density_kg_m3: self.setup.liquid.density,
            dt_s: push_s as f32,
        };
        let b = &mut multigrid.levels[0].b;
        match self.params.tall_divergence {
            TallDivergence::Ends => right_side(b, &fields.grid, u_carried, &liquid),
            TallDivergence::Sides => right_side_counting(b, &fields.grid, u_carried, &liquid),
        }
        if !poured.is_empty() {
            let_in(b, &fields.grid, u_carried, &liquid, poured);
        }
    }

    /// Subtracts the gradient of the pressure that was found.
    fn correct_velocity(&mut self, clamps: &mut Clamps) {
        let push_s = self.work.centring.push_s;
        let Work { fields, solids, u_carried, multigrid, .. } = &mut self.work;
        let (grid, finest) = (&fields.grid, &multigrid.levels[0]);
        let liquid = Liquid {
            phi: &fields.phi,
            fraction: &solids.fraction,
            u_solid: &solids.u_solid,
            density_kg_m3: self.setup.liquid.density,
            dt_s: push_s as f32,
        };
        fields.pressure.copy_from_slice(&finest.p);
        subtract_gradient(&mut fields.u, grid, u_carried, &finest.rows, &finest.p, &liquid);
        if self.has_solids {
            u_carried.copy_from_slice(&fields.u);
            velocity_in_solids(&mut fields.u, u_carried, grid, &solids.fraction, &solids.u_solid);
        }
        let Work { fields, solids, coupled, elements, pressed, poured, .. } = &mut self.work;
        if !poured.is_empty() {
            impose(&mut fields.u, &fields.grid, poured);
        }
        for body in &*coupled {
            let density = self.setup.liquid.density;
            shed(&mut fields.u, &fields.grid, body, (elements, pressed), density);
        }
        let grid = &fields.grid;
        clamps.add("ghost_theta_floor", floored_distances(grid, &fields.phi, &solids.fraction));
    }
}
