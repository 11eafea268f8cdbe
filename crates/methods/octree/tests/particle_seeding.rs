use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::interpolate::{Interpolation, Sampler};
use fluvial_octree::particles::Bins;
use fluvial_octree::particles::seeding::{Band, Pool, SeedingScratch, find_hot_cells, find_seeds};
use fluvial_octree::sides::TreeSides;

/// A calm pool whose left half asks for smaller cells: only there, three cells deep, every octant of
/// liquid gets a particle with the liquid's velocity, and none a second one.
#[test]
fn seeds_fill_the_band_under_an_eventful_surface() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 1, roots: [16; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - 0.5).collect();
    let size: Vec<f32> =
        (0..tree.cell_count()).map(|c| if tree.cell_center(c).x < 0.25 { 20.0 } else { 0.0 }).collect();
    let v = Vec3::new(1.0, 2.0, 3.0);
    let u: Vec<f32> = (0..tree.face_count()).map(|f| v[tree.face_axis(f)]).collect();
    let band = Band { depth_cells: 3.0, least_size_1_m: 16.0, margin_cells: 0.02 };
    let mut hot = vec![];
    find_hot_cells(&mut hot, &tree, (&phi, &size), &band, &mut SeedingScratch::default());
    let sampler = Sampler::new(&tree, Interpolation::Mls);
    let pool = Pool {
        tree: &tree,
        sampler: &sampler,
        phi_cell: &phi,
        phi_solid_cell: &[],
        u_face: &u,
        sides: TreeSides::NONE,
    };
    let mut bins = Bins::default();
    bins.sort(&tree, &[], |_| true);
    let (x, velocities): (Vec<Vec3>, Vec<Vec3>) = find_seeds(&pool, (&[], &bins), &hot, &band, 1).unzip();
    assert!(velocities.iter().all(|&found| found.distance(v) < 1e-5));
    assert!(x.iter().all(|x| x.y < 0.5 && x.y > 0.5 - 4.0 / 16.0 && x.x < 0.25 + 4.0 / 16.0));
    // Three layers of cells under 4 to 7 of the 16 columns along x; the topmost octants may lie too near
    // the surface.
    let columns = x.len() as f64 / (8.0 * 3.0 * 16.0);
    assert!(columns > 4.0 && columns <= 7.0, "{columns}");
    let order = bins.sort(&tree, &x, |_| true).to_vec();
    let sorted: Vec<Vec3> = order.iter().map(|&p| x[p as usize]).collect();
    assert_eq!(find_seeds(&pool, (&sorted, &bins), &hot, &band, 2).count(), 0);
}
