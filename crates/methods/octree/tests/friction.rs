use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::fractions::close_walls;
use fluvial_octree::friction::{FrictionScratch, rough_patches, rub};
use fluvial_octree::gradient::Geometry;

/// A layer of depth h on a rough floor: `u = u0 / (1 + C_f u0 t / (2 h))`, wherever cells are large or small: at the floor, at
/// the surface, on one side.
#[test]
fn a_layer_on_cells_of_two_sizes_slows_down_as_hydraulics_says() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 3, roots: [8; 3] };
    let (h, friction, u0, time_s, steps) = (0.43, 0.1, 2.0, 1.5, 5);
    let divided: [fn(Vec3) -> bool; 3] = [|x| x.y < 0.2, |x| (x.y - 0.43).abs() < 0.2, |x| x.x + x.z < 0.6];
    for is_small in divided {
        let tree = Octree::build(shape, 1, |cell| cell.level > 0 && is_small(shape.center(cell)));
        let phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - h).collect();
        let mut area = vec![1.0; tree.face_count()];
        let walls = [0.0, 0.0, friction, 0.0, 0.0, 0.0];
        let patches = rough_patches(&tree, &area, walls, |_, _| (0.0, Vec3::ZERO));
        // Open along x: the layer streams through.
        close_walls(&mut area, &tree, [false, false, true, true, true, true]);
        let (volume, parted) = (vec![1.0; tree.cell_count()], vec![false; tree.cell_count()]);
        let liquid = Geometry { tree: &tree, phi_cell: &phi, open_area: &area };
        let is_x = |face: &usize| tree.face_axis(*face) == 0;
        let mut u: Vec<f32> = (0..tree.face_count()).map(|f| if is_x(&f) { u0 } else { 0.0 }).collect();
        let mut scratch = FrictionScratch::default();
        for _ in 0..steps {
            rub(&mut u, &liquid, (&volume, &parted), &patches, time_s / steps as f32, &mut scratch);
        }
        let exact = u0 / (1.0 + 0.5 * friction * u0 * time_s / h);
        let wet = |face: &usize| tree.cells_beside(*face).any(|cell| phi[cell] < 0.0);
        for face in (0..tree.face_count()).filter(is_x).filter(wet) {
            assert!((u[face] / exact - 1.0).abs() < 1e-4, "{}, exact {exact}", u[face]);
        }
        assert!(tree.cells_of(0).len() > 100 && tree.cells_of(1).len() > 100, "two sizes");
    }
}
