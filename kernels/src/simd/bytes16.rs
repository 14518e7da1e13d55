//! The common part of NEON and WebAssembly's `simd128`: registers of 16 bytes, which are widened by halves, and packing that keeps
//! the order.

use super::Simd;
use super::lanes::Raw;

/// One half of a register, widened to lanes of twice the width, signed or not.
pub(super) trait WidenHalf: Simd {
    fn widen_i8<const SIGNED: bool, const HIGH: bool>(self, a: Raw<Self, i8>) -> Raw<Self, i16>;
    fn widen_i16<const SIGNED: bool, const HIGH: bool>(self, a: Raw<Self, i16>) -> Raw<Self, i32>;
    fn widen_i32<const SIGNED: bool, const HIGH: bool>(self, a: Raw<Self, i32>) -> Raw<Self, i64>;
}

/// Operations of [`Simd`] by those of [`WidenHalf`].
macro_rules! widening_by_halves {
    () => {
        // One load for the units that share a register: the compiler sees that they are the same.

        #[inline(always)]
        unsafe fn load_i8_to_i32<const SIGNED: bool, const UNIT: usize>(
            self,
            p: *const u8,
        ) -> I32s<Self> {
            // SAFETY: the caller vouches for the group, which is one register.
            let group = unsafe { Lanes::<i8>::load(self, p) };
            let wide = match UNIT {
                0 => self.widen_i16::<SIGNED, false>(self.widen_i8::<SIGNED, false>(group)),
                1 => self.widen_i16::<SIGNED, true>(self.widen_i8::<SIGNED, false>(group)),
                2 => self.widen_i16::<SIGNED, false>(self.widen_i8::<SIGNED, true>(group)),
                _ => self.widen_i16::<SIGNED, true>(self.widen_i8::<SIGNED, true>(group)),
            };
            Register::new(self, wide)
        }

        #[inline(always)]
        unsafe fn load_i16_to_i32<const SIGNED: bool, const UNIT: usize>(
            self,
            p: *const u8,
        ) -> I32s<Self> {
            // SAFETY: the caller vouches for the group, which is two registers.
            let half = unsafe { Lanes::<i16>::load(self, p.wrapping_add(UNIT / 2 * Self::BYTES)) };
            let wide = if UNIT.is_multiple_of(2) {
                self.widen_i16::<SIGNED, false>(half)
            } else {
                self.widen_i16::<SIGNED, true>(half)
            };
            Register::new(self, wide)
        }

        #[inline(always)]
        fn i32_to_i64(self, a: I32s<Self>) -> I64s<Self> {
            let low = self.widen_i32::<true, false>(a.raw);
            Pair(Register::new(self, low), Register::new(self, self.widen_i32::<true, true>(a.raw)))
        }

        #[inline(always)]
        fn order_i16(self, a: I16s<Self>) -> I16s<Self> {
            a
        }

        #[inline(always)]
        fn order_i8_packed_once(self, a: I8s<Self>) -> I8s<Self> {
            a
        }

        #[inline(always)]
        fn order_i8_packed_twice(self, a: I8s<Self>) -> I8s<Self> {
            a
        }
    };
}

pub(super) use widening_by_halves;
