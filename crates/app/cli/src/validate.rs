//! `fluvial validate`.

use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::say::say;
use crate::{log, stop};
use anyhow::anyhow;
use fluvial_output::{create_dir, write_bytes_atomic, write_json_atomic};
use fluvial_simulation::validate::{
    CASES, CASES_OF_RUNS, Case, CaseError, Context, Row, print_table, run_case,
};
use fluvial_solver_interface::Variant;
use fluvial_solver_registry::{find_variants, names, variants};

/// Runs validation cases and prints, writes and judges their rows.
pub fn validate(args: ValidateArgs) -> Result<(), Failure> {
    if args.list {
        list();
        return Ok(());
    }
    log::start_on_terminal();
    let cases = choose_cases(&args.cases)?;
    let methods = choose_methods(&args.method)?;
    if let Some(case) = cases.iter().find(|case| !args.cases.is_empty() && !applies_to_any(case, &methods)) {
        let able: Vec<&str> = variants().iter().filter(|m| (case.applies)(m)).map(|m| m.name).collect();
        let wanted = args.method.join("`, `");
        let message = format!("the case `{}` says nothing about the method `{wanted}`", case.name);
        return Err(Failure::bad_input(message, format!("it applies to {}", able.join(", "))));
    }
    if let Some(case) = cases.iter().find(|case| args.only.is_some() && !CASES_OF_RUNS.contains(&case.name)) {
        let message = format!("the case `{}` is one run, `--only` cannot choose among its parts", case.name);
        return Err(Failure::bad_input(message, format!("it can in {}", CASES_OF_RUNS.join(", "))));
    }
    let stop = stop::on_interrupt()?;
    args.output.as_deref().map(create_dir).transpose()?;
    let mut rows: Vec<Row> = Vec::new();
    let mut broken = 0;
    for case in &cases {
        for method in methods.iter().filter(|m| (case.applies)(m)) {
            eprintln!("{} {}", case.name, method.name);
            let context =
                Context { method, fine: args.fine, only: args.only.as_deref(), stop: &stop, progress: &tell };
            match run_case(case, &context) {
                Ok(outcome) => {
                    for (stem, plot) in outcome.plots.iter().filter(|_| args.output.is_some()) {
                        let dir = args.output.as_deref().unwrap_or(std::path::Path::new("."));
                        write_bytes_atomic(&dir.join(format!("{stem}.svg")), plot.to_svg().as_bytes())?;
                    }
                    rows.extend(outcome.rows);
                }
                Err(CaseError::Interrupted) => {
                    return Err(Failure::interrupted("the validation is incomplete"));
                }
                Err(error) => {
                    eprintln!("{} {}: {error}", case.name, method.name);
                    broken += 1;
                }
            }
        }
    }
    if let Some(only) = args.only.filter(|_| rows.is_empty() && broken == 0) {
        let hint =
            "without `--only`, runs are told as they end; their names are parts of the rows' quantities";
        return Err(Failure::bad_input(format!("no run's name contains `{only}`"), hint.to_owned()));
    }
    say!("{}", print_table(&rows).trim_end());
    if let Some(file) = &args.json {
        write_json_atomic(file, &rows)?;
    }
    judge(&rows, broken)
}

/// What a run of a long case found, before the table is there.
fn tell(rows: &[Row]) {
    for row in rows {
        let verdict = match row.pass {
            Some(true) => "pass",
            Some(false) => "FAIL",
            None => "reported",
        };
        eprintln!("  {}, {}: {:.4e} {verdict}", row.resolution, row.quantity, row.value);
    }
}

fn applies_to_any(case: &Case, methods: &[Variant]) -> bool {
    methods.iter().any(|method| (case.applies)(method))
}

fn judge(rows: &[Row], broken: usize) -> Result<(), Failure> {
    let count = |judge: fn(&Row) -> bool| rows.iter().filter(|r| judge(r)).count();
    let failed = count(Row::is_unexpected_failure);
    let expected = count(|r| r.pass == Some(false) && r.expected_failure.is_some());
    let passed = count(|r| r.pass == Some(true));
    say!(
        "{passed} passed, {failed} failed, {expected} expected failures, {} reported",
        count(|r| r.pass.is_none())
    );
    for row in rows.iter().filter(|r| r.pass == Some(false)) {
        if let Some(reason) = &row.expected_failure {
            say!("expected failure: {} {} {}: {reason}", row.case, row.method, row.quantity);
        }
    }
    if failed + broken > 0 {
        return Err(Failure::failed(anyhow!(
            "{failed} rows missed their bar, {broken} cases gave no result"
        )));
    }
    Ok(())
}

fn list() {
    say!("Cases:");
    for case in CASES {
        say!("  {:22} {}\n  {:22} source: {}", case.name, case.what, "", case.source);
    }
    say!("Methods:");
    variants().iter().for_each(|v| say!("  {}", v.name));
}

fn choose_cases(names: &[String]) -> Result<Vec<&'static Case>, Failure> {
    if names.is_empty() {
        return Ok(CASES.iter().collect());
    }
    let find = |name: &String| {
        let known: Vec<&str> = CASES.iter().map(|c| c.name).collect();
        let found = CASES.iter().find(|c| c.name == name);
        found.ok_or_else(|| {
            Failure::bad_input(format!("there is no validation case `{name}`"), known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

fn choose_methods(wanted: &[String]) -> Result<Vec<Variant>, Failure> {
    if wanted.is_empty() {
        return Ok(variants());
    }
    let mut methods = Vec::new();
    for name in wanted {
        let found = find_variants(name);
        if found.is_empty() {
            let mut known = names();
            known.extend(variants().iter().map(|v| v.name));
            known.sort_unstable();
            known.dedup();
            return Err(Failure::bad_input(format!("there is no method `{name}`"), known.join(", ")));
        }
        methods.extend(found);
    }
    Ok(methods)
}
