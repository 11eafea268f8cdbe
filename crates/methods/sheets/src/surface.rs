//! The surface that is drawn [sheets §5.3], sampled sparsely on a finer lattice.
//!
//! Bulk liquid ends where the density is half of the full one: flat and quiet, with the liquid's volume and without bubbles
//! between its particles, which the union of eq. 23 would have. Particles outside that (drops, threads and sheets) are
//! ellipsoids along the stretch of their neighbourhood, `|M_i (p_i - x)| = 1` (eq. 23), never thinner than the lattice can
//! see. The surface is the union of both.

use crate::around::{Around, cells_around};
use crate::eigen::{Symmetric, apply};
use crate::kernels::lattice_density;
use crate::neighbours::{Neighbours, Walls};
use crate::params::SheetParams;
use crate::particles::Particles;
use crate::shapes::Shapes;
use fluvial_foundation::{Vec3, parallel};

/// Samples along the edge of a block.
const BLOCK: usize = 8;
/// Half the thickness that no lattice of spacing 1 looks through, whatever its direction: sqrt(3) / 2.
const SEEN: f32 = 0.867;
/// Bulk liquid is where the density is above this share of the full one.
const BULK: f32 = 0.5;
/// Drops of fewer than about five particles have less than this share of the full density.
const LONELY: f32 = 0.05;

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

/// A particle at the surface: `|M (x - p - shift)| = 1`.
#[derive(Clone, Copy, Debug)]
struct Ellipsoid {
    inverse_axes: Symmetric,
    shift: Vec3,
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
    /// Tests: `a_lattice_ball_has_its_volume`, `a_sheet_is_seen_whole_in_any_direction`, `blocks_agree_with_single_samples`.
    pub fn sample(field: &SurfaceField, shape: &SurfaceShape) -> SheetSurface {
        let around = cells_around(field.particles, field.neighbours, field.params, field.reach);
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
        let mass = self.particles.weight(i);
        if let Some(stretch) = shapes.stretch_of(i).filter(|_| shapes.thin[i]) {
            // Half of a layer of its mass, but no less than the lattice sees in that direction: half a spacing along an axis,
            // sqrt(3) / 2 along a diagonal. A sheet's own stretch is 7/6 in its plane.
            let axis = |n: usize| {
                let seen = 0.51 * self.spacing * stretch.vectors[n].abs().element_sum();
                let along = self.sheet_reach * (stretch.values[n] * (6.0 / 7.0)).clamp(0.0, 1.0);
                along.max(0.5 * d0 * mass.min(1.0)).max(seen)
            };
            let inverse_axes = stretch.with_values([0, 1, 2].map(|n| 1.0 / axis(n)));
            // A rim ends half a spacing beyond its particles too.
            let outward = shapes.outward_of(i);
            let reach = 1.0 / apply(&inverse_axes, outward).length().max(f32::MIN_POSITIVE);
            let shift = if outward == Vec3::ZERO { outward } else { -(reach - 0.5 * d0).max(0.0) * outward };
            return Ellipsoid { inverse_axes, shift };
        }
        // A ball with the particle's volume, (4/3) pi r^3 = m d0^3; in company it reaches the middle between eight, so that
        // nothing is hollow.
        let own = 0.620_35 * d0 * mass.cbrt();
        let ball = if shapes.density[i] < LONELY { own } else { SEEN * d0 }.max(thinnest);
        Ellipsoid {
            inverse_axes: [1.0 / ball, 1.0 / ball, 1.0 / ball, 0.0, 0.0, 0.0],
            // Towards the air liquid ends half a spacing beyond its outermost particles.
            shift: -(ball - 0.5 * d0) * shapes.outward_of(i),
        }
    }

    /// The union's value: metres, first order near the surface.
    pub fn value(&self, x: Vec3) -> f32 {
        let h = self.params.reach_m();
        let rho = self.neighbours.density(x, h, self.walls) * self.inverse_rho0;
        // Across a flat surface the density falls by 15 / (16 h) a metre.
        let mut value = (BULK - rho) * (16.0 / 15.0) * h;
        if rho > 0.0 {
            self.neighbours.for_each_within(x, self.reach, |i, d, _| {
                if self.shapes.density[i] < BULK && self.shapes.place[i] != Shapes::ROUND {
                    let shaped = self.ellipsoids.get(self.shapes.place[i] as usize);
                    let Ellipsoid { inverse_axes, shift } =
                        shaped.copied().unwrap_or_else(|| self.ellipsoid(i));
                    value = value.min(ellipsoid_distance(&inverse_axes, d + shift));
                }
            });
        }
        value.clamp(-self.far_m, self.far_m)
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
