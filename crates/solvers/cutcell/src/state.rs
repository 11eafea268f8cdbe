//! What a solver is between steps, and the memory of a step.

use fluvial_cutcell::air::AirScratch;
use fluvial_cutcell::curvature_flow::CurvatureFlow;
use fluvial_cutcell::cut::CutScratch;
use fluvial_cutcell::flow::Flow;
use fluvial_cutcell::iso::IsoSamples;
use fluvial_cutcell::lag::SurfaceLag;
use fluvial_cutcell::mesh::CutCells;
use fluvial_cutcell::places::{Places, SolidSides};
use fluvial_cutcell::tracker::Bodies;
use fluvial_cutcell::transfer::Gathered;
use fluvial_cutcell::velocity::Given;
use fluvial_cutcell::vertices::VertexScratch;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_linear::krylov::CgScratch;
use fluvial_particles::Particles;
use fluvial_solids::Nozzle;
use fluvial_volume::Account;

/// The particles with what each of them holds for life.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Population {
    pub particles: Particles,
    /// Volume of each, m3.
    pub volume_m3: Vec<f32>,
}

impl Population {
    pub fn push(&mut self, x: Vec3, v: Vec3, volume_m3: f32, is_affine: bool) {
        self.particles.push(x, v, is_affine.then(Default::default));
        self.volume_m3.push(volume_m3);
    }

    pub fn total_m3(&self) -> f64 {
        fluvial_foundation::parallel::ordered_sum_of(self.volume_m3.len(), |n| self.volume_m3[n] as f64)
    }

    /// Takes out the marked ones; returns their volume.
    pub fn remove(&mut self, leaves: &[bool]) -> f64 {
        let mut gone = 0.0;
        let mut kept = 0;
        let has_affine = self.particles.has_affine();
        let p = &mut self.particles;
        for n in 0..leaves.len() {
            if leaves[n] {
                gone += self.volume_m3[n] as f64;
                continue;
            }
            (p.x[kept], p.v[kept], p.id[kept], p.age_s[kept]) = (p.x[n], p.v[n], p.id[n], p.age_s[n]);
            self.volume_m3[kept] = self.volume_m3[n];
            if has_affine {
                p.affine.iter_mut().for_each(|rows| rows[kept] = rows[n]);
            }
            kept += 1;
        }
        p.x.truncate(kept);
        p.v.truncate(kept);
        p.id.truncate(kept);
        p.age_s.truncate(kept);
        p.affine.iter_mut().for_each(|rows| rows.truncate(kept));
        self.volume_m3.truncate(kept);
        gone
    }

    /// Copies all of another.
    pub fn copy_from(&mut self, other: &Population) {
        let (to, from) = (&mut self.particles, &other.particles);
        to.x.clone_from(&from.x);
        to.v.clone_from(&from.v);
        for (to, from) in to.affine.iter_mut().zip(&from.affine) {
            to.clone_from(from);
        }
        to.id.clone_from(&from.id);
        to.age_s.clone_from(&from.age_s);
        to.next_id = from.next_id;
        self.volume_m3.clone_from(&other.volume_m3);
    }
}

/// What a step makes and the next one reads, or probes do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    /// Signed distance at the tracker's nodes, metres.
    pub phi_node: Vec<f32>,
    /// The velocity that carried the liquid in the last step, m/s; for probes.
    pub u_face: FaceField,
    /// Pressure continued linearly to cell centres, Pa; for probes.
    pub pressure_cell: Vec<f32>,
    pub population: Population,
    /// Sum of the surface displacements so far, m3: what transport lost, given back.
    pub returned_m3: f64,
}

impl Fields {
    pub fn new(grid: &UniformGrid, nodes: usize) -> Fields {
        Fields {
            phi_node: vec![f32::MAX; nodes],
            u_face: FaceField::constant(grid, 0.0),
            pressure_cell: vec![0.0; grid.cell_count()],
            ..Fields::default()
        }
    }
}

/// The state.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub fields: Fields,
    pub account: Account,
    /// Kinetic energy of the last step's end, J.
    pub kinetic_energy_j: f64,
    pub limiting_speed_m_s: f64,
    pub time_s: f64,
    pub steps: u64,
}

/// Memory of a step.
pub(crate) struct Work {
    pub fields: Fields,
    pub account: Account,
    pub kinetic_energy_j: f64,
    pub limiting_speed_m_s: f64,
    /// The cut cells, and what is known of them.
    pub mesh: Option<CutCells>,
    pub cut: CutScratch,
    pub iso: IsoSamples,
    pub sides: SolidSides,
    pub places: Places,
    pub bodies: Bodies,
    /// Particles in cells of the grid.
    pub x_in_cells: Vec<DVec3>,
    pub gathered: Gathered,
    /// The velocity before forces and after the projection.
    pub before: Flow,
    pub after: Flow,
    /// What the surface moves by beyond the latter, and beyond the same with balanced air.
    pub lag: SurfaceLag,
    pub lag_air: SurfaceLag,
    /// Sources that flow in the step.
    pub nozzles: Vec<Nozzle>,
    /// What they say to the pressure.
    pub given: Given,
    pub air: AirScratch,
    pub u_face: Vec<f64>,
    pub u_vertex: Vec<DVec3>,
    pub u_triangle: Vec<DVec3>,
    pub rhs: Vec<f64>,
    pub pressure: Vec<f64>,
    pub change: Vec<f64>,
    pub q_piece: Vec<f64>,
    pub q_face: Vec<f64>,
    pub q_vertex: Vec<f64>,
    pub curvature: CurvatureFlow,
    pub vertices: VertexScratch,
    pub cg: CgScratch<f32>,
    pub level_set: fluvial_level_set::Scratch,
    pub spare: Vec<f32>,
    /// phi continued into solids, as it is cut.
    pub phi_cut: Vec<f32>,
    pub shift_body: Vec<f64>,
    pub shift_cell: Vec<f32>,
    pub local_cell: Vec<f32>,
    pub held_cell: Vec<f64>,
    /// Bodies that are too small for the tracker, and particles of such.
    pub is_drop_body: Vec<bool>,
    pub is_drop: Vec<bool>,
    /// What the carried level set does not hold: places and volumes in cells.
    pub drop_x: Vec<DVec3>,
    pub drop_volume: Vec<f64>,
}

impl Work {
    pub fn new(grid: &UniformGrid, nodes: usize) -> Work {
        Work {
            fields: Fields::new(grid, nodes),
            account: Account::default(),
            kinetic_energy_j: 0.0,
            limiting_speed_m_s: 0.0,
            mesh: None,
            cut: CutScratch::default(),
            iso: IsoSamples::default(),
            sides: SolidSides::default(),
            places: Places::default(),
            bodies: Bodies::default(),
            x_in_cells: vec![],
            gathered: Gathered::default(),
            before: Flow::default(),
            after: Flow::default(),
            lag: SurfaceLag::default(),
            lag_air: SurfaceLag::default(),
            nozzles: vec![],
            given: Given::NOTHING,
            air: AirScratch::default(),
            u_face: vec![],
            u_vertex: vec![],
            u_triangle: vec![],
            rhs: vec![],
            pressure: vec![],
            change: vec![],
            q_piece: vec![],
            q_face: vec![],
            q_vertex: vec![],
            curvature: CurvatureFlow::default(),
            vertices: VertexScratch::default(),
            cg: CgScratch::default(),
            level_set: fluvial_level_set::Scratch::default(),
            spare: vec![],
            phi_cut: vec![],
            shift_body: vec![],
            shift_cell: vec![],
            local_cell: vec![],
            held_cell: vec![],
            is_drop_body: vec![],
            is_drop: vec![],
            drop_x: vec![],
            drop_volume: vec![],
        }
    }
}
