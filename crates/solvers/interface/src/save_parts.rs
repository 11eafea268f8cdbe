//! Parts of a state that several solvers save alike: fields on faces, marks, the volume's account.

use crate::{RestoreError, StateReader, StateWriter};
use fluvial_drops::Drops;
use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::FaceField;
use fluvial_volume::Account;
use std::io;

/// Names of the components of a face field.
const COMPONENTS: [&str; 3] = ["x", "y", "z"];

impl StateWriter<'_> {
    /// A value per face, component by component.
    pub fn face_field(&mut self, name: &str, values: &FaceField) -> io::Result<()> {
        self.face_field_beside(name, values, &FaceField::default())
    }

    /// As [`Self::face_field`]; blocks that equal those of `reference`, a field written before, are only
    /// named.
    pub fn face_field_beside(
        &mut self,
        name: &str,
        values: &FaceField,
        reference: &FaceField,
    ) -> io::Result<()> {
        AXES.into_iter().try_for_each(|axis| {
            self.field_beside(&format!("{name}.{}", COMPONENTS[axis]), &values[axis], &reference[axis])
        })
    }

    /// As many yes or no as the set-up fixes.
    pub fn marks(&mut self, name: &str, marks: &[bool]) -> io::Result<()> {
        self.field(name, &marks.iter().map(|&mark| mark as u8).collect::<Vec<_>>())
    }

    /// The volume's account.
    pub fn account(&mut self, account: &Account) -> io::Result<()> {
        self.list("volume", &account.to_numbers())
    }

    /// Drops in the air.
    pub fn drops(&mut self, drops: &Drops) -> io::Result<()> {
        let Drops { x, v, volume_m3, age_s, id, next_id } = drops;
        self.value("drops.next_id", *next_id)?;
        self.list("drops.x", x)?;
        self.list("drops.v", v)?;
        self.list("drops.volume_m3", volume_m3)?;
        self.list("drops.age_s", age_s)?;
        self.list("drops.id", id)
    }
}

impl StateReader<'_> {
    /// What [`StateWriter::face_field`] wrote.
    pub fn face_field(&mut self, name: &str, values: &mut FaceField) -> Result<(), RestoreError> {
        self.face_field_beside(name, values, &FaceField::default())
    }

    /// What [`StateWriter::face_field_beside`] wrote.
    pub fn face_field_beside(
        &mut self,
        name: &str,
        values: &mut FaceField,
        reference: &FaceField,
    ) -> Result<(), RestoreError> {
        AXES.into_iter().try_for_each(|axis| {
            self.field_beside(&format!("{name}.{}", COMPONENTS[axis]), &mut values[axis], &reference[axis])
        })
    }

    /// What [`StateWriter::marks`] wrote.
    pub fn marks(&mut self, name: &str, marks: &mut [bool]) -> Result<(), RestoreError> {
        let mut bytes = vec![0u8; marks.len()];
        self.field(name, &mut bytes)?;
        marks.iter_mut().zip(bytes).for_each(|(mark, byte)| *mark = byte != 0);
        Ok(())
    }

    /// What [`StateWriter::account`] wrote.
    pub fn account(&mut self) -> Result<Account, RestoreError> {
        let numbers: Vec<f64> = self.list("volume")?;
        let numbers = numbers.try_into();
        let numbers =
            numbers.map_err(|_| RestoreError::Mismatch("the volume's account has another shape".into()))?;
        Ok(Account::from_numbers(numbers))
    }

    /// What [`StateWriter::drops`] wrote.
    pub fn drops(&mut self) -> Result<Drops, RestoreError> {
        let next_id = self.value("drops.next_id")?;
        let drops = Drops {
            x: self.list("drops.x")?,
            v: self.list("drops.v")?,
            volume_m3: self.list("drops.volume_m3")?,
            age_s: self.list("drops.age_s")?,
            id: self.list("drops.id")?,
            next_id,
        };
        let n = drops.len();
        if [drops.v.len(), drops.volume_m3.len(), drops.age_s.len(), drops.id.len()] != [n; 4] {
            return Err(RestoreError::Mismatch("the drops' lists differ in length".into()));
        }
        Ok(drops)
    }

    /// Do the places of a list that was read lie in the domain? What flies out through an open wall may be
    /// as far from it as the domain is large.
    pub fn check_places(&self, name: &str, x: &[Vec3], domain: Aabb) -> Result<(), RestoreError> {
        let reach = Vec3::splat((domain.max - domain.min).max_element());
        let (low, high) = (domain.min - reach, domain.max + reach);
        match x.iter().position(|x| x.cmplt(low).any() || x.cmpgt(high).any()) {
            Some(n) => {
                Err(RestoreError::Mismatch(format!("value {n} of `{name}` lies far outside the domain")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_grids::UniformGrid;

    #[test]
    fn parts_come_back_as_they_were() {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [20, 17, 19], dx: 1.0 };
        let mut u = FaceField::constant(&grid, 0.5);
        u[1].iter_mut().enumerate().for_each(|(n, u)| *u = n as f32);
        let mut twin = u.clone();
        twin[2][7] = -1.0;
        let marks = [true, false, true];
        let mut account = Account { inflow_m3: 0.5, ..Account::default() };
        account.open(2.0);
        let mut drops = Drops { next_id: 7, ..Drops::default() };
        drops.push(Vec3::ONE, Vec3::X, 1e-3);
        let mut bytes = vec![];
        let mut out = StateWriter::new(&mut bytes);
        out.face_field("u", &u).unwrap();
        out.face_field_beside("twin", &twin, &u).unwrap();
        out.marks("marks", &marks).unwrap();
        out.account(&account).unwrap();
        out.drops(&drops).unwrap();
        let length = bytes.len() as u64;
        let mut source = bytes.as_slice();
        let mut from = StateReader::new(&mut source, length);
        let zero = || FaceField::constant(&grid, 0.0);
        let (mut u_read, mut twin_read, mut marks_read) = (zero(), zero(), [false; 3]);
        from.face_field("u", &mut u_read).unwrap();
        from.face_field_beside("twin", &mut twin_read, &u_read).unwrap();
        from.marks("marks", &mut marks_read).unwrap();
        assert_eq!(from.account().unwrap(), account);
        assert_eq!(from.drops().unwrap(), drops);
        from.end().unwrap();
        assert_eq!((u_read, twin_read, marks_read), (u, twin, marks));
    }
}
