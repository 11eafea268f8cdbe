//! Projection on power faces [power §4], and velocity beyond the liquid [power §5].

use crate::advect::is_wet;
use crate::mass::Settled;
use crate::sources::Pushed;
use crate::state::{Model, State, Step, Tree};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::pyramid::Pyramid;
use fluvial_linear::Info;
use fluvial_linear::krylov::{CgScratch, conjugate_gradients};
use fluvial_power::channels::{CENTER_VELOCITY, PHI, PRESSURE, SCRATCH, SEEN_PHI};
use fluvial_power::diagram::Diagram;
use fluvial_power::pairs::{Boundary, SolidDistance};
use fluvial_power::rows::{Order, Rows};
use fluvial_power::stream::{Composite, Cycle, Streams};
use fluvial_power::view::{Place, View};
use fluvial_power::{air, centers, faces, nodes, velocity};
use fluvial_solids::{Nozzle, PlacedSolids};
use fluvial_solver_interface::{Clamps, PressureReport, StepError};

/// Layers of leaves beyond the liquid that receive a velocity.
const LAYERS: usize = 6;

/// Solids and sources at one moment.
pub(crate) struct Closed<'a> {
    pub solids: PlacedSolids<'a>,
    pub nozzles: Vec<Nozzle>,
    reach: f32,
    /// Edge of the leaves at sources, m.
    leaf_m: f32,
}

impl Closed<'_> {
    pub fn is_empty(&self) -> bool {
        self.solids.is_empty() && self.nozzles.is_empty()
    }

    fn distance(&self, x: Vec3) -> f32 {
        let sources = self.nozzles.iter().map(|nozzle| nozzle.cover_distance(x, self.leaf_m));
        sources.fold(self.solids.distance(x, self.reach), f32::min)
    }

    /// Velocity of a source's liquid at a point in it.
    fn source_velocity(&self, x: Vec3) -> Option<Vec3> {
        let nozzle = self.nozzles.iter().find(|nozzle| nozzle.distance(x) < 0.0)?;
        Some(nozzle.velocity(x))
    }

    /// Velocity of what closes faces at a point: the source's in a source, none behind it, else the solid's.
    fn velocity(&self, x: Vec3) -> Vec3 {
        let is_behind = || self.nozzles.iter().any(|nozzle| nozzle.cover_distance(x, self.leaf_m) < 0.0);
        self.source_velocity(x).unwrap_or_else(|| match is_behind() {
            true => Vec3::ZERO,
            false => self.solids.velocity(x, self.reach),
        })
    }
}

impl Model {
    /// What closes faces at a moment.
    pub fn closed_at(&self, time_s: f64, nozzles: Vec<Nozzle>) -> Closed<'_> {
        let reach = 4.0 * self.shape.dx_of(self.shape.levels - 1);
        Closed { solids: self.setup.solids_at(time_s), nozzles, reach, leaf_m: self.shape.dx }
    }
}

impl Step<'_> {
    pub fn closed(&self) -> Closed<'_> {
        let nozzles = self.filled_nozzles().into_iter().map(|(nozzle, _)| nozzle).collect();
        self.model.closed_at(self.old.time_s + self.dt_s, nozzles)
    }

    /// Solves for the pressure and subtracts its gradient: `L p = -(D u - q)`, `u -= dt grad p / rho`. Returns the
    /// largest divergence that is left, 1/s.
    pub fn project(
        &self,
        tree: &mut Tree,
        (pushed, settled): (&Pushed, &Settled),
        clamps: &mut Clamps,
    ) -> Result<(PressureReport, f64), StepError> {
        let closed = self.closed();
        let distance = |x: [f64; 3]| f64::from(closed.distance(Vec3::from_array(x.map(|v| v as f32))));
        let phi = match &settled.seen_phi {
            None => PHI,
            Some(seen) => {
                tree.pyramid.scatter(SEEN_PHI, seen);
                tree.pyramid.propagate(SEEN_PHI);
                SEEN_PHI
            }
        };
        let boundary =
            Boundary { phi: Some(phi), solid: if closed.is_empty() { None } else { Some(&distance) } };
        if !closed.is_empty() {
            let Tree { pyramid, diagram } = tree;
            faces::update(pyramid, diagram, boundary, |_: &mut (), pairs, face, u| {
                if pairs.pair(face.from, face.k).is_some_and(|pair| pair.open_area <= 0.0) {
                    *u = closed.velocity(face.centroid).dot(face.normal);
                } else if let Some(v) = closed.source_velocity(face.centroid) {
                    // Open faces at the edges of sources are reached by the sources' liquid.
                    *u = v.dot(face.normal);
                }
            });
        }
        let wanted = self.wanted_m3_s(tree, &settled.held);
        let Tree { pyramid, diagram } = tree;
        let rows = Rows::new(pyramid, diagram, boundary, Order::Second);
        clamps.add("ghost_theta_floor", rows.floored);
        let streams = Streams::new(pyramid, &rows);
        velocity::divergence(pyramid, &rows, SCRATCH);
        let mut divergence = vec![0.0f32; pyramid.active_count()];
        pyramid.gather(&mut divergence, SCRATCH);
        let pushed = pushed.by_solids.iter().chain(&pushed.by_sources);
        let view = View { pyramid, diagram };
        let mut pushed: Vec<(usize, f64)> = pushed.map(|(leaf, flow)| (view.number(*leaf), *flow)).collect();
        pushed.extend(wanted);
        let mut right: Vec<f64> = divergence.iter().map(|d| -f64::from(*d)).collect();
        let is_unknown = streams.are_unknown(divergence.len());
        let push = |values: &mut [f64], sign: f64| {
            pushed.iter().filter(|(n, _)| is_unknown[*n]).for_each(|(n, flow)| values[*n] += sign * flow);
        };
        push(&mut right, 1.0);
        let scale = self.forces.push_s / f64::from(self.model.setup.liquid.density);
        let mut p = self.first_guess(pyramid, diagram, scale);
        (0..p.len()).filter(|&n| !is_unknown[n]).for_each(|n| p[n] = 0.0);
        let info = self.solve(&mut p, &right, (pyramid, diagram, boundary), (&streams, &rows))?;
        // A liquid leaf without liquid neighbours flies: its distances to the surface are noise, and the shortest would take the
        // flow of all.
        streams.parts.alone.iter().for_each(|&n| p[n as usize] = 0.0);
        drop(streams);
        let values: Vec<f32> = p.iter().map(|p| *p as f32).collect();
        pyramid.scatter(PRESSURE, &values);
        pyramid.propagate(PRESSURE);
        velocity::subtract_gradient(pyramid, diagram, &rows, boundary, PRESSURE, 1.0);
        velocity::divergence(pyramid, &rows, SCRATCH);
        pyramid.gather(&mut divergence, SCRATCH);
        let mut left = right;
        left.iter_mut().zip(&divergence).for_each(|(left, d)| *left = f64::from(*d));
        push(&mut left, -1.0);
        let pascals: Vec<f32> = p.iter().map(|p| (*p / scale) as f32).collect();
        pyramid.scatter(PRESSURE, &pascals);
        let volume = |leaf: &Place| f64::from(pyramid.levels()[leaf.level as usize].dx).powi(3);
        let leaves = diagram.leaves().iter().zip(left);
        let worst = leaves.map(|(leaf, d)| (d / volume(leaf)).abs()).fold(0.0, f64::max);
        let report =
            PressureReport { iterations: info.iterations, relative_residual: info.relative_residual };
        Ok((report, worst))
    }

    /// Conjugate gradients on streams, preconditioned by the multigrid cycle.
    fn solve(
        &self,
        p: &mut [f64],
        right: &[f64],
        (pyramid, diagram, boundary): (&Pyramid, &Diagram, Boundary),
        (streams, rows): (&Streams, &Rows),
    ) -> Result<Info, StepError> {
        let first = Rows::new(pyramid, diagram, boundary, Order::First);
        let mut cycle = Cycle::new(streams, pyramid, rows, &first);
        drop(first);
        let composite = Composite { streams, rows: &rows.rows };
        let (mut x, mut b) = (streams.field(), streams.field());
        streams.scatter(&mut x, p);
        streams.scatter(&mut b, right);
        let stopping = self.model.params.pressure.stopping();
        let mut scratch = CgScratch::<f32>::default();
        let (flat_x, flat_b) = (x.as_flattened_mut(), b.as_flattened());
        let info = conjugate_gradients(flat_x, &composite, &mut cycle, flat_b, &stopping, &mut scratch)
            .map_err(|error| StepError::Pressure(error.to_string()))?;
        streams.gather(p, &x);
        Ok(info)
    }

    /// The last pressure where the new leaves are.
    fn first_guess(&self, pyramid: &Pyramid, diagram: &Diagram, scale: f64) -> Vec<f64> {
        let (old, view) = (self.old.tree.view(), View { pyramid, diagram });
        let leaves = view.leaves();
        parallel::map_indices(leaves.len(), |n| {
            scale * f64::from(old.value(old.locate(view.center(leaves[n])), PRESSURE))
        })
    }
}

/// Velocity at centres, in the air and in solids around the liquid, on the faces there, and at nodes: all that the
/// next step's back-traces ask for.
pub(crate) fn extend_velocity(tree: &mut Tree, closed: &Closed) {
    let Tree { pyramid, diagram } = tree;
    mark_liquid(pyramid, diagram, closed);
    centers::from_faces(pyramid, diagram, Some(SCRATCH));
    centers::extend(pyramid, diagram, LAYERS, |view, leaf| {
        let dx = view.level(leaf.level).dx;
        view.value(leaf, PHI) < LAYERS as f32 * dx
    });
    CENTER_VELOCITY.iter().chain(&[SCRATCH]).for_each(|&channel| pyramid.propagate(channel));
    faces::update(pyramid, diagram, Boundary::default(), |_: &mut (), pairs, face, u| {
        let next = pairs.next(face.from, face.k);
        let is_dry = |cell: u64| pairs.value(SCRATCH, cell) >= 0.0;
        if is_dry(face.from) && is_dry(next) && !is_wet(pairs, face.from, face.k) {
            let v = |cell: u64| Vec3::from_array(CENTER_VELOCITY.map(|c| pairs.value(c, cell)));
            *u = 0.5 * (v(face.from) + v(next)).dot(face.normal);
        }
    });
    nodes::from_centers(pyramid);
    let solids = &closed.solids;
    let distance =
        |x: [f64; 3]| f64::from(solids.distance(Vec3::from_array(x.map(|v| v as f32)), closed.reach));
    let solid: Option<SolidDistance> = if solids.is_empty() { None } else { Some(&distance) };
    air::balance_surface_air(pyramid, diagram, solid);
}

/// phi of the leaves whose velocity is the liquid's; those whose centres solids cover count as dry.
fn mark_liquid(pyramid: &mut Pyramid, diagram: &Diagram, closed: &Closed) {
    let view = View { pyramid, diagram };
    let leaves = view.leaves();
    let marks = parallel::map_indices(leaves.len(), |n| {
        let phi = view.value(leaves[n], PHI);
        let is_solid = || closed.solids.distance(view.center(leaves[n]), closed.reach) < 0.0;
        if phi < 0.0 && !closed.solids.is_empty() && is_solid() { -phi } else { phi }
    });
    pyramid.scatter(SCRATCH, &marks);
}

impl State {
    /// Pressure at a point, Pa: the affine function that fits the leaf around it and those beside it, which is zero where
    /// the surface lies between them.
    pub fn pressure_at(&self, x: Vec3) -> f64 {
        let view = self.tree.view();
        let leaf = view.locate(x);
        let own = view.value(leaf, PHI);
        if self.band.linear(x).unwrap_or(own) >= 0.0 {
            return 0.0;
        }
        let dx = f64::from(view.level(leaf.level).dx);
        let (mut m, mut r) = ([[0.0f64; 4]; 4], [0.0f64; 4]);
        let mut add = |at: Vec3, p: f64| {
            let d = (at - x).as_dvec3() / dx;
            let basis = [1.0, d.x, d.y, d.z];
            for i in 0..4 {
                r[i] += basis[i] * p;
                (0..4).for_each(|j| m[i][j] += basis[i] * basis[j]);
            }
        };
        let center = view.center(leaf);
        if own < 0.0 {
            add(center, f64::from(view.value(leaf, PRESSURE)));
        }
        view.for_each_face(leaf, |face| {
            let Some(other) = face.other else { return };
            let (at, phi) = (view.center(other), view.value(other, PHI));
            if phi < 0.0 {
                add(at, f64::from(view.value(other, PRESSURE)));
            }
            if (phi < 0.0) != (own < 0.0) {
                add(center + own / (own - phi) * (at - center), 0.0);
            }
        });
        (1..4).for_each(|i| m[i][i] += 1e-9);
        for pivot in (1..4).rev() {
            for row in 0..pivot {
                let factor = m[row][pivot] / m[pivot][pivot];
                (0..4).for_each(|c| m[row][c] -= factor * m[pivot][c]);
                r[row] -= factor * r[pivot];
            }
        }
        if m[0][0] > 0.0 { (r[0] / m[0][0]).max(0.0) } else { 0.0 }
    }
}

/// Largest speed of the liquid, m/s.
pub(crate) fn fastest(view: &View) -> f64 {
    let leaves = view.leaves();
    parallel::ordered_max(leaves.len().max(1), |n| match leaves.get(n) {
        Some(&leaf) if view.value(leaf, PHI) < 0.0 => {
            let v = view.vector(leaf, CENTER_VELOCITY);
            AXES.iter().map(|&a| f64::from(v[a]).powi(2)).sum::<f64>().sqrt()
        }
        _ => 0.0,
    })
}
