use fluvial_cutcell::cases::{CASES, EDGE_CORNERS, FACE_CORNERS, Site, edge_between, loops};
use std::collections::BTreeMap;

/// Every pattern of signs of two neighbouring cells, along every axis: the liquid polygon of the common
/// face is the same for both, and so are the lines where the surface meets it, in opposite
/// directions.
#[test]
fn neighbours_agree_on_their_common_face() {
    for axis in 0..3u8 {
        for pattern in 0..1u16 << 12 {
            // Nodes of 3 x 2 x 2, long along the axis: two cells share the middle four.
            let bit = 1 << axis;
            let sign = |corner: u8, step: u8| {
                let along = (corner >> axis & 1) + step;
                let across = (corner & (bit - 1)) | (corner >> (axis + 1)) << axis;
                pattern >> (along * 4 + across) & 1
            };
            let case = |step: u8| (0..8).fold(0u8, |c, n| c | (sign(n, step) as u8) << n);
            let (low, high) = (&CASES[case(0) as usize], &CASES[case(1) as usize]);
            // Name the sites of the low cell's high face as the high cell's low face has them.
            let shift = |s: Site| match s.0 {
                corner @ 0..8 => Site(corner & !bit),
                code => {
                    let [a, b] = EDGE_CORNERS[(code - 8) as usize];
                    Site(Site::EDGE + edge_between(a & !bit, b & !bit))
                }
            };
            let mut seen: Vec<Site> = low.faces[2 * axis as usize + 1].iter().map(|&s| shift(s)).collect();
            seen.reverse();
            let other = &high.faces[2 * axis as usize];
            assert_eq!(seen.len(), other.len());
            let turned = |k: usize| (0..seen.len()).all(|n| seen[(n + k) % seen.len()] == other[n]);
            assert!(seen.is_empty() || (0..seen.len()).any(turned), "{pattern:b} {seen:?} {other:?}");
        }
    }
}

/// Directed edges of the surface's triangles and of the faces' polygons cancel: liquid parts are closed.
#[test]
fn every_case_is_closed_and_no_diagonal_lies_in_a_face() {
    for (number, case) in CASES.iter().enumerate() {
        let mut balance: BTreeMap<(u8, u8), i32> = BTreeMap::new();
        let mut walk = |a: u8, b: u8| {
            *balance.entry((a.min(b), a.max(b))).or_default() += if a < b { 1 } else { -1 };
        };
        for face in &case.faces {
            (0..face.len()).for_each(|n| walk(face[n].0, face[(n + 1) % face.len()].0));
        }
        let polygons = loops(number as u8);
        let wanted: usize = polygons.iter().map(|p| p.len() - 2).sum();
        assert_eq!(case.triangles.len(), wanted, "case {number} {polygons:?}");
        for t in &case.triangles {
            (0..3).for_each(|n| walk(8 + t[n], 8 + t[(n + 1) % 3]));
            let in_face = FACE_CORNERS
                .iter()
                .any(|f| t.iter().all(|&e| EDGE_CORNERS[e as usize].iter().all(|c| f.contains(c))));
            assert!(!in_face, "case {number}: {t:?} lies in a face");
        }
        assert!(balance.values().all(|&b| b == 0), "case {number}: {balance:?}");
    }
}
