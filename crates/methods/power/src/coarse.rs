//! The level set on leaves: the band's where there is one, and distances beyond it [power §5].
//!
//! Leaves in the band know the nearest point of the surface, `x - phi grad phi`. Leaves beyond it take the nearest among the
//! points that their neighbours know, until nobody finds a nearer one. The paper runs fast marching in tetrahedra between
//! centres there; points handed on need no tetrahedra at transitions and run in parallel: every pass reads what the last has left. First
//! order, as theirs; verified by `coarse.rs`.

use crate::band::Band;
use crate::channels::{CENTER_VELOCITY, PHI};
use crate::diagram::Diagram;
use crate::view::{Place, View};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::pyramid::Pyramid;

/// What a leaf knows of the surface.
#[derive(Clone, Copy)]
struct Known {
    phi: f32,
    nearest: Vec3,
}

/// Leaves keep values of the band up to this part of its reach: beyond, it is held.
const TRUE_PART: f32 = 0.95;
/// Passes at most; every pass takes points one leaf farther.
const MOST_PASSES: usize = 1000;

/// Finds `phi` of all leaves and ghosts. `is_liquid(x)` tells the side of leaves beyond the band. Overwrites
/// centres' velocities.
pub fn from_band(
    pyramid: &mut Pyramid,
    diagram: &Diagram,
    band: &Band,
    is_liquid: impl Fn(Vec3) -> bool + Sync,
) {
    let leaves = diagram.leaves();
    let farthest = pyramid.shape().bounds().size().length();
    let found = parallel::map_indices(leaves.len(), |n| {
        let x = View { pyramid, diagram }.center(leaves[n]);
        let phi = band.distance(x).filter(|phi| phi.abs() < TRUE_PART * band.reach);
        match phi.zip(band.slope(x)) {
            Some((phi, slope)) => {
                let nearest = x - phi * slope.normalize_or_zero();
                (Known { phi, nearest }, true)
            }
            None => {
                let is_wet = phi.map_or_else(
                    || band.linear(x).map_or_else(|| is_liquid(x), |phi| phi < 0.0),
                    |phi| phi < 0.0,
                );
                let phi = if is_wet { -farthest } else { farthest };
                (Known { phi, nearest: Vec3::NAN }, false)
            }
        }
    });
    let values: Vec<Known> = found.iter().map(|f| f.0).collect();
    write(pyramid, leaves, &values);
    let beyond = leaves.iter().zip(&found).filter(|(_, f)| !f.1).map(|(leaf, _)| *leaf).collect();
    hand_on(pyramid, diagram, beyond);
    pyramid.propagate(PHI);
}

/// Takes the distances of leaves over from a band that was displaced, where it has true ones.
pub fn refresh(pyramid: &mut Pyramid, diagram: &Diagram, band: &Band, leaves: &[Place]) {
    let view = View { pyramid, diagram };
    let mut values = parallel::map_indices(leaves.len(), |n| {
        let own = view.value(leaves[n], PHI);
        let is_near = own.abs() < band.reach;
        let shown = if is_near { band.distance(view.center(leaves[n])) } else { None };
        shown.filter(|phi| phi.abs() < TRUE_PART * band.reach).unwrap_or(own)
    });
    values.iter_mut().filter(|v| **v == 0.0).for_each(|v| *v = f32::MIN_POSITIVE);
    pyramid.scatter(PHI, &values);
    pyramid.propagate(PHI);
}

fn write(pyramid: &mut Pyramid, leaves: &[Place], values: &[Known]) {
    for (leaf, known) in leaves.iter().zip(values) {
        let grid = &mut pyramid.levels_mut()[leaf.level as usize].grid;
        let (page, cell) = (grid.layout().page(leaf.cell), grid.layout().cell_in_page(leaf.cell));
        grid.channel_mut(page, PHI)[cell] = known.phi;
        (0..3).for_each(|a| grid.channel_mut(page, CENTER_VELOCITY[a])[cell] = known.nearest[a]);
    }
}

/// Hands nearest points on among the leaves beyond the band.
fn hand_on(pyramid: &mut Pyramid, diagram: &Diagram, beyond: Vec<Place>) {
    let mut active = beyond.clone();
    for _ in 0..MOST_PASSES {
        let view = View { pyramid, diagram };
        let better = parallel::map_indices(active.len(), |n| {
            let (x, own) = (view.center(active[n]), view.value(active[n], PHI));
            let (mut least, mut nearest) = (own.abs(), None);
            view.for_each_face(active[n], |face| {
                let Some(other) = face.other else { return };
                let point = view.vector(other, CENTER_VELOCITY);
                let distance = point.distance(x);
                // Comparisons with what is not a number fail: neighbours that know no point.
                if distance < 0.9999 * least {
                    (least, nearest) = (distance, Some(point));
                }
            });
            nearest.map(|nearest| Known { phi: least.copysign(own), nearest })
        });
        let (mut leaves, mut values) = (vec![], vec![]);
        for (leaf, known) in active.iter().zip(better) {
            if let Some(known) = known {
                leaves.push(*leaf);
                values.push(known);
            }
        }
        if leaves.is_empty() {
            return;
        }
        write(pyramid, &leaves, &values);
        let view = View { pyramid, diagram };
        let around = parallel::map_indices(leaves.len(), |n| {
            let mut around = vec![];
            view.for_each_face(leaves[n], |face| around.extend(face.other));
            around
        });
        let mut next: Vec<Place> = around.into_iter().flatten().collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|leaf| beyond.binary_search_by(|b| b.cmp(leaf)).is_ok());
        active = next;
    }
}
