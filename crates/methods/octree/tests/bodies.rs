//! A body's term of the projection on a tree whose levels meet at the body.

use crate::common::{at_cells, at_faces, quartered};
use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{Aabb, DMat3, DVec3, Quat, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_linear::LowRank;
use fluvial_octree::bodies::{AroundBodies, BodyTerms, close_films, couple_bodies};
use fluvial_octree::divergence::{face_volume, inflow};
use fluvial_octree::fractions::{FractionsScratch, close_walls, open_fractions};
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientParams, PressureGradient, gradient_row};
use fluvial_solids::{CoupledBody, Films, Shape};

const DENSITY: f64 = 1000.0;

/// A slanted block where cells of three sizes meet.
struct Case {
    tree: Octree,
    open_area: Vec<f32>,
    open_volume: Vec<f32>,
    body_faces: Vec<(u32, u32)>,
    body: CoupledBody,
}

impl Case {
    fn new() -> Case {
        let rotation = Quat::from_axis_angle(Vec3::new(1.0, 2.0, 0.5).normalize(), 0.6);
        let (min, max, translate) =
            (Vec3::splat(-0.2), Vec3::new(0.2, 0.15, 0.17), Vec3::new(0.45, 0.5, 0.53));
        let shape = Box::new(Shape::Box { min, max });
        let block = Shape::Transform { shape, scale: 1.0, rotation, translate };
        let tree = quartered(32, 1, |_, _| true);
        let phi_node: Vec<f32> =
            (0..tree.node_count()).map(|node| block.distance(tree.node_position(node))).collect();
        let (mut open_area, mut open_volume) = (vec![], vec![]);
        open_fractions(&mut open_area, &mut open_volume, &tree, &phi_node, &mut FractionsScratch::default());
        let closed = |face: &usize| open_area[*face] < 1.0;
        let body_faces = (0..tree.face_count()).filter(closed).map(|face| (face as u32, 0)).collect();
        let body = CoupledBody {
            center: translate + rotation * (0.5 * (min + max)),
            bounds: Aabb { min: Vec3::ZERO, max: Vec3::ONE },
            // Other than the image's, which the test below adds up.
            volume_m3: 0.05,
            inverse_mass: DVec3::ONE,
            inverse_inertia: DMat3::IDENTITY,
        };
        Case { tree, open_area, open_volume, body_faces, body }
    }

    fn couple(&self, gravity_m_s: Vec3) -> (LowRank, [DVec3; 2]) {
        let (mut term, mut film, mut clinging) = (LowRank::default(), LowRank::default(), vec![]);
        let phi_cell = vec![-1.0; self.tree.cell_count()];
        let around = AroundBodies {
            tree: &self.tree,
            body_faces: &self.body_faces,
            open_area: &self.open_area,
            open_volume: &self.open_volume,
            phi_cell: &phi_cell,
            gravity_m_s,
            density: DENSITY,
        };
        let (term_out, films) = (&mut term, &mut Films::default());
        let terms = BodyTerms { term: term_out, film: &mut film, clinging: &mut clinging, films };
        couple_bodies(terms, &[self.body], &around);
        (term, clinging[0])
    }
}

/// A hydrostatic pressure at the centres of cells lifts the body by the weight of the water that it displaces, whatever the
/// sizes of the cells at it, and acts at its centre.
#[test]
fn pressure_lifts_a_body_by_the_water_it_displaces() {
    let case = Case::new();
    let gravity = DVec3::new(0.3, -1.0, 0.2);
    let p_cell: Vec<f64> =
        (0..case.tree.cell_count()).map(|c| gravity.dot(case.tree.cell_center(c).as_dvec3())).collect();
    let (term, [clinging, turning]) = case.couple(gravity.as_vec3());
    let sum = term.blocks[0].gather(&p_cell).map(|v| DENSITY * v);
    let force = DVec3::from_slice(&sum[..3]) + clinging;
    let (mut displaced, mut moment) = (0.0, DVec3::ZERO);
    for cell in 0..case.tree.cell_count() {
        let dx = f64::from(case.tree.cell_dx(cell));
        let kg = DENSITY * dx.powi(3) * f64::from(1.0 - case.open_volume[cell]);
        displaced += kg;
        moment += kg * (case.tree.cell_center(cell) - case.body.center).as_dvec3();
    }
    let own = DENSITY * case.body.volume_m3;
    let off = (force + own * gravity).length() / (own * gravity.length());
    assert!(off < 1e-5, "lifted by {force} instead of {}", -own * gravity);
    // Within a cell the centre of what is displaced is not known: a cell's size at the surface at most.
    let torque = DVec3::from_slice(&sum[3..]) + turning;
    let off = (torque + moment.cross(gravity)).length() / (displaced * gravity.length());
    assert!(off < 0.01, "turned by {torque} instead of {}", -moment.cross(gravity));
    // About the body's own centre it turns nothing, whatever the centre of its image on the tree is.
    let arm_m = torque.length() / (displaced * gravity.length());
    assert!(arm_m < 1e-6, "turned by {torque}, as if it were lifted {arm_m} m beside its centre");
    let sizes: Vec<usize> = (0..3)
        .map(|level| {
            let cells =
                term.blocks[0].rows.iter().map(|&cell| case.tree.cells()[cell as usize].level as usize);
            cells.filter(|&l| l == level).count()
        })
        .collect();
    assert!(sizes.iter().all(|&n| n > 0), "cells by size: {sizes:?}");
}

/// A block that stands on the floor, with no cell between the two or a gap of a twentieth of one, is lifted likewise, by the water at its rim.
#[test]
fn a_body_on_the_floor_is_lifted_by_the_water_it_displaces() {
    for gap_cells in [0.0, 0.05] {
        let mut case = Case::new();
        let (dx, tree) = (1.0 / 32.0, &case.tree);
        let min = Vec3::new(3.0, gap_cells, 7.5) * dx;
        let block = Shape::Box { min, max: min + Vec3::new(5.0, 6.0, 7.0) * dx };
        let phi_node: Vec<f32> =
            (0..tree.node_count()).map(|node| block.distance(tree.node_position(node))).collect();
        let scratch = &mut FractionsScratch::default();
        open_fractions(&mut case.open_area, &mut case.open_volume, tree, &phi_node, scratch);
        close_walls(&mut case.open_area, tree, [true; 6]);
        let is_own =
            |face: &usize| !tree.sides(*face).contains(&Side::Outside) && case.open_area[*face] < 1.0;
        case.body_faces = (0..tree.face_count()).filter(is_own).map(|face| (face as u32, 0)).collect();
        let closed = close_films(&mut case.open_area, &case.open_volume, &case.body_faces, tree);
        assert_eq!(closed > 0, gap_cells > 0.0);
        (case.body.center, case.body.volume_m3) = (block.bounds().center(), 210.0 * f64::from(dx).powi(3));
        let gravity = DVec3::new(0.0, -1.0, 0.0);
        let p_cell: Vec<f64> =
            (0..tree.cell_count()).map(|c| gravity.dot(tree.cell_center(c).as_dvec3())).collect();
        let (term, [clinging, turning]) = case.couple(gravity.as_vec3());
        let sum = term.blocks[0].gather(&p_cell).map(|v| DENSITY * v);
        let weight = DENSITY * case.body.volume_m3;
        let force = (DVec3::from_slice(&sum[..3]) + clinging) / weight;
        assert!(
            (force + gravity).length() < 1e-3,
            "{gap_cells} cells above: lifted by {force} of its weight of water"
        );
        let arm_cells = (DVec3::from_slice(&sum[3..]) + turning) / (weight * f64::from(dx));
        assert!(
            arm_cells.length() < 0.1,
            "{gap_cells} cells above: lifted {arm_cells} cells beside its centre"
        );
    }
}

/// What any pressure gives the water, the body and the walls is zero in all, across cells of three sizes and under a surface: their
/// momentum changes by what acts from outside alone. The water's is that of the open parts of faces, at the surface of their wet
/// part.
#[test]
fn momentum_of_body_and_water_stays() {
    let case = Case::new();
    let (tree, (term, _)) = (&case.tree, case.couple(Vec3::ZERO));
    let mut open_area = case.open_area.clone();
    let is_wall = |face: usize| tree.sides(face).contains(&Side::Outside);
    (0..tree.face_count()).filter(|&face| is_wall(face)).for_each(|face| open_area[face] = 0.0);
    for level in [10.0, 0.61] {
        let phi_cell = at_cells(tree, |x| x.y + 0.1 * x.x - level);
        let geometry = Geometry { tree, phi_cell: &phi_cell, open_area: &open_area };
        let mut gradient = PressureGradient::default();
        gradient.prepare(&geometry, &GradientParams { form: FreeSurface::Symmetric, ..Default::default() });
        let random = |cell: usize| f64::from(unit_f32(7, cell as u64));
        let slope = DVec3::new(2.0, -3.0, 1.0);
        let any = |c: usize| 5.0 + slope.dot(tree.cell_center(c).as_dvec3()) + random(c);
        let p: Vec<f64> =
            (0..tree.cell_count()).map(|c| if phi_cell[c] < 0.0 { any(c) } else { 0.0 }).collect();
        let body = term.blocks[0].gather(&p);
        let (mut sum, mut size) = (DVec3::from_slice(&body[..3]), 0.0);
        for face in 0..tree.face_count() {
            let (axis, row) = (tree.face_axis(face), gradient.row(&geometry, face));
            // What the surface leaves of the face is one over the factor that its gradient has there.
            let plain: Vec<(usize, f64)> = gradient_row(tree, face).entries().collect();
            let factor = row.entries().find(|(_, a)| *a != 0.0).map_or(1.0, |(cell, a)| {
                a / plain.iter().find(|(other, _)| *other == cell).map_or(a, |(_, b)| *b)
            });
            let given = face_volume(tree, face) * f64::from(open_area[face]) / factor * row.apply(&p);
            sum[axis] -= given;
            size += given.abs();
            if is_wall(face) {
                let cell = tree.cells_beside(face).next().unwrap_or(0);
                let outward = if tree.sides(face)[1] == Side::Outside { 1.0 } else { -1.0 };
                sum[axis] += outward * f64::from(tree.cell_dx(cell)).powi(2) * p[cell];
            }
        }
        let body = DVec3::from_slice(&body[..3]).length();
        assert!(body > 1e-3 * size, "the pressure does not push the body: {body} of {size}");
        assert!(sum.length() < 1e-4 * body, "level {level}: {sum} is left of {body}");
    }
}

/// The rows times a velocity are what flows out of the cells when the body moves with it.
#[test]
fn the_term_is_what_flows_out_of_cells() {
    let case = Case::new();
    let (velocity, spin) = (DVec3::new(0.4, -0.3, 0.9), DVec3::new(-1.0, 0.6, 0.5));
    let u_solid = at_faces(&case.tree, |x| velocity + spin.cross(x - case.body.center.as_dvec3()));
    let phi_cell = at_cells(&case.tree, |_| -1.0);
    let geometry = Geometry { tree: &case.tree, phi_cell: &phi_cell, open_area: &case.open_area };
    let mut wanted = vec![0.0; case.tree.cell_count()];
    inflow(&mut wanted, &geometry, &vec![0.0; case.tree.face_count()], Some(&u_solid));
    let mut out = vec![0.0f64; case.tree.cell_count()];
    let (term, _) = case.couple(Vec3::ZERO);
    term.blocks[0].scatter(&mut out, &[velocity.x, velocity.y, velocity.z, spin.x, spin.y, spin.z]);
    for (cell, (out, wanted)) in out.iter().zip(&wanted).enumerate() {
        let scale = f64::from(case.tree.cell_dx(cell)).powi(2);
        assert!((out + wanted).abs() < 1e-5 * scale, "cell {cell}: {out} instead of {}", -wanted);
    }
}
