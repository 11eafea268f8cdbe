//! Merged particles save work and change little.

use fluvial_conformance::{advance, dam_break};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_sheets::{Kind, Params, SheetsSolver};

#[test]
fn merging_saves_particles_and_moves_neither_front_nor_height() {
    let run = |adaptive_sampling: bool| {
        let mut setup = dam_break(32, 1.0);
        setup.fills[0].shape = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.5, 0.7, 2.0) };
        let params = Params { adaptive_sampling, ..Params::default() };
        let mut solver = SheetsSolver::new(setup, params).unwrap();
        advance(&mut solver, 0.2);
        let population = solver.population();
        let p = &population.particles;
        let height: f64 = (0..p.len()).map(|i| p.weight(i) as f64 * p.x[i].y as f64).sum();
        let front = p.x.iter().filter(|x| x.y < 0.1).map(|x| x.x).fold(0.0f32, f32::max) as f64;
        (p.len(), population.count(Kind::Merged), front, height, p.total_mass())
    };
    let (with, without) = (run(true), run(false));
    println!("{with:?} {without:?}");
    assert!(with.1 > 500 && without.1 == 0);
    assert!((with.0 as f64) < 0.8 * without.0 as f64, "{} of {} particles", with.0, without.0);
    assert!((with.2 / without.2 - 1.0).abs() < 0.02, "front {} and {}", with.2, without.2);
    assert!((with.3 / without.3 - 1.0).abs() < 0.02, "height {} and {}", with.3, without.3);
    assert_eq!(with.4, without.4);
}
