//! Casts from integers to integers of whole bytes.

use super::class::{IntType, Width};
use crate::exact::integer;
use crate::ops::int::{
    AtLeast, AtMost, Canonical, ClampedInt, Int16Register, IntUnit, Low32, LowByte, Saturated32,
    SaturatedByte, SaturatedU32, WidenedByte, Within,
};
use crate::ops::load::{
    Int8, Int8To64, Int16, Int16To64, Int32, Int32To64, Int64, UInt8, UInt8To64, UInt16,
    UInt16To64, UInt32To64,
};
use crate::ops::store::{
    CheckedI8, CheckedI16, LowI8, LowI16, SaturatedI8, SaturatedI16, StoreFull,
};
use crate::pipeline::{Bytes, Each, Load, LoadShort, Same, Shorts, Store, Then, Units, stage};
use crate::simd::{I8s, I16s, I32s, I64s, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange, Scalar};

/// What a cast does with the values of its source, besides changing their width.
#[derive(Clone, Copy)]
struct Policy {
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

impl Policy {
    /// The bits that a value in range, less the least one, does not set.
    fn outside(self) -> i64 {
        !(self.max - self.min) as i64
    }

    fn within<const FROM_ZERO: bool>(self) -> Within<FROM_ZERO> {
        Within { least: self.min as i64, outside: self.outside() }
    }
}

/// The cast; no stage where nothing changes.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: IntType,
    cast: &Cast,
) -> Option<Stage> {
    let range =
        |int: IntType| [Scalar::min(int.element()), Scalar::max(int.element())].map(integer);
    let ([source_min, source_max], [target_min, target_max]) = (range(source), range(target));
    let mode = match cast.out_of_range {
        _ if target_min <= source_min && source_max <= target_max => Mode::Low,
        OutOfRange::Wrap => Mode::Low,
        OutOfRange::Error => Mode::Error,
        OutOfRange::Clamp => Mode::Clamp,
    };
    let (min, max) = (source_min.max(target_min), source_max.min(target_max));
    let policy = Policy { source, target, mode, min, max };
    let changes = mode != Mode::Low || source.width != target.width;
    changes.then(|| by_width(simd, policy))
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
pub(super) fn within_byte<S: Simd>(simd: S, cast: &Cast) -> Stage {
    let [min, max] =
        [Scalar::min(cast.target), Scalar::max(cast.target)].map(|x| integer(x) as i64);
    match (cast.out_of_range, cast.target.is_signed()) {
        (OutOfRange::Error, _) => {
            stage(simd, Bytes(Within::<false> { least: min, outside: !(max - min) }))
        }
        (OutOfRange::Clamp, true) => stage(simd, Bytes(ClampedInt::<true> { min, max })),
        (OutOfRange::Clamp, false) => stage(simd, Bytes(AtMost::<false> { max })),
        (OutOfRange::Wrap, _) => stage(simd, Bytes(canonical_bits(cast.target))),
    }
}

fn by_width<S: Simd>(simd: S, policy: Policy) -> Stage {
    use Width::{W8, W16, W32, W64};
    match (policy.source.width, policy.target.width, policy.source.signed) {
        (W8, W8, _) => in_place::<S, I8s<S>>(policy, Width8(simd)),
        (W16, W16, _) => in_place::<S, I16s<S>>(policy, Width16(simd)),
        (W32, W32, _) => in_place::<S, I32s<S>>(policy, Width32(simd)),
        (W64, W64, _) => in_place::<S, I64s<S>>(policy, Width64(simd)),
        (W8, W16, true) => widen_byte(simd, WidenedByte::<true>, policy),
        (W8, W32, true) => widen(simd, Int8, policy),
        (W8, W64, true) => widen(simd, Int8To64, policy),
        (W16, W32, true) => widen(simd, Int16, policy),
        (W16, W64, true) => widen(simd, Int16To64, policy),
        (W32, W64, true) => widen(simd, Int32To64, policy),
        // A wider type has every unsigned value.
        (W8, W16, false) => stage(simd, Shorts(WidenedByte::<false>, Same, Int16Register)),
        (W8, W32, false) => stage(simd, Units(UInt8, Same, StoreFull)),
        (W8, W64, false) => stage(simd, Units(UInt8To64, Same, StoreFull)),
        (W16, W32, false) => stage(simd, Units(UInt16, Same, StoreFull)),
        (W16, W64, false) => stage(simd, Units(UInt16To64, Same, StoreFull)),
        (W32, W64, false) => stage(simd, Units(UInt32To64, Same, StoreFull)),
        (W16, W8, _) => short_to_byte(simd, policy),
        (W32, W8 | W16, _) => narrow_32(simd, policy),
        (W64, W8 | W16 | W32, _) => narrow_64(simd, policy),
    }
}

/// The stage of what keeps the width of its elements.
trait SameWidth<S: Simd, U> {
    fn stage<E: Each<S, U, Out = U>>(self, each: E) -> Stage;
}

struct Width8<S>(S);
struct Width16<S>(S);
struct Width32<S>(S);
struct Width64<S>(S);

impl<S: Simd> SameWidth<S, I8s<S>> for Width8<S> {
    fn stage<E: Each<S, I8s<S>, Out = I8s<S>>>(self, each: E) -> Stage {
        stage(self.0, Bytes(each))
    }
}

impl<S: Simd> SameWidth<S, I16s<S>> for Width16<S> {
    fn stage<E: Each<S, I16s<S>, Out = I16s<S>>>(self, each: E) -> Stage {
        stage(self.0, Shorts(Int16Register, each, Int16Register))
    }
}

impl<S: Simd> SameWidth<S, I32s<S>> for Width32<S> {
    fn stage<E: Each<S, I32s<S>, Out = I32s<S>>>(self, each: E) -> Stage {
        stage(self.0, Units(Int32, each, StoreFull))
    }
}

impl<S: Simd> SameWidth<S, I64s<S>> for Width64<S> {
    fn stage<E: Each<S, I64s<S>, Out = I64s<S>>>(self, each: E) -> Stage {
        stage(self.0, Units(Int64, each, StoreFull))
    }
}

/// Another sign: one half of the values fits, and is from zero on.
fn in_place<S: Simd, U: IntUnit<S>>(policy: Policy, width: impl SameWidth<S, U>) -> Stage {
    match policy.mode {
        Mode::Low => width.stage(Same),
        Mode::Error => width.stage(policy.within::<true>()),
        Mode::Clamp if policy.source.signed => width.stage(AtLeast { min: 0 }),
        Mode::Clamp => width.stage(AtMost::<false> { max: policy.max as i64 }),
    }
}

/// 8 to 16 bits; only negative values may not fit.
fn widen_byte<S: Simd>(simd: S, load: impl LoadShort<S>, policy: Policy) -> Stage {
    match policy.mode {
        Mode::Low => stage(simd, Shorts(load, Same, Int16Register)),
        Mode::Error => {
            let within = Within::<true> { least: 0, outside: 1 << 15 };
            stage(simd, Shorts(load, within, Int16Register))
        }
        Mode::Clamp => stage(simd, Shorts(load, AtLeast { min: 0 }, Int16Register)),
    }
}

/// To 32 and 64 bits, as [`widen_byte`].
fn widen<S, L>(simd: S, load: L, policy: Policy) -> Stage
where
    S: Simd,
    L: Load<S, Unit: IntUnit<S>>,
    StoreFull: Store<S, L::Unit>,
{
    match policy.mode {
        Mode::Low => stage(simd, Units(load, Same, StoreFull)),
        Mode::Error => {
            // Values from the source's at most 32 bits set none of these unless they are negative.
            let within = Within::<true> { least: 0, outside: i64::from(i32::MIN) };
            stage(simd, Units(load, within, StoreFull))
        }
        Mode::Clamp => stage(simd, Units(load, AtLeast { min: 0 }, StoreFull)),
    }
}

fn short_to_byte<S: Simd>(simd: S, policy: Policy) -> Stage {
    let (from_signed, to_signed) = (policy.source.signed, policy.target.signed);
    let within = policy.within::<false>();
    match policy.mode {
        Mode::Low => stage(simd, Shorts(Int16Register, Same, LowByte)),
        Mode::Error if to_signed => {
            stage(simd, Shorts(Int16Register, within, SaturatedByte::<true>))
        }
        Mode::Error => stage(simd, Shorts(Int16Register, within, SaturatedByte::<false>)),
        Mode::Clamp if from_signed && to_signed => {
            stage(simd, Shorts(Int16Register, Same, SaturatedByte::<true>))
        }
        Mode::Clamp if from_signed => {
            stage(simd, Shorts(Int16Register, Same, SaturatedByte::<false>))
        }
        Mode::Clamp => {
            let clamped = AtMost::<false> { max: policy.max as i64 };
            stage(simd, Shorts(Int16Register, clamped, SaturatedByte::<false>))
        }
    }
}

/// 32 bits to 8 or 16.
fn narrow_32<S: Simd>(simd: S, policy: Policy) -> Stage {
    let (to_byte, outside) = (policy.target.width == Width::W8, policy.outside());
    // From `uint32`, what the target does not have has upper bits as a signed integer, too.
    let both_signed = policy.source.signed && policy.target.signed;
    match (policy.mode, to_byte) {
        (Mode::Low, true) => stage(simd, Units(Int32, Same, LowI8)),
        (Mode::Low, false) => stage(simd, Units(Int32, Same, LowI16)),
        (Mode::Error, true) if both_signed => {
            stage(simd, Units(Int32, Same, CheckedI8::<true> { outside: outside as i16 }))
        }
        (Mode::Error, true) => {
            stage(simd, Units(Int32, Same, CheckedI8::<false> { outside: outside as i16 }))
        }
        (Mode::Error, false) if both_signed => {
            stage(simd, Units(Int32, Same, CheckedI16::<true> { outside: outside as i32 }))
        }
        (Mode::Error, false) => {
            stage(simd, Units(Int32, Same, CheckedI16::<false> { outside: outside as i32 }))
        }
        (Mode::Clamp, _) if policy.source.signed => saturated(simd, Int32, Same, policy),
        (Mode::Clamp, _) => {
            let clamped = AtMost::<false> { max: policy.max as i64 };
            saturated_unsigned(simd, Int32, clamped, policy)
        }
    }
}

/// What signed 32-bit integers saturate to.
fn saturated<S, L, E>(simd: S, load: L, each: E, policy: Policy) -> Stage
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    match (policy.target.width, policy.target.signed) {
        (Width::W8, true) => stage(simd, Units(load, each, SaturatedI8::<true>)),
        (Width::W8, false) => stage(simd, Units(load, each, SaturatedI8::<false>)),
        (Width::W16, true) => stage(simd, Units(load, each, SaturatedI16::<true>)),
        (Width::W16, false) => stage(simd, Units(load, each, SaturatedI16::<false>)),
        (Width::W32 | Width::W64, _) => stage(simd, Units(load, each, StoreFull)),
    }
}

/// Unsigned integers that fit the target, whatever its sign.
fn saturated_unsigned<S, L, E>(simd: S, load: L, each: E, policy: Policy) -> Stage
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    match policy.target.width {
        Width::W8 => stage(simd, Units(load, each, SaturatedI8::<false>)),
        Width::W16 => stage(simd, Units(load, each, SaturatedI16::<false>)),
        Width::W32 | Width::W64 => stage(simd, Units(load, each, StoreFull)),
    }
}

/// 64 bits to fewer.
fn narrow_64<S: Simd>(simd: S, policy: Policy) -> Stage {
    match (policy.mode, policy.source.signed) {
        (Mode::Low, _) => match policy.target.width {
            Width::W8 => stage(simd, Units(Int64, Low32, LowI8)),
            Width::W16 => stage(simd, Units(Int64, Low32, LowI16)),
            Width::W32 | Width::W64 => stage(simd, Units(Int64, Low32, StoreFull)),
        },
        (Mode::Error, true) if policy.target.signed => {
            saturated(simd, Int64, Then(policy.within::<false>(), Low32), policy)
        }
        (Mode::Error, _) => {
            saturated_unsigned(simd, Int64, Then(policy.within::<true>(), Low32), policy)
        }
        (Mode::Clamp, true) if policy.target.width == Width::W32 && !policy.target.signed => {
            stage(simd, Units(Int64, Then(AtLeast { min: 0 }, SaturatedU32), StoreFull))
        }
        (Mode::Clamp, true) => saturated(simd, Int64, Saturated32, policy),
        (Mode::Clamp, false) if policy.target.width == Width::W32 && !policy.target.signed => {
            stage(simd, Units(Int64, SaturatedU32, StoreFull))
        }
        (Mode::Clamp, false) => {
            let clamped = Then(SaturatedU32, AtMost::<false> { max: policy.max as i64 });
            saturated_unsigned(simd, Int64, clamped, policy)
        }
    }
}
