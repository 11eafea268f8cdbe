//! Frames drawn by the preview renderer, and the film they make.

use crate::picture::{Picture, PictureBudget};
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_output::{OutputError, PointCloud, create_dir, write_bytes_atomic};
use fluvial_preview::{
    Ball, Camera, FilmWriter, Image, RenderParams, RenderScene, WhiteKind, WhitePoint, render, render_balls,
};
use fluvial_scene::{CameraSpec, Ready};
use fluvial_solids::Motion;
use fluvial_solver_interface::{BodyReport, Solid, Solver};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Effort by level: samples at edges, texels of the light map. Level 0 is the best.
const LEVELS: [(usize, usize); 3] = [(4, 256), (2, 160), (1, 96)];
/// How much cheaper each level is than the one before, about.
const FALLOFF: f64 = 1.6;

/// Colours of particles by kind, linear: small ones blue, merged ones amber, inserted ones red, flying ones
/// white.
pub const KIND_COLORS: [Vec3; 4] = [
    Vec3::new(0.10, 0.30, 0.62),
    Vec3::new(0.72, 0.46, 0.06),
    Vec3::new(0.70, 0.025, 0.02),
    Vec3::new(0.80, 0.82, 0.85),
];

/// Draws the frames of one scene.
pub struct Drawer {
    domain: Aabb,
    camera: Camera,
    size: [usize; 2],
    clarity: Option<f32>,
    /// Solids in their own frame, and how they move.
    solids: Vec<(TriangleMesh, Motion)>,
    /// Numbers of those that are bodies.
    bodies: Vec<usize>,
}

impl Drawer {
    /// Looks at a scene as its `[output]` says.
    pub fn new(ready: &Ready) -> Drawer {
        let size = ready.output.preview_size.map(|n| n as usize);
        let domain = ready.setup.domain.bounds();
        let cell = ready.setup.domain.grid.dx;
        let solids =
            ready.setup.solids.iter().map(|s| (triangles(s, domain, cell), s.motion.clone())).collect();
        let clarity = ready.output.clarity.map(|c| c as f32);
        let bodies = ready.setup.body_numbers();
        let mut drawer =
            Drawer { domain, camera: Camera::framing(domain, 1.0), size, clarity, solids, bodies };
        drawer.look(ready.output.camera, size);
        drawer
    }

    /// Changes the camera (the whole domain where none is given) and the size of the pictures.
    pub fn look(&mut self, camera: Option<CameraSpec>, size: [usize; 2]) {
        let aspect = size[0] as f32 / size[1] as f32;
        self.size = size;
        self.camera = match camera {
            Some(c) => {
                let (position, look_at) = (Vec3::from_array(c.position), Vec3::from_array(c.look_at));
                Camera { position, look_at, fov_degrees: c.fov }
            }
            None => Camera::framing(self.domain, aspect),
        };
    }

    /// The camera that it looks with.
    pub fn camera(&self) -> Camera {
        self.camera
    }

    /// Bodies stay where a solver has them.
    pub fn place_bodies(&mut self, solver: &dyn Solver) {
        let time_s = solver.time_s();
        let still =
            |body: BodyReport| Motion::Free { time_s: [time_s; 2], poses: [body.pose; 2], twist: body.twist };
        self.move_bodies(solver.bodies().into_iter().map(still));
    }

    /// From now on bodies move so; those beyond the list stay as they are.
    pub fn move_bodies(&mut self, motions: impl IntoIterator<Item = Motion>) {
        for (&number, motion) in self.bodies.iter().zip(motions) {
            self.solids[number].1 = motion;
        }
    }

    /// Draws a frame at a level of effort; 0 is the best.
    pub fn draw(
        &self,
        time_s: f64,
        liquid: &TriangleMesh,
        whitewater: Option<&PointCloud>,
        level: usize,
    ) -> Image {
        let solids = self.solids_at(time_s);
        let white = whitewater.map(white_points).unwrap_or_default();
        let scene = RenderScene { liquid, solids: &solids, domain: self.domain, whitewater: &white };
        let (edge_samples, light_map) = LEVELS[level];
        render(&scene, &self.camera, &self.params(edge_samples, light_map))
    }

    /// Draws particles as balls coloured by kind; with `cut`, only the half of the domain that lies behind
    /// its middle.
    pub fn draw_particles(&self, time_s: f64, particles: &PointCloud, cut: bool) -> Image {
        let middle = self.domain.center();
        let toward = (self.camera.position - self.camera.look_at).with_y(0.0);
        // Cut across the axis that the camera looks along most.
        let axis = if toward.x.abs() > toward.z.abs() { Vec3::X } else { Vec3::Z };
        let front = axis * axis.dot(toward).signum();
        let points = particles.as_points();
        let ball = |n: usize| {
            let kind = points.kind.map_or(0, |kinds| kinds[n] as usize);
            let color = KIND_COLORS[kind.min(KIND_COLORS.len() - 1)];
            Ball { center: points.x[n], radius: points.radius_of(n), color }
        };
        let seen = |b: &Ball| !cut || (b.center - middle).dot(front) <= 0.0;
        let balls: Vec<Ball> = (0..points.x.len()).map(ball).filter(seen).collect();
        let (edge_samples, light_map) = (9, LEVELS[0].1);
        render_balls(
            &balls,
            &self.solids_at(time_s),
            self.domain,
            &self.camera,
            &self.params(edge_samples, light_map),
        )
    }

    fn params(&self, edge_samples: usize, light_map: usize) -> RenderParams {
        let [width, height] = self.size;
        RenderParams { width, height, edge_samples, light_map, clarity: self.clarity }
    }

    /// The solids where they are at a moment, metres.
    pub fn solids_at(&self, time_s: f64) -> Vec<TriangleMesh> {
        let place = |(mesh, motion): &(TriangleMesh, Motion)| {
            let pose = motion.pose(time_s);
            let positions = mesh.positions.iter().map(|&p| pose.world_from_body(p)).collect();
            TriangleMesh { positions, velocities: vec![], triangles: mesh.triangles.clone() }
        };
        self.solids.iter().map(place).collect()
    }
}

/// Spray, foam and bubbles as the renderer wants them.
pub fn white_points(points: &PointCloud) -> Vec<WhitePoint> {
    let kinds = [WhiteKind::Spray, WhiteKind::Foam, WhiteKind::Bubble, WhiteKind::Mist];
    let kind = |n: usize| points.kind.as_ref().and_then(|k| kinds.get(usize::from(k[n])).copied());
    let point = |n: usize| Some(WhitePoint { x: points.x[n], radius: points.radii[n], kind: kind(n)? });
    (0..points.x.len()).filter_map(point).collect()
}

/// A solid as triangles in its own frame; what lies outside the domain is cut off unless it may move in.
fn triangles(solid: &Solid, domain: Aabb, cell: f32) -> TriangleMesh {
    let clip = if solid.motion.is_static() { domain } else { finite(solid.shape.bounds(), domain) };
    solid.shape.triangulate(clip, cell)
}

fn finite(bounds: Aabb, domain: Aabb) -> Aabb {
    let reach = domain.expand(domain.size().length());
    Aabb { min: bounds.min.max(reach.min), max: bounds.max.min(reach.max) }
}

/// Pictures beside a run: `preview/0000.png`... and the film `preview.png`, within their share of the time.
pub struct RunPictures {
    dir: PathBuf,
    drawer: Drawer,
    budget: PictureBudget,
    film: FilmWriter,
    /// The last picture and its frame.
    last: Option<(u32, Image)>,
    left_out: u32,
    plainer: u32,
}

impl RunPictures {
    /// Pictures for a run of `frames` frames into `dir/preview`.
    pub fn new(dir: PathBuf, drawer: Drawer, frames: u32, fps: f64) -> Result<Self, OutputError> {
        create_dir(&dir.join("preview"))?;
        let budget = RunPictures::fresh_budget(frames);
        Ok(RunPictures {
            dir,
            drawer,
            budget,
            film: FilmWriter::new(fps as f32),
            last: None,
            left_out: 0,
            plainer: 0,
        })
    }

    /// The budget of a run that has drawn nothing yet.
    pub fn fresh_budget(frames: u32) -> PictureBudget {
        PictureBudget::new(frames, LEVELS.len(), FALLOFF)
    }

    /// Goes on with a run's pictures after `frame`: the film begins with those that are there.
    pub fn resume(
        dir: PathBuf,
        drawer: Drawer,
        fps: f64,
        mut budget: PictureBudget,
        frame: u32,
        frames: u32,
    ) -> Result<Self, OutputError> {
        budget.extend(frames, frame);
        let mut pictures = RunPictures { budget, ..RunPictures::new(dir, drawer, frames, fps)? };
        for n in 0..=frame {
            // A frame that was left out, or whose picture is lost, is stood in for by the one before.
            if let Ok(image) = Image::read_png(&pictures.dir.join(picture_name(n)))
                && [image.width, image.height] == pictures.drawer.size
            {
                pictures.last = Some((n, image));
            }
            pictures.last.iter().for_each(|(_, image)| pictures.film.push(image));
        }
        Ok(pictures)
    }
}

impl RunPictures {
    /// The last picture stands in for one that there is no time for, so that the film keeps its time and the
    /// folder has no gaps. Returns whether there is one.
    fn stand_in(&mut self, frame: u32) -> Result<bool, OutputError> {
        let Some((drawn, image)) = &self.last else {
            tracing::info!("frame {frame}: no picture, pictures have had their share of the time already");
            return Ok(false);
        };
        self.film.push(image);
        let from = self.dir.join(picture_name(*drawn));
        let bytes = std::fs::read(&from).map_err(|e| OutputError::new("read", &from, e))?;
        write_bytes_atomic(&self.dir.join(picture_name(frame)), &bytes)?;
        tracing::info!(
            "frame {frame}: the picture of frame {drawn} stands in, pictures have had their share of the time already"
        );
        Ok(true)
    }
}

/// A frame's picture, in the run's folder.
pub fn picture_name(frame: u32) -> String {
    format!("preview/{frame:04}.png")
}

/// The film, in the run's folder.
pub const FILM: &str = "preview.png";

impl Picture for RunPictures {
    fn frame(
        &mut self,
        frame: u32,
        solver: &dyn Solver,
        surface: &TriangleMesh,
        whitewater: Option<&PointCloud>,
        elapsed: Duration,
    ) -> Result<bool, OutputError> {
        let Some(level) = self.budget.choose(elapsed.as_secs_f64()) else {
            self.left_out += 1;
            return self.stand_in(frame);
        };
        if level > 0 {
            self.plainer += 1;
            tracing::info!(
                "frame {frame}: picture drawn with quality level {level} to stay within the pictures' share of the time"
            );
        }
        let start = Instant::now();
        self.drawer.place_bodies(solver);
        let image = self.drawer.draw(solver.time_s(), surface, whitewater, level);
        image.write_png(&self.dir.join(picture_name(frame)))?;
        self.film.push(&image);
        self.last = Some((frame, image));
        self.budget.spent(level, start.elapsed().as_secs_f64());
        Ok(true)
    }

    fn finish(&mut self) -> Result<bool, OutputError> {
        if self.left_out + self.plainer > 0 {
            tracing::info!("{} pictures stand in for others, {} drawn plainer", self.left_out, self.plainer);
        }
        if !self.film.is_empty() {
            self.film.write_apng(&self.dir.join(FILM))?;
        }
        Ok(!self.film.is_empty())
    }

    fn budget(&self) -> &PictureBudget {
        &self.budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_there_is_no_time_for_gets_the_last_picture() {
        let scene = fluvial_scene::Scene::load("dam-break", &[]).unwrap();
        let mut drawer = Drawer::new(&scene.build().unwrap());
        drawer.look(None, [32, 16]);
        let dir = tempfile::tempdir().unwrap();
        let mut pictures = RunPictures::new(dir.path().to_owned(), drawer, 5, 24.0).unwrap();
        let liquid = TriangleMesh::default();
        let block = crate::toy::FallingBlock::new(0.1);
        assert!(pictures.frame(0, &block, &liquid, None, Duration::ZERO).unwrap());
        pictures.budget.spent(0, 1e3);
        assert!(pictures.frame(1, &block, &liquid, None, Duration::from_secs(1)).unwrap());
        assert_eq!(pictures.left_out, 1);
        let bytes = |frame: u32| std::fs::read(dir.path().join(picture_name(frame))).unwrap();
        assert!(bytes(0) == bytes(1));
    }
}
