//! USD as text: a layer per frame and one stage that plays them.
//!
//! The arrays of a frame stand in a layer of their own (`surface.0001.usda`), written once. The stage (`liquid.usda`)
//! names the layers as value clips of `/liquid/surface` and `/liquid/particles`; it is short and written anew with
//! every frame, so that a run that is killed leaves a stage with all its frames. Topology changes from frame to frame;
//! `velocities` carry motion blur. Metres, seconds, Y up; time code n is frame n.

use crate::{FrameTime, OutputError, Points, write_atomic};
use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_grids::TriangleMesh;
use std::fmt::Write as _;
use std::path::Path;

/// Items that are printed together.
const CHUNK: usize = 4096;

/// Attributes of a surface, as the manifest of the clips lists them.
const SURFACE_ATTRIBUTES: &str = "float3[] extent
int[] faceVertexCounts
int[] faceVertexIndices
point3f[] points
vector3f[] velocities
";
/// Attributes of particles.
const POINT_ATTRIBUTES: &str = "float3[] extent
int64[] ids
point3f[] points
float[] primvars:age
vector3f[] velocities
float[] widths
";

/// Writes the layer of a surface.
pub fn write_usd(path: &Path, mesh: &TriangleMesh, time: FrameTime) -> Result<(), OutputError> {
    let mut body = String::new();
    put(&mut body, time, "float3[] extent", &extent(mesh.bounds()));
    put(&mut body, time, "int[] faceVertexCounts", &"3, ".repeat(mesh.triangles.len()));
    let triangle = |out: &mut String, [a, b, c]: [u32; 3]| {
        let _ = write!(out, "{a}, {b}, {c}, ");
    };
    put(&mut body, time, "int[] faceVertexIndices", &list(&mesh.triangles, triangle));
    put(&mut body, time, "point3f[] points", &list(&mesh.positions, vector));
    put(&mut body, time, "vector3f[] velocities", &list(&mesh.velocities, vector));
    write_layer(path, "Mesh", "surface", mesh_constants(), &body, time)
}

/// Writes the layer of particles: `ids`, `widths` (twice the radius) and `primvars:age` beside position and velocity.
pub fn write_usd_points(path: &Path, points: &Points, time: FrameTime) -> Result<(), OutputError> {
    let bounds = points.x.iter().fold(Aabb::EMPTY, |b, &x| b.include(x));
    let bounds = Aabb { min: bounds.min - points.radius, max: bounds.max + points.radius };
    let mut body = String::new();
    put(&mut body, time, "float3[] extent", &extent(bounds));
    put(&mut body, time, "int64[] ids", &list(points.id, id));
    put(&mut body, time, "point3f[] points", &list(points.x, vector));
    put(&mut body, time, "float[] primvars:age", &list(points.age_s, |out, age| number(out, age, ", ")));
    put(&mut body, time, "vector3f[] velocities", &list(points.v, vector));
    let mut width = String::new();
    number(&mut width, 2.0 * points.radius, "");
    put(&mut body, time, "float[] widths", &width);
    write_layer(path, "Points", "particles", point_constants(), &body, time)
}

/// Writes the stage over the layers of all frames, which lie beside it, and the manifest of their attributes.
/// `surfaces` and `particles` give the layers in the order of time; an empty list leaves the prim out.
pub fn write_usd_stage(
    path: &Path,
    surfaces: &[(FrameTime, String)],
    particles: &[(FrameTime, String)],
) -> Result<(), OutputError> {
    let manifest = path.with_extension("manifest.usda");
    let manifest_name = manifest.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let write_manifest = |w: &mut dyn std::io::Write| {
        writeln!(w, "#usda 1.0\n\nover \"liquid\"\n{{")?;
        for (prim, attributes) in [("surface", SURFACE_ATTRIBUTES), ("particles", POINT_ATTRIBUTES)] {
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
    let all = || surfaces.iter().chain(particles).map(|(time, _)| time);
    let Some(fps) = all().next().map(|t| t.fps) else {
        return Err(OutputError::new("write", path, std::io::Error::other("a stage without frames")));
    };
    let range = [all().map(|t| t.frame).min().unwrap_or(0), all().map(|t| t.frame).max().unwrap_or(0)];
    write_atomic(path, |w| {
        writeln!(w, "#usda 1.0\n{}", stage_metadata(fps, range))?;
        writeln!(w, "def Xform \"liquid\"\n{{")?;
        if !surfaces.is_empty() {
            put_clips(w, "Mesh", "surface", mesh_constants(), surfaces, &manifest_name)?;
        }
        if !particles.is_empty() {
            put_clips(w, "Points", "particles", point_constants(), particles, &manifest_name)?;
        }
        writeln!(w, "}}")
    })
}

/// What does not change with time. Widths are one for all; ages one each.
fn point_constants() -> &'static str {
    "        float[] primvars:age (
            interpolation = \"vertex\"
        )
        float[] widths (
            interpolation = \"constant\"
        )
"
}

fn mesh_constants() -> &'static str {
    "        uniform token orientation = \"rightHanded\"
        uniform token subdivisionScheme = \"none\"
"
}

fn stage_metadata(fps: f64, [first, last]: [u32; 2]) -> String {
    format!(
        "(
    customLayerData = {{
        string creator = \"fluvial {version}\"
    }}
    defaultPrim = \"liquid\"
    endTimeCode = {last}
    framesPerSecond = {fps}
    metersPerUnit = 1
    startTimeCode = {first}
    timeCodesPerSecond = {fps}
    upAxis = \"Y\"
)
",
        version = env!("CARGO_PKG_VERSION")
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

fn write_layer(
    path: &Path,
    kind: &str,
    prim: &str,
    constants: &str,
    body: &str,
    time: FrameTime,
) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        writeln!(w, "#usda 1.0\n{}", stage_metadata(time.fps, [time.frame; 2]))?;
        write!(
            w,
            "def Xform \"liquid\"\n{{\n    def {kind} \"{prim}\"\n    {{\n{constants}{body}    }}\n}}\n"
        )
    })
}

/// One attribute with its value at the frame.
fn put(out: &mut String, time: FrameTime, attribute: &str, items: &str) {
    let items = items.strip_suffix(", ").unwrap_or(items);
    let _ = write!(
        out,
        "        {attribute}.timeSamples = {{\n            {}: [{items}],\n        }}\n",
        time.frame
    );
}

fn extent(bounds: Aabb) -> String {
    let mut out = String::new();
    if bounds.min.x <= bounds.max.x {
        vector(&mut out, bounds.min);
        vector(&mut out, bounds.max);
    }
    out
}

/// Prints items in parallel, in order.
fn list<T: Copy + Sync>(items: &[T], print: impl Fn(&mut String, T) + Sync + Send) -> String {
    let chunks = parallel::chunk_count(items.len(), CHUNK);
    let printed = parallel::map_indices(chunks, |c| {
        let part = &items[parallel::chunk_range(c, CHUNK, items.len())];
        let mut out = String::with_capacity(36 * part.len());
        part.iter().for_each(|&item| print(&mut out, item));
        out
    });
    printed.concat()
}

fn vector(out: &mut String, v: Vec3) {
    out.push('(');
    number(out, v.x, ", ");
    number(out, v.y, ", ");
    number(out, v.z, "), ");
}

fn id(out: &mut String, id: u64) {
    let _ = write!(out, "{id}, ");
}

/// The shortest text that reads back to the same bits.
fn number(out: &mut String, value: f32, end: &str) {
    let size = value.abs();
    let _ = if value != 0.0 && !(1e-4..1e7).contains(&size) {
        write!(out, "{value:e}{end}")
    } else {
        write!(out, "{value}{end}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_to_the_same_bits() {
        for value in
            [0.0, -0.0, 0.1, 1.0 / 3.0, 1e-30, -2.5e-8, 1.5e9, 123456.79, f32::MIN_POSITIVE, f32::MAX]
        {
            let mut out = String::new();
            number(&mut out, value, "");
            assert_eq!(out.parse::<f32>().unwrap().to_bits(), value.to_bits(), "{out}");
            assert!(out.len() < 20);
        }
    }
}
