//! Position, area and volume against exact shapes.

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::{Lattice, TriangleMesh, UniformGrid};
use fluvial_surface::{MeshParams, SolidClip, mesh_level_set, mesh_level_set_outside, set_velocities};

fn unit_grid(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn fill(l: &Lattice, f: impl Fn(Vec3) -> f32) -> Vec<f32> {
    (0..l.len())
        .map(|n| {
            let [i, j, k] = l.coordinates(n);
            f(l.position(i, j, k))
        })
        .collect()
}

fn mesh(l: &Lattice, f: impl Fn(Vec3) -> f32) -> TriangleMesh {
    mesh_level_set(&fill(l, f), l, &MeshParams::default())
}

fn box_distance(x: Vec3, low: Vec3, high: Vec3) -> f32 {
    let d = (low - x).max(x - high);
    d.max(Vec3::ZERO).length() + d.max_element().min(0.0)
}

fn area(mesh: &TriangleMesh) -> f64 {
    let p = |v: u32| mesh.positions[v as usize].as_dvec3();
    mesh.triangles.iter().map(|&[a, b, c]| 0.5 * (p(b) - p(a)).cross(p(c) - p(a)).length()).sum()
}

#[test]
fn sphere_position_area_and_volume_converge_with_second_order() {
    let (center, radius) = (Vec3::new(0.503, 0.494, 0.511), 0.301f32);
    let r = radius as f64;
    let errors = [24, 48, 96].map(|n| {
        let m = mesh(&unit_grid(n).cell_centers(), |x| x.distance(center) - radius);
        assert!(m.defects().is_clean());
        let worst = m.positions.iter().map(|p| (p.distance(center) - radius).abs()).fold(0.0, f32::max);
        let exact_area = 4.0 * std::f64::consts::PI * r * r;
        let exact_volume = exact_area * r / 3.0;
        assert!(m.volume() > 0.0, "the surface faces inwards");
        [worst as f64, (area(&m) / exact_area - 1.0).abs(), (m.volume() / exact_volume - 1.0).abs()]
    });
    for (name, q) in ["position", "area", "volume"].iter().zip(0..3) {
        let order = (errors[0][q] / errors[2][q]).log2() / 2.0;
        println!("{name}: {:?} order {order:.2}", errors.map(|e| e[q]));
        assert!(order > 1.8, "{name} converges with order {order}");
    }
    assert!(errors[2][0] < 0.02 / 96.0, "position is good to a fiftieth of a cell");
}

#[test]
fn liquid_against_walls_has_the_exact_volume() {
    let volume_error = |n: usize, low: Vec3, high: Vec3| {
        let m = mesh(&unit_grid(n).cell_centers(), |x| box_distance(x, low, high));
        let size = high.min(Vec3::ONE) - low.max(Vec3::ZERO);
        m.volume() / (size.x * size.y * size.z) as f64 - 1.0
    };
    // All edges lie on walls: exact.
    for (low, high) in [
        (Vec3::splat(-1.0), Vec3::splat(2.0)),
        (Vec3::splat(-1.0), Vec3::new(2.0, 0.5, 2.0)),
        (Vec3::splat(-1.0), Vec3::new(2.0, 0.4321, 2.0)),
        (Vec3::new(-1.0, -1.0, 0.25), Vec3::new(2.0, 2.0, 0.75)),
    ] {
        let error = volume_error(32, low, high);
        assert!(error.abs() < 1e-5, "{low} {high}: {error}");
    }
    // Free edges are cut across one cell: the error falls with its square.
    for (low, high) in [
        (Vec3::splat(-1.0), Vec3::new(0.4, 0.5, 2.0)),
        (Vec3::new(0.63, -1.0, 0.31), Vec3::new(2.0, 0.77, 2.0)),
    ] {
        let (coarse, fine) = (volume_error(32, low, high), volume_error(64, low, high));
        println!("{low} {high}: {coarse:.2e} {fine:.2e}");
        assert!(fine.abs() < 1e-3 && fine / coarse < 0.4, "{low} {high}: {coarse} {fine}");
    }
}

#[test]
fn walls_are_flat_and_contact_lines_and_box_edges_sharp() {
    // A sloped surface over the whole box: each mesh vertex is on a wall or on the slope, exactly.
    let normal = Vec3::new(0.3, 1.0, -0.2).normalize();
    let l = unit_grid(20).cell_centers();
    let m = mesh(&l, |x| (x - Vec3::new(0.5, 0.45, 0.5)).dot(normal));
    let slope = |p: Vec3| (p - Vec3::new(0.5, 0.45, 0.5)).dot(normal);
    for &p in &m.positions {
        let to_wall = p.min(Vec3::ONE - p).min_element();
        assert!(to_wall.abs() < 1e-6 || slope(p).abs() < 2e-6, "{p}: wall {to_wall}, slope {}", slope(p));
        assert!(slope(p) < 2e-6, "the contact line is chamfered at {p}");
    }
    assert!(m.positions.contains(&Vec3::ZERO), "the corner of the box is a vertex");
    let exact = 0.45; // the slope is linear about the centre and leaves the box nowhere but sideways
    assert!((m.volume() - exact).abs() < 1e-4, "{}", m.volume());
}

#[test]
fn a_drop_against_a_wall_keeps_its_slope_up_to_the_wall() {
    let cap_volume = |r: f64, h: f64| std::f64::consts::PI * h * h * (3.0 * r - h) / 3.0;
    let l = unit_grid(48).cell_centers();
    let m = mesh(&l, |x| x.distance(Vec3::new(0.5, 0.15, 0.5)) - 0.3);
    let exact = cap_volume(0.3, 0.45);
    // A whole sphere of R cells loses 1 / R^2 (facets lie inside it); the wall must not add to that.
    assert!((m.volume() / exact - 1.0).abs() < 1.1 / (0.3 * 48.0f64).powi(2), "{} of {exact}", m.volume());
    let rim = (0.3f32 * 0.3 - 0.15 * 0.15).sqrt();
    let widest = m.positions.iter().filter(|p| p.y < 1e-6).map(|p| p.distance(Vec3::new(0.5, 0.0, 0.5)));
    let widest = widest.fold(0.0, f32::max);
    assert!((widest - rim).abs() < 0.05 / 48.0, "contact circle {widest} of {rim}");
}

#[test]
fn solids_cut_the_liquid_with_the_asked_overlap() {
    let grid = unit_grid(40);
    let (l, nodes) = (grid.cell_centers(), grid.nodes());
    let ball = |x: Vec3| x.distance(Vec3::splat(0.5)) - 0.25;
    let phi = fill(&l, |x| x.y - 0.5);
    for (phi_solid, lattice) in [(fill(&nodes, ball), nodes), (fill(&l, ball), l)] {
        let clip = SolidClip { distance: &|x| lattice.sample(&phi_solid, x), overlap: 0.01 };
        let m = mesh_level_set_outside(&phi, &l, &clip, &MeshParams::default());
        assert!(m.defects().is_clean());
        let deepest = m.positions.iter().map(|&p| -ball(p)).fold(0.0, f32::max);
        assert!((0.008..0.012).contains(&deepest), "deepest {deepest}");
        let exact = 0.5 - 2.0 / 3.0 * std::f64::consts::PI * 0.24f64.powi(3);
        assert!((m.volume() / exact - 1.0).abs() < 2e-3, "{} of {exact}", m.volume());
    }
}

/// A level in a round basin, whose wall it meets at a slant, and against a slanting plate: the line where they meet is the exact one,
/// and no corner is cut off there.
#[test]
fn liquid_meets_solids_in_sharp_lines() {
    let level = 0.487f32;
    let errors = [16usize, 32, 64].map(|n| {
        let l = unit_grid(n).cell_centers();
        let phi = fill(&l, |x| x.y - level);
        let (center, radius) = (Vec3::new(0.503, 0.61, 0.494), 0.37f32);
        let distance = |x: Vec3| radius - x.distance(center);
        let clip = SolidClip { distance: &distance, overlap: 0.0 };
        let m = mesh_level_set_outside(&phi, &l, &clip, &MeshParams::default());
        assert!(m.defects().is_clean());
        // Highest and farthest out: the mesh ends there.
        let rim = (radius * radius - (center.y - level).powi(2)).sqrt();
        let out = |p: &Vec3| Vec3::new(p.x - center.x, 0.0, p.z - center.z).length();
        let widest = m.positions.iter().map(out).fold(0.0, f32::max);
        let depth = f64::from(level - (center.y - radius));
        let exact = std::f64::consts::PI * depth * depth * (3.0 * f64::from(radius) - depth) / 3.0;
        [f64::from(widest - rim).abs() * n as f64, (m.volume() / exact - 1.0).abs()]
    });
    println!("{errors:?}");
    // In cells; and the facets' share of the volume.
    assert!(errors.iter().all(|e| e[0] < 0.03), "{errors:?}");
    assert!((errors[0][1] / errors[2][1]).log2() / 2.0 > 1.8, "{errors:?}");
}

/// A tank between cells: its edges, its corners and the line around the water are not cut off.
#[test]
fn liquid_fills_the_edges_of_a_tank() {
    let (low, high, level) = (Vec3::new(0.217, 0.141, 0.183), Vec3::new(0.831, 0.905, 0.722), 0.52f32);
    for n in [12, 24] {
        let l = unit_grid(n).cell_centers();
        let phi = fill(&l, |x| x.y - level);
        let distance = |x: Vec3| -box_distance(x, low, high);
        let clip = SolidClip { distance: &distance, overlap: 0.0 };
        let m = mesh_level_set_outside(&phi, &l, &clip, &MeshParams::default());
        assert!(m.defects().is_clean());
        let size = high.with_y(level) - low;
        let exact = f64::from(size.x * size.y * size.z);
        let off = (m.volume() / exact - 1.0).abs();
        println!("{n}: {off}");
        assert!(off < 2e-3, "{off} at {n} cells");
        for corner in 0..8 {
            let pick = |a: usize| if corner >> a & 1 == 1 { high.with_y(level)[a] } else { low[a] };
            let corner = Vec3::new(pick(0), pick(1), pick(2));
            let nearest = m.positions.iter().map(|x| x.distance(corner)).fold(f32::MAX, f32::min);
            assert!(nearest < 0.1 / n as f32, "{nearest} of {corner} at {n} cells");
        }
    }
}

#[test]
fn smoothing_keeps_volume_and_walls_and_takes_roughness_away() {
    let l = unit_grid(32).cell_centers();
    let bumpy = |x: Vec3| {
        let noise =
            fluvial_foundation::random::unit_f32((x.x * 1e4) as u64 * 7919 + (x.z * 1e4) as u64, 3) - 0.5;
        x.y - 0.5 + 0.5 * l.spacing * noise
    };
    let phi = fill(&l, bumpy);
    let rough = mesh_level_set(&phi, &l, &MeshParams::default());
    let soft = mesh_level_set(&phi, &l, &MeshParams { smoothing_rounds: 10 });
    assert!((soft.volume() / rough.volume() - 1.0).abs() < 1e-6);
    let roughness = |m: &TriangleMesh| {
        let normals = m.vertex_normals();
        let free = m
            .positions
            .iter()
            .zip(&normals)
            .filter(|(p, _)| p.y > 0.4 && p.x.min(1.0 - p.x).min(p.z).min(1.0 - p.z) > 0.05);
        free.map(|(_, n)| (1.0 - n.y) as f64).sum::<f64>()
    };
    assert!(roughness(&soft) < 0.5 * roughness(&rough), "{} {}", roughness(&soft), roughness(&rough));
    let on_wall = |m: &TriangleMesh| m.positions.iter().filter(|p| p.x == 0.0 || p.y == 0.0).count();
    assert_eq!(on_wall(&soft), on_wall(&rough));
}

#[test]
fn bytes_do_not_depend_on_threads_and_velocities_are_those_of_the_field() {
    let l = unit_grid(40).cell_centers();
    let phi = fill(&l, |x| (7.0 * x.x).sin() * 0.1 + (9.0 * x.z).cos() * 0.08 + x.y - 0.5);
    let make = || {
        let mut m = mesh_level_set(&phi, &l, &MeshParams { smoothing_rounds: 2 });
        set_velocities(&mut m, |x| Vec3::new(x.y, -x.x, 2.0));
        m
    };
    let with_threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(make);
    let (one, four) = (with_threads(1), with_threads(4));
    assert_eq!(one, four);
    assert!(parallel::chunk_count(one.positions.len(), parallel::CHUNK / 8) > 1, "several chunks are filled");
    assert!(one.positions.iter().zip(&one.velocities).all(|(x, v)| *v == Vec3::new(x.y, -x.x, 2.0)));
}

/// Smoothing a finished mesh in its box is the smoothing of the mesher: walls and contact lines are found
/// again from positions.
#[test]
fn a_mesh_in_a_box_is_smoothed_as_the_mesher_does() {
    let n = 24;
    let lattice = Lattice { origin: Vec3::splat(0.5), size: [n; 3], spacing: 1.0 };
    let bumpy = |x: Vec3| x.y - 9.3 + 0.7 * (1.7 * x.x).sin() * (1.3 * x.z).cos();
    let phi: Vec<f32> = (0..lattice.len())
        .map(|i| lattice.coordinates(i))
        .map(|[i, j, k]| bumpy(lattice.position(i, j, k)))
        .collect();
    let of = |rounds| mesh_level_set(&phi, &lattice, &MeshParams { smoothing_rounds: rounds });
    let (raw, wanted) = (of(0), of(4));
    let mut smoothed = raw.clone();
    let bounds = fluvial_foundation::Aabb { min: Vec3::ZERO, max: Vec3::splat(n as f32) };
    fluvial_surface::smooth_mesh(&mut smoothed, bounds, 4);
    assert_eq!(smoothed.triangles, wanted.triangles);
    let off = |mesh: &TriangleMesh| {
        let pairs = mesh.positions.iter().zip(&wanted.positions);
        pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
    };
    assert!(off(&smoothed) < 1e-4, "{}", off(&smoothed));
    assert!(off(&raw) > 0.1, "there is something to smooth: {}", off(&raw));
}
