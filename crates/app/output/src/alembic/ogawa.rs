//! The container under Alembic: data and groups of references, each written once, children before parents.

use crate::WriteSeek;
use std::io::{self, SeekFrom};

/// Set in a reference to data; clear in one to a group.
const DATA: u64 = 1 << 63;
/// A group without children takes no space.
pub(super) const EMPTY_GROUP: Ref = Ref(0);
/// Data without bytes takes no space.
pub(super) const EMPTY_DATA: Ref = Ref(DATA);

/// What a group holds: where a child lies, and whether it is data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ref(u64);

/// A file that grows.
pub(super) struct Ogawa<'a> {
    file: &'a mut dyn WriteSeek,
    at: u64,
}

impl<'a> Ogawa<'a> {
    /// Starts the file. The sixth byte says that it is incomplete until [`Self::finish`].
    pub fn start(file: &'a mut dyn WriteSeek) -> io::Result<Ogawa<'a>> {
        file.write_all(b"Ogawa\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")?;
        Ok(Ogawa { file, at: 16 })
    }

    /// Appends data given in parts.
    pub fn data(&mut self, parts: &[&[u8]]) -> io::Result<Ref> {
        let size: usize = parts.iter().map(|p| p.len()).sum();
        if size == 0 {
            return Ok(EMPTY_DATA);
        }
        let at = self.at;
        self.file.write_all(&(size as u64).to_le_bytes())?;
        parts.iter().try_for_each(|part| self.file.write_all(part))?;
        self.at += 8 + size as u64;
        Ok(Ref(at | DATA))
    }

    /// Appends a group.
    pub fn group(&mut self, children: &[Ref]) -> io::Result<Ref> {
        if children.is_empty() {
            return Ok(EMPTY_GROUP);
        }
        let at = self.at;
        self.file.write_all(&(children.len() as u64).to_le_bytes())?;
        children.iter().try_for_each(|c| self.file.write_all(&c.0.to_le_bytes()))?;
        self.at += 8 + 8 * children.len() as u64;
        Ok(Ref(at))
    }

    /// Names the root group and marks the file complete.
    pub fn finish(self, root: Ref) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(8))?;
        self.file.write_all(&root.0.to_le_bytes())?;
        self.file.seek(SeekFrom::Start(5))?;
        self.file.write_all(&[0xff])
    }
}
