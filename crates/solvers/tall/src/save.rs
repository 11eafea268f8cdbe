//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until
//! somebody has decided whether the next step reads it.

use crate::TallSolver;
use crate::state::{Fields, State};
use fluvial_foundation::DVec3;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use fluvial_tall::volume::measure;
use std::io;

/// Names of the velocity's components; the fourth, whether it is known, is 1.
const COMPONENTS: [&str; 3] = ["u.x", "u.y", "u.z"];

impl TallSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let TallSolver {
            // The set-up and what follows from it.
            setup: _,
            params: _,
            frame: _,
            terrain: _,
            has_solids: _,
            has_outside: _,
            walls: _,
            // Measured again where it is asked for.
            flows: _,
            surfaces: _,
            // The frame loop's.
            asked_to_stop: _,
            computes_on: _,
            // Memory that every step fills before it reads it.
            work: _,
            state,
        } = self;
        let State {
            fields: Fields { grid, phi, u, pressure, residual },
            // Functions of the time and of phi: made anew.
            solids: _,
            held: _,
            volume,
            kinetic_energy_j,
            limiting_speed_m_s,
            time_s,
            steps,
            last_dt_s,
            lead_s,
            bodies,
            owed,
            spray,
        } = state;
        out.value("limiting_speed_m_s", *limiting_speed_m_s)?;
        out.value("time_s", *time_s)?;
        out.value("steps", *steps)?;
        out.value("kinetic_energy_j", *kinetic_energy_j)?;
        out.value("last_dt_s", *last_dt_s)?;
        out.value("lead_s", *lead_s)?;
        out.account(volume)?;
        if let Some(bodies) = bodies {
            bodies.save(out)?;
            let numbers = owed.iter().flatten().flat_map(|v| v.to_array());
            out.list("bodies.owed", &numbers.collect::<Vec<f64>>())?;
        }
        let TallGrid { nx: _, regular: _, nz: _, dx_m: _, columns } = grid;
        // The terrain is the set-up's.
        out.field("tall", &columns.iter().map(|c| c[1] as u32).collect::<Vec<_>>())?;
        out.field("residual", residual)?;
        out.field("phi", phi)?;
        out.field("pressure", pressure)?;
        for (axis, name) in COMPONENTS.iter().enumerate() {
            out.field(name, &u.iter().map(|u| u[axis]).collect::<Vec<_>>())?;
        }
        spray.as_ref().map_or(Ok(()), |spray| crate::spray::save(spray, out))
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let mut read = State::new(self.state.fields.grid.clone());
        read.limiting_speed_m_s = from.value("limiting_speed_m_s")?;
        read.time_s = from.value("time_s")?;
        read.steps = from.value("steps")?;
        read.kinetic_energy_j = from.value("kinetic_energy_j")?;
        read.last_dt_s = from.value("last_dt_s")?;
        read.lead_s = from.value("lead_s")?;
        read.volume = from.account()?;
        read.bodies = self.state.bodies.clone().map(|bodies| bodies.restored(from)).transpose()?;
        if read.bodies.is_some() {
            let numbers: Vec<f64> = from.list("bodies.owed")?;
            if numbers.len() != 6 * self.surfaces.len() {
                return Err(RestoreError::Mismatch("`bodies.owed` has another number of bodies".into()));
            }
            let pair = |n: &[f64]| [&n[..3], &n[3..]].map(DVec3::from_slice);
            read.owed = numbers.chunks(6).map(pair).collect();
        }
        let Fields { grid, phi, u, pressure, residual } = &mut read.fields;
        let mut tall = vec![0u32; grid.columns.len()];
        from.field("tall", &mut tall)?;
        let highest = (self.frame.cells[1] + LEAST_TALL as usize) as u32;
        if tall.iter().any(|t| !(LEAST_TALL as u32..=highest).contains(t)) {
            return Err(RestoreError::Mismatch("a tall cell is higher than the domain".into()));
        }
        grid.columns.iter_mut().zip(&tall).for_each(|(column, tall)| column[1] = *tall as i32);
        from.field("residual", residual)?;
        from.field("phi", phi)?;
        from.field("pressure", pressure)?;
        let mut component = vec![0.0f32; u.len()];
        for (axis, name) in COMPONENTS.iter().enumerate() {
            from.field(name, &mut component)?;
            u.iter_mut().zip(&component).for_each(|(u, c)| u[axis] = *c);
        }
        let columns = grid.columns.len();
        let most = self.params.spray_particles;
        let spray = self.state.spray.is_some().then(|| crate::spray::restore(from, columns, most));
        read.spray = spray.transpose()?;
        from.end()?;
        let time_s = read.time_s;
        self.setup.place_bodies(read.bodies.as_ref(), time_s);
        self.place_solids(&mut read.solids, &read.fields.grid, time_s);
        measure(&mut read.held, &read.fields.grid, &read.fields.phi, &read.solids.open());
        self.state = read;
        Ok(())
    }
}
