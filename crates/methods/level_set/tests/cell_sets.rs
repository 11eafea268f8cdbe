// Private to the crate, and complete in itself.
#[path = "../src/cell_set.rs"]
#[allow(dead_code)]
mod cell_set;

use cell_set::CellSet;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::Lattice;

#[test]
fn growing_finds_the_neighbours_that_a_plain_search_finds() {
    for size in [[1, 1, 1], [64, 3, 2], [65, 4, 3], [130, 5, 6], [7, 9, 8]] {
        let lattice = Lattice { size, origin: Vec3::ZERO, spacing: 1.0 };
        let (mut set, mut front) = (CellSet::default(), CellSet::default());
        set.clear(&lattice);
        front.clear(&lattice);
        let mut inside = vec![false; lattice.len()];
        for cell in (0..lattice.len()).filter(|&c| random::unit_vec3(c as u64, 5).x < 0.1) {
            inside[cell] = true;
            set.insert(cell as u32);
            front.insert(cell as u32);
        }
        let is_new = |cell: usize| {
            let c = lattice.coordinates(cell);
            let touches = (0..3).any(|a| {
                c[a] > 0 && inside[cell - lattice.stride(a)]
                    || c[a] + 1 < size[a] && inside[cell + lattice.stride(a)]
            });
            touches && !inside[cell]
        };
        let expected: Vec<u32> = (0..lattice.len()).filter(|&c| is_new(c)).map(|c| c as u32).collect();
        let mut added = Vec::new();
        let mut same = CellSet::default();
        same.set_where(&lattice, |cell| inside[cell]);
        assert_eq!(same.words, set.words);
        set.grow(&mut added, &front);
        assert_eq!(added.concat(), expected, "{size:?}");
        same.set_to(&added);
        let mut one_by_one = CellSet::default();
        one_by_one.clear(&lattice);
        expected.iter().for_each(|&cell| one_by_one.insert(cell));
        assert_eq!(same.words, one_by_one.words);
        set.grow(&mut added, &front);
        assert!(added.concat().is_empty(), "cells were added twice");
    }
}
