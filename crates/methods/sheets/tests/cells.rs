use fluvial_foundation::random::unit_f32;
use fluvial_sheets::{box_sums, dilate, tent_sums};
use std::f32::consts::PI;

#[test]
fn boxes_are_those_of_the_definition() {
    let size = [7, 5, 4];
    for width in 0..4 {
        let values: Vec<f32> = (0..140).map(|n| (16.0 * unit_f32(n, 1)).floor()).collect();
        let flags: Vec<bool> = values.iter().map(|v| *v < 1.0).collect();
        let (sums, grown) = (box_sums(&values, size, width), dilate(&flags, size, width));
        for n in 0..140usize {
            let at = [n % 7, n / 7 % 5, n / 35];
            let near = |m: &usize| {
                let other = [m % 7, m / 7 % 5, m / 35];
                (0..3).all(|a| at[a].abs_diff(other[a]) <= width)
            };
            // Whole numbers: exact in any order.
            assert_eq!(sums[n], (0..140).filter(near).map(|m| values[m]).sum::<f32>());
            assert_eq!(grown[n], (0..140).filter(near).any(|m| flags[m]));
        }
    }
}

/// A wave along x, far from the ends: plain sums over 5^3 cells answer one of 3.5 cells with a quarter of its opposite.
#[test]
fn tents_answer_no_wave_with_its_opposite() {
    let size = [40, 5, 5];
    let mut sums = vec![];
    for n in 1..40 {
        let wave = |cell: usize| (PI * n as f32 / 40.0 * (cell % 40) as f32).cos();
        let values: Vec<f32> = (0..1000).map(wave).collect();
        tent_sums(&mut sums, &mut vec![], &values, size);
        for x in 5..35 {
            let cell = x + 40 * (2 + 5 * 2);
            assert!(sums[cell] * values[cell] > -1e-3, "{n}: {} for {}", sums[cell], values[cell]);
        }
    }
    tent_sums(&mut sums, &mut vec![], &[1.0; 1000], size);
    assert_eq!((sums[20 + 40 * 12], sums[20]), (729.0, 9.0 * 6.0 * 6.0));
}
