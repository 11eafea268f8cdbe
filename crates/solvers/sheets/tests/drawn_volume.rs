//! What is drawn has the volume of its mass: sheets far thinner than a sample, threads, drops.

use fluvial_foundation::{Vec3, random::unit_vec3};
use fluvial_grids::Lattice;
use fluvial_sheets::*;
use fluvial_surface::{MeshParams, mesh_samples};

const N: usize = 40;
const CELL: f32 = 1.0 / N as f32;
const D0: f32 = 0.5 * CELL;

/// Drawn volume over the mass's, as sampled and as pulled to where the mass puts it, for particles of a share
/// of a small one's mass.
fn drawn(places: impl Iterator<Item = Vec3>, mass: f32) -> [f64; 2] {
    let bins = Bins { min: Vec3::ZERO, cell_m: CELL, size: [N; 3] };
    let mut population = Population::new(bins, Walls::NONE, SheetParams::new(D0));
    for (n, x) in places.enumerate() {
        let jitter = 0.2 * D0 * (unit_vec3(n as u64, 5) - 0.5);
        population.particles.push(x + jitter, Vec3::ZERO, (mass * UNIT_MASS as f32) as u32, 1, Kind::Small);
    }
    population.sort();
    population.measure();
    let held = population.particles.total_mass() as f64 / UNIT_MASS as f64 * (D0 as f64).powi(3);
    let (spacing, size) = (D0, [2 * N; 3]);
    let shape = SurfaceShape { spacing, origin: Vec3::splat(0.5 * spacing), size, sheet_reach: 1.5 };
    let field = population.surface_field(&shape);
    let surface = SheetSurface::sample(&field, &shape);
    let lattice = Lattice { size, origin: shape.origin, spacing };
    let row = |j: usize, k: usize, out: &mut [f32]| surface.fill_row(j, k, out);
    let mut mesh = mesh_samples(&lattice, &MeshParams::default(), row, |at| surface.value(at));
    let sampled = mesh.volume() / held;
    field.pull_mesh(&mut mesh.positions, &mesh.triangles);
    assert!(mesh.defects().is_clean());
    [sampled, mesh.volume() / held]
}

/// Places on a lattice of `spacing` radii, so many along three axes around the middle.
fn lattice(normal: Vec3, counts: [i32; 3], spacing: f32) -> impl Iterator<Item = Vec3> {
    let (a, b) = normal.any_orthonormal_pair();
    let [n, m, layers] = counts;
    (0..n * m * layers).map(move |index| {
        let at = [index % n, index / n % m, index / (n * m)];
        let place = |axis: usize| D0 * (at[axis] as f32 - 0.5 * (counts[axis] - 1) as f32);
        0.5 + spacing * (place(0) * a + place(1) * b) + place(2) * normal
    })
}

#[test]
fn sheets_and_drops_are_drawn_with_their_volume() {
    let mut wrong = vec![];
    let mut check = |what: String, [sampled, pulled]: [f64; 2], bound: f64| {
        println!("{what}: {sampled:.3} as sampled, {pulled:.3} drawn, may be off by {bound:.2}");
        if (pulled - 1.0).abs() > bound {
            wrong.push(what);
        }
    };
    for direction in [Vec3::Y, Vec3::new(1.0, 1.0, 1.0), Vec3::new(0.2, 0.9, -0.4)] {
        let normal = direction.normalize();
        // Layers, spacing, mass: as seeded, stretched, stretched and filled again.
        for (layers, spacing, mass) in
            [(1, 1.0, 1.0), (2, 1.0, 1.0), (1, 1.3, 0.5), (1, 1.0, 0.2), (1, 1.2, 0.05)]
        {
            // A tenth, or a fifth of a spacing: sheets are drawn at least 0.16 thick.
            let thickness = layers as f32 * mass / (spacing * spacing);
            let what = format!("{direction}, {layers} layers, spacing {spacing}, mass {mass}");
            let bound = if thickness > 0.16 { 0.1f32.max(0.04 / thickness) } else { 0.2 / thickness };
            check(what, drawn(lattice(normal, [30, 30, layers], spacing), mass), bound as f64);
        }
        check(format!("{direction}, a thread"), drawn(lattice(normal, [40, 1, 1], 1.0), 1.0), 0.2);
    }
    check("drops".into(), drawn(lattice(Vec3::Y, [4, 4, 1], 12.0), 1.0), 0.2);
    check("drops of a tenth".into(), drawn(lattice(Vec3::Y, [4, 4, 1], 12.0), 0.1), 2.0);
    assert!(wrong.is_empty(), "{wrong:?}");
}
