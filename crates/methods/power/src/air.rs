//! The air beside the surface: the velocity that carries the surface must not create or destroy volume there.

use crate::channels::PHI;
use crate::diagram::Diagram;
use crate::pairs::{CLEAR_OF_SOLIDS, SolidDistance, open_fraction};
use crate::view::{LeafFace, Place, View};
use fluvial_foundation::parallel;
use fluvial_grids::pyramid::Pyramid;

/// Where solids leave less of the faces that lead away, as a part of them, they do not take up all of a leaf's excess: out of the corner that a solid leaves it would be a
/// jet, and the back-traces of the surface read it.
const LEAST_OPEN: f64 = 0.2;
/// An air leaf lies beside the surface when its centre is nearer to it than this, in its own edges.
const NEAR_LEAVES: f32 = 1.1;

/// Makes the velocity through power faces divergence-free in the air leaves beside the surface.
///
/// The surface runs through those leaves, so that their net outflow is volume created or destroyed. Extrapolated velocities, means of
/// their neighbours, diverge there wherever the flow does: a jet that gravity draws out did not contract there, and grew. Each leaf's
/// excess is spread evenly over its faces that lead to air farther away; those values carry nothing else. Leaves with their
/// centres in solids are left as they are. Verified by `air_beside_a_surface_keeps_its_volume`.
pub fn balance_surface_air(pyramid: &mut Pyramid, diagram: &Diagram, solid: Option<SolidDistance>) {
    let view = View { pyramid, diagram };
    let around = Around { view, solid };
    let leaves = view.leaves();
    let found = parallel::map_indices(leaves.len(), |n| around.is_surface_air(leaves[n]));
    let air: Vec<Place> = leaves.iter().zip(found).filter(|(_, found)| *found).map(|l| *l.0).collect();
    let changes = parallel::map_indices(air.len(), |n| around.changes(air[n], &air));
    for (home, channel, change) in changes.into_iter().flatten() {
        let grid = &mut pyramid.levels_mut()[home.level as usize].grid;
        let (page, cell) = (grid.layout().page(home.cell), grid.layout().cell_in_page(home.cell));
        grid.channel_mut(page, channel)[cell] += change;
    }
}

struct Around<'a> {
    view: View<'a>,
    solid: Option<SolidDistance<'a>>,
}

impl Around<'_> {
    fn phi(&self, leaf: Place) -> f32 {
        self.view.value(leaf, PHI)
    }

    fn solid_distance(&self, leaf: Place) -> f64 {
        let center = self.view.center(leaf).to_array().map(f64::from);
        self.solid.map_or(f64::INFINITY, |solid| solid(center))
    }

    fn is_surface_air(&self, leaf: Place) -> bool {
        let phi = self.phi(leaf);
        if !(0.0..NEAR_LEAVES * self.view.level(leaf.level).dx).contains(&phi)
            || self.solid_distance(leaf) < 0.0
        {
            return false;
        }
        let mut is_wet = false;
        self.view.for_each_face(leaf, |face| is_wet |= face.other.is_some_and(|other| self.phi(other) < 0.0));
        is_wet
    }

    /// What to add to the velocities of a leaf's faces that lead away from the surface.
    fn changes(&self, leaf: Place, air: &[Place]) -> Vec<(Place, usize, f32)> {
        let dx = f64::from(self.view.level(leaf.level).dx);
        let solid = self.solid.filter(|_| self.solid_distance(leaf) < CLEAR_OF_SOLIDS * dx);
        let center = self.view.center(leaf).to_array().map(f64::from);
        let power = self.view.diagram.table().get(self.view.code(leaf).expect("a leaf"));
        let open_area = |face: &LeafFace| {
            face.area * solid.map_or(1.0, |s| open_fraction(&power.faces[face.number], center, dx, s))
        };
        let leads_away = |face: &LeafFace| {
            let is_far = |other: Place| self.phi(other) >= 0.0 && air.binary_search(&other).is_err();
            face.other.is_some_and(is_far)
        };
        let (mut excess, mut open, mut whole, mut away) = (0.0, 0.0, 0.0, vec![]);
        self.view.for_each_face(leaf, |face| {
            let area = open_area(&face);
            excess += area * f64::from(face.outward);
            if area > 0.0 && leads_away(&face) {
                open += area;
                whole += face.area;
                away.extend(face.kept);
            }
        });
        let change = if open > 0.0 { (-excess / open.max(LEAST_OPEN * whole)) as f32 } else { 0.0 };
        away.into_iter().map(|(home, channel, sign)| (home, channel, sign * change)).collect()
    }
}
