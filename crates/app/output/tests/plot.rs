// Private to the crate; knows only the axis.
#[path = "../src/plot/scale.rs"]
#[allow(dead_code)]
mod scale;

use fluvial_output::{Axis, Plot, Style};
use scale::Scale;

fn ticks(low: f64, high: f64) -> Vec<String> {
    let scale =
        Scale::linear(&Axis { range: Some([low, high]), ..Axis::default() }, [low, high], [0.0, 1.0], 6);
    scale.ticks.iter().map(|&t| scale.label(t)).collect()
}

#[test]
fn ticks_are_round_and_inside_the_range() {
    assert_eq!(ticks(0.0, 3.0), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]);
    assert_eq!(ticks(-1.1, 1.1), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    assert_eq!(ticks(0.0, 120.0), ["0", "20", "40", "60", "80", "100", "120"]);
}

#[test]
fn values_land_on_their_pixels_on_both_scales() {
    let linear =
        Scale::new(&Axis { range: Some([1.0, 3.0]), ..Axis::default() }, [].into_iter(), [100.0, 200.0], 5);
    assert!((linear.pixel(2.0) - 150.0).abs() < 1e-9);
    let log = Scale::new(
        &Axis { log: true, range: Some([1.0, 100.0]), ..Axis::default() },
        [].into_iter(),
        [100.0, 200.0],
        5,
    );
    assert!((log.pixel(10.0) - 150.0).abs() < 1e-9);
}

#[test]
fn odd_data_gives_a_plot_all_the_same() {
    for points in
        [vec![], vec![[0.0, 0.0]], vec![[f64::NAN, 1.0], [1.0, f64::INFINITY]], vec![[1.0, 5.0], [2.0, 5.0]]]
    {
        for log in [false, true] {
            let axis = || Axis { label: "a < b & c".into(), log, range: None };
            let svg = Plot { title: "t".into(), x: axis(), y: axis(), series: vec![] }
                .with("s", Style::LineMarkers, points.clone())
                .to_svg();
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.contains("a &lt; b &amp; c"));
        }
    }
}
