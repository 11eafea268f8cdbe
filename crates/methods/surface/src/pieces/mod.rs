//! Draws liquid that no mesh of a level set encloses, from what single cells hold of it: sheets, threads and drops.
//!
//! The cells around each cell say how far liquid goes on in which direction (`shape.rs`): a piece becomes an ellipsoid that is wide where its
//! neighbours are and as thin as its volume asks for [yu-2013]. The ellipsoids add up to a smooth field on a lattice of half a cell (`field.rs`). Where they are thinner than it can
//! show, they are sampled thicker, and the vertices of the contour are then drawn in to the thickness that gives
//! each connected part its volume (`thickness.rs`). Where liquid goes on nowhere it is a ball: shown on the lattice, a cloud of drops would be one body.

mod ball;
mod field;
mod shape;
mod thickness;

use crate::{MeshParams, mesh_samples};
use ball::add_ball;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;

/// Pieces that go on by less than this share along each axis are drops.
const GOES_ON_SOMEWHERE: f32 = 0.5;

/// Liquid that no mesh encloses: what one cell holds of it, or a drop.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Centre of the cell's liquid, metres.
    pub center: Vec3,
    /// The cell's edge, metres.
    pub dx: f32,
    /// Volume to draw, m3.
    pub volume_m3: f32,
    /// Velocity, m/s.
    pub velocity: Vec3,
}

impl Piece {
    /// A particle or a drop that flies through cells of edge `dx`.
    pub fn flying(x: Vec3, v: Vec3, volume_m3: f64, dx: f32) -> Piece {
        Piece { center: x, dx, volume_m3: volume_m3 as f32, velocity: v }
    }
}

/// Adds closed meshes of sheets, threads and drops that have the volume of the pieces, each connected part of them its
/// own; nothing leaves `domain`.
///
/// Tests: `a_film_is_one_sheet_of_its_thickness`, `a_row_of_cells_is_a_thread`, `a_lone_cell_is_a_round_drop`,
/// `scattered_cells_are_drops`.
pub fn add_pieces(mesh: &mut TriangleMesh, pieces: &[Piece], domain: Aabb) {
    if pieces.is_empty() {
        return;
    }
    let smallest = pieces.iter().fold(f32::MAX, |least, piece| least.min(piece.dx));
    let (mut shapes, mut connected) = (vec![], vec![]);
    let mut ball =
        |piece: &Piece| add_ball(mesh, piece.center, piece.velocity, f64::from(piece.volume_m3), domain);
    for (shape, piece) in shape::shapes(pieces, 0.5 * smallest).into_iter().zip(pieces) {
        if shape.long.max_element() < GOES_ON_SOMEWHERE {
            ball(piece);
        } else {
            shapes.push(shape);
            connected.push(*piece);
        }
    }
    if connected.is_empty() {
        return;
    }
    shape::weigh(&mut shapes);
    let field = field::Field::new(&shapes, 0.5 * smallest);
    let mut drawn = mesh_samples(
        &field.lattice,
        &MeshParams::default(),
        |j, k, out| field.fill_row(j, k, out),
        |at| field.value(at),
    );
    let left = thickness::give_volume(&mut drawn, &field, &shapes, &connected, domain);
    left.into_iter().for_each(|n| ball(&connected[n]));
    mesh.append(drawn);
}
