//! Thin sheets, carried with balls and without.

use crate::scenes::*;
use fluvial_grids::TallGrid;
use fluvial_tall::{advect, redistance, thicken, volume};

const SIZE: [usize; 3] = [20, 60, 20];

fn grid() -> TallGrid {
    TallGrid::new(SIZE, 0.1, vec![[0, 2]; SIZE[0] * SIZE[2]])
}

/// A sheet so many cells thick, at a height in cells, its normal tilted.
fn sheet(grid: &TallGrid, thickness: f32, height: f32) -> Vec<f32> {
    let normal = [0.36, 0.8, 0.48];
    field(grid, |x, y, z| {
        let across = (x - 9.5) * normal[0] + (y - height) * normal[1] + (z - 9.5) * normal[2];
        ((across.abs() - 0.5 * thickness) * grid.dx_m).clamp(-0.5, 0.5)
    })
}

/// Liquid in cells of the columns in the middle.
fn liquid(grid: &TallGrid, phi: &[f32]) -> f32 {
    let inside = |n: usize| {
        let (i, k) = (n % grid.nx, n / (grid.nx * grid.rows()));
        (6..14).contains(&i) && (6..14).contains(&k)
    };
    (0..phi.len()).filter(|n| inside(*n)).map(|n| volume::share(phi[n] / grid.dx_m)).sum()
}

/// Lets a sheet fall by so many cells a step; what is left of it.
fn fall(thickness: f32, steps: usize, thickens: bool) -> f32 {
    let grid = grid();
    let (dt_s, speed) = (1.0 / 30.0, 1.3);
    let u = velocity(&grid, |_, _, _| [0.0, -speed * 0.1 * 30.0, 0.0]);
    let mut phi = sheet(&grid, thickness, 50.0);
    let start = liquid(&grid, &phi);
    let (mut carried, mut from, mut new, mut spare) = (u.clone(), u.clone(), phi.clone(), phi.clone());
    for n in 1..=steps {
        match n % 10 {
            0 => redistance::redistance(&mut phi, &grid, &mut spare),
            _ => {
                redistance::clamp_frame(&mut spare, &phi, &grid);
                phi.copy_from_slice(&spare);
            }
        }
        advect::trace_back(&mut carried, &mut from, &grid, &u, &phi, dt_s);
        advect::correct_phi(&mut new, &grid, (&u, &phi), (&carried, &from), dt_s);
        if thickens {
            thicken::thicken(&mut new, &grid, (&u, &phi), dt_s);
        }
        phi.copy_from_slice(&new);
    }
    liquid(&grid, &phi) / start
}

/// A sheet thinner than two cells keeps its water with balls, and loses it without.
#[test]
fn thin_sheets_are_kept() {
    for thickness in [1.2, 1.6, 2.4] {
        let [without, with] = [false, true].map(|thickens| fall(thickness, 25, thickens));
        println!("{thickness} cells: {without:.3} left without, {with:.3} with balls");
    }
    let [without, with] = [false, true].map(|thickens| fall(1.6, 25, thickens));
    assert!(without < 0.6 && with > 0.8 && with < 1.1, "{without} {with}");
}

/// Deep water has no thin places: nothing is changed.
#[test]
fn deep_water_is_left_alone() {
    let grid = grid();
    let phi = still_phi(&grid, 30.3);
    let u = velocity(&grid, |x, _, _| [1.0, 0.2 * x, -1.0]);
    let mut carried = phi.clone();
    thicken::thicken(&mut carried, &grid, (&u, &phi), 1.0 / 30.0);
    assert_eq!(carried, phi);
}

#[cfg(feature = "gpu")]
#[test]
fn thickening_parity() {
    use fluvial_device::{AdapterChoice, Device, DeviceError, Recording};
    use fluvial_tall::gpu::{GpuGrid, Kernels, item_groups, thickening};
    let device = match Device::open(&AdapterChoice::Auto) {
        Ok(device) => device,
        Err(fault @ DeviceError::NoAdapter { .. }) => return eprintln!("skipped: {fault}"),
        Err(other) => panic!("{other}"),
    };
    let (grid, dt_s) = (grid(), 1.0 / 30.0);
    let phi = sheet(&grid, 1.5, 30.0);
    let u = velocity(&grid, |x, y, z| [0.1 * (y - 30.0), (0.4 * x).sin() - 2.0, 0.2 * z]);
    let before = field(&grid, |x, y, _| 0.3 + 0.01 * x - 0.01 * (y - 30.0));
    let mut expected = before.clone();
    thicken::thicken(&mut expected, &grid, (&u, &phi), dt_s);
    let changed = expected.iter().zip(&before).filter(|(a, b)| a != b).count();
    let g = GpuGrid::new(&device, &grid).unwrap();
    let up = |values: &[f32]| device.storage_from("test", values).unwrap();
    let (phi_b, carried, least) = (up(&phi), up(&before), up(&before));
    let u_b = device.storage_from("test", &u).unwrap();
    let params = device.uniform(&thickening(dt_s / grid.dx_m)).unwrap();
    let (mut kernels, mut recording) = (Kernels::new(&device), Recording::new());
    let whole = [(7, carried.binding()), (8, least.binding())];
    let items = item_groups(before.len());
    recording.dispatch(&kernels.bind(("thicken", "order"), whole.clone()).unwrap(), items);
    let fields = [(4, params.binding()), (5, u_b.binding()), (6, phi_b.binding()), (8, least.binding())];
    let all = g.own().into_iter().chain(fields);
    recording.dispatch(&kernels.bind(("thicken", "thicken"), all).unwrap(), g.sample_groups());
    recording.dispatch(&kernels.bind(("thicken", "take_least"), whole).unwrap(), items);
    device.submit(&recording).unwrap();
    let got = device.read(&carried).unwrap();
    let off = got.iter().zip(&expected).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    println!("{changed} samples changed, largest difference {off:.1e} m");
    assert!(changed > 500 && off < 1e-6, "{changed} {off}");
}
