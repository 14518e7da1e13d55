//! Reading elements as units: narrow integers as 32-bit ones, narrow floats as float32.

use crate::pipeline::Load;
use crate::simd::{F32s, F64, F64s, I32s, I64, I64s, Pair, Simd};

/// The place of a unit in the group at `p`, of elements of `SIZE` bytes.
#[inline(always)]
fn unit<S: Simd, const UNIT: usize, const SIZE: usize>(p: *const u8) -> *const u8 {
    p.wrapping_add(UNIT * (S::BYTES / 4) * SIZE)
}

/// Two registers of 64-bit lanes, which are `apart`; `load` loads one of them.
#[inline(always)]
fn pair<S: Simd, const UNIT: usize, const SIZE: usize, R>(
    p: *const u8,
    apart: usize,
    load: impl Fn(*const u8) -> R + Copy,
) -> Pair<R> {
    // Each run of 2 · `apart` registers is shared out: its unit k has the registers k and k + `apart`.
    let first = UNIT / apart * apart + UNIT;
    let step = S::BYTES / 8 * SIZE;
    Pair(load(p.wrapping_add(first * step)), load(p.wrapping_add((first + apart) * step)))
}

/// Elements of a type, named as Zarr names it; integers signed or not.
macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident $(<$signed:ident>)? $size:literal $unit:ident,
        |$simd:ident, $p:ident, $apart:pat_param| $load:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name$(<const $signed: bool>)?;

        // SAFETY: each expression loads the unit with this number of a group of such elements.
        unsafe impl<S: Simd, $(const $signed: bool)?> Load<S> for $name$(<$signed>)? {
            const SIZE: usize = $size;
            const PAIRS: bool = size_of::<$unit<S>>() > S::BYTES;
            type Unit = $unit<S>;
            #[inline(always)]
            unsafe fn load<const UNIT: usize>(
                self,
                $simd: S,
                $p: *const u8,
                $apart: usize,
            ) -> $unit<S> {
                // SAFETY: the caller vouches for the group, and this is a unit of it, or one of its two registers.
                unsafe { $load }
            }
        }
    )*};
}

loads! {
    Int8<SIGNED> 1 I32s, |simd, p, _| simd.load_i8_to_i32::<SIGNED, UNIT>(p);
    Int16<SIGNED> 2 I32s, |simd, p, _| simd.load_i16_to_i32::<SIGNED, UNIT>(p);
    /// `int32` and `uint32`.
    Int32 4 I32s, |simd, p, _| I32s::load(simd, unit::<S, UNIT, 4>(p));
    Float16 2 F32s, |simd, p, _| simd.load_f16_to_f32::<UNIT>(p);
    /// `bfloat16`, the upper half of a float32. Signalling NaNs stay so.
    BFloat16 2 F32s, |simd, p, _| {
        F32s::from_bits(simd.load_i16_to_i32::<false, UNIT>(p).shl::<16>())
    };
    Float32 4 F32s, |simd, p, _| F32s::load(simd, unit::<S, UNIT, 4>(p));
    Float64 8 F64s, |simd, p, apart| {
        pair::<S, UNIT, 8, _>(p, apart, #[inline(always)] |p| F64::load(simd, p))
    };
    /// `int64` and `uint64`.
    Int64 8 I64s, |simd, p, apart| {
        pair::<S, UNIT, 8, _>(p, apart, #[inline(always)] |p| I64::load(simd, p))
    };
    Int8To64<SIGNED> 1 I64s, |simd, p, apart| {
        pair::<S, UNIT, 1, _>(p, apart, #[inline(always)] |p| simd.load_i8_to_i64::<SIGNED>(p))
    };
    Int16To64<SIGNED> 2 I64s, |simd, p, apart| {
        pair::<S, UNIT, 2, _>(p, apart, #[inline(always)] |p| simd.load_i16_to_i64::<SIGNED>(p))
    };
    Int32To64<SIGNED> 4 I64s, |simd, p, apart| {
        pair::<S, UNIT, 4, _>(p, apart, #[inline(always)] |p| simd.load_i32_to_i64::<SIGNED>(p))
    };
}
