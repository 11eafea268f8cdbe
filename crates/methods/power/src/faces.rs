//! Loops over the power faces that the levels keep [power §4.2].

use crate::channels::{EDGE_VELOCITY, FACE_VELOCITY};
use crate::diagram::Diagram;
use crate::pairs::{Boundary, Fields, Pairs, neighbour_steps};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::paged::Reader;
use fluvial_grids::pyramid::Pyramid;

/// A face that a level keeps.
#[derive(Clone, Copy, Debug)]
pub struct StoredFace {
    /// Level that keeps it.
    pub level: usize,
    /// Which of the six velocity channels, from 0.
    pub slot: usize,
    /// The cell on whose low side or edge it is kept.
    pub home: u64,
    /// One of the two cells that it separates.
    pub from: u64,
    /// The neighbour of `from` that is the other one.
    pub k: usize,
    /// Centre of area, m.
    pub centroid: Vec3,
    /// Unit normal in the direction in which velocity is positive.
    pub normal: Vec3,
}

/// Calls `body` for the faces that are kept with a cell. `is_plain`: the cell and all around it are leaves of
/// one size.
pub fn stored_faces<F: Fields>(
    pairs: &Pairs<F>,
    level: usize,
    home: u64,
    is_plain: bool,
    mut body: impl FnMut(StoredFace),
) {
    if is_plain {
        let at = pairs.layout.decode(home);
        for axis in AXES {
            let place = |a: usize| f64::from(at[a]) + if a == axis { 0.0 } else { 0.5 };
            let centroid = AXES.map(|a| (pairs.min[a] + pairs.dx * place(a)) as f32);
            let (centroid, normal) = (Vec3::from_array(centroid), Vec3::AXES[axis]);
            body(StoredFace { level, slot: axis, home, from: home, k: 2 * axis, centroid, normal });
        }
        return;
    }
    let mut offer = |slot: usize, from: u64, k: usize| {
        if let Some((centroid, out)) = pairs.geometry(from, k) {
            let centroid = Vec3::from_array(centroid.map(|v| v as f32));
            // Kept velocities point against the direction in which the pair is named.
            let normal = -Vec3::from_array(out.map(|v| v as f32));
            body(StoredFace { level, slot, home, from, k, centroid, normal });
        }
    };
    for axis in AXES {
        offer(axis, home, 2 * axis);
        let first = 6 + 4 * axis;
        offer(3 + axis, home, first);
        offer(3 + axis, pairs.next(home, 2 * ((axis + 2) % 3)), first + 2);
    }
}

/// Runs `body(memory, pairs, face, velocity)` over all faces of a pyramid, in parallel by blocks. Fields other than
/// face velocities can be read through the pairs.
pub fn update<M: Default>(
    pyramid: &mut Pyramid,
    diagram: &Diagram,
    boundary: Boundary,
    body: impl Fn(&mut M, &Pairs<Reader<64>>, &StoredFace, &mut f32) + Sync + Send,
) {
    let min = pyramid.shape().min;
    for (l, level) in pyramid.levels_mut().iter_mut().enumerate() {
        let layout = *level.grid.layout();
        let steps = neighbour_steps(&layout);
        let (dx, uniform) = (f64::from(level.dx), diagram.uniform(l));
        let [fx, fy, fz] = FACE_VELOCITY;
        let [ex, ey, ez] = EDGE_VELOCITY;
        level.grid.for_each_block_with(
            None,
            [fx, fy, fz, ex, ey, ez],
            |memory: &mut M, n, page, reader, mut out| {
                let pairs = Pairs {
                    fields: reader,
                    layout,
                    table: diagram.table(),
                    boundary,
                    min: AXES.map(|a| f64::from(min[a])),
                    dx,
                    steps,
                };
                for cell in 0..64 {
                    let home = layout.first_of(page) | cell as u64;
                    stored_faces(&pairs, l, home, uniform[n] >> cell & 1 == 1, |face| {
                        body(memory, &pairs, &face, &mut out[face.slot][cell]);
                    });
                }
            },
        );
    }
}
