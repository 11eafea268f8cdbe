//! A number that stands for what a method computes: it changes when the layout of its state, its arithmetic
//! or its parameters do, whatever the program's version is called.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Domain, Fill, Liquid, Method, Setup, Solid, StateWriter, StepError, Wall};

/// Cells along a side of the box, a prime number of steps in it, and their length.
const CELLS: usize = 12;
const STEPS: usize = 3;
const DT_S: f64 = 0.004;

/// The checksum of the state after three steps of a small splash. What a later version computes differently
/// there, it computes differently from a checkpoint on: the run would not end as it began. A few
/// milliseconds.
pub fn fingerprint(method: &dyn Method) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let outcome = method.build(splash(method)).map_err(|e| e.to_string()).and_then(|mut solver| {
        (0..STEPS).try_for_each(|_| solver.step(DT_S).map(drop)).map_err(|e: StepError| e.to_string())?;
        let mut bytes = vec![];
        solver.save(&mut StateWriter::new(&mut bytes)).map_err(|e| e.to_string())?;
        hasher.update(&bytes);
        Ok(())
    });
    // Parameters that do not suit a splash give their error's fingerprint.
    if let Err(error) = outcome {
        hasher.update(error.as_bytes());
    }
    hasher.finalize()
}

/// A ball of water falls beside a solid one into a pool; with surface tension where the method has it.
fn splash(method: &dyn Method) -> Setup {
    let surface_tension = if method.capabilities().surface_tension { 0.07 } else { 0.0 };
    let ball = |x: f32, y: f32, radius: f32| Shape::Sphere { center: Vec3::new(x, y, 0.45), radius };
    let pool = Shape::Box { min: -Vec3::ONE, max: Vec3::new(2.0, 0.35, 2.0) };
    let solid = Solid::new("ball", ball(0.75, 0.35, 0.17), Motion::default());
    Setup {
        domain: Domain {
            walls: [Wall::Solid, Wall::Open, Wall::Solid, Wall::Solid, Wall::Solid, Wall::Solid],
            ..Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [CELLS; 3], dx: 1.0 / CELLS as f32 })
        },
        liquid: Liquid { surface_tension, ..Liquid::default() },
        fills: vec![
            Fill { shape: pool, velocity: Vec3::new(0.5, 0.0, 0.25) },
            Fill { shape: ball(0.3, 0.55, 0.16), velocity: Vec3::new(0.0, -2.0, 0.0) },
        ],
        solids: vec![solid],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_solver_registry::ChosenMethod;
    use serde_json::json;

    #[test]
    fn methods_and_parameters_differ_and_the_same_gives_the_same() {
        let of = |params| fingerprint(&*ChosenMethod::new("uniform", params).unwrap());
        let numbers = [
            of(json!({})),
            of(json!({ "tracker": "flip" })),
            of(json!({ "tracker": "flip", "flip_ratio": 0.5 })),
            of(json!({ "pressure_tolerance": 1e-3 })),
        ];
        for (n, a) in numbers.iter().enumerate() {
            assert!(numbers[..n].iter().all(|b| a != b), "{numbers:?}");
        }
        assert_eq!(of(json!({ "tracker": "flip" })), numbers[1]);
        let alone = fluvial_foundation::parallel::with_threads(1, || of(json!({})));
        assert_eq!(alone, numbers[0]);
    }
}
