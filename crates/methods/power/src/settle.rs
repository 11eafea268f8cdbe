//! The level set brought to the volume that the fluxes say is in each power cell.

use crate::band::Band;
use crate::channels::PHI;
use crate::view::{Place, View};
use fluvial_foundation::{AXES, Vec3, parallel};

/// A leaf with less surface around it than this, in its faces, has none to be settled by.
const LEAST_AREA: f64 = 0.02;
/// Less than this is rounding, in leaves: of the parts of 64 voxels in single precision.
const LEAST_OWED: f64 = 1e-6;
/// Leaves that a solid cuts ask for what they are owed beyond this, in leaves: see `fluvial_octree::settle`.
const LEAST_OWED_AT_SOLID: f64 = 0.02;
/// The surface is displaced by at most this in a round, leaves; the rest waits.
const FARTHEST_LEAVES: f32 = 0.5;
/// The surface is displaced this far from it, leaves.
const REACH_LEAVES: f32 = 3.0;
/// Weights of a leaf itself and of every leaf beside it: in a uniform grid they add up to one.
const OWN: f64 = 0.25;
const BESIDE: f64 = 0.125;

/// The leaves near the surface and those beside them.
pub struct Settlement {
    near: Vec<Place>,
    number: Vec<u32>,
    /// Places in the list of the leaves beside each: `beside[start[n]..start[n + 1]]`.
    start: Vec<u32>,
    beside: Vec<u32>,
}

impl Settlement {
    /// Finds the leaves that displacements may reach.
    pub fn new(view: View, leaves: &[Place]) -> Settlement {
        let reach = REACH_LEAVES + FARTHEST_LEAVES;
        Settlement::of(view, leaves, |leaf| view.value(leaf, PHI).abs() < reach * view.level(leaf.level).dx)
    }

    fn of(view: View, leaves: &[Place], is_near: impl Fn(Place) -> bool) -> Settlement {
        let number: Vec<u32> = (0..leaves.len()).filter(|&n| is_near(leaves[n])).map(|n| n as u32).collect();
        let near: Vec<Place> = number.iter().map(|&n| leaves[n as usize]).collect();
        let beside_each = parallel::map_indices(near.len(), |n| {
            let mut beside = vec![];
            view.for_each_face(near[n], |face| {
                beside.extend(face.other.and_then(|other| near.binary_search(&other).ok()).map(|n| n as u32));
            });
            beside
        });
        let (mut start, mut beside) = (vec![0], vec![]);
        for list in beside_each {
            beside.extend(list);
            start.push(beside.len() as u32);
        }
        Settlement { near, number, start, beside }
    }

    fn beside(&self, n: usize) -> &[u32] {
        &self.beside[self.start[n] as usize..self.start[n + 1] as usize]
    }

    /// All leaves, for sums over those beside each.
    pub fn of_all(view: View, leaves: &[Place]) -> Settlement {
        Settlement::of(view, leaves, |_| true)
    }

    /// `B value`, symmetric.
    pub fn spread(&self, value: &[f64]) -> Vec<f64> {
        parallel::map_indices(value.len(), |n| {
            OWN * value[n] + BESIDE * self.beside(n).iter().map(|&m| value[m as usize]).sum::<f64>()
        })
    }

    /// By number of leaf, how far the surface must go outwards there so that each neighbourhood gets the volume that its leaves
    /// are owed, m3, and how often that was held back: `fluvial_level_set::Settlement` with the leaves that share faces for neighbours.
    ///
    /// With a_i the surface in leaf i, m_j what leaf j is owed and W = B B symmetric, `delta_i = sum_j W_ij m_j / (sum_k W_kj a_k)`, so
    /// that to first order `sum_i a_i delta_i = sum_j m_j`.
    pub fn displacement(
        &self,
        view: View,
        owed: &[f64],
        open_part: impl Fn(Place) -> f64 + Sync + Send,
    ) -> (Vec<f32>, usize) {
        let edge = |n: usize| f64::from(view.level(self.near[n].level).dx);
        let phi = |n: usize| f64::from(view.value(self.near[n], PHI));
        let open = parallel::map_indices(self.near.len(), |n| open_part(self.near[n]));
        let area = parallel::map_indices(self.near.len(), |n| {
            (1.0 - phi(n).abs() / edge(n)).max(0.0) * open[n] * edge(n).powi(2)
        });
        let around = self.spread(&self.spread(&area));
        let asked = parallel::map_indices(self.near.len(), |n| {
            let cube = edge(n).powi(3);
            let mut part = owed[self.number[n] as usize] / cube;
            if open[n] < 1.0 {
                part -= part.clamp(-LEAST_OWED_AT_SOLID, LEAST_OWED_AT_SOLID);
            }
            let moves = phi(n).abs() < f64::from(REACH_LEAVES) * edge(n);
            let settles = part.abs() > LEAST_OWED && moves && around[n] > LEAST_AREA * edge(n).powi(2);
            if settles { part * cube / around[n] } else { 0.0 }
        });
        let mut shift = self.spread(&self.spread(&asked));
        shift.iter_mut().zip(&area).filter(|(_, area)| **area == 0.0).for_each(|(shift, _)| *shift = 0.0);
        // The leaves beyond take the mean of their neighbours', so that the surface's neighbourhood moves as one.
        for _ in 0..2 {
            shift = parallel::map_indices(shift.len(), |n| {
                let known = || self.beside(n).iter().map(|&m| shift[m as usize]).filter(|s| *s != 0.0);
                match shift[n] {
                    0.0 if area[n] == 0.0 => known().sum::<f64>() / known().count().max(1) as f64,
                    own => own,
                }
            });
        }
        let mut by_number = vec![0.0f32; owed.len()];
        let mut held_back = 0;
        for (n, &shift) in shift.iter().enumerate() {
            let most = FARTHEST_LEAVES * edge(n) as f32;
            held_back += usize::from(shift.abs() > f64::from(most));
            by_number[self.number[n] as usize] = (shift as f32).clamp(-most, most);
        }
        (by_number, held_back)
    }
}

/// What the centres around a point have of a field on leaves, asked last.
#[derive(Clone, Copy)]
pub struct Corners {
    low: Vec3,
    size: f32,
    value: [f32; 8],
}

impl Default for Corners {
    fn default() -> Self {
        Corners { low: Vec3::NAN, size: 0.0, value: [0.0; 8] }
    }
}

/// A field on leaves, by their numbers, at a point: linear between the centres of leaves of the size of the one around it.
pub fn between_centers(view: View, field: &[f32], corners: &mut Corners, x: Vec3) -> f32 {
    let mut t = (x - corners.low) / corners.size;
    if !(t.cmpge(Vec3::ZERO).all() && t.cmple(Vec3::ONE).all()) {
        let shape = view.pyramid.shape();
        let size = view.level(view.locate(x).level).dx;
        let low = shape.min + size * (((x - shape.min) / size - 0.5).floor() + 0.5);
        let bounds = shape.bounds();
        let value = std::array::from_fn(|n| {
            let step = Vec3::from_array(AXES.map(|a| (n >> a & 1) as f32));
            let at = (low + size * step).clamp(bounds.min, bounds.max);
            field[view.number(view.locate(at))]
        });
        *corners = Corners { low, size, value };
        t = ((x - low) / size).clamp(Vec3::ZERO, Vec3::ONE);
    }
    let v = &corners.value;
    let along_x = |n: usize| v[n] + t.x * (v[n + 1] - v[n]);
    let (low, high) =
        (along_x(0) + t.y * (along_x(2) - along_x(0)), along_x(4) + t.y * (along_x(6) - along_x(4)));
    low + t.z * (high - low)
}

/// Displaces the surface outwards by a field on leaves, m.
pub fn displace(band: &mut Band, view: View, shift: &[f32]) {
    band.change_by_page(|corners: &mut Corners, x, phi| phi - between_centers(view, shift, corners, x));
}
