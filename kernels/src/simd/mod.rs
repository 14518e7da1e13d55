//! Vector registers, and what the instructions of a level do with them.
//!
//! [`Simd`] has one operation of one or a few instructions per line, and no defaults: a level that lacks an
//! operation does not compile. Algorithms are in [`ops`](crate::ops), written once above this trait; a level is
//! a file of operations beside this one. A value of a level's type is a token: it exists only where the CPU has
//! the features.
//!
//! Names: `i32` is a register of 32-bit lanes, whether they stand for signed or unsigned integers; where it
//! matters, the operation's name says which (`min_u32`). A *unit* is as many elements as a register has 32-bit
//! lanes: one register of `F32` or `I32`, two of `F64` or `I64`. Four units are a *group*: as many elements as
//! a register has bytes.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) mod simd128;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::Rounding;

/// A rounding, known when a kernel is compiled or when it runs.
pub(crate) trait Round: Copy + Send + Sync + 'static {
    fn rounding(self) -> Rounding;
}

/// [`Rounding::NearestEven`], the default, which has kernels of its own.
#[derive(Clone, Copy)]
pub(crate) struct NearestEven;

impl Round for NearestEven {
    #[inline(always)]
    fn rounding(self) -> Rounding {
        Rounding::NearestEven
    }
}

/// Any rounding: the kernel branches on it, always the same way.
impl Round for Rounding {
    #[inline(always)]
    fn rounding(self) -> Rounding {
        self
    }
}

/// The registers and operations of a level.
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    /// Lanes of 8, 16, 32 and 64 bits.
    type I8: Copy;
    type I16: Copy;
    type I32: Copy;
    type I64: Copy;
    type F32: Copy;
    type F64: Copy;
    /// Eight values of 32 bits that are looked up by their number.
    type Table: Copy;
    /// What a comparison of 32-bit lanes gives.
    type M32: Copy;
    /// What a comparison of 64-bit lanes gives.
    type M64: Copy;

    /// Bytes of a register, and elements of a group.
    const BYTES: usize;
    /// Groups that an iteration of the loop takes: more where a register is short beside the loop's own
    /// instructions.
    const GROUPS: usize;
    /// Whether a float that does not fit converts to the least integer, and NaN too (x86). Otherwise the
    /// conversion saturates, and NaN becomes 0 (aarch64, WebAssembly).
    const INVALID_IS_MIN: bool;
    /// Whether `f32_to_f16` takes every rounding; otherwise only nearest-even.
    const ROUNDS_F16: bool;

    /// Whether `fma_f32` and its like round once; otherwise the product is rounded too, unless it is exact.
    const FUSES: bool;

    /// Whether a select takes one instruction of one operation; otherwise logic on masks may be cheaper.
    const SELECTS_IN_ONE: bool;

    /// Whether `max_number_f32` and its like take one instruction.
    const MAX_NUMBER_IN_ONE: bool;

    /// Runs `f` in a function that is compiled with the level's features.
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R;

    // Loads and stores, of any alignment: of a register, or of as many narrower elements as widen to one.
    // SAFETY, for all: the memory that is read or written is the caller's.
    unsafe fn load_i8(self, p: *const u8) -> Self::I8;
    unsafe fn load_i16(self, p: *const u8) -> Self::I16;
    unsafe fn load_i32(self, p: *const u8) -> Self::I32;
    unsafe fn load_i64(self, p: *const u8) -> Self::I64;
    unsafe fn load_f32(self, p: *const u8) -> Self::F32;
    unsafe fn load_f64(self, p: *const u8) -> Self::F64;
    unsafe fn load_i8_to_i16(self, p: *const u8) -> Self::I16;
    unsafe fn load_u8_to_i16(self, p: *const u8) -> Self::I16;
    unsafe fn load_i8_to_i64(self, p: *const u8) -> Self::I64;
    unsafe fn load_u8_to_i64(self, p: *const u8) -> Self::I64;
    unsafe fn load_i16_to_i64(self, p: *const u8) -> Self::I64;
    unsafe fn load_u16_to_i64(self, p: *const u8) -> Self::I64;
    unsafe fn load_i32_to_i64(self, p: *const u8) -> Self::I64;
    unsafe fn load_u32_to_i64(self, p: *const u8) -> Self::I64;
    // One of the four units of the group at `p`.
    unsafe fn load_i8_to_i32<const UNIT: usize>(self, p: *const u8) -> Self::I32;
    unsafe fn load_u8_to_i32<const UNIT: usize>(self, p: *const u8) -> Self::I32;
    unsafe fn load_i16_to_i32<const UNIT: usize>(self, p: *const u8) -> Self::I32;
    unsafe fn load_u16_to_i32<const UNIT: usize>(self, p: *const u8) -> Self::I32;
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> Self::F32;
    unsafe fn store_i8(self, p: *mut u8, x: Self::I8);
    unsafe fn store_i16(self, p: *mut u8, x: Self::I16);
    unsafe fn store_i32(self, p: *mut u8, x: Self::I32);
    unsafe fn store_i64(self, p: *mut u8, x: Self::I64);
    unsafe fn store_f32(self, p: *mut u8, x: Self::F32);
    unsafe fn store_f64(self, p: *mut u8, x: Self::F64);

    // A value in every lane.
    fn splat_i8(self, x: i8) -> Self::I8;
    fn splat_i16(self, x: i16) -> Self::I16;
    fn splat_i32(self, x: i32) -> Self::I32;
    fn splat_i64(self, x: i64) -> Self::I64;
    fn splat_f32(self, x: f32) -> Self::F32;
    fn splat_f64(self, x: f64) -> Self::F64;

    // float32
    fn add_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn sub_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn mul_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn div_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a · b + c`, rounded once where the level [fuses](Simd::FUSES).
    fn fma_f32(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// `c − a · b`, as above.
    fn nfma_f32(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// The lesser; of NaN and a number either.
    fn min_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The greater; of NaN and a number either.
    fn max_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The greater; `b`, a number, where `a` is NaN.
    fn max_number_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The lesser; `b`, a number, where `a` is NaN.
    fn min_number_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn abs_f32(self, a: Self::F32) -> Self::F32;
    fn eq_f32(self, a: Self::F32, b: Self::F32) -> Self::M32;
    fn lt_f32(self, a: Self::F32, b: Self::F32) -> Self::M32;
    fn le_f32(self, a: Self::F32, b: Self::F32) -> Self::M32;
    fn is_nan_f32(self, a: Self::F32) -> Self::M32;
    fn select_f32(self, mask: Self::M32, a: Self::F32, b: Self::F32) -> Self::F32;
    fn bits_f32(self, a: Self::F32) -> Self::I32;
    fn f32_from_bits(self, a: Self::I32) -> Self::F32;
    /// The nearest integral value in the direction of `R`.
    fn round_f32(self, a: Self::F32, rounding: impl Round) -> Self::F32;

    // float64
    fn add_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn sub_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn mul_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn div_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// `a · b + c`, rounded once where the level [fuses](Simd::FUSES).
    fn fma_f64(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// `c − a · b`, as above.
    fn nfma_f64(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// The lesser; of NaN and a number either.
    fn min_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// The greater; of NaN and a number either.
    fn max_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// The greater; `b`, a number, where `a` is NaN.
    fn max_number_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// The lesser; `b`, a number, where `a` is NaN.
    fn min_number_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn abs_f64(self, a: Self::F64) -> Self::F64;
    fn eq_f64(self, a: Self::F64, b: Self::F64) -> Self::M64;
    fn lt_f64(self, a: Self::F64, b: Self::F64) -> Self::M64;
    fn le_f64(self, a: Self::F64, b: Self::F64) -> Self::M64;
    fn is_nan_f64(self, a: Self::F64) -> Self::M64;
    fn select_f64(self, mask: Self::M64, a: Self::F64, b: Self::F64) -> Self::F64;
    fn bits_f64(self, a: Self::F64) -> Self::I64;
    fn f64_from_bits(self, a: Self::I64) -> Self::F64;
    /// The nearest integral value in the direction of `R`.
    fn round_f64(self, a: Self::F64, rounding: impl Round) -> Self::F64;

    // Masks
    fn and_m32(self, a: Self::M32, b: Self::M32) -> Self::M32;
    fn or_m32(self, a: Self::M32, b: Self::M32) -> Self::M32;
    /// `!a & b`.
    fn andnot_m32(self, a: Self::M32, b: Self::M32) -> Self::M32;
    /// All ones where the mask is set, else 0.
    fn mask_to_i32(self, mask: Self::M32) -> Self::I32;
    fn any_m32(self, mask: Self::M32) -> bool;
    fn mask_false(self) -> Self::M32;
    fn and_m64(self, a: Self::M64, b: Self::M64) -> Self::M64;
    /// `!a & b`.
    fn andnot_m64(self, a: Self::M64, b: Self::M64) -> Self::M64;
    fn mask_to_i64(self, mask: Self::M64) -> Self::I64;
    fn any_m64(self, mask: Self::M64) -> bool;

    // 8-bit integers
    fn sub_i8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn and_i8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn or_i8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn xor_i8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn min_i8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn max_i8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn min_u8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    fn max_u8(self, a: Self::I8, b: Self::I8) -> Self::I8;
    /// `a` where `x` equals `key`, else `b`.
    fn select_eq_i8(self, x: Self::I8, key: Self::I8, a: Self::I8, b: Self::I8) -> Self::I8;
    fn nonzero_i8(self, a: Self::I8) -> bool;
    /// The bytes of each element of `SIZE` bytes in reverse.
    fn swap_bytes<const SIZE: usize>(self, a: Self::I8) -> Self::I8;

    // 16-bit integers
    fn add_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn sub_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn and_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn or_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn xor_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn min_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn max_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn min_u16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn max_u16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    fn select_eq_i16(self, x: Self::I16, key: Self::I16, a: Self::I16, b: Self::I16) -> Self::I16;
    /// By the same count in every lane, below 16.
    fn shl_i16_by(self, a: Self::I16, count: u32) -> Self::I16;
    /// As [`Simd::shl_i16_by`].
    fn shr_u16_by(self, a: Self::I16, count: u32) -> Self::I16;
    fn nonzero_i16(self, a: Self::I16) -> bool;
    /// The lower halves of the products.
    fn mul_i16(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// Eight values of 16 bits that are looked up by their number.
    fn table_i16(self, values: [i16; 8]) -> Self::I16;
    /// The values with these numbers, which are below eight.
    fn look_up_i16(self, table: Self::I16, numbers: Self::I16) -> Self::I16;

    // 32-bit integers
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn sub_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// The lower halves of the products.
    fn mul_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn table_i32(self, values: [i32; 8]) -> Self::Table;
    /// The values with these numbers, which are below eight.
    fn look_up_i32(self, table: Self::Table, numbers: Self::I32) -> Self::I32;
    fn and_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `!a & b`.
    fn andnot_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn or_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn xor_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn min_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn max_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn min_u32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn max_u32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn eq_i32(self, a: Self::I32, b: Self::I32) -> Self::M32;
    /// Signed.
    fn lt_i32(self, a: Self::I32, b: Self::I32) -> Self::M32;
    fn select_i32(self, mask: Self::M32, a: Self::I32, b: Self::I32) -> Self::I32;
    fn shl_i32<const N: i32>(self, a: Self::I32) -> Self::I32;
    fn shr_u32<const N: i32>(self, a: Self::I32) -> Self::I32;
    fn shr_i32<const N: i32>(self, a: Self::I32) -> Self::I32;
    /// By the same count in every lane, below 32.
    fn shl_i32_by(self, a: Self::I32, count: u32) -> Self::I32;
    /// As [`Simd::shl_i32_by`].
    fn shr_u32_by(self, a: Self::I32, count: u32) -> Self::I32;
    fn nonzero_i32(self, a: Self::I32) -> bool;

    // 64-bit integers
    fn add_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn sub_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn and_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    /// `!a & b`.
    fn andnot_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn or_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn xor_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn eq_i64(self, a: Self::I64, b: Self::I64) -> Self::M64;
    /// Signed.
    fn lt_i64(self, a: Self::I64, b: Self::I64) -> Self::M64;
    fn select_i64(self, mask: Self::M64, a: Self::I64, b: Self::I64) -> Self::I64;
    fn shr_u64<const N: i32>(self, a: Self::I64) -> Self::I64;
    fn nonzero_i64(self, a: Self::I64) -> bool;

    // Float to integer, for what rounds into the integer's range; for the rest see `INVALID_IS_MIN`.
    /// `NearestAway` is right for magnitudes below 2^22; beyond, the result may be one too far from zero.
    fn f32_to_i32(self, a: Self::F32, rounding: impl Round) -> Self::I32;
    /// `NearestAway` is right for magnitudes below 2^51, which is all that fits.
    fn f64_to_i32(self, a: [Self::F64; 2], rounding: impl Round) -> Self::I32;
    /// An integral value of magnitude below 2^63; others to anything.
    fn integral_f64_to_i64(self, a: Self::F64) -> Self::I64;
    /// An integral value from 0 to below 2^64; others to anything.
    fn integral_f64_to_u64(self, a: Self::F64) -> Self::I64;

    // Integer to float, to nearest-even.
    fn i32_to_f32(self, a: Self::I32) -> Self::F32;
    fn i32_to_f64(self, a: Self::I32) -> [Self::F64; 2];
    fn u32_to_f64(self, a: Self::I32) -> [Self::F64; 2];
    fn i64_to_f64(self, a: Self::I64) -> Self::F64;
    fn u64_to_f64(self, a: Self::I64) -> Self::F64;

    // Float to float; NaNs become quiet and keep their sign and leading payload bits.
    fn f16_to_f32(self, a: Self::I16) -> [Self::F32; 2];
    fn f32_to_f64(self, a: Self::F32) -> [Self::F64; 2];
    /// To nearest-even; what overflows becomes infinite.
    fn f64_to_f32(self, a: [Self::F64; 2]) -> Self::F32;
    /// In the direction of `R` as IEEE 754 has it; see [`Simd::ROUNDS_F16`]. Not for `NearestAway`.
    fn f32_to_f16(self, a: Self::F32, b: Self::F32, rounding: impl Round) -> Self::I16;

    // Integers to wider and narrower ones.
    fn i32_to_i64(self, a: Self::I32) -> [Self::I64; 2];
    /// The lower halves.
    fn low_i64_to_i32(self, a: [Self::I64; 2]) -> Self::I32;
    /// Signed to signed, saturating.
    fn saturate_i64_to_i32(self, a: [Self::I64; 2]) -> Self::I32;
    /// Unsigned to unsigned, saturating.
    fn saturate_u64_to_u32(self, a: [Self::I64; 2]) -> Self::I32;
    /// The lowest bytes of a group.
    fn low_i32_to_i8(self, group: [Self::I32; 4]) -> Self::I8;
    /// The lower halves.
    fn low_i32_to_i16(self, a: Self::I32, b: Self::I32) -> Self::I16;
    /// The upper halves.
    fn high_i32_to_i16(self, a: Self::I32, b: Self::I32) -> Self::I16;
    /// The lower halves.
    fn low_i16_to_i8(self, a: Self::I16, b: Self::I16) -> Self::I8;
    // Packing: signed lanes, saturating, two registers into one, whose order is the level's own until one of
    // the `order` operations has put it right.
    fn pack_i32_to_i16(self, a: Self::I32, b: Self::I32) -> Self::I16;
    fn pack_i32_to_u16(self, a: Self::I32, b: Self::I32) -> Self::I16;
    fn pack_i16_to_i8(self, a: Self::I16, b: Self::I16) -> Self::I8;
    fn pack_i16_to_u8(self, a: Self::I16, b: Self::I16) -> Self::I8;
    /// Behind one packing to 16 bits.
    fn order_i16(self, a: Self::I16) -> Self::I16;
    /// Behind one packing, from 16 to 8 bits.
    fn order_i8(self, a: Self::I8) -> Self::I8;
    /// Behind two packings, from 32 by 16 to 8 bits.
    fn unscramble_two_packs(self, a: Self::I8) -> Self::I8;
}

/// Registers that look bytes up in a table of all of them.
pub(crate) trait LookUpBytes: Simd {
    /// 256 bytes.
    type ByteTable: Copy + Send + Sync + 'static;

    fn byte_table(self, values: &[u8; 256]) -> Self::ByteTable;
    /// The values with these numbers.
    fn look_up_i8(self, table: Self::ByteTable, numbers: Self::I8) -> Self::I8;
}

/// A unit of float32.
#[derive(Clone, Copy)]
pub(crate) struct F32s<S: Simd>(pub(crate) S::F32);

/// A unit of float64.
#[derive(Clone, Copy)]
pub(crate) struct F64s<S: Simd>(pub(crate) [S::F64; 2]);

/// A register of 8-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct I8s<S: Simd>(pub(crate) S::I8);

/// A register of 16-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct I16s<S: Simd>(pub(crate) S::I16);

/// A unit of 32-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct I32s<S: Simd>(pub(crate) S::I32);

/// A unit of 64-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct I64s<S: Simd>(pub(crate) [S::I64; 2]);
