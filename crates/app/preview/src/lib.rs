//! Pictures without a display or driver: a ray tracer for water on the CPU, PNG images and an animated film.
//!
//! [`render`] draws a [`RenderScene`] seen by a [`Camera`] into an [`Image`], [`render_balls`] draws
//! particles; [`FilmWriter`] joins images into a film.

mod balls;
mod bvh;
mod camera;
mod environment;
mod film;
mod image;
mod light_map;
mod optics;
mod palette;
mod render;
mod scene;
mod shade;
mod shadow;
mod white;

pub use balls::{Ball, render_balls};
pub use camera::Camera;
pub use film::FilmWriter;
pub use image::Image;
pub use render::{RenderParams, render};
pub use scene::RenderScene;
pub use white::{WhiteKind, WhitePoint};
