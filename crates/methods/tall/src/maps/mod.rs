//! What lies on the surface and is seen there, one value a column: the map of foam, the map of what is wet, and coordinates for a texture
//! of waves that goes with the water [tall §4; neyret-2003]. Twins in `maps.wgsl`.

use crate::field::{Velocity, at};
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;

/// What a column shows; two `vec4` on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "gpu", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[repr(C)]
pub struct Shown {
    /// Foam on the water, in areas of the column.
    pub foam: f32,
    /// How wet the ground is: 1 where there is water now, less the longer it is gone.
    pub wet: f32,
    /// Height of the surface in cells; where it is dry, of the last one.
    pub height: f32,
    /// Nothing.
    pub pad: f32,
    /// How far the water here has come since its texture was laid, in cells, along x and z, for two layers of it.
    pub come: [[f32; 2]; 2],
}

/// How a step changes the maps; the layout of the shader's uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "gpu", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[repr(C)]
pub struct Change {
    /// Length of the step over the edge of a cell, s/m.
    pub scale: f32,
    /// Part of the foam that is left of it after the step.
    pub foam_kept: f32,
    /// Part of what is wet that does not dry in the step.
    pub wet_kept: f32,
    /// Layers of the texture that are laid anew, a bit each.
    pub laid: u32,
}

impl Change {
    /// The change over a step that begins at `time_s`. Foam lasts `foam_s`, wet ground `dry_s`; each layer of the texture is laid anew
    /// every `texture_s`, the layers half of that apart.
    pub fn new([time_s, dt_s]: [f64; 2], dx_m: f32, [foam_s, dry_s, texture_s]: [f64; 3]) -> Change {
        let is_laid = |layer: usize| {
            let turn = |t_s: f64| (t_s / texture_s + 0.5 * layer as f64).floor();
            turn(time_s) != turn(time_s + dt_s)
        };
        Change {
            scale: dt_s as f32 / dx_m,
            foam_kept: (-dt_s / foam_s).exp() as f32,
            wet_kept: (-dt_s / dry_s).exp() as f32,
            laid: u32::from(is_laid(0)) | u32::from(is_laid(1)) << 1,
        }
    }
}

/// How much of each layer of the texture is seen: nothing of one that is being laid, all of it half a turn later. The sum is 1.
pub fn weights(time_s: f64, texture_s: f64) -> [f32; 2] {
    let turned = (time_s / texture_s).fract();
    let first = 1.0 - (2.0 * turned - 1.0).abs();
    [first as f32, 1.0 - first as f32]
}

/// The highest surface of every column: its velocity along x and z, m/s, its height in cells, and 1 where there is one, else 0.
pub fn surfaces(out: &mut [[f32; 4]], grid: &TallGrid, phi: &[f32], u: &[Velocity]) {
    parallel::for_each_indexed_mut(out, |c, out| {
        let (i, k) = (c % grid.nx, c / grid.nx);
        let value = |j: usize| phi[grid.index(i, j, k)];
        let Some(top) = (0..grid.rows()).rev().find(|j| value(*j) <= 0.0) else {
            *out = [0.0; 4];
            return;
        };
        let (low, below) = (grid.y(i, top, k) as f32, value(top));
        let height = if top + 1 == grid.rows() { low } else { low + below / (below - value(top + 1)) };
        let [x, _, z, _] = at(u, grid.locate(i, k, height));
        *out = [x, z, height, 1.0];
    });
}

/// Carries the maps along with the surfaces; `landed` is what fell in, in 65536ths of a column's area.
pub fn carry(
    out: &mut [Shown],
    [nx, nz]: [usize; 2],
    shown: &[Shown],
    (surfaces, landed): (&[[f32; 4]], &[u32]),
    change: &Change,
) {
    parallel::for_each_indexed_mut(out, |c, out| {
        let [x, z, height, is_wet] = surfaces[c];
        if is_wet == 0.0 {
            let (wet, height) = (shown[c].wet * change.wet_kept, shown[c].height);
            *out = Shown { wet, height, ..Shown::default() };
            return;
        }
        let by = [change.scale * x, change.scale * z];
        let from = [(c % nx) as f32 - by[0], (c / nx) as f32 - by[1]];
        let there = between(shown, [nx, nz], from);
        let mut come = there.come;
        for (layer, come) in come.iter_mut().enumerate() {
            let is_laid = change.laid >> layer & 1 == 1;
            *come = if is_laid { [0.0; 2] } else { [come[0] + by[0], come[1] + by[1]] };
        }
        let fallen = landed[c] as f32 / 65536.0;
        *out = Shown { foam: there.foam * change.foam_kept + fallen, wet: 1.0, height, pad: 0.0, come };
    });
}

/// The maps between columns.
pub fn between(shown: &[Shown], [nx, nz]: [usize; 2], [x, z]: [f32; 2]) -> Shown {
    let (x, z) = (x.clamp(0.0, (nx - 1) as f32), z.clamp(0.0, (nz - 1) as f32));
    let (i, k) = (x.floor() as usize, z.floor() as usize);
    let (i1, k1) = ((i + 1).min(nx - 1), (k + 1).min(nz - 1));
    let near = mixed(&shown[i + nx * k], &shown[i1 + nx * k], x - x.floor());
    let far = mixed(&shown[i + nx * k1], &shown[i1 + nx * k1], x - x.floor());
    mixed(&near, &far, z - z.floor())
}

fn mixed(a: &Shown, b: &Shown, w: f32) -> Shown {
    let mix = |a: f32, b: f32| a * (1.0 - w) + b * w;
    let come = std::array::from_fn(|l| std::array::from_fn(|c| mix(a.come[l][c], b.come[l][c])));
    Shown {
        foam: mix(a.foam, b.foam),
        wet: mix(a.wet, b.wet),
        height: mix(a.height, b.height),
        pad: 0.0,
        come,
    }
}
