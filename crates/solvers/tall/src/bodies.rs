//! Bodies that the water moves [tall §3.9.1]: their surfaces, and their part in a step. The kernels are `fluvial_tall::bodies`.

use crate::TallSolver;
use crate::frame::Frame;
use crate::state::{State, Work};
use fluvial_foundation::{DMat3, DVec3, Vec3};
use fluvial_grids::Lattice;
use fluvial_solids::{Shape, Twist};
use fluvial_solver_interface::{Action, Bodies, BodyReport, Centring, Clamps, Impulse, Setup, StepTimes};
use fluvial_surface::{MeshParams, mesh_samples};
use fluvial_tall::bodies::{
    Around, Coupled, Element, LARGER, Pair, Pressed, added_masses, body_velocities, press, push,
};

/// The surface of a body, in its own frame.
pub(crate) struct BodySurface {
    /// Middles and area vectors of its elements, m and m2.
    elements: Vec<[Vec3; 2]>,
    /// Mass and inertia of the water that it moves with it, along and about the axes of its frame, and the larger ones of its image on the
    /// grid.
    carried: [DVec3; 2],
    added: [DVec3; 2],
    /// Part of it that the grid does not resolve.
    coarse: f64,
}

/// Elements are at most a cell long, there are at least so many along the body's shortest edge, and at most so many along its
/// longest.
const LEAST_ELEMENTS: f32 = 4.0;
const MOST_ELEMENTS: f32 = 48.0;

impl BodySurface {
    /// The contour of a shape's distance, drawn to its volume.
    fn new(shape: &Shape, volume_m3: f64, dx: f32, density: f64) -> BodySurface {
        let bounds = shape.bounds();
        let size = bounds.size();
        let spacing = dx.min(size.min_element() / LEAST_ELEMENTS).max(size.max_element() / MOST_ELEMENTS);
        let along = |a: usize| (size[a] / spacing).ceil() as usize + 4;
        let count = [along(0), along(1), along(2)];
        let reach = Vec3::from_array(count.map(|n| (n - 1) as f32 * spacing));
        let lattice = Lattice { size: count, origin: bounds.center() - 0.5 * reach, spacing };
        let value = |[i, j, k]: [usize; 3]| shape.distance(lattice.position(i, j, k));
        let row = |j: usize, k: usize, out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = value([i, j, k]));
        };
        let mesh = mesh_samples(&lattice, &MeshParams { smoothing_rounds: 0 }, row, value);
        let (scale, middle) = ((volume_m3 / mesh.volume()).cbrt() as f32, bounds.center());
        let element = |triangle: &[u32; 3]| {
            let [a, b, c] = triangle.map(|v| middle + scale * (mesh.positions[v as usize] - middle));
            [(a + b + c) / 3.0, 0.5 * (b - a).cross(c - a)]
        };
        let elements = mesh.triangles.iter().map(element).collect();
        // On the grid a body is about half a cell larger on every side.
        let (size, seen) = (size.as_dvec3(), size.as_dvec3() + f64::from(dx));
        let seen_m3 = volume_m3 * (seen / size).element_product();
        let coarse = (2.0 - size.min_element() / f64::from(dx)).clamp(0.0, 1.0);
        let carried = added_masses(size, volume_m3, density);
        let added = added_masses(seen, seen_m3, density).map(|added| LARGER * added);
        BodySurface { elements, carried, added, coarse }
    }
}

/// The surfaces of a set-up's bodies.
pub(crate) fn surfaces(setup: &Setup, frame: &Frame) -> Vec<BodySurface> {
    let density = f64::from(setup.liquid.density);
    let surface = |n: usize| {
        let shape = &setup.solids[n].shape;
        let known = fluvial_bodies::mass_properties(shape);
        BodySurface::new(shape, known.map_or(0.0, |known| known.volume_m3), frame.dx, density)
    };
    setup.body_numbers().into_iter().map(surface).collect()
}

fn parts(twist: Twist) -> Pair {
    [twist.linear.as_dvec3(), twist.angular.as_dvec3()]
}

impl TallSolver {
    /// Elements of all bodies.
    #[cfg(feature = "gpu")]
    pub(crate) fn element_count(&self) -> usize {
        self.surfaces.iter().map(|surface| surface.elements.len()).sum()
    }

    /// Weight of a cell of water by area, Pa.
    pub(crate) fn cell_weight_pa(&self) -> f32 {
        -self.setup.liquid.density * self.setup.liquid.gravity.y * self.frame.dx
    }

    /// Moves the bodies, and tells the set-up's solids where they are at both ends of the step.
    pub(crate) fn move_bodies(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let State { bodies, steps, lead_s, .. } = &self.state;
        self.work.centring = match bodies {
            Some(_) => Centring::with_bodies(dt_s),
            None => Centring::of_step(dt_s, (*steps > 0).then_some(*lead_s), clamps),
        };
        let times = StepTimes { from_s: self.state.time_s, dt_s, last_dt_s: self.state.last_dt_s };
        self.work.bodies.advance(self.state.bodies.as_ref(), &mut self.setup, times);
    }

    /// Puts the set-up's solids where the state's bodies are.
    pub(crate) fn place_bodies_of_state(&mut self) {
        self.setup.place_bodies(self.state.bodies.as_ref(), self.state.time_s);
    }

    /// The bodies as the pressure's solution begins with them.
    pub(crate) fn couple_bodies(&mut self, dt_s: f64) {
        let (setup, frame, end_s) = (&self.setup, &self.frame, self.state.time_s + dt_s);
        let Work { bodies, coupled, elements, pressed, .. } = &mut self.work;
        coupled.clear();
        elements.clear();
        if bodies.is_empty() {
            return;
        }
        bodies.look(setup);
        bodies.clinging.clear();
        bodies.clinging.resize(bodies.coupled.len(), [DVec3::ZERO; 2]);
        bodies.release(setup.liquid.gravity, dt_s);
        let twists = bodies.twists_before();
        for (n, number) in setup.body_numbers().into_iter().enumerate() {
            let (pose, body) = (setup.solids[number].motion.pose(end_s), &bodies.coupled[n]);
            let first = elements.len();
            elements.extend(self.surfaces[n].elements.iter().map(|[at, area]| Element {
                at: frame.in_cells(pose.world_from_body(*at)),
                area: (pose.rotation * *area).to_array(),
            }));
            let turn = DMat3::from_quat(pose.rotation.as_dquat().normalize());
            let in_world = |of_axis: DVec3| turn * DMat3::from_diagonal(of_axis) * turn.transpose();
            let [added_mass, added_inertia] = self.surfaces[n].added.map(in_world);
            let [start, before] = twists[n].map(parts);
            let center = ((body.center - frame.origin) / frame.dx).as_dvec3() - 0.5;
            coupled.push(Coupled {
                elements: first..elements.len(),
                center,
                inverse_mass: body.inverse_mass,
                inverse_inertia: body.inverse_inertia,
                added_mass,
                added_inertia,
                carried: self.surfaces[n].carried.map(in_world),
                coarse: self.surfaces[n].coarse,
                start,
                before,
                // The first cycle meets it as fast as it is: forces of the last step, taken for this one's, grow where steps differ.
                now: start,
                owed: self.state.owed[n],
                given: Pair::default(),
                lent: Pair::default(),
                shed: DVec3::ZERO,
                deep_m2: 0.0,
            });
        }
        pressed.resize(elements.len(), Pressed::default());
    }

    /// The solids' velocities where they are bodies.
    pub(crate) fn show_bodies(&mut self) {
        let Work { fields, solids, coupled, .. } = &mut self.work;
        if !coupled.is_empty() {
            body_velocities(&mut solids.u_solid, &fields.grid, coupled);
        }
    }

    /// The bodies take up the pressure as it is.
    pub(crate) fn push_bodies(&mut self, dt_s: f64) {
        let weight_pa = self.cell_weight_pa();
        let Work { fields, solids, u_carried, coupled, elements, pressed, multigrid, .. } = &mut self.work;
        if !coupled.is_empty() {
            let water = Around {
                grid: &fields.grid,
                phi: &fields.phi,
                fraction: &solids.fraction,
                p: &multigrid.levels[0].p,
                u: u_carried,
                fallen_m_s: dt_s as f32 * self.setup.liquid.gravity.y,
                weight_pa,
                density_kg_m3: self.setup.liquid.density,
                dt_s: dt_s as f32,
            };
            for body in coupled {
                press(pressed, elements, body, &water);
                push(body, elements, pressed, &water);
            }
        }
    }

    /// The pressure is found: what it gives the bodies is theirs.
    pub(crate) fn release_bodies(&mut self, dt_s: f64) {
        let Work { bodies, coupled, .. } = &mut self.work;
        let given = |body: &Coupled| Impulse { linear: body.given[0], angular: body.given[1] };
        let impulses: Vec<Impulse> = coupled.iter().map(given).collect();
        bodies.give(&impulses, self.setup.liquid.gravity, dt_s);
        bodies.tell(&mut self.setup);
    }

    /// Does what somebody who watches asks for.
    pub(crate) fn do_action(&mut self, action: &Action) -> bool {
        match action {
            Action::Push { body, impulse } => {
                self.state.bodies.as_mut().is_some_and(|bodies| bodies.push(*body, *impulse))
            }
            Action::Pour(source) => {
                self.setup.sources.push(source.clone());
                true
            }
        }
    }

    /// Where the bodies are, how they move and what the water does to them.
    pub(crate) fn body_reports(&self) -> Vec<BodyReport> {
        Bodies::reports_of(self.state.bodies.as_ref(), self.state.last_dt_s)
    }
}
