//! Insertion, collapse, spacing and surface of sheets against their definitions.

use fluvial_foundation::Vec3;
use fluvial_foundation::random::{unit_f32, unit_vec3};
use fluvial_sheets::*;

const D0: f32 = 0.01;

struct Sheet {
    particles: Particles,
    families: Families,
    shapes: Shapes,
    neighbours: Neighbours,
    params: SheetParams,
}

impl Sheet {
    fn of(particles: Particles) -> Self {
        let bins = Bins { min: Vec3::splat(-0.5), cell_m: 2.0 * D0, size: [50; 3] };
        let mut sheet = Sheet {
            particles,
            families: Families::default(),
            shapes: Shapes::default(),
            neighbours: Neighbours::new(bins),
            params: SheetParams::new(D0),
        };
        sheet.sort();
        sheet
    }

    /// `n` by `n` particles in the plane y = 0 with spacing d0, in `layers`, jittered by `jitter` spacings.
    fn flat(n: i32, layers: i32, jitter: f32) -> Self {
        let mut particles = Particles::default();
        for k in 0..n {
            for j in 0..layers {
                for i in 0..n {
                    let shift = jitter * (unit_vec3(particles.next_id, 3) - 0.5);
                    particles.push_small(D0 * (Vec3::new(i as f32, j as f32, k as f32) + shift), Vec3::ZERO);
                }
            }
        }
        Sheet::of(particles)
    }

    fn sort(&mut self) {
        self.neighbours.sort(&mut self.particles, &mut self.families);
        let particles = &self.particles;
        let mut mass = vec![0.0; self.neighbours.bins().count()];
        deposit(&mut mass, particles, &self.neighbours, &Walls::NONE, self.params.d0, |i| {
            particles.weight(i)
        });
        self.shapes.measure(particles, &self.neighbours, &mass, &Walls::NONE, &self.params);
    }

    fn candidates(&self) -> Vec<Candidate> {
        find_candidates(
            &self.particles,
            &self.shapes,
            &self.neighbours,
            &Walls::NONE,
            &self.params,
            |_, _| true,
        )
    }

    fn preserve(&mut self) -> (Inserted, Collapsed) {
        let found = self.candidates();
        let order = order_candidates(&found, self.neighbours.bins(), &self.params);
        let inserted =
            insert(&mut self.particles, &mut self.families, &mut self.shapes, &found, &order, &self.params);
        let (collapsed, _) = collapse(
            &mut self.particles,
            &mut self.families,
            &mut self.shapes,
            &self.neighbours,
            &self.params,
        );
        self.particles.steps.iter_mut().for_each(|s| *s = s.saturating_add(1));
        self.sort();
        (inserted, collapsed)
    }
}

#[test]
fn candidates_are_those_of_the_definition() {
    let mut sheet = Sheet::flat(14, 1, 0.3);
    // Stretched by 1.7, drawing apart except for a part that closes.
    for (x, v) in sheet.particles.x.iter_mut().zip(&mut sheet.particles.v) {
        x.x *= 1.7;
        *v = if x.z > 0.07 { Vec3::new(x.x, 0.0, 0.0) } else { Vec3::new(-x.x, 0.0, 0.3 * x.z) };
    }
    sheet.sort();
    let (p, thin) = (&sheet.particles, &sheet.shapes.thin);
    let mut brute = vec![];
    for i in 0..p.len() {
        for j in i + 1..p.len() {
            let d = p.x[j] - p.x[i];
            let middle = p.x[i] + 0.5 * d;
            let empty = p.x.iter().all(|x| x.distance(middle) >= 0.8 * D0);
            let r = d.length();
            if thin[i]
                && thin[j]
                && (0.8 * D0..=3.5 * D0).contains(&r)
                && empty
                && d.dot(p.v[j] - p.v[i]) > 0.0
            {
                brute.push([i as u32, j as u32]);
            }
        }
    }
    let mut found: Vec<[u32; 2]> = sheet.candidates().iter().map(|c| c.parents).collect();
    found.sort();
    assert_eq!(found, brute);
    assert!(found.len() > 50);
}

#[test]
fn insertion_follows_the_definition() {
    let params = SheetParams::new(D0);
    let bins = Bins { min: Vec3::ZERO, cell_m: 2.0 * D0, size: [10; 3] };
    for seed in 0..30 {
        let candidates: Vec<Candidate> = (0..200)
            .map(|n| Candidate {
                x: Vec3::new(0.2, 0.2, 0.02) * unit_vec3(n, seed),
                density: (unit_f32(n, seed + 100) * 20.0).round() / 20.0,
                parents: [0, 1],
            })
            .collect();
        // Word for word: eq. 13, strike off, eq. 14, and so on.
        let mut left: Vec<u32> = (0..200).collect();
        let (mut wanted, mut last): (Vec<u32>, Option<u32>) = (vec![], None);
        let at = |c: u32| candidates[c as usize].x;
        while !left.is_empty() {
            let near = last.and_then(|l| {
                let key = |c: &u32| (at(*c) - at(l)).length_squared();
                left.iter()
                    .copied()
                    .filter(|c| key(c) <= 3.5 * D0 * 3.5 * D0)
                    .min_by(|a, b| key(a).total_cmp(&key(b)))
            });
            let sparsest = || {
                left.iter()
                    .copied()
                    .min_by(|a, b| {
                        candidates[*a as usize].density.total_cmp(&candidates[*b as usize].density)
                    })
                    .unwrap()
            };
            let next = near.unwrap_or_else(sparsest);
            left.retain(|&c| c != next && (at(c) - at(next)).length_squared() > 0.8 * D0 * 0.8 * D0);
            wanted.push(next);
            last = Some(next);
        }
        assert_eq!(order_candidates(&candidates, &bins, &params), wanted, "seed {seed}");
        for (n, &a) in wanted.iter().enumerate() {
            assert!(wanted[..n].iter().all(|&b| at(a).distance(at(b)) > 0.8 * D0 * 0.9999), "too near");
        }
    }
}

/// The largest empty disc in the middle of the sheet, in radii.
fn largest_gap(sheet: &Sheet, half: f32) -> f32 {
    let mut largest = 0.0f32;
    for n in 0..1000 {
        let r = 2.0 * unit_vec3(n, 9) - 1.0;
        let middle = Vec3::new(0.0, 0.0, 0.0) + half * Vec3::new(r.x, 0.0, r.z);
        let nearest = sheet.particles.x.iter().map(|x| x.distance(middle)).fold(f32::MAX, f32::min);
        largest = largest.max(nearest / D0);
    }
    largest
}

#[test]
fn a_stretched_sheet_stays_whole() {
    let run = |preserve: bool| {
        let mut sheet = Sheet::flat(24, 1, 0.2);
        sheet.particles.x.iter_mut().for_each(|x| *x -= Vec3::new(0.115, 0.0, 0.115));
        let (mass, count) = (sheet.particles.total_mass(), sheet.particles.len());
        // Four times the area, by 3 % a step.
        let mut history = vec![];
        for _ in 0..24 {
            let rate = 1.03f32;
            for (x, v) in sheet.particles.x.iter_mut().zip(&mut sheet.particles.v) {
                *x *= rate;
                *v = (rate - 1.0) / 0.01 * *x;
            }
            sheet.sort();
            if preserve {
                sheet.preserve();
            }
            history.push((sheet.particles.len(), largest_gap(&sheet, 0.08)));
        }
        assert_eq!(sheet.particles.total_mass(), mass);
        (history, count)
    };
    let (with, count) = run(true);
    let (without, ..) = run(false);
    // Widest: with insertion no disc of a radius is empty, without it gaps are as wide as the stretch.
    assert!(with[23].1 < 1.0, "gap of {} radii", with[23].1);
    assert!(without[23].1 > 1.4, "gap of {} radii", without[23].1);
    assert!(with[23].0 > 2 * count, "{} of {count}", with[23].0);
}

#[test]
fn inserted_particles_go_when_the_sheet_is_gone() {
    // A ball squashed to a sheet and back.
    let mut particles = Particles::default();
    for n in 0..20i32.pow(3) {
        let at = D0 * (Vec3::new((n % 20) as f32, (n / 20 % 20) as f32, (n / 400) as f32) - 9.5);
        if at.length() < 0.085 {
            particles.push_small(at, Vec3::ZERO);
        }
    }
    let mut sheet = Sheet::of(particles);
    let (mass, count) = (sheet.particles.total_mass(), sheet.particles.len());
    let mut most = 0;
    for step in 0..2 * 60 {
        // Area-preserving in pairs: y shrinks to a tenth, x and z grow by sqrt(10).
        let rate = if step < 60 { 0.1f32.powf(1.0 / 60.0) } else { 0.1f32.powf(-1.0 / 60.0) };
        let scale = Vec3::new(rate.powf(-0.5), rate, rate.powf(-0.5));
        for (x, v) in sheet.particles.x.iter_mut().zip(&mut sheet.particles.v) {
            *v = (scale - 1.0) / 0.01 * *x;
            *x *= scale;
        }
        sheet.sort();
        sheet.preserve();
        most = most.max(sheet.particles.len() - count);
        assert_eq!(sheet.particles.total_mass(), mass);
    }
    let left = sheet.particles.kind.iter().filter(|k| **k == Kind::Inserted).count();
    assert!(most > count / 4, "only {most} were inserted");
    assert!(left * 20 <= most, "{left} of {most} are left");
    sheet.families.check(&sheet.particles);
}

#[test]
fn merging_keeps_mass_and_momentum() {
    let mut sheet = Sheet::flat(12, 12, 0.4);
    for (i, v) in sheet.particles.v.iter_mut().enumerate() {
        *v = unit_vec3(i as u64, 5);
    }
    let momentum = |p: &Particles| {
        (0..p.len()).map(|i| p.mass[i] as f64 * p.v[i].as_dvec3()).sum::<fluvial_foundation::DVec3>()
    };
    let center = |p: &Particles| {
        (0..p.len()).map(|i| p.mass[i] as f64 * p.x[i].as_dvec3()).sum::<fluvial_foundation::DVec3>()
    };
    let before = (momentum(&sheet.particles), center(&sheet.particles), sheet.particles.total_mass());
    let depth = vec![Depth::Deep; sheet.neighbours.bins().count()];
    let mut rounds = 0;
    while merge(&mut sheet.particles, &mut sheet.families, &sheet.neighbours, &depth, (D0, 8), |_, _| true)
        > 0
    {
        sheet.sort();
        rounds += 1;
    }
    assert!(
        rounds > 2 && sheet.particles.len() < 12 * 12 * 12 / 2,
        "{} after {rounds}",
        sheet.particles.len()
    );
    assert!(sheet.particles.count.iter().all(|&c| c <= 8));
    assert_eq!(sheet.particles.total_mass(), before.2);
    assert!((momentum(&sheet.particles) / before.0 - 1.0).abs().max_element() < 1e-6);
    assert!((center(&sheet.particles) - before.1).length() / before.1.length() < 1e-6);
    // Neutral cells leave everything as it is; at the surface all become small again.
    let merged = sheet.particles.clone();
    let neutral = vec![Depth::Neutral; depth.len()];
    assert_eq!(split(&mut sheet.particles, &sheet.neighbours, &neutral, D0, |_, _| true), 0);
    assert_eq!(sheet.particles, merged);
    let surface = vec![Depth::Surface; depth.len()];
    assert!(split(&mut sheet.particles, &sheet.neighbours, &surface, D0, |_, _| true) > 0);
    assert_eq!(sheet.particles.len(), 12 * 12 * 12);
    assert_eq!(sheet.particles.total_mass(), before.2);
    assert!(sheet.particles.kind.iter().all(|k| *k == Kind::Small));
}

fn stiffness(anisotropic: bool) -> Stiffness {
    Stiffness { per_step: 0.3, anisotropic, d0: D0, largest: D0, velocity_reach: 1.0, merged: true }
}

/// Mean and least distance to the nearest neighbour, in radii.
fn spacing(sheet: &Sheet) -> (f32, f32) {
    let nearest = |i: usize| {
        let mut best = f32::MAX;
        sheet.neighbours.for_each_within(sheet.particles.x[i], 2.0 * D0, |j, _, r2| {
            if j != i {
                best = best.min(r2.sqrt() / D0);
            }
        });
        best.min(2.0)
    };
    let all: Vec<f32> = (0..sheet.particles.len()).map(nearest).collect();
    (all.iter().sum::<f32>() / all.len() as f32, all.iter().copied().fold(f32::MAX, f32::min))
}

#[test]
fn random_particles_spread_evenly() {
    let mut particles = Particles::default();
    for n in 0..1728 {
        let x = 12.0 * D0 * unit_vec3(n, 1);
        particles.push_small(x, Vec3::new(x.y, -x.x, 0.0));
    }
    let mut sheet = Sheet::of(particles);
    let before = spacing(&sheet);
    let energy = |s: &Sheet| s.particles.v.iter().map(|v| v.length_squared() as f64).sum::<f64>();
    let energy_before = energy(&sheet);
    for _ in 0..200 {
        let inside = |_: Vec3, x: Vec3| x.clamp(Vec3::ZERO, Vec3::splat(12.0 * D0));
        correct_positions(&mut sheet.particles, &sheet.shapes, &sheet.neighbours, &stiffness(true), inside);
        sheet.sort();
    }
    let after = spacing(&sheet);
    println!("nearest neighbour: mean {} least {} before, {} {} after", before.0, before.1, after.0, after.1);
    assert!(before.0 < 0.6 && after.0 > 0.8, "{before:?} {after:?}");
    // Nobody pushes beyond 0.9 radii.
    assert!(after.1 > 0.9 * 0.6, "{after:?}");
    assert!(energy(&sheet) <= energy_before * 1.001, "energy rose");
}

/// A block whose outermost layer is a tenth of a particle thick lies as densely as a whole one: nobody moves.
#[test]
fn slabs_of_particles_do_not_push() {
    let mut particles = Particles::default();
    for n in 0..12 * 12 * 12 {
        let [i, j, k] = [n % 12, n / 12 % 12, n / 144];
        let (share, y) = if j == 0 { (0.1, 0.95) } else { (1.0, j as f32 + 0.5) };
        let x = D0 * Vec3::new(i as f32 + 0.5, y, k as f32 + 0.5);
        particles.push(x, Vec3::ZERO, (share * UNIT_MASS as f32) as u32, 1, Kind::Small);
    }
    let mut sheet = Sheet::of(particles);
    let (params, neighbours) = (stiffness(true), &sheet.neighbours);
    let report =
        correct_positions(&mut sheet.particles, &sheet.shapes, neighbours, &params, |_: Vec3, x: Vec3| x);
    assert!(report.longest_m < 1e-6, "{report:?}");
}

#[test]
fn a_free_sheet_keeps_its_thickness() {
    // Two layers, jittered; thickness is four times the spread across.
    let thickness = |s: &Sheet| {
        let middle: Vec<f32> = s
            .particles
            .x
            .iter()
            .filter(|x| (x.x - 0.145).abs() < 0.1 && (x.z - 0.145).abs() < 0.1)
            .map(|x| x.y)
            .collect();
        let mean = middle.iter().sum::<f32>() / middle.len() as f32;
        4.0 * (middle.iter().map(|y| (y - mean).powi(2)).sum::<f32>() / middle.len() as f32).sqrt()
    };
    let run = |anisotropic: bool, layers: i32| {
        let mut sheet = Sheet::flat(30, layers, 0.9);
        let before = (thickness(&sheet), spacing(&sheet));
        for _ in 0..200 {
            correct_positions(
                &mut sheet.particles,
                &sheet.shapes,
                &sheet.neighbours,
                &stiffness(anisotropic),
                |_, x| x,
            );
            sheet.sort();
        }
        (thickness(&sheet) / before.0, before.1, spacing(&sheet))
    };
    for layers in [1, 2] {
        let (anisotropic, before, after) = run(true, layers);
        let (isotropic, ..) = run(false, layers);
        println!(
            "{layers} layers: thickness x {anisotropic} anisotropic, x {isotropic} isotropic; spacing {before:?} -> {after:?}"
        );
        assert!((anisotropic - 1.0).abs() < 0.1, "{layers} layers: thickness changed by {anisotropic}");
        assert!(after.0 > before.0 + 0.05, "spacing {before:?} -> {after:?}");
    }
    assert!((run(false, 1).0 - 1.0).abs() > 0.1, "the isotropic push would do as well");
}

/// Volume inside the samples, by counting signs with the linear share at the surface.
fn sampled_volume(surface: &SheetSurface) -> f64 {
    let shape = surface.shape();
    let mut volume = 0.0;
    for k in 0..shape.size[2] {
        for j in 0..shape.size[1] {
            for i in 0..shape.size[0] {
                volume += (0.5 - surface.value([i, j, k]) / shape.spacing).clamp(0.0, 1.0) as f64;
            }
        }
    }
    volume * (shape.spacing as f64).powi(3)
}

fn surface_of(sheet: &Sheet, refinement: f32) -> SheetSurface {
    let spacing = 2.0 * D0 / refinement;
    let size = [(0.8 / spacing) as usize; 3];
    let shape = SurfaceShape { spacing, origin: Vec3::splat(-0.4), size, sheet_reach: 1.5 };
    SheetSurface::sample(&field_of(sheet, &shape), &shape)
}

fn field_of<'a>(sheet: &'a Sheet, shape: &SurfaceShape) -> SurfaceField<'a> {
    const NONE: &Walls = &Walls::NONE;
    SurfaceField::new(&sheet.particles, &sheet.shapes, &sheet.neighbours, NONE, &sheet.params, shape)
}

#[test]
fn a_lattice_ball_has_its_volume() {
    let mut particles = Particles::default();
    let radius = 0.2f32;
    for n in 0..50i32.pow(3) {
        let at = D0 * (Vec3::new((n % 50) as f32, (n / 50 % 50) as f32, (n / 2500) as f32) - 24.5);
        if at.length() < radius {
            particles.push_small(at, Vec3::ZERO);
        }
    }
    let held = particles.len() as f64 * (D0 as f64).powi(3);
    let sheet = Sheet::of(particles);
    for refinement in [2.0, 4.0] {
        let surface = surface_of(&sheet, refinement);
        let volume = sampled_volume(&surface);
        assert!((volume / held - 1.0).abs() < 0.02, "{volume} of {held} at {refinement}");
        let all = surface.shape().size.iter().product::<usize>();
        assert!(surface.samples_held() < all / 3, "{} of {all} held", surface.samples_held());
    }
}

#[test]
fn a_sheet_is_seen_whole_in_any_direction() {
    // A jittered layer with gaps as insertion leaves them (spacing 1.3): no sample line through it may miss
    // it.
    for n in 0..6 {
        let normal = (unit_vec3(n, 2) - 0.5).normalize();
        let (a, b) = normal.any_orthonormal_pair();
        let mut particles = Particles::default();
        for i in -18..=18 {
            for k in -18..=18 {
                let jitter = 0.2 * (unit_vec3(particles.next_id, 3) - 0.5);
                let at = 1.3 * Vec3::new(i as f32, 0.0, k as f32) + jitter;
                particles.push_small(D0 * (at.x * a + at.z * b + 0.2 * at.y * normal), Vec3::ZERO);
            }
        }
        let sheet = Sheet::of(particles);
        let surface = surface_of(&sheet, 2.0);
        let shape = *surface.shape();
        // Walk along the lattice axis nearest to the normal: the middle must be crossed exactly once in and
        // once out.
        let axis = normal.abs().max_position();
        let (mut lines, mut missed) = (0, 0);
        let line = |s: usize, t: usize, r: usize| match axis {
            0 => [r, s, t],
            1 => [s, r, t],
            _ => [s, t, r],
        };
        for s in 0..shape.size[0] {
            for t in 0..shape.size[1] {
                let inside: Vec<bool> =
                    (0..shape.size[2]).map(|r| surface.value(line(s, t, r)) < 0.0).collect();
                let middle = |r: usize| {
                    let at = line(s, t, r);
                    shape.origin + shape.spacing * Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32)
                };
                // Lines whose foot in the plane is near the centre.
                let r = (0..shape.size[2])
                    .min_by(|p, q| normal.dot(middle(*p)).abs().total_cmp(&normal.dot(middle(*q)).abs()))
                    .unwrap();
                if middle(r).length() < 0.1 {
                    lines += 1;
                    missed += !inside.iter().any(|i| *i) as usize;
                }
            }
        }
        assert!(lines > 100 && missed == 0, "direction {n}: {missed} of {lines} lines see nothing");
    }
}

#[test]
fn blocks_agree_with_single_samples() {
    let sheet = Sheet::flat(20, 5, 0.5);
    let surface = surface_of(&sheet, 2.0);
    let shape = *surface.shape();
    let field = field_of(&sheet, &shape);
    let mut near = 0;
    for n in 0..4000u64 {
        let at = [0, 1, 2].map(|a| {
            let low = [0.38f32, 0.38, 0.38][a];
            ((low + 0.26 * unit_f32(n, a as u64)) / shape.spacing) as usize
        });
        let x = shape.origin + shape.spacing * Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32);
        let single = field.value(x);
        let block = surface.value(at);
        assert!(
            single == block || (single.abs() > 0.3 * D0 && single.signum() == block.signum()),
            "{single} {block}"
        );
        near += (block.abs() < D0) as usize;
    }
    assert!(near > 100);
}
