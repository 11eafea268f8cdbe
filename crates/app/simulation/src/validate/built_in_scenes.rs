//! The scenes that come with the program, each with its own method: is the water there, is it no faster than it can be, and
//! does its energy come from somewhere?

use super::set_up::drive_solver;
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::guard::speed_bound_m_s;
use crate::run::FramePlan;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::TriangleMesh;
use fluvial_scene::{Ready, Scene, builtin_scenes};
use fluvial_solver_interface::{Setup, SurfaceParams, Variant};
use fluvial_solver_registry::variants;
use std::f64::consts::PI;

pub const CASE: Case = Case {
    name: "built-in-scenes",
    what: "every built-in scene with its own method, at its own size and length with --fine: volume, drift, speed, energy",
    source: "conservation of volume; sqrt(2 g h + v^2); energy of the start and of what flows in",
    applies: |method| scenes_of(method).next().is_some(),
    run,
};

/// The quick version has so many times fewer cells along a side, and ends at this time, s.
const COARSER: usize = 4;
const QUICK_END_S: f64 = 0.75;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let names: Vec<&str> = scenes_of(context.method).filter(|name| context.wants(name)).collect();
    let mut outcome = Outcome::default();
    // Small runs go side by side, so that they use all cores; large ones use all cores themselves.
    let rows: Vec<_> = match context.fine {
        true => names.iter().map(|name| measure(context, name)).collect(),
        false => parallel::map_indices(names.len(), |n| measure(context, names[n])),
    };
    for rows in rows {
        outcome.rows.extend(rows?);
    }
    Ok(outcome)
}

/// Names of the scenes whose method is nearest to a variant.
fn scenes_of(variant: &Variant) -> impl Iterator<Item = &'static str> {
    let wanted = variant.name;
    builtin_scenes().iter().map(|(name, _)| *name).filter(move |name| {
        let scene = Scene::load(name, &[]).expect("built-in scenes can be read");
        nearest_variant(&scene).is_some_and(|nearest| nearest == wanted)
    })
}

/// The variant of a scene's method that has most parameters in common with it.
fn nearest_variant(scene: &Scene) -> Option<&'static str> {
    let own = scene.method.params();
    let in_common = |variant: &Variant| {
        let other = variant.method.params();
        let (own, other) = (own.as_object()?, other.as_object()?);
        Some(own.iter().filter(|(key, value)| other.get(*key) == Some(value)).count())
    };
    let all = variants();
    let same_method = all.iter().filter(|v| v.method.name() == scene.method.name());
    // The first of equals: `max_by_key` alone gives the last.
    same_method.rev().max_by_key(|v| in_common(v)).map(|v| v.name)
}

fn load(context: &Context, name: &str) -> Ready {
    let whole = Scene::load(name, &[]).and_then(|scene| scene.build()).expect("built-in scenes are good");
    if context.fine {
        return whole;
    }
    let longest = whole.setup.domain.grid.cells.into_iter().max().unwrap_or(1);
    let at = |resolution: usize| {
        let changes = [("domain.resolution".to_owned(), resolution.to_string())];
        Scene::load(name, &changes).and_then(|scene| scene.build()).ok()
    };
    // Not every number of cells fits the sides of a domain.
    (longest / COARSER..longest).find_map(at).unwrap_or(whole)
}

fn measure(context: &Context, name: &str) -> Result<Vec<Row>, CaseError> {
    let ready = load(context, name);
    let setup = ready.setup.clone();
    let whole_s = f64::from(ready.frames) / ready.fps;
    let end_s = if context.fine { whole_s } else { whole_s.min(QUICK_END_S) };
    let plan = FramePlan { frames: (end_s * ready.fps).round() as u32, fps: ready.fps };
    let bound_m_s = speed_bound_m_s(&setup, end_s);
    let solver = ready.method.build(ready.setup)?;
    let released_j = tension_energy_j(&setup, &solver.surface(&SurfaceParams { smoothing: 0 }));
    let inflow_j_m3 = inflow_energy_j_m3(&setup);
    let (mut error, mut raw, mut speed_m_s, mut excess, mut start_j) = (0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0);
    drive_solver(context, solver, plan, &mut |step, _| {
        let report = &step.report;
        error = error.max(report.volume_error.abs());
        raw = raw.max(report.raw_volume_error.abs());
        speed_m_s = speed_m_s.max(report.max_speed_m_s);
        let energy_j = report.kinetic_energy_j + report.potential_energy_j;
        if step.step == 0 {
            start_j = energy_j;
        }
        let given_j = released_j + inflow_j_m3 * report.inflow_m3;
        let scale_j = start_j.abs() + given_j;
        if scale_j > 0.0 {
            excess = excess.max((energy_j - start_j - given_j) / scale_j);
        }
    })?;
    let [most_error, most_raw] =
        if ready.method.capabilities().particles { [2e-3, 5e-3] } else { [1e-2, 5e-2] };
    let resolution = format!("{} cells, {end_s:.2} s", setup.domain.grid.cells.iter().max().unwrap_or(&0));
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), format!("{name}: {quantity}"), value);
    let energy = row("energy above that of start and inflow / that", excess);
    // Solids that move do work, and a flow that is given needs no cause.
    let is_free = setup.flow.is_none() && setup.solids.iter().all(|solid| solid.motion.is_static());
    let rows = vec![
        row("volume, largest error", error).bar(Bar::AtMost(most_error)),
        row("drift without correction, largest", raw).bar(Bar::AtMost(most_raw)),
        row("largest speed / bound", speed_m_s / bound_m_s).bar(Bar::AtMost(2.0)),
        if is_free { energy.bar(Bar::AtMost(0.01)) } else { energy },
    ];
    (context.progress)(&rows);
    Ok(rows)
}

/// The most energy that liquid brings along through sources, J/m3: as fast as the fastest of them, from as high as the
/// highest, against the domain's lower corner.
fn inflow_energy_j_m3(setup: &Setup) -> f64 {
    let (bounds, gravity) = (setup.domain.bounds(), setup.liquid.gravity);
    let most = setup.sources.iter().map(|source| {
        let highest = source.shape.bounds();
        let top = Vec3::select(gravity.cmpgt(Vec3::ZERO), highest.min, highest.max);
        let up = top.clamp(bounds.min, bounds.max) - bounds.min;
        f64::from(0.5 * source.velocity.length_squared() - gravity.dot(up))
    });
    f64::from(setup.liquid.density) * most.fold(0.0, f64::max)
}

/// What surface tension can set free: its energy at the start less that of one ball, J.
fn tension_energy_j(setup: &Setup, surface: &TriangleMesh) -> f64 {
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| surface.positions[v as usize].as_dvec3());
        0.5 * (b - a).cross(c - a).length()
    };
    let start_m2: f64 = surface.triangles.iter().map(area).sum();
    let ball_m2 = (36.0 * PI * surface.volume().powi(2)).cbrt();
    f64::from(setup.liquid.surface_tension) * (start_m2 - ball_m2).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_belongs_to_one_variant() {
        let all = variants();
        let counted: usize = all.iter().map(|variant| scenes_of(variant).count()).sum();
        assert_eq!(counted, builtin_scenes().len());
        let of = |name: &str| nearest_variant(&Scene::load(name, &[]).unwrap()).unwrap();
        assert_eq!(of("seaplane"), "octree/flip");
        assert_eq!(of("water-drop"), "uniform/levelset");
    }
}
