//! Rows of validation that `uniform` is known to miss, each with the reason. The tests fail when one starts
//! to pass.

use fluvial_solver_interface::ExpectedFailure;

/// Rows known to miss their bar.
pub(crate) const EXPECTED_FAILURES: &[ExpectedFailure] = &[
    ExpectedFailure {
        case: "gravity-capillary-wave",
        variants: &["uniform/levelset"],
        quantity: "amplitude lost in 4 periods",
        reason: "10 % at 16 cells, 5 % at 32, in proportion to the wave's height: faces whose stencils reach beyond the surface are carried to first order, which damps by u k^2 dx / 2. With the second-order correction there too it is 1.3 % and 0.1 %, but rounding errors then grow in thin fronts",
    },
    ExpectedFailure {
        case: "free-fall",
        variants: &["uniform/levelset", "uniform/flip", "uniform/apic"],
        quantity: "centre of mass, fallen / m",
        reason: "the velocity is exact, the surface is carried to 2e-3 cells; the bar asks for 1e-4 cells at 9.6 cells per diameter",
    },
    ExpectedFailure {
        case: "free-fall",
        variants: &["uniform/levelset", "uniform/flip", "uniform/apic"],
        quantity: "sideways / fallen",
        reason: "as the centre of mass: interpolation error of the carried surface",
    },
    ExpectedFailure {
        case: "static-drop",
        variants: &["uniform/levelset", "uniform/flip", "uniform/apic"],
        quantity: "parasitic speed, 2nd half / 1st half",
        reason: "the drop's n = 2 oscillation gains 1.4 to 2.6 % a period too; the cause is not isolated. The drag on short waves cut the level set's speed by a third and its growth from 2.1 to 1.8",
    },
    ExpectedFailure {
        case: "dam-break",
        variants: &["uniform/apic"],
        quantity: "front speed / Ritter's bound",
        reason: "1.01 over its steepest unit of time: the front is a particle or two thick, and its speed wanders between 0.96 and 1.01 with any change of the code; the position is right to 4.4 %",
    },
    ExpectedFailure {
        case: "invariances",
        variants: &["uniform/levelset", "uniform/flip", "uniform/apic"],
        quantity: "moved by half a cell: front, largest difference",
        reason: "the floor lies in the middle of cells: distances at nodes round the edges of the tank off, which takes 2 % of the water at the start, and the front is as thick as the cut cell",
    },
    ExpectedFailure {
        case: "invariances",
        variants: &["uniform/flip", "uniform/apic"],
        quantity: "moved by half a cell: kinetic energy, largest difference",
        reason: "the floor lies in the middle of cells: distances at nodes round the edges of the tank off, which takes 2 % of the water at the start, and the front is as thick as the cut cell",
    },
    ExpectedFailure {
        case: "invariances",
        variants: &["uniform/apic"],
        quantity: "moved by whole cells: kinetic energy, largest difference",
        reason: "0.067 at 16 cells, 0.010 at 12: rounding makes the two runs part; which decision does is not isolated",
    },
];
