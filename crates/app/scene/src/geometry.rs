//! From shapes and motions as written to those that are simulated.

use crate::Scene;
use crate::error::SceneError;
use crate::poses::{PosesError, parse_poses};
use crate::shapes::{KeySpec, MotionSpec, ShapeSpec};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{
    GreyImage, Key, MeshDistance, MeshError, Motion, Pose, Shape, heightfield_mesh, read_mesh,
};
use std::sync::Arc;

impl Scene {
    /// The shape at a path of the scene, ready to be asked for distances.
    pub(crate) fn shape(&self, spec: &ShapeSpec, path: &str) -> Result<Shape, SceneError> {
        let vec3 = Vec3::from_array;
        let nonzero = |v: [f32; 3], key: &str, name: &str| {
            if vec3(v).length() > 0.0 {
                return Ok(vec3(v));
            }
            let message = format!("the {name}'s `{key}` is zero");
            Err(self.fail(&format!("{path}.{name}.{key}"), message, "give a direction, such as [0, 1, 0]"))
        };
        Ok(match spec {
            ShapeSpec::Box(b) => {
                let (min, max) = (vec3(b.min), vec3(b.max));
                if !min.cmplt(max).all() {
                    let help = "every number of `min` must be less than that of `max`";
                    return Err(self.fail(&format!("{path}.box.max"), "the box is empty", help));
                }
                Shape::Box { min, max }
            }
            ShapeSpec::Sphere(s) => Shape::Sphere { center: vec3(s.center), radius: s.radius },
            ShapeSpec::Cylinder(c) | ShapeSpec::Capsule(c) => {
                let name = if matches!(spec, ShapeSpec::Cylinder(_)) { "cylinder" } else { "capsule" };
                let (from, to, radius) = (vec3(c.from), vec3(c.to), c.radius);
                if from == to {
                    let message = format!("the {name} has no length: `from` and `to` are the same");
                    return Err(self.fail(
                        &format!("{path}.{name}.to"),
                        message,
                        "move one of the ends, or use a sphere",
                    ));
                }
                match spec {
                    ShapeSpec::Cylinder(_) => Shape::Cylinder { from, to, radius },
                    _ => Shape::Capsule { from, to, radius },
                }
            }
            ShapeSpec::Torus(t) => {
                if t.minor_radius >= t.major_radius {
                    let message = "the torus has no hole";
                    let help = "`minor_radius` (the tube) must be less than `major_radius` (the ring)";
                    return Err(self.fail(&format!("{path}.torus.minor_radius"), message, help));
                }
                let axis = nonzero(t.axis, "axis", "torus")?;
                let (major_radius, minor_radius) = (t.major_radius, t.minor_radius);
                Shape::Torus { center: vec3(t.center), axis, major_radius, minor_radius }
            }
            ShapeSpec::Plane(p) => {
                Shape::Plane { point: vec3(p.point), normal: nonzero(p.normal, "normal", "plane")? }
            }
            ShapeSpec::Heightfield(_) | ShapeSpec::Mesh(_) => Shape::Mesh(Arc::new(self.mesh(spec, path)?)),
            ShapeSpec::Union(parts) => Shape::Union(self.parts(parts, path, "union")?),
            ShapeSpec::Intersection(parts) => Shape::Intersection(self.parts(parts, path, "intersection")?),
            ShapeSpec::Difference(parts) => {
                let mut parts = self.parts(parts, path, "difference")?;
                let first = parts.remove(0);
                let rest = if parts.len() == 1 { parts.remove(0) } else { Shape::Union(parts) };
                Shape::Difference(Box::new(first), Box::new(rest))
            }
            ShapeSpec::Transform(t) => {
                let path = format!("{path}.transform");
                let rotation = self.rotation(t.rotate, t.quaternion, &path)?;
                let shape = Box::new(self.shape(&t.shape, &format!("{path}.shape"))?);
                Shape::Transform { shape, scale: t.scale, rotation, translate: vec3(t.translate) }
            }
        })
    }

    fn parts(&self, parts: &[ShapeSpec], path: &str, name: &str) -> Result<Vec<Shape>, SceneError> {
        parts.iter().enumerate().map(|(n, part)| self.shape(part, &format!("{path}.{name}.{n}"))).collect()
    }

    /// The mesh behind a mesh or heightfield shape.
    fn mesh(&self, spec: &ShapeSpec, path: &str) -> Result<MeshDistance, SceneError> {
        match spec {
            ShapeSpec::Heightfield(h) => {
                let at = |key: &str| format!("{path}.heightfield.{key}");
                if !(h.min[0] < h.max[0] && h.min[1] < h.max[1]) {
                    let help = "every number of `min` must be less than that of `max`; they are [x, z]";
                    return Err(self.fail(&at("max"), "the heightfield's rectangle is empty", help));
                }
                let lowest = h.heights[0].min(h.heights[1]);
                let side = (h.max[0] - h.min[0]).max(h.max[1] - h.min[1]);
                let base = h.base.unwrap_or(lowest - side);
                if base >= lowest {
                    let help = format!("`base` must lie below both heights: less than {lowest}");
                    return Err(self.fail(
                        &at("base"),
                        "the heightfield's base lies above its surface",
                        help,
                    ));
                }
                let image = GreyImage::read(&self.origin.folder.join(&h.image))
                    .map_err(|e| self.mesh_error(&at("image"), &h.image, &e))?;
                heightfield_mesh(&image, h.min, h.max, h.heights, base)
                    .and_then(MeshDistance::new)
                    .map_err(|e| self.mesh_error(&at("image"), &h.image, &e))
            }
            ShapeSpec::Mesh(m) => read_mesh(&self.origin.folder.join(&m.path))
                .and_then(|mesh| match m.thickness {
                    Some(thickness) => MeshDistance::shell(mesh, thickness),
                    None => MeshDistance::new(mesh),
                })
                .map_err(|e| self.mesh_error(&format!("{path}.mesh.path"), &m.path, &e)),
            _ => unreachable!("only called for these two"),
        }
    }

    fn mesh_error(&self, path: &str, file: &str, error: &MeshError) -> SceneError {
        let help = match error {
            MeshError::Io { .. } => "check the name; it is relative to the scene file's folder",
            MeshError::UnknownFormat(_) => "export the mesh as .obj, .ply, .stl, .gltf or .glb",
            MeshError::Format(_) => "the file is damaged or of another format; export it again",
            MeshError::Empty => "export the object with its faces",
            MeshError::Holes { .. } => {
                "fill the holes of a solid body in a modelling program (in Blender: Mesh > Clean Up > Fill Holes); give an open sheet a thickness: mesh = { path = \"...\", thickness = 0.005 }"
            }
            MeshError::Orientation { .. } => {
                "make the normals consistent (in Blender: Mesh > Normals > Recalculate Outside) and remove inner faces"
            }
        };
        self.fail(path, format!("`{file}`: {error}"), help)
    }

    fn rotation(
        &self,
        rotate: Option<[f32; 3]>,
        quaternion: Option<[f32; 4]>,
        path: &str,
    ) -> Result<Quat, SceneError> {
        match (rotate, quaternion) {
            (Some(_), Some(_)) => {
                let message = "`rotate` and `quaternion` exclude each other";
                Err(self.fail(&format!("{path}.quaternion"), message, "keep one of them"))
            }
            (_, Some(q)) => {
                let q = Quat::from_array(q);
                if q.length() < 1e-6 {
                    let help = "a quaternion [x, y, z, w] has length 1; no turn is [0, 0, 0, 1]";
                    return Err(self.fail(&format!("{path}.quaternion"), "the quaternion is zero", help));
                }
                Ok(q.normalize())
            }
            (Some(degrees), None) => {
                let [x, y, z] = degrees.map(f32::to_radians);
                Ok(Quat::from_rotation_z(z) * Quat::from_rotation_y(y) * Quat::from_rotation_x(x))
            }
            (None, None) => Ok(Quat::IDENTITY),
        }
    }

    /// A solid's motion.
    pub(crate) fn motion(&self, spec: &MotionSpec, shape: &Shape, path: &str) -> Result<Motion, SceneError> {
        let constant = spec.linear.is_some() || spec.angular.is_some();
        let kinds = [spec.keys.is_some(), constant, spec.file.is_some()];
        if kinds.iter().filter(|k| **k).count() != 1 {
            let help = "give exactly one of `keys`, `linear` and/or `angular`, `file`";
            return Err(self.fail(path, "the motion is not one kind of motion", help));
        }
        if spec.file.is_none() && spec.file_fps.is_some() {
            let help = "remove it, or name the `file` that it belongs to";
            return Err(self.fail(&format!("{path}.file_fps"), "`file_fps` without `file`", help));
        }
        if let Some(file) = &spec.file {
            if spec.about.is_some() {
                let help = "remove it: the poses of a file are about the origin";
                return Err(self.fail(&format!("{path}.about"), "`about` has no meaning with `file`", help));
            }
            let poses = self.read_poses(file, &format!("{path}.file"))?;
            return Ok(Motion::per_frame(spec.file_fps.unwrap_or(self.time.fps), &poses));
        }
        let turns = spec.angular.is_some()
            || spec.keys.iter().flatten().any(|k| k.rotate.is_some() || k.quaternion.is_some());
        let center = shape.bounds().center();
        if turns && spec.about.is_none() && !center.is_finite() {
            let help = "name the pivot of the turn: about = [x, y, z]";
            return Err(self.fail(path, "an unbounded shape has no middle to turn about", help));
        }
        let default_pivot = if center.is_finite() { center } else { Vec3::ZERO };
        let about = spec.about.map_or(default_pivot, Vec3::from_array);
        match &spec.keys {
            Some(keys) => self.keys(keys, about, &format!("{path}.keys")),
            None => Ok(Motion::Constant {
                linear: Vec3::from_array(spec.linear.unwrap_or_default()),
                angular: Vec3::from_array(spec.angular.unwrap_or_default()),
                about,
            }),
        }
    }

    fn keys(&self, specs: &[KeySpec], about: Vec3, path: &str) -> Result<Motion, SceneError> {
        let mut keys: Vec<Key> = Vec::with_capacity(specs.len());
        for (n, spec) in specs.iter().enumerate() {
            if keys.last().is_some_and(|last| spec.t <= last.time_s) {
                let message = format!(
                    "key frames must rise in time: t = {} comes after t = {}",
                    spec.t,
                    specs[n - 1].t
                );
                return Err(self.fail(
                    &format!("{path}.{n}.t"),
                    message,
                    "sort the keys by `t`, each time once",
                ));
            }
            let rotation = self.rotation(spec.rotate, spec.quaternion, &format!("{path}.{n}"))?;
            keys.push(Key { time_s: spec.t, translate: Vec3::from_array(spec.translate), rotation });
        }
        Ok(Motion::Keys { about, keys })
    }

    fn read_poses(&self, file: &str, path: &str) -> Result<Vec<Pose>, SceneError> {
        let text = std::fs::read_to_string(self.origin.folder.join(file)).map_err(|e| {
            let help = "check the name; it is relative to the scene file's folder";
            self.fail(path, format!("cannot read `{file}`: {e}"), help)
        })?;
        parse_poses(&text).map_err(|error| match error {
            PosesError::NotAPose { line } => {
                let help =
                    "a line is `tx ty tz qx qy qz qw` or the 16 numbers of a rigid 4 x 4 matrix by rows";
                self.fail(path, format!("`{file}` line {line}: not a pose"), help)
            }
            PosesError::Empty => self.fail(path, format!("`{file}` has no poses"), "give one pose a line"),
        })
    }
}
