//! Velocities of vertices after the projection [cutcell §3.4, Fig. 8]: least squares on the free surface,
//! averages on the grid, tangent to solids.

use crate::flow::surface_mean;
use crate::mesh::CutCells;
use fluvial_foundation::DVec3;

/// Sums over the triangles around a vertex.
#[derive(Clone, Copy, Default)]
struct Fit {
    /// The way that the vertex may move: its normal, along the walls that it touches.
    direction: DVec3,
    /// `sum w m^2` and `sum w m c`, `m = n . direction`.
    square: f64,
    right: f64,
    /// What the walls take from the vertex' velocity, m/s.
    taken: DVec3,
    /// Largest change of a triangle around, m/s.
    most: f64,
}

/// A vertex changes by this many times the largest change of the triangles around it at most. Where a surface meets a wall at
/// a small angle, the line of contact would run along the wall at any speed: a film of a tenth of a cell did at 60 m/s.
const MOST_GAIN: f64 = 2.0;

/// Normals that a vertex' velocity must not change along: of its solids and of the domain's walls,
/// orthonormal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walls {
    normals: [DVec3; 3],
    count: usize,
}

/// Normals closer to the span of earlier ones than this are the same wall.
const SAME_WALL: f64 = 1e-3;

impl Walls {
    fn add(&mut self, normal: DVec3) {
        let rest = self.without(normal);
        if self.count < 3 && rest.length() > SAME_WALL {
            self.normals[self.count] = rest.normalize();
            self.count += 1;
        }
    }

    /// The unit vector nearest to `v` along the walls; zero where none is left but rounding.
    pub fn tangent_direction(&self, v: DVec3) -> DVec3 {
        let rest = self.without(v);
        if rest.length() > SAME_WALL * v.length() { rest.normalize() } else { DVec3::ZERO }
    }

    /// What is left of a vector without its parts along the walls' normals.
    pub fn without(&self, mut v: DVec3) -> DVec3 {
        // Twice: the second pass removes what rounding left, relative to a rest that may be small.
        for n in self.normals[..self.count].iter().chain(&self.normals[..self.count]) {
            v -= v.dot(*n) * *n;
        }
        v
    }
}

/// Memory of the vertex kernels, kept from step to step.
#[derive(Default)]
pub struct VertexScratch {
    fits: Vec<Fit>,
    walls: Vec<Walls>,
    sums: Vec<(DVec3, DVec3)>,
}

/// Carries the change of normal velocity on the free surface (`change_piece` of
/// [`crate::velocity::flux_budget`], m/s) to the vertices.
///
/// A vertex changes by `s d` along its normal d, so that tangential velocities stay what the particles gave; at triple
/// junctions d is tangent to the solid. The part t of its velocity that walls forbid is taken away, and of all s the one is
/// taken that gives the triangles around back what they moved by before, and their change, as well as can be: `n_j . (s d) =
/// c_j + n_j . t`, weighted by area, `s = sum w m (c + n . t) / sum w m^2` with `m = n . d`. Thus a surface that meets a wall at any
/// angle, pulled by gravity and held by pressure, stays where it is to rounding. Returns how many vertices were held back.
///
/// Two ways that do not work: a free change, whose part along d is taken afterwards, is not determined along the surface,
/// and on a wall that part is not small (normals that differ by 1e-3 made three times the change of it); and without t the line
/// of contact of a tilted surface moves while the rest is held. Test: `a_line_of_contact_moves_as_its_surface_does`.
pub fn correct_surface_vertices(
    u_vertex: &mut [DVec3],
    mesh: &CutCells,
    change_piece: &[f64],
    scratch: &mut VertexScratch,
) -> usize {
    scratch.find_walls(mesh, true);
    let VertexScratch { fits, walls, .. } = scratch;
    fits.clear();
    fits.resize(mesh.vertices.len(), Fit::default());
    for t in mesh.triangles.iter().filter(|t| t.is_surface()) {
        let area = mesh.area_vector(t);
        t.vertices.iter().for_each(|&v| fits[v as usize].direction += area);
    }
    for ((fit, walls), u) in fits.iter_mut().zip(&*walls).zip(&mut *u_vertex).filter(|f| f.0.1.count > 0) {
        let along = walls.without(*u);
        (fit.taken, *u) = (*u - along, along);
    }
    for (fit, walls) in fits.iter_mut().zip(&*walls) {
        fit.direction = walls.tangent_direction(fit.direction);
    }
    for piece in 0..mesh.pieces.len() {
        let change = change_piece[piece];
        for t in mesh.triangles_of(piece).iter().filter(|t| t.is_surface()) {
            let area = mesh.area_vector(t);
            let weight = area.length();
            if weight <= 0.0 {
                continue;
            }
            for v in t.vertices {
                let fit = &mut fits[v as usize];
                let along = area.dot(fit.direction) / weight;
                fit.square += weight * along * along;
                let wanted = change + area.dot(fit.taken) / weight;
                fit.right += weight * along * wanted;
                fit.most = fit.most.max(change.abs());
            }
        }
    }
    let mut held = 0;
    for (u, fit) in u_vertex.iter_mut().zip(fits).filter(|f| f.1.square > 0.0) {
        let (wanted, most) = (fit.right / fit.square, MOST_GAIN * fit.most);
        held += (wanted.abs() > most) as usize;
        *u += wanted.clamp(-most, most) * fit.direction;
    }
    held
}

/// Makes the velocities of all vertices on solids and on the domain's walls tangent to them: of every solid
/// around a vertex it has the normal velocity. On any triangle of a solid the interpolated velocity then has
/// it too, and no path crosses.
pub fn keep_off_solids(
    u_vertex: &mut [DVec3],
    mesh: &CutCells,
    u_solid_vertex: impl Fn(u32) -> DVec3,
    scratch: &mut VertexScratch,
) {
    scratch.find_walls(mesh, false);
    for (v, walls) in scratch.walls.iter().enumerate().filter(|w| w.1.count > 0) {
        let solid = u_solid_vertex(v as u32);
        u_vertex[v] = solid + walls.without(u_vertex[v] - solid);
    }
}

impl VertexScratch {
    fn find_walls(&mut self, mesh: &CutCells, is_smooth: bool) {
        find_walls(&mut self.walls, mesh, is_smooth);
    }
}

/// Facets that meet at a smaller angle than this (its cosine; 30 degrees) are one smooth wall, with their mean normal, where the way
/// of a line of contact is looked for. As two walls they would leave a vertex no way but along the edge between them, and what the
/// surface moves by would have to be made up along it: water in a round bowl ran along its facets.
const SMOOTH: f64 = 0.866;
/// Triangles of less area, in cell faces, have no normal but rounding.
const LEAST_FACET: f64 = 1e-7;

/// The solids around a vertex, smooth ones as one; sums of areas.
#[derive(Clone, Copy, Default)]
struct Facets {
    sums: [DVec3; 3],
    count: usize,
}

impl Facets {
    fn add(&mut self, area: DVec3) {
        let is_same = |sum: &DVec3| sum.dot(area) > SMOOTH * sum.length() * area.length();
        match self.sums[..self.count].iter().position(is_same) {
            Some(n) => self.sums[n] += area,
            None if self.count < 3 && area.length() > LEAST_FACET => {
                self.sums[self.count] = area;
                self.count += 1;
            }
            None => {}
        }
    }
}

/// The walls around every vertex: of the domain, and of solids, whose facets may count as one smooth wall
/// ([`SMOOTH`]); where nothing may pass they do not.
pub(crate) fn find_walls(out: &mut Vec<Walls>, mesh: &CutCells, is_smooth: bool) {
    out.clear();
    out.resize(mesh.vertices.len(), Walls::default());
    for (x, walls) in mesh.vertices.iter().zip(&mut *out) {
        for axis in (0..3).filter(|&a| x[a] <= 0.0 || x[a] >= mesh.grid.cells[a] as f64) {
            walls.add(DVec3::AXES[axis]);
        }
    }
    let mut facets: Vec<Facets> = vec![Facets::default(); if is_smooth { mesh.vertices.len() } else { 0 }];
    for t in mesh.triangles.iter().filter(|t| !t.is_surface()) {
        let area = mesh.area_vector(t);
        match is_smooth {
            true => t.vertices.iter().for_each(|&v| facets[v as usize].add(area)),
            false => t.vertices.iter().for_each(|&v| out[v as usize].add(area.normalize_or_zero())),
        }
    }
    for (walls, facets) in out.iter_mut().zip(&facets) {
        facets.sums[..facets.count].iter().for_each(|sum| walls.add(sum.normalize_or_zero()));
    }
}

/// Means of the normal velocities on the two sides of a piece along each axis.
#[derive(Clone, Copy, Default)]
struct Sides {
    flux: [[f64; 2]; 3],
    area: [[f64; 2]; 3],
}

impl Sides {
    fn of(mesh: &CutCells, piece: usize, u_face: &[f64]) -> Self {
        let mut sides = Sides::default();
        for (f, side) in mesh.faces_of(piece) {
            let face = &mesh.faces[f];
            // A face whose low side is the piece lies on the piece's high side.
            sides.flux[face.axis as usize][1 - side] += face.area * u_face[f];
            sides.area[face.axis as usize][1 - side] += face.area;
        }
        sides
    }

    /// Velocity at a place in the cell, 0 to 1 along each axis: linear between the two sides, constant where
    /// there is one.
    fn velocity(&self, x: DVec3) -> [Option<f64>; 3] {
        [0, 1, 2].map(|a| {
            let mean = |s: usize| self.flux[a][s] / self.area[a][s];
            match self.area[a].map(|area| area > 0.0) {
                [true, true] => Some(mean(0) + x[a] * (mean(1) - mean(0))),
                [true, false] => Some(mean(0)),
                [false, true] => Some(mean(1)),
                [false, false] => None,
            }
        })
    }
}

/// Velocities of the vertices off the free surface, on grid nodes, grid faces and solids: averages over the cut pieces
/// around them of what the piece's faces say there, and where it has none along an axis, as above a slope, of what its free surface
/// does. Components that neither knows keep their value.
pub fn average_grid_vertices(
    u_vertex: &mut [DVec3],
    mesh: &CutCells,
    u_face: &[f64],
    scratch: &mut VertexScratch,
) {
    let sums = &mut scratch.sums;
    sums.clear();
    sums.resize(mesh.vertices.len(), (DVec3::ZERO, DVec3::ZERO));
    for piece in 0..mesh.pieces.len() {
        let corner = mesh.corner(mesh.pieces[piece].cell as usize);
        let sides = Sides::of(mesh, piece, u_face);
        let of_surface = surface_mean(mesh, piece, u_vertex).map(|(u, _)| u);
        let on_solids = mesh.triangles_of(piece).iter().filter(|t| !t.is_surface());
        let on_faces = mesh.faces_of(piece).flat_map(|(f, _)| {
            let [first, end] = mesh.faces[f].polygons;
            (first..end).flat_map(|p| mesh.polygon(p as usize))
        });
        for &v in on_faces.chain(on_solids.flat_map(|t| &t.vertices)) {
            let u = sides.velocity(mesh.vertices[v as usize] - corner);
            let u: [Option<f64>; 3] = std::array::from_fn(|a| u[a].or(of_surface.map(|u| u[a])));
            let (sum, count) = &mut sums[v as usize];
            for axis in 0..3 {
                if let Some(u) = u[axis] {
                    sum[axis] += u;
                    count[axis] += 1.0;
                }
            }
        }
    }
    let mut is_surface = vec![false; mesh.vertices.len()];
    for v in mesh.triangles.iter().filter(|t| t.is_surface()).flat_map(|t| t.vertices) {
        is_surface[v as usize] = true;
    }
    for (v, &(sum, count)) in sums.iter().enumerate() {
        if !is_surface[v] {
            for axis in (0..3).filter(|&a| count[a] > 0.0) {
                u_vertex[v][axis] = sum[axis] / count[axis];
            }
        }
    }
}
