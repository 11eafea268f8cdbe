//! Sources on the tree: boundaries with a prescribed flux, see [`Nozzle`].

use crate::divergence::signed_area;
use fluvial_foundation::parallel;
use fluvial_grids::Octree;
use fluvial_solids::Nozzle;

/// A face that a source covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoveredFace {
    /// Which.
    pub face: usize,
    /// The covered part, 0 to 1.
    pub covered: f32,
    /// The same part of what sources before it leave open.
    pub newly_covered: f32,
    /// Velocity of the source's liquid where the face's centre lies in it, m/s; none behind it.
    pub u_source: Option<f32>,
}

/// One source on a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlet {
    /// The faces that it covers.
    pub faces: Vec<CoveredFace>,
    /// The cells that it flows into, with the flow into each, m3/s.
    pub flow_into_cell: Vec<(usize, f64)>,
    /// All of it, m3/s: section times speed.
    pub flow_m3_s: f64,
}

impl Outlet {
    /// The faces that a nozzle covers and the cells that it flows into. `open_area` is what solids leave of
    /// the faces, `section_m2` of the nozzle's section ([`Nozzle::section_m2`]).
    ///
    /// Test: `an_outlet_across_levels_flows_at_section_times_speed`.
    pub fn new(nozzle: &Nozzle, tree: &Octree, open_area: &[f32], section_m2: f64) -> Outlet {
        let flow_m3_s = section_m2 * nozzle.outflow().length() as f64;
        let domain = tree.shape().bounds();
        let cover = |face: usize| {
            let (axis, dx) = (tree.face_axis(face), tree.face_dx(face));
            let x = tree.face_center(face, axis);
            if !nozzle.cover_bounds(dx).contains(x) {
                return None;
            }
            let covered = nozzle.covered_part(x, axis, dx);
            let u_source = nozzle.velocity_in(x, dx).map(|u| u[axis]);
            (covered > 0.0).then(|| CoveredFace {
                face,
                covered,
                newly_covered: nozzle.newly_covered_part(x, axis, dx),
                u_source,
            })
        };
        let chunks = parallel::chunk_count(tree.face_count(), parallel::CHUNK);
        let parts = parallel::map_indices(chunks, |n| {
            parallel::chunk_range(n, parallel::CHUNK, tree.face_count()).filter_map(cover).collect::<Vec<_>>()
        });
        let faces: Vec<CoveredFace> = parts.into_iter().flatten().collect();
        let covered = |face: usize| {
            faces.binary_search_by_key(&face, |f| f.face).map_or(0.0, |n| faces[n].covered as f64)
        };
        let mut cells: Vec<usize> = faces.iter().flat_map(|f| tree.cells_beside(f.face)).collect();
        cells.sort_unstable();
        cells.dedup();
        let flow_into = |cell: usize| {
            let dx = tree.cell_dx(cell) as f64;
            let flows = tree.cell_faces()[cell].iter().enumerate().map(|(side, &face)| {
                let (face, axis) = (face as usize, side / 2);
                let at = tree.face_center(face, axis)[axis];
                // A closed wall of the domain is no obstacle: a source may begin beyond it.
                let wall = at == domain.min[axis] || at == domain.max[axis];
                let open = if wall { 1.0 } else { open_area[face] as f64 };
                signed_area(dx, side) * covered(face) * open * nozzle.outflow()[axis] as f64
            });
            (cell, nozzle.own_share(tree.cell_center(cell), dx as f32) as f64 * flows.sum::<f64>())
        };
        let mut flow_into_cell: Vec<(usize, f64)> =
            cells.into_iter().map(flow_into).filter(|(_, flow)| *flow > 0.0).collect();
        let sum: f64 = flow_into_cell.iter().map(|(_, flow)| flow).sum();
        let scale = if sum > 0.0 { flow_m3_s / sum } else { 0.0 };
        flow_into_cell.iter_mut().for_each(|(_, flow)| *flow *= scale);
        Outlet { faces, flow_into_cell, flow_m3_s }
    }
}
