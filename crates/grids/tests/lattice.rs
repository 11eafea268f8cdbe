use fluvial_foundation::Vec3;
use fluvial_grids::lattice::Lattice;

fn lattice() -> Lattice {
    Lattice { size: [5, 4, 3], origin: Vec3::new(-1.0, 0.5, 2.0), spacing: 0.25 }
}

#[test]
fn loops_give_every_sample_its_own_index_and_place() {
    let l = lattice();
    let (mut a, mut b) = (vec![usize::MAX; l.len()], vec![[usize::MAX; 3]; l.len()]);
    l.for_each_mut(&mut a, |index, [i, j, k], a| {
        assert_eq!(index, l.index(i, j, k));
        *a = index;
    });
    l.for_each_mut2(&mut a, &mut b, |index, at, a, b| {
        assert_eq!(*a, index);
        *b = at;
    });
    assert!((0..l.len()).all(|n| a[n] == n && b[n] == l.coordinates(n)));
}

fn linear(x: Vec3) -> f32 {
    1.0 + 2.0 * x.x - 3.0 * x.y + 0.5 * x.z
}

fn fill(l: &Lattice, f: impl Fn(Vec3) -> f32) -> Vec<f32> {
    (0..l.len())
        .map(|n| {
            let [i, j, k] = l.coordinates(n);
            f(l.position(i, j, k))
        })
        .collect()
}

#[test]
fn interpolation_reproduces_linear_fields_and_their_gradient() {
    let l = lattice();
    let values = fill(&l, linear);
    for n in 0..200 {
        let r = fluvial_foundation::random::unit_vec3(n, 1);
        let x = l.origin + r * l.spacing * Vec3::new(4.0, 3.0, 2.0);
        assert!((l.sample(&values, x) - linear(x)).abs() < 1e-5);
        assert!((l.gradient(&values, x) - Vec3::new(2.0, -3.0, 0.5)).length() < 1e-4);
    }
}

#[test]
fn outside_the_hull_the_nearest_value_holds() {
    let l = lattice();
    let values = fill(&l, linear);
    let corner = l.position(4, 3, 2);
    assert_eq!(l.sample(&values, corner + 3.0), values[l.index(4, 3, 2)]);
    assert_eq!(l.sample(&values, l.origin - 3.0), values[0]);
}

#[test]
fn flat_indices_and_coordinates_are_inverse() {
    let l = lattice();
    for n in 0..l.len() {
        let [i, j, k] = l.coordinates(n);
        assert_eq!(l.index(i, j, k), n);
    }
}
