//! The list of committed pages.

/// Pages in ascending order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageList {
    pages: Vec<u64>,
}

impl PageList {
    /// The pages, ascending.
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Is no page committed?
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Place of a page in the list.
    pub fn position(&self, page: u64) -> Option<usize> {
        self.pages.binary_search(&page).ok()
    }

    /// Adds ascending pages.
    pub(super) fn insert(&mut self, pages: &[u64]) {
        self.pages.extend_from_slice(pages);
        // Two ascending runs: the standard sort merges them in linear time.
        self.pages.sort();
        self.pages.dedup();
    }

    /// Takes ascending pages out.
    pub(super) fn remove(&mut self, pages: &[u64]) {
        self.pages.retain(|page| pages.binary_search(page).is_err());
    }
}
