//! A method with an exact answer, for tests of the loop and of the registry: a rigid unit cube of liquid in
//! free fall.

use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    Capabilities, DtLimiter, ExpectedFailure, Listed, Needs, ParamError, RestoreError, Scenario, Setup,
    SetupError, Snapshot, Solver, StateReader, StateWriter, StepError, StepReport, SuggestedDt,
    SurfaceParams, TransportTest, Variant, Volumes, Wanted, read_method,
};

/// Parameters of `falling-block`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct BlockParams {
    /// Longest step, s.
    pub longest_step: f64,
}

impl Default for BlockParams {
    fn default() -> Self {
        BlockParams { longest_step: 0.01 }
    }
}

impl Listed for BlockParams {
    const NAME: &'static str = "falling-block";
    const ABOUT: &'static str = "A cube of liquid that falls.";
    fn first_error(&self) -> Option<ParamError> {
        (self.longest_step <= 0.0).then_some(("longest_step", "more than 0 s"))
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            particles: false,
            volumes: Volumes::None,
            adaptive: false,
            given_flow: false,
            contact_angles: false,
            friction: false,
            surface_tension: true,
            any_gravity: true,
            thin_walls: true,
            moving_solids: true,
            bodies: false,
        }
    }
    fn pressure_tolerance(&self) -> f64 {
        1e-5
    }
    fn check_size(&self, _: &Setup) -> Result<(), SetupError> {
        Ok(())
    }
    fn predict(&self, _: &Scenario) -> Needs {
        Needs { cells: 1.0, liquid_cells: 1.0, memory_bytes: 64.0, vertices: 8.0, ..Needs::default() }
    }
    fn build(&self, _: Setup) -> Result<Box<dyn Solver>, SetupError> {
        Ok(Box::new(FallingBlock::new(self.longest_step)))
    }
    fn variants() -> Vec<Variant> {
        let method = std::sync::Arc::new(BlockParams::default());
        vec![Variant {
            name: Self::NAME,
            method: method.clone(),
            uncorrected: method,
            transport: TransportTest::None,
            read: read_method::<BlockParams>,
        }]
    }
    fn expected_failures() -> &'static [ExpectedFailure] {
        &[ExpectedFailure {
            case: "hydrostatic",
            variants: &["falling-block"],
            quantity: "flat: max speed",
            reason: "it falls",
        }]
    }
}

/// Symplectic Euler on the height of the cube's lower side.
pub struct FallingBlock {
    pub y: f64,
    pub v: f64,
    pub time_s: f64,
    pub suggested_dt_s: f64,
    /// Longer steps fail.
    pub longest_good_dt_s: f64,
    pub tries: u32,
    /// As if somebody had asked to stop.
    pub gives_up_at_try: Option<u32>,
    /// By how many times the asked length a step advances: 1 as promised.
    pub advances: f64,
    /// What it reports as its volume.
    pub volume_m3: f64,
}

impl FallingBlock {
    pub const START_Y: f64 = 10.0;
    const G: f64 = 9.81;

    pub fn new(suggested_dt_s: f64) -> Self {
        FallingBlock {
            y: Self::START_Y,
            v: 0.0,
            time_s: 0.0,
            suggested_dt_s,
            longest_good_dt_s: f64::INFINITY,
            tries: 0,
            gives_up_at_try: None,
            advances: 1.0,
            volume_m3: 1.0,
        }
    }
}

impl Solver for FallingBlock {
    fn method(&self) -> &'static str {
        BlockParams::NAME
    }
    fn time_s(&self) -> f64 {
        self.time_s
    }
    fn suggest_dt(&self) -> SuggestedDt {
        SuggestedDt { dt_s: self.suggested_dt_s, limiter: DtLimiter::Cfl, ..SuggestedDt::UNLIMITED }
    }
    fn step(&mut self, dt_s: f64) -> Result<StepReport, StepError> {
        self.tries += 1;
        if self.gives_up_at_try == Some(self.tries) {
            return Err(StepError::Stopped);
        }
        if dt_s > self.longest_good_dt_s {
            return Err(StepError::NotFinite { field: "velocity", stage: "toy" });
        }
        self.v -= Self::G * dt_s;
        self.y += self.v * dt_s;
        self.time_s += self.advances * dt_s;
        Ok(self.initial_report())
    }
    fn initial_report(&self) -> StepReport {
        StepReport {
            cells: 1,
            liquid_volume_m3: self.volume_m3,
            kinetic_energy_j: 500.0 * self.v * self.v,
            potential_energy_j: 1000.0 * Self::G * (self.y + 0.5),
            max_speed_m_s: self.v.abs(),
            clamps: vec![("theta_floor", 2)],
            ..StepReport::default()
        }
    }
    fn surface(&self, _: &SurfaceParams) -> TriangleMesh {
        let corner =
            |i: u32| Vec3::new((i & 1) as f32, self.y as f32 + (i >> 1 & 1) as f32, (i >> 2 & 1) as f32);
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        TriangleMesh {
            positions: (0..8).map(corner).collect(),
            velocities: vec![Vec3::new(0.0, self.v as f32, 0.0); 8],
            triangles: quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect(),
        }
    }
    fn snapshot(&self, _: Wanted) -> Snapshot<'_> {
        Snapshot::default()
    }
    fn height_at(&self, _: f32, _: f32) -> f64 {
        self.y + 1.0
    }
    fn pressure_at(&self, _: Vec3) -> f64 {
        0.0
    }
    fn volume_in(&self, _: &Shape) -> f64 {
        1.0
    }
    fn velocity_at(&self, _: Vec3) -> Vec3 {
        Vec3::new(0.0, self.v as f32, 0.0)
    }
    fn save(&self, out: &mut StateWriter) -> std::io::Result<()> {
        out.list("block", &[self.y, self.v, self.time_s])
    }
    fn restore(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let values: Vec<f64> = from.list("block")?;
        let [y, v, time_s] = values[..] else { return Err(RestoreError::Mismatch("no block".into())) };
        from.end()?;
        (self.y, self.v, self.time_s) = (y, v, time_s);
        Ok(())
    }
}

/// A method that exists in this file alone is known to scenes, schema, checks, prediction, the frame loop,
/// validation and benchmarks as soon as it is registered: nothing else has to hear of it.
#[test]
fn a_registered_method_is_known_everywhere() {
    use crate::progress::Silent;
    use crate::{FramePlan, run};
    use fluvial_scene::{Scene, predict, reference_markdown, schema};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    let text = "fluvial = 1\n[domain]\nmax = [1, 11, 1]\nresolution = 11\n[method]\nname = \"falling-block\"\n\
                longest_step = 0.02\n[[fill]]\nshape = { box = { min = [0, 10, 0], max = [1, 11, 1] } }\n";
    let parse = |text: &str| Scene::parse("block.toml", text, Path::new("."), &[]);
    let before = parse(text).unwrap_err().to_string();
    assert!(before.contains("there is no method `falling-block`"), "{before}");
    assert!(fluvial_solver_registry::register(fluvial_solver_interface::Entry::of::<BlockParams>()));

    let ready = parse(text).unwrap().build().unwrap();
    assert_eq!(ready.method.params()["longest_step"], 0.02);
    let unknown = parse(&text.replace("longest_step", "longest_stop")).unwrap_err().to_string();
    assert!(unknown.contains("longest_stop"), "{unknown}");
    let wrong = parse(&text.replace("0.02", "-1.0")).unwrap().build().unwrap_err().to_string();
    assert!(wrong.contains("`longest_step` is out of range"), "{wrong}");
    assert!(schema().to_string().contains("Longest step, s."));
    assert!(reference_markdown().contains("### `name = \"falling-block\"`"));
    assert_eq!(predict(&ready).cells, 1);

    let mut solver = ready.method.build(ready.setup.clone()).unwrap();
    let plan = FramePlan { frames: 2, fps: 25.0 };
    struct Count(usize);
    impl crate::Recorder for Count {
        fn step(&mut self, _: &crate::StepRecord, _: &dyn Solver) -> Result<(), fluvial_output::OutputError> {
            self.0 += 1;
            Ok(())
        }
        fn frame(&mut self, _: u32, _: &dyn Solver) -> Result<(), fluvial_output::OutputError> {
            Ok(())
        }
        fn failed(&mut self, _: &dyn Solver) -> Option<std::path::PathBuf> {
            None
        }
    }
    let mut count = Count(0);
    run(solver.as_mut(), plan, &mut count, &mut Silent, &AtomicBool::new(false)).unwrap();
    assert_eq!(count.0, 5, "the start and two steps of 0.02 s in each of two frames");

    assert_eq!(fluvial_solver_registry::find_variants("falling-block").len(), 1);
    let reason = fluvial_solver_registry::expected_failure("hydrostatic", "falling-block", "flat: max speed");
    assert_eq!(reason, Some("it falls"));
    assert_eq!(crate::bench::find_benches("dam-break-64-falling-block").len(), 1);
}
