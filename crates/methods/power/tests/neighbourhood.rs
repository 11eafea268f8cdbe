use fluvial_power::neighbourhood::{Code, nearer_half_space};

#[test]
fn the_plane_between_two_leaves_passes_through_shared_corners() {
    // A leaf of edge 4 and one of edge 2 beyond its high x side, at y and z high: they share (2, 2, 2).
    let plane = nearer_half_space(4, [3, 1, 1], 2);
    assert_eq!(2 * plane.normal.iter().sum::<i64>(), plane.offset);
    // And one of edge 8 whose low corner is the leaf's high corner.
    let plane = nearer_half_space(4, [6, 6, 6], 8);
    assert_eq!(2 * plane.normal.iter().sum::<i64>(), plane.offset);
}

#[test]
fn places_are_counted_as_in_the_paper() {
    let count = |code: Code| code.sites().len();
    assert_eq!(count(Code::UNIFORM), 18);
    assert_eq!(count(Code::with_smaller(0)), 6 * 4 + 12 * 2);
    // All six larger: they are 6, and 3 faces and 3 edges stay with siblings.
    assert_eq!(count(Code::with_larger(5, 63)), 12);
}
