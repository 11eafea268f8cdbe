//! One dam break in many places: what the grid, its axes and the unit of length may not change.

use super::set_up::{closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::TriangleMesh;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Liquid, Setup, Solid, SurfaceParams};

pub const CASE: Case = Case {
    name: "invariances",
    what: "a dam break in a tank of solids, mirrored, turned by 90 degrees, moved by whole cells and by half a cell, ten times as large: front, energy and volume as those of the first",
    source: "the equations know no place, no direction and, by Froude's law, no length",
    applies: super::every_method,
    run,
};

/// Looks at a copy per unit of time.
const LOOKS: u32 = 24;
/// Frames from one look to the next, short enough that they alone set the steps: energies at the end of a step lie off those
/// between steps by half of what gravity gives in it, 5 % of them where one copy takes a step of a look's length and another,
/// a little faster, takes two.
const FRAMES_PER_LOOK: u32 = 4;
/// Cells between the tank and the walls of the domain, and of the tank's own wall.
const AROUND: usize = 5;
const WALL: usize = 3;
/// The tank, and the column of water in it, in lengths of the tank.
const TANK: Vec3 = Vec3::new(1.0, 0.75, 0.5);
const COLUMN: Vec3 = Vec3::new(0.4, 0.5, 0.5);

/// How a copy differs from the first: its mirror image, a quarter turn about the vertical through the middle, a shift in
/// cells, a scale.
#[derive(Clone, Copy)]
struct Copy {
    name: &'static str,
    is_mirrored: bool,
    is_turned: bool,
    shift_cells: Vec3,
    scale: f32,
}

const FIRST: Copy =
    Copy { name: "first", is_mirrored: false, is_turned: false, shift_cells: Vec3::ZERO, scale: 1.0 };
const COPIES: [Copy; 6] = [
    FIRST,
    Copy { name: "mirrored", is_mirrored: true, ..FIRST },
    Copy { name: "turned by 90 degrees", is_turned: true, ..FIRST },
    Copy { name: "moved by whole cells", shift_cells: Vec3::new(2.0, 1.0, -1.0), ..FIRST },
    Copy { name: "moved by half a cell", shift_cells: Vec3::splat(0.5), ..FIRST },
    Copy { name: "ten times as large", scale: 10.0, ..FIRST },
];

/// What is compared at one moment: the front in lengths of the tank; energies over that of the start; volume over that of
/// the start.
type Look = [f64; 5];
const COMPARED: [&str; 5] = ["front", "energy", "kinetic energy", "potential energy", "volume"];

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let (cells, end) = if context.fine { (32, 1.0) } else { (16, 0.3) };
    let looks = parallel::map_indices(COPIES.len(), |n| watch(context, COPIES[n], cells, end));
    let looks = looks.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut outcome = Outcome::default();
    for (copy, seen) in COPIES.iter().zip(&looks).skip(1) {
        for (n, what) in COMPARED.iter().enumerate() {
            let largest = looks[0].iter().map(|look| look[n].abs()).fold(0.0, f64::max);
            let off = seen.iter().zip(&looks[0]).map(|(a, b)| (a[n] - b[n]).abs()).fold(0.0, f64::max);
            let quantity = format!("{}: {what}, largest difference", copy.name);
            let row = Row::new(format!("{cells} cells per length"), quantity, off / largest);
            outcome.rows.push(row.bar(Bar::AtMost(0.02)));
        }
    }
    Ok(outcome)
}

/// Runs a copy and looks at it at the same moments as at the others, by Froude's law.
fn watch(context: &Context, copy: Copy, cells: usize, end: f64) -> Result<Vec<Look>, CaseError> {
    let place = Placed { copy, cells };
    let looks_1_s = f64::from(LOOKS) / f64::from(copy.scale).sqrt();
    let frames = FRAMES_PER_LOOK * (f64::from(LOOKS) * end) as u32;
    let plan = FramePlan { frames, fps: f64::from(FRAMES_PER_LOOK) * looks_1_s };
    let (mut looks, mut start) = (vec![], None);
    drive(context, place.setup(), plan, &mut |step, solver| {
        let look = step.time_s * looks_1_s;
        if (look - look.round()).abs() > 1e-6 {
            return;
        }
        let report = &step.report;
        let mut mesh = solver.surface(&SurfaceParams { smoothing: 0 });
        mesh.positions.iter_mut().for_each(|x| *x = place.back(*x));
        if copy.is_mirrored {
            mesh.triangles.iter_mut().for_each(|corners| corners.swap(1, 2));
        }
        let floor_j = place.floor_energy_j(report.liquid_volume_m3);
        let potential_j = report.potential_energy_j - floor_j;
        let (volume_m3, energy_j) = *start.get_or_insert((report.liquid_volume_m3, potential_j));
        looks.push([
            front_of(&mesh),
            (report.kinetic_energy_j + potential_j) / energy_j,
            report.kinetic_energy_j / energy_j,
            potential_j / energy_j,
            report.liquid_volume_m3 / volume_m3,
        ]);
    })?;
    Ok(looks)
}

/// The share of the liquid that lies beyond its front.
const BEYOND_FRONT: f64 = 1e-2;

/// The place along x beyond which a hundredth of the liquid lies. Where the surface itself ends is not to be compared: the tongue runs out
/// on the floor in a wedge so thin that a twentieth of a cell in its height is half a cell in its length.
fn front_of(mesh: &TriangleMesh) -> f64 {
    let beyond = |x: f64| -> f64 {
        let volume = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
            let out = (b - a).cross(c - a).x / 2.0;
            out * [a, b, c].map(|p| (p.x - x).max(0.0)).iter().sum::<f64>() / 3.0
        };
        mesh.triangles.iter().map(volume).sum()
    };
    let wanted_m3 = BEYOND_FRONT * mesh.volume();
    let (mut low, mut high) = (0.0, mesh.positions.iter().fold(0.0, |most: f64, x| most.max(f64::from(x.x))));
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if beyond(middle) > wanted_m3 { low = middle } else { high = middle }
    }
    low
}

/// A copy on its grid.
struct Placed {
    copy: Copy,
    cells: usize,
}

impl Placed {
    fn dx(&self) -> f32 {
        self.copy.scale / self.cells as f32
    }

    /// Cells along the edges of the domain.
    fn domain_cells(&self) -> [usize; 3] {
        let Vec3 { x, y, z } = TANK;
        let lengths = if self.copy.is_turned { [z, y, x] } else { [x, y, z] };
        lengths.map(|length| (length * self.cells as f32) as usize + 2 * AROUND)
    }

    /// The middle of the tank in the scene.
    fn middle(&self) -> Vec3 {
        let domain = Vec3::from_array(self.domain_cells().map(|n| n as f32));
        (0.5 * domain + self.copy.shift_cells) * self.dx()
    }

    /// Where a point of the tank, in its lengths from its corner, is in the scene.
    fn place(&self, x: Vec3) -> Vec3 {
        let mut from_middle = x - 0.5 * TANK;
        if self.copy.is_mirrored {
            from_middle.x = -from_middle.x;
        }
        if self.copy.is_turned {
            from_middle = Vec3::new(-from_middle.z, from_middle.y, from_middle.x);
        }
        self.middle() + self.copy.scale * from_middle
    }

    /// The inverse of [`Self::place`].
    fn back(&self, x: Vec3) -> Vec3 {
        let mut from_middle = (x - self.middle()) / self.copy.scale;
        if self.copy.is_turned {
            from_middle = Vec3::new(from_middle.z, from_middle.y, -from_middle.x);
        }
        if self.copy.is_mirrored {
            from_middle.x = -from_middle.x;
        }
        from_middle + 0.5 * TANK
    }

    /// A box of the tank, in its lengths, in the scene.
    fn block(&self, min: Vec3, max: Vec3) -> Shape {
        let (a, b) = (self.place(min), self.place(max));
        Shape::Box { min: a.min(b), max: a.max(b) }
    }

    /// Potential energy of so much liquid on the tank's floor, J.
    fn floor_energy_j(&self, volume_m3: f64) -> f64 {
        let liquid = Liquid::default();
        -f64::from(liquid.density * liquid.gravity.y * self.place(Vec3::ZERO).y) * volume_m3
    }

    fn setup(&self) -> Setup {
        let wall = Vec3::splat(WALL as f32 / self.cells as f32);
        // The column reaches into the walls: it touches them.
        let column = self.block(-0.5 * wall, Vec3::new(COLUMN.x, COLUMN.y, COLUMN.z + 0.5 * wall.z));
        let mut setup = closed_box(self.domain_cells(), self.dx(), column);
        let (outer, inner) = (self.block(-wall, TANK + wall), self.block(Vec3::ZERO, TANK));
        let shape = Shape::Difference(Box::new(outer), Box::new(inner));
        setup.solids.push(Solid::new("tank", shape, Motion::Static));
        setup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_back_to_where_they_came_from() {
        for copy in COPIES {
            let place = Placed { copy, cells: 12 };
            let x = Vec3::new(0.1, 0.3, 0.45);
            assert!(place.back(place.place(x)).distance(x) < 1e-5, "{}", copy.name);
            let inside = Vec3::from_array(place.domain_cells().map(|n| n as f32)) * place.dx();
            let far = place.place(TANK);
            assert!(far.min_element() > 0.0 && (inside - far).min_element() > 0.0, "{}: {far}", copy.name);
        }
    }
}
