//! The grid as a picture: the cells of a cut plane, liquid and solids in them, as papers draw adaptive grids.

use fluvial_foundation::{Aabb, Vec3, parallel};
use fluvial_output::{CellCut, CutCell};
use fluvial_preview::Image;
use fluvial_solids::PlacedSolids;
use fluvial_solver_interface::Solid;

/// Samples along each side of a pixel.
const SAMPLES: usize = 2;
const BACKGROUND: [f32; 3] = [0.16, 0.17, 0.19];
const AIR: [f32; 3] = [0.93, 0.94, 0.95];
/// Liquid in the finest and in the coarsest cells of a picture.
const FINE: [f32; 3] = [0.05, 0.36, 0.66];
const COARSE: [f32; 3] = [0.55, 0.78, 0.9];
const SOLID: [f32; 3] = [0.42, 0.39, 0.36];
const LINE: [f32; 3] = [0.1, 0.13, 0.18];
/// Half the width of a line, pixels, and how dark it is.
const HALF_LINE: f32 = 0.5;
const LINE_STRENGTH: f32 = 0.55;

/// Draws a cut through a domain, with the solids at a moment.
pub fn draw_cells(
    cut: &CellCut,
    domain: Aabb,
    solids: &[Solid],
    time_s: f64,
    [width, height]: [usize; 2],
) -> Image {
    let size = domain.size();
    let scale = (0.96 * width as f32 / size.x).min(0.96 * height as f32 / size.y);
    let corner = [0.5 * (width as f32 - scale * size.x), 0.5 * (height as f32 + scale * size.y)];
    let solids = PlacedSolids::new(solids.iter().map(|s| (&s.shape, &s.motion)), time_s);
    let sizes = || cut.cells.iter().map(|c| c.dx);
    let (finest, coarsest) = (sizes().fold(f32::INFINITY, f32::min), sizes().fold(0.0, f32::max));
    let index = CellIndex::new(cut, domain, finest);
    let colour = |px: f32, py: f32| -> [f32; 3] {
        let at = [domain.min.x + (px - corner[0]) / scale, domain.min.y + (corner[1] - py) / scale];
        let Some(cell) = index.find(at) else { return BACKGROUND };
        if solids.distance(Vec3::new(at[0], at[1], cut.z), finest) < 0.0 {
            return SOLID;
        }
        let levels = (coarsest / finest).log2().max(1.0);
        let liquid = mix(FINE, COARSE, (cell.dx / finest).log2() / levels);
        let filled = mix(AIR, liquid, (0.5 - cell.phi / cell.dx).clamp(0.0, 1.0));
        // Nearest side of the cell, in pixels.
        let inset = |a: usize| (at[a] - cell.min[a]).min(cell.min[a] + cell.dx - at[a]) * scale;
        let line = if inset(0).min(inset(1)) < HALF_LINE { LINE_STRENGTH } else { 0.0 };
        mix(filled, LINE, line)
    };
    let mut rows = vec![[0u8; 3]; width * height];
    parallel::for_each_chunk_mut(&mut rows, width, |row, pixels| {
        for (column, pixel) in pixels.iter_mut().enumerate() {
            let mut sum = [0.0f32; 3];
            for n in 0..SAMPLES * SAMPLES {
                let offset = |v: usize| (v as f32 + 0.5) / SAMPLES as f32;
                let [x, y] = [column as f32 + offset(n % SAMPLES), row as f32 + offset(n / SAMPLES)];
                let c = colour(x, y);
                (0..3).for_each(|a| sum[a] += c[a] / (SAMPLES * SAMPLES) as f32);
            }
            *pixel = sum.map(|v| (255.0 * v + 0.5) as u8);
        }
    });
    Image { width, height, rgb: rows.into_flattened() }
}

fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    [0, 1, 2].map(|n| a[n] + t * (b[n] - a[n]))
}

/// Which cell a point lies in: the cell's number on a lattice of finest cells.
struct CellIndex<'a> {
    cells: &'a [CutCell],
    number: Vec<u32>,
    min: [f32; 2],
    dx: f32,
    size: [usize; 2],
}

impl<'a> CellIndex<'a> {
    fn new(cut: &'a CellCut, domain: Aabb, dx: f32) -> Self {
        let min = [domain.min.x, domain.min.y];
        let count = |length: f32| if dx.is_finite() { (length / dx).round() as usize } else { 0 };
        let size = [count(domain.size().x), count(domain.size().y)];
        let mut number = vec![u32::MAX; size[0] * size[1]];
        for (n, cell) in cut.cells.iter().enumerate() {
            let from = [0, 1].map(|a| ((cell.min[a] - min[a]) / dx).round().max(0.0) as usize);
            let to = [0, 1].map(|a| (from[a] + (cell.dx / dx).round() as usize).min(size[a]));
            for j in from[1]..to[1] {
                number[j * size[0] + from[0].min(to[0])..j * size[0] + to[0]].fill(n as u32);
            }
        }
        CellIndex { cells: &cut.cells, number, min, dx, size }
    }

    fn find(&self, at: [f32; 2]) -> Option<&CutCell> {
        let place = [0, 1].map(|a| ((at[a] - self.min[a]) / self.dx).floor());
        let inside = (0..2).all(|a| place[a] >= 0.0 && (place[a] as usize) < self.size[a]);
        let number = inside.then(|| self.number[place[1] as usize * self.size[0] + place[0] as usize])?;
        self.cells.get(number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liquid_air_solid_and_lines_are_where_they_belong() {
        let cell = |x: f32, y: f32, dx: f32, phi: f32| CutCell { min: [x, y], dx, phi };
        let cut = CellCut {
            z: 0.5,
            cells: vec![
                cell(0.0, 0.0, 0.5, -1.0),
                cell(0.0, 0.5, 0.5, 1.0),
                cell(0.5, 0.0, 0.25, -1.0),
                cell(0.75, 0.0, 0.25, -1.0),
                cell(0.5, 0.25, 0.25, -1.0),
                cell(0.75, 0.25, 0.25, -1.0),
                cell(0.5, 0.5, 0.5, 1.0),
            ],
        };
        let ball = fluvial_solids::Shape::Sphere { center: Vec3::new(0.75, 0.75, 0.5), radius: 0.1 };
        let solid = Solid::new("ball", ball, Default::default());
        let domain = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let image = draw_cells(&cut, domain, &[solid], 0.0, [200, 200]);
        let pixel = |x: f32, y: f32| -> [u8; 3] {
            let [i, j] = [4.0 + 192.0 * x, 196.0 - 192.0 * y].map(|v| v as usize);
            let start = 3 * (j * 200 + i);
            [image.rgb[start], image.rgb[start + 1], image.rgb[start + 2]]
        };
        let bytes = |c: [f32; 3]| c.map(|v| (255.0 * v + 0.5) as u8);
        assert_eq!(pixel(0.2, 0.2), bytes(COARSE));
        assert_eq!(pixel(0.6, 0.1), bytes(FINE));
        assert_eq!(pixel(0.2, 0.8), bytes(AIR));
        assert_eq!(pixel(0.75, 0.75), bytes(SOLID));
        assert!(pixel(0.625, 0.2499)[0] < bytes(FINE)[0].max(60), "a line between the small cells");
        assert_eq!(image.rgb[..3], bytes(BACKGROUND));
    }
}
