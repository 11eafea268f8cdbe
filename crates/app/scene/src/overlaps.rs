//! Bodies that begin where something else is: contacts then push them apart, which makes them fast.

use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_solids::Placed;
use fluvial_solver_interface::{JointKind, Setup, Solid};

/// Overlaps below this part of a cell are rounding, or are pushed apart unnoticed.
const LEAST_CELLS: f32 = 0.1;
/// Points along each axis at which an overlap is looked for.
const POINTS: usize = 16;
const SIDES: [&str; 6] = ["x_min", "x_max", "y_min", "y_max", "z_min", "z_max"];

/// Bodies that reach through a closed wall, into another body or into a solid at the start, a sentence each.
pub(crate) fn overlapping_bodies(setup: &Setup) -> Vec<String> {
    let placed: Vec<Placed> =
        setup.solids.iter().map(|solid| Placed::new(&solid.shape, &solid.motion, 0.0)).collect();
    let least_m = LEAST_CELLS * setup.domain.grid.dx;
    let mut notes = vec![];
    for (n, body) in setup.solids.iter().enumerate().filter(|(_, solid)| solid.free.is_some()) {
        let beyond = (0..6).filter(|side| !setup.open_walls()[*side]).map(|side| {
            let (axis, is_high) = (side / 2, side % 2 == 1);
            let (mut there, domain) = (placed[n].bounds(), setup.domain.bounds());
            let beyond_m = |x: Vec3| {
                if is_high { x[axis] - domain.max[axis] } else { domain.min[axis] - x[axis] }
            };
            let inner = if is_high { &mut there.min[axis] } else { &mut there.max[axis] };
            *inner = if is_high { inner.max(domain.max[axis]) } else { inner.min(domain.min[axis]) };
            let inside_m = |x: Vec3| if placed[n].distance(x) < 0.0 { beyond_m(x) } else { 0.0 };
            (side, deepest(&there, inside_m))
        });
        for (side, depth_m) in beyond.filter(|(_, depth_m)| *depth_m > least_m) {
            notes.push(format!(
                "the body `{}` reaches {depth_m:.2} m through the closed wall {}: nothing of it can be there, and contacts throw it back; move it inside or open the wall",
                body.name, SIDES[side]
            ));
        }
        for (m, other) in setup.solids.iter().enumerate() {
            // A pair of bodies is told of once, and those that a joint holds together may overlap.
            if m == n || (other.free.is_some() && m < n) || is_tied(body, other) || is_tied(other, body) {
                continue;
            }
            let (a, b) = (placed[n].bounds(), placed[m].bounds());
            let both = Aabb { min: a.min.max(b.min), max: a.max.min(b.max) };
            let depth_m = 2.0 * deepest(&both, |x| -placed[n].distance(x).max(placed[m].distance(x)));
            if depth_m > least_m {
                let what = if other.free.is_some() { "body" } else { "solid" };
                notes.push(format!(
                    "the body `{}` overlaps the {what} `{}` by about {depth_m:.2} m at the start: contacts throw them apart",
                    body.name, other.name
                ));
            }
        }
    }
    notes
}

/// Does a joint without contacts tie a body to another?
fn is_tied(body: &Solid, to: &Solid) -> bool {
    let ties = body.free.iter().flat_map(|free| &free.joints);
    ties.filter(|tie| !matches!(tie.kind, JointKind::Rope { .. }))
        .any(|tie| tie.to.as_deref() == Some(&to.name))
}

/// The largest value at points in a box, zero in an empty one.
fn deepest(within: &Aabb, depth_m: impl Fn(Vec3) -> f32) -> f32 {
    let size = within.size();
    if AXES.into_iter().any(|axis| size[axis].is_nan() || size[axis] <= 0.0 || size[axis].is_infinite()) {
        return 0.0;
    }
    let points = (0..POINTS.pow(3)).map(|n| {
        let at = [n % POINTS, n / POINTS % POINTS, n / (POINTS * POINTS)];
        within.min + size * Vec3::from_array(at.map(|n| (n as f32 + 0.5) / POINTS as f32))
    });
    points.map(depth_m).fold(0.0, f32::max)
}
