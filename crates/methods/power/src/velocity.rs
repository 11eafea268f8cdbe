//! Divergence and pressure gradient with velocities on face and edge channels [power §4.1, §4.2].
//!
//! The velocity through a power face is kept on the level of the smaller of its two leaves: faces that are
//! homologous to a side of a cell with the cell on its high side, faces between cells that share an edge with
//! the cell that has the edge on its low side. Positive is along the axis; through an edge, towards the
//! higher coordinate along the axis that follows the edge's in cyclic order. An edge has one power face at
//! most (`no_edge_has_two_power_faces`).

use crate::channels::{EDGE_VELOCITY, FACE_VELOCITY};
use crate::diagram::Diagram;
use crate::pairs::{Boundary, Pairs, neighbour_steps};
use crate::rows::{Rows, SURFACE_FRACTION_FLOOR};
use fluvial_foundation::{AXES, Axis};
use fluvial_grids::paged::{Layout, Reader};
use fluvial_grids::pyramid::{NEIGHBOURS, Pyramid, bits, opposite};

/// Where the velocity through the face towards neighbour `k` is kept: channel, offset of the cell, and sign
/// of what flows out.
pub fn location(k: usize) -> (usize, [i64; 3], f32) {
    let high = NEIGHBOURS[k].map(|v| i64::from(v > 0));
    if k < 6 {
        return (FACE_VELOCITY[k / 2], high, if k % 2 == 1 { 1.0 } else { -1.0 });
    }
    let axis = (k - 6) / 4;
    (EDGE_VELOCITY[axis], high, f32::from(NEIGHBOURS[k][(axis + 1) % 3]))
}

/// `(D u)_i = sum_k A_k u_k . n_k` over the open faces of every unknown leaf: the integral of the divergence
/// over its power cell, m3/s [power eq. 4]. Zero in other leaves. What moving solids push through the closed
/// parts is not in it. Minus the transpose of the gradient; verified by `operators.rs`.
pub fn divergence(pyramid: &mut Pyramid, rows: &Rows, out: usize) {
    for (level, level_rows) in pyramid.levels_mut().iter_mut().zip(&rows.levels) {
        let layout = *level.grid.layout();
        let places: [(usize, u64, f32); 18] = std::array::from_fn(|k| {
            let (channel, offset, sign) = location(k);
            (channel, layout.encode(offset), sign)
        });
        let area = level.dx * level.dx;
        level.for_each_used_block([out], |n, page, reader, [result]| {
            let block = &level_rows.blocks[n];
            result.fill(0.0);
            let read = |cell: u64, k: usize| {
                let (channel, step, sign) = places[k];
                let at = layout.add(cell, step);
                sign * reader.channel(layout.page(at), channel)[layout.cell_in_page(at)]
            };
            if block.uniform == !0 {
                uniform_block(result, reader, &layout, page, area);
            } else {
                for cell in bits(block.uniform) {
                    let code = layout.first_of(page) | cell as u64;
                    result[cell] = area * (0..6).map(|k| read(code, k)).sum::<f32>();
                }
            }
            for (cell, i) in bits(block.special).zip(block.first as usize..) {
                let code = layout.first_of(page) | cell as u64;
                let areas = &rows.areas[level_rows.row_of[i] as usize];
                let flow = (0..18).filter(|&k| areas[k] != 0.0).map(|k| areas[k] * read(code, k));
                result[cell] = area * flow.sum::<f32>();
            }
        });
    }
    pyramid.accumulate(out);
}

/// All cells of a block on a uniform grid.
fn uniform_block(out: &mut [f32; 64], reader: &Reader<64>, layout: &Layout, page: u64, area: f32) {
    for axis in AXES {
        let stride = 1 << (2 * axis);
        let own = reader.channel(page, FACE_VELOCITY[axis]);
        let mut step = [0; 3];
        step[axis] = 4;
        let next_page = layout.page(layout.add(layout.first_of(page), layout.encode(step)));
        let next = reader.channel(next_page, FACE_VELOCITY[axis]);
        for cell in 0..64 {
            let is_last = cell / stride % 4 == 3;
            let high = if is_last { next[cell - 3 * stride] } else { own[cell + stride] };
            out[cell] += area * (high - own[cell]);
        }
    }
}

/// `u_k -= c (p_j - p_i) / d` through every open face with liquid beside it; where the surface lies between
/// the two, `p` is zero there and the distance is that to the surface. `c` is the time step over the density
/// for a pressure. `p` must stand in ghosts ([`Pyramid::propagate`]), and `phi` too. Returns how many
/// distances were held at the floor.
pub fn subtract_gradient(
    pyramid: &mut Pyramid,
    diagram: &Diagram,
    rows: &Rows,
    boundary: Boundary,
    p: usize,
    c: f32,
) -> usize {
    let min = pyramid.shape().min;
    let mut floored = 0.0;
    for (level, level_rows) in pyramid.levels_mut().iter_mut().zip(&rows.levels) {
        let layout = *level.grid.layout();
        let steps = neighbour_steps(&layout);
        let dx = level.dx;
        let [fx, fy, fz] = FACE_VELOCITY;
        let [ex, ey, ez] = EDGE_VELOCITY;
        let write = [fx, fy, fz, ex, ey, ez];
        floored += level.grid.sum_blocks(None, write, |n, page, reader, mut out| {
            let pairs = Pairs {
                fields: reader,
                layout,
                table: diagram.table(),
                boundary,
                min: AXES.map(|a| f64::from(min[a])),
                dx: f64::from(dx),
                steps,
            };
            let gradient = Gradient { pairs: &pairs, p, scale: f64::from(c) / f64::from(dx) };
            // Three sides of these are plain, and around their edges no others share a face.
            let plain = level_rows.blocks[n].uniform;
            let mut floors = 0;
            plain_faces(&mut out, plain, reader, &layout, page, p, c / dx);
            for cell in bits(!plain) {
                let code = layout.first_of(page) | cell as u64;
                for axis in AXES {
                    out[axis][cell] -= gradient.face(code, axis, &mut floors) as f32;
                    out[3 + axis][cell] -= gradient.edge(code, axis, &mut floors) as f32;
                }
            }
            floors as f64
        });
    }
    floored as usize
}

/// The low sides of plain leaves: one difference each.
fn plain_faces(
    out: &mut [&mut [f32; 64]; 6],
    plain: u64,
    reader: &Reader<64>,
    layout: &Layout,
    page: u64,
    p: usize,
    scale: f32,
) {
    if plain == 0 {
        return;
    }
    let own = reader.channel(page, p);
    for axis in AXES {
        let stride = 1 << (2 * axis);
        let mut step = [0; 3];
        step[axis] = -4;
        let low_page = layout.page(layout.add(layout.first_of(page), layout.encode(step)));
        let low = reader.channel(low_page, p);
        for cell in bits(plain) {
            let is_first = (cell / stride).is_multiple_of(4);
            let below = if is_first { low[cell + 3 * stride] } else { own[cell - stride] };
            out[axis][cell] -= scale * (own[cell] - below);
        }
    }
}

struct Gradient<'a, 'b> {
    pairs: &'a Pairs<'a, Reader<'b, 64>>,
    p: usize,
    /// `c / dx`.
    scale: f64,
}

impl Gradient<'_, '_> {
    /// `c (p_high - p_low) / d` through the low side of a cell.
    fn face(&self, cell: u64, axis: Axis, floors: &mut usize) -> f64 {
        -self.towards(cell, 2 * axis, floors)
    }

    /// Through the low edge of a cell: between the cell itself and the one beyond the edge, or between the
    /// two others.
    fn edge(&self, cell: u64, axis: Axis, floors: &mut usize) -> f64 {
        let first = 6 + 4 * axis;
        // From the cell to (-,-): against the sign. From the cell below along the second axis to (-,+):
        // likewise.
        let below = self.pairs.next(cell, 2 * ((axis + 2) % 3));
        -self.towards(cell, first, floors) - self.towards(below, first + 2, floors)
    }

    /// `c (p_k - p_i) / d`; zero where there is no open face or no liquid.
    fn towards(&self, cell: u64, k: usize, floors: &mut usize) -> f64 {
        let pairs = self.pairs;
        let Some(pair) = pairs.pair(cell, k).filter(|p| p.open_area > 0.0) else { return 0.0 };
        let next = pairs.next(cell, k);
        let pressure = |c: u64| f64::from(pairs.value(self.p, c));
        let mut to_surface = |from: u64, k: usize| {
            let fraction = pairs.surface_fraction(from, k).expect("only one of the two is liquid");
            *floors += usize::from(fraction < SURFACE_FRACTION_FLOOR);
            -pressure(from) / fraction.max(SURFACE_FRACTION_FLOOR)
        };
        let difference = match (pairs.is_liquid(cell), pairs.is_liquid(next)) {
            (true, true) => pressure(next) - pressure(cell),
            (true, false) => to_surface(cell, k),
            (false, true) => -to_surface(next, opposite(k)),
            (false, false) => 0.0,
        };
        self.scale * difference / pair.distance
    }
}
