//! Liquid carried across the faces of a tree: the volume companion of the level set.

use crate::interpolate::{Interpolation, Sampler, Tracing};
use crate::quadric::Quadric;
use crate::select::select;
use crate::sides::TreeSides;
use crate::volume::{Fits, share_of_open};
use fluvial_foundation::{AXES, Axis, DVec3, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::cut::{cube_below_plane, octants_below};
use fluvial_grids::octree::Side;

/// A surface that bends by more than this over a cell, in cells, is an edge or a sheet: no quadric fits it.
const SHARPEST_BEND_CELLS: f64 = 0.3;
/// Half the diagonal of a cell with a margin for the curvature of phi, cells.
const CLEAR_OF_BOX_CELLS: f32 = 1.1;
/// Boxes of short steps are clear of a surface that is farther than this from their leaf's centre, cells: no fit is made
/// in advance there.
const SELDOM_REACHED_CELLS: f32 = 1.2;
/// Centres of cells farther from the surface than this and the way of a step are clear of it, cells.
const CLEAR_OF_CELL_CELLS: f32 = 2.0;

/// What carries liquid across faces.
#[derive(Clone, Copy)]
pub struct Carrier<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// Signed distance at cell centres, metres.
    pub phi_cell: &'a [f32],
    /// Velocity at faces, m/s, and the same for paths.
    pub u_face: &'a [f32],
    /// Velocity at any point.
    pub tracing: &'a Tracing,
    /// Open part of faces.
    pub open_area: &'a [f32],
    /// Solids' signed distance at nodes; empty without solids.
    pub phi_solid_node: &'a [f32],
    /// Sides of thin solids.
    pub sides: TreeSides<'a>,
    /// Fits of phi that are ready on the tree.
    pub fits: &'a Fits,
    /// Length of the step.
    pub dt_s: f32,
}

/// Volume of liquid that crosses every face in a step, m3, positive along the axis.
#[derive(Clone, Debug, Default)]
pub struct Fluxes {
    /// phi around the leaves near the surface.
    shapes: Shapes,
    /// Faces with one cell on each side; the whole of T-junctions.
    face_m3: Vec<f32>,
    /// T-junctions, by the smaller cell.
    quarter_m3: Vec<[f32; 4]>,
}

impl Fluxes {
    /// `f = A u dt share`, share the liquid part of the slanting box that the face sweeps backwards along the flow, as
    /// on a uniform grid (`fluvial_level_set::liquid_flux`). A T-junction is four faces of one velocity. Of a face that a solid
    /// cuts, the share is that of its open part: behind the wall phi goes on, and of a film a tenth of a cell deep
    /// on a floor half way up its cells, whole faces would let three times as much pass.
    ///
    /// What leaves a cell through a face enters its neighbour, so that the sum over cells changes by what
    /// crosses the domain's boundary alone. Verified by tests/flux.rs.
    pub fn fill(&mut self, carrier: &Carrier) {
        let tree = carrier.tree;
        let Fluxes { shapes, face_m3, quarter_m3 } = self;
        shapes.fit(carrier);
        let carrier = &Near { carrier, shapes };
        face_m3.resize(tree.face_count(), 0.0);
        quarter_m3.resize(tree.junction_count(), [0.0; 4]);
        for axis in AXES {
            let faces = tree.faces(axis);
            let first = faces.start;
            parallel::for_each_indexed_mut(&mut face_m3[faces], |n, flux| {
                let face = first + n;
                *flux = match tree.sides(face) {
                    [Side::Quad(_), _] | [_, Side::Quad(_)] => 0.0,
                    sides => {
                        let beside =
                            sides.map(|side| if let Side::Cell(cell) = side { Some(cell) } else { None });
                        carrier.crossing_m3(
                            face,
                            axis,
                            tree.face_center(face, axis),
                            tree.face_dx(face),
                            beside,
                        )
                    }
                };
            });
        }
        carrier.cross_junctions(face_m3, quarter_m3);
    }

    /// What leaves a cell, m3: the sum of the fluxes through its faces, counted outwards.
    #[inline]
    pub fn outflow_m3(&self, tree: &Octree, cell: usize) -> f64 {
        let mut sum = 0.0;
        for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
            let face = face as usize;
            let mut through = self.face_m3[face];
            if let Some((number, small)) = tree.junction(face)
                && let Side::Quad(cells) = tree.sides(face)[small]
                && let Some(own) = cells.iter().position(|&other| other as usize == cell)
            {
                through = self.quarter_m3[number][own];
            }
            sum += f64::from(if side % 2 == 1 { through } else { -through });
        }
        sum
    }

    /// What leaves the domain through its walls, m3.
    pub fn out_of_domain_m3(&self, tree: &Octree) -> f64 {
        parallel::ordered_sum_of(tree.face_count(), |face| match tree.sides(face) {
            [Side::Outside, _] => -f64::from(self.face_m3[face]),
            [_, Side::Outside] => f64::from(self.face_m3[face]),
            _ => 0.0,
        })
    }
}

/// Quadrics of phi at the leaves near the surface, fitted once for all faces that sweep them.
#[derive(Clone, Debug, Default)]
struct Shapes {
    /// Where each cell's is in the list; [`NO_SHAPE`] far from the surface.
    of_cell: Vec<u32>,
    quadrics: Vec<Quadric>,
}

const NO_SHAPE: u32 = u32::MAX;
/// Points closer to a cell's centre than this along all axes lie in it in spite of rounding, cells.
const INSIDE: f32 = 0.4999;

impl Shapes {
    fn fit(&mut self, carrier: &Carrier) {
        let Carrier { tree, phi_cell, fits, .. } = *carrier;
        self.of_cell.clear();
        self.of_cell.resize(tree.cell_count(), NO_SHAPE);
        let is_near = |cell: usize| phi_cell[cell].abs() < SELDOM_REACHED_CELLS * tree.cell_dx(cell);
        let near = select(tree.cell_count(), is_near);
        near.iter().enumerate().for_each(|(n, &cell)| self.of_cell[cell as usize] = n as u32);
        self.quadrics = parallel::map_indices(near.len(), |n| fits.fit(tree, phi_cell, near[n] as usize));
    }

    fn at(&self, carrier: &Carrier, leaf: usize) -> Quadric {
        match self.of_cell[leaf] {
            NO_SHAPE => carrier.fits.fit(carrier.tree, carrier.phi_cell, leaf),
            n => self.quadrics[n as usize],
        }
    }
}

/// What carries liquid, with phi near the surface.
struct Near<'a> {
    carrier: &'a Carrier<'a>,
    shapes: &'a Shapes,
}

impl Near<'_> {
    /// T-junctions, a square for each smaller cell.
    fn cross_junctions(&self, face_m3: &mut [f32], quarter_m3: &mut [[f32; 4]]) {
        let tree = self.carrier.tree;
        let junctions = select(tree.face_count(), |face| tree.is_junction(face));
        let quarters = parallel::map_indices(junctions.len(), |n| self.quarters_m3(junctions[n] as usize));
        for (face, (number, quarters)) in junctions.into_iter().zip(quarters) {
            quarter_m3[number] = quarters;
            face_m3[face as usize] = quarters.iter().sum();
        }
    }

    /// The number of a T-junction, and what crosses it at each smaller cell.
    fn quarters_m3(&self, face: usize) -> (usize, [f32; 4]) {
        let tree = self.carrier.tree;
        let (number, small) = tree.junction(face).expect("a T-junction");
        let (axis, sides) = (tree.face_axis(face), tree.sides(face));
        let (Side::Quad(cells), Side::Cell(large)) = (sides[small], sides[1 - small]) else {
            unreachable!("four cells face one");
        };
        let plane = tree.face_center(face, axis)[axis];
        let quarters = cells.map(|cell| {
            let mut x = tree.cell_center(cell as usize);
            x[axis] = plane;
            let beside = if small == 0 { [Some(cell), Some(large)] } else { [Some(large), Some(cell)] };
            self.crossing_m3(face, axis, x, 0.5 * tree.face_dx(face), beside)
        });
        (number, quarters)
    }

    /// What crosses a square of edge `h` around a point of a face, between two cells.
    #[inline]
    fn crossing_m3(&self, face: usize, axis: Axis, x: Vec3, h: f32, beside: [Option<u32>; 2]) -> f32 {
        let Carrier { tree, phi_cell, u_face, tracing, open_area, dt_s, .. } = *self.carrier;
        let u = u_face[face];
        let swept_m3 = u * dt_s * open_area[face] * h * h;
        if swept_m3 == 0.0 {
            return 0.0;
        }
        let upwind = if u > 0.0 { 0 } else { 1 };
        let Some(from) = beside[upwind].or(beside[1 - upwind]) else { return 0.0 };
        let from = from as usize;
        let (phi, dx) = (phi_cell[from], tree.cell_dx(from));
        let reach_m = 1.5 * dt_s * (tracing.v_cell[from].length() + u.abs()) + CLEAR_OF_CELL_CELLS * dx;
        if phi.abs() > reach_m {
            return if phi < 0.0 { swept_m3 } else { 0.0 };
        }
        let mut u_square = match beside {
            // Half way between two centres, without a search for the cells around.
            [Some(a), Some(b)] if tree.cell_dx(a as usize) == tree.cell_dx(b as usize) => {
                0.5 * (tracing.v_cell[a as usize] + tracing.v_cell[b as usize])
            }
            _ => tracing.at(tree, x),
        };
        u_square[axis] = u;
        let solid = if open_area[face] < 1.0 { self.solid_around(axis, (x, h), from) } else { None };
        swept_m3 * self.swept_share(axis, (x, h), u_square, (from, solid))
    }

    /// The solids' distance, negative in the open, at the corners of a box of which every section along an axis is the square of
    /// edge `h` around a point. None near thin solids, whose distance is that of both sides.
    fn solid_around(&self, axis: Axis, (x, h): (Vec3, f32), from: usize) -> Option<[f64; 8]> {
        let Carrier { tree, phi_solid_node, sides, .. } = *self.carrier;
        if phi_solid_node.is_empty() || sides.is_near(tree, from) {
            return None;
        }
        let shape = tree.shape();
        let level = (0..shape.levels).find(|&level| shape.dx_of(level) == h)?;
        let mut low = (x - shape.min) / h - 0.5;
        low[axis] += 0.5;
        let mut corners = [0.0; 8];
        for (n, phi) in corners.iter_mut().enumerate() {
            let at = std::array::from_fn(|a| {
                low[a].round() as u32 + if a == axis { 0 } else { (n >> a & 1) as u32 }
            });
            *phi = -f64::from(phi_solid_node[tree.node_at(level, at)? as usize]);
        }
        Some(corners)
    }

    /// Liquid share of what a square of edge `h` sweeps that moves with `u`, most of it in leaf `from`.
    fn swept_share(
        &self,
        axis: Axis,
        (x, h): (Vec3, f32),
        u: Vec3,
        (from, solid): (usize, Option<[f64; 8]>),
    ) -> f32 {
        let Carrier { tree, tracing, sides, dt_s, .. } = *self.carrier;
        let (mut u, u_face) = (u, u[axis]);
        let length = (u_face * dt_s).abs();
        let pieces = (length / h).ceil().max(1.0);
        let dt = dt_s / pieces;
        let mut edges = [Vec3::X, Vec3::Y, Vec3::Z].map(|e| h * e);
        let (mut x, mut sum) = (x, 0.0);
        for piece in 1..=pieces as usize {
            // The box's centre is where the square's centre was half a piece ago; the next starts a whole one ago.
            // Nothing comes through thin solids.
            let middle = sides.walk(x, x - 0.5 * dt * u);
            edges[axis] = dt * u;
            edges[axis][axis] = dt * u_face;
            sum += self.share_at(middle, edges, (from, solid));
            if piece < pieces as usize {
                x = sides.walk(x, x - dt * tracing.at(tree, middle));
                u = tracing.at(tree, x);
            }
        }
        sum as f32 / pieces
    }

    /// Liquid share of a slanting box around a point, which may lie in leaf `guess`; of its part outside of solids where their
    /// distance at its corners is given.
    fn share_at(&self, x: Vec3, edges: [Vec3; 3], (guess, solid): (usize, Option<[f64; 8]>)) -> f64 {
        let Carrier { tree, phi_cell, sides, .. } = *self.carrier;
        let is_inside = (x - tree.cell_center(guess)).abs().max_element() < INSIDE * tree.cell_dx(guess);
        let leaf = if is_inside { guess } else { tree.locate(x).cell as usize };
        let (phi, dx) = (phi_cell[leaf], tree.cell_dx(leaf));
        let offset = (x - tree.cell_center(leaf)) / dx;
        let edges = edges.map(|e| e / dx);
        let beyond = (0.5 * edges.iter().map(|e| e.abs()).sum::<Vec3>() + offset.abs()).length();
        if phi.abs() > (beyond + CLEAR_OF_BOX_CELLS - 1.0) * dx {
            return (phi < 0.0) as u8 as f64;
        }
        if let Some(at) = sides.near_place(tree, leaf) {
            let patch = sides.patch(tree, phi_cell, at, 2);
            let [i, j, k] = patch.center.map(|v| v as f32);
            return octants_below(&lattice(offset, edges, |d| {
                patch.lattice.interpolate(patch.values(), patch.lattice.stencil_at(d + Vec3::new(i, j, k)))
            }));
        }
        let fit = self.shapes.at(self.carrier, leaf);
        let [bend, twist] = fit.bend();
        let is_smooth = bend.iter().chain(&twist).all(|b| b.abs() < SHARPEST_BEND_CELLS);
        if let (true, Some(solid)) = (is_smooth, solid) {
            let phi = |d: Vec3| fit.value(d.as_dvec3().to_array()) as f32;
            return share_of_open(&lattice(offset, edges, phi), solid);
        }
        if is_smooth {
            let (d, edges) = (offset.as_dvec3().to_array(), edges.map(|e| e.as_dvec3()));
            let slope = DVec3::from_array(fit.slope(d));
            let [[xx, yy, zz], [yz, zx, xy]] = [bend, twist];
            let second = |e: DVec3| {
                (xx * e.x * e.x + yy * e.y * e.y + zz * e.z * e.z)
                    + 2.0 * (yz * e.y * e.z + zx * e.z * e.x + xy * e.x * e.y)
            };
            // The plane of the polynomial's mean over the box and of its slope at the box's centre.
            let mean = fit.value(d) + edges.iter().map(|&e| second(e)).sum::<f64>() / 24.0;
            return cube_below_plane(mean, edges.map(|e| slope.dot(e)));
        }
        let sampler = Sampler::new(tree, Interpolation::Mls);
        let center = tree.cell_center(leaf);
        let points = lattice(offset, edges, |d| sampler.cells(phi_cell, center + dx * d));
        match solid {
            Some(solid) => share_of_open(&points, solid),
            None => octants_below(&points),
        }
    }
}

/// phi at the 27 points of a lattice of half a box's size.
fn lattice(center: Vec3, [x, y, z]: [Vec3; 3], phi: impl Fn(Vec3) -> f32) -> [f64; 27] {
    std::array::from_fn(|n| {
        let at = [n % 3, n / 3 % 3, n / 9].map(|v| 0.5 * (v as f32 - 1.0));
        f64::from(phi(center + (at[0] * x + at[1] * y + at[2] * z)))
    })
}
