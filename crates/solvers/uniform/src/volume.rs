//! Volume bookkeeping and its correction.
//!
//! Transport by a level set loses or gains a little volume every step. Each body of liquid carries the error
//! e = volume - volume it should have; a proportional-integral controller asks the next projection for the
//! divergence `c = -(kp x + ki y) / (1 + x)`, x = e / V, y = integral of x dt, kp = 2.3 / (n dt),
//! ki = kp^2 / 16  [Kim, Liu, Llamas, Rossignac 2007; octree paper §8]. The error that transport alone made is
//! kept beside it, so that a leak is never hidden.

use crate::step::Clamps;
use crate::{UniformSolver, VolumeCorrection};
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{chunk_count, chunk_range, map_indices};
use fluvial_grids::Lattice;
use fluvial_level_set as level_set;

/// No body of liquid.
const NONE: u32 = u32::MAX;
/// Bodies that are nowhere thicker than twice this, in cells, are left to themselves: films and drops that the grid
/// cannot hold would be blown up in vain. What they lose is made up for by the others.
const SHALLOWEST_CORRECTED_CELLS: f32 = 2.0;
/// Steps in which a controller removes nine tenths of an error: Kim et al.'s 25 for particles, whose surface breathes by
/// a percent and comes back by itself; few for a level set, whose losses are for good.
const CORRECTION_STEPS_OF_PARTICLES: f64 = 25.0;
const CORRECTION_STEPS: f64 = 3.0;
/// Largest relative change of volume that a correction may ask of one step.
const LARGEST_CHANGE_PER_STEP: f64 = 0.02;

/// One connected body of liquid (or all liquid, when the correction is global).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    pub volume_m3: f64,
    /// Volume minus what it should be.
    pub error_m3: f64,
    /// Largest distance from the surface inside, metres.
    pub depth_m: f32,
    /// Integral of error / volume, s.
    pub integral_s: f64,
    /// Asked of the projection, 1/s.
    pub divergence_1_s: f64,
}

/// The account of all liquid.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeControl {
    pub start_m3: f64,
    pub inflow_m3: f64,
    pub outflow_m3: f64,
    /// Volume that the controllers have put in (or taken out, negative).
    pub corrected_m3: f64,
    /// Volume at the moment of the last measurement.
    pub volume_m3: f64,
    pub largest_expected_m3: f64,
    pub regions: Vec<Region>,
    /// Body of each cell; empty when there is one account for all.
    pub label_cell: Vec<u32>,
}

impl VolumeControl {
    /// The divergence that the projection shall leave in a cell.
    pub fn divergence_1_s(&self, cell: usize) -> f32 {
        let region = match self.label_cell.get(cell) {
            Some(&label) => self.regions.get(label as usize),
            None => self.regions.first(),
        };
        region.map_or(0.0, |r| r.divergence_1_s as f32)
    }

    pub fn book_sources_and_sinks(&mut self, in_m3: f64, out_m3: f64) {
        self.inflow_m3 += in_m3;
        self.outflow_m3 += out_m3;
    }

    /// The account without its bodies.
    fn totals(&self) -> VolumeControl {
        VolumeControl {
            start_m3: self.start_m3,
            inflow_m3: self.inflow_m3,
            outflow_m3: self.outflow_m3,
            corrected_m3: self.corrected_m3,
            volume_m3: self.volume_m3,
            largest_expected_m3: self.largest_expected_m3,
            regions: vec![],
            label_cell: vec![],
        }
    }

    fn expected_m3(&self) -> f64 {
        self.start_m3 + self.inflow_m3 - self.outflow_m3
    }

    /// Error relative to the largest volume that there should have been.
    pub fn error(&self) -> f64 {
        self.relative(self.volume_m3 - self.expected_m3())
    }

    /// The same without what the controllers did.
    pub fn raw_error(&self) -> f64 {
        self.relative(self.volume_m3 - self.corrected_m3 - self.expected_m3())
    }

    fn relative(&self, volume_m3: f64) -> f64 {
        if self.largest_expected_m3 > 0.0 { volume_m3 / self.largest_expected_m3 } else { 0.0 }
    }
}

/// Volume per second across a body's sources and open walls.
#[derive(Clone, Copy, Default)]
struct Flux {
    in_m3_s: f64,
    out_m3_s: f64,
}

impl Flux {
    fn net(&self) -> f64 {
        self.in_m3_s - self.out_m3_s
    }
}

/// Which old body has liquid in which new one: (old, new), sorted, each pair once.
type Kinship = Vec<(u32, u32)>;

impl UniformSolver {
    /// Opens the account at the start.
    pub(crate) fn open_volume_account(&mut self) {
        let volume_m3 = self.liquid_volume(&self.state.phi_cell);
        let account = &mut self.state.volume;
        (account.start_m3, account.volume_m3, account.largest_expected_m3) =
            (volume_m3, volume_m3, volume_m3);
        self.remeasure_regions(0.0);
    }

    /// Measures the bodies of liquid of the committed state after something other than transport changed them;
    /// every body keeps its error. `mended_m3` is what flowing sources put back of their own bodies' losses.
    pub(crate) fn remeasure_regions(&mut self, mended_m3: f64) {
        let phi = std::mem::take(&mut self.state.phi_cell);
        let old = std::mem::take(&mut self.state.volume);
        let mut new = self.measure_regions(&phi, &old);
        let kin = self.kinship(&new, &old, &phi, &phi, 0.0);
        inherit(&mut new, &old, &kin, None);
        if let Some(cell) = self.work.source_cell.iter().position(|&tag| tag != 0) {
            let label = new.label_cell.get(cell).copied().unwrap_or(0);
            if let Some(region) = new.regions.get_mut(label as usize) {
                region.error_m3 += mended_m3;
            }
        }
        new.largest_expected_m3 = new.largest_expected_m3.max(new.expected_m3());
        self.state.phi_cell = phi;
        self.state.volume = new;
    }

    /// Measures what transport did to every body and sets the divergence that corrects it.
    pub(crate) fn control_volume(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let phi_new = std::mem::take(&mut self.work.phi_cell);
        let old = std::mem::take(&mut self.state.volume);
        let mut new = self.measure_regions(&phi_new, &old);
        let kin = self.kinship(&new, &old, &phi_new, &self.state.phi_cell, dt_s);

        // What each old body should have become. What the controller itself asked for is no part of it: that
        // change of volume is there to bring the error back to zero.
        let flux = self.boundary_flux_m3_s(&old);
        let grown = |o: usize| old.regions[o].volume_m3 + flux[o].net() * dt_s;
        let expected: Vec<f64> = (0..old.regions.len()).map(grown).collect();
        inherit(&mut new, &old, &kin, Some(&expected));
        new.inflow_m3 += flux.iter().map(|f| f.in_m3_s).sum::<f64>() * dt_s;
        new.outflow_m3 += flux.iter().map(|f| f.out_m3_s).sum::<f64>() * dt_s;
        new.corrected_m3 += old.regions.iter().map(|r| r.divergence_1_s * dt_s * r.volume_m3).sum::<f64>();
        new.largest_expected_m3 = new.largest_expected_m3.max(new.expected_m3());
        self.share_debt(&mut new);
        if self.params.volume_correction != VolumeCorrection::Off {
            self.set_divergence(&mut new, dt_s, clamps);
        }
        self.work.phi_cell = phi_new;
        self.state.volume = old;
        self.work.volume = new;
    }

    /// Liquid that sources push in and that leaves through open walls, per body of the old account.
    fn boundary_flux_m3_s(&self, old: &VolumeControl) -> Vec<Flux> {
        let mut flux = vec![Flux::default(); old.regions.len()];
        let grid = &self.grid;
        let cells = grid.cell_centers();
        let face_m2 = (grid.dx as f64).powi(2);
        let u = &self.state.u_transport;
        let body = |cell: usize| match old.label_cell.get(cell) {
            Some(&label) => label as usize,
            None => 0,
        };
        if self.had_sources {
            for (cell, _) in self.work.source_cell.iter().enumerate().filter(|(_, tag)| **tag != 0) {
                let [i, j, k] = cells.coordinates(cell);
                if let Some(flux) = flux.get_mut(body(cell)) {
                    flux.in_m3_s += self.outflow(u, i, j, k) as f64 * face_m2;
                }
            }
        }
        for (wall, _) in self.open_walls.iter().enumerate().filter(|(_, open)| **open) {
            let (axis, high) = (wall / 2, wall % 2 == 1);
            let faces = grid.faces(axis);
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            for (m, n) in (0..grid.cells[b]).flat_map(|n| (0..grid.cells[a]).map(move |m| (m, n))) {
                let mut at = [0; 3];
                (at[a], at[b]) = (m, n);
                at[axis] = if high { grid.cells[axis] - 1 } else { 0 };
                let cell = cells.index(at[0], at[1], at[2]);
                let phi = self.state.phi_cell[cell];
                if phi >= grid.dx {
                    continue;
                }
                at[axis] += high as usize;
                let face = faces.index(at[0], at[1], at[2]);
                let out = if high { u[axis][face] } else { -u[axis][face] };
                let wet = (0.5 - phi / grid.dx).clamp(0.0, 1.0) * self.solids.open_area[axis][face];
                if let Some(flux) = flux.get_mut(body(cell)) {
                    flux.out_m3_s += (out * wet) as f64 * face_m2;
                }
            }
        }
        flux
    }

    /// Where all bodies are shallow, those half as deep as the deepest are still corrected: nobody else could make up
    /// for what they lose.
    fn shallowest_corrected_m(&self, account: &VolumeControl) -> f32 {
        let deepest_m = account.regions.iter().fold(0.0, |deepest, r| r.depth_m.max(deepest));
        (0.5 * deepest_m).min(SHALLOWEST_CORRECTED_CELLS * self.grid.dx)
    }

    /// Makes the errors of the bodies that can be corrected add up to the whole error: what vanished, what is too
    /// thin and what belongs to no body is their debt, by their volume.
    fn share_debt(&self, account: &mut VolumeControl) {
        let shallowest_m = self.shallowest_corrected_m(account);
        let mut debt_m3 = account.volume_m3 - account.expected_m3();
        let mut deep_m3 = 0.0;
        for region in account.regions.iter().filter(|r| r.depth_m >= shallowest_m) {
            deep_m3 += region.volume_m3;
            debt_m3 -= region.error_m3;
        }
        for region in account.regions.iter_mut().filter(|r| r.depth_m >= shallowest_m) {
            region.error_m3 += debt_m3 * region.volume_m3 / deep_m3;
        }
    }

    fn set_divergence(&self, account: &mut VolumeControl, dt_s: f64, clamps: &mut Clamps) {
        let steps =
            if self.params.has_particles() { CORRECTION_STEPS_OF_PARTICLES } else { CORRECTION_STEPS };
        let kp = 2.3 / (steps * dt_s);
        let ki = kp * kp / 16.0;
        let limit = LARGEST_CHANGE_PER_STEP / dt_s;
        let mut clamped = 0;
        let shallowest_m = self.shallowest_corrected_m(account);
        for region in account.regions.iter_mut().filter(|r| r.depth_m >= shallowest_m) {
            let x = region.error_m3 / region.volume_m3;
            region.integral_s += x * dt_s;
            let wanted = -(kp * x + ki * region.integral_s) / (1.0 + x).max(0.5);
            region.divergence_1_s = wanted.clamp(-limit, limit);
            if region.divergence_1_s != wanted {
                clamped += 1;
                region.integral_s -= x * dt_s; // no wind-up while held back
            }
        }
        clamps.add("volume_correction_rate", clamped);
    }

    /// Labels the bodies of `phi` and measures each; errors start at zero.
    fn measure_regions(&mut self, phi: &[f32], old: &VolumeControl) -> VolumeControl {
        let mut new = old.totals();
        let regional = self.params.volume_correction == VolumeCorrection::Regional;
        self.fill_fractions(phi);
        let cells = self.grid.cell_centers();
        let count = if regional {
            // The buffer of the account that this one replaces.
            new.label_cell = std::mem::take(&mut self.work.volume.label_cell);
            let open = [0, 1, 2].map(|axis| self.solids.open_area[axis].as_slice());
            level_set::label_regions(&mut new.label_cell, phi, open, &self.grid)
        } else {
            1
        };
        let cell_m3 = (self.grid.dx as f64).powi(3);
        let (labels, fractions) = (&new.label_cell, &self.work.fraction_cell);
        let slab = cells.slab();
        let parts = map_indices(chunk_count(fractions.len(), 8 * slab), |c| {
            let mut volumes: Vec<(u32, f64, f32)> = Vec::new();
            for cell in chunk_range(c, 8 * slab, fractions.len()) {
                let fraction = fractions[cell] as f64;
                if fraction > 0.0 {
                    let label = if regional { body_of_cell(cell, labels, phi, &cells) } else { 0 };
                    match volumes.last_mut() {
                        Some((last, sum, depth_m)) if *last == label => {
                            *sum += fraction;
                            *depth_m = depth_m.max(-phi[cell]);
                        }
                        _ => volumes.push((label, fraction, -phi[cell])),
                    }
                }
            }
            volumes
        });
        new.regions = vec![Region::default(); count];
        new.volume_m3 = 0.0;
        for (label, sum, depth_m) in parts.into_iter().flatten() {
            new.volume_m3 += sum * cell_m3;
            if let Some(region) = new.regions.get_mut(label as usize) {
                region.volume_m3 += sum * cell_m3;
                region.depth_m = region.depth_m.max(depth_m);
            }
        }
        new
    }

    /// Which old bodies the new ones come from, by where their cells' liquid was `dt_s` ago.
    fn kinship(
        &self,
        new: &VolumeControl,
        old: &VolumeControl,
        phi_new: &[f32],
        phi_old: &[f32],
        dt_s: f64,
    ) -> Kinship {
        if old.regions.is_empty() || new.regions.is_empty() {
            return vec![];
        }
        if old.regions.len() == 1 && new.regions.len() == 1 {
            return vec![(0, 0)];
        }
        let cells = self.grid.cell_centers();
        let deep_m = -2.0 * self.grid.dx;
        let slab = cells.slab();
        let parts = map_indices(cells.size[2], |k| {
            let mut pairs: Kinship = Vec::new();
            for cell in k * slab..(k + 1) * slab {
                let to = new.label_cell[cell];
                if to == NONE {
                    continue;
                }
                let from = if dt_s == 0.0 || (phi_new[cell] < deep_m && phi_old[cell] < deep_m) {
                    old.label_cell[cell]
                } else {
                    let [i, j, k] = cells.coordinates(cell);
                    let x = cells.position(i, j, k);
                    let u = self.grid.sample_velocity(&self.state.u_transport, x);
                    body_near(x - dt_s as f32 * u, &old.label_cell, phi_old, &cells)
                };
                if from == NONE {
                    continue;
                }
                if pairs.last() != Some(&(from, to)) {
                    pairs.push((from, to));
                }
            }
            pairs
        });
        let mut pairs: Kinship = parts.into_iter().flatten().collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// Hands the errors of old bodies to the new ones that have their liquid.
///
/// Bodies that merge and split in one step are one family: their errors are added up and shared in proportion to
/// volume, since nobody can tell whose error went where. `expected_m3` is what transport should have made of
/// each old body; without it (sources, sinks) the change of volume is no error.
fn inherit(new: &mut VolumeControl, old: &VolumeControl, kin: &Kinship, expected_m3: Option<&[f64]>) {
    let old_count = old.regions.len();
    let mut root: Vec<usize> = (0..old_count + new.regions.len()).collect();
    fn find(root: &mut [usize], mut n: usize) -> usize {
        while root[n] != n {
            root[n] = root[root[n]];
            n = root[n];
        }
        n
    }
    for &(from, to) in kin {
        let (a, b) = (find(&mut root, from as usize), find(&mut root, old_count + to as usize));
        root[a.max(b)] = a.min(b);
    }
    let mut families = vec![Region::default(); root.len()];
    let mut parents_m3 = vec![0.0; root.len()];
    for (o, body) in old.regions.iter().enumerate() {
        let r = find(&mut root, o);
        let family = &mut families[r];
        family.error_m3 += body.error_m3 - expected_m3.map_or(0.0, |e| e[o]);
        family.integral_s += body.integral_s * body.volume_m3;
        family.divergence_1_s += body.divergence_1_s * body.volume_m3;
        parents_m3[r] += body.volume_m3;
    }
    for (n, body) in new.regions.iter().enumerate() {
        families[find(&mut root, old_count + n)].volume_m3 += body.volume_m3;
    }
    for n in 0..new.regions.len() {
        let r = find(&mut root, old_count + n);
        let (family, body) = (families[r], &mut new.regions[n]);
        let transported = expected_m3.is_some();
        let error_m3 = family.error_m3 + if transported { family.volume_m3 } else { 0.0 };
        let share = |total: f64, volume: f64| if volume > 0.0 { total / volume } else { 0.0 };
        body.error_m3 = body.volume_m3 * share(error_m3, family.volume_m3);
        body.integral_s = share(family.integral_s, parents_m3[r]);
        if !transported {
            // What the last projection asked for is still under way.
            body.divergence_1_s = share(family.divergence_1_s, family.volume_m3);
        }
    }
}

/// The body that a cell's liquid belongs to; cells beyond the surface belong to their wettest neighbour's.
fn body_of_cell(cell: usize, labels: &[u32], phi: &[f32], cells: &Lattice) -> u32 {
    if labels[cell] != NONE {
        return labels[cell];
    }
    let at = cells.coordinates(cell);
    let mut best = (f32::INFINITY, NONE);
    for axis in 0..3 {
        for up in [false, true] {
            if if up { at[axis] + 1 < cells.size[axis] } else { at[axis] > 0 } {
                let stride = cells.stride(axis);
                let neighbour = if up { cell + stride } else { cell - stride };
                if labels[neighbour] != NONE && phi[neighbour] < best.0 {
                    best = (phi[neighbour], labels[neighbour]);
                }
            }
        }
    }
    best.1
}

/// The body at a point, or the wettest one within a cell of it.
fn body_near(x: Vec3, labels: &[u32], phi: &[f32], cells: &Lattice) -> u32 {
    let at = ((x - cells.origin) / cells.spacing).round();
    let [i, j, k] = [at.x as isize, at.y as isize, at.z as isize];
    let here = labels[cells.index_clamped(i, j, k)];
    if here != NONE {
        return here;
    }
    let mut best = (f32::INFINITY, NONE);
    for dk in -1..=1 {
        for dj in -1..=1 {
            for di in -1..=1 {
                let cell = cells.index_clamped(i + di, j + dj, k + dk);
                if labels[cell] != NONE && phi[cell] < best.0 {
                    best = (phi[cell], labels[cell]);
                }
            }
        }
    }
    best.1
}
