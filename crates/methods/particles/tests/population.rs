//! Sorting, seeding, thinning; ids; threads.

use crate::common::*;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_particles::*;
use std::collections::{BTreeMap, BTreeSet};

fn pool(grid: &UniformGrid, level: f32) -> Vec<f32> {
    fill(grid.cell_centers(), |x| x.y - level)
}

#[test]
fn sorting_groups_particles_by_cell_and_keeps_the_order_within() {
    let grid = grid([40, 30, 20], 0.05);
    let particles = scattered(&grid, 60_000, -0.5, true);
    let before: BTreeMap<u64, (Vec3, Vec3, Vec3)> = (0..particles.len())
        .map(|p| (particles.id[p], (particles.x[p], particles.v[p], particles.affine[2][p])))
        .collect();
    let cloud = Cloud::of(particles, &grid);
    let Cloud { particles, ranges, .. } = &cloud;
    assert!(ranges.describe(particles, &grid));
    let mut seen = 0;
    for cell in 0..grid.cell_count() {
        let [i, j, k] = grid.cell_centers().coordinates(cell);
        let center = grid.cell_centers().position(i, j, k);
        for p in ranges.of_cell(cell) {
            seen += 1;
            let x = particles.x[p].clamp(grid.bounds().min, grid.bounds().max);
            assert!((x - center).abs().max_element() < 0.5001 * grid.dx);
            assert_eq!(before[&particles.id[p]], (particles.x[p], particles.v[p], particles.affine[2][p]));
        }
        assert!(particles.id[ranges.of_cell(cell)].is_sorted(), "order within a cell is kept");
    }
    assert_eq!(seen, 60_000);
}

#[test]
fn ranges_of_moved_particles_are_refused() {
    let grid = grid([6, 6, 6], 0.1);
    let mut cloud = Cloud::of(scattered(&grid, 100, 0.0, false), &grid);
    assert!(cloud.ranges.describe(&cloud.particles, &grid));
    cloud.particles.x[50] = grid.bounds().max;
    assert!(!cloud.ranges.describe(&cloud.particles, &grid));
    cloud.sort(&grid);
    assert!(cloud.ranges.describe(&cloud.particles, &grid));
}

#[test]
fn seeding_fills_the_band_with_eight_per_cell() {
    let grid = grid([16, 20, 12], 0.05);
    let (level, band) = (grid.min.y + 14.3 * grid.dx, 4.0 * grid.dx);
    let solid_at = grid.min.x + 3.5 * grid.dx;
    let phi = pool(&grid, level);
    let solid = fill(grid.nodes(), |x| x.x - solid_at);
    let u = fill_faces(&grid, |x| Vec3::new(x.y, 1.0 - x.z, 2.0 * x.x));
    let mut cloud = Cloud::default();
    let report = cloud.resample(&phi, &u, &with_solids(&grid, &solid), band, 1);
    let particles = &cloud.particles;
    assert!(cloud.ranges.describe(particles, &grid));
    assert_eq!(report, ResampleReport { seeded: particles.len(), ..Default::default() });
    // Cells whose centres lie within the band: layers 10 to 14, of which 4.3 are liquid.
    let expected = 8.0 * 4.3 * 12.5 * 12.0;
    let count = particles.len() as f32;
    assert!((count / expected - 1.0).abs() < 0.03, "{count} particles, {expected} expected");
    for cell in 0..grid.cell_count() {
        let [i, j, _] = grid.cell_centers().coordinates(cell);
        if i >= 4 && (10..14).contains(&j) {
            assert_eq!(cloud.ranges.count(cell), 8);
        }
    }
    for p in 0..particles.len() {
        assert!(particles.x[p].y < level && particles.x[p].x > solid_at);
        assert!((particles.v[p] - grid.sample_velocity(&u, particles.x[p])).length() < 1e-5);
    }
}

#[test]
fn resampling_at_rest_changes_nothing() {
    let grid = grid([16, 16, 16], 0.05);
    for level in [7.0, 7.13, 7.5, 7.98] {
        let phi =
            fill(grid.cell_centers(), |x| (x - grid.min).dot(Vec3::new(0.2, 0.96, 0.19)) - level * grid.dx);
        let u = FaceField::constant(&grid, 0.0);
        let mut cloud = Cloud::default();
        cloud.resample(&phi, &u, &Surroundings::closed(&grid), 3.0 * grid.dx, 0);
        let before = cloud.particles.clone();
        for step in 1..20 {
            let report = cloud.resample(&phi, &u, &Surroundings::closed(&grid), 3.0 * grid.dx, step);
            assert_eq!(report, ResampleReport::default());
        }
        assert_eq!(cloud.particles, before);
    }
}

#[test]
fn surplus_and_deep_particles_go() {
    let grid = grid([10, 12, 10], 0.1);
    let u = FaceField::constant(&grid, 0.0);
    let mut cloud = Cloud::of(scattered(&grid, 40_000, -0.2, false), &grid);
    let outside = cloud.particles.x.iter().filter(|x| !grid.bounds().contains(**x)).count();
    let (level, band) = (grid.min.y + 8.0 * grid.dx, 3.0 * grid.dx);
    let report = cloud.resample(&pool(&grid, level), &u, &Surroundings::closed(&grid), band, 3);
    // Layers 0 to 3 have their centres deeper than four cells.
    let deep_end = level - 4.0 * grid.dx;
    assert!(cloud.particles.x.iter().all(|x| x.y >= deep_end - 1e-5));
    assert_eq!(report.seeded, 0);
    assert!(report.deleted_outside > outside / 2, "those outside next to deep cells count as deep");
    assert_eq!(report.deleted() + cloud.particles.len(), 40_000);
    let mut octants_even = true;
    for cell in 0..grid.cell_count() {
        assert!(cloud.ranges.count(cell) <= 16);
        let [i, j, k] = grid.cell_centers().coordinates(cell);
        let mut octants = [0; 8];
        for p in cloud.ranges.of_cell(cell) {
            let high = cloud.particles.x[p].cmpge(grid.cell_centers().position(i, j, k));
            octants[high.bitmask() as usize] += 1;
        }
        octants_even &= octants.iter().all(|&n| n <= 5);
    }
    assert!(octants_even, "thinning takes from the fullest octants");
}

/// Thin liquid that the grid gives up keeps its particles; strained liquid gets new ones.
#[test]
fn sparse_cells_are_refilled_below_the_surface_only() {
    let grid = grid([12, 12, 12], 0.1);
    let level = grid.min.y + 8.0 * grid.dx;
    let phi = pool(&grid, level);
    let u = FaceField::constant(&grid, 0.0);
    let mut cloud = Cloud::default();
    cloud.resample(&phi, &u, &Surroundings::closed(&grid), f32::INFINITY, 0);
    retain(&mut cloud.particles, |_, i| i % 4 == 0);
    let survivors: BTreeSet<u64> = cloud.particles.id.iter().copied().collect();
    let report = cloud.resample(&phi, &u, &Surroundings::closed(&grid), f32::INFINITY, 1);
    assert!(report.seeded > 0 && report.deleted() == 0);
    let kept: BTreeSet<u64> =
        cloud.particles.id.iter().copied().filter(|id| survivors.contains(id)).collect();
    assert_eq!(kept, survivors);
    for p in 0..cloud.particles.len() {
        if !survivors.contains(&cloud.particles.id[p]) {
            assert!(cloud.particles.x[p].y < level - 0.59 * grid.dx);
        }
    }
    for cell in 0..grid.cell_count() {
        let [_, j, _] = grid.cell_centers().coordinates(cell);
        assert!(j >= 7 || cloud.ranges.count(cell) >= 4, "layer {j} is sparse");
    }
}

/// The surface of a pool goes up and down, so that cells enter and leave the deep, and its particles are stirred
/// at random. [`Cloud::resample`] asserts the sum at every step, too.
#[test]
fn mass_is_the_same_whatever_moves() {
    let grid = grid([12, 24, 12], 0.1);
    let u = FaceField::constant(&grid, 0.0);
    let mut cloud = Cloud::default();
    let level = |step: u64| grid.min.y + (14.0 + 6.0 * (0.3 * step as f32).sin()) * grid.dx;
    cloud.resample(&pool(&grid, level(0)), &u, &Surroundings::closed(&grid), 3.0 * grid.dx, 0);
    let full_m3 = (grid.dx as f64).powi(3) * 144.0;
    cloud.reserve.rest_m3 += 14.0 * full_m3 - cloud.reserve.volume_m3(cloud.particles.len(), &[], grid.dx);
    for step in 1..60u64 {
        for (x, id) in cloud.particles.x.iter_mut().zip(&cloud.particles.id) {
            let to = level(step) - level(step - 1);
            *x += Vec3::new(0.0, to, 0.0) + 0.5 * grid.dx * (random::unit_vec3(*id, step) - 0.5);
            *x = x.clamp(grid.bounds().min, grid.bounds().max);
        }
        let report =
            cloud.resample(&pool(&grid, level(step)), &u, &Surroundings::closed(&grid), 3.0 * grid.dx, step);
        assert!(step < 3 || report.seeded + report.deleted() > 0);
    }
    let end_m3 = cloud.reserve.volume_m3(cloud.particles.len(), &[], grid.dx);
    assert!((end_m3 / (14.0 * full_m3) - 1.0).abs() < 1e-9, "{end_m3}");
}

#[test]
fn ids_are_unique_and_stable() {
    let grid = grid([12, 12, 12], 0.1);
    let center = grid.bounds().center();
    let u = fill_faces(&grid, |x| Vec3::new(0.0, -1.0, 0.0).cross(x - center) + Vec3::new(0.0, 0.3, 0.0));
    let mut cloud = Cloud::default();
    let mut born: BTreeMap<u64, f32> = BTreeMap::new();
    for step in 0..20u64 {
        let level = center.y + 0.03 * step as f32;
        cloud.resample(&pool(&grid, level), &u, &Surroundings::closed(&grid), 2.0 * grid.dx, step);
        let ids: BTreeSet<u64> = cloud.particles.id.iter().copied().collect();
        assert_eq!(ids.len(), cloud.particles.len());
        assert!(ids.iter().all(|&id| id < cloud.particles.next_id));
        for p in 0..cloud.particles.len() {
            let birth = 0.1 * step as f32 - cloud.particles.age_s[p];
            let known = *born.entry(cloud.particles.id[p]).or_insert(birth);
            assert!((birth - known).abs() < 1e-4, "an id keeps its particle");
        }
        cloud.advect(&u, &Surroundings::closed(&grid), 0.1);
    }
    assert!(born.len() > cloud.particles.len(), "some were born and some went");
}

#[test]
fn thread_count_changes_no_bit() {
    let grid = grid([30, 34, 38], 0.05);
    let center = grid.bounds().center();
    let all = |transfer: Transfer| {
        let phi = fill(grid.cell_centers(), |x| (x - center).length() - 0.6);
        let solid = fill(grid.nodes(), |x| (x - center + 0.3).length() - 0.2);
        let u = fill_faces(&grid, |x| Vec3::new(1.0, 0.2, -1.0).cross(x - center) - (x - center));
        let mut cloud = Cloud::default();
        let mut level_set = phi.clone();
        let around = Surroundings { open_walls: [true; 6], ..with_solids(&grid, &solid) };
        let mut fields = (FaceField::default(), FaceField::default());
        for step_seed in 0..3 {
            let occasion = if step_seed == 0 { Occasion::Start } else { Occasion::Step };
            let fractions = shares(&phi, grid.dx);
            let liquid =
                Liquid { band_m: 0.3, transfer, ..liquid_of(&phi, &fractions, &u, step_seed, occasion) };
            cloud.resample_to(&liquid, &around);
            fields = cloud.to_faces(&grid, &transfer);
            faces_to_particles(
                &mut cloud.particles,
                &fields.0,
                &mut u.clone(),
                &grid,
                fluvial_grids::Sides::NONE,
                &transfer,
                &Flight::NONE,
            );
            cloud.advect(&u, &around, 0.07);
            level_set.copy_from_slice(&phi);
            cloud.correct(&mut level_set, &around);
        }
        (cloud.particles, cloud.ranges, fields, level_set)
    };
    for transfer in [Transfer::Apic, Transfer::Flip { ratio: 0.98 }] {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| all(transfer))
        };
        let one = with(1);
        assert!(one.0.len() > 30_000);
        assert!(one == with(3) && one == with(4));
    }
}

/// All liquid flows along x by half a cell: the deep block's liquid is half a cell farther, and resampling puts particles
/// there and nowhere else.
#[test]
fn liquid_from_deep_cells_is_found_where_the_flow_takes_it() {
    let grid = grid([12, 6, 6], 0.05);
    let cells = grid.cell_centers();
    let is_deep = |i: usize| (3..8).contains(&i);
    let u = fill_faces(&grid, |_| Vec3::new(0.5 * 0.05, 0.0, 0.0));
    // What the step has brought into the deep block lies in the low half of its first cells.
    let entered = |[i, j, k]: [usize; 3], o: usize| {
        let low = Vec3::new((o & 1) as f32, (o >> 1 & 1) as f32, (o >> 2) as f32) - 0.5;
        cells.position(i, j, k) + 0.5 * grid.dx * low
    };
    let mut particles = Particles::default();
    for cell in 0..cells.len() {
        let at = cells.coordinates(cell);
        let holds =
            |o: usize| if at[0] == 3 || at[0] == 8 { (o & 1 == 0) == (at[0] == 3) } else { !is_deep(at[0]) };
        (0..8).filter(|&o| holds(o)).for_each(|o| {
            particles.push(entered(at, o), Vec3::ZERO, None);
        });
    }
    let mut cloud = Cloud::of(particles, &grid);
    let mark = |cell: usize| u8::from(is_deep(cells.coordinates(cell)[0]));
    cloud.reserve.deep_cell = (0..cells.len()).map(mark).collect();
    let phi = vec![-10.0 * grid.dx; cells.len()];
    let mut from_deep = vec![];
    find_liquid_from_deep(&mut from_deep, &cloud.reserve, &phi, &cloud.ranges, &u, &grid, 1.0);
    for cell in 0..cells.len() {
        let expected = match cells.coordinates(cell)[0] {
            3 => 0b1010_1010,
            4..8 => 0xff,
            8 => 0b0101_0101,
            _ => 0,
        };
        assert_eq!(from_deep[cell], expected, "cell {:?}", cells.coordinates(cell));
    }
    // With a band that nothing is deeper than, every cell ends with its eight.
    let fractions = vec![1.0; cells.len()];
    let liquid = Liquid { from_deep_cell: &from_deep, ..liquid_of(&phi, &fractions, &u, 1, Occasion::Step) };
    cloud.resample_to(&liquid, &Surroundings::closed(&grid));
    assert!((0..cells.len()).all(|cell| cloud.ranges.count(cell) == 8));
    assert!(cloud.reserve.rest_m3.abs() < 1e-12);
}

/// Two halves of a pool each lose a quarter of their particles; the books of one of them have them. Only that half gets them
/// back. With one pool for both, either half got half of them.
#[test]
fn the_rest_of_a_region_stays_in_it() {
    let grid = grid([12, 12, 12], 0.1);
    let cells = grid.cell_centers();
    let (phi, u) = (pool(&grid, grid.min.y + 10.0 * grid.dx), FaceField::constant(&grid, 0.0));
    let around = Surroundings::closed(&grid);
    let mut cloud = Cloud::default();
    cloud.resample(&phi, &u, &around, f32::INFINITY, 0);
    cloud.reserve.rest_m3 = 0.0;
    let region =
        |cell: usize| if phi[cell] < 0.0 { (cells.coordinates(cell)[0] >= 6) as u32 } else { NO_REGION };
    let labels: Vec<u32> = (0..cells.len()).map(region).collect();
    let middle = grid.min.x + 6.0 * grid.dx;
    let count = |cloud: &Cloud| {
        let low = cloud.particles.x.iter().filter(|x| x.x < middle).count();
        [low, cloud.particles.len() - low]
    };
    let full = count(&cloud);
    retain(&mut cloud.particles, |all, p| all.id[p] % 4 != 0);
    cloud.sort(&grid);
    let thinned = count(&cloud);
    cloud.reserve.tell_regions_apart(&labels, 2);
    let missing = full[0] - thinned[0];
    let of_side = labels.iter().position(|&label| label == 0).unwrap();
    cloud.reserve.add_rest(of_side, missing as f64 * Reserve::particle_m3(grid.dx));
    for step in 1..20 {
        cloud.resample(&phi, &u, &around, f32::INFINITY, step);
    }
    let now = count(&cloud);
    assert_eq!(now[1], thinned[1]);
    assert!(now[0] - thinned[0] > missing / 2, "{} of {missing}", now[0] - thinned[0]);
    // A layer of cells that changes sides takes nothing along.
    let rest_m3 = cloud.reserve.rest_of_region_m3.clone();
    let moved: Vec<u32> = (0..cells.len())
        .map(|cell| if phi[cell] < 0.0 { (cells.coordinates(cell)[0] >= 7) as u32 } else { NO_REGION })
        .collect();
    cloud.reserve.tell_regions_apart(&moved, 2);
    assert_eq!(cloud.reserve.rest_of_region_m3, rest_m3);
}
