//! The window.
//!
//! Drag with the left button to circle, with the wheel to come nearer. The right button pushes the body under the pointer away from the camera, with Shift it
//! throws it up and away; where no body is, it pours water. Space pauses, `.` takes a single step, Escape closes.

use crate::{Drawn, LiveError, Orbit, Renderer, Session};
use fluvial_foundation::Vec3;
use fluvial_simulation::Recorder;
use std::sync::Arc;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window, WindowId};

/// Radians a pixel.
const TURN: f32 = 0.006;

struct Shown {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    renderer: Renderer,
}

struct App<'a> {
    session: &'a mut Session,
    recorder: Option<&'a mut dyn Recorder>,
    shown: Option<Shown>,
    drawn: Drawn,
    orbit: Orbit,
    pointer: PhysicalPosition<f64>,
    is_turning: bool,
    is_paused: bool,
    has_shift: bool,
    failure: Option<LiveError>,
}

/// Opens a window on a session and returns when it is closed.
pub fn open<'a>(
    session: &'a mut Session,
    mut recorder: Option<&'a mut dyn Recorder>,
) -> Result<(), LiveError> {
    let no_display = |e: winit::error::EventLoopError| LiveError::NoDisplay(e.to_string());
    let events = EventLoop::new().map_err(no_display)?;
    events.set_control_flow(ControlFlow::Poll);
    if let Some(recorder) = &mut recorder {
        session.begin(&mut **recorder)?;
    }
    let (drawn, orbit) = (session.look(), Orbit::of(&session.camera()));
    let mut app = App {
        session,
        recorder,
        shown: None,
        drawn,
        orbit,
        pointer: PhysicalPosition::default(),
        is_turning: false,
        is_paused: false,
        has_shift: false,
        failure: None,
    };
    events.run_app(&mut app).map_err(no_display)?;
    app.failure.map_or(Ok(()), Err)
}

fn show(events: &ActiveEventLoop) -> Result<Shown, LiveError> {
    let no_display = |e: String| LiveError::NoDisplay(e);
    let attributes = Window::default_attributes().with_title("Fluvial");
    let window = Arc::new(events.create_window(attributes).map_err(|e| no_display(e.to_string()))?);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let surface = instance.create_surface(window.clone()).map_err(|e| no_display(e.to_string()))?;
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        compatible_surface: Some(&surface),
        ..Default::default()
    };
    let adapter = pollster::block_on(instance.request_adapter(&options))
        .map_err(|e| LiveError::NoGpu(e.to_string()))?;
    let size = window.inner_size();
    let [width, height] = [size.width, size.height].map(|n| n.max(1));
    let mut config = surface
        .get_default_config(&adapter, width, height)
        .ok_or_else(|| LiveError::NoGpu("the adapter cannot draw on this display".into()))?;
    // The shader encodes sRGB itself.
    config.format = config.format.remove_srgb_suffix();
    let renderer = Renderer::on(&adapter, config.format)?;
    surface.configure(&renderer.device, &config);
    Ok(Shown { window, surface, config, renderer })
}

impl App<'_> {
    fn aspect(&self) -> f32 {
        self.shown.as_ref().map_or(1.0, |s| s.config.width as f32 / s.config.height as f32)
    }

    /// Origin and direction of the ray under the pointer.
    fn ray(&self) -> (Vec3, Vec3) {
        let Some(Shown { config, .. }) = &self.shown else { return (Vec3::ZERO, Vec3::NEG_Z) };
        let x = 2.0 * self.pointer.x as f32 / config.width as f32 - 1.0;
        let y = 1.0 - 2.0 * self.pointer.y as f32 / config.height as f32;
        (self.orbit.camera().position, self.orbit.ray(x, y, self.aspect()))
    }

    fn touch(&mut self) {
        let (origin, direction) = self.ray();
        match self.drawn.body_at(origin, direction) {
            Some(body) if self.has_shift => self.session.push(body, direction + 1.5 * Vec3::Y, 2.5),
            Some(body) => self.session.push(body, direction.with_y(0.0), 1.0),
            None => self.session.pour(origin, direction),
        };
    }

    fn go_on(&mut self, is_single: bool) -> Result<(), LiveError> {
        let recorder = self.recorder.as_mut().map(|recorder| &mut **recorder as &mut dyn Recorder);
        match is_single {
            true => self.session.single_step(recorder)?,
            false => self.session.next_frame(recorder)?,
        }
        self.drawn = self.session.look();
        Ok(())
    }

    fn redraw(&mut self) -> Result<(), LiveError> {
        if !self.is_paused {
            self.go_on(false)?;
        }
        let camera = self.orbit.camera();
        let Some(Shown { window, surface, config, renderer }) = &mut self.shown else { return Ok(()) };
        let texture = match surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(texture) => texture,
            wgpu::CurrentSurfaceTexture::Timeout | wgpu::CurrentSurfaceTexture::Occluded => return Ok(()),
            _ => {
                surface.configure(&renderer.device, config);
                window.request_redraw();
                return Ok(());
            }
        };
        let view = texture.texture.create_view(&wgpu::TextureViewDescriptor::default());
        renderer.draw(&view, &self.drawn, &camera, [config.width, config.height]);
        renderer.queue.present(texture);
        let stages: Vec<String> =
            self.drawn.stages_s.iter().map(|(name, s)| format!("{name} {:.1}", 1e3 * s)).collect();
        let state = if self.is_paused { "paused" } else { "ms" };
        window.set_title(&format!("Fluvial {:.2} s, {state}: {}", self.drawn.time_s, stages.join(" ")));
        window.request_redraw();
        Ok(())
    }

    fn end(&mut self, events: &ActiveEventLoop, result: Result<(), LiveError>) {
        if let Err(error) = result {
            self.failure = Some(error);
            events.exit();
        }
    }
}

impl ApplicationHandler for App<'_> {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.shown.is_none() {
            match show(events) {
                Ok(shown) => {
                    shown.window.request_redraw();
                    self.shown = Some(shown);
                }
                Err(error) => self.end(events, Err(error)),
            }
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => {
                if let Some(Shown { surface, config, renderer, .. }) = &mut self.shown {
                    [config.width, config.height] = [size.width, size.height].map(|n| n.max(1));
                    surface.configure(&renderer.device, config);
                }
            }
            WindowEvent::ModifiersChanged(keys) => self.has_shift = keys.state().shift_key(),
            WindowEvent::CursorMoved { position, .. } => {
                if self.is_turning {
                    let [dx, dy] =
                        [position.x - self.pointer.x, position.y - self.pointer.y].map(|v| v as f32);
                    self.orbit.turn(-TURN * dx, TURN * dy);
                }
                self.pointer = position;
            }
            WindowEvent::MouseInput { state, button: MouseButton::Left, .. } => {
                self.is_turning = state == ElementState::Pressed;
            }
            WindowEvent::MouseInput { state: ElementState::Pressed, button: MouseButton::Right, .. } => {
                self.touch()
            }
            WindowEvent::MouseWheel { delta, .. } => {
                let lines = match delta {
                    MouseScrollDelta::LineDelta(_, y) => y,
                    MouseScrollDelta::PixelDelta(at) => at.y as f32 / 40.0,
                };
                self.orbit.zoom(0.9f32.powf(lines));
            }
            WindowEvent::KeyboardInput { event, .. } if event.state == ElementState::Pressed => {
                match event.logical_key.as_ref() {
                    Key::Named(NamedKey::Escape) => events.exit(),
                    Key::Named(NamedKey::Space) => self.is_paused = !self.is_paused,
                    Key::Character(".") => {
                        self.is_paused = true;
                        let result = self.go_on(true);
                        self.end(events, result);
                    }
                    _ => {}
                }
            }
            WindowEvent::RedrawRequested => {
                let result = self.redraw();
                self.end(events, result);
            }
            _ => {}
        }
    }
}
