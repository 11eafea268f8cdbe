//! The drag on short waves.

use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::short_waves::{ShortWaveScratch, Waves, drag_short_waves};
use fluvial_octree::sides::TreeSides;

const WAVES: Waves = Waves { gravity_m_s2: 0.0, tension_over_density: 1.0, push_s: 0.01 };

/// The drag at the cells beside a level surface where every face moves at `u(place)` along y, by the cells' places.
fn drag(u: impl Fn(Vec3) -> f32) -> Vec<(Vec3, f32)> {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 1, roots: [12; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let place = |cell: usize| tree.cell_center(cell);
    let phi: Vec<f32> = (0..tree.cell_count()).map(|cell| place(cell).y - 6.2).collect();
    let mut s: Vec<f32> = phi.iter().map(|phi| if phi.abs() < 1.0 { 0.0 } else { f32::NAN }).collect();
    let u_face: Vec<f32> = (0..tree.face_count())
        .map(|face| if tree.face_axis(face) == 1 { u(tree.face_center(face, 1)) } else { 0.0 })
        .collect();
    let (on, scratch) = ((&tree, TreeSides::NONE), &mut ShortWaveScratch::default());
    assert_eq!(drag_short_waves(&mut s, on, (&phi, &u_face), WAVES, scratch), 0);
    let is_inner = |x: Vec3| (3.0..9.0).contains(&x.x) && (3.0..9.0).contains(&x.z);
    (0..s.len()).filter(|&c| !s[c].is_nan() && is_inner(place(c))).map(|c| (place(c), s[c])).collect()
}

/// Ripples of two cells feel `C c (4/12)^2` times their velocity, which is what takes 0.17 c / dx a second of them.
#[test]
fn ripples_of_two_cells_are_dragged() {
    let ripple = |x: Vec3| if x.x.floor() as i32 % 2 == 0 { 0.3 } else { -0.3 };
    let found = drag(ripple);
    assert_eq!(found.len(), 2 * 36);
    for (x, s) in found {
        assert!((s - ripple(x) / 9.0).abs() < 1e-6, "{s} at {x}");
    }
}

#[test]
fn uniform_and_linear_velocities_feel_no_drag() {
    for (x, s) in drag(|x| 0.7 - 0.1 * x.x + 0.05 * x.z) {
        assert!(s.abs() < 1e-6, "{s} at {x}");
    }
}

/// A long step takes no more of a wave than there is of it.
#[test]
fn the_length_of_a_step_bounds_the_drag() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 1, roots: [8; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let phi: Vec<f32> = (0..tree.cell_count()).map(|cell| tree.cell_center(cell).y - 4.2).collect();
    let mut s: Vec<f32> = phi.iter().map(|phi| if phi.abs() < 1.0 { 0.0 } else { f32::NAN }).collect();
    let (u, waves) = (vec![0.0; tree.face_count()], Waves { push_s: 10.0, ..WAVES });
    let on = (&tree, TreeSides::NONE);
    let bounded = drag_short_waves(&mut s, on, (&phi, &u), waves, &mut ShortWaveScratch::default());
    assert_eq!(bounded, 2 * 64);
}
