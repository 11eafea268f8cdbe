//! Draws procedural liquids, to judge the look of the renderer without a simulation:
//! `cargo bench -p fluvial-preview --bench gallery -- OUTPUT_DIR [NAME]`.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::{Lattice, TriangleMesh, UniformGrid};
use fluvial_preview::{Camera, FilmWriter, RenderParams, RenderScene, render};
use fluvial_surface::{MeshParams, SolidClip, mesh_level_set, mesh_level_set_outside};
use std::path::PathBuf;
use std::time::Instant;

fn smooth_min(a: f32, b: f32, k: f32) -> f32 {
    let h = (0.5 + 0.5 * (b - a) / k).clamp(0.0, 1.0);
    b + h * (a - b) - k * h * (1.0 - h)
}

fn capsule(x: Vec3, a: Vec3, b: Vec3, r: f32) -> f32 {
    let t = ((x - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
    x.distance(a + t * (b - a)) - r
}

fn ripples(x: Vec3) -> f32 {
    0.018 * (9.0 * x.x + 4.0 * x.z).sin()
        + 0.012 * (14.0 * x.z - 7.0 * x.x + 1.0).sin()
        + 0.005 * (31.0 * x.x + 17.0 * x.z).sin()
        + 0.003 * (45.0 * x.z - 28.0 * x.x).sin()
}

fn wavy(x: Vec3) -> f32 {
    x.y - 0.45 - ripples(x)
}

fn drop(x: Vec3) -> f32 {
    let r = (x - Vec3::new(0.5, x.y, 0.5)).length();
    let ring = 0.012 * (38.0 * r).cos() * (-6.0 * (r - 0.12).abs()).exp();
    (x.y - 0.3 - ring).min(x.distance(Vec3::new(0.5, 0.66, 0.5)) - 0.13)
}

/// The bumpy surface that particles leave, with stray drops of a cell or two.
fn rough(x: Vec3) -> f32 {
    let cell = (x * 40.0).floor();
    let id = (cell.x + 100.0 * cell.z) as u64;
    let bump = 0.012 * (fluvial_foundation::random::unit_f32(id, 1) - 0.5);
    let slope = 0.22 + 0.2 * (x.x - 0.5) + 0.05 * (8.0 * x.z).sin() * x.x;
    let mut phi = x.y - slope - bump;
    for n in 0..250u64 {
        let u = fluvial_foundation::random::unit_vec3(n, 8);
        let c = Vec3::new(0.3 + 0.7 * u.x, 0.25 + 0.6 * u.y * u.y, u.z);
        phi = phi.min(x.distance(c) - 0.004 - 0.008 * u.x * u.y);
    }
    phi
}

fn splash(x: Vec3) -> f32 {
    // A surge that climbs the far wall, a crown sheet and drops thrown off it.
    let bed = 0.10 + 0.05 * (1.0 - x.x) + 0.55 * (7.0 * (x.x - 1.02)).exp() + 1.3 * ripples(x);
    let mut phi = 0.75 * (x.y - bed);
    let q = x - Vec3::new(0.35, 0.0, 0.5);
    let r = (q.x * q.x + q.z * q.z).sqrt();
    let angle = q.z.atan2(q.x);
    let top = 0.30 + 0.05 * (9.0 * angle).sin() + 0.03 * (17.0 * angle + 1.0).sin();
    let crown = ((r - 0.16 - 0.35 * (x.y - 0.1).max(0.0).powi(2) * 3.0).abs() - 0.012).max(x.y - top);
    phi = smooth_min(phi, 0.8 * crown, 0.04);
    for n in 0..40u64 {
        let u = fluvial_foundation::random::unit_vec3(n, 5);
        let a = u.x * std::f32::consts::TAU;
        let d = 0.22 + 0.22 * u.y;
        let c = Vec3::new(0.35 + d * a.cos(), 0.28 + 0.4 * u.z * (1.0 - d), 0.5 + d * a.sin());
        let radius = 0.008 + 0.016 * u.y * u.z;
        phi = smooth_min(phi, capsule(x, c, c + 0.03 * (u - 0.5), radius), 0.012);
    }
    phi
}

/// Two seconds of a sloshing tank, to judge films.
fn sloshing(x: Vec3, time_s: f32) -> f32 {
    let w = 5.2 * time_s;
    let swell = 0.13 * (std::f32::consts::PI * x.x).cos() * w.cos();
    let cross = 0.02 * (9.0 * x.x - 1.7 * w).sin() * (7.0 * x.z).cos() + 0.012 * (16.0 * x.z + 2.3 * w).sin();
    let fine = 0.004 * (40.0 * x.x - 3.0 * w).sin() * (33.0 * x.z + 2.0 * w).sin();
    0.9 * (x.y - 0.32 - swell - cross - fine)
}

fn film(out: &std::path::Path) {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [64; 3], dx: 1.0 / 64.0 };
    let (l, params) = (grid.cell_centers(), RenderParams::default());
    let camera = Camera::framing(grid.bounds(), params.width as f32 / params.height as f32);
    let mut film = FilmWriter::new(24.0);
    for frame in 0..48 {
        let liquid =
            mesh_level_set(&fill(&l, |x| sloshing(x, frame as f32 / 24.0)), &l, &MeshParams::default());
        let scene = RenderScene { liquid: &liquid, solids: &[], domain: grid.bounds(), whitewater: &[] };
        let image = render(&scene, &camera, &params);
        image.write_png(&out.join(format!("{frame:04}.png"))).expect("the frame can be written");
        film.push(&image);
    }
    let start = Instant::now();
    film.write_apng(&out.join("film.png")).expect("the film can be written");
    println!("APNG in {:.2} s", start.elapsed().as_secs_f64());
    film.write_mp4(&out.join("film.mp4")).expect("the film can be written");
}

fn pillar(x: Vec3) -> f32 {
    let d = (x - Vec3::new(0.66, 0.3, 0.5)).abs() - Vec3::new(0.06, 0.3, 0.12);
    d.max(Vec3::ZERO).length() + d.max_element().min(0.0)
}

fn fill(l: &Lattice, f: impl Fn(Vec3) -> f32) -> Vec<f32> {
    (0..l.len())
        .map(|n| {
            let [i, j, k] = l.coordinates(n);
            f(l.position(i, j, k))
        })
        .collect()
}

fn main() {
    let mut arguments = std::env::args().filter(|a| a != "--bench").skip(1);
    let out = PathBuf::from(arguments.next().unwrap_or_else(|| "gallery".into()));
    let only = arguments.next();
    std::fs::create_dir_all(&out).expect("the output folder can be made");
    if only.as_deref() == Some("film") {
        return film(&out);
    }
    type Case = (&'static str, fn(Vec3) -> f32, bool, Vec3);
    let cases: [Case; 8] = [
        ("wavy", wavy, false, Vec3::ONE),
        ("drop", drop, false, Vec3::ONE),
        ("splash", splash, false, Vec3::ONE),
        ("pillar", splash, true, Vec3::new(1.0, 0.75, 1.0)),
        (
            "long",
            |x| splash(Vec3::new(0.5 * x.x, x.y, x.z)).min((x.x - 0.4).max(x.y - 0.5)),
            false,
            Vec3::new(2.0, 0.6, 0.6),
        ),
        ("dam", |x| (x.x - 0.4).max(x.y - 0.5), true, Vec3::ONE),
        ("rough", rough, false, Vec3::ONE),
        (
            "tall",
            |x| wavy(x).min(x.distance(Vec3::new(0.5, 1.4, 0.5)) - 0.2),
            false,
            Vec3::new(1.0, 2.0, 1.0),
        ),
    ];
    for (name, phi, with_pillar, size) in cases {
        if only.as_ref().is_some_and(|o| o != name) {
            continue;
        }
        let dx = size.max_element() / 128.0;
        let grid =
            UniformGrid { min: Vec3::ZERO, cells: size.to_array().map(|s| (s / dx).round() as usize), dx };
        let l = grid.cell_centers();
        let values = fill(&l, phi);
        let params = MeshParams::default();
        let mut solids: Vec<TriangleMesh> = vec![];
        let liquid = if with_pillar {
            let fine = Lattice { size: l.size, ..l };
            solids.push(mesh_level_set(&fill(&fine, pillar), &fine, &params));
            let clip = SolidClip { distance: &pillar, overlap: 0.5 * l.spacing };
            mesh_level_set_outside(&values, &l, &clip, &params)
        } else {
            mesh_level_set(&values, &l, &params)
        };
        let domain = Aabb { min: grid.min, max: grid.bounds().max };
        let scene = RenderScene { liquid: &liquid, solids: &solids, domain, whitewater: &[] };
        let mut params = RenderParams::default();
        if let Some(width) = std::env::var("WIDTH").ok().and_then(|w| w.parse().ok()) {
            (params.width, params.height) = (width, width * 9 / 16);
        }
        let camera = Camera::framing(domain, params.width as f32 / params.height as f32);
        let mut times = vec![];
        let mut image = render(&scene, &camera, &params);
        for _ in 0..3 {
            let start = Instant::now();
            image = render(&scene, &camera, &params);
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        image.write_png(&out.join(format!("{name}.png"))).expect("the picture can be written");
        println!("{name}: {} triangles, {:.3} s", liquid.triangles.len(), times[1]);
    }
}
