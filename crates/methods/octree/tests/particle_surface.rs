use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::particles::Bins;
use fluvial_octree::particles::surface::{Sorted, pull_surface};
use fluvial_octree::sides::TreeSides;

/// A level set that has lost a layer of two cells full of particles gets it back; particles inside change
/// nothing.
#[test]
fn particles_pull_the_surface_out_to_themselves() {
    let dx = 1.0 / 16.0;
    let shape = Shape { min: Vec3::ZERO, dx, levels: 1, roots: [16; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    // Eight in every cell below 0.5; their level set is the distance of the highest one within reach,
    // half a spacing up.
    let all = (0..32 * 32 * 32).map(|n| [n % 32, n / 32 % 32, n / 1024].map(|c| (c as f32 + 0.5) * 0.5 * dx));
    let x: Vec<Vec3> = all.map(Vec3::from_array).filter(|x| x.y < 0.5).collect();
    let mut bins = Bins::default();
    let order = bins.sort(&tree, &x, |_| true).to_vec();
    let x: Vec<Vec3> = order.iter().map(|&p| x[p as usize]).collect();
    let heat = vec![1.0; x.len()];
    let highest = (
        || f32::MIN,
        |most: &mut f32, away: Vec3| *most = most.max(away.y),
        |most: &f32| -(most + 0.25 * dx),
    );
    let pulled = |surface: f32| {
        let mut phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - surface).collect();
        let at: Vec<f32> = x.iter().map(|x| x.y - surface).collect();
        let particles = Sorted { bins: &bins, x: &x, heat: &heat, phi: &at, sides: TreeSides::NONE };
        pull_surface(&mut phi, &tree, &particles, highest, &mut vec![]);
        phi
    };
    let phi = pulled(0.5 - 2.0 * dx);
    for cell in 0..tree.cell_count() {
        let y = tree.cell_center(cell).y;
        if (y - 0.5).abs() < dx {
            assert!((phi[cell] - (y - 0.5)).abs() < 1e-5, "{y}: {}", phi[cell]);
        }
    }
    let inside = pulled(0.5 + 0.01);
    assert!((0..inside.len()).all(|c| inside[c] == tree.cell_center(c).y - (0.5 + 0.01)));
}
