//! Projection, flux budget, vertices and interpolation.

use crate::common::{phi_at_nodes, random, random_liquid, unit_grid};
use crate::solid_cutting::random_sheets;
use fluvial_cutcell::cut::{CutScratch, cut, cut_liquid};
use fluvial_cutcell::interpolation::PieceShape;
use fluvial_cutcell::iso::IsoSamples;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::poisson::System;
use fluvial_cutcell::solids::Solids;
use fluvial_cutcell::velocity::{
    BudgetReport, Given, StepScales, flux_budget, project_faces, right_side, triangle_velocities,
};
use fluvial_cutcell::vertices::{
    VertexScratch, average_grid_vertices, correct_surface_vertices, keep_off_solids,
};
use fluvial_foundation::DVec3;
use fluvial_linear::Params;
use fluvial_linear::krylov::{CgScratch, LinearOperator};

const TIGHT: Params = Params { relative_tolerance: 1e-10, max_iterations: 500, ..Params::DEFAULT };
const SCALES: StepScales = StepScales { dt_s: 0.01, density: 1000.0, dx: 1.0 };

struct Flow {
    mesh: CutCells,
    iso: IsoSamples,
    u_face: Vec<f64>,
    u_vertex: Vec<DVec3>,
    u_triangle: Vec<DVec3>,
}

impl Flow {
    /// Velocities from a field; walls of the domain are closed and solids stand still.
    fn new(tracker: &Tracker, solids: &Solids, u: impl Fn(DVec3) -> DVec3) -> Self {
        let mesh = cut(tracker, solids, &mut CutScratch::default());
        let mut iso = IsoSamples::default();
        iso.find(&mesh, tracker);
        let at_face = |f: &fluvial_cutcell::mesh::GridFace| {
            if f.pieces.contains(&NONE) { 0.0 } else { u(f.centroid)[f.axis as usize] }
        };
        let u_face = mesh.faces.iter().map(at_face).collect();
        let u_vertex: Vec<DVec3> = mesh.vertices.iter().map(|&x| u(x)).collect();
        let mut u_triangle = vec![DVec3::ZERO; mesh.triangles.len()];
        triangle_velocities(&mut u_triangle, &mesh, &u_vertex, |_, _| DVec3::ZERO);
        Flow { mesh, iso, u_face, u_vertex, u_triangle }
    }

    /// Projects; returns pressures and changes on the surface.
    fn project(&mut self) -> (Vec<f64>, Vec<f64>, BudgetReport) {
        let pieces = self.mesh.pieces.len();
        let (mut rhs, mut p, mut change) = (vec![0.0; pieces], vec![0.0; pieces], vec![0.0; pieces]);
        right_side(&mut rhs, &self.mesh, (&self.u_face, &self.u_triangle, &Given::NOTHING), &SCALES);
        let system = System::assemble(&self.mesh, &self.iso, &Given::NOTHING);
        system.solve(&mut p, &rhs, &TIGHT, &mut CgScratch::default()).expect("it converges");
        project_faces(&mut self.u_face, &self.mesh, &self.iso, &p, None, &SCALES);
        let u = (&self.u_face[..], &self.u_triangle[..], &Given::NOTHING);
        let report = flux_budget(&mut change, &self.mesh, &self.iso, &p, u, &SCALES);
        (p, change, report)
    }
}

/// A velocity that diverges everywhere.
fn wild(x: DVec3) -> DVec3 {
    DVec3::new((3.0 * x.y).sin() + x.x, (2.0 * x.z + x.x).cos(), x.z * x.y - 1.0)
}

/// The matrix is symmetric with non-negative excess, and positive on random vectors, over liquids and sheets
/// of all kinds.
#[test]
fn the_system_is_symmetric_and_positive_definite() {
    for case in 0..300u64 {
        let grid = unit_grid([3, 2, 2]);
        let phi_node = random_liquid(&grid, 2, case);
        let tracker = Tracker { grid, factor: 2, phi_node: &phi_node };
        let solids = if case.is_multiple_of(2) { Solids::default() } else { random_sheets(case) };
        let flow = Flow::new(&tracker, &solids, wild);
        let matrix = System::assemble(&flow.mesh, &flow.iso, &Given::NOTHING).matrix;
        let rows = matrix.excess().len();
        for row in 0..rows {
            assert!(matrix.excess()[row] >= 0.0);
            let (columns, values) = matrix.off_diagonal().row(row);
            for (&c, &v) in columns.iter().zip(values) {
                let (back, other) = matrix.off_diagonal().row(c as usize);
                let n = back.binary_search(&(row as u32)).expect("a symmetric pattern");
                assert!(v < 0.0 && v == other[n], "case {case}");
            }
        }
        let x: Vec<f64> = (0..rows).map(|n| random(case, n as u64, -1.0, 1.0)).collect();
        let mut y = vec![0.0; rows];
        matrix.apply_rows(&mut y, 0..rows, &x);
        let energy: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        assert!(rows == 0 || energy > 0.0 || matrix.is_singular(), "case {case}: {energy}");
    }
}

/// After projection and flux budget nothing flows out of any piece that has a surface and was not clamped.
#[test]
fn the_flux_budget_closes_every_piece() {
    for case in (0..60u64).filter(|c| c % 5 < 3) {
        let grid = unit_grid([4, 4, 4]);
        let phi_node = random_liquid(&grid, 4, case);
        let tracker = Tracker { grid, factor: 4, phi_node: &phi_node };
        let solids = if case.is_multiple_of(2) { Solids::default() } else { random_sheets(case) };
        let mut flow = Flow::new(&tracker, &solids, wild);
        let (_, change, report) = flow.project();
        for piece in 0..flow.mesh.pieces.len() {
            let first = flow.mesh.first_triangle[piece] as usize;
            for (n, t) in flow.mesh.triangles_of(piece).iter().enumerate().filter(|t| t.1.is_surface()) {
                let normal = flow.mesh.area_vector(t).normalize_or_zero();
                flow.u_triangle[first + n] += change[piece] * normal;
            }
        }
        let mut left = vec![0.0; flow.mesh.pieces.len()];
        right_side(&mut left, &flow.mesh, (&flow.u_face, &flow.u_triangle, &Given::NOTHING), &SCALES);
        for (piece, left) in left.iter().enumerate() {
            let outflow = left.abs() * SCALES.dt_s / SCALES.density;
            let area = flow.mesh.pieces[piece].surface_area;
            let may_leak = report.largest_cut_m_s * area;
            let dropped = flow.iso.is_dropped[piece];
            assert!(
                dropped || outflow < 1e-6 + 1.01 * may_leak,
                "case {case}: piece {piece} {outflow} {report:?}"
            );
        }
        let full_drop = flow.iso.dropped > 0;
        assert!(full_drop || report.largest_cut_m_s < 1e-5, "case {case}: {report:?}");
    }
}

/// Gravity on a pool with a level surface at any height, and on a drop smaller than a cell: the pool rests,
/// the drop falls.
#[test]
fn a_pool_rests_and_a_drop_falls_freely() {
    for case in 0..40u64 {
        let (grid, factor) = (unit_grid([3, 6, 3]), 1 + case as usize % 4);
        let height = random(case, 0, 1.1, 3.0);
        let radius = random(case, 1, 0.15, 0.45);
        let center = DVec3::new(1.5, random(case, 2, 4.6, 5.3), 1.5);
        let pool_and_drop = |x: DVec3| (x.y - height).min((x - center).length() - radius);
        let phi_node = phi_at_nodes(&grid, factor, pool_and_drop);
        let tracker = Tracker { grid, factor, phi_node: &phi_node };
        let gravity = DVec3::new(0.0, -0.0981, 0.0);
        let mut flow = Flow::new(&tracker, &Solids::default(), |_| gravity);
        let (_, change, report) = flow.project();
        for (f, u) in flow.mesh.faces.iter().zip(&flow.u_face) {
            let wanted = if f.axis == 1 && f.centroid.y > 4.0 { gravity.y } else { 0.0 };
            assert!((u - wanted).abs() < 1e-6, "case {case}: {f:?} {u}");
        }
        correct_surface_vertices(&mut flow.u_vertex, &flow.mesh, &change, &mut VertexScratch::default());
        for t in flow.mesh.triangles.iter().flat_map(|t| t.vertices) {
            let (x, u) = (flow.mesh.vertices[t as usize], flow.u_vertex[t as usize]);
            let wanted = if x.y > 4.0 { gravity } else { DVec3::ZERO };
            assert!((u - wanted).length() < 1e-6, "case {case}: vertex at {x}: {u}");
        }
        assert!(report.largest_cut_m_s < 1e-7, "case {case}: {report:?}");
    }
}

/// Vertices on walls and on sheets stay tangent to them, at triple junctions too.
#[test]
fn vertices_stay_tangent_to_solids() {
    let mut junctions = 0;
    for case in 0..100u64 {
        let grid = unit_grid([2, 2, 2]);
        let phi_node = phi_at_nodes(&grid, 2, |x| x.y - random(case, 0, 0.6, 1.4) + 0.1 * x.x);
        let tracker = Tracker { grid, factor: 2, phi_node: &phi_node };
        let mut flow = Flow::new(&tracker, &random_sheets(case), wild);
        let mut scratch = VertexScratch::default();
        keep_off_solids(&mut flow.u_vertex, &flow.mesh, |_| DVec3::ZERO, &mut scratch);
        let change: Vec<f64> =
            (0..flow.mesh.pieces.len() as u64).map(|n| random(case, 9 + n, -1.0, 1.0)).collect();
        let before = flow.u_vertex.clone();
        correct_surface_vertices(&mut flow.u_vertex, &flow.mesh, &change, &mut scratch);
        for t in flow.mesh.triangles.iter().filter(|t| !t.is_surface()) {
            let area = flow.mesh.area_vector(t);
            for v in t.vertices.map(|v| v as usize).into_iter().filter(|_| area.length() > 1e-6) {
                let through = flow.u_vertex[v].dot(area.normalize());
                assert!(
                    through.abs() < 2e-2,
                    "case {case}: {through} through a wall at {}",
                    flow.mesh.vertices[v]
                );
                junctions += (flow.u_vertex[v] != before[v]) as u32;
            }
        }
        for (x, u) in flow.mesh.vertices.iter().zip(&flow.u_vertex) {
            for axis in (0..3).filter(|&a| x[a] == 0.0 || x[a] == 2.0) {
                assert!(u[axis].abs() < 1e-9, "case {case}: {u} at {x}");
            }
        }
    }
    assert!(junctions > 100, "{junctions} junctions only");
}

/// A constant flow through the grid's faces is constant at their vertices.
/// A tilted surface, pulled by gravity and held by pressure, stays where it is, on walls too, though changes of pieces differ by a
/// thousandth. Taken from a free fit, whose direction along the surface is not determined, the line of contact moved by three times
/// what gravity gives; and by a tenth where walls took its part before.
#[test]
fn a_line_of_contact_moves_as_its_surface_does() {
    let normal = DVec3::new(0.31, 1.0, 0.0).normalize();
    let grid = unit_grid([4, 4, 2]);
    let phi_node = phi_at_nodes(&grid, 2, |x| {
        (x - DVec3::new(2.0, 2.1, 0.0)).dot(normal) + 1e-4 * (7.0 * x.x + 5.0 * x.z).sin()
    });
    let tracker = Tracker { grid, factor: 2, phi_node: &phi_node };
    let mesh = cut(&tracker, &Solids::default(), &mut CutScratch::default());
    let mut u_vertex = vec![-normal; mesh.vertices.len()];
    let change: Vec<f64> = (0..mesh.pieces.len()).map(|n| 1.0 + random(1, n as u64, -1e-3, 1e-3)).collect();
    let held = correct_surface_vertices(&mut u_vertex, &mesh, &change, &mut VertexScratch::default());
    assert_eq!(held, 0);
    for v in mesh.triangles.iter().filter(|t| t.is_surface()).flat_map(|t| t.vertices) {
        let (x, u) = (mesh.vertices[v as usize], u_vertex[v as usize]);
        assert!(u.length() < 0.01, "at {x}: {u}");
    }
}

#[test]
fn grid_vertices_reproduce_a_constant_flow() {
    let grid = unit_grid([3, 3, 3]);
    let phi_node = phi_at_nodes(&grid, 4, |x| (x - 1.4).length() - 1.1);
    let tracker = Tracker { grid, factor: 4, phi_node: &phi_node };
    let u = DVec3::new(0.3, -0.2, 0.7);
    let mut flow = Flow::new(&tracker, &Solids::default(), |_| u);
    flow.u_vertex.fill(DVec3::ZERO);
    average_grid_vertices(&mut flow.u_vertex, &flow.mesh, &flow.u_face, &mut VertexScratch::default());
    let mut count = 0;
    for (kind, v) in flow.mesh.vertex_kind.iter().zip(&flow.u_vertex) {
        use fluvial_cutcell::mesh::VertexKind::{Grid, Tracker};
        if matches!(kind, Grid | Tracker) {
            assert!((*v - u).length() < 1e-12);
            count += 1;
        }
    }
    assert!(count > 50);
}

/// A point well inside a piece, or on its boundary: between random points of its boundary, as far as that
/// lies inside.
fn points_inside(shape: &PieceShape, case: u64, count: u64) -> Vec<DVec3> {
    let winding = |x: DVec3| {
        let angle = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| shape.positions[v as usize] - x);
            let (la, lb, lc) = (a.length(), b.length(), c.length());
            let d = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
            2.0 * a.dot(b.cross(c)).atan2(d)
        };
        shape.triangles.iter().map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
    };
    let on_boundary = |k: u64| {
        let t = shape.triangles[(random(case, 3 * k, 0.0, 1.0) * shape.triangles.len() as f64) as usize];
        let (s, r) = (random(case, 3 * k + 1, 0.0, 1.0).sqrt(), random(case, 3 * k + 2, 0.0, 1.0));
        let [a, b, c] = t.map(|v| shape.positions[v as usize]);
        (1.0 - s) * a + s * (1.0 - r) * b + s * r * c
    };
    let between = |k: u64| {
        let t = random(case, 7000 + k, 0.0, 1.0);
        on_boundary(2 * k).lerp(on_boundary(2 * k + 1), t)
    };
    (0..count).map(between).filter(|&x| winding(x) > 0.99).collect()
}

/// No weight is negative; linear fields are reproduced inside and on faces of convex pieces, and of others wherever weights
/// that are not negative can be tilted so far.
#[test]
fn coordinates_are_linear_and_bounded() {
    let (mut scratch, mut shape, mut weights) = (CutScratch::default(), PieceShape::default(), vec![]);
    let (mut convex, mut others, mut linear) = (0, 0, 0);
    for case in 0..300u64 {
        let grid = unit_grid([2, 1, 1]);
        let phi_node = random_liquid(&grid, 2, case);
        let tracker = Tracker { grid, factor: 2, phi_node: &phi_node };
        let mesh = cut_liquid(&tracker, &mut scratch);
        for piece in
            (0..mesh.pieces.len()).filter(|&p| !mesh.pieces[p].is_full && mesh.pieces[p].volume > 1e-3)
        {
            shape.gather(&mesh, piece);
            let is_convex = case % 5 == 1;
            for x in points_inside(&shape, case, 30) {
                assert!(shape.boundary().coordinates(&mut weights, x), "case {case}");
                let sum: f64 = weights.iter().sum();
                assert!((sum - 1.0).abs() < 1e-9, "case {case}: {sum}");
                assert!(weights.iter().all(|w| *w > -1e-9), "case {case}");
                let at = shape.positions.iter().zip(&weights).map(|(p, w)| *w * *p).sum::<DVec3>();
                let is_linear = (at - x).length() < 1e-5;
                assert!(is_linear || !is_convex, "case {case}: {at} {x}");
                convex += is_convex as usize;
                (others, linear) =
                    (others + !is_convex as usize, linear + (is_linear && !is_convex) as usize);
            }
        }
    }
    println!("{convex} points in convex pieces; {linear} of {others} in others reproduce linear fields");
    assert!(convex > 500);
    assert!(linear * 100 > others * 99, "{linear} of {others}");
}

/// A gap of a millionth of a cell between two parts of a piece that move towards each other: near it the interpolant has no
/// more speed than its vertices, at whatever distance. Coordinates with negative weights multiply it by 500.
#[test]
fn a_thin_gap_amplifies_nothing() {
    let gap = 1e-6;
    let mut shape = PieceShape::default();
    let mut add_box = |min: DVec3, max: DVec3, is_hole: bool| {
        let first = shape.positions.len() as u32;
        for n in 0..8 {
            let at = |axis: usize| if n >> axis & 1 == 0 { min[axis] } else { max[axis] };
            shape.positions.push(DVec3::new(at(0), at(1), at(2)));
        }
        // Quadrilaterals, counter-clockwise seen from outside.
        for [a, b, c, d] in
            [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]]
        {
            for mut t in [[a, b, c], [a, c, d]] {
                if is_hole {
                    t.swap(1, 2);
                }
                shape.triangles.push(t.map(|v| first + v));
            }
        }
    };
    add_box(DVec3::ZERO, DVec3::ONE, false);
    add_box(DVec3::new(0.1, 0.1, 0.5), DVec3::new(0.9, 0.9, 0.5 + gap), true);
    shape.vertices = (0..16).collect();
    // Both sides of the gap close, as they do before drops merge.
    let towards = |p: &DVec3| DVec3::new(0.0, 0.0, if p.z > 0.5 { -1.0 } else { 1.0 });
    let values: Vec<DVec3> = shape.positions.iter().map(towards).collect();
    let mut weights = vec![];
    for distance in [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.4] {
        for x in [DVec3::new(0.4, 0.3, 0.5 - distance), DVec3::new(0.15, 0.85, 0.5 + gap + distance)] {
            let u = shape.boundary().interpolate(&values, x, &mut weights).expect("inside");
            assert!(u.length() <= 1.0 + 1e-9, "{u} at a distance of {distance}");
        }
    }
}

/// On faces, edges and vertices the interpolant has its exact limits, and tends to them.
#[test]
fn limits_on_the_boundary_are_exact() {
    let grid = unit_grid([1, 1, 1]);
    let phi_node = phi_at_nodes(&grid, 2, |x| (x - DVec3::new(0.2, 0.1, 0.3)).length() - 0.8);
    let mesh = cut_liquid(&Tracker { grid, factor: 2, phi_node: &phi_node }, &mut CutScratch::default());
    let mut shape = PieceShape::default();
    shape.gather(&mesh, 0);
    let values: Vec<DVec3> =
        (0..mesh.vertices.len() as u64).map(|n| DVec3::splat(random(n, 0, -1.0, 1.0))).collect();
    let value = |local: u32| values[shape.vertices[local as usize] as usize];
    let (mut weights, mut checked) = (vec![], 0);
    for t in &shape.triangles {
        let [a, b, c] = t.map(|v| shape.positions[v as usize]);
        let normal = (b - a).cross(c - a);
        for w in [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [0.0, 0.01, 0.99], [1.0, 0.0, 0.0]] {
            let x = w[0] * a + w[1] * b + w[2] * c;
            let wanted = w[0] * value(t[0]) + w[1] * value(t[1]) + w[2] * value(t[2]);
            let on = shape.boundary().interpolate(&values, x, &mut weights).expect("a value");
            assert!((on - wanted).length() < 1e-5, "{on} {wanted} {w:?}");
            // From the middle of a triangle that is not a sliver the way inwards leads into the piece.
            if w.iter().all(|w| *w > 0.1) && normal.length() > 1e-2 {
                let inside = x - 1e-5 * normal.normalize();
                let near = shape.boundary().interpolate(&values, inside, &mut weights).expect("a value");
                assert!((near - wanted).length() < 1e-2, "{near} {wanted} {w:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 10);
}

/// Paths in pieces beside a sheet, under velocities that are tangent to it at its vertices: none crosses.
#[test]
fn paths_never_cross_a_sheet() {
    let (mut scratch, mut shape, mut weights) = (CutScratch::default(), PieceShape::default(), vec![]);
    let mut steps = 0;
    for case in 0..60u64 {
        let grid = unit_grid([1, 1, 1]);
        let phi_node = phi_at_nodes(&grid, 2, |_| -1.0);
        let n = DVec3::from_array([0, 1, 2].map(|a| random(case, a, -1.0, 1.0))).normalize_or(DVec3::X);
        let (u, v) = n.any_orthonormal_pair();
        let center = DVec3::splat(0.5);
        let sheet = [center + 9.0 * u, center + 9.0 * v, center - 9.0 * (u + v)];
        let solids = Solids { triangles: vec![sheet], is_sheet: vec![true] };
        let mesh = cut(&Tracker { grid, factor: 2, phi_node: &phi_node }, &solids, &mut scratch);
        let mut u_vertex: Vec<DVec3> = (0..mesh.vertices.len() as u64)
            .map(|m| DVec3::from_array([0, 1, 2].map(|a| random(case, 50 + 3 * m + a, -1.0, 1.0))))
            .collect();
        keep_off_solids(&mut u_vertex, &mesh, |_| DVec3::ZERO, &mut VertexScratch::default());
        for piece in 0..mesh.pieces.len() {
            shape.gather(&mesh, piece);
            let side = (mesh.pieces[piece].centroid - center).dot(n).signum();
            for start in points_inside(&shape, case, 6) {
                let mut x = start;
                for _ in 0..60 {
                    let Some(k) = shape.boundary().interpolate(&u_vertex, x, &mut weights) else { break };
                    x += 0.01 * k;
                    assert!(side * (x - center).dot(n) > -1e-9, "case {case}: {x} from {start}");
                    steps += 1;
                }
            }
        }
    }
    assert!(steps > 5000, "{steps}");
}
