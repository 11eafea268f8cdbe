//! Spray, foam and air bubbles after [ihmsen-2012], posed on a liquid's level set and velocity.
//!
//! Whitewater follows the liquid and does not act on it. It is advanced from frame to frame and sees only what the liquid is at
//! frames: the same files come out whether it runs beside the simulation or afterwards on the volumes that a run wrote, and the
//! solver's steps do not matter. Every particle moves for itself, so that neither order nor threads matter.

mod around;
mod emission;
mod field;
mod interval;
mod motion;
mod potentials;

pub use around::{Around, Met, after_contact};
pub use emission::{Birth, Stretch, emit, thin_out};
pub use field::{BLOCK, Field, FieldBuilder, Moment, Sample};
pub use interval::Interval;
pub use motion::{Fate, Tally, relax, travel};
pub use potentials::{Ball, Site, Surroundings, area, find_sites};

use fluvial_foundation::{Vec3, parallel};

/// What a particle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A drop in the air.
    Spray = 0,
    /// On the surface.
    Foam = 1,
    /// Air in the liquid.
    Bubble = 2,
}

/// Names of the kinds by their numbers.
pub const KINDS: [&str; 3] = ["spray", "foam", "bubble"];

impl Kind {
    /// The kind of a number.
    pub fn from_number(number: u8) -> Option<Kind> {
        [Kind::Spray, Kind::Foam, Kind::Bubble].get(number as usize).copied()
    }
}

/// A particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Particle {
    /// Place, metres.
    pub x: Vec3,
    /// Velocity, m/s.
    pub v: Vec3,
    /// Unique through the run.
    pub id: u64,
    /// Since its birth, seconds.
    pub age_s: f32,
    /// How long it can still be foam, seconds.
    pub foam_left_s: f32,
    /// Metres.
    pub radius_m: f32,
    /// What it is now.
    pub kind: Kind,
}

/// Between which values a potential grows from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// 0 below.
    pub min: f32,
    /// 1 above.
    pub max: f32,
}

/// Everything that whitewater depends on, beside the liquid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// m/s2.
    pub gravity: Vec3,
    /// Velocity of the air, m/s.
    pub wind: Vec3,
    /// Velocity differences and curvatures are those of the liquid within this distance, m.
    pub reach_m: f32,
    /// Velocity differences that trap air, m/s.
    pub trapped_air: Ramp,
    /// Curvatures of crests that throw off spray, 1/m.
    pub crest: Ramp,
    /// Kinetic energies that it takes, J/kg.
    pub energy: Ramp,
    /// Particles of trapped air per area and second at full potentials, 1/(m2 s).
    pub air_rate_1_m2_s: f32,
    /// Particles from crests per area and second at full potentials, 1/(m2 s).
    pub crest_rate_1_m2_s: f32,
    /// Time in which spray takes on the air's velocity, s; in still air it falls at this times gravity at last.
    pub spray_response_s: f32,
    /// Speed at which bubbles rise through liquid at rest, m/s.
    pub bubble_rise_m_s: f32,
    /// Time in which bubbles take on the liquid's velocity, s.
    pub bubble_response_s: f32,
    /// Mean lifetime of foam, s; from half to one and a half of it.
    pub foam_lifetime_s: f32,
    /// Foam is what lies nearer to the surface than this, m.
    pub layer_m: f32,
    /// Middle radius of a particle, m; from half to twice of it.
    pub radius_m: f32,
    /// Coulomb's coefficient of friction against walls and solids.
    pub friction: f32,
    /// Spray slower than this that touches something dry is gone, m/s.
    pub rest_speed_m_s: f32,
    /// Particles at one time.
    pub most: usize,
    /// Of all chance.
    pub seed: u64,
}

impl Params {
    /// Values for a scene of a length L (its height, say) under gravity g, on cells of edge `dx_m`: speeds are parts of
    /// `sqrt(g L)`, times of `sqrt(L / g)`. Scenes that are alike get whitewater that is alike, whatever their size.
    pub fn scaled(gravity: Vec3, length_m: f32, dx_m: f32) -> Params {
        let g = gravity.length();
        let (speed, time_s) = ((g * length_m).sqrt(), (length_m / g).sqrt());
        let rate = 3e4 / (length_m * length_m * time_s);
        Params {
            gravity,
            wind: Vec3::ZERO,
            reach_m: 0.1 * length_m,
            trapped_air: Ramp { min: 0.12 * speed, max: 0.6 * speed },
            crest: Ramp { min: 8.0 / length_m, max: 32.0 / length_m },
            energy: Ramp { min: 0.04 * speed * speed, max: 0.4 * speed * speed },
            air_rate_1_m2_s: rate,
            crest_rate_1_m2_s: rate,
            spray_response_s: 2.0 * time_s,
            bubble_rise_m_s: 0.1 * speed,
            bubble_response_s: 0.1 * time_s,
            foam_lifetime_s: 8.0 * time_s,
            layer_m: dx_m,
            radius_m: length_m / 400.0,
            friction: 0.5,
            rest_speed_m_s: 0.02 * speed,
            most: 1_000_000,
            seed: 0,
        }
    }
}

/// Sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Particles born, by kind at birth.
    pub born: [u64; 3],
    /// Births refused because there were too many particles.
    pub refused: u64,
    /// What became of particles on their way.
    pub tally: Tally,
}

/// The particles, and what they need of the last frame.
#[derive(Clone, Debug)]
pub struct Whitewater {
    /// In the order of their numbers.
    pub particles: Vec<Particle>,
    /// The next number.
    pub next_id: u64,
    /// Sums since the start.
    pub totals: Totals,
    /// The liquid at the last frame; `None` before the first.
    pub last: Option<Field>,
    /// The cells of that frame that make whitewater.
    sites: Vec<Site>,
    /// Births of an interval, and where in the interval each particle starts: kept for their memory.
    births: Vec<Birth>,
    starts_s: Vec<f32>,
}

/// Particles that one call of a parallel loop moves.
const CHUNK: usize = 2048;
/// Stands in the number of a particle that is gone.
const GONE: u64 = u64::MAX;

impl Default for Whitewater {
    fn default() -> Self {
        Whitewater::new()
    }
}

impl Whitewater {
    /// None, before the first frame.
    pub fn new() -> Whitewater {
        Whitewater::restored(vec![], 0, Totals::default(), None, &[])
    }

    /// From what was saved; `sites` are found anew from the last frame.
    fn restored(
        particles: Vec<Particle>,
        next_id: u64,
        totals: Totals,
        last: Option<Field>,
        sites: &[Site],
    ) -> Self {
        let sites = sites.to_vec();
        Whitewater { particles, next_id, totals, last, sites, births: vec![], starts_s: vec![] }
    }

    /// From the parts that a checkpoint keeps.
    pub fn from_parts(
        particles: Vec<Particle>,
        next_id: u64,
        totals: Totals,
        last: Option<Field>,
        params: &Params,
    ) -> Self {
        let sites = last.as_ref().map(|field| find_sites(field, params)).unwrap_or_default();
        Whitewater::restored(particles, next_id, totals, last, &sites)
    }

    /// Particles of each kind.
    pub fn counts(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        self.particles.iter().for_each(|p| counts[p.kind as usize] += 1);
        counts
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let lists = self.particles.capacity() * size_of::<Particle>()
            + self.births.capacity() * size_of::<Birth>()
            + self.starts_s.capacity() * size_of::<f32>();
        lists + self.last.as_ref().map_or(0, Field::bytes)
    }

    /// Goes on to a frame, whose liquid is `end`. The first call only takes it in.
    ///
    /// The cells of both frames make particles, each in its half of the time between (the trapezoidal rule); then every particle
    /// moves to the frame for itself.
    pub fn advance(&mut self, end: Field, frame: u32, around: &Around, params: &Params) {
        let sites = find_sites(&end, params);
        if let Some(start) = self.last.take() {
            let half_s = 0.5 * around.length_s;
            let before =
                Stretch { frame: frame.wrapping_sub(1), from_s: 0.0, length_s: half_s, after_s: 0.0 };
            let after = Stretch { frame, from_s: -half_s, length_s: half_s, after_s: half_s };
            self.births.clear();
            emit(&mut self.births, &start, &self.sites, before, params);
            emit(&mut self.births, &end, &sites, after, params);
            self.take_in(&start, around, params);
            self.travel(&Interval { start: &start, end: &end, length_s: around.length_s }, around, params);
        }
        (self.last, self.sites) = (Some(end), sites);
    }

    /// The births join the particles, as many as there is room for.
    fn take_in(&mut self, field: &Field, around: &Around, params: &Params) {
        // The way from the frame to the moment of birth ends at walls and solids. What ends beyond them must not be left out: the
        // farther frames are apart the more of it there is.
        self.births.retain_mut(|b| {
            let has_place = emission::is_inside(field, b.from) && !around.is_solid(b.from, b.from_s);
            let Particle { x, v, .. } = &mut b.particle;
            has_place && around.hold(b.from, x, v, b.at_s).0 != Met::Left
        });
        let room = params.most.saturating_sub(self.particles.len());
        self.totals.refused += thin_out(&mut self.births, room) as u64;
        emission::number(&mut self.births, &mut self.next_id);
        self.births.iter().for_each(|b| self.totals.born[b.particle.kind as usize] += 1);
        self.starts_s.clear();
        self.starts_s.resize(self.particles.len(), 0.0);
        self.starts_s.extend(self.births.iter().map(|b| b.at_s));
        self.particles.extend(self.births.iter().map(|b| b.particle));
    }

    fn travel(&mut self, interval: &Interval<Field>, around: &Around, params: &Params) {
        let tallies = parallel::map_chunks2(
            &mut self.particles,
            &mut self.starts_s,
            CHUNK,
            |_, particles, starts_s| {
                let mut tally = Tally::default();
                for (p, &from_s) in particles.iter_mut().zip(starts_s.iter()) {
                    match travel(p, from_s, interval, around, params, &mut tally) {
                        Fate::Lives => continue,
                        Fate::Dissolved => tally.dissolved += 1,
                        Fate::Left => tally.left += 1,
                        Fate::Landed => tally.landed += 1,
                    }
                    p.id = GONE;
                }
                tally
            },
        );
        tallies.iter().for_each(|tally| self.totals.tally.add(tally));
        self.particles.retain(|p| p.id != GONE);
    }
}
