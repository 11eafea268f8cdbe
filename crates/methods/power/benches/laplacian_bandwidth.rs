//! Speed of the Laplacian as a share of copying the same field of the same pages, for the first-order, the
//! second-order and the explicit-mesh version [power Table 1].
//!
//! `cargo bench -p fluvial-power --bench laplacian_bandwidth -- [roots] [threads]`

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::octree::Shape;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;
use fluvial_linear::krylov::LinearOperator;
use fluvial_linear::sparse::FluxMatrix;
use fluvial_power::channels::FIRST_FREE;
use fluvial_power::diagram::Diagram;
use fluvial_power::laplacian;
use fluvial_power::mesh::PowerMesh;
use fluvial_power::pairs::Boundary;
use fluvial_power::rows::{Order, Rows};
use std::time::Instant;

const P: usize = FIRST_FREE;
const OUT: usize = FIRST_FREE + 1;

/// Shortest time of some runs: what others do on the machine only adds.
fn seconds(mut body: impl FnMut()) -> f64 {
    body();
    let times = (0..40).map(|_| {
        let start = Instant::now();
        body();
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
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

fn measure(roots: usize) {
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
    let flat_copy = seconds(|| {
        parallel::for_each_chunk_mut(&mut flat, parallel::CHUNK, |n, out| {
            out.copy_from_slice(&p[parallel::chunk_range(n, parallel::CHUNK, p.len())]);
        })
    });
    let paged_copy = seconds(|| copy(&mut pyramid, OUT, P));
    report("copy of a flat array", flat_copy, paged_copy);
    report("copy of a field in pages", paged_copy, paged_copy);
    let time = seconds(|| laplacian::apply(&mut pyramid, &first, OUT, P));
    report("first-order Laplacian", time, paged_copy);
    let time = seconds(|| laplacian::apply(&mut pyramid, &second, OUT, P));
    report("second-order Laplacian", time, paged_copy);
    let mesh: FluxMatrix<f32> = PowerMesh::new(&pyramid, &diagram).laplacian(vec![0.0; leaves]);
    let time = seconds(|| {
        parallel::for_each_chunk_mut(&mut flat, parallel::CHUNK, |n, out| {
            mesh.apply_rows(out, parallel::chunk_range(n, parallel::CHUNK, leaves), &p);
        })
    });
    report("explicit mesh", time, paged_copy);
}

fn main() {
    let mut arguments =
        std::env::args().filter(|a| a != "--bench").skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let roots = arguments.next().unwrap_or(96);
    let threads = arguments.next().map_or(vec![1, 2], |n| vec![n]);
    for count in threads {
        println!("threads: {count}");
        parallel::with_threads(count, || measure(roots));
    }
}
