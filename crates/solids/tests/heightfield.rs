//! Tests of `heightfield`.

use fluvial_foundation::Vec3;
use fluvial_solids::{GreyImage, MeshDistance, MeshError, heightfield_mesh};

#[test]
fn a_ramp_is_closed_and_has_its_exact_volume_and_distance() {
    let (width, rows) = (5, 4);
    let values = (0..width * rows).map(|n| (n % width) as f32 / 4.0).collect();
    let image = GreyImage { width, rows, values };
    let mesh = heightfield_mesh(&image, [0.0, -1.0], [2.0, 1.0], [0.0, 1.0], -0.5).unwrap();
    assert!(mesh.defects().is_clean(), "{:?}", mesh.defects());
    // mean height 0.5 above 0, plus half a metre of base, on 4 m2
    assert!((mesh.volume() - 4.0).abs() < 1e-5, "{}", mesh.volume());
    let solid = MeshDistance::new(mesh).unwrap();
    // The surface is y = x / 2 with normal (-1, 2, 0)/sqrt 5.
    let x = Vec3::new(1.0, 0.5, 0.1) + 0.2 * Vec3::new(-1.0, 2.0, 0.0) / 5f32.sqrt();
    assert!((solid.distance(x) - 0.2).abs() < 1e-6);
    assert!(solid.distance(Vec3::new(1.0, 0.0, 0.0)) < 0.0);
}

#[test]
fn images_of_16_bits_keep_their_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ground.png");
    let image =
        image::ImageBuffer::<image::Luma<u16>, _>::from_fn(3, 2, |i, k| image::Luma([(i * 1000 + k) as u16]));
    image.save(&path).unwrap();
    let grey = GreyImage::read(&path).unwrap();
    assert_eq!((grey.width, grey.rows), (3, 2));
    assert_eq!(grey.values[1], 1000.0 / 65535.0);
    assert_eq!(grey.values[3], 1.0 / 65535.0);
    std::fs::write(&path, b"no image").unwrap();
    assert!(matches!(GreyImage::read(&path), Err(MeshError::Format(_))));
    assert!(matches!(GreyImage::read(&folder.path().join("none.png")), Err(MeshError::Io { .. })));
}
