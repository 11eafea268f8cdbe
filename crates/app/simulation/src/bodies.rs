//! `bodies.csv`: where bodies are, how they move and what the liquid does to them, after every step.

use crate::cache::BODIES;
use fluvial_foundation::{Quat, Vec3};
use fluvial_output::{FileMark, LineStream, OutputError};
use fluvial_solids::{Key, Motion, Pose};
use fluvial_solver_interface::{BodyReport, Setup, Solver};
use std::fmt::Write;
use std::path::Path;

/// The table's columns: pose (world from body as drawn at the start), centre of mass, velocities, force and torque of the
/// liquid about the centre of mass. The name comes last, because it may hold anything.
const HEADER: &str = "time_s,number,translate_x,translate_y,translate_z,quaternion_x,quaternion_y,quaternion_z,\
    quaternion_w,center_x,center_y,center_z,velocity_x,velocity_y,velocity_z,angular_velocity_x,angular_velocity_y,\
    angular_velocity_z,force_x,force_y,force_z,torque_x,torque_y,torque_z,is_gone,name";

/// The open `bodies.csv`.
pub struct BodyTable {
    stream: LineStream,
    row: String,
}

impl BodyTable {
    /// Starts the table.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let mut stream = LineStream::create(path)?;
        stream.write_line(HEADER)?;
        Ok(BodyTable { stream, row: String::new() })
    }

    /// Goes on after a place that [`Self::mark`] told.
    pub fn reopen(path: &Path, mark: FileMark) -> Result<Self, OutputError> {
        Ok(BodyTable { stream: LineStream::reopen(path, mark)?, row: String::new() })
    }

    /// Length and checksum of the table so far.
    pub fn mark(&self) -> FileMark {
        self.stream.mark()
    }

    /// Adds a row per body. Numbers are printed so that they read back to the same bits.
    pub fn record(&mut self, time_s: f64, solver: &dyn Solver) -> Result<(), OutputError> {
        for (number, body) in solver.bodies().iter().enumerate() {
            self.row.clear();
            let _ = write!(self.row, "{time_s},{number}");
            let BodyReport { name, pose, twist, force_n, torque_n_m, is_gone } = body;
            let place = pose.translate.to_array().into_iter().chain(pose.rotation.to_array());
            let moves = [twist.center, twist.linear, twist.angular].into_iter().flat_map(|v| v.to_array());
            for number in place.chain(moves) {
                let _ = write!(self.row, ",{number}");
            }
            for number in [force_n, torque_n_m].into_iter().flat_map(|v| v.to_array()) {
                let _ = write!(self.row, ",{number}");
            }
            let _ = write!(self.row, ",{},{}", *is_gone as u8, name.replace(['\n', '\r'], " "));
            self.stream.write_line(&self.row)?;
        }
        Ok(())
    }

    /// Makes the rows durable.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.stream.sync()
    }
}

/// Lets the bodies of a set-up move as they did in a run, by the table in its folder.
pub fn move_bodies(setup: &mut Setup, dir: &Path) {
    for (number, motion) in setup.body_numbers().into_iter().zip(read_motions(&dir.join(BODIES))) {
        setup.solids[number].motion = motion;
    }
}

/// Where the bodies of a run's folder were at a frame, as the run itself has reported it.
pub struct FramePoses(Vec<Motion>);

impl FramePoses {
    /// Reads the table of bodies, where there is one.
    pub fn read(dir: &Path) -> FramePoses {
        FramePoses(read_motions(&dir.join(BODIES)))
    }

    /// The poses at a moment: those of the row at that moment, to the bit, up to the rounding of summed steps.
    pub fn at(&self, time_s: f64) -> Vec<Pose> {
        let pose = |motion: &Motion| match motion {
            Motion::Keys { keys, .. } => {
                let off = |key: &&Key| (key.time_s - time_s).abs();
                let nearest = keys.iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
                Some(Pose { translate: nearest.translate, rotation: nearest.rotation })
            }
            _ => None,
        };
        self.0.iter().filter_map(pose).collect()
    }
}

/// How the bodies of a table have moved; empty where there is none. Rows that do not read are left out.
fn read_motions(path: &Path) -> Vec<Motion> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut bodies: Vec<Vec<Key>> = vec![];
    for line in text.lines().skip(1) {
        let mut fields = line.splitn(26, ',');
        let mut next = || fields.next().and_then(|field| field.parse::<f64>().ok());
        let (Some(time_s), Some(number)) = (next(), next()) else { continue };
        let place: Vec<f32> = (0..7).filter_map(|_| next()).map(|v| v as f32).collect();
        let &[x, y, z, qx, qy, qz, qw] = place.as_slice() else { continue };
        let number = number as usize;
        if number > bodies.len() {
            continue;
        }
        if number == bodies.len() {
            bodies.push(vec![]);
        }
        let rotation = Quat::from_xyzw(qx, qy, qz, qw);
        if bodies[number].last().is_none_or(|key| key.time_s < time_s) {
            bodies[number].push(Key { time_s, translate: Vec3::new(x, y, z), rotation });
        }
    }
    bodies.into_iter().map(|keys| Motion::Keys { about: Vec3::ZERO, keys }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motions_read_back_from_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bodies.csv");
        let rest = ",0".repeat(16);
        let rows = format!(
            "{HEADER}\n0.5,0,1,2,3,0,0,0,1{rest},a, b\n0.5,1,4,5,6,0,1,0,0{rest},c\n1,0,3,2,3,0,0,0,1{rest},a, b\nhalf a ro"
        );
        std::fs::write(&path, rows).unwrap();
        let motions = read_motions(&path);
        assert_eq!(motions.len(), 2);
        assert_eq!(motions[0].pose(0.75).translate, Vec3::new(2.0, 2.0, 3.0));
        assert_eq!(motions[1].pose(0.0).translate, Vec3::new(4.0, 5.0, 6.0));
        assert!(read_motions(&dir.path().join("none")).is_empty());
    }
}
