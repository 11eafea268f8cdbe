//! Where the vertex of a loop sits in its cell.

use crate::cases::{Case, edge_corners};
use fluvial_foundation::planes::{Planes, end_of_liquid, has_kink, normal_beside_edge};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::Lattice;

/// What a sample says: both are negative where liquid is drawn.
#[derive(Clone, Copy)]
pub struct Sample {
    /// The level set.
    pub phi: f32,
    /// How deep the sample lies in a solid, negative outside.
    pub depth: f32,
}

impl Sample {
    /// A sample without solids around.
    pub fn free(phi: f32) -> Sample {
        Sample { phi, depth: f32::NEG_INFINITY }
    }

    fn bounded(self, limit: f32) -> Sample {
        // NaN counts as air.
        Sample { phi: self.phi.min(limit).max(-limit), depth: self.depth.min(limit).max(-limit) }
    }
}

/// The depth in solids anywhere.
pub type DepthAt<'a> = dyn Fn(Vec3) -> f32 + Sync + 'a;

/// Values at the corners of a cell.
type Corners = [f32; 8];

/// A cell of the padded lattice: its box, its eight corner values and which axes end at a domain wall.
pub struct CellSamples {
    low: Vec3,
    high: Vec3,
    /// phi at the corners; beyond a wall the linear extrapolation to the wall plane.
    phi: Corners,
    /// The depth in solids, as phi.
    depth: Corners,
    /// Side (0 low, 1 high) that is the domain wall, per axis.
    wall: [Option<usize>; 3],
}

/// Vertex flag: bit `2 axis + side` marks the walls that the vertex lies on.
pub type WallFlags = u8;
/// Vertex flag: the free surface meets a wall here.
pub const CONTACT: WallFlags = 1 << 6;

/// Newton steps to a contact line.
const MEETING_STEPS: usize = 3;
/// The square of the sine of the least angle at which a surface and a solid have a line where they meet.
const LEAST_ANGLE2: f32 = 0.04;

impl CellSamples {
    /// Gathers padded cell `cell`, which spans samples cell - 1 to cell.
    pub fn gather(
        lattice: &Lattice,
        cell: [usize; 3],
        sample_at: impl Fn([usize; 3]) -> Sample,
    ) -> CellSamples {
        let mut wall = [None; 3];
        let (mut low, mut high) = (Vec3::ZERO, Vec3::ZERO);
        for a in AXES {
            let at = |sample: f32| lattice.origin[a] + lattice.spacing * sample;
            let n = lattice.size[a];
            wall[a] = if cell[a] == 0 { Some(0) } else { (cell[a] == n).then_some(1) };
            low[a] = at(if cell[a] == 0 { -0.5 } else { cell[a] as f32 - 1.0 });
            high[a] = at(if cell[a] == n { n as f32 - 0.5 } else { cell[a] as f32 });
        }
        // Values far from the surface do not influence its position; clamping them keeps infinities out of the arithmetic.
        let bounded = |s: [usize; 3]| sample_at(s).bounded(4.0 * lattice.spacing);
        let (mut phi, mut depth) = ([0.0; 8], [0.0; 8]);
        for corner in 0..8 {
            let mut sample = [0; 3];
            for a in AXES {
                sample[a] = (cell[a] + (corner >> a & 1)).clamp(1, lattice.size[a]) - 1;
            }
            let nearest = bounded(sample);
            (phi[corner], depth[corner]) = (nearest.phi, nearest.depth);
            for a in AXES {
                if wall[a] == Some(corner >> a & 1) && lattice.size[a] > 1 {
                    let mut inner = sample;
                    inner[a] = if sample[a] == 0 { 1 } else { sample[a] - 1 };
                    let inner = bounded(inner);
                    phi[corner] += 0.5 * (nearest.phi - inner.phi);
                    depth[corner] += 0.5 * (nearest.depth - inner.depth);
                }
            }
        }
        CellSamples { low, high, phi, depth, wall }
    }

    /// The vertex of loop `which`: the mean of its edge crossings, then projected onto the zero of the
    /// trilinear interpolant. Where the loop passes from the liquid's surface to a solid it lies on both: on the contact line. On wall axes it lies on the wall plane; along the wall it follows the crossings
    /// of the free surface where the loop has some, so that contact lines stay sharp.
    pub fn vertex(&self, signs: usize, case: &Case, which: u8, depth_at: &DepthAt) -> (Vec3, WallFlags) {
        let mut flags = 0;
        for a in AXES {
            flags |= self.wall[a].map_or(0, |side| 1 << (2 * a + side));
        }
        let (mut sum, mut on_surface, mut on_solid) = (Vec3::ZERO, 0, 0);
        let mut crossings = [(Vec3::ZERO, false); 12];
        let kink = has_kink(&self.depth, self.high - self.low).then_some(depth_at);
        let (mut cap_sum, mut cap_count) = (Vec3::ZERO, 0.0);
        for edge in 0..12 {
            let [p, q] = edge_corners(edge);
            if signs >> p & 1 == signs >> q & 1 || case.loop_of_edge[edge] != which {
                continue;
            }
            let axis = edge / 4;
            let mut at = self.corner(p);
            if self.wall[axis].is_some() {
                (cap_sum, cap_count) = (cap_sum + at, cap_count + 1.0);
            } else {
                let (t, is_solid) = self.crossing([p, q], signs >> p & 1 == 1, kink);
                at[axis] += t.clamp(0.0, 1.0) * (self.high[axis] - self.low[axis]);
                sum += at;
                crossings[on_surface + on_solid] = (at, is_solid);
                *(if is_solid { &mut on_solid } else { &mut on_surface }) += 1;
            }
        }
        let count = on_surface + on_solid;
        let mut x = if count > 0 { sum / count as f32 } else { cap_sum / cap_count };
        for a in AXES {
            if let Some(side) = self.wall[a] {
                x[a] = if side == 0 { self.low[a] } else { self.high[a] };
            }
        }
        // Where the cell holds another sheet, the interpolant's zero may belong to that one.
        if case.loops == 1 {
            let on_edge = if on_solid > 0 { self.on_edge(&crossings[..count], x, kink) } else { None };
            x = on_edge.unwrap_or_else(|| match (on_surface > 0, on_solid > 0) {
                (true, true) => (0..MEETING_STEPS).fold(x, |x, _| self.meet(x)),
                (true, false) => self.project(&self.phi, self.project(&self.phi, x)),
                (false, true) => self.project(&self.depth, self.project(&self.depth, x)),
                (false, false) => self.cap(x),
            });
        }
        if flags != 0 && count > 0 {
            flags |= CONTACT;
        }
        (x, flags)
    }

    /// The point nearest to `x` on the planes of all crossings, each with whether a solid ends the liquid there; none where the solid is
    /// smooth.
    fn on_edge(&self, crossings: &[(Vec3, bool)], x: Vec3, kink: Option<&DepthAt>) -> Option<Vec3> {
        let (mut surface, mut solid) = (Planes::default(), Planes::default());
        for &(at, is_solid) in crossings {
            if is_solid {
                solid.add(at - self.low, self.along_walls(self.normal_of_solid(at, kink)));
            } else {
                let normal = self.interpolate(&self.phi, at).1.normalize_or_zero();
                surface.add(at - self.low, self.along_walls(normal));
            }
        }
        (kink.is_some() || solid.meet_in_an_edge())
            .then(|| self.kept_in(self.low + solid.and(&surface).nearest(x - self.low)))
    }

    /// The normal of the solid, into it, where an edge of the cell meets it.
    fn normal_of_solid(&self, x: Vec3, kink: Option<&DepthAt>) -> Vec3 {
        match kink {
            None => self.interpolate(&self.depth, x).1.normalize_or_zero(),
            Some(depth_at) => normal_beside_edge(depth_at, x, (self.high - self.low).max_element()),
        }
    }

    /// Where the liquid ends on an edge from its low corner on, as a share of it, and whether a solid ends it there.
    fn crossing(&self, [p, q]: [usize; 2], low_is_inside: bool, kink: Option<&DepthAt>) -> (f32, bool) {
        let ends = if low_is_inside { [p, q] } else { [q, p] };
        let [from, to] = ends.map(|corner| self.corner(corner));
        let depth_on_way = kink.map(|depth_at| move |t| depth_at(from.lerp(to, t)));
        let (way, is_solid) =
            end_of_liquid(ends.map(|c| self.phi[c]), ends.map(|c| self.depth[c]), depth_on_way);
        match is_solid {
            true => (if low_is_inside { way } else { 1.0 - way }, true),
            false => (self.phi[p] / (self.phi[p] - self.phi[q]), false),
        }
    }

    /// A vertex of a wall alone is moved only if a surface, extended to the wall, passes it.
    fn cap(&self, x: Vec3) -> Vec3 {
        let [phi, depth] = [&self.phi, &self.depth].map(|field| self.interpolate(field, x).0);
        match (phi.max(depth) > 0.0, depth > phi) {
            (false, _) => x,
            (true, true) => self.project(&self.depth, self.project(&self.depth, x)),
            (true, false) => self.project(&self.phi, self.project(&self.phi, x)),
        }
    }

    fn corner(&self, c: usize) -> Vec3 {
        let pick = |a: usize| if c >> a & 1 == 0 { self.low[a] } else { self.high[a] };
        Vec3::new(pick(0), pick(1), pick(2))
    }

    /// The trilinear interpolant and its gradient; outside the cell its continuation.
    fn interpolate(&self, c: &Corners, x: Vec3) -> (f32, Vec3) {
        let size = self.high - self.low;
        let f = (x - self.low) / size;
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let plane = |d: [f32; 4], s: f32, t: f32| lerp(lerp(d[0], d[1], s), lerp(d[2], d[3], s), t);
        let (near, far) = ([c[0], c[1], c[2], c[3]], [c[4], c[5], c[6], c[7]]);
        let gradient = Vec3::new(
            plane([c[1] - c[0], c[3] - c[2], c[5] - c[4], c[7] - c[6]], f.y, f.z),
            plane([c[2] - c[0], c[3] - c[1], c[6] - c[4], c[7] - c[5]], f.x, f.z),
            plane([c[4] - c[0], c[5] - c[1], c[6] - c[2], c[7] - c[3]], f.x, f.y),
        );
        (lerp(plane(near, f.x, f.y), plane(far, f.x, f.y), f.z), gradient / size)
    }

    /// One Newton step x - phi grad phi / |grad phi|^2 along the axes without wall.
    fn project(&self, field: &Corners, x: Vec3) -> Vec3 {
        let (value, gradient) = self.interpolate(field, x);
        let gradient = self.along_walls(gradient);
        let squared = gradient.length_squared();
        if squared < 1e-12 {
            return x;
        }
        self.moved(x, -value / squared * gradient)
    }

    /// One Newton step to where the liquid's surface meets the solid: the shortest that brings both to 0. Where they are
    /// all but parallel it is one to the surface of what both leave.
    fn meet(&self, x: Vec3) -> Vec3 {
        let [(phi, surface), (depth, solid)] =
            [&self.phi, &self.depth].map(|field| self.interpolate(field, x));
        let (n, m) = (self.along_walls(surface), self.along_walls(solid));
        let (nn, nm, mm) = (n.length_squared(), n.dot(m), m.length_squared());
        let determinant = nn * mm - nm * nm;
        if determinant < LEAST_ANGLE2 * nn * mm || determinant < 1e-12 {
            return self.project(if depth > phi { &self.depth } else { &self.phi }, x);
        }
        let (a, b) = ((phi * mm - depth * nm) / determinant, (depth * nn - phi * nm) / determinant);
        self.moved(x, -a * n - b * m)
    }

    /// A gradient along which a vertex may move.
    fn along_walls(&self, gradient: Vec3) -> Vec3 {
        Vec3::from_array(AXES.map(|a| if self.wall[a].is_some() { 0.0 } else { gradient[a] }))
    }

    fn moved(&self, x: Vec3, step: Vec3) -> Vec3 {
        let longest = 0.5 * (self.high - self.low);
        self.kept_in(x + step.clamp(-longest, longest))
    }

    /// The nearest point in the cell, which keeps the mesh from folding; on a wall, half a cell from the samples that
    /// decided the cell's signs, a sloping surface may meet the wall beside the cell, so there it may lie outside by less
    /// than half a cell.
    fn kept_in(&self, x: Vec3) -> Vec3 {
        let margin = if self.wall.iter().any(Option::is_some) { 0.45 } else { 0.0 };
        let margin = margin * (self.high - self.low);
        x.clamp(self.low - margin, self.high + margin)
    }
}
