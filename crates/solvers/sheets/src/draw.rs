//! The surface that is drawn: closed, and with the volume of the particles.

use crate::SheetsSolver;
use crate::state::Solids;
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::for_each_beside_mut;
use fluvial_grids::{Lattice, TriangleMesh};
use fluvial_level_set::{self as level_set, SolidsAround};
use fluvial_sheets::{Population, SheetSurface, SurfaceShape, deposit, dilate};
use fluvial_solids::open_cell_volume;
use fluvial_solver_interface::SurfaceParams;
use fluvial_surface::{
    Bells, MeshParams, Piece, VolumeToFit, add_pieces, fit_to_volume, mesh_samples, set_velocities,
    volume_gradients,
};

/// Neighbourhoods of two cells: what a few cells of a thin sheet lack is the noise of its particles' places.
const NEIGHBOURHOOD_SUMS: usize = 6;

/// Fits of the whole after the first, and how near to its volume it is good enough.
const MORE_FITS: usize = 4;
const FITS: f64 = 1e-3;

/// Distances are known this far from the surface, cells.
const BAND_CELLS: f32 = 4.0;

impl SheetsSolver {
    /// Meshes the surface of the particles outside the solids, fitted to their volume; those without a
    /// surface in common are drops and threads ([`add_pieces`]).
    ///
    /// Test: `what_is_drawn_is_what_there_is`.
    pub(crate) fn draw(&self, params: &SurfaceParams) -> TriangleMesh {
        let shape = self.surface_shape();
        let population = &self.state.population;
        let field = population.surface_field(&shape);
        let surface = SheetSurface::sample(&field, &shape);
        let lattice = Lattice { size: shape.size, origin: shape.origin, spacing: shape.spacing };
        let mesh_params = MeshParams { smoothing_rounds: params.smoothing as usize };
        let (walls, far_m) = (&population.walls, surface.far_m());
        let value = |at: [usize; 3]| {
            let value = surface.value(at);
            if walls.solid.is_none() || value > 0.0 && value < far_m {
                return value;
            }
            let x = lattice.position(at[0], at[1], at[2]);
            if value <= 0.0 {
                return value.max(-walls.solid_distance(x));
            }
            // Behind a thin solid that liquid touches, the surface is the solid.
            if walls.seen_from(x).is_some() { value.min(walls.solid_distance(x).abs()) } else { value }
        };
        let fill_row = |j: usize, k: usize, out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = value([i, j, k]));
        };
        let mut mesh = mesh_samples(&lattice, &mesh_params, fill_row, value);
        let mut lacking_cell = self.held_cell(population);
        self.take_sampled(&mut lacking_cell, &lattice, &self.cells_near(&mesh), value);
        let (sampled, before) = (mesh.positions.clone(), volume_gradients(&mesh));
        let mut half_m = field.pull_mesh(&mut mesh.positions, &mesh.triangles);
        let cells = self.grid.cell_centers();
        let cells = Bells { cells: &cells, sums: NEIGHBOURHOOD_SUMS };
        for (v, after) in volume_gradients(&mesh).into_iter().enumerate() {
            let way = mesh.positions[v] - sampled[v];
            lacking_cell[self.cell_at(mesh.positions[v])] -= 0.5 * (before[v] + after).dot(way);
        }
        let lonely = || (0..population.particles.len()).filter(|&i| population.shapes.is_lonely(i));
        let lonely_m3 = lonely().map(|i| self.volume_of(population.particles.mass[i] as u64)).sum::<f64>();
        let wanted_m3 = self.state.account.volume_m3 - lonely_m3;
        fit_to_volume(&mut mesh, &half_m, VolumeToFit { cells: &cells, lacking_cell, wanted_m3 });
        for _ in 0..MORE_FITS {
            let share = mesh.volume() / wanted_m3;
            if wanted_m3 <= 0.0 || (share - 1.0).abs() < FITS {
                break;
            }
            // Froth that encloses more air, or less, than one fit may take: what is left is half as thick, or twice.
            half_m.iter_mut().for_each(|half| *half *= if share > 1.0 { 0.5 } else { 2.0 });
            let lacking_cell = vec![0.0; self.grid.cell_count()];
            fit_to_volume(&mut mesh, &half_m, VolumeToFit { cells: &cells, lacking_cell, wanted_m3 });
        }
        set_velocities(&mut mesh, |x| self.grid.sample_velocity(&self.state.fields.u_face, x));
        let flying = |i: usize| {
            let volume_m3 = self.volume_of(population.particles.mass[i] as u64);
            Piece::flying(population.particles.x[i], population.particles.v[i], volume_m3, self.grid.dx)
        };
        let pieces: Vec<Piece> = lonely().map(flying).collect();
        add_pieces(&mut mesh, &pieces, self.grid.bounds());
        mesh
    }

    /// The distance from the drawn surface at the cells, metres, before it is fitted to the volume: what volume files hold and
    /// whitewater follows. Test: `the_level_set_lies_where_the_surface_does`.
    pub(crate) fn level_set(&self) -> Vec<f32> {
        let (cells, population) = (self.grid.cell_centers(), &self.state.population);
        let shape = SurfaceShape {
            spacing: cells.spacing,
            origin: cells.origin,
            size: cells.size,
            ..self.surface_shape()
        };
        let surface = SheetSurface::sample(&population.surface_field(&shape), &shape);
        let mut phi_cell = vec![0.0; cells.len()];
        cells.for_each_mut(&mut phi_cell, |_, at, phi| *phi = surface.value(at));
        let Solids { fields, closed_cell, .. } = &*self.state.boundaries.solids;
        let (band_m, scratch) = (BAND_CELLS * cells.spacing, &mut level_set::Scratch::default());
        level_set::redistance_among_solids(
            &mut phi_cell,
            &cells,
            band_m,
            SolidsAround { closed_cell, phi_solid_node: &fields.phi_node, sides: &fields.sides },
            scratch,
        );
        phi_cell
    }

    /// What the particles that have a surface in common take up in every cell, m3: their volume less what is
    /// squeezed.
    fn held_cell(&self, population: &Population) -> Vec<f32> {
        let Population { particles, neighbours, shapes, walls, params, mass_cell, .. } = population;
        let mut held = vec![0.0; mass_cell.len()];
        let share = |i: usize| if shapes.is_lonely(i) { 0.0 } else { particles.weight(i) };
        deposit(&mut held, particles, neighbours, walls, params.d0, share);
        let solids = &self.state.boundaries.solids;
        let mut crowding = vec![];
        solids.sums(&mut crowding, &mut vec![], mass_cell, &self.grid);
        for_each_beside_mut(&mut crowding, &solids.room_cell, |held, room| *held /= room.max(1e-3));
        let unit_m3 = params.d0.powi(3);
        for_each_beside_mut(&mut held, &crowding, |held, crowding| *held *= unit_m3 / crowding.max(1.0));
        held
    }

    /// Takes from every cell what a sampled surface encloses of it, m3, and forgets the cells that have no
    /// surface in or beside them. Between eight samples the surface is where linear interpolation puts it, as
    /// it is in the mesh; such a cube belongs in equal parts to the cells that it touches.
    fn take_sampled(
        &self,
        held_cell: &mut [f32],
        samples: &Lattice,
        near_cell: &[bool],
        value: impl Fn([usize; 3]) -> f32 + Sync + Send,
    ) {
        let per_cell = self.params.surface_refinement as usize;
        let (sample_m3, cubes) = (samples.spacing.powi(3), per_cell + 1);
        // Beyond the outermost samples it goes on as it is there.
        let corner = |at: [usize; 3], c: usize| {
            let on = |axis: usize| (at[axis] + (c >> axis & 1)).saturating_sub(1).min(samples.size[axis] - 1);
            value([on(0), on(1), on(2)])
        };
        self.grid.cell_centers().for_each_mut(held_cell, |cell, at, held| {
            if !near_cell[cell] {
                *held = 0.0;
                return;
            }
            for n in 0..cubes.pow(3) {
                let within = [n % cubes, n / cubes % cubes, n / (cubes * cubes)];
                let half = |axis: usize| if within[axis] % per_cell == 0 { 0.5 } else { 1.0 };
                let first = [0, 1, 2].map(|axis| at[axis] * per_cell + within[axis]);
                let liquid = 1.0 - open_cell_volume(std::array::from_fn(|c| corner(first, c)));
                *held -= half(0) * half(1) * half(2) * sample_m3 * liquid;
            }
        });
    }

    /// The cells that a mesh runs through, and those around them.
    fn cells_near(&self, mesh: &TriangleMesh) -> Vec<bool> {
        let cells = self.grid.cell_centers();
        let mut near = vec![false; cells.len()];
        mesh.positions.iter().for_each(|x| near[self.cell_at(*x)] = true);
        dilate(&near, cells.size, 1)
    }

    fn cell_at(&self, x: Vec3) -> usize {
        let at = ((x - self.grid.min) / self.grid.dx).floor();
        self.grid.cell_centers().index_clamped(at.x as isize, at.y as isize, at.z as isize)
    }
}
