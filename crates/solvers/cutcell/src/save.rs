//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until somebody has
//! decided whether the next step reads it.

use crate::CutCellSolver;
use crate::state::{Fields, Population, State};
use fluvial_particles::Particles;
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use std::io;

impl CutCellSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let CutCellSolver {
            // The set-up and what follows from it.
            setup: _,
            params: _,
            grid: _,
            nodes: _,
            boundary: _,
            // The frame loop's.
            asked_to_stop: _,
            // Memory that every step fills before it reads it.
            work: _,
            state,
        } = self;
        let State { fields, account, kinetic_energy_j, limiting_speed_m_s, time_s, steps } = state;
        let Fields { phi_node, u_face, pressure_cell, population, returned_m3 } = fields;
        let Population { particles, volume_m3 } = population;
        let Particles { x, v, affine, id, age_s, next_id } = particles;
        out.value("limiting_speed_m_s", *limiting_speed_m_s)?;
        out.value("time_s", *time_s)?;
        out.value("steps", *steps)?;
        out.value("kinetic_energy_j", *kinetic_energy_j)?;
        out.value("returned_m3", *returned_m3)?;
        out.account(account)?;
        out.field("phi_node", phi_node)?;
        out.face_field("u_face", u_face)?;
        out.field("pressure_cell", pressure_cell)?;
        out.value("particles.next_id", *next_id)?;
        out.list("particles.x", x)?;
        out.list("particles.v", v)?;
        for (rows, name) in affine.iter().zip(ROWS) {
            out.list(name, rows)?;
        }
        out.list("particles.id", id)?;
        out.list("particles.volume_m3", volume_m3)?;
        out.list("particles.age_s", age_s)
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let limiting_speed_m_s = from.value("limiting_speed_m_s")?;
        let (time_s, steps) = (from.value("time_s")?, from.value("steps")?);
        let kinetic_energy_j = from.value("kinetic_energy_j")?;
        let mut fields = Fields::new(&self.grid, self.nodes.len());
        fields.returned_m3 = from.value("returned_m3")?;
        let account = from.account()?;
        from.field("phi_node", &mut fields.phi_node)?;
        from.face_field("u_face", &mut fields.u_face)?;
        from.field("pressure_cell", &mut fields.pressure_cell)?;
        let next_id = from.value("particles.next_id")?;
        let (x, v) = (from.list("particles.x")?, from.list("particles.v")?);
        let affine = [from.list(ROWS[0])?, from.list(ROWS[1])?, from.list(ROWS[2])?];
        let id = from.list("particles.id")?;
        let volume_m3: Vec<f32> = from.list("particles.volume_m3")?;
        let age_s = from.list("particles.age_s")?;
        let particles = Particles { x, v, affine, id, age_s, next_id };
        let n = volume_m3.len();
        let rows = if self.is_affine() { n } else { 0 };
        let lengths = [particles.x.len(), particles.v.len(), particles.id.len(), particles.age_s.len()];
        if lengths != [n; 4] || particles.affine.iter().any(|list| list.len() != rows) {
            return Err(RestoreError::Mismatch("the particles' arrays differ in length".into()));
        }
        from.check_places("particles.x", &particles.x, self.grid.bounds())?;
        from.end()?;
        fields.population = Population { particles, volume_m3 };
        self.state = State { fields, account, kinetic_energy_j, limiting_speed_m_s, time_s, steps };
        Ok(())
    }
}

/// Names of the rows of affine particles.
const ROWS: [&str; 3] = ["particles.affine.x", "particles.affine.y", "particles.affine.z"];
