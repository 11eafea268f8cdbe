//! 255 colours for a film: median cut over a histogram [heckbert-1982], refined by Lloyd's iterations.

use fluvial_foundation::{Vec3, parallel};
use std::collections::BTreeSet;

/// Colours a palette may hold; one more code is kept for "unchanged".
pub const COLORS: usize = 255;
const BITS: usize = 6;
/// Bits per channel of the table that maps colours to codes.
const TABLE_BITS: usize = 7;
/// Half the amplitude of the ordered dither, in 8-bit steps: about half the distance of palette colours.
const DITHER: f32 = 2.5;

/// Colours of all frames: sums per coarse bin, and the exact set while it is small.
pub struct Histogram {
    bins: Vec<(u64, [u64; 3])>,
    exact: Option<BTreeSet<[u8; 3]>>,
}

impl Histogram {
    /// No colours yet.
    pub fn new() -> Histogram {
        Histogram { bins: vec![(0, [0; 3]); 1 << (3 * BITS)], exact: Some(BTreeSet::new()) }
    }

    /// Counts the pixels of an image.
    pub fn add(&mut self, rgb: &[u8]) {
        for p in rgb.chunks_exact(3) {
            let bin = &mut self.bins[p.iter().fold(0, |n, &c| n << BITS | (c as usize >> (8 - BITS)))];
            bin.0 += 1;
            (0..3).for_each(|c| bin.1[c] += p[c] as u64);
        }
        if let Some(set) = &mut self.exact {
            for p in rgb.chunks_exact(3) {
                set.insert([p[0], p[1], p[2]]);
                if set.len() > COLORS {
                    self.exact = None;
                    break;
                }
            }
        }
    }
}

/// A palette, and the table that finds the code of a colour.
pub struct Palette {
    /// At most [`COLORS`] colours.
    pub colors: Vec<[u8; 3]>,
    /// Nearest code by the upper bits of a colour; empty when the palette is exact.
    table: Vec<u8>,
}

impl Palette {
    /// Exact where the frames have few colours; else the best 255, dithered.
    pub fn of(histogram: &Histogram) -> Palette {
        if let Some(set) = &histogram.exact {
            return Palette { colors: set.iter().copied().collect(), table: vec![] };
        }
        let points: Vec<(Vec3, f32)> = histogram
            .bins
            .iter()
            .filter(|(count, _)| *count > 0)
            // A power below one keeps rare colours, the highlights, in the palette.
            .map(|&(n, s)| (Vec3::from_array(s.map(|c| c as f32 / n as f32)), (n as f32).powf(0.75)))
            .collect();
        let mut means = median_cut(points.clone());
        for _ in 0..8 {
            lloyd(&mut means, &points);
        }
        let colors: Vec<[u8; 3]> = means.iter().map(|m| m.to_array().map(|c| (c + 0.5) as u8)).collect();
        let side = 1 << TABLE_BITS;
        let center = |n: usize| (n as f32 + 0.5) * (256 / side) as f32 - 0.5;
        let rows = parallel::map_indices(side * side, |rg| {
            let code =
                |b: usize| nearest(&means, Vec3::new(center(rg / side), center(rg % side), center(b))) as u8;
            (0..side).map(code).collect::<Vec<u8>>()
        });
        Palette { colors, table: rows.concat() }
    }

    /// Codes of an image. The dither pattern is fixed to the frame, so that still pixels keep their code.
    pub fn encode(&self, rgb: &[u8], width: usize) -> Vec<u8> {
        if self.table.is_empty() {
            let code = |p: &[u8]| {
                self.colors.binary_search(&[p[0], p[1], p[2]]).expect("every colour was counted") as u8
            };
            return rgb.chunks_exact(3).map(code).collect();
        }
        let shift = 8 - TABLE_BITS;
        let code = |(n, p): (usize, &[u8])| {
            let d = (2.0 * bayer(n % width, n / width) - 1.0) * DITHER;
            let channel = |c: u8| (c as f32 + d + 0.5).clamp(0.0, 255.0) as usize >> shift;
            self.table[(channel(p[0]) << TABLE_BITS | channel(p[1])) << TABLE_BITS | channel(p[2])]
        };
        rgb.chunks_exact(3).enumerate().map(code).collect()
    }
}

/// Threshold of Bayer's 8 x 8 matrix, in (0, 1).
fn bayer(x: usize, y: usize) -> f32 {
    let (mut v, mut a, mut b) = (0, x ^ y, y);
    for _ in 0..3 {
        v = v << 2 | (a & 1) << 1 | (b & 1);
        (a, b) = (a >> 1, b >> 1);
    }
    (v as f32 + 0.5) / 64.0
}

fn nearest(means: &[Vec3], x: Vec3) -> usize {
    let mut best = (f32::INFINITY, 0);
    for (n, m) in means.iter().enumerate() {
        let d = m.distance_squared(x);
        if d < best.0 {
            best = (d, n);
        }
    }
    best.1
}

fn mean(points: &[(Vec3, f32)]) -> Vec3 {
    let weight: f32 = points.iter().map(|p| p.1).sum();
    points.iter().map(|p| p.0 * p.1).sum::<Vec3>() / weight
}

/// Splits the box with the largest weighted spread at its mean until there are enough.
fn median_cut(points: Vec<(Vec3, f32)>) -> Vec<Vec3> {
    let spread = |points: &[(Vec3, f32)]| {
        let m = mean(points);
        let v: Vec3 = points.iter().map(|p| (p.0 - m) * (p.0 - m) * p.1).sum();
        let axis = if v.x >= v.y && v.x >= v.z { 0 } else { 1 + usize::from(v.z > v.y) };
        (v[axis], axis, m)
    };
    let mut boxes = vec![(spread(&points), points)];
    while boxes.len() < COLORS {
        let widest = (0..boxes.len()).fold(0, |w, n| if boxes[n].0.0 > boxes[w].0.0 { n } else { w });
        let (value, axis, m) = boxes[widest].0;
        if value <= 0.0 {
            break;
        }
        let (_, all) = boxes.swap_remove(widest);
        let (low, high): (Vec<_>, Vec<_>) = all.into_iter().partition(|p| p.0[axis] < m[axis]);
        // A positive spread has points on both sides of the mean, up to rounding.
        if low.is_empty() || high.is_empty() {
            let rest = if low.is_empty() { high } else { low };
            boxes.push(((0.0, axis, m), rest));
            continue;
        }
        boxes.push((spread(&low), low));
        boxes.push((spread(&high), high));
    }
    boxes.iter().map(|(s, _)| s.2).collect()
}

/// Moves every colour to the mean of the points nearest to it.
fn lloyd(means: &mut [Vec3], points: &[(Vec3, f32)]) {
    let owner = parallel::map_indices(points.len(), |n| nearest(means, points[n].0));
    let mut sums = vec![(Vec3::ZERO, 0f32); means.len()];
    for (&(x, w), &n) in points.iter().zip(&owner) {
        sums[n] = (sums[n].0 + w * x, sums[n].1 + w);
    }
    for (m, (sum, weight)) in means.iter_mut().zip(sums) {
        if weight > 0.0 {
            *m = sum / weight;
        }
    }
}
