//! Regions stay closed, and hinges tight.

// Private to the crate; knows only the cases.
#[path = "../src/complex/mod.rs"]
#[allow(dead_code)]
mod complex;

use complex::{Complex, Kind, NOTHING, SLIVER, area_vector, clip};
use fluvial_cutcell::cases;
use fluvial_foundation::DVec3;
use fluvial_foundation::random::unit_vec3;

fn volume(complex: &Complex, region: u32) -> (f64, DVec3) {
    let mut sums = (0.0, DVec3::ZERO);
    for facet in complex.facets.iter().filter(|f| f.sides.contains(&region)) {
        let sign = if facet.sides[0] == region { 1.0 } else { -1.0 };
        let area = sign * area_vector(complex.positions(facet));
        let p = complex.positions(facet).next().expect("a point");
        sums = (sums.0 + area.dot(p) / 3.0, sums.1 + area);
    }
    sums
}

/// Random triangles through a cell: regions stay closed, their volumes add up to the cell, and what is
/// covered has the area of the triangle clipped to the cell.
#[test]
fn regions_stay_closed_and_add_up() {
    let mut complex = Complex::default();
    for case in 0..1000 {
        complex.reset();
        let count = 1 + case % 6;
        let mut wanted = 0.0;
        for t in 0..count {
            // Some corners in common, some planes along the cell's own.
            let corner = |k: u64| {
                let x = unit_vec3(case, if k == 0 { 50 } else { 3 * t + k }).as_dvec3() * 2.0 - 0.5;
                if case % 4 == 3 { (4.0 * x).round() / 4.0 } else { x }
            };
            let triangle = [corner(0), corner(1), corner(2)];
            complex.insert(triangle, Kind::Solid(t as u32));
            if count == 1 {
                let (mut a, mut b) = (triangle.to_vec(), vec![]);
                for axis in 0..3 {
                    clip(&mut b, &a, |x| -x[axis]);
                    clip(&mut a, &b, |x| x[axis] - 1.0);
                }
                wanted = area_vector(a.into_iter()).length();
            }
        }
        let mut all = 0.0;
        for region in 0..complex.regions {
            let (volume, area) = volume(&complex, region);
            assert!(area.length() < 1e-8 && volume > -1e-12, "case {case}: {volume} {area}");
            all += volume;
        }
        assert!((all - 1.0).abs() < 1e-8, "case {case}: {all}");
        if count == 1 {
            let covered = complex.facets.iter().filter(|f| f.solid != NOTHING);
            let area: f64 = covered.map(|f| area_vector(complex.positions(f)).length()).sum();
            assert!((area - wanted).abs() < 1e-8, "case {case}: {area} {wanted}");
        }
    }
}

/// Fans of triangles whose corners are off a plane by less and less: no open facets lead from the cell's
/// bottom to its top.
#[test]
fn hinges_of_any_angle_are_tight() {
    let mut complex = Complex::default();
    for case in 0..2000u64 {
        let noise = 10f64.powf(-0.006 * case as f64);
        let corner = |k: u64, x: f64, z: f64| {
            let y = 0.4 + 0.2 * x - 0.1 * z + 0.2 * noise * (unit_vec3(case, k).x as f64 - 0.5);
            DVec3::new(x, y, z)
        };
        let u = unit_vec3(case, 9);
        let ring = [
            corner(0, 0.0, 0.0),
            corner(1, 0.0, 1.0),
            corner(2, u.x as f64, 1.0),
            corner(3, 1.0, 1.0),
            corner(4, 1.0, u.y as f64),
            corner(5, 1.0, 0.0),
        ];
        complex.reset();
        for n in 1..5 {
            complex.insert([ring[0], ring[n], ring[n + 1]], Kind::Surface);
        }
        let mut seen = vec![false; complex.regions as usize];
        let bottom = complex.facets.iter().find(|f| f.wall == 2).expect("a bottom").sides[0];
        let mut stack = vec![bottom];
        while let Some(region) = stack.pop() {
            seen[region as usize] = true;
            let open = complex.facets.iter().filter(|f| {
                let wide = area_vector(complex.positions(f)).length() > SLIVER;
                f.wall == NOTHING && f.surface == 0 && wide && f.sides.contains(&region)
            });
            stack.extend(open.flat_map(|f| f.sides).filter(|&s| !seen[s as usize]));
        }
        let top = complex.facets.iter().find(|f| f.wall == 3).expect("a top").sides[0];
        assert!(!seen[top as usize], "case {case}, noise {noise:e}");
    }
}
