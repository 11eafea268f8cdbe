//! The gradient of pressure at faces, `[F grad]` of [octree §4.3, 4.5].

use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;

/// Coefficients of one face's gradient: `sum_j coefficient_j q_j`, 1/m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    cells: [u32; 5],
    coefficients: [f64; 5],
    len: usize,
}

impl Row {
    fn push(&mut self, cell: u32, coefficient: f64) {
        self.cells[self.len] = cell;
        self.coefficients[self.len] = coefficient;
        self.len += 1;
    }

    /// The cells and their coefficients.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let cells = self.cells[..self.len].iter().map(|&c| c as usize);
        cells.zip(self.coefficients[..self.len].iter().copied())
    }

    /// Does no pressure act?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The gradient of values at cell centres.
    #[inline]
    pub fn apply(&self, q_cell: &[f64]) -> f64 {
        self.entries().map(|(cell, c)| c * q_cell[cell]).sum()
    }
}

/// `[grad]_k` of a face, towards the high side [octree eq. 6, 7]: the difference of two cells over `dx`, or
/// of a cell and the mean of four over `L = 1.5 dx` of the small ones, the distance of their centres along
/// the normal. Exact for linear fields in both cases. A wall has one cell; beyond it lies zero at a distance
/// of `dx`. Verified by `operators.rs`.
#[inline]
pub fn gradient_row(tree: &Octree, face: usize) -> Row {
    let mut row = Row::default();
    let dx = tree.face_dx(face) as f64;
    let sides = tree.sides(face);
    let length = if tree.is_junction(face) { 0.75 * dx } else { dx };
    for (side, sign) in sides.into_iter().zip([-1.0, 1.0]) {
        match side {
            Side::Outside => {}
            Side::Cell(cell) => row.push(cell, sign / length),
            Side::Quad(cells) => cells.iter().for_each(|&cell| row.push(cell, 0.25 * sign / length)),
        }
    }
    row
}

/// How the pressure gradient meets the free surface where it crosses a T-junction. Other faces all take the
/// ghost-fluid method, with which each of these agrees there [octree eq. 26].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FreeSurface {
    /// `max(W, 0) [grad]` [octree eq. 21, 25]: symmetric, for conjugate gradients.
    #[default]
    Symmetric,
    /// The same, but where `W < 0` the mean of the liquid cells is extrapolated along the surface's normal
    /// [octree eq. 24]: second order, not symmetric.
    SecondOrder,
    /// Zero pressure in air cells, wherever the surface lies: first order, for comparison.
    Naive,
}

/// The floor of the ghost distance on trees.
pub(crate) const THETA_MIN: f64 = 1e-4;

/// Choices of [`PressureGradient::prepare`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientParams {
    /// Treatment of T-junctions at the surface.
    pub form: FreeSurface,
    /// Smallest distance from liquid cell to surface, as a fraction of the distance of the centres: `W`
    /// never exceeds its inverse. A floored face pulls with another distance than the cell's other
    /// faces, so one pressure cannot bring them all to rest: solvers floor the cell's own distance before, by
    /// [`crate::lone::hide_lone_cells`]. What that leaves is the floor's part of gravity, and
    /// the floor is a tenth of [`fluvial_grids::GHOST_DISTANCE_FLOOR`], the uniform grid's. A far
    /// smaller one would let a pressure on the surface drown velocities in f32. Verified by
    /// `only_a_floor_below_the_distance_keeps_a_tilted_surface_at_rest`.
    pub theta_min: f64,
    /// What replaces a negative `W` beside cells that solids cut, so that no pressure is undetermined
    /// [octree §4.5].
    pub scale_at_solids: f64,
}

impl Default for GradientParams {
    fn default() -> Self {
        GradientParams { form: FreeSurface::Symmetric, theta_min: THETA_MIN, scale_at_solids: 1e-2 }
    }
}

/// What [`PressureGradient::prepare`] counted, clamps included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GradientInfo {
    /// Open faces that the surface crosses.
    pub surface_faces: usize,
    /// T-junctions among them.
    pub surface_junctions: usize,
    /// Those with `W < 0`, clamped or replaced as the form says.
    pub degenerate_junctions: usize,
    /// Faces whose distance to the surface was floored.
    pub theta_floors: usize,
}

impl GradientInfo {
    fn add(self, other: GradientInfo) -> GradientInfo {
        GradientInfo {
            surface_faces: self.surface_faces + other.surface_faces,
            surface_junctions: self.surface_junctions + other.surface_junctions,
            degenerate_junctions: self.degenerate_junctions + other.degenerate_junctions,
            theta_floors: self.theta_floors + other.theta_floors,
        }
    }
}

/// `[F grad]_k` of one face, without preparing all others: for a probe. What was clamped is not counted.
pub fn face_row(geometry: &Geometry, params: &GradientParams, face: usize) -> Row {
    scale(geometry, params, face, &mut GradientInfo::default()).row(geometry, face)
}

/// What a face's row is multiplied with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Scaling {
    /// No pressure acts: closed, or no liquid on either side.
    #[default]
    Dry,
    /// The row as it is: liquid on both sides.
    Full,
    /// The row's entries of liquid cells times a factor: `W`.
    Scaled(f32),
    /// All entries of liquid cells replaced by one number.
    Equal(f32),
    /// As [`Self::Scaled`], in place of a negative `W`.
    Degenerate(f32),
    /// As [`Self::Scaled`] at the mouth of a narrow opening: `W` with the opening's inertia, and the part of their
    /// acceleration that forces keep there.
    Narrow(f32, f32),
}

impl Scaling {
    #[inline]
    fn row(self, geometry: &Geometry, face: usize) -> Row {
        match self {
            Scaling::Dry => Row::default(),
            Scaling::Full => gradient_row(geometry.tree, face),
            Scaling::Scaled(w) | Scaling::Degenerate(w) | Scaling::Narrow(w, _) => {
                liquid_row(geometry, face, |c| c * w as f64)
            }
            Scaling::Equal(c) => liquid_row(geometry, face, |_| c as f64),
        }
    }
}

/// The gradient `[F grad]` of every face for one shape of the liquid.
#[derive(Clone, Debug, Default)]
pub struct PressureGradient {
    scaling: Vec<Scaling>,
}

/// What rules the operators: where liquid is, and how much of each face is open.
#[derive(Clone, Copy, Debug)]
pub struct Geometry<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// Liquid level set at cell centres, negative in liquid, a distance in metres near the surface.
    pub phi_cell: &'a [f32],
    /// Open part of every face, 0 (closed) to 1. Walls of the domain are closed by 0; an open one is air.
    pub open_area: &'a [f32],
}

impl Geometry<'_> {
    /// Does a solid take part of a cell's sides? Walls of the domain are no solids: the gradient beside them
    /// is that of a whole cell, and a push at degenerate junctions there would set still water in motion.
    fn is_cut(&self, cell: usize) -> bool {
        let faces = self.tree.cell_faces()[cell].iter().map(|&face| face as usize);
        let is_wall = |face: usize| self.tree.sides(face).contains(&Side::Outside);
        faces.into_iter().any(|face| self.open_area[face] < 1.0 && !is_wall(face))
    }
}

impl PressureGradient {
    /// Finds every face's scaling.
    pub fn prepare(&mut self, geometry: &Geometry, params: &GradientParams) -> GradientInfo {
        let faces = geometry.tree.face_count();
        assert_eq!(geometry.phi_cell.len(), geometry.tree.cell_count(), "one phi per cell");
        assert_eq!(geometry.open_area.len(), faces, "one area per face");
        self.scaling.clear();
        self.scaling.resize(faces, Scaling::Dry);
        let parts = parallel::map_chunks(&mut self.scaling, parallel::CHUNK, |faces, scaling| {
            let mut info = GradientInfo::default();
            for (face, out) in faces.zip(scaling) {
                *out = at_opening(scale(geometry, params, face, &mut info), geometry, face);
            }
            info
        });
        parts.into_iter().fold(GradientInfo::default(), GradientInfo::add)
    }

    /// `[F grad]_k`: the face's coefficients over liquid cells alone.
    #[inline]
    pub fn row(&self, geometry: &Geometry, face: usize) -> Row {
        self.scaling[face].row(geometry, face)
    }

    /// Sum of [`Self::row`]'s coefficients, exactly zero between liquid cells. Minus this times a pressure on
    /// the surface is what that pressure adds to the gradient [octree eq. 29].
    #[inline]
    pub fn row_sum(&self, geometry: &Geometry, face: usize) -> f64 {
        match self.scaling[face] {
            Scaling::Full if geometry.tree.sides(face).iter().all(|s| *s != Side::Outside) => 0.0,
            _ => self.row(geometry, face).entries().map(|(_, c)| c).sum(),
        }
    }

    /// `u += [F grad] {p}` with a pressure on the surface, one value per face that the surface crosses
    /// [octree eq. 32]: what surface tension adds before the projection. `p` in m2/s, `dt sigma kappa / rho`.
    /// Verified by `curvature.rs`.
    pub fn add_surface_pressure(&self, u_face: &mut [f32], geometry: &Geometry, p_face: &[f32]) {
        assert_eq!(u_face.len(), geometry.tree.face_count(), "one velocity per face");
        assert_eq!(p_face.len(), geometry.tree.face_count(), "one pressure per face");
        parallel::for_each_indexed_mut(u_face, |face, u| {
            if p_face[face] != 0.0 {
                *u += (self.row_sum(geometry, face) * p_face[face] as f64) as f32;
            }
        });
    }

    /// Does a pressure act on the face?
    #[inline]
    pub fn acts_on(&self, face: usize) -> bool {
        self.scaling[face] != Scaling::Dry
    }

    /// The part of a face's volume that pressure moves, the inertia of narrow openings included; none where no pressure acts.
    pub fn moved_part(&self, face: usize) -> f64 {
        match self.scaling[face] {
            Scaling::Full => 1.0,
            Scaling::Scaled(w) | Scaling::Degenerate(w) | Scaling::Narrow(w, _) if w > 0.0 => {
                1.0 / f64::from(w)
            }
            _ => 0.0,
        }
    }

    /// Does the surface cross the T-junction in such a way that its own cells do not tell the pressure's gradient?
    #[inline]
    pub fn is_degenerate(&self, face: usize) -> bool {
        matches!(self.scaling[face], Scaling::Degenerate(_))
    }

    /// Is liquid in all cells beside the face?
    #[inline]
    pub fn is_full(&self, face: usize) -> bool {
        self.scaling[face] == Scaling::Full
    }

    /// `u -= [F grad] p` [octree eq. 4], with `p` in m2/s (pressure times dt over density).
    pub fn subtract(&self, u_face: &mut [f32], geometry: &Geometry, p_cell: &[f64]) {
        assert_eq!(u_face.len(), geometry.tree.face_count(), "one velocity per face");
        parallel::for_each_indexed_mut(u_face, |face, u| {
            *u = (*u as f64 - self.row(geometry, face).apply(p_cell)) as f32;
        });
    }

    /// Takes back what forces gave the mouths of narrow openings beyond what the inertia there lets them: `impulse` is
    /// the forces' time integral over density, m/s (`narrowing`).
    pub fn hold_back_at_openings(&self, u_face: &mut [f32], tree: &Octree, impulse: Vec3) {
        assert_eq!(u_face.len(), self.scaling.len(), "one velocity per face");
        parallel::for_each_indexed_mut(u_face, |face, u| {
            if let Scaling::Narrow(_, part) = self.scaling[face] {
                *u -= (1.0 - part) * impulse[tree.face_axis(face)];
            }
        });
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<Scaling>() * self.scaling.capacity()
    }
}

fn liquid_row(geometry: &Geometry, face: usize, coefficient: impl Fn(f64) -> f64) -> Row {
    let mut row = Row::default();
    for (cell, c) in gradient_row(geometry.tree, face).entries() {
        if geometry.phi_cell[cell] < 0.0 {
            row.push(cell as u32, coefficient(c));
        }
    }
    row
}

/// The scaling of one face [octree §4.5].
fn scale(geometry: &Geometry, params: &GradientParams, face: usize, info: &mut GradientInfo) -> Scaling {
    let tree = geometry.tree;
    if geometry.open_area[face] <= 0.0 {
        return Scaling::Dry;
    }
    let row = gradient_row(tree, face);
    // Slope of phi, the part of it that liquid cells have, their sum, and what lies where.
    let (mut slope, mut wet_slope, mut wet_sum, mut wet) = (0.0f64, 0.0f64, 0.0f64, 0);
    for (cell, c) in row.entries() {
        let phi = geometry.phi_cell[cell] as f64;
        slope += c * phi;
        if phi < 0.0 {
            (wet_slope, wet_sum, wet) = (wet_slope + c * phi, wet_sum + phi, wet + 1);
        }
    }
    if wet == 0 {
        return Scaling::Dry;
    }
    let junction = tree.is_junction(face);
    if wet == row.len {
        return Scaling::Full;
    }
    info.surface_faces += 1;
    info.surface_junctions += junction as usize;
    if junction && params.form == FreeSurface::Naive {
        return Scaling::Scaled(1.0);
    }
    if slope * wet_slope < 0.0 {
        info.degenerate_junctions += 1;
        if params.form == FreeSurface::SecondOrder {
            let floor = params.theta_min * 0.75 * tree.face_dx(face) as f64 * slope.abs();
            info.theta_floors += (-wet_sum < floor) as usize;
            return Scaling::Equal((slope / wet_sum.min(-floor)) as f32);
        }
        let cut = row.entries().any(|(cell, _)| geometry.is_cut(cell));
        return Scaling::Degenerate(if cut { params.scale_at_solids as f32 } else { 0.0 });
    }
    // A pressure of zero on the whole face where phi does not change across it.
    if slope == 0.0 {
        return Scaling::Degenerate(0.0);
    }
    let floored = wet_slope.abs() < params.theta_min * slope.abs();
    info.theta_floors += floored as usize;
    Scaling::Scaled(if floored { 1.0 / params.theta_min } else { slope / wet_slope } as f32)
}

/// A face's scaling with the inertia of the opening that solids leave of it.
fn at_opening(scaling: Scaling, geometry: &Geometry, face: usize) -> Scaling {
    let Scaling::Scaled(w) = scaling else { return scaling };
    let area = f64::from(geometry.open_area[face]);
    if area >= 1.0 {
        return scaling;
    }
    let (tree, axis) = (geometry.tree, geometry.tree.face_axis(face));
    // The section that the liquid comes from: the open part of the opposite sides of the liquid cells.
    let section = gradient_row(tree, face)
        .entries()
        .filter(|(cell, _)| geometry.phi_cell[*cell] < 0.0)
        .map(|(cell, c)| geometry.open_area[tree.cell_faces()[cell][2 * axis + (c > 0.0) as usize] as usize])
        .fold(0.0f32, f32::max);
    let distance = if tree.is_junction(face) { 0.75 } else { 1.0 };
    let (theta, more) = (1.0 / f64::from(w), narrowing(area, f64::from(section)) / distance);
    if more == 0.0 {
        return scaling;
    }
    Scaling::Narrow((1.0 / (theta + more)) as f32, (theta / (theta + more)) as f32)
}

/// How much longer a narrow opening makes the column of liquid that the pressure must set in motion, in sides of the face.
///
/// Between a cell's centre and a surface at a distance of `theta` the ghost-fluid method accelerates a column of that length. Where
/// the liquid comes from a section `S` and passes an opening of area `A < S`, what flows towards the opening has to be
/// accelerated as well: one side of a round hole of radius `a` in a tube of radius `R` has the inertia of a column of
/// length `pi a / 4 psi(a / R)` of the hole's section, `psi(x) = 1 - 1.4092 x + 0.4092 x^3` (Rayleigh 1870 for the wide tube;
/// Fok's function, its higher terms gathered in the last one so that nothing is left at `a = R`). Without it the flux that a pressure drives through
/// an opening of 3 % of a face is as large as `A / theta` of a whole face's, without bound: 70 m/s in the corner of a
/// drain of 3 m/s.
///
/// Forces act against the same inertia, `u = u* + beta (dt f - [grad] p)` with `beta = theta / (theta + this)`: what the
/// pressure balances stays at rest (`hold_back_at_openings`). Test: `narrow_openings_have_inertia`.
fn narrowing(area: f64, section: f64) -> f64 {
    if area >= section {
        return 0.0;
    }
    let x = (area / section).sqrt();
    0.25 * (std::f64::consts::PI * area).sqrt() * (1.0 - x * (1.4092 - 0.4092 * x * x))
}
