//! The particles themselves, one array per quantity.

use fluvial_foundation::{Vec3, parallel};

/// Particles of equal mass, one array per quantity, all of the same length
/// (`affine` may be empty: only APIC keeps it).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// Positions, metres.
    pub x: Vec<Vec3>,
    /// Velocities, m/s.
    pub v: Vec<Vec3>,
    /// APIC rows: the gradient of each velocity component, 1/s; empty for FLIP.
    pub affine: [Vec<Vec3>; 3],
    /// A number for life, given at birth, never given twice.
    pub id: Vec<u64>,
    /// Time since birth, seconds.
    pub age_s: Vec<f32>,
    /// The id that the next particle born will get.
    pub next_id: u64,
}

/// A particle about to be born.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub x: Vec3,
    pub v: Vec3,
    pub affine: Option<[Vec3; 3]>,
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

    /// Do the particles carry APIC rows?
    pub fn has_affine(&self) -> bool {
        !self.affine[0].is_empty()
    }

    /// Adds one particle of age 0 and returns its id. Rows are kept only if the others have them
    /// (or if it is the first one and `affine` is given).
    pub fn push(&mut self, x: Vec3, v: Vec3, affine: Option<[Vec3; 3]>) -> u64 {
        if self.has_affine() || (self.is_empty() && affine.is_some()) {
            let rows = affine.unwrap_or_default();
            for (array, row) in self.affine.iter_mut().zip(rows) {
                array.push(row);
            }
        }
        let id = self.next_id;
        self.x.push(x);
        self.v.push(v);
        self.id.push(id);
        self.age_s.push(0.0);
        self.next_id += 1;
        id
    }

    /// Gives every particle rows of zeros if it has none (a change from FLIP to APIC), or drops them.
    pub(crate) fn set_affine(&mut self, wanted: bool) {
        let n = if wanted { self.len() } else { 0 };
        for rows in &mut self.affine {
            rows.resize(n, Vec3::ZERO);
        }
    }

    /// Rearranges every array so that particle `i` becomes the old particle `order[i]`.
    pub(crate) fn gather(&mut self, order: &[u32], scratch: &mut GatherScratch) {
        gather_array(&mut self.x, &mut scratch.vec3, order);
        gather_array(&mut self.v, &mut scratch.vec3, order);
        for rows in self.affine.iter_mut().filter(|rows| !rows.is_empty()) {
            gather_array(rows, &mut scratch.vec3, order);
        }
        gather_array(&mut self.id, &mut scratch.id, order);
        gather_array(&mut self.age_s, &mut scratch.scalar, order);
    }
}

/// One spare array of each kind: arrays are gathered one after the other through them.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatherScratch {
    vec3: Vec<Vec3>,
    id: Vec<u64>,
    scalar: Vec<f32>,
}

fn gather_array<T: Copy + Default + Send + Sync>(array: &mut Vec<T>, spare: &mut Vec<T>, order: &[u32]) {
    spare.resize(order.len(), T::default());
    let source = &array[..];
    parallel::for_each_chunk_mut(spare, parallel::CHUNK, |chunk, out| {
        let order = &order[parallel::chunk_range(chunk, parallel::CHUNK, order.len())];
        for (value, &from) in out.iter_mut().zip(order) {
            *value = source[from as usize];
        }
    });
    std::mem::swap(array, spare);
}

/// Keeps the particles whose index passes `keep`, in their order; returns how many went.
///
/// Ranges found by sorting hold no longer afterwards if any particle went.
pub fn retain(particles: &mut Particles, keep: impl Fn(usize) -> bool + Sync) -> usize {
    let n = particles.len();
    let kept: Vec<Vec<u32>> = parallel::map_indices(parallel::chunk_count(n, parallel::CHUNK), |chunk| {
        parallel::chunk_range(chunk, parallel::CHUNK, n).filter(|&i| keep(i)).map(|i| i as u32).collect()
    });
    let total: usize = kept.iter().map(Vec::len).sum();
    if total < n {
        particles.gather(&kept.concat(), &mut GatherScratch::default());
    }
    n - total
}
