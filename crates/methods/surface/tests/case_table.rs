// Private to the crate, and complete in itself.
#[path = "../src/cases.rs"]
#[allow(dead_code)]
mod cases;

use cases::{CASES, JOINED, edge_corners, is_ambiguous};

#[test]
fn a_pinching_cube_has_one_ambiguous_face() {
    for signs in 0..256 {
        if let Some(face) = CASES[signs].pinching_face {
            let ambiguous: Vec<usize> = (0..6).filter(|&f| is_ambiguous(signs, f)).collect();
            assert_eq!(ambiguous, [face as usize], "case {signs:08b}");
            assert_eq!(CASES[signs | JOINED].pinching_face, None);
        }
    }
}

#[test]
fn every_loop_crosses_at_least_three_edges() {
    for (n, case) in CASES.iter().enumerate() {
        let signs = n & 255;
        let crossed = |e: usize| edge_corners(e).map(|c| signs >> c & 1).iter().sum::<usize>() == 1;
        for l in 0..case.loops {
            let edges = (0..12).filter(|&e| crossed(e) && case.loop_of_edge[e] == l).count();
            assert!(edges >= 3, "case {n}: loop {l} has {edges} edges");
        }
        assert_eq!(case.loops == 0, signs == 0 || signs == 255);
        assert!(case.loops <= 4);
    }
}
