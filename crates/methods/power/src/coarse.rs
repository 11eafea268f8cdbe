//! The level set on leaves: the band's where there is one, and distances beyond it [power §5].
//!
//! Leaves in the band know the nearest point of the surface, `x - phi grad phi`. Leaves beyond it take the nearest among the
//! points that their neighbours know, until nobody finds a nearer one. The paper runs fast marching in tetrahedra between
//! centres there; points handed on need no tetrahedra at transitions and run in parallel: every pass reads what the last has left. First
//! order, as theirs; verified by `coarse.rs`.

use crate::band::Band;
use crate::channels::PHI;
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

/// Finds `phi` of all leaves and ghosts. `is_liquid(x)` tells the side of leaves beyond the band.
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
    let (mut known, is_true): (Vec<Known>, Vec<bool>) = found.into_iter().unzip();
    hand_on(View { pyramid, diagram }, &mut known, &is_true);
    let values: Vec<f32> = known.iter().map(|known| known.phi).collect();
    pyramid.scatter(PHI, &values);
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

/// Hands nearest points on among the leaves beyond the band, by number; those that have true ones keep them.
fn hand_on(view: View, known: &mut [Known], is_true: &[bool]) {
    let (diagram, leaves) = (view.diagram, view.leaves());
    let mut active: Vec<u32> = (0..known.len() as u32).filter(|&n| !is_true[n as usize]).collect();
    let mut is_asked = vec![false; known.len()];
    for _ in 0..MOST_PASSES {
        let before = &*known;
        let better = parallel::map_indices(active.len(), |n| {
            let own = before[active[n] as usize].phi;
            let x = view.center(leaves[active[n] as usize]);
            let (mut least, mut nearest) = (own.abs(), None);
            for &other in diagram.beside(active[n] as usize) {
                let point = before[other as usize].nearest;
                let distance = point.distance(x);
                // Comparisons with what is not a number fail: neighbours that know no point.
                if distance < 0.9999 * least {
                    (least, nearest) = (distance, Some(point));
                }
            }
            nearest.map(|nearest| Known { phi: least.copysign(own), nearest })
        });
        let mut next = vec![];
        for (&leaf, better) in active.iter().zip(better) {
            let Some(better) = better else { continue };
            known[leaf as usize] = better;
            for &other in diagram.beside(leaf as usize) {
                if !is_true[other as usize] && !std::mem::replace(&mut is_asked[other as usize], true) {
                    next.push(other);
                }
            }
        }
        if next.is_empty() {
            return;
        }
        next.sort_unstable();
        next.iter().for_each(|&n| is_asked[n as usize] = false);
        active = next;
    }
}
