//! Transport of the band by the flow of the octree [power §5].

use super::{Band, PHI, SOLID, kept};
use crate::flow::{Cursors, Flow};
use fluvial_foundation::{AXES, Aabb, Vec3, parallel};
use std::io;

/// What moves a band in a step.
#[derive(Clone, Copy)]
pub struct Motion<'a> {
    /// Velocity.
    pub flow: Flow<'a>,
    /// Length of the step, s.
    pub dt_s: f32,
    /// Steps of a back-trace: half as many as the band is finer than leaves, each with two velocities.
    pub steps: u32,
    /// The liquid cannot move farther than this, m.
    pub farthest: f32,
}

/// Voxels farther from the surface than this have no part in its place.
const FAR_VOXELS: f32 = 4.0;
/// What is left of a voxel's distance when the flow has gone towards the surface all the way, at least: redistancing reads no value that is
/// larger but for its sign.
const UNREAD_VOXELS: f32 = 3.0;
/// Ways by the velocity at a voxel, for which velocity changes along the way and the slope of distances differs from one.
const LONGEST_WAYS: f32 = 1.25;
/// Pages per task.
const PAGES: usize = 64;

/// `body(cursors, item)` of all items, in parallel; neighbours in the list share cursors.
fn map_with_cursors(items: &[u64], body: impl Fn(&mut Cursors, u64) -> bool + Sync) -> Vec<bool> {
    let tasks = parallel::map_indices(parallel::chunk_count(items.len(), PAGES), |task| {
        let mut cursors = Cursors::default();
        let items = &items[parallel::chunk_range(task, PAGES, items.len())];
        items.iter().map(|&item| body(&mut cursors, item)).collect::<Vec<bool>>()
    });
    tasks.concat()
}

impl Band {
    /// The band that arises when the flow carries this one along: `phi(x) = phi_old(x - u dt)`, then `change(x, phi)`. In the
    /// boxes `forced` surface may appear where there was none. Beyond the band `far(x)` is what the leaves know. Distances to solids are those of `solid`, where it is given;
    /// voxels that exist keep theirs unless `solids_move`. Verified by `band.rs`.
    pub fn carried(
        &self,
        motion: Motion,
        forced: &[Aabb],
        far: impl Fn(Vec3) -> f32 + Sync,
        change: impl Fn(Vec3, f32) -> f32 + Sync,
        (solid, solids_move): (Option<&(dyn Fn(Vec3) -> f32 + Sync)>, bool),
    ) -> io::Result<Band> {
        let mut new = self.like()?;
        let layout = *self.grid.layout();
        let shortest = AXES.iter().map(|&a| layout.block_side(a)).min().unwrap_or(1) as f32 * self.dx;
        let rings = (motion.farthest / shortest).ceil().max(1.0) as usize;
        let mut pages = self.pages_around(rings);
        if !forced.is_empty() {
            pages.extend(super::pages_near(self, |b| forced.iter().any(|forced| forced.intersects(&b))));
            pages.sort_unstable();
            pages.dedup();
        }
        // Where the surface is not, only the side matters: redistancing finds the rest. What comes from near it is interpolated as well
        // as can be.
        let stays = |phi: f32, way: f32| phi.abs() > LONGEST_WAYS * way + UNREAD_VOXELS * self.dx;
        let value = |cursors: &mut Cursors, x: Vec3, own: f32| {
            let is_known = own != 0.0;
            if is_known && stays(own, motion.farthest) {
                return own;
            }
            let v = motion.flow.velocity(cursors, x);
            if is_known && stays(own, motion.dt_s * v.length()) {
                return own;
            }
            let from = motion.flow.trace_back_from(cursors, (x, v), motion.dt_s, motion.steps);
            let linear = self.linear(from).unwrap_or_else(|| far(from));
            let phi =
                if linear.abs() < FAR_VOXELS * self.dx { self.cubic(from).unwrap_or(linear) } else { linear };
            phi.clamp(-self.reach, self.reach)
        };
        let pages = self.pages_that_stay(motion, &pages, forced);
        new.grid.commit(&pages)?;
        let (min, dx, cells) = (new.min, new.dx, layout.cells());
        new.grid.for_each_block_with(
            None,
            [PHI, SOLID],
            |cursors: &mut Cursors, _, page, _, [phi, solids]| {
                let (known, own) = (self.grid.channel(page, SOLID), self.grid.channel(page, PHI));
                let was_known = self.grid.blocks().position(page).is_some() && !solids_move;
                for cell in 0..256 {
                    let at = layout.decode(layout.first_of(page) | cell as u64);
                    if AXES.iter().any(|&a| at[a] >= cells[a]) {
                        continue;
                    }
                    let [x, y, z] = at.map(|v| v as f32 + 0.5);
                    let x = min + dx * Vec3::new(x, y, z);
                    phi[cell] = kept(change(x, value(cursors, x, own[cell])));
                    if let Some(solid) = solid {
                        solids[cell] = if was_known { known[cell] } else { solid(x) };
                    }
                }
            },
        );
        Ok(new)
    }

    /// Of ascending pages those that the flow brings a part of the band to, and those that the boxes `forced` touch. A band is wider than a page: one
    /// of a page's corners or its centre comes from inside it, if any part does. Corners are shared by eight pages and asked once.
    fn pages_that_stay(&self, motion: Motion, pages: &[u64], forced: &[Aabb]) -> Vec<u64> {
        let layout = self.grid.layout();
        let comes_from_band = |cursors: &mut Cursors, x: Vec3| {
            let from = motion.flow.trace_back(cursors, x, motion.dt_s, motion.steps);
            self.linear(from).is_some_and(|phi| phi.abs() < self.reach)
        };
        let stays = map_with_cursors(pages, |cursors, page| {
            let bounds = self.page_box(page);
            comes_from_band(cursors, 0.5 * (bounds.min + bounds.max))
                || forced.iter().any(|b| b.intersects(&bounds))
        });
        // A corner by its voxel's coordinates, 21 bits each.
        let corners = |page: u64| {
            let low = layout.decode(layout.first_of(page));
            [0u32, 1, 2, 3, 4, 5, 6, 7].map(|n| {
                let at = AXES.map(|a| u64::from(low[a] + (n >> a & 1) * layout.block_side(a)));
                at[0] | at[1] << 21 | at[2] << 42
            })
        };
        let left = pages.iter().zip(&stays).filter(|(_, stays)| !**stays);
        let mut asked: Vec<u64> = left.flat_map(|(page, _)| corners(*page)).collect();
        asked.sort_unstable();
        asked.dedup();
        let is_near = map_with_cursors(&asked, |cursors, corner| {
            let at = [0, 21, 42].map(|shift| (corner >> shift & 0x1f_ffff) as f32);
            comes_from_band(cursors, self.min + self.dx * Vec3::from_array(at))
        });
        let has_near = |page: u64| {
            corners(page).iter().any(|corner| asked.binary_search(corner).is_ok_and(|n| is_near[n]))
        };
        pages.iter().zip(stays).filter(|(page, stays)| *stays || has_near(**page)).map(|p| *p.0).collect()
    }

    /// Commits pages and sets distances there: the first band.
    pub fn fill(
        &mut self,
        pages: &[u64],
        value: impl Fn(Vec3) -> f32 + Sync,
        solid: Option<&(dyn Fn(Vec3) -> f32 + Sync)>,
    ) -> io::Result<()> {
        self.grid.commit(pages)?;
        let (min, dx, layout) = (self.min, self.dx, *self.grid.layout());
        let cells = layout.cells();
        self.grid.for_each_block(None, [PHI, SOLID], |_, page, _, [phi, solids]| {
            for cell in 0..256 {
                let at = layout.decode(layout.first_of(page) | cell as u64);
                if AXES.iter().all(|&a| at[a] < cells[a]) {
                    let [x, y, z] = at.map(|v| v as f32 + 0.5);
                    let x = min + dx * Vec3::new(x, y, z);
                    phi[cell] = kept(value(x));
                    solids[cell] = solid.map_or(0.0, |solid| solid(x));
                }
            }
        });
        Ok(())
    }

    /// Changes all distances: `change(x, phi)`.
    pub fn change(&mut self, change: impl Fn(Vec3, f32) -> f32 + Sync + Send) {
        self.change_by_page(|(): &mut (), x, phi| change(x, phi));
    }

    /// Changes all distances: `change(memory of the page, x, phi)`.
    pub fn change_by_page<M: Default>(&mut self, change: impl Fn(&mut M, Vec3, f32) -> f32 + Sync + Send) {
        let (min, dx, layout) = (self.min, self.dx, *self.grid.layout());
        self.grid.for_each_block(None, [PHI], |_, page, _, [phi]| {
            let mut memory = M::default();
            for cell in 0..256 {
                if phi[cell] == 0.0 {
                    continue;
                }
                let [x, y, z] = layout.decode(layout.first_of(page) | cell as u64).map(|v| v as f32 + 0.5);
                phi[cell] = kept(change(&mut memory, min + dx * Vec3::new(x, y, z), phi[cell]));
            }
        });
    }

    /// Adds to all distances: a positive `shift` makes the liquid less.
    pub fn shift(&mut self, shift: f32) {
        self.grid.for_each_block(None, [PHI], |_, _, _, [phi]| {
            phi.iter_mut().filter(|v| **v != 0.0).for_each(|v| *v = kept(*v + shift));
        });
    }
}
