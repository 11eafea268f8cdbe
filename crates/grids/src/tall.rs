//! Restricted tall-cell columns [tall §3.1]: terrain, one tall cell, a fixed number of cubic
//! cells.
//!
//! A column stands on `terrain` solid cells; its tall cell covers the next `tall` cells, and `regular` cubic
//! cells follow. A quantity has one value a cubic cell and two a tall cell, at the centres of its lowest and
//! highest sub-cells, and is linear between them. Row 0 holds the lower of these, row 1 the upper, rows from
//! 2 the cubic cells. Cells count from 0, so that cell y has its centre at (y + 1/2) dx.
//!
//! A tall cell has at least two sub-cells. Its two values then never lie in one place, and the shortest one
//! stores what two cubic cells would.
//!
//! [`TallGrid::locate`] is the one way to read a value as if the grid were regular; its twin in WGSL is
//! `crates/methods/tall/src/columns.wgsl`.

/// Least number of sub-cells of a tall cell.
pub const LEAST_TALL: i32 = 2;

/// Geometry of a tall-cell grid.
#[derive(Clone, Debug, PartialEq)]
pub struct TallGrid {
    /// Columns along x.
    pub nx: usize,
    /// Cubic cells of every column.
    pub regular: usize,
    /// Columns along z.
    pub nz: usize,
    /// Edge of a cubic cell, m.
    pub dx_m: f32,
    /// Terrain height and height of the tall cell of every column, in cells, x fastest.
    pub columns: Vec<[i32; 2]>,
}

/// Two neighbouring values of a column and the weight of the upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Index of the lower value.
    pub low: usize,
    /// Index of the upper value.
    pub high: usize,
    /// Weight of the upper value, 0 to 1.
    pub weight: f32,
}

/// What is at a cell of the regular grid that the columns stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A cell of the grid.
    Cell,
    /// Terrain, or what lies beyond a wall.
    Solid,
    /// The air above the column.
    Air,
}

impl TallGrid {
    /// Columns from terrain heights and tall-cell heights.
    ///
    /// # Panics
    /// When the arrays do not fit the size, or a height is too small.
    pub fn new([nx, regular, nz]: [usize; 3], dx_m: f32, columns: Vec<[i32; 2]>) -> TallGrid {
        assert_eq!(columns.len(), nx * nz, "one pair of heights a column");
        assert!(regular >= 1 && columns.iter().all(|c| c[0] >= 0 && c[1] >= LEAST_TALL));
        TallGrid { nx, regular, nz, dx_m, columns }
    }

    /// Values a column.
    pub fn rows(&self) -> usize {
        self.regular + 2
    }

    /// Values in all.
    pub fn samples(&self) -> usize {
        self.nx * self.rows() * self.nz
    }

    /// Index of row `j` of column (i, k).
    pub fn index(&self, i: usize, j: usize, k: usize) -> usize {
        i + self.nx * (j + self.rows() * k)
    }

    /// Terrain and tall-cell height of a column.
    pub fn column(&self, i: usize, k: usize) -> [i32; 2] {
        self.columns[i + self.nx * k]
    }

    /// The cell whose centre row `j` of a column lies at [tall eq. 4].
    pub fn y(&self, i: usize, j: usize, k: usize) -> i32 {
        let [terrain, tall] = self.column(i, k);
        if j == 0 { terrain } else { terrain + tall + j as i32 - 2 }
    }

    /// Lowest cell above the column.
    pub fn above(&self, i: usize, k: usize) -> i32 {
        let [terrain, tall] = self.column(i, k);
        terrain + tall + self.regular as i32
    }

    /// What is at cell (i, y, k)?
    pub fn holds(&self, i: i32, y: i32, k: i32) -> Holds {
        if i < 0 || k < 0 || i >= self.nx as i32 || k >= self.nz as i32 {
            return Holds::Solid;
        }
        let (i, k) = (i as usize, k as usize);
        match y {
            _ if y < self.column(i, k)[0] => Holds::Solid,
            _ if y >= self.above(i, k) => Holds::Air,
            _ => Holds::Cell,
        }
    }

    /// The two values around height `y` (in cells, whole at cell centres) of a column, and the weight of the
    /// upper one. Heights below the terrain and above the column give the column's last value.
    ///
    /// Equation 5 of the paper weighs by (y - H) / h; the samples lie at y = H + 1 and y = H + h in its
    /// count, so that a linear field only comes back with (y - H - 1) / (h - 1). Equation 6 is the
    /// inverse of equation 4, with the sign of its 2 corrected.
    pub fn locate(&self, i: usize, k: usize, y: f32) -> Place {
        let [terrain, tall] = self.column(i, k);
        let (top, in_tall) = ((tall - 1) as f32, y - terrain as f32);
        let (row, weight) = if in_tall < top {
            (0, in_tall.max(0.0) / top)
        } else {
            let over = (in_tall - top).min(self.regular as f32);
            (1 + over.floor() as usize, over - over.floor())
        };
        let low = self.index(i, row, k);
        Place { low, high: if row <= self.regular { low + self.nx } else { low }, weight }
    }

    /// The grid of twice the cell size that covers this one [tall eq. 8, 9]. Terrain rounds down
    /// and the top of tall cells up; the paper's first bracket rounds up, which would leave fine cells
    /// uncovered. Odd sizes round up: what a coarse cell then covers beyond a wall is solid.
    pub fn coarser(&self) -> TallGrid {
        let (nx, nz) = (self.nx.div_ceil(2), self.nz.div_ceil(2));
        let columns = vec![[0, LEAST_TALL]; nx * nz];
        let mut coarse = TallGrid::new([nx, self.regular.div_ceil(2), nz], 2.0 * self.dx_m, columns);
        coarse.cover(self);
        coarse
    }

    /// Gives this grid, once made by [`TallGrid::coarser`], the columns that cover new heights of the finer one.
    pub fn cover(&mut self, fine: &TallGrid) {
        let nx = self.nx;
        for (c, column) in self.columns.iter_mut().enumerate() {
            let (i, k) = (2 * (c % nx), 2 * (c / nx));
            let (mut lowest, mut top) = (i32::MAX, 0);
            for kk in k..(k + 2).min(fine.nz) {
                for ii in i..(i + 2).min(fine.nx) {
                    let [terrain, tall] = fine.column(ii, kk);
                    lowest = lowest.min(terrain);
                    top = top.max(terrain + tall);
                }
            }
            *column = [lowest / 2, ((top + 1) / 2 - lowest / 2).max(LEAST_TALL)];
        }
    }
}
