//! Ways that no solid is crossed on, however thin it is.
//!
//! Interpolated velocities are tangent to walls on walls, but a step is a finite way. Where it meets a triangle it ends just
//! before, on the side that it came from, and goes on along the triangle. Tests: tests/transport.rs.

use crate::solids::{Bins, Solids};
use fluvial_foundation::DVec3;
use fluvial_grids::UniformGrid;

/// Ways keep this far from triangles, in cells: more than positions in f32 are rounded by.
pub const MARGIN: f64 = 1e-4;
/// Triangles that a way is bent at; in a narrower corner it ends.
const BENDS: usize = 3;

/// Triangles of solids with the cells that they lie in.
#[derive(Clone, Debug, Default)]
pub struct Walls {
    solids: Solids,
    bins: Bins,
    cells: [usize; 3],
}

impl Walls {
    /// Sorts the triangles into the cells of a grid.
    pub fn new(solids: &Solids, grid: &UniformGrid) -> Walls {
        Walls { solids: solids.clone(), bins: Bins::new(solids, grid), cells: grid.cells }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.solids.triangles.is_empty()
    }

    /// Does any triangle lie in the cell of a point, in cells?
    pub fn is_near(&self, x: DVec3) -> bool {
        !self.is_empty() && !self.bins.of(self.cell(x.floor().to_array())).is_empty()
    }

    fn cell(&self, at: [f64; 3]) -> usize {
        let n: [usize; 3] = std::array::from_fn(|a| at[a].clamp(0.0, (self.cells[a] - 1) as f64) as usize);
        n[0] + self.cells[0] * (n[1] + self.cells[1] * n[2])
    }

    /// The first triangle between two points: part of the way, and its normal towards `from`.
    pub fn first_hit(&self, from: DVec3, to: DVec3) -> Option<(f64, DVec3)> {
        if self.is_empty() {
            return None;
        }
        // Beyond the domain the outermost cells' triangles count; a way that leads far out of it is not followed cell by cell.
        let top = DVec3::from_array(self.cells.map(|n| n as f64 - 1.0));
        let within = |x: DVec3| x.floor().clamp(DVec3::ZERO, top);
        let (low, high) = (within(from.min(to)), within(from.max(to)));
        let mut first: Option<(f64, DVec3)> = None;
        let (mut k, mut j, mut i);
        k = low.z;
        while k <= high.z {
            j = low.y;
            while j <= high.y {
                i = low.x;
                while i <= high.x {
                    for &t in self.bins.of(self.cell([i, j, k])) {
                        let hit = hit(self.solids.triangles[t as usize], from, to);
                        if let Some(hit) = hit.filter(|hit| first.is_none_or(|first| hit.0 < first.0)) {
                            first = Some(hit);
                        }
                    }
                    i += 1.0;
                }
                j += 1.0;
            }
            k += 1.0;
        }
        first
    }

    /// Is a triangle between two points?
    pub fn is_between(&self, from: DVec3, to: DVec3) -> bool {
        self.first_hit(from, to).is_some()
    }

    /// Where the way from a point to another ends.
    pub fn walk(&self, from: DVec3, to: DVec3) -> DVec3 {
        self.walk_telling(from, to, |_| {})
    }

    /// As [`Self::walk`]; `tell` hears the normals of the triangles that the way is bent at, towards the liquid.
    pub fn walk_telling(&self, from: DVec3, mut to: DVec3, mut tell: impl FnMut(DVec3)) -> DVec3 {
        if self.is_empty() {
            return to;
        }
        let mut at = from;
        for _ in 0..BENDS {
            let Some((part, normal)) = self.first_hit(at, to) else { return to };
            tell(normal);
            let met = at + part * (to - at);
            let rest = (to - met) - (to - met).dot(normal) * normal;
            let before = met + MARGIN * normal;
            // In a corner the margin of one triangle may lie behind another.
            if self.is_between(at, before) {
                return at;
            }
            (at, to) = (before, before + rest);
        }
        if self.is_between(at, to) { at } else { to }
    }
}

/// Where a way meets a triangle: part of the way, and the normal towards its start.
fn hit([p, q, r]: [DVec3; 3], a: DVec3, b: DVec3) -> Option<(f64, DVec3)> {
    let n = (q - p).cross(r - p);
    let (da, db) = (n.dot(a - p), n.dot(b - p));
    if da * db > 0.0 || da == db {
        return None;
    }
    let part = da / (da - db);
    let x = a + part * (b - a);
    // A hair more than the triangle: nothing passes between two that share an edge.
    let slack = -1e-9 * n.length_squared();
    let side = |u: DVec3, v: DVec3| (v - u).cross(x - u).dot(n) >= slack;
    let inside = side(p, q) && side(q, r) && side(r, p);
    inside.then(|| (part, if da >= 0.0 { n.normalize() } else { -n.normalize() }))
}
