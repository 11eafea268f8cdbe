//! Shapes and motions as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shape: a table with one key that says which. Lengths in m.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShapeSpec {
    /// Box along the axes.
    Box(BoxSpec),
    /// Ball.
    Sphere(SphereSpec),
    /// Round cylinder with flat ends.
    Cylinder(CylinderSpec),
    /// Cylinder with round ends.
    Capsule(CylinderSpec),
    /// Ring.
    Torus(TorusSpec),
    /// Everything on one side of a plane.
    Plane(PlaneSpec),
    /// Ground from a grey image.
    Heightfield(HeightfieldSpec),
    /// Inside of a closed mesh from a file.
    Mesh(MeshSpec),
    /// Inside any of these.
    Union(#[schemars(length(min = 1))] Vec<ShapeSpec>),
    /// Inside all of these.
    Intersection(#[schemars(length(min = 1))] Vec<ShapeSpec>),
    /// Inside the first, outside all the others.
    Difference(#[schemars(length(min = 2))] Vec<ShapeSpec>),
    /// A shape scaled about the origin, then turned about it, then moved.
    Transform(Box<TransformSpec>),
}

/// Box along the axes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxSpec {
    /// Lower corner, m.
    pub min: [f32; 3],
    /// Upper corner, m.
    pub max: [f32; 3],
}

/// Ball.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SphereSpec {
    /// Centre, m.
    pub center: [f32; 3],
    /// Radius, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f32,
}

/// Cylinder or capsule between two points.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CylinderSpec {
    /// Middle of one end, m.
    pub from: [f32; 3],
    /// Middle of the other end, m.
    pub to: [f32; 3],
    /// Radius, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f32,
}

/// Ring.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TorusSpec {
    /// Centre, m.
    pub center: [f32; 3],
    /// Direction of the hole.
    #[serde(default = "up")]
    pub axis: [f32; 3],
    /// From the centre to the middle of the tube, m.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub major_radius: f32,
    /// Radius of the tube, m; less than `major_radius`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub minor_radius: f32,
}

fn up() -> [f32; 3] {
    [0.0, 1.0, 0.0]
}

/// Everything on one side of a plane.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaneSpec {
    /// A point on the plane, m.
    pub point: [f32; 3],
    /// Points out of the shape.
    #[serde(default = "up")]
    pub normal: [f32; 3],
}

/// Ground from a grey image: pixel columns run along x, rows along z.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeightfieldSpec {
    /// PNG, JPEG or TIFF file, relative to the scene; at most 2048 pixels a side.
    pub image: String,
    /// Lower corner of the ground rectangle, `[x, z]`, m.
    pub min: [f32; 2],
    /// Upper corner, `[x, z]`, m.
    pub max: [f32; 2],
    /// Heights of black and of white, m.
    pub heights: [f32; 2],
    /// Where the body ends below, m; one rectangle side below the lowest height where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<f32>,
}

/// A closed mesh from a file, or an open one with a thickness.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshSpec {
    /// OBJ, PLY, STL, glTF or GLB file, relative to the scene; its unit is taken as m.
    pub path: String,
    /// Makes the mesh a shell of this thickness, half of it on either side of the triangles, m. An open mesh needs
    /// one; it may be much thinner than a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub thickness: Option<f32>,
}

/// A shape scaled, turned and moved.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransformSpec {
    /// What.
    pub shape: ShapeSpec,
    /// Scale about the origin.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: f32,
    /// Turn about the origin by angles about the fixed axes x, then y, then z, degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<[f32; 3]>,
    /// The turn as a quaternion `[x, y, z, w]`, instead of `rotate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quaternion: Option<[f32; 4]>,
    /// Move, m.
    #[serde(default)]
    pub translate: [f32; 3],
}

fn one() -> f32 {
    1.0
}

/// How a solid moves: by `keys`, by constant `linear` and `angular` velocity, or by a `file` of poses.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MotionSpec {
    /// Key frames, times rising; held before the first and after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub keys: Option<Vec<KeySpec>>,
    /// Constant velocity, m/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear: Option<[f32; 3]>,
    /// Constant turn: axis times rad/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub angular: Option<[f32; 3]>,
    /// Pivot of the turns, m; the middle of the shape's bounding box where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<[f32; 3]>,
    /// Text file with one pose a line, relative to the scene: `tx ty tz qx qy qz qw`, or the 16 numbers of a
    /// matrix by rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Poses per second in the file, 1/s; the scene's frames per second where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub file_fps: Option<f64>,
}

/// A key frame.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeySpec {
    /// Time, s.
    pub t: f64,
    /// Move from the place in the scene, m.
    #[serde(default)]
    pub translate: [f32; 3],
    /// Turn by angles about the fixed axes x, then y, then z, degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<[f32; 3]>,
    /// The turn as a quaternion `[x, y, z, w]`, instead of `rotate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quaternion: Option<[f32; 4]>,
}
