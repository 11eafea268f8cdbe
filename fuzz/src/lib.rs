//! What the fuzz targets have in common: a reader is called with any bytes; it must not panic, and must take no more
//! memory than the bytes' own size, what it hands back, and the slack of its format. The bytes themselves are held by
//! the fuzzer, so that all in all a file costs at most twice its size.

#[path = "../../crates/app/cli/tests/damage/allocator.rs"]
pub mod allocator;
#[path = "../../crates/app/cli/tests/damage/formats.rs"]
pub mod formats;
#[path = "../../crates/app/cli/tests/damage/samples.rs"]
pub mod samples;

pub use libfuzzer_sys::fuzz_target;

#[global_allocator]
static COUNTING: allocator::Counting = allocator::Counting;

/// Reads `bytes` as a file of this kind, behind its checksum where it has one.
pub fn check(format: &formats::Format, bytes: &[u8]) {
    let sealed = format.seal.map(|seal| seal(bytes.to_vec()));
    let bytes = sealed.as_deref().unwrap_or(bytes);
    let (result, taken) = allocator::measured(|| (format.read)(bytes));
    let limit =
        bytes.len() as isize + taken.kept.max(0) + format.slack as isize + formats::unpacked(format, bytes);
    assert!(taken.peak <= limit, "{} bytes of {} took {}", bytes.len(), format.name, taken.peak);
    drop(result);
}

/// A target for one format of the table.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::fuzz_target!(
            init: {
                // What is made once is no cost of the first file.
                let format = $crate::formats::format($name);
                (format.samples)().iter().for_each(|(_, bytes)| drop((format.read)(bytes)));
            },
            |bytes: &[u8]| $crate::check($crate::formats::format($name), bytes)
        );
    };
}
