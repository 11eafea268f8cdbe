use fluvial_power::neighbourhood::{Code, Slot};
use fluvial_power::pairs::open_fraction;
use fluvial_power::stencil::PowerCell;

#[test]
fn planes_leave_the_open_part_that_geometry_gives() {
    let cell = PowerCell::new(Code::UNIFORM);
    let face = cell.faces.iter().find(|f| f.slot == Slot::Level(1)).unwrap();
    // The face x = 0.5 of a cell of edge 2 around (1, 0, 0), solid below y = 0.3: 0.35 of it is open.
    let open = open_fraction(face, [1.0, 0.0, 0.0], 2.0, &|p| p[1] - 0.3);
    assert!((open - 0.35).abs() < 1e-14, "{open}");
    // Solid where y + z < 1: an open triangle with legs of half an edge.
    let open = open_fraction(face, [1.0, 0.0, 0.0], 2.0, &|p| (p[1] + p[2] - 1.0) / 2f64.sqrt());
    assert!((open - 0.125).abs() < 1e-14, "{open}");
    assert_eq!(open_fraction(face, [0.0; 3], 1.0, &|_| 0.0), 0.0);
}
