//! Bodies that the liquid moves.

use fluvial_conformance as suite;
use fluvial_solver_interface::{Setup, Solver};
use fluvial_solver_tall::{Params, TallSolver};

fn with_cubic(setup: Setup, cubic_cells: u32) -> Box<dyn Solver> {
    let params = Params { cubic_cells, cells_below: 4.0, cells_above: 4.0, ..Params::default() };
    Box::new(TallSolver::new(setup, params).unwrap())
}

fn build(setup: Setup) -> Box<dyn Solver> {
    with_cubic(setup, 14)
}

#[test]
fn a_floating_cube_is_half_under() {
    suite::a_floating_cube_is_half_under(build, 1.0, 0.05);
}

#[test]
fn a_neutral_body_stays_where_it_is() {
    suite::a_neutral_body_stays_where_it_is(build, 2e-3);
}

#[test]
fn a_light_ball_rises_without_shaking() {
    // The ball begins deeper than fourteen cells reach.
    suite::a_light_ball_rises_without_shaking(|setup| with_cubic(setup, 22));
}

#[test]
fn a_heavy_cube_lies_still_on_the_floor() {
    suite::a_heavy_cube_lies_still_on_the_floor(build);
}

#[test]
fn restored_bodies_go_on_to_the_bit() {
    suite::restored_bodies_go_on_to_the_bit(build);
}

#[test]
fn scratch() {
    use fluvial_foundation::Vec3;
    use fluvial_solids::{Pose, Shape};
    use fluvial_solver_interface::{FreeBody, Solid, Start, Weight};
    let cube = Shape::Box { min: Vec3::splat(-0.15), max: Vec3::splat(0.15) };
    let mut setup = suite::tank(20, 0.5);
    let pose = Pose { translate: Vec3::new(0.5, 0.5, 0.5), ..Pose::IDENTITY };
    let start = Start { weight: Weight::Density(500.0), pose, ..Start::default() };
    setup.solids.push(Solid::body("body", cube, FreeBody { start, joints: vec![] }));
    let mut s = with_cubic(setup, 14);
    println!("volume {}", s.initial_report().liquid_volume_m3);
    for n in 0..80 {
        let dt = if n % 2 == 0 { 0.0403 } else { 0.0014 };
        let r = s.step(dt).unwrap();
        let b = s.bodies().remove(0);
        println!(
            "{n} dt {dt:.4} y {:.5} v {:.5} {:.5} F {:.3} speed {:.4} h {:.4} {:.4} vol {:.1e}",
            b.pose.translate.y,
            b.twist.linear.x,
            b.twist.linear.y,
            b.force_n.y / (0.027 * 500.0 * 9.81),
            r.max_speed_m_s,
            s.height_at(0.1, 0.1),
            s.height_at(0.5, 0.25),
            r.volume_error
        );
    }
}
