// Private to the crate, and complete in itself.
#[path = "../src/trace.rs"]
#[allow(dead_code)]
mod trace;

use fluvial_foundation::{Vec3, random};
use fluvial_grids::{FaceField, UniformGrid};
use trace::{Cells, LANES, Offsets, VelocitySampler};

/// Samples loaded eight at a time are those loaded one by one, wherever the points have gone.
#[test]
fn neighbours_together_load_what_each_would_load_alone() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [29, 11, 9], dx: 1.0 };
    let noise = |n: usize, seed: u64| random::unit_vec3(n as u64, seed).x - 0.5;
    let mut u = FaceField::constant(&grid, 0.0);
    for axis in 0..3 {
        u[axis].iter_mut().enumerate().for_each(|(n, u)| *u = noise(n, axis as u64));
    }
    let sampler = VelocitySampler::new(&u, &grid);
    let mut together = 0;
    for case in 0..3000 {
        let r = random::unit_vec3(case, 7);
        let at = Cells { i: (r.x * 29.0) as usize, j: (r.y * 11.0) as usize, k: (r.z * 9.0) as usize };
        let (way, apart) = (4.0 * random::unit_vec3(case, 8) - 2.0, 0.4 * (case % 4) as f32);
        let x: Offsets = std::array::from_fn(|a| {
            std::array::from_fn(|l| way[a] + apart * noise(8 * case as usize + l, 9 + a as u64))
        });
        for component in 0..3 {
            let c = &sampler.components[component];
            let bases = c.bases(&sampler.stencils(component, at, &x).axis);
            together += (0..LANES).all(|l| bases[l] == bases[0] + l as i32) as usize;
            let [sx, sy, sz] = c.step;
            for (n, corner) in c.corners(&bases).iter().enumerate() {
                let offset = [0, sx][n & 1] + [0, sy][n >> 1 & 1] + [0, sz][n >> 2];
                for l in 0..LANES {
                    assert_eq!(corner[l], c.values[bases[l] as usize + offset]);
                }
            }
        }
    }
    assert!((1000..8000).contains(&together), "{together} of 9000 are no test of both ways");
}
