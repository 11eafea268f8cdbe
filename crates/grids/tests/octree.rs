//! Octrees from random sizing fields against a painting of their leaves, finest cell by finest cell.

use fluvial_foundation::random::{splitmix64, unit_f32};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::octree::{Cell, OUTSIDE, SMOOTHING_PASSES, Shape, Side};
use fluvial_grids::{Lattice, Octree};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Divides cells at random, the more often the nearer they are to a random point.
fn random_tree(levels: usize, roots: [usize; 3], passes: u32, seed: u64) -> Octree {
    let shape = Shape { min: Vec3::new(-1.0, 0.5, 2.0), dx: 0.25, levels, roots };
    let size = shape.bounds().size();
    let centre = shape.min + size * fluvial_foundation::random::unit_vec3(seed, 0);
    let density = 0.05 + 0.5 * unit_f32(seed, 1);
    Octree::build(shape, passes, |cell| {
        let near = (shape.center(cell) - centre).length() / size.length();
        let key = cell.at.iter().fold(cell.level as u64, |k, &v| splitmix64(k ^ (v as u64 + 1)));
        unit_f32(key, seed) < density * (1.2 - 2.0 * near)
    })
}

/// The leaf of every finest cell.
fn paint(tree: &Octree) -> (Lattice, Vec<u32>) {
    let lattice = Lattice { size: tree.shape().cells(0), origin: Vec3::ZERO, spacing: 1.0 };
    let mut leaf = vec![OUTSIDE; lattice.len()];
    for (number, cell) in tree.cells().iter().enumerate() {
        for_finest(*cell, |at| {
            let n = lattice.index(at[0], at[1], at[2]);
            assert_eq!(leaf[n], OUTSIDE, "leaves do not overlap");
            leaf[n] = number as u32;
        });
    }
    assert!(leaf.iter().all(|&l| l != OUTSIDE), "leaves fill the domain");
    (lattice, leaf)
}

fn for_finest(cell: Cell, mut body: impl FnMut([usize; 3])) {
    let size = 1usize << cell.level;
    for n in 0..size * size * size {
        let offset = [n % size, n / size % size, n / size / size];
        body(AXES.map(|a| size * cell.at[a] as usize + offset[a]));
    }
}

fn leaf_of(lattice: &Lattice, leaf: &[u32], at: [i64; 3]) -> u32 {
    let inside = AXES.iter().all(|&a| at[a] >= 0 && at[a] < lattice.size[a] as i64);
    if inside { leaf[lattice.index(at[0] as usize, at[1] as usize, at[2] as usize)] } else { OUTSIDE }
}

fn check_grading_and_location(tree: &Octree, lattice: &Lattice, leaf: &[u32]) {
    for n in 0..lattice.len() {
        let at = lattice.coordinates(n).map(|v| v as i64);
        let centre = tree.shape().min + tree.shape().dx * (Vec3::from(at.map(|v| v as f32)) + 0.5);
        assert_eq!(tree.locate(centre).cell, leaf[n]);
        let level = tree.cells()[leaf[n] as usize].level;
        for o in 0..27 {
            let next = leaf_of(lattice, leaf, [at[0] + o % 3 - 1, at[1] + o / 3 % 3 - 1, at[2] + o / 9 - 1]);
            if next != OUTSIDE {
                assert!(tree.cells()[next as usize].level.abs_diff(level) <= 1, "2:1 in every direction");
            }
        }
    }
}

fn check_faces(tree: &Octree, lattice: &Lattice, leaf: &[u32]) {
    let mut seen = vec![0usize; tree.face_count()];
    for n in 0..lattice.len() {
        for axis in AXES {
            for high in [0, 1usize] {
                let at = lattice.coordinates(n).map(|v| v as i64);
                let mut next = at;
                next[axis] += 2 * high as i64 - 1;
                let (own, other) = (leaf[n], leaf_of(lattice, leaf, next));
                if own == other {
                    continue;
                }
                let face = tree.cell_faces()[own as usize][2 * axis + high] as usize;
                seen[face] += 1;
                assert!(tree.faces(axis).contains(&face) && tree.face_axis(face) == axis);
                let holds = |side: Side, cell: u32| match side {
                    Side::Outside => cell == OUTSIDE,
                    Side::Cell(c) => c == cell,
                    Side::Quad(q) => q.contains(&cell),
                };
                let sides = tree.sides(face);
                assert!(holds(sides[1 - high], own) && holds(sides[high], other), "{sides:?} {own} {other}");
                assert_eq!(tree.across(own as usize)[2 * axis + high], sides[high]);
                let single = tree.leaf_across(own as usize, 2 * axis + high);
                assert_eq!(single.is_none(), matches!(sides[high], Side::Quad(_)));
                assert!(single.is_none_or(|cell| cell == other));
                let mut met = false;
                tree.for_neighbours(own as usize, |cell| met |= cell == other as usize);
                assert!(met || other == OUTSIDE);
                let level = tree.cells()[own as usize].level;
                let larger =
                    if other == OUTSIDE { level } else { level.max(tree.cells()[other as usize].level) };
                assert_eq!(tree.face_places()[face].level, larger);
                let quad = sides.iter().any(|s| matches!(s, Side::Quad(_)));
                assert_eq!(quad, tree.is_junction(face));
                let large = tree.cell_center(if level == larger { own } else { other } as usize);
                let mut lateral = tree.face_center(face, axis) - large;
                assert!((lateral[axis].abs() - 0.5 * tree.face_dx(face)).abs() < 1e-5);
                lateral[axis] = 0.0;
                assert!(lateral.length() < 1e-5, "a face is centred on its large cell");
            }
        }
    }
    for (face, &count) in seen.iter().enumerate() {
        let area = 1usize << (2 * tree.face_places()[face].level);
        let walls = tree.sides(face).contains(&Side::Outside);
        assert_eq!(count, if walls { area } else { 2 * area }, "a face is as large as its large cell's side");
    }
}

fn check_nodes(tree: &Octree, lattice: &Lattice, leaf: &[u32]) {
    let mut corners = BTreeSet::new();
    for cell in tree.cells() {
        for o in 0..8usize {
            corners.insert(AXES.map(|a| (cell.at[a] as usize + ((o >> a) & 1)) << cell.level));
        }
    }
    assert_eq!(corners.len(), tree.node_count());
    for (n, node) in tree.nodes().iter().enumerate() {
        let at = node.at.map(|v| (v as usize) << node.level);
        assert!(corners.remove(&at), "every corner is one node");
        for o in 0..8usize {
            let cell = AXES.map(|a| at[a] as i64 + ((o >> a) & 1) as i64 - 1);
            assert_eq!(tree.node_cells()[n][o], leaf_of(lattice, leaf, cell));
        }
        for level in node.level as usize..tree.shape().levels {
            if at.iter().all(|v| v % (1 << level) == 0) {
                assert_eq!(tree.node_at(level, at.map(|v| (v >> level) as u32)), Some(n as u32));
            }
        }
    }
}

/// Lookups of eight places at once agree with one by one, at walls and below zero too.
fn check_around(tree: &Octree) {
    for level in 0..tree.shape().levels {
        let [nx, ny, nz] = tree.shape().cells(level).map(|n| n as i64);
        for n in 0..(nx + 2) * (ny + 2) * (nz + 2) {
            let at = [n % (nx + 2) - 1, n / (nx + 2) % (ny + 2) - 1, n / (nx + 2) / (ny + 2) - 1]
                .map(|v| v as u32);
            let leaves = tree.leaves_around(level, at);
            for o in 0..8usize {
                let place: [u32; 3] = std::array::from_fn(|a| at[a].wrapping_add((o as u32 >> a) & 1));
                assert_eq!(leaves[o], tree.leaf_at(level, place).unwrap_or(OUTSIDE));
                for axis in AXES {
                    let face = tree.faces_around(level, axis, at)[o];
                    assert_eq!(face, tree.face_at(level, axis, place).unwrap_or(OUTSIDE));
                }
            }
        }
    }
    for cell in 0..tree.cell_count() {
        for (o, &node) in tree.cell_nodes(cell).iter().enumerate() {
            // The leaf is what lies opposite of its corner.
            assert_eq!(tree.node_cells()[node as usize][7 - o], cell as u32);
        }
    }
}

fn check_uniform(tree: &Octree) {
    let count = |level: usize| tree.shape().cells(level).map(|n| n as i64);
    let uniform = |level: usize, at: [i64; 3]| {
        (0..27).all(|o| {
            let next = [at[0] + o % 3 - 1, at[1] + o / 3 % 3 - 1, at[2] + o / 9 - 1];
            let outside = AXES.iter().any(|&a| next[a] < 0 || next[a] >= count(level)[a]);
            outside || tree.leaf_at(level, next.map(|v| v as u32)).is_some()
        })
    };
    for (n, cell) in tree.cells().iter().enumerate() {
        let located = tree.locate(tree.cell_center(n));
        let level = cell.level as usize;
        let at = cell.at.map(|v| v as i64);
        let thick = count(level).iter().all(|&n| n > 1);
        assert_eq!((located.cell, located.level), (n as u32, level));
        assert_eq!(located.uniform, thick && uniform(level, at), "{cell:?}");
        let inside = |at: [i64; 3]| -> Vec<[u32; 3]> {
            let around = (0..27).map(|o| [at[0] + o % 3 - 1, at[1] + o / 3 % 3 - 1, at[2] + o / 9 - 1]);
            let inside = around.filter(|p| AXES.iter().all(|&a| p[a] >= 0 && p[a] < count(level)[a]));
            inside.map(|p| p.map(|v| v as u32)).collect()
        };
        assert_eq!(located.near_finer, inside(at).iter().any(|&p| tree.is_divided(level, p)));
        let exists = |p: [u32; 3]| tree.is_divided(level, p) || tree.leaf_at(level, p).is_some();
        assert_eq!(located.near_coarser, inside(at).iter().any(|&p| !exists(p)));
        for axis in AXES {
            let beside = [-1, 1].iter().all(|step| {
                let mut next = at;
                next[axis] += step;
                let outside = next[axis] < 0 || next[axis] >= count(level)[axis];
                outside || inside(next).into_iter().all(exists)
            });
            assert_eq!(located.uniform_along[axis], located.uniform && beside);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_trees_agree_with_their_painting(
        levels in 1usize..5,
        x in 1usize..12,
        y in 1usize..7,
        z in 1usize..7,
        passes in 0u32..5,
        seed in any::<u64>(),
    ) {
        let tree = random_tree(levels, [x, y, z], passes, seed);
        let (lattice, leaf) = paint(&tree);
        check_grading_and_location(&tree, &lattice, &leaf);
        check_faces(&tree, &lattice, &leaf);
        check_nodes(&tree, &lattice, &leaf);
        check_uniform(&tree);
        check_around(&tree);
    }
}

/// Rings around one finest cell: the dilation reaches exactly as far as the passes say, before octets are
/// completed.
#[test]
fn one_fine_cell_is_surrounded_by_three_rings() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 3, roots: [16, 16, 16] };
    let target = [33u16, 32, 31];
    let tree = Octree::build(shape, 3, |cell| AXES.iter().all(|&a| target[a] >> cell.level == cell.at[a]));
    // The octet of the target plus three rings of face neighbours, then complete octets.
    let mut expected = BTreeSet::new();
    for n in 0..24usize.pow(3) {
        let at = [n % 24 + 20, n / 24 % 24 + 20, n / 576 + 20].map(|v| v as i64);
        let gap = |a: usize| {
            let low = (target[a] & !1) as i64;
            (low - at[a]).max(at[a] - low - 1).max(0)
        };
        if AXES.iter().map(|&a| gap(a)).sum::<i64>() <= 3 {
            expected.extend((0..8i64).map(|o| AXES.map(|a| (at[a] & !1) + ((o >> a) & 1))));
        }
    }
    let finest: BTreeSet<_> = tree.cells()[tree.cells_of(0)].iter().map(|c| c.at.map(|v| v as i64)).collect();
    assert_eq!(finest, expected);
}

#[test]
fn trees_are_the_same_with_any_number_of_threads() {
    let build = || format!("{:?}", random_tree(4, [3, 2, 2], SMOOTHING_PASSES, 5));
    assert_eq!(parallel::with_threads(1, build), parallel::with_threads(4, build));
}

/// A tree is told from another one before it is connected, whichever has more cells.
#[test]
fn a_tree_is_rebuilt_where_it_changes_alone() {
    let random = |cell: Cell, seed: u64| {
        let key = cell.at.iter().fold(cell.level as u64, |k, &v| splitmix64(k ^ (v as u64 + 1)));
        unit_f32(key, seed) < 0.2
    };
    let shape = Shape { min: Vec3::ZERO, dx: 0.5, levels: 3, roots: [9, 6, 5] };
    for passes in [0, 3] {
        let tree = Octree::build(shape, passes, |cell| random(cell, 1));
        assert!(tree.rebuild(passes, |cell| random(cell, 1)).is_none());
        for seed in 2..5 {
            let other = Octree::build(shape, passes, |cell| random(cell, seed));
            let rebuilt = tree.rebuild(passes, |cell| random(cell, seed)).expect("another tree");
            assert_eq!(format!("{rebuilt:?}"), format!("{other:?}"));
        }
        let coarse = Octree::build(shape, passes, |_| false);
        assert!(coarse.rebuild(passes, |_| false).is_none());
        assert_eq!(tree.rebuild(passes, |_| false).expect("a coarser tree").cells(), coarse.cells());
        assert!(coarse.rebuild(passes, |cell| random(cell, 1)).is_some());
    }
}

/// The level that a leaf is expected on decides how long the search takes, not what is found.
#[test]
fn points_are_located_from_any_level() {
    let tree = random_tree(4, [3, 4, 3], 1, 2);
    let (bounds, mut right) = (tree.shape().bounds(), 0);
    for n in 0..500 {
        let x = bounds.min + bounds.size() * (1.2 * fluvial_foundation::random::unit_vec3(n, 3) - 0.1);
        let found = tree.locate(x);
        for level in 0..4 {
            assert_eq!(tree.locate_near(x, level), found);
            right += (level == found.level) as usize;
        }
    }
    assert_eq!(right, 500);
}

#[test]
fn leaves_of_a_level_are_in_morton_order() {
    let tree = random_tree(4, [6, 5, 4], 1, 8);
    let code = |c: &Cell| {
        (0..16).fold(0u64, |m, b| (0..3).fold(m, |m, a| m | ((c.at[a] as u64 >> b) & 1) << (3 * b + a)))
    };
    for level in 0..4 {
        let codes: Vec<u64> = tree.cells()[tree.cells_of(level)].iter().map(code).collect();
        assert!(
            codes.is_sorted() && tree.cells()[tree.cells_of(level)].iter().all(|c| c.level == level as u8)
        );
    }
    assert!((0..4).filter(|&level| !tree.cells_of(level).is_empty()).count() >= 3, "several levels");
}

#[test]
fn points_outside_are_located_on_the_hull() {
    let tree = random_tree(4, [3, 2, 2], SMOOTHING_PASSES, 5);
    let bounds = tree.shape().bounds();
    let inside = tree.locate(bounds.max - 1e-3);
    assert_eq!(tree.locate(bounds.max + 7.0), inside);
    assert_eq!(tree.locate(bounds.min - 7.0), tree.locate(bounds.min));
    assert_eq!(tree.locate(Vec3::splat(f32::NAN)), tree.locate(bounds.min));
}
