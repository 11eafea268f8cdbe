//! Which samples a value at a point is made of, found once for all fields that are read there.

use super::Sampler;
use super::lattice::Family;
use super::trilinear::{Value, between};
use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::octree::Located;

/// Eight samples around a point in a dual cell of one size, x fastest, and the point's fractions between them.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    pub samples: [u32; 8],
    pub at: [f32; 3],
}

impl Even {
    /// Trilinear interpolation.
    #[inline(always)]
    pub fn read<V: Value>(&self, values: &[V]) -> V {
        // A map over the array is not always inlined, and costs more than the rest.
        let mut c = [V::default(); 8];
        for (c, &n) in c.iter_mut().zip(&self.samples) {
            *c = values[n as usize];
        }
        between(c, self.at)
    }
}

/// A point of the domain and its leaf.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub(super) x: Vec3,
    pub(super) located: Located,
}

impl Spot {
    /// The leaf that holds the point.
    #[inline]
    pub fn cell(&self) -> usize {
        self.located.cell as usize
    }
}

#[derive(Clone, Copy, Debug)]
enum Stencil {
    Even(Even),
    /// First and end in the list of weights.
    Weighed(u32, u32),
}

/// The samples and weights of many points. Finding them is most of what interpolation costs, above all where cells of
/// different size meet: fields that are read at the same points share them.
#[derive(Clone, Debug, Default)]
pub struct Stencils {
    stencils: Vec<Stencil>,
    weights: Vec<(u32, f64)>,
}

impl Stencils {
    /// Forgets all points.
    pub fn clear(&mut self) {
        self.stencils.clear();
        self.weights.clear();
    }

    /// Adds a point at which fields at cell centres are read.
    #[inline]
    pub fn add_cells(&mut self, sampler: &Sampler, spot: &Spot) {
        match sampler.even_cells(spot) {
            Some(even) => self.stencils.push(Stencil::Even(even)),
            None => self.add_general(sampler, Family::Cells, spot),
        }
    }

    /// Adds a point at which a component of fields at face centres is read.
    #[inline]
    pub fn add_component(&mut self, sampler: &Sampler, axis: Axis, spot: &Spot) {
        match sampler.even_faces(axis, spot) {
            Some(even) => self.stencils.push(Stencil::Even(even)),
            None => self.add_general(sampler, Family::Faces(axis), spot),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_general(&mut self, sampler: &Sampler, family: Family, spot: &Spot) {
        let (start, weights) = (self.weights.len() as u32, &mut self.weights);
        let even = sampler.weigh(family, spot, &mut |sample, weight| weights.push((sample, weight)));
        self.stencils.push(match even {
            Some(even) => Stencil::Even(even),
            None => Stencil::Weighed(start, self.weights.len() as u32),
        });
    }

    /// The value of a field at the n-th point: what the sampler gives there.
    #[inline]
    pub fn read(&self, n: usize, values: &[f32]) -> f32 {
        match &self.stencils[n] {
            Stencil::Even(even) => even.read(values),
            &Stencil::Weighed(start, end) => {
                let weights = &self.weights[start as usize..end as usize];
                weights.iter().map(|&(n, weight)| weight * values[n as usize] as f64).sum::<f64>() as f32
            }
        }
    }

    /// Least and largest of the eight samples around the n-th point; None where cells of different size meet.
    #[inline]
    pub fn range(&self, n: usize, values: &[f32]) -> Option<[f32; 2]> {
        let Stencil::Even(even) = &self.stencils[n] else { return None };
        let least_and_most = |[least, most]: [f32; 2], v: f32| [least.min(v), most.max(v)];
        Some(
            even.samples
                .iter()
                .map(|&n| values[n as usize])
                .fold([f32::INFINITY, f32::NEG_INFINITY], least_and_most),
        )
    }
}
