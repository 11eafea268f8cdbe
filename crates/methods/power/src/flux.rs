//! Liquid carried across power faces: the volume companion of the level set.

use crate::band::Band;
use crate::channels::PHI;
use crate::flow::{Cursors, Flow};
use crate::neighbourhood::Slot;
use crate::pairs::{CLEAR_OF_SOLIDS, SolidDistance, open_fraction};
use crate::stencil::PowerFace;
use crate::view::{LeafFace, Place};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::cut::cube_below_plane;

/// Leaves farther from the surface than this and the way of a step are clear of it, in their own edges.
const CLEAR_LEAVES: f32 = 2.0;
/// Leaves per task.
const LEAVES: usize = 256;
/// Squares along each side of a plain face.
const SQUARES: usize = 2;

/// What carries liquid across faces.
#[derive(Clone, Copy)]
pub struct Carrier<'a> {
    /// Velocity that carries the surface.
    pub flow: Flow<'a>,
    /// The surface at the begin of the step.
    pub band: &'a Band,
    /// Solids that close faces.
    pub solid: Option<SolidDistance<'a>>,
    /// Length of the step, s.
    pub dt_s: f32,
    /// Nothing moves farther during the step, m.
    pub farthest: f32,
}

/// A piece of a face: a parallelogram by its centre and edges, and its part of the face's area.
#[derive(Clone, Copy, Default)]
struct Piece {
    center: Vec3,
    edges: [Vec3; 2],
    part: f64,
}

impl Carrier<'_> {
    /// What leaves every leaf's power cell in the step, m3, by number: `sum A u dt share` over its faces, share the liquid part of the slanting
    /// box that the face sweeps backwards along the flow, as on uniform grids and octrees. Every face is asked once, so that the sum over
    /// all leaves changes by what enters and leaves alone. Test: `fluxes_carry_what_the_surface_shows`.
    pub fn outflows_m3(&self) -> Vec<f64> {
        let view = self.flow.view();
        let leaves = view.leaves();
        let crossing = parallel::map_indices(parallel::chunk_count(leaves.len(), LEAVES), |task| {
            let (mut cursors, mut crossing) = (Cursors::default(), vec![]);
            for n in parallel::chunk_range(task, LEAVES, leaves.len()) {
                if self.may_hold_liquid(leaves[n]) {
                    self.add_faces(&mut cursors, &mut crossing, n);
                }
            }
            crossing
        });
        let mut outflow = vec![0.0; leaves.len()];
        for ([from, to], m3) in crossing.into_iter().flatten() {
            outflow[from as usize] += m3;
            outflow[to as usize] -= m3;
        }
        outflow
    }

    fn may_hold_liquid(&self, leaf: Place) -> bool {
        let view = self.flow.view();
        view.value(leaf, PHI) <= self.farthest + (1.0 + CLEAR_LEAVES) * view.level(leaf.level).dx
    }

    /// Adds what crosses the faces of a leaf that no leaf before it has asked: from which to which, m3.
    fn add_faces(&self, cursors: &mut Cursors, crossing: &mut Vec<([u32; 2], f64)>, number: usize) {
        let view = self.flow.view();
        let leaf = view.leaves()[number];
        let dx = f64::from(view.level(leaf.level).dx);
        let center = view.center(leaf).to_array().map(f64::from);
        let solid = self.solid.filter(|solid| solid(center) < CLEAR_OF_SOLIDS * dx);
        let power = view.diagram.table().get(view.code(leaf).expect("a leaf"));
        view.for_each_face(leaf, |face| {
            let Some(other) = face.other.filter(|_| face.outward != 0.0) else { return };
            if other < leaf && self.may_hold_liquid(other) {
                return;
            }
            let shape = &power.faces[face.number];
            let open = solid.map_or(1.0, |solid| open_fraction(shape, center, dx, solid));
            if open > 0.0 {
                let swept = face.area * open * f64::from(face.outward * self.dt_s);
                let share = self.share(cursors, [leaf, other], &face, (shape, center, solid));
                if share != 0.0 {
                    crossing.push(([number as u32, view.number(other) as u32], swept * share));
                }
            }
        });
    }

    /// The liquid part of what a face sweeps.
    fn share(
        &self,
        cursor: &mut Cursors,
        beside: [Place; 2],
        face: &LeafFace,
        (shape, center, solid): (&PowerFace, [f64; 3], Option<SolidDistance>),
    ) -> f64 {
        let view = self.flow.view();
        let [own, other] = beside.map(|leaf| view.value(leaf, PHI));
        let dx = view.level(beside[0].level).dx.max(view.level(beside[1].level).dx);
        let clear = CLEAR_LEAVES * dx + self.farthest;
        if own.abs().min(other.abs()) > clear && (own < 0.0) == (other < 0.0) {
            return f64::from(u8::from(own < 0.0));
        }
        let mut pieces = [Piece::default(); 16];
        let count = pieces_of(&mut pieces, shape, center, f64::from(view.level(beside[0].level).dx));
        let normal = Vec3::from_array(face.normal.map(|v| v as f32));
        let (mut sum, mut whole) = (0.0, 0.0);
        for piece in &pieces[..count] {
            let width = piece.edges[0].length().max(piece.edges[1].length());
            let open = solid.map_or(1.0, |solid| {
                (0.5 + solid(piece.center.to_array().map(f64::from)) / f64::from(width)).clamp(1e-6, 1.0)
            });
            let part = piece.part * open;
            sum += part * self.swept_share(cursor, piece, normal, face.outward);
            whole += part;
        }
        sum / whole
    }

    /// Liquid part of what a piece of a face sweeps, with the face's own velocity along the normal.
    fn swept_share(&self, cursor: &mut Cursors, piece: &Piece, normal: Vec3, outward: f32) -> f64 {
        let width = piece.edges[0].length().max(piece.edges[1].length());
        let boxes = (outward.abs() * self.dt_s / width).ceil().clamp(1.0, 16.0);
        let dt = self.dt_s / boxes;
        let (mut x, mut sum) = (piece.center, 0.0);
        let mut v = self.flow.velocity(cursor, x);
        v += (outward - v.dot(normal)) * normal;
        for n in 1..=boxes as usize {
            let middle = self.flow.clamp(x - 0.5 * dt * v);
            sum += self.share_of_box(middle, [piece.edges[0], piece.edges[1], dt * v]);
            if n < boxes as usize {
                x = self.flow.clamp(x - dt * self.flow.velocity(cursor, middle));
                v = self.flow.velocity(cursor, x);
            }
        }
        sum / f64::from(boxes)
    }

    /// Liquid part of a slanting box around a point.
    fn share_of_box(&self, x: Vec3, edges: [Vec3; 3]) -> f64 {
        let view = self.flow.view();
        let Some(phi) = self.band.linear(x) else {
            return f64::from(u8::from(view.value(view.locate(x), PHI) < 0.0));
        };
        if phi.abs() > 0.6 * edges.iter().map(|e| e.length()).sum::<f32>() {
            return f64::from(u8::from(phi < 0.0));
        }
        match self.band.slope(x) {
            Some(slope) => cube_below_plane(f64::from(phi), edges.map(|e| f64::from(slope.dot(e)))),
            None => f64::from(u8::from(phi < 0.0)),
        }
    }
}

/// Cuts a face into squares where it is one, else into the triangles of its fan, each taken for a parallelogram of
/// the same area around its centre. Returns how many.
fn pieces_of(pieces: &mut [Piece; 16], face: &PowerFace, center: [f64; 3], dx: f64) -> usize {
    let world = |p: [f64; 3]| Vec3::from_array(AXES.map(|a| (center[a] + dx * p[a]) as f32));
    let middle = world(face.centroid);
    let is_square = matches!(face.slot, Slot::Level(k) if k < 6) && face.area == 1.0;
    if is_square {
        let axis = AXES.into_iter().find(|&a| face.normal[a].abs() > 0.5).expect("a normal");
        let edges = [1, 2].map(|n| dx as f32 / SQUARES as f32 * Vec3::AXES[(axis + n) % 3]);
        for n in 0..SQUARES * SQUARES {
            let at = |v: usize| v as f32 + 0.5 - 0.5 * SQUARES as f32;
            let center = middle + at(n % SQUARES) * edges[0] + at(n / SQUARES) * edges[1];
            pieces[n] = Piece { center, edges, part: 1.0 };
        }
        return SQUARES * SQUARES;
    }
    let count = face.corners.len().min(16);
    for n in 0..count {
        let [a, b] = [face.corners[n], face.corners[(n + 1) % face.corners.len()]].map(world);
        let edges = [a - middle, b - middle].map(|e| std::f32::consts::FRAC_1_SQRT_2 * e);
        let part = f64::from(edges[0].cross(edges[1]).length());
        pieces[n] = Piece { center: (middle + a + b) / 3.0, edges, part };
    }
    count
}
