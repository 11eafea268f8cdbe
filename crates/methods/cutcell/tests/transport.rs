//! Particles and the level set on cut cells.

use crate::common::{phi_at_nodes, random, random_liquid, unit_grid};
use fluvial_cutcell::air::{AirScratch, Faces};
use fluvial_cutcell::cut::{CutScratch, cut, cut_liquid};
use fluvial_cutcell::drops::{Parts, add_drops};
use fluvial_cutcell::flow::Flow;
use fluvial_cutcell::interpolation::PieceShape;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::places::{Places, SolidSides, piece_at};
use fluvial_cutcell::solids::Solids;
use fluvial_cutcell::tracker::{Bodies, SeenNode, carry, sample_cubic, value_from_nodes};
use fluvial_cutcell::transfer::{Gathered, Parcels};
use fluvial_cutcell::walk::{MARGIN, Walls};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::FaceField;

fn sides_of(mesh: &CutCells) -> SolidSides {
    let mut sides = SolidSides::default();
    sides.find(mesh);
    sides
}

/// A horizontal plate through the whole domain.
fn plate(height: f64) -> Solids {
    let [a, b, c, d] = [[-1.0, -1.0], [9.0, -1.0], [9.0, 9.0], [-1.0, 9.0]];
    let at = |[x, z]: [f64; 2]| DVec3::new(x, height, z);
    let triangles = vec![[at(a), at(c), at(b)], [at(a), at(d), at(c)]];
    Solids { is_sheet: vec![true; 2], triangles }
}

/// Every point inside a piece is found in it: the volumes that random points count are the pieces'.
#[test]
fn points_find_their_piece() {
    let grid = unit_grid([3, 3, 3]);
    for case in 0..4 {
        let phi_node = random_liquid(&grid, 2, case);
        let mesh = cut_liquid(&Tracker { grid, factor: 2, phi_node: &phi_node }, &mut CutScratch::default());
        let sides = sides_of(&mesh);
        for cell in (0..27).filter(|&c| mesh.pieces_of(c).len() > 1) {
            for piece in mesh.pieces_of(cell).filter(|&p| mesh.pieces[p].volume > 0.02) {
                let mut shape = PieceShape::default();
                shape.gather(&mesh, piece);
                let mut inside = 0;
                for n in 0..400u64 {
                    let x = mesh.corner(cell)
                        + DVec3::from_array(
                            [0, 1, 2].map(|a| random(case + 7 * a, n + 1000 * cell as u64, 0.0, 1.0)),
                        );
                    if shape.boundary().contains(x) {
                        inside += 1;
                        assert_eq!(piece_at(&mesh, &sides, x), piece as u32);
                    }
                }
                let volume = inside as f64 / 400.0;
                assert!(
                    (volume - mesh.pieces[piece].volume).abs() < 0.1,
                    "{volume} {:?}",
                    mesh.pieces[piece]
                );
            }
        }
    }
}

/// Affine particles of a linear velocity give it to every face and vertex exactly, and the flow built from them
/// reproduces a constant velocity everywhere.
#[test]
fn transfers_reproduce_linear_velocities() {
    let grid = unit_grid([6, 6, 6]);
    let phi_node = phi_at_nodes(&grid, 2, |x| (x - 3.1).length() - 1.6);
    let mesh = cut_liquid(&Tracker { grid, factor: 2, phi_node: &phi_node }, &mut CutScratch::default());
    let (sides, mut places) = (sides_of(&mesh), Places::default());
    let x: Vec<DVec3> = (0..13824u32)
        .map(|n| DVec3::new((n % 24) as f64, (n / 24 % 24) as f64, (n / 576) as f64) * 0.25 + 0.125)
        .filter(|x| (*x - 3.1).length() < 1.6)
        .chain(mesh.pieces.iter().map(|p| p.centroid))
        .collect();
    places.find(&mesh, &sides, &x);
    let rows = [Vec3::new(0.3, -0.2, 0.5), Vec3::new(0.1, 0.4, -0.3), Vec3::new(-0.6, 0.2, -0.7)];
    let field = |x: DVec3| DVec3::new(1.0, -2.0, 0.5) + DVec3::from_array(rows.map(|r| r.as_dvec3().dot(x)));
    let v: Vec<Vec3> = x.iter().map(|x| field(*x).as_vec3()).collect();
    let affine = rows.map(|row| vec![row; x.len()]);
    let volume = vec![1.0; x.len()];
    let linear =
        Parcels { x: &x, v: &v, affine: [&affine[0], &affine[1], &affine[2]], volume: &volume, dx: 1.0 };
    let mut gathered = Gathered::default();
    gathered.gather(&mesh, &places, &linear);
    for (face, u) in mesh.faces.iter().zip(&gathered.u_face).filter(|(f, _)| !f.pieces.contains(&NONE)) {
        assert!((u - field(face.centroid)[face.axis as usize]).abs() < 1e-5, "{face:?}: {u}");
    }
    for t in &mesh.triangles {
        for &v in &t.vertices {
            let error = gathered.u_vertex[v as usize] - field(mesh.vertices[v as usize]);
            assert!(error.length() < 1e-5, "vertex {v}: {error}");
        }
    }
    let constant = vec![Vec3::new(1.0, -2.0, 0.5); x.len()];
    gathered.gather(&mesh, &places, &Parcels { v: &constant, affine: [&[], &[], &[]], ..linear });
    let mut flow = Flow::default();
    flow.build(&mesh, &gathered.u_face, &gathered.u_vertex, &gathered.u_piece);
    for a in 0..3 {
        let known = flow.u_face[a].iter().zip(&flow.known_face[a]).enumerate();
        let lattice = mesh.grid.faces(a);
        let inside = known.filter(|(n, (_, k))| **k == 1 && ![0, 6].contains(&lattice.coordinates(*n)[a]));
        for (n, (u, _)) in inside {
            let exact = [1.0, -2.0, 0.5][a];
            assert!((u - exact).abs() < 1e-6, "axis {a} at {:?}: {u}", lattice.coordinates(n));
        }
    }
    for (n, x) in x.iter().enumerate().filter(|(_, x)| (**x - 3.1).length() < 1.0) {
        let u = flow.at(&mesh, places.piece_of[n], *x);
        assert!((u - DVec3::new(1.0, -2.0, 0.5)).length() < 1e-6, "at {x}: {u}");
    }
}

/// Nothing that one side of a plate does is heard on the other.
#[test]
fn a_plate_separates_what_particles_say() {
    let grid = unit_grid([3, 3, 3]);
    let phi_node = phi_at_nodes(&grid, 2, |_| -1.0);
    let tracker = Tracker { grid, factor: 2, phi_node: &phi_node };
    let mesh = cut(&tracker, &plate(1.37), &mut CutScratch::default());
    let (sides, mut places) = (sides_of(&mesh), Places::default());
    let x: Vec<DVec3> = (0..1728u32)
        .map(|n| DVec3::new((n % 12) as f64, (n / 12 % 12) as f64, (n / 144) as f64) * 0.25 + 0.125)
        .collect();
    places.find(&mesh, &sides, &x);
    let v: Vec<Vec3> = x.iter().map(|x| if x.y > 1.37 { Vec3::X } else { Vec3::ZERO }).collect();
    let volume = vec![1.0; x.len()];
    let mut gathered = Gathered::default();
    let parcels = Parcels { x: &x, v: &v, affine: [&[], &[], &[]], volume: &volume, dx: 1.0 };
    gathered.gather(&mesh, &places, &parcels);
    for (face, u) in mesh.faces.iter().zip(&gathered.u_face) {
        if face.axis == 0 && !face.pieces.contains(&NONE) {
            let exact = if face.centroid.y > 1.37 { 1.0 } else { 0.0 };
            assert!((u - exact).abs() < 1e-12, "{face:?}: {u}");
        }
    }
    let mut bodies = Bodies::default();
    bodies.find(&mesh, &places, |_| 1.0 / 64.0, |_| false);
    assert_eq!(bodies.volume.len(), 2);
    assert!((bodies.volume[0] - 9.0 * 1.37).abs() < 1e-9 && (bodies.volume[1] - 9.0 * 1.63).abs() < 1e-9);
}

/// Ways end before a plate, go on along it, and are free elsewhere.
#[test]
fn ways_never_cross_a_plate() {
    let grid = unit_grid([4, 4, 4]);
    let walls = Walls::new(&plate(1.5), &grid);
    for n in 0..2000u64 {
        let point = |m: u64| DVec3::from_array([0, 1, 2].map(|a| random(a + 3 * m, n, 0.1, 3.9)));
        let (from, to) = (point(0), point(1));
        let end = walls.walk(from, to);
        assert_eq!(end.y > 1.5, from.y > 1.5, "from {from} to {to}: {end}");
        match (from.y > 1.5) == (to.y > 1.5) {
            true => assert_eq!(end, to),
            // Along the plate the way is what it was.
            false => {
                assert!((end.y - 1.5).abs() < 1.1 * MARGIN);
                assert!((end - to).with_y(0.0).length() < 1e-9);
            }
        }
    }
}

/// Cubics are interpolated exactly, at the ends of the lattice too; a smooth field is carried in fourth order.
#[test]
fn the_level_set_is_carried_in_fourth_order() {
    let error = |factor: usize| {
        let grid = unit_grid([4, 4, 4]);
        let field = |x: DVec3| (1.3 * x.x + 0.2).sin() + (1.1 * x.y).cos() * (0.9 * x.z).sin();
        let phi = phi_at_nodes(&grid, factor, field);
        let nodes = Tracker { grid, factor, phi_node: &phi }.nodes();
        let mut out = phi.clone();
        let u = DVec3::new(0.31, -0.23, 0.17);
        let sample = |x: DVec3| sample_cubic(&phi, &nodes, factor as f64 * x);
        carry(&mut out, &phi, (&nodes, factor), (9.0, 1.0), (|_| u, |_, x| x), sample);
        let at = |n: usize| DVec3::from_array(nodes.coordinates(n).map(|n| n as f64 / factor as f64));
        let inner = (0..nodes.len()).filter(|&n| (at(n) - 2.0).abs().max_element() < 1.2);
        inner.map(|n| (f64::from(out[n]) - field(at(n) - u)).abs()).fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(2), error(4));
    assert!((coarse / fine).log2() > 3.0 && coarse < 0.02, "{coarse} {fine}");
    let lattice = fluvial_grids::Lattice { size: [5, 6, 4], origin: Vec3::ZERO, spacing: 1.0 };
    let cubic = |x: DVec3| 1.0 + x.x.powi(3) - 2.0 * x.y.powi(2) * x.z + x.z;
    let values: Vec<f32> = (0..lattice.len())
        .map(|n| cubic(DVec3::from_array(lattice.coordinates(n).map(|n| n as f64))) as f32)
        .collect();
    for x in [DVec3::new(0.3, 0.2, 0.1), DVec3::new(3.7, 4.9, 2.95), DVec3::new(2.5, 2.5, 1.5)] {
        assert!(
            (f64::from(sample_cubic(&values, &lattice, x)) - cubic(x)).abs() < 1e-4 * cubic(x).abs(),
            "{x}"
        );
    }
}

/// Polynomials of second degree are read exactly where all nodes around are seen, planes also where some are hidden.
#[test]
fn values_beside_solids_are_read_to_second_degree() {
    let value = |x: DVec3| 1.0 + x.x - 2.0 * x.y + x.x * x.x - 3.0 * x.z * x.z + 0.5 * x.x * x.y;
    let slope = |x: DVec3| DVec3::new(1.0 + 2.0 * x.x + 0.5 * x.y, -2.0 + 0.5 * x.x, -6.0 * x.z);
    let corner = |c: usize| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    for n in 0..20u64 {
        let x = DVec3::from_array([0, 1, 2].map(|a| random(n, a, 0.0, 1.0)));
        let all = (0..8).map(corner).map(|at| SeenNode { value: value(at), slope: slope(at), way: x - at });
        let read = value_from_nodes(all).unwrap();
        assert!((read - value(x)).abs() < 1e-6, "{x}: {read}, not {}", value(x));
        let plane = DVec3::new(0.3, -0.7, 1.1);
        let seen = (0..8).filter(|c| n >> (c % 4) & 1 == 1).map(corner);
        let seen = seen.map(|at| SeenNode { value: plane.dot(at), slope: plane, way: x - at });
        if let Some(read) = value_from_nodes(seen) {
            assert!((read - plane.dot(x)).abs() < 1e-6, "{x}: {read}, not {}", plane.dot(x));
        }
    }
    assert_eq!(value_from_nodes(std::iter::empty()), None);
}

/// A lost drop is there again with its volume.
#[test]
fn a_restored_drop_has_its_volume() {
    let grid = unit_grid([4, 4, 4]);
    let mut phi_node = phi_at_nodes(&grid, 8, |_| 1.0);
    let nodes = Tracker { grid, factor: 8, phi_node: &phi_node.clone() }.nodes();
    let parts =
        Parts { x: &[DVec3::new(1.93, 2.07, 2.11)], volume: &[4.0 / 3.0 * std::f64::consts::PI * 0.125] };
    add_drops(&mut phi_node, (&nodes, 8), &parts);
    let mesh = cut_liquid(&Tracker { grid, factor: 8, phi_node: &phi_node }, &mut CutScratch::default());
    let volume: f64 = mesh.pieces.iter().map(|p| p.volume).sum();
    let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.125;
    assert!((volume / exact - 1.0).abs() < 1e-3, "{volume} {exact}");
}

/// Rays along the axes and solid angles agree on what lies inside of pieces that surfaces and a plate bound, also for points
/// whose rays pass through vertices and along edges.
#[test]
fn rays_and_solid_angles_agree() {
    let grid = unit_grid([3, 3, 3]);
    let (mut asked, mut inside) = (0, 0);
    for case in 0..10 {
        let phi_node = random_liquid(&grid, 2, case);
        let tracker = Tracker { grid, factor: 2, phi_node: &phi_node };
        let mesh = cut(&tracker, &plate(1.3), &mut CutScratch::default());
        let sides = sides_of(&mesh);
        for piece in (0..mesh.pieces.len()).filter(|&p| !mesh.pieces[p].is_full) {
            let shape = sides.shapes.of(piece);
            let corner = mesh.corner(mesh.pieces[piece].cell as usize);
            for n in 0..40u64 {
                let mut x = corner + DVec3::from_array([0, 1, 2].map(|a| random(case + 7 * a, n, -0.1, 1.1)));
                if n % 4 == 0 && !shape.positions.is_empty() {
                    let vertex = shape.positions[n as usize % shape.positions.len()];
                    (x.y, x.z) = (vertex.y, vertex.z);
                }
                let (by_rays, by_angle) = (shape.contains(x), shape.surrounds(x));
                let near = shape.triangles.iter().any(|t| {
                    let [a, b, c] = t.map(|v| shape.positions[v as usize]);
                    let n = (b - a).cross(c - a);
                    n.dot(x - a).abs() < 1e-9 * n.length()
                });
                assert!(near || by_rays == by_angle, "case {case}, piece {piece}, {x}: {by_rays} by rays");
                (asked, inside) = (asked + 1, inside + by_rays as usize);
            }
        }
    }
    assert!(inside > asked / 20 && asked > 1000, "{inside} of {asked} points inside");
}

/// Air around a ball of liquid, with random velocities on faces without liquid: all cells with liquid let out what they let in, and
/// faces with liquid keep their bits.
#[test]
fn air_beside_liquid_is_balanced() {
    let grid = unit_grid([6, 6, 6]);
    let phi_node = phi_at_nodes(&grid, 2, |x| (x - 3.1).length() - 1.3);
    let mesh = cut_liquid(&Tracker { grid, factor: 2, phi_node: &phi_node }, &mut CutScratch::default());
    let mut is_fixed = [0, 1, 2].map(|a| vec![false; grid.faces(a).len()]);
    for face in &mesh.faces {
        let mut at = face.centroid.floor();
        at[face.axis as usize] = face.centroid[face.axis as usize].round();
        let n = grid.faces(face.axis as usize).index(at.x as usize, at.y as usize, at.z as usize);
        is_fixed[face.axis as usize][n] = true;
    }
    let mut u_face = FaceField::constant(&grid, 0.0);
    for axis in 0..3 {
        for n in 0..u_face[axis].len() {
            // A flow without divergence where there is liquid: constant along every axis.
            let in_air = random(axis as u64, n as u64, -1.0, 1.0) as f32;
            u_face[axis][n] = if is_fixed[axis][n] { 0.3 + axis as f32 } else { in_air };
        }
    }
    let before = u_face.clone();
    let faces = Faces { is_fixed: &is_fixed, open: &[vec![], vec![], vec![]] };
    AirScratch::default().balance(&mut u_face, &mesh, &faces).unwrap();
    let outflow = |u: &FaceField, cell: usize| -> f32 {
        let [i, j, k] = grid.cell_centers().coordinates(cell);
        let face = |a: usize| grid.faces(a).index(i, j, k);
        (0..3).map(|a| u[a][face(a) + grid.faces(a).stride(a)] - u[a][face(a)]).sum()
    };
    let worst = |u: &FaceField| {
        let wet = (0..grid.cell_count()).filter(|&c| !mesh.pieces_of(c).is_empty());
        wet.map(|c| outflow(u, c).abs()).fold(0.0, f32::max)
    };
    assert!(worst(&before) > 0.5 && worst(&u_face) < 1e-3, "{} of {}", worst(&u_face), worst(&before));
    for axis in 0..3 {
        let fixed = (0..u_face[axis].len()).filter(|&n| is_fixed[axis][n]);
        fixed.for_each(|n| assert_eq!(u_face[axis][n], before[axis][n]));
    }
}
