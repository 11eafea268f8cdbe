//! Drops below the grid: liquid too small for a level set, with its volume and momentum.
//!
//! A level set knows no body thinner than about a cell. What it loses of films, edges and spray goes on as
//! drops: they fly under gravity, slide along walls and solids, join where many meet, and become liquid of the
//! grid again where they reach it. On any grid: cells, walls and solids are given as functions.

mod arrival;
mod flight;

pub use arrival::{Arrived, Home, MARGIN_CELLS, SMALLEST, normal, out_of_solids};
pub use flight::{Obstacles, fly};

use fluvial_foundation::Vec3;

/// Radius of the ball of a volume, metres.
pub fn radius_m(volume_m3: f64) -> f32 {
    (0.75 * volume_m3 / std::f64::consts::PI).cbrt() as f32
}

/// Drops, one entry of each list per drop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drops {
    /// Places, metres.
    pub x: Vec<Vec3>,
    /// Velocities, m/s.
    pub v: Vec<Vec3>,
    /// Volumes, m3.
    pub volume_m3: Vec<f64>,
    /// Time since each left the liquid, s; of the oldest one where drops have joined.
    pub age_s: Vec<f32>,
    /// Names that last; of the largest one where drops have joined.
    pub id: Vec<u64>,
    /// The next name.
    pub next_id: u64,
}

impl Drops {
    /// How many.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Adds a drop.
    pub fn push(&mut self, x: Vec3, v: Vec3, volume_m3: f64) {
        self.x.push(x);
        self.v.push(v);
        self.volume_m3.push(volume_m3);
        self.age_s.push(0.0);
        self.id.push(self.next_id);
        self.next_id += 1;
    }

    /// Volume of all, m3.
    pub fn total_m3(&self) -> f64 {
        self.volume_m3.iter().sum()
    }

    /// Fastest, m/s.
    pub fn fastest_m_s(&self) -> f32 {
        self.v.iter().fold(0.0, |most, v| v.length().max(most))
    }

    /// Removes the drops that `keep(self, n)` does not want, in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Drops, usize) -> bool) {
        let mut kept = 0;
        for n in 0..self.len() {
            if keep(self, n) {
                self.copy_within(n, kept);
                kept += 1;
            }
        }
        self.x.truncate(kept);
        self.v.truncate(kept);
        self.volume_m3.truncate(kept);
        self.age_s.truncate(kept);
        self.id.truncate(kept);
    }

    fn copy_within(&mut self, from: usize, to: usize) {
        self.x[to] = self.x[from];
        self.v[to] = self.v[from];
        self.volume_m3[to] = self.volume_m3[from];
        self.age_s[to] = self.age_s[from];
        self.id[to] = self.id[from];
    }

    /// Sorts by the cell that each drop is in and joins those of cells that hold more than `most`: one drop of
    /// their volume and momentum at their centre of mass. Verified by `joining_keeps_volume_and_momentum`.
    pub fn join(&mut self, most: usize, cell_of: impl Fn(Vec3) -> usize) {
        let mut order: Vec<(usize, u32)> = (0..self.len()).map(|n| (cell_of(self.x[n]), n as u32)).collect();
        order.sort_unstable();
        let old = std::mem::take(self);
        self.next_id = old.next_id;
        for of_cell in order.chunk_by(|a, b| a.0 == b.0) {
            let numbers = || of_cell.iter().map(|&(_, n)| n as usize);
            if of_cell.len() <= most {
                numbers().for_each(|n| self.push_from(&old, n));
                continue;
            }
            let total_m3: f64 = numbers().map(|n| old.volume_m3[n]).sum();
            let mean = |of: &[Vec3]| -> Vec3 {
                numbers().map(|n| (old.volume_m3[n] / total_m3) as f32 * of[n]).sum()
            };
            let largest = numbers().max_by(|&a, &b| old.volume_m3[a].total_cmp(&old.volume_m3[b]));
            self.push_from(&old, largest.expect("more than `most` drops"));
            let last = self.len() - 1;
            (self.x[last], self.v[last]) = (mean(&old.x), mean(&old.v));
            self.volume_m3[last] = total_m3;
            self.age_s[last] = numbers().fold(0.0, |oldest, n| old.age_s[n].max(oldest));
        }
    }

    fn push_from(&mut self, old: &Drops, n: usize) {
        self.x.push(old.x[n]);
        self.v.push(old.v[n]);
        self.volume_m3.push(old.volume_m3[n]);
        self.age_s.push(old.age_s[n]);
        self.id.push(old.id[n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn momentum(drops: &Drops) -> [f64; 3] {
        [0, 1, 2].map(|a| (0..drops.len()).map(|n| drops.volume_m3[n] * drops.v[n][a] as f64).sum())
    }

    #[test]
    fn joining_keeps_volume_and_momentum() {
        let mut drops = Drops::default();
        for n in 0..10 {
            let x = Vec3::new(if n < 7 { 0.2 } else { 1.3 }, 0.1 * n as f32, 0.5);
            drops.push(x, Vec3::new(n as f32, -1.0, 0.5), 1e-6 * (n + 1) as f64);
        }
        let (volume_m3, before) = (drops.total_m3(), momentum(&drops));
        drops.join(3, |x| x.x as usize);
        assert_eq!(drops.len(), 1 + 3, "seven of one cell have joined, three of another have not");
        assert!((drops.total_m3() - volume_m3).abs() < 1e-15 * volume_m3.max(1.0));
        let after = momentum(&drops);
        assert!(
            (0..3).all(|a| (after[a] - before[a]).abs() < 1e-6 * before[0].abs()),
            "{before:?} {after:?}"
        );
        assert_eq!((drops.id[0], drops.next_id), (6, 10), "the largest one's name");
    }

    #[test]
    fn those_kept_stay_in_order() {
        let mut drops = Drops::default();
        (0..5).for_each(|n| drops.push(Vec3::splat(n as f32), Vec3::ZERO, n as f64));
        drops.retain(|d, n| (d.volume_m3[n] as usize).is_multiple_of(2));
        assert_eq!((drops.id.as_slice(), drops.total_m3()), ([0, 2, 4].as_slice(), 6.0));
    }
}
