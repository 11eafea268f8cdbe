//! Pages of 4 KB in a sparse range: the only file of this crate with unsafe code, behind a safe interface.
//!
//! A page that was never committed reads as zeros and takes no memory. Two back ends do the same:
//! - **Reserved** maps the whole range once and lets the memory management unit find pages. The range is
//!   mapped without write permission, which no system counts as memory in use, with overcommit switched off
//!   as well; extents of 2 MB become writable when their first page is committed, and only there may the
//!   system refuse. Larger extents than pages bound the number of separate mappings, of which Linux allows 65
//!   530.
//! - **Table** finds pages through a two-level table in software, on any system and under any limit of
//!   address space.
//!
//! Why this is sound. A shared borrow of [`Store`] only hands out shared slices. Writing needs a unique
//! borrow, for a page or for a loop over pages ([`Store::sum_pages`]). Such a loop runs over distinct pages
//! (positions in it are checked to ascend), and each turn gets unique slices of the written channels of its
//! own page and, through [`Reader`], shared slices of channels that are not written. No two slices overlap
//! unless both are shared. Any bits are a valid f32, so zero pages and leftovers are valid values. Tests run
//! over both back ends, and under the address sanitizer with `--skip limits_of_the_system`: it takes more
//! memory itself than those limits allow.

use super::list::PageList;
use fluvial_foundation::parallel;
use std::cell::UnsafeCell;
use std::io;

/// Numbers of a page.
pub const PAGE_WORDS: usize = 1024;
/// Bytes of a page.
pub const PAGE_BYTES: usize = 4 * PAGE_WORDS;
/// Most bytes that a range may span: half of what an x86-64 process can address.
pub const MAX_RANGE_BYTES: u64 = 1 << 46;
/// Pages per parallel task.
const PAGES_PER_TASK: usize = 64;

/// Which way pages are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// By the memory management unit, in a reserved range of addresses. Linux only.
    Reserved,
    /// By a table in software.
    Table,
}

/// One page. Written through shared references inside loops that own it.
#[repr(C, align(4096))]
struct Page(UnsafeCell<[f32; PAGE_WORDS]>);

/// A sparse range of pages.
pub struct Store {
    back: Back,
    pages: u64,
    /// What is committed.
    list: PageList,
}

enum Back {
    #[cfg(target_os = "linux")]
    Reserved(reserved::Mapping),
    Table(Table),
}

// SAFETY: the pages are plain numbers owned by the store alone; access follows borrows as the module's text
// explains.
unsafe impl Send for Store {}
// SAFETY: as above; through a shared borrow nothing is written.
unsafe impl Sync for Store {}

impl Store {
    /// A range of so many pages, none committed.
    pub fn new(backing: Backing, pages: u64) -> io::Result<Store> {
        if pages > MAX_RANGE_BYTES / PAGE_BYTES as u64 {
            return Err(io::Error::other("a paged grid of this size has too many addresses"));
        }
        let back = match backing {
            #[cfg(target_os = "linux")]
            Backing::Reserved => Back::Reserved(reserved::Mapping::new(pages)?),
            #[cfg(not(target_os = "linux"))]
            Backing::Reserved => return Err(io::ErrorKind::Unsupported.into()),
            Backing::Table => Back::Table(Table::new(pages)),
        };
        Ok(Store { back, pages, list: PageList::default() })
    }

    /// The committed pages.
    pub fn list(&self) -> &PageList {
        &self.list
    }

    /// Commits pages, given in ascending order; those that are committed already keep what they hold. After
    /// an error (memory is short) the store is as before.
    pub fn commit(&mut self, pages: &[u64]) -> io::Result<()> {
        assert!(pages.windows(2).all(|w| w[0] < w[1]), "pages ascend");
        assert!(pages.last().is_none_or(|&p| p < self.pages), "pages lie in the range");
        match &mut self.back {
            #[cfg(target_os = "linux")]
            Back::Reserved(mapping) => mapping.make_writable(pages)?,
            Back::Table(table) => pages.iter().for_each(|&page| table.insert(page)),
        }
        self.list.insert(pages);
        Ok(())
    }

    /// Gives the memory of pages back, given in ascending order; they read as zeros from then on.
    pub fn release(&mut self, pages: &[u64]) {
        assert!(pages.windows(2).all(|w| w[0] < w[1]), "pages ascend");
        for &page in pages.iter().filter(|&&page| self.list.position(page).is_some()) {
            match &mut self.back {
                #[cfg(target_os = "linux")]
                Back::Reserved(mapping) => mapping.discard(page),
                Back::Table(table) => table.remove(page),
            }
        }
        self.list.remove(pages);
    }

    /// Start of a channel in a page. Its place among the others depends on the page: all pages' channels
    /// would else fall into the same few sets of the caches, 4 of 64 in the first level, and a block's
    /// neighbours would drive each other out.
    #[inline(always)]
    fn channel_pointer<const CELLS: usize>(&self, page: u64, channel: usize) -> *mut f32 {
        const { assert!(CELLS.is_power_of_two() && CELLS <= PAGE_WORDS, "channels share a page evenly") };
        const { assert!(PAGE_WORDS / CELLS <= 32, "loops keep a bit per channel") };
        let channels = PAGE_WORDS / CELLS;
        assert!(channel < channels, "a channel of the page");
        self.pointer(page).wrapping_add((channel ^ (page as usize & (channels - 1))) * CELLS)
    }

    #[inline(always)]
    fn pointer(&self, page: u64) -> *mut f32 {
        assert!(page < self.pages, "a page of the range");
        match &self.back {
            #[cfg(target_os = "linux")]
            Back::Reserved(mapping) => mapping.pointer(page),
            Back::Table(table) => table.pointer(page),
        }
    }

    /// The cells of a channel in a page; zeros where it is not committed.
    #[inline(always)]
    pub fn channel<const CELLS: usize>(&self, page: u64, channel: usize) -> &[f32; CELLS] {
        // SAFETY: the slice lies within the page (`channel_pointer`), whose memory is initialised and
        // outlives the borrow of `self`, during which nobody writes.
        unsafe { &*self.channel_pointer::<CELLS>(page, channel).cast() }
    }

    /// The cells of a channel in a committed page, to be written.
    #[inline(always)]
    pub fn channel_mut<const CELLS: usize>(&mut self, page: u64, channel: usize) -> &mut [f32; CELLS] {
        assert!(self.list.position(page).is_some(), "only committed pages can be written");
        // SAFETY: as in `channel`; `self` is borrowed uniquely, and a committed page is writable and not
        // shared.
        unsafe { &mut *self.channel_pointer::<CELLS>(page, channel).cast() }
    }

    /// Runs `body(position, page, reader, channels to be written)` in parallel over committed pages: those at
    /// the ascending `positions` of the list, or all. Returns the sum of what `body` returns, added in
    /// the order of fixed tasks. All channels but those in `write` can be read, in any page, through the
    /// reader. The pages of a task share a memory.
    pub fn sum_pages<const CELLS: usize, const W: usize, M: Default>(
        &mut self,
        positions: Option<&[u32]>,
        write: [usize; W],
        body: impl Fn(&mut M, usize, u64, &Reader<CELLS>, [&mut [f32; CELLS]; W]) -> f64 + Sync + Send,
    ) -> f64 {
        let mut written = 0u32;
        for channel in write {
            assert!(channel < PAGE_WORDS / CELLS, "a channel of the page");
            assert!(written & (1 << channel) == 0, "a channel is written once");
            written |= 1 << channel;
        }
        let pages = self.list.pages();
        let count = positions.map_or(pages.len(), <[u32]>::len);
        if let Some(positions) = positions {
            assert!(positions.windows(2).all(|w| w[0] < w[1]), "positions ascend");
            assert!(positions.last().is_none_or(|&p| (p as usize) < pages.len()), "positions of the list");
        }
        let store = &*self;
        let reader = Reader { store, written };
        parallel::ordered_sum(parallel::chunk_count(count, PAGES_PER_TASK), |task| {
            let (mut sum, mut memory) = (0.0, M::default());
            for n in parallel::chunk_range(task, PAGES_PER_TASK, count) {
                let position = positions.map_or(n, |p| p[n] as usize);
                let page = pages[position];
                let out = write.map(|channel| {
                    // SAFETY: the slice lies within a committed, hence writable and unshared page. Positions
                    // ascend and the list has no page twice, so no other turn has this
                    // page; `write` has no channel twice, channels of a page do not
                    // overlap, and the reader refuses those in `write`: nobody else has a slice that
                    // overlaps this one. `self` is borrowed uniquely until all turns have ended.
                    unsafe { &mut *store.channel_pointer::<CELLS>(page, channel).cast::<[f32; CELLS]>() }
                });
                sum += body(&mut memory, position, page, &reader, out);
            }
            sum
        })
    }
}

/// Reads pages inside a loop that writes some of their channels.
#[derive(Clone, Copy)]
pub struct Reader<'a, const CELLS: usize> {
    store: &'a Store,
    written: u32,
}

impl<'a, const CELLS: usize> Reader<'a, CELLS> {
    /// The cells of a channel in a page; zeros where it is not committed. Panics for a channel that the loop
    /// writes.
    #[inline(always)]
    pub fn channel(&self, page: u64, channel: usize) -> &'a [f32; CELLS] {
        assert!(self.written & (1 << channel) == 0, "the loop writes this channel");
        self.store.channel(page, channel)
    }

    /// The committed pages, ascending.
    #[inline(always)]
    pub fn pages(&self) -> &'a [u64] {
        self.store.list.pages()
    }

    /// Asks for 64 bytes of a channel of a page to be brought into the cache.
    #[inline(always)]
    pub fn prefetch_line(&self, page: u64, channel: usize, line: usize) {
        let start = self.store.channel_pointer::<CELLS>(page, channel).wrapping_add(16 * line).cast::<i8>();
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint; it reads nothing and cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = start;
    }

    /// Asks for a channel of a page to be brought into the cache.
    #[inline(always)]
    pub fn prefetch(&self, page: u64, channel: usize) {
        (0..(4 * CELLS).div_ceil(64)).for_each(|line| self.prefetch_line(page, channel, line));
    }
}

/// Pages found by a two-level table: the directory has an entry per [`LEAF`] pages.
struct Table {
    directory: Vec<Option<Box<[u32; LEAF]>>>,
    /// Slot 0 is the page of zeros that stands for all that are not committed.
    slots: Vec<Option<Box<Page>>>,
    free: Vec<u32>,
}

const LEAF: usize = 512;

impl Table {
    fn new(pages: u64) -> Table {
        let leaves = usize::try_from(pages.div_ceil(LEAF as u64)).expect("checked against the largest range");
        let directory = std::iter::repeat_with(|| None).take(leaves).collect();
        Table { directory, slots: vec![Some(zero_page())], free: vec![] }
    }

    #[inline(always)]
    fn pointer(&self, page: u64) -> *mut f32 {
        let leaf = &self.directory[page as usize / LEAF];
        let slot = leaf.as_ref().map_or(0, |leaf| leaf[page as usize % LEAF]);
        self.slots[slot as usize].as_ref().expect("a slot in use").0.get().cast()
    }

    fn insert(&mut self, page: u64) {
        let leaf = self.directory[page as usize / LEAF].get_or_insert_with(|| Box::new([0; LEAF]));
        let slot = &mut leaf[page as usize % LEAF];
        if *slot != 0 {
            return;
        }
        *slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 pages of memory")
        });
        self.slots[*slot as usize] = Some(zero_page());
    }

    fn remove(&mut self, page: u64) {
        let leaf = self.directory[page as usize / LEAF].as_mut().expect("a committed page");
        let slot = std::mem::take(&mut leaf[page as usize % LEAF]);
        self.slots[slot as usize] = None;
        self.free.push(slot);
    }
}

fn zero_page() -> Box<Page> {
    Box::new(Page(UnsafeCell::new([0.0; PAGE_WORDS])))
}

#[cfg(target_os = "linux")]
mod reserved {
    use super::{PAGE_BYTES, io};
    use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
    use std::collections::BTreeSet;
    use std::ffi::c_void;

    /// Pages that become writable together, 2 MB of them.
    const EXTENT: u64 = 512;

    const EXTENT_BYTES: usize = EXTENT as usize * PAGE_BYTES;
    /// An extent of which so many pages are committed at once is asked to be one huge page of the system:
    /// looking up as many small ones takes longer than reading them. Less full ones stay small, so that no more
    /// than an eighth of their memory is idle: a band of voxels half fills most of its extents, and took twice its size.
    const HUGE_FROM: usize = EXTENT as usize / 8 * 7;

    /// A reserved range of addresses.
    pub struct Mapping {
        start: *mut c_void,
        bytes: usize,
        /// Start of the first whole extent.
        base: *mut c_void,
        pages: u64,
        /// Extents that are writable.
        writable: BTreeSet<u64>,
    }

    impl Mapping {
        pub fn new(pages: u64) -> io::Result<Mapping> {
            let bytes = usize::try_from(pages).ok().and_then(|n| n.checked_mul(PAGE_BYTES));
            let bytes = bytes.and_then(|n| n.checked_add(EXTENT_BYTES)).ok_or(io::ErrorKind::OutOfMemory)?;
            if rustix::param::page_size() > PAGE_BYTES {
                return Err(io::Error::other("the system's pages are larger than 4 KB"));
            }
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a new anonymous mapping at an address of the system's choice touches nothing that
            // exists.
            let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ, flags)? };
            let base = start.wrapping_byte_add(start.addr().wrapping_neg() % EXTENT_BYTES);
            Ok(Mapping { start, bytes, base, pages, writable: BTreeSet::new() })
        }

        #[inline(always)]
        pub fn pointer(&self, page: u64) -> *mut f32 {
            debug_assert!(page < self.pages);
            self.base.wrapping_byte_add(page as usize * PAGE_BYTES).cast()
        }

        /// Makes the extents of these pages writable.
        pub fn make_writable(&mut self, pages: &[u64]) -> io::Result<()> {
            for group in pages.chunk_by(|a, b| a / EXTENT == b / EXTENT) {
                let extent = group[0] / EXTENT;
                if self.writable.contains(&extent) {
                    continue;
                }
                let count = EXTENT.min(self.pages - extent * EXTENT) as usize;
                let start = self.pointer(extent * EXTENT).cast();
                let access = MprotectFlags::READ | MprotectFlags::WRITE;
                // SAFETY: the extent lies in our own mapping; granting access invalidates nothing.
                unsafe { mprotect(start, count * PAGE_BYTES, access)? };
                if group.len() >= HUGE_FROM && count == EXTENT as usize {
                    // SAFETY: as above; the advice does not change what is read. Systems without huge pages
                    // refuse it.
                    let _ = unsafe { madvise(start, EXTENT_BYTES, Advice::LinuxHugepage) };
                }
                self.writable.insert(extent);
            }
            Ok(())
        }

        /// Gives a page's memory back; it reads as zeros afterwards.
        pub fn discard(&mut self, page: u64) {
            // SAFETY: the page lies in our own mapping, and no slice of it is alive: `self` is borrowed
            // uniquely.
            unsafe { madvise(self.pointer(page).cast(), PAGE_BYTES, Advice::LinuxDontNeed) }
                .expect("pages of our own mapping can be given back");
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: our own mapping, of this very size; no slice outlives the store.
            let done = unsafe { munmap(self.start, self.bytes) };
            debug_assert!(done.is_ok());
        }
    }
}
