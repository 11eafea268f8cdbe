//! Motion files: one pose a line.

use fluvial_foundation::{Mat3, Quat, Vec3};
use fluvial_solids::Pose;

/// Why a text is no list of poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PosesError {
    /// A line holds something else.
    NotAPose {
        /// Counted from 1.
        line: usize,
    },
    /// No line holds any.
    Empty,
}

/// The poses of a text: on each line `tx ty tz qx qy qz qw`, or the 16 numbers of a rigid matrix by rows,
/// parted by blanks or commas; `#` begins a remark. The text is gone through twice, so that room is made for
/// what is there.
pub fn parse_poses(text: &str) -> Result<Vec<Pose>, PosesError> {
    let poses = || {
        let lines = text.lines().enumerate();
        lines.filter_map(|(n, line)| pose_of_line(line).transpose().map(|p| (n, p)))
    };
    let mut count = 0;
    for (n, pose) in poses() {
        pose.map_err(|()| PosesError::NotAPose { line: n + 1 })?;
        count += 1;
    }
    if count == 0 {
        return Err(PosesError::Empty);
    }
    let mut found = Vec::with_capacity(count);
    found.extend(poses().filter_map(|(_, pose)| pose.ok()));
    Ok(found)
}

fn pose_of_line(line: &str) -> Result<Option<Pose>, ()> {
    let line = line.split('#').next().unwrap_or("");
    let words = line.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty());
    let (mut numbers, mut count) = ([0.0; 16], 0);
    for word in words {
        *numbers.get_mut(count).ok_or(())? = word.parse().map_err(|_| ())?;
        count += 1;
    }
    if count == 0 { Ok(None) } else { pose_from_numbers(&numbers[..count]).map(Some).ok_or(()) }
}

/// 7 numbers: place and quaternion; 16: a matrix by rows without scale.
fn pose_from_numbers(v: &[f32]) -> Option<Pose> {
    if !v.iter().all(|x| x.is_finite()) {
        return None;
    }
    match v {
        [x, y, z, qx, qy, qz, qw] => {
            let q = Quat::from_xyzw(*qx, *qy, *qz, *qw);
            (q.length() > 1e-6).then(|| Pose { rotation: q.normalize(), translate: Vec3::new(*x, *y, *z) })
        }
        [a, b, c, x, d, e, f, y, g, h, i, z, 0.0, 0.0, 0.0, 1.0] => {
            let columns = [Vec3::new(*a, *d, *g), Vec3::new(*b, *e, *h), Vec3::new(*c, *f, *i)];
            let matrix = Mat3::from_cols(columns[0], columns[1], columns[2]);
            let off = matrix * matrix.transpose() - Mat3::IDENTITY;
            let rigid = off.to_cols_array().iter().all(|v| v.abs() < 1e-3) && matrix.determinant() > 0.0;
            rigid.then(|| Pose {
                rotation: Quat::from_mat3(&matrix).normalize(),
                translate: Vec3::new(*x, *y, *z),
            })
        }
        _ => None,
    }
}
