//! Which field lies in which of a page's 16 channels.

/// What a cell is and, of leaves, the code of the neighbourhood ([`crate::neighbourhood::Kind`]).
pub const CODE: usize = 0;
/// Velocity through the power face on a cell's low side along x, y, z, m/s: channels 1 to 3. A face between
/// leaves of two sizes is kept on the finer level.
pub const FACE_VELOCITY: [usize; 3] = [1, 2, 3];
/// Velocity through the power face at a cell's low edge along x, y, z, m/s: channels 4 to 6 [power §4.2].
pub const EDGE_VELOCITY: [usize; 3] = [4, 5, 6];
/// The first channel that the operators of this crate leave to their callers.
pub const FIRST_FREE: usize = 7;
/// Signed distance to the surface at leaves and ghosts, metres ([`crate::coarse`]).
pub const PHI: usize = 7;
/// Pressure at leaves and ghosts.
pub const PRESSURE: usize = 8;
/// Scratch of a stage: right sides, marks.
pub const SCRATCH: usize = 9;
/// Velocity at leaves' centres, m/s ([`crate::centers`]).
pub const CENTER_VELOCITY: [usize; 3] = [10, 11, 12];
/// Velocity at the low corner of a cell, m/s ([`crate::nodes`]).
pub const NODE_VELOCITY: [usize; 3] = [13, 14, 15];
/// Signed distance to the surface as the pressure sees it, metres ([`crate::settle::Settlement::seen_distance`]). It lies where nodes'
/// velocities are found after the pressure.
pub const SEEN_PHI: usize = NODE_VELOCITY[0];
