//! How much of a cell, and of the domain, is liquid.

use crate::cut_volume::cut_cell_share;
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::cut::cube_below_plane;
use fluvial_grids::patch::Patch;
use fluvial_grids::{Sides, UniformGrid};

/// Fraction of a cubic cell of edge `dx` below the plane `phi_center + gradient . x = 0` (x from the centre).
///
/// Exact, see [`cube_below_plane`]. Verified by `fractions_of_random_planes`.
pub fn liquid_fraction(phi_center: f32, gradient: Vec3, dx: f32) -> f32 {
    fraction(phi_center as f64, [gradient.x as f64, gradient.y as f64, gradient.z as f64], dx as f64) as f32
}

fn fraction(phi: f64, gradient: [f64; 3], dx: f64) -> f64 {
    cube_below_plane(phi, gradient.map(|g| g * dx))
}

/// phi of the cells around one, planes continued through the walls.
#[derive(Clone, Copy)]
pub(crate) struct Neighbourhood<'a> {
    pub phi: &'a [f32],
    pub cells: [usize; 3],
}

impl Neighbourhood<'_> {
    /// phi at a cell up to one beyond the walls (linear continuation per axis).
    #[inline]
    pub fn at(&self, c: [isize; 3]) -> f64 {
        if (0..3).all(|a| (c[a] as usize) < self.cells[a]) {
            let [i, j, k] = c.map(|v| v as usize);
            return self.phi[i + self.cells[0] * (j + self.cells[1] * k)] as f64;
        }
        self.beyond(c)
    }

    /// phi beyond the walls.
    #[cold]
    fn beyond(&self, c: [isize; 3]) -> f64 {
        for axis in 0..3 {
            let n = self.cells[axis] as isize;
            if c[axis] < 0 || c[axis] >= n {
                let inward = if c[axis] < 0 { 1 } else { -1 };
                let (mut first, mut second) = (c, c);
                first[axis] += inward;
                if n == 1 {
                    return self.at(first);
                }
                second[axis] += 2 * inward;
                return 2.0 * self.at(first) - self.at(second);
            }
        }
        let [i, j, k] = c.map(|v| v as usize);
        self.phi[i + self.cells[0] * (j + self.cells[1] * k)] as f64
    }
}

/// Liquid volume in m3: liquid fraction times open volume over all cells.
///
/// A cell near the interface is cut by the plane of its central differences, offset by h^2/24 Lap(phi) (the
/// mean of phi over the cell), which takes the curvature within the cell into account: fourth order for a
/// sphere. Where phi bends sharply (sheets and edges) each octant of the cell is cut by the plane of the
/// trilinear interpolant instead. In cells that a solid cuts as well, the share of the open part that is
/// liquid comes from tetrahedra on which both phi are linear; exact for planes.
/// Verified by tests/volume.rs.
pub fn liquid_volume(phi: &[f32], open_volume: &[f32], phi_solid_node: &[f32], grid: &UniformGrid) -> f64 {
    liquid_volume_on_sides(phi, open_volume, phi_solid_node, Sides::NONE, grid)
}

/// As [`liquid_volume`], between thin solids: a cell is cut by what it sees of phi. Test: tests/sides.rs.
pub fn liquid_volume_on_sides(
    phi: &[f32],
    open_volume: &[f32],
    phi_solid_node: &[f32],
    sides: &Sides,
    grid: &UniformGrid,
) -> f64 {
    let share = CellShare::new(phi, open_volume, phi_solid_node, sides, grid, Vec3::ZERO);
    let [nx, ny, nz] = grid.cells;
    let cells = parallel::ordered_sum(nz, |k| {
        (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j))).map(|(i, j)| share.at(i, j, k)).sum()
    });
    cells * (grid.dx as f64).powi(3)
}

/// The share of every cell's volume that is liquid and outside solids: the terms of [`liquid_volume_on_sides`], but for
/// the cells that a solid cuts where a direction `up` (of length 1, or zero) is given.
///
/// The surface in those is then taken level, at the height of the cell's centre. Pressure and fluxes know no more of it: what is
/// open of a cut face moves as one, and the pressure above it follows from phi at the cell's centre. Where the solid leaves
/// one side of a cell, the height there depends on the neighbour's phi as well, while the neighbour's share does not depend on the cell's:
/// as a law from volume to height that is not symmetric, and waves of a few cells along a contact line grew by 2.5 a second.
/// Test: `a_wave_along_a_wall_changes_the_cells_that_it_is_in`.
pub fn liquid_fractions(
    fraction_cell: &mut [f32],
    phi: &[f32],
    open_volume: &[f32],
    phi_solid_node: &[f32],
    sides: &Sides,
    grid: &UniformGrid,
    up: Vec3,
) {
    let share = CellShare::new(phi, open_volume, phi_solid_node, sides, grid, up);
    grid.cell_centers().for_each_mut(fraction_cell, |_, [i, j, k], fraction| {
        *fraction = share.at(i, j, k) as f32;
    });
}

/// Everything that the liquid share of a cell depends on.
struct CellShare<'a> {
    around: Neighbourhood<'a>,
    open_volume: &'a [f32],
    phi_solid_node: &'a [f32],
    sides: &'a Sides,
    grid: &'a UniformGrid,
    dx: f32,
    /// Direction across which surfaces in cut cells are level, 1/m; zero for none.
    up: DVec3,
}

impl<'a> CellShare<'a> {
    fn new(
        phi: &'a [f32],
        open_volume: &'a [f32],
        phi_solid_node: &'a [f32],
        sides: &'a Sides,
        grid: &'a UniformGrid,
        up: Vec3,
    ) -> Self {
        assert!(phi.len() == grid.cell_count() && open_volume.len() == phi.len());
        assert_eq!(phi_solid_node.len(), grid.nodes().len());
        CellShare {
            around: Neighbourhood { phi, cells: grid.cells },
            open_volume,
            phi_solid_node,
            sides,
            grid,
            dx: grid.dx,
            up: up.as_dvec3() / f64::from(grid.dx),
        }
    }

    #[inline]
    fn at(&self, i: usize, j: usize, k: usize) -> f64 {
        let cell = i + self.around.cells[0] * (j + self.around.cells[1] * k);
        let (value, open) = (self.around.phi[cell], self.open_volume[cell]);
        let near = 1.1 * self.dx; // farther than half the diagonal from the interface: all or nothing
        if open <= 0.0 || value >= near {
            return 0.0;
        }
        if value <= -near {
            return open as f64;
        }
        if self.sides.is_near(cell) {
            let cells = self.grid.cell_centers();
            let patch = Patch::new(|cell| self.around.phi[cell], &cells, self.sides, [i, j, k], 1);
            let around = Neighbourhood { phi: patch.values(), cells: patch.lattice.size };
            return open as f64 * self.share_of(&around, patch.center, [i, j, k]);
        }
        open as f64 * self.share_of(&self.around, [i, j, k], [i, j, k])
    }

    /// The liquid share of the open part of a cell; `c` is its place among the cells `around`.
    #[inline]
    fn share_of(&self, around: &Neighbourhood, c: [usize; 3], at: [usize; 3]) -> f64 {
        let cell = at[0] + self.around.cells[0] * (at[1] + self.around.cells[1] * at[2]);
        let c = c.map(|v| v as isize);
        if self.open_volume[cell] >= 1.0 {
            return cell_fraction(around, c, self.dx as f64);
        }
        let nodes = self.grid.nodes();
        let solid = nodes.corner_values(self.phi_solid_node, nodes.index(at[0], at[1], at[2]));
        let own = self.sides.own_corners.get(cell).copied().unwrap_or(0xff);
        // On other sides of a solid that divides the cell nothing is open.
        let of_side = |n: usize| if own >> n & 1 == 1 { solid[n] } else { -solid[n].abs() };
        cut_cell_share(around, std::array::from_fn(|n| of_side(n) as f64), c, self.up)
    }
}

/// Liquid fraction of an open cell.
fn cell_fraction(around: &Neighbourhood, c: [isize; 3], dx: f64) -> f64 {
    let here = around.at(c);
    let (mut gradient, mut laplacian, mut sharpest) = ([0.0; 3], 0.0, 0.0f64);
    for a in 0..3 {
        let (mut low, mut high) = (c, c);
        low[a] -= 1;
        high[a] += 1;
        let (low, high) = (around.at(low), around.at(high));
        let bend = (low + high) - 2.0 * here;
        gradient[a] = (high - low) / (2.0 * dx);
        laplacian += bend;
        sharpest = sharpest.max(bend.abs());
    }
    if sharpest < 0.3 * dx {
        return fraction(here + laplacian / 24.0, gradient, dx);
    }
    let mut sum = 0.0;
    for octant in 0..8 {
        let toward: [isize; 3] = std::array::from_fn(|a| if octant >> a & 1 == 1 { 1 } else { -1 });
        let v: [f64; 8] = std::array::from_fn(|n| {
            around.at(std::array::from_fn(|a| if n >> a & 1 == 1 { c[a] + toward[a] } else { c[a] }))
        });
        let (value, slope) = octant_plane(v);
        let gradient = std::array::from_fn(|a| slope[a] * toward[a] as f64 / dx);
        sum += fraction(value, gradient, 0.5 * dx);
    }
    sum / 8.0
}

/// Value and differences (away from the cell) of the trilinear interpolant at a quarter of each edge.
fn octant_plane(v: [f64; 8]) -> (f64, [f64; 3]) {
    let weight = |n: usize, skip: usize| -> f64 {
        (0..3).filter(|&a| a != skip).map(|a| if n >> a & 1 == 1 { 0.25 } else { 0.75 }).product()
    };
    let value = (0..8).map(|n| weight(n, 3) * v[n]).sum();
    let slope = std::array::from_fn(|a| {
        (0..8).map(|n| if n >> a & 1 == 1 { weight(n, a) * v[n] } else { -weight(n, a) * v[n] }).sum()
    });
    (value, slope)
}
