//! Pockets behind slivers, which smoothing and coarse grids do not reach.

use fluvial_pressure::cases::Case;
use fluvial_pressure::{Params, SOLVERS};

/// Opens or closes the low face of a cell.
fn set_area(case: &mut Case, axis: usize, at: [usize; 3], area: f32) {
    let mut size = case.cells;
    size[axis] += 1;
    case.open_area[axis][at[0] + size[0] * (at[1] + size[1] * at[2])] = area;
}

/// Walls off the cells `first` to `last` (included) but for one sliver at the high x face of the last.
fn add_pocket(case: &mut Case, first: [usize; 3], last: [usize; 3], sliver: f32) {
    for axis in 0..3 {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for i in first[b]..=last[b] {
            for j in first[c]..=last[c] {
                for plane in [first[axis], last[axis] + 1] {
                    let mut at = [0; 3];
                    (at[axis], at[b], at[c]) = (plane, i, j);
                    set_area(case, axis, at, 0.0);
                }
            }
        }
    }
    set_area(case, 0, [last[0] + 1, last[1], last[2]], sliver);
}

#[test]
fn pockets_behind_slivers_cost_few_iterations() {
    for name in ["tank", "sealed"] {
        for sliver in [0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8] {
            let mut case = Case::new(name, 32).expect("a known case");
            add_pocket(&mut case, [16, 16, 16], [17, 16, 16], sliver);
            add_pocket(&mut case, [5, 9, 7], [6, 11, 8], sliver);
            // One behind the other.
            add_pocket(&mut case, [20, 4, 4], [22, 4, 4], sliver);
            add_pocket(&mut case, [23, 4, 4], [24, 4, 4], sliver);
            for solver in SOLVERS.iter().filter(|s| ["mg-cg", "multigrid"].contains(&s.name)) {
                let mut solver = (solver.build)(case.cells);
                solver.prepare(&case.problem());
                let (mut p, mut p64) = (vec![0.0; case.rhs.len()], vec![0.0; case.rhs.len()]);
                let params = Params { relative_tolerance: 1e-9, ..Params::DEFAULT };
                let info = solver.solve(&mut p, &case.rhs, &params);
                let info = info
                    .unwrap_or_else(|e| panic!("{name} {sliver} {}: {e} {:?}", solver.name(), e.history()));
                assert!(info.iterations <= 20, "{name} {sliver} {}: {:?}", solver.name(), info.history);
                solver.solution_f64(&mut p64);
                let remainder = case.remainder(&p64);
                assert!(remainder.relative() <= 1.01e-9, "{name} {sliver} {}: {remainder:?}", solver.name());
            }
        }
    }
}
