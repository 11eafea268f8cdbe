//! Whole pictures: determinism, sane values, and optics that can be checked by eye or by number.

use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_preview::{Ball, Camera, Image, RenderParams, RenderScene, render, render_balls};
use fluvial_surface::{MeshParams, mesh_level_set};

fn mesh(n: usize, phi: impl Fn(Vec3) -> f32) -> (TriangleMesh, Aabb) {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let l = grid.cell_centers();
    let values: Vec<f32> = (0..l.len())
        .map(|c| {
            let [i, j, k] = l.coordinates(c);
            phi(l.position(i, j, k))
        })
        .collect();
    (mesh_level_set(&values, &l, &MeshParams::default()), grid.bounds())
}

fn small() -> RenderParams {
    RenderParams { width: 96, height: 54, light_map: 64, ..RenderParams::default() }
}

fn waves(x: Vec3) -> f32 {
    let drop = x.distance(Vec3::new(0.4, 0.7, 0.5)) - 0.12;
    (x.y - 0.3 - 0.05 * (9.0 * x.x).sin() * (7.0 * x.z).cos()).min(drop)
}

fn draw(liquid: &TriangleMesh, solids: &[TriangleMesh], domain: Aabb) -> Image {
    let params = small();
    let camera = Camera::framing(domain, params.width as f32 / params.height as f32);
    render(&RenderScene { liquid, solids, domain, whitewater: &[] }, &camera, &params)
}

fn pixel(image: &Image, x: usize, y: usize) -> [i32; 3] {
    let at = 3 * (x + image.width * y);
    [0, 1, 2].map(|c| image.rgb[at + c] as i32)
}

#[test]
fn pixels_do_not_depend_on_threads() {
    let (liquid, domain) = mesh(40, waves);
    let (solid, _) = mesh(24, |x| x.distance(Vec3::new(0.7, 0.2, 0.4)) - 0.2);
    let solids = [solid];
    let with = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| draw(&liquid, &solids, domain))
    };
    assert!(with(1) == with(3));
}

#[test]
fn water_tints_the_floor_and_leaves_the_rest_alone() {
    let (liquid, domain) = mesh(32, |x| x.y - 0.4);
    let (empty, wet) = (draw(&TriangleMesh::default(), &[], domain), draw(&liquid, &[], domain));
    let (x, y) = (empty.width / 2, empty.height * 7 / 10);
    let (dry, seen) = (pixel(&empty, x, y), pixel(&wet, x, y));
    assert!((dry[0] - dry[2]).abs() < 25, "the floor is grey: {dry:?}");
    assert!(seen[2] > seen[0] + 15 && seen[1] > seen[0] + 10, "water is blue-green: {seen:?}");
    for x in [1, empty.width - 2] {
        assert_eq!(pixel(&empty, x, 2), pixel(&wet, x, 2), "the backdrop does not change");
    }
}

#[test]
fn broken_meshes_draw_without_a_panic() {
    let (mut liquid, domain) = mesh(16, waves);
    for n in (0..liquid.positions.len()).step_by(7) {
        liquid.positions[n] = Vec3::splat(f32::NAN);
    }
    liquid.triangles.push([0, 0, 0]);
    draw(&liquid, &[], domain);
    draw(&TriangleMesh::default(), &[TriangleMesh::default()], domain);
}

#[test]
fn a_camera_under_water_sees() {
    let (liquid, domain) = mesh(24, |x| x.y - 0.8);
    let camera =
        Camera { position: Vec3::new(0.5, 0.3, 0.5), look_at: Vec3::new(0.9, 0.35, 0.6), fov_degrees: 60.0 };
    let image =
        render(&RenderScene { liquid: &liquid, solids: &[], domain, whitewater: &[] }, &camera, &small());
    let mean: f64 = image.rgb.iter().map(|&v| v as f64).sum::<f64>() / image.rgb.len() as f64;
    assert!((20.0..230.0).contains(&mean), "mean level {mean}");
}

#[test]
fn solids_hide_and_are_seen_through_water() {
    let (liquid, domain) = mesh(32, |x| x.y - 0.6);
    let (ball, _) = mesh(32, |x| x.distance(Vec3::new(0.5, 0.3, 0.5)) - 0.2);
    let (without, with) = (draw(&liquid, &[], domain), draw(&liquid, &[ball], domain));
    let changed = without.rgb.chunks(3).zip(with.rgb.chunks(3)).filter(|(a, b)| a != b).count();
    assert!(changed > without.width * without.height / 50, "{changed} pixels show the ball");
}

#[test]
fn balls_have_their_colours_hide_what_is_behind_them_and_throw_shadows() {
    let domain = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
    let camera = Camera::framing(domain, 96.0 / 54.0);
    let away = (camera.look_at - camera.position).normalize();
    let (red, blue) = (Vec3::new(0.7, 0.03, 0.03), Vec3::new(0.1, 0.3, 0.6));
    let ball = |center: Vec3, color: Vec3| Ball { center, radius: 0.1, color };
    // A blue ball straight behind a red one, and a red one inside a solid.
    let balls = [ball(Vec3::splat(0.5) + 0.3 * away, blue), ball(Vec3::splat(0.5), red)];
    let with = |balls: &[Ball], solids: &[TriangleMesh], threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| render_balls(balls, solids, domain, &camera, &small()))
    };
    let image = with(&balls, &[], 1);
    assert!(image == with(&balls, &[], 3), "one and three threads");
    let empty = with(&[], &[], 2);
    let reds = |image: &Image| {
        let is_red = |p: &[u8]| i32::from(p[0]) > 60 + i32::from(p[1]).max(i32::from(p[2]));
        image.rgb.chunks_exact(3).filter(|p| is_red(p)).count()
    };
    let blues =
        |image: &Image| image.rgb.chunks_exact(3).filter(|p| i32::from(p[2]) > 40 + i32::from(p[0])).count();
    assert!(reds(&image) > 25 && reds(&empty) == 0, "{}", reds(&image));
    assert!(blues(&image) < 12 && blues(&with(&balls[..1], &[], 2)) > 10, "{}", blues(&image));
    let (solid, _) = mesh(24, |x| x.distance(Vec3::splat(0.5)) - 0.2);
    assert_eq!(reds(&with(&balls[1..], &[solid], 2)), 0, "a solid around it hides it");
    let sum = |image: &Image| image.rgb.chunks_exact(3).map(|p| u32::from(p[1])).collect::<Vec<_>>();
    let darker = sum(&image).iter().zip(sum(&empty)).filter(|(a, b)| **a + 25 < *b).count();
    assert!(darker > reds(&image) + 20, "{darker} pixels are darker: the ball and its shadow");
}

/// The bottom of water on a slope and the slope are one surface up to rounding: wherever the water's came first, rays
/// left it into the slope and its dark inside was seen.
#[test]
fn water_on_a_slope_shows_the_slope_everywhere() {
    let above_slope = |x: Vec3| 0.8 * x.y - 0.6 * (x.x - 0.3);
    let (liquid, domain) = mesh(32, |x| (x.y - 0.5).max(-above_slope(x)));
    let slope = |raised: f32| mesh(24, |x| above_slope(x) - raised).0;
    // Raised by two thousandths the slope comes first everywhere.
    let (seen, sure) = (draw(&liquid, &[slope(0.0)], domain), draw(&liquid, &[slope(2e-3)], domain));
    let tone = |image: &Image, n: usize| image.rgb[3 * n..3 * n + 3].iter().map(|v| *v as i32).sum::<i32>();
    let darker = (0..seen.width * seen.height).filter(|&n| tone(&seen, n) < tone(&sure, n) - 60).count();
    assert!(darker < 30, "{darker} of {} pixels are darker than the slope", seen.width * seen.height);
}
