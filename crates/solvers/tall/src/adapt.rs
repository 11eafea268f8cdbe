//! Columns that follow the surface [tall §3.6], and the solids on them.

use crate::TallSolver;
use crate::state::Work;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;
use fluvial_tall::redistance::REACH_CELLS;
use fluvial_tall::remesh;

impl TallSolver {
    /// Columns for the liquid of the set-up, with its phi and velocity.
    pub(crate) fn place_liquid(&mut self) {
        let (frame, setup, reach_m) = (self.frame, &self.setup, REACH_CELLS * self.frame.dx);
        let solids = setup.solids_at(0.0);
        let phi_at = |i: usize, y: i32, k: usize| {
            if frame.is_left(i, y, k) {
                return reach_m;
            }
            setup
                .fill_distance_beside(&solids, frame.center(i, y, k), frame.dx, None)
                .clamp(-reach_m, reach_m)
        };
        let grid = &mut self.state.fields.grid;
        let (regular, params) = (grid.regular as f32, self.params.remesh());
        let ranges = fluvial_foundation::parallel::map_indices(grid.columns.len(), |c| {
            let (i, k) = (c % grid.nx, c / grid.nx);
            let terrain = grid.columns[c][0];
            let (mut lowest, mut highest) = (None, None);
            for y in terrain..frame.height() {
                match phi_at(i, y, k) <= 0.0 {
                    true => highest = Some((y + 1) as f32),
                    false => lowest = lowest.or(Some(y as f32)),
                }
            }
            let surfaces = highest.map(|high| (lowest.unwrap_or(frame.height() as f32), high));
            remesh::top_range(surfaces, (terrain + LEAST_TALL) as f32, regular, &params)
        });
        let work = &mut self.work.remesh;
        work.ranges = ranges;
        remesh::keep_off_shallows(&mut work.ranges, grid, &params, &mut vec![]);
        let mut limits = vec![];
        self.limit_tops(&mut limits, 0.0, 0.0);
        let work = &mut self.work.remesh;
        remesh::limit_ranges(&mut work.ranges, &limits);
        let grid = &mut self.state.fields.grid;
        let mut columns = grid.columns.clone();
        remesh::heights(&mut columns, grid, &params, work);
        grid.columns = columns;
        let fields = &mut self.state.fields;
        for k in 0..fields.grid.nz {
            for j in 0..fields.grid.rows() {
                for i in 0..fields.grid.nx {
                    let (n, y) = (fields.grid.index(i, j, k), fields.grid.y(i, j, k));
                    fields.phi[n] = phi_at(i, y, k);
                    let v = setup.fill_velocity(frame.center(i, y, k), reach_m).unwrap_or_default();
                    fields.u[n] = [v.x, v.y, v.z, 1.0];
                }
            }
        }
    }

    /// Brings the solids to the end of the step, on the columns as they are.
    pub(crate) fn move_solids(&mut self, dt_s: f64) {
        let end_s = self.state.time_s + dt_s;
        let mut limits = std::mem::take(&mut self.work.limits);
        self.limit_tops(&mut limits, self.state.time_s, end_s);
        self.work.limits = limits;
        if self.setup.has_moving_solids() {
            let mut solids = std::mem::take(&mut self.work.solids_before);
            self.place_solids(&mut solids, &self.state.fields.grid, end_s);
            self.work.solids_before = solids;
        }
    }

    /// New heights, and the carried fields on them; the solids take their places there.
    pub(crate) fn remesh(&mut self, dt_s: f64) {
        let (old, params) = (&self.state.fields, self.params.remesh());
        let Work { fields: new, phi_carried, u_carried, limits, remesh: work, .. } = &mut self.work;
        remesh::remesh(&mut new.grid.columns, &old.grid, phi_carried, &params, limits, work);
        remesh::transfer_phi(&mut new.phi, &new.grid, &old.grid, phi_carried);
        remesh::transfer(&mut new.u, &new.grid, &old.grid, u_carried);
        remesh::transfer(&mut new.pressure, &new.grid, &old.grid, &old.pressure);
        u_carried.copy_from_slice(&new.u);
        let mut solids = std::mem::take(&mut self.work.solids);
        self.place_solids(&mut solids, &self.work.fields.grid, self.state.time_s + dt_s);
        self.work.solids = solids;
        let Work { fields, solids, spare, .. } = &mut self.work;
        if self.has_solids {
            fluvial_tall::solids::phi_in_solids(spare, &fields.phi, &fields.grid, &solids.fraction);
            fields.phi.copy_from_slice(spare);
        }
    }

    /// The finest grid that a frame has before any liquid is placed: all tall cells at their least.
    pub(crate) fn lowest_grid(terrain: &[i32], [nx, regular, nz]: [usize; 3], dx: f32) -> TallGrid {
        TallGrid::new([nx, regular, nz], dx, terrain.iter().map(|t| [*t, LEAST_TALL]).collect())
    }
}
