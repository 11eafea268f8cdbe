//! The surface brought to the volume of its cells.

use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Sides, UniformGrid};
use fluvial_level_set::*;

fn unit_box(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn fill(g: &UniformGrid, phi: impl Fn(Vec3) -> f32) -> Vec<f32> {
    let cells = g.cell_centers();
    let at = |n: usize| {
        let [i, j, k] = cells.coordinates(n);
        phi(cells.position(i, j, k))
    };
    (0..g.cell_count()).map(at).collect()
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

fn sum(values: &[f32]) -> f64 {
    values.iter().map(|&v| f64::from(v)).sum()
}

/// A ball that is owed a tenth of a cell in every cell at its surface grows by just that, and one that owes
/// shrinks: first order in the displacement, two percent of it left.
#[test]
fn the_surface_takes_up_what_its_cells_are_owed() {
    let g = unit_box(24);
    for amount in [0.1, -0.1] {
        let mut phi = fill(&g, |x| x.distance(Vec3::splat(0.5)) - 0.3);
        let before = shares(&g, &phi);
        let owed: Vec<f32> = before.iter().map(|&f| if f > 0.0 && f < 1.0 { amount } else { 0.0 }).collect();
        let held =
            Settlement::default().displace(&mut phi, &owed, &vec![1.0; g.cell_count()], Sides::NONE, &g);
        let gained = sum(&shares(&g, &phi)) - sum(&before);
        assert_eq!(held, 0);
        assert!((gained / sum(&owed) - 1.0).abs() < 0.05, "{gained} of {}", sum(&owed));
    }
}

/// What cells share out stays in all, and is booked; equal displacements do not change, differences of neighbours cancel, and cells that
/// take no part or owe much keep theirs.
#[test]
fn debts_are_shared_out_and_none_is_lost() {
    let g = unit_box(12);
    let phi = fill(&g, |x| (x - Vec3::splat(0.5)).dot(Vec3::new(-0.3, 0.9, 0.316)) + 0.013);
    let open = vec![1.0; g.cell_count()];
    let part = |cell: usize| (1.0 - phi[cell].abs() / g.dx).max(0.0);
    let share_out = |owed: &[f32], takes_part: fn(usize) -> bool| {
        let (mut owed, mut volume) = (owed.to_vec(), vec![0.0; owed.len()]);
        let both = (&mut owed[..], &mut volume[..]);
        Settlement::default().share_out(both, (&phi, &open), takes_part, Sides::NONE, &g);
        (owed, volume)
    };
    let mut random: Vec<f32> = (0..g.cell_count())
        .map(|n| if part(n) > 0.0 { 0.03 * (unit_f32(n as u64, 5) - 0.5) } else { 0.0 })
        .collect();
    let magnitude = |values: &[f32]| values.iter().map(|v| f64::from(v.abs())).sum::<f64>();
    let (shared, booked) = share_out(&random, |_| true);
    assert!((sum(&shared) - sum(&random)).abs() < 1e-6 * magnitude(&random));
    assert!((0..random.len()).all(|n| (random[n] + booked[n] - shared[n]).abs() < 1e-7), "all is booked");
    assert!(magnitude(&shared) < 0.4 * magnitude(&random), "{} left", magnitude(&shared));
    let even: Vec<f32> = (0..phi.len()).map(|cell| 0.015 * part(cell)).collect();
    let (kept, _) = share_out(&even, |_| true);
    assert!(even.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1e-7), "an even displacement stays");
    let much = (0..phi.len()).find(|&n| part(n) > 0.5).unwrap();
    random[much] = 0.3;
    let (apart, _) = share_out(&random, |cell| cell % 3 != 0);
    assert!((0..phi.len()).step_by(3).all(|n| apart[n] == random[n]), "those that take no part");
    assert_eq!(apart[much], 0.3);
}

/// What is owed far from any surface changes nothing.
#[test]
fn a_cell_without_surface_waits() {
    let g = unit_box(16);
    let mut phi = fill(&g, |x| x.y - 0.3);
    let (before, mut owed) = (phi.clone(), vec![0.0; g.cell_count()]);
    owed[g.cell_centers().index(8, 13, 8)] = 0.4;
    owed[g.cell_centers().index(8, 0, 8)] = -0.4;
    Settlement::default().displace(&mut phi, &owed, &vec![1.0; g.cell_count()], Sides::NONE, &g);
    assert_eq!(phi, before);
}

/// A residual goes where the flow goes, stays out of closed cells, leaves through open walls alone, and its sum
/// is kept.
#[test]
fn residuals_go_with_the_flow() {
    let g = unit_box(8);
    let c = g.cell_centers();
    let mut u = FaceField::constant(&g, 0.0);
    u[0].fill(1.0);
    let (phi, mut open) = (vec![1.0; g.cell_count()], vec![1.0; g.cell_count()]);
    open[c.index(5, 4, 4)] = 0.0;
    let mut residual = vec![0.0; g.cell_count()];
    for (at, amount) in [([2, 4, 4], 0.5), ([3, 4, 4], -0.25), ([7, 2, 2], 0.125)] {
        residual[c.index(at[0], at[1], at[2])] = amount;
    }
    let owed = Owed {
        sides: Sides::NONE,
        residual_cell: &residual,
        phi_cell: &phi,
        deep_m: 0.1,
        waits_cell: &[],
        open_volume: &open,
        open_walls: [false, true, false, false, false, false],
    };
    let mut moved = vec![0.0; g.cell_count()];
    let left = Carried::default().carry(&mut moved, &owed, &u, &g, 1.25 * g.dx);
    assert_eq!(left, 0.125, "through the open wall");
    assert!((sum(&moved) - 0.25).abs() < 1e-7);
    let at = |i: usize| moved[c.index(i, 4, 4)];
    assert!((at(3) - 0.375).abs() < 1e-6 && (at(4) - (0.125 - 0.25)).abs() < 1e-6, "{} {}", at(3), at(4));
    assert_eq!(at(5), 0.0, "closed");
}

/// A round film somewhat thicker than a cell, carried slantwise through the grid: phi alone loses it, with fluxes and
/// settlement what it stands for stays within a tenth, and the whole is kept.
#[test]
fn a_thin_film_keeps_its_volume() {
    let g = unit_box(24);
    let (v, dt_s) = (Vec3::new(0.2, 1.0, 0.1), 0.4 / 24.0);
    let mut u = FaceField::constant(&g, 0.0);
    AXES.into_iter().for_each(|axis| u[axis].fill(v[axis]));
    let (open, band_m) = (vec![1.0; g.cell_count()], 6.0 * g.dx);
    let film = |x: Vec3| {
        let across = Vec3::new(x.x - 0.45, 0.0, x.z - 0.45).length() - 0.25;
        across.max((x.y - 0.2).abs() - 0.62 * g.dx).clamp(-band_m, band_m)
    };
    let run = |settles: bool| -> (f64, f64) {
        let mut phi = fill(&g, film);
        let (mut residual, mut volume) = (vec![0.0; g.cell_count()], vec![0.0; g.cell_count()]);
        let (mut next, mut scratch) = (phi.clone(), Scratch::default());
        let (mut flux, areas) = (FaceField::constant(&g, 0.0), FaceField::constant(&g, 1.0));
        let start = sum(&shares(&g, &phi));
        for _ in 0..30 {
            advect_phi(&mut next, &phi, &u, &g, dt_s, PhiAdvection::Cubic, band_m, &mut scratch);
            let before = shares(&g, &phi);
            let faces = OpenFaces { area: &areas, phi_solid_node: &[], sides: Sides::NONE };
            liquid_flux(&mut flux, &phi, &u, &faces, &g, dt_s, band_m);
            let owed = Owed {
                sides: Sides::NONE,
                residual_cell: &residual,
                phi_cell: &phi,
                deep_m: 2.0 * g.dx,
                waits_cell: &[],
                open_volume: &open,
                open_walls: [true; 6],
            };
            Carried::default().carry(&mut volume, &owed, &u, &g, dt_s);
            for cell in 0..g.cell_count() {
                let out = outflow(&flux, &g, g.cell_centers().coordinates(cell));
                volume[cell] += before[cell] - out;
            }
            if settles {
                let owed: Vec<f32> = volume.iter().zip(shares(&g, &next)).map(|(v, f)| v - f).collect();
                Settlement::default().displace(&mut next, &owed, &open, Sides::NONE, &g);
            }
            redistance(&mut next, &g.cell_centers(), band_m, &mut scratch);
            let after = shares(&g, &next);
            (0..g.cell_count()).for_each(|cell| residual[cell] = volume[cell] - after[cell]);
            std::mem::swap(&mut phi, &mut next);
        }
        (sum(&shares(&g, &phi)) / start, sum(&residual) / start)
    };
    let (alone, _) = run(false);
    let (settled, owed) = run(true);
    println!("{alone} {settled} {owed}");
    assert!(alone < 0.9 * settled, "phi alone keeps {alone}");
    assert!((settled - 1.0).abs() < 0.1 && (settled + owed - 1.0).abs() < 0.02, "{settled} and {owed} owed");
}
