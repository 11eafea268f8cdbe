//! A film decodes back to the frames it was given.

use fluvial_foundation::random::unit_f32;
use fluvial_preview::{FilmWriter, Image};
use std::io::Cursor;

/// Plays an APNG: every frame as a browser composes it, with its delay in seconds.
fn play(bytes: &[u8]) -> Vec<(Image, f64)> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().unwrap();
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let count = reader.info().animation_control.expect("an animation").num_frames;
    assert_eq!(reader.info().animation_control.unwrap().num_plays, 0, "loops for ever");
    let mut canvas = Image { width, height, rgb: vec![0; 3 * width * height] };
    let mut frames = vec![];
    for _ in 0..count {
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut data).unwrap();
        let control = *reader.info().frame_control().unwrap();
        let (w, h) = (control.width as usize, control.height as usize);
        for y in 0..h {
            for x in 0..w {
                let p = &data[4 * (x + w * y)..][..4];
                if p[3] != 0 {
                    let at = 3 * (x + control.x_offset as usize + width * (y + control.y_offset as usize));
                    canvas.rgb[at..at + 3].copy_from_slice(&p[..3]);
                }
            }
        }
        frames.push((canvas.clone(), control.delay_num as f64 / control.delay_den as f64));
    }
    frames
}

fn written(film: &FilmWriter) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("film.png");
    film.write_apng(&path).unwrap();
    std::fs::read(path).unwrap()
}

/// A disc of `shades` colours that moves over a still backdrop.
fn frame(n: usize, shades: usize) -> Image {
    let (width, height) = (61, 37);
    let color = |p: usize| {
        let (x, y) = ((p % width) as f32, (p / width) as f32);
        let inside = (x - 10.0 - 4.0 * n as f32).hypot(y - 18.0) < 8.0;
        let shade = if inside { (unit_f32(p as u64, n as u64) * shades as f32) as usize } else { p % 40 };
        [(shade * 5 % 256) as u8, (shade * 3 % 256) as u8, if inside { 200 } else { (shade / 2) as u8 }]
    };
    Image { width, height, rgb: (0..width * height).flat_map(color).collect() }
}

#[test]
fn few_colours_come_back_exactly() {
    let mut film = FilmWriter::new(24.0);
    // The last two are equal: a frame without change.
    let frames: Vec<Image> = [0, 1, 2, 3, 9, 9].map(|n| frame(n, 50)).to_vec();
    frames.iter().for_each(|f| film.push(f));
    let played = play(&written(&film));
    assert_eq!(played.len(), film.len());
    for ((image, delay), given) in played.iter().zip(&frames) {
        assert!(image == given);
        assert!((delay - 1.0 / 24.0).abs() < 1e-6);
    }
}

#[test]
fn many_colours_come_back_within_the_palette() {
    let (width, height) = (160, 90);
    let gradient = |n: usize| {
        let color = |p: usize| {
            let (x, y) = ((p % width) as f32 / width as f32, (p / width) as f32 / height as f32);
            [90.0 + 100.0 * x, 120.0 + 100.0 * y, 140.0 + 40.0 * (6.0 * x + n as f32).sin()].map(|c| c as u8)
        };
        Image { width, height, rgb: (0..width * height).flat_map(color).collect() }
    };
    let frames: Vec<Image> = (0..20).map(gradient).collect();
    let mut film = FilmWriter::new(12.5);
    frames.iter().for_each(|f| film.push(f));
    let played = play(&written(&film));
    assert_eq!(played.len(), 20);
    for ((image, delay), given) in played.iter().zip(&frames) {
        let differences = image.rgb.iter().zip(&given.rgb).map(|(a, b)| (*a as f64 - *b as f64).abs());
        let (sum, worst) = differences.fold((0.0, 0f64), |(s, w), d| (s + d, w.max(d)));
        assert!(
            sum / (image.rgb.len() as f64) < 5.0 && worst < 32.0,
            "mean {} worst {worst}",
            sum / image.rgb.len() as f64
        );
        assert!((delay - 0.08).abs() < 1e-6);
    }
}

#[test]
fn a_film_without_frames_is_an_error_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("film.png");
    assert!(FilmWriter::new(24.0).write_apng(&path).is_err());
    assert!(FilmWriter::new(24.0).write_mp4(&path).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
