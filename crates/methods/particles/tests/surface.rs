//! The coarse correction.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_particles::*;

/// The grid has a drop that no particle knows; only what lies deeper than a cell stays, or next to a solid.
#[test]
fn liquid_without_particles_goes() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [20; 3], dx: 0.05 };
    let phi = fill(grid.cell_centers(), |x| (x - 0.5).length() - 0.12);
    let mut left = phi.clone();
    Cloud::default().correct(&mut left, &Surroundings::closed(&grid));
    for n in 0..phi.len() {
        assert_eq!(left[n] < 0.0, phi[n] < -grid.dx);
    }
    let solid = fill(grid.nodes(), |x| (x - 0.5).length());
    let mut beside_a_solid = phi.clone();
    Cloud::default().correct(&mut beside_a_solid, &with_solids(&grid, &solid));
    assert!(beside_a_solid[grid.cell_centers().index(10, 10, 10)] < 0.0);
    let stays = |n: &usize| phi[*n] < 0.0 && beside_a_solid[*n] < 0.0;
    let goes = |n: &usize| phi[*n] < 0.0 && beside_a_solid[*n] >= 0.0;
    let count = |which: &dyn Fn(&usize) -> bool| (0..phi.len()).filter(|n| which(n)).count();
    assert!(count(&stays) > 0 && count(&goes) > 0);
}
