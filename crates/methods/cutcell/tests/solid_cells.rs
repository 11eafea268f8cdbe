use fluvial_cutcell::cases::{CASES, EDGE_CORNERS, winding};
use fluvial_foundation::DVec3;
use fluvial_foundation::random::{unit_f32, unit_vec3};

/// Random points in random cells of every case: the liquid winds around them once or not at all.
#[test]
fn liquid_never_overlaps_itself() {
    let corner = |c: usize| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    for number in 1..255u64 {
        let case = &CASES[number as usize];
        for trial in 1000 * number..1000 * number + 40 {
            let at: [DVec3; 20] = std::array::from_fn(|n| match n.checked_sub(8) {
                None => corner(n),
                Some(e) => {
                    let mut x = corner(EDGE_CORNERS[e][0] as usize);
                    x[e / 4] = 0.001 + 0.998 * unit_f32(trial, e as u64) as f64;
                    x
                }
            });
            for sample in 0..20 {
                let p = unit_vec3(trial, 20 + sample).as_dvec3();
                let angle = winding(case, &at, p) / (4.0 * std::f64::consts::PI);
                assert!(angle.round() == 0.0 || angle.round() == 1.0, "case {number}: {angle}");
            }
        }
    }
}
