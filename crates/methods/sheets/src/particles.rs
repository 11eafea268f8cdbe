//! The particles themselves, one array per quantity.

use fluvial_foundation::{Vec3, parallel};

/// Mass of a small particle, in quanta. A power of three, so that the thirds of an insertion are whole for
/// many generations; where they are not, the rest stays with the parents.
pub const UNIT_MASS: u32 = 3u32.pow(16);

/// What a particle is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// As seeded.
    #[default]
    Small = 0,
    /// Several small ones in one [sheets §5.1].
    Merged = 1,
    /// Put between others to keep a sheet whole [sheets §4.3].
    Inserted = 2,
}

impl Kind {
    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Kind> {
        [Kind::Small, Kind::Merged, Kind::Inserted].into_iter().find(|k| *k as u8 == number)
    }
}

/// Marks a particle without family.
pub const NO_FAMILY: u32 = u32::MAX;

/// Liquid particles, all arrays of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// Positions, metres.
    pub x: Vec<Vec3>,
    /// Velocities, m/s.
    pub v: Vec<Vec3>,
    /// Masses in quanta; a small particle has [`UNIT_MASS`].
    pub mass: Vec<u32>,
    /// Small particles inside: 1, or more for merged ones.
    pub count: Vec<u8>,
    /// What it is.
    pub kind: Vec<Kind>,
    /// Steps since it was inserted, held at 255.
    pub steps: Vec<u8>,
    /// Its node in [`Families`](crate::Families), or [`NO_FAMILY`].
    pub family: Vec<u32>,
    /// A number for life, never given twice.
    pub id: Vec<u64>,
    /// Seconds since seeding or insertion.
    pub age_s: Vec<f32>,
    /// The id of the next particle.
    pub next_id: u64,
}

impl Particles {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Mass of all, in quanta: exact.
    pub fn total_mass(&self) -> u64 {
        self.mass.iter().map(|&m| m as u64).sum()
    }

    /// Mass relative to a small particle: the weight in every sum.
    #[inline]
    pub fn weight(&self, i: usize) -> f32 {
        self.mass[i] as f32 * (1.0 / UNIT_MASS as f32)
    }

    /// Radius of a particle, d_n = n^(1/3) d0 [sheets eq. 16].
    #[inline]
    pub fn radius(&self, i: usize, d0: f32) -> f32 {
        radius_of(self.count[i], d0)
    }

    /// Adds a small particle.
    pub fn push_small(&mut self, x: Vec3, v: Vec3) {
        self.push(x, v, UNIT_MASS, 1, Kind::Small);
    }

    /// Adds a particle without family, of age 0.
    pub fn push(&mut self, x: Vec3, v: Vec3, mass: u32, count: u8, kind: Kind) {
        self.x.push(x);
        self.v.push(v);
        self.mass.push(mass);
        self.count.push(count);
        self.kind.push(kind);
        self.steps.push(0);
        self.family.push(NO_FAMILY);
        self.id.push(self.next_id);
        self.age_s.push(0.0);
        self.next_id += 1;
    }

    /// Particle `i` becomes the old particle `order[i]`; those not named are gone.
    pub fn rearrange(&mut self, order: &[u32]) {
        fn take<T: Copy + Send + Sync>(values: &mut Vec<T>, order: &[u32]) {
            let chunks = parallel::map_indices(parallel::chunk_count(order.len(), parallel::CHUNK), |c| {
                let part = &order[parallel::chunk_range(c, parallel::CHUNK, order.len())];
                part.iter().map(|&i| values[i as usize]).collect::<Vec<T>>()
            });
            values.clear();
            chunks.iter().for_each(|c| values.extend_from_slice(c));
        }
        take(&mut self.x, order);
        take(&mut self.v, order);
        take(&mut self.mass, order);
        take(&mut self.count, order);
        take(&mut self.kind, order);
        take(&mut self.steps, order);
        take(&mut self.family, order);
        take(&mut self.id, order);
        take(&mut self.age_s, order);
    }

    /// Do all arrays have one length?
    pub fn is_whole(&self) -> bool {
        let n = self.len();
        [self.v.len(), self.mass.len(), self.count.len(), self.kind.len(), self.steps.len()]
            .into_iter()
            .chain([self.family.len(), self.id.len(), self.age_s.len()])
            .all(|l| l == n)
    }
}

/// n^(1/3) d0.
#[inline]
pub(crate) fn radius_of(count: u8, d0: f32) -> f32 {
    CUBE_ROOTS[count as usize] * d0
}

/// Cube roots of whole numbers: neighbours ask for them by the million.
const CUBE_ROOTS: [f32; 256] = {
    let mut roots = [0.0; 256];
    let mut n = 1;
    while n < 256 {
        let mut root = 1.0 + n as f64 / 8.0;
        let mut round = 0;
        while round < 64 {
            root -= (root * root * root - n as f64) / (3.0 * root * root);
            round += 1;
        }
        roots[n] = root as f32;
        n += 1;
    }
    roots
};
