use fluvial_output::{CellCut, CutCell, decode_ply_cells, encode_ply_cells};

fn cut() -> CellCut {
    let cell = |x: f32, dx: f32| CutCell { min: [x, 0.25], dx, phi: x - 0.3 };
    CellCut { z: 0.5, cells: vec![cell(0.0, 0.25), cell(0.25, 0.125), cell(0.375, 0.125)] }
}

#[test]
fn cells_come_back() {
    assert_eq!(decode_ply_cells(&encode_ply_cells(&cut())), Ok(cut()));
    assert_eq!(decode_ply_cells(&encode_ply_cells(&CellCut::default())), Ok(CellCut::default()));
}

#[test]
fn every_cut_and_every_changed_byte_is_an_error() {
    let bytes = encode_ply_cells(&cut());
    for n in 0..bytes.len() {
        assert!(decode_ply_cells(&bytes[..n]).is_err(), "cut at {n}");
        let mut changed = bytes.clone();
        changed[n] ^= 0x20;
        assert!(decode_ply_cells(&changed).is_err(), "byte {n}");
    }
}
