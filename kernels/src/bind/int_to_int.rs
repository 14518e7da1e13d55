//! Casts from integers to integers of whole bytes.

use super::class::{IntType, Width};
use super::narrow;
use super::values::{Entry, preimage};
use super::variants::{FUSES_MAP_ENTRY, with_bool};
use crate::exact::{integer, range};
use crate::ops::int::{
    AtLeastZero, AtMost, Canonical, ClampedInt, Int16Register, Low32, LowByte, Saturated32,
    SaturatedByte, WidenedByte, Within,
};
use crate::ops::load::{Int8, Int8To64, Int16, Int16To64, Int32, Int32To64, Int64};
use crate::ops::store::StoreFull;
use crate::ops::substitute::ReplaceKey;
use crate::pipeline::{Bytes, Each, Same, Shorts, Then, Units, stage};
use crate::simd::{I8s, I16s, I32s, I64s, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange};
use alloc::vec::Vec;

/// The effect of a cast on the values of its source, besides their width.
#[derive(Clone, Copy)]
struct Conversion {
    source: IntType,
    target: IntType,
    mode: Mode,
    /// The values of the source that the target has.
    min: i128,
    max: i128,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Every value fits, or wraps.
    Low,
    Error,
    Clamp,
}

impl Conversion {
    /// The bits that a value in range, less the least one, does not set.
    fn outside(self) -> i64 {
        !(self.max - self.min) as i64
    }

    fn check<const FROM_ZERO: bool>(self) -> Within<FROM_ZERO> {
        Within { least: self.min as i64, outside: self.outside() }
    }

    fn at_most(self) -> AtMost {
        AtMost { max: self.max as i64 }
    }
}

/// The cast, with a map of one key; no stage where nothing changes. None where a key has to be looked up.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: IntType,
    cast: &Cast,
    map: &[Entry],
) -> Option<Vec<Stage>> {
    let [source_min, source_max] = range(source.element());
    let [target_min, target_max] = range(target.element());
    let mode = match cast.out_of_range {
        _ if target_min <= source_min && source_max <= target_max => Mode::Low,
        OutOfRange::Wrap => Mode::Low,
        OutOfRange::Error => Mode::Error,
        OutOfRange::Clamp => Mode::Clamp,
    };
    let (min, max) = (source_min.max(target_min), source_max.min(target_max));
    let conversion = Conversion { source, target, mode, min, max };
    Some(match *map {
        [] if mode == Mode::Low && source.width == target.width => vec![],
        [] => vec![by_width(simd, Same, conversion)?],
        [(key, output)] if FUSES_MAP_ENTRY => {
            let [key, value] = [key, output].map(|x| integer(x) as i64);
            // In `Low`, the registers have the wider type, and nothing is checked behind the replacement.
            if mode == Mode::Low || preimage(output, source.element(), cast).is_some() {
                vec![by_width(simd, ReplaceKey { key, value, each: Same }, conversion)?]
            } else {
                vec![keyed(simd, key, value, conversion)?]
            }
        }
        [_, ..] => return None,
    })
}

/// A checked or clamped cast to a type that is no wider, whose entry becomes a number that no value of the source becomes.
fn keyed<S: Simd>(simd: S, key: i64, value: i64, conversion: Conversion) -> Option<Stage> {
    use Width::{W8, W16, W32, W64};
    /// Whatever its width, a value stands in the registers as its low bits.
    fn low_bits<S: Simd, E: EachInt<S>>(simd: S, each: E, conversion: Conversion) -> Option<Stage> {
        Some(match (conversion.source.width, conversion.target.width) {
            // Only a signed type has values that a wider one has not.
            (W16, W8) => stage(simd, Shorts(Int16Register, each, SaturatedByte::<true>)),
            (W32, W8 | W16) => return narrow::saturated(simd, Int32, each, conversion.target),
            (W64, W8 | W16 | W32) => saturated(simd, Then(each, Low32), conversion.target),
            (W8, W8) | (W16, W16) | (W32, W32) | (W64, W64) => {
                same_width(simd, conversion.source.width, each)
            }
            (W8, W16 | W32 | W64) | (W16, W32 | W64) | (W32, W64) => return None,
        })
    }
    match (conversion.mode, conversion.source.signed) {
        (Mode::Error, _) => {
            low_bits(simd, ReplaceKey { key, value, each: conversion.check::<true>() }, conversion)
        }
        (Mode::Clamp, false) => {
            low_bits(simd, ReplaceKey { key, value, each: conversion.at_most() }, conversion)
        }
        (Mode::Clamp, true) if conversion.source.width == conversion.target.width => {
            let each = ReplaceKey { key, value, each: AtLeastZero };
            Some(same_width(simd, conversion.source.width, each))
        }
        // A narrower type has no such value.
        (Mode::Low, _) | (Mode::Clamp, true) => None,
    }
}

/// The unused bits of an element of less than a byte.
fn canonical_bits(element: ElementType) -> Canonical {
    let is_signed = element.is_integer() && element.is_signed();
    let sign = if is_signed { 1 << (element.bits() - 1) } else { 0 };
    Canonical { mask: (1 << element.bits()) - 1, sign }
}

/// Elements of less than a byte with canonical unused bits; integers as those of a whole byte.
pub(super) fn canonical<S: Simd>(simd: S, element: ElementType) -> Stage {
    stage(simd, Bytes(canonical_bits(element)))
}

/// Integers of a whole byte to a sub-byte type of the same sign.
pub(super) fn to_sub_byte<S: Simd>(simd: S, cast: &Cast) -> Stage {
    let [min, max] = range(cast.target).map(|x| x as i64);
    match (cast.out_of_range, cast.target.is_signed()) {
        (OutOfRange::Error, _) => {
            stage(simd, Bytes(Within::<false> { least: min, outside: !(max - min) }))
        }
        (OutOfRange::Clamp, true) => stage(simd, Bytes(ClampedInt { min, max })),
        (OutOfRange::Clamp, false) => stage(simd, Bytes(AtMost { max })),
        (OutOfRange::Wrap, _) => stage(simd, Bytes(canonical_bits(cast.target))),
    }
}

/// The operation on integers of every width.
pub(super) trait EachInt<S: Simd>:
    Each<S, I8s<S>, Out = I8s<S>>
    + Each<S, I16s<S>, Out = I16s<S>>
    + Each<S, I32s<S>, Out = I32s<S>>
    + Each<S, I64s<S>, Out = I64s<S>>
{
}

impl<S: Simd, E> EachInt<S> for E where
    E: Each<S, I8s<S>, Out = I8s<S>>
        + Each<S, I16s<S>, Out = I16s<S>>
        + Each<S, I32s<S>, Out = I32s<S>>
        + Each<S, I64s<S>, Out = I64s<S>>
{
}

/// Integers that keep their width.
pub(super) fn same_width<S: Simd, E: EachInt<S>>(simd: S, width: Width, each: E) -> Stage {
    match width {
        Width::W8 => stage(simd, Bytes(each)),
        Width::W16 => stage(simd, Shorts(Int16Register, each, Int16Register)),
        Width::W32 => stage(simd, Units(Int32, each, StoreFull)),
        Width::W64 => stage(simd, Units(Int64, each, StoreFull)),
    }
}

/// The body with what stands in front of the store of a type in which signed values below zero alone do not fit.
macro_rules! from_signed {
    ($conversion:expr, $front:expr, $each:ident => $body:expr) => {
        match $conversion.mode {
            Mode::Low => {
                let $each = $front;
                $body
            }
            Mode::Error => {
                let $each = Then($front, $conversion.check::<true>());
                $body
            }
            Mode::Clamp => {
                let $each = Then($front, AtLeastZero);
                $body
            }
        }
    };
}

/// `front` is nothing, or a replacement.
fn by_width<S: Simd, F: EachInt<S>>(simd: S, front: F, conversion: Conversion) -> Option<Stage> {
    use Width::{W8, W16, W32, W64};
    Some(match (conversion.source.width, conversion.target.width, conversion.source.signed) {
        // Another sign, or none: one half of the values fits, and is from zero on.
        (W8, W8, signed) | (W16, W16, signed) | (W32, W32, signed) | (W64, W64, signed) => {
            let width = conversion.source.width;
            if conversion.mode == Mode::Clamp && !signed {
                return Some(same_width(simd, width, Then(front, conversion.at_most())));
            }
            from_signed!(conversion, front, each => same_width(simd, width, each))
        }
        (W8, W16, true) => from_signed!(conversion, front, each => {
            stage(simd, Shorts(WidenedByte::<true>, each, Int16Register))
        }),
        (W8, W32, true) => from_signed!(conversion, front, each => {
            stage(simd, Units(Int8::<true>, each, StoreFull))
        }),
        (W8, W64, true) => from_signed!(conversion, front, each => {
            stage(simd, Units(Int8To64::<true>, each, StoreFull))
        }),
        (W16, W32, true) => from_signed!(conversion, front, each => {
            stage(simd, Units(Int16::<true>, each, StoreFull))
        }),
        (W16, W64, true) => from_signed!(conversion, front, each => {
            stage(simd, Units(Int16To64::<true>, each, StoreFull))
        }),
        (W32, W64, true) => from_signed!(conversion, front, each => {
            stage(simd, Units(Int32To64::<true>, each, StoreFull))
        }),
        // A wider type has every unsigned value.
        (W8, W16, false) => stage(simd, Shorts(WidenedByte::<false>, front, Int16Register)),
        (W8, W32, false) => stage(simd, Units(Int8::<false>, front, StoreFull)),
        (W8, W64, false) => stage(simd, Units(Int8To64::<false>, front, StoreFull)),
        (W16, W32, false) => stage(simd, Units(Int16::<false>, front, StoreFull)),
        (W16, W64, false) => stage(simd, Units(Int16To64::<false>, front, StoreFull)),
        (W32, W64, false) => stage(simd, Units(Int32To64::<false>, front, StoreFull)),
        (W16, W8, _) => short_to_byte(simd, front, conversion),
        (W32, W8 | W16, _) => return from_32(simd, front, conversion),
        (W64, W8 | W16 | W32, _) => from_64(simd, front, conversion),
    })
}

fn short_to_byte<S: Simd, F: EachInt<S>>(simd: S, front: F, conversion: Conversion) -> Stage {
    let from_signed = conversion.source.signed;
    with_bool!(conversion.target.signed, SIGNED => match conversion.mode {
        Mode::Low => stage(simd, Shorts(Int16Register, front, LowByte)),
        Mode::Error => {
            let checked = Then(front, conversion.check::<false>());
            stage(simd, Shorts(Int16Register, checked, SaturatedByte::<SIGNED>))
        }
        Mode::Clamp if from_signed => {
            stage(simd, Shorts(Int16Register, front, SaturatedByte::<SIGNED>))
        }
        Mode::Clamp => {
            let clamped = Then(front, conversion.at_most());
            stage(simd, Shorts(Int16Register, clamped, SaturatedByte::<false>))
        }
    })
}

/// 32 bits to 8 or 16.
fn from_32<S: Simd, F: EachInt<S>>(simd: S, front: F, conversion: Conversion) -> Option<Stage> {
    let Conversion { source, target, .. } = conversion;
    match conversion.mode {
        Mode::Low => narrow::low(simd, Int32, front, target.width),
        Mode::Error => {
            // From `uint32`, a value beyond the target has upper bits as a signed integer, too.
            let signed = source.signed && target.signed;
            narrow::checked(simd, Int32, front, IntType { signed, ..target }, conversion.outside())
        }
        Mode::Clamp if source.signed => narrow::saturated(simd, Int32, front, target),
        Mode::Clamp => {
            let clamped = Then(front, conversion.at_most());
            narrow::saturated_to::<_, _, _, false>(simd, Int32, clamped, target.width)
        }
    }
}

/// The saturated results of 64-bit integers, which `each` makes signed integers of 32 bits.
fn saturated<S, E>(simd: S, each: E, target: IntType) -> Stage
where
    S: Simd,
    E: Each<S, I64s<S>, Out = I32s<S>>,
{
    narrow::saturated(simd, Int64, each, target)
        .unwrap_or_else(|| stage(simd, Units(Int64, each, StoreFull)))
}

/// As [`saturated`], of unsigned integers that fit the target, whatever its sign.
fn fitting<S, E>(simd: S, each: E, width: Width) -> Stage
where
    S: Simd,
    E: Each<S, I64s<S>, Out = I32s<S>>,
{
    narrow::saturated_to::<_, _, _, false>(simd, Int64, each, width)
        .unwrap_or_else(|| stage(simd, Units(Int64, each, StoreFull)))
}

/// 64 bits to fewer.
fn from_64<S: Simd, F: EachInt<S>>(simd: S, front: F, conversion: Conversion) -> Stage {
    let target = conversion.target;
    let to_u32 = target.width == Width::W32 && !target.signed;
    match (conversion.mode, conversion.source.signed) {
        (Mode::Low, _) => {
            let low = Then(front, Low32);
            narrow::low(simd, Int64, low, target.width)
                .unwrap_or_else(|| stage(simd, Units(Int64, low, StoreFull)))
        }
        (Mode::Error, true) if target.signed => {
            saturated(simd, Then(Then(front, conversion.check::<false>()), Low32), target)
        }
        (Mode::Error, _) => {
            fitting(simd, Then(Then(front, conversion.check::<true>()), Low32), target.width)
        }
        (Mode::Clamp, true) if to_u32 => {
            let clamped = Then(Then(front, AtLeastZero), Saturated32::<false>);
            stage(simd, Units(Int64, clamped, StoreFull))
        }
        (Mode::Clamp, true) => saturated(simd, Then(front, Saturated32::<true>), target),
        (Mode::Clamp, false) if to_u32 => {
            stage(simd, Units(Int64, Then(front, Saturated32::<false>), StoreFull))
        }
        (Mode::Clamp, false) => {
            let clamped = Then(Then(front, Saturated32::<false>), conversion.at_most());
            fitting(simd, clamped, target.width)
        }
    }
}
