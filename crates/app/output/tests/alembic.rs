use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_output::{AbcFrame, FrameTime, write_abc_sequence};

fn mesh(count: u32) -> TriangleMesh {
    let corners = (0..3 * count).map(|n| Vec3::new(n as f32, (n * n) as f32, 1.0));
    TriangleMesh {
        positions: corners.clone().collect(),
        velocities: corners.map(|x| -x).collect(),
        triangles: (0..count).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
    }
}

/// Every reference below a group: (depth, is data, bytes or children). Panics on one that leaves the
/// file.
fn walk(bytes: &[u8], group: u64, depth: usize, found: &mut Vec<(usize, bool, u64)>) {
    let word = |at: u64| u64::from_le_bytes(bytes[at as usize..at as usize + 8].try_into().unwrap());
    let count = if group == 0 { 0 } else { word(group) };
    found.push((depth, false, count));
    for n in 0..count {
        let child = word(group + 8 + 8 * n);
        let at = child & !(1 << 63);
        if at == child {
            walk(bytes, at, depth + 1, found);
        } else {
            let size = if at == 0 { 0 } else { word(at) };
            assert!(at + size <= bytes.len() as u64);
            found.push((depth + 1, true, size));
        }
    }
}

#[test]
fn all_that_an_archive_names_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.abc");
    let first = FrameTime { frame: 3, fps: 24.0 };
    let counts = [2, 5, 0, 300];
    write_abc_sequence(&path, first, |writer| {
        counts
            .iter()
            .try_for_each(|&n| writer.frame(&AbcFrame { surface: Some(&mesh(n)), ..AbcFrame::default() }))
    })
    .unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(&bytes[..8], b"Ogawa\xff\x00\x01");
    let mut found = vec![];
    walk(&bytes, u64::from_le_bytes(bytes[8..16].try_into().unwrap()), 0, &mut found);
    assert_eq!(found[0], (0, false, 6), "six parts of an archive");
    // Samples of positions: sixteen bytes of digest and twelve per corner; nothing for no corners.
    for &n in &counts {
        let size = if n == 0 { 0 } else { 16 + 36 * u64::from(n) };
        assert!(found.iter().any(|f| f.1 && f.2 == size), "{n}");
    }
    // The same frames give the same bytes.
    write_abc_sequence(&path, first, |writer| {
        counts
            .iter()
            .try_for_each(|&n| writer.frame(&AbcFrame { surface: Some(&mesh(n)), ..AbcFrame::default() }))
    })
    .unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());
}

#[test]
fn frames_must_be_alike_and_a_failed_archive_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.abc");
    let first = FrameTime { frame: 0, fps: 24.0 };
    let error = write_abc_sequence(&path, first, |writer| {
        writer.frame(&AbcFrame { surface: Some(&mesh(1)), ..AbcFrame::default() })?;
        writer.frame(&AbcFrame::default())
    });
    assert!(error.unwrap_err().to_string().contains("a.abc"));
    assert!(write_abc_sequence(&path, first, |_| Ok(())).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
