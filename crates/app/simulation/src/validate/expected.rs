//! Rows that are known to miss their bar, each with the reason. The tests fail when one starts to pass.

/// A row that is known to miss its bar, and why. Never a reason to drop the row.
pub struct ExpectedFailure {
    /// Case name.
    pub case: &'static str,
    /// Method names.
    pub methods: &'static [&'static str],
    /// The row's quantity.
    pub quantity: &'static str,
    /// Why it fails.
    pub reason: &'static str,
}

const ALL: &[&str] = &["uniform/levelset", "uniform/flip", "uniform/apic"];

/// Rows known to miss their bar.
pub const EXPECTED_FAILURES: &[ExpectedFailure] = &[
    ExpectedFailure {
        case: "free-fall",
        methods: ALL,
        quantity: "centre of mass, fallen / m",
        reason: "the velocity is exact, the surface is carried to 2e-3 cells; the bar asks for 1e-4 cells at 9.6 cells per diameter",
    },
    ExpectedFailure {
        case: "free-fall",
        methods: ALL,
        quantity: "sideways / fallen",
        reason: "as the centre of mass: interpolation error of the carried surface",
    },
    ExpectedFailure {
        case: "static-drop",
        methods: &["uniform/levelset", "uniform/flip"],
        quantity: "parasitic speed, 2nd half / 1st half",
        reason: "the drop's n = 2 oscillation gains 4 to 5 % a period too; the cause is not isolated. Filtering the curvature cut the level set's speed to a third, not the growth",
    },
    ExpectedFailure {
        case: "dam-break",
        methods: &["uniform/levelset", "uniform/flip"],
        quantity: "volume drift",
        reason: "0.96 % and 2.1 % at 12 cells per a; the correction answers over six steps. Where transport loses the volume is not isolated yet",
    },
];
