//! Spray, foam and bubbles beside a run, and afterwards on the volumes that it wrote.
//!
//! Both see the liquid as a volume file holds it, at frames and nowhere else: in a run the frame's liquid is encoded as for the file
//! and read back, whether a file is wanted or not. So the two give the same particles to the bit.

use crate::frame_files::{Sparse, volume_view};
use fluvial_foundation::Vec3;
use fluvial_output::{
    FrameTime, HALF_WIDTH_CELLS, OutputError, PointCloud, PointsOf, VdbVisitor, VdbVolume, encode_vdb,
};
use fluvial_scene::Ready;
use fluvial_solids::{Key, Motion, PlacedSolids, Pose};
use fluvial_solver_interface::{
    LevelSet, OwnWhitewater, RestoreError, Setup, Solver, StateReader, StateWriter, Wall, Wanted,
};
use fluvial_whitewater::{Around, Field, FieldBuilder, Kind, Params, Particle, Tally, Totals, Whitewater};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Moments between two frames at which solids that move are placed.
const PLACES_OF_SOLIDS: usize = 4;
/// Particles keep this part of a cell from walls and solids.
const MARGIN_CELLS: f32 = 1e-3;

/// The whitewater of one scene.
pub struct SceneWhitewater {
    state: Whitewater,
    params: Params,
    setup: Setup,
    fps: f64,
    /// Where the bodies were at the last frame.
    poses: Vec<Pose>,
}

/// What a run says of its whitewater in `run.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhitewaterTotals {
    /// Particles at the last frame.
    pub spray: u64,
    /// Particles at the last frame.
    pub foam: u64,
    /// Particles at the last frame.
    pub bubbles: u64,
    /// Born as spray.
    pub born_spray: u64,
    /// Born as foam.
    pub born_foam: u64,
    /// Born as bubbles.
    pub born_bubbles: u64,
    /// Not born because there were too many.
    pub refused: u64,
    /// Foam whose time was over.
    pub dissolved: u64,
    /// Through open walls.
    pub left: u64,
    /// Spray that came to rest on what is dry.
    pub landed: u64,
    /// Steps of bubbles where the liquid's velocity is not known.
    pub blind_steps: u64,
    /// Steps longer than a cell.
    pub long_steps: u64,
}

impl SceneWhitewater {
    /// Before the first frame; `None` where the scene has none.
    pub fn new(ready: &Ready) -> Option<Self> {
        let params = ready.whitewater?;
        let poses = vec![];
        Some(SceneWhitewater {
            state: Whitewater::new(),
            params,
            setup: ready.setup.clone(),
            fps: ready.fps,
            poses,
        })
    }

    /// Goes on to a frame of a solver; returns the volume file that it was made from. A solver without a level set has no
    /// whitewater; scenes refuse it before.
    pub fn frame(&mut self, frame: u32, solver: &dyn Solver) -> Result<Option<Vec<u8>>, OutputError> {
        let time = FrameTime { frame, fps: self.fps };
        let bytes = match solver.snapshot(Wanted::LEVEL_SET).level_set {
            Some(LevelSet::Uniform(liquid)) => encode_vdb(&volume_view(&liquid), time),
            Some(LevelSet::Sparse(liquid)) => encode_vdb(&Sparse(&*liquid), time),
            None => return Ok(None),
        };
        let odd = |what: String| {
            OutputError::new("read back", Path::new("the volume"), std::io::Error::other(what))
        };
        let field = VdbVolume::parse_unverified(&bytes[..]).and_then(|volume| field(&volume)).map_err(odd)?;
        self.advance(frame, field, solver.bodies().iter().map(|body| body.pose).collect());
        Ok(Some(bytes))
    }

    /// Goes on to a frame whose liquid is `field` and whose bodies are at `poses`.
    pub fn advance(&mut self, frame: u32, field: Field, poses: Vec<Pose>) {
        let before = std::mem::replace(&mut self.poses, poses);
        let [start_s, end_s] = [frame.saturating_sub(1), frame].map(|n| f64::from(n) / self.fps);
        let motions = self.motions(&before, [start_s, end_s]);
        let solids = || self.setup.solids.iter().zip(&motions).map(|(s, m)| (&s.shape, m));
        let moves = motions.iter().any(|motion| !motion.is_static());
        let count = if motions.is_empty() { 0 } else { [1, PLACES_OF_SOLIDS][usize::from(moves)] };
        // A little before the frame, where keys of bodies end and with them their velocity.
        let moment_s = |n: usize| start_s + (1.0 - 1e-9) * (end_s - start_s) * (n + 1) as f64 / count as f64;
        let around = Around {
            bounds: self.setup.domain.bounds(),
            open_walls: self.setup.domain.walls.map(|wall| wall == Wall::Open),
            solids: (0..count).map(|n| PlacedSolids::new(solids(), moment_s(n))).collect(),
            length_s: (1.0 / self.fps) as f32,
            friction: self.params.friction,
            margin_m: MARGIN_CELLS * self.setup.domain.grid.dx,
        };
        self.state.advance(field, frame, &around, &self.params);
    }

    /// How the solids move from frame to frame; bodies straight from pose to pose.
    fn motions(&self, before: &[Pose], [start_s, end_s]: [f64; 2]) -> Vec<Motion> {
        let mut bodies = before.iter().zip(&self.poses);
        let key =
            |time_s: f64, pose: &Pose| Key { time_s, translate: pose.translate, rotation: pose.rotation };
        let motion = |solid: &fluvial_solver_interface::Solid| match solid.free.as_ref().and(bodies.next()) {
            Some((a, b)) => Motion::Keys { about: Vec3::ZERO, keys: vec![key(start_s, a), key(end_s, b)] },
            None => solid.motion.clone(),
        };
        self.setup.solids.iter().map(motion).collect()
    }

    /// The particles as files want them.
    pub fn points(&self) -> PointCloud {
        let particles = &self.state.particles;
        let list = |of: fn(&Particle) -> f32| particles.iter().map(of).collect();
        PointCloud {
            x: particles.iter().map(|p| p.x).collect(),
            v: particles.iter().map(|p| p.v).collect(),
            id: particles.iter().map(|p| p.id).collect(),
            age_s: list(|p| p.age_s),
            radius: self.params.radius_m,
            kind: Some(particles.iter().map(|p| p.kind as u8).collect()),
            radii: list(|p| p.radius_m),
            of: PointsOf::Whitewater,
        }
    }

    /// Counts so far.
    pub fn totals(&self) -> WhitewaterTotals {
        let [spray, foam, bubbles] = self.state.counts();
        let Totals { born: [born_spray, born_foam, born_bubbles], refused, tally } = self.state.totals;
        let Tally { dissolved, left, landed, blind, long_steps } = tally;
        WhitewaterTotals {
            spray,
            foam,
            bubbles,
            born_spray,
            born_foam,
            born_bubbles,
            refused,
            dissolved,
            left,
            landed,
            blind_steps: blind,
            long_steps,
        }
    }

    /// Everything that the next frame needs.
    pub fn save(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![];
        let mut out = StateWriter::new(&mut bytes);
        let Whitewater { particles, next_id, totals, last, .. } = &self.state;
        let list = |of: fn(&Particle) -> f32| -> Vec<f32> { particles.iter().map(of).collect() };
        out.list("whitewater_x", &particles.iter().map(|p| p.x).collect::<Vec<_>>())?;
        out.list("whitewater_v", &particles.iter().map(|p| p.v).collect::<Vec<_>>())?;
        out.list("whitewater_id", &particles.iter().map(|p| p.id).collect::<Vec<_>>())?;
        out.list("whitewater_age_s", &list(|p| p.age_s))?;
        out.list("whitewater_foam_left_s", &list(|p| p.foam_left_s))?;
        out.list("whitewater_radius_m", &list(|p| p.radius_m))?;
        out.list("whitewater_kind", &particles.iter().map(|p| p.kind as u8).collect::<Vec<_>>())?;
        out.value("whitewater_next_id", *next_id)?;
        let Totals { born, refused, tally } = totals;
        let Tally { dissolved, left, landed, blind, long_steps } = tally;
        let [a, b, c] = *born;
        out.list("whitewater_totals", &[a, b, c, *refused, *dissolved, *left, *landed, *blind, *long_steps])?;
        let (table, values) = last.as_ref().map_or((&[][..], vec![]), Field::parts);
        out.list("whitewater_table", table)?;
        out.list("whitewater_values", values.as_flattened())?;
        let poses =
            self.poses.iter().flat_map(|p| [p.translate.to_array().to_vec(), p.rotation.to_array().to_vec()]);
        out.list("whitewater_poses", &poses.flatten().collect::<Vec<f32>>())?;
        Ok(bytes)
    }

    /// Takes over what [`Self::save`] wrote for the same scene.
    pub fn restore(&mut self, mut bytes: &[u8]) -> Result<(), RestoreError> {
        let wrong = |what: &str| RestoreError::Mismatch(what.to_owned());
        let length = bytes.len() as u64;
        let mut from = StateReader::new(&mut bytes, length);
        let x: Vec<Vec3> = from.list("whitewater_x")?;
        let v: Vec<Vec3> = from.list("whitewater_v")?;
        let id: Vec<u64> = from.list("whitewater_id")?;
        let numbers = ["whitewater_age_s", "whitewater_foam_left_s", "whitewater_radius_m"];
        let [age_s, foam_left_s, radius_m] = numbers.map(|name| from.list::<f32>(name));
        let (age_s, foam_left_s, radius_m) = (age_s?, foam_left_s?, radius_m?);
        let kind: Vec<u8> = from.list("whitewater_kind")?;
        let lengths = [v.len(), id.len(), age_s.len(), foam_left_s.len(), radius_m.len(), kind.len()];
        if lengths.iter().any(|&n| n != x.len()) {
            return Err(wrong("lists of whitewater differ in length"));
        }
        let particle = |n: usize| {
            Some(Particle {
                x: x[n],
                v: v[n],
                id: id[n],
                age_s: age_s[n],
                foam_left_s: foam_left_s[n],
                radius_m: radius_m[n],
                kind: Kind::from_number(kind[n])?,
            })
        };
        let particles = (0..x.len()).map(particle).collect::<Option<Vec<_>>>();
        let particles = particles.ok_or_else(|| wrong("whitewater of a kind that there is not"))?;
        let next_id = from.value("whitewater_next_id")?;
        let totals: Vec<u64> = from.list("whitewater_totals")?;
        let [a, b, c, refused, dissolved, left, landed, blind, long_steps] = totals[..] else {
            return Err(wrong("whitewater has other totals"));
        };
        let tally = Tally { dissolved, left, landed, blind, long_steps };
        let totals = Totals { born: [a, b, c], refused, tally };
        let table: Vec<u32> = from.list("whitewater_table")?;
        let values: Vec<f32> = from.list("whitewater_values")?;
        let poses: Vec<f32> = from.list("whitewater_poses")?;
        from.end()?;
        let (values, rest) = values.as_chunks::<4>();
        let (poses, more) = poses.as_chunks::<7>();
        if !rest.is_empty() || !more.is_empty() {
            return Err(wrong("whitewater's last frame is cut"));
        }
        let grid = self.setup.domain.grid;
        let field = || Field::from_parts(grid, HALF_WIDTH_CELLS * grid.dx, table.clone(), values.to_vec());
        let last = if table.is_empty() { None } else { Some(field().map_err(RestoreError::Mismatch)?) };
        self.poses = poses.iter().map(pose_of).collect();
        self.state = Whitewater::from_parts(particles, next_id, totals, last, &self.params);
        Ok(())
    }
}

fn pose_of(&[x, y, z, qx, qy, qz, qw]: &[f32; 7]) -> Pose {
    let rotation = fluvial_foundation::Quat::from_xyzw(qx, qy, qz, qw);
    Pose { translate: Vec3::new(x, y, z), rotation }
}

/// What a method makes itself, as files want it, and its sums.
pub fn own_points(own: OwnWhitewater) -> (PointCloud, WhitewaterTotals) {
    let OwnWhitewater { x, v, id, age_s, radius_m, kind, totals, map: _ } = own;
    let count = |wanted: &[u8]| kind.iter().filter(|kind| wanted.contains(kind)).count() as u64;
    let [born_spray, _, born_foam, refused] = totals;
    let (spray, foam) = (count(&[0, 3]), count(&[1]));
    let totals =
        WhitewaterTotals { spray, foam, born_spray, born_foam, refused, ..WhitewaterTotals::default() };
    let radius = radius_m.iter().copied().fold(f32::INFINITY, f32::min);
    let radius = if radius.is_finite() { radius } else { 0.0 };
    let (kind, radii, of) = (Some(kind), radius_m, PointsOf::Whitewater);
    (PointCloud { x, v, id, age_s, radius, kind, radii, of }, totals)
}

/// The liquid of a volume file.
pub fn field(volume: &VdbVolume) -> Result<Field, String> {
    struct Visitor(FieldBuilder);
    impl VdbVisitor for Visitor {
        fn liquid(&mut self, origin: [i32; 3], edge: i32) {
            self.0.set_liquid(origin, edge);
        }
        fn phi(&mut self, cell: [i32; 3], phi: f32) {
            self.0.set_phi(cell, phi);
        }
        fn velocity(&mut self, cell: [i32; 3], u: [f32; 3]) {
            self.0.set_velocity(cell, u);
        }
    }
    let mut visitor = Visitor(FieldBuilder::new(volume.grid, HALF_WIDTH_CELLS * volume.grid.dx));
    volume.visit(&mut visitor)?;
    Ok(visitor.0.finish())
}
