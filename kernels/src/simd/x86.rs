//! The common part of AVX2 and AVX-512: how instructions become operations. pulp's safe instructions are methods of the tokens of
//! features, `$token`, which a level's token has; `I` is a level's register of integers.

use core::arch::x86_64::{
    _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF,
    _MM_FROUND_TO_ZERO,
};

/// Operations that are one instruction.
macro_rules! instructions {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $token:ident.$instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            self.$token.$instruction($($a),*)
        }
    )*};
}

/// Integers of each width that has instructions for the lesser and the greater; `bitwise!` has the other operations.
macro_rules! int_lanes {
    ($level:tt: $($t:ident $token:ident $min:ident $min_u:ident $max:ident $max_u:ident;)*) => {
        $(int_lanes! {@$level $t $token $min $min_u $max $max_u})*
    };
    (@([$($generics:tt)*] $level:ty) $t:ident $token:ident $min:ident $min_u:ident $max:ident $max_u:ident) => {
        impl<$($generics)*> IntLanes<$t> for $level {
            bitwise!();
            #[inline(always)]
            fn min<const SIGNED: bool>(self, a: I, b: I) -> I {
                if SIGNED { self.$token.$min(a, b) } else { self.$token.$min_u(a, b) }
            }
            #[inline(always)]
            fn max<const SIGNED: bool>(self, a: I, b: I) -> I {
                if SIGNED { self.$token.$max(a, b) } else { self.$token.$max_u(a, b) }
            }
        }
    };
}

/// Products of integers, and shifts by the same count in every lane.
macro_rules! product_and_shifts {
    ($token:ident $mul:ident $shl:ident $shr:ident) => {
        instructions! {
            mul(a: I, b: I) -> I = $token.$mul;
        }
        #[inline(always)]
        fn shl_by(self, a: I, count: u32) -> I {
            self.$token.$shl(a, self.sse2._mm_cvtsi32_si128(count as i32))
        }
        #[inline(always)]
        fn shr_by(self, a: I, count: u32) -> I {
            self.$token.$shr(a, self.sse2._mm_cvtsi32_si128(count as i32))
        }
    };
}

pub(super) const NEAREST_EVEN: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
pub(super) const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
pub(super) const TOWARDS_POSITIVE: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
pub(super) const TOWARDS_NEGATIVE: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

/// An instruction with its own rounding, for each that the CPU has; `$away` for the fifth.
macro_rules! rounded {
    ($rounding:expr, $token:expr, $instruction:ident, $a:expr, $away:expr) => {
        match $rounding.rounding() {
            Rounding::NearestEven => $token.$instruction::<{ $crate::simd::x86::NEAREST_EVEN }>($a),
            Rounding::TowardsZero => $token.$instruction::<{ $crate::simd::x86::TOWARDS_ZERO }>($a),
            Rounding::TowardsPositive => {
                $token.$instruction::<{ $crate::simd::x86::TOWARDS_POSITIVE }>($a)
            }
            Rounding::TowardsNegative => {
                $token.$instruction::<{ $crate::simd::x86::TOWARDS_NEGATIVE }>($a)
            }
            Rounding::NearestAway => $away,
        }
    };
}

/// Lanes of each type: their register, and how it is read, written, filled, added and subtracted. `$level` is the
/// level's token with its generics.
macro_rules! lanes {
    ($level:tt: $($t:ident $raw:ident $load:ident $store:ident $splat_token:ident $splat:ident
        $token:ident $add:ident $sub:ident;)*) => {
        $(lanes! {@$level $t $raw $load $store {
            splat(x: $t) -> $raw = $splat_token.$splat;
            add(a: $raw, b: $raw) -> $raw = $token.$add;
            sub(a: $raw, b: $raw) -> $raw = $token.$sub;
        }})*
    };
    (@([$($generics:tt)*] $level:ty) $t:ident $raw:ident $load:ident $store:ident $instructions:tt) => {
        // SAFETY: `Raw` is the register that each instruction loads or stores whole.
        unsafe impl<$($generics)*> Lanes<$t> for $level {
            type Raw = $raw;
            #[inline(always)]
            unsafe fn load(self, p: *const u8) -> $raw {
                // SAFETY: the caller vouches for the memory, the token for the instruction.
                unsafe { $load(p.cast()) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut u8, x: $raw) {
                // SAFETY: as above.
                unsafe { $store(p.cast(), x) }
            }
            instructions! $instructions
        }
    };
}

/// Loads that widen to one register, or to that of a unit of the group, by an instruction for signed elements and one for
/// unsigned ones.
macro_rules! widening_loads {
    ($($name:ident -> $t:ident = $bytes:ident $token:ident $signed:ident $unsigned:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name<const SIGNED: bool>(self, p: *const u8) -> Register<Self, $t> {
            // SAFETY: the caller vouches for the memory.
            let narrow = unsafe { $bytes(p.cast()) };
            Register::new(
                self,
                if SIGNED { self.$token.$signed(narrow) } else { self.$token.$unsigned(narrow) },
            )
        }
    )*};
    ($(unit $name:ident $size:literal = $bytes:ident $token:ident $signed:ident $unsigned:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name<const SIGNED: bool, const UNIT: usize>(self, p: *const u8) -> I32s<Self> {
            // SAFETY: the caller vouches for the group.
            let narrow = unsafe { $bytes(p.wrapping_add(UNIT * (Self::BYTES / 4) * $size).cast()) };
            Register::new(
                self,
                if SIGNED { self.$token.$signed(narrow) } else { self.$token.$unsigned(narrow) },
            )
        }
    )*};
}

/// Narrowing: integers by the packing instructions, signed and unsigned, from 32 to 16 bits, and from 16 to 8; floats by
/// halves.
macro_rules! packing {
    ($token:ident $pack_32:ident $pack_32_u:ident $pack_16:ident $pack_16_u:ident) => {
        #[inline(always)]
        fn pack_i32_to_i16<const SIGNED: bool>(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
            let (a, b) = (a.raw, b.raw);
            Register::new(
                self,
                if SIGNED { self.$token.$pack_32(a, b) } else { self.$token.$pack_32_u(a, b) },
            )
        }

        #[inline(always)]
        fn pack_i16_to_i8<const SIGNED: bool>(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self> {
            let (a, b) = (a.raw, b.raw);
            Register::new(
                self,
                if SIGNED { self.$token.$pack_16(a, b) } else { self.$token.$pack_16_u(a, b) },
            )
        }

        #[inline(always)]
        fn low_i32_to_i8(self, group: [I32s<Self>; 4]) -> I8s<Self> {
            shared::low_i32_to_i8(self, group)
        }

        #[inline(always)]
        fn low_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
            shared::low_i32_to_i16(self, a, b)
        }

        #[inline(always)]
        fn high_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
            shared::high_i32_to_i16(self, a, b)
        }

        #[inline(always)]
        fn low_i16_to_i8(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self> {
            shared::low_i16_to_i8(self, a, b)
        }

        #[inline(always)]
        fn f32_to_f16(self, a: F32s<Self>, b: F32s<Self>, rounding: impl Round) -> I16s<Self> {
            let low = self.half_to_f16(a.raw, rounding);
            Register::new(self, self.join(low, self.half_to_f16(b.raw, rounding)))
        }

        #[inline(always)]
        fn order_i16(self, a: I16s<Self>) -> I16s<Self> {
            Register::new(self, self.order(a.raw))
        }

        #[inline(always)]
        fn order_i8_packed_once(self, a: I8s<Self>) -> I8s<Self> {
            Register::new(self, self.order(a.raw))
        }
    };
}

pub(super) use {
    instructions, int_lanes, lanes, packing, product_and_shifts, rounded, widening_loads,
};
