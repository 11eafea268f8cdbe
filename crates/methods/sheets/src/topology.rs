//! Pieces, bubbles and handles of a closed mesh: is a sheet whole?

use fluvial_foundation::Vec3;

/// A closed mesh in whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Topology {
    /// Connected pieces that bound liquid.
    pub pieces: usize,
    /// Connected pieces that bound air inside liquid.
    pub bubbles: usize,
    /// Handles over all pieces: a hole in a sheet is one.
    pub handles: usize,
    /// Handles of the piece with the largest area.
    pub handles_of_largest: usize,
    /// Area of the largest piece, m2.
    pub largest_area_m2: f64,
    /// Area of all pieces, m2.
    pub area_m2: f64,
    /// Volume of the piece with the largest area over that of all.
    pub largest_volume_share: f64,
}

impl Topology {
    /// Counts pieces by joining vertices along triangles, and handles by Euler's `V - E + F = 2 - 2 handles`
    /// in each piece (E = 3 F / 2 in a closed mesh).
    pub fn of(positions: &[Vec3], triangles: &[[u32; 3]]) -> Topology {
        let mut parent: Vec<u32> = (0..positions.len() as u32).collect();
        fn root(parent: &mut [u32], mut v: u32) -> u32 {
            while parent[v as usize] != v {
                parent[v as usize] = parent[parent[v as usize] as usize];
                v = parent[v as usize];
            }
            v
        }
        for t in triangles {
            let a = root(&mut parent, t[0]);
            for &v in &t[1..] {
                let b = root(&mut parent, v);
                parent[b as usize] = a;
            }
        }
        // Per root: vertices, triangles, area, volume.
        let mut pieces = vec![(0i64, 0i64, 0.0f64, 0.0f64); positions.len()];
        for t in triangles {
            let piece = &mut pieces[root(&mut parent, t[0]) as usize];
            let [a, b, c] = t.map(|v| positions[v as usize].as_dvec3());
            piece.1 += 1;
            piece.2 += 0.5 * (b - a).cross(c - a).length();
            piece.3 += a.dot(b.cross(c)) / 6.0;
        }
        let mut used = vec![false; positions.len()];
        triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
        for v in (0..positions.len() as u32).filter(|&v| used[v as usize]) {
            pieces[root(&mut parent, v) as usize].0 += 1;
        }
        let mut found = Topology::default();
        let (mut volume, mut largest_volume) = (0.0, 0.0);
        for (vertices, faces, area, enclosed) in pieces.into_iter().filter(|p| p.1 > 0) {
            let handles = ((2 - (vertices - faces / 2)) / 2) as usize;
            found.handles += handles;
            found.area_m2 += area;
            volume += enclosed;
            if enclosed > 0.0 {
                found.pieces += 1;
            } else {
                found.bubbles += 1;
            }
            if area > found.largest_area_m2 {
                (found.largest_area_m2, found.handles_of_largest, largest_volume) = (area, handles, enclosed);
            }
        }
        found.largest_volume_share = if volume > 0.0 { largest_volume / volume } else { 0.0 };
        found
    }
}
