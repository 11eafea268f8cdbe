//! Table 3 of the tall-cell paper [tall §4]: IC(0)-preconditioned conjugate gradients against full
//! multigrid cycles, for a jet that flows past a sphere into a tank with three water levels.

use super::pressure::{Goal, PressureRow};
use std::fmt::Write;

/// The three water levels.
pub const CASES: [&str; 3] = ["sphere-jet-low", "sphere-jet-mid", "sphere-jet-high"];
/// Cells per side.
pub const SIZES: [usize; 3] = [64, 128, 256];
/// The two solvers.
pub const SOLVERS: [&str; 2] = ["ic", "multigrid"];
/// The residual's largest value, 1/s. The right sides of our cases reach 1.3 1/s.
pub const GOALS: [Goal; 2] = [Goal::Largest(1e-4), Goal::Largest(1e-8)];
/// As theirs, on one thread.
pub const THREADS: usize = 1;

/// Their figures: size, level (as in [`CASES`]), and for both goals iterations and seconds of IC(0)-PCG and of
/// multigrid (Intel Core i7 at 2.67 GHz, f64).
#[rustfmt::skip]
pub const PUBLISHED: [(usize, usize, [[f64; 4]; 2]); 9] = [
    (64, 0, [[57.0, 0.75, 9.0, 0.75], [92.0, 1.21, 16.0, 1.31]]),
    (64, 1, [[97.0, 1.35, 8.0, 0.68], [156.0, 2.18, 14.0, 1.18]]),
    (64, 2, [[124.0, 1.92, 7.0, 0.61], [198.0, 3.06, 12.0, 1.02]]),
    (128, 0, [[102.0, 10.95, 9.0, 6.32], [162.0, 17.32, 16.0, 11.10]]),
    (128, 1, [[211.0, 25.31, 8.0, 5.64], [327.0, 39.14, 13.0, 9.03]]),
    (128, 2, [[251.0, 32.39, 8.0, 5.74], [435.0, 55.96, 13.0, 9.16]]),
    (256, 0, [[217.0, 183.31, 7.0, 39.49], [334.0, 281.83, 11.0, 55.89]]),
    (256, 1, [[450.0, 424.27, 7.0, 39.77], [675.0, 635.03, 12.0, 67.06]]),
    (256, 2, [[523.0, 542.32, 8.0, 46.08], [918.0, 951.08, 12.0, 68.04]]),
];

/// The measured rows in the layout of the paper, with its own figures beside them. Times are solves without
/// set-up.
pub fn print_table(rows: &[PressureRow]) -> String {
    let mut text = format!(
        "{:>4} {:<5} {:>6}  {:>6} {:>9}  {:>6} {:>9}  {:>7}    {:>6} {:>6} {:>7}\n",
        "n", "level", "goal", "ic", "s", "cycles", "s", "faster", "theirs", "cycles", "faster"
    );
    let find = |n: usize, case: &str, solver: &str, goal: f64| {
        let same =
            |r: &&PressureRow| (r.n, &r.case[..], &r.solver[..], r.tolerance) == (n, case, solver, goal);
        rows.iter().find(same)
    };
    let mut sizes: Vec<usize> = rows.iter().map(|r| r.n).collect();
    sizes.dedup();
    for n in sizes {
        for (level, case) in CASES.iter().enumerate() {
            for (which, goal) in GOALS.iter().enumerate() {
                let goal = goal.value();
                let [Some(ic), Some(mg)] = SOLVERS.map(|solver| find(n, case, solver, goal)) else {
                    continue;
                };
                let name = case.trim_start_matches("sphere-jet-");
                let _ = write!(
                    text,
                    "{n:>4} {name:<5} {:>6}  {:>6} {:>9.4}  {:>6} {:>9.4}  {:>6.1}x",
                    format!("{goal:.0e}"),
                    ic.iterations,
                    ic.solve_s,
                    mg.iterations,
                    mg.solve_s,
                    ic.solve_s / mg.solve_s
                );
                if let Some((_, _, theirs)) = PUBLISHED.iter().find(|p| (p.0, p.1) == (n, level)) {
                    let [ic, ic_s, mg, mg_s] = theirs[which];
                    let _ = write!(text, "    {ic:>6} {mg:>6} {:>6.1}x", ic_s / mg_s);
                }
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::pressure::run_solver;
    use super::*;
    use fluvial_pressure::cases::Case;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn cycles_are_few_at_every_level_while_those_of_the_reference_grow() {
        let mut rows = Vec::new();
        let sizes = [16, 32];
        for n in sizes {
            for name in CASES {
                let case = Case::new(name, n).unwrap();
                for solver in SOLVERS.map(|s| fluvial_pressure::SOLVERS.iter().find(|k| k.name == s).unwrap())
                {
                    for goal in GOALS {
                        let go_on = AtomicBool::new(false);
                        let row = run_solver((name, &case), solver, goal, THREADS, 1, &go_on).unwrap();
                        let reached = row.true_largest_residual <= goal.value();
                        assert!(row.failure.is_none() && reached, "{row:?}");
                        rows.push(row);
                    }
                }
            }
        }
        let count = |n: usize, case: &str, solver: &str| {
            let same =
                |r: &&PressureRow| r.n == n && r.case == case && r.solver == solver && r.tolerance == 1e-8;
            rows.iter().find(same).unwrap().iterations
        };
        for case in CASES {
            assert!(sizes.iter().all(|&n| count(n, case, "multigrid") <= 16), "{}", print_table(&rows));
            assert!(count(32, case, "ic") > count(16, case, "ic") + 5, "{}", print_table(&rows));
        }
        let text = print_table(&rows);
        assert_eq!(text.lines().count(), 1 + sizes.len() * CASES.len() * GOALS.len(), "{text}");
    }

    #[test]
    fn their_best_figure_is_the_one_they_quote() {
        let ratios = PUBLISHED.iter().flat_map(|p| p.2).map(|[_, ic_s, _, mg_s]| ic_s / mg_s);
        let best = ratios.fold(0.0, f64::max);
        assert!((best - 14.0).abs() < 0.1, "{best}");
    }
}
