//! Draws films on the domain's walls: liquid between a wall and the outermost cell centres, where a level set has no
//! sample.

use fluvial_foundation::{Aabb, Axis, Vec3};
use fluvial_grids::TriangleMesh;
use std::collections::HashMap;

/// A wall and a point on it, counted in finest cells.
type WallPoint = ((Axis, bool), [i32; 3]);

/// The film on a wall of the domain in one cell.
#[derive(Clone, Copy, Debug)]
pub struct WallFilm {
    /// The wall: its axis, and whether it is the high one.
    pub wall: (Axis, bool),
    /// The cell's centre, metres.
    pub center: Vec3,
    /// The cell's edge, metres.
    pub dx: f32,
    /// Volume to draw, m3.
    pub volume_m3: f32,
    /// Velocity, m/s.
    pub velocity: Vec3,
}

impl WallFilm {
    /// A corner of the cell's face on the wall: bit 0 the axis after the wall's, bit 1 the one after that.
    fn corner(&self, n: usize, domain: Aabb) -> Vec3 {
        let (axis, high) = self.wall;
        let mut x = self.center;
        x[axis] = if high { domain.max[axis] } else { domain.min[axis] };
        for (bit, along) in [(axis + 1) % 3, (axis + 2) % 3].into_iter().enumerate() {
            x[along] += if n >> bit & 1 == 1 { 0.5 * self.dx } else { -0.5 * self.dx };
        }
        x
    }
}

/// Adds a closed slab for every film. Its volume gives its thickness; the height of a corner is the mean over the slabs
/// that share it.
/// `finest_dx` is the edge of the smallest cells. Test: `slabs_join_and_have_their_volume`.
pub fn add_wall_films(mesh: &mut TriangleMesh, films: &[WallFilm], domain: Aabb, finest_dx: f32) {
    let place = |film: &WallFilm, n: usize| {
        let at = ((film.corner(n, domain) - domain.min) / finest_dx).round();
        (film.wall, [at.x as i32, at.y as i32, at.z as i32])
    };
    let mut height_m: HashMap<WallPoint, (f32, f32)> = HashMap::new();
    for film in films {
        for n in 0..4 {
            let (sum, count) = height_m.entry(place(film, n)).or_default();
            *sum += film.volume_m3 / (film.dx * film.dx);
            *count += 1.0;
        }
    }
    for film in films {
        let thickness = [0, 1, 2, 3].map(|n| {
            let (sum, count) = height_m[&place(film, n)];
            sum / count
        });
        add_slab(mesh, film, thickness, domain);
    }
}

fn add_slab(mesh: &mut TriangleMesh, film: &WallFilm, thickness_m: [f32; 4], domain: Aabb) {
    let (axis, high) = film.wall;
    let first = mesh.positions.len() as u32;
    for n in 0..8 {
        let mut x = film.corner(n & 3, domain);
        let out = if n >= 4 { thickness_m[n & 3] } else { 0.0 };
        x[axis] += if high { -out } else { out };
        mesh.positions.push(x);
        mesh.velocities.push(film.velocity);
    }
    // Counter-clockwise from outside where (first, second, out of the wall) is right-handed.
    const QUADS: [[u32; 4]; 6] =
        [[4, 5, 7, 6], [0, 2, 3, 1], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    for [a, b, c, d] in QUADS {
        for t in [[a, b, c], [a, c, d]] {
            let t = t.map(|n| first + n);
            mesh.triangles.push(if high { [t[0], t[2], t[1]] } else { t });
        }
    }
}
