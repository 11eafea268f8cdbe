//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until
//! somebody has decided whether the next step reads it.

use crate::OctreeSolver;
use crate::particles::Particles;
use crate::state::{Fields, Limits, State};
use fluvial_grids::Octree;
use fluvial_grids::octree::{Cell, Shape};
use fluvial_octree::volume::Fits;
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

impl OctreeSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let OctreeSolver {
            // The set-up and what follows from it.
            model: _,
            // The frame loop's.
            asked_to_stop: _,
            // Memory that every step fills before it reads it.
            next: _,
            scratch: _,
            state,
        } = self;
        let State {
            fields:
                Fields {
                    tree,
                    phi_cell,
                    u_face,
                    size_cell,
                    impulse_cell,
                    // A function of phi: made anew.
                    fraction_cell: _,
                    residual_cell,
                    parted_cell,
                },
            // A function of the tree and the time: made anew.
            boundaries: _,
            bodies,
            particles: Particles { x, v, heat, age_s, id, next_id },
            drops,
            volume,
            sources_flowing,
            limits: Limits { speed_m_s, cells_1_s, surface_dx },
            kinetic_energy_j,
            mean_velocity,
            cells_moved,
            pushed_s,
            lead_s,
            time_s,
            steps,
            // Statistics of the last step.
            liquid_faces: _,
            junctions: _,
        } = state;
        out.list("limits", &[*speed_m_s, *cells_1_s, *surface_dx])?;
        out.value("time_s", *time_s)?;
        out.value("steps", *steps)?;
        out.value("pushed_s", *pushed_s)?;
        out.value("lead_s", *lead_s)?;
        out.value("cells_moved", *cells_moved)?;
        out.value("kinetic_energy_j", *kinetic_energy_j)?;
        out.list("mean_velocity", mean_velocity)?;
        out.list("tree.divided", &divided_cells(tree))?;
        out.field("phi_cell", phi_cell)?;
        out.field("u_face", u_face)?;
        out.field("size_cell", size_cell)?;
        out.field("impulse_cell", impulse_cell)?;
        let flowing: Vec<u8> = sources_flowing.iter().map(|&f| f as u8).collect();
        out.field("sources_flowing", &flowing)?;
        out.account(volume)?;
        out.field("residual_cell", residual_cell)?;
        let parted: Vec<u8> = parted_cell.iter().map(|&parted| parted as u8).collect();
        out.field("parted_cell", &parted)?;
        out.drops(drops)?;
        if let Some(bodies) = bodies {
            bodies.save(out)?;
        }
        out.value("particles.next_id", *next_id)?;
        out.list("particles.x", x)?;
        out.list("particles.v", v)?;
        out.list("particles.heat", heat)?;
        out.list("particles.age_s", age_s)?;
        out.list("particles.id", id)
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let [speed_m_s, cells_1_s, surface_dx] = from.list("limits")?[..] else {
            return Err(RestoreError::Mismatch("there are three limits".into()));
        };
        let OctreeSolver { model, state, scratch, .. } = self;
        let mut read = State {
            limits: Limits { speed_m_s, cells_1_s, surface_dx },
            time_s: from.value("time_s")?,
            steps: from.value("steps")?,
            pushed_s: from.value("pushed_s")?,
            lead_s: from.value("lead_s")?,
            cells_moved: from.value("cells_moved")?,
            kinetic_energy_j: from.value("kinetic_energy_j")?,
            ..State::default()
        };
        read.mean_velocity = from
            .list("mean_velocity")?
            .try_into()
            .map_err(|_| RestoreError::Mismatch("a mean velocity has three components".into()))?;
        let tree = tree_of(model.shape, from.list("tree.divided")?)?;
        let (cells, faces) = (tree.cell_count(), tree.face_count());
        read.fields = Fields {
            tree: Arc::new(tree),
            phi_cell: vec![0.0; cells],
            u_face: vec![0.0; faces],
            size_cell: vec![0.0; cells],
            impulse_cell: vec![0.0; cells],
            fraction_cell: vec![],
            residual_cell: vec![0.0; cells],
            parted_cell: vec![],
        };
        from.field("phi_cell", &mut read.fields.phi_cell)?;
        from.field("u_face", &mut read.fields.u_face)?;
        from.field("size_cell", &mut read.fields.size_cell)?;
        from.field("impulse_cell", &mut read.fields.impulse_cell)?;
        let mut flowing = vec![0u8; state.sources_flowing.len()];
        from.field("sources_flowing", &mut flowing)?;
        read.sources_flowing = flowing.iter().map(|&f| f != 0).collect();
        read.volume = from.account()?;
        from.field("residual_cell", &mut read.fields.residual_cell)?;
        let mut parted = vec![0u8; cells];
        from.field("parted_cell", &mut parted)?;
        read.fields.parted_cell = parted.iter().map(|&parted| parted != 0).collect();
        read.drops = from.drops()?;
        read.bodies = state.bodies.clone().map(|bodies| bodies.restored(from)).transpose()?;
        read.particles = restore_particles(from)?;
        let domain = model.setup.domain.bounds();
        from.check_places("drops.x", &read.drops.x, domain)?;
        from.check_places("particles.x", &read.particles.x, domain)?;
        from.end()?;
        model.setup.place_bodies(read.bodies.as_ref(), read.time_s);
        let fine = model.fine_solids(read.time_s, None);
        let boundaries =
            model.boundaries_on(&read.fields.tree, read.time_s, (fine, None), &mut scratch.ground.fractions);
        let Fields { tree, phi_cell, fraction_cell, .. } = &mut read.fields;
        model.fill_fractions(fraction_cell, tree, phi_cell, &boundaries, Fits::NONE);
        read.boundaries = Arc::new(boundaries);
        *state = read;
        Ok(())
    }
}

fn restore_particles(from: &mut StateReader) -> Result<Particles, RestoreError> {
    let particles = Particles {
        next_id: from.value("particles.next_id")?,
        x: from.list("particles.x")?,
        v: from.list("particles.v")?,
        heat: from.list("particles.heat")?,
        age_s: from.list("particles.age_s")?,
        id: from.list("particles.id")?,
    };
    let Particles { x, v, heat, age_s, id, .. } = &particles;
    if [v.len(), heat.len(), age_s.len(), id.len()] != [x.len(); 4] {
        return Err(RestoreError::Mismatch("the particles' arrays differ in length".into()));
    }
    Ok(particles)
}

/// A cell in a number.
fn packed(level: usize, at: [u16; 3]) -> u64 {
    (level as u64) << 48 | (at[2] as u64) << 32 | (at[1] as u64) << 16 | at[0] as u64
}

/// The parent of a packed cell.
fn parent(code: u64) -> u64 {
    packed((code >> 48) as usize + 1, [code, code >> 16, code >> 32].map(|v| v as u16 / 2))
}

/// The cells that were divided, level by level, in order: with the box they are the tree.
fn divided_cells(tree: &Octree) -> Vec<u64> {
    let (mut divided, mut of_level) = (vec![], vec![]);
    for level in 0..tree.shape().levels - 1 {
        let leaves = tree.cells_of(level).map(|cell| packed(level, tree.cells()[cell].at));
        let mut above: Vec<u64> = leaves.chain(of_level).map(parent).collect();
        above.sort_unstable();
        above.dedup();
        divided.extend(&above);
        of_level = above;
    }
    divided
}

fn tree_of(shape: Shape, divided: Vec<u64>) -> Result<Octree, RestoreError> {
    let wanted: HashSet<u64> = divided.iter().copied().collect();
    let code = |cell: Cell| packed(cell.level as usize, cell.at);
    let tree = Octree::build(shape, 0, |cell| wanted.contains(&code(cell)));
    if divided_cells(&tree) != divided {
        return Err(RestoreError::Mismatch("the saved cells are no graded octree of this domain".into()));
    }
    Ok(tree)
}
