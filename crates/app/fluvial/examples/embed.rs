//! A program that holds a liquid: it pours, looks, saves, goes back in time and stops.
//!
//! `cargo run --release -p fluvial --example embed`

use fluvial::{Go, Simulation, Wanted};

const SCENE: &str = r#"
fluvial = 1
[domain]
max = [0.5, 0.5, 0.5]
resolution = 20
[method]
name = "uniform"
tracker = "flip"
[[fill]]
shape = { box = { min = [0, 0, 0], max = [0.2, 0.3, 0.5] } }
"#;

/// Pours, looks, saves and goes back.
pub fn main() -> Result<(), fluvial::Error> {
    let mut water = Simulation::from_toml(SCENE)?;
    let mut saved = vec![];
    for frame in 1..=10 {
        water.advance_to(f64::from(frame) / 60.0, |step| {
            println!("t = {:.4} s, fastest {:.2} m/s", step.time_s, step.report.max_speed_m_s);
            Go::On
        })?;
        if frame == 5 {
            water.save(&mut saved)?;
        }
    }
    let particles = water.snapshot(Wanted::PARTICLES).particles.map_or(0, |p| p.x.len());
    let mesh = water.surface(0);
    println!(
        "{particles} particles; a surface of {} triangles, {:.4} m3",
        mesh.triangles.len(),
        mesh.volume()
    );

    let bytes = saved.len() as u64;
    water.restore(&mut saved.as_slice(), bytes)?;
    println!("back at t = {:.4} s", water.time_s());
    Ok(())
}
