//! Drops: how they leave the liquid of the tree, fly, and become liquid of the tree again.

use crate::mass::{FAR_CELLS, MassScratch, Settled};
use crate::state::{Ground, Start, Step};
use crate::thin::ThinSolids;
use fluvial_drops::{Home, MARGIN_CELLS, Obstacles, SMALLEST, fly, normal, out_of_solids};
use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;
use fluvial_octree::sides::TreeSides;

/// Solids' distances are true up to this many finest cells.
const SOLID_BAND_CELLS: f32 = 4.0;
/// Cells with more of drops than this, in finest cells' volumes, should be finest ones: there they can collect.
const WANTS_FINEST: f64 = 0.25;

impl Step<'_> {
    /// Lets drops fly; those that reach liquid and those that fill a cell become liquid of the tree.
    pub fn move_drops(
        &self,
        liquid: &mut Settled,
        mass: &mut MassScratch,
        thin: &ThinSolids,
        ground: Ground,
    ) {
        let (setup, dx) = (&self.model.setup, self.model.shape.dx);
        let sides = ground.boundaries.sides();
        liquid.drops.clone_from(&self.old.drops);
        mass.arrived.clear();
        if liquid.drops.is_empty() {
            return;
        }
        let (solids, reach) = (setup.solids_at(self.old.time_s + self.dt_s), SOLID_BAND_CELLS * dx);
        let distance = |x: Vec3| solids.distance(x, reach);
        let around = Obstacles {
            bounds: self.model.shape.bounds(),
            open_walls: setup.open_walls(),
            has_solids: !solids.is_empty(),
            solid_distance: distance,
            solid_normal: |x: Vec3| normal(distance, x, dx),
            solid_velocity: |x: Vec3| solids.velocity(x, reach),
            margin_m: MARGIN_CELLS * dx,
        };
        thin.drive(&mut liquid.drops.x);
        for (_, sink) in setup.active_sinks(self.old.time_s) {
            mass.out_m3 += liquid.drops.take_where(|x| sink.shape.distance(x) <= 0.0);
        }
        let (push_m_s, dt_s) = (self.forces.push_s as f32 * setup.liquid.gravity, self.dt_s as f32);
        mass.out_m3 += fly(liquid.drops, &around, |from, to| sides.walk(from, to), dt_s, push_m_s);
        self.let_arrive(liquid, mass, ground);
    }

    fn let_arrive(&self, liquid: &mut Settled, mass: &mut MassScratch, ground: Ground) {
        let home = OnTree { step: self, ground, phi: &*liquid.phi };
        liquid.drops.arrive(&home, &mut mass.arrived);
        if self.model.conserves_volume() {
            let full = liquid.drops.fill_cells(&home, &mut mass.arrived);
            let (phi, on) = (&mut *liquid.phi, (ground.tree.as_ref(), ground.boundaries.sides()));
            full.into_iter().for_each(|(cell, volume_m3)| stamp(phi, on, cell, volume_m3));
        }
    }

    /// Positive residuals in the air become drops, with the air's velocity and this step's gravity. Negative
    /// ones move to the neighbour that holds most, or else to the one nearest to the surface.
    pub fn shed_drops(&self, liquid: &mut Settled, start: &Start, ground: Ground) {
        let (tree, sides) = (ground.tree, ground.boundaries.sides());
        let Settled { phi, residual, drops, .. } = liquid;
        let is_far = |cell: usize| phi[cell] > FAR_CELLS * tree.cell_dx(cell);
        let found: Vec<usize> = (0..phi.len()).filter(|&c| residual[c] != 0.0 && is_far(c)).collect();
        for &cell in found.iter().filter(|&&cell| residual[cell] < 0.0).collect::<Vec<_>>() {
            let debtor = debtor_of((tree, sides), cell, (residual, phi), &ground.boundaries.open_volume);
            let amount = std::mem::take(&mut residual[cell]);
            residual[debtor] += amount * (tree.cell_dx(cell) / tree.cell_dx(debtor)).powi(3);
        }
        let push = self.forces.push_s as f32 * self.model.setup.liquid.gravity;
        let sampler = self.model.sampler(&self.old.fields.tree);
        let obstacles = self.model.setup.solids_at(self.old.time_s + self.dt_s);
        let smallest_m3 = SMALLEST * f64::from(self.model.shape.dx).powi(3);
        for cell in found {
            let volume_m3 = f64::from(residual[cell]) * f64::from(tree.cell_dx(cell)).powi(3);
            if volume_m3 > smallest_m3 {
                let center = tree.cell_center(cell);
                let dx = self.model.shape.dx;
                let distance = |x: Vec3| obstacles.distance(x, SOLID_BAND_CELLS * dx);
                let x = sides.walk(center, out_of_solids(distance, center, dx));
                residual[cell] = 0.0;
                drops.push(x, sampler.velocity(&start.u_face, x) + push, volume_m3);
            }
        }
    }

    /// Drops that have become liquid give it their momentum: a face stands for half of the cells beside it.
    pub fn absorb_momentum(&self, u_face: &mut [f32], mass: &MassScratch, fraction: &[f32], tree: &Octree) {
        for &(cell, v, volume_m3) in &mass.arrived {
            let cell_m3 = f64::from(tree.cell_dx(cell)).powi(3);
            for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
                let beyond = tree.leaf_across(cell, side).filter(|&other| other != OUTSIDE);
                let beyond = beyond.map_or(0.0, |other| fraction[other as usize]);
                // The liquid there is now has the drop's volume already.
                let half = 0.5 * (volume_m3 / cell_m3) as f32;
                let share = half / (0.5 * (fraction[cell] + beyond)).max(half);
                let u = &mut u_face[face as usize];
                *u += share * (v[side / 2] - *u);
            }
        }
    }

    /// Cells with many drops want to be small.
    pub fn refine_at_drops(&self, size_cell: &mut [f32]) {
        let (tree, dx) = (&*self.old.fields.tree, self.model.shape.dx);
        let mut order: Vec<(usize, f64)> = self
            .old
            .drops
            .x
            .iter()
            .zip(&self.old.drops.volume_m3)
            .map(|(&x, &v)| (cell_of(tree, x), v))
            .collect();
        order.sort_unstable_by_key(|(cell, _)| *cell);
        for of_cell in order.chunk_by(|a, b| a.0 == b.0) {
            let volume_m3: f64 = of_cell.iter().map(|(_, v)| v).sum();
            if volume_m3 > WANTS_FINEST * f64::from(dx).powi(3) {
                size_cell[of_cell[0].0] = size_cell[of_cell[0].0].max(1.0 / dx);
            }
        }
    }
}

/// The tree as drops see it.
struct OnTree<'a> {
    step: &'a Step<'a>,
    ground: Ground<'a>,
    phi: &'a [f32],
}

impl Home for OnTree<'_> {
    fn cell_of(&self, x: Vec3) -> usize {
        cell_of(self.ground.tree, x)
    }

    fn phi_at(&self, x: Vec3) -> f32 {
        let (tree, sides) = (self.ground.tree, self.ground.boundaries.sides());
        sides.sample(tree, self.phi, x).unwrap_or_else(|| self.step.model.sampler(tree).cells(self.phi, x))
    }

    fn edge_m(&self, cell: usize) -> f32 {
        self.ground.tree.cell_dx(cell)
    }

    fn room_m3(&self, cell: usize) -> f64 {
        f64::from(self.ground.boundaries.open_volume[cell]) * f64::from(self.edge_m(cell)).powi(3)
    }
}

fn cell_of(tree: &Octree, x: Vec3) -> usize {
    tree.locate(x).cell as usize
}

/// The cells that touch one and are seen by it, itself included, some of them more than once.
fn for_around((tree, sides): (&Octree, TreeSides), cell: usize, mut body: impl FnMut(usize)) {
    for node in tree.cell_nodes(cell) {
        for other in tree.node_cells()[node as usize].into_iter().filter(|&other| other != OUTSIDE) {
            let other = other as usize;
            if other == cell || sides.sees(tree, cell, other) {
                body(other);
            }
        }
    }
}

/// A ball of a volume around a cell's centre becomes liquid.
fn stamp(phi: &mut [f32], on: (&Octree, TreeSides), cell: usize, volume_m3: f64) {
    let (center, radius) = (on.0.cell_center(cell), fluvial_drops::radius_m(volume_m3));
    for_around(on, cell, |other| {
        phi[other] = phi[other].min(on.0.cell_center(other).distance(center) - radius);
    });
}

/// Who pays for a cell's negative residual: an open cell.
fn debtor_of(
    on: (&Octree, TreeSides),
    cell: usize,
    (residual, phi): (&[f32], &[f32]),
    open_volume: &[f32],
) -> usize {
    let (mut richest, mut nearest) = (None, None);
    for_around(on, cell, |other| {
        if open_volume[other] > 0.0 {
            let is_richer =
                |last: usize| residual[other].total_cmp(&residual[last]).then(other.cmp(&last)).is_gt();
            let is_nearer = |last: usize| phi[other].total_cmp(&phi[last]).then(other.cmp(&last)).is_lt();
            richest = if richest.is_none_or(is_richer) { Some(other) } else { richest };
            nearest = if nearest.is_none_or(is_nearer) { Some(other) } else { nearest };
        }
    });
    richest.filter(|&other| residual[other] > 0.0).or(nearest).unwrap_or(cell)
}
