//! The list of committed pages.

/// No position.
const NONE: u32 = u32::MAX;

/// Pages in ascending order, each once. A table with open addresses finds a page's position without a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageList {
    pages: Vec<u64>,
    /// Positions at the places that pages are hashed to or the next free ones; at least half of the table is free.
    table: Vec<u32>,
}

impl PageList {
    /// A list of pages that ascend.
    pub fn new(pages: Vec<u64>) -> PageList {
        assert!(pages.windows(2).all(|w| w[0] < w[1]), "pages ascend");
        let mut list = PageList { pages, table: vec![] };
        list.list_positions();
        list
    }

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
        if self.table.is_empty() {
            return None;
        }
        let mut place = self.place(page);
        loop {
            let position = self.table[place];
            if position == NONE {
                return None;
            }
            if self.pages[position as usize] == page {
                return Some(position as usize);
            }
            place = (place + 1) & (self.table.len() - 1);
        }
    }

    /// Where a page is looked for first. The table's length is a power of two.
    #[inline]
    fn place(&self, page: u64) -> usize {
        let mixed = page.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.table.len() - 1)
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
        self.table.clear();
        if self.pages.is_empty() {
            return;
        }
        self.table.resize((2 * self.pages.len()).next_power_of_two(), NONE);
        for position in 0..self.pages.len() {
            let mut place = self.place(self.pages[position]);
            while self.table[place] != NONE {
                place = (place + 1) & (self.table.len() - 1);
            }
            self.table[place] = position as u32;
        }
    }
}
