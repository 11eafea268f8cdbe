//! The projection with a rigid body in it, without the rest of a step.

use fluvial_foundation::{AXES, DMat3, DVec3, Quat, Vec3};
use fluvial_grids::{FaceField, UniformGrid, ghost_theta};
use fluvial_linear::LowRank;
use fluvial_mac::{
    AroundBodies, BodyTerms, FaceCells, Impulse, Openings, Unknowns, couple_bodies, mark_unknowns,
    right_side, subtract_gradient,
};
use fluvial_pressure::{MultigridCg, Params, PoissonProblem};
use fluvial_solids::{CoupledBody, Films, Motion, Placed, Shape, SolidFields, rasterize};

const DENSITY: f64 = 1000.0;
const GRAVITY: DVec3 = DVec3::new(0.0, -10.0, 0.0);

/// A body in water at rest, everything let go at once.
struct Case {
    grid: UniformGrid,
    phi_cell: Vec<f32>,
    solids: SolidFields,
    body: CoupledBody,
}

/// Velocity of the body and of the water after a step, and what the pressure gave the body.
struct After {
    velocity: DVec3,
    spin: DVec3,
    impulse: [DVec3; 2],
    u_face: FaceField,
    q_cell: Vec<f32>,
    unknown_cell: Vec<bool>,
}

impl Case {
    /// A body with the mass and inertia of a ball of its density, and perhaps a solid around the water.
    fn new(
        grid: UniformGrid,
        shape: &Shape,
        around: Option<&Shape>,
        relative_density: f64,
        level: f32,
    ) -> Case {
        let barely = Motion::Constant { linear: 1e-9 * Vec3::Y, angular: Vec3::ZERO, about: Vec3::ZERO };
        let fixed = around.map(|around| (around, &Motion::Static));
        let all: Vec<(&Shape, &Motion)> = [(shape, &barely)].into_iter().chain(fixed).collect();
        let mut solids = SolidFields::default();
        rasterize(&mut solids, &all, [false; 6], &grid, 0.0);
        let cells = grid.cell_centers();
        let position = |n: usize| {
            let [i, j, k] = cells.coordinates(n);
            cells.position(i, j, k)
        };
        let phi_cell = (0..cells.len()).map(|n| position(n).y - level).collect();
        let bounds = Placed::new(shape, &Motion::Static, 0.0).bounds();
        let radius = 0.5 * f64::from(bounds.size().x);
        let volume = fluvial_bodies::mass_properties(shape).unwrap();
        let mass_kg = relative_density * DENSITY * volume.volume_m3;
        let body = CoupledBody {
            center: volume.center.as_vec3(),
            bounds,
            volume_m3: volume.volume_m3,
            inverse_mass: DVec3::splat(1.0 / mass_kg),
            inverse_inertia: DMat3::from_diagonal(DVec3::splat(1.0 / (0.4 * mass_kg * radius * radius))),
        };
        Case { grid, phi_cell, solids, body }
    }

    fn openings<'a>(&'a self, still: &'a FaceField) -> Openings<'a> {
        Openings {
            grid: &self.grid,
            area_face: &self.solids.open_area,
            u_boundary: still,
            inflow_cell: &[],
            at_source_cell: &[],
        }
    }

    /// A step of `dt_s` from rest under gravity.
    fn release(&self, dt_s: f64) -> After {
        let (still, mut unknowns) = (FaceField::constant(&self.grid, 0.0), Unknowns::none(&self.grid));
        mark_unknowns(&mut unknowns, &self.phi_cell, &self.openings(&still));
        let (_, [clinging, turning]) = self.term(&unknowns.unknown_cell, (dt_s * GRAVITY).as_vec3());
        let mut after = self.step(dt_s * GRAVITY + self.body.inverse_mass * clinging, dt_s * GRAVITY);
        after.spin += self.body.inverse_inertia * turning;
        after
    }

    /// The body's term, and the weight of the water at its surface.
    fn term(&self, unknown_cell: &[bool], gravity_m_s: Vec3) -> (LowRank, [DVec3; 2]) {
        let (mut term, mut film, mut clinging) = (LowRank::default(), LowRank::default(), vec![]);
        let still = FaceField::constant(&self.grid, 0.0);
        let around = AroundBodies {
            openings: &self.openings(&still),
            solids: &self.solids,
            among_moving: &[Some(0)],
            unknown_cell,
            gravity_m_s,
            density: DENSITY,
        };
        let (term_out, films) = (&mut term, &mut Films::default());
        let terms = BodyTerms { term: term_out, film: &mut film, clinging: &mut clinging, films };
        couple_bodies(terms, &[self.body], &around);
        (term, clinging[0])
    }

    /// The body and the water are given velocities, and the pressure acts.
    fn step(&self, of_body: DVec3, of_water: DVec3) -> After {
        let (grid, still) = (&self.grid, FaceField::constant(&self.grid, 0.0));
        let openings = self.openings(&still);
        let mut unknowns = Unknowns::none(grid);
        mark_unknowns(&mut unknowns, &self.phi_cell, &openings);
        let (term, _) = self.term(&unknowns.unknown_cell, Vec3::ZERO);
        let mut u_face = FaceField::constant(grid, 0.0);
        for axis in AXES {
            u_face[axis].fill(of_water[axis] as f32);
        }
        let mut fallen = vec![0.0; self.phi_cell.len()];
        term.blocks[0].scatter(&mut fallen, &[of_body.x, of_body.y, of_body.z, 0.0, 0.0, 0.0]);
        let mut rhs = vec![0.0; self.phi_cell.len()];
        right_side(&mut rhs, &unknowns.unknown_cell, &openings, &u_face, |cell| -fallen[cell]);
        let mut solver = MultigridCg::new(grid.cells);
        let open_area = AXES.map(|axis| self.solids.open_area[axis].as_slice());
        solver.prepare(&PoissonProblem { cells: grid.cells, phi_cell: &self.phi_cell, open_area });
        let mut q_cell = vec![0.0; rhs.len()];
        let params = Params { relative_tolerance: 1e-7, max_iterations: 200, ..Params::DEFAULT };
        solver.solve_coupled(&mut q_cell, &rhs, &term, &params).unwrap();
        let impulse =
            Impulse { q_cell: &q_cell, phi_cell: &self.phi_cell, unknown_cell: &unknowns.unknown_cell };
        subtract_gradient(&mut u_face, &openings, &impulse, |_, u| *u = 0.0);
        let cell_kg = DENSITY * f64::from(grid.dx).powi(3);
        let given = term.blocks[0].gather(&q_cell).map(|v| cell_kg * v);
        let impulse = [DVec3::from_slice(&given[..3]), DVec3::from_slice(&given[3..])];
        After {
            velocity: of_body + self.body.inverse_mass * impulse[0],
            spin: self.body.inverse_inertia * impulse[1],
            impulse,
            u_face,
            q_cell,
            unknown_cell: unknowns.unknown_cell,
        }
    }
}

/// A ball of radius a that is let go inside a closed round tank of radius b has the added mass of `c = (b^3 + 2 a^3) / (2
/// (b^3 - a^3))` of its volume [lamb-1932 §93], one half without end, so that it sets out with `g (rho_s - rho) / (rho_s + c rho)`.
#[test]
fn a_ball_sets_out_with_its_added_mass() {
    let (n, dx) = (48, 1.0 / 16.0);
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx };
    let center = Vec3::splat(0.5 * n as f32 * dx + 0.013);
    let (a, b) = (0.5, 1.4);
    let ball = Shape::Sphere { center, radius: a };
    let all = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::splat(4.0) };
    let tank = Shape::Difference(Box::new(all), Box::new(Shape::Sphere { center, radius: b }));
    let cubes = [a, b].map(|r| f64::from(r).powi(3));
    let added = 0.5 * (cubes[1] + 2.0 * cubes[0]) / (cubes[1] - cubes[0]);
    for density in [0.01, 0.5, 2.0, 8.0] {
        let after = Case::new(grid, &ball, Some(&tank), density, 100.0).release(1.0);
        let wanted = GRAVITY.y * (density - 1.0) / (density + added);
        let off = after.velocity.y / wanted - 1.0;
        assert!(off.abs() < 0.05, "density {density}: {} instead of {wanted}", after.velocity.y);
        assert!(after.velocity.with_y(0.0).length() < 0.01 * wanted.abs(), "{}", after.velocity);
    }
}

/// A body of the water's density is carried by the water wherever it lies on the grid.
#[test]
fn a_neutral_body_stays() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [16, 20, 16], dx: 0.1 };
    for shift in [0.0f32, 0.02, 0.05, 0.08] {
        let min = Vec3::new(0.6, 0.6 + shift, 0.6);
        let block = Shape::Box { min, max: min + 0.4 };
        let after = Case::new(grid, &block, None, 1.0, 1.43).release(0.01);
        let part = after.velocity.y / (0.01 * GRAVITY.y);
        assert!(part.abs() < 1e-4, "shifted by {shift} it moves at {part} of a fall");
        assert!(after.velocity.with_y(0.0).length() < 1e-5, "{}", after.velocity);
    }
}

/// A neutral body that lies on the floor, on a slab whose top lies anywhere in a cell, or in a corner of the domain does not move, and a
/// pressure that is the same everywhere pushes no body: a film of water is below it.
#[test]
fn a_body_on_the_floor_is_lifted_by_what_it_displaces() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [16, 20, 16], dx: 0.1 };
    let box_at = |min: Vec3| Shape::Box { min, max: min + 0.4 };
    let slab = |top: f32| Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(3.0, top, 3.0) };
    let cases = [
        (box_at(Vec3::new(0.6, 0.0, 0.6)), None),
        (box_at(Vec3::new(0.63, 0.0, 0.57)), None),
        (box_at(Vec3::new(1.2, 0.0, 1.2)), None),
        (box_at(Vec3::new(0.6, 0.3, 0.6)), Some(slab(0.3))),
        (box_at(Vec3::new(0.63, 0.37, 0.57)), Some(slab(0.37))),
    ];
    for (block, floor) in cases {
        let case = Case::new(grid, &block, floor.as_ref(), 1.0, 1.43);
        let after = case.release(0.01);
        let part = after.velocity.length() / (0.01 * GRAVITY.length());
        assert!(part < 0.02, "{block:?} on {floor:?} moves at {part} of a fall");
        let even = vec![1.0f32; grid.cell_count()];
        let unknown_cell = vec![true; grid.cell_count()];
        let given = case.term(&unknown_cell, Vec3::ZERO).0.blocks[0].gather(&even);
        assert!(given.iter().all(|v| v.abs() < 1e-3), "{block:?} on {floor:?} is pushed by {given:?}");
    }
}

fn slanted_block(translate: Vec3) -> Shape {
    Shape::Transform {
        shape: Box::new(Shape::Box { min: Vec3::splat(-0.3), max: Vec3::new(0.3, 0.2, 0.25) }),
        scale: 1.0,
        rotation: Quat::from_axis_angle(Vec3::new(1.0, 2.0, 0.5).normalize(), 0.6),
        translate,
    }
}

/// A push moves water and body together: what the pressure gives the body, the water and the walls is zero in all. The
/// water's momentum is that of the open parts of its faces, and at the surface of their wet part.
#[test]
fn momentum_of_body_and_water_stays() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [20, 24, 20], dx: 0.1 };
    let (cells, cell_kg) = (grid.cell_centers(), DENSITY * f64::from(grid.dx).powi(3));
    let block = slanted_block(Vec3::new(0.83, 1.1, 0.94));
    for (density, level) in [(0.05, 2.03), (3.0, 2.03), (0.05, 100.0), (0.05, 1.2)] {
        let case = Case::new(grid, &block, None, density, level);
        let push = DVec3::new(1.0, -0.5, 0.3);
        let after = case.step(push, DVec3::ZERO);
        let is_wet = |cell: usize| after.unknown_cell[cell];
        let mut sum = after.impulse[0];
        for axis in AXES {
            let faces = grid.faces(axis);
            for face in 0..faces.len() {
                let FaceCells { low, high } = FaceCells::beside(&grid, axis, face);
                let at_wall = |cell: usize| f64::from(after.q_cell[cell]);
                let area = f64::from(case.solids.open_area[axis][face]);
                sum[axis] += cell_kg
                    * match (low, high) {
                        (Some(low), Some(high)) => {
                            let wet = match [is_wet(low), is_wet(high)] {
                                [true, false] => ghost_theta(case.phi_cell[low], case.phi_cell[high]).0,
                                [false, true] => ghost_theta(case.phi_cell[high], case.phi_cell[low]).0,
                                _ => 1.0,
                            };
                            area * f64::from(wet) * f64::from(after.u_face[axis][face])
                        }
                        (Some(low), None) => at_wall(low),
                        (None, Some(high)) => -at_wall(high),
                        (None, None) => 0.0,
                    };
            }
        }
        let off = sum.length() / after.impulse[0].length();
        assert!(off < 1e-5, "density {density}, level {level}: {off:e} of {}", after.impulse[0]);
        assert_eq!(after.q_cell.len(), cells.len());
    }
}

/// What is mirrored moves mirrored: a slanted block near a wall.
#[test]
fn mirrored_bodies_move_mirrored() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [20, 24, 20], dx: 0.1 };
    let place = Vec3::new(0.63, 1.1, 0.94);
    let here = Case::new(grid, &slanted_block(place), None, 0.3, 2.03).release(0.01);
    // Mirrored in x: the axis of the turn keeps its x and changes the others.
    let mirrored = Shape::Transform {
        shape: Box::new(Shape::Box { min: Vec3::new(-0.3, -0.3, -0.3), max: Vec3::new(0.3, 0.2, 0.25) }),
        scale: 1.0,
        rotation: Quat::from_axis_angle(Vec3::new(1.0, -2.0, -0.5).normalize(), 0.6),
        translate: Vec3::new(2.0 - place.x, place.y, place.z),
    };
    let there = Case::new(grid, &mirrored, None, 0.3, 2.03).release(0.01);
    let (v, w) = (there.velocity, there.spin);
    let back = [DVec3::new(-v.x, v.y, v.z), DVec3::new(w.x, -w.y, -w.z)];
    assert!(back[0].distance(here.velocity) < 1e-4 * v.length(), "{} {}", here.velocity, back[0]);
    assert!(back[1].distance(here.spin) < 1e-3 * w.length(), "{} {}", here.spin, back[1]);
}
