//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until
//! somebody has decided whether the next step reads it.

use crate::SheetsSolver;
use crate::state::{Fields, State};
use fluvial_sheets::{Families, Kind, Particles, Population};
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use std::io;

impl SheetsSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let SheetsSolver {
            // The set-up and what follows from it.
            setup: _,
            params: _,
            grid: _,
            band_cells: _,
            // The frame loop's.
            asked_to_stop: _,
            // Memory that every step fills before it reads it.
            solver: _,
            work: _,
            state,
        } = self;
        let State {
            population,
            fields: Fields { phi_cell, distance_cell, u_face, impulse_cell, gap_cell },
            // A function of the time: placed anew.
            boundaries: _,
            bodies,
            last_dt_s,
            account,
            kinetic_energy_j,
            limiting_speed_m_s,
            time_s,
            steps,
        } = state;
        out.value("limiting_speed_m_s", *limiting_speed_m_s)?;
        out.value("time_s", *time_s)?;
        out.value("steps", *steps)?;
        out.value("last_dt_s", *last_dt_s)?;
        out.value("kinetic_energy_j", *kinetic_energy_j)?;
        out.account(account)?;
        out.field("phi_cell", phi_cell)?;
        out.field("distance_cell", distance_cell)?;
        out.face_field("u_face", u_face)?;
        out.field("impulse_cell", impulse_cell)?;
        out.field("gap_cell", gap_cell)?;
        if let Some(bodies) = bodies {
            bodies.save(out)?;
        }
        save_population(population, out)
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let limiting_speed_m_s = from.value("limiting_speed_m_s")?;
        let (time_s, steps) = (from.value("time_s")?, from.value("steps")?);
        let (last_dt_s, kinetic_energy_j) = (from.value("last_dt_s")?, from.value("kinetic_energy_j")?);
        let mut fields = Fields::zero(&self.grid);
        let Fields { phi_cell, distance_cell, u_face, impulse_cell, gap_cell } = &mut fields;
        let account = from.account()?;
        from.field("phi_cell", phi_cell)?;
        from.field("distance_cell", distance_cell)?;
        from.face_field("u_face", u_face)?;
        from.field("impulse_cell", impulse_cell)?;
        from.field("gap_cell", gap_cell)?;
        let bodies = self.state.bodies.clone().map(|bodies| bodies.restored(from)).transpose()?;
        let (particles, families) = restore_particles(from)?;
        from.check_places("particles.x", &particles.x, self.grid.bounds())?;
        from.end()?;
        let state = &mut self.state;
        (state.limiting_speed_m_s, state.time_s, state.steps) = (limiting_speed_m_s, time_s, steps);
        (state.last_dt_s, state.kinetic_energy_j) = (last_dt_s, kinetic_energy_j);
        (state.account, state.fields, state.bodies) = (account, fields, bodies);
        (state.population.particles, state.population.families) = (particles, families);
        // The solids stand where the last step left them: at the present time. They mirror the particles.
        self.setup.place_bodies(self.state.bodies.as_ref(), self.state.time_s);
        self.place_boundaries_of_state();
        self.state.population.sort();
        self.state.population.measure();
        Ok(())
    }
}

fn save_population(population: &Population, out: &mut StateWriter) -> io::Result<()> {
    // Neighbours, shapes and masses of cells follow from the particles.
    let Population { particles, families, shapes: _, mass_cell: _, neighbours: _, walls: _, params: _ } =
        population;
    let Particles { x, v, mass, count, kind, steps, family, id, age_s, next_id } = particles;
    out.value("particles.next_id", *next_id)?;
    out.list("particles.x", x)?;
    out.list("particles.v", v)?;
    out.list("particles.mass", mass)?;
    out.list("particles.count", count)?;
    out.list("particles.kind", &kind.iter().map(|&k| k as u8).collect::<Vec<_>>())?;
    out.list("particles.steps", steps)?;
    out.list("particles.family", family)?;
    out.list("particles.id", id)?;
    out.list("particles.age_s", age_s)?;
    let (rows, free) = families.to_rows();
    out.list("families.rows", &rows)?;
    out.list("families.free", &free)
}

fn restore_particles(from: &mut StateReader) -> Result<(Particles, Families), RestoreError> {
    let mismatch = |what: &str| RestoreError::Mismatch(what.into());
    let next_id = from.value("particles.next_id")?;
    let (x, v) = (from.list("particles.x")?, from.list("particles.v")?);
    let (mass, count) = (from.list("particles.mass")?, from.list("particles.count")?);
    let kinds: Vec<u8> = from.list("particles.kind")?;
    let kind: Option<Vec<Kind>> = kinds.into_iter().map(Kind::from_number).collect();
    let particles = Particles {
        x,
        v,
        mass,
        count,
        kind: kind.ok_or_else(|| mismatch("a particle is of no known kind"))?,
        steps: from.list("particles.steps")?,
        family: from.list("particles.family")?,
        id: from.list("particles.id")?,
        age_s: from.list("particles.age_s")?,
        next_id,
    };
    if !particles.is_whole() {
        return Err(mismatch("the particles' arrays differ in length"));
    }
    let (rows, free): (Vec<u32>, Vec<u32>) = (from.list("families.rows")?, from.list("families.free")?);
    let families = Families::from_rows(&rows, &free, &particles);
    Ok((particles, families.ok_or_else(|| mismatch("the particles' families do not fit"))?))
}
