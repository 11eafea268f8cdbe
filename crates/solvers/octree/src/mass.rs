//! Volume by construction: fluxes carry what each cell holds from tree to tree, and phi follows. The kernels are
//! `fluvial_octree::{flux, owed, settle}`; the scheme is that of `uniform`, see its `mass.rs`.
//!
//! Liquid is what phi stands for, drops that are too small for it, and a signed residual that cells are owed.
//! A step
//!
//! 1. moves volume through the faces of the old tree, so that the sum changes by what sources, sinks and open
//!    walls do alone, and hands it to the cells of the new one,
//! 2. displaces the carried surface by what its neighbourhood is owed,
//! 3. keeps the rest for the next step: a residual in the air becomes a drop, one deep inside is asked of the
//!    projection as divergence, which moves it to the surface.

use crate::particles::Swarm;
use crate::state::{Boundaries, Ground, Model, Start, Step, TransportScratch};
use crate::thin::ThinSolids;
use fluvial_drops::Drops;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;
use fluvial_octree::extend::{ExtendScratch, extend_cells};
use fluvial_octree::flux::{Carrier, Fluxes};
use fluvial_octree::gradient::Geometry;
use fluvial_octree::owed::{Owed, carry_residual, hand_over, leave_closed_cells};
use fluvial_octree::parting;
use fluvial_octree::settle::Settlement;
use fluvial_octree::slope::slopes;
use fluvial_octree::volume::{Fits, liquid_fractions};
use fluvial_solver_interface::{Clamps, VolumeCorrection};
use fluvial_volume::{Account, Expansion, beyond_swept};
use std::sync::Arc;

/// A residual farther from the surface than this has none to be settled by, cells.
pub(crate) const FAR_CELLS: f32 = 1.5;
/// A residual deeper in the liquid than this stays where it is, cells: the projection moves it to the surface.
const DEEP_CELLS: f32 = 2.0;
/// Rounds of displacement in a step: the second one makes up for what the first one misses at films.
const ROUNDS: usize = 2;
/// The largest way of a solid in a step, cells.
const FARTHEST_UNCOVERED_CELLS: usize = 4;
/// Cells with less of their faces open ask the projection for nothing: through what is left it would be a jet.
const LEAST_OPEN_PART: f32 = 0.45;

/// What a step carries volume with.
#[derive(Default)]
pub(crate) struct MassScratch {
    fluxes: Fluxes,
    /// Volume of every cell of the old tree after transport, and of the new one, in the cells' volumes.
    volume_old_cell: Vec<f32>,
    pub volume_cell: Vec<f32>,
    /// Cells of the old tree whose residual stays where it is.
    stays_cell: Vec<bool>,
    settlement: Settlement,
    ready: ReadyFits,
    extend: ExtendScratch,
    /// Drops that have become liquid of the grid: cell, velocity, m3.
    pub arrived: Vec<(usize, Vec3, f64)>,
    /// What came in from sources, and what left through sinks and open walls, m3.
    in_m3: f64,
    pub out_m3: f64,
}

/// Fits to the surroundings of the surface, and the tree that they are ready on.
#[derive(Default)]
pub(crate) struct ReadyFits {
    fits: Fits,
    tree: Option<Arc<Octree>>,
}

impl ReadyFits {
    /// Makes fits ready for a surface.
    fn prepare(&mut self, tree: &Arc<Octree>, phi: &[f32]) {
        self.fits.prepare(tree, phi);
        self.tree = Some(tree.clone());
    }

    /// Those for a tree: after a step that failed they are another one's.
    fn on(&self, tree: &Arc<Octree>) -> &Fits {
        match &self.tree {
            Some(known) if Arc::ptr_eq(known, tree) => &self.fits,
            _ => Fits::NONE,
        }
    }
}

/// The liquid that a step makes, beside its velocity.
pub(crate) struct Settled<'a> {
    pub phi: &'a mut Vec<f32>,
    /// How small cells should be, 1/m.
    pub size: &'a mut Vec<f32>,
    /// What phi stands for in every cell, in its volume.
    pub fraction: &'a mut Vec<f32>,
    /// What the cells are owed beside.
    pub residual: &'a mut Vec<f32>,
    /// Cells that have let go of walls and solids: they lack the gap.
    pub parted: &'a mut Vec<bool>,
    pub drops: &'a mut Drops,
}

impl Settled<'_> {
    /// Distance, residuals, and cells that have let go.
    pub fn shape(&self) -> (&[f32], &[f32], &[bool]) {
        (self.phi, self.residual, self.parted)
    }

    /// The same, for what lets cells go.
    pub fn parting(&mut self) -> (&[f32], &[f32], &mut [bool]) {
        (self.phi, self.residual, self.parted)
    }
}

impl Model {
    /// Is volume carried by fluxes?
    pub fn conserves_volume(&self) -> bool {
        self.params.volume_correction != VolumeCorrection::Off
    }

    /// What phi stands for.
    pub fn fill_fractions(
        &self,
        fraction: &mut Vec<f32>,
        tree: &Octree,
        phi: &[f32],
        boundaries: &Boundaries,
        fits: &Fits,
    ) {
        liquid_fractions(fraction, tree, phi, self.open(boundaries), fits);
    }
}

/// Volume of all cells, m3.
pub(crate) fn total_m3(tree: &Octree, part_cell: &[f32]) -> f64 {
    let chunks = parallel::chunk_count(part_cell.len(), parallel::CHUNK);
    parallel::ordered_sum(chunks, |n| {
        let cells = parallel::chunk_range(n, parallel::CHUNK, part_cell.len());
        cells.map(|cell| f64::from(part_cell[cell]) * f64::from(tree.cell_dx(cell)).powi(3)).sum()
    })
}

impl Step<'_> {
    /// Moves the volume of every cell through its faces, on the old tree: `F = L + r - sum of fluxes`.
    pub fn carry_volume(
        &self,
        mass: &mut MassScratch,
        start: &Start,
        flow: &TransportScratch,
        thin: &ThinSolids,
        ground: Ground,
    ) {
        (mass.in_m3, mass.out_m3) = (0.0, start.drained_m3);
        let (tree, boundaries) = (&*self.old.fields.tree, &*self.old.boundaries);
        let MassScratch { fluxes, ready, volume_old_cell: volume, stays_cell, .. } = mass;
        let carrier = Carrier {
            tree,
            // As the old sides see it: cells that a thin solid passes in the step have not changed yet.
            phi_cell: if thin.changes.is_empty() { &start.phi_cell } else { &self.old.fields.phi_cell },
            u_face: &flow.u_face,
            tracing: &flow.tracing,
            // The velocity is free of divergence between the solids of the step that made it.
            open_area: &boundaries.open_area,
            phi_solid_node: &boundaries.phi_solid_node,
            sides: boundaries.sides(),
            fits: ready.on(&self.old.fields.tree),
            dt_s: self.dt_s as f32,
        };
        fluxes.fill(&carrier);
        mass.out_m3 += fluxes.out_of_domain_m3(tree);
        if !self.model.conserves_volume() {
            return;
        }
        stays_cell.clone_from(&self.old.fields.parted_cell);
        let swept = &ground.boundaries.swept_part_cell;
        if !swept.is_empty() {
            parallel::for_each_indexed_mut(stays_cell, |cell, stays| {
                let swept = swept[ground.tree.locate(tree.cell_center(cell)).cell as usize];
                *stays |= beyond_swept(start.residual_cell[cell], swept) == 0.0;
            });
        }
        let owed = Owed {
            tree,
            residual_cell: &start.residual_cell,
            phi_cell: &start.phi_cell,
            stays_cell,
            deep_cells: DEEP_CELLS,
            open_volume: &boundaries.open_volume,
            open_walls: self.model.setup.open_walls(),
            sides: boundaries.sides(),
        };
        mass.out_m3 += carry_residual(volume, &owed, &flow.tracing, self.dt_s as f32);
        let fluxes = &*fluxes;
        parallel::for_each_indexed_mut(volume, |cell, volume| {
            let out = fluxes.outflow_m3(tree, cell) / f64::from(tree.cell_dx(cell)).powi(3);
            *volume += (f64::from(start.fraction_cell[cell]) - out) as f32;
        });
        self.hand_over_at_thin_solids(volume, thin);
    }

    /// Cells that a thin solid passes give what they hold to the next cell of their old side, and share with the
    /// next one of their new side. All of them are finest ones.
    fn hand_over_at_thin_solids(&self, volume: &mut [f32], thin: &ThinSolids) {
        let Some(fine) = thin.passing() else { return };
        let (tree, sides, open) = (&*self.old.fields.tree, fine.sides(), &fine.fields.open_volume);
        let leaf = |cell: u32| sides.leaf(tree, cell as usize);
        for change in &thin.changes {
            if let Some(refuge) = change.refuge {
                volume[leaf(refuge)] += std::mem::take(&mut volume[leaf(change.cell)]);
            }
        }
        for change in &thin.changes {
            let Some(donor) = change.donor else { continue };
            let [part, whole] = [change.cell, donor].map(|cell| open[cell as usize]);
            let given = part / (part + whole).max(f32::MIN_POSITIVE) * volume[leaf(donor)];
            volume[leaf(donor)] -= given;
            volume[leaf(change.cell)] += given;
        }
    }

    /// Hands the volume to the new tree, with what drops and sources bring, and displaces the carried surface by
    /// what its cells are owed.
    pub fn settle_volume(
        &self,
        liquid: &mut Settled,
        mass: &mut MassScratch,
        (thin, swarm): (&ThinSolids, &Swarm),
        ground: Ground,
        clamps: &mut Clamps,
    ) {
        let (tree, boundaries) = (ground.tree, ground.boundaries);
        mass.ready.prepare(tree, liquid.phi);
        self.move_drops(liquid, mass, thin, ground);
        if self.model.has_solids() {
            let (closed, solid) = (&boundaries.closed_cell, &boundaries.phi_solid_cell);
            extend_cells(liquid.phi, tree, closed, solid, &mut mass.extend);
        }
        self.model.fill_fractions(liquid.fraction, tree, liquid.phi, boundaries, &mass.ready.fits);
        if !self.model.conserves_volume() {
            // Gaps are volume that cells lack: without an account of it walls hold on.
            liquid.parted.clear();
            liquid.parted.resize(tree.cell_count(), false);
            mass.in_m3 = self.inflow_m3(ground);
            return;
        }
        let old = (&*self.old.fields.tree, &mass.volume_old_cell[..]);
        let stands = (&liquid.phi[..], &liquid.fraction[..], &boundaries.open_volume[..]);
        hand_over(&mut mass.volume_cell, old, tree, stands);
        if self.model.setup.has_moving_solids() {
            let solids = (&boundaries.open_volume[..], &boundaries.phi_solid_cell[..]);
            leave_closed_cells(&mut mass.volume_cell, tree, solids, boundaries.sides());
        }
        for &(cell, _, volume_m3) in &mass.arrived {
            mass.volume_cell[cell] += (volume_m3 / f64::from(tree.cell_dx(cell)).powi(3)) as f32;
        }
        self.fill_from_sources(liquid, mass, ground);
        mass.out_m3 += self.drain_into_sinks(&mut mass.volume_cell, liquid.fraction, tree);
        find_residual(liquid, &mass.volume_cell);
        let mut has_moved = self.open_gaps(liquid, ground);
        mass.settlement.link(liquid.phi, tree);
        for round in 0..ROUNDS {
            if std::mem::replace(&mut has_moved, true) {
                self.model.fill_fractions(liquid.fraction, tree, liquid.phi, boundaries, &mass.ready.fits);
                find_residual(liquid, &mass.volume_cell);
            }
            let (open, sides) = (&boundaries.open_volume, boundaries.sides());
            // A gap at a wall is not the surface's to fill.
            for (residual, _) in
                liquid.residual.iter_mut().zip(&*liquid.parted).filter(|(_, parted)| **parted)
            {
                *residual = 0.0;
            }
            for (residual, &swept) in liquid.residual.iter_mut().zip(&boundaries.swept_part_cell) {
                *residual = beyond_swept(*residual, swept);
            }
            if round == 0 {
                self.gather_from_air(liquid, mass, ground);
            }
            if round == 0 && self.model.moves_with_surface() && swarm.is_empty() {
                self.share_out_debts(liquid, mass, ground);
            }
            let held_back = mass.settlement.displace(liquid.phi, liquid.residual, open, sides, tree);
            clamps.add("surface_displacement", held_back);
        }
    }

    /// Cells at the surface share out what they are owed; gaps at boundaries and what solids sweep stay their cells' own. Where
    /// particles say which cell it is that holds too much or too little nothing is shared: the tip of a dam break ran ahead by 2 to 6 %.
    fn share_out_debts(&self, liquid: &mut Settled, mass: &mut MassScratch, ground: Ground) {
        let (parted, phi) = (&liquid.parted[..], &liquid.phi[..]);
        let open_volume = &ground.boundaries.open_volume;
        let takes_part = |cell: usize| !keeps_its_own(parted, ground, cell);
        let owed = (&mut liquid.residual[..], &mut mass.volume_cell[..]);
        let on = (&**ground.tree, ground.boundaries.sides());
        mass.settlement.share_out(owed, (phi, open_volume), takes_part, on);
    }

    /// What cells in the air beside the surface are owed becomes that of the cells at the surface, which is displaced by it. Those that
    /// solids cut keep it: it may be what the open part of their faces let pass.
    fn gather_from_air(&self, liquid: &mut Settled, mass: &mut MassScratch, ground: Ground) {
        let (parted, phi) = (&liquid.parted[..], &liquid.phi[..]);
        let open_volume = &ground.boundaries.open_volume;
        let is_in_air = |cell: usize| phi[cell] >= ground.tree.cell_dx(cell);
        let takes_part = |cell: usize| {
            let is_open = if is_in_air(cell) { open_volume[cell] >= 1.0 } else { open_volume[cell] > 0.0 };
            is_open && !keeps_its_own(parted, ground, cell)
        };
        let owed = (&mut liquid.residual[..], &mut mass.volume_cell[..]);
        let on = (&**ground.tree, ground.boundaries.sides());
        mass.settlement.gather(owed, (phi, open_volume), takes_part, on);
    }

    /// Cells that had let go of a boundary still have, where they touch one; gaps that have grown are air. Has the surface
    /// moved?
    fn open_gaps(&self, liquid: &mut Settled, ground: Ground) -> bool {
        let (tree, boundaries) = (ground.tree, ground.boundaries);
        *liquid.parted = parallel::map_indices(tree.cell_count(), |cell| {
            ground.sources.may_part_cell[cell]
                && liquid.phi[cell] < 0.0
                && self.had_let_go(tree.cell_center(cell))
        });
        let distance = |cell: usize| {
            let at_wall = (0..6).any(|side| tree.leaf_across(cell, side) == Some(OUTSIDE));
            let to_wall_m = if at_wall { 0.5 * tree.cell_dx(cell) } else { f32::INFINITY };
            boundaries.phi_solid_cell.get(cell).map_or(to_wall_m, |solid| solid.min(to_wall_m))
        };
        parting::open_gaps(liquid.phi, liquid.parted, liquid.residual, tree, distance)
    }

    /// Had the liquid let go at a place? Where a solid was, the next open cell in the direction out of it tells: what a
    /// solid that moves away from its gap uncovers is more of the gap.
    /// Test: `a_rising_plate_leaves_the_water_behind`.
    fn had_let_go(&self, place: Vec3) -> bool {
        let (old, boundaries) = (&self.old.fields, &self.old.boundaries);
        let (tree, mut x) = (&*old.tree, place);
        for _ in 0..FARTHEST_UNCOVERED_CELLS {
            let cell = tree.locate(x).cell as usize;
            if boundaries.open_volume[cell] > 0.0 {
                return old.parted_cell[cell];
            }
            let [out] = slopes(tree, cell, |_| true, |cell| [boundaries.phi_solid_cell[cell]]);
            x += tree.cell_dx(cell) * out.as_vec3().normalize_or_zero();
        }
        false
    }

    /// What sources bring in during the step.
    fn inflow_m3(&self, ground: Ground) -> f64 {
        ground.sources.outlets.iter().map(|(outlet, part)| outlet.flow_m3_s * part * self.dt_s).sum()
    }

    /// The cells of the sources are full to what phi says. What that takes is the inflow but for the error of
    /// the fluxes there, which the cells that the sources flow into are owed.
    fn fill_from_sources(&self, liquid: &Settled, mass: &mut MassScratch, ground: Ground) {
        let (tree, cell_m3) = (ground.tree, |cell: usize| f64::from(ground.tree.cell_dx(cell)).powi(3));
        let inflow_m3 = self.inflow_m3(ground);
        let (mut taken_m3, mut inside_cells) = (0.0, vec![]);
        for nozzle in self.filled_nozzles(tree.shape().bounds()) {
            for cell in 0..tree.cell_count() {
                if nozzle.0.filled_distance(tree.cell_center(cell), nozzle.1) < 0.0 {
                    let missing = liquid.fraction[cell] - mass.volume_cell[cell];
                    mass.volume_cell[cell] += missing;
                    taken_m3 += f64::from(missing) * cell_m3(cell);
                    inside_cells.push(cell);
                }
            }
        }
        // A shape that still fills from behind has not reached those: its own cells are owed it.
        let all = &ground.sources.flow_into_cell;
        let mut flows: Vec<(usize, f64)> =
            all.iter().copied().filter(|(cell, _)| liquid.phi[*cell] < 0.0).collect();
        if flows.is_empty() {
            flows.extend(inside_cells.into_iter().map(|cell| (cell, 1.0)));
        }
        if flows.is_empty() {
            flows.extend_from_slice(all);
        }
        let sum: f64 = flows.iter().map(|(_, flow)| flow).sum();
        let (owed_m3, mut given_m3) = (inflow_m3 - taken_m3, 0.0);
        for (cell, flow) in flows {
            let amount = (owed_m3 * flow / sum / cell_m3(cell)) as f32;
            mass.volume_cell[cell] += amount;
            given_m3 += f64::from(amount) * cell_m3(cell);
        }
        mass.in_m3 = taken_m3 + given_m3;
    }

    /// With the surface in its place: what it does not stand for stays residual, or flies as drops; all of it is
    /// the liquid's volume.
    pub fn close_volume(
        &self,
        liquid: &mut Settled,
        mass: &MassScratch,
        start: &Start,
        ground: Ground,
    ) -> Account {
        let tree = ground.tree;
        self.model.fill_fractions(liquid.fraction, tree, liquid.phi, ground.boundaries, &mass.ready.fits);
        if self.model.conserves_volume() {
            find_residual(liquid, &mass.volume_cell);
            self.shed_drops(liquid, start, ground);
        } else {
            liquid.residual.clear();
            liquid.residual.resize(tree.cell_count(), 0.0);
        }
        let mut account = self.old.volume;
        account.book_sources_and_sinks(mass.in_m3, mass.out_m3);
        let in_cells_m3 = total_m3(tree, liquid.fraction) + total_m3(tree, liquid.residual);
        account.measure(in_cells_m3 + liquid.drops.total_m3());
        account
    }

    /// Volume that a cell's residual asks the projection to move out of it, m3/s.
    pub fn wanted_m3_s(
        &self,
        residual_cell: &[f32],
        liquid: &Geometry,
        swept_part_cell: &[f32],
        cell: usize,
    ) -> f64 {
        let Geometry { tree, phi_cell, open_area } = *liquid;
        let swept = swept_part_cell.get(cell).map_or(0.0, |part| *part);
        let (residual, dx) = (beyond_swept(residual_cell[cell], swept), tree.cell_dx(cell));
        if residual == 0.0 || phi_cell[cell] > -FAR_CELLS * dx {
            return 0.0;
        }
        let open: f32 = tree.cell_faces()[cell].iter().map(|&face| open_area[face as usize]).sum();
        if open < 6.0 * LEAST_OPEN_PART {
            return 0.0;
        }
        let (speed_m_s, gravity) =
            (self.old.limits.speed_m_s as f32, self.model.setup.liquid.gravity.length());
        let expansion = Expansion::new(dx, speed_m_s, gravity, self.dt_s as f32);
        f64::from(expansion.divergence_1_s(residual)) * f64::from(dx).powi(3)
    }
}

/// Is what a cell is owed a gap at a boundary, or what a solid sweeps? No other cell can hold that.
fn keeps_its_own(parted_cell: &[bool], ground: Ground, cell: usize) -> bool {
    parted_cell[cell] || ground.boundaries.swept_part_cell.get(cell).is_some_and(|part| *part != 0.0)
}

/// What each cell holds and phi does not stand for.
fn find_residual(liquid: &mut Settled, volume_cell: &[f32]) {
    let fraction = &liquid.fraction;
    liquid.residual.resize(fraction.len(), 0.0);
    parallel::for_each_indexed_mut(liquid.residual, |cell, owed| *owed = volume_cell[cell] - fraction[cell]);
}
