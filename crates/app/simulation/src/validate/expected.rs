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

const ALL: &[&str] = &["uniform/levelset", "uniform/flip", "uniform/apic", "octree", "sheets"];

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
        reason: "the drop's n = 2 oscillation gains 1.4 to 2.6 % a period too; the cause is not isolated. The drag on short waves cut the level set's speed by a third and its growth from 2.1 to 1.8",
    },
    ExpectedFailure {
        case: "dam-break",
        methods: &["uniform/levelset", "octree"],
        quantity: "volume drift",
        reason: "0.02 % until a front one and a half cells thick meets the wall; there 0.3 % (octree: 0.105 %), as the correction comes a step late",
    },
    ExpectedFailure {
        case: "filling",
        methods: &["uniform/apic"],
        quantity: "volume gained / m3",
        reason: "0.52 %: the surface that particles make breathes by half a percent",
    },
    ExpectedFailure {
        case: "dam-break",
        methods: &["uniform/apic"],
        quantity: "front speed / Ritter's bound",
        reason: "0.98 to 1.08 when gravity changes by 1e-5 or roundings do: a drop that leaves the front moves it by a cell, 4 % of the bound over the window of T = 1 at 12 cells per a",
    },
    ExpectedFailure {
        case: "hydrostatic",
        methods: &["sheets"],
        quantity: "flat: volume drift",
        reason: SQUEEZED,
    },
    ExpectedFailure {
        case: "hydrostatic",
        methods: &["sheets"],
        quantity: "tilted gravity: volume drift",
        reason: SQUEEZED,
    },
    ExpectedFailure {
        case: "hydrostatic",
        methods: &["sheets"],
        quantity: "sloped solid: volume drift",
        reason: SQUEEZED,
    },
    ExpectedFailure {
        case: "hydrostatic",
        methods: &["sheets"],
        quantity: "tilted gravity: max speed / sqrt(g h)",
        reason: TILTED,
    },
    ExpectedFailure {
        case: "hydrostatic",
        methods: &["sheets"],
        quantity: "tilted gravity: pressure / Pa",
        reason: HALF_DENSITY,
    },
    ExpectedFailure {
        case: "hydrostatic",
        methods: &["sheets"],
        quantity: "sloped solid: pressure / Pa",
        reason: HALF_DENSITY,
    },
    ExpectedFailure {
        case: "sloshing",
        methods: &["sheets"],
        quantity: "h/L 0.3: frequency / Hz",
        reason: SMALL_WAVE,
    },
    ExpectedFailure {
        case: "sloshing",
        methods: &["sheets"],
        quantity: "h/L 0.3: amplitude lost in 4 periods",
        reason: SMALL_WAVE,
    },
    ExpectedFailure {
        case: "sloshing",
        methods: &["sheets"],
        quantity: "h/L 0.3: initial amplitude / m",
        reason: SMALL_WAVE,
    },
    ExpectedFailure {
        case: "sloshing",
        methods: &["sheets"],
        quantity: "h/L 0.5: frequency / Hz",
        reason: SMALL_WAVE,
    },
    ExpectedFailure {
        case: "sloshing",
        methods: &["sheets"],
        quantity: "h/L 0.5: amplitude lost in 4 periods",
        reason: SMALL_WAVE,
    },
    ExpectedFailure {
        case: "sloshing",
        methods: &["sheets"],
        quantity: "h/L 0.5: initial amplitude / m",
        reason: SMALL_WAVE,
    },
    ExpectedFailure {
        case: "static-drop",
        methods: &["sheets"],
        quantity: "parasitic speed, 2nd half / 1st half",
        reason: TENSION,
    },
    ExpectedFailure {
        case: "drop-oscillation",
        methods: &["sheets"],
        quantity: "period / s",
        reason: TENSION,
    },
    ExpectedFailure {
        case: "dam-break",
        methods: &["sheets"],
        quantity: "front position, mean error",
        reason: "5.3 %: the front is a few particles thick and drawn to half a spacing beyond them; 4.7 % when the skin of the surface flies freely, which stirs still water",
    },
];

// What `sheets` falls short of.
const SQUEEZED: &str = "particles keep their mass to the quantum; what drifts, 0.12 to 0.17 %, is the measure of what is squeezed, 5^3 cells in which particles that rearranged stand closer than on the lattice";
const TILTED: &str = "0.07 sqrt(g h), growing: next to walls, which mirror the liquid, the level of half density of a tilted surface bends by a fifth of a cell; elsewhere short waves, as `uniform` had before its drag on them";
const HALF_DENSITY: &str = "0.10 and 0.16 %: the level of half density is a distance for a flat surface far from walls; against a slope it is off by 1 % of a cell";
const SMALL_WAVE: &str = "the wave is 0.1 and 0.16 cells high: at 8 particles a cell its surface, a sum over about 250 of them, moves by as much when they rearrange";
const TENSION: &str = "curvature is the density's second derivatives, a mean over 3^3 cells: the jump of pressure is right to 1.2 %, currents stay at a hundredth of what they were but grow by 3 in a quarter of a second, and the oscillating drop crosses its mean too rarely to give a period. This method is not for tension-driven motion";
