//! Rigid bodies in USD: their meshes once, in a layer of their own (`bodies.usda`), and a short layer per frame with
//! their poses (`bodies.0001.usda`), which the stage plays as value clips of `/liquid/bodies`.
//!
//! Body n is the transform `/liquid/bodies/body_n` over the mesh `/liquid/bodies/body_n/mesh`; the scene's name for it
//! stands in its `customData`.

use super::CREATOR;
use crate::{BodyMesh, FrameTime, OutputError, write_atomic};
use fluvial_foundation::{Quat, Vec3};
use std::io::{self, Write};
use std::path::Path;

/// The transform of a body, as the manifest of the clips lists it.
const POSE_ATTRIBUTES: [&str; 2] = ["double3 xformOp:translate", "quatf xformOp:orient"];

/// Writes the layer with the bodies' meshes.
pub fn write_usd_body_meshes(path: &Path, bodies: &[BodyMesh]) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        writeln!(
            w,
            "#usda 1.0\n(\n    customLayerData = {{\n        string creator = \"{CREATOR}\"\n    }}"
        )?;
        writeln!(w, "    defaultPrim = \"liquid\"\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n")?;
        writeln!(w, "def Xform \"liquid\"\n{{\n    def Xform \"bodies\"\n    {{")?;
        for (n, body) in bodies.iter().enumerate() {
            put_mesh(w, n, body)?;
        }
        writeln!(w, "    }}\n}}")
    })
}

fn put_mesh(w: &mut dyn Write, n: usize, BodyMesh { name, mesh }: &BodyMesh) -> io::Result<()> {
    let vector = |v: Vec3| format!("({}, {}, {})", v.x, v.y, v.z);
    let list = |items: Vec<String>| items.join(", ");
    let corners = mesh.triangles.as_flattened().iter().map(u32::to_string).collect();
    let (bounds, threes) = (mesh.bounds(), vec!["3".to_owned(); mesh.triangles.len()]);
    writeln!(w, "        def Xform \"body_{n}\" (\n            customData = {{")?;
    writeln!(w, "                string name = {}\n            }}\n        )\n        {{", quoted(name))?;
    POSE_ATTRIBUTES.iter().try_for_each(|attribute| writeln!(w, "            {attribute}"))?;
    let order = "[\"xformOp:translate\", \"xformOp:orient\"]";
    writeln!(w, "            uniform token[] xformOpOrder = {order}\n")?;
    writeln!(w, "            def Mesh \"mesh\"\n            {{")?;
    writeln!(w, "                float3[] extent = [{}, {}]", vector(bounds.min), vector(bounds.max))?;
    writeln!(w, "                int[] faceVertexCounts = [{}]", list(threes))?;
    writeln!(w, "                int[] faceVertexIndices = [{}]", list(corners))?;
    let points = mesh.positions.iter().map(|&x| vector(x)).collect();
    writeln!(w, "                point3f[] points = [{}]", list(points))?;
    writeln!(w, "                uniform token orientation = \"rightHanded\"")?;
    writeln!(w, "                uniform token subdivisionScheme = \"none\"\n            }}\n        }}")
}

/// Text in quotes.
fn quoted(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    format!("\"{plain}\"")
}

/// Writes the layer with the bodies' poses at a frame: rotations and translations, world from body.
pub fn write_usd_body_poses(path: &Path, poses: &[(Quat, Vec3)], time: FrameTime) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        writeln!(w, "#usda 1.0\n(\n    endTimeCode = {0}\n    startTimeCode = {0}", time.frame)?;
        writeln!(w, "    timeCodesPerSecond = {}\n)\n", time.fps)?;
        put_overs(w, poses.len(), |w, n| {
            let (turn, at) = poses[n];
            let values = [
                format!("({}, {}, {})", at.x, at.y, at.z),
                format!("({}, {}, {}, {})", turn.w, turn.x, turn.y, turn.z),
            ];
            for (attribute, value) in POSE_ATTRIBUTES.iter().zip(values) {
                writeln!(w, "            {attribute}.timeSamples = {{ {}: {value} }}", time.frame)?;
            }
            Ok(())
        })
    })
}

/// Writes the manifest of the layers with poses.
pub(super) fn write_pose_manifest(path: &Path, bodies: usize) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        writeln!(w, "#usda 1.0\n")?;
        put_overs(w, bodies, |w, _| {
            POSE_ATTRIBUTES.iter().try_for_each(|attribute| writeln!(w, "            {attribute}"))
        })
    })
}

fn put_overs(
    w: &mut dyn Write,
    bodies: usize,
    put: impl Fn(&mut dyn Write, usize) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(w, "over \"liquid\"\n{{\n    over \"bodies\"\n    {{")?;
    for n in 0..bodies {
        writeln!(w, "        over \"body_{n}\"\n        {{")?;
        put(w, n)?;
        writeln!(w, "        }}")?;
    }
    writeln!(w, "    }}\n}}")
}
