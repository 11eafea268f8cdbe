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

/// Sums of ones weigh the cells that are seen: all 5^3 away from the wall, those before it beside it.
#[test]
fn sums_count_what_is_seen() {
    let size = [12, 8, 8];
    let x = |cell: usize| cell % 12;
    let is_barred =
        |cell: usize, axis: usize, up: bool| axis == 0 && (x(cell) == 5 && up || x(cell) == 6 && !up);
    let sides = ThinSides::new(size, |cell| (4..8).contains(&x(cell)).then_some(0xff), is_barred);
    let mut sums = vec![];
    sides.sums(&mut sums, &mut vec![], &vec![1.0; 12 * 8 * 8], size);
    let middle = |x: usize| sums[x + 12 * (4 + 8 * 4)];
    assert_eq!([3, 4, 5, 6, 7, 8].map(middle), [9.0, 8.0, 6.0, 6.0, 8.0, 9.0].map(|x| 81.0 * x));
    let marked: Vec<bool> = (0..12 * 8 * 8).map(|cell| x(cell) == 6).collect();
    let any = sides.any(&marked, size);
    assert_eq!(
        [4, 5, 6, 7, 8, 9].map(|x| any[x + 12 * (4 + 8 * 4)]),
        [false, false, true, true, true, false]
    );
}

/// Rows of every length around a cell beside a wall with a hole in it.
#[test]
fn runs_of_seen_cells_are_those_of_the_single_ones() {
    let size = [9, 9, 9];
    let at = |cell: usize| [cell % 9, cell / 9 % 9, cell / 81];
    let is_barred = |cell: usize, axis: usize, up: bool| {
        let [x, y, z] = at(cell);
        axis == 1 && x != 5 && z < 5 && (y == 3 && up || y == 4 && !up)
    };
    let sides = ThinSides::new(size, |_| Some(0xff), is_barred);
    let from = [4, 3, 4];
    let seen = sides.of_cell(4 + 9 * (3 + 9 * 4), from).unwrap().1;
    for (j, k) in (0..9).flat_map(|j| (0..9).map(move |k| (j, k))) {
        for (first, last) in (0..9).flat_map(|first| (first..9).map(move |last| (first, last))) {
            let mut found = vec![];
            seen.for_each_run([first, last], [j, k], |[from, to]| found.extend(from..=to));
            let single: Vec<usize> = (first..=last).filter(|&i| seen.sees([i, j, k])).collect();
            assert_eq!(found, single, "{first} to {last} of row {j} {k}");
        }
    }
}
