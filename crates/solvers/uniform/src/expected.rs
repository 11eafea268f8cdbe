//! Rows of validation that `uniform` is known to miss, each with the reason. The tests fail when one starts
//! to pass.

use fluvial_solver_interface::ExpectedFailure;

/// Rows known to miss their bar.
pub(crate) const EXPECTED_FAILURES: &[ExpectedFailure] = &[
    ExpectedFailure {
        case: "rest-through-sizes",
        variants: &["uniform/flip", "uniform/apic"],
        quantity: "shelf at the level: level",
        reason: "a film of no depth: particles are seeded on a shelf that is exactly as high as the level. With a shelf a sixth of a cell lower or higher they rest at 1e-6 m/s",
    },
    ExpectedFailure {
        case: "gravity-capillary-wave",
        variants: &["uniform/levelset"],
        quantity: "amplitude lost in 4 periods, 16 cells per wavelength",
        reason: "2.1 %, all of it the drag on short waves: without it 0.05 % is lost, but short steps make such waves blow up. 0.15 % at 32 cells",
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
        variants: &["uniform/flip"],
        quantity: "parasitic speed, 2nd half / 1st half",
        reason: "0.004 of sqrt(sigma / (rho D)) at the end, twice what it is in the first half: about a fifth of the level set's. What drives it is not isolated",
    },
    ExpectedFailure {
        case: "invariances",
        variants: &["uniform/levelset", "uniform/flip", "uniform/apic"],
        quantity: "moved by half a cell: front, largest difference",
        reason: FRONT_TIP,
    },
    ExpectedFailure {
        case: "invariances",
        variants: &["uniform/flip", "uniform/apic"],
        quantity: "moved by half a cell: kinetic energy, largest difference",
        reason: "3.0 and 2.1 %. Of the level set, which misses it at 32 cells, it is the impact on the end wall: what a wall takes from liquid that strikes it depends on where it cuts its cells. Moved along x alone, 11 % more is left at 16 cells and energy rises by 5 % after it. Where in the step is not isolated, and for particles it is an inference",
    },
];

const FRONT_TIP: &str = "the tip of the tongue: on a floor between cells, cells are liquid from half a cell of depth on, on a floor through their middles from nothing on. What is drawn beyond the last hundredth is a cell longer, 6 to 8 % at 16 cells; energies agree to 1 to 3 %";
