//! Volume by fluxes: what power cells hold, what crosses their faces, and the air beside the surface.

use crate::trees::nested_boxes;
use fluvial_foundation::{Aabb, Vec3};
use fluvial_grids::octree::Shape;
use fluvial_grids::pyramid::Pyramid;
use fluvial_power::band::{Band, pages_near};
use fluvial_power::channels::PHI;
use fluvial_power::diagram::Diagram;
use fluvial_power::flow::Flow;
use fluvial_power::flux::Carrier;
use fluvial_power::neighbourhood::Code;
use fluvial_power::pairs::Boundary;
use fluvial_power::settle::Settlement;
use fluvial_power::view::{Place, View};
use fluvial_power::{air, coarse, content, faces};

fn plane(x: Vec3) -> f32 {
    (x - Vec3::new(0.5, 0.47, 0.5)).dot(Vec3::new(0.3, 0.9, -0.2).normalize())
}

/// A tree of three sizes with a band of two voxels a smallest leaf around a tilted plane, and velocities through its faces.
fn liquid(u: impl Fn(Vec3) -> Vec3 + Sync + Send) -> (Pyramid, Diagram, Band) {
    let mut pyramid = nested_boxes(8);
    let diagram = Diagram::new(&mut pyramid);
    let band = band(*pyramid.shape(), Vec3::ZERO);
    coarse::from_band(&mut pyramid, &diagram, &band, |x| plane(x) < 0.0);
    faces::update(&mut pyramid, &diagram, Boundary::default(), |_: &mut (), _, face, out| {
        *out = u(face.centroid).dot(face.normal);
    });
    fluvial_power::centers::from_faces(&mut pyramid, &diagram, None);
    fluvial_power::nodes::from_centers(&mut pyramid);
    (pyramid, diagram, band)
}

/// The band around the plane, moved.
fn band(shape: Shape, moved: Vec3) -> Band {
    let plane = |x: Vec3| plane(x - moved);
    let cells = shape.cells(0).map(|n| 2 * n);
    let mut band = Band::empty(shape.min, 0.5 * shape.dx, cells, 2.0 * shape.dx_of(2)).unwrap();
    let reach = band.reach;
    let near = |b: Aabb| plane(0.5 * (b.min + b.max)).abs() < 0.5 * b.size().length() + reach;
    let pages = pages_near(&band, near);
    band.fill(&pages, |x| plane(x).clamp(-reach, reach), None).unwrap();
    band.redistance();
    band
}

/// Beyond the voxels that keep their values, first-order distances of a tilted plane are 4 % of a leaf off.
#[test]
fn leaves_know_the_distance_to_a_tilted_plane() {
    let (pyramid, diagram, _) = liquid(|_| Vec3::ZERO);
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let mut worst = 0.0f32;
    for &leaf in view.leaves() {
        let (x, dx) = (view.center(leaf), view.level(leaf.level).dx);
        let inner = (x - 0.5).abs().max_element() < 0.5 - 2.0 * dx;
        if inner && plane(x).abs() < dx {
            worst = worst.max((view.value(leaf, PHI) - plane(x)).abs() / dx);
        }
    }
    assert!(worst < 1e-5, "{worst} leaves off");
}

#[test]
fn power_cells_hold_all_liquid() {
    let (pyramid, diagram, band) = liquid(|_| Vec3::ZERO);
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let leaves = view.leaves();
    let held = content::liquid(view, &band, leaves, false, |leaf| view.power_volume(leaf));
    // The plane passes through the middle of the box's vertical lines: the volume is its height there.
    let height = 0.47f64;
    assert!((held.iter().sum::<f64>() / height - 1.0).abs() < 2e-3, "{}", held.iter().sum::<f64>());
    // Cut ones hold what a plane leaves of them, to what voxels at their tilted sides are wrong by.
    for (n, &leaf) in leaves.iter().enumerate() {
        let (volume, dx) = (view.power_volume(leaf), view.level(leaf.level).dx);
        assert!(held[n] > -0.12 * volume && held[n] < 1.12 * volume, "{} of {volume}", held[n]);
        if plane(view.center(leaf)) > 1.8 * dx {
            assert_eq!(held[n], 0.0);
        }
    }
}

/// A uniform flow moves a plane: fluxes change what each cell holds as the moved plane shows it.
#[test]
fn fluxes_carry_what_the_surface_shows() {
    let u = Vec3::new(0.3, -0.5, 0.2);
    let (pyramid, diagram, before) = liquid(|_| u);
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let leaves = view.leaves();
    let dt_s = 0.03;
    let carrier = Carrier { flow: Flow::per_axis(view), band: &before, solid: None, dt_s, farthest: 0.03 };
    let outflows = carrier.outflows_m3();
    let held = |band: &Band| content::liquid(view, band, leaves, false, |leaf| view.power_volume(leaf));
    let [was, is] = [held(&before), held(&band(*pyramid.shape(), dt_s * u))];
    let (mut sum, mut crossed, mut worst, mut changed) = (0.0, 0.0, [0.0f64; 2], 0.0f64);
    for (n, &leaf) in leaves.iter().enumerate() {
        let outflow = outflows[n];
        let (x, dx, volume) = (view.center(leaf), view.level(leaf.level).dx, view.power_volume(leaf));
        sum += outflow;
        crossed += was[n] * f64::from(u.length() * dt_s / dx);
        if (x - 0.5).abs().max_element() < 0.5 - 2.0 * dx {
            let worst = &mut worst[usize::from(view.code(leaf) != Some(Code::UNIFORM))];
            *worst = worst.max((was[n] - outflow - is[n]).abs() / volume);
            changed = changed.max((was[n] - is[n]).abs() / volume);
        }
    }
    println!("{sum} of {crossed}, {worst:?} of {changed}");
    // Nothing crosses walls, so that all that leaves one cell enters another.
    assert!(sum.abs() < 1e-12 * crossed, "{sum} of {crossed}");
    // At transitions voxels on both sides of a tilted face belong to one cell as a whole: a quarter of a cell with two voxels along an edge.
    assert!(worst[0] < 0.1 * changed && worst[1] < 0.5 * changed, "{worst:?} of {changed}");
}

/// A flow that is drawn out downwards and contracts sideways, known in the liquid alone.
#[test]
fn air_beside_a_surface_keeps_its_volume() {
    let (mut pyramid, diagram, _) = liquid(|x| Vec3::new(-0.5 * (x.x - 0.5), x.y, -0.5 * (x.z - 0.5)));
    // Air of one velocity, as extrapolation leaves it.
    pyramid.propagate(PHI);
    faces::update(&mut pyramid, &diagram, Boundary::default(), |_: &mut (), pairs, face, u| {
        let phi = |cell: u64| pairs.value(PHI, cell);
        if phi(face.from) >= 0.0 && phi(pairs.next(face.from, face.k)) >= 0.0 {
            *u = face.normal.y;
        }
    });
    let excess = |pyramid: &Pyramid| {
        let view = View { pyramid, diagram: &diagram };
        let (mut worst, mut count) = (0.0f64, 0);
        for &leaf in view.leaves() {
            let (phi, dx) = (view.value(leaf, PHI), view.level(leaf.level).dx);
            let (mut wet, mut far, mut sum) = (false, false, 0.0);
            view.for_each_face(leaf, |face| {
                let other = face.other.map(|other| (view.value(other, PHI), view.level(other.level).dx));
                wet |= other.is_some_and(|(phi, _)| phi < 0.0);
                far |= other.is_some_and(|(phi, dx)| phi > 1.1 * dx);
                sum += face.area * f64::from(face.outward);
            });
            let inner = (view.center(leaf) - 0.5).abs().max_element() < 0.5 - dx;
            if phi >= 0.0 && phi < 1.1 * dx && wet && far && inner {
                worst = worst.max(sum.abs() / f64::from(dx).powi(3));
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
        worst
    };
    let before = excess(&pyramid);
    air::balance_surface_air(&mut pyramid, &diagram, None);
    let after = excess(&pyramid);
    assert!(before > 0.5 && after < 1e-4, "{before} 1/s, then {after}");
}

/// What is owed to every second leaf of a surface is shared, and the sum stays.
#[test]
fn what_alternates_is_evened_out() {
    let (pyramid, diagram, _) = liquid(|_| Vec3::ZERO);
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let leaves = view.leaves();
    let settlement = Settlement::new(view, leaves);
    let is_at_surface = |leaf: Place| view.value(leaf, PHI).abs() < view.level(leaf.level).dx;
    let sign = |leaf: Place| {
        let at = view.center(leaf) / view.level(leaf.level).dx;
        if (at.x.floor() + at.y.floor() + at.z.floor()) as i64 % 2 == 0 { 1.0 } else { -1.0 }
    };
    let asked = |leaf: &Place| {
        if is_at_surface(*leaf) { (0.3 + sign(*leaf)) * view.power_volume(*leaf) } else { 0.0 }
    };
    let before: Vec<f64> = leaves.iter().map(asked).collect();
    let mut after = before.clone();
    (0..8).for_each(|_| settlement.even_out(view, &mut after, |_| true));
    let (sum, kept): (f64, f64) = (before.iter().sum(), after.iter().sum());
    assert!((kept - sum).abs() < 1e-12 * before.iter().map(|v| v.abs()).sum::<f64>(), "{sum} {kept}");
    let alternating = |owed: &[f64]| {
        let of = |(leaf, owed): (&Place, &f64)| sign(*leaf) * owed;
        leaves.iter().zip(owed).map(of).sum::<f64>()
    };
    let (first, last) = (alternating(&before), alternating(&after));
    assert!(last.abs() < 0.2 * first, "{last} of {first}");
    assert!(
        leaves.iter().zip(&after).all(|(leaf, owed)| is_at_surface(*leaf) || *owed == 0.0),
        "none goes into the air"
    );
}

/// A plane at any place between voxels and with any slope of the function that has it shows the volume below it.
#[test]
fn what_is_shown_does_not_depend_on_the_slope_of_the_distance() {
    for (n, slope) in [(0, 0.92), (1, 1.0), (2, 1.08), (3, 0.92), (4, 1.08)] {
        let height = 4.13 + 0.17 * n as f32;
        let mut band = Band::empty(Vec3::ZERO, 1.0, [8, 16, 8], 20.0).unwrap();
        let pages = pages_near(&band, |_| true);
        band.fill(&pages, |x| slope * (x.y - height), None).unwrap();
        let [parts] = band.sums(false, |_: &mut (), voxel| [f64::from(voxel.part)]);
        assert!((parts - 64.0 * f64::from(height)).abs() < 1e-3, "{parts} of {}", 64.0 * height);
    }
}

/// A surface that all columns owe the same height is seen where it would be with that volume, and one that nothing is owed to where it is.
#[test]
fn the_pressure_sees_what_a_column_holds() {
    let (pyramid, diagram, was) = liquid(|_| Vec3::ZERO);
    let view = View { pyramid: &pyramid, diagram: &diagram };
    let leaves = view.leaves();
    let height = 2e-3;
    let up = Vec3::new(0.3, 0.9, -0.2).normalize();
    let held = |band: &Band| content::liquid(view, band, leaves, false, |leaf| view.power_volume(leaf));
    let [before, after] = [held(&was), held(&band(*pyramid.shape(), height * up))];
    let settlement = Settlement::new(view, leaves);
    for share in [0.0, 1.0] {
        let owed: Vec<f64> = before.iter().zip(&after).map(|(was, is)| share * (is - was)).collect();
        let (seen, held_back) = settlement.seen_distance(view, &was, &owed, |_| 1.0);
        let (mut worst, mut sum, mut count) = (0.0f32, 0.0, 0);
        for (n, &leaf) in leaves.iter().enumerate() {
            let (x, dx, phi) = (view.center(leaf), view.level(leaf.level).dx, view.value(leaf, PHI));
            let inner = (x - 0.5).abs().max_element() < 0.5 - 2.0 * dx;
            if inner && phi.abs() > 1.1 * height && phi.abs() < 0.4 * dx {
                let moved = (phi - seen[n]) / height;
                worst = worst.max((moved - share as f32).abs());
                (sum, count) = (sum + moved, count + 1);
            }
        }
        println!("{share}: {} moved, worst {worst} of {count}, {held_back} held back", sum / count as f32);
        assert!(
            count > 50
                && (sum / count as f32 - share as f32).abs() < 0.05
                && worst < 0.6 * share as f32 + 1e-6
        );
    }
}
