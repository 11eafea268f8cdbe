//! A slotted disk turned once: what the surface tracker does to edges and slots.

use super::set_up::SLAB_CELLS;
use super::transport::Body;
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Tracker, TransportTest};
use std::f32::consts::PI;

pub const CASE: Case = Case {
    name: "zalesak",
    what: "slotted disk R 0.15 at (0.5, 0.75), slot 0.05 x 0.25, u = 2 pi (0.5 - y, x - 0.5), one turn",
    source: "Zalesak 1979; particle level set (Enright et al. 2002): about 0.3 % of the area at 100 x 100",
    // FLIP and APIC carry their particles alike where the flow is given.
    applies: |method| matches!(method.transport, TransportTest::UniformKernels(tracker) if tracker != Tracker::Apic),
    run,
};

const CFL: f32 = 2.0;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let TransportTest::UniformKernels(tracker) = context.method.transport else {
        unreachable!("the case does not apply")
    };
    let resolutions: &[usize] = if context.fine { &[50, 100, 200] } else { &[100] };
    let mut outcome = Outcome::default();
    for &n in resolutions {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [n, n, SLAB_CELLS], dx: 1.0 / n as f32 };
        let disk =
            Shape::Cylinder { from: Vec3::new(0.5, 0.75, -1.0), to: Vec3::new(0.5, 0.75, 2.0), radius: 0.15 };
        let slot = Shape::Box { min: Vec3::new(0.475, 0.3, -2.0), max: Vec3::new(0.525, 0.85, 3.0) };
        let shape = Shape::Difference(Box::new(disk), Box::new(slot));
        let start = Body::new(grid, &shape, tracker);
        let mut body = Body::new(grid, &shape, tracker);
        body.set_velocity(|x| 2.0 * PI * Vec3::new(0.5 - x.y, x.x - 0.5, 0.0));
        // Fastest at the domain's corners; the disk itself reaches 0.4 from the centre.
        let fastest = 2.0 * PI * 0.4;
        let steps = (fastest / (CFL * grid.dx)).ceil() as usize;
        for _ in 0..steps {
            if context.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(CaseError::Interrupted);
            }
            body.step(1.0 / steps as f32, 1.0);
        }
        let resolution = format!("{n} x {n}, {steps} steps");
        let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
        let volume_0 = start.volume();
        let slot_middle = Vec3::new(0.5, 0.68, 0.5 * SLAB_CELLS as f32 * grid.dx);
        let slot_open = grid.cell_centers().sample(&body.phi_cell, slot_middle) / grid.dx;
        outcome.rows.push(row("volume change", body.volume() / volume_0 - 1.0));
        outcome.rows.push(row("L1 shape error / volume", body.difference(&start) / volume_0));
        outcome
            .rows
            .push(row("slot open: phi in its middle / dx", f64::from(slot_open)).bar(Bar::AtLeast(0.25)));
    }
    Ok(outcome)
}
