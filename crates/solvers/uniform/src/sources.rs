//! Sources and sinks: shapes that add and take liquid at the start of a step.

use crate::UniformSolver;
use crate::advect::surroundings;
use crate::state::{BeginMut, ParticleWork};
use fluvial_foundation::parallel::map_indices;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Lattice};
use fluvial_mac::SourceFace;
use fluvial_particles::{self as particles, Liquid, Occasion, Particles, Reserve};
use fluvial_solids::{Shape, SolidFields};
use fluvial_solver_interface::Source;

/// A surface whose distance falls by more than this part of a cell over half a cell of the way is behind the
/// flow.
const BEHIND: f32 = -0.1;
/// Halvings of a cell that fit a source's surface to its cells.
const OFFSET_BISECTIONS: usize = 14;

impl UniformSolver {
    /// Fills active sources and empties active sinks in a copy of the liquid, which the step then begins
    /// with.
    ///
    /// A source is liquid that leaves its shape at the given velocity: inside and where the shape's surface
    /// faces that way, faces carry that velocity; behind they carry none, so that nothing is sucked in.
    /// What the shapes add and take is measured on the level set and booked as inflow and outflow, what
    /// flows as the flux through the faces.
    pub(crate) fn begin_with_sources(&mut self) {
        let mut start = std::mem::take(&mut self.start);
        start.is_changed = false;
        self.work.boundaries.sources.clear();
        let time_s = self.state.time_s;
        start.sources_flowing.clear();
        start.sources_flowing.extend(self.setup.sources.iter().map(|source| source.is_active(time_s)));
        // Shapes that start now, or only drip (no velocity, hence no flux): what they add is inflow. Shapes
        // that go on flowing are booked by their flux; topping them up mends what transport lost and
        // books nothing.
        let flowed = |n: usize| self.state.sources_flowing[n];
        let (continuing, starting): (Vec<_>, Vec<_>) =
            self.setup.active_sources(time_s).partition(|(n, s)| flowed(*n) && s.velocity != Vec3::ZERO);
        let numbers = |sources: Vec<(usize, &Source)>| sources.into_iter().map(|(n, _)| n).collect();
        let (continuing, starting): (Vec<usize>, Vec<usize>) = (numbers(continuing), numbers(starting));
        let sinks: Vec<usize> = self.setup.active_sinks(time_s).map(|(n, _)| n).collect();
        if !(continuing.is_empty() && starting.is_empty() && sinks.is_empty()) {
            start.copy(&self.state);
            self.change(start.changed(), &continuing, &starting, &sinks);
        }
        self.start = start;
    }

    fn change(&mut self, liquid: BeginMut, continuing: &[usize], starting: &[usize], sinks: &[usize]) {
        let solids = self.state.boundaries.solids.clone();
        let BeginMut { phi_cell, u_face, u_transport, particles, reserve, volume } = liquid;
        let before_m3 = self.liquid_volume(phi_cell, &solids.fields);
        self.work.boundaries.sources.begin(phi_cell.len());
        let mut filled = |shapes: &[usize], volume_m3: f64| {
            shapes.iter().for_each(|&n| self.fill_source(n, phi_cell));
            if shapes.is_empty() { volume_m3 } else { self.liquid_volume(phi_cell, &solids.fields) }
        };
        let topped_up_m3 = filled(continuing, before_m3);
        let filled_m3 = filled(starting, topped_up_m3);
        let drained_m3: f64 =
            sinks.iter().map(|&n| self.empty_sink(n, phi_cell, particles, reserve, &solids.fields)).sum();
        let after_m3 =
            if sinks.is_empty() { filled_m3 } else { self.liquid_volume(phi_cell, &solids.fields) };
        let has_particles = self.params.has_particles();
        let taken_m3 = if has_particles { drained_m3 } else { filled_m3 - after_m3 };
        volume.book_sources_and_sinks(filled_m3 - topped_up_m3, taken_m3);
        self.list_source_faces();
        for &SourceFace { axis, face, u_source } in &self.work.boundaries.sources.faces {
            (u_face[axis][face], u_transport[axis][face]) = (u_source, u_source);
        }
        if has_particles {
            reserve.inflow_m3 += filled_m3 - topped_up_m3;
            self.resample_particles(particles, reserve, phi_cell, u_face, Occasion::Sources);
            return;
        }
        // The bodies of liquid have changed: their volumes are measured anew before the next transport.
        *volume = self.remeasured(volume, phi_cell, &solids, topped_up_m3 - before_m3);
    }

    /// Unites the liquid with a source's shape and tags the cells inside.
    fn fill_source(&mut self, index: usize, phi_cell: &mut [f32]) {
        let (cells, shape) = (self.grid.cell_centers(), &self.setup.sources[index].shape);
        let (offset_m, tags) = (self.source_offset_m[index], &mut self.work.boundaries.sources.tag_cell);
        cells.for_each_mut2(phi_cell, tags, |_, [i, j, k], phi, tag| {
            let d = shape.distance(cells.position(i, j, k));
            *phi = phi.min(d + offset_m);
            if d < 0.0 {
                *tag = index as u8 + 1;
            }
        });
    }

    /// Takes the liquid out of a sink's shape; returns the volume of the particles and deep cells in it, m3.
    fn empty_sink(
        &self,
        index: usize,
        phi_cell: &mut [f32],
        particles: &mut Particles,
        reserve: &mut Reserve,
        solids: &SolidFields,
    ) -> f64 {
        let (cells, shape) = (self.grid.cell_centers(), &self.setup.sinks[index].shape);
        cells.for_each_mut(phi_cell, |_, [i, j, k], phi| {
            *phi = phi.max(-shape.distance(cells.position(i, j, k)));
        });
        let taken = particles::retain(particles, |all, p| shape.distance(all.x[p]) > 0.0);
        let mut deep = 0.0;
        for (cell, deep_cell) in reserve.deep_cell.iter_mut().enumerate().filter(|(_, deep)| **deep != 0) {
            let [i, j, k] = cells.coordinates(cell);
            if shape.distance(cells.position(i, j, k)) <= 0.0 {
                *deep_cell = 0;
                deep += solids.open_volume[cell] as f64;
            }
        }
        self.particle_m3() * taken as f64 + (self.grid.dx as f64).powi(3) * deep
    }

    /// Lists the faces of the tagged cells with their source's velocity.
    fn list_source_faces(&mut self) {
        let (setup, dx) = (&self.setup, self.grid.dx);
        self.work.boundaries.sources.list_faces(&self.grid, |axis, [low, high], x| {
            let source = &setup.sources[(if high != 0 { high } else { low }) as usize - 1];
            let inside = low != 0 && high != 0;
            let leaves = inside || leaves_through(&source.shape, x, source.velocity, dx);
            if leaves { source.velocity[axis] } else { 0.0 }
        });
    }

    /// Fills the band of particles below a surface at the start, and the cells of sources.
    pub(crate) fn resample_particles(
        &mut self,
        particles: &mut Particles,
        reserve: &mut Reserve,
        phi_cell: &[f32],
        u_face: &FaceField,
        occasion: Occasion,
    ) {
        let open_volume = &self.state.boundaries.solids.fields.open_volume[..];
        let liquid = Liquid {
            phi_cell,
            fraction_cell: &self.work.fraction_cell,
            open_volume: [open_volume; 2],
            u_face,
            is_new_cell: &self.work.boundaries.sources.tag_cell,
            band_m: self.params.narrow_band * self.grid.dx,
            transfer: self.transfer(),
            step_seed: self.state.steps,
            occasion,
        };
        let around = surroundings(&self.setup, &self.state.boundaries.solids.fields, &self.grid);
        let ParticleWork { moved, cell_ranges, scratch, .. } = &mut self.work.particles;
        particles.sort_by_cell(&self.grid, cell_ranges, scratch);
        particles::resample(moved, cell_ranges, particles, reserve, &liquid, &around, scratch);
        std::mem::swap(particles, moved);
    }

    /// Sets the sources' surfaces off their shapes so that a jet is as wide as the cells that it flows from.
    ///
    /// Flux comes from whole cells, the surface of the liquid is the shape's: a jet of the shape's section
    /// leaves, while the flux of the cells' section, up to a sixth more or less at five cells across,
    /// goes into the account. With the offset both are the cells'. The flux out of a body is `sum v_axis
    /// (share below - share above)` over the faces ahead and beside, the share being the body's in a cell
    /// for the surface, 1 in tagged cells for the cells.
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

/// The cells below and above the faces near a source's surface that liquid leaves through, with its velocity
/// along their axis. Through the domain's walls nothing does.
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
