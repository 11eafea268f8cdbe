//! Rows of validation that `cutcell` is known to miss, each with the reason. The tests fail when one starts to pass.

use fluvial_solver_interface::ExpectedFailure;

/// Rows known to miss their bar.
pub(crate) const EXPECTED_FAILURES: &[ExpectedFailure] = &[];
