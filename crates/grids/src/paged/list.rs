//! The list of committed pages.

/// Pages that share an entry of the directory.
const GROUP: usize = 512;
/// No position.
const NONE: u32 = u32::MAX;

/// Pages in ascending order, each once. A directory of groups of pages finds a page's position without a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageList {
    pages: Vec<u64>,
    /// By page divided by [`GROUP`]: which of `positions` it is, or [`NONE`].
    directory: Vec<u32>,
    positions: Vec<[u32; GROUP]>,
}

impl PageList {
    /// The pages, ascending.
    #[inline]
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// Number of pages.
    #[inline]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Is no page committed?
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Place of a page in the list.
    #[inline]
    pub fn position(&self, page: u64) -> Option<usize> {
        let group = *self.directory.get(page as usize / GROUP)?;
        let position = self.positions.get(group as usize)?[page as usize % GROUP];
        (position != NONE).then_some(position as usize)
    }

    /// Adds ascending pages.
    pub(super) fn insert(&mut self, pages: &[u64]) {
        self.pages.extend_from_slice(pages);
        // Two ascending runs: the standard sort merges them in linear time.
        self.pages.sort();
        self.pages.dedup();
        self.list_positions();
    }

    /// Takes ascending pages out.
    pub(super) fn remove(&mut self, pages: &[u64]) {
        if pages.is_empty() {
            return;
        }
        self.pages.retain(|page| pages.binary_search(page).is_err());
        self.list_positions();
    }

    fn list_positions(&mut self) {
        self.positions.clear();
        self.directory.clear();
        self.directory.resize(self.pages.last().map_or(0, |last| *last as usize / GROUP + 1), NONE);
        for (position, &page) in self.pages.iter().enumerate() {
            let group = &mut self.directory[page as usize / GROUP];
            if *group == NONE {
                *group = self.positions.len() as u32;
                self.positions.push([NONE; GROUP]);
            }
            self.positions[*group as usize][page as usize % GROUP] = position as u32;
        }
    }
}
