use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_surface::{Piece, add_pieces};

/// Room around all that these tests draw.
const ROOM: Aabb = Aabb { min: Vec3::splat(-100.0), max: Vec3::splat(100.0) };

fn piece(center: Vec3, volume_m3: f32) -> Piece {
    Piece { center, dx: 1.0, volume_m3, velocity: Vec3::X }
}

/// What cells of edge 1 hold of the liquid that `is_in` says, by 20^3 points in each.
fn cells_of(size: i32, is_in: impl Fn(Vec3) -> bool) -> Vec<Piece> {
    let mut pieces = vec![];
    for n in 0..size.pow(3) {
        let center = Vec3::from_array([n % size, n / size % size, n / (size * size)].map(|i| i as f32 + 0.5));
        let points = (0..8000).filter(|m| {
            is_in(center + Vec3::from_array([m % 20, m / 20 % 20, m / 400].map(|i| (i as f32 - 9.5) / 20.0)))
        });
        let share = points.count() as f32 / 8000.0;
        if share > 1e-3 {
            pieces.push(piece(center, share));
        }
    }
    pieces
}

fn drawn(pieces: &[Piece]) -> TriangleMesh {
    let mut mesh = TriangleMesh::default();
    add_pieces(&mut mesh, pieces, ROOM);
    assert!(mesh.defects().is_clean() && mesh.is_sound());
    let wanted_m3: f64 = pieces.iter().map(|piece| f64::from(piece.volume_m3)).sum();
    assert!((mesh.volume() / wanted_m3 - 1.0).abs() < 1e-4, "{} of {wanted_m3}", mesh.volume());
    mesh
}

/// Vertices minus edges plus triangles: 2 for each part without holes.
fn euler(mesh: &TriangleMesh) -> isize {
    mesh.positions.len() as isize - mesh.triangles.len() as isize / 2
}

/// A round film of a fifth of a cell, oblique to the grid.
#[test]
fn a_film_is_one_sheet_of_its_thickness() {
    let (middle, normal) = (Vec3::splat(8.1), Vec3::new(0.3, 0.9, 0.4).normalize());
    let film = |x: Vec3| (x - middle).dot(normal).abs() < 0.1 && x.distance(middle) < 6.0;
    let mesh = drawn(&cells_of(16, film));
    assert_eq!(euler(&mesh), 2, "one part without holes");
    let inner = mesh.positions.iter().filter(|x| x.distance(middle) < 4.5);
    let off: Vec<f32> = inner.map(|x| (*x - middle).dot(normal).abs()).collect();
    let mean = off.iter().sum::<f32>() / off.len() as f32;
    let most = off.iter().fold(0.0, |most: f32, off| most.max(*off));
    assert!((mean - 0.1).abs() < 0.03 && most < 0.25, "half thickness {mean}, at most {most}");
    let wide = mesh.positions.iter().fold(0.0, |most: f32, x| most.max(x.distance(middle)));
    assert!((5.5..7.0).contains(&wide), "radius {wide} instead of 6");
}

#[test]
fn a_row_of_cells_is_a_thread() {
    let row: Vec<Piece> = (0..12).map(|n| piece(Vec3::new(n as f32, 0.0, 0.0), 0.05)).collect();
    let mesh = drawn(&row);
    assert_eq!(euler(&mesh), 2);
    // A cylinder of 0.05 square cells has a radius of 0.126.
    let inner = mesh.positions.iter().filter(|x| (2.0..9.0).contains(&x.x));
    let radii: Vec<f32> = inner.map(|x| Vec3::new(0.0, x.y, x.z).length()).collect();
    let mean = radii.iter().sum::<f32>() / radii.len() as f32;
    assert!(
        (mean / 0.126 - 1.0).abs() < 0.2 && radii.iter().all(|r| (0.5..1.5).contains(&(r / mean))),
        "{mean}"
    );
}

#[test]
fn a_lone_cell_is_a_round_drop() {
    for n in 0..20 {
        let center = Vec3::new(unit_f32(n, 1), unit_f32(n, 2), unit_f32(n, 3)) * 5.0;
        let volume = 0.4 * unit_f32(n, 4) + 1e-3;
        let mesh = drawn(&[piece(center, volume)]);
        assert_eq!(euler(&mesh), 2);
        let radius = (0.75 * volume / std::f32::consts::PI).cbrt();
        for x in &mesh.positions {
            assert!((x.distance(center) / radius - 1.0).abs() < 0.3, "{} {radius}", x.distance(center));
        }
        assert!(mesh.velocities.iter().all(|v| v.distance(Vec3::X) < 1e-5));
    }
}

/// Cells that hold a hundredth each, everywhere: drops of that size, not one body of all of the room between them.
#[test]
fn scattered_cells_are_drops() {
    let mist: Vec<Piece> = (0..1000)
        .map(|n| piece(Vec3::from_array([n % 10, n / 10 % 10, n / 100].map(|i| i as f32)) * 1.6, 0.01))
        .collect();
    let mesh = drawn(&mist);
    assert_eq!(euler(&mesh), 2000);
}
