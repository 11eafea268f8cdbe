//! Whatever the signs, the mesh is closed, oriented and manifold.

use fluvial_foundation::{Vec3, random};
use fluvial_grids::{Lattice, TriangleMesh};
use fluvial_surface::{MeshParams, SolidClip, mesh_level_set, mesh_level_set_outside};
use proptest::prelude::*;

fn lattice(size: [usize; 3]) -> Lattice {
    Lattice { size, origin: Vec3::new(0.3, -0.2, 1.0), spacing: 0.1 }
}

/// Random values with a share of liquid; `sharp` gives only two magnitudes, which makes ties and zeros.
fn random_phi(lattice: &Lattice, seed: u64, share: f32, sharp: bool) -> Vec<f32> {
    (0..lattice.len() as u64)
        .map(|n| {
            let sign = if random::unit_f32(seed, 2 * n) < share { -1.0 } else { 1.0 };
            let size = random::unit_f32(seed, 2 * n + 1);
            sign * if sharp { (size * 2.0).floor() } else { size } * lattice.spacing
        })
        .collect()
}

fn assert_sound(mesh: &TriangleMesh, lattice: &Lattice) {
    let defects = mesh.defects();
    assert!(defects.is_clean(), "{defects:?}");
    let hull = fluvial_foundation::Aabb {
        min: lattice.origin,
        max: lattice.position(lattice.size[0] - 1, lattice.size[1] - 1, lattice.size[2] - 1),
    }
    .expand(0.5 * lattice.spacing + 1e-6);
    assert!(mesh.positions.iter().all(|&p| hull.contains(p)), "a vertex lies outside the domain");
    assert!(mesh.triangles.iter().flatten().all(|&v| (v as usize) < mesh.positions.len()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_fields_give_manifold_meshes(
        size in [1usize..9, 1usize..9, 1usize..9],
        seed: u64,
        share in 0.0f32..1.0,
        sharp: bool,
    ) {
        let l = lattice(size);
        let phi = random_phi(&l, seed, share, sharp);
        let mesh = mesh_level_set(&phi, &l, &MeshParams::default());
        assert_sound(&mesh, &l);
        let liquid = phi.iter().filter(|&&v| v < 0.0).count();
        prop_assert_eq!(mesh.triangles.is_empty(), liquid == 0);
    }

    #[test]
    fn smoothing_and_clipping_keep_the_mesh_manifold(seed: u64, share in 0.1f32..0.9) {
        let l = lattice([7, 6, 5]);
        let phi = random_phi(&l, seed, share, false);
        let nodes = Lattice { size: [8, 7, 6], origin: l.origin - 0.5 * l.spacing, spacing: l.spacing };
        let phi_solid = random_phi(&nodes, seed ^ 77, 0.3, false);
        let clip = SolidClip { distance: &|x| nodes.sample(&phi_solid, x), overlap: 0.02 };
        let mesh = mesh_level_set_outside(&phi, &l, &clip, &MeshParams { smoothing_rounds: 3 });
        prop_assert!(mesh.defects().is_clean());
        prop_assert!(mesh.positions.iter().all(|p| p.is_finite()));
    }

    #[test]
    fn a_mirrored_field_gives_the_mirrored_volume(seed: u64, axis in 0usize..3) {
        let l = lattice([6, 7, 8]);
        let phi = random_phi(&l, seed, 0.4, false);
        let mirrored: Vec<f32> = (0..l.len())
            .map(|n| {
                let mut c = l.coordinates(n);
                c[axis] = l.size[axis] - 1 - c[axis];
                phi[l.index(c[0], c[1], c[2])]
            })
            .collect();
        let mesh = |phi: &[f32]| mesh_level_set(phi, &l, &MeshParams::default());
        let (mesh_a, mesh_b) = (mesh(&phi), mesh(&mirrored));
        // Vertices mirror one by one: their sums and those of their squares do.
        let middle = 0.5 * (l.origin[axis] + l.position(l.size[0] - 1, l.size[1] - 1, l.size[2] - 1)[axis]);
        let moments = |mesh: &TriangleMesh, sign: f64| {
            let along = |p: &Vec3| sign * (p[axis] - middle) as f64;
            let sum: f64 = mesh.positions.iter().map(along).sum();
            let squares: f64 = mesh.positions.iter().map(|p| p.as_dvec3().length_squared() + along(p).powi(3)).sum();
            let across: f64 = mesh.positions.iter().map(|p| along(p) * p[(axis + 1) % 3] as f64).sum();
            let middle_terms: f64 = mesh.positions.iter().map(|p| (p[axis] - middle) as f64 * 2.0 * middle as f64).sum();
            [sum, squares - middle_terms, across].map(|v| v / mesh.positions.len() as f64)
        };
        prop_assert_eq!(mesh_a.positions.len(), mesh_b.positions.len());
        for (a, b) in moments(&mesh_a, 1.0).into_iter().zip(moments(&mesh_b, -1.0)) {
            prop_assert!((a - b).abs() < 2e-5, "{a} {b}");
        }
        // A quad whose diagonals are equally long may be cut along either: each is worth up to a sixth of a flat cell.
        let (a, b) = (mesh_a.volume(), mesh_b.volume());
        prop_assert!((a - b).abs() < 1e-3 * a.abs(), "{a} {b}");
        prop_assert!(a > 0.0);
    }
}

/// Every pair of neighbouring cells in every sign pattern: 2^12 lattices of 3 x 2 x 2 samples hold every
/// way in which two cells can share a face, the pinching ones included.
#[test]
fn every_pair_of_neighbouring_cells_is_manifold() {
    for axis in 0..3 {
        let mut size = [2; 3];
        size[axis] = 3;
        let l = lattice(size);
        for signs in 0u32..1 << 12 {
            let phi: Vec<f32> = (0..12).map(|n| if signs >> n & 1 == 1 { -0.04 } else { 0.05 }).collect();
            let defects = mesh_level_set(&phi, &l, &MeshParams::default()).defects();
            assert!(defects.is_clean(), "axis {axis} signs {signs:012b}: {defects:?}");
        }
    }
}

#[test]
fn checkerboards_infinities_and_nan_are_meshed() {
    let l = lattice([9, 8, 70]);
    let value = |n: usize| {
        let [i, j, k] = l.coordinates(n);
        match (i + j + k) % 4 {
            0 | 2 => f32::INFINITY,
            1 => f32::NEG_INFINITY,
            _ => f32::NAN,
        }
    };
    let phi: Vec<f32> = (0..l.len()).map(value).collect();
    let mesh = mesh_level_set(&phi, &l, &MeshParams::default());
    assert_sound(&mesh, &l);
    assert!(mesh.volume() > 0.0);
}

#[test]
fn rows_longer_than_a_word_have_no_seam() {
    for nx in [62, 63, 64, 65, 126, 127, 128, 130] {
        let l = lattice([nx, 3, 3]);
        let mesh = mesh_level_set(&random_phi(&l, nx as u64, 0.5, false), &l, &MeshParams::default());
        assert_sound(&mesh, &l);
    }
}
