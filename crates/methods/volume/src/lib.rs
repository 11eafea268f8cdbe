//! Volume bookkeeping and its correction, on any grid.
//!
//! Transport of a surface loses or gains a little volume every step. Each body of liquid carries the error
//! e = volume - volume it should have; a proportional-integral controller asks the next projection for the
//! divergence `c = -(kp x + ki y) / (1 + x)`, x = e / V, y = integral of x dt, kp = 2.3 / (n dt),
//! ki = kp^2 / 16  [kim-2007; octree §8]. The error that transport alone made is
//! kept beside it, so that a leak is never hidden.
//!
//! What depends on the grid is the solver's: labels and volumes of the bodies, where a cell's liquid was
//! before ([`kinship`] asks for it), what crosses the domain's boundary ([`Flux`]).

use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, map_indices};

/// No body of liquid.
pub const NO_BODY: u32 = u32::MAX;
/// Bodies that are nowhere thicker than twice this, in cells, are not corrected: they are films and drops
/// that the grid cannot resolve. The other bodies make up for what these lose.
const SHALLOWEST_CORRECTED_CELLS: f32 = 2.0;
/// Largest relative change of volume that a correction may ask of one step.
const LARGEST_CHANGE_PER_STEP: f64 = 0.02;

/// One connected body of liquid (or all liquid, when the correction is global).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    /// Its volume, m3.
    pub volume_m3: f64,
    /// Volume minus what it should be.
    pub error_m3: f64,
    /// Largest distance from the surface inside, metres.
    pub depth_m: f32,
    /// Integral of error / volume, s.
    pub integral_s: f64,
    /// Asked of the projection, 1/s.
    pub divergence_1_s: f64,
}

/// The account of all liquid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Volume at the start.
    pub start_m3: f64,
    /// Volume that sources have added.
    pub inflow_m3: f64,
    /// Volume that sinks and open walls have taken.
    pub outflow_m3: f64,
    /// Volume that the controllers have put in (or taken out, negative).
    pub corrected_m3: f64,
    /// Volume that flies as drops of its own, outside all bodies.
    pub flying_m3: f64,
    /// Volume of the bodies at the moment of the last measurement.
    pub volume_m3: f64,
    /// Largest volume that there should have been so far.
    pub largest_expected_m3: f64,
    /// The bodies.
    pub bodies: Vec<Body>,
    /// Body of each cell; empty when there is one account for all.
    pub label_cell: Vec<u32>,
}

/// Volume per second across a body's sources and open walls, and into the air.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flux {
    /// In, m3/s.
    pub in_m3_s: f64,
    /// Out, m3/s.
    pub out_m3_s: f64,
    /// Torn off as flying drops less what came back, m3/s.
    pub flying_m3_s: f64,
}

/// Which old body has liquid in which new one: (old, new), sorted, each pair once.
pub type Kinship = Vec<(u32, u32)>;

/// Which old bodies the new ones come from. `body_before` is the old body of the liquid that is now in a
/// cell. Verified by `bodies_are_traced_to_where_they_were`.
pub fn kinship(new: &Account, old: &Account, body_before: impl Fn(usize) -> u32 + Sync + Send) -> Kinship {
    match (old.bodies.len(), new.bodies.len()) {
        (0, _) | (_, 0) => return vec![],
        (1, 1) => return vec![(0, 0)],
        _ => {}
    }
    let label_cell = &new.label_cell;
    let parts = map_indices(chunk_count(label_cell.len(), CHUNK), |n| {
        let mut pairs: Kinship = vec![];
        for cell in chunk_range(n, CHUNK, label_cell.len()).filter(|&cell| label_cell[cell] != NO_BODY) {
            let (from, to) = (body_before(cell), label_cell[cell]);
            if from != NO_BODY && pairs.last() != Some(&(from, to)) {
                pairs.push((from, to));
            }
        }
        pairs
    });
    let mut pairs: Kinship = parts.into_iter().flatten().collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

impl Account {
    /// The divergence that the projection shall leave in a cell.
    pub fn divergence_1_s(&self, cell: usize) -> f32 {
        self.bodies.get(self.body_of(cell)).map_or(0.0, |body| body.divergence_1_s as f32)
    }

    /// The body of a cell; none of the list's where the cell has none.
    pub fn body_of(&self, cell: usize) -> usize {
        self.label_cell.get(cell).map_or(0, |&label| label as usize)
    }

    /// Opens the account with what is there.
    pub fn open(&mut self, volume_m3: f64) {
        (self.start_m3, self.volume_m3, self.largest_expected_m3) = (volume_m3, volume_m3, volume_m3);
    }

    /// Takes over a measured volume, without bodies.
    pub fn measure(&mut self, volume_m3: f64) {
        self.volume_m3 = volume_m3;
        self.largest_expected_m3 = self.largest_expected_m3.max(self.expected_m3());
    }

    /// What shapes added and took at once.
    pub fn book_sources_and_sinks(&mut self, in_m3: f64, out_m3: f64) {
        self.inflow_m3 += in_m3;
        self.outflow_m3 += out_m3;
    }

    /// The account without its bodies.
    pub fn totals(&self) -> Account {
        Account { bodies: vec![], label_cell: vec![], ..*self }
    }

    /// Takes over measured bodies: (label, volume in m3, depth in m), a label several times where it was
    /// measured in parts. Volume of unknown labels counts for the whole alone.
    pub fn set_bodies(&mut self, count: usize, parts: impl Iterator<Item = (u32, f64, f32)>) {
        self.bodies = vec![Body::default(); count];
        self.volume_m3 = 0.0;
        for (label, volume_m3, depth_m) in parts {
            self.volume_m3 += volume_m3;
            if let Some(body) = self.bodies.get_mut(label as usize) {
                body.volume_m3 += volume_m3;
                body.depth_m = body.depth_m.max(depth_m);
            }
        }
    }

    /// What the bodies should hold.
    fn expected_m3(&self) -> f64 {
        self.start_m3 + self.inflow_m3 - self.outflow_m3 - self.flying_m3
    }

    /// Error relative to the largest volume that there should have been.
    pub fn error(&self) -> f64 {
        self.relative(self.volume_m3 - self.expected_m3())
    }

    /// The same without what the controllers did.
    pub fn raw_error(&self) -> f64 {
        self.relative(self.volume_m3 - self.corrected_m3 - self.expected_m3())
    }

    fn relative(&self, volume_m3: f64) -> f64 {
        if self.largest_expected_m3 > 0.0 { volume_m3 / self.largest_expected_m3 } else { 0.0 }
    }

    /// The bodies have changed by something other than transport: they keep their errors.
    pub fn continue_from(&mut self, old: &Account, kin: &Kinship) {
        self.inherit(old, kin, None);
        self.largest_expected_m3 = self.largest_expected_m3.max(self.expected_m3());
    }

    /// The bodies are what transport made of the old ones in `dt_s`: what each should have become is its old
    /// volume and what crossed its boundary, and the difference is error. What the controller itself
    /// asked for is no part of it: that change of volume is there to bring the error back to zero.
    pub fn transported_from(&mut self, old: &Account, kin: &Kinship, flux: &[Flux], dt_s: f64) {
        let grown = |o: usize| {
            let Flux { in_m3_s, out_m3_s, flying_m3_s } = flux[o];
            old.bodies[o].volume_m3 + (in_m3_s - out_m3_s - flying_m3_s) * dt_s
        };
        let expected: Vec<f64> = (0..old.bodies.len()).map(grown).collect();
        self.inherit(old, kin, Some(&expected));
        self.inflow_m3 += flux.iter().map(|f| f.in_m3_s).sum::<f64>() * dt_s;
        self.outflow_m3 += flux.iter().map(|f| f.out_m3_s).sum::<f64>() * dt_s;
        self.flying_m3 += flux.iter().map(|f| f.flying_m3_s).sum::<f64>() * dt_s;
        self.corrected_m3 += old.bodies.iter().map(|b| b.divergence_1_s * dt_s * b.volume_m3).sum::<f64>();
        self.largest_expected_m3 = self.largest_expected_m3.max(self.expected_m3());
    }

    /// Hands the errors of old bodies to the new ones that have their liquid.
    ///
    /// Bodies that merge and split in one step are one family: their errors are added up and shared in
    /// proportion to volume, since nobody can tell whose error went where. `expected_m3` is what
    /// transport should have made of each old body; without it (sources, sinks) the change of volume is
    /// no error.
    fn inherit(&mut self, old: &Account, kin: &Kinship, expected_m3: Option<&[f64]>) {
        let old_count = old.bodies.len();
        let mut root: Vec<usize> = (0..old_count + self.bodies.len()).collect();
        fn find(root: &mut [usize], mut n: usize) -> usize {
            while root[n] != n {
                root[n] = root[root[n]];
                n = root[n];
            }
            n
        }
        for &(from, to) in kin {
            let (a, b) = (find(&mut root, from as usize), find(&mut root, old_count + to as usize));
            root[a.max(b)] = a.min(b);
        }
        let mut families = vec![Body::default(); root.len()];
        let mut parents_m3 = vec![0.0; root.len()];
        for (o, body) in old.bodies.iter().enumerate() {
            let r = find(&mut root, o);
            let family = &mut families[r];
            family.error_m3 += body.error_m3 - expected_m3.map_or(0.0, |e| e[o]);
            family.integral_s += body.integral_s * body.volume_m3;
            family.divergence_1_s += body.divergence_1_s * body.volume_m3;
            parents_m3[r] += body.volume_m3;
        }
        for (n, body) in self.bodies.iter().enumerate() {
            families[find(&mut root, old_count + n)].volume_m3 += body.volume_m3;
        }
        for n in 0..self.bodies.len() {
            let r = find(&mut root, old_count + n);
            let (family, body) = (families[r], &mut self.bodies[n]);
            let transported = expected_m3.is_some();
            let error_m3 = family.error_m3 + if transported { family.volume_m3 } else { 0.0 };
            let share = |total: f64, volume: f64| if volume > 0.0 { total / volume } else { 0.0 };
            body.error_m3 = body.volume_m3 * share(error_m3, family.volume_m3);
            body.integral_s = share(family.integral_s, parents_m3[r]);
            if !transported {
                // What the last projection asked for is still under way.
                body.divergence_1_s = share(family.divergence_1_s, family.volume_m3);
            }
        }
    }

    /// Can the body be corrected? One without volume cannot be scaled: liquid cells whose open part is dry.
    fn is_corrected(body: &Body, shallowest_m: f32) -> bool {
        body.depth_m >= shallowest_m && body.volume_m3 > 0.0
    }

    /// Where all bodies are shallow, those half as deep as the deepest are still corrected: nobody else could
    /// make up for what they lose.
    fn shallowest_corrected_m(&self, dx: f32) -> f32 {
        let deepest_m = self.bodies.iter().fold(0.0, |deepest, b| b.depth_m.max(deepest));
        (0.5 * deepest_m).min(SHALLOWEST_CORRECTED_CELLS * dx)
    }

    /// Makes the errors of the bodies that can be corrected add up to the whole error: what vanished, what is
    /// too thin and what belongs to no body is their debt, by their volume. `dx` is the edge of the
    /// smallest cells.
    pub fn share_debt(&mut self, dx: f32) {
        let shallowest_m = self.shallowest_corrected_m(dx);
        let mut debt_m3 = self.volume_m3 - self.expected_m3();
        let mut deep_m3 = 0.0;
        for body in self.bodies.iter().filter(|b| Self::is_corrected(b, shallowest_m)) {
            deep_m3 += body.volume_m3;
            debt_m3 -= body.error_m3;
        }
        for body in self.bodies.iter_mut().filter(|b| Self::is_corrected(b, shallowest_m)) {
            body.error_m3 += debt_m3 * body.volume_m3 / deep_m3;
        }
    }

    /// Sets the divergence that removes nine tenths of every error within `steps` steps of `dt_s`. Returns
    /// how many bodies were held back.
    pub fn set_divergence(&mut self, dt_s: f64, steps: f64, dx: f32) -> usize {
        let kp = 2.3 / (steps * dt_s);
        let ki = kp * kp / 16.0;
        let limit = LARGEST_CHANGE_PER_STEP / dt_s;
        let mut clamped = 0;
        let shallowest_m = self.shallowest_corrected_m(dx);
        for body in self.bodies.iter_mut().filter(|b| Self::is_corrected(b, shallowest_m)) {
            let x = body.error_m3 / body.volume_m3;
            body.integral_s += x * dt_s;
            let wanted = -(kp * x + ki * body.integral_s) / (1.0 + x).max(0.5);
            body.divergence_1_s = wanted.clamp(-limit, limit);
            if body.divergence_1_s != wanted {
                clamped += 1;
                body.integral_s -= x * dt_s; // no wind-up while held back
            }
        }
        clamped
    }

    /// Totals and bodies as numbers, for saving: with [`Self::label_cell`] the whole account.
    pub fn to_numbers(&self) -> ([f64; 7], Vec<f64>) {
        let Account {
            start_m3,
            inflow_m3,
            outflow_m3,
            corrected_m3,
            flying_m3,
            volume_m3,
            largest_expected_m3,
            bodies,
            label_cell: _,
        } = self;
        let rows = bodies.iter().flat_map(|b| {
            let Body { volume_m3, error_m3, depth_m, integral_s, divergence_1_s } = *b;
            [volume_m3, error_m3, f64::from(depth_m), integral_s, divergence_1_s]
        });
        let totals =
            [*start_m3, *inflow_m3, *outflow_m3, *corrected_m3, *flying_m3, *volume_m3, *largest_expected_m3];
        (totals, rows.collect())
    }

    /// From what [`Self::to_numbers`] gave; None when the lists have other lengths.
    pub fn from_numbers(totals: &[f64], bodies: &[f64], label_cell: Vec<u32>) -> Option<Account> {
        let &[start_m3, inflow_m3, outflow_m3, corrected_m3, flying_m3, volume_m3, largest_expected_m3] =
            totals
        else {
            return None;
        };
        let (rows, []) = bodies.as_chunks() else { return None };
        let body = |&[volume_m3, error_m3, depth_m, integral_s, divergence_1_s]: &[f64; 5]| Body {
            volume_m3,
            error_m3,
            depth_m: depth_m as f32,
            integral_s,
            divergence_1_s,
        };
        Some(Account {
            start_m3,
            inflow_m3,
            outflow_m3,
            corrected_m3,
            flying_m3,
            volume_m3,
            largest_expected_m3,
            bodies: rows.iter().map(body).collect(),
            label_cell,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(bodies: &[f64]) -> Account {
        let mut account = Account::default();
        account.set_bodies(bodies.len(), bodies.iter().enumerate().map(|(n, &v)| (n as u32, v, 1.0)));
        account.open(account.volume_m3);
        account
    }

    /// A plant that loses a fixed part of every body each step and obeys the divergence: the controller holds
    /// its volume.
    #[test]
    fn a_steady_loss_is_made_up_for() {
        let (dt_s, loss) = (0.01, 1e-3);
        let mut old = account(&[1.0, 0.2]);
        for _ in 0..400 {
            let mut new = old.totals();
            let grown = |b: &Body| b.volume_m3 * (1.0 + dt_s * b.divergence_1_s - loss);
            let parts: Vec<_> =
                old.bodies.iter().enumerate().map(|(n, b)| (n as u32, grown(b), 1.0)).collect();
            new.set_bodies(2, parts.into_iter());
            new.transported_from(&old, &vec![(0, 0), (1, 1)], &[Flux::default(); 2], dt_s);
            new.share_debt(0.01);
            assert_eq!(new.set_divergence(dt_s, 3.0, 0.01), 0);
            old = new;
        }
        assert!(old.error().abs() < 1e-5, "{}", old.error());
        assert!((old.bodies[1].volume_m3 - 0.2).abs() < 1e-5 * 0.2);
        assert!((old.raw_error() + 400.0 * loss).abs() < 0.02 * 400.0 * loss, "{}", old.raw_error());
    }

    #[test]
    fn bodies_that_merge_and_split_share_their_errors() {
        let mut old = account(&[1.0, 0.5, 0.25]);
        old.bodies[0].error_m3 = 0.1;
        old.bodies[1].error_m3 = -0.04;
        let mut new = old.totals();
        new.set_bodies(3, [(0, 1.2, 1.0), (1, 0.3, 1.0), (2, 0.25, 1.0)].into_iter());
        new.continue_from(&old, &vec![(0, 0), (0, 1), (1, 1), (2, 2)]);
        assert!((new.bodies[0].error_m3 - 0.06 * 0.8).abs() < 1e-12);
        assert!((new.bodies[1].error_m3 - 0.06 * 0.2).abs() < 1e-12);
        assert_eq!(new.bodies[2].error_m3, 0.0);
    }

    /// What vanishes and what is too thin to be corrected is made up for by the deep bodies.
    #[test]
    fn the_errors_add_up_to_the_whole() {
        let old = account(&[1.0, 0.5, 0.1]);
        let mut new = old.totals();
        new.set_bodies(2, [(0, 1.0, 1.0), (1, 0.4, 1e-3)].into_iter());
        new.transported_from(&old, &vec![(0, 0), (1, 1)], &[Flux::default(); 3], 0.01);
        new.share_debt(0.1);
        assert!((new.bodies[0].error_m3 - (1.4 - 1.6)).abs() < 1e-12, "{:?}", new.bodies);
    }

    /// A body of liquid cells whose open part is dry has no volume: no correction divides by it. A ball that
    /// water runs off used to leave such bodies alone, and their divergence was not a number.
    #[test]
    fn a_body_without_volume_asks_for_nothing() {
        let old = account(&[1.0]);
        let mut new = old.totals();
        new.set_bodies(1, [(0, 0.0, 1.0)].into_iter());
        new.transported_from(&old, &vec![(0, 0)], &[Flux::default()], 0.01);
        new.share_debt(0.1);
        assert_eq!(new.set_divergence(0.01, 3.0, 0.1), 0);
        assert!(new.bodies[0].error_m3.is_finite() && new.bodies[0].divergence_1_s == 0.0, "{new:?}");
    }

    /// What is torn off as drops is no error of the body, and no debt of the others.
    #[test]
    fn drops_that_fly_are_not_lost() {
        let old = account(&[1.0, 0.5]);
        let mut new = old.totals();
        new.set_bodies(2, [(0, 0.9, 1.0), (1, 0.5, 1.0)].into_iter());
        let torn = Flux { flying_m3_s: 10.0, ..Flux::default() };
        new.transported_from(&old, &vec![(0, 0), (1, 1)], &[torn, Flux::default()], 0.01);
        new.share_debt(0.1);
        assert!(new.error().abs() < 1e-12 && (new.flying_m3 - 0.1).abs() < 1e-12, "{new:?}");
        assert!(new.bodies.iter().all(|b| b.error_m3.abs() < 1e-12), "{new:?}");
    }

    #[test]
    fn numbers_give_the_account_back() {
        let mut account = account(&[1.0, 0.5]);
        (account.inflow_m3, account.corrected_m3, account.flying_m3) = (0.25, -0.125, 0.0625);
        account.bodies[1].depth_m = 0.3;
        account.label_cell = vec![0, 1, NO_BODY];
        let (totals, rows) = account.to_numbers();
        assert_eq!(Account::from_numbers(&totals, &rows, account.label_cell.clone()), Some(account));
        assert_eq!(Account::from_numbers(&totals, &rows[1..], vec![]), None);
    }

    #[test]
    fn bodies_are_traced_to_where_they_were() {
        let mut old = account(&[1.0, 0.5]);
        old.label_cell = vec![0, 0, 1, NO_BODY];
        let mut new = account(&[0.7, 0.8]);
        new.label_cell = vec![0, 1, 1, 1];
        let there = |cell: usize| old.label_cell[cell];
        assert_eq!(kinship(&new, &old, there), [(0, 0), (0, 1), (1, 1)]);
        assert!(kinship(&new, &Account::default(), there).is_empty());
        assert_eq!(kinship(&account(&[1.0]), &account(&[1.0]), |_| panic!("there is one body")), [(0, 0)]);
    }
}
