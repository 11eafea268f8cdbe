//! `fluvial report`: the page that tells how a run goes or went.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::log;
use crate::resume::read_record;
use crate::say::say;
use fluvial_simulation::report::write_report;

/// Writes the report of a run, finished or not.
pub fn report(args: ReportArgs) -> Result<(), Failure> {
    log::start_on_terminal();
    let record = read_record(&args.dir)?;
    let path = args.output.unwrap_or_else(|| args.dir.join("report.html"));
    write_report(&args.dir, &record, &path)?;
    say!("{}", path.display());
    Ok(())
}
