use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{Cover, Outlet, SourceFace, Sources};
use fluvial_solids::{Motion, Nozzle, Shape};

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [20, 20, 20], dx: 0.05 };

fn outlet(shape: Shape, velocity: Vec3) -> Outlet {
    let open = FaceField::constant(&GRID, 1.0);
    let nozzle = Nozzle::new(&shape, velocity, &Motion::Static, 0.0, GRID.bounds());
    Outlet::new(&nozzle, &GRID, &open, nozzle.section_m2(|_| false))
}

#[test]
fn an_outlet_flows_at_section_times_speed_at_any_place() {
    for n in 0..8 {
        let center = Vec3::splat(0.5) + 0.013 * n as f32;
        let velocity = Vec3::new(0.4, -1.5, 0.1 * n as f32);
        let found = outlet(Shape::Sphere { center, radius: 0.1 }, velocity);
        let exact = std::f64::consts::PI * 0.01 * velocity.length() as f64;
        let sum: f64 = found.flow_into_cell.iter().map(|(_, flow)| f64::from(*flow)).sum();
        assert!((sum / exact - 1.0).abs() < 0.005, "{sum} {exact}");
    }
}

/// Covered faces in the plane of the mouth and of the back carry the source's liquid.
#[test]
fn a_mouth_in_a_plane_of_faces_has_its_velocity() {
    let (from, to) = (Vec3::new(0.2, 0.5, 0.5), Vec3::new(0.4, 0.5, 0.5));
    let found = outlet(Shape::Cylinder { from, to, radius: 0.12 }, 4.0 * Vec3::X);
    let (mut sources, still) = (Sources::default(), FaceField::constant(&GRID, 0.0));
    sources.add(&found, 1.0);
    let mut u = still;
    sources.fill_velocity(&mut u);
    for i in 4..=8 {
        assert_eq!(u[0][GRID.faces(0).index(i, 10, 10)], 4.0, "face {i}");
    }
}

#[test]
fn a_jet_that_flows_on_satisfies_continuity() {
    let velocity = Vec3::new(0.4, -1.5, 0.3);
    let outlet = outlet(Shape::Sphere { center: Vec3::new(0.47, 0.52, 0.5), radius: 0.18 }, velocity);
    let (mut sources, mut cover) = (Sources::default(), Cover::default());
    let (open, still) = (FaceField::constant(&GRID, 1.0), FaceField::constant(&GRID, 0.0));
    let alone = cover.openings(&sources, &GRID, &open, &still);
    assert!(std::ptr::eq(alone.area_face, &open) && alone.inflow_cell.is_empty());
    sources.add(&outlet, 1.0);
    sources.cover(&mut cover, &GRID, &open, &still);
    let openings = cover.openings(&sources, &GRID, &open, &still);
    let mut jet = FaceField::constant(&GRID, 0.0);
    AXES.into_iter().for_each(|axis| jet[axis].fill(velocity[axis]));
    let cells = GRID.cell_centers();
    for (cell, flow) in sources.flow_into_cell() {
        let inflow = flow / (GRID.dx * GRID.dx);
        let left = openings.outflow(&jet, cells.coordinates(*cell));
        // The flow is scaled by half a percent; slivers that count as closed are below 1e-3.
        assert!(left.abs() < 0.02 * inflow + 0.003 * velocity.length(), "{left} of {inflow}");
    }
    let (mut u, mut valid) = (still.clone(), AXES.map(|axis| vec![0; GRID.faces(axis).len()]));
    sources.prescribe(&mut u, &mut valid, openings.area_face);
    let inside = GRID.faces(1).index(9, 10, 10);
    assert_eq!((u[1][inside], valid[1][inside]), (velocity.y, 1));
    sources.clear();
    assert!(sources.faces().is_empty() && sources.flow_into_cell().is_empty());
}

#[test]
fn what_a_source_covers_of_a_moving_solid_keeps_the_solids_flux() {
    let outlet = outlet(Shape::Sphere { center: Vec3::splat(0.5), radius: 0.2 }, Vec3::X);
    let (mut sources, mut cover) = (Sources::default(), Cover::default());
    let (half, moving) = (FaceField::constant(&GRID, 0.5), FaceField::constant(&GRID, 2.0));
    sources.add(&outlet, 1.0);
    sources.cover(&mut cover, &GRID, &half, &moving);
    let openings = cover.openings(&sources, &GRID, &half, &moving);
    for SourceFace { axis, face, .. } in sources.faces() {
        let (area, u) = (openings.area_face[*axis][*face], openings.u_boundary[*axis][*face]);
        assert!(((1.0 - area) * u - 1.0).abs() < 3e-3, "{area} {u}");
    }
}
