//! The state as bytes. Every struct is taken apart by name here, so that a new field does not compile until
//! somebody has decided whether the next step reads it.

use crate::PowerSolver;
use crate::pressure::extend_velocity;
use crate::state::{Held, State, Tree};
use fluvial_foundation::Vec3;
use fluvial_grids::octree::Cell;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;
use fluvial_power::band::{self, Band};
use fluvial_power::channels::{EDGE_VELOCITY, FACE_VELOCITY, PHI, PRESSURE};
use fluvial_power::diagram::Diagram;
use fluvial_power::view::Place;
use fluvial_solver_interface::{RestoreError, StateReader, StateWriter};
use std::collections::HashSet;
use std::io;

const CHANNELS: [(usize, &str); 6] = [
    (FACE_VELOCITY[0], "u.x"),
    (FACE_VELOCITY[1], "u.y"),
    (FACE_VELOCITY[2], "u.z"),
    (EDGE_VELOCITY[0], "edge.x"),
    (EDGE_VELOCITY[1], "edge.y"),
    (EDGE_VELOCITY[2], "edge.z"),
];

fn mismatch<T>(what: &str) -> Result<T, RestoreError> {
    Err(RestoreError::Mismatch(what.into()))
}

impl PowerSolver {
    pub(crate) fn save_state(&self, out: &mut StateWriter) -> io::Result<()> {
        let PowerSolver {
            // The set-up and what follows from it.
            model: _,
            // The frame loop's.
            asked_to_stop: _,
            state,
        } = self;
        let State {
            // The diagram follows from the pyramid.
            tree: Tree { pyramid, diagram: _ },
            band,
            held: Held { content_m3, residual_m3 },
            drops,
            volume,
            corrected_m3,
            kinetic_energy_j,
            limiting_speed_m_s,
            lead_s,
            time_s,
            steps,
        } = state;
        out.value("time_s", *time_s)?;
        out.value("steps", *steps)?;
        out.value("limiting_speed_m_s", *limiting_speed_m_s)?;
        out.value("lead_s", *lead_s)?;
        out.value("kinetic_energy_j", *kinetic_energy_j)?;
        out.value("corrected_m3", *corrected_m3)?;
        out.account(volume)?;
        let leaves = state.tree.view().leaves();
        out.list("leaf_level", &leaves.iter().map(|leaf| leaf.level).collect::<Vec<u32>>())?;
        out.list("leaf", &leaves.iter().map(|leaf| leaf.cell).collect::<Vec<u64>>())?;
        let mut values = vec![0.0f32; leaves.len()];
        for (channel, name) in [(PHI, "phi"), (PRESSURE, "pressure")] {
            pyramid.gather(&mut values, channel);
            out.field(name, &values)?;
        }
        for (channel, name) in CHANNELS {
            out.field(name, &flat(pyramid, channel))?;
        }
        out.list("content_m3", content_m3)?;
        out.list("residual_m3", residual_m3)?;
        out.drops(drops)?;
        let pages = band.grid.blocks().pages();
        out.list("band_page", pages)?;
        let phi: Vec<f32> =
            pages.iter().flat_map(|page| band.grid.channel(*page, band::PHI)).copied().collect();
        out.field("band_phi", &phi)
    }

    pub(crate) fn restore_state(&mut self, from: &mut StateReader) -> Result<(), RestoreError> {
        let model = &self.model;
        let time_s: f64 = from.value("time_s")?;
        let steps = from.value("steps")?;
        let limiting_speed_m_s = from.value("limiting_speed_m_s")?;
        let lead_s = from.value("lead_s")?;
        let kinetic_energy_j = from.value("kinetic_energy_j")?;
        let corrected_m3 = from.value("corrected_m3")?;
        let volume = from.account()?;
        let levels: Vec<u32> = from.list("leaf_level")?;
        let cells: Vec<u64> = from.list("leaf")?;
        let Tree { mut pyramid, diagram } = self.tree_of(&levels, &cells)?;
        let mut values = vec![0.0f32; cells.len()];
        for (channel, name) in [(PHI, "phi"), (PRESSURE, "pressure")] {
            from.field(name, &mut values)?;
            pyramid.scatter(channel, &values);
        }
        pyramid.propagate(PHI);
        for (channel, name) in CHANNELS {
            let mut values = flat(&pyramid, channel);
            from.field(name, &mut values)?;
            set_flat(&mut pyramid, channel, &values);
        }
        let content_m3: Vec<f64> = from.list("content_m3")?;
        let residual_m3: Vec<f64> = from.list("residual_m3")?;
        let count = if model.conserves_volume() { cells.len() } else { 0 };
        if content_m3.len() != count || residual_m3.len() != count {
            return mismatch("its volumes are of another tree");
        }
        let drops = from.drops()?;
        from.check_places("drops.x", &drops.x, model.bounds)?;
        let pages: Vec<u64> = from.list("band_page")?;
        let band = self.empty_band_with(&pages, time_s)?;
        let mut phi = vec![0.0f32; 256 * pages.len()];
        from.field("band_phi", &mut phi)?;
        from.end()?;
        let mut band = band;
        for (page, values) in pages.iter().zip(phi.chunks_exact(256)) {
            band.grid.channel_mut(*page, band::PHI).copy_from_slice(values);
        }
        let mut tree = Tree { pyramid, diagram };
        extend_velocity(&mut tree, &model.closed_at(time_s, vec![]));
        let held = Held { content_m3, residual_m3 };
        self.state = State {
            tree,
            band,
            held,
            drops,
            volume,
            corrected_m3,
            kinetic_energy_j,
            limiting_speed_m_s,
            lead_s,
            time_s,
            steps,
        };
        Ok(())
    }

    /// The tree with these leaves.
    fn tree_of(&self, levels: &[u32], cells: &[u64]) -> Result<Tree, RestoreError> {
        let shape = self.model.shape;
        if levels.len() != cells.len() || levels.iter().any(|l| *l as usize >= shape.levels) {
            return mismatch("its leaves are of another tree");
        }
        let layouts: Vec<_> = self.state.tree.pyramid.levels().iter().map(|l| *l.grid.layout()).collect();
        let mut divided: HashSet<Cell> = HashSet::new();
        for (level, cell) in levels.iter().zip(cells) {
            let at = layouts[*level as usize].decode(*cell);
            for above in level + 1..shape.levels as u32 {
                let at = at.map(|v| (v >> (above - level)) as u16);
                divided.insert(Cell { at, level: above as u8 });
            }
        }
        let build = |backing: Backing| Pyramid::build(backing, shape, |cell| divided.contains(&cell));
        let mut pyramid = build(Backing::Reserved).or_else(|_| build(Backing::Table))?;
        let diagram = Diagram::new(&mut pyramid);
        let tree = Tree { pyramid, diagram };
        let found = tree.view().leaves();
        let saved = levels.iter().zip(cells).map(|(level, cell)| Place { level: *level, cell: *cell });
        match found.iter().copied().eq(saved) {
            true => Ok(tree),
            false => mismatch("its leaves do not fill the box"),
        }
    }

    /// A band with these pages and the distances to solids at a moment.
    fn empty_band_with(&self, pages: &[u64], time_s: f64) -> Result<Band, RestoreError> {
        let mut band = self.model.empty_band()?;
        let layout = *band.grid.layout();
        let (count, cells) = (layout.pages(), layout.cells());
        let is_inside =
            |page: &u64| *page < count && (0..3).all(|a| layout.decode(layout.first_of(*page))[a] < cells[a]);
        if !pages.iter().all(is_inside) || !pages.is_sorted_by(|a, b| a < b) {
            return mismatch("pages of its band lie outside the box");
        }
        let solids = self.model.setup.solids_at(time_s);
        let solid = |x: Vec3| self.model.solid_distance(&solids, x);
        let solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)> =
            if solids.is_empty() { None } else { Some(&solid) };
        band.fill(pages, |_| 1.0, solid)?;
        Ok(band)
    }
}

/// A field in all pages, level by level.
fn flat(pyramid: &Pyramid, channel: usize) -> Vec<f32> {
    let levels = pyramid.levels().iter();
    levels.flat_map(|l| l.grid.blocks().pages().iter().flat_map(|p| *l.grid.channel(*p, channel))).collect()
}

fn set_flat(pyramid: &mut Pyramid, channel: usize, values: &[f32]) {
    let mut chunks = values.chunks_exact(64);
    for level in pyramid.levels_mut() {
        for page in level.grid.blocks().pages().to_vec() {
            let chunk = chunks.next().expect("one chunk per page");
            level.grid.channel_mut(page, channel).copy_from_slice(chunk);
        }
    }
}
