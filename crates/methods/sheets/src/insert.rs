//! Which candidates become particles, and in what order [sheets §4.3].

use crate::candidates::Candidate;
use crate::families::Families;
use crate::neighbours::{Bins, Neighbours};
use crate::params::SheetParams;
use crate::particles::{Kind, Particles, UNIT_MASS};
use crate::shapes::Shapes;
use fluvial_foundation::Vec3;

/// What an insertion did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inserted {
    /// New particles.
    pub inserted: usize,
    /// Candidates refused because a parent was too light to give any more.
    pub too_light: usize,
}

/// The candidates to insert, in order: the sparsest first (eq. 13), then again and again the nearest one
/// within beta_max radii of the last (eq. 14); where there is none, the sparsest that is left. Whoever is
/// chosen removes the others within beta_min radii. Equal densities and distances are settled by the
/// candidates' order.
///
/// Tests: `insertion_follows_the_definition`, `inserted_particles_keep_their_distance`.
pub fn order_candidates(candidates: &[Candidate], bins: &Bins, params: &SheetParams) -> Vec<u32> {
    let (near, far) = (params.insert_min * params.d0, params.insert_max * params.d0);
    // Candidates lie much denser than particles: cells of the radius that empties them.
    let size = bins.size.map(|n| ((n as f32 * bins.cell_m / near).ceil() as usize).max(1));
    let mut cells = Cells::new(Bins { min: bins.min, cell_m: near, size }, candidates);
    let mut sparsest: Vec<u32> = (0..candidates.len() as u32).collect();
    sparsest.sort_by(|&a, &b| {
        candidates[a as usize].density.total_cmp(&candidates[b as usize].density).then(a.cmp(&b))
    });
    let mut chosen = vec![];
    let mut next_sparsest = sparsest.into_iter();
    let mut last: Option<Vec3> = None;
    loop {
        let next = last
            .and_then(|x| cells.nearest(x, far, candidates))
            .or_else(|| next_sparsest.find(|&c| cells.alive[c as usize]));
        let Some(next) = next else { return chosen };
        let x = candidates[next as usize].x;
        cells.remove_within(x, near, candidates);
        chosen.push(next);
        last = Some(x);
    }
}

/// Candidates by cell, from which they are struck off. Cells are found by sorting, not by a table: candidates
/// are few.
struct Cells {
    search: Neighbours,
    /// Candidate at each place of the search.
    of_place: Vec<u32>,
    alive: Vec<bool>,
}

impl Cells {
    fn new(bins: Bins, candidates: &[Candidate]) -> Self {
        let mut points: Vec<Vec3> = candidates.iter().map(|c| c.x).collect();
        let mut search = Neighbours::new(bins);
        let of_place = search.sort_points(&mut points).to_vec();
        Cells { search, of_place, alive: vec![true; candidates.len()] }
    }

    fn nearest(&self, x: Vec3, reach: f32, _: &[Candidate]) -> Option<u32> {
        let mut best: Option<(f32, u32)> = None;
        self.search.for_each_within(x, reach, |place, _, r2| {
            let candidate = self.of_place[place];
            if self.alive[candidate as usize] && best.is_none_or(|b| (r2, candidate) < b) {
                best = Some((r2, candidate));
            }
        });
        best.map(|(_, candidate)| candidate)
    }

    /// The chosen one lies at `x` itself and goes with the others.
    fn remove_within(&mut self, x: Vec3, reach: f32, _: &[Candidate]) {
        let Cells { search, of_place, alive } = self;
        search.for_each_within(x, reach, |place, _, _| alive[of_place[place] as usize] = false);
    }
}

/// Inserts the candidates in the given order: the new particle stands between its parents with their mean
/// velocity and a third of their masses, `m = (m_i + m_j) / 3`, and they keep two thirds [sheets §4.3].
/// `shapes` grow with the particles: a new one is thin and has its candidate's density.
///
/// Test: `mass_is_conserved_through_any_history`.
pub fn insert(
    particles: &mut Particles,
    families: &mut Families,
    shapes: &mut Shapes,
    candidates: &[Candidate],
    order: &[u32],
    params: &SheetParams,
) -> Inserted {
    let mut report = Inserted::default();
    let lightest = ((params.lightest_mass * UNIT_MASS as f32) as u32).max(3);
    for &chosen in order {
        let candidate = &candidates[chosen as usize];
        let parents = candidate.parents.map(|p| p as usize);
        if parents.iter().any(|&p| particles.mass[p] < lightest) {
            report.too_light += 1;
            continue;
        }
        let shares = parents.map(|p| particles.mass[p] / 3);
        let [a, b] = parents;
        let v = 0.5 * (particles.v[a] + particles.v[b]);
        particles.mass[a] -= shares[0];
        particles.mass[b] -= shares[1];
        let child = particles.len();
        particles.push(candidate.x, v, shares[0] + shares[1], 1, Kind::Inserted);
        families.born(particles, child, parents, shares);
        shapes.density.push(candidate.density);
        shapes.thin.push(true);
        shapes.place.push(Shapes::ROUND);
        report.inserted += 1;
    }
    report
}
