// Private to the crate, and complete in itself.
#[path = "../src/lanes.rs"]
#[allow(dead_code)]
mod lanes;

use lanes::{LANES, Lanes, plain};

#[test]
fn wide_and_plain_lanes_agree_to_the_bit() {
    let a: [f32; LANES] = [0.1, -2.5, 3.25, 1e-30, 7.7, -0.0, 1e9, 0.3];
    let b: [f32; LANES] = [0.7, -2.5, -1.5, 2e-30, 7.6, 0.5, 3.0, 0.1];
    let (x, y) = (Lanes::load(&a), Lanes::load(&b));
    assert_eq!((x + y).to_array(), plain::add(a, b));
    assert_eq!((x - y).to_array(), plain::sub(a, b));
    assert_eq!((x * y).to_array(), plain::mul(a, b));
    assert_eq!(x.mul_add(y, x).to_array(), plain::mul_add(a, b, a));
    assert_eq!((x / y).to_array(), plain::div(a, b));
    assert_eq!(x.max(y).to_array(), plain::max(a, b));
    assert_eq!(x.at_most(y), plain::at_most(a, b));
    assert_eq!(x.at_most(y), 0b0010_1011);
    assert_eq!(x.first(3, 9.0).to_array(), plain::first(a, 3, 9.0));
    assert_eq!(x.first(3, 9.0).to_array(), [0.1, -2.5, 3.25, 9.0, 9.0, 9.0, 9.0, 9.0]);
    assert_eq!(Lanes::splat(2.0).to_array(), plain::to_array(plain::load(&plain::splat(2.0))));
    assert_eq!(Lanes::load(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).sum(), 36.0);
}
