//! Taking inserted particles back [sheets §4.3, eq. 15].

use crate::families::Families;
use crate::neighbours::Neighbours;
use crate::params::SheetParams;
use crate::particles::{Kind, Particles};
use crate::shapes::Shapes;
use fluvial_foundation::parallel;

/// Particles that one task takes.
const CHUNK: usize = 1 << 12;

/// What a collapse did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collapsed {
    /// Inserted particles that gave their mass back and are gone.
    pub collapsed: usize,
}

/// Removes the inserted particles that are no longer needed: those no longer thin where the density is above
/// beta_maxrho rho_0, and those nearer than beta_dist radii to another particle (eq. 15), if they have lived
/// for `shortest_life` steps. Their masses go back through their families. Of two inserted ones that are too
/// near to each other the first goes.
///
/// `shapes` must belong to the particles as they stand in `neighbours`; both are compacted alike. Returns the
/// report and, if any are gone, the order that was kept.
/// Tests: `inserted_particles_go_when_the_sheet_is_gone`, `mass_is_conserved_through_any_history`.
pub fn collapse(
    particles: &mut Particles,
    families: &mut Families,
    shapes: &mut Shapes,
    neighbours: &Neighbours,
    params: &SheetParams,
) -> (Collapsed, Option<Vec<u32>>) {
    let too_near = params.collapse_distance * params.d0;
    let old_enough =
        |i: usize| particles.kind[i] == Kind::Inserted && particles.steps[i] as u32 >= params.shortest_life;
    let deep = |i: usize| shapes.density[i] > params.collapse_density && !shapes.thin[i];
    let n = particles.len();
    let doomed: Vec<u32> = parallel::map_indices(parallel::chunk_count(n, CHUNK), |c| {
        let range = parallel::chunk_range(c, CHUNK, n);
        let goes =
            |&i: &usize| old_enough(i) && (deep(i) || crowded(i, particles, neighbours, too_near, &|_| true));
        range.filter(goes).map(|i| i as u32).collect::<Vec<_>>()
    })
    .concat();
    let mut gone = vec![false; if doomed.is_empty() { 0 } else { n }];
    let mut report = Collapsed::default();
    for i in doomed.into_iter().map(|i| i as usize) {
        // Somebody that was too near may be gone already.
        let still = deep(i) || crowded(i, particles, neighbours, too_near, &|j| !gone[j]);
        if still && families.give_back(particles, i) {
            gone[i] = true;
            report.collapsed += 1;
        }
    }
    if report.collapsed == 0 {
        return (report, None);
    }
    let kept: Vec<u32> = (0..n as u32).filter(|&i| !gone[i as usize]).collect();
    particles.rearrange(&kept);
    shapes.rearrange(&kept);
    families.follow(particles);
    (report, Some(kept))
}

fn crowded(
    i: usize,
    particles: &Particles,
    neighbours: &Neighbours,
    too_near: f32,
    counts: &(dyn Fn(usize) -> bool + Sync),
) -> bool {
    let mut crowded = false;
    neighbours.for_each_within(particles.x[i], too_near, |j, _, r2| {
        crowded |= j != i && r2 < too_near * too_near && counts(j);
    });
    crowded
}
