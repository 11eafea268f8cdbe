use fluvial_output::{peak_rss_bytes, reset_peak_rss};

#[test]
#[cfg(target_os = "linux")]
fn the_peak_grows_with_what_is_touched() {
    let before = peak_rss_bytes().unwrap();
    let block = vec![1u8; 256 << 20];
    assert!(block.iter().map(|&b| b as u64).sum::<u64>() > 0);
    let after = peak_rss_bytes().unwrap();
    assert!(after >= before && after >= 256 << 20, "{before} {after}");
    drop(block);
    if reset_peak_rss() {
        let reset = peak_rss_bytes().unwrap();
        assert!(reset < 200 << 20, "{reset}");
    }
}
