//! Sets of cells in a block of 4 x 4 x 4 as 64 bits in Morton order: bit `x0 y0 z0 x1 y1 z1` from the lowest,
//! so that a byte is an octet of siblings.

use fluvial_foundation::Axis;

/// Cells whose coordinate along an axis has its low bit set.
const ODD: [u64; 3] = [0xAAAA_AAAA_AAAA_AAAA, 0xCCCC_CCCC_CCCC_CCCC, 0xF0F0_F0F0_F0F0_F0F0];
/// Cells in the upper half along an axis.
const UPPER: [u64; 3] = [0xFF00_FF00_FF00_FF00, 0xFFFF_0000_FFFF_0000, 0xFFFF_FFFF_0000_0000];
const LOW7: u64 = 0x7F7F_7F7F_7F7F_7F7F;
const TOP: u64 = 0x8080_8080_8080_8080;

/// Bit of a cell in its block; coordinates may be those on the level.
#[inline(always)]
pub fn bit_of(at: [u32; 3]) -> u32 {
    let spread = |v: u32| (v & 1) | ((v & 2) << 2);
    spread(at[0]) | (spread(at[1]) << 1) | (spread(at[2]) << 2)
}

/// Bits of a cell and of its neighbours on the high sides, x fastest, each in its own block.
#[inline(always)]
pub fn bits_around(at: [u32; 3]) -> [u32; 8] {
    let spread = |v: u32, axis: u32| ((v & 1) | ((v & 2) << 2)) << axis;
    let [x, y, z] = [0, 1, 2].map(|a| {
        let v = at[a as usize];
        [spread(v, a), spread(v.wrapping_add(1), a)]
    });
    let yz = [y[0] | z[0], y[1] | z[0], y[0] | z[1], y[1] | z[1]];
    [
        x[0] | yz[0],
        x[1] | yz[0],
        x[0] | yz[1],
        x[1] | yz[1],
        x[0] | yz[2],
        x[1] | yz[2],
        x[0] | yz[3],
        x[1] | yz[3],
    ]
}

/// Coordinates of a bit in its block, 0 to 3.
#[inline(always)]
pub fn place_of(bit: u32) -> [u32; 3] {
    let gather = |v: u32| (v & 1) | ((v >> 2) & 2);
    [gather(bit), gather(bit >> 1), gather(bit >> 2)]
}

/// Number of members before a bit.
#[inline(always)]
pub fn rank(set: u64, bit: u32) -> u32 {
    (set & ((1u64 << bit) - 1)).count_ones()
}

/// The members, from the lowest bit.
#[inline]
pub fn members(set: u64) -> impl Iterator<Item = u32> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let bit = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(bit)
    })
}

/// The set moved by one towards the high side: `c` is in it if `c - 1` is in `own`, or in `low`, the block
/// before.
#[inline(always)]
pub fn from_low(own: u64, low: u64, axis: Axis) -> u64 {
    let (odd, upper) = (ODD[axis], UPPER[axis]);
    ((own & !odd) << (1 << axis))
        | ((own & odd & !upper) << (7 << axis))
        | ((low & odd & upper) >> (9 << axis))
}

/// The set moved by one towards the low side: `c` is in it if `c + 1` is in `own`, or in `high`, the block
/// after.
#[inline(always)]
pub fn from_high(own: u64, high: u64, axis: Axis) -> u64 {
    let (odd, upper) = (ODD[axis], UPPER[axis]);
    ((own & odd) >> (1 << axis))
        | ((own & !odd & upper) >> (7 << axis))
        | ((high & !odd & !upper) << (9 << axis))
}

/// The cells of a block's first or last layer along an axis.
#[inline(always)]
pub fn layer(axis: Axis, last: bool) -> u64 {
    if last { ODD[axis] & UPPER[axis] } else { !ODD[axis] & !UPPER[axis] }
}

/// The cells with a coordinate below `count` along an axis.
#[inline]
pub fn below(count: usize, axis: Axis) -> u64 {
    let (odd, upper) = (ODD[axis], UPPER[axis]);
    match count {
        0 => 0,
        1 => !upper & !odd,
        2 => !upper,
        3 => !(upper & odd),
        _ => !0,
    }
}

/// The highest bit of every byte that is not zero.
#[inline(always)]
fn occupied(set: u64) -> u64 {
    (((set & LOW7) + LOW7) | set) & TOP
}

/// All siblings of every member.
#[inline(always)]
pub fn complete_octets(set: u64) -> u64 {
    (occupied(set) >> 7) * 0xFF
}

/// The octets that have a member, as a byte: the parents of the members.
#[inline(always)]
pub fn parents(set: u64) -> u64 {
    (occupied(set) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The children of an octet's members (a byte), as a block.
#[inline(always)]
pub fn children(octet: u64) -> u64 {
    let spread = octet.wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    complete_octets(spread)
}
