//! Line 5 of Algorithm 1: incompressibility [tall §3.7].

use crate::state::Work;
use crate::{TallDivergence, TallSolver};
use fluvial_solver_interface::{Clamps, PressureReport};
use fluvial_tall::pressure::projection::{Liquid, right_side, right_side_counting, subtract_gradient};
use fluvial_tall::pressure::stencil::floored_distances;
use fluvial_tall::solids::velocity_in_solids;

impl TallSolver {
    /// Solves for the pressure by a fixed number of cycles and subtracts its gradient.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> PressureReport {
        let cycles = self.params.cycles(self.state.steps == 0);
        let Work { fields, solids, u_carried, multigrid, .. } = &mut self.work;
        let grid = &fields.grid;
        let liquid = Liquid {
            phi: &fields.phi,
            fraction: &solids.fraction,
            u_solid: &solids.u_solid,
            density_kg_m3: self.setup.liquid.density,
            dt_s: dt_s as f32,
        };
        multigrid.build(grid, &fields.phi, &solids.fraction);
        let finest = &mut multigrid.levels[0];
        finest.p.copy_from_slice(&fields.pressure);
        match self.params.tall_divergence {
            TallDivergence::Ends => right_side(&mut finest.b, grid, u_carried, &liquid),
            TallDivergence::Sides => right_side_counting(&mut finest.b, grid, u_carried, &liquid),
        }
        let largest = finest.b.iter().fold(0.0f32, |most, b| most.max(b.abs()));
        multigrid.solve(&cycles);
        let left = multigrid.largest_residual();
        let finest = &multigrid.levels[0];
        fields.pressure.copy_from_slice(&finest.p);
        subtract_gradient(&mut fields.u, grid, u_carried, &finest.rows, &finest.p, &liquid);
        if self.has_solids {
            u_carried.copy_from_slice(&fields.u);
            velocity_in_solids(&mut fields.u, u_carried, grid, &solids.fraction, &solids.u_solid);
        }
        clamps.add("ghost_theta_floor", floored_distances(grid, &fields.phi, &solids.fraction));
        PressureReport {
            iterations: cycles.full + cycles.v,
            relative_residual: if largest > 0.0 { left / f64::from(largest) } else { 0.0 },
        }
    }
}
