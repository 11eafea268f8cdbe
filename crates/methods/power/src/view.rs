//! A pyramid as it is read: which leaf is where, what surrounds it, which faces it has.

use crate::channels;
use crate::diagram::{Diagram, outside_places};
use crate::neighbourhood::{Code, Kind, Slot};
use crate::velocity::location;
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::paged::{Layout, SolverGrid};
use fluvial_grids::pyramid::{Level, NEIGHBOURS, Pyramid, opposite};

/// A cell of a level, by the code of its level's layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Level, 0 is the finest.
    pub level: u32,
    /// Code of the cell.
    pub cell: u64,
}

/// A face as its leaf sees it.
#[derive(Clone, Copy, Debug)]
pub struct LeafFace {
    /// Centre of area, m.
    pub centroid: [f64; 3],
    /// Unit normal, outward.
    pub normal: [f64; 3],
    /// Area, m2.
    pub area: f64,
    /// Velocity outward, m/s.
    pub outward: f32,
    /// The leaf beyond it; None at walls.
    pub other: Option<Place>,
    /// Where its velocity is kept, the cell and the channel, and the sign of what flows outward; at walls nowhere.
    pub kept: Option<(Place, usize, f32)>,
    /// Its place in the leaf's power cell.
    pub number: usize,
}

/// A pyramid with its diagram, for reading.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The tree.
    pub pyramid: &'a Pyramid,
    /// Its power diagram.
    pub diagram: &'a Diagram,
}

/// What a cell of a grid is.
#[inline]
pub fn kind_in(grid: &SolverGrid, cell: u64) -> Kind {
    Kind::from_field(value_in(grid, channels::CODE, cell))
}

/// A field of a grid in a cell.
#[inline]
pub fn value_in(grid: &SolverGrid, channel: usize, cell: u64) -> f32 {
    let layout = grid.layout();
    grid.channel(layout.page(cell), channel)[layout.cell_in_page(cell)]
}

/// Centre of a cell, m.
#[inline]
pub fn center_of(layout: &Layout, min: Vec3, dx: f32, cell: u64) -> Vec3 {
    let [x, y, z] = layout.decode(cell).map(|v| v as f32 + 0.5);
    min + dx * Vec3::new(x, y, z)
}

impl<'a> View<'a> {
    /// A level.
    #[inline]
    pub fn level(&self, level: u32) -> &'a Level {
        &self.pyramid.levels()[level as usize]
    }

    /// A field's value.
    #[inline]
    pub fn value(&self, place: Place, channel: usize) -> f32 {
        value_in(&self.level(place.level).grid, channel, place.cell)
    }

    /// Three fields' values.
    #[inline]
    pub fn vector(&self, place: Place, channels: [usize; 3]) -> Vec3 {
        let [x, y, z] = channels.map(|c| self.value(place, c));
        Vec3::new(x, y, z)
    }

    /// Centre of a leaf, m.
    #[inline]
    pub fn center(&self, place: Place) -> Vec3 {
        let level = self.level(place.level);
        center_of(level.grid.layout(), self.pyramid.shape().min, level.dx, place.cell)
    }

    /// Code of a leaf's neighbourhood; None where no leaf is.
    #[inline]
    pub fn code(&self, place: Place) -> Option<Code> {
        match kind_in(&self.level(place.level).grid, place.cell) {
            Kind::Leaf(code) => Some(code),
            _ => None,
        }
    }

    /// The leaf that holds a point of the box; points outside are moved onto it.
    pub fn locate(&self, x: Vec3) -> Place {
        let shape = self.pyramid.shape();
        let cells = shape.cells(0);
        let t = (x - shape.min) / shape.dx;
        self.leaf_at(AXES.map(|a| (t[a].max(0.0) as usize).min(cells[a] - 1) as u32))
    }

    /// The leaf that holds a cell of the finest level; beyond the box the nearest one.
    #[inline]
    pub fn leaf_at(&self, at: [u32; 3]) -> Place {
        let cells = self.pyramid.shape().cells(0);
        let at = AXES.map(|a| (at[a] as i64).min(cells[a] as i64 - 1));
        for (l, level) in self.pyramid.levels().iter().enumerate() {
            let cell = level.grid.layout().encode(at.map(|v| v >> l));
            let place = Place { level: l as u32, cell };
            if self.code(place).is_some() {
                return place;
            }
        }
        unreachable!("leaves fill the box")
    }

    /// All leaves in the order of their numbers.
    #[inline]
    pub fn leaves(&self) -> &'a [Place] {
        self.diagram.leaves()
    }

    /// The leaf at a place of a leaf's level, or the larger one that holds it.
    fn same_or_larger(&self, level: u32, cell: u64) -> Option<Place> {
        let place = Place { level, cell };
        match kind_in(&self.level(level).grid, cell) {
            Kind::Leaf(_) => Some(place),
            Kind::Ghost => {
                let at = self.level(level).grid.layout().decode(cell);
                let above = self.level(level + 1).grid.layout();
                Some(Place { level: level + 1, cell: above.encode(at.map(|v| i64::from(v / 2))) })
            }
            Kind::Unknown => None,
        }
    }

    /// The leaf beyond a face inside the box, for a leaf at `at`.
    fn beyond(&self, place: Place, at: [u32; 3], slot: Slot) -> Option<Place> {
        let (Slot::Level(k) | Slot::Smaller(k, _)) = slot;
        let next = AXES.map(|a| at[a].wrapping_add_signed(NEIGHBOURS[k][a] as i32));
        match slot {
            Slot::Level(_) => {
                let layout = self.level(place.level).grid.layout();
                self.same_or_larger(place.level, layout.encode(next.map(i64::from)))
            }
            Slot::Smaller(_, child) => {
                let fine = self.level(place.level - 1).grid.layout();
                let cell = fine.encode(AXES.map(|a| i64::from(2 * next[a] + (child as u32 >> a & 1))));
                Some(Place { level: place.level - 1, cell })
            }
        }
    }

    /// Calls `body` for the leaves beside a leaf, in the order of its faces.
    pub fn for_each_neighbour(&self, place: Place, mut body: impl FnMut(Place)) {
        let Some(code) = self.code(place) else { return };
        let layout = self.level(place.level).grid.layout();
        let at = layout.decode(place.cell);
        let outside = outside_places(layout, at);
        for face in &self.diagram.table().get(code).faces {
            let (Slot::Level(k) | Slot::Smaller(k, _)) = face.slot;
            if outside >> k & 1 == 0 {
                self.beyond(place, at, face.slot).into_iter().for_each(&mut body);
            }
        }
    }

    /// What flows into a leaf through the parts of its faces that a solid closes, when the solid has the velocity
    /// `velocity(x)`, m3/s: by the divergence theorem, what the solid's surface pushes into the rest of the leaf.
    pub fn pushed_in(
        &self,
        place: Place,
        solid: crate::pairs::SolidDistance,
        velocity: impl Fn([f64; 3]) -> [f64; 3],
    ) -> f64 {
        let Some(code) = self.code(place) else { return 0.0 };
        let dx = f64::from(self.level(place.level).dx);
        let center = self.center(place).to_array().map(f64::from);
        let mut sum = 0.0;
        for face in &self.diagram.table().get(code).faces {
            let closed = 1.0 - crate::pairs::open_fraction(face, center, dx, solid);
            if closed > 0.0 {
                let v = velocity(AXES.map(|a| center[a] + dx * face.centroid[a]));
                sum -=
                    closed * face.area * dx * dx * AXES.iter().map(|&a| v[a] * face.normal[a]).sum::<f64>();
            }
        }
        sum
    }

    /// Calls `body` for the faces of a leaf's power cell; those at walls have no velocity.
    pub fn for_each_face(&self, place: Place, mut body: impl FnMut(LeafFace)) {
        let Some(code) = self.code(place) else { return };
        let level = self.level(place.level);
        let layout = level.grid.layout();
        let (dx, min) = (f64::from(level.dx), self.pyramid.shape().min);
        let at = layout.decode(place.cell);
        let center = AXES.map(|a| f64::from(min[a]) + dx * (f64::from(at[a]) + 0.5));
        let outside = outside_places(layout, at);
        for (number, face) in self.diagram.table().get(code).faces.iter().enumerate() {
            let (Slot::Level(k) | Slot::Smaller(k, _)) = face.slot;
            let mut seen = LeafFace {
                centroid: AXES.map(|a| center[a] + dx * face.centroid[a]),
                normal: face.normal,
                area: face.area * dx * dx,
                outward: 0.0,
                other: None,
                kept: None,
                number,
            };
            if outside >> k & 1 == 0 {
                let other = self.beyond(place, at, face.slot);
                let kept = match (face.slot, other) {
                    (Slot::Smaller(..), Some(smaller)) => {
                        let (home, channel, sign) = self.kept(smaller, opposite(k));
                        (home, channel, -sign)
                    }
                    _ => self.kept(place, k),
                };
                let (home, channel, sign) = kept;
                seen.outward = sign * self.value(home, channel);
                (seen.other, seen.kept) = (other, Some(kept));
            }
            body(seen);
        }
    }

    /// Where the velocity through a cell's face towards neighbour `k` of its own level is kept: cell, channel, and the sign
    /// of what flows out.
    fn kept(&self, place: Place, k: usize) -> (Place, usize, f32) {
        let (channel, offset, sign) = location(k);
        let layout = self.level(place.level).grid.layout();
        let cell = layout.add(place.cell, layout.encode(offset));
        (Place { cell, ..place }, channel, sign)
    }
}
