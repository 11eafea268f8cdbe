//! The scene as ready objects, after everything that can be refused has been.

use crate::error::SceneError;
use crate::format::{
    FlowName, FlowSpec, OutputSpec, ProbeKindSpec, ProbeSpec, Scene, SourceSpec, VolumeFormat, WallSpec,
};
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Nozzle, Shape};
use fluvial_solver_interface::{
    Domain, Feature, Fill, Flow, Liquid, Refine, Setup, SetupError, Sink, Solid, Source, Volumes, Wall,
    inside_cells,
};
use fluvial_solver_registry::ChosenMethod;

/// No method has more cells along a side of the domain than this.
const MOST_CELLS_ALONG_A_SIDE: f64 = 1e6;
/// A domain side may be moved by this much to fit the cells.
const LARGEST_ADJUSTMENT: f64 = 0.01;

/// Everything that a run starts from.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The scene's name.
    pub name: String,
    /// What the solver is given.
    pub setup: Setup,
    /// Which solver, with its parameters.
    pub method: ChosenMethod,
    /// Frames after the initial state.
    pub frames: u32,
    /// Frames per simulated second.
    pub fps: f64,
    /// Gauges.
    pub probes: Vec<Probe>,
    /// Spray, foam and bubbles, where the scene has them.
    pub whitewater: Option<fluvial_whitewater::Params>,
    /// What is written.
    pub output: OutputSpec,
    /// What the user should know: sides that were moved to fit the cells.
    pub notes: Vec<String>,
}

/// A gauge.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its column.
    pub name: String,
    /// What it measures.
    pub kind: ProbeKind,
}

/// What a gauge measures.
#[derive(Clone, Debug)]
pub enum ProbeKind {
    /// Height of the highest liquid above the domain floor on a vertical, metres.
    Height {
        /// Metres.
        x: f32,
        /// Metres.
        z: f32,
    },
    /// Pressure at a point, Pa.
    Pressure {
        /// Metres.
        at: Vec3,
    },
    /// Liquid volume inside a shape, m3.
    Volume {
        /// In world space.
        shape: Shape,
    },
}

impl Scene {
    /// Ready objects, or the first thing that makes no sense.
    pub fn build(&self) -> Result<Ready, SceneError> {
        let mut notes = self.origin.notes.clone();
        self.check_method()?;
        let grid = self.grid(&mut notes)?;
        let bounds = grid.bounds();
        let mut solids = self.solids()?;
        solids.extend(self.bodies(&solids)?);
        let walls = self.domain.walls;
        let walls = [walls.x_min, walls.x_max, walls.y_min, walls.y_max, walls.z_min, walls.z_max];
        let setup = Setup {
            domain: Domain {
                grid,
                walls: walls.map(|wall| match wall {
                    WallSpec::Solid => Wall::Solid,
                    WallSpec::Sticky => Wall::Sticky,
                    WallSpec::Open => Wall::Open,
                }),
                contact_angles_deg: self.domain.contact_angles.to_array(),
                friction: self.domain.friction.to_array(),
            },
            liquid: Liquid {
                density: self.liquid.density,
                surface_tension: self.liquid.surface_tension,
                gravity: Vec3::from_array(self.liquid.gravity),
            },
            fills: self.fills(&grid)?,
            solids,
            sources: self.sources(bounds)?,
            sinks: self.sinks(bounds)?,
            refine: self.refine()?,
            flow: self.flow.as_ref().map(|flow| self.given_flow(flow)).transpose()?,
            cfl: self.time.cfl,
        };
        self.method.check_size(&setup).map_err(|error| self.does_not_fit(error))?;
        self.check_sense(&setup)?;
        let probes = self.probes(bounds)?;
        let whitewater = self.whitewater_params(&setup)?;
        self.check_output()?;
        let mut ready = Ready {
            name: self.name().to_string(),
            setup,
            method: self.method.clone(),
            frames: self.time.frames,
            fps: self.time.fps,
            probes,
            whitewater,
            output: self.output.clone(),
            notes,
        };
        let advice = crate::advice::advise(&ready);
        ready.notes.extend(advice);
        ready.notes.extend(ready.method.notes(&ready.setup));
        Ok(ready)
    }

    fn check_method(&self) -> Result<(), SceneError> {
        self.method.check_params().map_err(|error| self.does_not_fit(error))
    }

    /// What the method refuses, at the key that asks for it: a parameter, something that it lacks, or too many cells.
    fn does_not_fit(&self, error: SetupError) -> SceneError {
        if let SetupError::Unsupported { key, .. } = error {
            let rough = self.solid.iter().position(|solid| solid.friction > 0.0);
            let place = match rough.filter(|_| key == Feature::Friction.key()) {
                Some(n) => format!("solid.{n}.friction"),
                None => key.to_owned(),
            };
            return self.fail(&place, error.to_string(), help_for_lacking(key));
        }
        if let SetupError::Parameter { name, message, help } = error {
            return self.fail(&format!("method.{name}"), message, help);
        }
        let help = "choose a larger `dx` or a smaller `resolution`, or a method whose cells differ in size";
        self.fail(self.cell_size_key(), error.to_string(), help)
    }

    /// The key that gives the cell size.
    fn cell_size_key(&self) -> &'static str {
        if self.domain.dx.is_some() { "domain.dx" } else { "domain.resolution" }
    }

    /// A flow that is given; what it excludes is refused.
    fn given_flow(&self, flow: &FlowSpec) -> Result<Flow, SceneError> {
        if !Feature::GivenFlow.is_in(&self.method.capabilities()) {
            return Err(self.does_not_fit(Feature::GivenFlow.lacked_by(self.method.name())));
        }
        let unit_box = self.domain.min == [0.0; 3] && self.domain.max == [1.0; 3];
        if !unit_box {
            let help = "set min = [0, 0, 0] and max = [1, 1, 1] in [domain]";
            return Err(self.fail("domain.max", "this flow fills the box from 0 to 1 m, no other", help));
        }
        let moving = self.fill.iter().position(|f| f.velocity != [0.0; 3]);
        let moving = moving.map(|n| format!("fill.{n}.velocity"));
        let rest = [
            (
                self.liquid.gravity == [0.0; 3],
                "liquid.gravity",
                "gravity",
                "set gravity = [0, 0, 0] in [liquid]",
            ),
            (self.liquid.surface_tension == 0.0, "liquid.surface_tension", "surface tension", "remove it"),
            (self.solid.is_empty(), "solid.0", "a solid", "remove [[solid]]"),
            (self.body.is_empty(), "body.0", "a body", "remove [[body]]"),
            (self.source.is_empty(), "source.0", "a source", "remove [[source]]"),
            (self.sink.is_empty(), "sink.0", "a sink", "remove [[sink]]"),
            (moving.is_none(), moving.as_deref().unwrap_or(""), "a velocity", "remove it"),
        ];
        if let Some((_, path, what, help)) = rest.into_iter().find(|(good, ..)| !good) {
            let said = self.origin.tree.get("liquid").and_then(|liquid| liquid.get("gravity")).is_some();
            let place = if path == "liquid.gravity" && !said { "flow" } else { path };
            let message = format!("{what} has no place in a given flow, in which no force acts");
            return Err(self.fail(place, message, help));
        }
        let FlowName::Enright = flow.name;
        Ok(Flow::Enright { period_s: flow.period })
    }

    /// The finest grid; sides that are no multiple of the cell are moved a little, with a note.
    fn grid(&self, notes: &mut Vec<String>) -> Result<UniformGrid, SceneError> {
        let d = &self.domain;
        let size: [f64; 3] = std::array::from_fn(|a| d.max[a] - d.min[a]);
        if let Some(a) = AXES.into_iter().find(|&a| size[a] <= 0.0) {
            let axis = ["x", "y", "z"][a];
            let message =
                format!("the domain is empty: along {axis} it runs from {} to {}", d.min[a], d.max[a]);
            return Err(self.fail(
                "domain.max",
                message,
                "every number of `max` must be greater than that of `min`",
            ));
        }
        let longest = size.iter().copied().fold(0.0, f64::max);
        let dx = match (d.dx, d.resolution) {
            (Some(_), Some(_)) => {
                let message = "`dx` and `resolution` exclude each other";
                return Err(self.fail("domain.resolution", message, "keep one of them"));
            }
            (None, None) => {
                let help = "add `resolution = 64` (cells along the longest side) or `dx = ...` (metres)";
                return Err(self.fail("domain", "the domain has no cell size", help));
            }
            (Some(dx), None) => dx,
            (None, Some(resolution)) => longest / resolution as f64,
        };
        let counts: [f64; 3] = std::array::from_fn(|a| (size[a] / dx).round().max(1.0));
        let given = self.cell_size_key();
        let most = counts.into_iter().fold(0.0, f64::max);
        if most > MOST_CELLS_ALONG_A_SIDE || dx as f32 <= 0.0 {
            let message = format!("too many cells: {most:.3e} along a side");
            let help = format!(
                "no method has more than {MOST_CELLS_ALONG_A_SIDE:.0e}; choose a larger `dx` or a smaller `resolution`"
            );
            return Err(self.fail(given, message, help));
        }
        for a in AXES {
            let fitting = tidy(counts[a] * dx);
            let change = (fitting - size[a]) / size[a];
            let axis = ["x", "y", "z"][a];
            if change.abs() > LARGEST_ADJUSTMENT {
                let message =
                    format!("the domain's {axis} side of {} m is no multiple of the cell, {dx} m", size[a]);
                let help = format!(
                    "the nearest side that fits is {fitting} m: set max[{a}] = {}",
                    tidy(d.min[a] + fitting)
                );
                // A cell size from the command line is what does not fit the file's box.
                let from_set = self.origin.tree.locate(given).source > 0;
                return Err(self.fail(if from_set { given } else { "domain.max" }, message, help));
            }
            if change.abs() > 1e-6 {
                notes.push(format!(
                    "the domain's {axis} side was changed from {} m to {fitting} m to fit cells of {dx} m",
                    size[a]
                ));
            }
        }
        let min = Vec3::new(d.min[0] as f32, d.min[1] as f32, d.min[2] as f32);
        let grid = UniformGrid { min, cells: counts.map(|n| n as usize), dx: dx as f32 };
        // In f32, a small box far from the origin may have all its nodes at one place.
        if AXES.into_iter().any(|a| {
            (min[a] + grid.dx) - min[a] < 0.99 * grid.dx || (min[a] + grid.dx) - min[a] > 1.01 * grid.dx
        }) {
            let help = "move the scene nearer to the origin";
            return Err(self.fail(
                "domain.min",
                "the domain lies too far from the origin for its cell size",
                help,
            ));
        }
        Ok(grid)
    }

    fn fills(&self, grid: &UniformGrid) -> Result<Vec<Fill>, SceneError> {
        if self.fill.is_empty() && self.source.is_empty() {
            let help = "add a [[fill]] with a shape, or a [[source]]";
            return Err(self.fail(
                "",
                "there is no liquid: the scene has neither [[fill]] nor [[source]]",
                help,
            ));
        }
        let mut fills = Vec::new();
        let samples = self.method.fill_samples(grid);
        for (n, spec) in self.fill.iter().enumerate() {
            let path = format!("fill.{n}.shape");
            let shape = self.shape(&spec.shape, &path)?;
            if !touches(&shape, grid.bounds()) {
                return Err(self.outside(&path, "fill", grid.bounds()));
            }
            if inside_cells(&samples, &|x| shape.distance(x)).cells == 0.0 {
                let help = format!("make it larger than a cell ({} m), or the cells smaller", samples.dx);
                return Err(self.fail(&path, "the fill covers no cell", help));
            }
            fills.push(Fill { shape, velocity: Vec3::from_array(spec.velocity) });
        }
        Ok(fills)
    }

    fn solids(&self) -> Result<Vec<Solid>, SceneError> {
        let mut solids: Vec<Solid> = Vec::new();
        for (n, spec) in self.solid.iter().enumerate() {
            let name = spec.name.clone().unwrap_or_else(|| format!("solid[{n}]"));
            if solids.iter().any(|s| s.name == name) {
                let message = format!("two solids have the name `{name}`");
                return Err(self.fail(
                    &format!("solid.{n}.name"),
                    message,
                    "give every solid a name of its own",
                ));
            }
            let shape = self.shape(&spec.shape, &format!("solid.{n}.shape"))?;
            let motion = match &spec.motion {
                Some(motion) => self.motion(motion, &shape, &format!("solid.{n}.motion"))?,
                None => Motion::Static,
            };
            solids.push(Solid {
                sticky: spec.sticky,
                friction: spec.friction,
                ..Solid::new(name, shape, motion)
            });
        }
        Ok(solids)
    }

    fn sources(&self, bounds: Aabb) -> Result<Vec<Source>, SceneError> {
        let build = |(n, spec): (usize, &SourceSpec)| {
            let shape = self.shape_inside(&spec.shape, &format!("source.{n}.shape"), "source", bounds)?;
            let mut velocity = Vec3::from_array(spec.velocity);
            if velocity == Vec3::ZERO {
                let help = "give the velocity at which liquid enters, such as [0, -1, 0]";
                return Err(self.fail(
                    &format!("source.{n}.velocity"),
                    "a source at rest adds no liquid",
                    help,
                ));
            }
            let active_s = self.active(spec.active, &format!("source.{n}.active"))?;
            let motion = match &spec.motion {
                Some(motion) => self.motion(motion, &shape, &format!("source.{n}.motion"))?,
                None => Motion::Static,
            };
            if let Some(flow_m3_s) = spec.flow {
                let path = format!("source.{n}.flow");
                if !(flow_m3_s > 0.0 && flow_m3_s.is_finite()) {
                    let help = "give the volume per second in m3/s, such as 0.02; one litre is 0.001 m3";
                    return Err(self.fail(&path, "the flow is no positive number", help));
                }
                let nozzle = Nozzle::new(&shape, velocity, &motion, active_s[0].max(0.0), bounds);
                let section_m2 = nozzle.section_m2(|_| false);
                if section_m2 == 0.0 {
                    let help = "point the velocity out of the shape and into the domain";
                    return Err(self.fail(&path, "no liquid leaves the source inside the domain", help));
                }
                velocity = velocity.normalize() * (flow_m3_s / section_m2) as f32;
            }
            Ok(Source { shape, motion, velocity, active_s, measured: Default::default() })
        };
        self.source.iter().enumerate().map(build).collect()
    }

    fn sinks(&self, bounds: Aabb) -> Result<Vec<Sink>, SceneError> {
        let mut sinks = Vec::new();
        for (n, spec) in self.sink.iter().enumerate() {
            let shape = self.shape_inside(&spec.shape, &format!("sink.{n}.shape"), "sink", bounds)?;
            sinks.push(Sink { shape, active_s: self.active(spec.active, &format!("sink.{n}.active"))? });
        }
        Ok(sinks)
    }

    fn refine(&self) -> Result<Vec<Refine>, SceneError> {
        let build = |(n, spec): (usize, &crate::RefineSpec)| {
            Ok(Refine { shape: self.shape(&spec.shape, &format!("refine.{n}.shape"))?, dx: spec.dx as f32 })
        };
        self.refine.iter().enumerate().map(build).collect()
    }

    fn active(&self, active: Option<[f64; 2]>, path: &str) -> Result<[f64; 2], SceneError> {
        let Some([first, last]) = active else { return Ok([0.0, f64::INFINITY]) };
        if first < 0.0 || first >= last {
            let message = format!("active from {first} s to {last} s is no time at all");
            return Err(self.fail(path, message, "write [first, last] with 0 <= first < last, in seconds"));
        }
        Ok([first, last])
    }

    fn shape_inside(
        &self,
        spec: &crate::ShapeSpec,
        path: &str,
        what: &str,
        bounds: Aabb,
    ) -> Result<Shape, SceneError> {
        let shape = self.shape(spec, path)?;
        if touches(&shape, bounds) { Ok(shape) } else { Err(self.outside(path, what, bounds)) }
    }

    fn outside(&self, path: &str, what: &str, bounds: Aabb) -> SceneError {
        let (a, b) = (bounds.min, bounds.max);
        let help = format!("the domain runs from [{}, {}, {}] to [{}, {}, {}]", a.x, a.y, a.z, b.x, b.y, b.z);
        self.fail(path, format!("the {what} lies outside the domain"), help)
    }

    fn probes(&self, bounds: Aabb) -> Result<Vec<Probe>, SceneError> {
        let mut probes: Vec<Probe> = Vec::new();
        for (n, spec) in self.probe.iter().enumerate() {
            let path = format!("probe.{n}");
            if spec.name.trim().is_empty() {
                return Err(self.fail(
                    &format!("{path}.name"),
                    "the probe has no name",
                    "it names a column of probes.csv",
                ));
            }
            if probes.iter().any(|p| p.name == spec.name) {
                let message = format!("two probes have the name `{}`", spec.name);
                return Err(self.fail(
                    &format!("{path}.name"),
                    message,
                    "give every probe a name of its own",
                ));
            }
            probes.push(Probe { name: spec.name.clone(), kind: self.probe_kind(spec, &path, bounds)? });
        }
        Ok(probes)
    }

    fn probe_kind(&self, spec: &ProbeSpec, path: &str, bounds: Aabb) -> Result<ProbeKind, SceneError> {
        let needs =
            |key: &str, help: &str| self.fail(path, format!("the probe `{}` lacks `{key}`", spec.name), help);
        let surplus = |key: &str| {
            let message = format!("`{key}` has no meaning for this kind of probe");
            self.fail(&format!("{path}.{key}"), message, "remove it, or change the `kind`")
        };
        let outside = || {
            let (a, b) = (bounds.min, bounds.max);
            let help =
                format!("the domain runs from [{}, {}, {}] to [{}, {}, {}]", a.x, a.y, a.z, b.x, b.y, b.z);
            self.fail(
                &format!("{path}.at"),
                format!("the probe `{}` lies outside the domain", spec.name),
                help,
            )
        };
        let wrong_count = |help: &str| {
            let message = format!("`at` has {} numbers", spec.at.as_ref().map_or(0, Vec::len));
            self.fail(&format!("{path}.at"), message, help)
        };
        if spec.kind != ProbeKindSpec::Volume && spec.shape.is_some() {
            return Err(surplus("shape"));
        }
        match spec.kind {
            ProbeKindSpec::Height => match spec.at.as_deref() {
                Some([x, z]) => {
                    let inside = bounds.contains(Vec3::new(*x, bounds.min.y, *z));
                    if inside { Ok(ProbeKind::Height { x: *x, z: *z }) } else { Err(outside()) }
                }
                Some(_) => Err(wrong_count("a height gauge stands at [x, z]")),
                None => Err(needs("at", "add at = [x, z]")),
            },
            ProbeKindSpec::Pressure => match spec.at.as_deref() {
                Some([x, y, z]) => {
                    let at = Vec3::new(*x, *y, *z);
                    if bounds.contains(at) { Ok(ProbeKind::Pressure { at }) } else { Err(outside()) }
                }
                Some(_) => Err(wrong_count("a pressure gauge stands at [x, y, z]")),
                None => Err(needs("at", "add at = [x, y, z]")),
            },
            ProbeKindSpec::Volume if spec.at.is_some() => Err(surplus("at")),
            ProbeKindSpec::Volume => match &spec.shape {
                Some(shape) => {
                    let what = format!("probe `{}`", spec.name);
                    let shape = self.shape_inside(shape, &format!("{path}.shape"), &what, bounds)?;
                    Ok(ProbeKind::Volume { shape })
                }
                None => Err(needs("shape", "add shape = { box = { min = [...], max = [...] } }")),
            },
        }
    }

    fn check_output(&self) -> Result<(), SceneError> {
        let [width, height] = self.output.preview_size;
        if !(16..=8192).contains(&width) || !(16..=8192).contains(&height) {
            let message = format!("a picture of {width} x {height} pixels cannot be drawn");
            return Err(self.fail("output.preview_size", message, "give width and height from 16 to 8192"));
        }
        if self.output.particles && !self.method.capabilities().particles {
            let message = "there are no particles to write: the method tracks the liquid without them";
            let help = "remove `particles`, or set tracker = \"flip\" or \"apic\" in [method]";
            return Err(self.fail("output.particles", message, help));
        }
        let name = self.method.name();
        match (self.method.capabilities().volumes, self.output.volumes) {
            (Volumes::None, VolumeFormat::Vdb | VolumeFormat::Vtk) => {
                let message = format!("the method `{name}` writes no volumes: it has no level set");
                let help = "remove `volumes`; surfaces are written with velocities (`mesh`)";
                return Err(self.fail("output.volumes", message, help));
            }
            (Volumes::Sparse, VolumeFormat::Vtk) => {
                let message =
                    format!("the method `{name}` writes volumes as OpenVDB only: a VTK image is not sparse");
                let help =
                    "set volumes = \"vdb\"; for ParaView, mesh = \"vtk\" writes the surface with velocities";
                return Err(self.fail("output.volumes", message, help));
            }
            _ => {}
        }
        if let Some(camera) = &self.output.camera {
            let view = Vec3::from_array(camera.look_at) - Vec3::from_array(camera.position);
            if view.length() < 1e-6 {
                let help = "`position` and `look_at` must differ";
                return Err(self.fail("output.camera", "the camera looks nowhere", help));
            }
        }
        Ok(())
    }
}

/// What to do where a method lacks what a key asks for: the methods that have it.
fn help_for_lacking(key: &str) -> String {
    let feature = Feature::ALL.into_iter().find(|feature| feature.key() == key);
    let has = |name: &&str| {
        let method = ChosenMethod::new(name, serde_json::json!({}));
        feature.is_some_and(|feature| method.is_ok_and(|method| feature.is_in(&method.capabilities())))
    };
    let able: Vec<String> =
        fluvial_solver_registry::names().iter().filter(|name| has(name)).map(|n| format!("`{n}`")).collect();
    match able.is_empty() {
        true => "remove that from the scene, or choose another method in [method]".to_owned(),
        false => {
            format!("remove that from the scene, or choose another method in [method]: {}", able.join(", "))
        }
    }
}

/// Without the last digits, which are rounding.
fn tidy(value: f64) -> f64 {
    format!("{value:.10e}").parse().unwrap_or(value)
}

fn touches(shape: &Shape, bounds: Aabb) -> bool {
    let other = shape.bounds();
    other.min.cmplt(bounds.max).all() && other.max.cmpgt(bounds.min).all()
}
