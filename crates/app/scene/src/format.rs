//! The scene as it is written: every key with its type, default, unit and description. The schema, the checks
//! and the reference are made from here.

use crate::Origin;
use crate::bodies::BodySpec;
use crate::shapes::{MotionSpec, ShapeSpec};
use crate::whitewater::WhitewaterSpec;
use fluvial_solver_interface::NEUTRAL_ANGLE_DEG;
use fluvial_solver_registry::ChosenMethod;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scene of Fluvial: what is simulated, how, and what is written. SI units, Y is up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Version of the format; this program reads 1.
    #[schemars(range(min = 1, max = 1))]
    pub fluvial: u32,
    /// The simulated box and its cells.
    pub domain: DomainSpec,
    /// How long to simulate and how often to write.
    #[serde(default)]
    pub time: TimeSpec,
    /// The method and its own parameters.
    #[serde(default)]
    pub method: ChosenMethod,
    /// The liquid's constants and gravity.
    #[serde(default)]
    pub liquid: LiquidSpec,
    /// A flow that is given instead of computed, for tests of what carries the liquid. A method that
    /// computes every flow refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowSpec>,
    /// Liquid at the start. Where fills overlap, the last one's velocity holds.
    #[serde(default)]
    pub fill: Vec<FillSpec>,
    /// Bodies that the liquid flows around, at rest or moving.
    #[serde(default)]
    pub solid: Vec<SolidSpec>,
    /// Bodies that the liquid moves. A method that cannot move them refuses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<BodySpec>,
    /// Places where liquid enters.
    #[serde(default)]
    pub source: Vec<SourceSpec>,
    /// Places where liquid is removed.
    #[serde(default)]
    pub sink: Vec<SinkSpec>,
    /// Cell sizes forced inside shapes, for methods whose cells differ in size; others refuse them.
    #[serde(default)]
    pub refine: Vec<RefineSpec>,
    /// Spray, foam and bubbles; none without this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whitewater: Option<WhitewaterSpec>,
    /// Gauges; each is a column of `probes.csv`.
    #[serde(default)]
    pub probe: Vec<ProbeSpec>,
    /// What is written besides statistics and probes.
    #[serde(default)]
    pub output: OutputSpec,
    #[serde(skip)]
    pub(crate) origin: Origin,
}

/// The simulated box. Exactly one of `dx` and `resolution` must be given.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainSpec {
    /// Lower corner, m.
    #[serde(default)]
    pub min: [f64; 3],
    /// Upper corner, m. Sides that are no multiple of the cell are moved by at most 1 %.
    pub max: [f64; 3],
    /// Edge of the finest cell, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub dx: Option<f64>,
    /// Finest cells along the longest side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4, max = 65536))]
    pub resolution: Option<u32>,
    /// What lies at the six sides.
    #[serde(default)]
    pub walls: Walls,
    /// Angles at which the liquid's surface meets the six sides.
    #[serde(default)]
    pub contact_angles: ContactAngles,
    /// Friction coefficients of the six sides.
    #[serde(default)]
    pub friction: Friction,
}

/// Contact angles at the six sides of the domain: between surface and side, measured in the liquid. Below 90 degrees
/// tension draws liquid along the side, above it holds it back. Open sides have none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContactAngles {
    /// Left, degrees.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 180))]
    pub x_min: f32,
    /// Right, degrees.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 180))]
    pub x_max: f32,
    /// Floor, degrees.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 180))]
    pub y_min: f32,
    /// Ceiling, degrees.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 180))]
    pub y_max: f32,
    /// Back, degrees.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 180))]
    pub z_min: f32,
    /// Front, degrees.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 180))]
    pub z_max: f32,
}

impl ContactAngles {
    /// In the order of the walls.
    pub(crate) fn to_array(self) -> [f32; 6] {
        [self.x_min, self.x_max, self.y_min, self.y_max, self.z_min, self.z_max]
    }
}

impl Default for ContactAngles {
    fn default() -> Self {
        let [x_min, x_max, y_min, y_max, z_min, z_max] = [NEUTRAL_ANGLE_DEG; 6];
        ContactAngles { x_min, x_max, y_min, y_max, z_min, z_max }
    }
}

/// Friction coefficients C_f of the six sides of the domain: a side takes the momentum `1/2 density C_f u^2` by area and
/// second from liquid that moves along it at the speed u, whatever the size of the cells. Smooth channels have 0.002 to
/// 0.005, concrete 0.005 to 0.01, gravel 0.02. Open sides have none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Friction {
    /// Left.
    #[schemars(range(min = 0))]
    pub x_min: f32,
    /// Right.
    #[schemars(range(min = 0))]
    pub x_max: f32,
    /// Floor.
    #[schemars(range(min = 0))]
    pub y_min: f32,
    /// Ceiling.
    #[schemars(range(min = 0))]
    pub y_max: f32,
    /// Back.
    #[schemars(range(min = 0))]
    pub z_min: f32,
    /// Front.
    #[schemars(range(min = 0))]
    pub z_max: f32,
}

impl Friction {
    /// In the order of the walls.
    pub(crate) fn to_array(self) -> [f32; 6] {
        [self.x_min, self.x_max, self.y_min, self.y_max, self.z_min, self.z_max]
    }
}

/// The six sides of the domain.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Walls {
    /// Left.
    pub x_min: WallSpec,
    /// Right.
    pub x_max: WallSpec,
    /// Floor.
    pub y_min: WallSpec,
    /// Ceiling.
    pub y_max: WallSpec,
    /// Back.
    pub z_min: WallSpec,
    /// Front.
    pub z_max: WallSpec,
}

/// A side of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WallSpec {
    /// Nothing passes; the liquid slips along it and may let go of it.
    #[default]
    Solid,
    /// The same, but liquid never lets go of it: it hangs from a ceiling.
    Sticky,
    /// Liquid leaves freely.
    Open,
}

/// Frames and steps.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeSpec {
    /// Frames to simulate after the initial state, which is frame 0.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub frames: u32,
    /// Frames per simulated second, 1/s.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub fps: f64,
    /// Cells that liquid may cross in a step; drops and films thinner than two cells up to twice as many.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 20))]
    pub cfl: f32,
}

impl Default for TimeSpec {
    fn default() -> Self {
        TimeSpec { frames: 120, fps: 24.0, cfl: 2.0 }
    }
}

/// The liquid's constants.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LiquidSpec {
    /// Density, kg/m3.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: f32,
    /// Surface tension against air, N/m (water: 0.0728).
    #[schemars(range(min = 0))]
    pub surface_tension: f32,
    /// Gravity, m/s2.
    pub gravity: [f32; 3],
}

impl Default for LiquidSpec {
    fn default() -> Self {
        LiquidSpec { density: 1000.0, surface_tension: 0.0, gravity: [0.0, -9.81, 0.0] }
    }
}

/// A given flow: neither forces nor pressure act.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Which one.
    pub name: FlowName,
    /// Time after which everything is back where it was, s.
    #[serde(default = "default_period")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub period: f64,
}

fn default_period() -> f64 {
    3.0
}

/// A flow by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowName {
    /// Enright's deformation in the box from 0 to 1 m: draws a ball out into a thin sheet and back.
    Enright,
}

/// Liquid at the start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FillSpec {
    /// Where.
    pub shape: ShapeSpec,
    /// Its velocity, m/s.
    #[serde(default)]
    pub velocity: [f32; 3],
}

/// A body that the liquid flows around.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SolidSpec {
    /// Name in messages; `solid[0]`, `solid[1]` ... where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where, at the start of its motion.
    pub shape: ShapeSpec,
    /// How it moves; at rest where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motion: Option<MotionSpec>,
    /// Liquid never lets go of it. By default it does: a solid can push liquid but cannot pull it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sticky: bool,
    /// Friction coefficient C_f: it takes the momentum `1/2 density C_f u^2` by area and second from liquid that moves along
    /// it at the speed u, and drags liquid along where it moves itself. Typical are 0.002 (smooth) to 0.02 (gravel).
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub friction: f32,
}

/// Liquid flows into the shape from behind and leaves it with the given velocity: the flow is the shape's
/// section across the velocity times the speed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// Where, at the start of its motion.
    pub shape: ShapeSpec,
    /// Velocity of the new liquid, m/s; not zero. It turns with a shape that moves, and adds to its motion.
    pub velocity: [f32; 3],
    /// Volume per second, m3/s. The speed then follows from the shape's section, and `velocity` gives
    /// only the direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<f64>,
    /// How it moves; at rest where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motion: Option<MotionSpec>,
    /// First and last moment, s; always where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<[f64; 2]>,
}

/// Liquid inside the shape is removed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinkSpec {
    /// Where.
    pub shape: ShapeSpec,
    /// First and last moment, s; always where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<[f64; 2]>,
}

/// A cell size forced inside a shape.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefineSpec {
    /// Where.
    pub shape: ShapeSpec,
    /// Largest edge of a cell there, m: cells get the next of the method's sizes that is not larger.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub dx: f64,
}

/// A gauge.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// Its column in `probes.csv`.
    pub name: String,
    /// What it measures.
    pub kind: ProbeKindSpec,
    /// Where, m: `[x, z]` for `height`, `[x, y, z]` for `pressure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 3))]
    pub at: Option<Vec<f32>>,
    /// Where, for `volume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeSpec>,
}

/// What a gauge measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKindSpec {
    /// Height of the highest liquid above the domain's floor on a vertical, m.
    Height,
    /// Pressure at a point, Pa.
    Pressure,
    /// Liquid volume inside a shape, m3.
    Volume,
}

/// What is written.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputSpec {
    /// Format of the surface mesh of each frame.
    pub mesh: MeshFormat,
    /// Format of the volumes of each frame: the liquid's level set and velocity.
    pub volumes: VolumeFormat,
    /// Write the particles of each frame, in the format of the mesh (PLY where `mesh` is `obj` or `none`)?
    /// Only with methods that have particles.
    pub particles: bool,
    /// Draw preview pictures and a film?
    pub preview: bool,
    /// Width and height of the pictures, pixels.
    pub preview_size: [u32; 2],
    /// Where the pictures are seen from; frames the whole domain where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub camera: Option<CameraSpec>,
    /// In the pictures water looks like 1 m of clear water over this length, m: less is murkier. By default
    /// the edge of a cube as large as the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub clarity: Option<f64>,
    /// Wall time between checkpoints, s. `fluvial resume` goes on from the newest.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub checkpoint_every_s: f64,
    /// How many checkpoints are kept; older ones are removed.
    #[schemars(range(min = 1, max = 1000))]
    pub checkpoints_kept: u32,
}

impl Default for OutputSpec {
    fn default() -> Self {
        OutputSpec {
            mesh: MeshFormat::Ply,
            volumes: VolumeFormat::None,
            particles: false,
            preview: true,
            preview_size: [960, 540],
            camera: None,
            clarity: None,
            checkpoint_every_s: 300.0,
            checkpoints_kept: 2,
        }
    }
}

/// Format of the surface mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshFormat {
    /// Binary PLY with velocity per vertex.
    #[default]
    Ply,
    /// Wavefront OBJ.
    Obj,
    /// USD: a layer per frame, and `liquid.usda`, the stage that plays them.
    Usd,
    /// Alembic: a file per frame; `fluvial export` joins them.
    Abc,
    /// VTK XML for ParaView: a `.vtp` per frame, and a `.pvd` that plays them.
    Vtk,
    /// No meshes.
    None,
}

/// Format of the volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeFormat {
    /// No volumes.
    #[default]
    None,
    /// OpenVDB: grids `surface` (level set) and `vel`. What `fluvial mesh` reads.
    Vdb,
    /// VTK XML for ParaView: the whole grid, a `.vti` per frame, and a `.pvd` that plays them.
    Vtk,
}

/// A camera.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CameraSpec {
    /// Where it stands, m.
    pub position: [f32; 3],
    /// What it looks at, m.
    pub look_at: [f32; 3],
    /// Vertical angle of view, degrees.
    #[serde(default = "default_fov")]
    #[schemars(range(min = 1, max = 150))]
    pub fov: f32,
}

fn default_fov() -> f32 {
    28.0
}
