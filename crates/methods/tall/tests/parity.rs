//! Every kernel on the GPU against its twin on the CPU. Skipped, with a message, where there is no adapter.
//!
//! Both do the same operations in the same order in f32; differences come from drivers that fuse a
//! multiplication with an addition, or that divide and take roots with an error of a few units in the last
//! place.

use crate::scenes::*;
use bytemuck::Pod;
use fluvial_device::{AdapterChoice, Binding, Buffer, Device, DeviceError, Recording};
use fluvial_grids::TallGrid;
use fluvial_tall::gpu::{GpuGrid, GpuMultigrid, Kernels, MultigridBuffers};
use fluvial_tall::hierarchy::coarsen_until;
use fluvial_tall::pressure::multigrid::{Cycles, Multigrid};
use fluvial_tall::pressure::projection::{
    Liquid, divergence, right_side, right_side_counting, subtract_gradient,
};
use fluvial_tall::pressure::{stencil, transfer};
use fluvial_tall::walls::Walls;
use fluvial_tall::{advect, extrapolate, redistance, remesh};

/// Largest difference over the largest value that is allowed.
const TOLERANCE: f32 = 2e-6;

struct Parity<'d> {
    device: &'d Device,
    kernels: Kernels<'d>,
}

/// Number lists as one list of f32.
trait Numbers {
    fn numbers(&self) -> Vec<f32>;
}
impl Numbers for [f32] {
    fn numbers(&self) -> Vec<f32> {
        self.to_vec()
    }
}
impl<const N: usize> Numbers for [[f32; N]] {
    fn numbers(&self) -> Vec<f32> {
        self.iter().flatten().copied().collect()
    }
}
impl Numbers for [[i32; 2]] {
    fn numbers(&self) -> Vec<f32> {
        self.iter().flatten().map(|&v| v as f32).collect()
    }
}

impl Parity<'_> {
    fn up<T: Pod>(&self, values: &[T]) -> Buffer<T> {
        self.device.storage_from("test", values).unwrap()
    }

    fn run(
        &mut self,
        kernel: (&'static str, &'static str),
        buffers: impl IntoIterator<Item = (u32, Binding)>,
        groups: [u32; 3],
    ) {
        let bound = self.kernels.bind(kernel, buffers).unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
        let mut recording = Recording::new();
        recording.dispatch(&bound, groups);
        self.device.submit(&recording).unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
    }

    /// The largest difference, printed and checked.
    fn same<T: Pod>(&self, what: &str, got: &Buffer<T>, expected: &[T])
    where
        [T]: Numbers,
    {
        let got = self.device.read(got).unwrap().numbers();
        let expected = expected.numbers();
        let difference = got.iter().zip(&expected).fold(0.0f32, |a, (x, y)| {
            assert!(!x.is_nan() && !y.is_nan(), "{what}: not a number");
            a.max((x - y).abs())
        });
        let scale = largest(&expected).max(1e-30);
        println!("{what}: largest difference {difference:.1e} of {scale:.1e}");
        assert!(scale > 1e-6, "{what}: the test has no signal");
        assert!(difference <= TOLERANCE * scale, "{what}");
    }
}

fn with_device(body: impl FnOnce(&mut Parity)) {
    match Device::open(&AdapterChoice::Auto) {
        Ok(device) => {
            println!("on {}", device.record());
            body(&mut Parity { device: &device, kernels: Kernels::new(&device) });
        }
        Err(fault @ DeviceError::NoAdapter { .. }) => eprintln!("skipped: {fault}"),
        Err(other) => panic!("{other}"),
    }
}

type Scene = (TallGrid, Vec<f32>, Vec<f32>, Vec<[f32; 4]>);

/// Walls that let go around a grid, under a ceiling at this height.
pub fn letting_go(grid: &TallGrid, height: i32) -> Walls {
    Walls::new([true; 5], height, grid.dx_m, 1e3, GRAVITY)
}

/// Height of a ceiling that the scene touches, cells.
const CEILING: i32 = 24;

fn scene() -> Scene {
    crate::pressure::flood(32, 0.6)
}

#[test]
fn extrapolation_is_the_same() {
    with_device(|t| {
        let (grid, phi, _, u) = scene();
        let (g, phi_b, u_b) = (GpuGrid::new(t.device, &grid).unwrap(), t.up(&phi), t.up(&u));
        let band = 2.0 * grid.dx_m;
        let params = t.device.uniform(&[band, 0.0, 0.0, 0.0]).unwrap();
        let (mut marked, mut banded) = (u.clone(), u.clone());
        extrapolate::mark_known(&mut marked, &u, &grid, &phi);
        let marked_b = t.up(&u);
        let fields = [(5, u_b.binding()), (6, phi_b.binding()), (7, marked_b.binding())];
        t.run(("extrapolate", "mark_known"), g.own().into_iter().chain(fields), g.sample_groups());
        t.same("mark_known", &marked_b, &marked);
        extrapolate::band_pass(&mut banded, &marked, &grid, &phi, band);
        let banded_b = t.up(&u);
        let fields =
            [(4, params.binding()), (5, marked_b.binding()), (6, phi_b.binding()), (7, banded_b.binding())];
        t.run(("extrapolate", "band_pass"), g.own().into_iter().chain(fields), g.sample_groups());
        t.same("band_pass", &banded_b, &banded);

        let coarse = grid.coarser();
        let c = GpuGrid::new(t.device, &coarse).unwrap();
        let mut restricted = vec![[0.0; 4]; coarse.samples()];
        extrapolate::restrict_known(&mut restricted, &coarse, &grid, &banded);
        let restricted_b = t.up(&vec![[9.0f32; 4]; coarse.samples()]);
        let fields = [(5, banded_b.binding()), (6, restricted_b.binding())];
        let both = c.own().into_iter().chain(g.other()).chain(fields);
        t.run(("levels", "restrict_known"), both, c.sample_groups());
        t.same("restrict_known", &restricted_b, &restricted);
        let mut filled = restricted.clone();
        extrapolate::fill_coarsest(&mut filled, &restricted);
        let filled_b = t.up(&restricted);
        let fields = [(0, c.own()[0].1.clone()), (4, restricted_b.binding()), (6, filled_b.binding())];
        t.run(("levels", "fill_coarsest"), fields, [1, 1, 1]);
        t.same("fill_coarsest", &filled_b, &filled);
        let mut prolonged = u.clone();
        extrapolate::prolong_unknown(&mut prolonged, &banded, &grid, &coarse, &filled);
        let prolonged_b = t.up(&u);
        let fields = [(4, banded_b.binding()), (5, filled_b.binding()), (6, prolonged_b.binding())];
        let both = g.own().into_iter().chain(c.other()).chain(fields);
        t.run(("levels", "prolong_unknown"), both, g.sample_groups());
        t.same("prolong_unknown", &prolonged_b, &prolonged);
    });
}

#[test]
fn redistancing_is_the_same() {
    with_device(|t| {
        let (grid, phi, _, _) = scene();
        let phi: Vec<f32> = phi.iter().map(|v| 1.7 * v).collect();
        let (g, phi_b) = (GpuGrid::new(t.device, &grid).unwrap(), t.up(&phi));
        let mut out = phi.clone();
        let mut check = |t: &mut Parity,
                         entry,
                         cpu: fn(&mut [f32], &[f32], &TallGrid),
                         from: &Buffer<f32>,
                         values: &[f32]| {
            cpu(&mut out, values, &grid);
            let out_b = t.up(&phi);
            let fields = [(4, from.binding()), (5, out_b.binding())];
            t.run(("redistance", entry), g.own().into_iter().chain(fields), g.sample_groups());
            t.same(entry, &out_b, &out);
            (out_b, out.clone())
        };
        check(t, "clamp_frame", redistance::clamp_frame, &phi_b, &phi);
        let (mut b, mut values) = check(t, "start", redistance::start, &phi_b, &phi);
        for _ in 0..4 {
            (b, values) = check(t, "distance_pass", redistance::pass, &b, &values);
        }
    });
}

#[test]
fn advection_is_the_same() {
    with_device(|t| {
        let (grid, phi, _, u) = scene();
        let g = GpuGrid::new(t.device, &grid).unwrap();
        let dt = 1.0 / 30.0;
        let (mut carried, mut from, mut new) = (u.clone(), u.clone(), u.clone());
        let walls = letting_go(&grid, CEILING);
        let pressure = field(&grid, |x, y, z| 1e3 * (0.9 * x + 0.7 * y + 0.5 * z).sin());
        advect::trace_back((&mut carried, &mut from), &grid, (&u, &phi), (&walls, &pressure), dt);
        advect::correct(&mut new, &grid, &u, (&carried, &from), [0.0, -GRAVITY, 0.0], dt);
        let params = t.device.uniform(&[0.0, -GRAVITY, 0.0, dt]).unwrap();
        let (u_b, phi_b, carried_b, from_b) = (t.up(&u), t.up(&phi), t.up(&u), t.up(&u));
        let (new_b, phi_new_b) = (t.up(&u), t.up(&phi));
        let fields = [
            (4, params.binding()),
            (5, u_b.binding()),
            (6, phi_b.binding()),
            (7, carried_b.binding()),
            (8, from_b.binding()),
        ];
        let (walls_b, pressure_b) = (t.device.uniform(&walls.as_numbers()).unwrap(), t.up(&pressure));
        let walls = [(25, walls_b.binding()), (26, pressure_b.binding())];
        let back = g.own().into_iter().chain(fields).chain(walls);
        t.run(("advect", "trace_back"), back, g.sample_groups());
        t.same("trace_back: source", &from_b, &from);
        t.same("trace_back: carried", &carried_b, &carried);
        let fields = [
            (4, params.binding()),
            (5, u_b.binding()),
            (7, carried_b.binding()),
            (8, from_b.binding()),
            (9, new_b.binding()),
            (10, phi_new_b.binding()),
        ];
        t.run(("advect", "correct"), g.own().into_iter().chain(fields), g.sample_groups());
        t.same("correct", &new_b, &new);
        let mut phi_new = phi.clone();
        advect::carried_phi(&mut phi_new, &carried);
        t.same("correct: phi", &phi_new_b, &phi_new);
    });
}

#[test]
fn a_finer_surface_is_the_same() {
    with_device(|t| {
        let (grid, _, _, u) = scene();
        let surface = crate::transport::finer(&grid);
        let phi = field(&surface, |x, y, z| (0.11 * x).sin() + (0.07 * y - 0.05 * z).cos());
        let mut expected = phi.clone();
        advect::surface_back(&mut expected, (&surface, &phi), (&grid, &u), 2.0, 1.0 / 30.0);
        let (g, v) = (GpuGrid::new(t.device, &surface).unwrap(), GpuGrid::new(t.device, &grid).unwrap());
        let params = t.device.uniform(&[2.0f32, 1.0 / 30.0, 0.0, 0.0]).unwrap();
        let (phi_b, u_b, out) = (t.up(&phi), t.up(&u), t.up(&phi));
        let fields = [(4, params.binding()), (5, phi_b.binding()), (6, u_b.binding()), (7, out.binding())];
        let both = g.own().into_iter().chain(v.other()).chain(fields);
        t.run(("surface", "surface_back"), both, g.sample_groups());
        t.same("surface_back", &out, &expected);
    });
}

#[test]
fn remeshing_is_the_same() {
    with_device(|t| {
        let (grid, phi, _, u) = scene();
        let params = remesh::RemeshParams::default();
        let mut columns = grid.columns.clone();
        remesh::remesh(&mut columns, &grid, &phi, &params, &[], &mut remesh::Scratch::default());
        assert!(columns != grid.columns);
        let (g, phi_b, count) = (GpuGrid::new(t.device, &grid).unwrap(), t.up(&phi), columns.len());
        let params_b =
            t.device.uniform(&[params.cells_below, params.cells_above, params.difference, 0.0]).unwrap();
        let ranges_b = t.up(&vec![[0.0f32; 2]; count]);
        let mut ranges = vec![[0.0; 2]; count];
        remesh::top_ranges(&mut ranges, &grid, &phi, &params);
        let fields = [(4, params_b.binding()), (5, phi_b.binding()), (6, ranges_b.binding())];
        t.run(("remesh", "top_ranges"), g.own().into_iter().chain(fields), g.column_groups());
        t.same("top_ranges", &ranges_b, &ranges);
        let (mut a, mut b) = (t.up(&vec![0.0f32; count]), t.up(&vec![0.0f32; count]));
        remesh::keep_off_shallows(&mut ranges, &grid, &params, &mut vec![]);
        let along_x = [(4, params_b.binding()), (6, ranges_b.binding()), (8, a.binding())];
        t.run(("remesh", "lowest_along_x"), g.own().into_iter().take(1).chain(along_x), g.column_groups());
        let along_z = [(4, params_b.binding()), (6, ranges_b.binding()), (7, a.binding())];
        t.run(("remesh", "lowest_along_z"), g.own().into_iter().chain(along_z), g.column_groups());
        t.same("keep_off_shallows", &ranges_b, &ranges);
        let fields = [(0, g.own()[0].1.clone()), (6, ranges_b.binding()), (8, a.binding())];
        t.run(("remesh", "middles"), fields, g.column_groups());
        for entry in ["smooth_pass", "smooth_pass", "limit_pass", "limit_pass"] {
            let mut fields =
                vec![(0, g.own()[0].1.clone()), (6, ranges_b.binding()), (7, a.binding()), (8, b.binding())];
            if entry == "limit_pass" {
                fields.push((4, params_b.binding()));
            }
            t.run(("remesh", entry), fields, g.column_groups());
            std::mem::swap(&mut a, &mut b);
        }
        let columns_b = t.up(&grid.columns);
        let fields = [(7, a.binding()), (9, columns_b.binding())];
        t.run(("remesh", "columns_from_tops"), g.own().into_iter().chain(fields), g.column_groups());
        t.same("columns_from_tops", &columns_b, &columns);

        let new = TallGrid::new([grid.nx, grid.regular, grid.nz], grid.dx_m, columns);
        let n = GpuGrid::new(t.device, &new).unwrap();
        let (mut phi_new, mut u_new) = (phi.clone(), u.clone());
        remesh::transfer(&mut phi_new, &new, &grid, &phi);
        remesh::transfer(&mut u_new, &new, &grid, &u);
        let (phi_out, u_out, u_b) = (t.up(&phi), t.up(&u), t.up(&u));
        let both = || n.own().into_iter().chain(g.other());
        t.run(
            ("move", "transfer_scalar"),
            both().chain([(4, phi_b.binding()), (5, phi_out.binding())]),
            n.column_groups(),
        );
        t.same("transfer_scalar", &phi_out, &phi_new);
        // Tops so high that many tall cells hold the surface.
        let risen = new.columns.iter().map(|c| [c[0], c[1] + 16]).collect();
        let risen = TallGrid::new([grid.nx, grid.regular, grid.nz], grid.dx_m, risen);
        let r = GpuGrid::new(t.device, &risen).unwrap();
        remesh::transfer_phi(&mut phi_new, &risen, &grid, &phi);
        for kernel in [("move", "transfer_scalar"), ("move", "keep_liquid")] {
            let fields = [(4, phi_b.binding()), (5, phi_out.binding())];
            t.run(kernel, r.own().into_iter().chain(g.other()).chain(fields), r.column_groups());
        }
        t.same("keep_liquid", &phi_out, &phi_new);
        let holds_a_surface = |c: usize| {
            let ends = [0, 1].map(|row| phi_new[risen.index(c % risen.nx, row, c / risen.nx)] <= 0.0);
            ends[0] != ends[1] && risen.columns[c][1] > 2
        };
        assert!((0..risen.columns.len()).filter(|c| holds_a_surface(*c)).count() > 20);
        let bounded_b = t.up(&phi);
        let fields = [(4, phi_out.binding()), (5, bounded_b.binding())];
        t.run(("redistance", "clamp_frame"), r.own().into_iter().chain(fields), r.sample_groups());
        let mut bounded = phi_new.clone();
        redistance::clamp_frame(&mut bounded, &phi_new, &risen);
        t.same("clamp_frame over tall cells with a surface", &bounded_b, &bounded);
        t.run(
            ("move", "transfer_velocity"),
            both().chain([(6, u_b.binding()), (7, u_out.binding())]),
            n.column_groups(),
        );
        t.same("transfer_velocity", &u_out, &u_new);
    });
}

#[test]
fn operator_divergence_and_gradient_are_the_same() {
    with_device(|t| {
        let (grid, phi, fraction, u) = scene();
        let n = grid.samples();
        let u_solid = velocity(&grid, |x, y, z| [0.1 * x, 0.2, 0.01 * y * z]);
        let liquid = Liquid {
            phi: &phi,
            fraction: &fraction,
            u_solid: &u_solid,
            density_kg_m3: 1e3,
            dt_s: 1.0 / 30.0,
        };
        let layers = vec![[1.0f32, 0.5]; grid.columns.len()];
        let (mut rows, mut b, mut d, mut new) = (vec![[0.0; 8]; n], vec![0.0; n], vec![0.0; n], u.clone());
        stencil::build_rows(&mut rows, &grid, (&phi, &fraction), &layers, &letting_go(&grid, CEILING));
        right_side(&mut b, &grid, &u, &liquid);
        divergence(&mut d, &grid, &u, &liquid);
        let p = field(&grid, |x, y, z| 1e3 * (0.3 * x + 0.2 * y).sin() + 40.0 * z);
        subtract_gradient(&mut new, &grid, &u, &rows, &p, &liquid);
        let g = GpuGrid::new(t.device, &grid).unwrap();
        let params = t.device.uniform(&[1e3f32, 1.0 / 30.0, 0.0, 0.0]).unwrap();
        let (phi_b, fraction_b, u_b, solid_b) = (t.up(&phi), t.up(&fraction), t.up(&u), t.up(&u_solid));
        let (layers_b, rows_b) = (t.up(&layers), t.up(&vec![[0.0f32; 8]; n]));
        let shape = || g.own().into_iter().chain([(4, phi_b.binding()), (5, fraction_b.binding())]);
        let walls_b = t.device.uniform(&letting_go(&grid, CEILING).as_numbers()).unwrap();
        let written = [(6, layers_b.binding()), (7, rows_b.binding()), (25, walls_b.binding())];
        t.run(("stencil", "build_rows"), shape().chain(written), g.sample_groups());
        // Diagonals reach 1/1e-3; weights are compared with 1.
        let whole = |rows: &[[f32; 8]]| rows.iter().flat_map(|r| r[..6].to_vec()).collect::<Vec<f32>>();
        let got = t.device.read(&rows_b).unwrap();
        t.same("build_rows", &rows_b, &rows);
        assert_eq!(whole(&got), whole(&rows), "weights of neighbours");
        let (out, u_out, p_b) = (t.up(&b), t.up(&u), t.up(&p));
        let flow = || shape().chain([(7, u_b.binding()), (8, solid_b.binding())]);
        t.run(("projection", "divergence"), flow().chain([(9, out.binding())]), g.sample_groups());
        t.same("divergence", &out, &d);
        t.run(
            ("projection", "right_side"),
            flow().chain([(6, params.binding()), (9, out.binding())]),
            g.sample_groups(),
        );
        t.same("right_side", &out, &b);
        right_side_counting(&mut b, &grid, &u, &liquid);
        let counting = flow().chain([(6, params.binding()), (9, out.binding())]);
        t.run(("projection", "right_side_counting"), counting, g.sample_groups());
        t.same("right_side_counting", &out, &b);
        let last =
            [(6, params.binding()), (10, rows_b.binding()), (11, p_b.binding()), (12, u_out.binding())];
        t.run(("projection", "subtract_gradient"), flow().chain(last), g.sample_groups());
        t.same("subtract_gradient", &u_out, &new);
    });
}

#[test]
fn sweeps_and_transfers_are_the_same() {
    with_device(|t| {
        let (grid, phi, fraction, _) = scene();
        let (n, coarse) = (grid.samples(), grid.coarser());
        let layers: Vec<[f32; 2]> =
            (0..grid.columns.len()).map(|c| [1.0, 0.5 + 0.5 * (c % 2) as f32]).collect();
        let mut rows = vec![[0.0; 8]; n];
        stencil::build_rows(&mut rows, &grid, (&phi, &fraction), &layers, &letting_go(&grid, CEILING));
        let p = field(&grid, |x, y, z| (0.3 * x + 0.2 * y).sin() + 0.04 * z);
        let b = field(&grid, |x, y, z| (0.2 * x - 0.3 * y).cos() + 0.02 * z);
        let (g, c) = (GpuGrid::new(t.device, &grid).unwrap(), GpuGrid::new(t.device, &coarse).unwrap());
        let (rows_b, p_b, b_b, out) = (t.up(&rows), t.up(&p), t.up(&b), t.up(&p));
        let system =
            || g.own().into_iter().chain([(5, rows_b.binding()), (6, p_b.binding()), (7, b_b.binding())]);
        let mut expected = vec![0.0; n];
        for colour in 0..2 {
            let params = t.device.uniform(&[colour, 0, 0, 0]).unwrap();
            stencil::smooth_colour(&mut expected, &grid, &rows, &p, &b, colour);
            t.run(
                ("sweeps", "smooth_colour"),
                system().chain([(4, params.binding()), (8, out.binding())]),
                g.sample_groups(),
            );
            t.same("smooth_colour", &out, &expected);
        }
        stencil::residual(&mut expected, &grid, &rows, &p, &b);
        t.run(("sweeps", "residual"), system().chain([(8, out.binding())]), g.sample_groups());
        t.same("residual", &out, &expected);

        let (phi_b, fraction_b, layers_b) = (t.up(&phi), t.up(&fraction), t.up(&layers));
        let (coarse_out, coarse_layers_b) =
            (t.up(&vec![0.0f32; coarse.samples()]), t.up(&vec![[0.0f32; 2]; coarse.columns.len()]));
        let mut coarse_expected = vec![0.0; coarse.samples()];
        let both = || c.own().into_iter().chain(g.other());
        for keep in [true, false] {
            let params = t.device.uniform(&[u32::from(keep), 0, 0, 0]).unwrap();
            transfer::coarsen_phi(&mut coarse_expected, &coarse, &grid, &phi, keep);
            let fields = [(4, params.binding()), (5, phi_b.binding()), (6, coarse_out.binding())];
            t.run(("transfer", "coarsen_phi"), both().chain(fields), c.sample_groups());
            t.same("coarsen_phi", &coarse_out, &coarse_expected);
        }
        transfer::coarsen_fraction(&mut coarse_expected, &coarse, &grid, &fraction);
        t.run(
            ("transfer", "coarsen_fraction"),
            both().chain([(5, fraction_b.binding()), (6, coarse_out.binding())]),
            c.sample_groups(),
        );
        t.same("coarsen_fraction", &coarse_out, &coarse_expected);
        let mut coarse_layers = vec![[0.0; 2]; coarse.columns.len()];
        transfer::coarsen_layers(&mut coarse_layers, &coarse, &grid, &layers);
        let fields = [(5, p_b.binding()), (7, layers_b.binding()), (8, coarse_layers_b.binding())];
        t.run(("transfer", "coarsen_layers"), both().chain(fields), c.column_groups());
        t.same("coarsen_layers", &coarse_layers_b, &coarse_layers);
        transfer::restrict(&mut coarse_expected, &coarse, (&grid, &layers), &p);
        let fields = [(5, p_b.binding()), (6, coarse_out.binding()), (7, layers_b.binding())];
        t.run(("transfer", "restrict_residual"), both().chain(fields), c.sample_groups());
        t.same("restrict_residual", &coarse_out, &coarse_expected);
        transfer::add_prolonged(&mut expected, &p, (&grid, &rows), &coarse, &coarse_expected);
        let fields =
            [(5, coarse_out.binding()), (6, out.binding()), (9, rows_b.binding()), (10, p_b.binding())];
        let down = g.own().into_iter().chain(c.other()).chain(fields);
        t.run(("transfer", "add_prolonged"), down, g.sample_groups());
        t.same("add_prolonged", &out, &expected);
        let columns_b = t.up(&vec![[0; 2]; coarse.columns.len()]);
        let sizes = [grid.nx as i32, grid.nz as i32, coarse.nx as i32, coarse.nz as i32];
        let sizes = t.device.uniform(&sizes).unwrap();
        let fields = [(0, sizes.binding()), (1, g.columns.binding()), (2, columns_b.binding())];
        t.run(("hierarchy", "coarsen_columns"), fields, c.column_groups());
        t.same("coarsen_columns", &columns_b, &coarse.columns);
    });
}

#[test]
fn whole_cycles_are_the_same() {
    with_device(|t| {
        let (grid, phi, fraction, u) = scene();
        let u_solid = vec![[0.0; 4]; grid.samples()];
        let liquid = Liquid {
            phi: &phi,
            fraction: &fraction,
            u_solid: &u_solid,
            density_kg_m3: 1e3,
            dt_s: 1.0 / 30.0,
        };
        let mut cpu = Multigrid::new(&grid);
        cpu.build(&grid, &phi, &fraction, &letting_go(&grid, CEILING));
        right_side(&mut cpu.levels[0].b, &grid, &u, &liquid);
        let b = cpu.levels[0].b.clone();
        let cycles = Cycles::default();
        cpu.solve(&cycles);
        let mut recording = Recording::new();
        let buffers =
            MultigridBuffers::new(t.device, &grid, cycles.coarsest, &letting_go(&grid, CEILING)).unwrap();
        let mut gpu = GpuMultigrid::new(&mut t.kernels, &buffers);
        let inputs = gpu.inputs();
        t.device.upload(inputs.phi, &phi).unwrap();
        t.device.upload(inputs.fraction, &fraction).unwrap();
        t.device.upload(inputs.b, &b).unwrap();
        recording.stage("build");
        gpu.build(&mut recording).unwrap();
        recording.stage("solve");
        gpu.solve(&mut recording, &cycles).unwrap();
        let times = t.device.submit_timed(&recording).unwrap();
        println!("{} dispatches in one pass: {times:?}", recording.len());
        let got = t.device.read(gpu.pressure()).unwrap();
        let expected = &cpu.levels[0].p;
        let scale = largest(expected);
        let difference = got.iter().zip(expected).fold(0.0f32, |a, (x, y)| a.max((x - y).abs()));
        println!("whole cycles: largest difference {difference:.1e} of {scale:.1e}");
        assert!(difference <= 1e-5 * scale);
        assert!(coarsen_until(&grid, |_| false).len() > 3);
    });
}
