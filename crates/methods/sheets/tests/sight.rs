use fluvial_sheets::ThinSides;

/// A wall between x = 3 and x = 4 that ends at y = 6.
#[test]
fn cells_behind_a_thin_solid_are_not_seen() {
    let size = [8, 10, 6];
    let at = |cell: usize| [cell % 8, cell / 8 % 10, cell / 80];
    let is_barred = |cell: usize, axis: usize, up: bool| {
        let [x, y, _] = at(cell);
        axis == 0 && y < 6 && (x == 3 && up || x == 4 && !up)
    };
    let sides = ThinSides::new(size, |cell| (2..6).contains(&at(cell)[0]).then_some(0xff), is_barred);
    let cell = |at: [usize; 3]| at[0] + 8 * (at[1] + 10 * at[2]);
    let seen_from = |from: [usize; 3]| sides.of_cell(cell(from), from).unwrap().1;
    let low = seen_from([3, 2, 2]);
    assert!(low.sees([3, 2, 2]) && low.sees([1, 4, 0]) && low.sees([3, 0, 4]));
    assert!(!low.sees([4, 2, 2]) && !low.sees([5, 4, 3]) && !low.sees([0, 2, 2]));
    // Over the edge, by a way that goes up.
    let edge = seen_from([3, 5, 2]);
    assert!(edge.sees([4, 6, 2]) && edge.sees([5, 7, 1]) && !edge.sees([4, 5, 2]) && !edge.sees([4, 4, 2]));
    assert!(seen_from([4, 2, 2]).sees([5, 2, 2]) && !seen_from([4, 2, 2]).sees([3, 3, 3]));
    assert!(sides.of_cell(cell([0, 0, 0]), [0, 0, 0]).is_none());
}
