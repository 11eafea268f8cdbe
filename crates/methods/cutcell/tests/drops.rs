//! Drops below the tracker's cells have the volume that their particles hold.

use fluvial_cutcell::cut::cut_liquid;
use fluvial_cutcell::drops::{Parts, add_drops};
use fluvial_cutcell::nodes::Tracker;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::UniformGrid;

const CELLS: usize = 6;
const FACTOR: usize = 4;

/// Volume that is cut after drops were added to a pool of the given depth, in cells.
fn cut_volume(depth: f64, x: &[DVec3], volume: &[f64]) -> [f64; 2] {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [CELLS; 3], dx: 1.0 };
    let nodes = Tracker { grid, factor: FACTOR, phi_node: &[] }.nodes();
    let mut phi = vec![0.0f32; nodes.len()];
    nodes.for_each_mut(&mut phi, |_, [_, j, _], phi| *phi = (j as f64 / FACTOR as f64 - depth) as f32);
    let cut = |phi_node: &[f32]| {
        let mesh = cut_liquid(&Tracker { grid, factor: FACTOR, phi_node }, &mut Default::default());
        mesh.pieces.iter().map(|p| p.volume).sum::<f64>()
    };
    let before = cut(&phi);
    let [_, missed] = add_drops(&mut phi, (&nodes, FACTOR), &Parts { x, volume });
    assert_eq!(missed, 0, "drops without their volume");
    [before, cut(&phi)]
}

/// From a cell of the tracker down to a millionth of it, wherever the drop lies, and in pairs that touch or do not.
#[test]
fn a_drop_has_its_volume_however_small() {
    for volume in [0.1, 0.0156, 1e-3, 1e-7] {
        for at in [DVec3::splat(3.0), DVec3::new(3.11, 2.93, 3.07), DVec3::new(3.125, 3.125, 3.125)] {
            for apart in [0.05, 0.4, 1.7] {
                let x = [at, at + DVec3::new(apart, 0.3 * apart, 0.0)];
                let [before, after] = cut_volume(-5.0, &x, &[volume, 0.5 * volume]);
                let gained = (after - before) / (1.5 * volume);
                assert!((gained - 1.0).abs() < 1e-3, "{volume} at {at}, {apart} apart: {gained} of it");
            }
        }
    }
}

/// Beside a pool a drop adds its volume, not what lies between the two.
#[test]
fn a_drop_over_a_pool_adds_its_volume() {
    for height in [0.35, 0.42, 0.6] {
        let [before, after] = cut_volume(2.1, &[DVec3::new(3.05, 2.1 + height, 2.9)], &[0.08]);
        let gained = (after - before) / 0.08;
        assert!((gained - 1.0).abs() < 1e-3, "{height} above the pool: {gained} of it");
    }
}
