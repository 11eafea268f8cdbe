//! Spray, mist, foam and the maps of the surface beside a run (`fluvial_tall::{spray, maps}`).

use crate::TallSolver;
use crate::state::{Fields, Work};
use fluvial_foundation::Vec3;
use fluvial_solver_interface::{OwnWhitewater, RestoreError, StateReader, StateWriter, SurfaceMap, Wall};
use fluvial_tall::maps::{self, Change, Shown};
use fluvial_tall::spray::{self, Counters, MIST, Moved, Particle, SprayFields, TRIAL, Water};
use std::io;

/// Trial particles an area and second, in 1/(L^2 sqrt(L/g)), L the domain's height: as many as crests throw off in the shared whitewater.
const RATE: f64 = 3e4;
/// Times in sqrt(L/g): until a trial particle is tested (a thirtieth of a second, the paper's step, where L is 4.4 m), response of spray and of mist,
/// lifetime of foam, and of a layer of the waves' texture.
const TRIAL_TIME: f64 = 0.05;
const SPRAY_TIME: f64 = 2.0;
const MIST_TIME: f64 = 0.1;
const FOAM_TIME: f64 = 8.0;
const TEXTURE_TIME: f64 = 3.0;
/// In which wet sand dries, s.
const DRY_S: f64 = 30.0;
/// Middle radius of a drop, parts of L.
const RADIUS: f64 = 1.0 / 400.0;
/// Part of the drops that are mist, and of those that fall in that become foam.
const MIST_PART: f32 = 0.25;
const FOAM_PART: f32 = 0.5;

/// What a step of the particles works in.
#[derive(Default)]
pub(crate) struct SprayWork {
    /// The next state's.
    pub fields: SprayFields,
    moved: Vec<Moved>,
    landed: Vec<u32>,
    surfaces: Vec<[f32; 4]>,
}

impl TallSolver {
    /// The particles before the first step; `None` where none are wanted.
    pub(crate) fn no_spray(&self) -> Option<SprayFields> {
        let shown = || vec![Shown::default(); self.state.fields.grid.columns.len()];
        (self.params.spray > 0.0).then(|| SprayFields { shown: shown(), ..SprayFields::default() })
    }

    fn length_and_time(&self) -> (f64, f64) {
        let length = f64::from(self.setup.domain.bounds().size().y);
        (length, (length / f64::from(self.setup.liquid.gravity.length()).max(1e-6)).sqrt())
    }

    /// What particles depend on in the next step, and how it changes the maps.
    pub(crate) fn spray_params(&self, dt_s: f64) -> (spray::Params, Change) {
        let (length, time_s) = self.length_and_time();
        let dx = self.frame.dx;
        let rate = f64::from(self.params.spray) * RATE / (length * length * time_s);
        let walls = self.setup.domain.walls.iter().enumerate();
        let [first, cells] = [self.frame.first, [self.frame.cells[0], self.frame.cells[2]]];
        let params = spray::Params {
            gravity: self.setup.liquid.gravity.to_array(),
            dt_s: dt_s as f32,
            low: [first[0] as f32 - 0.5, -0.5, first[1] as f32 - 0.5],
            trials_1_s: rate as f32 * dx * dx,
            high: [
                (first[0] + cells[0]) as f32 - 0.5,
                self.frame.height() as f32 - 0.5,
                (first[1] + cells[1]) as f32 - 0.5,
            ],
            trial_s: (TRIAL_TIME * time_s) as f32,
            spray_tau_s: (SPRAY_TIME * time_s) as f32,
            mist_tau_s: (MIST_TIME * time_s) as f32,
            foam_s: (FOAM_TIME * time_s) as f32,
            radius_m: (RADIUS * length) as f32,
            mist_part: MIST_PART,
            foam_part: FOAM_PART,
            open: walls.fold(0, |bits, (n, wall)| bits | u32::from(*wall == Wall::Open) << n),
            step: self.state.steps as u32,
            most: self.params.spray_particles,
            pad: [0; 3],
        };
        let times_s = [FOAM_TIME * time_s, DRY_S, TEXTURE_TIME * time_s];
        (params, Change::new([self.state.time_s, dt_s], dx, times_s))
    }

    /// Particles and maps follow the step.
    pub(crate) fn move_spray(&mut self, dt_s: f64) {
        let (params, change) = self.spray_params(dt_s);
        let Some(before) = &self.state.spray else { return };
        let Fields { grid, phi, .. } = &self.state.fields;
        let Work { fields: after, solids, u_air, spray: work, .. } = &mut self.work;
        let water = Water {
            before: grid,
            phi_before: phi,
            u: u_air,
            grid: &after.grid,
            phi: &after.phi,
            fraction: &solids.fraction,
        };
        let SprayWork { fields, moved, landed, surfaces } = work;
        let columns = grid.columns.len();
        landed.resize(columns, 0);
        surfaces.resize(columns, [0.0; 4]);
        fields.shown.resize(columns, Shown::default());
        fields.particles.clone_from(&before.particles);
        fields.counters = before.counters;
        spray::step(&mut fields.particles, &mut fields.counters, landed, moved, (&water, &params));
        maps::surfaces(surfaces, grid, phi, u_air);
        maps::carry(&mut fields.shown, [grid.nx, grid.nz], &before.shown, (surfaces, landed), &change);
    }

    /// As callers see it.
    pub(crate) fn own_whitewater(&self) -> Option<OwnWhitewater> {
        let SprayFields { particles, counters, shown } = self.state.spray.as_ref()?;
        let mut out = OwnWhitewater::default();
        for p in particles.iter().filter(|p| p.kind != TRIAL) {
            out.x.push(self.frame.origin + self.frame.dx * (Vec3::from_array(p.x) + 0.5));
            out.v.push(Vec3::from_array(p.v));
            out.id.push(u64::from(p.id));
            out.age_s.push(p.age_s);
            out.radius_m.push(p.radius_m);
            out.kind.push(p.kind as u8);
        }
        let Counters { escaped, fallen, foam, refused, .. } = *counters;
        out.totals = [escaped, fallen, foam, refused].map(u64::from);
        let (dx, (_, time_s)) = (self.frame.dx, self.length_and_time());
        out.map = SurfaceMap {
            first: [self.frame.origin.x + 0.5 * dx, self.frame.origin.z + 0.5 * dx],
            spacing_m: dx,
            size: self.frame.columns,
            foam: shown.iter().map(|s| s.foam).collect(),
            wet: shown.iter().map(|s| s.wet).collect(),
            height_m: shown.iter().map(|s| self.frame.origin.y + dx * (s.height + 0.5)).collect(),
            come: shown
                .iter()
                .map(|&Shown { come: [[a, b], [c, d]], .. }| [a, b, c, d].map(|v| v * dx))
                .collect(),
            layers: maps::weights(self.state.time_s, TEXTURE_TIME * time_s),
        };
        Some(out)
    }
}

/// Writes particles and maps.
pub(crate) fn save(fields: &SprayFields, out: &mut StateWriter) -> io::Result<()> {
    let SprayFields { particles, counters, shown } = fields;
    let numbers = |p: &Particle| {
        let Particle { x: [a, b, c], radius_m, v: [u, v, w], left_s, age_s, kind: _, seed: _, id: _ } = *p;
        [a, b, c, radius_m, u, v, w, left_s, age_s]
    };
    out.list("spray.numbers", &particles.iter().flat_map(numbers).collect::<Vec<f32>>())?;
    out.list("spray.names", &particles.iter().flat_map(|p| [p.kind, p.seed, p.id]).collect::<Vec<u32>>())?;
    let Counters { next_id, wanted, escaped, fallen, foam, refused } = *counters;
    out.list("spray.counters", &[next_id, wanted, escaped, fallen, foam, refused])?;
    let maps = |s: &Shown| {
        let Shown { foam, wet, height, pad: _, come: [[a, b], [c, d]] } = *s;
        [foam, wet, height, a, b, c, d]
    };
    out.field("spray.maps", &shown.iter().flat_map(maps).collect::<Vec<f32>>())
}

/// Reads what [`save`] wrote for so many columns.
pub(crate) fn restore(
    from: &mut StateReader,
    columns: usize,
    most: u32,
) -> Result<SprayFields, RestoreError> {
    let wrong = |what: &str| RestoreError::Mismatch(what.to_owned());
    let numbers: Vec<f32> = from.list("spray.numbers")?;
    let names: Vec<u32> = from.list("spray.names")?;
    let (numbers, names) = (numbers.as_chunks::<9>(), names.as_chunks::<3>());
    if !numbers.1.is_empty()
        || !names.1.is_empty()
        || numbers.0.len() != names.0.len()
        || names.0.len() > most as usize
    {
        return Err(wrong("lists of spray differ in length"));
    }
    if names.0.iter().any(|[kind, ..]| *kind > TRIAL || *kind + 1 == MIST) {
        return Err(wrong("spray of a kind that there is not"));
    }
    let particle = |(n, [kind, seed, id]): (&[f32; 9], &[u32; 3])| {
        let [a, b, c, radius_m, u, v, w, left_s, age_s] = *n;
        Particle { x: [a, b, c], radius_m, v: [u, v, w], left_s, kind: *kind, seed: *seed, id: *id, age_s }
    };
    let particles = numbers.0.iter().zip(names.0).map(particle).collect();
    let [next_id, wanted, escaped, fallen, foam, refused] = from.list("spray.counters")?[..] else {
        return Err(wrong("spray has other counters"));
    };
    let mut maps = vec![0.0f32; 7 * columns];
    from.field("spray.maps", &mut maps)?;
    let shown = |&[foam, wet, height, a, b, c, d]: &[f32; 7]| Shown {
        foam,
        wet,
        height,
        pad: 0.0,
        come: [[a, b], [c, d]],
    };
    Ok(SprayFields {
        particles,
        counters: Counters { next_id, wanted, escaped, fallen, foam, refused },
        shown: maps.as_chunks::<7>().0.iter().map(shown).collect(),
    })
}
