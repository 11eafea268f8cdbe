//! Friction against the exact solutions of hydraulics.

use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{FrictionScratch, NO_GAP, RoughLiquid, find_rough_patches, rub};
use fluvial_solids::{Motion, Shape, SolidFields, rasterize};

const FRICTION: f32 = 0.1;
const FLOOR: [f32; 6] = [0.0, 0.0, FRICTION, 0.0, 0.0, 0.0];

/// Liquid in a box of 1 x 1 x 0.25 m that is open along x, its surface where `phi` is zero, beside a solid.
struct Scene {
    grid: UniformGrid,
    phi_cell: Vec<f32>,
    solids: SolidFields,
}

impl Scene {
    fn new(n: usize, solid: Option<Shape>, phi: impl Fn(Vec3) -> f32 + Sync + Send) -> Self {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [n, n, n / 4], dx: 1.0 / n as f32 };
        let cells = grid.cell_centers();
        let mut phi_cell = vec![0.0; cells.len()];
        cells.for_each_mut(&mut phi_cell, |_, [i, j, k], out| *out = phi(cells.position(i, j, k)));
        let mut solids = SolidFields::default();
        let shapes: Vec<_> = solid.iter().map(|shape| (shape, &Motion::Static)).collect();
        rasterize(&mut solids, &shapes, [true, true, false, false, false, false], &grid, 0.0);
        Scene { grid, phi_cell, solids }
    }

    fn uniform(&self, u: Vec3) -> FaceField {
        let mut field = FaceField::constant(&self.grid, 0.0);
        AXES.into_iter().for_each(|axis| field[axis].fill(u[axis]));
        field
    }

    /// Velocity after so many steps, walls of the domain and solids as rough as given.
    fn slow_down(&self, u: &mut FaceField, walls: [f32; 6], solid: (f32, Vec3), steps: usize, dt_s: f32) {
        let patches = find_rough_patches(&self.grid, &self.solids, walls, |_| solid);
        let gap_cell = vec![NO_GAP; self.phi_cell.len()];
        let liquid = RoughLiquid::new(&self.phi_cell, &gap_cell, &self.grid, &self.solids);
        let mut scratch = FrictionScratch::default();
        (0..steps).for_each(|_| rub(u, &liquid, &patches, dt_s, &mut scratch));
    }

    /// Velocity at the open faces in the liquid.
    fn inner(&self, u: &FaceField, axis: usize, is_inner: impl Fn(Vec3) -> bool) -> Vec<f32> {
        let (faces, cells) = (self.grid.faces(axis), self.grid.cell_centers());
        let wet = |x: Vec3| cells.sample(&self.phi_cell, x) < 0.0;
        let inner = (0..faces.len()).filter(|&face| {
            let [i, j, k] = faces.coordinates(face);
            let x = faces.position(i, j, k);
            wet(x) && is_inner(x) && self.solids.open_area[axis][face] > 0.0
        });
        inner.map(|face| u[axis][face]).collect()
    }
}

/// A layer of depth h on a rough floor: `u = u0 / (1 + C_f u0 t / (2 h))`, the same with cells of any size and steps of any
/// length; with rough sides too the hydraulic radius takes the place of h.
#[test]
fn a_layer_slows_down_as_hydraulics_says() {
    let (h, u0, time_s) = (0.43, 2.0, 1.5);
    let sides = [0.0, 0.0, FRICTION, 0.0, FRICTION, 2.0 * FRICTION];
    for (n, steps) in [(16, 5), (16, 60), (32, 5)] {
        for (walls, per_length) in [(FLOOR, 1.0 / h), (sides, 1.0 / h + 3.0 / 0.25)] {
            let scene = Scene::new(n, None, |x| x.y - h);
            let mut u = scene.uniform(Vec3::new(u0, 0.0, 0.0));
            scene.slow_down(&mut u, walls, (0.0, Vec3::ZERO), steps, time_s / steps as f32);
            let exact = u0 / (1.0 + 0.5 * FRICTION * u0 * time_s * per_length);
            for found in scene.inner(&u, 0, |_| true) {
                assert!((found / exact - 1.0).abs() < 1e-4, "{n} cells, {steps} steps: {found}, {exact}");
            }
        }
    }
}

/// The same layer on a floor at an angle to the grid, in the mean: what part of the layer lies above how much wall
/// differs from cell to cell.
#[test]
fn an_oblique_floor_pulls_on_a_layer_as_a_level_one_does() {
    let (h, u0, time_s) = (0.25, 2.0, 1.0);
    for degrees in [15.0f32, 30.0, 45.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let (normal, along) = (Vec3::new(sin, cos, 0.0), Vec3::new(cos, -sin, 0.0));
        let point = Vec3::new(0.5, 0.5, 0.0);
        let floor = Shape::Plane { point, normal };
        for n in [16, 32] {
            let scene = Scene::new(n, Some(floor.clone()), |x| (x - point).dot(normal) - h);
            let mut u = scene.uniform(u0 * along);
            scene.slow_down(&mut u, [0.0; 6], (FRICTION, Vec3::ZERO), 20, time_s / 20.0);
            let exact = u0 / (1.0 + 0.5 * FRICTION * u0 * time_s / h);
            // Away from the walls of the box every run is as long as the layer is thick.
            let is_inner = |x: Vec3| (x - point).dot(along).abs() < 0.12 && (x - point).dot(normal) > 0.0;
            let mean = |axis: usize| {
                let found = scene.inner(&u, axis, is_inner);
                found.iter().sum::<f32>() / found.len() as f32
            };
            let found = Vec3::new(mean(0), mean(1), 0.0).dot(along);
            let lost = (u0 - found) / (u0 - exact);
            assert!((lost - 1.0).abs() < 0.03, "{degrees} degrees, {n} cells: {found}, exact {exact}");
        }
    }
}

/// A wall at the velocity w brings a layer at rest to `w - w / (1 + C_f w t / (2 h))`; what moves along its normal is left
/// alone.
#[test]
fn a_moving_wall_drags_liquid_along() {
    let (h, w, time_s) = (0.4, 1.5, 2.0);
    let floor = Shape::Plane { point: Vec3::new(0.0, 0.1, 0.0), normal: Vec3::Y };
    for n in [16, 32] {
        let scene = Scene::new(n, Some(floor.clone()), |x| x.y - 0.1 - h);
        let mut u = scene.uniform(Vec3::new(0.0, 0.3, 0.0));
        scene.slow_down(&mut u, [0.0; 6], (FRICTION, Vec3::new(w, 0.0, 0.0)), 10, time_s / 10.0);
        let exact = w - w / (1.0 + 0.5 * FRICTION * w * time_s / h);
        for found in scene.inner(&u, 0, |_| true) {
            assert!((found / exact - 1.0).abs() < 1e-3, "{n} cells: {found}, {exact}");
        }
        assert!(u[1].iter().all(|&v| v == 0.3));
    }
}

/// Any flow in a box of rough walls beside a rough ball loses energy in steps of any length.
#[test]
fn friction_takes_energy_from_any_flow() {
    let ball = Shape::Sphere { center: Vec3::new(0.4, 0.3, 0.1), radius: 0.17 };
    let scene = Scene::new(16, Some(ball), |x| x.y - 0.6 - 0.1 * (7.0 * x.x).sin());
    let mut u = FaceField::constant(&scene.grid, 0.0);
    for axis in AXES {
        let area = &scene.solids.open_area[axis];
        let waves = |n: usize| (1.3 * n as f32 + axis as f32).sin();
        u[axis].iter_mut().enumerate().for_each(|(n, u)| *u = if area[n] > 0.0 { waves(n) } else { 0.0 });
    }
    let wet_mass = |axis: usize, face: usize| {
        let cells = fluvial_mac::FaceCells::beside(&scene.grid, axis, face);
        let wet = [cells.low, cells.high].into_iter().flatten();
        wet.filter(|&cell| scene.phi_cell[cell] < 0.0).count() as f64
    };
    let energy = |u: &FaceField| -> f64 {
        let of = |axis: usize| (0..u[axis].len()).map(move |n| (axis, n));
        AXES.into_iter().flat_map(of).map(|(a, n)| wet_mass(a, n) * f64::from(u[a][n]).powi(2)).sum()
    };
    let mut last = energy(&u);
    for dt_s in [1e-3, 0.1, 1.0, 100.0, 1e6] {
        scene.slow_down(&mut u, [0.02; 6], (0.3, Vec3::ZERO), 1, dt_s);
        let now = energy(&u);
        assert!(now < last && now.is_finite(), "a step of {dt_s} s: {last} J, then {now}");
        last = now;
    }
}
