//! Sources and sinks: liquid that they add and take, and sources as boundaries with a velocity.

use crate::state::{Boundaries, Ground, SourceTags, Start, Step};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_octree::volume::liquid_volume;
use fluvial_solver_interface::{Setup, Source};

impl Step<'_> {
    /// Copies the state's liquid, fills active sources and empties active sinks.
    ///
    /// Sources that start now, or only drip (no velocity, hence no flux), add inflow. Sources that go on
    /// flowing are booked by their flux; topping them up mends what transport lost and books nothing.
    pub fn begin_with_sources(&self, start: &mut Start, fraction_cell: &mut Vec<f32>) {
        let (setup, old, time_s) = (&self.model.setup, self.old, self.old.time_s);
        let tree = &*old.fields.tree;
        start.phi_cell.clone_from(&old.fields.phi_cell);
        start.u_face.clone_from(&old.fields.u_face);
        start.volume.clone_from(&old.volume);
        tag_sources(&mut start.tags, setup, tree, time_s);
        if start.tags.is_empty() && setup.active_sinks(time_s).next().is_none() {
            return;
        }
        let phi = &mut start.phi_cell;
        let volume = |phi: &[f32]| liquid_volume(tree, phi, self.model.open(&old.boundaries));
        let flowed =
            |(n, source): &(usize, &Source)| old.sources_flowing[*n] && source.velocity != Vec3::ZERO;
        let before_m3 = volume(phi);
        for (_, source) in setup.active_sources(time_s).filter(flowed) {
            at_cells(phi, tree, |phi, x| phi.min(source.shape.distance(x)));
        }
        let topped_up_m3 = volume(phi);
        for (_, source) in setup.active_sources(time_s).filter(|source| !flowed(source)) {
            at_cells(phi, tree, |phi, x| phi.min(source.shape.distance(x)));
        }
        let filled_m3 = volume(phi);
        for (_, sink) in setup.active_sinks(time_s) {
            at_cells(phi, tree, |phi, x| phi.max(-sink.shape.distance(x)));
        }
        let after_m3 = volume(phi);
        for_each_source_face(setup, tree, &start.tags, |face, v| start.u_face[face] = v);
        start.volume.book_sources_and_sinks(filled_m3 - topped_up_m3, filled_m3 - after_m3);
        self.remeasure_bodies(start, fraction_cell, topped_up_m3 - before_m3);
    }

    /// The next tree with everything that stands on it: the faces of sources are boundaries with a velocity.
    pub fn ground<'b>(
        &self,
        tree: &'b Octree,
        boundaries: &'b Boundaries,
        sources: &'b mut SourceTags,
    ) -> Ground<'b> {
        let SourceTags { cell: tags, area_face, u_boundary } = sources;
        tag_sources(tags, &self.model.setup, tree, self.old.time_s);
        area_face.clone_from(&boundaries.open_area);
        u_boundary.clone_from(&boundaries.u_solid);
        for_each_source_face(&self.model.setup, tree, tags, |face, v| {
            let open = area_face[face];
            u_boundary[face] = open * v + (1.0 - open) * u_boundary[face];
            area_face[face] = 0.0;
        });
        Ground { tree, boundaries, sources }
    }
}

/// Changes phi by a function of its value and the place of its cell.
fn at_cells(phi_cell: &mut [f32], tree: &Octree, change: impl Fn(f32, Vec3) -> f32 + Sync + Send) {
    parallel::for_each_indexed_mut(phi_cell, |cell, phi| *phi = change(*phi, tree.cell_center(cell)));
}

/// Tags the cells of active sources; empty when there are none.
fn tag_sources(tags: &mut Vec<u8>, setup: &Setup, tree: &Octree, time_s: f64) {
    tags.clear();
    for (n, source) in setup.active_sources(time_s) {
        tags.resize(tree.cell_count(), 0);
        parallel::for_each_indexed_mut(tags, |cell, tag| {
            if source.shape.distance(tree.cell_center(cell)) < 0.0 {
                *tag = n as u8 + 1;
            }
        });
    }
}

/// Calls `body(face, velocity)` for the faces of tagged cells: inside a source its own velocity, on its skin
/// only the outward part, so that nothing is sucked in behind.
fn for_each_source_face(setup: &Setup, tree: &Octree, tags: &[u8], mut body: impl FnMut(usize, f32)) {
    if tags.is_empty() {
        return;
    }
    let tag = |side: Side| match side {
        Side::Outside => 0,
        Side::Cell(cell) => tags[cell as usize],
        Side::Quad(cells) => cells.iter().map(|&c| tags[c as usize]).max().unwrap_or(0),
    };
    for face in 0..tree.face_count() {
        let axis = tree.face_axis(face);
        let velocity = |tag: u8| setup.sources[tag as usize - 1].velocity[axis];
        let [low, high] = tree.sides(face).map(tag);
        match (low, high) {
            (0, 0) => {}
            (low, 0) => body(face, velocity(low).max(0.0)),
            (0, high) => body(face, velocity(high).min(0.0)),
            (low, _) => body(face, velocity(low)),
        }
    }
}
