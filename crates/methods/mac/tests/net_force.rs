use super::Liquid;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{Sides, UniformGrid};
use fluvial_mac::{NetForce, SurfaceCells, SurfacePush, for_each_face, push_at_surface};

/// A pressure that grows along x over the surface of a ball pushes it; projected, the momentum that it gives along x, with the
/// masses of the projection, is taken off a free ball to rounding, and is left to one that touches something.
#[test]
fn a_free_ball_is_not_moved_and_one_that_touches_something_is() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [14; 3], dx: 1.0 / 14.0 };
    let cells = grid.cell_centers();
    let mut liquid = Liquid::new(grid, |x| x.distance(Vec3::splat(0.48)) - 0.3);
    let closed = vec![false; liquid.phi.len()];
    let s = |cell: usize| cells.position(cells.coordinates(cell)[0], 0, 0).x;
    let momentum = |liquid: &Liquid, subtracts: bool| {
        let push = SurfacePush {
            phi_cell: &liquid.phi,
            unit: grid.dx,
            closed_cell: &closed,
            unknown_cell: &liquid.unknowns.unknown_cell,
            strength: 0.5,
        };
        let value = |inside: usize, outside: usize| 0.5 * (s(inside) + s(outside));
        let mut u = liquid.velocity(|_, _| 0.0);
        for axis in AXES {
            for_each_face(&mut u[axis], &grid, axis, |_, cells, u| {
                if let (Some(low), Some(high)) = (cells.low, cells.high) {
                    push_at_surface(u, [low, high], &push, value);
                }
            });
        }
        if subtracts {
            let mut surface = SurfaceCells::default();
            surface.find(&liquid.phi, grid.dx, &grid, Sides::NONE);
            let mut net_force = NetForce::default();
            net_force.label_cell.extend(liquid.phi.iter().map(|phi| if *phi < 0.0 { 0 } else { u32::MAX }));
            net_force.find(1, &surface, &push, &liquid.openings(), value);
            net_force.subtract(&mut u, &liquid.openings());
        }
        liquid.project(&mut u);
        let (mut sum, mut masses) = (0.0, 0.0);
        for (face, u) in u[0].iter().enumerate() {
            let at = grid.faces(0).coordinates(face);
            if at[0] == 0 || at[0] == grid.cells[0] {
                continue;
            }
            let high = cells.index(at[0], at[1], at[2]);
            let phi = [liquid.phi[high - 1], liquid.phi[high]];
            let (least, most) = (phi[0].min(phi[1]), phi[0].max(phi[1]));
            let mass = if most < 0.0 { 1.0 } else { (least / (least - most)).max(0.0) };
            sum += f64::from(mass * u);
            masses += f64::from(mass);
        }
        sum / masses
    };
    let (free, pushed) = (momentum(&liquid, true), momentum(&liquid, false));
    assert!(free.abs() < 1e-5 && pushed.abs() > 0.01, "{free} m/s, {pushed} m/s without");
    let inside = cells.index(7, 7, 7);
    liquid.area[0][grid.faces(0).index(7, 7, 7)] = 0.0;
    assert!(liquid.phi[inside] < 0.0);
    let (held, pushed) = (momentum(&liquid, true), momentum(&liquid, false));
    assert_eq!(held, pushed);
}
