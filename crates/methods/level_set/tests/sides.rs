//! Liquid beside thin walls: what lies behind them is not seen.

use fluvial_foundation::{AXES, Vec3, random::unit_vec3};
use fluvial_grids::{FaceField, Sides, UniformGrid};
use fluvial_level_set::{
    PhiAdvection, Scratch, advect_phi_on_sides, extend_on_sides, liquid_volume_on_sides,
    redistance_among_solids,
};

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [16, 16, 12], dx: 0.25 };
const BAND: f32 = 5.0;

/// An infinitely thin wall through the middle; cells belong to the side of their centre.
struct Wall {
    normal: Vec3,
    sides: Sides,
}

impl Wall {
    fn distance(&self, x: Vec3) -> f32 {
        (x - 0.5 * (GRID.bounds().min + GRID.bounds().max)).dot(self.normal)
    }

    fn slanting(n: u64) -> Self {
        let normal = (unit_vec3(n, 3) - Vec3::new(0.2, 0.5, 0.5)).normalize();
        let mut wall = Wall { normal, sides: Sides::default() };
        let cells = GRID.cell_centers();
        let above = |at: [usize; 3]| wall.distance(cells.position(at[0], at[1], at[2])) > 0.0;
        let mut barred = vec![Sides::NEAR; cells.len()];
        for (cell, bits) in barred.iter_mut().enumerate() {
            let at = cells.coordinates(cell);
            for axis in AXES {
                let (mut low, mut high) = (at, at);
                low[axis] = low[axis].saturating_sub(1);
                high[axis] = (high[axis] + 1).min(cells.size[axis] - 1);
                *bits |= ((above(low) != above(at)) as u8) << (2 * axis);
                *bits |= ((above(high) != above(at)) as u8) << (2 * axis + 1);
            }
        }
        wall.sides = Sides { own_corners: vec![0xff; cells.len()], barred };
        wall
    }

    /// `above(x)` on the upper side of the wall, air on the other.
    fn phi(&self, above: impl Fn(Vec3) -> f32) -> Vec<f32> {
        let cells = GRID.cell_centers();
        let value = |x: Vec3| if self.distance(x) > 0.0 { above(x) } else { BAND * GRID.dx };
        (0..cells.len())
            .map(|c| cells.coordinates(c))
            .map(|[i, j, k]| value(cells.position(i, j, k)))
            .collect()
    }
}

/// A level surface ends at a slanting wall with air behind: it stays where it is, however often phi is made a
/// distance.
#[test]
fn a_plane_beside_a_thin_wall_keeps_its_place() {
    for n in 0..12 {
        let wall = Wall::slanting(n);
        let level = |x: Vec3| (x.y - 2.03).clamp(-BAND * GRID.dx, BAND * GRID.dx);
        let start = wall.phi(level);
        let mut phi = start.clone();
        let mut scratch = Scratch::default();
        for _ in 0..20 {
            let solids = (&[][..], &wall.sides);
            redistance_among_solids(&mut phi, &GRID.cell_centers(), BAND * GRID.dx, solids, &mut scratch);
        }
        let cells = GRID.cell_centers();
        for cell in 0..phi.len() {
            let [i, j, k] = cells.coordinates(cell);
            let off = (phi[cell] - start[cell]).abs() / GRID.dx;
            // Farther out the nearest point that a cell sees of the surface may be round a corner.
            if start[cell].abs() < 1.0 * GRID.dx {
                // Where the wall leaves a cell alone at the edge of the domain there is little to continue.
                let at_edge = AXES.iter().any(|&a| [i, j, k][a] % (cells.size[a] - 1) == 0);
                let most = if at_edge { 0.15 } else { 0.02 };
                assert!(off < most, "wall {n}, cell {i} {j} {k}: {} became {}", start[cell], phi[cell]);
            }
            assert_eq!(phi[cell] < 0.0, start[cell] < 0.0);
        }
        let open = (vec![1.0; phi.len()], vec![1.0; GRID.nodes().len()]);
        let volume = |phi: &[f32]| liquid_volume_on_sides(phi, &open.0, &open.1, &wall.sides, &GRID);
        let change = volume(&phi) / volume(&start) - 1.0;
        assert!(change.abs() < 1e-4, "wall {n}: {change}");
    }
}

/// Liquid that flows against a thin wall does not come out on the other side, and air does not come in.
#[test]
fn nothing_is_carried_through_a_thin_wall() {
    for n in 0..6 {
        let wall = Wall::slanting(n);
        for toward in [-1.0, 1.0] {
            let mut u = FaceField::constant(&GRID, 0.0);
            AXES.into_iter().for_each(|axis| u[axis].fill(toward * wall.normal[axis]));
            let schemes = [PhiAdvection::SemiLagrangian, PhiAdvection::MacCormack, PhiAdvection::Cubic];
            for (scheme, with_surface) in schemes.into_iter().flat_map(|s| [(s, false), (s, true)]) {
                let phi = wall.phi(|_| -BAND * GRID.dx * 0.9);
                let mut out = phi.clone();
                let (dt_s, band_m) = (1.7 * GRID.dx, BAND * GRID.dx * 1.01);
                let scratch = &mut Scratch::default();
                let u = (&u, with_surface);
                advect_phi_on_sides(&mut out, &phi, u, &GRID, dt_s, scheme, band_m, &wall.sides, scratch);
                assert!(out.iter().zip(&phi).all(|(a, b)| (a - b).abs() < 1e-5), "{n} {scheme:?}");
            }
        }
    }
}

/// Closed cells beside a wall with a level surface before it and air behind go on level.
#[test]
fn a_closed_cell_goes_on_from_its_own_side() {
    for n in 0..6 {
        let wall = Wall::slanting(n);
        let level = |x: Vec3| (x.y - 2.03).clamp(-BAND * GRID.dx, BAND * GRID.dx);
        let (start, cells) = (wall.phi(level), GRID.cell_centers());
        let place = |cell: usize| cells.coordinates(cell);
        let height =
            |cell: usize| wall.distance(cells.position(place(cell)[0], place(cell)[1], place(cell)[2]));
        let is_inner = |cell: usize| (0..3).all(|a| place(cell)[a] > 2 && place(cell)[a] + 3 < cells.size[a]);
        let closed: Vec<bool> = (0..cells.len())
            .map(|cell| is_inner(cell) && (0.0..0.2 * GRID.dx).contains(&height(cell)) && cell % 3 == 0)
            .collect();
        let mut phi = start.clone();
        closed.iter().zip(&mut phi).filter(|(closed, _)| **closed).for_each(|(_, phi)| *phi = 1.0);
        extend_on_sides(&mut phi, &closed, &cells, &wall.sides, &mut Scratch::default());
        let mut checked = 0;
        for cell in (0..cells.len()).filter(|&cell| closed[cell] && start[cell].abs() < 2.0 * GRID.dx) {
            assert!(
                (phi[cell] - start[cell]).abs() < 0.02 * GRID.dx,
                "{n} {:?}: {} {}",
                place(cell),
                phi[cell],
                start[cell]
            );
            checked += 1;
        }
        assert!(checked > 0);
    }
}
