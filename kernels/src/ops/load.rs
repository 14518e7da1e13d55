//! Reading elements as units: narrow integers as 32-bit ones, narrow floats as float32.

use crate::pipeline::Load;
use crate::simd::{F32s, F64s, I32s, I64s, Simd};

/// Elements of a type, named as Zarr names it.
macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident $size:literal $unit:ident, |$simd:ident, $p:ident| $load:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl<S: Simd> Load<S> for $name {
            const SIZE: usize = $size;
            type Unit = $unit<S>;
            #[inline(always)]
            unsafe fn load(self, $simd: S, $p: *const u8) -> $unit<S> {
                // SAFETY: the caller vouches for a unit at `p`.
                $unit(unsafe { $load })
            }
        }
    )*};
}

loads! {
    Int8 1 I32s, |simd, p| simd.load_i8_to_i32(p);
    UInt8 1 I32s, |simd, p| simd.load_u8_to_i32(p);
    Int16 2 I32s, |simd, p| simd.load_i16_to_i32(p);
    UInt16 2 I32s, |simd, p| simd.load_u16_to_i32(p);
    /// `int32` and `uint32`.
    Int32 4 I32s, |simd, p| simd.load_i32(p);
    Float16 2 F32s, |simd, p| simd.load_f16_to_f32(p);
    Float32 4 F32s, |simd, p| simd.load_f32(p);
}

/// `bfloat16`, the upper half of a float32. Signalling NaNs stay so.
#[derive(Clone, Copy)]
pub(crate) struct BFloat16;

impl<S: Simd> Load<S> for BFloat16 {
    const SIZE: usize = 2;
    type Unit = F32s<S>;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> F32s<S> {
        // SAFETY: the caller vouches for a unit at `p`.
        let half = unsafe { simd.load_u16_to_i32(p) };
        F32s(simd.f32_from_bits(simd.shl_i32::<16>(half)))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Float64;

impl<S: Simd> Load<S> for Float64 {
    const SIZE: usize = 8;
    type Unit = F64s<S>;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> F64s<S> {
        // SAFETY: the caller vouches for a unit at `p`, which is two registers.
        let low = unsafe { simd.load_f64(p) };
        // SAFETY: as above.
        let high = unsafe { simd.load_f64(p.wrapping_add(S::BYTES)) };
        F64s([low, high])
    }
}

/// `int64` and `uint64`.
#[derive(Clone, Copy)]
pub(crate) struct Int64;

impl<S: Simd> Load<S> for Int64 {
    const SIZE: usize = 8;
    type Unit = I64s<S>;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> I64s<S> {
        // SAFETY: the caller vouches for a unit at `p`, which is two registers.
        let low = unsafe { simd.load_i64(p) };
        // SAFETY: as above.
        let high = unsafe { simd.load_i64(p.wrapping_add(S::BYTES)) };
        I64s([low, high])
    }
}

/// Shorter integers as 64-bit ones.
macro_rules! wide_loads {
    ($($name:ident $size:literal $load:ident;)*) => {$(
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl<S: Simd> Load<S> for $name {
            const SIZE: usize = $size;
            type Unit = I64s<S>;
            #[inline(always)]
            unsafe fn load(self, simd: S, p: *const u8) -> I64s<S> {
                // SAFETY: the caller vouches for a unit at `p`, which widens to two registers.
                let low = unsafe { simd.$load(p) };
                // SAFETY: as above.
                let high = unsafe { simd.$load(p.wrapping_add(S::BYTES / 8 * $size)) };
                I64s([low, high])
            }
        }
    )*};
}

wide_loads! {
    Int8To64 1 load_i8_to_i64;
    UInt8To64 1 load_u8_to_i64;
    Int16To64 2 load_i16_to_i64;
    UInt16To64 2 load_u16_to_i64;
    Int32To64 4 load_i32_to_i64;
    UInt32To64 4 load_u32_to_i64;
}
