use fluvial_grids::tall::{Holds, TallGrid};

fn hills() -> TallGrid {
    let columns = (0..35).map(|c| [(c * 7) % 5, 2 + (c * 11) % 9]).collect();
    TallGrid::new([7, 6, 5], 0.5, columns)
}

#[test]
fn a_linear_field_comes_back_exactly_at_every_height() {
    let g = hills();
    let mut values = vec![0.0; g.samples()];
    for k in 0..g.nz {
        for i in 0..g.nx {
            (0..g.rows()).for_each(|j| values[g.index(i, j, k)] = g.y(i, j, k) as f32 * 4.0 - 16.0);
            let (low, high) = (g.column(i, k)[0], g.above(i, k) - 1);
            for quarter in 4 * low..=4 * high {
                let y = quarter as f32 * 0.25;
                let at = g.locate(i, k, y);
                let got = values[at.low] * (1.0 - at.weight) + values[at.high] * at.weight;
                assert!((got - (4.0 * y - 16.0)).abs() < 2e-5, "{got} at {y}");
            }
            // Beyond the column its last values go on.
            assert_eq!(values[g.locate(i, k, low as f32 - 3.0).low], values[g.index(i, 0, k)]);
            assert_eq!(values[g.locate(i, k, high as f32 + 3.5).low], values[g.index(i, g.rows() - 1, k)]);
        }
    }
}

#[test]
fn rows_are_found_again_at_their_own_height() {
    let g = hills();
    for k in 0..g.nz {
        for i in 0..g.nx {
            for j in 0..g.rows() {
                let at = g.locate(i, k, g.y(i, j, k) as f32);
                assert_eq!((at.low, at.weight), (g.index(i, j, k), 0.0));
                assert_eq!(g.holds(i as i32, g.y(i, j, k), k as i32), Holds::Cell);
            }
            assert_eq!(g.holds(i as i32, g.column(i, k)[0] - 1, k as i32), Holds::Solid);
            assert_eq!(g.holds(i as i32, g.above(i, k), k as i32), Holds::Air);
        }
    }
    assert_eq!(g.holds(-1, 5, 0), Holds::Solid);
}

#[test]
fn coarser_grids_cover_finer_ones() {
    let mut fine = hills();
    while fine.nx * fine.nz > 1 || fine.regular > 1 {
        let coarse = fine.coarser();
        for k in 0..fine.nz {
            for i in 0..fine.nx {
                for y in fine.column(i, k)[0]..fine.above(i, k) {
                    let (ci, cy, ck) = (i as i32 / 2, y / 2, k as i32 / 2);
                    assert_eq!(coarse.holds(ci, cy, ck), Holds::Cell);
                }
            }
        }
        fine = coarse;
    }
}
