//! Whatever happens to particles, no quantum of mass is made or lost, and who gave gets back what he gave.

use fluvial_foundation::random::{splitmix64, unit_f32, unit_vec3};
use fluvial_foundation::{Vec3, parallel};
use fluvial_sheets::*;
use proptest::prelude::*;

const D0: f32 = 0.05;

struct Crowd {
    particles: Particles,
    families: Families,
    shapes: Shapes,
    neighbours: Neighbours,
    params: SheetParams,
}

impl Crowd {
    fn new(n: u64, seed: u64) -> Self {
        Crowd::in_box(n, seed, 1.0)
    }

    /// In a box of the given edge.
    fn in_box(n: u64, seed: u64, edge: f32) -> Self {
        let mut particles = Particles::default();
        for i in 0..n {
            // A ball and a layer.
            let r = unit_vec3(i, seed);
            let x = if i % 2 == 0 { 0.3 * r + 0.3 } else { Vec3::new(r.x, 0.9, r.z) };
            particles.push_small(edge * x, unit_vec3(i, seed + 1) - 0.5);
        }
        let bins = Bins { min: Vec3::ZERO, cell_m: 2.0 * D0, size: [(10.0 * edge) as usize; 3] };
        let mut crowd = Crowd {
            particles,
            families: Families::default(),
            shapes: Shapes::default(),
            neighbours: Neighbours::new(bins),
            params: SheetParams {
                shortest_life: 0,
                lightest_mass: 0.0,
                thinnest_density: 0.0,
                ..SheetParams::new(D0)
            },
        };
        crowd.sort();
        crowd
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

    /// One operation, drawn by `word`.
    fn act(&mut self, word: u64) {
        match word % 8 {
            0..=2 => {
                let v: Vec<Vec3> =
                    (0..self.particles.len() as u64).map(|i| unit_vec3(i, word) - 0.5).collect();
                self.particles.v = v;
                let found = find_candidates(
                    &self.particles,
                    &self.shapes,
                    &self.neighbours,
                    &Walls::NONE,
                    &self.params,
                    |_, _| true,
                );
                let order = order_candidates(&found, self.neighbours.bins(), &self.params);
                insert(
                    &mut self.particles,
                    &mut self.families,
                    &mut self.shapes,
                    &found,
                    &order,
                    &self.params,
                );
            }
            3 => {
                // Any inserted ones may go, in any order.
                for i in 0..self.shapes.thin.len() {
                    if unit_f32(i as u64, word) < 0.5 {
                        (self.shapes.thin[i], self.shapes.density[i]) = (false, 1.0);
                    }
                }
                collapse(
                    &mut self.particles,
                    &mut self.families,
                    &mut self.shapes,
                    &self.neighbours,
                    &self.params,
                );
            }
            4 => {
                let depth = vec![Depth::Deep; self.neighbours.bins().count()];
                merge(&mut self.particles, &mut self.families, &self.neighbours, &depth, (D0, 8), |_, _| {
                    true
                });
            }
            5 => {
                let cells = self.neighbours.bins().count() as u64;
                let depth: Vec<Depth> = (0..cells)
                    .map(
                        |c| if splitmix64(c ^ word).is_multiple_of(2) { Depth::Surface } else { Depth::Deep },
                    )
                    .collect();
                split(&mut self.particles, &self.neighbours, &depth, D0, |_, _| true);
            }
            _ => {
                for (i, x) in self.particles.x.iter_mut().enumerate() {
                    *x += 0.6 * D0 * (unit_vec3(i as u64, word) - 0.5);
                }
            }
        }
        self.sort();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn mass_is_conserved_through_any_history(seed in 0u64..1000, words in prop::collection::vec(any::<u64>(), 1..30)) {
        let mut crowd = Crowd::new(150, seed);
        let mass = crowd.particles.total_mass();
        let small = |p: &Particles| p.count.iter().zip(&p.kind).filter(|(_, k)| **k != Kind::Inserted).map(|(c, _)| *c as usize).sum::<usize>();
        prop_assert_eq!(mass, 150 * UNIT_MASS as u64);
        for word in words {
            crowd.act(word);
            crowd.families.check(&crowd.particles);
            prop_assert!(crowd.particles.is_whole());
            prop_assert_eq!(crowd.particles.total_mass(), mass);
            prop_assert_eq!(small(&crowd.particles), 150);
        }
        // Everything goes back: who was never merged has exactly what he had.
        let never_merged = crowd.particles.kind.iter().all(|k| *k != Kind::Merged)
            && crowd.particles.next_id == crowd.particles.len() as u64 + crowd.particles.kind.iter().filter(|k| **k == Kind::Inserted).count() as u64;
        for _ in 0..2 {
            crowd.shapes.thin.fill(false);
            crowd.shapes.density.fill(1.0);
            collapse(&mut crowd.particles, &mut crowd.families, &mut crowd.shapes, &crowd.neighbours, &crowd.params);
        }
        prop_assert!(crowd.families.is_empty());
        prop_assert_eq!(crowd.particles.total_mass(), mass);
        if never_merged {
            prop_assert!(crowd.particles.mass.iter().all(|&m| m == UNIT_MASS));
        }
    }

    #[test]
    fn without_merging_every_particle_gets_back_exactly_what_it_gave(seed in 0u64..1000, words in prop::collection::vec(any::<u64>(), 1..40)) {
        let mut crowd = Crowd::new(120, seed);
        for word in words {
            // Insert, collapse some, move: parents go before their children all the time.
            crowd.act([0, 1, 3, 6][(word % 4) as usize] + (word & !7));
            crowd.families.check(&crowd.particles);
        }
        crowd.shapes.thin.fill(false);
        crowd.shapes.density.fill(1.0);
        collapse(&mut crowd.particles, &mut crowd.families, &mut crowd.shapes, &crowd.neighbours, &crowd.params);
        prop_assert!(crowd.families.is_empty());
        prop_assert_eq!(crowd.particles.len(), 120);
        prop_assert!(crowd.particles.mass.iter().all(|&m| m == UNIT_MASS), "{:?}", crowd.particles.mass);
    }

    #[test]
    fn what_leaves_takes_its_mass_and_no_debt_is_left_to_nobody(seed in 0u64..1000, words in prop::collection::vec(any::<u64>(), 1..30)) {
        let mut crowd = Crowd::new(120, seed);
        let mut mass = crowd.particles.total_mass();
        for word in words {
            crowd.act(word);
            if word % 3 == 0 {
                let leaves: Vec<bool> = (0..crowd.particles.len()).map(|i| unit_f32(i as u64, word) < 0.1).collect();
                mass -= leaves.iter().zip(&crowd.particles.mass).filter(|(l, _)| **l).map(|(_, m)| *m as u64).sum::<u64>();
                crowd.families.leave(&mut crowd.particles, &leaves);
                let kept: Vec<u32> = (0..leaves.len() as u32).filter(|&i| !leaves[i as usize]).collect();
                crowd.particles.rearrange(&kept);
                crowd.families.follow(&crowd.particles);
                crowd.families.check(&crowd.particles);
                crowd.sort();
            }
            prop_assert_eq!(crowd.particles.total_mass(), mass);
            let (rows, free) = crowd.families.to_rows();
            prop_assert!(Families::from_rows(&rows, &free, &crowd.particles).as_ref() == Some(&crowd.families));
        }
    }
}

#[test]
fn ghosts_do_arise_in_these_histories() {
    let mut crowd = Crowd::new(300, 1);
    let mut most = 0;
    for word in 0..60u64 {
        crowd.act([0, 1, 6, 3][(word % 4) as usize] + (splitmix64(word) & !7));
        most = most.max(crowd.families.ghosts());
    }
    assert!(most >= 3, "{most} ghosts: the tests above test nothing");
}

#[test]
fn thread_count_changes_no_bit() {
    let run = |threads: usize| {
        parallel::with_threads(threads, || {
            let mut crowd = Crowd::in_box(12_000, 4, 5.0);
            for word in 0..24u64 {
                // Ends with insertions.
                crowd.act(if word < 21 { splitmix64(word) } else { 8 * word });
                let stiffness = Stiffness {
                    per_step: 0.3,
                    anisotropic: true,
                    d0: D0,
                    largest: 2.0 * D0,
                    velocity_reach: 1.0,
                    merged: true,
                };
                correct_positions(
                    &mut crowd.particles,
                    &crowd.shapes,
                    &crowd.neighbours,
                    &stiffness,
                    |_, x| x,
                );
                crowd.sort();
            }
            let inserted = crowd.particles.kind.iter().filter(|k| **k == Kind::Inserted).count();
            assert!(inserted > 50 && crowd.particles.count.iter().any(|&c| c > 1), "{inserted}");
            (crowd.particles, crowd.shapes.density, crowd.families.to_rows())
        })
    };
    assert!(run(1) == run(3), "one and three threads disagree");
}
