//! Sequences that AVX2 and AVX-512 share: narrowing by the packing instructions, which saturate.

use super::Simd;

/// As [`Simd::low_i32_to_i8`].
#[inline(always)]
pub(super) fn low_i32_to_i8<S: Simd>(simd: S, [a, b, c, d]: [S::I32; 4]) -> S::I8 {
    let mask = simd.splat_i32(0xff);
    let low = simd.pack_i32_to_u16(simd.and_i32(a, mask), simd.and_i32(b, mask));
    let high = simd.pack_i32_to_u16(simd.and_i32(c, mask), simd.and_i32(d, mask));
    simd.order_i8_twice(simd.pack_i16_to_u8(low, high))
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
