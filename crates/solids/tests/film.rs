//! Films between bodies and what they touch.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::{Beside, Contact, Films, Motion, Pose, Shape, SolidFields, Twist, rasterize};

const GRID: UniformGrid = UniformGrid { min: Vec3::ZERO, cells: [12; 3], dx: 0.1 };

/// Open faces of the lowest cells below the middle of a block that stands so many cells above the floor.
fn open_below(gap_cells: f32, motion: &Motion) -> usize {
    let min = Vec3::new(0.4, gap_cells * GRID.dx, 0.4);
    let block = Shape::Box { min, max: min + 0.4 };
    let mut fields = SolidFields::default();
    rasterize(&mut fields, &[(&block, motion)], [false; 6], &GRID, 0.0);
    // The block's side at x = 0.8 keeps the water beside it.
    assert_eq!(fields.open_area[1][GRID.faces(1).index(8, 2, 5)], 1.0);
    (0..3)
        .map(|axis| (axis, GRID.faces(axis)))
        .filter(|(axis, faces)| fields.open_area[*axis][faces.index(5, 0, 5)] > 0.0)
        .count()
}

#[test]
fn films_of_bodies_are_closed() {
    let twist = Twist { linear: Vec3::ZERO, angular: Vec3::ZERO, center: Vec3::ZERO };
    let free = Motion::Free { time_s: [0.0; 2], poses: [Pose::IDENTITY; 2], twist };
    let piston = Motion::Constant { linear: Vec3::Y, angular: Vec3::ZERO, about: Vec3::ZERO };
    assert_eq!(open_below(0.05, &free), 0);
    assert_eq!(open_below(0.2, &free), 2);
    // What moves as the scene says squeezes the water out.
    assert_eq!(open_below(0.05, &piston), 2);
}

/// A body that fills a pipe but for a film on all sides keeps what is below it open to what is above; beside one open side it does not matter.
#[test]
fn films_that_let_water_past_a_body_stay_open() {
    let twist = Twist { linear: Vec3::ZERO, angular: Vec3::ZERO, center: Vec3::ZERO };
    let free = Motion::Free { time_s: [0.0; 2], poses: [Pose::IDENTITY; 2], twist };
    for (right, area) in [(1.195, 0.05), (0.9, 0.0)] {
        let (min, max) = (Vec3::new(0.005, 0.4, 0.005), Vec3::new(right, 0.8, 1.195));
        let mut fields = SolidFields::default();
        rasterize(&mut fields, &[(&Shape::Box { min, max }, &free)], [false; 6], &GRID, 0.0);
        let beside = fields.open_area[1][GRID.faces(1).index(0, 6, 6)];
        assert!((beside - area).abs() < 0.01, "{beside} instead of {area}");
    }
}

/// In a film of five cells by five on the floor of a row of cells with water on one side and air on the others, every row goes to the rim
/// as a whole, and the pressure of water at rest is met anywhere below water.
#[test]
fn rows_of_a_film_go_to_its_rim() {
    let place = |cell: u32| [cell as i32 % 7, 0, cell as i32 / 7];
    let center = |cell: u32| Vec3::from_array(place(cell).map(|v| v as f32));
    let is_film = |at: [i32; 3]| (1..6).contains(&at[0]) && (1..6).contains(&at[2]);
    let mut films = Films::default();
    films.clear(1);
    let row = [0.0, 1.0, 0.0, 0.5, 0.0, -0.25];
    let cells = (0..49u32).filter(|cell| is_film(place(*cell)));
    films.bodies[0].contacts.extend(cells.map(|cell| Contact { cell, row, closed: 1.0 }));
    for air in [false, true] {
        films.find(center, |cell, offset| {
            let at: [i32; 3] = std::array::from_fn(|a| place(cell)[a] + offset[a]);
            let beside = match is_film(at) {
                true => Beside::Closed,
                false if air && at[0] < 6 => Beside::Dry,
                false => Beside::Wet,
            };
            (at[1] == 0).then_some(((at[0] + 7 * at[2]) as u32, beside))
        });
        let (mut rim, mut rows) = (vec![], vec![]);
        films.hand_over(0, &mut rim, &mut rows);
        let sum: [f32; 6] = std::array::from_fn(|c| rows.iter().map(|row| row[c]).sum());
        (0..6).for_each(|c| assert!((sum[c] - 25.0 * row[c]).abs() < 1e-4, "{sum:?}"));
        assert!(rim.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(rim.iter().all(|cell| !is_film(place(*cell))));
        // What the rows at the rim and the known rest make of a linear pressure is what there is in the film.
        let slope = Vec3::new(0.3, -1.0, 0.7);
        let of_rim: f32 = rim.iter().zip(&rows).map(|(cell, row)| row[1] * slope.dot(center(*cell))).sum();
        let known: f32 =
            films.means(0).map(|(contact, mean)| contact.row[1] * slope.dot(mean.beside_m)).sum();
        let there: f32 =
            films.means(0).map(|(contact, _)| contact.row[1] * slope.dot(center(contact.cell))).sum();
        assert!(air || (of_rim + known - there).abs() < 1e-3, "{of_rim} and {known} instead of {there}");
        let wet: f32 = films.means(0).map(|(_, mean)| mean.wet).sum();
        assert!(if air { (3.0..12.0).contains(&wet) } else { wet == 25.0 }, "{wet}");
    }
}
