use fluvial_foundation::Vec3;
use fluvial_sheets::Bins;
use fluvial_sheets::SheetParams;
use fluvial_sheets::lattice_density;
use fluvial_sheets::{Families, Neighbours, Particles, Walls, cells_below_surface, deposit};

#[test]
fn whoever_is_called_deep_is_dense() {
    // Slabs, columns and balls of all sizes, at any place in the cells, are deep only where the density
    // is beyond the surface's.
    let (n, d0) = (20, 0.025f32);
    let bins = Bins { min: Vec3::ZERO, cell_m: 2.0 * d0, size: [n; 3] };
    let params = SheetParams::new(d0);
    let rho0 = lattice_density(params.density_reach);
    let mut deep = 0;
    for half in 2..12 {
        for shift in 0..4 {
            let (half, center) = (half as f32 * d0, 0.5 + 0.25 * shift as f32 * d0);
            for shape in 0..3 {
                let mut particles = Particles::default();
                for index in 0..(2 * n).pow(3) {
                    let at = [index % (2 * n), index / (2 * n) % (2 * n), index / (4 * n * n)];
                    let x = d0 * (Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32) + 0.5);
                    let d = x - center;
                    let inside = [d.y.abs(), d.truncate().length(), d.length()][shape] < half;
                    if inside {
                        particles.push_small(x, Vec3::ZERO);
                    }
                }
                let mut neighbours = Neighbours::new(bins);
                neighbours.sort(&mut particles, &mut Families::default());
                let mut mass = vec![0.0; bins.count()];
                deposit(&mut mass, &particles, &neighbours, &Walls::NONE, d0, |i| particles.weight(i));
                let below = cells_below_surface(&mass, &bins, &params);
                let walls = Walls { low: [0.0; 3], high: [1.0; 3], solid: None };
                for &x in particles.x.iter().filter(|x| below[bins.index(bins.coordinates(**x))]) {
                    let rho = neighbours.density(x, params.reach_m(), &walls) / rho0;
                    assert!(rho > params.surface_density, "{rho} in shape {shape} of {half} at {x}");
                    deep += 1;
                }
            }
        }
    }
    assert!(deep > 100_000, "{deep}");
}
