//! The liquid of a set-up on its first tree.

use crate::pressure::extend_velocity;
use crate::state::{Held, Model, State, Tree};
use fluvial_drops::Drops;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_power::band::{Band, pages_near};
use fluvial_power::pairs::Boundary;
use fluvial_power::{coarse, faces};
use fluvial_volume::Account;
use std::io;
use std::sync::Arc;

impl Model {
    /// Distance to the liquid at the start: without what lies beyond open walls.
    fn start_distance(&self, x: Vec3) -> f32 {
        let solids = self.setup.solids_at(0.0);
        self.setup.fill_distance_beside(&solids, x, self.shape.dx, None).max(self.beyond_open_walls(x))
    }

    fn first_band(&self) -> io::Result<Band> {
        let mut band = self.empty_band()?;
        let reach = band.reach;
        let near = |b: Aabb| {
            let (x, radius) = (0.5 * (b.min + b.max), 0.5 * b.size().length());
            let surface = self.setup.fill_distance(x).abs().min(self.beyond_open_walls(x).abs());
            surface < radius + reach
        };
        let pages = pages_near(&band, near);
        let solids = self.setup.solids_at(0.0);
        let solid = |x: Vec3| self.solid_distance(&solids, x);
        let solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)> =
            if solids.is_empty() { None } else { Some(&solid) };
        band.fill(&pages, |x| self.start_distance(x).clamp(-reach, reach), solid)?;
        band.redistance();
        band.release_pages_beyond_reach();
        Ok(band)
    }

    /// The first state.
    pub fn start(&self) -> io::Result<State> {
        let band = self.first_band()?;
        let distance = |x: Vec3| {
            band.linear(x).map(f32::abs).unwrap_or_else(|| self.setup.fill_distance(x).abs().max(band.reach))
        };
        let Tree { mut pyramid, diagram } = self.tree(distance, 0.0, Arc::default())?;
        coarse::from_band(&mut pyramid, &diagram, &band, |x| self.start_distance(x) < 0.0);
        let reach = 4.0 * self.shape.dx;
        faces::update(&mut pyramid, &diagram, Boundary::default(), |_: &mut (), _, face, u| {
            let v = self.setup.fill_velocity(face.centroid, reach).unwrap_or_default();
            *u = v.dot(face.normal);
        });
        let mut tree = Tree { pyramid, diagram };
        extend_velocity(&mut tree, &self.closed_at(0.0, vec![]));
        let mut state = State {
            tree,
            band,
            held: Held::default(),
            drops: Drops::default(),
            volume: Account::default(),
            corrected_m3: 0.0,
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            lead_s: 0.0,
            time_s: 0.0,
            steps: 0,
        };
        match self.conserves_volume() {
            true => {
                let leaves = state.tree.view().leaves();
                state.held.content_m3 = self.content(&state.tree, &state.band, leaves, 0.0);
                state.held.residual_m3 = vec![0.0; leaves.len()];
                state.volume.open(state.held.content_m3.iter().sum());
            }
            false => state.volume.open(self.volume_m3(&state.tree, &state.band, 0.0)),
        }
        let report = self.report(&state);
        state.kinetic_energy_j = report.kinetic_energy_j;
        state.limiting_speed_m_s = report.max_speed_m_s;
        Ok(state)
    }
}
