//! Transport: the band through the flow of the old tree, velocity from the old tree to the new one [power §5].

use crate::sources::Exchange;
use crate::state::{Step, Tree};
use fluvial_foundation::Vec3;
use fluvial_power::band::{Band, Motion};
use fluvial_power::channels::{EDGE_VELOCITY, FACE_VELOCITY, PHI};
use fluvial_power::flow::{Cursor, Cursors};
use fluvial_power::pairs::{Boundary, Fields, Pairs};
use fluvial_power::view::{kind_in, value_in};
use fluvial_power::{coarse, faces};
use fluvial_solver_interface::StepError;

/// Velocity is kept this many leaves away from liquid.
const AIR_LEAVES: f32 = 5.0;

/// What the surface does not follow of a crossed face's velocity decays at this rate, in units of `sqrt(g / dx)`.
const UNFOLLOWED_DECAY: f64 = 0.2;

impl Step<'_> {
    fn motion(&self) -> Motion<'_> {
        Motion {
            flow: self.old.tree.surface_flow(),
            dt_s: self.dt_s as f32,
            steps: (self.model.params.band_factor / 2).max(1),
            farthest: self.farthest(),
        }
    }

    /// The band at the end of the step, with what sources let in and without what sinks and open walls take.
    pub fn carry_surface(&self) -> Result<(Band, Exchange), StepError> {
        let (model, end_s) = (self.model, self.old.time_s + self.dt_s);
        let solids = model.setup.solids_at(end_s);
        let solid = |x: Vec3| model.solid_distance(&solids, x);
        let solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)> =
            if solids.is_empty() { None } else { Some(&solid) };
        let nozzles = self.filled_nozzles();
        let far = |x: Vec3| self.old.tree.phi(x);
        let fill = |x: Vec3, phi: f32| {
            nozzles.iter().fold(phi, |phi, (nozzle, since_s)| phi.min(nozzle.filled_distance(x, *since_s)))
        };
        let solids_move = model.setup.has_moving_solids();
        let band =
            self.old.band.carried(self.motion(), &self.forced_boxes(), far, fill, (solid, solids_move));
        let mut band =
            band.map_err(|error| StepError::Pressure(format!("no memory for the level set: {error}")))?;
        let exchange = self.exchange(&mut band);
        Ok((band, exchange))
    }

    /// Distances on the leaves of the new tree.
    pub fn leaf_distances(&self, tree: &mut Tree, band: &Band) {
        let old = &self.old.tree;
        coarse::from_band(&mut tree.pyramid, &tree.diagram, band, |x| old.phi(x) < 0.0);
    }

    /// Velocity on the faces of the new tree: from where the liquid was, and with what gravity adds. Where a face was there
    /// before, only what transport changes is interpolated, `u + v(x - u dt) - v(x)`: still or uniform flow loses nothing. The result stays
    /// within what the face had and what the nodes around the origin have: without that a film that hit the floor gained speed from
    /// step to step.
    ///
    /// A crossed face loses what it has beyond the field that carries the surface. Between leaves of one size that is nothing: the
    /// field is made of these velocities. At transitions it is made of nodes, and does not show flow that goes in a ring, into a leaf through
    /// one of its crossed faces and out through another. The surface stays, so that no pressure stops such flow, and errors of the heights
    /// at which it crosses the surface feed it: in still water that leans about two axes it grew by 0.5 a second, whatever the step, with
    /// the band's surface and with the volume's. Test: `noise_in_leaning_water_of_two_sizes_hardly_grows`.
    pub fn carry_velocity(&self, tree: &mut Tree) {
        let (flow, surface_flow) = (self.old.tree.flow(), self.old.tree.surface_flow());
        let dt = self.dt_s as f32;
        let push = self.push_m_s();
        let Tree { pyramid, diagram } = tree;
        let levels = self.old.tree.pyramid.levels();
        faces::update(pyramid, diagram, Boundary::default(), |cursors: &mut [Cursors; 2], pairs, face, u| {
            let air = AIR_LEAVES * pairs.dx as f32;
            let next = pairs.next(face.from, face.k);
            if pairs.value(PHI, face.from).min(pairs.value(PHI, next)) > air {
                *u = 0.0;
                return;
            }
            let from = flow.trace_back(&mut cursors[0], face.centroid, dt, 1);
            let there = flow.velocity(&mut cursors[1], from);
            let level = &levels[face.level];
            let is_same = |cell: u64| kind_in(&level.grid, cell) == pairs.kind(cell);
            // Velocities between leaves of air are the surface's alone.
            let was_wet = |cell: u64| value_in(&level.grid, PHI, cell) < 0.0;
            let carried = if is_same(face.from) && is_same(next) && (was_wet(face.from) || was_wet(next)) {
                let channel = match face.slot {
                    0..3 => FACE_VELOCITY[face.slot],
                    slot => EDGE_VELOCITY[slot - 3],
                };
                let here = flow.velocity(&mut cursors[0], face.centroid);
                let mut own = value_in(&level.grid, channel, face.home);
                if was_wet(face.from) != was_wet(next) {
                    let followed = surface_flow.velocity(&mut Cursor::default(), face.centroid);
                    own += self.part_lost(pairs.dx) * (followed.dot(face.normal) - own);
                }
                let (least, most) = cursors[1].range(face.normal);
                (own + (there - here).dot(face.normal)).clamp(least.min(own), most.max(own))
            } else {
                there.dot(face.normal)
            };
            *u = carried + push.dot(face.normal);
        });
    }

    /// The part of what the surface does not follow that a crossed face of leaves of edge `dx` loses in the step.
    fn part_lost(&self, dx: f64) -> f32 {
        let gravity = f64::from(self.model.setup.liquid.gravity.length());
        (1.0 - (-UNFOLLOWED_DECAY * self.dt_s * (gravity / dx).sqrt()).exp()) as f32
    }
}

/// Is any of the two cells of a face liquid?
pub(crate) fn is_wet<F: Fields>(pairs: &Pairs<F>, from: u64, k: usize) -> bool {
    pairs.value(PHI, from) < 0.0 || pairs.value(PHI, pairs.next(from, k)) < 0.0
}
