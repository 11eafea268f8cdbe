//! What the neighbours of a piece say of its shape.

use super::Piece;
use fluvial_foundation::eigen::{Symmetric, eigen};
use fluvial_foundation::{Aabb, Mat3, Vec3, parallel};

/// Neighbours are looked for so many cells around.
const REACH_CELLS: f32 = 2.0;
/// How far a piece moves to the mean of its neighbourhood, which is nearer to a thin film than the centres of cells and the places of
/// particles are.
const TOWARDS_MEAN: f32 = 0.8;
/// Root of the mean square distance of neighbours, in cells, along which liquid begins to go on, and from which on it does:
/// 0.5 for two cells, 0.78 for all of a plane or a line.
const GOES_ON: [f32; 2] = [0.3, 0.6];
/// Half the width of a piece along which liquid goes on, cells.
const LONG_CELLS: f32 = 0.95;
/// Least half thickness that a lattice shows wherever it lies, in its spacings: no point is farther from a sample than 0.87.
const SHOWN: f32 = 0.9;
/// Half the edge of the cube that a ball of radius 1 has the volume of.
const HALF_CUBE: f32 = 0.806;

/// An ellipsoid of liquid.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its centre, metres.
    pub center: Vec3,
    /// Its axes, orthonormal.
    pub axes: Mat3,
    /// The share in which liquid goes on along each axis, 0 to 1.
    pub long: Vec3,
    /// Half its widths, metres.
    pub half_m: Vec3,
    /// Half the widths that the lattice can show, metres.
    pub shown_m: Vec3,
    /// Its weight in the field: the sum of all in it is about 1 inside of liquid.
    pub weight: f32,
}

impl Shape {
    /// The place of a point among the axes, as multiples of the half widths that are shown.
    #[inline]
    pub fn place(&self, x: Vec3) -> Vec3 {
        let d = x - self.center;
        Vec3::new(self.axes.x_axis.dot(d), self.axes.y_axis.dot(d), self.axes.z_axis.dot(d)) / self.shown_m
    }

    /// The bell of the ellipsoid at such a place: 1 at the centre, [`LEVEL`] at its surface, 0 from twice its size on.
    #[inline]
    pub fn bell(place: Vec3) -> f32 {
        (1.0 - 0.25 * place.length_squared()).max(0.0).powi(3)
    }

    /// May its bell be more than 0 no farther than `margin_m` from a point?
    #[inline]
    pub fn may_reach(&self, x: Vec3, margin_m: f32) -> bool {
        let reach = 2.0 * self.shown_m.max_element() + margin_m;
        x.distance_squared(self.center) < reach * reach
    }

    /// The box around all that its bell reaches.
    pub fn reach(&self) -> Aabb {
        let [a, b, c] = [0, 1, 2].map(|n| 2.0 * self.shown_m[n] * self.axes.col(n));
        let half = (a * a + b * b + c * c).map(f32::sqrt);
        Aabb { min: self.center - half, max: self.center + half }
    }
}

/// The value of the field at the surface.
pub const LEVEL: f32 = 0.421_875;

/// Points in order of the bins that they lie in, so that neighbours are found by searching for nine rows of bins.
struct Bins {
    origin: Vec3,
    edge_m: f32,
    size: [u64; 2],
    /// Bin and point, in order.
    points: Vec<(u64, u32)>,
}

impl Bins {
    fn new(points: impl Iterator<Item = Vec3> + Clone, edge_m: f32) -> Bins {
        let bounds = points.clone().fold(Aabb::EMPTY, Aabb::include).expand(edge_m);
        let size = ((bounds.max - bounds.min) / edge_m).ceil() + 1.0;
        let size = [size.x as u64, size.y as u64];
        let mut bins = Bins { origin: bounds.min, edge_m, size, points: vec![] };
        bins.points = points.enumerate().map(|(n, x)| (bins.key(bins.bin(x)), n as u32)).collect();
        bins.points.sort_unstable();
        bins
    }

    fn bin(&self, x: Vec3) -> [u64; 3] {
        let at = (x - self.origin) / self.edge_m;
        [at.x as u64, at.y as u64, at.z as u64]
    }

    fn key(&self, [i, j, k]: [u64; 3]) -> u64 {
        (k * self.size[1] + j) * self.size[0] + i
    }

    /// Calls `body` with every point that may be nearer than a bin's edge, in an order that depends on the points alone.
    fn around(&self, x: Vec3, mut body: impl FnMut(usize)) {
        let [i, j, k] = self.bin(x);
        for row in 0..9 {
            let (j, k) = (j + row % 3, k + row / 3);
            if j == 0 || k == 0 {
                continue;
            }
            let first = self.key([i.saturating_sub(1), j - 1, k - 1]);
            let from = self.points.partition_point(|(key, _)| *key < first);
            let last = self.key([i + 1, j - 1, k - 1]);
            self.points[from..]
                .iter()
                .take_while(|(key, _)| *key <= last)
                .for_each(|(_, n)| body(*n as usize));
        }
    }
}

/// The shapes of all pieces, without weights; `spacing` is that of the lattice that shall show them.
pub fn shapes(pieces: &[Piece], spacing: f32) -> Vec<Shape> {
    let edge_m = REACH_CELLS * pieces.iter().fold(0.0, |most: f32, piece| most.max(piece.dx));
    let bins = Bins::new(pieces.iter().map(|piece| piece.center), edge_m);
    let centers = parallel::map_indices(pieces.len(), |n| {
        let (mut sum, mut total) = (Vec3::ZERO, 0.0);
        bins.around(pieces[n].center, |other| {
            let offset = pieces[other].center - pieces[n].center;
            let weight = closeness(pieces, n, offset) * pieces[other].volume_m3;
            sum += weight * offset;
            total += weight;
        });
        pieces[n].center + TOWARDS_MEAN * sum / total
    });
    let bins = Bins::new(centers.iter().copied(), edge_m);
    parallel::map_indices(pieces.len(), |n| shape(pieces, &centers, &bins, n, spacing))
}

/// Gives shapes their weights.
pub fn weigh(shapes: &mut [Shape]) {
    let reach_m = |shape: &Shape| 2.0 * shape.shown_m.max_element();
    let bins =
        Bins::new(shapes.iter().map(|shape| shape.center), shapes.iter().map(reach_m).fold(0.0, f32::max));
    let weights = parallel::map_indices(shapes.len(), |n| {
        let (mut sum, x) = (0.0f32, shapes[n].center);
        bins.around(x, |other| sum += Shape::bell(shapes[other].place(x)));
        1.0 / sum.max(1.0)
    });
    shapes.iter_mut().zip(weights).for_each(|(shape, weight)| shape.weight = weight);
}

/// The weight of what lies at an offset from a piece.
fn closeness(pieces: &[Piece], n: usize, offset: Vec3) -> f32 {
    (1.0 - (offset.length() / (REACH_CELLS * pieces[n].dx)).powi(3)).max(0.0)
}

fn shape(pieces: &[Piece], centers: &[Vec3], bins: &Bins, n: usize, spacing: f32) -> Shape {
    let (piece, center) = (&pieces[n], centers[n]);
    let (mut mean, mut square, mut total) = (Vec3::ZERO, [0.0f32; 6], 0.0f32);
    bins.around(center, |other| {
        let d = (centers[other] - center) / piece.dx;
        // A neighbour that holds much less says nothing of where this liquid goes on.
        let weight = closeness(pieces, n, centers[other] - center)
            * (pieces[other].volume_m3 / piece.volume_m3).min(1.0);
        mean += weight * d;
        total += weight;
        let products = [d.x * d.x, d.y * d.y, d.z * d.z, d.x * d.y, d.x * d.z, d.y * d.z];
        square.iter_mut().zip(products).for_each(|(sum, product)| *sum += weight * product);
    });
    let m = mean / total;
    let products = [m.x * m.x, m.y * m.y, m.z * m.z, m.x * m.y, m.x * m.z, m.y * m.z];
    let spread: Symmetric = std::array::from_fn(|i| square[i] / total - products[i]);
    let eigen = eigen(&spread);
    let goes_on = eigen.values.map(|value| {
        let share = ((value.max(0.0).sqrt() - GOES_ON[0]) / (GOES_ON[1] - GOES_ON[0])).clamp(0.0, 1.0);
        share * share * (3.0 - 2.0 * share)
    });
    // Liquid that goes on in all directions is a cloud of drops: what fills its cells has a mesh.
    let long = Vec3::from_array(goes_on.map(|share| share * (1.0 - goes_on[2])));
    let radius = short_radius(piece, long);
    let half_m = long * (LONG_CELLS * piece.dx) + (Vec3::ONE - long) * radius;
    let axes = Mat3::from_cols(eigen.vectors[0], eigen.vectors[1], eigen.vectors[2]);
    Shape { center, axes, long, half_m, shown_m: half_m.max(Vec3::splat(SHOWN * spacing)), weight: 1.0 }
}

/// Half the width across the directions in which liquid goes on: those are a cell long for each piece, the others as wide as the volume asks
/// for, `V = prod (long dx + (1 - long) 2 HALF_CUBE r)`.
fn short_radius(piece: &Piece, long: Vec3) -> f32 {
    let volume = |r: f32| {
        let width = long * piece.dx + (Vec3::ONE - long) * (2.0 * HALF_CUBE * r);
        width.x * width.y * width.z
    };
    let (mut low, mut high) = (0.0, piece.dx);
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if volume(middle) < piece.volume_m3 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
