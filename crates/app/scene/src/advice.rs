//! What a scene's author should know before a run: things that are allowed and probably not meant.

use crate::overlaps::overlapping_bodies;
use crate::{Ready, Scene, SceneError};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Nozzle, Shape};
use fluvial_solver_interface::{Setup, Sink, Solid, Source, inside_cells, thinnest_wall_m};

/// Gravity beyond this is no gravity, m/s2.
const LARGEST_GRAVITY: f32 = 1e6;
/// Gravities that look like metres, in other units, m/s2.
const USUAL_GRAVITY: [f32; 2] = [0.1, 100.0];
/// Nothing incompressible moves as fast as this, m/s: it is above the speed of sound in water.
const LARGEST_SPEED_M_S: f32 = 1e4;
/// Liquid faster than this is probably meant in other units, m/s: fire hoses have 30 to 60.
const USUAL_SPEED_M_S: f32 = 100.0;
/// No liquid at room temperature has more, N/m: mercury has 0.49, water 0.073.
const LARGEST_TENSION: f32 = 1.0;
/// No wall along which liquid flows has more: gravel has 0.02.
const LARGEST_FRICTION: f32 = 1.0;
/// A body so many times as large as the domain was probably modelled in another unit.
const LARGE_BODY: f32 = 10.0;
/// A jet narrower than so many cells breaks up on the grid.
const FEWEST_CELLS_ACROSS: f32 = 4.0;

impl Scene {
    /// Refuses what cannot be meant.
    pub(crate) fn check_sense(&self, setup: &Setup) -> Result<(), SceneError> {
        let gravity = setup.liquid.gravity.length();
        if gravity > LARGEST_GRAVITY {
            let message = format!("a gravity of {gravity:.3e} m/s2 cannot be simulated");
            return Err(self.fail(
                "liquid.gravity",
                message,
                "it is given in m/s2; on Earth it is [0, -9.81, 0]",
            ));
        }
        self.check_speeds(setup)?;
        if !setup.solids.is_empty() && !setup.fills.is_empty() && setup.sources.is_empty() {
            let solids = setup.solids_at(0.0);
            // Whole distances: blocks far inside liquid or solids are then counted at once.
            let free = |x: Vec3| setup.fill_distance(x).max(-solids.distance(x, f32::MAX));
            if inside_cells(&self.method.fill_samples(&setup.domain.grid), &free).cells == 0.0 {
                let help = "look at the solids' size and place; meshes are read in metres, `transform` has a `scale`";
                return Err(self.fail("solid.0", "solids cover all liquid", help));
            }
        }
        Ok(())
    }

    /// Refuses fills and sources that are too fast for any liquid.
    fn check_speeds(&self, setup: &Setup) -> Result<(), SceneError> {
        for (n, fill) in setup.fills.iter().enumerate() {
            let speed = fill.velocity.length();
            if speed > LARGEST_SPEED_M_S {
                let message = format!("a fill of {speed:.3e} m/s cannot be simulated");
                let help = "the velocity is given in m/s; sound in water has 1500";
                return Err(self.fail(&format!("fill.{n}.velocity"), message, help));
            }
        }
        for (n, source) in setup.sources.iter().enumerate() {
            let speed = source.velocity.length();
            if speed <= LARGEST_SPEED_M_S {
                continue;
            }
            let message = format!("a jet of {speed:.3e} m/s cannot be simulated");
            let (key, help) = match self.source[n].flow {
                Some(_) => (
                    "flow",
                    "the flow is given in m3/s and leaves through the shape's section: give less, or a wider shape",
                ),
                None => ("velocity", "the velocity is given in m/s; a fire hose has 30 to 60"),
            };
            return Err(self.fail(&format!("source.{n}.{key}"), message, help));
        }
        Ok(())
    }
}

/// What is allowed and probably not meant, a sentence each.
pub(crate) fn advise(ready: &Ready) -> Vec<String> {
    let setup = &ready.setup;
    let mut notes = Vec::new();
    let gravity = setup.liquid.gravity.length();
    if gravity > 0.0 && !(USUAL_GRAVITY[0]..=USUAL_GRAVITY[1]).contains(&gravity) {
        notes.push(format!("gravity is {gravity} m/s2; on Earth it is 9.81: are all lengths in metres?"));
    }
    let tension = setup.liquid.surface_tension;
    if tension > LARGEST_TENSION {
        notes.push(format!(
            "a surface tension of {tension} N/m is more than any liquid's: water has 0.0728; was it meant in mN/m?"
        ));
    }
    let rough = setup.solids.iter().map(|solid| solid.friction).chain(setup.domain.friction);
    let roughest = rough.fold(0.0, f32::max);
    if roughest > LARGEST_FRICTION {
        notes.push(format!(
            "a friction of {roughest} is more than any wall's: it is the coefficient C_f of `1/2 density C_f u^2`, 0.002 to 0.02 for most"
        ));
    }
    let domain = setup.domain.bounds().size().max_element();
    for solid in &setup.solids {
        let size = solid.shape.bounds().size().max_element();
        if size.is_finite() && size > LARGE_BODY * domain && is_mesh(&solid.shape) {
            notes.push(format!(
                "the solid `{}` is {:.0} times as large as the domain: meshes are read in metres, `transform` has a `scale`",
                solid.name,
                size / domain
            ));
        }
    }
    let fastest = setup.fills.iter().map(|f| f.velocity).chain(setup.sources.iter().map(|s| s.velocity));
    let fastest = fastest.map(Vec3::length).fold(0.0, f32::max);
    if fastest > USUAL_SPEED_M_S {
        notes.push(format!(
            "liquid of {fastest:.0} m/s crosses the domain in {:.1e} s: speeds are in m/s, flows in m3/s; a fire hose has 30 to 60 m/s",
            domain / fastest
        ));
    }
    notes.extend(walls_that_leak(ready));
    notes.extend(overlapping_bodies(setup));
    let dx = setup.domain.grid.dx;
    for (n, source) in setup.sources.iter().enumerate() {
        let cells = width_across(source) / dx;
        if cells < FEWEST_CELLS_ACROSS {
            notes.push(format!(
                "`source[{n}]` is {cells:.1} cells across its flow: below {FEWEST_CELLS_ACROSS} a jet breaks up on the grid"
            ));
        }
    }
    notes.extend(without_effect(ready));
    notes.extend(sinks_over_everything(ready));
    notes.extend(overflow(ready));
    notes
}

/// Sinks that all liquid of the start lies in.
fn sinks_over_everything(ready: &Ready) -> Vec<String> {
    let setup = &ready.setup;
    let samples = ready.method.fill_samples(&setup.domain.grid);
    let covers = |sink: &Sink| {
        let left = |x: Vec3| setup.fill_distance(x).max(-sink.shape.distance(x));
        !setup.fills.is_empty() && inside_cells(&samples, &left).cells == 0.0
    };
    let sinks = setup.sinks.iter().enumerate().filter(|(_, sink)| covers(sink));
    sinks
        .map(|(n, sink)| {
            let when = match sink.active_s[0] {
                0.0 => "at once".to_owned(),
                first_s => format!("at {first_s} s"),
            };
            format!("`sink[{n}]` covers all liquid of the start and takes it away {when}")
        })
        .collect()
}

/// Sources that solids cover, sinks that no cell sees, and fills that leave no air.
fn without_effect(ready: &Ready) -> Vec<String> {
    let setup = &ready.setup;
    let (grid, solids) = (&setup.domain.grid, setup.solids_at(0.0));
    let mut notes = Vec::new();
    for (n, source) in setup.sources.iter().enumerate() {
        let stays =
            source.motion == Motion::Static && setup.solids.iter().all(|s| s.motion == Motion::Static);
        let shape = |x: Vec3| source.shape.distance(x);
        let in_the_open = |x: Vec3| shape(x).max(-solids.distance(x, f32::MAX));
        // A source that covers no cell's centre says nothing.
        let has_room =
            inside_cells(grid, &in_the_open).cells > 0.0 || inside_cells(grid, &shape).cells == 0.0;
        if stays && !has_room {
            notes.push(format!("`source[{n}]` lies wholly inside solids: no liquid will come from it"));
        }
    }
    for (n, sink) in setup.sinks.iter().enumerate() {
        let distance = |x: Vec3| sink.shape.distance(x);
        if inside_cells(&ready.method.fill_samples(grid), &distance).cells == 0.0 {
            notes.push(format!(
                "`sink[{n}]` covers the centre of no cell and takes little or nothing: make it larger than a cell of {} m, or the cells smaller",
                grid.dx
            ));
        }
    }
    if let Some(room_m3) = setup.room_m3().filter(|_| !setup.fills.is_empty())
        && setup.filled_m3() >= 0.999 * room_m3
    {
        notes.push(
            "the fills leave no air in the domain: nothing can flow; are all lengths in metres?".to_owned(),
        );
    }
    notes
}

/// When a closed space without sinks will be full, if sources go on for so long.
fn overflow(ready: &Ready) -> Option<String> {
    let setup = &ready.setup;
    let room_m3 = setup.room_m3().filter(|_| !setup.sources.is_empty() && setup.sinks.is_empty())?;
    let grid = &setup.domain.grid;
    let liquid_m3 = setup.filled_m3();
    let end_s = f64::from(ready.frames) / ready.fps;
    let solids = setup.solids_at(0.0);
    let flows: Vec<([f64; 2], f64)> = setup
        .sources
        .iter()
        .map(|source| {
            let [from_s, to_s] = [source.active_s[0].max(0.0), source.active_s[1].min(end_s)];
            let nozzle = Nozzle::new(&source.shape, source.velocity, &source.motion, from_s, grid.bounds());
            let section_m2 = nozzle.section_m2(|x| solids.distance(x, grid.dx) < 0.0);
            ([from_s, to_s], section_m2 * f64::from(source.velocity.length()))
        })
        .collect();
    let at = |time_s: f64| {
        let inflow = flows.iter().map(|([from_s, to_s], flow)| (time_s.min(*to_s) - from_s).max(0.0) * flow);
        liquid_m3 + inflow.sum::<f64>()
    };
    if at(end_s) <= room_m3 {
        return None;
    }
    // What there is grows with time: halve until the moment is known.
    let (mut before, mut after) = (0.0, end_s);
    for _ in 0..40 {
        let middle = 0.5 * (before + after);
        *(if at(middle) > room_m3 { &mut after } else { &mut before }) = middle;
    }
    Some(format!(
        "the space of {room_m3:.4} m3 that walls and solids leave is full after about {after:.2} s: end the sources earlier, open a wall or add a sink"
    ))
}

/// Solids thinner than the method holds, as they stand at the start.
fn walls_that_leak(ready: &Ready) -> Vec<String> {
    if ready.method.capabilities().thin_walls {
        return vec![];
    }
    let grid = &ready.setup.domain.grid;
    let note = |solid: &Solid| {
        let pose = solid.motion.pose(0.0);
        let cells = thinnest_wall_m(grid, &|x| solid.shape.distance(pose.body_from_world(x))) / grid.dx;
        (cells < 1.0).then(|| {
            format!(
                "the solid `{}` is {cells:.1} cells thick in places, and liquid passes walls thinner than a cell in the method `{}`: choose smaller cells or another method",
                solid.name,
                ready.method.name()
            )
        })
    };
    ready.setup.solids.iter().filter_map(note).collect()
}

/// Least extent of a source's bounding box across its velocity, metres.
fn width_across(source: &Source) -> f32 {
    let size = source.shape.bounds().size();
    let along = source.velocity.normalize_or_zero().abs();
    // The direction that the velocity follows most does not count.
    let main = if along.x >= along.y && along.x >= along.z {
        0
    } else if along.y >= along.z {
        1
    } else {
        2
    };
    (0..3).filter(|&axis| axis != main).map(|axis| size[axis]).fold(f32::INFINITY, f32::min)
}

fn is_mesh(shape: &Shape) -> bool {
    match shape {
        Shape::Mesh(_) => true,
        Shape::Transform { shape, .. } => is_mesh(shape),
        _ => false,
    }
}
