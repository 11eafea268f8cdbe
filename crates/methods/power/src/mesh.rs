//! The power diagram as an explicit mesh: the simple twin of the kernels on pages, for tests and comparison.

use crate::diagram::{Diagram, outside_places};
use crate::neighbourhood::Slot;
use fluvial_foundation::AXES;
use fluvial_grids::octree::Cell;
use fluvial_grids::pyramid::{NEIGHBOURS, Pyramid, bits};
use fluvial_linear::sparse::{Csr, FluxMatrix};

/// A face between two leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFace {
    /// Numbers of the leaves; the normal points from the first to the second.
    pub cells: [u32; 2],
    /// Area, m2.
    pub area: f64,
    /// Distance of the leaves' centres, m.
    pub distance: f64,
    /// Centre of area, m.
    pub centroid: [f64; 3],
    /// Unit normal.
    pub normal: [f64; 3],
}

/// Power cells and their faces as lists. Numbers of leaves are the pyramid's.
#[derive(Clone, Debug, Default)]
pub struct PowerMesh {
    /// Where leaves lie.
    pub cells: Vec<Cell>,
    /// Centres of leaves, m.
    pub centers: Vec<[f64; 3]>,
    /// Centres of power cells' volumes, m.
    pub centroids: Vec<[f64; 3]>,
    /// Volumes of power cells, m3.
    pub volumes: Vec<f64>,
    /// Faces between leaves as every leaf sees its own, hence each twice, once in each direction.
    pub half_faces: Vec<MeshFace>,
}

impl PowerMesh {
    /// Lists the power cells of all leaves.
    pub fn new(pyramid: &Pyramid, diagram: &Diagram) -> PowerMesh {
        let mut mesh = PowerMesh::default();
        for (l, level) in pyramid.levels().iter().enumerate() {
            let layout = level.grid.layout();
            for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
                for cell in bits(level.cells()[n].active) {
                    let at = layout.decode(layout.first_of(page) | cell as u64);
                    mesh.push_leaf(pyramid, diagram, l, at);
                }
            }
        }
        mesh
    }

    fn push_leaf(&mut self, pyramid: &Pyramid, diagram: &Diagram, l: usize, at: [u32; 3]) {
        let level = &pyramid.levels()[l];
        let dx = f64::from(level.dx);
        let number = self.cells.len() as u32;
        let outside = outside_places(level.grid.layout(), at);
        let power = diagram.cell(level, at);
        let min = pyramid.shape().min;
        let center = AXES.map(|a| f64::from(min[a]) + dx * (f64::from(at[a]) + 0.5));
        self.cells.push(Cell { at: at.map(|v| v as u16), level: l as u8 });
        self.centers.push(center);
        self.centroids.push(AXES.map(|a| center[a] + dx * power.centroid[a]));
        self.volumes.push(power.volume * dx.powi(3));
        for face in &power.faces {
            let (Slot::Level(k) | Slot::Smaller(k, _)) = face.slot;
            if outside >> k & 1 == 1 {
                continue;
            }
            let next = AXES.map(|a| at[a].wrapping_add_signed(NEIGHBOURS[k][a] as i32));
            let other = match face.slot {
                Slot::Level(_) => level.number(next).or_else(|| {
                    pyramid.levels().get(l + 1).and_then(|coarse| coarse.number(next.map(|v| v / 2)))
                }),
                Slot::Smaller(_, child) => {
                    let at = AXES.map(|a| 2 * next[a] + (child as u32 >> a & 1));
                    pyramid.levels()[l - 1].number(at)
                }
            };
            self.half_faces.push(MeshFace {
                cells: [number, other.expect("codes describe the tree")],
                area: face.area * dx * dx,
                distance: face.distance * dx,
                centroid: AXES.map(|a| center[a] + dx * face.centroid[a]),
                normal: face.normal,
            });
        }
    }

    /// `(L p)_i = sum_j A_ij / d_ij (p_i - p_j)`, minus the volume integral of the Laplacian [power eq. 3].
    pub fn laplacian<V: fluvial_linear::krylov::Real>(&self, excess: Vec<f64>) -> FluxMatrix<V> {
        let mut rows: Vec<Vec<(u32, f64)>> = vec![vec![]; self.cells.len()];
        for face in &self.half_faces {
            rows[face.cells[0] as usize].push((face.cells[1], -face.area / face.distance));
        }
        let (mut start, mut column, mut value) = (vec![0u32], vec![], vec![]);
        for row in &mut rows {
            row.sort_by_key(|e| e.0);
            column.extend(row.iter().map(|e| e.0));
            value.extend(row.iter().map(|e| V::from_f64(e.1)));
            start.push(column.len() as u32);
        }
        FluxMatrix::new(Csr::new(self.cells.len(), start, column, value), excess)
    }
}
