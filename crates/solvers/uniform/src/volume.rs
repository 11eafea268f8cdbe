//! Volume of the bodies of liquid on the grid: labels, measurement, descent, what crosses the domain's
//! boundary. The account itself and its controllers are `fluvial_volume`.

use crate::UniformSolver;
use crate::state::{Begin, Fields, Solids};
use fluvial_foundation::parallel::{chunk_count, chunk_range, map_indices};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_level_set as level_set;
use fluvial_solver_interface::VolumeCorrection;
use fluvial_volume::{Account, Flux, Kinship, NO_BODY, kinship};

impl UniformSolver {
    /// Opens the account at the start.
    pub(crate) fn open_volume_account(&mut self) {
        let solids = self.state.boundaries.solids.clone();
        let phi = std::mem::take(&mut self.state.fields.phi_cell);
        let mut old = Account::default();
        old.open(self.liquid_volume(&phi, &solids.fields));
        let gap_cell = std::mem::take(&mut self.state.fields.gap_cell);
        self.state.volume = self.measure_regions(&phi, &gap_cell, &old, &solids);
        std::mem::swap(&mut self.state.fields.fraction_cell, &mut self.work.fields.fraction_cell);
        if self.params.conserves_volume() {
            self.state.volume = self.state.volume.totals();
        }
        (self.state.fields.phi_cell, self.state.fields.gap_cell) = (phi, gap_cell);
    }

    /// Closes the account of the volume that fluxes have carried; without them, measures what transport did.
    pub(crate) fn control_volume(&mut self, dt_s: f64) {
        if self.params.conserves_volume() {
            return self.close_mass(dt_s);
        }
        let Fields { phi_cell, gap_cell, .. } = &mut self.work.fields;
        let (phi, gap) = (std::mem::take(phi_cell), std::mem::take(gap_cell));
        let solids = self.work.boundaries.solids.clone();
        let mut new = self.measure_regions(&phi, &gap, &self.state.volume.totals(), &solids);
        let Begin { volume: old, u_transport, phi_cell, .. } = self.start.of(&self.state);
        let carried = Some((u_transport, dt_s));
        let kin = descent(&new, old, [&phi, phi_cell], &self.grid, carried);
        new.transported_from(old, &kin, &self.boundary_flux_m3_s(dt_s), dt_s);
        let [in_m3, out_m3] = self.unclaimed_m3();
        new.book_sources_and_sinks(in_m3, out_m3);
        new.share_debt(self.grid.dx);
        self.work.volume = new;
        (self.work.fields.phi_cell, self.work.fields.gap_cell) = (phi, gap);
    }

    /// What sources bring in, what sinks have taken and what leaves through open walls, per body of the
    /// account at the step's beginning.
    fn boundary_flux_m3_s(&self, dt_s: f64) -> Vec<Flux> {
        let Begin { volume: old, u_transport: u, phi_cell, .. } = self.start.of(&self.state);
        let mut flux = vec![Flux::default(); old.bodies.len()];
        let (grid, boundaries, sources) = (&self.grid, &self.work.boundaries, &self.work.sources);
        let open_area = &boundaries.solids.fields.open_area;
        let cells = grid.cell_centers();
        let face_m2 = (grid.dx as f64).powi(2);
        for inflow in &sources.inflow {
            if let Some(flux) = inflow.body(old).and_then(|body| flux.get_mut(body)) {
                flux.in_m3_s += inflow.volume_m3 / dt_s;
            }
        }
        for (cell, taken_m3) in &sources.taken_cell {
            if let Some(flux) = flux.get_mut(old.body_of(*cell)) {
                flux.out_m3_s += taken_m3 / dt_s;
            }
        }
        let open_walls = self.setup.open_walls();
        for (wall, _) in open_walls.iter().enumerate().filter(|(_, open)| **open) {
            let (axis, high) = (wall / 2, wall % 2 == 1);
            let faces = grid.faces(axis);
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            for (m, n) in (0..grid.cells[b]).flat_map(|n| (0..grid.cells[a]).map(move |m| (m, n))) {
                let mut at = [0; 3];
                (at[a], at[b]) = (m, n);
                at[axis] = if high { grid.cells[axis] - 1 } else { 0 };
                let cell = cells.index(at[0], at[1], at[2]);
                let phi = phi_cell[cell];
                if phi >= grid.dx {
                    continue;
                }
                at[axis] += high as usize;
                let face = faces.index(at[0], at[1], at[2]);
                let out = if high { u[axis][face] } else { -u[axis][face] };
                let wet = (0.5 - phi / grid.dx).clamp(0.0, 1.0) * open_area[axis][face];
                if let Some(flux) = flux.get_mut(old.body_of(cell)) {
                    flux.out_m3_s += (out * wet) as f64 * face_m2;
                }
            }
        }
        flux
    }

    /// What sources and sinks did where no body of the step's beginning was, m3.
    fn unclaimed_m3(&self) -> [f64; 2] {
        let (old, sources) = (self.start.of(&self.state).volume, &self.work.sources);
        let lone = |body: usize| body >= old.bodies.len();
        let inflow = sources.inflow.iter().filter(|inflow| inflow.body(old).is_none());
        let taken = sources.taken_cell.iter().filter(|(cell, _)| lone(old.body_of(*cell)));
        [inflow.map(|inflow| inflow.volume_m3).sum(), taken.map(|(_, taken_m3)| taken_m3).sum()]
    }

    /// Labels the bodies of `phi` and measures each; errors start at zero.
    fn measure_regions(&mut self, phi: &[f32], gap_cell: &[f32], old: &Account, solids: &Solids) -> Account {
        let mut new = old.totals();
        let regional = self.params.volume_correction == VolumeCorrection::On;
        let mut fractions = std::mem::take(&mut self.work.fields.fraction_cell);
        self.fill_fractions(&mut fractions, phi, gap_cell, &solids.fields);
        let cells = self.grid.cell_centers();
        let count = if regional {
            // The buffer of the account that this one replaces.
            new.label_cell = std::mem::take(&mut self.work.volume.label_cell);
            let open = AXES.map(|axis| solids.fields.open_area[axis].as_slice());
            level_set::label_regions(&mut new.label_cell, phi, open, &self.grid)
        } else {
            1
        };
        let cell_m3 = (self.grid.dx as f64).powi(3);
        let labels = &new.label_cell;
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
        let parts = parts.into_iter().flatten();
        new.set_bodies(count, parts.map(|(label, sum, depth_m)| (label, sum * cell_m3, depth_m)));
        self.work.fields.fraction_cell = fractions;
        new
    }
}

/// Which old bodies the new ones come from, by where their cells' liquid was before it was `carried` along a
/// velocity for some seconds, if it was.
fn descent(
    new: &Account,
    old: &Account,
    [phi_new, phi_old]: [&[f32]; 2],
    grid: &UniformGrid,
    carried: Option<(&FaceField, f64)>,
) -> Kinship {
    let cells = grid.cell_centers();
    let deep_m = -2.0 * grid.dx;
    kinship(new, old, |cell| {
        let deep = phi_new[cell] < deep_m && phi_old[cell] < deep_m;
        match carried {
            Some((u, dt_s)) if !deep => {
                let [i, j, k] = cells.coordinates(cell);
                let x = cells.position(i, j, k);
                let u = grid.sample_velocity(u, x);
                body_near(x - dt_s as f32 * u, &old.label_cell, phi_old, &cells)
            }
            _ => old.label_cell[cell],
        }
    })
}

/// The body that a cell's liquid belongs to; cells beyond the surface belong to their wettest neighbour's.
fn body_of_cell(cell: usize, labels: &[u32], phi: &[f32], cells: &Lattice) -> u32 {
    if labels[cell] != NO_BODY {
        return labels[cell];
    }
    let at = cells.coordinates(cell);
    let mut best = (f32::INFINITY, NO_BODY);
    for axis in 0..3 {
        for up in [false, true] {
            if if up { at[axis] + 1 < cells.size[axis] } else { at[axis] > 0 } {
                let stride = cells.stride(axis);
                let neighbour = if up { cell + stride } else { cell - stride };
                if labels[neighbour] != NO_BODY && phi[neighbour] < best.0 {
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
    if here != NO_BODY {
        return here;
    }
    let mut best = (f32::INFINITY, NO_BODY);
    for dk in -1..=1 {
        for dj in -1..=1 {
            for di in -1..=1 {
                let cell = cells.index_clamped(i + di, j + dj, k + dk);
                if labels[cell] != NO_BODY && phi[cell] < best.0 {
                    best = (phi[cell], labels[cell]);
                }
            }
        }
    }
    best.1
}
