//! Sources and sinks: liquid that they add and take, and sources as boundaries with a flux.

use crate::mass::total_m3;
use crate::state::{Boundaries, SourcesOnTree, Start, Step};
use fluvial_foundation::{Aabb, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_octree::outlet::Outlet;
use fluvial_octree::volume::Fits;
use fluvial_solids::Nozzle;

/// What of a face's closed part is the solid's, where sources leave `left` of the part `open` that solids leave.
pub(crate) fn solid_part(open: f32, left: f32) -> f32 {
    if left < 1.0 { (1.0 - open) / (1.0 - left) } else { 1.0 }
}

impl Step<'_> {
    /// Copies the state's liquid and empties active sinks.
    pub fn begin_with_sinks(&self, start: &mut Start) {
        let (setup, old) = (&self.model.setup, self.old);
        let tree = &*old.fields.tree;
        start.phi_cell.clone_from(&old.fields.phi_cell);
        start.u_face.clone_from(&old.fields.u_face);
        start.fraction_cell.clone_from(&old.fields.fraction_cell);
        start.residual_cell.clone_from(&old.fields.residual_cell);
        start.drained_m3 = 0.0;
        let sinks: Vec<_> = setup.active_sinks(old.time_s).map(|(_, sink)| &sink.shape).collect();
        if sinks.is_empty() {
            return;
        }
        let held_m3 =
            |start: &Start| total_m3(tree, &start.fraction_cell) + total_m3(tree, &start.residual_cell);
        let before_m3 = held_m3(start);
        parallel::for_each_indexed_mut(&mut start.phi_cell, |cell, phi| {
            let x = tree.cell_center(cell);
            sinks.iter().for_each(|shape| *phi = phi.max(-shape.distance(x)));
        });
        let in_sink =
            |cell: usize| sinks.iter().any(|s| s.distance(tree.cell_center(cell)) < 0.5 * tree.cell_dx(cell));
        parallel::for_each_indexed_mut(&mut start.residual_cell, |cell, residual| {
            *residual = if *residual != 0.0 && in_sink(cell) { 0.0 } else { *residual };
        });
        self.model.fill_fractions(
            &mut start.fraction_cell,
            tree,
            &start.phi_cell,
            &old.boundaries,
            Fits::NONE,
        );
        start.drained_m3 = before_m3 - held_m3(start);
    }

    /// The sources that flow, on the next tree: they close what they cover of the faces. `u_boundary` becomes the velocity of the
    /// solids at what is closed of each face.
    pub fn place_sources(
        &self,
        tree: &Octree,
        boundaries: &Boundaries,
        sources: &mut SourcesOnTree,
        u_boundary: &mut Vec<f32>,
    ) {
        let (setup, time_s, end_s) = (&self.model.setup, self.old.time_s, self.old.time_s + self.dt_s);
        let SourcesOnTree { section_m2, measured_for, outlets, area_face, flow_into_cell, may_part_cell } =
            sources;
        let resting = setup.resting_sources(time_s, self.dt_s);
        if resting.is_none() || resting != *measured_for {
            section_m2.clear();
        }
        *measured_for = resting;
        section_m2.resize(setup.sources.len(), None);
        area_face.clone_from(&boundaries.open_area);
        u_boundary.clone_from(&boundaries.u_solid);
        may_part_cell.clone_from(&boundaries.may_part_cell);
        outlets.clear();
        flow_into_cell.clear();
        let placed = setup.solids_at(end_s);
        for (n, source) in setup.sources_flowing(time_s, self.dt_s) {
            let nozzle = setup.nozzle_among(n, time_s, self.dt_s);
            let measured =
                section_m2[n].unwrap_or_else(|| nozzle.section_among(&placed, self.model.shape.dx));
            section_m2[n] = Some(measured);
            let outlet = Outlet::new(&nozzle, tree, &boundaries.open_area, measured);
            for f in &outlet.faces {
                let (area, u) = (&mut area_face[f.face], &mut u_boundary[f.face]);
                let left = *area * (1.0 - f.newly_covered);
                // The solid's part keeps its flux.
                *u *= solid_part(*area, left);
                *area = if left < fluvial_solids::SMALLEST_OPEN_AREA { 0.0 } else { left };
                for side in tree.sides(f.face) {
                    match side {
                        Side::Outside => {}
                        Side::Cell(cell) => may_part_cell[cell as usize] = false,
                        Side::Quad(cells) => cells.iter().for_each(|&c| may_part_cell[c as usize] = false),
                    }
                }
            }
            let part = source.flows_for_s(time_s, self.dt_s) / self.dt_s;
            flow_into_cell.extend(outlet.flow_into_cell.iter().map(|(cell, flow)| (*cell, part * flow)));
            outlets.push((outlet, part));
        }
        flow_into_cell.sort_unstable_by_key(|(cell, _)| *cell);
    }

    /// Unites the carried liquid with what has come into active sources by the end of the step, and takes what has
    /// come into active sinks out of it again: the pressure finds them empty.
    pub fn fill_sources(&self, phi_cell: &mut [f32], tree: &Octree) {
        for (nozzle, since_s) in self.filled_nozzles(tree.shape().bounds()) {
            parallel::for_each_indexed_mut(phi_cell, |cell, phi| {
                *phi = phi.min(nozzle.filled_distance(tree.cell_center(cell), since_s));
            });
        }
        if self.model.conserves_volume() {
            for (_, sink) in self.model.setup.active_sinks(self.old.time_s) {
                parallel::for_each_indexed_mut(phi_cell, |cell, phi| {
                    *phi = phi.max(-sink.shape.distance(tree.cell_center(cell)));
                });
            }
        }
    }

    /// Sinks take what their cells hold beyond what is left of phi, which is returned, m3.
    pub fn drain_into_sinks(&self, volume_cell: &mut [f32], fraction_cell: &[f32], tree: &Octree) -> f64 {
        let mut taken_m3 = 0.0;
        for (_, sink) in self.model.setup.active_sinks(self.old.time_s) {
            for cell in 0..tree.cell_count() {
                let excess = volume_cell[cell] - fraction_cell[cell];
                let dx = tree.cell_dx(cell);
                if excess != 0.0 && sink.shape.distance(tree.cell_center(cell)) < 0.5 * dx {
                    volume_cell[cell] = fraction_cell[cell];
                    taken_m3 += f64::from(excess) * f64::from(dx).powi(3);
                }
            }
        }
        taken_m3
    }

    /// The sources that flow during the step as they are at its end, and for how long they have flowed, s.
    pub fn filled_nozzles(&self, bounds: Aabb) -> Vec<(Nozzle, f64)> {
        let time_s = self.old.time_s;
        let flowing = self.model.setup.sources_flowing(time_s, self.dt_s);
        let placed = flowing.map(|(_, source)| {
            let until_s = source.active_s[1].min(time_s + self.dt_s);
            (source.nozzle(until_s, bounds), until_s - source.active_s[0])
        });
        placed.collect()
    }
}
