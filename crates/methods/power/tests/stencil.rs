use fluvial_foundation::random::splitmix64;
use fluvial_power::neighbourhood::{Code, Slot};
use fluvial_power::pairs::CLEAR_OF_SOLIDS;
use fluvial_power::stencil::PowerCell;

#[test]
fn among_equals_a_power_cell_is_the_cube() {
    let cell = PowerCell::new(Code::UNIFORM);
    assert_eq!(cell.faces.len(), 6);
    assert!((cell.volume - 1.0).abs() < 1e-15);
    assert!(cell.level[..6].iter().all(|&(a, d)| (a - 1.0).abs() < 1e-15 && (d - 1.0).abs() < 1e-15));
    assert!(cell.level[6..].iter().all(|&(a, _)| a == 0.0));
}

#[test]
fn a_cell_beside_four_smaller_ones_bulges_into_them() {
    // Only the high x side is refined, hence its edges too: apex at 5/6 of an edge from the centre.
    let smaller = |k: usize| fluvial_grids::pyramid::NEIGHBOURS[k][0] == 1;
    let same = (0..18).filter(|&k| !smaller(k)).fold(0, |m, k| m | 1 << k);
    let cell = PowerCell::new(Code::with_smaller(same));
    let slanted: Vec<_> = cell.faces.iter().filter(|f| matches!(f.slot, Slot::Smaller(..))).collect();
    assert_eq!(slanted.len(), 4);
    // Over the side the bulge reaches to 3x = 5/2 - |y| - |z|, on average 1/6 beyond it.
    assert!((cell.volume - (1.0 + 1.0 / 6.0)).abs() < 1e-14, "{}", cell.volume);
    // The integral of x over the bulge is that of ((5/2 - |y| - |z|)^2 / 9 - 1/4) / 2 over the side.
    assert!((cell.centroid[0] - 43.0 / 504.0).abs() < 1e-14, "{:?}", cell.centroid);
    assert!(slanted.iter().all(|f| (f.distance - 11f64.sqrt() / 4.0).abs() < 1e-15));
}

/// What lies farther from a leaf's centre than all corners of its power cell cuts none of its faces.
#[test]
fn power_cells_are_small() {
    let smaller = (0..200u64).map(|n| Code::with_smaller((splitmix64(n) % (1 << 18)) as u32));
    let larger = (0..512u32).map(|n| Code::with_larger(n / 64, n % 64));
    for code in smaller.chain(larger).chain([Code::with_smaller(0)]) {
        let cell = PowerCell::new(code);
        let corners = cell.faces.iter().flat_map(|face| &face.corners);
        let farthest = corners.map(|c| c.iter().map(|v| v * v).sum::<f64>().sqrt()).fold(0.0, f64::max);
        assert!(farthest < CLEAR_OF_SOLIDS, "{code:?}: {farthest}");
    }
}
