use fluvial_foundation::random::unit_f32;
use fluvial_sheets::{box_sums, dilate};

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
