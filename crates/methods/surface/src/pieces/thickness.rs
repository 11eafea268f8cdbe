//! Draws the vertices of thin liquid in to the thickness of its volume.

use super::Piece;
use super::field::Field;
use super::shape::{LEVEL, Shape};
use crate::smooth::filter;
use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_grids::TriangleMesh;

/// Rounds in which the thickness of each part is found.
const ROUNDS: usize = 12;
/// Relative error of a part's volume at which its thickness stays.
const CLOSE_ENOUGH: f64 = 1e-5;
/// Parts of so many vertices are no single drops, and rounds in which their ripples are filtered.
const LARGE_PART: usize = 200;
const RIPPLE_ROUNDS: usize = 5;
/// Parts are shown whose volume is right to this.
const SHOWN_WITHIN: f64 = 1e-3;
/// Steps that bring a vertex onto the contour, each of at most so many spacings of the lattice.
const NEWTON_STEPS: usize = 3;
const LONGEST_STEP: f32 = 0.3;
/// Error of the field from which the next step would be its square: rounding.
const ON_CONTOUR: f32 = 1e-3;
/// Vertices that one piece of parallel work places.
const CHUNK: usize = 256;
/// Bounds on what the thickness of a part is multiplied by.
const THICKNESS: [f64; 2] = [0.1, 4.0];

/// Where a vertex may lie: `along + thickness across`.
#[derive(Clone, Copy, Default)]
struct Vertex {
    along: Vec3,
    across: Vec3,
    velocity: Vec3,
    /// The shape that has most to say there.
    nearest: u32,
}

/// Moves the vertices of the field's contour so that each connected part of it has the volume of the pieces that it shows, and gives
/// them velocities.
///
/// A vertex at `x` lies, with the bells' weights w, at `sum w (x_j + R_j D_j R_j^T (x - x_j)) / sum w`, where D shrinks the axes from what the
/// lattice shows to what they are; across the directions in which liquid goes on, a common factor of the part is
/// multiplied to it. Nothing leaves `domain`. Parts that even the least thickness leaves too large are taken out: little liquid in much
/// room. Returns the pieces that are not shown.
pub fn give_volume(
    mesh: &mut TriangleMesh,
    field: &Field,
    shapes: &[Shape],
    pieces: &[Piece],
    domain: Aabb,
) -> Vec<usize> {
    let mut vertices = place_vertices(mesh, field, shapes, pieces);
    let part_of = parts(mesh);
    let count = part_of.iter().max().map_or(0, |last| *last as usize + 1);
    take_out_ripples(&mut vertices, mesh, &part_of, count);
    let (wanted_m3, part_of_piece) =
        wanted_volumes(mesh, &vertices, &part_of, count, (field, shapes, pieces));
    // The volumes of the parts that still change.
    let volumes = |thickness: &[f64], changes: &[bool], mesh: &mut TriangleMesh, volume_m3: &mut [f64]| {
        parallel::for_each_indexed_mut(&mut mesh.positions, |v, x| {
            let (vertex, part) = (&vertices[v], part_of[v] as usize);
            if changes[part] {
                let to = vertex.along + thickness[part] as f32 * vertex.across;
                *x = to.clamp(domain.min, domain.max);
            }
        });
        volume_m3.iter_mut().zip(changes).filter(|(_, changes)| **changes).for_each(|(sum, _)| *sum = 0.0);
        for t in &mesh.triangles {
            let part = part_of[t[0] as usize] as usize;
            if changes[part] {
                let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
                volume_m3[part] += a.dot(b.cross(c)) / 6.0;
            }
        }
    };
    // The volume grows with the thickness: secants between bounds that close in on it.
    let (mut low, mut high) = (vec![THICKNESS[0]; count], vec![THICKNESS[1]; count]);
    let mut thickness = vec![1.0; count];
    let mut before = vec![(0.0, 0.0); count];
    let (mut changes, mut volume_m3) = (vec![true; count], vec![0.0f64; count]);
    for _ in 0..ROUNDS {
        volumes(&thickness, &changes, mesh, &mut volume_m3);
        for part in 0..count {
            let (now, lacking_m3) = (thickness[part], wanted_m3[part] - volume_m3[part]);
            changes[part] &= lacking_m3.abs() >= CLOSE_ENOUGH * wanted_m3[part];
            if !changes[part] {
                continue;
            }
            if lacking_m3 > 0.0 {
                low[part] = now
            } else {
                high[part] = now
            }
            let slope = (volume_m3[part] - before[part].1) / (now - before[part].0);
            let guess = now + lacking_m3 / slope;
            let is_inside = guess > low[part] && guess < high[part];
            before[part] = (now, volume_m3[part]);
            thickness[part] = if is_inside { guess } else { 0.5 * (low[part] + high[part]) };
        }
    }
    volumes(&thickness, &changes, mesh, &mut volume_m3);
    let is_shown: Vec<bool> = (0..count)
        .map(|part| (volume_m3[part] - wanted_m3[part]).abs() < SHOWN_WITHIN * wanted_m3[part])
        .collect();
    mesh.velocities = vertices.iter().map(|vertex| vertex.velocity).collect();
    keep_vertices(mesh, |v| is_shown[part_of[v] as usize]);
    let is_left = |n: &usize| part_of_piece[*n].is_none_or(|part| !is_shown[part as usize]);
    (0..pieces.len()).filter(is_left).collect()
}

/// Takes vertices out of a mesh whose parts are kept or not as a whole.
fn keep_vertices(mesh: &mut TriangleMesh, is_kept: impl Fn(usize) -> bool) {
    let mut number = vec![u32::MAX; mesh.positions.len()];
    let mut count = 0;
    for v in (0..number.len()).filter(|&v| is_kept(v)) {
        (mesh.positions[count], mesh.velocities[count]) = (mesh.positions[v], mesh.velocities[v]);
        number[v] = count as u32;
        count += 1;
    }
    mesh.positions.truncate(count);
    mesh.velocities.truncate(count);
    mesh.triangles.retain(|t| number[t[0] as usize] != u32::MAX);
    mesh.triangles.iter_mut().for_each(|t| *t = t.map(|v| number[v as usize]));
}

/// Filters the places of vertices along the surface and across it: in sheets and threads, which have many vertices, the places of single pieces
/// show as ripples of half a cell.
fn take_out_ripples(vertices: &mut [Vertex], mesh: &TriangleMesh, part_of: &[u32], count: usize) {
    let mut size = vec![0usize; count];
    part_of.iter().for_each(|part| size[*part as usize] += 1);
    let is_free = |v: usize| size[part_of[v] as usize] >= LARGE_PART;
    let filtered = |place: fn(&Vertex) -> Vec3| {
        let mut places: Vec<Vec3> = vertices.iter().map(place).collect();
        filter(&mut places, &mesh.triangles, is_free, RIPPLE_ROUNDS);
        places
    };
    let (along, across) = (filtered(|vertex| vertex.along), filtered(|vertex| vertex.across));
    for (vertex, (along, across)) in vertices.iter_mut().zip(along.into_iter().zip(across)) {
        (vertex.along, vertex.across) = (along, across);
    }
}

/// The volume of the pieces that each part shows, and the part of each piece: it belongs to the part with a vertex where it has most to say, or else to
/// one that its bell reaches.
fn wanted_volumes(
    mesh: &TriangleMesh,
    vertices: &[Vertex],
    part_of: &[u32],
    count: usize,
    (field, shapes, pieces): (&Field, &[Shape], &[Piece]),
) -> (Vec<f64>, Vec<Option<u32>>) {
    let mut wanted_m3 = vec![0.0f64; count];
    let mut part_of_piece = vec![None; pieces.len()];
    let mut book = |n: u32, part: u32, part_of_piece: &mut [Option<u32>]| {
        if part_of_piece[n as usize].is_none() {
            part_of_piece[n as usize] = Some(part);
            wanted_m3[part as usize] += f64::from(pieces[n as usize].volume_m3);
        }
    };
    vertices.iter().zip(part_of).for_each(|(vertex, part)| book(vertex.nearest, *part, &mut part_of_piece));
    for (x, part) in mesh.positions.iter().zip(part_of) {
        for &n in field.listed_at(*x) {
            if part_of_piece[n as usize].is_none() && Shape::bell(shapes[n as usize].place(*x)) > 0.0 {
                book(n, *part, &mut part_of_piece);
            }
        }
    }
    (wanted_m3, part_of_piece)
}

/// Where each vertex of the mesh may lie.
fn place_vertices(mesh: &TriangleMesh, field: &Field, shapes: &[Shape], pieces: &[Piece]) -> Vec<Vertex> {
    let mut vertices = vec![Vertex::default(); mesh.positions.len()];
    parallel::for_each_chunk_mut(&mut vertices, CHUNK, |chunk, vertices| {
        // The shapes that have something to say on the way of one vertex, looked up once.
        let mut around = vec![];
        for (vertex, x) in vertices.iter_mut().zip(&mesh.positions[chunk * CHUNK..]) {
            around.clear();
            around.extend(field.shapes_near(*x, LONGEST_STEP * NEWTON_STEPS as f32, shapes));
            *vertex =
                place_vertex(on_contour(*x, &around, shapes, field.lattice.spacing), &around, shapes, pieces);
        }
    });
    vertices
}

/// The point of the contour next to a vertex of its mesh, by Newton steps along the gradient of the sum of the bells: between
/// samples that lie as far apart as drops are wide, linear interpolation is no round surface.
fn on_contour(mut x: Vec3, around: &[u32], shapes: &[Shape], spacing: f32) -> Vec3 {
    for _ in 0..NEWTON_STEPS {
        let (mut value, mut gradient) = (-LEVEL, Vec3::ZERO);
        for &n in around {
            let shape = &shapes[n as usize];
            let place = shape.place(x);
            let inside = (1.0 - 0.25 * place.length_squared()).max(0.0);
            value += shape.weight * inside.powi(3);
            gradient -= shape.weight * 1.5 * inside * inside * (shape.axes * (place / shape.shown_m));
        }
        let step = -value / gradient.length_squared().max(1e-30) * gradient;
        x += step.clamp_length_max(LONGEST_STEP * spacing);
        if value.abs() < ON_CONTOUR {
            break;
        }
    }
    x
}

fn place_vertex(x: Vec3, around: &[u32], shapes: &[Shape], pieces: &[Piece]) -> Vertex {
    let (mut along, mut across, mut velocity) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    let (mut total, mut nearest, mut most) = (0.0f32, 0, -1.0f32);
    for &n in around {
        let shape = &shapes[n as usize];
        let place = shape.place(x);
        let weight = shape.weight * Shape::bell(place);
        if weight > most {
            (most, nearest) = (weight, n);
        }
        total += weight;
        along += weight * (shape.center + shape.axes * (place * shape.half_m * shape.long));
        across += weight * (shape.axes * (place * shape.half_m * (Vec3::ONE - shape.long)));
        velocity += weight * pieces[n as usize].velocity;
    }
    if total == 0.0 {
        return Vertex { along: x, nearest, ..Vertex::default() };
    }
    Vertex { along: along / total, across: across / total, velocity: velocity / total, nearest }
}

/// The connected part of the mesh that each vertex belongs to, numbered in the order of their first vertices.
fn parts(mesh: &TriangleMesh) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    }
    for t in &mesh.triangles {
        for (a, b) in [(t[0], t[1]), (t[0], t[2])] {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            let (first, second) = (a.min(b), a.max(b));
            parent[second as usize] = first;
        }
    }
    let mut count = 0;
    let mut number = vec![0u32; parent.len()];
    for v in 0..parent.len() as u32 {
        let first = root(&mut parent, v);
        number[v as usize] = if first == v { count } else { number[first as usize] };
        count += u32::from(first == v);
    }
    number
}
