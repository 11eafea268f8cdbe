//! Bodies in the projection, without the rest of a step.

use fluvial_foundation::{DMat3, DVec3};
use fluvial_grids::TallGrid;
use fluvial_tall::bodies::{
    Around, Beside, Coupled, Element, LARGER, Pair, Pressed, added_masses, body_velocities, press, push, shed,
};
use fluvial_tall::field::Velocity;
use fluvial_tall::pressure::multigrid::{Cycles, Multigrid};
use fluvial_tall::pressure::projection::{Liquid, right_side, subtract_gradient};
use fluvial_tall::pressure::stencil::is_unknown;
use fluvial_tall::walls::Walls;

const DENSITY: f32 = 1000.0;
const GRAVITY: f32 = -10.0;
const DX: f32 = 0.1;

/// A box in a closed tank.
struct Case {
    grid: TallGrid,
    phi: Vec<f32>,
    fraction: Vec<f32>,
    u_solid: Vec<Velocity>,
    elements: Vec<Element>,
    /// Corners, in cells.
    min: [f32; 3],
    max: [f32; 3],
}

/// Samples of a grid as (i, j, k, index).
fn samples(grid: &TallGrid) -> impl Iterator<Item = (usize, usize, usize, usize)> + '_ {
    let all = (0..grid.nz).flat_map(|k| (0..grid.rows()).map(move |j| (j, k)));
    all.flat_map(move |(j, k)| (0..grid.nx).map(move |i| (i, j, k, grid.index(i, j, k))))
}

impl Case {
    /// Corners and the level count from the floor, in cells.
    fn new(n: usize, min: [f32; 3], max: [f32; 3], level: f32) -> Case {
        let grid = TallGrid::new([n, n, n], DX, vec![[0, 2]; n * n]);
        let (mut phi, mut fraction) = (vec![0.0; grid.samples()], vec![0.0; grid.samples()]);
        let mut u_solid = vec![[0.0; 4]; grid.samples()];
        for (i, j, k, index) in samples(&grid) {
            let at = [i as f32, grid.y(i, j, k) as f32, k as f32];
            let overlap = |a: usize| ((at[a] + 1.0).min(max[a]) - at[a].max(min[a])).max(0.0);
            phi[index] = ((at[1] + 0.5 - level) * DX).clamp(-5.0 * DX, 5.0 * DX);
            fraction[index] = overlap(0) * overlap(1) * overlap(2);
            u_solid[index][3] = if fraction[index] > 0.0 { 1.0 } else { 0.0 };
        }
        let mut elements = vec![];
        for (axis, side) in (0..6).map(|n| (n / 2, n % 2)) {
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            let parts = [b, c].map(|a| (max[a] - min[a]).ceil() as usize);
            for (nb, nc) in (0..parts[0]).flat_map(|nb| (0..parts[1]).map(move |nc| (nb, nc))) {
                let (mut at, mut area) = ([0.0f32; 3], [0.0f32; 3]);
                let step = [(max[b] - min[b]) / parts[0] as f32, (max[c] - min[c]) / parts[1] as f32];
                at[axis] = [min, max][side][axis] - 0.5;
                at[b] = min[b] + (nb as f32 + 0.5) * step[0] - 0.5;
                at[c] = min[c] + (nc as f32 + 0.5) * step[1] - 0.5;
                area[axis] = [-1.0, 1.0][side] * step[0] * step[1] * DX * DX;
                elements.push(Element { at, area });
            }
        }
        Case { grid, phi, fraction, u_solid, elements, min, max }
    }

    fn size(&self) -> DVec3 {
        let along = |a: usize| f64::from((self.max[a] - self.min[a]) * DX);
        DVec3::new(along(0), along(1), along(2))
    }

    fn body(&self, relative_density: f64, before: DVec3) -> Coupled {
        let mass_kg = f64::from(DENSITY) * relative_density * self.size().element_product();
        let square = self.size() * self.size();
        let inertia = mass_kg / 12.0 * (DVec3::splat(square.element_sum()) - square);
        let [along, about] = added_masses(self.size(), self.size().element_product(), f64::from(DENSITY));
        let middle = |a: usize| f64::from(0.5 * (self.min[a] + self.max[a]) - 0.5);
        Coupled {
            elements: 0..self.elements.len(),
            center: DVec3::new(middle(0), middle(1), middle(2)),
            inverse_mass: DVec3::splat(1.0 / mass_kg),
            inverse_inertia: DMat3::from_diagonal(inertia).inverse(),
            added_mass: DMat3::from_diagonal(LARGER * along),
            added_inertia: DMat3::from_diagonal(LARGER * about),
            carried: [DMat3::ZERO; 2],
            coarse: 0.0,
            start: [before, DVec3::ZERO],
            before: [before, DVec3::ZERO],
            now: [before, DVec3::ZERO],
            owed: Pair::default(),
            given: Pair::default(),
            lent: Pair::default(),
            shed: DVec3::ZERO,
            deep_m2: 0.0,
        }
    }

    fn around<'a>(&'a self, p: &'a [f32], u: &'a [Velocity]) -> Around<'a> {
        Around {
            grid: &self.grid,
            phi: &self.phi,
            fraction: &self.fraction,
            p,
            u,
            fallen_m_s: 0.0,
            weight_pa: -DENSITY * GRAVITY * DX,
            density_kg_m3: DENSITY,
            dt_s: 1.0,
        }
    }

    /// Body and water, of velocity `water`, after a step of a second, and its pressure.
    fn project(&mut self, body: &mut Coupled, water: DVec3, cycles: usize) -> (Vec<Velocity>, Vec<f32>) {
        let u = vec![[water.x as f32, water.y as f32, water.z as f32, 1.0]; self.grid.samples()];
        let mut multigrid = Multigrid::new(&self.grid);
        multigrid.build(&self.grid, &self.phi, &self.fraction, &Walls::HOLDING);
        let mut pressed = vec![Pressed::default(); self.elements.len()];
        for _ in 0..cycles {
            body_velocities(&mut self.u_solid, &self.grid, std::slice::from_ref(body));
            right_side(&mut multigrid.levels[0].b, &self.grid, &u, &self.liquid());
            multigrid.cycle(0, &Cycles::default());
            let around = self.around(&multigrid.levels[0].p, &u);
            press(&mut pressed, &self.elements, body, &around);
            push(body, &self.elements, &pressed, &around);
        }
        let (mut after, finest) = (u.clone(), &multigrid.levels[0]);
        subtract_gradient(&mut after, &self.grid, &u, &finest.rows, &finest.p, &self.liquid());
        (after, finest.p.clone())
    }

    fn liquid(&self) -> Liquid<'_> {
        let (phi, fraction, u_solid) = (&self.phi[..], &self.fraction[..], &self.u_solid[..]);
        Liquid { phi, fraction, u_solid, density_kg_m3: DENSITY, dt_s: 1.0 }
    }
}

/// A stone that sinks deep in tall cells, and is pushed there: what it loses is what the water around it receives, its weight and lift aside.
#[test]
fn tall_cells_receive_what_a_body_loses() {
    let mut case = Case::new(16, [5.2, 8.3, 4.9], [9.0, 12.3, 8.6], 35.0);
    // The same box in columns whose tall cells reach above it.
    case.grid.columns.iter_mut().for_each(|column| column[1] = 30);
    case.phi.fill(-5.0 * DX);
    case.fraction.fill(0.0);
    let start = DVec3::new(1.5, -0.7, 0.4);
    let mut body = case.body(2.5, start);
    let [along, about] = added_masses(case.size(), case.size().element_product(), f64::from(DENSITY));
    body.carried = [along, about].map(DMat3::from_diagonal);
    let u = vec![[0.2, 0.0, 0.0, 1.0]; case.grid.samples()];
    let at_rest = |(i, j, k, _): (usize, usize, usize, usize)| {
        -GRAVITY * DENSITY * DX * (35.0 - case.grid.y(i, j, k) as f32)
    };
    let p: Vec<f32> = samples(&case.grid).map(at_rest).collect();
    let seen = Around { dt_s: 0.03, ..case.around(&p, &u) };
    let mut pressed = vec![Pressed::default(); case.elements.len()];
    press(&mut pressed, &case.elements, &body, &seen);
    push(&mut body, &case.elements, &pressed, &seen);
    assert!(pressed.iter().all(|p| p.beside == Beside::Deep));
    let mut after = u.clone();
    shed(&mut after, &case.grid, &body, (&case.elements, &pressed), DENSITY);
    let cell_kg = f64::from(DENSITY * DX * DX * DX);
    let mut received = DVec3::ZERO;
    for (i, _, k, n) in samples(&case.grid).filter(|(_, j, ..)| *j < 2) {
        let by: [f64; 3] = std::array::from_fn(|c| f64::from(after[n][c] - u[n][c]));
        // Each end stands for half of the tall cell.
        received += 0.5 * cell_kg * f64::from(case.grid.column(i, k)[1]) * DVec3::from_array(by);
    }
    let mass_kg = 1.0 / body.inverse_mass.x;
    let lift = f64::from(-GRAVITY) * f64::from(DENSITY) * case.size().element_product() * 0.03;
    let lost = mass_kg * (start - body.now[0]) + DVec3::new(0.0, lift, 0.0);
    println!("lost {lost}, received {received} N s");
    assert!(lost.x > 1.0 && (lost - received).length() < 1e-3 * lost.length(), "{lost} {received}");
}

/// Three times as long as wide, a spheroid's added masses are 0.1220 along and 0.8025 across [lamb-1932 §115]; a ball's is half of its water.
#[test]
fn ellipsoids_have_their_added_masses() {
    let [ball, _] = added_masses(DVec3::splat(2.0), 3.0, 1.0);
    assert!((ball / 3.0 - 0.5).abs().max_element() < 1e-4, "{ball}");
    let [long, about] = added_masses(DVec3::new(3.0, 1.0, 1.0), 1.0, 1.0);
    assert!((long - DVec3::new(0.1220, 0.8025, 0.8025)).abs().max_element() < 2e-3, "{}", long);
    assert!(about.x < 0.2 * about.y && (about.y - about.z).abs() < 1e-6, "{about}");
}

/// Water at rest carries what a body displaces, wherever the body lies on the grid and however deep, and does not turn it.
#[test]
fn still_water_carries_what_is_displaced() {
    for (shift, level) in
        [([0.0; 3], 14.2), ([0.3, 0.45, 0.7], 14.2), ([0.85, 0.1, 0.5], 8.4), ([0.2; 3], 9.0)]
    {
        let [min, max]: [[f32; 3]; 2] =
            [[5.0, 6.0, 5.0], [10.0, 11.0, 9.0]].map(|c| std::array::from_fn(|a| c[a] + shift[a]));
        let case = Case::new(16, min, max, level);
        let weight = -DENSITY * GRAVITY * DX;
        let p: Vec<f32> = samples(&case.grid)
            .map(|(i, j, k, _)| (weight * (level - 0.5 - case.grid.y(i, j, k) as f32)).max(0.0))
            .collect();
        let u = vec![[0.0; 4]; p.len()];
        let mut pressed = vec![Pressed::default(); case.elements.len()];
        let mut body = case.body(1.0, DVec3::ZERO);
        press(&mut pressed, &case.elements, &body, &case.around(&p, &u));
        assert!(pressed.iter().all(|p| p.beside != Beside::Enclosed));
        push(&mut body, &case.elements, &pressed, &case.around(&p, &u));
        let under = f64::from((level.min(max[1]) - min[1]) * DX);
        let wanted = f64::from(-DENSITY * GRAVITY) * under * case.size().x * case.size().z;
        let given = body.given[0] + body.lent[0];
        assert!((given - wanted * DVec3::Y).length() < 1e-3 * wanted, "{given} instead of {wanted}");
        assert!((body.given[1] + body.lent[1]).length() < 1e-3 * wanted * case.size().x, "{}", body.given[1]);
    }
}

/// A push moves a body and the water that it takes along: the same water whatever the body's mass, so that the estimate of it
/// does not count in the end.
#[test]
fn bodies_of_every_mass_take_the_same_water_along() {
    let mut added = vec![];
    for density in [0.01, 0.2, 1.0, 8.0] {
        let mut case = Case::new(16, [5.0, 5.3, 5.0], [11.0, 11.3, 11.0], 16.5);
        let mut body = case.body(density, DVec3::X);
        case.project(&mut body, DVec3::ZERO, 12);
        // M (1 - v) = A v.
        added.push(density * (1.0 / body.now[0].x - 1.0));
        assert!(body.lent[0].length() < 1e-3 * density * f64::from(DENSITY) * case.size().element_product());
    }
    let mean = added.iter().sum::<f64>() / added.len() as f64;
    assert!(added.iter().all(|a| (a / mean - 1.0).abs() < 0.01), "{added:?}");
    assert!((0.6..1.0).contains(&mean), "{mean}: a cube's is 0.67 in open water");
}

/// What the pressure takes from a pushed body the water and the walls receive, as a part of it that is left over: exactly where
/// the body lies on the grid's faces, and to first order in the size of cells elsewhere.
#[test]
fn momentum_of_body_and_water_is_accounted_for() {
    let left_over = |scale: usize, density: f64, level: f32, shift: f32| {
        let (n, scaled) = (16 * scale, |v: f32| v * scale as f32);
        let min = [scaled(5.0) + shift, scaled(5.0) + 0.5 * shift, scaled(5.0)];
        let mut case = Case::new(n, min, min.map(|v| v + scaled(6.0)), scaled(level));
        let mut body = case.body(density, DVec3::X);
        let (u, p) = case.project(&mut body, DVec3::ZERO, 12);
        let mut received = 0.0;
        for (i, _, _, index) in samples(&case.grid).filter(|s| is_unknown(case.phi[s.3], case.fraction[s.3]))
        {
            // At the surface a cell has the liquid below it.
            let wet = (0.5 - case.phi[index] / DX).clamp(0.0, 1.0) * (1.0 - case.fraction[index]);
            received += f64::from(DENSITY * DX.powi(3) * wet * u[index][0]);
            let sign = if i == 0 { -1.0 } else { f32::from(i + 1 == n) };
            received += f64::from(sign * DX * DX * wet * p[index]);
        }
        (received + body.given[0].x) / body.given[0].x.abs()
    };
    for (density, level) in [(0.3, 15.4), (2.0, 15.4)] {
        let off = left_over(1, density, level, 0.0);
        assert!(off.abs() < 1e-5, "density {density}, level {level}: {off}");
    }
    for (density, level, shift) in [(0.3, 15.4, 0.35), (2.0, 15.4, 0.6)] {
        let [coarse, fine] = [1, 2].map(|scale| left_over(scale, density, level, shift));
        assert!(
            coarse.abs() < 0.2 && fine.abs() < 0.6 * coarse.abs(),
            "density {density}, level {level}, shift {shift}: {coarse} {fine}"
        );
    }
    // With the surface at the body, the wet parts of cells beside it are known to first order, too.
    let off = left_over(1, 0.3, 8.2, 0.2);
    assert!(off.abs() < 0.1, "half under water: {off}");
}

#[cfg(feature = "gpu")]
mod on_gpu {
    use super::*;
    use fluvial_device::{AdapterChoice, Device, DeviceError, Recording};
    use fluvial_tall::gpu::{GpuAround, GpuBodies, GpuGrid, Kernels};

    /// Two turns of a body on the device and on the processor, from a pressure of no particular kind. Sums over elements are in another
    /// order and precision there, and large pressures cancel in them.
    #[test]
    fn bodies_are_the_same() {
        let device = match Device::open(&AdapterChoice::Auto) {
            Ok(device) => device,
            Err(fault @ DeviceError::NoAdapter { .. }) => return eprintln!("skipped: {fault}"),
            Err(other) => panic!("{other}"),
        };
        let mut case = Case::new(16, [5.2, 5.3, 4.9], [11.0, 9.3, 11.6], 8.6);
        case.grid.columns.iter_mut().skip(120).for_each(|column| column[1] = 8);
        let wave = |n: usize, scale: f32| scale * (0.37 * n as f32).sin();
        let p: Vec<f32> = (0..case.phi.len()).map(|n| 3e3 + wave(n, 2e3)).collect();
        let u: Vec<Velocity> =
            (0..p.len()).map(|n| [wave(n, 0.3), wave(n + 7, 0.2), wave(n + 3, 0.4), 1.0]).collect();
        let mut body = case.body(0.3, DVec3::new(0.2, -0.4, 0.1));
        (body.coarse, body.owed[1]) = (0.2, DVec3::new(0.5, 0.2, -0.1));
        body.now[1] = DVec3::new(0.1, 0.3, -0.2);
        let numbers = GpuBodies::new(&device, 1, case.elements.len()).unwrap();
        numbers.upload(&device, &[body.clone()], &case.elements).unwrap();
        let up = |values: &[f32]| device.storage_from("test", values).unwrap();
        let (grid, phi, fraction) =
            (GpuGrid::new(&device, &case.grid).unwrap(), up(&case.phi), up(&case.fraction));
        let (p_b, u_b) = (up(&p), device.storage_from("test", &u).unwrap());
        let u_solid = device.storage_from("test", &case.u_solid).unwrap();
        let dt_s = 0.03;
        let falls = device.uniform(&[0.0, GRAVITY, 0.0, dt_s]).unwrap();
        let liquid = device.uniform(&[DENSITY, dt_s, 0.0, 0.0]).unwrap();
        let around = GpuAround {
            grid: &grid,
            falls: &falls,
            liquid: &liquid,
            phi: &phi,
            fraction: &fraction,
            u: &u_b,
            u_solid: &u_solid,
        };
        let (mut kernels, mut recording) = (Kernels::new(&device), Recording::new());
        for _ in 0..2 {
            for (kernel, buffers, groups) in
                numbers.push(&around, &p_b).into_iter().chain([numbers.show(&around)])
            {
                recording.dispatch(&kernels.bind(kernel, buffers).unwrap(), groups);
            }
        }
        device.submit(&recording).unwrap();
        let mut other = [body.clone()];
        numbers.read(&device, &mut other).unwrap();
        let seen = Around { fallen_m_s: dt_s * GRAVITY, dt_s, ..case.around(&p, &u) };
        let mut pressed = vec![Pressed::default(); case.elements.len()];
        for _ in 0..2 {
            press(&mut pressed, &case.elements, &body, &seen);
            push(&mut body, &case.elements, &pressed, &seen);
        }
        body_velocities(&mut case.u_solid, &case.grid, std::slice::from_ref(&body));
        assert!(
            [Beside::Dry, Beside::Wet, Beside::Deep].iter().all(|b| pressed.iter().any(|p| p.beside == *b))
        );
        for (what, a, b) in [
            ("now", body.now, other[0].now),
            ("given", body.given, other[0].given),
            ("lent", body.lent, other[0].lent),
        ] {
            for n in 0..2 {
                let off = (a[n] - b[n]).length() / a[n].length();
                println!("{what}: {:.1e} of {:.1e}", off * a[n].length(), a[n].length());
                assert!(off < 2e-5, "{what}: {} and {}", a[n], b[n]);
            }
        }
        let (kernel, buffers, groups) = numbers.shed(&around, &u_b);
        let mut last = Recording::new();
        last.dispatch(&kernels.bind(kernel, buffers).unwrap(), groups);
        device.submit(&last).unwrap();
        let mut water = u.clone();
        shed(&mut water, &case.grid, &body, (&case.elements, &pressed), DENSITY);
        let (mut off, mut moved) = (0.0f32, 0.0f32);
        for ((a, b), before) in device.read(&u_b).unwrap().iter().zip(&water).zip(&u) {
            (0..3).for_each(|c| {
                (off, moved) = (off.max((a[c] - b[c]).abs()), moved.max((b[c] - before[c]).abs()))
            });
        }
        println!("shed: {off:.1e} m/s of {moved:.1e}");
        assert!(moved > 1e-3 && off < 1e-5 * moved.max(1.0), "{off} of {moved}");
        let got = device.read(&u_solid).unwrap();
        let off = got
            .iter()
            .zip(&case.u_solid)
            .flat_map(|(a, b)| (0..4).map(|c| (a[c] - b[c]).abs()))
            .fold(0.0, f32::max);
        assert!(off < 1e-5, "velocities of solids: {off}");
    }
}
