use fluvial_foundation::{AXES, Vec3, random};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_output::{FrameTime, HALF_WIDTH_CELLS, VdbVolume, VolumeView, encode_vdb};

const TIME: FrameTime = FrameTime { frame: 7, fps: 24.0 };

/// A pool 0.3 m deep with a ball above it, in a box.
struct Sample {
    grid: UniformGrid,
    phi: Vec<f32>,
    u: FaceField,
    phi_solid: Vec<f32>,
}

impl Sample {
    fn new(cells: [usize; 3], dx: f32) -> Sample {
        let grid = UniformGrid { min: Vec3::new(-0.25, 0.5, 1.0), cells, dx };
        let size = grid.bounds().max - grid.min;
        let centers = grid.cell_centers();
        let band = 5.0 * dx;
        let phi = (0..centers.len()).map(|n| {
            let [i, j, k] = centers.coordinates(n);
            let x = centers.position(i, j, k) - grid.min;
            let ball = (x - size * Vec3::new(0.5, 0.7, 0.5)).length() - 0.18 * size.x;
            (x.y - 0.3 * size.y).min(ball).clamp(-band, band)
        });
        let phi = phi.collect();
        let mut u = FaceField::constant(&grid, 0.0);
        for a in AXES {
            u[a].iter_mut().enumerate().for_each(|(n, v)| *v = random::unit_vec3(n as u64, a as u64).x - 0.5);
        }
        let nodes = grid.nodes();
        let phi_solid = (0..nodes.len()).map(|n| {
            let [i, j, k] = nodes.coordinates(n);
            let x = nodes.position(i, j, k) - grid.min;
            ((x - size * Vec3::new(0.9, 0.2, 0.5)).length() - 0.25 * size.x).clamp(-3.0 * dx, 3.0 * dx)
        });
        let phi_solid = phi_solid.collect();
        Sample { grid, phi, u, phi_solid }
    }

    fn view(&self, solid: bool) -> VolumeView<'_> {
        let phi_solid_node = solid.then_some(self.phi_solid.as_slice());
        VolumeView { grid: self.grid, phi_cell: &self.phi, u_face: &self.u, phi_solid_node }
    }
}

#[test]
fn the_solvers_own_values_come_back_bit_for_bit_in_the_band() {
    // 140 cells cross the border of a lower node at 128.
    for (cells, solid) in [([24, 40, 17], false), ([24, 40, 17], true), ([140, 30, 12], true)] {
        let sample = Sample::new(cells, 0.02);
        let bytes = encode_vdb(&sample.view(solid), TIME);
        let volume = VdbVolume::parse(bytes).unwrap();
        assert_eq!((volume.grid, volume.time), (sample.grid, TIME));
        let band = HALF_WIDTH_CELLS * sample.grid.dx;
        let phi = volume.phi_cell().unwrap();
        for (n, (&read, &written)) in phi.iter().zip(&sample.phi).enumerate() {
            assert_eq!(read, written.clamp(-band, band), "cell {n}");
        }
        let u = volume.u_face().unwrap();
        let cells = sample.grid.cell_centers();
        let mut checked = 0;
        for n in (0..cells.len()).filter(|&n| sample.phi[n] < band) {
            let [i, j, k] = cells.coordinates(n);
            for a in AXES {
                let low = sample.grid.faces(a).index(i, j, k);
                for face in [low, low + sample.grid.faces(a).stride(a)] {
                    assert_eq!(u[a][face], sample.u[a][face]);
                    checked += 1;
                }
            }
        }
        assert!(checked > 1000);
    }
}

#[test]
fn equal_volumes_give_equal_files_with_any_number_of_threads() {
    let sample = Sample::new([24, 40, 17], 0.02);
    let encode = || encode_vdb(&sample.view(true), TIME);
    let one = fluvial_foundation::parallel::with_threads(1, encode);
    assert_eq!(one, fluvial_foundation::parallel::with_threads(4, encode));
}

#[test]
fn every_truncation_and_every_damaged_byte_is_an_error_and_never_a_panic() {
    let sample = Sample::new([9, 10, 5], 0.1);
    let good = encode_vdb(&sample.view(true), TIME);
    assert!(VdbVolume::parse(&good).is_ok());
    // Most of so small a file is masks of nothing: every byte of the rest, and samples of those.
    let dull = |n: &usize| (3000..good.len() - 20_000).contains(n) && !n.is_multiple_of(5);
    for n in (0..good.len()).filter(|n| !dull(n)) {
        assert!(VdbVolume::parse_unverified(&good[..n]).is_err(), "cut at {n}");
    }
    assert!(VdbVolume::parse([good.as_slice(), &[0]].concat()).is_err(), "trailing byte");
    let mut bad = good.clone();
    for n in (0..good.len()).filter(|n| !dull(n)) {
        let flip = 1 << (random::splitmix64(n as u64) % 8);
        bad[n] ^= flip;
        assert!(VdbVolume::parse(&bad).is_err(), "byte {n}");
        bad[n] ^= flip;
    }
}

#[test]
fn a_damaged_tree_behind_a_good_checksum_is_survived() {
    let sample = Sample::new([9, 10, 5], 0.1);
    let good = encode_vdb(&sample.view(true), TIME);
    let mut errors = 0;
    for n in (0..good.len() as u64).step_by(9) {
        let mut bad = good.clone();
        // One byte each, and now and then several.
        for m in 0..1 + 15 * u64::from(n % 16 == 0) {
            let at = if m == 0 { n } else { random::splitmix64(n * 31 + m) % good.len() as u64 };
            bad[at as usize] ^= random::splitmix64(n * 17 + m) as u8 | 1;
        }
        match VdbVolume::parse_unverified(bad) {
            Ok(volume) => errors += usize::from(volume.phi_cell().is_err() || volume.u_face().is_err()),
            Err(_) => errors += 1,
        }
    }
    assert!(errors > good.len() / 18, "{errors}");
}

#[test]
fn a_liquid_that_is_everywhere_or_nowhere_can_be_written() {
    let mut sample = Sample::new([20, 12, 9], 0.1);
    for value in [-1.0, 1.0, f32::NAN] {
        sample.phi.fill(value);
        let volume = VdbVolume::parse(encode_vdb(&sample.view(false), TIME)).unwrap();
        let wanted = if value < 0.0 { -HALF_WIDTH_CELLS * 0.1 } else { HALF_WIDTH_CELLS * 0.1 };
        assert!(volume.phi_cell().unwrap().iter().all(|&p| p == wanted), "{value}");
    }
}
