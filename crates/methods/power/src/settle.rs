//! The level set brought to the volume that the fluxes say is in each power cell.

use crate::band::{self, Band, PageCubes, kept};
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
/// The pressure sees the surface at most this far from where the band has it, leaves.
const FARTHEST_SEEN_LEAVES: f32 = 0.25;
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
        let mut place_of = vec![u32::MAX; leaves.len()];
        number.iter().zip(0..).for_each(|(&number, n)| place_of[number as usize] = n);
        let (mut start, mut beside) = (vec![0], vec![]);
        for &number in &number {
            let others = view.diagram.beside(number as usize).iter().map(|&other| place_of[other as usize]);
            beside.extend(others.filter(|&n| n != u32::MAX));
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

    /// Area of the surface in each leaf near it, m2, as distances show it; `open` is what solids leave of the leaves.
    fn area(&self, view: View, open: &[f64]) -> Vec<f64> {
        parallel::map_indices(self.near.len(), |n| {
            let (leaf, dx) = (self.near[n], view.level(self.near[n].level).dx);
            f64::from((1.0 - view.value(leaf, PHI).abs() / dx).max(0.0)) * open[n] * f64::from(dx).powi(2)
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
        let area = self.area(view, &open);
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

impl Settlement {
    /// Evens out what the leaves that the surface passes through or beside are still owed, m3 by number: each pair exchanges a part of
    /// the difference, so that the sum stays.
    ///
    /// One displacement answers to what a leaf and its neighbours are owed together. What alternates between neighbours asks for none and would
    /// be kept for ever; in standing waves it grew by a twentieth in a step. Test: `what_alternates_is_evened_out`.
    pub fn even_out(&self, view: View, owed: &mut [f64], is_open: impl Fn(Place) -> bool + Sync + Send) {
        let is_at_surface = parallel::map_indices(self.near.len(), |n| {
            let (leaf, dx) = (self.near[n], view.level(self.near[n].level).dx);
            view.value(leaf, PHI).abs() < dx && is_open(leaf)
        });
        let cube = |n: usize| f64::from(view.level(self.near[n].level).dx).powi(3);
        let before = &*owed;
        let part = |n: usize| before[self.number[n] as usize] / cube(n);
        let changes = parallel::map_indices(self.near.len(), |n| {
            let exchange = |&m: &u32| match is_at_surface[n] && is_at_surface[m as usize] {
                true => BESIDE * cube(n).min(cube(m as usize)) * (part(m as usize) - part(n)),
                false => 0.0,
            };
            self.beside(n).iter().map(exchange).sum::<f64>()
        });
        for (&number, change) in self.number.iter().zip(changes) {
            owed[number as usize] += change;
        }
    }
}

impl Settlement {
    /// By number of leaf, the distance to the surface that the pressure sees, m, and how often that was held back: the band's surface,
    /// moved outwards by what each column is still owed over the area that it has there.
    ///
    /// A wave of number k has the volume V above its level, of which the band shows eta. The fluxes through the pressure's own faces change V;
    /// the band is moved by velocities interpolated between those, which are smaller by `1 - m = (1 - cos k dx) / 4` along each axis. A settlement
    /// leaves a part q of the difference to the next one:
    ///
    /// `dV/dt = u,   r = V - eta,   r' = q (r + dt (1 - m) u)   hence   r = tau (1 - m) u,   tau = q dt / (1 - q)`.
    ///
    /// Under the band's surface `du/dt = -omega^2 eta = -omega^2 V + omega^2 tau (1 - m) u`: what is owed comes late, and pushes the wave on
    /// instead of back. Noise in still water between leaves of one size grew by 0.7 a second with `dt = 0.5 sqrt(dx / g)`. Under V itself
    /// velocity changes the height by which it is driven, and nothing else: no wave grows. Tests: `the_pressure_sees_what_a_column_holds`,
    /// and of the solver `noise_in_still_water_does_not_grow`.
    ///
    /// All that is owed counts, also what cut leaves do not ask of the band: with those left out still water over
    /// a slope rose from rounding errors to 0.8 of `sqrt(g h)` in ten seconds.
    ///
    /// The column of a leaf are the leaves beside it, with the squared cosines between the directions to them and the surface's normal for
    /// weights. Leaves keep their sides.
    pub fn seen_distance(
        &self,
        view: View,
        band: &Band,
        owed: &[f64],
        open_part: impl Fn(Place) -> f64 + Sync + Send,
    ) -> (Vec<f32>, usize) {
        let open = parallel::map_indices(self.near.len(), |n| open_part(self.near[n]));
        let area = self.area(view, &open);
        let seen = parallel::map_indices(self.near.len(), |n| {
            let (leaf, dx) = (self.near[n], view.level(self.near[n].level).dx);
            let (center, own) = (view.center(leaf), view.value(leaf, PHI));
            let Some(slope) = band.slope(center).filter(|_| area[n] > 0.0) else { return (own, false) };
            let normal = slope.normalize_or_zero();
            let (mut column_m3, mut column_m2) = (0.0, 0.0);
            let mut add = |m: usize, weight: f64| {
                column_m3 += weight * owed[self.number[m] as usize];
                column_m2 += weight * area[m];
            };
            add(n, 1.0);
            for &m in self.beside(n) {
                let way = view.center(self.near[m as usize]) - center;
                add(m as usize, f64::from(way.dot(normal).powi(2) / way.length_squared()));
            }
            if column_m2 < LEAST_AREA * f64::from(dx).powi(2) {
                return (own, false);
            }
            let (wanted, most) = ((column_m3 / column_m2) as f32, FARTHEST_SEEN_LEAVES * dx);
            let seen = own - wanted.clamp(-most, most);
            let is_own_side = seen * own > 0.0;
            let kept = if is_own_side { seen } else { f32::MIN_POSITIVE.copysign(own) };
            (kept, wanted.abs() > most || !is_own_side)
        });
        let mut by_number = parallel::map_indices(owed.len(), |n| view.value(view.leaves()[n], PHI));
        self.number.iter().zip(&seen).for_each(|(&number, (phi, _))| by_number[number as usize] = *phi);
        (by_number, seen.iter().filter(|(_, held_back)| *held_back).count())
    }
}

/// What the 27 centres at and around a leaf have of a field, x fastest.
struct Around {
    leaf: Option<Place>,
    value: [f32; 27],
}

impl Default for Around {
    fn default() -> Self {
        Around { leaf: None, value: [0.0; 27] }
    }
}

impl Around {
    /// Beside leaves of other sizes the centres are where leaves of its own size would have them.
    fn load(&mut self, view: View, channel: usize, leaf: Place) {
        if self.leaf == Some(leaf) {
            return;
        }
        let level = view.level(leaf.level);
        let (layout, bounds) = (level.grid.layout(), view.pyramid.shape().bounds());
        let (center, at) = (view.center(leaf), layout.decode(leaf.cell));
        let codes = AXES.map(|a| [-1, 0, 1].map(|n| layout.along(a, i64::from(at[a]) + n)));
        self.leaf = Some(leaf);
        self.value = std::array::from_fn(|n| {
            let step = [n % 3, n / 3 % 3, n / 9];
            let cell = codes[0][step[0]] | codes[1][step[1]] | codes[2][step[2]];
            let place = Place { cell, ..leaf };
            if view.code(place).is_some() {
                return view.value(place, channel);
            }
            let step = Vec3::from_array(step.map(|v| v as f32 - 1.0));
            let x = (center + level.dx * step).clamp(bounds.min, bounds.max);
            view.value(view.locate(x), channel)
        });
    }

    /// Linear between the centres, `t` from the leaf's own in its edges.
    #[inline]
    fn at(&self, t: Vec3) -> f32 {
        let (low, t) = (AXES.map(|a| usize::from(t[a] >= 0.0)), AXES.map(|a| t[a] + f32::from(t[a] < 0.0)));
        let first = low[0] + 3 * low[1] + 9 * low[2];
        let along_x = |n: usize| {
            let v = &self.value[first + n..];
            v[0] + t[0] * (v[1] - v[0])
        };
        let (near, far) =
            (along_x(0) + t[1] * (along_x(3) - along_x(0)), along_x(9) + t[1] * (along_x(12) - along_x(9)));
        near + t[2] * (far - near)
    }
}

/// Displaces the surface outwards by a field on leaves, m: linear between their centres.
pub fn displace(band: &mut Band, view: View, shift: usize) {
    let (min, dx, layout) = (band.min, band.dx, *band.grid.layout());
    let cubes = PageCubes::new(band, view.pyramid.shape().dx);
    band.grid.for_each_block_with(None, [band::PHI], |around: &mut Around, _, page, _, [phi]| {
        let first = layout.decode(layout.first_of(page));
        for (low, at) in cubes.of_page(first) {
            let leaf = view.leaf_at(at);
            around.load(view, shift, leaf);
            if around.value == [0.0; 27] {
                continue;
            }
            let (center, per_edge) = (view.center(leaf), 1.0 / view.level(leaf.level).dx);
            for cell in cubes.rows(low).flatten() {
                if phi[cell] == 0.0 {
                    continue;
                }
                let voxel = [cell & 7, cell >> 3 & 7, cell >> 6];
                let x = AXES.map(|a| (first[a] as usize + voxel[a]) as f32 + 0.5);
                let t = (min + dx * Vec3::from_array(x) - center) * per_edge;
                phi[cell] = kept(phi[cell] - around.at(t));
            }
        }
    });
}
