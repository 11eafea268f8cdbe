use fluvial_foundation::random::splitmix64;
use fluvial_grids::paged::Layout;
use fluvial_grids::pyramid::{CellSet, NEIGHBOURS, opposite, outward};

fn random_set(layout: Layout, one_in: u64, seed: u64) -> CellSet {
    let full = CellSet::full(layout);
    let pages = full.blocks().iter().map(|b| b.0).collect();
    CellSet::from_pages(layout, pages, |page| {
        (0..64).fold(0, |m, c| m | (splitmix64(seed ^ (64 * page + c)).is_multiple_of(one_in) as u64) << c)
    })
}

fn all_cells(layout: Layout) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = layout.cells();
    (0..x * y * z).map(move |n| [n % x, n / x % y, n / x / y])
}

#[test]
fn opposite_neighbours_are_negated() {
    for (n, offset) in NEIGHBOURS.iter().enumerate() {
        assert_eq!(NEIGHBOURS[opposite(n)], offset.map(|v| -v));
    }
}

#[test]
fn growth_reaches_exactly_the_neighbours_within_the_domain() {
    let layout = Layout::new([13, 8, 22], [2, 2, 2]);
    let set = random_set(layout, 40, 1);
    let grown = set.dilated();
    let outgrown = set.grown(&NEIGHBOURS, outward);
    for at in all_cells(layout) {
        let near = |allowed: bool| {
            NEIGHBOURS.iter().any(|o| {
                let from = [0, 1, 2].map(|a: usize| at[a] as i64 - o[a] as i64);
                let even = |a: usize| from[a] % 2 == 0;
                let points = (0..3).all(|a| o[a] == 0 || (o[a] < 0) == even(a));
                layout.contains(from) && set.contains(from.map(|v| v as u32)) && (!allowed || points)
            })
        };
        assert_eq!(grown.contains(at), set.contains(at) || near(false), "{at:?}");
        assert_eq!(outgrown.contains(at), set.contains(at) || near(true), "{at:?}");
    }
}

#[test]
fn parents_and_children_are_half_and_double_coordinates() {
    let (fine, coarse) = (Layout::new([26, 16, 12], [2, 2, 2]), Layout::new([13, 8, 6], [2, 2, 2]));
    let set = random_set(fine, 50, 2);
    let parents = set.parents(coarse);
    let children = parents.children(fine);
    let mut up = std::collections::BTreeSet::new();
    all_cells(fine).filter(|&at| set.contains(at)).for_each(|at| {
        up.insert(at.map(|v| v / 2));
    });
    all_cells(coarse).for_each(|at| assert_eq!(parents.contains(at), up.contains(&at)));
    all_cells(fine).for_each(|at| assert_eq!(children.contains(at), parents.contains(at.map(|v| v / 2))));
}

#[test]
fn halos_hold_the_cells_around() {
    let layout = Layout::new([20, 20, 20], [2, 2, 2]);
    let set = random_set(layout, 3, 3);
    let page = layout.page(layout.encode([8, 4, 12]));
    let halo = set.halo(page);
    for (cell, &offset) in (0..64).flat_map(|c| NEIGHBOURS.iter().map(move |o| (c, o))) {
        let at = layout.decode(layout.first_of(page) | cell as u64);
        let next = [0, 1, 2].map(|a: usize| at[a].wrapping_add_signed(offset[a] as i32));
        assert_eq!(halo.bit(cell, offset), set.contains(next));
        assert_eq!(halo.at_offset(offset) >> cell & 1 == 1, set.contains(next));
    }
}
