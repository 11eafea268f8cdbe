//! The window's twin without a display.

use crate::{LiveError, Orbit, Renderer, Session};
use fluvial_simulation::Recorder;
use std::path::Path;

/// Simulates so many frames and writes what the window would show then. Returns a line about it.
pub fn screenshot(
    session: &mut Session,
    frames: u32,
    file: &Path,
    size: [u32; 2],
    mut recorder: Option<&mut dyn Recorder>,
) -> Result<String, LiveError> {
    // Everything that can be refused is refused before the work.
    let mut renderer = Renderer::off_screen()?;
    if let Some(recorder) = &mut recorder {
        session.begin(&mut **recorder)?;
    }
    for _ in 0..frames {
        match &mut recorder {
            Some(recorder) => session.next_frame(Some(&mut **recorder))?,
            None => session.next_frame(None)?,
        }
    }
    let (drawn, camera) = (session.look(), Orbit::of(&session.camera()).camera());
    renderer.picture(&drawn, &camera, size)?.write_png(file)?;
    let stages: Vec<String> =
        drawn.stages_s.iter().map(|(name, seconds)| format!("{name} {:.1}", 1e3 * seconds)).collect();
    Ok(format!(
        "frame {} at {:.3} s, computed on {}, drawn on {}; ms of the last frame: {}",
        drawn.frame,
        drawn.time_s,
        session.computes_on(),
        renderer.adapter(),
        stages.join(", ")
    ))
}
