//! Drops: how they leave the liquid of the grid, fly, and become liquid of the grid again.

use crate::mass::FAR_LEAVES;
use crate::state::{Step, Tree};
use fluvial_drops::{
    Arrived, Drops, Home, MARGIN_CELLS, Obstacles, SMALLEST, fly, normal, out_of_solids, radius_m,
};
use fluvial_foundation::Vec3;
use fluvial_power::band::Band;
use fluvial_power::channels::PHI;
use fluvial_power::flow::Cursor;
use fluvial_power::view::{Place, View};
use fluvial_solids::PlacedSolids;

/// The leaves as drops see them.
struct OnLeaves<'a> {
    step: &'a Step<'a>,
    view: View<'a>,
    band: &'a Band,
    solids: PlacedSolids<'a>,
}

impl Home for OnLeaves<'_> {
    fn cell_of(&self, x: Vec3) -> usize {
        self.view.number(self.view.locate(x))
    }

    fn phi_at(&self, x: Vec3) -> f32 {
        self.band.linear(x).unwrap_or_else(|| self.view.value(self.view.locate(x), PHI))
    }

    fn edge_m(&self, cell: usize) -> f32 {
        self.view.level(self.view.leaves()[cell].level).dx
    }

    fn room_m3(&self, cell: usize) -> f64 {
        let leaf = self.view.leaves()[cell];
        let open = self.step.model.open_part(&self.solids, self.view, leaf);
        f64::from(open) * self.view.power_volume(leaf)
    }

    fn may_fill(&self, cell: usize) -> bool {
        self.view.leaves()[cell].level == 0
    }
}

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
    ) -> Vec<Arrived> {
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
            margin_m: MARGIN_CELLS * dx,
        };
        for (_, sink) in setup.active_sinks(self.old.time_s) {
            *out_m3 += drops.take_where(|x| sink.shape.distance(x) <= 0.0);
        }
        *out_m3 += fly(drops, &around, |_, to| to, self.dt_s as f32, self.push_m_s());
        self.let_arrive(drops, tree, band, residual)
    }

    fn let_arrive(
        &self,
        drops: &mut Drops,
        tree: &Tree,
        band: &mut Band,
        residual: &mut [f64],
    ) -> Vec<Arrived> {
        let (view, mut arrived) = (tree.view(), vec![]);
        let solids = self.model.setup.solids_at(self.old.time_s + self.dt_s);
        let home = OnLeaves { step: self, view, band, solids };
        drops.arrive(&home, &mut arrived);
        let full = drops.fill_cells(&home, &mut arrived);
        if !full.is_empty() {
            let end_s = self.old.time_s + self.dt_s;
            let before = self.model.content(tree, band, view.leaves(), end_s);
            for (cell, m3) in full {
                let (center, radius) = (view.center(view.leaves()[cell]), radius_m(m3));
                band.change(|x, phi| phi.min(x.distance(center) - radius));
            }
            // What the balls show is the drops' volume, which would else count twice.
            let after = self.model.content(tree, band, view.leaves(), end_s);
            residual.iter_mut().zip(before.iter().zip(after)).for_each(|(r, (was, is))| *r += was - is);
        }
        arrived.iter().for_each(|(cell, _, m3)| residual[*cell] += m3);
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
        let push = self.push_m_s();
        let solids = self.model.setup.solids_at(self.old.time_s + self.dt_s);
        let smallest_m3 = SMALLEST * f64::from(self.model.shape.dx).powi(3);
        let flow = self.old.tree.surface_flow();
        for n in found {
            if residual[n] > smallest_m3 {
                let distance = |x: Vec3| self.model.solid_distance(&solids, x);
                let x = out_of_solids(distance, view.center(leaves[n]), self.model.shape.dx);
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
    pub fn absorb_momentum(&self, tree: &mut Tree, arrived: &[Arrived], content_m3: &[f64]) {
        for &(cell, v, m3) in arrived {
            let view = tree.view();
            let leaf = view.leaves()[cell];
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
