//! Vector registers, and the instructions of a level on them.
//!
//! [`Simd`] and the traits of [`lanes`] have the operations, each one to a few instructions, without defaults: a
//! level that lacks one does not compile. A level is a file beside this one, which implements them on a token; a
//! value of that type exists only where the CPU has the features. Algorithms are in [`ops`](crate::ops), written
//! once over [`Register`].
//!
//! A *unit* is as many elements as a register has 32-bit lanes: one register of 32-bit lanes, two of 64-bit ones
//! ([`unit`]). Four units are a *group*: as many elements as a register has bytes.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
pub(crate) mod avx512;
#[cfg(any(target_arch = "aarch64", all(target_arch = "wasm32", target_feature = "simd128")))]
mod bytes16;
mod lanes;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
mod register;
mod round;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
// other levels have an instruction for some
mod shared;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) mod simd128;
mod unit;
#[cfg(target_arch = "x86_64")]
mod x86;

use lanes::ShiftLanes;
pub(crate) use lanes::{
    CompareLanes, FloatElement, FloatLanes, IntElement, IntLanes, MaskLanes, TableLanes,
};
pub(crate) use register::{Float, Int, Mask, Operand, Register};
pub(crate) use round::{NearestEven, Round};
pub(crate) use shared::{TWO_P52, TWO_P63, TWO_P84};
pub(crate) use unit::{F32s, F64, F64s, I8s, I16s, I32s, I64, I64s, Pair, Unit};

use crate::stages::{Kernel, RunKernel};

/// The registers and operations of a level.
///
/// # Safety
/// A register of every type has `BYTES` bytes. The token exists only where the CPU has the features that `vectorize` compiles
/// for. A load reads as many elements as its result has, or, of a group, only the group.
pub(crate) unsafe trait Simd:
    IntLanes<i8>
    + CompareLanes<i8>
    + TableLanes<i16>
    + CompareLanes<i16>
    + TableLanes<i32>
    + ShiftLanes<i32>
    + CompareLanes<i32>
    + IntLanes<i64>
    + ShiftLanes<i64>
    + CompareLanes<i64>
    + FloatLanes<f32>
    + FloatLanes<f64>
{
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

    /// Whether `mul_add` and its like round once; otherwise the product is rounded too, unless it is exact.
    const FUSES: bool;

    /// Whether a select takes one instruction of one operation; otherwise logic on masks may be cheaper.
    const SELECTS_IN_ONE: bool;

    /// Whether packing keeps the halves of registers apart: a packed register has the lower halves of both operands below the upper
    /// halves. Others are packed in order, or in quarters.
    const PACKS_HALVES: bool;

    /// Whether `max_number` and its like take one instruction.
    const MAX_NUMBER_IN_ONE: bool;

    /// [`run_kernel`](crate::stages::run_kernel) of a kernel, compiled with the level's features.
    fn vectorize<K: Kernel>(self) -> RunKernel;

    // Loads of as many narrower integers, signed or not, as widen to one register.
    // SAFETY, for all: the memory that is read, of any alignment, is the caller's.
    unsafe fn load_i8_to_i16<const SIGNED: bool>(self, p: *const u8) -> I16s<Self>;
    unsafe fn load_i8_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self>;
    unsafe fn load_i16_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self>;
    unsafe fn load_i32_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self>;
    // One of the four units of the group at `p`.
    unsafe fn load_i8_to_i32<const SIGNED: bool, const UNIT: usize>(
        self,
        p: *const u8,
    ) -> I32s<Self>;
    unsafe fn load_i16_to_i32<const SIGNED: bool, const UNIT: usize>(
        self,
        p: *const u8,
    ) -> I32s<Self>;
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F32s<Self>;

    /// The bytes of each element of `SIZE` bytes in reverse.
    fn swap_bytes<const SIZE: usize>(self, a: I8s<Self>) -> I8s<Self>;

    // Float to integer, for values that round into the integer's range; for others see `INVALID_IS_MIN`.
    /// `NearestAway` is right for magnitudes below 2^22; beyond, the result may be one too far from zero.
    fn f32_to_i32(self, a: F32s<Self>, rounding: impl Round) -> I32s<Self>;
    /// `NearestAway` is right for magnitudes below 2^51, which is all that fits.
    fn f64_to_i32(self, a: F64s<Self>, rounding: impl Round) -> I32s<Self>;
    /// An integral value of magnitude below 2^63, or unsigned, from 0 to below 2^64; others to anything.
    fn integral_f64_to_i64<const SIGNED: bool>(self, a: F64<Self>) -> I64<Self>;

    // Integer, signed or not, to float, to nearest-even.
    fn i32_to_f32(self, a: I32s<Self>) -> F32s<Self>;
    fn i32_to_f64<const SIGNED: bool>(self, a: I32s<Self>) -> F64s<Self>;
    fn i64_to_f64<const SIGNED: bool>(self, a: I64<Self>) -> F64<Self>;

    // Float to float; NaNs become quiet and keep their sign and leading payload bits.
    fn f16_to_f32(self, a: I16s<Self>) -> [F32s<Self>; 2];
    fn f32_to_f64(self, a: F32s<Self>) -> F64s<Self>;
    /// To nearest-even; a value that overflows becomes infinite.
    fn f64_to_f32(self, a: F64s<Self>) -> F32s<Self>;
    /// In the direction of the rounding as IEEE 754 has it; see [`Simd::ROUNDS_F16`]. Not for `NearestAway`.
    fn f32_to_f16(self, a: F32s<Self>, b: F32s<Self>, rounding: impl Round) -> I16s<Self>;

    // Integers to wider and narrower ones.
    fn i32_to_i64(self, a: I32s<Self>) -> I64s<Self>;
    /// The lower halves.
    fn low_i64_to_i32(self, a: I64s<Self>) -> I32s<Self>;
    /// Signed to signed or unsigned to unsigned, saturating.
    fn saturate_i64_to_i32<const SIGNED: bool>(self, a: I64s<Self>) -> I32s<Self>;
    /// The lowest bytes of a group.
    fn low_i32_to_i8(self, group: [I32s<Self>; 4]) -> I8s<Self>;
    /// The lower halves.
    fn low_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self>;
    /// The upper halves.
    fn high_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self>;
    /// The lower halves.
    fn low_i16_to_i8(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self>;
    // Packing: signed lanes to signed or unsigned ones, saturating, two registers into one, whose order is the
    // level's own until one of the `order` operations has put it right.
    fn pack_i32_to_i16<const SIGNED: bool>(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self>;
    fn pack_i16_to_i8<const SIGNED: bool>(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self>;
    /// Behind one packing to 16 bits.
    fn order_i16(self, a: I16s<Self>) -> I16s<Self>;
    /// Behind one packing, from 16 to 8 bits.
    fn order_i8_packed_once(self, a: I8s<Self>) -> I8s<Self>;
    /// Behind two packings, from 32 by 16 to 8 bits.
    fn order_i8_packed_twice(self, a: I8s<Self>) -> I8s<Self>;
}

/// Registers that look bytes up in a table of all of them.
pub(crate) trait LookUpBytes: Simd {
    /// 256 bytes.
    type ByteTable: Copy + Send + Sync + 'static;

    fn byte_table(self, values: &[u8; 256]) -> Self::ByteTable;
    /// The values with these numbers.
    fn look_up_i8(self, table: Self::ByteTable, numbers: I8s<Self>) -> I8s<Self>;
}
