//! The files of a frame: surface, volumes, particles, in the formats that the scene asks for, and the series
//! that plays them where a format has one.
//!
//! ```text
//! surface.0001.ply | .obj | .usdc | .abc | .vtp      liquid.usda, liquid.manifest.usda    the stage over all frames
//! particles.0001.ply | .usdc | .abc | .vtp           surface.pvd, particles.pvd, whitewater.pvd, volume.pvd
//! whitewater.0001.ply | .usdc | .abc | .vtp          spray, foam and bubbles
//! volume.0001.vdb | .vti
//! bodies.0001.usda | .abc                            bodies.usda                          poses, and the meshes once
//! cells.0001.ply                                     a cut through the middle, where cells differ in size
//! ```
//!
//! Every file is written once, complete or absent. A series only names files; it is made anew from those that
//! are there, so that a run that was killed or resumed has one that is right.

use fluvial_foundation::{Axis, Quat, StageTimers, Vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_output::{
    AbcFrame, BodyLayers, BodyMesh, CellCut, CutCell, FrameTime, HALF_WIDTH_CELLS, OutputError, PointCloud,
    Points, PointsOf, VolumeSource, VolumeView, write_abc, write_bytes_atomic, write_obj, write_ply,
    write_ply_cells, write_ply_points, write_pvd, write_usd, write_usd_body_meshes, write_usd_body_poses,
    write_usd_points, write_usd_stage, write_vdb, write_vti, write_vtp, write_vtp_points,
};
use fluvial_scene::{MeshFormat, Ready, VolumeFormat};
use fluvial_solver_interface::{
    LevelSet, SPARSE_BAND_CELLS, Setup, Solid, Solver, SparseLevelSet, UniformLevelSet, Wanted,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The layer with the bodies' meshes.
const BODY_MESHES: &str = "bodies.usda";

/// Which files a frame has.
#[derive(Clone, Debug)]
pub struct FileFormats {
    /// Surface, and particles as far as the format has them.
    pub mesh: MeshFormat,
    /// Level set and velocity.
    pub volumes: VolumeFormat,
    /// Are particles written?
    pub particles: bool,
    /// Where a cut through the cells lies, for methods whose cells differ in size, metres.
    pub cut_z: f32,
    /// The bodies' surfaces, for formats that have transforms.
    pub bodies: Arc<[BodyMesh]>,
}

impl From<&Ready> for FileFormats {
    fn from(ready: &Ready) -> Self {
        let output = &ready.output;
        FileFormats {
            mesh: output.mesh,
            volumes: output.volumes,
            particles: output.particles,
            cut_z: ready.setup.domain.bounds().center().z,
            bodies: body_meshes(&ready.setup),
        }
    }
}

/// What a frame's files are made of.
pub struct Look<'a> {
    /// The liquid.
    pub solver: &'a dyn Solver,
    /// Its surface, where one is wanted.
    pub mesh: Option<&'a TriangleMesh>,
    /// Its spray, foam and bubbles, where there are any.
    pub whitewater: Option<&'a PointCloud>,
    /// Its volume as OpenVDB, where it has been encoded already.
    pub volume: Option<Vec<u8>>,
}

impl FileFormats {
    /// Writes what a frame has and returns the files, series included. Seconds go to `timers` by kind of
    /// file.
    pub fn write(
        &self,
        dir: &Path,
        time: FrameTime,
        look: &Look,
        timers: &mut StageTimers,
    ) -> Result<Vec<PathBuf>, OutputError> {
        let mut written = Vec::new();
        if let Some(mesh) = look.mesh {
            written.extend(timers.stage("write_mesh", || write_surface(dir, self.mesh, time, mesh))?);
        }
        if let Some(points) = look.whitewater {
            let write = || write_points(dir, self.mesh, time, &points.as_points());
            written.push(timers.stage("write_whitewater", write)?);
        }
        let encoded = look.volume.as_ref().filter(|_| self.volumes == VolumeFormat::Vdb);
        if let Some(bytes) = encoded {
            let path = frame_path(dir, "volume", time.frame, "vdb");
            timers.stage("write_volume", || write_bytes_atomic(&path, bytes))?;
            written.push(path);
        }
        let snapshot = look.solver.snapshot(Wanted {
            level_set: self.volumes != VolumeFormat::None && encoded.is_none(),
            particles: self.particles,
            cut_at_z: Some(self.cut_z),
        });
        let kinds = snapshot.particles.as_ref().and_then(|particles| particles.kinds.as_ref());
        if let Some(particles) = &snapshot.particles {
            let points = Points {
                x: &particles.x,
                v: &particles.v,
                id: &particles.id,
                age_s: &particles.age_s,
                radius: particles.radius,
                kind: kinds.map(|k| k.kind.as_slice()),
                radii: kinds.map_or(&[], |k| k.radius.as_slice()),
                of: PointsOf::Particles,
            };
            written.push(timers.stage("write_particles", || write_points(dir, self.mesh, time, &points))?);
        }
        if let (Some(ending), Some(level_set)) = (volume_ending(self.volumes), &snapshot.level_set) {
            let path = frame_path(dir, "volume", time.frame, ending);
            timers.stage("write_volume", || match (level_set, self.volumes) {
                (LevelSet::Uniform(liquid), VolumeFormat::Vtk) => {
                    write_vti(&path, &volume_view(liquid), time)
                }
                (LevelSet::Uniform(liquid), _) => write_vdb(&path, &volume_view(liquid), time),
                (LevelSet::Sparse(liquid), _) => write_vdb(&path, &Sparse(&**liquid), time),
            })?;
            written.push(path);
        }
        if let Some(cells) = &snapshot.cut_cells {
            let path = frame_path(dir, "cells", time.frame, "ply");
            let cell = |c: &fluvial_solver_interface::CutCell| CutCell { min: c.min, dx: c.dx, phi: c.phi };
            let cut = CellCut { z: self.cut_z, cells: cells.iter().map(cell).collect() };
            timers.stage("write_cells", || write_ply_cells(&path, &cut))?;
            written.push(path);
        }
        if !self.bodies.is_empty() {
            let bodies = look.solver.bodies();
            let poses: Vec<_> = bodies.iter().map(|b| (b.pose.rotation, b.pose.translate)).collect();
            let write = || write_bodies(dir, self.mesh, time, (&self.bodies, &poses));
            written.extend(timers.stage("write_bodies", write)?);
        }
        let (formats, kinds) = ((self.mesh, self.volumes), kinds.is_some());
        let series =
            timers.stage("write_series", || write_series(dir, formats, time, kinds, self.bodies.len()))?;
        written.extend(series);
        Ok(written)
    }
}

/// The surfaces of a set-up's bodies, each in its own frame.
pub fn body_meshes(setup: &Setup) -> Arc<[BodyMesh]> {
    let cell = setup.domain.grid.dx;
    let bodies = setup.solids.iter().filter(|solid| solid.free.is_some());
    let mesh = |solid: &Solid| BodyMesh {
        name: solid.name.clone(),
        mesh: solid.shape.triangulate(solid.shape.bounds().expand(cell), cell),
    };
    bodies.map(mesh).collect()
}

/// Where the bodies of a set-up are at a moment: rotations and translations, world from body.
pub fn body_poses(setup: &Setup, time_s: f64) -> Vec<(Quat, Vec3)> {
    let bodies = setup.solids.iter().filter(|solid| solid.free.is_some());
    bodies.map(|solid| solid.motion.pose(time_s)).map(|pose| (pose.rotation, pose.translate)).collect()
}

/// Writes where the bodies are and what they look like, in formats that have transforms; returns the files.
pub fn write_bodies(
    dir: &Path,
    format: MeshFormat,
    time: FrameTime,
    (bodies, poses): (&[BodyMesh], &[(Quat, Vec3)]),
) -> Result<Vec<PathBuf>, OutputError> {
    let path = |ending: &str| frame_path(dir, "bodies", time.frame, ending);
    match format {
        MeshFormat::Usd => {
            let (path, once) = (path("usda"), dir.join(BODY_MESHES));
            write_usd_body_poses(&path, poses, time)?;
            if time.frame > 0 && once.exists() {
                return Ok(vec![path]);
            }
            write_usd_body_meshes(&once, bodies)?;
            Ok(vec![path, once])
        }
        MeshFormat::Abc => {
            let path = path("abc");
            write_abc(&path, &AbcFrame { bodies, poses, ..AbcFrame::default() }, time)?;
            Ok(vec![path])
        }
        MeshFormat::Ply | MeshFormat::Obj | MeshFormat::Vtk | MeshFormat::None => Ok(vec![]),
    }
}

/// A liquid on cells of one size, as the writer of volumes asks for it.
pub fn volume_view<'a>(liquid: &'a UniformLevelSet<'a>) -> VolumeView<'a> {
    VolumeView {
        grid: liquid.grid,
        phi_cell: &liquid.phi_cell,
        u_face: &liquid.u_face,
        phi_solid_node: liquid.phi_solid_node.as_deref(),
    }
}

/// A liquid of cells that differ in size, as the writer of volumes asks for it.
pub struct Sparse<'a>(pub &'a dyn SparseLevelSet);

const _: () = assert!(HALF_WIDTH_CELLS <= SPARSE_BAND_CELLS, "what the solver calls far is far for a file");

impl VolumeSource for Sparse<'_> {
    fn grid(&self) -> UniformGrid {
        self.0.grid()
    }

    fn phi(&self, cell: [usize; 3]) -> f32 {
        self.0.phi(cell)
    }

    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32 {
        self.0.velocity(axis, at)
    }

    fn depth_in_solids(&self, cell: [usize; 3]) -> f32 {
        -self.0.phi_solid(cell)
    }

    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool {
        self.0.is_free_of_solids(low, high)
    }

    fn far_from_surface(&self, low: [usize; 3], high: [usize; 3]) -> Option<bool> {
        self.0.far_from_surface(low, high)
    }

    fn is_sparse(&self) -> bool {
        true
    }
}

/// `name.0007.ending` in a folder.
pub fn frame_path(dir: &Path, name: &str, frame: u32, ending: &str) -> PathBuf {
    dir.join(format!("{name}.{frame:04}.{ending}"))
}

/// The frames of a kind of file that a folder holds, in order.
pub fn find_frames(dir: &Path, name: &str, ending: &str) -> std::io::Result<Vec<(u32, PathBuf)>> {
    let mut frames = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let number =
            file.strip_prefix(name).and_then(|f| f.strip_prefix('.')).and_then(|f| f.strip_suffix(ending));
        let number = number.and_then(|f| f.strip_suffix('.')).and_then(|f| f.parse().ok());
        if let Some(number) = number {
            frames.push((number, path));
        }
    }
    frames.sort();
    Ok(frames)
}

/// Ending of surface files.
pub fn surface_ending(format: MeshFormat) -> Option<&'static str> {
    match format {
        MeshFormat::Ply => Some("ply"),
        MeshFormat::Obj => Some("obj"),
        MeshFormat::Usd => Some("usdc"),
        MeshFormat::Abc => Some("abc"),
        MeshFormat::Vtk => Some("vtp"),
        MeshFormat::None => None,
    }
}

/// Ending of particle files: PLY where the format of surfaces has no particles.
pub fn points_ending(format: MeshFormat) -> &'static str {
    match format {
        MeshFormat::Obj | MeshFormat::None => "ply",
        other => surface_ending(other).unwrap_or("ply"),
    }
}

fn volume_ending(format: VolumeFormat) -> Option<&'static str> {
    match format {
        VolumeFormat::None => None,
        VolumeFormat::Vdb => Some("vdb"),
        VolumeFormat::Vtk => Some("vti"),
    }
}

/// Writes a surface in a format; returns the file, if the format has one.
pub fn write_surface(
    dir: &Path,
    format: MeshFormat,
    time: FrameTime,
    mesh: &TriangleMesh,
) -> Result<Option<PathBuf>, OutputError> {
    let Some(ending) = surface_ending(format) else { return Ok(None) };
    let path = frame_path(dir, "surface", time.frame, ending);
    match format {
        MeshFormat::Ply => write_ply(&path, mesh)?,
        MeshFormat::Obj => write_obj(&path, mesh)?,
        MeshFormat::Usd => write_usd(&path, mesh, time)?,
        MeshFormat::Abc => write_abc(&path, &AbcFrame { surface: Some(mesh), ..AbcFrame::default() }, time)?,
        MeshFormat::Vtk => write_vtp(&path, mesh, time)?,
        MeshFormat::None => {}
    }
    Ok(Some(path))
}

/// Writes particles in a format; returns the file.
pub fn write_points(
    dir: &Path,
    format: MeshFormat,
    time: FrameTime,
    points: &Points,
) -> Result<PathBuf, OutputError> {
    let path = frame_path(dir, points.of.name(), time.frame, points_ending(format));
    match format {
        MeshFormat::Ply | MeshFormat::Obj | MeshFormat::None => write_ply_points(&path, points)?,
        MeshFormat::Usd => write_usd_points(&path, points, time)?,
        MeshFormat::Abc => {
            write_abc(&path, &AbcFrame { points: Some(*points), ..AbcFrame::default() }, time)?
        }
        MeshFormat::Vtk => write_vtp_points(&path, points, time)?,
    }
    Ok(path)
}

/// Writes the series over the files that are there up to a frame; returns their files. `kinds`: do particles
/// differ in kind? `bodies`: how many bodies have files?
pub fn write_series(
    dir: &Path,
    (mesh, volumes): (MeshFormat, VolumeFormat),
    upto: FrameTime,
    kinds: bool,
    bodies: usize,
) -> Result<Vec<PathBuf>, OutputError> {
    let list = |name: &str, ending: &str| -> Result<Vec<(FrameTime, String)>, OutputError> {
        let frames =
            find_frames(dir, name, ending).map_err(|e| OutputError::new("read the folder", dir, e))?;
        let named = frames.into_iter().filter(|(frame, _)| *frame <= upto.frame).map(|(frame, path)| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (FrameTime { frame, fps: upto.fps }, file)
        });
        Ok(named.collect())
    };
    let mut written = Vec::new();
    if mesh == MeshFormat::Usd {
        let (surfaces, particles) = (list("surface", "usdc")?, list("particles", "usdc")?);
        let whitewater = list("whitewater", "usdc")?;
        if !surfaces.is_empty() || !particles.is_empty() || !whitewater.is_empty() {
            let path = dir.join("liquid.usda");
            let layers = match bodies {
                0 => None,
                count => {
                    Some(BodyLayers { count, meshes: BODY_MESHES.into(), poses: list("bodies", "usda")? })
                }
            };
            write_usd_stage(&path, &surfaces, &particles, &whitewater, kinds, layers.as_ref())?;
            written.extend(layers.map(|_| dir.join("liquid.bodies.manifest.usda")));
            written.extend([dir.join("liquid.manifest.usda"), path]);
        }
    }
    let mut pvds = Vec::new();
    if mesh == MeshFormat::Vtk {
        pvds.extend([("surface", "vtp"), ("particles", "vtp"), ("whitewater", "vtp")]);
    }
    if volumes == VolumeFormat::Vtk {
        pvds.push(("volume", "vti"));
    }
    for (name, ending) in pvds {
        let frames = list(name, ending)?;
        if !frames.is_empty() {
            let path = dir.join(format!("{name}.pvd"));
            write_pvd(&path, &frames)?;
            written.push(path);
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_names_the_frames_that_are_there_and_none_of_a_later_run() {
        let dir = tempfile::tempdir().unwrap();
        let mesh = TriangleMesh::default();
        let at = |frame| FrameTime { frame, fps: 25.0 };
        for frame in [0, 1, 2, 3, 10000] {
            write_surface(dir.path(), MeshFormat::Usd, at(frame), &mesh).unwrap();
            write_surface(dir.path(), MeshFormat::Vtk, at(frame), &mesh).unwrap();
        }
        std::fs::write(dir.path().join("surface.0002.usdc.partial"), "half").unwrap();
        for format in [MeshFormat::Usd, MeshFormat::Vtk] {
            write_series(dir.path(), (format, VolumeFormat::None), at(2), false, 0).unwrap();
        }
        let stage = std::fs::read_to_string(dir.path().join("liquid.usda")).unwrap();
        assert!(stage.contains("surface.0002.usdc@]") && !stage.contains("0003"), "{stage}");
        assert!(stage.contains("endTimeCode = 2") && stage.contains("timeCodesPerSecond = 25"), "{stage}");
        let series = std::fs::read_to_string(dir.path().join("surface.pvd")).unwrap();
        assert_eq!(series.matches("DataSet").count(), 3, "{series}");
        assert!(series.contains("timestep=\"0.08\""), "{series}");
        let frames = find_frames(dir.path(), "surface", "usdc").unwrap();
        assert_eq!(frames.iter().map(|f| f.0).collect::<Vec<_>>(), [0, 1, 2, 3, 10000]);
    }
}
