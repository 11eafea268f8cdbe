//! How drops become liquid of a grid again, on any grid.

use crate::Drops;
use fluvial_foundation::Vec3;

/// The smallest drop, in finest cells' volumes; less waits for company.
pub const SMALLEST: f64 = 1e-3;
/// Drops keep this distance from solids and walls, finest cells.
pub const MARGIN_CELLS: f32 = 0.02;
/// A drop closer to the surface than this has arrived, cells.
const ARRIVES_CELLS: f32 = 0.5;
/// Drops that fill this part of a cell are liquid that the grid can hold.
const FULL: f64 = 0.5;
/// More drops than this in one cell join.
const MOST_IN_A_CELL: usize = 4;

/// What drops ask of a grid.
pub trait Home {
    /// Number of the cell that holds a point.
    fn cell_of(&self, x: Vec3) -> usize;
    /// Distance to the surface at a point, m.
    fn phi_at(&self, x: Vec3) -> f32;
    /// Edge of a cell, m.
    fn edge_m(&self, cell: usize) -> f32;
    /// What solids leave of a cell, m3.
    fn room_m3(&self, cell: usize) -> f64;
    /// Is a cell small enough for drops to become liquid of their own in it?
    fn may_fill(&self, _cell: usize) -> bool {
        true
    }
}

/// A drop that has become liquid of the grid: cell, velocity in m/s, m3.
pub type Arrived = (usize, Vec3, f64);

impl Drops {
    /// Takes out the drops at places that `is_taken` names; returns their volume, m3.
    pub fn take_where(&mut self, is_taken: impl Fn(Vec3) -> bool) -> f64 {
        let mut taken_m3 = 0.0;
        self.retain(|drops, n| {
            let stays = !is_taken(drops.x[n]);
            taken_m3 += if stays { 0.0 } else { drops.volume_m3[n] };
            stays
        });
        taken_m3
    }

    /// Takes out the drops that have reached the surface and adds them to `arrived`.
    pub fn arrive(&mut self, home: &impl Home, arrived: &mut Vec<Arrived>) {
        self.retain(|drops, n| {
            let (x, cell) = (drops.x[n], home.cell_of(drops.x[n]));
            let arrives = home.phi_at(x) < ARRIVES_CELLS * home.edge_m(cell) && home.room_m3(cell) > 0.0;
            if arrives {
                arrived.push((cell, drops.v[n], drops.volume_m3[n]));
            }
            !arrives
        });
    }

    /// Joins drops where many meet, and takes out those that fill a cell. Returns these cells in ascending order and what has come
    /// together in each, m3, for the caller to make liquid. Verified by `drops_that_fill_a_cell_become_liquid`.
    pub fn fill_cells(&mut self, home: &impl Home, arrived: &mut Vec<Arrived>) -> Vec<(usize, f64)> {
        self.join(MOST_IN_A_CELL, |x| home.cell_of(x));
        let mut full: Vec<(usize, f64)> = vec![];
        for n in 0..self.len() {
            let (cell, volume_m3) = (home.cell_of(self.x[n]), self.volume_m3[n]);
            match full.last_mut() {
                Some((last, sum)) if *last == cell => *sum += volume_m3,
                _ => full.push((cell, volume_m3)),
            }
        }
        full.retain(|&(cell, volume_m3)| {
            let room_m3 = home.room_m3(cell);
            room_m3 > 0.0 && home.may_fill(cell) && volume_m3 >= FULL * room_m3
        });
        self.retain(|drops, n| {
            let cell = home.cell_of(drops.x[n]);
            let is_full = full.binary_search_by_key(&cell, |&(cell, _)| cell).is_ok();
            if is_full {
                arrived.push((cell, drops.v[n], drops.volume_m3[n]));
            }
            !is_full
        });
        full
    }
}

/// Direction of growing distance, by differences over a fifth of a cell.
pub fn normal(distance: impl Fn(Vec3) -> f32, x: Vec3, dx: f32) -> Vec3 {
    let along = |axis: Vec3| distance(x + 0.1 * dx * axis) - distance(x - 0.1 * dx * axis);
    Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)).normalize_or_zero()
}

/// The nearest place outside of solids, of which `distance` is the distance, to a point of a cell that they cut.
pub fn out_of_solids(distance: impl Fn(Vec3) -> f32, x: Vec3, dx: f32) -> Vec3 {
    let (here, margin) = (distance(x), 2.0 * MARGIN_CELLS * dx);
    if here > margin { x } else { x + (margin - here) * normal(distance, x, dx) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit cells along x with a surface at x = 2; the cell at 4 is closed.
    struct Row;

    impl Home for Row {
        fn cell_of(&self, x: Vec3) -> usize {
            x.x as usize
        }

        fn phi_at(&self, x: Vec3) -> f32 {
            x.x - 2.0
        }

        fn edge_m(&self, _: usize) -> f32 {
            1.0
        }

        fn room_m3(&self, cell: usize) -> f64 {
            if cell == 4 { 0.0 } else { 1.0 }
        }
    }

    #[test]
    fn drops_that_fill_a_cell_become_liquid() {
        let (mut drops, mut arrived) = (Drops::default(), vec![]);
        for (x, m3) in [(2.4, 0.1), (2.6, 0.2), (3.1, 0.3), (3.2, 0.3), (4.5, 0.9)] {
            drops.push(Vec3::new(x, 0.0, 0.0), Vec3::Y, m3);
        }
        drops.arrive(&Row, &mut arrived);
        assert_eq!(arrived, [(2, Vec3::Y, 0.1)], "half a cell from the surface");
        assert_eq!(drops.fill_cells(&Row, &mut arrived), [(3, 0.6)], "no closed cell, none with too little");
        assert_eq!((arrived.len(), drops.len()), (3, 2));
        assert!((drops.take_where(|x| x.x > 4.0) - 0.9).abs() < 1e-12 && drops.len() == 1);
    }

    #[test]
    fn a_point_in_a_solid_is_moved_out_of_it() {
        let floor = |x: Vec3| x.y - 0.5;
        let out = out_of_solids(floor, Vec3::new(0.1, 0.3, 0.2), 0.1);
        assert!((out - Vec3::new(0.1, 0.504, 0.2)).length() < 1e-6, "{out}");
        assert_eq!(out_of_solids(floor, Vec3::ONE, 0.1), Vec3::ONE);
    }
}
