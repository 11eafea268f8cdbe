//! Volume by construction: fluxes carry what each power cell holds, and the surface follows. The kernels are
//! `fluvial_power::{flux, content, settle}`; the scheme is that of `uniform`, see its `mass.rs`.
//!
//! Liquid is what the band shows, drops that are too small for it, and a signed residual that leaves are owed. A step
//!
//! 1. moves volume through the power faces of the old tree, so that the sum changes by what sources, sinks and open walls
//!    do alone; what the carried band shows less or more than that in a power cell is owed,
//! 2. hands what is owed to the leaves of the new tree and displaces the surface by it,
//! 3. keeps the rest for the next step: a residual in the air becomes a drop, one deep inside is asked of the projection as
//!    divergence, which moves it to the surface.

use crate::measure::open_part;
use crate::sources::{Exchange, Pushed};
use crate::state::{Held, Model, State, Step, Tree};
use fluvial_drops::{Arrived, Drops};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_power::band::Band;
use fluvial_power::channels::{PHI, SCRATCH};
use fluvial_power::flow::{Cursor, Flow};
use fluvial_power::flux::Carrier;
use fluvial_power::pairs::SolidDistance;
use fluvial_power::settle::{Settlement, displace};
use fluvial_power::view::{Place, View};
use fluvial_power::{coarse, content};
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::{Clamps, VolumeCorrection};
use fluvial_volume::{Account, Expansion, beyond_swept};

/// A residual farther from the surface than this has none to be settled by, leaves.
pub(crate) const FAR_LEAVES: f32 = 1.5;
/// A residual deeper in the liquid than this stays where it is, leaves: the projection moves it to the surface.
const DEEP_LEAVES: f32 = 2.0;
/// Rounds of displacement in a step: the second one makes up for what the first one misses at films.
const ROUNDS: usize = 2;

/// What a step makes of the liquid beside its surface and its velocity.
pub(crate) struct Settled {
    pub held: Held,
    pub drops: Drops,
    pub account: Account,
    /// What the surface was displaced by so far, m3.
    pub corrected_m3: f64,
    /// Drops that have become liquid of the grid.
    pub arrived: Vec<Arrived>,
    /// Distances to the surface that the pressure sees, m, by number of leaf; None: those of the tree.
    pub seen_phi: Option<Vec<f32>>,
}

/// What is owed to the leaves of the old tree after transport, m3, by number, and what has left through open walls.
pub(crate) struct Owed {
    m3: Vec<f64>,
    out_m3: f64,
}

impl Model {
    /// Is volume carried by fluxes?
    pub fn conserves_volume(&self) -> bool {
        self.params.volume_correction != VolumeCorrection::Off
    }

    /// Liquid in every power cell, m3, by number of leaf.
    pub fn content(&self, tree: &Tree, band: &Band, leaves: &[Place], time_s: f64) -> Vec<f64> {
        let (view, solids) = (tree.view(), self.setup.solids_at(time_s));
        content::liquid(view, band, leaves, !solids.is_empty(), |leaf| {
            view.power_volume(leaf) * f64::from(self.open_part(&solids, view, leaf))
        })
    }

    pub fn open_part(&self, solids: &PlacedSolids, view: View, leaf: Place) -> f32 {
        let points = (self.params.band_factor << leaf.level.min(2)) as usize;
        open_part(solids, view.center(leaf), view.level(leaf.level).dx, points)
    }
}

impl Step<'_> {
    /// Moves the volume of every power cell of the old tree through its faces, `V = L + r - sum of fluxes`, and compares it
    /// with what the carried band shows there.
    pub fn carry_volume(&self, band: &Band) -> Owed {
        if !self.model.conserves_volume() {
            return Owed { m3: vec![], out_m3: 0.0 };
        }
        let (old, end_s) = (self.old, self.old.time_s + self.dt_s);
        let (view, farthest) = (old.tree.view(), self.farthest());
        let leaves = view.leaves();
        let solids = self.model.setup.solids_at(old.time_s);
        let distance = |x: [f64; 3]| {
            f64::from(self.model.solid_distance(&solids, Vec3::from_array(x.map(|v| v as f32))))
        };
        let solid: Option<SolidDistance> = if solids.is_empty() { None } else { Some(&distance) };
        let flow = old.tree.surface_flow();
        let carrier = Carrier { flow, band: &old.band, solid, dt_s: self.dt_s as f32, farthest };
        let outflow = carrier.outflows_m3();
        let (mut owed, out_m3) = self.carry_residual(flow, leaves);
        let shown = self.model.content(&old.tree, band, leaves, end_s);
        for (n, owed) in owed.iter_mut().enumerate() {
            *owed += old.held.content_m3[n] - outflow[n] - shown[n];
        }
        Owed { m3: owed, out_m3 }
    }

    /// What leaves were owed goes with the flow, shared by the leaves that the carried leaf overlaps. Returns what leaves through
    /// open walls too, m3.
    fn carry_residual(&self, flow: Flow, leaves: &[Place]) -> (Vec<f64>, f64) {
        let (view, residual) = (flow.view(), &self.old.held.residual_m3);
        let mut moved = vec![0.0; leaves.len()];
        let solids = self.model.setup.solids_at(self.old.time_s + self.dt_s);
        let mut out_m3 = 0.0;
        for (n, &amount) in residual.iter().enumerate().filter(|(_, amount)| **amount != 0.0) {
            let (leaf, dx) = (leaves[n], view.level(leaves[n].level).dx);
            if view.value(leaf, PHI) <= -DEEP_LEAVES * dx {
                moved[n] += amount;
                continue;
            }
            let (x, mut cursor) = (view.center(leaf), Cursor::default());
            let to = flow.trace_back(&mut cursor, x, -self.dt_s as f32, 1);
            if self.model.beyond_open_walls(to) > 0.0 {
                out_m3 += amount;
                continue;
            }
            let is_open = |leaf: Place| self.model.open_part(&solids, view, leaf) > 0.0;
            let (mut shares, mut whole) = (vec![], 0.0);
            share_overlap(view, to, dx, |leaf, part| {
                if is_open(leaf) {
                    shares.push((view.number(leaf), part));
                    whole += part;
                }
            });
            if shares.is_empty() {
                moved[n] += amount;
            }
            shares.into_iter().for_each(|(number, part)| moved[number] += part / whole * amount);
        }
        (moved, out_m3)
    }

    /// Hands what is owed to the new tree, with what drops and sources bring, and displaces the surface by it.
    pub fn settle_volume(
        &self,
        tree: &mut Tree,
        band: &mut Band,
        (owed, exchange, pushed): (Owed, Exchange, &Pushed),
        clamps: &mut Clamps,
    ) -> Settled {
        let end_s = self.old.time_s + self.dt_s;
        let (mut account, mut corrected_m3) = (self.old.volume, self.old.corrected_m3);
        if !self.model.conserves_volume() {
            account.book_sources_and_sinks(exchange.in_m3, exchange.out_m3);
            account.measure(self.model.volume_m3(tree, band, end_s));
            let (held, drops) = (Held::default(), Drops::default());
            return Settled { held, drops, account, corrected_m3, arrived: vec![], seen_phi: None };
        }
        let leaves = tree.diagram.leaves().to_vec();
        let mut out_m3 = owed.out_m3;
        let mut residual = hand_over(self.old.tree.view(), tree.view(), &owed.m3);
        let mut drops = self.old.drops.clone();
        let arrived = self.move_drops(&mut drops, tree, band, &mut residual, &mut out_m3);
        self.fill_from_sources(tree, &leaves, &mut residual, (exchange.in_m3, pushed));
        out_m3 += self.drain(tree, &leaves, &mut residual);
        let solids = self.model.setup.solids_at(end_s);
        let mut shown = self.model.content(tree, band, &leaves, end_s);
        let settlement = Settlement::new(tree.view(), &leaves);
        for _ in 0..ROUNDS {
            let asked = self.beyond_swept(&residual, tree, &leaves);
            let open = |leaf: Place| f64::from(self.model.open_part(&solids, tree.view(), leaf));
            let (shift, held_back) = settlement.displacement(tree.view(), &asked, open);
            clamps.add("surface_displacement", held_back);
            tree.pyramid.scatter(SCRATCH, &shift);
            displace(band, tree.view(), SCRATCH);
            let Tree { pyramid, diagram } = tree;
            coarse::refresh(pyramid, diagram, band, &leaves);
            let now = self.model.content(tree, band, &leaves, end_s);
            corrected_m3 += now.iter().zip(&shown).map(|(now, shown)| now - shown).sum::<f64>();
            residual.iter_mut().zip(now.iter().zip(&shown)).for_each(|(r, (now, shown))| *r += shown - now);
            shown = now;
        }
        let is_open = |leaf: Place| self.model.open_part(&solids, tree.view(), leaf) > 0.5;
        settlement.even_out(tree.view(), &mut residual, is_open);
        self.shed_drops(&mut drops, tree, &leaves, &mut residual);
        let asked = self.beyond_swept(&residual, tree, &leaves);
        let open = |leaf: Place| f64::from(self.model.open_part(&solids, tree.view(), leaf));
        let (seen, held_back) = settlement.seen_distance(tree.view(), band, &asked, open);
        clamps.add("seen_surface", held_back);
        account.book_sources_and_sinks(exchange.in_m3, out_m3);
        account.measure(shown.iter().sum::<f64>() + residual.iter().sum::<f64>() + drops.total_m3());
        let held = Held { content_m3: shown, residual_m3: residual };
        Settled { held, drops, account, corrected_m3, arrived, seen_phi: Some(seen) }
    }

    /// What moving solids sweep in a step is not asked of the surface: the next step makes up for it.
    fn beyond_swept(&self, residual: &[f64], tree: &Tree, leaves: &[Place]) -> Vec<f64> {
        let setup = &self.model.setup;
        if !setup.has_moving_solids() {
            return residual.to_vec();
        }
        let (view, solids) =
            (tree.view(), [0.0, self.dt_s].map(|since| setup.solids_at(self.old.time_s + since)));
        parallel::map_indices(leaves.len(), |n| {
            let [before, after] = [0, 1].map(|m| self.model.open_part(&solids[m], view, leaves[n]));
            let volume = view.power_volume(leaves[n]);
            volume * f64::from(beyond_swept((residual[n] / volume) as f32, (before - after).abs()))
        })
    }

    /// The leaves that sources reach into are full to what the band shows. What that takes is the inflow but for the error of the fluxes
    /// there, which the leaves that the sources flow into are owed.
    fn fill_from_sources(
        &self,
        tree: &Tree,
        leaves: &[Place],
        residual: &mut [f64],
        (in_m3, pushed): (f64, &Pushed),
    ) {
        let (view, nozzles) = (tree.view(), self.filled_nozzles());
        if nozzles.is_empty() {
            return;
        }
        let is_inside = |n: usize| {
            let (x, half) = (view.center(leaves[n]), 0.5 * view.level(leaves[n].level).dx);
            nozzles.iter().any(|(nozzle, since_s)| nozzle.filled_distance(x, *since_s) < half)
        };
        let inside = parallel::map_indices(leaves.len(), is_inside);
        let inside: Vec<usize> = (0..leaves.len()).filter(|&n| inside[n]).collect();
        let taken_m3: f64 = inside.iter().map(|&n| -std::mem::take(&mut residual[n])).sum();
        let all = || pushed.by_sources.iter().map(|&(leaf, flow)| (leaf, view.number(leaf), flow));
        let mut flows: Vec<(usize, f64)> =
            all().filter(|(leaf, ..)| view.value(*leaf, PHI) < 0.0).map(|(_, n, flow)| (n, flow)).collect();
        // A shape that still fills from behind has not reached those: its own leaves are owed it.
        if flows.is_empty() {
            flows.extend(inside.iter().map(|&n| (n, 1.0)));
        }
        if flows.is_empty() {
            flows.extend(all().map(|(_, n, flow)| (n, flow)));
        }
        let sum: f64 = flows.iter().map(|(_, flow)| flow).sum();
        flows.iter().for_each(|&(n, flow)| residual[n] += (in_m3 - taken_m3) * flow / sum);
    }

    /// Sinks and what lies beyond open walls take what their leaves hold beyond what is left of the band, which is returned, m3.
    fn drain(&self, tree: &Tree, leaves: &[Place], residual: &mut [f64]) -> f64 {
        let (view, setup) = (tree.view(), &self.model.setup);
        let sinks: Vec<_> = setup.active_sinks(self.old.time_s).map(|(_, sink)| &sink.shape).collect();
        let mut taken_m3 = 0.0;
        for (n, residual) in residual.iter_mut().enumerate().filter(|(_, residual)| **residual != 0.0) {
            let (x, dx) = (view.center(leaves[n]), view.level(leaves[n].level).dx);
            if sinks.iter().any(|sink| sink.distance(x) < 0.5 * dx) || self.model.beyond_open_walls(x) > 0.0 {
                taken_m3 += std::mem::take(residual);
            }
        }
        taken_m3
    }

    /// Volume that deep leaves' residuals ask the projection to move out of them, m3/s, by number of leaf.
    pub fn wanted_m3_s(&self, tree: &Tree, held: &Held) -> Vec<(usize, f64)> {
        let (view, gravity) = (tree.view(), self.model.setup.liquid.gravity.length());
        let (speed, dt) = (self.old.limiting_speed_m_s as f32, self.dt_s as f32);
        let solids = self.model.setup.solids_at(self.old.time_s + self.dt_s);
        let leaves = view.leaves();
        let mut wanted = vec![];
        for (n, residual) in held.residual_m3.iter().enumerate().filter(|(_, residual)| **residual != 0.0) {
            let dx = view.level(leaves[n].level).dx;
            let is_deep = view.value(leaves[n], PHI) < -FAR_LEAVES * dx;
            if is_deep && self.model.open_part(&solids, view, leaves[n]) > 0.5 {
                let volume = view.power_volume(leaves[n]);
                let expansion = Expansion::new(dx, speed, gravity, dt);
                wanted.push((n, volume * f64::from(expansion.divergence_1_s((residual / volume) as f32))));
            }
        }
        wanted
    }
}

impl State {
    /// What a leaf holds beside what the band shows, m3.
    pub fn residual_in(&self, shape: &fluvial_solids::Shape) -> f64 {
        let view = self.tree.view();
        let owed = self.held.residual_m3.iter().zip(view.leaves()).filter(|(residual, _)| **residual != 0.0);
        owed.map(|(residual, leaf)| {
            let dx = view.level(leaf.level).dx;
            residual * f64::from(shape.share_of_cube(view.center(*leaf), dx, dx))
        })
        .sum()
    }
}

/// Calls `body(leaf, part)` for the leaves that a cube of edge `dx` around a point overlaps: the planes of the lattice of that size cut it
/// into eight boxes.
fn share_overlap(view: View, x: Vec3, dx: f32, mut body: impl FnMut(Place, f64)) {
    let shape = view.pyramid.shape();
    let place = (x - shape.min) / dx - 0.5;
    let (low, t) = (place.floor(), place - place.floor());
    let bounds = shape.bounds();
    for n in 0..8 {
        let mut part = 1.0;
        let at = Vec3::from_array(AXES.map(|a| {
            let high = n >> a & 1 == 1;
            part *= f64::from(if high { t[a] } else { 1.0 - t[a] });
            let middle = if high { 0.5 * (1.0 + t[a]) } else { 0.5 * t[a] };
            shape.min[a] + dx * (low[a] + 0.5 + middle)
        }));
        if part > 0.0 {
            body(view.locate(at.clamp(bounds.min, bounds.max)), part);
        }
    }
}

/// What is owed to the leaves of an old tree, by those of a new one: a leaf's goes to the leaf that holds it, or is shared by the
/// leaves in it.
fn hand_over(old: View, new: View, owed: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; new.pyramid.active_count()];
    for (leaf, &owed) in old.leaves().iter().zip(owed).filter(|(_, owed)| **owed != 0.0) {
        hand_to(new, old.center(*leaf), leaf.level, owed, &mut out);
    }
    out
}

fn hand_to(new: View, center: Vec3, level: u32, owed: f64, out: &mut [f64]) {
    let found = new.locate(center);
    if found.level >= level {
        out[new.number(found)] += owed;
        return;
    }
    let quarter = 0.25 * new.level(level).dx;
    for n in 0..8 {
        let side = Vec3::from_array(AXES.map(|a| if n >> a & 1 == 1 { quarter } else { -quarter }));
        hand_to(new, center + side, level - 1, 0.125 * owed, out);
    }
}
