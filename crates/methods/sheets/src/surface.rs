//! The surface that is drawn [sheets §5.3], sampled sparsely on a finer lattice.
//!
//! Bulk liquid ends where the density is half of the full one: flat and quiet, with the liquid's volume and
//! without bubbles between its particles, which the union of eq. 23 would have. Particles outside that
//! (drops, threads and sheets) are ellipsoids along the stretch of their neighbourhood, `|M_i (p_i - x)| = 1`
//! (eq. 23). The surface is the union of both.
//!
//! A sheet stretched to a tenth of a particle's thickness is still whole, and no lattice sees it. So
//! ellipsoids are sampled no thinner than the lattice can see ("we set the minimal eigenvalue of C_i to the
//! order of a single cell", §5.3), and what is drawn of them is pulled back to the thickness that the mass
//! has ([`SurfaceField::pull`]). Drawn as sampled, a splash has several times its volume.
//!
//! The thickness follows from the density. A sheet with s small particles on d0^2 has `rho / rho_0 = 15/16 s
//! d0 / h` (the smooth kernel's integral over a plane, pi h^2 / 2, over that of a ball, 8 pi h^3 / 15), so
//! that it is `16/15 h rho / rho_0` thick; a thread with l of them on d0 has `5/(2 pi) l (d0 / h)^2`, and the
//! cross-section l d0^2.

use crate::around::{Around, cells_around};
use crate::deposit::deposit;
use crate::kernels::lattice_density;
use crate::neighbours::{Neighbours, Walls};
use crate::params::SheetParams;
use crate::particles::Particles;
use crate::shapes::Shapes;
use fluvial_foundation::eigen::{Eigen, Symmetric, apply};
use fluvial_foundation::{Vec3, parallel};

/// Samples along the edge of a block.
const BLOCK: usize = 8;
/// Half the thickness that no lattice of spacing 1 looks through, whatever its direction: sqrt(3) / 2.
const SEEN: f32 = 0.867;
/// Bulk liquid is where the density is above this share of the full one.
const BULK: f32 = 0.5;

/// Particles of no sheet are taken to be as far apart as their density says, down to this share of the full
/// one.
const SPARSEST: f32 = 0.2;

/// Share of the kernel that is empty over the offset of its mean, at a straight rim: (1/2) / (16 / (15 pi)).
const RIM: f32 = 1.47;
/// Ellipsoids that reach 1.5 spacings along a sheet are lower between its particles, by so much on average.
const BUMPS: f32 = 1.06;
/// A mesh of a few triangles around a thread cuts corners: so much larger, it has its volume.
const CORNERS: f32 = 1.12;

/// Half the least thickness that is drawn, in spacings: the middles that neighbours find differ by about as
/// much, and thinner sheets would be turned inside out here and there.
const LEAST_HALF: f32 = 0.08;

/// How the surface is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceShape {
    /// Spacing of the samples, metres.
    pub spacing: f32,
    /// Position of sample (0, 0, 0), metres.
    pub origin: Vec3,
    /// Samples along each axis.
    pub size: [usize; 3],
    /// Reach of a sheet's particle along the sheet, in radii: gaps up to twice as wide are closed.
    pub sheet_reach: f32,
}

/// Signed distance near the surface, negative inside, in blocks of 8^3 samples where anything happens.
#[derive(Clone, Debug)]
pub struct SheetSurface {
    shape: SurfaceShape,
    blocks: [usize; 3],
    /// Place of a block's samples, or [`AIR`] or [`LIQUID`] throughout.
    table: Vec<u32>,
    values: Vec<f32>,
    far_m: f32,
}

const AIR: u32 = u32::MAX;
const LIQUID: u32 = u32::MAX - 1;

/// A particle at the surface: `|M (x - p - shift)| = 1`, as the lattice sees it, and the part of each axis
/// that is liquid.
#[derive(Clone, Copy, Debug)]
struct Ellipsoid {
    inverse_axes: Symmetric,
    shift: Vec3,
    /// What a place relative to its centre is multiplied by.
    true_share: Symmetric,
    /// Half of its least thickness then, metres.
    half_m: f32,
}

/// The surface as a function of the place, for given particles.
pub struct SurfaceField<'a> {
    particles: &'a Particles,
    shapes: &'a Shapes,
    neighbours: &'a Neighbours,
    walls: &'a Walls,
    params: &'a SheetParams,
    inverse_rho0: f32,
    /// Of all particles at the surface, or of none.
    ellipsoids: Vec<Ellipsoid>,
    spacing: f32,
    thinnest: f32,
    sheet_reach: f32,
    reach: f32,
    far_m: f32,
}

impl SheetSurface {
    /// Samples the surface on the lattice of `shape`.
    ///
    /// Tests: `a_lattice_ball_has_its_volume`, `a_sheet_is_seen_whole_in_any_direction`,
    /// `blocks_agree_with_single_samples`.
    pub fn sample(field: &SurfaceField, shape: &SurfaceShape) -> SheetSurface {
        let bins = field.neighbours.bins();
        let mut mass = vec![0.0; bins.count()];
        let particles = field.particles;
        deposit(&mut mass, particles, field.neighbours, field.walls, field.params.d0, |i| {
            particles.weight(i)
        });
        let around = cells_around(&mass, bins, field.params, field.reach);
        let blocks = shape.size.map(|n| n.div_ceil(BLOCK));
        let count = blocks.iter().product();
        let sampled = parallel::map_indices(count, |b| {
            let block = [b % blocks[0], b / blocks[0] % blocks[1], b / (blocks[0] * blocks[1])];
            sample_block(block, shape, field, &around)
        });
        let (mut table, mut values) = (Vec::with_capacity(count), vec![]);
        for block in sampled {
            table.push(match block {
                Ok(samples) => {
                    values.extend_from_slice(&samples);
                    (values.len() / BLOCK.pow(3) - 1) as u32
                }
                Err(Around::Full) => LIQUID,
                Err(_) => AIR,
            });
        }
        SheetSurface { shape: *shape, blocks, table, values, far_m: field.far_m }
    }

    /// The value at a sample, metres; far ones are cut off.
    #[inline]
    pub fn value(&self, [i, j, k]: [usize; 3]) -> f32 {
        let [a, b, c] = [i / BLOCK, j / BLOCK, k / BLOCK];
        match self.table[a + self.blocks[0] * (b + self.blocks[1] * c)] {
            AIR => self.far_m,
            LIQUID => -self.far_m,
            place => {
                let within = i % BLOCK + BLOCK * (j % BLOCK + BLOCK * (k % BLOCK));
                self.values[place as usize * BLOCK.pow(3) + within]
            }
        }
    }

    /// Fills the x-row of samples (., j, k).
    pub fn fill_row(&self, j: usize, k: usize, out: &mut [f32]) {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = self.value([i, j, k]));
    }

    /// The value of samples that no liquid is near, metres.
    pub fn far_m(&self) -> f32 {
        self.far_m
    }

    /// Samples that are held, of all that the lattice has.
    pub fn samples_held(&self) -> usize {
        self.values.len()
    }

    /// The lattice.
    pub fn shape(&self) -> &SurfaceShape {
        &self.shape
    }
}

impl<'a> SurfaceField<'a> {
    /// Shapes the ellipsoids of particles, which `shapes` and `neighbours` describe.
    pub fn new(
        particles: &'a Particles,
        shapes: &'a Shapes,
        neighbours: &'a Neighbours,
        walls: &'a Walls,
        params: &'a SheetParams,
        shape: &SurfaceShape,
    ) -> Self {
        let mut field = SurfaceField::probe(particles, shapes, neighbours, walls, params, shape);
        let mut surface: Vec<u32> = vec![0; shapes.stretch.len()];
        let at_surface = shapes.place.iter().enumerate().filter(|(_, p)| **p != Shapes::ROUND);
        at_surface.for_each(|(i, &p)| surface[p as usize] = i as u32);
        field.ellipsoids = parallel::map_indices(surface.len(), |s| field.ellipsoid(surface[s] as usize));
        field
    }

    /// The same for a few places: ellipsoids are shaped when they are met.
    pub fn probe(
        particles: &'a Particles,
        shapes: &'a Shapes,
        neighbours: &'a Neighbours,
        walls: &'a Walls,
        params: &'a SheetParams,
        shape: &SurfaceShape,
    ) -> Self {
        let thinnest = SEEN * shape.spacing;
        SurfaceField {
            particles,
            shapes,
            neighbours,
            walls,
            params,
            inverse_rho0: 1.0 / lattice_density(params.density_reach),
            ellipsoids: vec![],
            spacing: shape.spacing,
            thinnest,
            sheet_reach: shape.sheet_reach * params.d0,
            reach: (2.0 * shape.sheet_reach * params.d0).max(2.0 * thinnest).max(params.d0),
            far_m: 0.5 * params.reach_m(),
        }
    }

    /// The shape of a particle at the surface.
    fn ellipsoid(&self, i: usize) -> Ellipsoid {
        let (shapes, d0, thinnest) = (self.shapes, self.params.d0, self.thinnest);
        if let Some(stretch) = shapes.stretch_of(i).filter(|_| shapes.thin[i]) {
            return self.thin_ellipsoid(i, stretch);
        }
        // A ball with the particle's volume, (4/3) pi r^3 = m d0^3; in company it reaches the middle between
        // eight, so that nothing is hollow, and is smaller as its mass is.
        let size = d0 * self.particles.weight(i).cbrt();
        // Where layers fold onto each other there are fewer than fit, farther apart: hollow all the same
        // without this.
        let amid = shapes.outward_of(i) == Vec3::ZERO;
        let apart = if amid { shapes.density[i].clamp(SPARSEST, 1.0).cbrt().recip() } else { 1.0 };
        let (full, least) = (SEEN * size.min(d0) * apart, thinnest.max(SEEN * d0 * apart));
        let ball = full.max(least);
        let share = full / ball;
        Ellipsoid {
            inverse_axes: [1.0 / ball, 1.0 / ball, 1.0 / ball, 0.0, 0.0, 0.0],
            // Towards the air liquid ends half a spacing beyond its outermost particles.
            shift: -(ball - 0.5 * d0) * shapes.outward_of(i),
            true_share: [share, share, share, 0.0, 0.0, 0.0],
            half_m: full,
        }
    }

    /// The shape of a particle in a sheet or thread: around the middle of that, as thick as its mass makes
    /// it.
    fn thin_ellipsoid(&self, i: usize, stretch: &Eigen) -> Ellipsoid {
        let (shapes, d0, h) = (self.shapes, self.params.d0, self.params.reach_m());
        let x = self.particles.x[i];
        // Images in walls belong to no sheet.
        let rho = match self.walls.are_far(x, h) {
            true => shapes.density[i],
            false => {
                let seen = self.walls.seen_from(x);
                self.neighbours.density_of_particles(x, h, seen.as_ref()) * self.inverse_rho0
            }
        };
        let is_thread = stretch.values[1] <= self.params.thin_ratio * stretch.values[0];
        let across = |n: usize| n == 2 || is_thread && n == 1;
        let axes = [0, 1, 2];
        let offset = shapes.offset_of(i);
        // At a rim half of the kernel sees nothing, and the mean of the rest is a third of its reach off.
        let aside = axes.into_iter().filter(|&n| !across(n)).map(|n| offset.dot(stretch.vectors[n]).powi(2));
        let rho = rho / (1.0 - RIM * aside.sum::<f32>().sqrt()).max(0.25);
        let full = match is_thread {
            true => CORNERS * h * (0.4 * rho).sqrt(),
            false => BUMPS * (8.0 / 15.0) * h * rho,
        };
        let full = full.max(LEAST_HALF * self.spacing);
        // The lattice sees half a spacing along an axis, sqrt(3) / 2 along a diagonal, and half as much more
        // is needed where ellipsoids meet at their flanks. A sheet's own stretch is 7/6 in its plane.
        let seen = |n: usize| 0.75 * self.spacing * stretch.vectors[n].abs().element_sum();
        let along = |n: usize| self.sheet_reach * (stretch.values[n] * (6.0 / 7.0)).clamp(0.0, 1.0);
        let truth = |n: usize| if across(n) { full } else { along(n).max(full) };
        let drawn = |n: usize| truth(n).max(seen(n));
        let inverse_axes = stretch.with_values(axes.map(|n| 1.0 / drawn(n)));
        // The middle, and a rim that ends half a spacing beyond its particles.
        let middle = axes.into_iter().filter(|&n| across(n)).map(|n| stretch.vectors[n]);
        let mut shift: Vec3 = middle.map(|normal| h * offset.dot(normal) * normal).sum();
        let outward = shapes.outward_of(i);
        if outward != Vec3::ZERO {
            let reach = 1.0 / apply(&inverse_axes, outward).length().max(f32::MIN_POSITIVE);
            let in_plane = outward - outward.dot(stretch.vectors[2]) * stretch.vectors[2];
            shift -= (reach - 0.5 * d0).max(0.0) * in_plane;
        }
        let true_share = stretch.with_values(axes.map(|n| truth(n) / drawn(n)));
        Ellipsoid { inverse_axes, shift, true_share, half_m: full }
    }

    /// The union's value: metres, first order near the surface.
    pub fn value(&self, x: Vec3) -> f32 {
        self.nearest(x).0
    }

    /// The union's value, and whose ellipsoid it is; none for the bulk.
    #[inline]
    fn nearest(&self, x: Vec3) -> (f32, Option<usize>) {
        let h = self.params.reach_m();
        let rho = self.neighbours.density(x, h, self.walls) * self.inverse_rho0;
        // Across a flat surface the density falls by 15 / (16 h) a metre.
        let (mut value, mut whose) = ((BULK - rho) * (16.0 / 15.0) * h, None);
        if rho > 0.0 {
            let (seen, bins) = (self.walls.seen_from(x), self.neighbours.bins());
            let is_beside = |i: usize| seen.is_none_or(|s| s.sees(bins.coordinates(self.particles.x[i])));
            self.neighbours.for_each_within(x, self.reach, |i, d, _| {
                let is_seen = self.shapes.density[i] < BULK && !self.shapes.is_lonely(i);
                if is_seen && is_beside(i) && self.shapes.place[i] != Shapes::ROUND {
                    let Ellipsoid { inverse_axes, shift, .. } = self.ellipsoid_of(i);
                    let own = ellipsoid_distance(&inverse_axes, d + shift);
                    if own < value {
                        (value, whose) = (own, Some(i));
                    }
                }
            });
        }
        (value.clamp(-self.far_m, self.far_m), whose)
    }

    #[inline]
    fn ellipsoid_of(&self, i: usize) -> Ellipsoid {
        let shaped = self.ellipsoids.get(self.shapes.place[i] as usize);
        shaped.copied().unwrap_or_else(|| self.ellipsoid(i))
    }

    /// How far a place on the sampled surface is from where the mass puts it, and half of the thickness that
    /// the liquid has there, up to that of a kernel; none where it is no place on it (a solid or a wall cuts
    /// the liquid there).
    ///
    /// Test: `sheets_and_threads_are_drawn_with_their_volume`.
    pub fn pull(&self, x: Vec3) -> Option<(Vec3, f32)> {
        let (value, whose) = self.nearest(x);
        if value.abs() > 0.5 * self.spacing {
            return None;
        }
        let Some(i) = whose else { return Some((Vec3::ZERO, self.far_m)) };
        let Ellipsoid { shift, true_share, half_m, .. } = self.ellipsoid_of(i);
        let place = x - self.particles.x[i] - shift;
        Some((apply(&true_share, place) - place, half_m))
    }

    /// Pulls the vertices of a mesh of the sampled surface to where the mass puts them. Neighbours go
    /// together: half of a pull is the mean of theirs. Returns half of the liquid's thickness at every vertex,
    /// metres; 0 where a solid or a wall cuts the liquid.
    pub fn pull_mesh(&self, positions: &mut [Vec3], triangles: &[[u32; 3]]) -> Vec<f32> {
        let pulls = parallel::map_indices(positions.len(), |v| self.pull(positions[v]).unwrap_or_default());
        let (mut sum, mut count) = (vec![(Vec3::ZERO, 0.0); pulls.len()], vec![0.0f32; pulls.len()]);
        for t in triangles {
            for (&a, &b) in t.iter().zip([&t[1], &t[2], &t[0]]) {
                // Every edge is met twice, once in each direction.
                let (pull, half_m) = pulls[b as usize];
                sum[a as usize].0 += pull;
                sum[a as usize].1 += half_m;
                count[a as usize] += 1.0;
            }
        }
        let mean = |v: usize| {
            let (own, half_m) = pulls[v];
            if half_m == 0.0 {
                return (own, 0.0);
            }
            let share = 1.0 / count[v].max(1.0);
            (0.5 * (own + share * sum[v].0), 0.5 * (half_m + share * sum[v].1))
        };
        positions.iter_mut().enumerate().for_each(|(v, x)| *x += mean(v).0);
        (0..pulls.len()).map(|v| mean(v).1).collect()
    }
}

/// First-order distance from the ellipsoid `|M d| = 1`: `(|M d| - 1) |M d| / |M^2 d|`.
#[inline]
fn ellipsoid_distance(m: &Symmetric, d: Vec3) -> f32 {
    let md = apply(m, d);
    let length = md.length();
    let slope = apply(m, md).length();
    if slope > 0.0 { (length - 1.0) * length / slope } else { -1.0 / m[0].max(m[1]).max(m[2]) }
}

fn sample_block(
    block: [usize; 3],
    shape: &SurfaceShape,
    field: &SurfaceField,
    around: &[Around],
) -> Result<[f32; BLOCK * BLOCK * BLOCK], Around> {
    let bins = field.neighbours.bins();
    let first = block.map(|b| b * BLOCK);
    let position =
        |s: [usize; 3]| shape.origin + shape.spacing * Vec3::new(s[0] as f32, s[1] as f32, s[2] as f32);
    // The cells that the block touches.
    let (low, high) =
        (bins.coordinates(position(first)), bins.coordinates(position(first.map(|f| f + BLOCK - 1))));
    let mut all: Option<Around> = None;
    for k in low[2]..=high[2] {
        for j in low[1]..=high[1] {
            for i in low[0]..=high[0] {
                let here = around[bins.index([i, j, k])];
                all = Some(if all.is_none_or(|a| a == here) { here } else { Around::Mixed });
            }
        }
    }
    match all {
        Some(Around::Mixed) => {}
        Some(same) => return Err(same),
        None => return Err(Around::Nothing),
    }
    let mut samples = [field.far_m; BLOCK * BLOCK * BLOCK];
    for (n, value) in samples.iter_mut().enumerate() {
        let s = [first[0] + n % BLOCK, first[1] + n / BLOCK % BLOCK, first[2] + n / (BLOCK * BLOCK)];
        let x = position(s);
        *value = match around[bins.index(bins.coordinates(x))] {
            Around::Nothing => field.far_m,
            Around::Full => -field.far_m,
            Around::Mixed => field.value(x),
        };
    }
    Ok(samples)
}
