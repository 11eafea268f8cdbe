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
    let mut encoder = png::Encoder::new(std::fs::File::create(&path).unwrap(), 3, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let bytes: Vec<u8> = (0..6u16).flat_map(|n| (n % 3 * 1000 + n / 3).to_be_bytes()).collect();
    encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
    let grey = GreyImage::read(&path).unwrap();
    assert_eq!((grey.width, grey.rows), (3, 2));
    assert_eq!(grey.values[1], 1000.0 / 65535.0);
    assert_eq!(grey.values[3], 1.0 / 65535.0);
    std::fs::write(&path, b"no image").unwrap();
    assert!(matches!(GreyImage::read(&path), Err(MeshError::Format(_))));
    assert!(matches!(GreyImage::read(&folder.path().join("none.png")), Err(MeshError::Io { .. })));
}

/// All three formats, grey with 16 bits and colours with 8: the values that the files were made of.
#[test]
fn every_format_gives_its_grey_values() {
    macro_rules! read {
        ($name:literal) => {
            GreyImage::decode(include_bytes!(concat!("../../../fuzz/seeds/heightfield/", $name))).unwrap()
        };
    }
    let grey: Vec<f32> = (0..35u16).map(|n| f32::from(n % 7 * 900 + n / 7) / 65535.0).collect();
    assert_eq!(read!("grey.png"), GreyImage { width: 7, rows: 5, values: grey.clone() });
    assert_eq!(read!("grey.tiff"), GreyImage { width: 7, rows: 5, values: grey });
    let brightness =
        |n: usize| (0.2126 * (n % 9 * 20) as f32 + 0.7152 * (n / 9 * 30) as f32 + 0.0722 * 7.0) / 255.0;
    for (image, error) in [(read!("colour.png"), 1e-6), (read!("colour.jpg"), 0.05)] {
        assert_eq!((image.width, image.rows), (9, 8));
        for (n, value) in image.values.iter().enumerate() {
            assert!((value - brightness(n)).abs() < error, "{n}: {value} for {}", brightness(n));
        }
    }
}
