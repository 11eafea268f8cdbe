//! Room on the disk.

use std::path::Path;

/// Bytes that may still be written into a folder; `None` where the system does not tell.
#[cfg(unix)]
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    // Some file systems (overlays, network ones) answer with zeros: that is no answer.
    (stat.f_blocks > 0).then(|| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Bytes that may still be written into a folder; `None` where the system does not tell.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}
