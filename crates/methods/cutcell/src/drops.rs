//! Liquid that the tracker cannot carry: drops of less than two of its cells' radius, and particles that it has lost.
//!
//! A level set loses such drops within a few steps, wherever its nodes lie. Their shape is made anew in every step from the
//! particles that hold them: balls of the particles' volumes, all larger or smaller by one length, for which the liquid
//! that is cut from the level set has the volume that the particles hold. One node below zero is a drop of any volume,
//! however small. Tests: tests/drops.rs.

use crate::cases::{CASES, Case, EDGE_CORNERS, Site};
use crate::cut::{find, unite};
use crate::nodes::LEAST_FRACTION;
use fluvial_foundation::DVec3;
use fluvial_grids::Lattice;
use std::f64::consts::PI;

/// Bodies of a smaller radius than this, in cells of the tracker, are made from their particles.
pub const LEAST_RADIUS: f64 = 2.0;
/// Nodes so far outside of a drop know their distance from it, in cells of the tracker.
const REACH: f64 = 2.0;
/// Looks for the size of a drop, and the part of its volume that they stop at.
const LOOKS: usize = 60;
const CLOSE_ENOUGH: f64 = 1e-4;

/// So far aside of its place, in cells of the tracker, a drop is looked for: where several nodes become liquid at once, as
/// around the middle of a cell, the volume jumps, and there may be no size for it.
const ASIDE: [f64; 5] = [0.0, 0.02, 0.1, -0.1, 0.2];

/// Radius of a ball.
pub fn ball_radius(volume: f64) -> f64 {
    (0.75 * volume / PI).cbrt()
}

/// Particles that are drops: places in cells of the grid, volumes in cells.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Places.
    pub x: &'a [DVec3],
    /// Volumes.
    pub volume: &'a [f64],
}

/// Groups of particles whose balls the tracker, of `factor` cells to a cell, cannot tell apart: each reaches a node at least,
/// and air of less than one of its cells in between is none.
fn groups(parts: &Parts, factor: usize) -> Vec<Vec<u32>> {
    let fine = 1.0 / factor as f64;
    let least = 0.5 * 3.0f64.sqrt() * fine;
    let radius: Vec<f64> = parts.volume.iter().map(|v| ball_radius(*v).max(least) + 0.5 * fine).collect();
    let bin = 2.0 * radius.iter().fold(fine, |a: f64, b| a.max(*b));
    let key = |x: DVec3| (x / bin).floor().as_i64vec3().to_array();
    let mut order: Vec<([i64; 3], u32)> =
        parts.x.iter().enumerate().map(|(n, x)| (key(*x), n as u32)).collect();
    order.sort_unstable();
    let mut parent: Vec<u32> = (0..parts.x.len() as u32).collect();
    for &(at, n) in &order {
        for to in 0..27i64 {
            let there = [at[0] + to % 3 - 1, at[1] + to / 3 % 3 - 1, at[2] + to / 9 - 1];
            let first = order.partition_point(|o| o.0 < there);
            for &(_, m) in order[first..].iter().take_while(|o| o.0 == there).filter(|o| o.1 < n) {
                let (a, b) = (n as usize, m as usize);
                if parts.x[a].distance(parts.x[b]) < radius[a] + radius[b] {
                    unite(&mut parent, n, m);
                }
            }
        }
    }
    let mut number = vec![u32::MAX; parent.len()];
    let mut out: Vec<Vec<u32>> = vec![];
    for n in 0..parent.len() {
        let root = find(&mut parent, n as u32) as usize;
        if number[root] == u32::MAX {
            number[root] = out.len() as u32;
            out.push(vec![]);
        }
        out[number[root] as usize].push(n as u32);
    }
    out
}

/// A drop on the nodes of a box.
struct Drop {
    low: [usize; 3],
    size: [usize; 3],
    /// Distance from the balls at the nodes, in cells of the tracker.
    distance: Vec<f64>,
    /// phi there without the drop.
    carried: Vec<f64>,
    /// How much larger the balls are than their own radius.
    larger: f64,
    is_found: bool,
}

impl Drop {
    fn new(parts: &Parts, group: &[u32], (nodes, factor): (&Lattice, usize), aside: DVec3) -> Drop {
        let r = factor as f64;
        let ball = |n: u32| (r * parts.x[n as usize] + aside, r * ball_radius(parts.volume[n as usize]));
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for (x, radius) in group.iter().map(|&n| ball(n)) {
            (low, high) = (low.min(x - radius - REACH), high.max(x + radius + REACH));
        }
        let last = DVec3::from_array(nodes.size.map(|n| (n - 1) as f64));
        let low = low.floor().clamp(DVec3::ZERO, last).to_array().map(|v| v as usize);
        let high = high.ceil().clamp(DVec3::ZERO, last).to_array().map(|v| v as usize);
        let size: [usize; 3] = std::array::from_fn(|a| high[a] - low[a] + 1);
        let distance = vec![f64::INFINITY; size.iter().product()];
        let mut drop = Drop { low, size, distance, carried: vec![], larger: 0.0, is_found: false };
        for (x, radius) in group.iter().map(|&n| ball(n)) {
            drop.add_ball(x, radius);
        }
        drop
    }

    /// Reads phi where the drop will be.
    fn look_around(&mut self, phi: &[f32], nodes: &Lattice) {
        let (low, size, h) = (self.low, self.size, f64::from(nodes.spacing));
        self.carried.extend((0..self.distance.len()).map(|n| {
            let at = [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])];
            f64::from(phi[nodes.index(low[0] + at[0], low[1] + at[1], low[2] + at[2])]) / h
        }));
    }

    /// phi at the corners of a cell, with balls so much larger.
    fn corners(&self, base: usize, larger: f64) -> [f64; 8] {
        let [nx, ny, _] = self.size;
        std::array::from_fn(|c| {
            let n = base + (c & 1) + nx * (c >> 1 & 1) + nx * ny * (c >> 2);
            let own = self.distance[n] - larger;
            self.carried[n].min(if own <= REACH { own } else { f64::MAX })
        })
    }

    fn add_ball(&mut self, x: DVec3, radius: f64) {
        let range = |a: usize| {
            let to = |v: f64| (v - self.low[a] as f64).clamp(0.0, (self.size[a] - 1) as f64) as usize;
            to((x[a] - radius - REACH).ceil())..=to((x[a] + radius + REACH).floor())
        };
        let (ranges, size) = ([range(0), range(1), range(2)], self.size);
        let low = DVec3::from_array(self.low.map(|n| n as f64));
        for k in ranges[2].clone() {
            for j in ranges[1].clone() {
                for i in ranges[0].clone() {
                    let at = low + DVec3::new(i as f64, j as f64, k as f64);
                    let value = &mut self.distance[i + size[0] * (j + size[1] * k)];
                    *value = value.min(at.distance(x) - radius);
                }
            }
        }
    }

    /// Volume that is cut from the nodes' values, in cells of the tracker.
    fn volume(&self, larger: f64, cases: &[Case]) -> f64 {
        let [nx, ny, nz] = self.size.map(|n| n - 1);
        let cell = |n: usize| {
            let (i, j, k) = (n % nx, n / nx % ny, n / (nx * ny));
            cell_volume(cases, &self.corners(i + (nx + 1) * (j + (ny + 1) * k), larger))
        };
        (0..nx * ny * nz).map(cell).sum()
    }

    /// Finds the size with which the drop adds a volume to what is there, in cells of the tracker.
    fn find_size(&mut self, wanted: f64, cases: &[Case]) {
        let before = self.volume(f64::NEG_INFINITY, cases);
        let nearest = self.distance.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        // With all nodes outside there is no volume; with the box's boundary inside, the largest that the box has.
        let (mut low, mut high) = ((nearest, 0.0), (nearest.max(0.0) + REACH, f64::INFINITY));
        for look in 0..LOOKS {
            let span = high.0 - low.0;
            let guess = match look {
                0 => 0.0f64.clamp(low.0 + 1e-3 * span, high.0 - 1e-3 * span),
                _ if look % 3 == 2 || !high.1.is_finite() => low.0 + 0.5 * span,
                _ => low.0 + span * ((wanted.cbrt() - low.1) / (high.1 - low.1)).clamp(0.02, 0.98),
            };
            self.larger = guess;
            let volume = self.volume(guess, cases) - before;
            if (volume - wanted).abs() <= CLOSE_ENOUGH * wanted {
                self.is_found = true;
                return;
            }
            // The edge of a small drop grows with its size, its volume with the cube.
            let edge = volume.max(0.0).cbrt();
            if volume < wanted { low = (guess, edge) } else { high = (guess, edge) }
        }
    }

    fn add_to(&self, phi: &mut [f32], nodes: &Lattice) {
        for k in 0..self.size[2] {
            for j in 0..self.size[1] {
                for i in 0..self.size[0] {
                    let own = self.distance[i + self.size[0] * (j + self.size[1] * k)] - self.larger;
                    if own <= REACH {
                        let value = &mut phi[nodes.index(self.low[0] + i, self.low[1] + j, self.low[2] + k)];
                        *value = value.min(own as f32 * nodes.spacing);
                    }
                }
            }
        }
    }
}

/// Liquid of a cell of the tracker as [`crate::cut`] cuts it, by the values at its corners; parts of a cell.
pub fn cell_volume(cases: &[Case], phi: &[f64; 8]) -> f64 {
    let case = (0..8).fold(0u8, |bits, c| bits | ((phi[c] < 0.0) as u8) << c);
    if case == 0 || case == 255 {
        return (case == 255) as u8 as f64;
    }
    let corner = |c: u8| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    let site = |code: u8| match code {
        0..Site::EDGE => corner(code),
        _ => {
            let [a, b] = EDGE_CORNERS[(code - Site::EDGE) as usize];
            let t = phi[a as usize] / (phi[a as usize] - phi[b as usize]);
            corner(a).lerp(corner(b), t.clamp(LEAST_FRACTION, 1.0 - LEAST_FRACTION))
        }
    };
    let of = |[a, b, c]: [DVec3; 3]| a.dot(b.cross(c)) / 6.0;
    let case = &cases[case as usize];
    let surface: f64 = case.triangles.iter().map(|t| of(t.map(|e| site(Site::EDGE + e)))).sum();
    let face = |f: &Vec<Site>| -> f64 {
        (2..f.len()).map(|n| of([site(f[0].0), site(f[n - 1].0), site(f[n].0)])).sum()
    };
    surface + case.faces.iter().map(face).sum::<f64>()
}

/// Adds drops to phi, in metres. Returns how many there are, and how many do not have their volume.
pub fn add_drops(phi: &mut [f32], (nodes, factor): (&Lattice, usize), parts: &Parts) -> [usize; 2] {
    let groups = groups(parts, factor);
    let cases = &CASES[..];
    let per_cell = (factor as f64).powi(3);
    let mut missed = 0;
    // One after the other: each adds its volume to what is there already.
    for group in &groups {
        let held: f64 = group.iter().map(|&n| parts.volume[n as usize]).sum();
        let look = |aside: f64| {
            let mut drop = Drop::new(parts, group, (nodes, factor), aside * DVec3::new(1.0, 0.618, 0.382));
            drop.look_around(phi, nodes);
            drop.find_size(per_cell * held, cases);
            drop
        };
        let first = look(ASIDE[0]);
        let drop = match first.is_found {
            true => first,
            false => ASIDE[1..].iter().map(|a| look(*a)).find(|d| d.is_found).unwrap_or(first),
        };
        drop.add_to(phi, nodes);
        missed += !drop.is_found as usize;
    }
    [groups.len(), missed]
}
