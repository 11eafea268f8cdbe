//! The renderer and the session without a display, on whatever Vulkan there is. Skipped, with a message, where there is none.

use fluvial_live::{LiveError, Orbit, Renderer, Session};
use fluvial_preview::Image;
use fluvial_scene::Scene;

/// Mean colour of a part of a picture, from 0 to 1 along both sides, y down.
fn mean(image: &Image, [x0, x1]: [f32; 2], [y0, y1]: [f32; 2]) -> [f32; 3] {
    let (mut sum, mut count) = ([0.0f32; 3], 0.0);
    let at = |v: f32, n: usize| (v * n as f32) as usize;
    for y in at(y0, image.height)..at(y1, image.height) {
        for x in at(x0, image.width)..at(x1, image.width) {
            (0..3).for_each(|c| sum[c] += f32::from(image.rgb[3 * (x + image.width * y) + c]));
            count += 1.0;
        }
    }
    sum.map(|v| v / count)
}

fn renderer() -> Option<Renderer> {
    match Renderer::off_screen() {
        Ok(renderer) => Some(renderer),
        Err(error @ LiveError::NoGpu(_)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn session(name: &str, overrides: &[&str]) -> Session {
    let pair = |text: &&str| text.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
    let overrides: Vec<(String, String)> = overrides.iter().filter_map(pair).collect();
    let ready = Scene::load(name, &overrides).unwrap().build().unwrap();
    let solver = ready.method.build(ready.setup.clone()).unwrap();
    Session::new(&ready, solver)
}

/// Sky above, a lit floor, blue water where the dam stands; the same bytes twice.
#[test]
fn a_dam_is_seen_as_water_between_sky_and_floor() {
    let Some(mut renderer) = renderer() else { return };
    let mut session = session("manipulation", &["domain.resolution=16", "method.device=cpu"]);
    let (drawn, camera, size) = (session.look(), Orbit::of(&session.camera()).camera(), [320, 180]);
    let image = renderer.picture(&drawn, &camera, size).unwrap();
    let [sky, floor, water] = [
        mean(&image, [0.0, 1.0], [0.0, 0.05]),
        mean(&image, [0.45, 0.55], [0.93, 1.0]),
        mean(&image, [0.22, 0.32], [0.5, 0.6]),
    ];
    assert!(sky[2] > sky[0] && sky[2] > 120.0, "sky {sky:?}");
    assert!(floor[0] > floor[2] && floor[0] > 80.0, "floor {floor:?}");
    assert!(water[2] > 1.15 * water[0], "water {water:?}");
    assert!(image == renderer.picture(&drawn, &camera, size).unwrap(), "another picture");
    // Without liquid nothing there is blue.
    let dry = fluvial_live::Drawn { liquid: Default::default(), ..drawn };
    let dry = mean(&renderer.picture(&dry, &camera, size).unwrap(), [0.22, 0.32], [0.5, 0.6]);
    assert!(dry[2] < 1.1 * dry[0], "where no water is {dry:?}");
}

/// A body is found where it is seen, and flies where it is pushed.
#[test]
fn a_body_is_picked_and_pushed() {
    let mut session = session(
        "manipulation",
        &["domain.resolution=12", "method.device=cpu", "fill.0.shape.box.max=[0.4,0.3,5]"],
    );
    let drawn = session.look();
    let (mesh, body) = drawn.solids.iter().rfind(|(_, body)| body.is_some()).unwrap();
    let (orbit, body) = (Orbit::of(&session.camera()), body.unwrap());
    let eye = orbit.camera().position;
    let toward = (mesh.bounds().center() - eye).normalize();
    assert_eq!(drawn.body_at(eye, toward), Some(body));
    assert_eq!(drawn.body_at(eye, -toward), None);
    assert!(session.push(body, fluvial_foundation::Vec3::X, 1.0));
    assert!(!session.push(99, fluvial_foundation::Vec3::X, 1.0));
}

/// Foam whitens the water, ground that was under water is darker, short waves ripple what is seen; the sky stays as it is.
#[test]
fn maps_are_seen() {
    let Some(mut renderer) = renderer() else { return };
    let mut session = session("lighthouse", &["domain.resolution=32", "method.device=cpu", "method.spray=1"]);
    let (drawn, camera, size) = (session.look(), Orbit::of(&session.camera()).camera(), [320, 180]);
    let map = drawn.map.clone().expect("the method has maps");
    let columns = map.foam.len();
    let mut look = |foam: f32, wet: f32| {
        let map = fluvial_solver_interface::SurfaceMap {
            foam: vec![foam; columns],
            wet: vec![wet; columns],
            height_m: vec![10.0; columns],
            ..map.clone()
        };
        renderer.picture(&fluvial_live::Drawn { map: Some(map), ..drawn.clone() }, &camera, size).unwrap()
    };
    let [plain, white, wet] = [look(0.0, 0.0), look(4.0, 0.0), look(0.0, 1.0)];
    let bare = renderer.picture(&fluvial_live::Drawn { map: None, ..drawn.clone() }, &camera, size).unwrap();
    let all = |image: &Image| mean(image, [0.0, 1.0], [0.1, 1.0]).iter().sum::<f32>();
    let sky = |image: &Image| mean(image, [0.0, 1.0], [0.0, 0.05]);
    println!("plain {}, foam {}, wet {}, no map {}", all(&plain), all(&white), all(&wet), all(&bare));
    assert!(all(&white) > all(&plain) + 30.0, "foam is not seen");
    assert!(all(&wet) < all(&plain) - 3.0, "what is wet is not darker");
    assert!(sky(&white) == sky(&plain) && sky(&wet) == sky(&plain));
    let differ = plain.rgb.iter().zip(&bare.rgb).filter(|(a, b)| a.abs_diff(**b) > 4).count();
    assert!(differ > plain.rgb.len() / 50, "no ripples: {differ}");
}
