//! Meshes fitted to a volume.

use fluvial_foundation::Vec3;
use fluvial_grids::{Lattice, TriangleMesh};
use fluvial_surface::{Bells, MeshParams, VolumeToFit, fit_to_volume, mesh_level_set, volume_gradients};
use std::f64::consts::PI;

const N: usize = 32;
const CELLS: Lattice = Lattice { size: [N; 3], origin: Vec3::splat(0.5 / N as f32), spacing: 1.0 / N as f32 };

fn balls(centers: &[Vec3], radius: f32) -> TriangleMesh {
    let phi: Vec<f32> = (0..CELLS.len())
        .map(|cell| {
            let [i, j, k] = CELLS.coordinates(cell);
            let x = CELLS.position(i, j, k);
            centers.iter().map(|c| x.distance(*c) - radius).fold(f32::INFINITY, f32::min)
        })
        .collect();
    mesh_level_set(&phi, &CELLS, &MeshParams::default())
}

fn ball_m3(radius: f64) -> f64 {
    4.0 / 3.0 * PI * radius.powi(3)
}

#[test]
fn a_ball_gets_its_volume_and_stays_round() {
    let center = Vec3::new(0.52, 0.49, 0.5);
    for wanted in [0.18, 0.2, 0.23f64] {
        let mut mesh = balls(&[center], 0.2);
        let half_m = vec![0.1; mesh.positions.len()];
        let to = VolumeToFit {
            cells: &Bells { cells: &CELLS, sums: 6 },
            lacking_cell: vec![0.0; CELLS.len()],
            wanted_m3: ball_m3(wanted),
        };
        assert_eq!(fit_to_volume(&mut mesh, &half_m, to), 0);
        assert!((mesh.volume() / ball_m3(wanted) - 1.0).abs() < 1e-4);
        for x in &mesh.positions {
            assert!((f64::from(x.distance(center)) - wanted).abs() < 2e-3, "{}", x.distance(center));
        }
    }
}

/// One of two balls lacks a quarter of its volume: it grows, the other stays.
#[test]
fn neighbourhoods_get_their_own_volumes() {
    let centers = [Vec3::new(0.22, 0.5, 0.5), Vec3::new(0.78, 0.5, 0.5)];
    let mut mesh = balls(&centers, 0.1);
    let before = mesh.volume();
    let half_m = vec![0.05; mesh.positions.len()];
    let mut lacking_cell = vec![0.0; CELLS.len()];
    // Where the surface is, as a measurement would find it.
    let (share, size) = (0.25, ball_m3(0.1) as f32);
    let area: f32 = volume_gradients(&mesh).iter().map(|a| a.length()).sum();
    for (x, gradient) in mesh.positions.iter().zip(volume_gradients(&mesh)) {
        if x.x < 0.5 {
            let at = ((*x - CELLS.origin) / CELLS.spacing).round();
            let cell = CELLS.index_clamped(at.x as isize, at.y as isize, at.z as isize);
            lacking_cell[cell] += share * size * gradient.length() / (0.5 * area);
        }
    }
    let to = VolumeToFit {
        cells: &Bells { cells: &CELLS, sums: 6 },
        lacking_cell,
        wanted_m3: before + f64::from(share * size),
    };
    fit_to_volume(&mut mesh, &half_m, to);
    let growth = [0, 1].map(|side| {
        let radius = |mesh: &TriangleMesh| {
            let own = mesh.positions.iter().filter(|x| (x.x > 0.5) as usize == side);
            let (sum, count) = own.fold((0.0, 0), |(sum, n), x| (sum + x.distance(centers[side]), n + 1));
            sum / count as f32
        };
        radius(&mesh) / radius(&balls(&centers, 0.1))
    });
    assert!((growth[0] - 1.25f32.cbrt()).abs() < 0.01 && (growth[1] - 1.0).abs() < 0.01, "{growth:?}");
}

/// A sheet of a tenth of a cell asked to give far more than it has keeps half of its thickness.
#[test]
fn thin_sheets_are_not_turned_inside_out() {
    let half = 0.05 * CELLS.spacing;
    let mut mesh = balls(&[Vec3::splat(0.5)], 0.2);
    let half_m = vec![half; mesh.positions.len()];
    let to = VolumeToFit {
        cells: &Bells { cells: &CELLS, sums: 6 },
        lacking_cell: vec![0.0; CELLS.len()],
        wanted_m3: 0.0,
    };
    let start = mesh.positions.clone();
    assert_eq!(fit_to_volume(&mut mesh, &half_m, to), mesh.positions.len());
    for (x, start) in mesh.positions.iter().zip(&start) {
        assert!(x.distance(*start) < 0.501 * half);
    }
}
