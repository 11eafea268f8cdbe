//! Types and names of what a layer holds.

/// Attributes of a surface, as the manifest of the clips lists them.
pub const SURFACE_ATTRIBUTES: &str = "float3[] extent
int[] faceVertexCounts
int[] faceVertexIndices
point3f[] points
vector3f[] velocities
";
/// Attributes of particles; [`POINT_KIND`] is there where they differ in kind.
pub const POINT_ATTRIBUTES: &str = "float3[] extent
int64[] ids
point3f[] points
float[] primvars:age
vector3f[] velocities
float[] widths
";
pub const POINT_KIND: &str = "int[] primvars:kind
";

pub const MESH_NAMES: [&str; 7] = [
    "extent",
    "faceVertexCounts",
    "faceVertexIndices",
    "points",
    "velocities",
    "orientation",
    "subdivisionScheme",
];
pub const POINT_NAMES: [&str; 7] =
    ["extent", "ids", "points", "primvars:age", "velocities", "widths", "primvars:kind"];
