//! Spray, mist, foam and the maps of the surface: against closed forms, and against their twins on the GPU.

use crate::scenes::*;
use fluvial_grids::TallGrid;
use fluvial_tall::maps::{self, Change, Shown};
use fluvial_tall::spray::{self, CHILDREN, Counters, FOAM, MIST, Params, Particle, SPRAY, TRIAL, Water};

const LEVEL: f32 = 20.0;

fn lake_grid() -> TallGrid {
    lake([16, 16, 12], 0.1, LEVEL as i32, 6)
}

fn params(grid: &TallGrid, dt_s: f32) -> Params {
    Params {
        gravity: [0.0, -GRAVITY, 0.0],
        dt_s,
        low: [-0.5, -0.5, -0.5],
        trials_1_s: 20.0,
        high: [grid.nx as f32 - 0.5, 40.0, grid.nz as f32 - 0.5],
        trial_s: 1.0 / 30.0,
        spray_tau_s: 1.0,
        mist_tau_s: 0.1,
        foam_s: 2.0,
        radius_m: 0.005,
        mist_part: 0.25,
        foam_part: 0.5,
        open: 0,
        step: 0,
        most: 1 << 16,
        pad: [0; 3],
    }
}

/// Steps particles over water that stays as it is; returns them with their counters.
fn run(water: &Water, mut params: Params, steps: usize) -> (Vec<Particle>, Counters) {
    let (mut particles, mut counters, mut moved) = (vec![], Counters::default(), vec![]);
    let mut landed = vec![0; water.grid.columns.len()];
    for n in 0..steps {
        params.step = n as u32;
        spray::step(&mut particles, &mut counters, &mut landed, &mut moved, (water, &params));
    }
    (particles, counters)
}

fn still<'a>(grid: &'a TallGrid, phi: &'a [f32], u: &'a [[f32; 4]], fraction: &'a [f32]) -> Water<'a> {
    Water { before: grid, phi_before: phi, u, grid, phi, fraction }
}

/// A path with drag is that of the closed form, however it is cut into steps.
#[test]
fn paths_do_not_depend_on_steps() {
    let (v, g, tau, t) = ([3.0f32, 4.0, -1.0], [0.0, -GRAVITY, 0.0], 0.7f32, 0.5f32);
    for steps in [1, 3, 40] {
        let (mut x, mut now) = ([0.0f64; 3], v);
        for _ in 0..steps {
            let (next, way) = spray::fly(now, g, tau, t / steps as f32);
            (0..3).for_each(|c| x[c] += f64::from(way[c]));
            now = next;
        }
        for c in 0..3 {
            let (v, terminal) = (f64::from(v[c]), f64::from(tau * g[c]));
            let (tau, t) = (f64::from(tau), f64::from(t));
            let kept = (-t / tau).exp();
            let exact =
                [terminal * t + tau * (1.0 - kept) * (v - terminal), terminal + kept * (v - terminal)];
            assert!((x[c] - exact[0]).abs() < 2e-5, "{steps} steps: {} {}", x[c], exact[0]);
            assert!((f64::from(now[c]) - exact[1]).abs() < 2e-5, "{steps} steps");
        }
    }
    for a in [0.0f32, 1e-5, 1e-3, 0.3, 2.0, 8.0] {
        let (grown, exact) = (f64::from(spray::growth(a)), f64::from(a).exp_m1());
        assert!(a > 2.0 || (grown - exact).abs() <= 2e-6 * exact, "{a}: {grown} {exact}");
        assert!((1.0 / (1.0 + grown) - 1.0 / (1.0 + exact)).abs() < 1e-6, "{a}: {grown} {exact}");
    }
    assert!(spray::growth(1e3).is_finite() && spray::growth(1e3) > 1e9);
}

/// Water that flows along with its surface throws off nothing; neither does water at rest.
#[test]
fn nothing_escapes_from_water_that_keeps_up() {
    let grid = lake_grid();
    let (phi, fraction) = (still_phi(&grid, LEVEL), vec![0.0; grid.samples()]);
    for speed in [0.0, 4.0] {
        let u = velocity(&grid, |_, _, _| [speed, 0.0, 0.3 * speed]);
        let (particles, counters) = run(&still(&grid, &phi, &u, &fraction), params(&grid, 1.0 / 30.0), 30);
        assert_eq!(counters.escaped, 0);
        // Trial particles wait for a thirtieth of a second: of two steps, one and a half.
        assert!(counters.next_id > 0 && particles.iter().all(|p| p.kind == TRIAL), "{}", particles.len());
    }
}

/// A basin that is shaken up and down throws off as much in a second at any length of the step, and as much as it should: what is ahead of the
/// surface by more than twice its depth when it is tested.
#[test]
fn escapes_do_not_depend_on_steps() {
    let grid = TallGrid::new([16, 20, 12], 0.1, vec![[0, 10]; 16 * 12]);
    let fraction = vec![0.0; grid.samples()];
    let (turns, reach) = (std::f64::consts::TAU, 0.3);
    let height = |t: f64| reach * (turns * t).sin();
    let phi_at =
        |t: f64| field(&grid, |_, y, _| ((y + 0.5 - LEVEL) * 0.1 - height(t) as f32).clamp(-0.5, 0.5));
    let (trial_s, trials_1_s, seconds) = (0.1, 100.0, 4);
    // The mean over a turn of the part of the depths, all equally likely, that get away.
    let ahead = |t: f64| height(t) + trial_s * reach * turns * (turns * t).cos() - height(t + trial_s);
    let part = (0..1000).map(|n| (ahead(f64::from(n) / 1e3) / 3.0 / 0.1).clamp(0.0, 1.0)).sum::<f64>() / 1e3;
    // What is born in the last tenth is not tested.
    let expected = part * trials_1_s * (f64::from(seconds) - trial_s) * (grid.nx * grid.nz) as f64;
    for per_second in [24, 60, 240] {
        let dt = 1.0 / f64::from(per_second);
        let base = params(&grid, dt as f32);
        let (mut particles, mut counters, mut moved) = (vec![], Counters::default(), vec![]);
        let mut landed = vec![0; grid.columns.len()];
        for n in 0..seconds * per_second {
            let t = f64::from(n) * dt;
            let up = ((height(t + dt) - height(t)) / dt) as f32;
            let u = velocity(&grid, |_, _, _| [0.0, up, 0.0]);
            let (before, after) = (phi_at(t), phi_at(t + dt));
            let water = Water { phi_before: &before, phi: &after, ..still(&grid, &before, &u, &fraction) };
            // No gravity: the surface keeps pace with itself. Drops are of no interest here.
            let params = Params {
                gravity: [0.0; 3],
                spray_tau_s: 1e3,
                trials_1_s: trials_1_s as f32,
                trial_s: trial_s as f32,
                step: n as u32,
                most: 1 << 20,
                ..base
            };
            spray::step(&mut particles, &mut counters, &mut landed, &mut moved, (&water, &params));
            particles.retain(|p| p.kind == TRIAL);
        }
        let escapes = f64::from(counters.escaped / CHILDREN);
        println!("{per_second} steps a second: {escapes} escapes of {expected:.0}");
        // By chance four standard deviations; steps see the velocity of their middles, (turns dt)^2 / 24 of it and less than 1 % at 24 a second.
        assert!((escapes - expected).abs() < 4.0 * expected.sqrt() + 0.01 * expected, "{escapes} {expected}");
    }
}

/// Drops that fall onto water become foam as often as they should, whiten it, float with it and dissolve; mist never does.
#[test]
fn drops_become_foam_that_floats() {
    let grid = lake_grid();
    let (phi, fraction) = (still_phi(&grid, LEVEL), vec![0.0; grid.samples()]);
    let u = velocity(&grid, |_, _, _| [0.5, 0.0, 0.0]);
    let water = still(&grid, &phi, &u, &fraction);
    let params = Params { trials_1_s: 0.0, ..params(&grid, 1.0 / 30.0) };
    let drop = |n: u32| Particle {
        x: [3.0 + 0.001 * n as f32, LEVEL + 2.0, 5.0],
        radius_m: 0.005,
        v: [0.0, -2.0, 0.0],
        left_s: 1.0,
        kind: if n < 1000 { SPRAY } else { MIST },
        seed: spray::mix(n),
        id: n,
        age_s: 0.0,
    };
    let mut particles: Vec<Particle> = (0..1500).map(drop).collect();
    let (mut counters, mut moved) = (Counters::default(), vec![]);
    let mut landed = vec![0; grid.columns.len()];
    let mut cover = 0u64;
    for _ in 0..25 {
        spray::step(&mut particles, &mut counters, &mut landed, &mut moved, (&water, &params));
        cover += landed.iter().map(|n| u64::from(*n)).sum::<u64>();
    }
    assert_eq!(counters.fallen, 1500);
    assert!(particles.iter().all(|p| p.kind == FOAM));
    // Half of a thousand, within four standard deviations.
    assert!(particles.len().abs_diff(500) < 64 && counters.foam as usize == particles.len());
    let section = 7.0 * std::f64::consts::PI * 0.005f64.powi(2) / 0.01;
    assert!((cover as f64 / 65536.0 / (1500.0 * section) - 1.0).abs() < 1e-2);
    for p in &particles {
        // The surface lies half a cell below the centre that has its number.
        assert!((p.x[1] + 0.5 - LEVEL).abs() < 1e-3, "{}", p.x[1]);
        assert!(p.x[0] > 3.0 && (p.v[0] - 0.5).abs() < 1e-4);
    }
    for _ in 0..40 {
        spray::step(&mut particles, &mut counters, &mut landed, &mut moved, (&water, &params));
    }
    assert!(particles.is_empty(), "foam outlives its second");
}

/// A drop leaves through an open side, slides along a closed one, and ends on the ground.
#[test]
fn drops_meet_walls_and_ground() {
    let grid = TallGrid::new([8, 8, 8], 0.1, vec![[4, 2]; 64]);
    let (phi, fraction) = (vec![0.5; grid.samples()], vec![0.0; grid.samples()]);
    let u = vec![[0.0, 0.0, 0.0, 1.0]; grid.samples()];
    let water = still(&grid, &phi, &u, &fraction);
    let drop = Particle {
        x: [7.0, 12.0, 3.0],
        v: [6.0, 0.0, 0.0],
        left_s: 1.0,
        radius_m: 0.01,
        ..Particle::default()
    };
    let closed = Params { trials_1_s: 0.0, ..params(&grid, 1.0 / 30.0) };
    let kept = spray::advance(&drop, &water, &closed);
    assert_eq!((kept.count, kept.particle.x[0], kept.particle.v[0]), (1, 7.5, 0.0));
    assert_eq!(spray::advance(&drop, &water, &Params { open: 2, ..closed }).count, 0);
    let low = Particle { x: [3.0, 3.7, 3.0], v: [0.0, -10.0, 0.0], ..drop };
    assert_eq!(spray::advance(&low, &water, &closed).count, 0);
}

/// With room for few, some are refused and counted, and births are held back before that.
#[test]
fn there_is_room_for_so_many() {
    let grid = lake_grid();
    let (phi, fraction) = (still_phi(&grid, LEVEL), vec![0.0; grid.samples()]);
    let u = velocity(&grid, |_, _, _| [0.0, 3.0, 0.0]);
    let params = Params { trials_1_s: 200.0, most: 1000, ..params(&grid, 1.0 / 30.0) };
    let (particles, counters) = run(&still(&grid, &phi, &u, &fraction), params, 60);
    assert!(particles.len() <= 1000 && particles.len() > 500, "{}", particles.len());
    let mut ids: Vec<u32> = particles.iter().map(|p| p.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), particles.len(), "a number was given twice");
    println!("{} live, {counters:?}", particles.len());
    // Without holding back, 38400 a second would be made and most of them refused. The first step does not know yet how many it wants.
    assert!(counters.next_id / CHILDREN < 5000 && counters.refused < 2500, "{counters:?}");
}

/// In a uniform stream foam keeps its amount but for its lifetime, travels with the stream, and the texture has come as far.
#[test]
fn maps_travel_with_the_stream() {
    let grid = TallGrid::new([40, 8, 4], 0.1, vec![[0, 8]; 160]);
    let phi = field(&grid, |_, y, _| (y + 0.5 - 10.0).clamp(-5.0, 5.0) * 0.1);
    // One cell a step: columns come to columns.
    let (u, dt_s) = (velocity(&grid, |_, _, _| [1.0, 0.0, 0.0]), 0.1);
    let mut tops = vec![[0.0; 4]; 160];
    maps::surfaces(&mut tops, &grid, &phi, &u);
    assert!(tops.iter().all(|t| (t[2] - 9.5).abs() < 1e-5 && t[3] == 1.0 && (t[0] - 1.0).abs() < 1e-6));
    let (mut shown, mut next) = (vec![Shown::default(); 160], vec![Shown::default(); 160]);
    let mut landed = vec![0u32; 160];
    landed[5 + 40] = 65536;
    for n in 0..20 {
        let change = Change::new([0.1 * f64::from(n), dt_s], 0.1, [4.0, 10.0, 100.0]);
        maps::carry(&mut next, [40, 4], &shown, (&tops, &landed), &change);
        std::mem::swap(&mut shown, &mut next);
        landed.fill(0);
    }
    let foam = shown[24 + 40].foam;
    assert!((foam - (-1.9f32 / 4.0).exp()).abs() < 1e-3, "{foam}");
    assert!((shown.iter().map(|s| s.foam).sum::<f32>() - foam).abs() < 1e-4);
    assert!((shown[30 + 40].come[0][0] - 20.0).abs() < 1e-3);
    // Half a turn apart: at t = 100 s the first, at 50 s the second is laid anew, and neither is seen then.
    assert_eq!(Change::new([49.95, 0.1], 0.1, [4.0, 10.0, 100.0]).laid, 2);
    assert_eq!(Change::new([99.95, 0.1], 0.1, [4.0, 10.0, 100.0]).laid, 1);
    assert!(maps::weights(50.0, 100.0)[1] < 1e-6 && maps::weights(100.0, 100.0)[0] < 1e-6);
    // What falls dry stays wet for a while.
    tops.fill([0.0; 4]);
    for _ in 0..100 {
        let change = Change::new([0.0, 0.1], 0.1, [4.0, 10.0, 100.0]);
        maps::carry(&mut next, [40, 4], &shown, (&tops, &landed), &change);
        std::mem::swap(&mut shown, &mut next);
    }
    assert!((shown[0].wet - (-1.0f32).exp()).abs() < 1e-3 && shown[24 + 40].foam == 0.0);
}

/// A hundred steps of particles and maps on the device and on the processor, over the same water.
#[cfg(feature = "gpu")]
#[test]
fn spray_parity() {
    use fluvial_device::{AdapterChoice, Device, DeviceError};
    use fluvial_tall::gpu::{GpuGrid, GpuSeen, GpuSpray, Kernels};
    use fluvial_tall::spray::SprayFields;
    let device = match Device::open(&AdapterChoice::Auto) {
        Ok(device) => device,
        Err(fault @ DeviceError::NoAdapter { .. }) => return eprintln!("skipped: {fault}"),
        Err(other) => panic!("{other}"),
    };
    // Two states of water that wells up and down, on columns that differ, in turns.
    let grids = [lake_grid(), lake([16, 16, 12], 0.1, LEVEL as i32, 8)];
    let level = |n: usize| move |x: f32, z: f32| LEVEL + (0.5 * x + n as f32).sin() + 0.7 * (0.8 * z).cos();
    let phis: Vec<Vec<f32>> = (0..2)
        .map(|n| field(&grids[n], |x, y, z| (y + 0.5 - level(n)(x, z)).clamp(-5.0, 5.0) * 0.1))
        .collect();
    let us: Vec<_> = (0..2)
        .map(|n| {
            velocity(&grids[n], |x, y, z| [0.1 * y - 1.5, 3.0 * (0.5 * x + n as f32).sin(), (0.3 * z).sin()])
        })
        .collect();
    let fraction: Vec<f32> =
        field(&grids[0], |x, y, _| if x > 12.5 && y > 17.0 && y < 24.0 { 0.8 } else { 0.0 });
    let mut params = Params { trials_1_s: 60.0, most: 300, open: 0b01_0000, ..params(&grids[0], 1.0 / 30.0) };
    let columns = grids[0].columns.len();
    let gpu = GpuSpray::new(&device, columns, params.most as usize).unwrap();
    let mut twin = SprayFields { shown: vec![Shown::default(); columns], ..SprayFields::default() };
    gpu.upload(&device, &twin).unwrap();
    let mut kernels = Kernels::new(&device);
    let up = |values: &[f32]| device.storage_from("test", values).unwrap();
    let g: Vec<GpuGrid> = grids.iter().map(|grid| GpuGrid::new(&device, grid).unwrap()).collect();
    let (phi_b, fraction_b) = ([up(&phis[0]), up(&phis[1])], up(&fraction));
    let u_b: Vec<_> = us.iter().map(|u| device.storage_from("test", u).unwrap()).collect();
    let (mut moved, mut landed, mut tops) = (vec![], vec![0; columns], vec![[0.0; 4]; columns]);
    let mut next = twin.shown.clone();
    let mut seen = [0usize; 5];
    for n in 0..100usize {
        let (a, b) = (n % 2, (n + 1) % 2);
        params.step = n as u32;
        let change = Change::new([n as f64 / 30.0, 1.0 / 30.0], 0.1, [2.0, 10.0, 1.0]);
        let water = Water {
            before: &grids[a],
            phi_before: &phis[a],
            u: &us[a],
            grid: &grids[b],
            phi: &phis[b],
            fraction: &fraction,
        };
        spray::step(&mut twin.particles, &mut twin.counters, &mut landed, &mut moved, (&water, &params));
        maps::surfaces(&mut tops, &grids[a], &phis[a], &us[a]);
        maps::carry(&mut next, [16, 12], &twin.shown, (&tops, &landed), &change);
        std::mem::swap(&mut next, &mut twin.shown);
        let seen_b = GpuSeen {
            grid: &g[b],
            columns_before: &g[a].columns,
            phi: [&phi_b[b], &phi_b[a]],
            u: &u_b[a],
            fraction: &fraction_b,
        };
        gpu.give(&device, &params, &change).unwrap();
        device.submit(&gpu.recording(&mut kernels, &seen_b).unwrap()).unwrap();
        let got = gpu.read(&device).unwrap();
        let [kinds, expected] =
            [&got, &twin].map(|f| f.particles.iter().map(|p| (p.id, p.kind)).collect::<Vec<_>>());
        assert_eq!(kinds, expected, "step {n}");
        assert_eq!(got.counters, twin.counters, "step {n}");
        let numbers = |f: &SprayFields| -> Vec<f32> {
            let of = |p: &Particle| [&p.x[..], &p.v[..], &[p.radius_m, p.left_s, p.age_s]].concat();
            let maps = f.shown.iter().flat_map(|s| [s.foam, s.wet, s.come[0][0], s.come[0][1], s.come[1][0]]);
            f.particles.iter().flat_map(of).chain(maps).collect()
        };
        let off =
            numbers(&got).iter().zip(numbers(&twin)).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
        if n % 20 == 0 {
            println!("step {n}: {} particles, largest difference {off:.1e}, {:?}", kinds.len(), got.counters);
        }
        // Positions are of the order of twenty cells: fifty units in the last place of what was added up in a hundred steps.
        assert!(off < 1e-4, "step {n}: {off}");
        twin.particles.iter().for_each(|p| seen[p.kind as usize] += 1);
        // So that rounding does not add up over steps in which decisions could differ by it.
        gpu.upload(&device, &twin).unwrap();
    }
    println!("seen of each kind: {seen:?}");
    assert!([SPRAY, FOAM, MIST, TRIAL].iter().all(|kind| seen[*kind as usize] > 200), "{seen:?}");
    assert!(twin.counters.refused > 0, "there was room for all");
}
