//! Power cells from the table against the power diagram of all leaves at once.

use super::trees::random_pyramid;
use fluvial_foundation::random::splitmix64;
use fluvial_grids::octree::Cell;
use fluvial_grids::paged::Backing;
use fluvial_power::diagram::Diagram;
use fluvial_power::mesh::PowerMesh;
use fluvial_power::neighbourhood::{Code, nearer_half_space};
use fluvial_power::polyhedron::{HalfSpace, Polyhedron};
use fluvial_power::stencil::PowerCell;
use std::collections::BTreeMap;

/// Centre and edge in halves of the finest edge.
fn integer_site(cell: Cell) -> ([i64; 3], i64) {
    let edge = 2 << cell.level;
    (cell.at.map(|v| edge * v as i64 + edge / 2), edge)
}

/// The power cell of a leaf from the planes of all other leaves and of the walls.
fn brute_force(mesh: &PowerMesh, number: usize, walls: [i64; 3]) -> Polyhedron {
    let (own, edge) = integer_site(mesh.cells[number]);
    let mut body = Polyhedron::cube(4096);
    for (n, &cell) in mesh.cells.iter().enumerate().filter(|&(n, _)| n != number) {
        let (center, other_edge) = integer_site(cell);
        body.clip(n, nearer_half_space(edge, [0, 1, 2].map(|a| center[a] - own[a]), other_edge));
    }
    for axis in 0..3 {
        for (sign, offset) in [(-1, own[axis]), (1, walls[axis] - own[axis])] {
            let mut normal = [0; 3];
            normal[axis] = sign;
            body.clip(usize::MAX, HalfSpace { normal, offset });
        }
    }
    body
}

#[test]
fn random_neighbourhoods_agree_with_the_planes_of_all_leaves() {
    for (seed, levels, roots, points) in
        [(1, 2, [6, 5, 4], 12), (2, 3, [5, 6, 5], 4), (3, 3, [7, 5, 6], 6), (7, 4, [6, 6, 6], 3)]
    {
        let mut pyramid = random_pyramid(Backing::Table, levels, roots, points, seed);
        let diagram = Diagram::new(&mut pyramid);
        let mesh = PowerMesh::new(&pyramid, &diagram);
        let dx = f64::from(pyramid.shape().dx);
        let unit = 0.5 * dx;
        let walls = pyramid.shape().cells(0).map(|n| 2 * n as i64);
        let mut seen = BTreeMap::<u32, Vec<(u32, f64, f64)>>::new();
        for f in &mesh.half_faces {
            seen.entry(f.cells[0]).or_default().push((f.cells[1], f.area, f.distance));
        }
        // Leaves with a neighbour of another size or at a wall, as many as time allows.
        let special = |n: &u32| seen[n].len() != 6 || seen[n].iter().any(|f| f.1 != seen[n][0].1);
        let candidates: Vec<u32> = (0..mesh.cells.len() as u32).filter(special).collect();
        for draw in 0..150u64 {
            let number = candidates[splitmix64(seed << 32 | draw) as usize % candidates.len()];
            let body = brute_force(&mesh, number as usize, walls);
            let mut expected: Vec<(u32, f64)> = body
                .faces()
                .iter()
                .filter(|f| f.name != Some(usize::MAX))
                .map(|f| (f.name.unwrap() as u32, f.area() * unit * unit))
                .collect();
            expected.sort_by_key(|f| f.0);
            let mut found = seen[&number].clone();
            found.sort_by_key(|f| f.0);
            assert_eq!(
                found.iter().map(|f| f.0).collect::<Vec<_>>(),
                expected.iter().map(|f| f.0).collect::<Vec<_>>()
            );
            for (f, e) in found.iter().zip(&expected) {
                assert!((f.1 - e.1).abs() < 1e-12 * dx * dx, "area {} {}", f.1, e.1);
                let between =
                    [0, 1, 2].map(|a| mesh.centers[f.0 as usize][a] - mesh.centers[number as usize][a]);
                let distance = between.iter().map(|v| v * v).sum::<f64>().sqrt();
                assert!((f.2 - distance).abs() < 1e-12 * dx);
            }
            let clipped = mesh.volumes[number as usize];
            assert!((clipped - body.volume() * unit.powi(3)).abs() < 1e-12 * clipped);
        }
    }
}

#[test]
fn cells_tile_the_domain_and_agree_on_faces() {
    for (seed, levels, points) in [(11, 2, 30), (12, 3, 6), (13, 4, 8)] {
        let mut pyramid = random_pyramid(Backing::Reserved, levels, [9, 7, 8], points, seed);
        let diagram = Diagram::new(&mut pyramid);
        let mesh = PowerMesh::new(&pyramid, &diagram);
        let size = pyramid.shape().bounds().size();
        let domain = f64::from(size.x) * f64::from(size.y) * f64::from(size.z);
        let volume: f64 = mesh.volumes.iter().sum();
        assert!((volume - domain).abs() < 1e-12 * domain, "volume {volume} of {domain}");
        let mut faces = BTreeMap::new();
        for f in &mesh.half_faces {
            assert!(
                faces.insert((f.cells[0], f.cells[1]), f.clone()).is_none(),
                "one face between two leaves"
            );
        }
        for (&(a, b), f) in &faces {
            let back = &faces[&(b, a)];
            assert!(
                (f.area - back.area).abs() < 1e-12 * f.area
                    && (f.distance - back.distance).abs() < 1e-12 * f.distance
            );
            (0..3).for_each(|n| assert!((f.centroid[n] - back.centroid[n]).abs() < 1e-12));
        }
        assert!(diagram.table().len() > 10, "many kinds of neighbourhoods");
    }
}

/// Corners of a face have equal power to both leaves, and edges of a face are orthogonal to the segment
/// between the centres.
#[test]
fn faces_are_orthogonal_to_dual_edges() {
    let larger = (0..512u32).map(|n| Code::with_larger(n >> 6, n & 63));
    let smaller = (0..400u64).map(|n| Code::with_smaller(splitmix64(n) as u32 & 0x3ffff));
    for code in larger.chain(smaller) {
        let cell = PowerCell::new(code);
        let mut closed = [0.0; 3];
        for face in &cell.faces {
            for pair in face.corners.windows(2) {
                let along: f64 = (0..3).map(|a| (pair[1][a] - pair[0][a]) * face.normal[a]).sum();
                assert!(along.abs() < 1e-12, "{code:?}");
            }
            (0..3).for_each(|a| closed[a] += face.area * face.normal[a]);
        }
        assert!(closed.iter().all(|c| c.abs() < 1e-12), "{code:?} {closed:?}");
    }
}

/// An edge of the tree has room for one velocity: of the four cells around it one pair at most shares a power
/// face [power §4.2].
#[test]
fn no_edge_has_two_power_faces() {
    let mut pyramid = random_pyramid(Backing::Table, 4, [9, 7, 8], 8, 21);
    let diagram = Diagram::new(&mut pyramid);
    let mut crossed = 0;
    for level in pyramid.levels() {
        let [x, y, z] = level.grid.layout().cells();
        for n in 0..x * y * z {
            let at: [u32; 3] = [n % x, n / x % y, n / x / y];
            // Pairs around the cell's low edge along each axis, from whichever of the two is a leaf.
            for axis in 0..3 {
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                let has_face = |from: [u32; 2], k: usize| {
                    let mut p: [u32; 3] = at;
                    (p[b], p[c]) = (p[b].wrapping_sub(from[0]), p[c].wrapping_sub(from[1]));
                    level.active().contains(p) && diagram.cell(level, p).level[6 + 4 * axis + k].0 > 0.0
                };
                let even = has_face([1, 1], 3) || has_face([0, 0], 0);
                let odd = has_face([0, 1], 2) || has_face([1, 0], 1);
                assert!(!(even && odd), "edge along {axis} at {at:?}");
                crossed += usize::from(even || odd);
            }
        }
    }
    assert!(crossed > 100, "{crossed} edges with a face");
}
