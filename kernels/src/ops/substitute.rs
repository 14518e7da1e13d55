//! Values in place of up to eight keys, which may include NaN.

use super::float::FloatUnit;
use super::int::IntUnit;
use crate::pipeline::{Each, infallible};
use crate::simd::{F32s, F64s, I16s, I32s, I64s, Simd};

/// What `each` makes of integers, but for one: `value` in place of the output of `key`.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceKey<E, V> {
    pub(crate) key: i64,
    pub(crate) value: V,
    /// One that may fail takes zero, which it gets in place of the key.
    pub(crate) each: E,
}

/// What integers of type `U` become, lane by lane.
pub(crate) trait OfInt<S: Simd, U> {
    type Value: Copy + Send + Sync + 'static;

    /// `value` where `x`, which this is of, is `key`.
    fn replace_key(self, simd: S, x: U, key: i64, value: Self::Value) -> Self;
}

impl<S: Simd, U: IntUnit<S>> OfInt<S, U> for U {
    type Value = i64;
    #[inline(always)]
    fn replace_key(self, simd: S, x: U, key: i64, value: i64) -> U {
        x.select_eq(simd, U::splat(simd, key), U::splat(simd, value), self)
    }
}

impl<S: Simd> OfInt<S, I32s<S>> for F32s<S> {
    type Value = f64;
    #[inline(always)]
    fn replace_key(self, simd: S, x: I32s<S>, key: i64, value: f64) -> Self {
        let is_key = simd.eq_i32(x.0, simd.splat_i32(key as i32));
        Self(simd.select_f32(is_key, simd.splat_f32(value as f32), self.0))
    }
}

/// Exact, so the key is compared as a float.
impl<S: Simd> OfInt<S, I32s<S>> for F64s<S> {
    type Value = f64;
    #[inline(always)]
    fn replace_key(self, simd: S, _: I32s<S>, key: i64, value: f64) -> Self {
        self.select_eq(simd, Self::splat(simd, key as f64), Self::splat(simd, value), self)
    }
}

impl<S: Simd> OfInt<S, I64s<S>> for F64s<S> {
    type Value = f64;
    #[inline(always)]
    fn replace_key(self, simd: S, x: I64s<S>, key: i64, value: f64) -> Self {
        let (key, value) = (simd.splat_i64(key), simd.splat_f64(value));
        let ([low, high], [x_low, x_high]) = (self.0, x.0);
        Self([
            simd.select_f64(simd.eq_i64(x_low, key), value, low),
            simd.select_f64(simd.eq_i64(x_high, key), value, high),
        ])
    }
}

impl<S, U, E> Each<S, U> for ReplaceKey<E, <E::Out as OfInt<S, U>>::Value>
where
    S: Simd,
    U: IntUnit<S>,
    E: Each<S, U, Out: OfInt<S, U>>,
{
    type Out = E::Out;
    type Fail = E::Fail;

    #[inline(always)]
    fn start(self, simd: S) -> E::Fail {
        self.each.start(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut E::Fail) -> E::Out {
        let can_fail = const { size_of::<E::Fail>() > 0 };
        let taken = if can_fail { x.replace_key(simd, x, self.key, 0) } else { x };
        self.each.apply(simd, taken, fail).replace_key(simd, x, self.key, self.value)
    }
    #[inline(always)]
    fn join(self, simd: S, a: E::Fail, b: E::Fail) -> E::Fail {
        self.each.join(simd, a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: E::Fail) -> bool {
        self.each.failed(simd, fail)
    }
}

/// Floats in place of floats; a NaN `nan` leaves NaN as it is.
#[derive(Clone, Copy)]
pub(crate) struct SubstituteFloats<T, const N: usize> {
    /// Keys, none of them NaN, with their values; unused places repeat another entry.
    pub(crate) entries: [(T, T); N],
    pub(crate) nan: Option<T>,
}

/// Integers in place of integers, in the low bits.
#[derive(Clone, Copy)]
pub(crate) struct SubstituteInts<const N: usize> {
    /// Keys with their values; in unused places, before all others, a key as itself.
    pub(crate) entries: [(i64, i64); N],
}

/// Elements of a 16-bit float in place of such, as bits.
#[derive(Clone, Copy)]
pub(crate) struct SubstituteShorts<const N: usize> {
    /// Patterns, none of them NaN, with what they become; unused places repeat another entry.
    pub(crate) entries: [(u16, u16); N],
    /// The greatest magnitude that is no NaN, and what NaN becomes.
    pub(crate) nan: (u16, u16),
}

/// Elements of 16 or 32 bits in place of such, by a perfect hash: each key has a place of its own in a table of eight,
/// which the upper bits of its product with the multiplier tell.
#[derive(Clone, Copy)]
pub(crate) struct PerfectHash<T> {
    multiplier: T,
    /// In a place that no key has stands one of another place, which no element that comes here equals.
    keys: [T; 8],
    values: [T; 8],
}

/// The bits of an element that a perfect hash takes.
pub(crate) trait Hashed: Copy + PartialEq {
    /// An odd number, other ones for other numbers.
    fn odd(number: u32) -> Self;
    /// The upper three bits of the product.
    fn place(self, multiplier: Self) -> usize;
}

impl Hashed for i32 {
    fn odd(number: u32) -> i32 {
        (number.wrapping_mul(0x9e37_79b9) | 1) as i32
    }
    fn place(self, multiplier: i32) -> usize {
        (self.wrapping_mul(multiplier) as u32 >> 29) as usize
    }
}

impl Hashed for i16 {
    fn odd(number: u32) -> i16 {
        (2 * number + 1) as i16
    }
    fn place(self, multiplier: i16) -> usize {
        (self.wrapping_mul(multiplier) as u16 >> 13).into()
    }
}

impl<T: Hashed> PerfectHash<T> {
    /// Multipliers that are tried. One in 420 serves eight keys, and more serve fewer.
    const TRIED: u32 = 1 << 15;

    /// The table of at least one and at most eight distinct keys with their values, as bits; of a zero, +0. None
    /// where no multiplier was found.
    pub(crate) fn new(entries: &[(T, T)]) -> Option<Self> {
        let serves = |multiplier: &T| {
            let mut taken = [false; 8];
            let mut places = entries.iter().map(|(key, _)| key.place(*multiplier));
            places.all(|place| !core::mem::replace(&mut taken[place], true))
        };
        let multiplier = (0..Self::TRIED).map(T::odd).find(serves)?;
        let mut table = [None; 8];
        for entry in entries {
            table[entry.0.place(multiplier)] = Some(*entry);
        }
        let other = *entries.first()?;
        Some(Self {
            multiplier,
            keys: table.map(|entry| entry.unwrap_or(other).0),
            values: table.map(|entry| entry.unwrap_or(other).1),
        })
    }
}

impl PerfectHash<i32> {
    /// The key and the value in the places of these bits.
    #[inline(always)]
    fn look_up<S: Simd>(self, simd: S, bits: S::I32) -> [S::I32; 2] {
        let product = simd.mul_i32(bits, simd.splat_i32(self.multiplier));
        let place = simd.shr_u32::<29>(product);
        let (keys, values) = (simd.table_i32(self.keys), simd.table_i32(self.values));
        [simd.look_up_i32(keys, place), simd.look_up_i32(values, place)]
    }
}

impl PerfectHash<i16> {
    /// As that of 32 bits.
    #[inline(always)]
    fn look_up<S: Simd>(self, simd: S, bits: S::I16) -> [S::I16; 2] {
        let product = simd.mul_i16(bits, simd.splat_i16(self.multiplier));
        let place = simd.shr_u16_by(product, 13);
        let (keys, values) = (simd.table_i16(self.keys), simd.table_i16(self.values));
        [simd.look_up_i16(keys, place), simd.look_up_i16(values, place)]
    }
}

/// As [`SubstituteFloats`], by a hash of the bits.
#[derive(Clone, Copy)]
pub(crate) struct HashedFloats {
    pub(crate) table: PerfectHash<i32>,
    pub(crate) nan: Option<f32>,
}

/// As [`SubstituteInts`], by a hash.
#[derive(Clone, Copy)]
pub(crate) struct HashedInts<T>(pub(crate) PerfectHash<T>);

/// The bits of a 16-bit float in every lane.
#[inline(always)]
fn splat<S: Simd>(simd: S, bits: u16) -> I16s<S> {
    I16s::splat(simd, bits.into())
}

infallible! {
    [U: FloatUnit<S>, const N: usize] SubstituteFloats<U::Scalar, N>: U => U, |self, simd, x| {
        let mut y = match self.nan {
            None => x,
            Some(nan) => x.replace_nan(simd, U::splat(simd, nan)),
        };
        for (key, value) in self.entries {
            y = x.select_eq(simd, U::splat(simd, key), U::splat(simd, value), y);
        }
        y
    };
    [U: IntUnit<S>, const N: usize] SubstituteInts<N>: U => U, |self, simd, x| {
        let mut y = x;
        for (key, value) in self.entries {
            if S::SELECTS_IN_ONE {
                y = x.select_eq(simd, U::splat(simd, key), U::splat(simd, value), y);
            } else {
                let (flips, zero) = (U::splat(simd, key ^ value), U::splat(simd, 0));
                let key = U::splat(simd, key);
                y = y.xor(simd, x.select_eq(simd, key, flips, zero));
            }
        }
        y
    };
    [const N: usize] SubstituteShorts<N>: I16s<S> => I16s<S>, |self, simd, x| {
        let (infinity, nan) = (splat(simd, self.nan.0), splat(simd, self.nan.1));
        let magnitude = x.and(simd, splat(simd, 0x7fff));
        let mut y = magnitude.max::<true>(simd, infinity).select_eq(simd, infinity, x, nan);
        for (key, value) in self.entries {
            y = x.select_eq(simd, splat(simd, key), splat(simd, value), y);
        }
        y
    };
    [] HashedFloats: F32s<S> => F32s<S>, |self, simd, x| {
        // −0 + 0 is +0, whose place a zero has.
        let bits = simd.bits_f32(simd.add_f32(x.0, simd.splat_f32(0.0)));
        let [key, value] = self.table.look_up(simd, bits);
        let y = match self.nan {
            None => x,
            Some(nan) => x.replace_nan(simd, F32s::splat(simd, nan)),
        };
        x.select_eq(simd, F32s(simd.f32_from_bits(key)), F32s(simd.f32_from_bits(value)), y)
    };
    [] HashedInts<i32>: I32s<S> => I32s<S>, |self, simd, x| {
        let [key, value] = self.0.look_up(simd, x.0);
        x.select_eq(simd, I32s(key), I32s(value), x)
    };
    [] HashedInts<i16>: I16s<S> => I16s<S>, |self, simd, x| {
        let [key, value] = self.0.look_up(simd, x.0);
        x.select_eq(simd, I16s(key), I16s(value), x)
    };
}
