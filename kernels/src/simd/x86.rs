//! Sequences that AVX2 and AVX-512 share: narrowing by the packing instructions, which saturate.

use super::Simd;

/// As [`Simd::low_i32_to_i8`].
#[inline(always)]
pub(super) fn low_i32_to_i8<S: Simd>(simd: S, [a, b, c, d]: [S::I32; 4]) -> S::I8 {
    let mask = simd.splat_i32(0xff);
    let low = simd.pack_i32_to_u16(simd.and_i32(a, mask), simd.and_i32(b, mask));
    let high = simd.pack_i32_to_u16(simd.and_i32(c, mask), simd.and_i32(d, mask));
    simd.unscramble_two_packs(simd.pack_i16_to_u8(low, high))
}

/// As [`Simd::low_i32_to_i16`].
#[inline(always)]
pub(super) fn low_i32_to_i16<S: Simd>(simd: S, a: S::I32, b: S::I32) -> S::I16 {
    let mask = simd.splat_i32(0xffff);
    simd.order_i16(simd.pack_i32_to_u16(simd.and_i32(a, mask), simd.and_i32(b, mask)))
}

/// As [`Simd::high_i32_to_i16`].
#[inline(always)]
pub(super) fn high_i32_to_i16<S: Simd>(simd: S, a: S::I32, b: S::I32) -> S::I16 {
    simd.order_i16(simd.pack_i32_to_u16(simd.shr_u32::<16>(a), simd.shr_u32::<16>(b)))
}

/// As [`Simd::low_i16_to_i8`].
#[inline(always)]
pub(super) fn low_i16_to_i8<S: Simd>(simd: S, a: S::I16, b: S::I16) -> S::I8 {
    let mask = simd.splat_i16(0xff);
    simd.order_i8(simd.pack_i16_to_u8(simd.and_i16(a, mask), simd.and_i16(b, mask)))
}

/// A table of all bytes in rows of 16 for [`look_up_i8`]: each row of a half but the first as its difference from the
/// one before.
#[inline(always)]
pub(super) fn byte_rows(values: &[u8; 256]) -> [u8; 256] {
    core::array::from_fn(|place| match place % 128 {
        0..16 => values[place],
        _ => values[place] ^ values[place - 16],
    })
}

/// What the halves of a table have for the lower seven bits of the numbers. `shuffle` looks up in a row by the lower
/// four, and gives 0 where the highest bit is set: so the rows up to that of a number add up to it.
#[inline(always)]
pub(super) fn look_up_i8<S: Simd>(
    simd: S,
    rows: [S::I8; 16],
    numbers: S::I8,
    shuffle: impl Fn(S::I8, S::I8) -> S::I8,
) -> [S::I8; 2] {
    let mut at = simd.and_i8(numbers, simd.splat_i8(0x7f));
    let (mut low, mut high) = (shuffle(rows[0], at), shuffle(rows[8], at));
    for row in 1..8 {
        at = simd.sub_i8(at, simd.splat_i8(16));
        low = simd.xor_i8(low, shuffle(rows[row], at));
        high = simd.xor_i8(high, shuffle(rows[row + 8], at));
    }
    [low, high]
}
