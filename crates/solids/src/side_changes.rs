//! Cells that a thin solid has passed during a step.

use crate::sides::neighbour;
use crate::{Motion, Pose, Shape, SolidFields};
use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_grids::{Lattice, Sides, UniformGrid};

/// Cells that a search looks at before it gives up.
const FARTHEST_SEARCH: usize = 343;

/// A cell that belongs to another side than before, because a thin solid has passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideChange {
    /// The cell.
    pub cell: u32,
    /// The nearest cell of its new side that was on that side before: the cell takes its values over.
    pub donor: Option<u32>,
    /// The nearest cell of its old side that still is on that side: the cell's particles move there.
    pub refuge: Option<u32>,
}

/// Finds the cells that changed sides between two moments: none of their own corners then and now is one that no
/// solid has swept. A node is swept when its path in the frame of a moving solid meets the solid.
/// Test: `a_sweeping_plate_hands_its_cells_over`.
pub fn side_changes(
    [old, new]: [&SolidFields; 2],
    solids: &[(&Shape, &Motion)],
    [old_s, new_s]: [f64; 2],
    grid: &UniformGrid,
) -> Vec<SideChange> {
    if old.sides.is_empty() && new.sides.is_empty() {
        return Vec::new();
    }
    let moving: Vec<Passing> = (solids.iter().filter(|(_, m)| !m.is_static()))
        .map(|(shape, motion)| Passing::new(shape, [motion.pose(old_s), motion.pose(new_s)], grid.dx))
        .collect();
    let (nodes, cells) = (grid.nodes(), grid.cell_centers());
    let own = |fields: &SolidFields, cell: usize, at: [usize; 3]| match fields.sides.own_corners.get(cell) {
        Some(&own) => own,
        None => {
            let phi = nodes.corner_values(&fields.phi_node, nodes.index(at[0], at[1], at[2]));
            (0..8).fold(0, |open, n| open | ((phi[n] > 0.0) as u8) << n)
        }
    };
    let margin = 1e-3 * grid.dx;
    let keeps_side = |cell: usize| {
        let at = cells.coordinates(cell);
        let both = own(old, cell, at) & own(new, cell, at);
        (0..8).filter(|n| both >> n & 1 == 1).any(|n| {
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + (n >> a & 1));
            let x = nodes.position(i, j, k);
            !moving.iter().any(|solid| solid.sweeps(x, margin))
        })
    };
    let changed = parallel::map_indices(cells.size[2], |k| {
        let range = k * cells.slab()..(k + 1) * cells.slab();
        let is_near = |cell: usize| old.sides.is_near(cell) || new.sides.is_near(cell);
        range.filter(|&cell| is_near(cell) && !keeps_side(cell)).collect::<Vec<_>>()
    });
    let changed: Vec<usize> = changed.into_iter().flatten().collect();
    let is_changed = |cell: usize| changed.binary_search(&cell).is_ok();
    let found = parallel::map_indices(changed.len(), |n| {
        let cell = changed[n];
        let at = cells.coordinates(cell);
        let nearest = |fields: &SolidFields| {
            let stays = |c: usize| !is_changed(c) && own(new, c, cells.coordinates(c)) != 0;
            let is_open = own(fields, cell, at) != 0;
            is_open.then(|| search(&fields.sides, &cells, cell, stays)).flatten()
        };
        SideChange { cell: cell as u32, donor: nearest(new), refuge: nearest(old) }
    });
    found.into_iter().filter(|change| change.donor.is_some() || change.refuge.is_some()).collect()
}

/// The nearest open cell to a closed one, in steps through faces that are not barred: where liquid goes that a solid has
/// covered. Cells in the direction `away` from the solid's inside come first: a solid passes less than half of its
/// thickness in a step, so that they are on the side where the liquid was.
pub fn nearest_open(
    sides: &Sides,
    cells: &Lattice,
    closed: usize,
    open_volume: &[f32],
    away: Vec3,
) -> Option<usize> {
    let place = |cell: usize| {
        let [i, j, k] = cells.coordinates(cell);
        cells.position(i, j, k)
    };
    let is_open = |cell: usize| open_volume[cell] > 0.0;
    let lies_away = |cell: usize| is_open(cell) && (place(cell) - place(closed)).dot(away) > 0.0;
    let found = search(sides, cells, closed, lies_away).or_else(|| search(sides, cells, closed, is_open));
    found.map(|cell| cell as usize)
}

/// The first cell that is `wanted` in order of steps through faces that are not barred.
fn search(sides: &Sides, cells: &Lattice, start: usize, wanted: impl Fn(usize) -> bool) -> Option<u32> {
    let mut found = vec![start];
    let mut next = 0;
    while next < found.len() && found.len() < FARTHEST_SEARCH {
        let cell = found[next];
        let at = cells.coordinates(cell);
        for face in 0..6 {
            let (axis, up) = (face / 2, face % 2 == 1);
            if sides.is_barred(cell, axis, up) {
                continue;
            }
            if let Some(other) = neighbour(cells, at, cell, axis, up).filter(|c| !found.contains(c)) {
                if wanted(other) {
                    return Some(other as u32);
                }
                found.push(other);
            }
        }
        next += 1;
    }
    None
}

/// A solid on its way through a step.
struct Passing<'a> {
    shape: &'a Shape,
    poses: [Pose; 2],
    bounds: Aabb,
}

impl<'a> Passing<'a> {
    fn new(shape: &'a Shape, poses: [Pose; 2], dx: f32) -> Self {
        let [old, new] = poses.map(|pose| pose.world_bounds(shape.bounds()));
        Passing { shape, poses, bounds: old.union(new).expand(dx) }
    }

    /// Does the solid pass a world position?
    fn sweeps(&self, x: Vec3, margin: f32) -> bool {
        let [old, new] = self.poses.map(|pose| pose.body_from_world(x));
        self.bounds.contains(x) && old != new && self.shape.is_crossed(old, new, margin)
    }
}
