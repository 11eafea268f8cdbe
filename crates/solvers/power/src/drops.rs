//! Drops: how they leave the liquid of the grid, fly, and become liquid of the grid again.

use crate::mass::FAR_LEAVES;
use crate::state::{Step, Tree};
use fluvial_drops::{Drops, Obstacles, fly, radius_m};
use fluvial_foundation::Vec3;
use fluvial_power::band::Band;
use fluvial_power::channels::PHI;
use fluvial_power::flow::Cursor;
use fluvial_power::view::Place;
use fluvial_solids::PlacedSolids;

/// The smallest drop, in smallest leaves' volumes; less waits for company.
const SMALLEST: f64 = 1e-3;
/// A drop closer to the surface than this has arrived, leaves.
const ARRIVES_LEAVES: f32 = 0.5;
/// Drops that fill this part of a leaf are liquid that the grid can hold.
const FULL: f64 = 0.5;
/// More drops than this in one leaf join.
const MOST_IN_A_LEAF: usize = 4;
/// Drops keep this distance from solids and walls, smallest leaves.
const MARGIN_LEAVES: f32 = 0.02;

impl Step<'_> {
    /// Lets drops fly; those that reach liquid and those that fill a leaf become liquid of the grid. Returns where, with their
    /// velocity and volume.
    pub fn move_drops(
        &self,
        drops: &mut Drops,
        tree: &Tree,
        band: &mut Band,
        residual: &mut [f64],
        out_m3: &mut f64,
    ) -> Vec<(Place, Vec3, f64)> {
        let (setup, dx) = (&self.model.setup, self.model.shape.dx);
        if drops.is_empty() {
            return vec![];
        }
        let solids = setup.solids_at(self.old.time_s + self.dt_s);
        let distance = |x: Vec3| self.model.solid_distance(&solids, x);
        let around = Obstacles {
            bounds: self.model.bounds,
            open_walls: setup.open_walls(),
            has_solids: !solids.is_empty(),
            solid_distance: distance,
            solid_normal: |x: Vec3| normal(distance, x, dx),
            solid_velocity: |x: Vec3| solids.velocity(x, 4.0 * dx),
            margin_m: MARGIN_LEAVES * dx,
        };
        for (_, sink) in setup.active_sinks(self.old.time_s) {
            drops.retain(|drops, n| {
                let stays = sink.shape.distance(drops.x[n]) > 0.0;
                *out_m3 += if stays { 0.0 } else { drops.volume_m3[n] };
                stays
            });
        }
        *out_m3 += fly(drops, &around, |_, to| to, setup.liquid.gravity, self.dt_s as f32);
        self.let_arrive(drops, tree, band, residual)
    }

    fn let_arrive(
        &self,
        drops: &mut Drops,
        tree: &Tree,
        band: &mut Band,
        residual: &mut [f64],
    ) -> Vec<(Place, Vec3, f64)> {
        let view = tree.view();
        let mut arrived = vec![];
        drops.retain(|drops, n| {
            let x = drops.x[n];
            let leaf = view.locate(x);
            let arrives =
                band.linear(x).unwrap_or_else(|| tree.phi(x)) < ARRIVES_LEAVES * view.level(leaf.level).dx;
            if arrives {
                arrived.push((leaf, drops.v[n], drops.volume_m3[n]));
            }
            !arrives
        });
        drops.join(MOST_IN_A_LEAF, |x| view.number(view.locate(x)));
        let mut full: Vec<(Place, f64)> = vec![];
        for n in 0..drops.len() {
            let leaf = view.locate(drops.x[n]);
            match full.last_mut() {
                Some((last, sum)) if *last == leaf => *sum += drops.volume_m3[n],
                _ => full.push((leaf, drops.volume_m3[n])),
            }
        }
        full.retain(|(leaf, m3)| leaf.level == 0 && *m3 >= FULL * view.power_volume(*leaf));
        drops.retain(|drops, n| {
            let leaf = view.locate(drops.x[n]);
            let is_full = full.iter().any(|(full, _)| *full == leaf);
            if is_full {
                arrived.push((leaf, drops.v[n], drops.volume_m3[n]));
            }
            !is_full
        });
        for (leaf, m3) in full {
            let (center, radius) = (view.center(leaf), radius_m(m3));
            band.change(|x, phi| phi.min(x.distance(center) - radius));
        }
        arrived.iter().for_each(|(leaf, _, m3)| residual[view.number(*leaf)] += m3);
        arrived
    }

    /// Positive residuals in the air become drops, with the air's velocity and this step's gravity. Negative ones move to the
    /// neighbour that holds most, or else to the one nearest to the surface; all pay at once.
    pub fn shed_drops(&self, drops: &mut Drops, tree: &Tree, leaves: &[Place], residual: &mut [f64]) {
        let view = tree.view();
        let is_far = |n: &usize| {
            view.value(leaves[*n], PHI) > FAR_LEAVES * view.level(leaves[*n].level).dx && residual[*n] != 0.0
        };
        let found: Vec<usize> = (0..leaves.len()).filter(is_far).collect();
        let payments: Vec<(usize, usize, f64)> = found
            .iter()
            .filter(|&&n| residual[n] < 0.0)
            .map(|&n| (n, self.debtor_of(tree, leaves[n], residual), residual[n]))
            .collect();
        for (from, to, amount) in payments {
            residual[from] -= amount;
            residual[to] += amount;
        }
        let push = self.dt_s as f32 * self.model.setup.liquid.gravity;
        let solids = self.model.setup.solids_at(self.old.time_s + self.dt_s);
        let smallest_m3 = SMALLEST * f64::from(self.model.shape.dx).powi(3);
        let flow = self.old.tree.surface_flow();
        for n in found {
            if residual[n] > smallest_m3 {
                let x = out_of_solids(&solids, view.center(leaves[n]), self.model.shape.dx);
                let v = flow.velocity(&mut Cursor::default(), x) + push;
                drops.push(x, v, std::mem::take(&mut residual[n]));
            }
        }
    }

    /// Who pays for a leaf's negative residual.
    fn debtor_of(&self, tree: &Tree, leaf: Place, residual: &[f64]) -> usize {
        let view = tree.view();
        let (mut richest, mut nearest) = (None::<(f64, usize)>, None::<(f32, usize)>);
        view.for_each_face(leaf, |face| {
            let Some(other) = face.other else { return };
            let (n, phi) = (view.number(other), view.value(other, PHI));
            if residual[n] > richest.map_or(0.0, |(most, _)| most) {
                richest = Some((residual[n], n));
            }
            if nearest.is_none_or(|(least, _)| phi < least) {
                nearest = Some((phi, n));
            }
        });
        richest.map(|r| r.1).or(nearest.map(|n| n.1)).unwrap_or_else(|| view.number(leaf))
    }

    /// Drops that have become liquid give it their momentum: a face stands for half of the leaves beside it.
    pub fn absorb_momentum(&self, tree: &mut Tree, arrived: &[(Place, Vec3, f64)], content_m3: &[f64]) {
        for &(leaf, v, m3) in arrived {
            let view = tree.view();
            let part = |leaf: Place| content_m3[view.number(leaf)].max(0.0) / view.power_volume(leaf);
            let own = part(leaf);
            let half = 0.5 * m3 / view.power_volume(leaf);
            let mut changes = vec![];
            view.for_each_face(leaf, |face| {
                let Some((home, channel, sign)) = face.kept else { return };
                let beyond = face.other.map_or(0.0, part);
                // The liquid there is now has the drop's volume already.
                let share = (half / (0.5 * (own + beyond)).max(half)) as f32;
                let wanted = v.dot(Vec3::from_array(face.normal.map(|n| n as f32)));
                changes.push((home, channel, sign * share * (wanted - face.outward)));
            });
            for (home, channel, change) in changes {
                let grid = &mut tree.pyramid.levels_mut()[home.level as usize].grid;
                let (page, cell) = (grid.layout().page(home.cell), grid.layout().cell_in_page(home.cell));
                grid.channel_mut(page, channel)[cell] += change;
            }
        }
    }
}

/// The nearest place outside of solids to a point of a leaf that they cut.
fn out_of_solids(solids: &PlacedSolids, x: Vec3, dx: f32) -> Vec3 {
    let (distance, margin) = (|x: Vec3| solids.distance(x, 4.0 * dx), 2.0 * MARGIN_LEAVES * dx);
    if solids.is_empty() || distance(x) > margin {
        return x;
    }
    x + (margin - distance(x)) * normal(distance, x, dx)
}

/// Direction of growing distance.
fn normal(distance: impl Fn(Vec3) -> f32, x: Vec3, dx: f32) -> Vec3 {
    let along = |axis: Vec3| distance(x + 0.1 * dx * axis) - distance(x - 0.1 * dx * axis);
    Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)).normalize_or_zero()
}
