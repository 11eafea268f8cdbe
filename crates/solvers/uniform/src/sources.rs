//! Sources and sinks: shapes that add and take liquid at the start of a step.

use crate::UniformSolver;
use crate::state::{SourceFace, State, Undo};
use fluvial_foundation::parallel::{for_each_chunk_mut, for_each_chunk_mut2, map_indices};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Lattice;
use fluvial_particles as particles;
use fluvial_solids::Shape;
use fluvial_solver_interface::Source;

/// A surface whose distance falls by more than this part of a cell over half a cell of the way is behind the flow.
const BEHIND: f32 = -0.1;
/// Halvings of a cell that fit a source's surface to its cells.
const OFFSET_BISECTIONS: usize = 14;

impl UniformSolver {
    /// Fills active sources and empties active sinks at the current moment, in the state itself: every stage of the step
    /// then sees one liquid. [`Self::undo_sources_and_sinks`] takes it back.
    ///
    /// A source is liquid that leaves its shape at the given velocity: inside and where the shape's surface faces that way,
    /// faces carry that velocity; behind they carry none (nothing is sucked in). What the shapes add and take is measured
    /// on the level set and booked as inflow and outflow, what flows as the flux through the faces.
    pub(crate) fn apply_sources_and_sinks(&mut self) {
        self.work.undo.is_kept = false;
        if self.setup.sources.is_empty() && self.setup.sinks.is_empty() {
            return;
        }
        self.work.source_cell.fill(0);
        self.work.source_faces.clear();
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
    }

    /// The state as it was before [`Self::apply_sources_and_sinks`] of this step.
    pub(crate) fn undo_sources_and_sinks(&mut self) {
        let Undo { is_kept, phi_cell, particles, volume, sources_flowing } = &mut self.work.undo;
        if !std::mem::take(is_kept) {
            return;
        }
        let state = &mut self.state;
        std::mem::swap(&mut state.phi_cell, phi_cell);
        std::mem::swap(&mut state.particles, particles);
        std::mem::swap(&mut state.volume, volume);
        std::mem::swap(&mut state.sources_flowing, sources_flowing);
        for &SourceFace { axis, face, u_before, .. } in &self.work.source_faces {
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
        let offset_m = self.source_offset_m[index];
        for_each_chunk_mut2(
            (&mut self.state.phi_cell, cells.slab()),
            (&mut self.work.source_cell, cells.slab()),
            |k, phi, tags| {
                for (n, (phi, tag)) in phi.iter_mut().zip(tags).enumerate() {
                    let d = shape.distance(cells.position(n % cells.size[0], n / cells.size[0], k));
                    *phi = phi.min(d + offset_m);
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
        let (tags, sources) = (&self.work.source_cell, &self.setup.sources);
        let cells = self.grid.cell_centers();
        let lattices = AXES.map(|axis| self.grid.faces(axis));
        let State { u_face, u_transport, .. } = &mut self.state;
        let faces = &mut self.work.source_faces;
        for (cell, &tag) in tags.iter().enumerate().filter(|(_, tag)| **tag != 0) {
            let (at, source) = (cells.coordinates(cell), &sources[tag as usize - 1]);
            for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
                let stride = cells.stride(axis);
                let is_wall = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
                let in_source = !is_wall && tags[if up { cell + stride } else { cell - stride }] != 0;
                if in_source && up {
                    continue; // that cell's face
                }
                let mut on = at;
                on[axis] += up as usize;
                let x = lattices[axis].position(on[0], on[1], on[2]);
                let leaves = in_source || leaves_through(&source.shape, x, source.velocity, self.grid.dx);
                let u_source = if leaves { source.velocity[axis] } else { 0.0 };
                let face = lattices[axis].index(on[0], on[1], on[2]);
                let u_before = [u_face[axis][face], u_transport[axis][face]];
                faces.push(SourceFace { axis, face, u_source, u_before });
                (u_face[axis][face], u_transport[axis][face]) = (u_source, u_source);
            }
        }
    }

    /// Sets the sources' surfaces off their shapes so that a jet is as wide as the cells that it flows from.
    ///
    /// Flux comes from whole cells, the surface of the liquid is the shape's: a jet of the shape's section leaves, while
    /// the flux of the cells' section, up to a sixth more or less at five cells across, goes into the account. With
    /// the offset both are the cells'. The flux out of a body is `sum v_axis (share below - share above)` over the faces
    /// ahead and beside, the share being the body's in a cell for the surface, 1 in tagged cells for the cells.
    pub(crate) fn fit_sources(&mut self) {
        let (dx, cells) = (self.grid.dx, self.grid.cell_centers());
        self.source_offset_m = map_indices(self.setup.sources.len(), |n| {
            let source = &self.setup.sources[n];
            let ways = ways_out(&cells, source, dx);
            let flux = |share: &dyn Fn(&Samples) -> f32| -> f64 {
                ways.iter().map(|(below, above, v)| f64::from(v * (share(below) - share(above)))).sum()
            };
            let wanted = flux(&|cell| (cell.center_m < 0.0) as u8 as f32);
            let excess = |offset_m: f32| flux(&|cell| cell.share(offset_m)) - wanted;
            let sign = if excess(0.0) > 0.0 { 1.0 } else { -1.0 };
            // The smallest offset that takes the excess away.
            let [mut little, mut enough] = [0.0, 0.5 * dx];
            for _ in 0..OFFSET_BISECTIONS {
                let middle = 0.5 * (little + enough);
                let is_enough = f64::from(sign) * excess(sign * middle) <= 0.0;
                *(if is_enough { &mut enough } else { &mut little }) = middle;
            }
            if wanted > 0.0 && excess(0.0) != 0.0 { sign * enough } else { 0.0 }
        });
    }
}

/// Distances from a shape's surface at a cell's centre and at 4 x 4 x 4 points in it.
struct Samples {
    center_m: f32,
    inside_m: [f32; 64],
}

impl Samples {
    fn new(shape: &Shape, center: Vec3, dx: f32) -> Self {
        let place = |n: usize| ((n % 4) as f32 - 1.5) * 0.25 * dx;
        let at = |n: usize| center + Vec3::new(place(n), place(n / 4), place(n / 16));
        Samples { center_m: shape.distance(center), inside_m: std::array::from_fn(|n| shape.distance(at(n))) }
    }

    /// The cell's share of a body whose surface lies `offset_m` inside the shape's.
    fn share(&self, offset_m: f32) -> f32 {
        self.inside_m.iter().filter(|&&d| d + offset_m < 0.0).count() as f32 / 64.0
    }
}

/// The cells below and above the faces near a source's surface that liquid leaves through, with its velocity along their
/// axis. Through the domain's walls nothing does.
fn ways_out(cells: &Lattice, source: &Source, dx: f32) -> Vec<(Samples, Samples, f32)> {
    let slabs = map_indices(cells.size[2], |k| {
        let mut ways = vec![];
        for (j, i) in (0..cells.size[1]).flat_map(|j| (0..cells.size[0]).map(move |i| (j, i))) {
            let (at, center) = ([i, j, k], cells.position(i, j, k));
            if source.shape.distance(center).abs() > 2.0 * dx {
                continue;
            }
            for axis in AXES.into_iter().filter(|&axis| source.velocity[axis] != 0.0 && at[axis] > 0) {
                let mut step = Vec3::ZERO;
                step[axis] = dx;
                if leaves_through(&source.shape, center - 0.5 * step, source.velocity, dx) {
                    let [below, above] = [center - step, center].map(|x| Samples::new(&source.shape, x, dx));
                    ways.push((below, above, source.velocity[axis]));
                }
            }
        }
        ways
    });
    slabs.into_iter().flatten().collect()
}

/// Does liquid that leaves a shape at `velocity` leave it near x? Ahead and along its sides, not behind.
fn leaves_through(shape: &Shape, x: Vec3, velocity: Vec3, dx: f32) -> bool {
    let ahead = shape.distance(x + 0.5 * dx * velocity.normalize_or_zero());
    ahead - shape.distance(x) > BEHIND * dx
}
