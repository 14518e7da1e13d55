//! Reading elements as units: narrow integers as 32-bit ones, narrow floats as float32.

use crate::pipeline::Load;
use crate::simd::{F32s, F64, F64s, I32s, I64, I64s, Pair, Simd};

/// The place of a unit in the group at `p`, of elements of `SIZE` bytes.
#[inline(always)]
fn unit<S: Simd, const UNIT: usize, const SIZE: usize>(p: *const u8) -> *const u8 {
    p.wrapping_add(UNIT * (S::BYTES / 4) * SIZE)
}

/// Elements of a type, named as Zarr names it; integers signed or not.
macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident $(<$signed:ident>)? $size:literal $unit:ident,
        |$simd:ident, $p:ident| $load:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name$(<const $signed: bool>)?;

        impl<S: Simd, $(const $signed: bool)?> Load<S> for $name$(<$signed>)? {
            const SIZE: usize = $size;
            type Unit = $unit<S>;
            #[inline(always)]
            unsafe fn load<const UNIT: usize>(self, $simd: S, $p: *const u8) -> $unit<S> {
                // SAFETY: the caller vouches for the group, and this is a unit of it.
                unsafe { $load }
            }
        }
    )*};
}

loads! {
    Int8<SIGNED> 1 I32s, |simd, p| simd.load_i8_to_i32::<SIGNED, UNIT>(p);
    Int16<SIGNED> 2 I32s, |simd, p| simd.load_i16_to_i32::<SIGNED, UNIT>(p);
    /// `int32` and `uint32`.
    Int32 4 I32s, |simd, p| I32s::load(simd, unit::<S, UNIT, 4>(p));
    Float16 2 F32s, |simd, p| simd.load_f16_to_f32::<UNIT>(p);
    Float32 4 F32s, |simd, p| F32s::load(simd, unit::<S, UNIT, 4>(p));
}

/// `bfloat16`, the upper half of a float32. Signalling NaNs stay so.
#[derive(Clone, Copy)]
pub(crate) struct BFloat16;

impl<S: Simd> Load<S> for BFloat16 {
    const SIZE: usize = 2;
    type Unit = F32s<S>;
    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let half = unsafe { simd.load_i16_to_i32::<false, UNIT>(p) };
        F32s::from_bits(half.shl::<16>())
    }
}

/// Elements of 64 bits, or shorter ones that become such.
macro_rules! wide_loads {
    ($($(#[$doc:meta])* $name:ident $(<$signed:ident>)? $size:literal $unit:ident,
        |$simd:ident, $p:ident| $load:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name$(<const $signed: bool>)?;

        impl<S: Simd, $(const $signed: bool)?> Load<S> for $name$(<$signed>)? {
            const SIZE: usize = $size;
            type Unit = $unit<S>;
            #[inline(always)]
            unsafe fn load<const UNIT: usize>(self, $simd: S, p: *const u8) -> $unit<S> {
                let $p = unit::<S, UNIT, $size>(p);
                // SAFETY: the caller vouches for the group; this is a unit of it, which is or becomes two registers.
                let low = unsafe { $load };
                let $p = $p.wrapping_add(S::BYTES / 8 * $size);
                // SAFETY: as above.
                let high = unsafe { $load };
                Pair(low, high)
            }
        }
    )*};
}

wide_loads! {
    Float64 8 F64s, |simd, p| F64::load(simd, p);
    /// `int64` and `uint64`.
    Int64 8 I64s, |simd, p| I64::load(simd, p);
    Int8To64<SIGNED> 1 I64s, |simd, p| simd.load_i8_to_i64::<SIGNED>(p);
    Int16To64<SIGNED> 2 I64s, |simd, p| simd.load_i16_to_i64::<SIGNED>(p);
    Int32To64<SIGNED> 4 I64s, |simd, p| simd.load_i32_to_i64::<SIGNED>(p);
}
