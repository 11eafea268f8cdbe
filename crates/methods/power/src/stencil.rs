//! The power cell of a leaf from its neighbourhood's code, and the table of those that were met [power §4.1,
//! §6.1, §6.3].
//!
//! Lengths are in edges of the leaf: areas scale with its square, distances with it, volumes with its cube.

use crate::neighbourhood::{Code, EDGE, Slot, nearer_half_space};
use crate::polyhedron::Polyhedron;
use fluvial_foundation::parallel;
use std::sync::Arc;

/// A face of a power cell.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerFace {
    /// The neighbour beyond it.
    pub slot: Slot,
    /// Area.
    pub area: f64,
    /// Distance of the two leaves' centres. The segment between them is orthogonal to the face.
    pub distance: f64,
    /// Unit normal, outward.
    pub normal: [f64; 3],
    /// Centre of the face's area relative to the leaf's centre.
    pub centroid: [f64; 3],
    /// Corners relative to the leaf's centre, counter-clockwise seen from outside.
    pub corners: Vec<[f64; 3]>,
}

/// The power cell of a leaf of edge 1 around the origin.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCell {
    /// Volume.
    pub volume: f64,
    /// Centre of volume relative to the leaf's centre.
    pub centroid: [f64; 3],
    /// Faces, in the order of neighbours' places.
    pub faces: Vec<PowerFace>,
    /// Of the face towards each place of the leaf's own level, area and distance; zero area where there is
    /// no face, as towards smaller leaves.
    pub level: [(f64, f64); 18],
    /// Number of that face.
    pub face_at: [u8; 18],
}

impl PowerCell {
    /// Clips a cube, large enough for every neighbourhood, by the half-spaces of all neighbours.
    /// Verified by `diagram.rs` against the planes of whole trees.
    pub fn new(code: Code) -> PowerCell {
        let sites = code.sites();
        let mut body = Polyhedron::cube(2 * EDGE);
        for (n, site) in sites.iter().enumerate() {
            body.clip(n, nearer_half_space(EDGE, site.center, site.edge));
        }
        let unit = 1.0 / EDGE as f64;
        let mut level = [(0.0, 1.0); 18];
        let mut faces: Vec<PowerFace> = vec![];
        for face in body.faces() {
            let number = face.name.expect("neighbours on all sides close a power cell");
            let site = sites[number];
            let length = site.center.iter().map(|c| (c * c) as f64).sum::<f64>().sqrt();
            let (area, distance) = (face.area() * unit * unit, length * unit);
            if let Slot::Level(k) = site.slot {
                level[k] = (area, distance);
            }
            faces.push(PowerFace {
                slot: site.slot,
                area,
                distance,
                normal: site.center.map(|c| c as f64 / length),
                centroid: face.centroid().map(|c| c * unit),
                corners: face.corners().map(|c| c.map(|v| v * unit)).collect(),
            });
        }
        faces.sort_by_key(|f| match f.slot {
            Slot::Level(k) => (k, 0),
            Slot::Smaller(k, child) => (k, 1 + child),
        });
        let volume = body.volume() * unit.powi(3);
        // Pyramids from the leaf's centre to the faces: their centres lie at three quarters of the way.
        let moment = |a: usize| {
            let pyramid = |f: &PowerFace| f.area * dot(f.normal, f.centroid) / 3.0 * 0.75 * f.centroid[a];
            faces.iter().map(pyramid).sum::<f64>()
        };
        let centroid = [0, 1, 2].map(|a| moment(a) / volume);
        let mut face_at = [0; 18];
        for (n, face) in faces.iter().enumerate() {
            if let Slot::Level(k) = face.slot {
                face_at[k] = n as u8;
            }
        }
        PowerCell { volume, centroid, faces, level, face_at }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The power cells that were met so far. They depend on nothing but their codes: trees share them.
#[derive(Clone, Debug)]
pub struct StencilTable {
    cells: Vec<PowerCell>,
    /// By code, the number of its cell.
    number: Vec<u32>,
}

/// A code whose cell nobody has asked for.
const UNKNOWN: u32 = u32::MAX;

impl Default for StencilTable {
    fn default() -> Self {
        StencilTable { cells: vec![], number: vec![UNKNOWN; Code::COUNT] }
    }
}

impl StencilTable {
    /// Makes the cells of all these codes known; those that are stay.
    pub fn prepare(table: &mut Arc<StencilTable>, codes: impl IntoIterator<Item = Code>) {
        let mut new: Vec<Code> = codes.into_iter().filter(|c| !table.knows(*c)).collect();
        if new.is_empty() {
            return;
        }
        new.sort_unstable();
        new.dedup();
        let cells = parallel::map_indices(new.len(), |n| PowerCell::new(new[n]));
        let table = Arc::make_mut(table);
        for (code, cell) in new.into_iter().zip(cells) {
            table.number[code.0 as usize] = table.cells.len() as u32;
            table.cells.push(cell);
        }
    }

    /// Is a code's cell known?
    #[inline]
    pub fn knows(&self, code: Code) -> bool {
        self.number[code.0 as usize] != UNKNOWN
    }

    /// A cell that is known.
    #[inline]
    pub fn get(&self, code: Code) -> &PowerCell {
        &self.cells[self.number[code.0 as usize] as usize]
    }

    /// Number of codes that are known.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Is none known?
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}
