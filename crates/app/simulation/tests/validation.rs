//! The validation cases at their coarse resolutions, over all methods.

use fluvial_simulation::validate::{CASES, Context, print_table, run_case};
use fluvial_solver_interface::Variant;
use fluvial_solver_registry::variants;
use std::sync::atomic::AtomicBool;

/// Cases that take too long with a method for every run of the tests: `fluvial validate CASE --method METHOD` runs them.
const SLOW: [(&str, &str); 6] = [
    ("rest-through-sizes", "cutcell"),
    ("sloshing", "cutcell"),
    ("closed-splash", "cutcell"),
    ("filling", "cutcell"),
    ("user-scenes", "cutcell"),
    ("invariances", "cutcell"),
];

/// Runs one case on every method. Listed failures must fail, all else must pass.
fn check(name: &str) {
    let case = CASES.iter().find(|c| c.name == name).expect("a case of that name");
    let (stop, mut wrong) = (AtomicBool::new(false), vec![]);
    let is_quick = |method: &&Variant| !SLOW.contains(&(name, method.name));
    for method in variants().iter().filter(|m| (case.applies)(m)).filter(is_quick) {
        let start = std::time::Instant::now();
        let outcome =
            run_case(case, &Context { method, fine: false, only: None, stop: &stop, progress: &|_| {} })
                .unwrap();
        println!(
            "{}{name} {}: {:.2} s",
            print_table(&outcome.rows),
            method.name,
            start.elapsed().as_secs_f64()
        );
        wrong.extend(
            outcome.rows.iter().filter(|row| row.is_unexpected_failure()).map(|r| format!("fails: {r:?}")),
        );
        let passes = outcome.rows.iter().filter(|row| row.is_unexpected_pass());
        wrong.extend(passes.map(|row| format!("passes now, take it off the list: {row:?}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

macro_rules! cases {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { check($name); })*
        #[test]
        fn every_case_is_tested() {
            let tested = [$($name),*];
            assert!(CASES.iter().all(|c| tested.contains(&c.name)) && tested.len() == CASES.len());
        }
    };
}

cases! {
    hydrostatic "hydrostatic"
    rest_through_sizes "rest-through-sizes"
    sloshing "sloshing"
    free_fall "free-fall"
    galilean_drift "galilean-drift"
    zalesak "zalesak"
    enright "enright"
    poisson_free_surface "poisson-free-surface"
    poisson_solid "poisson-solid"
    drop_oscillation "drop-oscillation"
    drop_across_levels "drop-across-levels"
    static_drop "static-drop"
    gravity_capillary_wave "gravity-capillary-wave"
    dam_break "dam-break"
    friction "friction"
    bodies "bodies"
    splash "splash"
    closed_splash "closed-splash"
    filling "filling"
    user_scenes "user-scenes"
    built_in_scenes "built-in-scenes"
    invariances "invariances"
}
