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

    /// Makes particle `i` the particle `order[i]` of `from`, all but its position.
    pub(crate) fn take_all_but_positions(&mut self, from: &Particles, order: &[u32]) {
        take(&mut self.v, &from.v, order);
        for (rows, from) in self.affine.iter_mut().zip(&from.affine) {
            take(rows, from, if from.is_empty() { &[] } else { order });
        }
        take(&mut self.id, &from.id, order);
        take(&mut self.age_s, &from.age_s, order);
        self.next_id = from.next_id;
    }

    /// Rearranges every array so that particle `i` becomes the old particle `order[i]`.
    pub(crate) fn rearrange(&mut self, order: &[u32]) {
        let mut sorted = Particles::default();
        take(&mut sorted.x, &self.x, order);
        sorted.take_all_but_positions(self, order);
        *self = sorted;
    }
}

/// `out[i] = from[order[i]]`.
pub(crate) fn take<T: Copy + Default + Send + Sync>(out: &mut Vec<T>, from: &[T], order: &[u32]) {
    fit(out, order.len());
    parallel::for_each_beside_mut(out, order, |value, &source| *value = from[source as usize]);
}

/// `values.len() == len`, contents of no interest. Grows by an eighth more than asked for: numbers of
/// particles rise slowly, and doubling would hold twice the memory.
pub(crate) fn fit<T: Copy + Default>(values: &mut Vec<T>, len: usize) {
    if values.capacity() < len {
        *values = Vec::with_capacity(len + len / 8);
    }
    values.resize(len, T::default());
}

/// Keeps the particles that pass `keep(particles, index)`, in their order; returns how many went.
///
/// Ranges found by sorting hold no longer afterwards if any particle went.
pub fn retain(particles: &mut Particles, keep: impl Fn(&Particles, usize) -> bool + Sync) -> usize {
    let (n, all) = (particles.len(), &*particles);
    let kept: Vec<Vec<u32>> = parallel::map_indices(parallel::chunk_count(n, parallel::CHUNK), |chunk| {
        parallel::chunk_range(chunk, parallel::CHUNK, n).filter(|&i| keep(all, i)).map(|i| i as u32).collect()
    });
    let total: usize = kept.iter().map(Vec::len).sum();
    if total < n {
        particles.rearrange(&kept.concat());
    }
    n - total
}
