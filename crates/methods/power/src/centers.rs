//! Velocity at leaves' centres from the velocities through power faces [power §5].
//!
//! Beside leaves of its own size a leaf takes the means of opposite sides. At transitions the centres of faces
//! do not lie in pairs around the leaf's centre, and a fit of one vector would be first order. There an
//! affine field, twelve numbers, is fitted to all faces of the leaf and of the leaves beside it: exact for
//! linear fields. Verified by `flow.rs`.
//!
//! Only leaves with liquid have all their velocities from the pressure solve. [`extend`] gives the others the
//! mean of what lies around them, layer by layer [power §5]; the first layer takes over the velocities through the liquid's own
//! faces. Without these the surface followed the leaves' centres, half a leaf below it, and 0.39 of Torricelli's flow fell
//! into a sink.

use crate::channels::{CENTER_VELOCITY, FACE_VELOCITY};
use crate::diagram::Diagram;
use crate::neighbourhood::Code;
use crate::view::{LeafFace, Place, View};
use fluvial_foundation::{AXES, DMat3, DVec3, Vec3, parallel};
use fluvial_grids::pyramid::{Pyramid, bits};

/// A pivot smaller than this part of the largest leaves the affine field undetermined.
const LEAST_PIVOT: f64 = 1e-3;

/// Finds the velocity of all leaves with negative `phi` (of all without `phi`); others receive NaN, which
/// [`extend`] fills.
pub fn from_faces(pyramid: &mut Pyramid, diagram: &Diagram, phi: Option<usize>) {
    plain_leaves(pyramid, phi);
    let view = View { pyramid, diagram };
    let is_wet = |place: Place| phi.is_none_or(|phi| view.value(place, phi) < 0.0);
    let at_transitions: Vec<Place> = view
        .leaves()
        .iter()
        .copied()
        .filter(|&leaf| view.code(leaf) != Some(Code::UNIFORM) && is_wet(leaf))
        .collect();
    let fitted = parallel::map_indices(at_transitions.len(), |n| fit(&view, at_transitions[n], &is_wet));
    write(pyramid, &at_transitions, &fitted);
}

/// Sets the velocity of leaves.
pub fn write(pyramid: &mut Pyramid, leaves: &[Place], values: &[Vec3]) {
    for (leaf, v) in leaves.iter().zip(values) {
        let grid = &mut pyramid.levels_mut()[leaf.level as usize].grid;
        let (page, cell) = (grid.layout().page(leaf.cell), grid.layout().cell_in_page(leaf.cell));
        AXES.iter().for_each(|&a| grid.channel_mut(page, CENTER_VELOCITY[a])[cell] = v[a]);
    }
}

/// Means of opposite sides; NaN in leaves without liquid.
fn plain_leaves(pyramid: &mut Pyramid, phi: Option<usize>) {
    for level in pyramid.levels_mut() {
        let layout = *level.grid.layout();
        let (cells, used) = (level.cells().to_vec(), level.used().to_vec());
        level.grid.for_each_block(Some(&used), CENTER_VELOCITY, |n, page, reader, out| {
            let wet = phi.map_or(!0, |phi| {
                let phi = reader.channel(page, phi);
                (0..64).fold(0u64, |m, c| m | u64::from(phi[c] < 0.0) << c)
            });
            for (axis, out) in out.into_iter().enumerate() {
                let stride = 1usize << (2 * axis);
                let own = reader.channel(page, FACE_VELOCITY[axis]);
                let mut step = [0; 3];
                step[axis] = 4;
                let next_page = layout.page(layout.add(layout.first_of(page), layout.encode(step)));
                let next = reader.channel(next_page, FACE_VELOCITY[axis]);
                out.fill(f32::NAN);
                for cell in bits(cells[n].active & wet) {
                    let is_last = cell / stride % 4 == 3;
                    let high = if is_last { next[cell - 3 * stride] } else { own[cell + stride] };
                    out[cell] = 0.5 * (own[cell] + high);
                }
            }
        });
    }
}

/// The affine field that fits the faces of a leaf and of the wet leaves beside it, at its centre.
fn fit(view: &View, leaf: Place, is_wet: &impl Fn(Place) -> bool) -> Vec3 {
    let center = view.center(leaf).as_dvec3();
    let dx = f64::from(view.level(leaf.level).dx);
    let (mut matrix, mut right) = ([[0.0f64; 12]; 12], [0.0f64; 12]);
    let mut add = |face: &LeafFace| {
        let d = (DVec3::from_array(face.centroid) - center) / dx;
        let weight = 1.0 / (0.25 + d.length_squared());
        let basis = [1.0, d.x, d.y, d.z];
        let row: [f64; 12] = std::array::from_fn(|n| face.normal[n / 4] * basis[n % 4]);
        for i in 0..12 {
            let scaled = weight * row[i];
            right[i] += scaled * f64::from(face.outward);
            (0..=i).for_each(|j| matrix[i][j] += scaled * row[j]);
        }
    };
    let (mut own, mut beside): (Vec<LeafFace>, Vec<Place>) = (vec![], vec![]);
    let mut is_at_surface = false;
    view.for_each_face(leaf, |face| {
        add(&face);
        own.push(face);
        is_at_surface |= face.other.is_some_and(|other| !is_wet(other));
        beside.extend(face.other.filter(|&other| is_wet(other)));
    });
    // One-sided fits extrapolate, and what is extrapolated in every step grows: a splash blew up.
    if is_at_surface {
        return constant_fit(&own);
    }
    beside.sort_unstable();
    beside.dedup();
    for &other in &beside {
        view.for_each_face(other, |face| {
            if face.other != Some(leaf) {
                add(&face);
            }
        });
    }
    match solve(matrix, right) {
        Some(x) => Vec3::new(x[0] as f32, x[4] as f32, x[8] as f32),
        None => constant_fit(&own),
    }
}

/// The vector that fits the faces of a leaf best [power §5].
fn constant_fit(faces: &[LeafFace]) -> Vec3 {
    let (mut matrix, mut right) = (DMat3::ZERO, DVec3::ZERO);
    for face in faces {
        let n = DVec3::from_array(face.normal);
        matrix += DMat3::from_cols(n * n.x, n * n.y, n * n.z);
        right += n * f64::from(face.outward);
    }
    (matrix.inverse() * right).as_vec3()
}

/// Weight of the mean against that of a face's velocity.
const MEAN_WEIGHT: f64 = 0.05;

/// The mean of the neighbours, but with the velocities through the faces of the liquid, which lie nearer to the surface.
fn fit_beside(mean: Vec3, faces: &[LeafFace]) -> Vec3 {
    let mean = mean.as_dvec3();
    let (mut matrix, mut right) = (MEAN_WEIGHT * DMat3::IDENTITY, DVec3::ZERO);
    for face in faces {
        let n = DVec3::from_array(face.normal);
        matrix += DMat3::from_cols(n * n.x, n * n.y, n * n.z);
        right += n * (f64::from(face.outward) - n.dot(mean));
    }
    (mean + matrix.inverse() * right).as_vec3()
}

/// Solves by Cholesky's factors of the lower triangle; None where a pivot all but vanishes.
fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    let least = LEAST_PIVOT * (0..N).fold(0.0f64, |most, i| most.max(a[i][i]));
    for i in 0..N {
        for j in 0..=i {
            let sum = (0..j).fold(a[i][j], |sum, k| sum - a[i][k] * a[j][k]);
            a[i][j] = if i > j { sum / a[j][j] } else { sum };
        }
        if a[i][i] <= least {
            return None;
        }
        a[i][i] = a[i][i].sqrt();
        b[i] = (0..i).fold(b[i], |sum, k| sum - a[i][k] * b[k]) / a[i][i];
    }
    for i in (0..N).rev() {
        b[i] = (i + 1..N).fold(b[i], |sum, k| sum - a[k][i] * b[k]) / a[i][i];
    }
    Some(b)
}

/// Gives the leaves of `layers` layers around those with a velocity the mean of their neighbours', and rest to all
/// others. Leaves that are asked for by `wanted` alone are filled.
pub fn extend(
    pyramid: &mut Pyramid,
    diagram: &Diagram,
    layers: usize,
    wanted: impl Fn(&View, Place) -> bool + Sync,
) {
    let view = View { pyramid, diagram };
    let leaves = view.leaves();
    let mut velocity = parallel::map_indices(leaves.len(), |n| view.vector(leaves[n], CENTER_VELOCITY));
    let all: Vec<u32> = (0..leaves.len() as u32).filter(|&n| velocity[n as usize].x.is_nan()).collect();
    let mut unknown: Vec<u32> = all.iter().copied().filter(|&n| wanted(&view, leaves[n as usize])).collect();
    for layer in 0..layers {
        let known = &*velocity;
        let means = parallel::map_indices(unknown.len(), |n| {
            let (number, leaf) = (unknown[n] as usize, leaves[unknown[n] as usize]);
            let mean = mean_beside(&view, known, number)?;
            Some(if layer == 0 { fit_beside(mean, &known_faces(&view, known, leaf)) } else { mean })
        });
        let before = unknown.len();
        let mut means = means.into_iter();
        unknown.retain(|&n| match means.next().flatten() {
            Some(mean) => {
                velocity[n as usize] = mean;
                false
            }
            None => true,
        });
        if unknown.len() == before || unknown.is_empty() {
            break;
        }
    }
    let filled: Vec<Place> = all.iter().map(|&n| leaves[n as usize]).collect();
    let is_known = |v: Vec3| !v.x.is_nan();
    let values: Vec<Vec3> = all
        .iter()
        .map(|&n| Some(velocity[n as usize]).filter(|v| is_known(*v)).unwrap_or_default())
        .collect();
    write(pyramid, &filled, &values);
}

/// The mean of what the leaves beside a leaf have, the nearer ones counting more.
fn mean_beside(view: &View, velocity: &[Vec3], number: usize) -> Option<Vec3> {
    let leaves = view.leaves();
    let x = view.center(leaves[number]);
    let (mut sum, mut weight) = (Vec3::ZERO, 0.0);
    for &other in view.diagram.beside(number) {
        let v = velocity[other as usize];
        if !v.x.is_nan() {
            let share = 1.0 / view.center(leaves[other as usize]).distance(x);
            sum += share * v;
            weight += share;
        }
    }
    (weight > 0.0).then(|| sum / weight)
}

/// The faces that lead to leaves with a velocity.
fn known_faces(view: &View, velocity: &[Vec3], leaf: Place) -> Vec<LeafFace> {
    let mut known = vec![];
    view.for_each_face(leaf, |face| {
        let is_known = |other: Place| !velocity[view.number(other)].x.is_nan();
        known.extend(face.other.is_some_and(is_known).then_some(face));
    });
    known
}
