//! Pyramids from random divisions against a painting of their leaves, finest cell by finest cell.

use fluvial_foundation::Vec3;
use fluvial_foundation::random::{splitmix64, unit_f32};
use fluvial_grids::octree::Shape;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::{NEIGHBOURS, Pyramid, bits};

/// Divides the cells around random points, down to a random level each.
fn random_pyramid(backing: Backing, levels: usize, roots: [usize; 3], points: u64, seed: u64) -> Pyramid {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25, levels, roots };
    let draw = |n: u64, k: u64| splitmix64(splitmix64(seed) ^ (8 * n + k)) as usize;
    let point = |n| ([0, 1, 2].map(|a| draw(n, a as u64) % shape.cells(0)[a]), draw(n, 3) % (levels - 1));
    let points: Vec<([usize; 3], usize)> = (0..points).map(point).collect();
    Pyramid::build(backing, shape, |cell| {
        let holds = |p: &[usize; 3]| (0..3).all(|a| p[a] >> cell.level == cell.at[a] as usize);
        points.iter().any(|(p, level)| *level < cell.level as usize && holds(p))
    })
    .unwrap()
}

/// Level and coordinates of a leaf.
type Leaf = (usize, [u32; 3]);

/// The leaf at every finest cell.
fn paint(pyramid: &Pyramid) -> (Vec<Option<Leaf>>, [usize; 3]) {
    let size = pyramid.shape().cells(0);
    let mut leaf = vec![None; size.iter().product()];
    for (l, level) in pyramid.levels().iter().enumerate() {
        let cells = pyramid.shape().cells(l).map(|n| n as u32);
        for n in 0..cells.iter().product::<u32>() {
            let at = [n % cells[0], n / cells[0] % cells[1], n / cells[0] / cells[1]];
            if !level.active().contains(at) {
                continue;
            }
            let side = 1u32 << l;
            for m in 0..side.pow(3) {
                let fine = [m % side, m / side % side, m / side / side];
                let p = [0, 1, 2].map(|a| (at[a] * side + fine[a]) as usize);
                let place = &mut leaf[p[0] + size[0] * (p[1] + size[1] * p[2])];
                assert!(place.is_none(), "leaves do not overlap");
                *place = Some((l, at));
            }
        }
    }
    assert!(leaf.iter().all(Option::is_some), "leaves fill the domain");
    (leaf, size)
}

/// Leaves that share a face or an edge with the finest cell at `at`.
fn around(leaf: &[Option<Leaf>], size: [usize; 3], at: [usize; 3]) -> Vec<Leaf> {
    let next = NEIGHBOURS.iter().filter_map(|o| {
        let p = [0, 1, 2].map(|a: usize| at[a].wrapping_add_signed(o[a] as isize));
        (0..3).all(|a| p[a] < size[a]).then(|| leaf[p[0] + size[0] * (p[1] + size[1] * p[2])].unwrap())
    });
    next.collect()
}

#[test]
fn random_trees_are_graded_and_fill_the_domain() {
    for (seed, levels, points) in [(1, 2, 40), (2, 3, 4), (3, 3, 12), (4, 4, 3), (5, 4, 8)] {
        let pyramid = random_pyramid(Backing::Reserved, levels, [9, 7, 8], points, seed);
        let (leaf, size) = paint(&pyramid);
        let mut reach = std::collections::BTreeMap::new();
        for n in 0..leaf.len() {
            let at = [n % size[0], n / size[0] % size[1], n / size[0] / size[1]];
            let near = around(&leaf, size, at);
            let entry = reach.entry(leaf[n].unwrap()).or_insert((usize::MAX, 0));
            near.iter().for_each(|&(l, _)| *entry = (entry.0.min(l), entry.1.max(l)));
        }
        for ((level, at), (finest, coarsest)) in reach {
            assert!(coarsest <= level + 1 && finest + 1 >= level, "leaf {at:?} of level {level}");
            assert!(coarsest <= level || finest >= level, "leaf {at:?} of level {level} has both");
        }
        // All levels are there, and all have transitions.
        let ghosts: Vec<usize> = pyramid.levels().iter().map(|l| l.ghost().count()).collect();
        assert!(ghosts[..levels - 1].iter().all(|&n| n > 0), "{ghosts:?} ghosts by level");
    }
}

#[test]
fn grading_divides_nothing_that_the_rule_does_not_ask_for() {
    // One finest octet in the middle: two rings of level-1 cells around its parent, rounded out to level-2
    // cells.
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 3, roots: [8; 3] };
    let pyramid = Pyramid::build(Backing::Table, shape, |cell| {
        let (l, shift) = (cell.level, cell.level - 1);
        l >= 1 && cell.at == [14u16 >> shift; 3]
    })
    .unwrap();
    let counts: Vec<usize> = pyramid.levels().iter().map(|l| l.active().count()).collect();
    // Two rings around cell (14, 14, 14) of level 1 reach 12 to 15 along each axis, where the domain ends:
    // parents 6 and 7.
    assert_eq!(counts[0], 8);
    assert_eq!(counts[1], 8 * 8 - 1);
    assert_eq!(counts[2], 512 - 8);
}

#[test]
fn ghosts_lie_in_larger_leaves_next_to_active_cells() {
    let pyramid = random_pyramid(Backing::Table, 3, [8, 6, 7], 9, 5);
    for (l, level) in pyramid.levels().iter().enumerate() {
        let cells = pyramid.shape().cells(l).map(|n| n as u32);
        for n in 0..cells.iter().product::<u32>() {
            let at = [n % cells[0], n / cells[0] % cells[1], n / cells[0] / cells[1]];
            let parent = pyramid.levels().get(l + 1).is_some_and(|p| p.active().contains(at.map(|v| v / 2)));
            let near = NEIGHBOURS.iter().any(|o| {
                let from = [0, 1, 2].map(|a: usize| at[a].wrapping_add_signed(-o[a] as i32));
                let points = (0..3).all(|a| o[a] == 0 || (o[a] < 0) == (from[a] % 2 == 0));
                points && level.active().contains(from)
            });
            assert_eq!(level.ghost().contains(at), parent && near);
        }
    }
}

#[test]
fn accumulate_is_the_transpose_of_propagate() {
    for backing in [Backing::Reserved, Backing::Table] {
        let mut pyramid = random_pyramid(backing, 4, [9, 7, 8], 8, 4);
        let values: Vec<f32> = (0..pyramid.active_count() as u64).map(|n| unit_f32(n, 1) - 0.5).collect();
        pyramid.scatter(0, &values);
        pyramid.propagate(0);
        // Some field over all active and ghost cells.
        for (l, level) in pyramid.levels_mut().iter_mut().enumerate() {
            let cells = level.cells().to_vec();
            level.grid.for_each_block(None, [1], |n, page, _, [out]| {
                bits(cells[n].active | cells[n].ghost)
                    .for_each(|c| out[c] = unit_f32(page * 64 + c as u64, l as u64) - 0.5);
            });
        }
        let mut inner = 0.0;
        for level in pyramid.levels() {
            for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
                let (a, b) = (level.grid.channel(page, 0), level.grid.channel(page, 1));
                let known = level.cells()[n].active | level.cells()[n].ghost;
                inner += bits(known).map(|c| a[c] as f64 * b[c] as f64).sum::<f64>();
            }
        }
        pyramid.accumulate(1);
        let mut sums = vec![0.0; values.len()];
        pyramid.gather(&mut sums, 1);
        let outer: f64 = values.iter().zip(&sums).map(|(&a, &b)| a as f64 * b as f64).sum();
        assert!((inner - outer).abs() < 1e-5 * values.len() as f64, "{inner} {outer}");
        assert!(pyramid.levels().iter().map(|l| l.ghost().count()).sum::<usize>() > 1000);
    }
}

#[test]
fn numbers_count_all_leaves_once() {
    let pyramid = random_pyramid(Backing::Reserved, 3, [8, 6, 7], 9, 5);
    let mut seen = vec![false; pyramid.active_count()];
    for (l, level) in pyramid.levels().iter().enumerate() {
        let cells = pyramid.shape().cells(l).map(|n| n as u32);
        for n in 0..cells.iter().product::<u32>() {
            let at = [n % cells[0], n / cells[0] % cells[1], n / cells[0] / cells[1]];
            assert_eq!(level.number(at).is_some(), level.active().contains(at));
            if let Some(number) = level.number(at) {
                assert!(!std::mem::replace(&mut seen[number as usize], true));
            }
        }
    }
    assert!(seen.iter().all(|&s| s));
}
