//! Sources on a grid: boundaries with a prescribed flux.
//!
//! A source closes the part of each face that its nozzle covers, and what leaves the nozzle in a cell enters
//! the cell's continuity equation; see [`Nozzle`] for why that is exact on any grid. Only as a flux, not as a
//! region whose velocity is overwritten, does the inflow equal flow times time under water too.

use crate::{FaceCells, Openings};
use fluvial_foundation::parallel::map_indices;
use fluvial_foundation::{AXES, Axis};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_solids::Nozzle;

/// A face that a source covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceFace {
    /// Its axis.
    pub axis: Axis,
    /// Its place in the arrays of that axis.
    pub face: usize,
    /// The part that it covers of what sources before it leave open, 0 to 1.
    pub covered: f32,
    /// Velocity of the source's liquid where the face's centre lies in it or on its surface, m/s; none behind it.
    pub u_source: Option<f32>,
}

/// One source on a grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlet {
    /// The faces that it covers.
    pub faces: Vec<SourceFace>,
    /// The cells that it flows into, with the flow into each, m3/s.
    pub flow_into_cell: Vec<(usize, f32)>,
    /// All of it, m3/s: section times speed.
    pub flow_m3_s: f64,
}

/// The active sources; empty when there are none.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    faces: Vec<SourceFace>,
    flow_into_cell: Vec<(usize, f32)>,
}

/// Open area, boundary velocity and inflow with active sources on top of the solids; old or empty when none is
/// active.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    area_face: FaceField,
    u_boundary: FaceField,
    inflow_cell: Vec<f32>,
    at_source_cell: Vec<bool>,
}

impl Outlet {
    /// The faces that a nozzle covers and the cells that it flows into. `open_area` is what solids leave of
    /// the faces, `section_m2` of the nozzle's section ([`Nozzle::section_among`]).
    ///
    /// Test: `an_outlet_flows_at_section_times_speed_at_any_place`.
    pub fn new(nozzle: &Nozzle, grid: &UniformGrid, open_area: &FaceField, section_m2: f64) -> Outlet {
        let speed = nozzle.outflow().length() as f64;
        let mut out = Outlet { flow_m3_s: section_m2 * speed, ..Outlet::default() };
        let bounds = nozzle.cover_bounds(grid.dx);
        let cells = grid.cell_centers();
        let range = AXES.map(|a| {
            let place = |x: f32| ((x - grid.min[a]) / grid.dx).clamp(0.0, grid.cells[a] as f32);
            place(bounds.min[a]).floor() as usize..place(bounds.max[a]).ceil() as usize
        });
        // The flow into each cell, from the covered parts of its faces; each face is measured for both of its
        // cells, and listed with the cell above it or the last one below.
        let slabs = map_indices(range[2].len(), |slab| {
            let k = range[2].start + slab;
            let mut part = (vec![], vec![]);
            for (j, i) in range[1].clone().flat_map(|j| range[0].clone().map(move |i| (j, i))) {
                let share = nozzle.own_share(cells.position(i, j, k), grid.dx);
                let flow = share * out_of_cell(nozzle, grid, open_area, [i, j, k], &mut part.0);
                if flow > 0.0 {
                    part.1.push((cells.index(i, j, k), flow));
                }
            }
            part
        });
        for (faces, flows) in slabs {
            out.faces.extend(faces);
            out.flow_into_cell.extend(flows);
        }
        let sum: f64 = out.flow_into_cell.iter().map(|(_, flow)| f64::from(*flow)).sum();
        let scale = if sum > 0.0 { out.flow_m3_s / sum } else { 0.0 };
        out.flow_into_cell.iter_mut().for_each(|(_, flow)| *flow *= scale as f32);
        out
    }
}

/// Flow out of a nozzle into a cell, m3/s, before it is scaled to the whole; lists the cell's low faces, and
/// its high ones at the end of the grid, where they are covered.
fn out_of_cell(
    nozzle: &Nozzle,
    grid: &UniformGrid,
    open_area: &FaceField,
    at: [usize; 3],
    list: &mut Vec<SourceFace>,
) -> f32 {
    let mut out = 0.0;
    for axis in AXES {
        let lattice = grid.faces(axis);
        for up in [false, true] {
            let mut on = at;
            on[axis] += up as usize;
            let (face, x) = (lattice.index(on[0], on[1], on[2]), lattice.position(on[0], on[1], on[2]));
            let covered = nozzle.covered_part(x, axis, grid.dx);
            // A closed wall of the domain is no obstacle: a source may begin beyond it.
            let wall = on[axis] == 0 || on[axis] == grid.cells[axis];
            let open = if wall { 1.0 } else { open_area[axis][face] };
            let flux = covered * open * nozzle.outflow()[axis];
            out += if up { -flux } else { flux };
            if covered > 0.0 && (!up || on[axis] == grid.cells[axis]) {
                let covered = nozzle.newly_covered_part(x, axis, grid.dx);
                let u_source = nozzle.velocity_in(x, grid.dx).map(|u| u[axis]);
                list.push(SourceFace { axis, face, covered, u_source });
            }
        }
    }
    out * grid.dx * grid.dx
}

impl Sources {
    /// No source is active.
    pub fn clear(&mut self) {
        self.faces.clear();
        self.flow_into_cell.clear();
    }

    /// A source flows, for this part of the step.
    pub fn add(&mut self, outlet: &Outlet, part_of_step: f32) {
        self.faces.extend_from_slice(&outlet.faces);
        self.flow_into_cell
            .extend(outlet.flow_into_cell.iter().map(|(cell, flow)| (*cell, part_of_step * flow)));
    }

    /// The faces that active sources cover.
    pub fn faces(&self) -> &[SourceFace] {
        &self.faces
    }

    /// The cells that active sources flow into, m3/s.
    pub fn flow_into_cell(&self) -> &[(usize, f32)] {
        &self.flow_into_cell
    }

    /// Lays the sources over the solids: `area = open (1 - covered)`; what is covered passes nothing by
    /// itself, the flow into the cells is listed.
    pub fn cover(&self, out: &mut Cover, grid: &UniformGrid, open_area: &FaceField, u_solid: &FaceField) {
        if self.faces.is_empty() {
            return;
        }
        out.area_face.clone_from(open_area);
        out.u_boundary.clone_from(u_solid);
        out.at_source_cell.clear();
        out.at_source_cell.resize(grid.cell_count(), false);
        for &SourceFace { axis, face, covered, .. } in &self.faces {
            let cells = FaceCells::beside(grid, axis, face);
            cells.low.into_iter().chain(cells.high).for_each(|cell| out.at_source_cell[cell] = true);
            let (area, u) = (&mut out.area_face[axis][face], &mut out.u_boundary[axis][face]);
            let left = *area * (1.0 - covered);
            // The solid's part keeps its flux.
            *u *= if left < 1.0 { (1.0 - *area) / (1.0 - left) } else { 1.0 };
            *area = if left < fluvial_solids::SMALLEST_OPEN_AREA { 0.0 } else { left };
        }
        out.inflow_cell.clear();
        out.inflow_cell.resize(grid.cell_count(), 0.0);
        for (cell, flow) in &self.flow_into_cell {
            out.inflow_cell[*cell] += flow / (grid.dx * grid.dx);
        }
    }

    /// Gives the faces that are closed by sources the velocity of their liquid and marks them as known, so
    /// that it spreads with the rest when velocity is extended.
    pub fn prescribe(&self, u_face: &mut FaceField, valid_face: &mut [Vec<u8>; 3], area_face: &FaceField) {
        for &SourceFace { axis, face, u_source, .. } in &self.faces {
            if area_face[axis][face] == 0.0 {
                valid_face[axis][face] = 1;
                u_face[axis][face] = u_source.unwrap_or(0.0);
            }
        }
    }

    /// Gives all faces in the sources the velocity of their liquid, the open ones at their edges too.
    pub fn fill_velocity(&self, u_face: &mut FaceField) {
        for &SourceFace { axis, face, u_source, .. } in &self.faces {
            if let Some(u_source) = u_source {
                u_face[axis][face] = u_source;
            }
        }
    }
}

impl Cover {
    /// The faces as the projection sees them: those of the solids, given here, with those of the sources on
    /// top.
    pub fn openings<'a>(
        &'a self,
        sources: &Sources,
        grid: &'a UniformGrid,
        open_area: &'a FaceField,
        u_solid: &'a FaceField,
    ) -> Openings<'a> {
        if sources.faces.is_empty() {
            return Openings {
                grid,
                area_face: open_area,
                u_boundary: u_solid,
                inflow_cell: &[],
                at_source_cell: &[],
            };
        }
        let Cover { area_face, u_boundary, inflow_cell, at_source_cell } = self;
        Openings { grid, area_face, u_boundary, inflow_cell, at_source_cell }
    }
}
