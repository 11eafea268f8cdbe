//! Velocity at solids and at the walls of the domain, after it has been extended beyond the liquid.

use crate::{FaceCells, for_each_face};
use fluvial_foundation::AXES;
use fluvial_grids::{FaceField, Sides, UniformGrid};

/// Solids on a grid.
#[derive(Clone, Copy, Debug)]
pub struct SolidFaces<'a> {
    /// Distance to them at the nodes, negative inside, metres.
    pub phi_node: &'a [f32],
    /// The part of each face outside them.
    pub open_area: &'a FaceField,
    /// Their velocity, m/s.
    pub u_solid: &'a FaceField,
    /// The sides of thin ones.
    pub sides: &'a Sides,
}

/// Closed faces inside solids keep the liquid's tangential motion but move with the solid along its normal,
/// `u -= n (n . (u - u_solid))`; faces that a thin solid bars, where the nodes know no normal, move with it.
/// Closed walls of the domain pass nothing. Faces that the extension has not `reached` stay as they are.
/// `u_free` is scratch.
///
/// Test: `liquid_slips_along_a_moving_solid`.
pub fn constrain_to_solids(
    u_face: &mut FaceField,
    u_free: &mut FaceField,
    reached: &[Vec<u8>; 3],
    solids: &SolidFaces,
    open_walls: [bool; 6],
    grid: &UniformGrid,
) {
    u_free.clone_from(u_face);
    let nodes = grid.nodes();
    for axis in AXES {
        let lattice = grid.faces(axis);
        let (u_free, reached, open) = (&*u_free, &reached[axis], &solids.open_area[axis]);
        for_each_face(&mut u_face[axis], grid, axis, |face, cells, u| {
            let wall = match cells {
                FaceCells { low: None, .. } => !open_walls[2 * axis],
                FaceCells { high: None, .. } => !open_walls[2 * axis + 1],
                _ => false,
            };
            if wall {
                *u = 0.0;
            } else if reached[face] != 0 && open[face] == 0.0 {
                if cells.high.is_some_and(|high| solids.sides.is_barred(high, axis, false)) {
                    *u = solids.u_solid[axis][face];
                    return;
                }
                let [i, j, k] = lattice.coordinates(face);
                let x = lattice.position(i, j, k);
                let normal = nodes.gradient(solids.phi_node, x).normalize_or_zero();
                let relative = grid.sample_velocity(u_free, x) - grid.sample_velocity(solids.u_solid, x);
                *u -= normal[axis] * normal.dot(relative);
            }
        });
    }
}

/// The velocity of the liquid at the faces, for what it carries. What flows through a sliver of a face is right as a flux, but
/// as a velocity it is whatever the cell behind must get rid of: 19 m/s beside a ball in a jet of 2. Particles that came by
/// took it along. A face with less than `least_area` has the velocity of the faces of its axis around it, and its own, each by its open area.
///
/// Test: `a_sliver_moves_as_the_faces_around_it`.
pub fn without_slivers(
    carrying: &mut FaceField,
    u_face: &FaceField,
    area: &FaceField,
    least_area: f32,
    grid: &UniformGrid,
) {
    carrying.clone_from(u_face);
    for axis in AXES {
        let (faces, u, area) = (grid.faces(axis), &u_face[axis], &area[axis]);
        faces.for_each_mut(&mut carrying[axis], |face, at, carrying| {
            if area[face] == 0.0 || area[face] >= least_area {
                return;
            }
            let (mut sum, mut open) = (area[face] * u[face], area[face]);
            for beside in AXES {
                let stride = faces.stride(beside);
                let low = (at[beside] > 0).then(|| face - stride);
                let high = (at[beside] + 1 < faces.size[beside]).then(|| face + stride);
                for other in low.into_iter().chain(high) {
                    sum += area[other] * u[other];
                    open += area[other];
                }
            }
            *carrying = sum / open;
        });
    }
}

/// The velocity that the flow itself moves with beside solids: theirs at their surface, less and less away from it, none
/// at `reach_m`. There the flow is steady in the frame of the solid rather than in that of the grid.
///
/// Test: `the_flow_moves_along_with_a_solid_beside_it`.
pub fn drift_with_solids(
    drift_face: &mut FaceField,
    phi_node: &[f32],
    u_solid: &FaceField,
    reach_m: f32,
    grid: &UniformGrid,
) {
    let nodes = grid.nodes();
    drift_face.clone_from(u_solid);
    for axis in AXES {
        let lattice = grid.faces(axis);
        let (s, t) = (nodes.stride((axis + 1) % 3), nodes.stride((axis + 2) % 3));
        for_each_face(&mut drift_face[axis], grid, axis, |face, _, drift| {
            if *drift != 0.0 {
                let [i, j, k] = lattice.coordinates(face);
                let node = nodes.index(i, j, k);
                let distance_m =
                    0.25 * [0, s, t, s + t].map(|step| phi_node[node + step]).iter().sum::<f32>();
                *drift *= (1.0 - distance_m / reach_m).clamp(0.0, 1.0);
            }
        });
    }
}

/// Nothing flows through the closed walls of the domain.
pub fn close_walls(u_face: &mut FaceField, open_walls: [bool; 6], grid: &UniformGrid) {
    for (wall, _) in open_walls.iter().enumerate().filter(|(_, open)| !**open) {
        let (axis, high) = (wall / 2, wall % 2 == 1);
        let faces = grid.faces(axis);
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        let first = if high { faces.stride(axis) * grid.cells[axis] } else { 0 };
        let u = &mut u_face[axis];
        for n in 0..grid.cells[b] {
            for m in 0..grid.cells[a] {
                u[first + m * faces.stride(a) + n * faces.stride(b)] = 0.0;
            }
        }
    }
}
