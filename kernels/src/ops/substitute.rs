//! Values in place of up to eight keys, which may include NaN.

use super::float::FloatUnit;
use super::int::IntUnit;
use crate::pipeline::{Each, lanewise};
use crate::simd::{
    F32s, F64, F64s, Float, I16s, I32s, I64s, Int, IntElement, Register, Simd, TableLanes,
};

/// The results of `each` for integers, but for one: `value` in place of the result of `key`.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceKey<E, V> {
    pub(crate) key: i64,
    pub(crate) value: V,
    /// One that may fail takes zero, which it gets in place of the key.
    pub(crate) each: E,
}

/// The results of `each`, float32 of integers, but for up to two keys. The branches on them always go the same way.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceKeys<E> {
    pub(crate) keys: [Option<(i64, f64)>; 2],
    pub(crate) each: E,
}

/// The results for integers of type `U`, lane by lane.
pub(crate) trait OfInt<S: Simd, U> {
    type Value: Copy + Send + Sync + 'static;

    /// `value` where `x`, which this is of, is `key`.
    fn replace_key(self, simd: S, x: U, key: i64, value: Self::Value) -> Self;
}

impl<S: Simd, U: IntUnit<S>> OfInt<S, U> for U {
    type Value = i64;
    #[inline(always)]
    fn replace_key(self, _: S, x: U, key: i64, value: i64) -> U {
        x.zip(
            self,
            #[inline(always)]
            |x, y| x.select_eq(x.broadcast(key), x.broadcast(value), y),
        )
    }
}

impl<S: Simd> OfInt<S, I32s<S>> for F32s<S> {
    type Value = f64;
    #[inline(always)]
    fn replace_key(self, simd: S, x: I32s<S>, key: i64, value: f64) -> Self {
        x.eq(key as i32).select(F32s::splat(simd, value as f32), self)
    }
}

/// The conversion alone, which is exact: so the key is compared as a float.
impl<S: Simd> OfInt<S, I32s<S>> for F64s<S> {
    type Value = f64;
    #[inline(always)]
    fn replace_key(self, _: S, _: I32s<S>, key: i64, value: f64) -> Self {
        self.map(
            #[inline(always)]
            |y| y.select_eq(key as f64, value, y),
        )
    }
}

impl<S: Simd> OfInt<S, I64s<S>> for F64s<S> {
    type Value = f64;
    #[inline(always)]
    fn replace_key(self, simd: S, x: I64s<S>, key: i64, value: f64) -> Self {
        x.zip(
            self,
            #[inline(always)]
            |x, y| x.eq(key).select(F64::splat(simd, value), y),
        )
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
    fn apply(self, simd: S, x: U, fail: &E::Fail) -> E::Out {
        let can_fail = const { size_of::<E::Fail>() > 0 };
        let taken = if can_fail { x.replace_key(simd, x, self.key, 0) } else { x };
        self.each.apply(simd, taken, fail).replace_key(simd, x, self.key, self.value)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: &E::Fail) -> bool {
        self.each.failed(simd, fail)
    }
}

impl<S, E> Each<S, I32s<S>> for ReplaceKeys<E>
where
    S: Simd,
    E: Each<S, I32s<S>, Out = F32s<S>>,
{
    type Out = F32s<S>;
    type Fail = E::Fail;

    #[inline(always)]
    fn apply(self, simd: S, x: I32s<S>, fail: &E::Fail) -> F32s<S> {
        let [first, second] = self.keys;
        let mut y = self.each.apply(simd, x, fail);
        if let Some((key, value)) = first {
            y = y.replace_key(simd, x, key, value);
        }
        if let Some((key, value)) = second {
            y = y.replace_key(simd, x, key, value);
        }
        y
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: &E::Fail) -> bool {
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
    /// Patterns, none of them NaN, with their replacements; unused places repeat another entry.
    pub(crate) entries: [(u16, u16); N],
    /// The greatest magnitude that is no NaN, and the replacement of NaN.
    pub(crate) nan: (u16, u16),
}

/// Elements of 16 or 32 bits in place of such, by a perfect hash: each key has a place of its own in a table of eight,
/// which the upper bits of its product with the multiplier tell.
#[derive(Clone, Copy)]
pub(crate) struct PerfectHash<T> {
    multiplier: T,
    /// An unused place holds a key that hashes elsewhere, so no element that hashes here equals it.
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

impl<T: IntElement> PerfectHash<T> {
    /// The key and the value in the places of these bits.
    #[inline(always)]
    fn look_up<S: TableLanes<T>>(self, bits: Register<S, T>) -> [Register<S, T>; 2] {
        let place = bits.wrapping_mul(self.multiplier).shr_by(8 * size_of::<T>() as u32 - 3);
        [place.look_up(self.keys), place.look_up(self.values)]
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

lanewise! {
    [U: FloatUnit<S>, const N: usize] SubstituteFloats<U::Scalar, N>: U, |self, x| {
        let mut y = match self.nan {
            None => x,
            Some(nan) => x.replace_nan(nan),
        };
        for (key, value) in self.entries {
            y = x.select_eq(key, value, y);
        }
        y
    };
    [U: IntUnit<S>, const N: usize] SubstituteInts<N>: U, |self, x| {
        let mut y = x;
        for (key, value) in self.entries {
            y = if S::SELECTS_IN_ONE {
                x.select_eq(x.broadcast(key), x.broadcast(value), y)
            } else {
                y ^ x.select_eq(x.broadcast(key), x.broadcast(key ^ value), x.broadcast(0))
            };
        }
        y
    };
    [const N: usize] SubstituteShorts<N>: I16s<S>, |self, x| {
        let (infinity, nan) = (x.broadcast(self.nan.0.into()), x.broadcast(self.nan.1.into()));
        let magnitude = x & 0x7fff;
        let mut y = magnitude.max::<true>(infinity).select_eq(infinity, x, nan);
        for (key, value) in self.entries {
            y = x.select_eq(x.broadcast(key.into()), x.broadcast(value.into()), y);
        }
        y
    };
    [] HashedFloats: F32s<S>, |self, x| {
        // −0 + 0 is +0, whose place a zero has.
        let [key, value] = self.table.look_up((x + 0.0).to_bits());
        let y = match self.nan {
            None => x,
            Some(nan) => x.replace_nan(nan),
        };
        x.select_eq(Register::from_bits(key), Register::from_bits(value), y)
    };
    [] HashedInts<i32>: I32s<S>, |self, x| {
        let [key, value] = self.0.look_up(x);
        x.select_eq(key, value, x)
    };
    [] HashedInts<i16>: I16s<S>, |self, x| {
        let [key, value] = self.0.look_up(x);
        x.select_eq(key, value, x)
    };
}
