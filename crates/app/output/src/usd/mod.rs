//! USD: a binary layer per frame and one stage that plays them.
//!
//! The arrays of a frame stand in a layer of their own (`surface.0001.usdc`), written once. The stage
//! (`liquid.usda`) names the layers as value clips of `/liquid/surface`, `/liquid/particles` and `/liquid/whitewater`; it is short
//! and written anew with every frame, so that a run that is killed leaves a stage with all its frames.
//! Topology changes from frame to frame; `velocities` carry motion blur. Metres, seconds, Y up; time code n
//! is frame n. Bodies are transforms over meshes that are written once, see `bodies`.

mod attributes;
mod bodies;
mod crate_file;

pub use bodies::{write_usd_body_meshes, write_usd_body_poses};

use crate::{FrameTime, OutputError, Points, write_atomic, write_bytes_atomic};
use attributes::{MESH_NAMES, POINT_ATTRIBUTES, POINT_KIND, POINT_NAMES, SURFACE_ATTRIBUTES};
use crate_file::{Children, CrateFile, Value};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use std::path::Path;

const CREATOR: &str = concat!("fluvial ", env!("CARGO_PKG_VERSION"));

/// Writes the layer of a surface.
pub fn write_usd(path: &Path, mesh: &TriangleMesh, time: FrameTime) -> Result<(), OutputError> {
    let bytes = 24 * mesh.positions.len() + 16 * mesh.triangles.len();
    let mut layer = Layer::new(bytes, "Mesh", "surface", &MESH_NAMES, time);
    let file = &mut layer.file;
    let values = [
        file.array(extent(mesh.bounds()).into_iter()),
        file.array(mesh.triangles.iter().map(|_| 3i32)),
        file.array(mesh.triangles.as_flattened().iter().map(|&v| v as i32)),
        file.array(mesh.positions.iter().copied()),
        file.array(mesh.velocities.iter().copied()),
    ];
    layer.add(SURFACE_ATTRIBUTES, &values, &[]);
    for (name, value) in [("orientation", "rightHanded"), ("subdivisionScheme", "none")] {
        let (value, uniform) = (layer.file.token(value), layer.file.uniform());
        layer.file.attribute(name, "token", &[("variability", uniform), ("default", value)]);
    }
    write_bytes_atomic(path, &layer.file.finish())
}

/// Writes the layer of particles: `ids`, `widths` (twice the radius) and `primvars:age` beside position and
/// velocity, and `primvars:kind` with a width each where they differ.
pub fn write_usd_points(path: &Path, points: &Points, time: FrameTime) -> Result<(), OutputError> {
    let bounds = points.x.iter().fold(Aabb::EMPTY, |b, &x| b.include(x));
    let kinds = points.have_kinds();
    let largest = points.radii.iter().fold(points.radius, |a, &b| a.max(b));
    let bounds = Aabb { min: bounds.min - largest, max: bounds.max + largest };
    let names = if kinds { &POINT_NAMES[..] } else { &POINT_NAMES[..6] };
    let mut layer = Layer::new(44 * points.x.len(), "Points", points.of.name(), names, time);
    let file = &mut layer.file;
    let widths: Vec<f32> = match kinds {
        true => points.radii.iter().map(|r| 2.0 * r).collect(),
        false => vec![2.0 * points.radius],
    };
    let mut values = vec![
        file.array(extent(bounds).into_iter()),
        file.array(points.id.iter().map(|&id| id as i64)),
        file.array(points.x.iter().copied()),
        file.array(points.age_s.iter().copied()),
        file.array(points.v.iter().copied()),
        file.array(widths.into_iter()),
    ];
    if let Some(kind) = points.kind {
        values.push(file.array(kind.iter().map(|&k| i32::from(k))));
    }
    let spread = if kinds { "vertex" } else { "constant" };
    let spreads = [("primvars:age", "vertex"), ("widths", spread), ("primvars:kind", "vertex")];
    let attributes = [POINT_ATTRIBUTES, if kinds { POINT_KIND } else { "" }].concat();
    layer.add(&attributes, &values, &spreads);
    write_bytes_atomic(path, &layer.file.finish())
}

/// The layer of one prim at one frame.
struct Layer {
    file: CrateFile,
    time: f64,
}

impl Layer {
    fn new(bytes: usize, kind: &str, prim: &str, attributes: &[&str], time: FrameTime) -> Layer {
        let mut file = CrateFile::with_capacity(bytes);
        let (frame, fps) = (f64::from(time.frame), time.fps);
        let fields = [
            ("comment", file.string(CREATOR)),
            ("defaultPrim", file.token("liquid")),
            ("endTimeCode", file.double(frame)),
            ("framesPerSecond", file.double(fps)),
            ("metersPerUnit", file.double(1.0)),
            ("startTimeCode", file.double(frame)),
            ("timeCodesPerSecond", file.double(fps)),
            ("upAxis", file.token("Y")),
        ];
        file.root("liquid", &fields);
        file.prim("liquid", "Xform", Children::Prim(prim));
        file.prim(prim, kind, Children::Attributes(attributes));
        Layer { file, time: frame }
    }

    /// The attributes that change, as the manifest lists them, with their values at the frame.
    /// `interpolations` names those that say how they spread over the points.
    fn add(&mut self, attributes: &str, values: &[Value], interpolations: &[(&str, &str)]) {
        for (attribute, value) in attributes.lines().zip(values) {
            let (kind, name) = attribute.split_once(' ').expect("a type and a name");
            let mut fields = vec![];
            if let Some((_, word)) = interpolations.iter().find(|(n, _)| *n == name) {
                fields.push(("interpolation", self.file.token(word)));
            }
            fields.push(("timeSamples", self.file.time_sample(self.time, *value)));
            self.file.attribute(name, kind, &fields);
        }
    }
}

/// The layers of bodies, which lie beside the stage.
#[derive(Clone, Debug)]
pub struct BodyLayers {
    /// How many bodies there are.
    pub count: usize,
    /// The layer with their meshes.
    pub meshes: String,
    /// The layers with their poses, in the order of time.
    pub poses: Vec<(FrameTime, String)>,
}

/// Writes the stage over the layers of all frames, which lie beside it, and the manifest of their attributes.
/// The lists give the layers in the order of time; an empty one leaves the prim out.
/// `kinds` says whether the particles differ in kind and width.
pub fn write_usd_stage(
    path: &Path,
    surfaces: &[(FrameTime, String)],
    particles: &[(FrameTime, String)],
    whitewater: &[(FrameTime, String)],
    kinds: bool,
    bodies: Option<&BodyLayers>,
) -> Result<(), OutputError> {
    let manifest = path.with_extension("manifest.usda");
    let manifest_name = manifest.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let write_manifest = |w: &mut dyn std::io::Write| {
        writeln!(w, "#usda 1.0\n\nover \"liquid\"\n{{")?;
        let points = [POINT_ATTRIBUTES, if kinds { POINT_KIND } else { "" }].concat();
        let white = [POINT_ATTRIBUTES, POINT_KIND].concat();
        let all = [("surface", SURFACE_ATTRIBUTES), ("particles", &points), ("whitewater", &white)];
        let count = if whitewater.is_empty() { 2 } else { 3 };
        for (prim, attributes) in all.into_iter().take(count) {
            writeln!(w, "    over \"{prim}\"\n    {{")?;
            attributes.lines().try_for_each(|line| writeln!(w, "        {line}"))?;
            writeln!(w, "    }}")?;
        }
        writeln!(w, "}}")
    };
    // It never changes.
    if !manifest.exists() {
        write_atomic(&manifest, write_manifest)?;
    }
    let poses = bodies.map_or(&[][..], |bodies| &bodies.poses);
    let pose_manifest = path.with_extension("bodies.manifest.usda");
    let pose_manifest_name = pose_manifest.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(bodies) = bodies.filter(|_| !pose_manifest.exists()) {
        bodies::write_pose_manifest(&pose_manifest, bodies.count)?;
    }
    let all = || surfaces.iter().chain(particles).chain(whitewater).chain(poses).map(|(time, _)| time);
    let Some(fps) = all().next().map(|t| t.fps) else {
        return Err(OutputError::new("write", path, std::io::Error::other("a stage without frames")));
    };
    let range = [all().map(|t| t.frame).min().unwrap_or(0), all().map(|t| t.frame).max().unwrap_or(0)];
    write_atomic(path, |w| {
        let meshes = bodies.map(|bodies| bodies.meshes.as_str());
        writeln!(w, "#usda 1.0\n{}", stage_metadata(fps, range, meshes))?;
        writeln!(w, "def Xform \"liquid\"\n{{")?;
        if !surfaces.is_empty() {
            put_clips(w, "Mesh", "surface", mesh_constants(), surfaces, &manifest_name)?;
        }
        if !particles.is_empty() {
            put_clips(w, "Points", "particles", &point_constants(kinds), particles, &manifest_name)?;
        }
        if !whitewater.is_empty() {
            put_clips(w, "Points", "whitewater", &point_constants(true), whitewater, &manifest_name)?;
        }
        if !poses.is_empty() {
            put_clips(w, "Xform", "bodies", "", poses, &pose_manifest_name)?;
        }
        writeln!(w, "}}")
    })
}

/// What does not change with time. Widths are one for all, or one each as the kinds; ages one each.
fn point_constants(kinds: bool) -> String {
    let attribute = |declared: &str, spread: &str| {
        format!("        {declared} (\n            interpolation = \"{spread}\"\n        )\n")
    };
    let widths = if kinds { "vertex" } else { "constant" };
    let mut text = attribute("float[] primvars:age", "vertex") + &attribute("float[] widths", widths);
    if kinds {
        text += &attribute(POINT_KIND.trim_end(), "vertex");
    }
    text
}

fn mesh_constants() -> &'static str {
    "        uniform token orientation = \"rightHanded\"
        uniform token subdivisionScheme = \"none\"
"
}

fn stage_metadata(fps: f64, [first, last]: [u32; 2], sublayer: Option<&str>) -> String {
    let sublayers = sublayer.map_or_else(String::new, |file| format!("    subLayers = [@./{file}@]\n"));
    format!(
        "(
    customLayerData = {{
        string creator = \"{CREATOR}\"
    }}
    defaultPrim = \"liquid\"
    endTimeCode = {last}
    framesPerSecond = {fps}
    metersPerUnit = 1
    startTimeCode = {first}
{sublayers}    timeCodesPerSecond = {fps}
    upAxis = \"Y\"
)
"
    )
}

fn put_clips(
    w: &mut dyn std::io::Write,
    kind: &str,
    prim: &str,
    constants: &str,
    layers: &[(FrameTime, String)],
    manifest: &str,
) -> std::io::Result<()> {
    let files = layers.iter().map(|(_, f)| format!("@./{f}@")).collect::<Vec<_>>().join(", ");
    let active: Vec<String> =
        layers.iter().enumerate().map(|(n, (t, _))| format!("({}, {n})", t.frame)).collect();
    let times: Vec<String> = layers.iter().map(|(t, _)| format!("({0}, {0})", t.frame)).collect();
    write!(
        w,
        "    def {kind} \"{prim}\" (
        clips = {{
            dictionary default = {{
                double2[] active = [{}]
                asset[] assetPaths = [{files}]
                asset manifestAssetPath = @./{manifest}@
                string primPath = \"/liquid/{prim}\"
                double2[] times = [{}]
            }}
        }}
    )
    {{
{constants}    }}
",
        active.join(", "),
        times.join(", ")
    )
}

fn extent(bounds: Aabb) -> Vec<Vec3> {
    if bounds.min.x <= bounds.max.x { vec![bounds.min, bounds.max] } else { vec![] }
}
