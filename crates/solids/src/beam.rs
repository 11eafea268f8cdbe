//! Parallel lines through a shape: its section, its depth, and the columns of liquid that fill it.

use crate::Shape;
use fluvial_foundation::{Aabb, Vec3, parallel};

/// Lines along each side of a column whose section is measured.
const LINES_PER_COLUMN: usize = 16;

/// Parallel lines through a shape.
pub(crate) struct Beam {
    /// The first line's first point, the directions across, the direction along.
    start: Vec3,
    across: [Vec3; 2],
    along: Vec3,
    length: f32,
    spacing: [f32; 2],
    lines: [usize; 2],
    within: Aabb,
}

/// A column of liquid that flows through a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Where its middle line enters the shape or, inside the shape, the box.
    pub entry: Vec3,
    /// Its section where it leaves, m2.
    pub section_m2: f64,
    /// Its place among the columns, counted along both directions across.
    pub place: [usize; 2],
}

/// Steps along two axes whose multiples fill the unit interval most evenly, 1/p and 1/p^2 with p^3 = p + 1.
const EVEN_STEPS: [f64; 2] = [0.754_877_666_246_693, 0.569_840_290_998_053];

impl Column {
    /// The places n + phase of the column's particles that are above `from` and not above `until`, in spacings since the source
    /// began. Columns do not begin at once: at any time what all have brought is right to about a particle.
    pub fn entering(&self, from: f64, until: f64) -> impl Iterator<Item = f64> + use<> {
        let [a, b] = self.place.map(|n| n as f64);
        let phase = (EVEN_STEPS[0] * a + EVEN_STEPS[1] * b).fract();
        let count_at = |way: f64| (way - phase).floor() as i64;
        (count_at(from) + 1..=count_at(until)).map(move |n| n as f64 + phase).filter(|n| *n > 0.0)
    }
}

impl Beam {
    /// A beam with `lines_across` lines along each side of the box around the shape.
    pub fn new(shape: &Shape, direction: Vec3, within: Aabb, lines_across: usize) -> Option<Beam> {
        Beam::spaced(shape, direction, within, |extent| (extent / lines_across as f32, lines_across))
    }

    /// A beam whose spacing and number of lines `divide` gives for each extent across.
    fn spaced(
        shape: &Shape,
        direction: Vec3,
        within: Aabb,
        divide: impl Fn(f32) -> (f32, usize),
    ) -> Option<Beam> {
        let bounds = shape.bounds();
        // Planes are infinite.
        let bounds = Aabb { min: bounds.min.max(within.min), max: bounds.max.min(within.max) };
        let (center, size, along) = (bounds.center(), bounds.size(), direction.normalize_or_zero());
        if along == Vec3::ZERO || size.min_element() < 0.0 {
            return None;
        }
        let across = [along.any_orthonormal_vector(), along.cross(along.any_orthonormal_vector())];
        let extent = |d: Vec3| (d.abs() * size).element_sum();
        let [(a, columns), (b, rows)] = across.map(|d| divide(extent(d)));
        let length = extent(along);
        let to_first = |n: usize, spacing: f32| 0.5 * (n as f32 - 1.0) * spacing;
        let start =
            center - 0.5 * length * along - to_first(columns, a) * across[0] - to_first(rows, b) * across[1];
        let (spacing, lines) = ([a, b], [columns, rows]);
        (a > 0.0 && b > 0.0).then_some(Beam { start, across, along, length, spacing, lines, within })
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.lines[0] * self.lines[1]
    }

    /// The section that a line stands for, m2.
    pub fn section_m2(&self) -> f64 {
        f64::from(self.spacing[0]) * f64::from(self.spacing[1])
    }

    /// First point of a line.
    pub fn line(&self, number: usize) -> Vec3 {
        let [column, row] = [number % self.lines[0], number / self.lines[0]].map(|n| n as f32);
        self.start + column * self.spacing[0] * self.across[0] + row * self.spacing[1] * self.across[1]
    }

    /// Follows a line: `passes` gets where it enters the shape or, inside the shape, the box, and where it
    /// leaves the shape again inside the box; returns how deep it lies in the shape.
    pub fn walk(&self, shape: &Shape, start: Vec3, mut passes: impl FnMut(Vec3, Vec3)) -> f32 {
        let shortest = 0.25 * self.spacing[0].min(self.spacing[1]).max(self.length / 1024.0);
        let (mut inside, mut entry, mut depth_m) = (false, None, 0.0f32);
        let mut at = -shortest;
        // Distances change by no more than the length of the path: neither a surface nor the box is nearer than they say.
        while at < self.length + 8.0 * shortest {
            let x = start + at * self.along;
            let to_box = (self.within.min - x).max(x - self.within.max).max_element();
            let (distance, in_box) = (shape.distance(x), to_box <= 0.0);
            if inside && distance > 0.0 && in_box {
                passes(entry.unwrap_or(x), x);
            }
            inside = distance <= 0.0;
            entry = entry.or(in_box.then_some(x)).filter(|_| inside);
            depth_m = depth_m.max(-distance);
            let free_m = if in_box { distance.abs() } else { distance.abs().min(to_box) };
            at += free_m.max(shortest);
        }
        depth_m
    }
}

/// See [`crate::Nozzle::columns`].
pub(crate) fn columns(
    shape: &Shape,
    flow: Vec3,
    within: Aabb,
    (width_m, least_share): (f32, f32),
    is_blocked: impl Fn(Vec3) -> bool + Sync + Send,
) -> Vec<Column> {
    let per_side = LINES_PER_COLUMN;
    let spacing = width_m / per_side as f32;
    let divide = |extent: f32| (spacing, (extent / width_m).ceil().max(1.0) as usize * per_side);
    let Some(beam) = Beam::spaced(shape, flow, within, divide) else { return vec![] };
    let size = beam.lines.map(|n| n / per_side);
    let found = parallel::map_indices(size[0] * size[1], |number| {
        let place = [number % size[0], number / size[0]];
        // A line may pass a shape more than once: the n-th passages of a column's lines belong together.
        let mut passages: Vec<(Vec3, usize)> = vec![];
        for line in 0..per_side * per_side {
            let at = [place[0] * per_side + line % per_side, place[1] * per_side + line / per_side];
            let mut passage = 0;
            beam.walk(shape, beam.line(at[0] + beam.lines[0] * at[1]), |entry, exit| {
                if !is_blocked(exit) {
                    passages.resize(passages.len().max(passage + 1), (Vec3::ZERO, 0));
                    passages[passage].0 += entry;
                    passages[passage].1 += 1;
                }
                passage += 1;
            });
        }
        passages.retain(|(_, lines)| *lines as f32 > least_share * (per_side * per_side) as f32);
        passages.into_iter().map(move |(sum, lines)| (sum / lines as f32, lines, place)).collect::<Vec<_>>()
    });
    let column =
        |(entry, lines, place)| Column { entry, section_m2: lines as f64 * beam.section_m2(), place };
    found.into_iter().flatten().map(column).collect()
}
