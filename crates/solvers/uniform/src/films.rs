//! Films on the domain's walls, drawn: liquid between a wall and the outermost cell centres, where the mesh of
//! the level set has no sample.

use fluvial_drops::add_ball;
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::{FaceField, TriangleMesh, UniformGrid};
use fluvial_solids::SolidFields;

/// One wall of the domain and the thickness of the film on it.
struct Wall<'a> {
    grid: &'a UniformGrid,
    axis: Axis,
    high: bool,
    /// Metres, by cell at the wall; 0 where there is none.
    thickness_m: Vec<f32>,
}

/// Adds a closed slab for every cell at a wall whose centre is dry and which holds liquid all the same: as
/// thick as its volume, the corners' heights the mean of the slabs around. The other cells' liquid is in the
/// mesh of the level set. Verified by
/// `the_surface_is_closed_and_encloses_the_volume` of the conformance suite.
pub(crate) fn add_wall_films(
    mesh: &mut TriangleMesh,
    phi_cell: &[f32],
    fraction_cell: &[f32],
    u_face: &FaceField,
    grid: &UniformGrid,
) {
    for (axis, high) in (0..3).flat_map(|axis| [(axis, false), (axis, true)]) {
        let mut wall = Wall { grid, axis, high, thickness_m: vec![] };
        wall.measure(phi_cell, fraction_cell);
        wall.draw(mesh, u_face);
    }
}

/// Adds a ball for every cell that a solid cuts, which holds liquid and has no sample of liquid outside the
/// solid in it or beside it: a film on the solid that the mesh of the level set knows nothing of.
pub(crate) fn add_solid_films(
    mesh: &mut TriangleMesh,
    phi_cell: &[f32],
    fraction_cell: &[f32],
    solids: &SolidFields,
    u_face: &FaceField,
    grid: &UniformGrid,
) {
    let (cells, nodes, cell_m3) = (grid.cell_centers(), grid.nodes(), f64::from(grid.dx).powi(3));
    let solid = |x: Vec3| nodes.sample(&solids.phi_node, x);
    let is_drawn = |[i, j, k]: [usize; 3]| {
        phi_cell[cells.index(i, j, k)] < 0.0 && solid(cells.position(i, j, k)) >= -0.25 * grid.dx
    };
    for cell in 0..phi_cell.len() {
        if solids.open_volume[cell] >= 1.0 || fraction_cell[cell] <= 0.0 {
            continue;
        }
        let at = cells.coordinates(cell);
        let beside = (0..6).filter_map(|side| {
            let (axis, high) = (side / 2, side % 2 == 1);
            let mut on = at;
            on[axis] = if high { at[axis] + 1 } else { at[axis].checked_sub(1)? };
            (on[axis] < cells.size[axis]).then_some(on)
        });
        if !is_drawn(at) && !beside.into_iter().any(is_drawn) {
            let x = cells.position(at[0], at[1], at[2]);
            let out = nodes.gradient(&solids.phi_node, x).normalize_or_zero();
            let x = x - solid(x).min(0.0) * out;
            add_ball(mesh, x, grid.sample_velocity(u_face, x), f64::from(fraction_cell[cell]) * cell_m3);
        }
    }
}

impl Wall<'_> {
    fn size(&self) -> [usize; 2] {
        [self.grid.cells[(self.axis + 1) % 3], self.grid.cells[(self.axis + 2) % 3]]
    }

    fn cell_at(&self, m: usize, n: usize) -> [usize; 3] {
        let mut at = [0; 3];
        at[self.axis] = if self.high { self.grid.cells[self.axis] - 1 } else { 0 };
        (at[(self.axis + 1) % 3], at[(self.axis + 2) % 3]) = (m, n);
        at
    }

    fn measure(&mut self, phi: &[f32], fraction: &[f32]) {
        let (cells, [width, height]) = (self.grid.cell_centers(), self.size());
        // phi beyond a wall is the plane through the two samples before it.
        let beyond = |at: [usize; 3], axis: Axis, high: bool| {
            let cell = cells.index(at[0], at[1], at[2]);
            let is_there = cells.size[axis] > 1 && at[axis] == if high { cells.size[axis] - 1 } else { 0 };
            let inner = if high { cell.wrapping_sub(cells.stride(axis)) } else { cell + cells.stride(axis) };
            if is_there { 2.0 * phi[cell] - phi[inner] } else { f32::INFINITY }
        };
        self.thickness_m = vec![0.0; width * height];
        for (m, n) in (0..height).flat_map(|n| (0..width).map(move |m| (m, n))) {
            let at = self.cell_at(m, n);
            let cell = cells.index(at[0], at[1], at[2]);
            let own = beyond(at, self.axis, self.high);
            if phi[cell] < 0.0 || fraction[cell] <= 0.0 || own >= 0.0 {
                continue;
            }
            // In corners the film lies on the wall that it is deepest at.
            let walls = (0..3).flat_map(|axis| [(axis, false), (axis, true)]);
            let deepest = walls
                .min_by(|a, b| beyond(at, a.0, a.1).total_cmp(&beyond(at, b.0, b.1)))
                .unwrap_or((self.axis, self.high));
            if deepest == (self.axis, self.high) {
                self.thickness_m[m + width * n] = self.dry_part([m, n], phi) * fraction[cell] * self.grid.dx;
            }
        }
    }

    /// Share of the cells beside one along the wall that are dry: the mesh of the level set reaches over from
    /// the others.
    fn dry_part(&self, [m, n]: [usize; 2], phi: &[f32]) -> f32 {
        let (cells, [width, height]) = (self.grid.cell_centers(), self.size());
        let (mut count, mut dry) = (0, 0);
        for (dm, dn) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            if let (Some(m), Some(n)) = (m.checked_add_signed(dm), n.checked_add_signed(dn))
                && m < width
                && n < height
            {
                let at = self.cell_at(m, n);
                count += 1;
                dry += (phi[cells.index(at[0], at[1], at[2])] >= 0.0) as usize;
            }
        }
        dry as f32 / count.max(1) as f32
    }

    fn draw(&self, mesh: &mut TriangleMesh, u_face: &FaceField) {
        let [width, height] = self.size();
        let film = |m: usize, n: usize| self.thickness_m[m + width * n];
        let corner_m = |m: usize, n: usize| {
            let around = (n.saturating_sub(1)..(n + 1).min(height))
                .flat_map(|n| (m.saturating_sub(1)..(m + 1).min(width)).map(move |m| (m, n)));
            let (mut sum, mut count) = (0.0, 0);
            for thickness in around.map(|(m, n)| film(m, n)).filter(|t| *t > 0.0) {
                (sum, count) = (sum + thickness, count + 1);
            }
            sum / count.max(1) as f32
        };
        for (m, n) in (0..height).flat_map(|n| (0..width).map(move |m| (m, n))) {
            if film(m, n) > 0.0 {
                let corners = [0, 1, 2, 3].map(|c| corner_m(m + (c & 1), n + (c >> 1)));
                self.add_slab(mesh, [m, n], corners, u_face);
            }
        }
    }

    /// A box on the wall over one cell's face, `corners_m` thick at the four corners.
    fn add_slab(&self, mesh: &mut TriangleMesh, [m, n]: [usize; 2], corners_m: [f32; 4], u_face: &FaceField) {
        let (bounds, dx) = (self.grid.bounds(), self.grid.dx);
        let (u, v) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        let first = mesh.positions.len() as u32;
        for c in 0..8 {
            let mut x = bounds.min;
            x[u] += dx * (m + (c & 1)) as f32;
            x[v] += dx * (n + (c >> 1 & 1)) as f32;
            let out = if c >= 4 { corners_m[c & 3] } else { 0.0 };
            x[self.axis] = if self.high { bounds.max[self.axis] - out } else { bounds.min[self.axis] + out };
            mesh.positions.push(x);
            mesh.velocities
                .push(self.grid.sample_velocity(u_face, Vec3::min(Vec3::max(x, bounds.min), bounds.max)));
        }
        // Counter-clockwise from outside where (u, v, out of the wall) is right-handed.
        const QUADS: [[u32; 4]; 6] =
            [[4, 5, 7, 6], [0, 2, 3, 1], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        for [a, b, c, d] in QUADS {
            for t in [[a, b, c], [a, c, d]] {
                let t = t.map(|n| first + n);
                mesh.triangles.push(if self.high { [t[0], t[2], t[1]] } else { t });
            }
        }
    }
}
