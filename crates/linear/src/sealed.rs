//! Connected parts of the unknowns on which constants are in the null space.

use crate::krylov::{ROWS, Real};
use crate::sparse::Csr;
use fluvial_foundation::parallel;

pub(crate) const OPEN: u32 = u32::MAX;
/// Members of a component in a parallel sum.
const SUM_MEMBERS: usize = 1 << 13;

/// The sealed components of a matrix in flux form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sealed {
    /// Connected components in all.
    pub components: usize,
    /// Sealed component of each row, or [`OPEN`]; empty if there is none.
    pub label: Vec<u32>,
    /// Rows of the components, one after the other.
    member: Vec<u32>,
    /// First member of each component, and one more.
    start: Vec<u32>,
}

impl Sealed {
    /// Components by union-find over the entries that are not zero; sealed where every excess is zero.
    pub fn find<V: Real>(off: &Csr<V>, excess: &[f64]) -> Self {
        let rows = excess.len();
        let mut parent: Vec<u32> = (0..rows as u32).collect();
        for row in 0..rows {
            let (column, value) = off.row(row);
            for (&c, &v) in column.iter().zip(value) {
                // Symmetric patterns show every connection twice; one-sided ones count as well.
                if v != V::default() && parent[c as usize] != parent[row] {
                    let (x, y) = (root(&mut parent, row as u32), root(&mut parent, c));
                    parent[x.max(y) as usize] = x.min(y);
                }
            }
        }
        let mut open = vec![false; rows];
        for row in 0..rows {
            // NaN is no zero.
            if excess[row] != 0.0 {
                open[root(&mut parent, row as u32) as usize] = true;
            }
        }
        let roots = |row: &usize| parent[*row] == *row as u32;
        let components = (0..rows).filter(roots).count();
        if !(0..rows).filter(roots).any(|row| !open[row]) {
            return Sealed { components, ..Sealed::default() };
        }
        let mut count = 0;
        let mut label = vec![OPEN; rows];
        for row in 0..rows {
            // Roots have the smallest number of their component and come first.
            let root = root(&mut parent, row as u32) as usize;
            if root == row && !open[row] {
                label[row] = count;
                count += 1;
            } else if !open[root] {
                label[row] = label[root];
            }
        }
        let (member, start) = members(&label, count as usize);
        Sealed { components, label, member, start }
    }

    /// Number of sealed components.
    pub fn count(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    pub fn bytes(&self) -> usize {
        4 * (self.label.capacity() + self.member.capacity() + self.start.capacity())
    }

    /// Adds to every sealed component what makes its least value zero.
    pub fn raise(&self, v: &mut [f64]) {
        for rows in self.start.windows(2).map(|w| &self.member[w[0] as usize..w[1] as usize]) {
            let least = rows.iter().fold(f64::MAX, |least, &row| least.min(v[row as usize]));
            rows.iter().for_each(|&row| v[row as usize] -= least);
        }
    }

    /// Takes from every sealed component its mean.
    pub fn remove_means<T: Real>(&self, v: &mut [T]) {
        if self.count() == 0 {
            return;
        }
        let pieces = parallel::chunk_count(self.member.len(), SUM_MEMBERS);
        let sums = parallel::map_indices(pieces, |n| {
            let range = parallel::chunk_range(n, SUM_MEMBERS, self.member.len());
            let mut sums: Vec<(u32, f64)> = Vec::new();
            for &row in &self.member[range] {
                let (label, value) = (self.label[row as usize], v[row as usize].into());
                match sums.last_mut() {
                    Some(last) if last.0 == label => last.1 += value,
                    _ => sums.push((label, value)),
                }
            }
            sums
        });
        let mut mean = vec![0.0; self.count()];
        sums.iter().flatten().for_each(|&(label, sum)| mean[label as usize] += sum);
        for (mean, w) in mean.iter_mut().zip(self.start.windows(2)) {
            *mean /= (w[1] - w[0]) as f64;
        }
        parallel::for_each_chunk_mut(v, ROWS, |n, v| {
            for (v, &label) in v.iter_mut().zip(&self.label[n * ROWS..]).filter(|(_, l)| **l != OPEN) {
                *v = T::from_f64((*v).into() - mean[label as usize]);
            }
        });
    }
}

fn root(parent: &mut [u32], mut n: u32) -> u32 {
    while parent[n as usize] != n {
        let up = parent[parent[n as usize] as usize];
        parent[n as usize] = up;
        n = up;
    }
    n
}

/// Rows sorted by label.
fn members(label: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; count + 1];
    label.iter().filter(|&&l| l != OPEN).for_each(|&l| start[l as usize + 1] += 1);
    for n in 0..count {
        start[n + 1] += start[n];
    }
    let mut next = start.clone();
    let mut member = vec![0; start[count] as usize];
    for (row, &l) in label.iter().enumerate().filter(|(_, l)| **l != OPEN) {
        member[next[l as usize] as usize] = row as u32;
        next[l as usize] += 1;
    }
    (member, start)
}
