use fluvial_foundation::AXES;
use fluvial_foundation::random::splitmix64;
use fluvial_grids::paged::Layout;

const SHAPES: [([u32; 3], [u32; 3]); 4] = [
    ([64, 64, 64], [2, 2, 2]),
    ([37, 500, 9], [2, 2, 2]),
    ([1, 3, 4096], [3, 3, 2]),
    ([2048, 2048, 2048], [3, 3, 2]),
];

#[test]
fn coordinates_come_back_and_codes_are_dense() {
    for (cells, block) in SHAPES {
        let layout = Layout::new(cells, block);
        assert_eq!(layout.encode([-1; 3]), layout.first_of(layout.pages()) - 1);
        for n in 0..2000u64 {
            let at = AXES.map(|a| (splitmix64(3 * n + a as u64) % cells[a] as u64) as i64);
            let code = layout.encode(at);
            assert!(layout.page(code) < layout.pages());
            assert_eq!(layout.decode(code), at.map(|v| v as u32));
        }
    }
}

#[test]
fn masked_addition_moves_along_every_axis() {
    for (cells, block) in SHAPES {
        let layout = Layout::new(cells, block);
        let steps = layout.page_steps();
        for n in 0..2000u64 {
            let at = AXES.map(|a| (splitmix64(3 * n + a as u64) % cells[a] as u64) as i64);
            let by = AXES.map(|a| (splitmix64(7000 + 3 * n + a as u64) % 3) as i64 - 1);
            let sum = AXES.map(|a| at[a] + by[a]);
            let code = layout.add(layout.encode(at), layout.encode(by));
            assert_eq!(code, layout.encode(sum));
            // A step out of the domain never arrives at a block of the domain.
            let outside = AXES.iter().any(|&a| sum[a] < 0);
            assert!(!outside || !layout.contains(layout.decode(code).map(|v| v as i64)));
            let page = layout.page(layout.encode(at));
            let number = (by[0] + 1 + 3 * (by[1] + 1) + 9 * (by[2] + 1)) as usize;
            let beside = AXES.map(|a| at[a] + by[a] * layout.block_side(a) as i64);
            assert_eq!(layout.add_pages(page, steps[number]), layout.page(layout.encode(beside)));
            let [x, y, z] = by.map(|d| (d + 1) as usize);
            assert_eq!(layout.around(page).page(x, y, z), layout.page(layout.encode(beside)));
        }
    }
}

#[test]
fn long_domains_reserve_no_cube() {
    let layout = Layout::new([4092, 60, 60], [2, 2, 2]);
    assert_eq!(layout.pages(), 1024 * 16 * 16);
}
