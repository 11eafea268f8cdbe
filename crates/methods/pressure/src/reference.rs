//! Plain and incomplete-Cholesky conjugate gradients on the assembled matrix: slow, simple, in f64, on one thread.
//! Kept to compare with and to check against.

use crate::{
    Info, Params, PoissonProblem, PrepareInfo, PressureSolver, SolveError, THETA_MIN, ghost_theta_floored,
};

/// What multiplies the residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preconditioner {
    /// Nothing.
    None,
    /// Incomplete Cholesky factorisation without fill: the tall-cell paper's reference.
    IncompleteCholesky,
    /// The same with 97 % of the dropped fill kept on the diagonal [Bridson 2015, §5.4].
    ModifiedIncompleteCholesky,
}

const NOBODY: u32 = u32::MAX;
/// Share of the dropped fill that the modified factorisation keeps.
const MODIFIED: f64 = 0.97;
/// A pivot below this part of the diagonal is replaced by the diagonal.
const SMALL_PIVOT: f64 = 0.25;

/// One row of the matrix.
#[derive(Clone, Copy)]
struct Row {
    cell: u32,
    /// Rows of the neighbours: low x, y, z, then high.
    neighbour: [u32; 6],
    coef: [f64; 6],
    diag: f64,
}

/// Conjugate gradients over a matrix in f64.
pub struct ReferenceCg {
    preconditioner: Preconditioner,
    rows: Vec<Row>,
    /// Inverse square roots of the incomplete factorisation's pivots.
    pivot: Vec<f64>,
    /// Sealed component of each row, or [`NOBODY`].
    sealed: Vec<u32>,
    sealed_count: usize,
    solution: Vec<f64>,
    theta_min: f32,
}

impl ReferenceCg {
    /// A solver without a problem yet.
    pub fn new(preconditioner: Preconditioner) -> Self {
        ReferenceCg {
            preconditioner,
            rows: Vec::new(),
            pivot: Vec::new(),
            sealed: Vec::new(),
            sealed_count: 0,
            solution: Vec::new(),
            theta_min: THETA_MIN,
        }
    }

    /// Assembles the matrix; returns the floored thetas and marks rows that see air.
    fn assemble(&mut self, problem: &PoissonProblem) -> (usize, Vec<bool>) {
        let [nx, ny, nz] = problem.cells;
        let mut number = vec![NOBODY; nx * ny * nz];
        let (mut floors, mut open) = (0, Vec::new());
        self.rows.clear();
        for cell in 0..nx * ny * nz {
            let phi = problem.phi_cell[cell];
            if phi >= 0.0 || phi.is_nan() {
                continue;
            }
            let c = [cell % nx, cell / nx % ny, cell / (nx * ny)];
            let mut row = Row { cell: cell as u32, neighbour: [NOBODY; 6], coef: [0.0; 6], diag: 0.0 };
            let mut excess = 0.0;
            for face in 0..6 {
                let (axis, high) = (face % 3, face / 3);
                let mut size = problem.cells;
                size[axis] += 1;
                let mut at = c;
                at[axis] += high;
                let area = problem.open_area[axis][at[0] + size[0] * (at[1] + size[1] * at[2])];
                if area <= 0.0 {
                    continue;
                }
                let outside = if high == 1 { c[axis] + 1 == problem.cells[axis] } else { c[axis] == 0 };
                let step = [1, nx, nx * ny][axis];
                let beyond = if high == 1 { cell + step } else { cell.wrapping_sub(step) };
                if outside {
                    excess += area as f64;
                } else if problem.phi_cell[beyond] < 0.0 {
                    row.coef[face] = area as f64;
                    row.neighbour[face] = beyond as u32; // a cell for now, a row once all are numbered
                } else {
                    let (theta, floored) = ghost_theta_floored(phi, problem.phi_cell[beyond], self.theta_min);
                    floors += floored as usize;
                    excess += (area / theta) as f64;
                }
            }
            row.diag = row.coef.iter().sum::<f64>() + excess;
            if row.diag != 0.0 {
                number[cell] = self.rows.len() as u32;
                self.rows.push(row);
                open.push(excess != 0.0);
            }
        }
        for row in &mut self.rows {
            row.neighbour.iter_mut().filter(|n| **n != NOBODY).for_each(|n| *n = number[*n as usize]);
        }
        (floors, open)
    }

    /// Labels the components; returns their number.
    fn label(&mut self, open: &[bool]) -> usize {
        let mut seen = vec![false; self.rows.len()];
        self.sealed = vec![NOBODY; self.rows.len()];
        self.sealed_count = 0;
        let mut components = 0;
        for start in 0..self.rows.len() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            components += 1;
            let (mut members, mut next) = (vec![start], 0);
            while next < members.len() {
                for &n in self.rows[members[next]].neighbour.iter().filter(|&&n| n != NOBODY) {
                    if !std::mem::replace(&mut seen[n as usize], true) {
                        members.push(n as usize);
                    }
                }
                next += 1;
            }
            if !members.iter().any(|&m| open[m]) {
                members.iter().for_each(|&m| self.sealed[m] = self.sealed_count as u32);
                self.sealed_count += 1;
            }
        }
        components
    }

    fn factor(&mut self) {
        let modified = match self.preconditioner {
            Preconditioner::None => return self.pivot.clear(),
            Preconditioner::IncompleteCholesky => 0.0,
            Preconditioner::ModifiedIncompleteCholesky => MODIFIED,
        };
        self.pivot = vec![0.0; self.rows.len()];
        for (n, row) in self.rows.iter().enumerate() {
            let mut e = row.diag;
            for axis in (0..3).filter(|&a| row.neighbour[a] != NOBODY) {
                let below = row.neighbour[axis] as usize;
                let square = self.pivot[below] * self.pivot[below];
                let others: f64 = (0..3).filter(|&a| a != axis).map(|a| self.rows[below].coef[3 + a]).sum();
                e -= row.coef[axis] * (row.coef[axis] + modified * others) * square;
            }
            // Without a floor a sealed pocket's last pivot would be zero.
            let floor = if modified > 0.0 { SMALL_PIVOT } else { 1e-8 };
            self.pivot[n] = 1.0 / if e < floor * row.diag { row.diag } else { e }.sqrt();
        }
    }

    /// `z = M r`.
    fn precondition(&self, z: &mut [f64], r: &[f64]) {
        if self.pivot.is_empty() {
            return z.copy_from_slice(r);
        }
        let e = &self.pivot;
        for (n, row) in self.rows.iter().enumerate() {
            let low = (0..3)
                .filter(|&a| row.neighbour[a] != NOBODY)
                .map(|a| (row.coef[a], row.neighbour[a] as usize));
            z[n] = (r[n] + low.map(|(c, m)| c * e[m] * z[m]).sum::<f64>()) * e[n];
        }
        for (n, row) in self.rows.iter().enumerate().rev() {
            let high = (3..6)
                .filter(|&a| row.neighbour[a] != NOBODY)
                .map(|a| (row.coef[a], row.neighbour[a] as usize));
            z[n] = (z[n] + high.map(|(c, m)| c * e[n] * z[m]).sum::<f64>()) * e[n];
        }
    }

    fn apply(&self, out: &mut [f64], x: &[f64]) {
        for (out, (row, own)) in out.iter_mut().zip(self.rows.iter().zip(x)) {
            let near = row.neighbour.iter().zip(row.coef).filter(|(n, _)| **n != NOBODY);
            *out = row.diag * own - near.map(|(&n, c)| c * x[n as usize]).sum::<f64>();
        }
    }

    fn remove_means(&self, v: &mut [f64]) {
        let mut sums = vec![(0.0, 0.0); self.sealed_count];
        for (value, &s) in v.iter().zip(&self.sealed).filter(|(_, s)| **s != NOBODY) {
            sums[s as usize] = (sums[s as usize].0 + value, sums[s as usize].1 + 1.0);
        }
        for (value, &s) in v.iter_mut().zip(&self.sealed).filter(|(_, s)| **s != NOBODY) {
            *value -= sums[s as usize].0 / sums[s as usize].1;
        }
    }

    fn residual(&self, r: &mut [f64], b: &[f64], x: &[f64]) {
        self.apply(r, x);
        r.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
        self.remove_means(r);
    }

    fn iterate(&self, x: &mut [f64], b: &[f64], params: &Params) -> Result<Info, SolveError> {
        let size = x.len();
        let [mut r, mut z, mut p, mut q] = std::array::from_fn(|_| vec![0.0; size]);
        let b_norm = params.norm.of(b);
        let mut info = Info::default();
        if b_norm == 0.0 {
            x.fill(0.0);
            info.history.push(0.0);
            return Ok(info);
        }
        let wanted = (params.relative_tolerance * b_norm).max(params.absolute_tolerance);
        self.residual(&mut r, b, x);
        let mut norm = params.norm.of(&r);
        let mut rho = 1.0;
        info.history.push(norm / b_norm);
        while norm > wanted || norm.is_nan() {
            if !norm.is_finite() {
                return Err(SolveError::NotFinite { history: info.history });
            }
            if info.iterations == params.max_iterations {
                return Err(SolveError::MaxIterations { history: info.history });
            }
            self.precondition(&mut z, &r);
            self.remove_means(&mut z);
            let rho_before = std::mem::replace(&mut rho, dot(&r, &z));
            let beta = if info.iterations == 0 { 0.0 } else { rho / rho_before };
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
            self.apply(&mut q, &p);
            let energy = dot(&p, &q);
            if rho <= 0.0 || energy <= 0.0 {
                return Err(SolveError::Indefinite { history: info.history });
            }
            let alpha = rho / energy;
            x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
            r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
            norm = params.norm.of(&r);
            info.iterations += 1;
            if norm <= wanted {
                self.residual(&mut r, b, x);
                norm = params.norm.of(&r);
            }
            info.history.push(norm / b_norm);
        }
        info.relative_residual = norm / b_norm;
        Ok(info)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl PressureSolver for ReferenceCg {
    fn name(&self) -> &'static str {
        match self.preconditioner {
            Preconditioner::None => "cg",
            Preconditioner::IncompleteCholesky => "ic",
            Preconditioner::ModifiedIncompleteCholesky => "mic",
        }
    }

    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        let (theta_floors, open) = self.assemble(problem);
        let components = self.label(&open);
        self.factor();
        self.solution = vec![0.0; problem.phi_cell.len()];
        PrepareInfo {
            unknowns: self.rows.len(),
            theta_floors,
            components,
            sealed_components: self.sealed_count,
        }
    }

    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let take = |v: &[f32]| self.rows.iter().map(|r| v[r.cell as usize] as f64).collect::<Vec<f64>>();
        let (mut x, mut b) = (take(p), take(rhs));
        self.remove_means(&mut b);
        let result = self.iterate(&mut x, &b, params);
        self.remove_means(&mut x);
        self.solution.fill(0.0);
        p.fill(0.0);
        for (row, value) in self.rows.iter().zip(x) {
            self.solution[row.cell as usize] = value;
            p[row.cell as usize] = value as f32;
        }
        result
    }

    fn solution_f64(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.solution);
    }
    fn bytes(&self) -> usize {
        // The matrix, its labels, and the six vectors of a solve.
        let vectors = self.pivot.capacity() + self.solution.capacity() + 6 * self.rows.len();
        size_of::<Row>() * self.rows.capacity() + 4 * self.sealed.capacity() + 8 * vectors
    }
}
