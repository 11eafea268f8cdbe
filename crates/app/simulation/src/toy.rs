//! A solver with an exact answer, for tests of the loop: a rigid unit cube of liquid in free fall.

use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_solids::Shape;
use fluvial_solver_interface::{
    DtLimiter, RestoreError, Snapshot, Solver, StateReader, StateWriter, StepError, StepReport, SuggestedDt,
    SurfaceParams, Wanted,
};

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
        }
    }
}

impl Solver for FallingBlock {
    fn method(&self) -> &'static str {
        "falling-block"
    }
    fn time_s(&self) -> f64 {
        self.time_s
    }
    fn suggest_dt(&self) -> SuggestedDt {
        SuggestedDt { dt_s: self.suggested_dt_s, limiter: DtLimiter::Cfl }
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
        self.time_s += dt_s;
        Ok(self.initial_report())
    }
    fn initial_report(&self) -> StepReport {
        StepReport {
            cells: 1,
            liquid_volume_m3: 1.0,
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
        (self.y, self.v, self.time_s) = (y, v, time_s);
        Ok(())
    }
}
