//! Alembic archives (Ogawa), written without the library: `/liquid/surface` (a polygon mesh whose topology
//! may change with every sample) and `/liquid/particles`, with velocities for motion blur; bodies are transforms
//! `/liquid/body_0`... over meshes that are written once. Metres, seconds, Y up.
//!
//! Data is written as it comes, and the tree that refers to it at the end: [`AbcWriter`] joins any number of
//! frames without holding them. Layout after Alembic's `AbcCoreOgawa` (archive, objects, properties) and
//! `AbcGeom` (names).

mod archive;
mod digest;
mod ogawa;

use crate::{BodyMesh, FrameTime, OutputError, Points, write_atomic_seek};
use archive::{Archive, ArrayProperty, ObjectKind, ScalarProperty};
use fluvial_foundation::{Aabb, DMat3, Quat, Vec3};
use fluvial_grids::TriangleMesh;
use std::io;
use std::path::Path;

/// A frame of an archive. Either every frame has a part or none has.
#[derive(Clone, Debug, Default)]
pub struct AbcFrame<'a> {
    /// The liquid's surface.
    pub surface: Option<&'a TriangleMesh>,
    /// The particles.
    pub points: Option<Points<'a>>,
    /// The bodies' surfaces; those of the first frame hold for all.
    pub bodies: &'a [BodyMesh],
    /// Where the bodies are: rotations and translations, world from body.
    pub poses: &'a [(Quat, Vec3)],
}

/// Writes one frame: an archive with one sample at the frame's time.
pub fn write_abc(path: &Path, frame: &AbcFrame, time: FrameTime) -> Result<(), OutputError> {
    write_abc_sequence(path, time, |writer| writer.frame(frame))
}

/// Writes the frames that `frames` gives to the writer, one after the other from `first` on, into one
/// archive. The file appears under its name once all frames are written.
pub fn write_abc_sequence(
    path: &Path,
    first: FrameTime,
    frames: impl FnOnce(&mut AbcWriter) -> io::Result<()>,
) -> Result<(), OutputError> {
    write_atomic_seek(path, |file| {
        let mut writer = AbcWriter { archive: Archive::start(file)?, parts: None, has_frames: false };
        frames(&mut writer)?;
        writer.finish(first)
    })
}

/// An archive that grows by frames.
pub struct AbcWriter<'a> {
    archive: Archive<'a>,
    parts: Option<Parts>,
    has_frames: bool,
}

/// Properties of the parts that the first frame had.
struct Parts {
    surface: Option<Surface>,
    particles: Option<Particles>,
    /// Their meshes, written with the first frame, and their matrices.
    bodies: Vec<(Surface, ScalarProperty)>,
}

struct Surface {
    bounds: ScalarProperty,
    positions: ArrayProperty,
    velocities: ArrayProperty,
    indices: ArrayProperty,
    counts: ArrayProperty,
}

struct Particles {
    bounds: ScalarProperty,
    positions: ArrayProperty,
    velocities: ArrayProperty,
    ids: ArrayProperty,
    widths: ArrayProperty,
    ages: ArrayProperty,
    /// Where they differ; then there is a width each.
    kinds: Option<ArrayProperty>,
    name: &'static str,
}

impl Surface {
    fn new() -> Surface {
        Surface {
            bounds: ScalarProperty::bounds(),
            positions: ArrayProperty::floats("P", 3, "geoScope=vtx;interpretation=point"),
            velocities: ArrayProperty::floats(".velocities", 3, "geoScope=vtx;interpretation=vector"),
            indices: ArrayProperty::ints(".faceIndices"),
            counts: ArrayProperty::ints(".faceCounts"),
        }
    }

    fn frame(&mut self, archive: &mut Archive, mesh: &TriangleMesh) -> io::Result<()> {
        self.bounds.add(archive, &box_bytes(mesh.bounds()))?;
        self.positions.add(archive, &vector_bytes(&mesh.positions))?;
        self.velocities.add(archive, &vector_bytes(&mesh.velocities))?;
        // Alembic's polygons are clockwise seen from outside.
        let reversed = mesh.triangles.iter().flat_map(|&[a, b, c]| [c, b, a]);
        self.indices.add(archive, &reversed.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())?;
        self.counts.add(archive, &3i32.to_le_bytes().repeat(mesh.triangles.len()))
    }
}

impl Particles {
    fn new(points: &Points) -> Particles {
        let with_kinds = points.have_kinds();
        let parameter = |scope: &str| {
            format!("arrayExtent=1;geoScope={scope};isGeomParam=true;podExtent=1;podName=float32_t")
        };
        Particles {
            bounds: ScalarProperty::bounds(),
            positions: ArrayProperty::floats("P", 3, "geoScope=var;interpretation=point"),
            velocities: ArrayProperty::floats(".velocities", 3, "geoScope=var;interpretation=vector"),
            ids: ArrayProperty::ids(".pointIds", "geoScope=var"),
            widths: ArrayProperty::floats(".widths", 1, &parameter(if with_kinds { "var" } else { "con" })),
            ages: ArrayProperty::floats("age", 1, &parameter("var")),
            kinds: with_kinds.then(|| ArrayProperty::floats("kind", 1, &parameter("var"))),
            name: points.of.name(),
        }
    }

    fn frame(&mut self, archive: &mut Archive, points: &Points) -> io::Result<()> {
        let bounds = points.x.iter().fold(Aabb::EMPTY, |b, &x| b.include(x));
        self.bounds.add(archive, &box_bytes(bounds))?;
        self.positions.add(archive, &vector_bytes(points.x))?;
        self.velocities.add(archive, &vector_bytes(points.v))?;
        self.ids.add(archive, &points.id.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>())?;
        match (&mut self.kinds, points.kind) {
            (None, None) => self.widths.add(archive, &(2.0 * points.radius).to_le_bytes())?,
            (Some(kinds), Some(kind)) => {
                let bytes =
                    |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect();
                let widths: Vec<u8> = bytes(&mut points.radii.iter().map(|r| 2.0 * r));
                let numbers: Vec<u8> = bytes(&mut kind.iter().map(|&k| f32::from(k)));
                self.widths.add(archive, &widths)?;
                kinds.add(archive, &numbers)?;
            }
            _ => {
                return Err(io::Error::other(
                    "particles of one frame have kinds, those of another have none",
                ));
            }
        }
        self.ages.add(archive, &points.age_s.iter().flat_map(|age| age.to_le_bytes()).collect::<Vec<u8>>())
    }
}

impl AbcWriter<'_> {
    /// Adds the next frame.
    pub fn frame(&mut self, frame: &AbcFrame) -> io::Result<()> {
        let parts = self.parts.get_or_insert_with(|| Parts {
            surface: frame.surface.map(|_| Surface::new()),
            particles: frame.points.map(|points| Particles::new(&points)),
            bodies: frame.bodies.iter().map(|_| (Surface::new(), ScalarProperty::matrix())).collect(),
        });
        if parts.surface.is_some() != frame.surface.is_some()
            || parts.particles.is_some() != frame.points.is_some()
            || parts.bodies.len() != frame.poses.len()
        {
            return Err(io::Error::other("a frame lacks what the first one has, or has more"));
        }
        if let (Some(surface), Some(mesh)) = (&mut parts.surface, frame.surface) {
            surface.frame(&mut self.archive, mesh)?;
        }
        if let (Some(particles), Some(points)) = (&mut parts.particles, &frame.points) {
            particles.frame(&mut self.archive, points)?;
        }
        for (n, (mesh, matrix)) in parts.bodies.iter_mut().enumerate() {
            if !self.has_frames {
                mesh.frame(&mut self.archive, &frame.bodies[n].mesh)?;
            }
            matrix.add(&mut self.archive, &matrix_bytes(frame.poses[n]))?;
        }
        self.has_frames = true;
        Ok(())
    }

    fn finish(mut self, first: FrameTime) -> io::Result<()> {
        let parts = self.parts.take().ok_or_else(|| io::Error::other("an archive without frames"))?;
        let mut children = Vec::new();
        if let Some(s) = parts.surface {
            let arrays = vec![s.positions, s.velocities, s.indices, s.counts];
            children.push(self.archive.object("surface", ObjectKind::PolyMesh, s.bounds, arrays, vec![])?);
        }
        if let Some(p) = parts.particles {
            let arrays = vec![p.positions, p.velocities, p.ids, p.widths];
            children.push(self.archive.object(
                p.name,
                ObjectKind::Points,
                p.bounds,
                arrays,
                std::iter::once(p.ages).chain(p.kinds).collect(),
            )?);
        }
        for (n, (mesh, matrix)) in parts.bodies.into_iter().enumerate() {
            let arrays = vec![mesh.positions, mesh.indices, mesh.counts];
            let mesh = self.archive.object("mesh", ObjectKind::PolyMesh, mesh.bounds, arrays, vec![])?;
            children.push(self.archive.transform(&format!("body_{n}"), matrix, &[mesh])?);
        }
        self.archive.finish(children, first)
    }
}

fn vector_bytes(values: &[Vec3]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_array()).flat_map(f32::to_le_bytes).collect()
}

/// Row by row, for points as rows before the matrix.
fn matrix_bytes((rotation, translate): (Quat, Vec3)) -> Vec<u8> {
    let turn = DMat3::from_quat(rotation.as_dquat());
    let rows = [(turn.x_axis, 0.0), (turn.y_axis, 0.0), (turn.z_axis, 0.0), (translate.as_dvec3(), 1.0)];
    let numbers = rows.into_iter().flat_map(|(row, last)| [row.x, row.y, row.z, last]);
    numbers.flat_map(f64::to_le_bytes).collect()
}

fn box_bytes(bounds: Aabb) -> Vec<u8> {
    let corners = [bounds.min, bounds.max].map(|c| c.as_dvec3().to_array());
    corners.as_flattened().iter().flat_map(|c| c.to_le_bytes()).collect()
}
