//! Sources and sinks: shapes that add and take liquid at the start of a step.

use crate::UniformSolver;
use crate::state::{FaceCells, SourceFace, State, Undo};
use fluvial_foundation::parallel::{for_each_chunk_mut, for_each_chunk_mut2};
use fluvial_foundation::{AXES, Vec3};
use fluvial_particles as particles;

impl UniformSolver {
    /// Fills active sources and empties active sinks at the current moment, in the state itself: every stage of the step
    /// then sees one liquid. [`Self::undo_sources_and_sinks`] takes it back.
    ///
    /// A source is liquid that leaves its shape at the given velocity: inside, faces carry that velocity; on
    /// its skin only the outward part (nothing is sucked in behind), so the flux is `sum max(v.n, 0) dx^2`.
    /// What the shapes add and take is measured on the level set and booked as inflow and outflow.
    pub(crate) fn apply_sources_and_sinks(&mut self) {
        self.work.undo.is_kept = false;
        if self.setup.sources.is_empty() && self.setup.sinks.is_empty() {
            return;
        }
        self.work.source_cell.fill(0);
        self.keep_for_undo();
        let time_s = self.state.time_s;
        let active = |[from, to]: [f64; 2]| from <= time_s && time_s < to;
        // Shapes that start now, or only drip (no velocity, hence no flux): what they add is inflow. Shapes that go
        // on flowing are booked by their flux; topping them up mends what transport lost and books nothing.
        let (continuing, starting): (Vec<usize>, Vec<usize>) = (0..self.setup.sources.len())
            .filter(|&n| active(self.setup.sources[n].active_s))
            .partition(|&n| self.state.sources_flowing[n] && self.setup.sources[n].velocity != Vec3::ZERO);
        let sinks: Vec<usize> =
            (0..self.setup.sinks.len()).filter(|&n| active(self.setup.sinks[n].active_s)).collect();
        for (n, source) in self.setup.sources.iter().enumerate() {
            self.state.sources_flowing[n] = active(source.active_s);
        }
        if continuing.is_empty() && starting.is_empty() && sinks.is_empty() {
            return;
        }
        let before_m3 = self.liquid_volume(&self.state.phi_cell);
        let topped_up_m3 = self.volume_after(&continuing, before_m3, Self::fill_source);
        let filled_m3 = self.volume_after(&starting, topped_up_m3, Self::fill_source);
        let after_m3 = self.volume_after(&sinks, filled_m3, Self::empty_sink);
        self.state.volume.book_sources_and_sinks(filled_m3 - topped_up_m3, filled_m3 - after_m3);
        self.prescribe_source_velocity();
        if self.params.has_particles() {
            self.refill_particle_band();
        }
        // The bodies of liquid have changed: their volumes are measured anew before the next transport.
        self.remeasure_regions(topped_up_m3 - before_m3);
    }

    /// Keeps what sources and sinks may change.
    fn keep_for_undo(&mut self) {
        let State { phi_cell, particles, volume, sources_flowing, .. } = &self.state;
        let undo = &mut self.work.undo;
        undo.is_kept = true;
        undo.phi_cell.clone_from(phi_cell);
        undo.particles.clone_from(particles);
        undo.volume.clone_from(volume);
        undo.sources_flowing.clone_from(sources_flowing);
        undo.faces.clear();
    }

    /// The state as it was before [`Self::apply_sources_and_sinks`] of this step.
    pub(crate) fn undo_sources_and_sinks(&mut self) {
        let Undo { is_kept, phi_cell, faces, particles, volume, sources_flowing } = &mut self.work.undo;
        if !std::mem::take(is_kept) {
            return;
        }
        let state = &mut self.state;
        std::mem::swap(&mut state.phi_cell, phi_cell);
        std::mem::swap(&mut state.particles, particles);
        std::mem::swap(&mut state.volume, volume);
        std::mem::swap(&mut state.sources_flowing, sources_flowing);
        for &SourceFace { axis, face, u_before, .. } in faces.iter() {
            [state.u_face[axis][face], state.u_transport[axis][face]] = u_before;
        }
    }

    /// Lets shapes act and measures the liquid's volume after; `volume_m3` is that before.
    fn volume_after(&mut self, shapes: &[usize], volume_m3: f64, act: fn(&mut Self, usize)) -> f64 {
        shapes.iter().for_each(|&n| act(self, n));
        if shapes.is_empty() { volume_m3 } else { self.liquid_volume(&self.state.phi_cell) }
    }

    /// Unites the liquid with a source's shape and tags the cells inside.
    fn fill_source(&mut self, index: usize) {
        let (cells, shape) = (self.grid.cell_centers(), &self.setup.sources[index].shape);
        for_each_chunk_mut2(
            (&mut self.state.phi_cell, cells.slab()),
            (&mut self.work.source_cell, cells.slab()),
            |k, phi, tags| {
                for (n, (phi, tag)) in phi.iter_mut().zip(tags).enumerate() {
                    let d = shape.distance(cells.position(n % cells.size[0], n / cells.size[0], k));
                    *phi = phi.min(d);
                    if d < 0.0 {
                        *tag = index as u8 + 1;
                    }
                }
            },
        );
    }

    /// Takes the liquid out of a sink's shape.
    fn empty_sink(&mut self, index: usize) {
        let (cells, shape) = (self.grid.cell_centers(), &self.setup.sinks[index].shape);
        for_each_chunk_mut(&mut self.state.phi_cell, cells.slab(), |k, phi| {
            for (n, phi) in phi.iter_mut().enumerate() {
                let x = cells.position(n % cells.size[0], n / cells.size[0], k);
                *phi = phi.max(-shape.distance(x));
            }
        });
        particles::retain(&mut self.state.particles, |all, p| shape.distance(all.x[p]) > 0.0);
    }

    /// Faces of tagged cells take their source's velocity.
    fn prescribe_source_velocity(&mut self) {
        let (grid, tags, sources) = (self.grid, &self.work.source_cell, &self.setup.sources);
        let cells = grid.cell_centers();
        let State { u_face, u_transport, .. } = &mut self.state;
        let faces = &mut self.work.undo.faces;
        for (cell, _) in tags.iter().enumerate().filter(|(_, tag)| **tag != 0) {
            let at = cells.coordinates(cell);
            for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
                let stride = cells.stride(axis);
                let beside = if up { at[axis] + 1 < cells.size[axis] } else { at[axis] > 0 };
                let beside = beside.then(|| if up { cell + stride } else { cell - stride });
                let pair = if up {
                    FaceCells { low: Some(cell), high: beside }
                } else {
                    FaceCells { low: beside, high: Some(cell) }
                };
                // A face between two tagged cells belongs to the one above it.
                if up && beside.is_some_and(|c| tags[c] != 0) {
                    continue;
                }
                if let Some(u_source) = source_face_velocity(pair, tags, axis, |tag| sources[tag].velocity) {
                    let lattice = grid.faces(axis);
                    let face = lattice.index(at[0], at[1], at[2]) + if up { lattice.stride(axis) } else { 0 };
                    let u_before = [u_face[axis][face], u_transport[axis][face]];
                    faces.push(SourceFace { axis, face, u_source, u_before });
                }
            }
        }
        for &SourceFace { axis, face, u_source, .. } in faces.iter() {
            (u_face[axis][face], u_transport[axis][face]) = (u_source, u_source);
        }
    }
}

/// The velocity that an active source gives a face; none where it touches no source.
pub(crate) fn source_face_velocity(
    cells: FaceCells,
    tags: &[u8],
    axis: usize,
    velocity: impl Fn(usize) -> Vec3,
) -> Option<f32> {
    let tag = |cell: Option<usize>| cell.map_or(0, |c| tags[c]);
    match (tag(cells.low), tag(cells.high)) {
        (0, 0) => None,
        (low, 0) => Some(velocity(low as usize - 1)[axis].max(0.0)),
        (0, high) => Some(velocity(high as usize - 1)[axis].min(0.0)),
        (low, _) => Some(velocity(low as usize - 1)[axis]),
    }
}
