use fluvial_foundation::Vec3;
use fluvial_grids::octree::Shape;
use fluvial_grids::{Lattice, Octree, Sides};
use fluvial_octree::sides::TreeSides;

#[test]
fn paths_and_samples_stay_on_their_side() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.5, levels: 1, roots: [8, 6, 6] };
    let tree = Octree::build(shape, 0, |_| false);
    // The lattice begins two cells into the tree; a wall stands between its cells 1 and 2.
    let cells = Lattice { size: [5, 6, 6], origin: Vec3::new(1.25, 0.25, 0.25), spacing: 0.5 };
    let barred = (0..cells.len()).map(|c| match cells.coordinates(c)[0] {
        1 => Sides::NEAR | 2,
        2 => Sides::NEAR | 1,
        _ => Sides::NEAR,
    });
    let sides = Sides { own_corners: vec![0xff; cells.len()], barred: barred.collect() };
    let on_tree = TreeSides { sides: &sides, cells, offset: [2, 0, 0] };
    let end = on_tree.walk(Vec3::new(1.6, 1.0, 1.0), Vec3::new(3.0, 1.2, 1.0));
    assert!(end.x < 2.0 && end.x > 1.98 && end.y == 1.2, "{end}");
    // One on the left, nine on the right: neither sees the other.
    let q: Vec<f32> =
        (0..tree.cell_count()).map(|c| if tree.cell_center(c).x < 2.0 { 1.0 } else { 9.0 }).collect();
    for (x, value) in [(1.95, 1.0), (2.05, 9.0), (1.3, 1.0), (2.9, 9.0)] {
        assert_eq!(on_tree.sample(&tree, &q, Vec3::new(x, 1.1, 1.3)), Some(value), "{x}");
    }
    assert_eq!(on_tree.sample(&tree, &q, Vec3::new(0.6, 1.1, 1.3)), None);
    let leaf = |x: f32| tree.locate(Vec3::new(x, 1.1, 1.1)).cell as usize;
    assert!(on_tree.divides(&tree, leaf(1.9), leaf(2.1)) && !on_tree.divides(&tree, leaf(1.9), leaf(1.4)));
    assert!(!on_tree.sees(&tree, leaf(1.9), leaf(2.1)) && on_tree.sees(&tree, leaf(1.9), leaf(1.4)));
}
