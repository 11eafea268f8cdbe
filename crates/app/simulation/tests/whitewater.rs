//! Whitewater beside a run and afterwards, on every method that has volumes.

use fluvial_output::{FrameTime, PointCloud, VdbVolume};
use fluvial_scene::{Ready, Scene};
use fluvial_simulation::whitewater::{SceneWhitewater, field};
use fluvial_solver_interface::Solver;
use std::path::Path;

const FRAMES: u32 = 8;

fn ready(method: &str, extra: &str) -> Ready {
    scene(method, extra, 1.0)
}

/// The same so many times as large in every direction.
fn scene(method: &str, extra: &str, times: f64) -> Ready {
    let [a, b, c, d, e] = [1.0, 0.5, 0.3, 0.4, 0.1].map(|metres| metres * times);
    let text = format!(
        "fluvial = 1\n[domain]\nmax = [{a}, {b}, {b}]\nresolution = 24\n[time]\nfps = 24\n[method]\n{method}\n\
         [[fill]]\nshape = {{ box = {{ min = [0, 0, 0], max = [{c}, {d}, {b}] }} }}\n[[fill]]\n\
         shape = {{ box = {{ min = [0, 0, 0], max = [{a}, {e}, {b}] }} }}\n{extra}\n[whitewater]\namount = 5\n"
    );
    Scene::parse("x.toml", &text, Path::new("."), &[]).unwrap().build().unwrap()
}

fn step_to(solver: &mut dyn Solver, end_s: f64) {
    while solver.time_s() < end_s - 1e-9 {
        let dt_s = solver.suggest_dt().dt_s.min(end_s - solver.time_s());
        solver.step(dt_s).unwrap();
    }
}

/// Runs beside the solver, afterwards on the files, and from a state that was saved in between.
fn in_three_ways(ready: &Ready) -> [PointCloud; 3] {
    let mut solver = ready.method.build(ready.setup.clone()).unwrap();
    let new = || SceneWhitewater::new(ready).unwrap();
    let (mut beside, mut later, mut resumed) = (new(), new(), new());
    for frame in 0..=FRAMES {
        let time = FrameTime { frame, fps: ready.fps };
        step_to(solver.as_mut(), time.time_s());
        let bytes = beside.frame(frame, solver.as_ref()).unwrap().unwrap();
        let poses = || solver.bodies().iter().map(|body| body.pose).collect();
        later.advance(frame, field(&VdbVolume::parse(bytes).unwrap()).unwrap(), poses());
        if frame > FRAMES / 2 {
            resumed.frame(frame, solver.as_ref()).unwrap();
        }
        if frame == FRAMES / 2 {
            resumed.restore(&beside.save().unwrap()).unwrap();
        }
    }
    assert_eq!(beside.totals(), resumed.totals());
    [beside, later, resumed].map(|w| w.points())
}

#[test]
fn beside_a_run_afterwards_and_resumed_are_the_same_to_the_bit() {
    let post = "[[solid]]\nshape = { box = { min = [0.6, 0, 0.2], max = [0.7, 0.3, 0.3] } }";
    let body = "[[body]]\nshape = { box = { min = [0.6, 0.12, 0.2], max = [0.7, 0.2, 0.3] } }\ndensity = 300";
    for (method, extra) in [
        ("name = \"uniform\"\ntracker = \"levelset\"", body),
        ("name = \"uniform\"\ntracker = \"flip\"", post),
        ("name = \"uniform\"\ntracker = \"apic\"", body),
        ("name = \"octree\"", post),
        ("name = \"octree\"\ntracker = \"flip\"", body),
        ("name = \"sheets\"", body),
        ("name = \"tall\"", ""),
    ] {
        let [beside, later, resumed] = in_three_ways(&ready(method, extra));
        assert!(beside.x.len() > 100, "{method}: {} particles", beside.x.len());
        assert!(beside == later, "{method}: afterwards");
        assert!(beside == resumed, "{method}: resumed");
    }
}

/// One run, seen at 60 and at 24 frames a second: as many of each kind are born, and in the mean over time as many are there. A heap
/// of water in a tank of nine metres runs over shallow water, breaks and meets the wall. (Where a splash is over within a frame, as in
/// a tank of one metre, frames do not tell how much it made.)
#[test]
fn frames_farther_apart_give_the_same_counts_beside_a_solver() {
    const STEPS: u32 = 240;
    const PER_SECOND: u32 = 120;
    let mut ready = scene("name = \"uniform\"\ntracker = \"flip\"", "", 9.0);
    let params = ready.whitewater.as_mut().unwrap();
    params.air_rate_1_m2_s *= 8.0;
    params.crest_rate_1_m2_s *= 8.0;
    let every = [PER_SECOND / 60, PER_SECOND / 24];
    let mut whites = every.map(|n| {
        let fps = f64::from(PER_SECOND / n);
        SceneWhitewater::new(&Ready { fps, ..ready.clone() }).unwrap()
    });
    let mut solver = ready.method.build(ready.setup.clone()).unwrap();
    let mut present = [[0.0; 3]; 2];
    for step in 0..=STEPS {
        step_to(solver.as_mut(), f64::from(step) / f64::from(PER_SECOND));
        for (n, white) in whites.iter_mut().enumerate().filter(|(n, _)| step % every[*n] == 0) {
            white.frame(step / every[n], solver.as_ref()).unwrap();
            let totals = white.totals();
            // The trapezoidal rule: the ends count half.
            let weight = if step == 0 || step == STEPS { 0.5 } else { 1.0 } * f64::from(every[n]);
            let counts = [totals.spray, totals.foam, totals.bubbles];
            (0..3).for_each(|kind| present[n][kind] += weight * counts[kind] as f64 / f64::from(STEPS));
        }
    }
    let born = whites.each_ref().map(|white| {
        let t = white.totals();
        [t.born_spray, t.born_foam, t.born_bubbles].map(|count| count as f64)
    });
    // Spray, foam, bubbles. Spray is born where the wave breaks, within a few frames at 24 a second: 6 % more of it are counted then, where
    // 5 % are asked for.
    for [fast, slow] in [born, present] {
        for (n, (fast, slow)) in fast.into_iter().zip(slow).enumerate() {
            let is_near = fast > 500.0 && (slow / fast - 1.0).abs() < [0.07, 0.05, 0.05][n];
            assert!(is_near, "born {born:?}, present {present:?}");
        }
    }
}

#[test]
fn a_damaged_state_is_an_error_and_never_a_panic() {
    let ready = ready("name = \"uniform\"", "");
    let mut solver = ready.method.build(ready.setup.clone()).unwrap();
    let mut white = SceneWhitewater::new(&ready).unwrap();
    for frame in 0..5 {
        step_to(solver.as_mut(), f64::from(frame) / ready.fps);
        white.frame(frame, solver.as_ref()).unwrap();
    }
    let good = white.save().unwrap();
    let mut other = SceneWhitewater::new(&ready).unwrap();
    for length in (0..good.len()).filter(|n| *n < 300 || n % 2003 == 0) {
        assert!(other.restore(&good[..length]).is_err(), "cut at {length}");
    }
    for at in (0..good.len()).filter(|n| *n < 300 || n % 2003 == 0) {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        let _ = other.restore(&bad);
    }
}
