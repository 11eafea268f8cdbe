//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until
//! somebody has decided whether the next step reads it.

use crate::UniformSolver;
use crate::state::{Fields, State};
use fluvial_foundation::AXES;
use fluvial_particles::{NO_REGION, Particles, Reserve};
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use std::io;

/// Names of the rows of a particle's matrix.
const ROWS: [&str; 3] = ["x", "y", "z"];

impl UniformSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let UniformSolver {
            // The set-up and what follows from it.
            setup: _,
            params: _,
            grid: _,
            cfl_band_cells: _,
            // The frame loop's.
            asked_to_stop: _,
            // Memory that every step fills before it reads it.
            solver: _,
            start: _,
            work: _,
            state,
        } = self;
        let State {
            fields:
                Fields { phi_cell, u_face, u_transport, impulse_cell, gap_cell, fraction_cell, residual_cell },
            // A function of the time: placed anew.
            boundaries: _,
            bodies,
            pushed_s,
            lead_s,
            particles,
            drops,
            reserve: Reserve { deep_cell, rest_m3, rest_of_region_m3, region_cell, inflow_m3 },
            volume,
            kinetic_energy_j,
            limiting_speed_m_s,
            time_s,
            steps,
        } = state;
        out.value("limiting_speed_m_s", *limiting_speed_m_s)?;
        out.value("time_s", *time_s)?;
        out.value("steps", *steps)?;
        out.value("pushed_s", *pushed_s)?;
        out.value("lead_s", *lead_s)?;
        out.value("kinetic_energy_j", *kinetic_energy_j)?;
        out.field("phi_cell", phi_cell)?;
        out.face_field("u_face", u_face)?;
        out.face_field_beside("u_transport", u_transport, u_face)?;
        out.field("impulse_cell", impulse_cell)?;
        out.field("gap_cell", gap_cell)?;
        out.field("fraction_cell", fraction_cell)?;
        out.field("residual_cell", residual_cell)?;
        out.account(volume)?;
        out.drops(drops)?;
        if let Some(bodies) = bodies {
            bodies.save(out)?;
        }
        out.value("reserve.rest_m3", *rest_m3)?;
        out.value("reserve.inflow_m3", *inflow_m3)?;
        out.list("reserve.deep_cell", deep_cell)?;
        out.list("reserve.rest_of_region_m3", rest_of_region_m3)?;
        out.list("reserve.region_cell", region_cell)?;
        save_particles(particles, out)
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let mut read = State::new(&self.grid, !self.state.fields.residual_cell.is_empty());
        read.limiting_speed_m_s = from.value("limiting_speed_m_s")?;
        read.time_s = from.value("time_s")?;
        read.steps = from.value("steps")?;
        read.pushed_s = from.value("pushed_s")?;
        read.lead_s = from.value("lead_s")?;
        read.kinetic_energy_j = from.value("kinetic_energy_j")?;
        let Fields { phi_cell, u_face, u_transport, impulse_cell, gap_cell, fraction_cell, residual_cell } =
            &mut read.fields;
        from.field("phi_cell", phi_cell)?;
        from.face_field("u_face", u_face)?;
        from.face_field_beside("u_transport", u_transport, u_face)?;
        from.field("impulse_cell", impulse_cell)?;
        from.field("gap_cell", gap_cell)?;
        from.field("fraction_cell", fraction_cell)?;
        from.field("residual_cell", residual_cell)?;
        read.volume = from.account()?;
        read.drops = from.drops()?;
        read.bodies = self.state.bodies.clone().map(|bodies| bodies.restored(from)).transpose()?;
        read.reserve.rest_m3 = from.value("reserve.rest_m3")?;
        read.reserve.inflow_m3 = from.value("reserve.inflow_m3")?;
        read.reserve.deep_cell = from.list("reserve.deep_cell")?;
        read.reserve.rest_of_region_m3 = from.list("reserve.rest_of_region_m3")?;
        read.reserve.region_cell = from.list("reserve.region_cell")?;
        let (cells, regions) = (read.fields.phi_cell.len(), read.reserve.rest_of_region_m3.len());
        let is_known = |region: &u32| *region == NO_REGION || (*region as usize) < regions;
        let labelled = &read.reserve.region_cell;
        let are_labels_right =
            (labelled.is_empty() || labelled.len() == cells) && labelled.iter().all(is_known);
        if read.reserve.deep_cell.len() != cells || !are_labels_right {
            return Err(RestoreError::Mismatch("the reserve's cells are not the grid's".into()));
        }
        read.particles = restore_particles(from)?;
        from.check_places("drops.x", &read.drops.x, self.grid.bounds())?;
        from.check_places("particles.x", &read.particles.x, self.grid.bounds())?;
        from.end()?;
        read.boundaries = std::mem::take(&mut self.state.boundaries);
        self.state = read;
        self.setup.place_bodies(self.state.bodies.as_ref(), self.state.time_s);
        // The solids stand where the last step left them: at the present time.
        self.place_boundaries_of_state();
        Ok(())
    }
}

fn save_particles(particles: &Particles, out: &mut StateWriter) -> io::Result<()> {
    let Particles { x, v, affine, id, age_s, next_id } = particles;
    out.value("particles.next_id", *next_id)?;
    out.list("particles.x", x)?;
    out.list("particles.v", v)?;
    for axis in AXES {
        out.list(&format!("particles.affine.{}", ROWS[axis]), &affine[axis])?;
    }
    out.list("particles.id", id)?;
    out.list("particles.age_s", age_s)
}

fn restore_particles(from: &mut StateReader) -> Result<Particles, RestoreError> {
    let next_id = from.value("particles.next_id")?;
    let (x, v) = (from.list("particles.x")?, from.list("particles.v")?);
    let mut affine: [Vec<_>; 3] = Default::default();
    for axis in AXES {
        affine[axis] = from.list(&format!("particles.affine.{}", ROWS[axis]))?;
    }
    let particles = Particles {
        x,
        v,
        affine,
        id: from.list("particles.id")?,
        age_s: from.list("particles.age_s")?,
        next_id,
    };
    let n = particles.len();
    let rows_fit = particles.affine.iter().all(|a| a.len() == particles.affine[0].len())
        && (particles.affine[0].is_empty() || particles.affine[0].len() == n);
    if particles.v.len() != n || particles.id.len() != n || particles.age_s.len() != n || !rows_fit {
        return Err(RestoreError::Mismatch("the particles' arrays differ in length".into()));
    }
    Ok(particles)
}
