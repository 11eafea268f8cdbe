//! Liquid across the faces of a tree, and what cells hold from tree to tree.

use crate::common::{at_cells, at_faces, closed_box, quartered, random_tree};
use fluvial_foundation::{DVec3, Vec3, random};
use fluvial_grids::octree::{OUTSIDE, Shape};
use fluvial_grids::{Lattice, Octree, Sides};
use fluvial_octree::flux::{Carrier, Fluxes};
use fluvial_octree::fractions::{FractionsScratch, open_fractions};
use fluvial_octree::interpolate::Tracing;
use fluvial_octree::owed::{Owed, carry_residual, hand_over, leave_closed_cells};
use fluvial_octree::point::point_velocities;
use fluvial_octree::settle::Settlement;
use fluvial_octree::sides::TreeSides;
use fluvial_octree::volume::{Fits, liquid_fractions};

fn cell_m3(tree: &Octree, cell: usize) -> f64 {
    f64::from(tree.cell_dx(cell)).powi(3)
}

fn total_m3(tree: &Octree, parts: &[f32]) -> f64 {
    parts.iter().enumerate().map(|(cell, &part)| f64::from(part) * cell_m3(tree, cell)).sum()
}

fn shares(tree: &Octree, phi: &[f32]) -> Vec<f32> {
    let mut out = vec![];
    liquid_fractions(&mut out, tree, phi, None, Fits::NONE);
    out
}

/// Volume of every cell after a step, m3.
fn carried_m3(tree: &Octree, phi: &[f32], u: &[f32], open: &[f32], dt_s: f32) -> Vec<f64> {
    let (mut tracing, mut fluxes) = (Tracing::default(), Fluxes::default());
    tracing.fill(tree, u);
    fluxes.fill(&Carrier {
        tree,
        phi_cell: phi,
        u_face: u,
        tracing: &tracing,
        open_area: open,
        phi_solid_node: &[],
        sides: TreeSides::NONE,
        fits: Fits::NONE,
        dt_s,
    });
    let part =
        |(cell, share): (usize, f32)| f64::from(share) * cell_m3(tree, cell) - fluxes.outflow_m3(tree, cell);
    shares(tree, phi).into_iter().enumerate().map(part).collect()
}

/// A sphere across cells of two sizes, carried by half a finest cell: the volume of every cell against the moved
/// sphere's falls in second order.
#[test]
fn a_sphere_across_sizes_is_carried_in_second_order() {
    let v = Vec3::new(0.6, -0.5, 0.4);
    let error = |n: usize| -> f64 {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / n as f32, levels: 2, roots: [n / 2; 3] };
        let tree = Octree::build(shape, 3, |cell| shape.center(cell).x < 0.5);
        assert!(tree.junction_count() > 0);
        let (center, dt_s) = (Vec3::new(0.5, 0.55, 0.5), 0.5 / n as f32 / v.length());
        let ball = |c: Vec3| at_cells(&tree, |x| x.distance(c.as_dvec3()) - 0.25);
        let (u, open) = (at_faces(&tree, |_| v.as_dvec3()), vec![1.0; tree.face_count()]);
        let after = carried_m3(&tree, &ball(center), &u, &open, dt_s);
        let exact = shares(&tree, &ball(center + dt_s * v));
        let wrong = |(cell, m3): (usize, &f64)| (m3 - f64::from(exact[cell]) * cell_m3(&tree, cell)).abs();
        after.iter().enumerate().map(wrong).sum()
    };
    let errors = [16, 32, 64].map(error);
    let orders = [0, 1].map(|n| (errors[n] / errors[n + 1]).log2());
    println!("{errors:?} {orders:?}");
    assert!(orders.iter().all(|order| *order > 1.8), "{errors:?} {orders:?}");
}

/// A plane that crosses T-junctions moves exactly, whatever the step.
#[test]
fn a_level_surface_across_sizes_moves_exactly() {
    let tree = quartered(32, 1, |x, dx| (x.y - 0.45).abs() < 0.2 + dx);
    for cells in [0.3, 1.0, 2.6] {
        let (v, dt_s) = (DVec3::new(0.7, 1.0, -0.4), cells / 32.0);
        let phi = at_cells(&tree, |x| x.y - 0.41);
        let after =
            carried_m3(&tree, &phi, &at_faces(&tree, |_| v), &vec![1.0; tree.face_count()], dt_s as f32);
        for (cell, after) in after.iter().enumerate() {
            let (x, dx) = (tree.cell_center(cell).as_dvec3(), f64::from(tree.cell_dx(cell)));
            // Away from the walls, beyond which nothing is known.
            if [x.x, x.y, x.z].iter().all(|&v| v > 0.3 && v < 0.7) {
                let exact = ((0.41 + dt_s - (x.y - 0.5 * dx)) / dx).clamp(0.0, 1.0);
                assert!(
                    (after / dx.powi(3) - exact).abs() < 1e-3,
                    "{cells} cells at {x}: {} {exact}",
                    after / dx.powi(3)
                );
            }
        }
    }
}

/// Whatever flows on whatever tree, inside closed walls nothing is made or lost.
#[test]
fn nothing_is_made_or_lost() {
    for seed in 0..4 {
        let tree = random_tree(3, [4; 3], 1, seed);
        let open = closed_box(&tree);
        let center = tree.shape().bounds().center().as_dvec3();
        let phi = at_cells(&tree, |x| x.distance(center) - 0.3);
        let u: Vec<f32> = (0..tree.face_count()).map(|f| random::unit_f32(f as u64, seed) - 0.5).collect();
        let before = total_m3(&tree, &shares(&tree, &phi));
        let after: f64 = carried_m3(&tree, &phi, &u, &open, 0.2).iter().sum();
        assert!((after / before - 1.0).abs() < 1e-6, "{before} {after}");
    }
}

/// A ball across two sizes that is owed a twentieth of a cell in every cell at its surface grows by just that.
#[test]
fn the_surface_takes_up_what_its_cells_are_owed() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 2, roots: [16; 3] };
    let tree = Octree::build(shape, 3, |cell| shape.center(cell).x < 0.5);
    for amount in [0.05, -0.05] {
        let mut phi = at_cells(&tree, |x| x.distance(DVec3::splat(0.5)) - 0.3);
        let before = shares(&tree, &phi);
        let owed: Vec<f32> = before.iter().map(|&f| if f > 0.0 && f < 1.0 { amount } else { 0.0 }).collect();
        let open = vec![1.0; tree.cell_count()];
        let mut settlement = Settlement::default();
        settlement.link(&phi, &tree);
        let held = settlement.displace(&mut phi, &owed, &open, TreeSides::NONE, &tree);
        let gained = total_m3(&tree, &shares(&tree, &phi)) - total_m3(&tree, &before);
        assert_eq!(held, 0);
        assert!(
            (gained / total_m3(&tree, &owed) - 1.0).abs() < 0.05,
            "{gained} of {}",
            total_m3(&tree, &owed)
        );
    }
}

/// What cells are owed goes to their neighbours and none of it is lost, on any tree; what displaces the surface evenly stays as
/// it is, and signs that change from cell to cell cancel. Cells that take no part keep theirs.
#[test]
fn debts_are_shared_out_and_none_is_lost() {
    let tree = random_tree(3, [4, 4, 4], 1, 11);
    let bounds = tree.shape().bounds();
    let (middle, span) = (bounds.center().as_dvec3(), f64::from(bounds.max.x - bounds.min.x));
    let phi = at_cells(&tree, |x| (x - middle).dot(DVec3::new(-0.3, 0.9, 0.316)) + 0.07 * span);
    let open = vec![1.0; tree.cell_count()];
    let part = |cell: usize| (1.0 - phi[cell].abs() / tree.cell_dx(cell)).max(0.0);
    let share_out = |owed: &[f32], takes_part: fn(usize) -> bool| {
        let (mut settlement, mut owed) = (Settlement::default(), owed.to_vec());
        let mut volume = vec![0.0; owed.len()];
        settlement.link(&phi, &tree);
        let on = (&tree, TreeSides::NONE);
        settlement.share_out((&mut owed, &mut volume), (&phi, &open), takes_part, on);
        (owed, volume)
    };
    let random: Vec<f32> = (0..tree.cell_count())
        .map(|cell| {
            if phi[cell].abs() < tree.cell_dx(cell) {
                0.03 * (random::unit_f32(cell as u64, 5) - 0.5)
            } else {
                0.0
            }
        })
        .collect();
    let absolute: Vec<f32> = random.iter().map(|m| m.abs()).collect();
    let (shared, booked) = share_out(&random, |_| true);
    let (before, after, all) =
        (total_m3(&tree, &random), total_m3(&tree, &shared), total_m3(&tree, &absolute));
    assert!((before - after).abs() < 1e-6 * all, "{before} became {after} of {all} m3");
    assert!((0..random.len()).all(|n| (random[n] + booked[n] - shared[n]).abs() < 1e-6), "all is booked");
    let left: Vec<f32> = shared.iter().map(|m| m.abs()).collect();
    assert!(total_m3(&tree, &left) < 0.5 * all, "{} of {all} m3", total_m3(&tree, &left));
    // Two hundredths of a finest cell's edge everywhere.
    let even: Vec<f32> =
        (0..tree.cell_count()).map(|cell| 0.02 * part(cell) * tree.shape().dx / tree.cell_dx(cell)).collect();
    let (kept, _) = share_out(&even, |_| true);
    assert!(
        even.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1e-5 * a.abs() + 1e-7),
        "an even displacement stays"
    );
    let (apart, _) = share_out(&random, |cell| cell % 3 != 0);
    assert!((0..random.len()).step_by(3).all(|n| apart[n] == random[n]), "those that take no part");
}

/// What cells in the air are owed goes to the surface that they touch, and none of it is lost, on any tree. Larger amounts, those of
/// cells that touch no cell at the surface and those of cells that take no part stay.
#[test]
fn what_lies_in_the_air_goes_to_the_surface_beside_it() {
    let tree = random_tree(3, [4, 4, 4], 1, 11);
    let bounds = tree.shape().bounds();
    let (middle, span) = (bounds.center().as_dvec3(), f64::from(bounds.max.x - bounds.min.x));
    let phi = at_cells(&tree, |x| (x - middle).dot(DVec3::new(-0.3, 0.9, 0.316)) + 0.07 * span);
    let open = vec![1.0; tree.cell_count()];
    let in_air = |cell: usize| phi[cell] >= tree.cell_dx(cell);
    let touches_surface = |cell: usize| {
        let around = tree.cell_nodes(cell).into_iter().flat_map(|node| tree.node_cells()[node as usize]);
        around
            .filter(|&other| other != OUTSIDE)
            .any(|other| phi[other as usize].abs() < tree.cell_dx(other as usize))
    };
    let owed: Vec<f32> = (0..tree.cell_count())
        .map(|cell| {
            let size = if cell.is_multiple_of(5) { 0.03 } else { 0.01 };
            if in_air(cell) { size * (0.5 + random::unit_f32(cell as u64, 5)) } else { 0.0 }
        })
        .collect();
    let takes_part = |cell: usize| !cell.is_multiple_of(7);
    let (mut settlement, mut left) = (Settlement::default(), owed.clone());
    let mut booked = vec![0.0; owed.len()];
    settlement.link(&phi, &tree);
    let amounts = (&mut left[..], &mut booked[..]);
    settlement.gather(amounts, (&phi, &open), takes_part, (&tree, TreeSides::NONE));
    let (before, after) = (total_m3(&tree, &owed), total_m3(&tree, &left));
    assert!((before - after).abs() < 1e-6 * before, "{before} became {after} m3");
    let (mut gone, mut taken) = (0, 0);
    for cell in 0..owed.len() {
        assert!((owed[cell] + booked[cell] - left[cell]).abs() < 1e-6, "all is booked");
        match in_air(cell) {
            true => {
                let stays = owed[cell] >= 0.02 || !takes_part(cell) || !touches_surface(cell);
                assert!(!stays || left[cell] == owed[cell], "{} became {}", owed[cell], left[cell]);
                gone += (left[cell] == 0.0) as usize;
            }
            false => taken += (left[cell] > 0.0) as usize,
        }
        assert!(takes_part(cell) || left[cell] == owed[cell]);
    }
    assert!(gone > 20 && taken > 20, "{gone} gave to {taken}");
}

/// What cells are owed moves with the flow: its sum stays, and its centre goes where the flow goes.
#[test]
fn a_residual_goes_with_the_flow() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 2, roots: [16; 3] };
    let tree = Octree::build(shape, 3, |cell| shape.center(cell).x < 0.5);
    let v = Vec3::new(0.9, 0.3, -0.6);
    let mut tracing = Tracing::default();
    tracing.fill(&tree, &at_faces(&tree, |_| v.as_dvec3()));
    let (phi, open) = (vec![0.0; tree.cell_count()], vec![1.0; tree.cell_count()]);
    let owed = |x: Vec3| if x.distance(Vec3::new(0.45, 0.5, 0.5)) < 0.15 { x.x - 0.3 } else { 0.0 };
    let before: Vec<f32> = (0..tree.cell_count()).map(|c| owed(tree.cell_center(c))).collect();
    let (mut after, dt_s) = (vec![], 0.07);
    let moment = |parts: &[f32]| -> DVec3 {
        let part = |(c, p): (usize, &f32)| tree.cell_center(c).as_dvec3() * f64::from(*p) * cell_m3(&tree, c);
        parts.iter().enumerate().map(part).sum::<DVec3>() / total_m3(&tree, parts)
    };
    let what = Owed {
        tree: &tree,
        residual_cell: &before,
        phi_cell: &phi,
        stays_cell: &vec![false; tree.cell_count()],
        deep_cells: 2.0,
        open_volume: &open,
        open_walls: [false; 6],
        sides: TreeSides::NONE,
    };
    assert_eq!(carry_residual(&mut after, &what, &tracing, dt_s), 0.0);
    assert!((total_m3(&tree, &after) / total_m3(&tree, &before) - 1.0).abs() < 1e-6);
    let way = (moment(&after) - moment(&before)).as_vec3();
    // A large cell takes all of a small box's share to its own centre: a part of a finest cell.
    assert!(way.distance(dt_s * v) < 0.3 / 32.0, "{way} {}", dt_s * v);
}

/// From tree to tree and back: every cell of the coarser of the two keeps its volume.
#[test]
fn trees_hand_over_what_their_cells_hold() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 3, roots: [8; 3] };
    let left = Octree::build(shape, 3, |cell| shape.center(cell).x < 0.3);
    let right = Octree::build(shape, 3, |cell| shape.center(cell).x > 0.7);
    let phi = |tree: &Octree| at_cells(tree, |x| x.distance(DVec3::splat(0.5)) - 0.35);
    let parts: Vec<f32> = (0..left.cell_count()).map(|c| random::unit_f32(c as u64, 7)).collect();
    let phi_right = phi(&right);
    let (fraction, open) = (shares(&right, &phi_right), vec![1.0; right.cell_count()]);
    let mut got = vec![];
    hand_over(&mut got, (&left, &parts), &right, (&phi_right, &fraction, &open));
    let by_root = |tree: &Octree, parts: &[f32]| {
        let mut sums = vec![0.0; 512];
        for (cell, part) in parts.iter().enumerate() {
            let at = (8.0 * tree.cell_center(cell)).as_uvec3();
            sums[(at.x + 8 * at.y + 64 * at.z) as usize] += f64::from(*part) * cell_m3(tree, cell);
        }
        sums
    };
    for (a, b) in by_root(&left, &parts).iter().zip(by_root(&right, &got)) {
        assert!((a - b).abs() < 1e-6 / 512.0, "{a} {b}");
    }
}

/// A wall between two sides covers cells of the left one: what they held goes to the left, also from the layers
/// that are as near to the right by steps through faces, and nothing is lost.
#[test]
fn liquid_that_a_wall_covers_stays_on_its_side() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.1, levels: 1, roots: [10, 4, 4] };
    let tree = Octree::build(shape, 0, |_| false);
    // Cells 4 and 5 are closed; the wall's middle lies right of the middle of cell 5.
    let phi_solid: Vec<f32> =
        (0..tree.cell_count()).map(|c| (tree.cell_center(c).x - 0.58).abs() - 0.19).collect();
    let open: Vec<f32> = phi_solid.iter().map(|&phi| f32::from(phi > 0.0)).collect();
    let at = |c: usize| (tree.cell_center(c).x / 0.1) as usize;
    let mut volume: Vec<f32> = (0..tree.cell_count()).map(|c| if at(c) == 5 { 0.3 } else { 0.0 }).collect();
    leave_closed_cells(&mut volume, &tree, (&open, &phi_solid), TreeSides::NONE);
    let sum_at = |n: usize| -> f32 { (0..volume.len()).filter(|&c| at(c) == n).map(|c| volume[c]).sum() };
    assert!((sum_at(3) - 16.0 * 0.3).abs() < 1e-5, "{}", sum_at(3));
    assert!((4..10).all(|n| sum_at(n) == 0.0));
}

/// A film on a floor that cuts cells crosses their faces by its depth, whatever their size.
#[test]
fn a_film_on_a_floor_that_cuts_cells_moves_by_its_depth() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 2, roots: [16; 3] };
    let tree = Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).z < 0.5);
    let (floor, dt_s) = (4.5 / 32.0, 0.3 / 32.0);
    let nodes: Vec<f32> = (0..tree.node_count()).map(|node| tree.node_position(node).y - floor).collect();
    let (mut open, mut open_volume) = (vec![], vec![]);
    open_fractions(&mut open, &mut open_volume, &tree, &nodes, &mut FractionsScratch::default());
    // Nothing comes in at x = 0: what leaves the first column of cells is what crosses its other side.
    let u = at_faces(&tree, |x| if x.x > 1e-3 { DVec3::X } else { DVec3::ZERO });
    let (mut tracing, mut fluxes) = (Tracing::default(), Fluxes::default());
    tracing.fill(&tree, &u);
    for depth in [0.1, 0.3, 0.7, 1.6] {
        let top = floor + depth / 32.0;
        fluxes.fill(&Carrier {
            tree: &tree,
            phi_cell: &at_cells(&tree, |x| x.y - f64::from(top)),
            u_face: &u,
            tracing: &tracing,
            open_area: &open,
            phi_solid_node: &nodes,
            sides: TreeSides::NONE,
            fits: Fits::NONE,
            dt_s,
        });
        for (z, dx) in [(0.2, 1.0 / 32.0), (0.8, 1.0 / 16.0)] {
            let is_first = |cell: &usize| {
                let x = tree.cell_center(*cell);
                tree.cell_dx(*cell) == dx && x.x < dx && (x.z - z).abs() < 0.5 * dx
            };
            let column = (0..tree.cell_count()).filter(is_first);
            let crossed: f64 = column.map(|cell| fluxes.outflow_m3(&tree, cell)).sum();
            let exact = f64::from(dt_s * depth / 32.0 * dx);
            assert!(
                (crossed / exact - 1.0).abs() < 1e-3,
                "{depth} cells deep at {z}: {crossed:e}, {exact:e}"
            );
        }
    }
}

/// Water before a thin wall, none behind it, and a flow that would carry it through: what faces behind the wall sweep ends at it.
#[test]
fn faces_behind_a_thin_wall_sweep_none_of_the_water_before_it() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.5, levels: 1, roots: [8, 6, 6] };
    let tree = Octree::build(shape, 0, |_| false);
    let cells = Lattice { size: [8, 6, 6], origin: Vec3::splat(0.25), spacing: 0.5 };
    let barred = (0..cells.len()).map(|c| match cells.coordinates(c)[0] {
        3 => Sides::NEAR | 2,
        4 => Sides::NEAR | 1,
        _ => Sides::NEAR,
    });
    let sides = Sides { own_corners: vec![0xff; cells.len()], barred: barred.collect() };
    let u = at_faces(&tree, |_| DVec3::new(1.0, 0.5, 0.2));
    let open: Vec<f32> = (0..tree.face_count())
        .map(|face| {
            let is_wall = tree.face_axis(face) == 0 && tree.face_center(face, 0).x == 2.0;
            f32::from(!is_wall)
        })
        .collect();
    let (mut tracing, mut fluxes) = (Tracing::default(), Fluxes::default());
    tracing.fill(&tree, &u);
    fluxes.fill(&Carrier {
        tree: &tree,
        phi_cell: &at_cells(&tree, |x| if x.x < 2.0 { -0.75 } else { 0.75 }),
        u_face: &u,
        tracing: &tracing,
        open_area: &open,
        phi_solid_node: &[],
        sides: TreeSides { sides: &sides, cells, offset: [0; 3] },
        fits: Fits::NONE,
        dt_s: 1.2,
    });
    let away_from_walls = |x: Vec3| x.min_element() > 1.0 && x.y < 2.0 && x.z < 2.0;
    for cell in (0..tree.cell_count()).filter(|&cell| away_from_walls(tree.cell_center(cell))) {
        let behind = tree.cell_center(cell).x > 2.0;
        assert!(!behind || fluxes.outflow_m3(&tree, cell) == 0.0, "{}", fluxes.outflow_m3(&tree, cell));
    }
}

/// The means over faces of a wave give its values at their centres, walls included.
#[test]
fn point_velocities_are_of_fourth_order() {
    let error = |n: usize| -> f64 {
        let dx = 1.0 / n as f64;
        let tree = Octree::build(
            Shape { min: Vec3::ZERO, dx: dx as f32, levels: 1, roots: [n, n, n / 2] },
            0,
            |_| true,
        );
        let k = std::f64::consts::TAU;
        let wave = |x: DVec3| DVec3::Y * (k * x.x).cos() * (k * x.z).cos() * x.y;
        // The mean of cos(k x) over a cell is the value in its middle times this.
        let part = (0.5 * k * dx).sin() / (0.5 * k * dx);
        let (exact, mean) = (at_faces(&tree, wave), at_faces(&tree, |x| wave(x) * part * part));
        let mut found = vec![];
        point_velocities(&mut found, &tree, &mean, &vec![1.0; tree.face_count()]);
        found.iter().zip(&exact).map(|(a, b)| f64::from(a - b).abs()).fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(16), error(32));
    assert!(coarse / fine > 2f64.powf(3.8), "{coarse:e}, {fine:e}");
}
