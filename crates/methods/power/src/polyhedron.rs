//! Convex polyhedra cut out of a cube by half-spaces with small integer coefficients, in exact arithmetic.
//!
//! Power cells of octrees are full of points where more planes meet than three. With rounding, which faces
//! exist there would depend on the order of the cuts, and two cells might disagree on the face between them.
//! Here every vertex is a quotient of integers in lowest terms, so that equal points are equal and every
//! decision is exact; lengths and areas are rounded only when they are taken from the finished polyhedron.

/// A point `(x, y, z) / w` with `w > 0`, in lowest terms.
pub type Vertex = [i64; 4];

/// The half-space `normal . x <= offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfSpace {
    /// Outward normal, not of unit length.
    pub normal: [i64; 3],
    /// Right side.
    pub offset: i64,
}

/// A face of a polyhedron.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    /// What the caller named the half-space whose boundary the face lies on; None for sides of the first
    /// cube.
    pub name: Option<usize>,
    /// The half-space.
    pub plane: HalfSpace,
    /// Corners, counter-clockwise seen from outside.
    pub corners: Vec<Vertex>,
}

/// A convex polyhedron.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyhedron {
    faces: Vec<Face>,
}

impl Polyhedron {
    /// The cube from `-half` to `half` along each axis.
    pub fn cube(half: i64) -> Polyhedron {
        let mut faces = vec![];
        for (axis, sign) in [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)] {
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            let around = [(-1, -1), (1, -1), (1, 1), (-1, 1)];
            let mut corners = around.map(|(s, t)| {
                let mut v = [0, 0, 0, 1];
                (v[axis], v[b], v[c]) = (sign * half, s * half, t * half);
                v
            });
            if sign < 0 {
                corners.reverse();
            }
            let mut normal = [0; 3];
            normal[axis] = sign;
            faces.push(Face {
                name: None,
                plane: HalfSpace { normal, offset: half },
                corners: corners.to_vec(),
            });
        }
        Polyhedron { faces }
    }

    /// Keeps what lies in the half-space. A plane that only touches leaves everything as it is.
    pub fn clip(&mut self, name: usize, plane: HalfSpace) {
        let side = |v: &Vertex| {
            let [x, y, z] = [0, 1, 2].map(|a| i128::from(plane.normal[a]) * i128::from(v[a]));
            x + y + z - i128::from(plane.offset) * i128::from(v[3])
        };
        let cuts = self.faces.iter().any(|f| f.corners.iter().any(|v| side(v) > 0));
        if !cuts {
            return;
        }
        let mut cap: Vec<Vertex> = vec![];
        for face in &mut self.faces {
            let sides: Vec<i128> = face.corners.iter().map(side).collect();
            let mut kept = vec![];
            for n in 0..sides.len() {
                let next = (n + 1) % sides.len();
                if sides[n] <= 0 {
                    kept.push(face.corners[n]);
                }
                if sides[n] * sides[next] < 0 {
                    kept.push(between(face.corners[n], sides[n], face.corners[next], sides[next]));
                }
            }
            cap.extend(kept.iter().filter(|v| side(v) == 0));
            // A face without a corner strictly inside keeps no area.
            face.corners = if sides.iter().any(|&s| s < 0) { kept } else { vec![] };
        }
        self.faces.retain(|f| f.corners.len() >= 3);
        cap.sort_unstable();
        cap.dedup();
        assert!(cap.len() >= 3, "a plane that cuts a polyhedron makes a face");
        let corners = around_normal(cap, plane.normal);
        self.faces.push(Face { name: Some(name), plane, corners });
    }

    /// The faces.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// `sum A d / 3` over the faces, with `d` the distance of the face's plane from the origin.
    pub fn volume(&self) -> f64 {
        self.faces.iter().map(|f| f.area() * f.plane.offset as f64 / length(f.plane.normal) / 3.0).sum()
    }
}

impl Face {
    /// Corners as numbers, counter-clockwise seen from outside.
    pub fn corners(&self) -> impl Iterator<Item = [f64; 3]> + '_ {
        self.corners.iter().map(|v| point(*v))
    }

    /// Area.
    pub fn area(&self) -> f64 {
        let base = point(self.corners[0]);
        let fan = self.corners.windows(2).map(|w| {
            let [u, v] = [w[0], w[1]].map(|c| minus(point(c), base));
            dot(cross(u, v), self.plane.normal.map(|n| n as f64))
        });
        0.5 * fan.sum::<f64>() / length(self.plane.normal)
    }

    /// Centre of area.
    pub fn centroid(&self) -> [f64; 3] {
        let base = point(self.corners[0]);
        let normal = self.plane.normal.map(|n| n as f64);
        let (mut sum, mut weight) = ([0.0; 3], 0.0);
        for w in self.corners.windows(2) {
            let [u, v] = [w[0], w[1]].map(|c| minus(point(c), base));
            let part = dot(cross(u, v), normal);
            weight += part;
            (0..3).for_each(|a| sum[a] += part * (u[a] + v[a]) / 3.0);
        }
        [0, 1, 2].map(|a| base[a] + sum[a] / weight)
    }
}

/// Where the edge between two vertices on different sides meets the plane.
fn between(a: Vertex, side_a: i128, b: Vertex, side_b: i128) -> Vertex {
    let mut v = [0, 1, 2, 3].map(|n| i128::from(a[n]) * side_b - i128::from(b[n]) * side_a);
    if v[3] < 0 {
        v = v.map(|c| -c);
    }
    let divisor = v.iter().fold(0, |d, &c| greatest_common_divisor(d, c.unsigned_abs()));
    v.map(|c| i64::try_from(c / divisor as i128).expect("planes have small coefficients"))
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Corners of a convex polygon in order. They are distinct points on small lattices: angles tell them apart.
fn around_normal(mut corners: Vec<Vertex>, normal: [i64; 3]) -> Vec<Vertex> {
    let n = normal.map(|v| v as f64);
    let count = corners.len() as f64;
    let center = corners.iter().fold([0.0; 3], |c, v| [0, 1, 2].map(|a| c[a] + point(*v)[a] / count));
    let u = minus(point(corners[0]), center);
    let v = cross(n, u).map(|c| c / length(normal));
    corners.sort_by(|a, b| {
        let angle = |c: &Vertex| {
            let d = minus(point(*c), center);
            dot(d, v).atan2(dot(d, u))
        };
        angle(a).total_cmp(&angle(b))
    });
    corners
}

fn point(v: Vertex) -> [f64; 3] {
    [0, 1, 2].map(|a| v[a] as f64 / v[3] as f64)
}

fn length(v: [i64; 3]) -> f64 {
    (v.iter().map(|c| c * c).sum::<i64>() as f64).sqrt()
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|n| a[n] - b[n])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
