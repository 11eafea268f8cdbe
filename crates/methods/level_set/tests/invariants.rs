//! What must not matter: the number of threads, left and right, what the scratch was used for before.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::*;

/// Everything the crate computes, on a drop above a pool.
#[derive(PartialEq)]
struct Results {
    phi: Vec<f32>,
    u: FaceField,
    valid: [Vec<u8>; 3],
    kappa: Vec<f32>,
    volume: u64,
}

fn grid() -> UniformGrid {
    UniformGrid { min: Vec3::new(0.0, 0.1, 0.2), cells: [37, 30, 26], dx: 0.04 }
}

fn shape(x: [f64; 3]) -> f64 {
    let pool = x[1] - 0.45 - 0.03 * (6.0 * x[0]).cos() * (5.0 * x[2]).sin();
    pool.min(distance(x, [0.7, 0.95, 0.75]) - 0.22)
}

fn flow(x: [f64; 3]) -> [f64; 3] {
    [(3.0 * x[1]).sin(), -1.0 + (2.0 * x[0]).cos(), (4.0 * x[0] - x[2]).sin()]
}

fn all(g: &UniformGrid, mirror: bool, scratch: &mut Scratch) -> Results {
    let l = g.cell_centers();
    let (low, high) = (g.bounds().min.x as f64, g.bounds().max.x as f64);
    let flip = |x: [f64; 3]| if mirror { [low + high - x[0], x[1], x[2]] } else { x };
    let band = 5.0 * g.dx;
    let mut phi = fill_band(&l, band, |x| shape(flip(x)));
    redistance(&mut phi, &l, band, scratch);
    let mut u = velocity(g, |x| {
        let v = flow(flip(x));
        if mirror { [-v[0], v[1], v[2]] } else { v }
    });
    let mut out = phi.clone();
    for scheme in [PhiAdvection::SemiLagrangian, PhiAdvection::MacCormack, PhiAdvection::Cubic] {
        advect_phi(&mut out, &phi, &u, g, 0.9 * g.dx, scheme, band, scratch);
        std::mem::swap(&mut phi, &mut out);
        redistance(&mut phi, &l, band, scratch);
    }
    let mut carried = FaceField::default();
    for scheme in [AdvectionScheme::SemiLagrangian, AdvectionScheme::MacCormack] {
        advect_velocity(&mut carried, &transport(&u, &phi, g, 0.9 * g.dx, scheme, 3.0 * g.dx), scratch);
        std::mem::swap(&mut u, &mut carried);
    }
    let mut valid: [Vec<u8>; 3] =
        std::array::from_fn(|axis| u[axis].iter().map(|&v| (v != 0.0) as u8).collect());
    extrapolate_velocity(&mut u, &mut valid, g, 3, scratch);
    let closed: Vec<bool> = (0..l.len())
        .map(|n| {
            let c = l.coordinates(n);
            let i = if mirror { g.cells[0] - 1 - c[0] } else { c[0] };
            (10..18).contains(&i) && c[1] < 14 && (8..20).contains(&c[2])
        })
        .collect();
    extend_into_solids(&mut phi, &closed, &l, 4, |_| Vec3::ZERO, scratch);
    let mut kappa = vec![0.0; phi.len()];
    curvature(&mut kappa, &phi, &l, 2.0 * g.dx, &[Some(0.0); 6]);
    let volume = liquid_volume(&phi, &vec![1.0; phi.len()], &vec![1.0; g.nodes().len()], g).to_bits();
    Results { phi, u, valid, kappa, volume }
}

#[test]
fn one_and_many_threads_and_used_scratch_give_the_same_bits() {
    let g = grid();
    let one = with_threads(1, || all(&g, false, &mut Scratch::default()));
    let three = with_threads(3, || all(&g, false, &mut Scratch::new(&g)));
    assert!(one == three);
    let mut scratch = Scratch::default();
    all(&cube(20), false, &mut scratch);
    assert!(one == all(&g, false, &mut scratch));
}

#[test]
fn mirrored_input_gives_mirrored_output() {
    let g = grid();
    let a = all(&g, false, &mut Scratch::default());
    let b = all(&g, true, &mut Scratch::default());
    let l = g.cell_centers();
    let mirrored = |values: &[f32], lattice: &fluvial_grids::Lattice| -> Vec<f32> {
        (0..values.len())
            .map(|n| {
                let c = lattice.coordinates(n);
                values[lattice.index(lattice.size[0] - 1 - c[0], c[1], c[2])]
            })
            .collect()
    };
    let near = max_difference(&a.phi, &mirrored(&b.phi, &l), g.dx, |n| a.phi[n].abs() < 2.0 * g.dx);
    let phi = max_difference(&a.phi, &mirrored(&b.phi, &l), g.dx, |_| true);
    let kappa = max_difference(&a.kappa, &mirrored(&b.kappa, &l), 1.0 / g.dx, |_| true);
    println!("phi {phi:.1e} dx, near the interface {near:.1e} dx, curvature {kappa:.1e} / dx");
    assert!(near < 3e-6 && phi < 2e-5 && kappa < 2e-5);
    for axis in 0..3 {
        let sign = if axis == 0 { -1.0 } else { 1.0 };
        let m: Vec<f32> = mirrored(&b.u[axis], &g.faces(axis)).iter().map(|v| sign * v).collect();
        let u = max_difference(&a.u[axis], &m, 1.0, |_| true);
        assert!(u < 1e-6, "axis {axis}: {u}");
    }
    let volume = f64::from_bits(a.volume) / f64::from_bits(b.volume) - 1.0;
    assert!(volume.abs() < 1e-7, "{volume}");
}
