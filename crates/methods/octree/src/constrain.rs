//! Velocity at walls: what the extrapolated velocity may do inside solids and at the sides of the domain.

use crate::extrapolate::for_neighbours;
use crate::sides::TreeSides;
use crate::slope::slopes;
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;

/// Cells deeper in a solid, in their own size, move with it.
pub const DEEP_CELLS: f32 = 4.0;

/// Faces of which solids leave less are slivers: they have no velocity of their own.
const SLIVER_AREA: f32 = 0.1;

/// Paths of cells farther from solids than this, in their own size, do not end beside closed cells.
const NEAR_SOLID_CELLS: f32 = 4.0;

/// Solids on a tree.
#[derive(Clone, Copy, Debug)]
pub struct SolidsOnTree<'a> {
    /// Distance at cell centres, negative inside, metres.
    pub phi_solid_cell: &'a [f32],
    /// Velocity across the faces that they close, m/s.
    pub u_solid: &'a [f32],
    /// Open part of every face.
    pub open_area: &'a [f32],
    /// Sides of thin ones.
    pub sides: TreeSides<'a>,
}

/// Faces inside solids keep the liquid's tangential velocity but move with the solid along its normal:
/// `u -= n n.(u - u_solid)`, n the slope of the solids' distance. Deep inside, and where a thin solid bars
/// them, they move with the solid. Open faces stay as they are. Verified by
/// `nothing_flows_through_a_tilted_wall`.
pub fn constrain_to_solids(
    u_face: &mut [f32],
    tree: &Octree,
    solids: &SolidsOnTree,
    through_cell: &mut Vec<Vec3>,
) {
    let SolidsOnTree { phi_solid_cell: phi_solid, u_solid, open_area, sides } = *solids;
    let is_deep = |cell: usize| phi_solid[cell] < -DEEP_CELLS * tree.cell_dx(cell);
    // The velocity through the solids' surface, at the cells beside it.
    through_cell.resize(tree.cell_count(), Vec3::ZERO);
    let u = &*u_face;
    parallel::for_each_indexed_mut(through_cell, |cell, through| {
        *through = Vec3::ZERO;
        if phi_solid[cell] < tree.cell_dx(cell) && !is_deep(cell) {
            let faces = tree.cell_faces()[cell].map(|face| face as usize);
            let [slope] = slopes(tree, cell, |_| true, |cell| [phi_solid[cell]]);
            let normal = slope.as_vec3().normalize_or_zero();
            let relative = |face: usize| u[face] - u_solid[face];
            let relative =
                Vec3::from_array(AXES.map(|a| 0.5 * (relative(faces[2 * a]) + relative(faces[2 * a + 1]))));
            *through = normal.dot(relative) * normal;
        }
    });
    let through_cell = &through_cell[..];
    parallel::for_each_indexed_mut(u_face, |face, u| {
        if open_area[face] > 0.0 {
            return;
        }
        let mut beside = tree.cells_beside(face);
        let is_barred =
            matches!((beside.next(), beside.next()), (Some(a), Some(b)) if sides.divides(tree, a, b));
        if is_barred || tree.cells_beside(face).any(is_deep) {
            *u = u_solid[face];
            return;
        }
        let axis = tree.face_axis(face);
        let (sum, count) =
            tree.cells_beside(face).fold((0.0, 0.0), |(s, n), cell| (s + through_cell[cell][axis], n + 1.0));
        *u -= sum / count;
    });
}

/// The velocities that slivers of faces have for what they carry, by face. What flows through a sliver is right as a flux, but as a
/// velocity it is whatever the cell behind must get rid of, and interpolation would spread it over whole cells. A
/// sliver moves as the faces of its axis around it and as itself, each by its open area: as in `fluvial_mac::without_slivers`.
///
/// Test: `a_sliver_moves_as_the_faces_around_it`.
pub fn find_sliver_velocities(
    found: &mut Vec<(usize, f32)>,
    u_face: &[f32],
    tree: &Octree,
    open_area: &[f32],
) {
    let is_sliver = |face: &usize| open_area[*face] > 0.0 && open_area[*face] < SLIVER_AREA;
    found.clear();
    found.extend((0..tree.face_count()).filter(is_sliver).map(|face| {
        let (mut sum, mut open) = (open_area[face] * u_face[face], open_area[face]);
        for_neighbours(tree, face, tree.face_axis(face), |beside| {
            sum += open_area[beside as usize] * u_face[beside as usize];
            open += open_area[beside as usize];
        });
        (face, sum / open)
    }));
}

/// Exchanges the velocities of the listed faces for those in the list.
pub fn exchange(u_face: &mut [f32], list: &mut [(usize, f32)]) {
    list.iter_mut().for_each(|(face, u)| std::mem::swap(&mut u_face[*face], u));
}

/// Where phi was looked up: an open cell that a path along `v_cell` over `dt_s` leads to.
#[derive(Clone, Copy)]
pub struct LookedUp<'a> {
    /// The tree of the step's start.
    pub tree: &'a Octree,
    /// phi there, metres.
    pub phi_cell: &'a [f32],
    /// Cells without any open side there.
    pub closed_cell: &'a [bool],
    /// Velocity of its cells, m/s.
    pub v_cell: &'a [Vec3],
    /// Length of the step.
    pub dt_s: f32,
}

/// Keeps liquid from coming through the closed cells of a wall: phi is continued into them from one of the wall's sides, and a path on
/// the other side that ends beside them would read it there. Where all open cells around a path's end are air, phi is held above
/// the least of them, where all are liquid below the largest. Returns how many cells were held. Out of a bowl with a wall of two cells a tenth of the water
/// came so in 2 s: air cells outside got liquid that no flux had brought, it fell, and they owed its volume for ever.
/// Test: `nothing_is_read_through_a_wall_of_two_cells`.
pub fn hold_to_open_cells(
    phi_cell: &mut [f32],
    tree: &Octree,
    (closed_cell, phi_solid_cell): (&[bool], &[f32]),
    from: &LookedUp,
) -> usize {
    let bounds = from.tree.shape().bounds();
    let range_at = |x: Vec3, dx: f32| {
        let (mut low, mut high, mut at_closed) = (f32::INFINITY, f32::NEG_INFINITY, false);
        for n in 0..27 {
            let offset = Vec3::new((n % 3) as f32, (n / 3 % 3) as f32, (n / 9) as f32) - 1.0;
            let place = x + dx * offset;
            if bounds.contains(place) {
                let other = from.tree.locate(place).cell as usize;
                at_closed |= from.closed_cell[other];
                if !from.closed_cell[other] {
                    (low, high) = (low.min(from.phi_cell[other]), high.max(from.phi_cell[other]));
                }
            }
        }
        (at_closed && low <= high).then_some((low, high))
    };
    let held = |cell: usize| {
        let (dx, phi) = (tree.cell_dx(cell), phi_cell[cell]);
        if closed_cell[cell] || phi_solid_cell[cell] > NEAR_SOLID_CELLS * dx {
            return None;
        }
        let x = tree.cell_center(cell);
        let before = from.tree.locate(x).cell as usize;
        let (low, high) = range_at((x - from.dt_s * from.v_cell[before]).clamp(bounds.min, bounds.max), dx)?;
        let inside = if low > 0.0 {
            phi.max(low)
        } else if high < 0.0 {
            phi.min(high)
        } else {
            phi
        };
        (inside != phi).then_some((cell, inside))
    };
    let found: Vec<(usize, f32)> =
        parallel::map_indices(tree.cell_count(), held).into_iter().flatten().collect();
    found.iter().for_each(|&(cell, inside)| phi_cell[cell] = inside);
    found.len()
}

/// Lets nothing flow through closed sides of the domain: x low, x high, y low, y high, z low, z high.
pub fn stop_at_walls(u_face: &mut [f32], tree: &Octree, open_walls: [bool; 6]) {
    for axis in AXES {
        for face in tree.faces(axis) {
            let sides = tree.sides(face);
            let closed = |n: usize| sides[n] == Side::Outside && !open_walls[2 * axis + n];
            if closed(0) || closed(1) {
                u_face[face] = 0.0;
            }
        }
    }
}
