//! Liquid across faces.

use fluvial_foundation::{AXES, Vec3, random};
use fluvial_grids::{FaceField, Sides, UniformGrid};
use fluvial_level_set::*;

fn unit_box(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn faces_of(g: &UniformGrid, velocity: impl Fn(Vec3) -> Vec3) -> FaceField {
    let mut u = FaceField::constant(g, 0.0);
    for axis in AXES {
        let faces = g.faces(axis);
        for (n, u) in u[axis].iter_mut().enumerate() {
            let [i, j, k] = faces.coordinates(n);
            *u = velocity(faces.position(i, j, k))[axis];
        }
    }
    u
}

fn shares(g: &UniformGrid, phi: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; g.cell_count()];
    liquid_fractions(
        &mut out,
        phi,
        &vec![1.0; g.cell_count()],
        &vec![1.0; g.nodes().len()],
        Sides::NONE,
        g,
        Vec3::ZERO,
    );
    out
}

/// Volume of every cell after a step, in cells.
fn carried(g: &UniformGrid, phi: &[f32], u: &FaceField, dt_s: f32) -> Vec<f32> {
    let (mut flux, open) = (FaceField::constant(g, 0.0), FaceField::constant(g, 1.0));
    let open = OpenFaces { area: &open, phi_solid_node: &[], sides: Sides::NONE };
    liquid_flux(&mut flux, phi, u, &open, g, dt_s, 6.0 * g.dx);
    let (cells, mut volume) = (g.cell_centers(), shares(g, phi));
    for (cell, volume) in volume.iter_mut().enumerate() {
        *volume -= outflow(&flux, g, cells.coordinates(cell));
    }
    volume
}

fn sphere_at(g: &UniformGrid, center: Vec3) -> Vec<f32> {
    fill(g, |x| (x.distance(center) - 0.25).clamp(-6.0 * g.dx, 6.0 * g.dx))
}

fn fill(g: &UniformGrid, phi: impl Fn(Vec3) -> f32) -> Vec<f32> {
    let cells = g.cell_centers();
    let at = |n: usize| {
        let [i, j, k] = cells.coordinates(n);
        phi(cells.position(i, j, k))
    };
    (0..g.cell_count()).map(at).collect()
}

/// A sphere carried by half a cell: the volume of every cell against the moved sphere's. A plane is carried exactly, so
/// that the error is that of its curvature over a cell: per cell of the surface third order in length, second in all.
#[test]
fn a_moving_sphere_is_carried_in_second_order() {
    let v = Vec3::new(0.6, -0.5, 0.4);
    let error = |n: usize| -> f64 {
        let g = unit_box(n);
        let (center, dt_s) = (Vec3::new(0.45, 0.55, 0.5), 0.5 * g.dx / v.length());
        let after = carried(&g, &sphere_at(&g, center), &faces_of(&g, |_| v), dt_s);
        let exact = shares(&g, &sphere_at(&g, center + dt_s * v));
        let cell_m3 = f64::from(g.dx).powi(3);
        after.iter().zip(&exact).map(|(a, b)| f64::from((a - b).abs()) * cell_m3).sum()
    };
    let errors = [16, 32, 64].map(error);
    let orders = [0, 1].map(|n| (errors[n] / errors[n + 1]).log2());
    println!("{errors:?} {orders:?}");
    assert!(orders.iter().all(|order| *order > 1.8), "{errors:?} {orders:?}");
}

/// A plane along the grid moves exactly, whatever the step: also over several cells.
#[test]
fn a_level_surface_moves_exactly() {
    let g = unit_box(16);
    for cells in [0.3, 1.0, 2.6] {
        let (v, dt_s) = (Vec3::new(0.7, 1.0, -0.4), cells * g.dx);
        let phi = fill(&g, |x| (x.y - 0.41).clamp(-6.0 * g.dx, 6.0 * g.dx));
        let after = carried(&g, &phi, &faces_of(&g, |_| v), dt_s);
        let c = g.cell_centers();
        for j in 4..14 {
            let low = j as f32 * g.dx;
            let exact = ((0.41 + dt_s - low) / g.dx).clamp(0.0, 1.0);
            let found = after[c.index(8, j, 8)];
            assert!((found - exact).abs() < 1e-4, "{cells} cells, row {j}: {found} {exact}");
        }
    }
}

/// Whatever flows, inside closed walls nothing is made or lost: what leaves one cell enters another.
#[test]
fn nothing_is_made_or_lost() {
    let g = unit_box(12);
    let mut u =
        faces_of(&g, |x| random::unit_vec3((x.x * 1e4) as u64, (x.y * 97.0 + x.z * 1e3) as u64) - 0.5);
    for axis in AXES {
        let faces = g.faces(axis);
        for n in 0..faces.len() {
            let at = faces.coordinates(n)[axis];
            if at == 0 || at == g.cells[axis] {
                u[axis][n] = 0.0;
            }
        }
    }
    let phi = sphere_at(&g, Vec3::splat(0.4));
    let sum = |v: &[f32]| v.iter().map(|&v| f64::from(v)).sum::<f64>();
    let (before, after) = (sum(&shares(&g, &phi)), sum(&carried(&g, &phi, &u, 2.0 * g.dx)));
    assert!((after / before - 1.0).abs() < 1e-6, "{before} {after}");
}

/// Liquid glides along a slanting wall that cuts cells and faces: what crosses the open parts of the faces is what phi, carried
/// along, says that every cell gains. With the shares of whole faces, cells at the contact line gained what their neighbours held.
#[test]
fn cut_cells_gain_what_their_open_faces_let_in() {
    let g = unit_box(12);
    let (wall, velocity) = (Vec3::new(-0.5, 0.75f32.sqrt(), 0.0), Vec3::new(0.75f32.sqrt(), 0.5, 0.3));
    let solid = |x: Vec3| wall.dot(x - Vec3::new(0.5, 0.41, 0.5));
    let (nodes, cells) = (g.nodes(), g.cell_centers());
    let phi_solid_node: Vec<f32> = (0..nodes.len())
        .map(|n| {
            let [i, j, k] = nodes.coordinates(n);
            solid(nodes.position(i, j, k))
        })
        .collect();
    let (mut area, mut u) = (FaceField::constant(&g, 1.0), FaceField::constant(&g, 0.0));
    for axis in AXES {
        let (faces, [s, t]) = (g.faces(axis), [(axis + 1) % 3, (axis + 2) % 3]);
        for face in 0..faces.len() {
            let [i, j, k] = faces.coordinates(face);
            let x = faces.position(i, j, k);
            let corner = |a: f32, b: f32| solid(x + g.dx * (a * Vec3::AXES[s] + b * Vec3::AXES[t]));
            let corners = [corner(-0.5, -0.5), corner(0.5, -0.5), corner(-0.5, 0.5), corner(0.5, 0.5)];
            area[axis][face] = open_share_of_square(corners);
        }
        u[axis].fill(velocity[axis]);
    }
    let open_volume: Vec<f32> = (0..cells.len())
        .map(|cell| {
            let [i, j, k] = cells.coordinates(cell);
            liquid_fraction(-solid(cells.position(i, j, k)), -wall, g.dx)
        })
        .collect();
    let dt_s = 0.02 * g.dx;
    let surface = |x: Vec3| x.y - 0.5 - 0.1 * (x.x - 0.5);
    let fractions = |phi: &[f32]| {
        let mut out = vec![0.0; g.cell_count()];
        liquid_fractions(&mut out, phi, &open_volume, &phi_solid_node, Sides::NONE, &g, Vec3::ZERO);
        out
    };
    let (before, after) = (fill(&g, surface), fill(&g, |x| surface(x - dt_s * velocity)));
    let mut flux = FaceField::constant(&g, 0.0);
    let open = OpenFaces { area: &area, phi_solid_node: &phi_solid_node, sides: Sides::NONE };
    liquid_flux(&mut flux, &before, &u, &open, &g, dt_s, 6.0 * g.dx);
    let (held, holds) = (fractions(&before), fractions(&after));
    let mut worst = 0.0f32;
    for cell in 0..cells.len() {
        let at = cells.coordinates(cell);
        if (0..3).all(|a| (1..cells.size[a] - 1).contains(&at[a])) {
            worst = worst.max((held[cell] - outflow(&flux, &g, at) - holds[cell]).abs());
        }
    }
    assert!(worst < 0.02 * 0.02, "{worst} of a cell, moved by 0.02 cells");
}

/// Part of a square where a function that is linear on its four triangles is positive, by sampling fine strips exactly.
fn open_share_of_square([a, b, c, d]: [f32; 4]) -> f32 {
    const STRIPS: usize = 4000;
    let strip = |n: usize| {
        let t = (n as f32 + 0.5) / STRIPS as f32;
        let (low, high) = (a + t * (c - a), b + t * (d - b));
        match (low > 0.0, high > 0.0) {
            (true, true) => 1.0,
            (false, false) => 0.0,
            _ => low.max(high) / (high - low).abs(),
        }
    };
    (0..STRIPS).map(|n| strip(n) as f64).sum::<f64>() as f32 / STRIPS as f32
}
