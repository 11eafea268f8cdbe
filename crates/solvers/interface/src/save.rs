//! A solver's state as bytes: what a checkpoint holds of it.
//!
//! Fields are written in a fixed order, each with its name, its kind and its length; the reader asks for them
//! in the same order and refuses anything else. Values of a grid are written in blocks: a block of one value
//! (the far field, phi beyond the band), or one that equals the same block of another field, takes a few
//! bytes. The bytes are little-endian. Checksums are the file's matter, not this module's.

use fluvial_foundation::Vec3;
use std::io::{self, Read, Write};

/// Values of a block.
const BLOCK: usize = 4096;
/// Kinds of block.
const RAW: u8 = 0;
const CONSTANT: u8 = 1;
const SAME: u8 = 2;

/// Why a state could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The bytes could not be read.
    #[error("could not read the state: {0}")]
    Read(#[from] io::Error),
    /// They describe something else than the solver that asks.
    #[error("the saved state does not fit: {0}")]
    Mismatch(String),
}

fn mismatch<T>(what: String) -> Result<T, RestoreError> {
    Err(RestoreError::Mismatch(what))
}

/// A value with a fixed number of bytes.
pub trait Plain: Copy + Default {
    /// Bytes of a value.
    const BYTES: usize;
    /// One letter that stands for the type in the file.
    const KIND: u8;
    /// Writes the value into its bytes.
    fn put(self, bytes: &mut [u8]);
    /// Reads the value from its bytes.
    fn get(bytes: &[u8]) -> Self;
    /// Can a state hold it? Floats must be finite.
    fn is_sound(self) -> bool {
        true
    }
}

macro_rules! plain {
    ($($type:ty, $kind:literal $(, $is_sound:path)?;)*) => {$(
        impl Plain for $type {
            const BYTES: usize = size_of::<$type>();
            const KIND: u8 = $kind;
            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                <$type>::from_le_bytes(own)
            }
            $(fn is_sound(self) -> bool {
                $is_sound(self)
            })?
        }
    )*};
}
plain! { f32, b'f', f32::is_finite; f64, b'd', f64::is_finite; u8, b'b'; u32, b'u'; u64, b'q'; }

impl Plain for Vec3 {
    const BYTES: usize = 12;
    const KIND: u8 = b'v';
    fn put(self, bytes: &mut [u8]) {
        self.to_array().iter().zip(bytes.chunks_exact_mut(4)).for_each(|(c, b)| c.put(b));
    }
    fn get(bytes: &[u8]) -> Self {
        Vec3::new(f32::get(&bytes[..4]), f32::get(&bytes[4..8]), f32::get(&bytes[8..]))
    }
    fn is_sound(self) -> bool {
        self.is_finite()
    }
}

fn check_sound<T: Plain>(name: &str, values: &[T]) -> Result<(), RestoreError> {
    match values.iter().position(|value| !value.is_sound()) {
        Some(n) => mismatch(format!("value {n} of `{name}` is no finite number")),
        None => Ok(()),
    }
}

fn encode<T: Plain>(bytes: &mut Vec<u8>, values: &[T]) {
    bytes.resize(values.len() * T::BYTES, 0);
    values.iter().zip(bytes.chunks_exact_mut(T::BYTES)).for_each(|(v, b)| v.put(b));
}

/// Writes a state, field by field.
pub struct StateWriter<'a> {
    out: &'a mut dyn Write,
    block: Vec<u8>,
    other: Vec<u8>,
}

impl<'a> StateWriter<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        StateWriter { out, block: vec![], other: vec![] }
    }

    fn head<T: Plain>(&mut self, name: &str, count: usize) -> io::Result<()> {
        self.out.write_all(&[name.len() as u8])?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&[T::KIND])?;
        self.out.write_all(&(count as u64).to_le_bytes())
    }

    /// One number.
    pub fn value<T: Plain>(&mut self, name: &str, value: T) -> io::Result<()> {
        self.list(name, &[value])
    }

    /// As many values as there are: particles, bodies of liquid.
    pub fn list<T: Plain>(&mut self, name: &str, values: &[T]) -> io::Result<()> {
        self.head::<T>(name, values.len())?;
        for block in values.chunks(BLOCK) {
            encode(&mut self.block, block);
            self.out.write_all(&self.block)?;
        }
        Ok(())
    }

    /// Values whose number the set-up fixes: one per cell or face.
    pub fn field<T: Plain>(&mut self, name: &str, values: &[T]) -> io::Result<()> {
        self.field_beside(name, values, &[])
    }

    /// As [`Self::field`]; blocks that equal those of `reference`, a field written before, are only named.
    pub fn field_beside<T: Plain>(&mut self, name: &str, values: &[T], reference: &[T]) -> io::Result<()> {
        self.head::<T>(name, values.len())?;
        for (n, block) in values.chunks(BLOCK).enumerate() {
            encode(&mut self.block, block);
            let first = &self.block[..T::BYTES];
            if self.block.chunks_exact(T::BYTES).all(|b| b == first) {
                self.out.write_all(&[CONSTANT])?;
                self.out.write_all(first)?;
                continue;
            }
            let other = reference.chunks(BLOCK).nth(n).unwrap_or_default();
            encode(&mut self.other, other);
            if self.other == self.block {
                self.out.write_all(&[SAME])?;
            } else {
                self.out.write_all(&[RAW])?;
                self.out.write_all(&self.block)?;
            }
        }
        Ok(())
    }
}

/// Reads what [`StateWriter`] wrote.
pub struct StateReader<'a> {
    from: &'a mut dyn Read,
    /// Bytes that are left: nothing longer is believed in, or made room for.
    left: u64,
    block: Vec<u8>,
}

impl<'a> StateReader<'a> {
    /// Reads at most `bytes` bytes of `from`.
    pub fn new(from: &'a mut dyn Read, bytes: u64) -> Self {
        StateReader { from, left: bytes, block: vec![] }
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), RestoreError> {
        if self.left == 0 { Ok(()) } else { mismatch(format!("{} bytes follow its end", self.left)) }
    }

    fn take(&mut self, bytes: usize) -> Result<(), RestoreError> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => self.left = left,
            None => return mismatch("it ends too early".into()),
        }
        self.block.resize(bytes, 0);
        Ok(self.from.read_exact(&mut self.block)?)
    }

    fn byte(&mut self) -> Result<u8, RestoreError> {
        self.take(1)?;
        Ok(self.block[0])
    }

    fn head<T: Plain>(&mut self, name: &str) -> Result<u64, RestoreError> {
        let length = self.byte()? as usize;
        self.take(length)?;
        if self.block != name.as_bytes() {
            let found = String::from_utf8_lossy(&self.block);
            return mismatch(format!("`{found}` stands where `{name}` belongs"));
        }
        let kind = self.byte()?;
        if kind != T::KIND {
            return mismatch(format!("`{name}` has the kind {kind}, {} is wanted", T::KIND));
        }
        self.take(8)?;
        Ok(u64::get(&self.block))
    }

    /// One number.
    pub fn value<T: Plain>(&mut self, name: &str) -> Result<T, RestoreError> {
        match self.list(name)?.as_slice() {
            [value] => Ok(*value),
            values => mismatch(format!("`{name}` has {} values, one is wanted", values.len())),
        }
    }

    /// As many values as were written.
    pub fn list<T: Plain>(&mut self, name: &str) -> Result<Vec<T>, RestoreError> {
        let count = self.head::<T>(name)?;
        if count.checked_mul(T::BYTES as u64).is_none_or(|bytes| bytes > self.left) {
            return mismatch(format!("`{name}` has {count} values, more than there are bytes"));
        }
        let mut values = Vec::with_capacity(count as usize);
        while values.len() < count as usize {
            self.take(BLOCK.min(count as usize - values.len()) * T::BYTES)?;
            values.extend(self.block.chunks_exact(T::BYTES).map(T::get));
        }
        check_sound(name, &values)?;
        Ok(values)
    }

    /// Fills `values`, whose length the set-up has fixed.
    pub fn field<T: Plain>(&mut self, name: &str, values: &mut [T]) -> Result<(), RestoreError> {
        self.field_beside(name, values, &[])
    }

    /// As [`Self::field`], for what [`StateWriter::field_beside`] wrote.
    pub fn field_beside<T: Plain>(
        &mut self,
        name: &str,
        values: &mut [T],
        reference: &[T],
    ) -> Result<(), RestoreError> {
        let count = self.head::<T>(name)?;
        if count != values.len() as u64 {
            return mismatch(format!("`{name}` has {count} values, the scene's grid {}", values.len()));
        }
        for (n, out) in values.chunks_mut(BLOCK).enumerate() {
            match self.byte()? {
                RAW => {
                    self.take(out.len() * T::BYTES)?;
                    out.iter_mut().zip(self.block.chunks_exact(T::BYTES)).for_each(|(v, b)| *v = T::get(b));
                }
                CONSTANT => {
                    self.take(T::BYTES)?;
                    out.fill(T::get(&self.block));
                }
                SAME if reference.len() == count as usize => {
                    out.copy_from_slice(&reference[n * BLOCK..n * BLOCK + out.len()]);
                }
                kind => return mismatch(format!("`{name}` has a block of kind {kind}")),
            }
        }
        check_sound(name, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (Vec<u8>, [Vec<f32>; 2], Vec<Vec3>) {
        // Three blocks: constant, mixed, mixed and short; the twin differs in the last one only.
        let field: Vec<f32> =
            (0..2 * BLOCK + 7).map(|n| if n < BLOCK { -0.0 } else { (n as f32).sin() }).collect();
        let mut twin = field.clone();
        twin[2 * BLOCK + 3] = -1e30;
        let list = vec![Vec3::new(1.0, f32::MIN_POSITIVE, -3.5); 3];
        let mut bytes = vec![];
        let mut out = StateWriter::new(&mut bytes);
        out.field("field", &field).unwrap();
        out.field_beside("twin", &twin, &field).unwrap();
        out.list("list", &list).unwrap();
        out.value("time_s", 0.1f64).unwrap();
        (bytes, [field, twin], list)
    }

    type Read = ([Vec<f32>; 2], Vec<Vec3>, f64);

    fn read(bytes: &[u8], length: usize) -> Result<Read, RestoreError> {
        let (mut field, mut twin) = (vec![0.0f32; length], vec![0.0f32; length]);
        let mut source = bytes;
        let mut from = StateReader::new(&mut source, bytes.len() as u64);
        from.field("field", &mut field)?;
        from.field_beside("twin", &mut twin, &field)?;
        let list = from.list("list")?;
        let time_s = from.value("time_s")?;
        from.end()?;
        Ok(([field, twin], list, time_s))
    }

    #[test]
    fn fields_come_back_with_their_bits_and_equal_blocks_cost_nothing() {
        let (bytes, fields, list) = written();
        let (read_fields, read_list, time_s) = read(&bytes, fields[0].len()).unwrap();
        for (a, b) in fields.iter().zip(&read_fields) {
            assert!(a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits())));
        }
        assert_eq!((read_list, time_s), (list, 0.1));
        assert!(bytes.len() < 4 * BLOCK + 300, "{}", bytes.len());
    }

    #[test]
    fn every_truncation_is_an_error_and_no_flipped_byte_a_panic() {
        let (bytes, fields, _) = written();
        for length in (0..bytes.len()).filter(|n| *n < 200 || *n > bytes.len() - 200 || n % 97 == 0) {
            assert!(read(&bytes[..length], fields[0].len()).is_err(), "cut at {length}");
        }
        for at in (0..bytes.len()).filter(|n| *n < 200 || *n > bytes.len() - 200 || n % 97 == 0) {
            let mut bad = bytes.clone();
            bad[at] ^= 0xff;
            let _ = read(&bad, fields[0].len());
        }
        assert!(read(&[bytes.clone(), vec![0]].concat(), fields[0].len()).is_err(), "trailing byte");
        let error = read(&bytes, 5).unwrap_err().to_string();
        assert!(error.contains("`field` has 8199 values"), "{error}");
    }

    #[test]
    fn numbers_that_are_not_finite_are_named() {
        let mut bytes = vec![];
        let mut out = StateWriter::new(&mut bytes);
        out.list("list", &[Vec3::ZERO, Vec3::new(0.0, f32::NAN, 0.0)]).unwrap();
        out.field("field", &[0.0, f32::INFINITY]).unwrap();
        let mut source = bytes.as_slice();
        let mut from = StateReader::new(&mut source, bytes.len() as u64);
        let error = from.list::<Vec3>("list").unwrap_err().to_string();
        assert!(error.contains("value 1 of `list` is no finite number"), "{error}");
        let error = from.field("field", &mut [0.0f32; 2]).unwrap_err().to_string();
        assert!(error.contains("value 1 of `field` is no finite number"), "{error}");
    }
}
