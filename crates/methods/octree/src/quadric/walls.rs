//! Fits at walls that the surface meets at contact angles.

use super::{CUBIC_TERMS, EVEN, EVEN_FIT, Normal, PADDED, PULL, Quadric, Touching, cubic_basis};
use fluvial_grids::Octree;

/// Cosines of the angles at which a surface meets the six walls of the domain, measured in the liquid; none at open ones.
pub type WallContact = [Option<f32>; 6];
/// A surface that meets a wall at an angle as near to its contact angle as this goes on beyond the wall, by the slope of phi along the wall's
/// normal; one that is off by twice as much is known from inside alone.
const MEETS_WALL: f32 = 0.05;
/// The correction of a wall's slope for the distance from the contact line is limited to this part of it.
const LARGEST_CORRECTION: f64 = 0.5;
/// Cells no deeper below a wall than this have images beyond it, in edges of the leaf that the fit is for.
const DEEPEST_IMAGE: f64 = 1.01;
/// Least squared sine of a contact angle for which the surface's profile at the wall is looked at.
const LEAST_SINE2: f64 = 0.05;

/// Does a contact angle mirror phi beyond its wall?
pub fn is_right_angle(cosine: f32) -> bool {
    cosine.abs() < 1e-6
}

/// Is a slope of phi along a wall's normal that of its contact angle, but for so much? 1 where it is, 0 where not.
pub fn meets(off: f32) -> f32 {
    (2.0 - off.abs() / MEETS_WALL).clamp(0.0, 1.0)
}

impl Touching {
    /// The 27 cells around a leaf if those inside the walls are equal; what lies beyond a wall is never looked at.
    fn even_to_walls(&self, tree: &Octree, cell: usize, walls: &WallContact) -> Option<[u32; 27]> {
        let nodes = tree.cell_nodes(cell).map(|node| &tree.node_cells()[node as usize]);
        let equal = tree.cells_of(tree.cells()[cell].level as usize);
        let cells: [u32; 27] = std::array::from_fn(|n| nodes[EVEN[n].0][EVEN[n].1]);
        (0..27).all(|n| equal.contains(&(cells[inside_walls(n, walls).0] as usize))).then_some(cells)
    }
}

/// Of the 27 cells around a leaf that walls are beside: the number of the cell inside the walls that is nearest to cell n, and
/// the walls between the two.
fn inside_walls(n: usize, walls: &WallContact) -> (usize, [Option<usize>; 3]) {
    let (mut inner, mut crossed) = (n, [None; 3]);
    for (axis, stride) in [1, 3, 9].into_iter().enumerate() {
        match n / stride % 3 {
            0 if walls[2 * axis].is_some() => (inner, crossed[axis]) = (inner + stride, Some(2 * axis)),
            2 if walls[2 * axis + 1].is_some() => {
                (inner, crossed[axis]) = (inner - stride, Some(2 * axis + 1))
            }
            _ => {}
        }
    }
    (inner, crossed)
}

impl Quadric {
    /// As [`Self::fit_evenly`], for a distance whose zero set meets walls at their contact angles: it goes on beyond them as
    /// `fluvial_level_set::curvature` has it. Between equal cells that completes the 27 which the fit reads away from walls;
    /// elsewhere the cells at the wall have images beyond it. Verified by `balls_that_meet_a_wall_at_its_contact_angle`.
    pub fn fit_between_walls(tree: &Octree, values: &[f32], cell: usize, contact: &WallContact) -> Quadric {
        let touching = Touching::new(tree, cell);
        let walls = Walls::beside(tree, cell, contact);
        if !touching.at_wall || walls.contact == [None; 6] {
            return Quadric::fit_evenly(tree, values, cell);
        }
        let walls = walls.with_profile(|| Quadric::fit_evenly(tree, values, cell));
        if let Some(quadric) = walls.fit_even(tree, values, cell, &touching) {
            return quadric;
        }
        let mut normal = Normal::new();
        touching.for_cells_around(tree, cell, values, |d, value| {
            // The cell, its images beyond one wall, and theirs beyond the others.
            let (mut images, mut len) = ([(d, value); 8], 1);
            for side in (0..6).filter(|&side| walls.contact[side].is_some()) {
                let (axis, out) = (side / 2, [-1.0, 1.0][side % 2]);
                let depth = walls.away[side] - out * d[axis];
                if depth < DEEPEST_IMAGE && 2 * len <= images.len() {
                    for n in 0..len {
                        let (mut d, value) = images[n];
                        d[axis] += 2.0 * out * depth;
                        images[len + n] = (d, walls.beyond(side, value, 2.0 * depth));
                    }
                    len *= 2;
                }
            }
            images[..len].iter().for_each(|&(d, value)| normal.add(d, cubic_basis(d), value));
        });
        let c: [f64; CUBIC_TERMS] = normal.solve(PULL);
        Quadric { c: std::array::from_fn(|i| c[i]) }
    }

    /// This fit to the cells around a leaf, completed by what lies beyond walls where the surface meets them at their contact angles.
    ///
    /// Of the cells that touch one at a wall two layers lie inside: how phi bends towards the wall is not in them. A drop between walls
    /// through its centre was pushed along them, and stirred twenty times the energy that a whole one does. Verified by
    /// `an_eighth_of_a_drop_rests_as_the_whole` of the solver.
    pub fn meeting_walls(
        self,
        tree: &Octree,
        values: &[f32],
        cell: usize,
        (touching, contact): (&Touching, &WallContact),
    ) -> Quadric {
        let walls = Walls::beside(tree, cell, contact);
        if !touching.at_wall || walls.contact == [None; 6] {
            return self;
        }
        let evenly = Quadric::fit_evenly(tree, values, cell);
        let part = walls.met_by(&evenly);
        let other = walls.with_profile(|| evenly).fit_even(tree, values, cell, touching).unwrap_or(self);
        Quadric { c: std::array::from_fn(|i| self.c[i] + part * (other.c[i] - self.c[i])) }
    }
}

/// The walls beside a leaf.
struct Walls {
    contact: WallContact,
    /// Distance of the centre from all walls, in the leaf's edges.
    away: [f64; 6],
    /// Curvature of the surface towards each axis, where contact angles are not right ones.
    profile: [f64; 3],
}

impl Walls {
    fn beside(tree: &Octree, cell: usize, contact: &WallContact) -> Walls {
        let (bounds, x, dx) = (tree.shape().bounds(), tree.cell_center(cell), tree.cell_dx(cell));
        let depths = [(x - bounds.min).to_array(), (bounds.max - x).to_array()];
        let away: [f64; 6] = std::array::from_fn(|side| f64::from(depths[side % 2][side / 2] / dx));
        let contact = std::array::from_fn(|side| contact[side].filter(|_| away[side] < 0.75));
        Walls { contact, away, profile: [0.0; 3] }
    }

    fn with_profile(mut self, fit: impl FnOnce() -> Quadric) -> Walls {
        if !self.contact.iter().flatten().all(|&cosine| is_right_angle(cosine)) {
            let fit = fit().derivatives();
            self.profile = [0, 1, 2].map(|axis| fit.curvature_towards(axis, LEAST_SINE2));
        }
        self
    }

    /// The value `by` edges beyond one on the other side of a wall.
    fn beyond(&self, side: usize, value: f64, by: f64) -> f64 {
        let cosine = f64::from(self.contact[side].unwrap_or(0.0));
        let off = self.profile[side / 2] * (value - 0.5 * by * cosine);
        value - by * cosine * (1.0 - off.clamp(-LARGEST_CORRECTION, LARGEST_CORRECTION))
    }

    /// The fit to the 27 cells around a leaf, of which some lie beyond the walls; none where the others are not equal.
    fn fit_even(&self, tree: &Octree, values: &[f32], cell: usize, touching: &Touching) -> Option<Quadric> {
        let cells = touching.even_to_walls(tree, cell, &self.contact)?;
        let (mut c, dx) = ([0.0; PADDED], tree.cell_dx(cell));
        for (n, part) in EVEN_FIT.iter().enumerate() {
            let (inner, crossed) = inside_walls(n, &self.contact);
            let mut value = values[cells[inner] as usize] as f64 / dx as f64;
            crossed.into_iter().flatten().for_each(|side| value = self.beyond(side, value, 1.0));
            for i in 0..PADDED {
                c[i] += part[i] * value;
            }
        }
        Some(Quadric { c: std::array::from_fn(|i| c[i]) })
    }

    /// Does the surface of a fit from inside meet these walls at their contact angles? 1 where it does, 0 where not.
    fn met_by(&self, fit: &Quadric) -> f64 {
        let mut part = 1.0f64;
        for (side, cosine) in self.contact.iter().enumerate().filter_map(|(side, c)| Some((side, (*c)?))) {
            let (axis, out) = (side / 2, [-1.0, 1.0][side % 2]);
            let mut at = [0.0; 3];
            at[axis] = out * self.away[side];
            let off = out * fit.slope(at)[axis] + f64::from(cosine);
            part = part.min(f64::from(meets(off as f32)));
        }
        part
    }
}
