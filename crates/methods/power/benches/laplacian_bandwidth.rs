//! Speed of the Laplacian as a share of copying the same field of the same pages, for the first-order, the
//! second-order and the explicit-mesh version [power Table 1], and of copying and applying it on streams; iterations of conjugate gradients at
//! three sizes.
//!
//! `cargo bench -p fluvial-power --bench laplacian_bandwidth -- [roots] [threads...]`: by default 104 roots, more than ten million leaves, and
//! 1, 2 and 16 threads.

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::octree::Shape;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, LinearOperator, conjugate_gradients};
use fluvial_linear::sparse::FluxMatrix;
use fluvial_linear::{Norm, Params};
use fluvial_power::channels::FIRST_FREE;
use fluvial_power::diagram::Diagram;
use fluvial_power::pairs::Boundary;
use fluvial_power::rows::{Order, Rows};
use fluvial_power::stream::{Composite, Cycle, Streams};
use fluvial_power::view::View;
use fluvial_power::{laplacian, matrix};
use std::time::Instant;

const P: usize = FIRST_FREE;
const OUT: usize = FIRST_FREE + 1;
/// Runs that are measured together.
const RUNS: usize = 30;

/// Processor time of all threads: what a busy machine does not stretch as it does the time on the clock.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let on_cpu = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(|t| on_cpu(t.path())).sum::<f64>() * 1e-9
}

/// Mean time of a run in the processors' seconds, shared by the threads: the clock's on a machine with nothing else to do.
fn seconds(threads: usize, mut body: impl FnMut()) -> f64 {
    body();
    let start = cpu_seconds();
    (0..RUNS).for_each(|_| body());
    (cpu_seconds() - start) / (RUNS * threads) as f64
}

/// Copies a field, block by block.
fn copy(pyramid: &mut Pyramid, out: usize, from: usize) {
    for level in pyramid.levels_mut() {
        level.for_each_used_block([out], |n, page, reader, [result]| {
            if let Some(&ahead) = reader.pages().get(n + 8) {
                reader.prefetch(ahead, from);
                reader.prefetch(ahead, out);
            }
            *result = *reader.channel(page, from);
        });
    }
}

/// Copies a field, some blocks at a time.
fn copy_stream(out: &mut [[f32; 64]], from: &[[f32; 64]]) {
    parallel::for_each_chunk_mut(out, 256, |n, out| {
        out.copy_from_slice(&from[parallel::chunk_range(n, 256, from.len())]);
    });
}

fn measure(roots: usize, threads: &[usize]) {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25 / roots as f32, levels: 3, roots: [roots; 3] };
    // A bumpy layer of small leaves, as a surface asks for, with the next size around it.
    let start = Instant::now();
    let mut pyramid = Pyramid::build(Backing::Reserved, shape, |cell| {
        let at = shape.center(cell);
        let height = 0.45 + 0.1 * (7.0 * at.x).sin() * (5.0 * at.z).cos();
        (at.y - height).abs() < [0.0, 0.06, 0.16][cell.level as usize]
    })
    .unwrap();
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let diagram = Diagram::new(&mut pyramid);
    let encoded = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let second = Rows::new(&pyramid, &diagram, Boundary::default(), Order::Second);
    let rowed = start.elapsed().as_secs_f64();
    let first = Rows::new(&pyramid, &diagram, Boundary::default(), Order::First);
    let leaves = pyramid.active_count();
    let p: Vec<f32> = (0..leaves).map(|n| (n as f32 * 0.01).sin()).collect();
    pyramid.scatter(P, &p);
    // All pages are touched before anything is measured.
    laplacian::apply(&mut pyramid, &second, OUT, P);
    let blocks: usize = pyramid.levels().iter().map(|l| l.used().len()).sum();
    let special: usize = second.levels.iter().map(|l| l.row_of.len()).sum();
    println!(
        "{leaves} leaves, {blocks} blocks, {:.1} % special cells, {} codes, {} rows, {:.2} GB; tree {built:.2} s, codes {encoded:.2} s, rows {rowed:.2} s",
        100.0 * special as f64 / leaves as f64,
        diagram.table().len(),
        second.rows.len(),
        pyramid.bytes() as f64 * 1e-9
    );
    let bytes = 8.0 * leaves as f64;
    let report = |name: &str, time: f64, reference: f64| {
        println!(
            "{name:<28} {:>8.3} ms {:>7.2} GB/s {:>6.1} %",
            1e3 * time,
            1e-9 * bytes / time,
            100.0 * reference / time
        );
    };
    let mut flat = vec![0.0f32; leaves];
    let mesh: FluxMatrix<f32> = matrix::assemble(&pyramid, &second);
    for &count in threads {
        println!("threads: {count}");
        // Threads that are about to end would take their time with them.
        std::thread::sleep(std::time::Duration::from_millis(100));
        parallel::with_threads(count, || {
            let flat_copy = seconds(count, || {
                parallel::for_each_chunk_mut(&mut flat, parallel::CHUNK, |n, out| {
                    out.copy_from_slice(&p[parallel::chunk_range(n, parallel::CHUNK, p.len())]);
                })
            });
            let paged_copy = seconds(count, || copy(&mut pyramid, OUT, P));
            report("copy of a flat array", flat_copy, paged_copy);
            report("copy of a field in pages", paged_copy, paged_copy);
            let time = seconds(count, || laplacian::apply(&mut pyramid, &first, OUT, P));
            report("first-order Laplacian", time, paged_copy);
            let time = seconds(count, || laplacian::apply(&mut pyramid, &second, OUT, P));
            report("second-order Laplacian", time, paged_copy);
            for (name, rows) in [("first order, streams", &first), ("second order, streams", &second)] {
                let streams = Streams::new(&pyramid, rows);
                let composite = Composite { streams: &streams, rows: &rows.rows };
                let (mut out, mut field) = (streams.field::<f32>(), streams.field::<f32>());
                let values = field.as_flattened_mut().iter_mut().enumerate();
                values.for_each(|(n, v)| *v = (n as f32 * 0.01).sin());
                let copy = seconds(count, || copy_stream(&mut out, &field));
                report("copy of a field in streams", copy, paged_copy);
                let time = seconds(count, || composite.apply(&mut out, &mut field));
                report(name, time, paged_copy);
                println!("{:>53.1} % of the copy in streams", 100.0 * copy / time);
            }
            let time = seconds(count, || {
                parallel::for_each_chunk_mut(&mut flat, parallel::CHUNK, |n, out| {
                    mesh.apply_rows(out, parallel::chunk_range(n, parallel::CHUNK, leaves), &p);
                })
            });
            report("explicit mesh", time, paged_copy);
        });
    }
}

/// Iterations to 1e-5 on a ball of liquid in a tree of three sizes: on streams with the multigrid cycle, as in the solver, and on the matrix with
/// algebraic multigrid.
fn iterations(roots: usize) {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25 / roots as f32, levels: 3, roots: [roots; 3] };
    let phi = |x: Vec3| x.distance(Vec3::new(0.437, 0.461, 0.449)) - 0.33;
    let divide = |cell: fluvial_grids::octree::Cell| {
        phi(shape.center(cell)).abs() < [0.0, 0.06, 0.14][cell.level as usize]
    };
    let mut pyramid = Pyramid::build(Backing::Reserved, shape, divide).unwrap();
    let diagram = Diagram::new(&mut pyramid);
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let values: Vec<f32> = view.leaves().iter().map(|leaf| phi(view.center(*leaf))).collect();
    pyramid.scatter(P, &values);
    pyramid.propagate(P);
    let boundary = Boundary { phi: Some(P), solid: None };
    let [first, second] =
        [Order::First, Order::Second].map(|order| Rows::new(&pyramid, &diagram, boundary, order));
    let a: FluxMatrix<f32> = matrix::assemble(&pyramid, &second);
    let right: Vec<f64> = values.iter().map(|phi| if *phi < 0.0 { 1.0 } else { 0.0 }).collect();
    let params = Params {
        relative_tolerance: 1e-5,
        absolute_tolerance: 0.0,
        max_iterations: 60,
        norm: Norm::Euclidean,
    };
    let mut amg = Amg::new(&a, AmgParams::default());
    let (mut x, mut scratch) = (vec![0.0; right.len()], CgScratch::<f64>::default());
    let info = conjugate_gradients(&mut x, &a, &mut amg.on(&a), &right, &params, &mut scratch).unwrap();
    let streams = Streams::new(&pyramid, &second);
    let mut cycle = Cycle::new(&streams, &pyramid, &second, &first);
    let (mut y, mut b) = (streams.field::<f64>(), streams.field::<f64>());
    streams.scatter(&mut b, &right);
    let composite = Composite { streams: &streams, rows: &second.rows };
    let (y, b, mut scratch) = (y.as_flattened_mut(), b.as_flattened(), CgScratch::<f32>::default());
    let on_streams = conjugate_gradients(y, &composite, &mut cycle, b, &params, &mut scratch).unwrap();
    let unknowns = streams.unknowns();
    let held = streams.bytes() + cycle.bytes() + second.bytes() + scratch.bytes() + 16 * y.len();
    let matrix = a.bytes() + amg.bytes();
    println!(
        "{unknowns} unknowns: {} iterations on streams, {} with algebraic multigrid; {} and {} bytes an unknown",
        on_streams.iterations,
        info.iterations,
        held / unknowns,
        matrix / unknowns
    );
}

fn main() {
    let mut arguments =
        std::env::args().filter(|a| a != "--bench").skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let roots = arguments.next().unwrap_or(104);
    let threads: Vec<usize> = arguments.collect();
    measure(roots, if threads.is_empty() { &[1, 2, 16] } else { &threads });
    println!("bytes per fine voxel: {}", 4096 / 256);
    [16, 32, 48].into_iter().for_each(iterations);
}
