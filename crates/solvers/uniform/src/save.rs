//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until
//! somebody has decided whether the next step reads it.

use crate::UniformSolver;
use crate::state::State;
use fluvial_foundation::AXES;
use fluvial_grids::FaceField;
use fluvial_particles::Particles;
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use fluvial_volume::Account;
use std::io;

/// Names of the components of a face field.
const COMPONENTS: [&str; 3] = ["x", "y", "z"];

impl UniformSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let UniformSolver {
            // The set-up and what follows from it.
            setup: _,
            params: _,
            grid: _,
            open_walls: _,
            cfl_band_cells: _,
            source_offset_m: _,
            // Functions of the time: placed anew.
            solids: _,
            boundaries_placed: _,
            had_sources: _,
            // The frame loop's.
            asked_to_stop: _,
            // Memory that every step fills before it reads it.
            solver: _,
            work: _,
            state,
            limiting_speed_m_s,
        } = self;
        out.value("limiting_speed_m_s", *limiting_speed_m_s)?;
        save_state(state, out)
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        self.limiting_speed_m_s = from.value("limiting_speed_m_s")?;
        restore_state(&mut self.state, from)?;
        // The solids stand where the last step left them: at the present time.
        self.place_boundaries_anew();
        Ok(())
    }
}

fn save_state(state: &State, out: &mut StateWriter) -> io::Result<()> {
    let State {
        phi_cell,
        u_face,
        u_transport,
        impulse_cell,
        last_dt_s,
        particles,
        volume,
        kinetic_energy_j,
        sources_flowing,
        time_s,
        steps,
    } = state;
    out.value("time_s", *time_s)?;
    out.value("steps", *steps)?;
    out.value("last_dt_s", *last_dt_s)?;
    out.value("kinetic_energy_j", *kinetic_energy_j)?;
    out.field("phi_cell", phi_cell)?;
    for axis in AXES {
        out.field(&format!("u_face.{}", COMPONENTS[axis]), &u_face[axis])?;
        out.field_beside(&format!("u_transport.{}", COMPONENTS[axis]), &u_transport[axis], &u_face[axis])?;
    }
    out.field("impulse_cell", impulse_cell)?;
    let flowing: Vec<u8> = sources_flowing.iter().map(|&f| f as u8).collect();
    out.field("sources_flowing", &flowing)?;
    save_volume(volume, out)?;
    save_particles(particles, out)
}

fn restore_state(state: &mut State, from: &mut StateReader) -> Result<(), RestoreError> {
    state.time_s = from.value("time_s")?;
    state.steps = from.value("steps")?;
    state.last_dt_s = from.value("last_dt_s")?;
    state.kinetic_energy_j = from.value("kinetic_energy_j")?;
    from.field("phi_cell", &mut state.phi_cell)?;
    for axis in AXES {
        let (u_face, u_transport): (&mut FaceField, &mut FaceField) =
            (&mut state.u_face, &mut state.u_transport);
        from.field(&format!("u_face.{}", COMPONENTS[axis]), &mut u_face[axis])?;
        from.field_beside(
            &format!("u_transport.{}", COMPONENTS[axis]),
            &mut u_transport[axis],
            &u_face[axis],
        )?;
    }
    from.field("impulse_cell", &mut state.impulse_cell)?;
    let mut flowing = vec![0u8; state.sources_flowing.len()];
    from.field("sources_flowing", &mut flowing)?;
    state.sources_flowing = flowing.iter().map(|&f| f != 0).collect();
    state.volume = restore_volume(from, state.phi_cell.len())?;
    state.particles = restore_particles(from)?;
    Ok(())
}

fn save_volume(volume: &Account, out: &mut StateWriter) -> io::Result<()> {
    let (totals, bodies) = volume.to_numbers();
    out.list("volume.totals", &totals)?;
    out.list("volume.bodies", &bodies)?;
    out.value("volume.has_labels", !volume.label_cell.is_empty() as u8)?;
    out.field("volume.label_cell", &volume.label_cell)
}

fn restore_volume(from: &mut StateReader, cells: usize) -> Result<Account, RestoreError> {
    let (totals, bodies): (Vec<f64>, Vec<f64>) = (from.list("volume.totals")?, from.list("volume.bodies")?);
    let has_labels: u8 = from.value("volume.has_labels")?;
    let mut label_cell = vec![0u32; if has_labels != 0 { cells } else { 0 }];
    from.field("volume.label_cell", &mut label_cell)?;
    Account::from_numbers(&totals, &bodies, label_cell)
        .ok_or_else(|| RestoreError::Mismatch("the volume's account has another shape".into()))
}

fn save_particles(particles: &Particles, out: &mut StateWriter) -> io::Result<()> {
    let Particles { x, v, affine, id, age_s, next_id } = particles;
    out.value("particles.next_id", *next_id)?;
    out.list("particles.x", x)?;
    out.list("particles.v", v)?;
    for axis in AXES {
        out.list(&format!("particles.affine.{}", COMPONENTS[axis]), &affine[axis])?;
    }
    out.list("particles.id", id)?;
    out.list("particles.age_s", age_s)
}

fn restore_particles(from: &mut StateReader) -> Result<Particles, RestoreError> {
    let next_id = from.value("particles.next_id")?;
    let (x, v) = (from.list("particles.x")?, from.list("particles.v")?);
    let mut affine: [Vec<_>; 3] = Default::default();
    for axis in AXES {
        affine[axis] = from.list(&format!("particles.affine.{}", COMPONENTS[axis]))?;
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
