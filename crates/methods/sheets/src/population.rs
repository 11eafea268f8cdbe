//! Particles together with everything that keeps them: what a solver, on whatever grid, moves through its
//! flow.

use crate::candidates::find_candidates;
use crate::collapse::collapse;
use crate::correct::{Correction, Stiffness, correct_positions};
use crate::deposit::deposit;
use crate::families::Families;
use crate::insert::{insert, order_candidates};
use crate::neighbours::{Bins, Neighbours, Walls};
use crate::params::SheetParams;
use crate::particles::{Kind, Particles};
use crate::resample::{Depth, Merged, merge, split};
use crate::shapes::Shapes;
use crate::surface::{SheetSurface, SurfaceField, SurfaceShape};
use fluvial_foundation::Vec3;

/// Rounds of merging in a step; what is left merges in the next.
const MERGE_ROUNDS: usize = 4;

/// Another round is for rounds in which at least one of so many particles merged.
const WORTHWHILE: usize = 100;

/// Liquid as particles that merge, split, are inserted and collapse.
#[derive(Clone, Debug)]
pub struct Population {
    /// The particles, sorted by cell after [`Self::sort`].
    pub particles: Particles,
    /// Who owes mass to whom.
    pub families: Families,
    /// Shapes of the neighbourhoods, as of the last [`Self::measure`].
    pub shapes: Shapes,
    /// Mass in every cell of the search, in small particles, as of the last [`Self::measure`].
    pub mass_cell: Vec<f32>,
    /// Who is near whom, as of the last [`Self::sort`].
    pub neighbours: Neighbours,
    /// Walls that mirror the liquid.
    pub walls: Walls,
    /// The method's numbers.
    pub params: SheetParams,
}

/// What sheet preservation did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preserved {
    /// Places where a sheet was about to tear.
    pub candidates: usize,
    /// Particles put there.
    pub inserted: usize,
    /// Candidates whose parents were too light.
    pub too_light: usize,
    /// Inserted particles taken back.
    pub collapsed: usize,
}

impl Population {
    /// No particles yet. Cells of two small radii make the fastest search.
    pub fn new(bins: Bins, walls: Walls, params: SheetParams) -> Self {
        Population {
            particles: Particles::default(),
            families: Families::default(),
            shapes: Shapes::default(),
            mass_cell: vec![0.0; bins.count()],
            neighbours: Neighbours::new(bins),
            walls,
            params,
        }
    }

    /// Sorts the particles by cell; shapes then belong to nobody until they are measured.
    pub fn sort(&mut self) {
        self.neighbours.sort(&mut self.particles, &mut self.families);
    }

    /// As [`Self::sort`]; the shapes follow, for particles that have moved little.
    pub fn sort_with_shapes(&mut self) {
        self.sort();
        self.shapes.rearrange(self.neighbours.last_order());
    }

    /// Measures density, stretch and thinness of all particles, and the mass of all cells. Wants sorted
    /// particles.
    pub fn measure(&mut self) {
        let Population { particles, shapes, mass_cell, neighbours, walls, params, .. } = self;
        deposit(mass_cell, particles, neighbours, walls, params.d0, |i| particles.weight(i));
        shapes.measure(particles, neighbours, mass_cell, walls, params);
    }

    /// Inserts and collapses [sheets Alg. 2]. Wants sorted and measured particles, leaves them unsorted;
    /// shapes follow.
    pub fn preserve(&mut self, allowed: impl Fn(Vec3, Vec3) -> bool + Sync + Send) -> Preserved {
        let Population { particles, families, shapes, neighbours, walls, params, .. } = self;
        let candidates = find_candidates(particles, shapes, neighbours, walls, params, allowed);
        let order = order_candidates(&candidates, neighbours.bins(), params);
        let inserted = insert(particles, families, shapes, &candidates, &order, params);
        let (collapsed, _) = collapse(particles, families, shapes, neighbours, params);
        Preserved {
            candidates: candidates.len(),
            inserted: inserted.inserted,
            too_light: inserted.too_light,
            collapsed: collapsed.collapsed,
        }
    }

    /// Merges in deep cells up to `most` small ones (none where it is 1), splits near the surface [sheets
    /// Alg. 3], only pairs that see each other; `depth` by cell of the search. Leaves the particles unsorted.
    pub fn adapt(
        &mut self,
        depth: &[Depth],
        most: u8,
        allowed: impl Fn(Vec3, Vec3) -> bool,
        sees: impl Fn(Vec3, Vec3) -> bool + Sync,
    ) -> Merged {
        let mut report = Merged::default();
        for _ in 0..if most > 1 { MERGE_ROUNDS } else { 0 } {
            self.sort();
            let Population { particles, families, neighbours, params, .. } = self;
            let merged = merge(particles, families, neighbours, depth, (params.d0, most), &sees);
            report.merged += merged;
            // Looking for more than a handful is not worth it.
            if merged * WORTHWHILE < self.particles.len() {
                break;
            }
        }
        report.split = split(&mut self.particles, &self.neighbours, depth, self.params.d0, allowed);
        report
    }

    /// Evens out the spacing [sheets Alg. 4]. Wants sorted and measured particles, leaves them unsorted;
    /// shapes stay.
    pub fn correct(
        &mut self,
        stiffness: &Stiffness,
        confine: impl Fn(Vec3, Vec3) -> Vec3 + Sync + Send,
    ) -> Correction {
        correct_positions(&mut self.particles, &self.shapes, &self.neighbours, stiffness, confine)
    }

    /// Removes particles for good, with their masses; returns the mass in quanta.
    pub fn remove(&mut self, leaves: &[bool]) -> u64 {
        if !leaves.contains(&true) {
            return 0;
        }
        let before = self.particles.total_mass();
        self.families.leave(&mut self.particles, leaves);
        let kept: Vec<u32> = (0..leaves.len() as u32).filter(|&i| !leaves[i as usize]).collect();
        self.particles.rearrange(&kept);
        self.families.follow(&self.particles);
        before - self.particles.total_mass()
    }

    /// A step has passed.
    pub fn grow_older(&mut self, dt_s: f32) {
        self.particles.steps.iter_mut().for_each(|s| *s = s.saturating_add(1));
        self.particles.age_s.iter_mut().for_each(|a| *a += dt_s);
    }

    /// How many there are of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.particles.kind.iter().filter(|k| **k == kind).count()
    }

    /// Radius of the largest particle.
    pub fn largest_radius(&self) -> f32 {
        let most = self.particles.count.iter().copied().max().unwrap_or(1);
        crate::particles::radius_of(most, self.params.d0)
    }

    /// The surface as a function of the place. Wants sorted and measured particles.
    pub fn surface_field(&self, shape: &SurfaceShape) -> SurfaceField<'_> {
        SurfaceField::new(&self.particles, &self.shapes, &self.neighbours, &self.walls, &self.params, shape)
    }

    /// The same for a few places.
    pub fn surface_probe(&self, shape: &SurfaceShape) -> SurfaceField<'_> {
        SurfaceField::probe(&self.particles, &self.shapes, &self.neighbours, &self.walls, &self.params, shape)
    }

    /// The surface on a finer lattice. Wants sorted and measured particles.
    pub fn surface(&self, shape: &SurfaceShape) -> SheetSurface {
        SheetSurface::sample(&self.surface_field(shape), shape)
    }
}
