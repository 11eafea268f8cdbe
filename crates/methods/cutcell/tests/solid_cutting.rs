//! Solids thinner than a tracker cell: pieces are closed, volumes add up, and the two sides of a sheet stay
//! apart.

use crate::common::{phi_at_nodes, random, random_liquid, unit_grid};
use crate::watertight::assert_watertight;
use fluvial_cutcell::cut::{CutScratch, cut, cut_liquid};
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::solids::Solids;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};

fn point(case: u64, draw: u64, low: f64, high: f64) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|a| random(case, 3 * draw + a, low, high)))
}

/// Random triangles of all sizes, some of them along the grid's planes.
pub fn random_sheets(case: u64) -> Solids {
    let mut solids = Solids::default();
    for t in 0..1 + case % 4 {
        let corner = |k: u64| {
            let x = point(case, 200 + 3 * t + k, -0.5, 2.5);
            if case.is_multiple_of(3) { (2.0 * x).round() / 2.0 } else { x }
        };
        solids.triangles.push([corner(0), corner(1), corner(2)]);
        solids.is_sheet.push(true);
    }
    solids
}

fn cell_volumes(mesh: &CutCells) -> Vec<f64> {
    let sum = |c: usize| mesh.pieces_of(c).map(|p| mesh.pieces[p].volume).sum();
    (0..mesh.grid.cell_count()).map(sum).collect()
}

/// A sheet has no volume: it divides the liquid of a cell and takes nothing of it.
#[test]
pub fn random_sheets_divide_liquid_into_closed_pieces_and_take_nothing() {
    let (mut scratch, mut divided) = (CutScratch::default(), 0);
    for case in 0..4000u64 {
        let factor = [1, 2, 3][case as usize / 5 % 3];
        let grid = unit_grid([2, 2, 1 + case as usize % 2]);
        let phi_node = random_liquid(&grid, factor, case);
        let tracker = Tracker { grid, factor, phi_node: &phi_node };
        let whole = cut_liquid(&tracker, &mut scratch);
        let mesh = cut(&tracker, &random_sheets(case), &mut scratch);
        assert_watertight(&mesh, &format!("case {case}"));
        for (a, b) in cell_volumes(&mesh).iter().zip(cell_volumes(&whole)) {
            assert!((a - b).abs() < 1e-6, "case {case}: {a} {b}");
        }
        divided += (mesh.pieces.len() > whole.pieces.len()) as u32;
    }
    assert!(divided > 1000, "sheets divided {divided} liquids only");
}

/// The tetrahedron of four points, outward.
fn tetrahedron(p: [DVec3; 4]) -> (Solids, f64) {
    let volume = (p[1] - p[0]).cross(p[2] - p[0]).dot(p[3] - p[0]) / 6.0;
    let [a, b, c, d] = if volume > 0.0 { p } else { [p[0], p[2], p[1], p[3]] };
    let triangles = vec![[a, c, b], [a, b, d], [b, c, d], [c, a, d]];
    (Solids { triangles, is_sheet: vec![false; 4] }, volume.abs())
}

/// A closed solid inside full cells takes its own volume, whatever its shape.
#[test]
fn closed_solids_take_their_volume() {
    let mut scratch = CutScratch::default();
    for case in 0..1000u64 {
        let factor = 1 + case as usize % 3;
        let grid = unit_grid([2, 2, 2]);
        let phi_node = phi_at_nodes(&grid, factor, |_| -1.0);
        let flat = if case.is_multiple_of(2) { 1.0 } else { 1e-3 };
        let corner = |k: u64| {
            let x = point(case, k, 0.05, 1.95);
            if k == 3 { x } else { DVec3::new(x.x, 1.0 + flat * (x.y - 1.0), x.z) }
        };
        let (solids, volume) = tetrahedron([corner(0), corner(1), corner(2), corner(3)]);
        let mesh = cut(&Tracker { grid, factor, phi_node: &phi_node }, &solids, &mut scratch);
        assert_watertight(&mesh, &format!("case {case}"));
        let sum: f64 = cell_volumes(&mesh).iter().sum();
        assert!((sum + volume - 8.0).abs() < 1e-6, "case {case}: {sum} {volume}");
    }
}

/// Pieces that grid faces connect, from a start.
fn reach(mesh: &CutCells, start: usize) -> Vec<bool> {
    let mut seen = vec![false; mesh.pieces.len()];
    let mut stack = vec![start];
    seen[start] = true;
    while let Some(piece) = stack.pop() {
        for (f, side) in mesh.faces_of(piece) {
            let other = mesh.faces[f].pieces[1 - side];
            if other != NONE && !std::mem::replace(&mut seen[other as usize], true) {
                stack.push(other as usize);
            }
        }
    }
    seen
}

/// Walls across the whole domain, sheets without thickness and plates a thousandth of a cell thick, at any
/// angle and along the grid's planes: no path leads from one side to the other, and the liquid lies on its
/// own side.
#[test]
fn nothing_passes_a_thin_wall() {
    let mut scratch = CutScratch::default();
    for case in 0..200u64 {
        let factor = 1 + case as usize % 4;
        let grid = unit_grid([3, 3, 3]);
        let tilted = (point(case, 0, -1.0, 1.0)).normalize_or(DVec3::X);
        let normal = if case % 5 == 4 { DVec3::Y } else { tilted };
        let center = if case % 10 == 4 { DVec3::splat(1.0) } else { point(case, 1, 1.2, 1.8) };
        let (u, v) = normal.any_orthonormal_pair();
        let corner = |s: f64, t: f64, d: f64| center + 9.0 * (s * u + t * v) + d * normal;
        let square = |d: f64, up: bool| {
            let [a, b, c, e] =
                [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(s, t)| corner(s, t, d));
            if up { [[a, b, c], [a, c, e]] } else { [[a, c, b], [a, e, c]] }
        };
        let thickness = if case.is_multiple_of(2) { 0.0 } else { 1e-3 };
        let mut solids =
            Solids { triangles: square(thickness, true).to_vec(), is_sheet: vec![thickness == 0.0; 2] };
        if thickness > 0.0 {
            solids.triangles.extend(square(-thickness, false));
            solids.is_sheet.resize(4, false);
        }
        let phi_node = phi_at_nodes(&grid, factor, |_| -1.0);
        let mesh = cut(&Tracker { grid, factor, phi_node: &phi_node }, &solids, &mut scratch);
        assert_watertight(&mesh, &format!("case {case}"));
        let height = |p: usize| (mesh.pieces[p].centroid - center).dot(normal);
        let start = (0..mesh.pieces.len()).max_by(|&a, &b| height(a).total_cmp(&height(b))).expect("a piece");
        for (piece, reached) in reach(&mesh, start).into_iter().enumerate() {
            let what =
                || format!("case {case}: piece {piece} at {}: {:?}", height(piece), mesh.pieces[piece]);
            assert!(!reached || height(piece) > 0.0, "{}", what());
            // Openings below the cutter's least area are closed: only pieces that small may be cut off.
            assert!(reached || height(piece) < 0.0 || mesh.pieces[piece].volume < 1e-6, "{}", what());
        }
    }
}

/// A ball of triangles as fine as thirty a turn, whose slivers meet at poles, in full cells: it takes its own volume, and
/// nothing else goes with it.
#[test]
fn a_ball_with_poles_takes_its_volume() {
    let (n, radius, center) = (30u32, 1.3, DVec3::new(2.04, 1.97, 2.11));
    let at = |i: u32, j: u32| {
        let (a, b) =
            (std::f64::consts::TAU * (i % n) as f64 / n as f64, std::f64::consts::PI * j as f64 / n as f64);
        center + radius * DVec3::new(a.cos() * b.sin(), b.cos(), a.sin() * b.sin())
    };
    let mut triangles = vec![];
    for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
        triangles.push([at(i, j), at(i + 1, j), at(i, j + 1)]);
        triangles.push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
    }
    triangles.retain(|[a, b, c]| (*b - *a).cross(*c - *a).length() > 1e-12);
    let volume: f64 =
        triangles.iter().map(|[a, b, c]| (*a - center).dot((*b - center).cross(*c - center)) / 6.0).sum();
    let solids = Solids { is_sheet: vec![false; triangles.len()], triangles };
    let grid = unit_grid([4, 4, 4]);
    // Air deep inside, as the cutter asks for.
    let phi_node = phi_at_nodes(&grid, 2, |x| if (x - center).length() < radius - 0.8 { 1.0 } else { -1.0 });
    let mesh = cut(&Tracker { grid, factor: 2, phi_node: &phi_node }, &solids, &mut CutScratch::default());
    let sum: f64 = cell_volumes(&mesh).iter().sum();
    assert!((sum + volume - 64.0).abs() < 0.01, "{sum} of {}", 64.0 - volume);
}

/// The top of a box at half a metre lies in a plane of a grid of 12 or 24 cells, but for the rounding of f32: liquid on it has no
/// pieces but those above.
#[test]
fn a_plate_in_a_plane_of_the_grid_has_no_crumbs() {
    for n in [12usize, 24] {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
        let corner = |c: u32| {
            Vec3::new(
                [0.2, 0.8][c as usize & 1],
                [0.4, 0.5][c as usize >> 1 & 1],
                [0.2, 0.8][c as usize >> 2],
            )
        };
        let side = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
        let sides = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let plate = TriangleMesh {
            positions: (0..8).map(corner).collect(),
            triangles: sides.into_iter().flat_map(side).collect(),
            ..TriangleMesh::default()
        };
        let mut solids = Solids::default();
        solids.add(&plate, false, &grid);
        solids.align(&grid, 2);
        let top = 0.5f32 * n as f32;
        let phi_node = phi_at_nodes(&grid, 2, |x| {
            let film = (x.y * n as f64 - f64::from(top) - 0.6).max(f64::from(top) - 0.7 - x.y * n as f64);
            film.max(n as f64 * ((x.x - 0.5).abs().max((x.z - 0.5).abs()) - 0.2)) / n as f64
        });
        let mesh =
            cut(&Tracker { grid, factor: 2, phi_node: &phi_node }, &solids, &mut CutScratch::default());
        let least = mesh.pieces.iter().map(|p| p.volume).fold(f64::INFINITY, f64::min);
        let below = mesh.pieces.iter().filter(|p| p.centroid.y < f64::from(top)).count();
        assert!(!mesh.pieces.is_empty() && below == 0 && least > 1e-3, "{n} cells: {below} below, {least:e}");
    }
}
