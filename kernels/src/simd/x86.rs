//! What AVX2 and AVX-512 share: how instructions become operations. pulp's safe instructions are methods of the tokens of
//! features, `$token`, which a level's token has.

/// Operations that are one instruction.
macro_rules! instructions {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $token:ident.$instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            self.$token.$instruction($($a),*)
        }
    )*};
}

/// Operations on two registers of a type that are one instruction for signed integers and one for unsigned ones.
macro_rules! signed_or_not {
    ($t:ty: $($name:ident = $token:ident $signed:ident $unsigned:ident;)*) => {$(
        #[inline(always)]
        fn $name<const SIGNED: bool>(self, a: $t, b: $t) -> $t {
            if SIGNED { self.$token.$signed(a, b) } else { self.$token.$unsigned(a, b) }
        }
    )*};
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
        impl<$($generics)*> Lanes<$t> for $level {
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

/// Narrowing by the packing instructions: signed and unsigned, from 32 to 16 bits, and from 16 to 8.
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
    };
}

pub(super) use {instructions, lanes, packing, signed_or_not, widening_loads};
