//! The tree follows what the liquid and the scene ask for.

use fluvial_conformance::{advance, dam_break, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Listed, Refine, Setup, SetupError, Solver, VolumeCorrection};
use fluvial_solver_octree::{OctreeSolver, Params};

fn ball(center: Vec3, radius: f32) -> Shape {
    Shape::Sphere { center, radius }
}

fn falling_drop() -> Setup {
    let mut setup = tank(64, 0.5);
    setup.fills[0].shape = ball(Vec3::new(0.5, 0.8, 0.5), 0.08);
    setup.fills[0].velocity = Vec3::new(1.0, -4.0, 0.5);
    setup.cfl = 2.0;
    setup
}

fn finest_at_surface(solver: &OctreeSolver) -> (f32, f32) {
    let tree = solver.tree();
    // Vertices on walls are no surface.
    let inside = tree.shape().bounds().expand(-0.01);
    let free = solver.surface(&Default::default()).positions.into_iter().filter(|&x| inside.contains(x));
    let sizes = free.map(|x| tree.cell_dx(tree.locate(x).cell as usize));
    sizes.fold((f32::INFINITY, 0.0), |(least, most), dx| (least.min(dx), most.max(dx)))
}

/// A drop of five cells' radius asks for the finest ones all around it, wherever it flies.
#[test]
fn fine_cells_stay_with_a_fast_drop() {
    // What leaves the drop as spray of its own asks for nothing: the surface alone is looked at.
    let params = Params { volume_correction: VolumeCorrection::Off, ..Params::default() };
    let mut solver = OctreeSolver::new(falling_drop(), params).unwrap();
    let fewest = solver.tree().cell_count();
    for _ in 0..12 {
        let dt_s = solver.suggest_dt().dt_s;
        solver.step(dt_s).unwrap();
        let (least, most) = finest_at_surface(&solver);
        assert_eq!((least, most), (1.0 / 64.0, 1.0 / 64.0), "t = {}", solver.time_s());
        assert!(solver.tree().cell_count() < 2 * fewest, "what the drop has left becomes coarse again");
    }
    assert!(solver.time_s() > 0.05, "the drop has gone a fifth of the box");
}

/// The liquid's own wishes end at `min_dx`; a region of `[[refine]]` goes below it, and stays.
#[test]
fn regions_are_as_fine_as_they_say() {
    let mut setup = dam_break(64, 1.0);
    let region = Shape::Box { min: Vec3::new(0.6, 0.1, 0.3), max: Vec3::new(0.8, 0.3, 0.6) };
    setup.refine.push(Refine { shape: region.clone(), dx: 1.0 / 64.0 });
    let params = Params { min_dx: Some(1.0 / 32.0), ..Params::default() };
    let mut solver = OctreeSolver::new(setup, params).unwrap();
    for until_s in [0.0, 0.1] {
        advance(&mut solver, until_s);
        let tree = solver.tree();
        let (mut inside, mut outside) = (0, 0);
        for cell in 0..tree.cell_count() {
            let (d, dx) = (region.distance(tree.cell_center(cell)), tree.cell_dx(cell));
            if d < 0.0 {
                assert_eq!(dx, 1.0 / 64.0);
                inside += 1;
            }
            // Smoothing between levels reaches some cells beyond.
            if d > 0.2 {
                assert!(dx >= 1.0 / 32.0, "{dx} at {}", tree.cell_center(cell));
                outside += (dx == 1.0 / 32.0) as usize;
            }
        }
        assert!(inside > 2000 && outside > 500, "{inside} {outside}");
    }
}

/// Strength 0 has the finest cells along all of the surface, 1 fewer.
#[test]
fn strength_goes_from_uniform_to_adaptive() {
    let cells = |strength: f32| {
        let params = Params { strength, ..Params::default() };
        let solver = OctreeSolver::new(tank(64, 0.53), params).unwrap();
        (solver.tree().cell_count(), finest_at_surface(&solver).1)
    };
    let (all, finest) = cells(0.0);
    let (few, coarse) = cells(1.0);
    assert!(finest == 1.0 / 64.0 && coarse > finest, "{finest} {coarse}");
    assert!(all > 5 * few, "{all} {few}");
}

#[test]
fn a_domain_that_does_not_fit_the_largest_cells_is_refused_with_advice() {
    let mut setup = tank(16, 0.5);
    setup.domain.grid.cells = [48, 40, 48];
    let dx = setup.domain.grid.dx;
    let of = |cells: f32| {
        OctreeSolver::new(setup.clone(), Params { max_dx: Some(cells * dx), ..Params::default() })
    };
    assert!(of(8.0).is_ok());
    let error = of(16.0).err().expect("40 cells are no multiple of 16");
    let SetupError::Parameter { name: "max_dx", message, help } = &error else { panic!("{error}") };
    assert!(message.contains("48 x 40 x 48") && help.contains("0.5 m"), "{error}");
}

#[test]
fn sizes_that_no_cell_has_are_refused_or_reported() {
    let mut setup = tank(32, 0.5);
    let dx = setup.domain.grid.dx;
    let refused = |params: Params| Listed::check_size(&params, &setup).unwrap_err().to_string();
    let largest = |size_m: f32| Params { max_dx: Some(size_m), ..Params::default() };
    let smallest = |size_m: f32| Params { min_dx: Some(size_m), ..Params::default() };
    assert!(refused(largest(3.0 * dx)).contains("give 0.0625 or 0.125 m"), "{}", refused(largest(3.0 * dx)));
    assert!(refused(largest(0.5 * dx)).contains("smallest is 0.03125 m"));
    assert!(refused(smallest(1.5 * dx)).contains("give 0.03125 or 0.0625 m"));
    assert!(refused(smallest(0.7 * dx)).contains("smallest is 0.03125 m"));
    assert!(refused(smallest(16.0 * dx)).contains("larger than the largest cell"));
    for good in [largest(4.0 * dx), smallest(2.0 * dx), smallest(dx), Params::default()] {
        Listed::check_size(&good, &setup).unwrap();
    }
    let region = Shape::Sphere { center: Vec3::splat(0.5), radius: 0.1 };
    for (asked, given) in [(3.0 * dx, Some("0.0625 m")), (0.5 * dx, Some("0.03125 m")), (2.0 * dx, None)] {
        setup.refine = vec![Refine { shape: region.clone(), dx: asked }];
        let notes = Listed::notes(&Params::default(), &setup);
        match given {
            None => assert!(notes.is_empty(), "{notes:?}"),
            Some(given) => assert!(notes[0].contains(&format!("gets {given}")), "{notes:?}"),
        }
    }
}
