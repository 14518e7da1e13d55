//! Casts from integers to integers of whole bytes.

use super::class::{IntType, Width};
use super::{FUSES_MAP_ENTRY, preimage, with_bool};
use crate::exact::integer;
use crate::ops::int::{
    AtLeast, AtMost, Canonical, ClampedInt, Int16Register, IntUnit, Low32, LowByte, Saturated32,
    SaturatedByte, WidenedByte, Within,
};
use crate::ops::load::{Int8, Int8To64, Int16, Int16To64, Int32, Int32To64, Int64};
use crate::ops::store::{
    CheckedI8, CheckedI16, LowI8, LowI16, SaturatedI8, SaturatedI16, StoreFull,
};
use crate::ops::substitute::ReplaceKey;
use crate::pipeline::{Bytes, Each, Load, LoadShort, Same, Shorts, Store, Then, Units, stage};
use crate::simd::{I8s, I16s, I32s, I64s, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange, Scalar};
use alloc::vec::Vec;

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

/// The cast, with an entry; no stage where nothing changes. None where the entry has to be looked up.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: IntType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Vec<Stage>> {
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
    Some(match entry {
        None if mode == Mode::Low && source.width == target.width => vec![],
        None => vec![by_width(simd, Same, policy)],
        Some(_) if !FUSES_MAP_ENTRY => return None,
        Some((key, output)) => {
            let [key, value] = [key, output].map(|x| integer(x) as i64);
            // In `Low`, the registers have the wider type, and nothing is checked behind the replacement.
            if mode == Mode::Low || preimage(output, source.element(), cast).is_some() {
                vec![by_width(simd, ReplaceKey { key, value, each: Same }, policy)]
            } else {
                vec![keyed(simd, key, value, policy)?]
            }
        }
    })
}

/// A checked or clamped cast to a type that is no wider, whose entry becomes what no value of the source does.
fn keyed<S: Simd>(simd: S, key: i64, value: i64, policy: Policy) -> Option<Stage> {
    use Width::{W8, W16, W32, W64};
    /// Whatever its width, a value stands in the registers as its low bits.
    fn narrowed<S: Simd, E: Front<S>>(simd: S, each: E, policy: Policy) -> Option<Stage> {
        Some(match (policy.source.width, policy.target.width) {
            // Only a signed type has values that a wider one has not.
            (W16, W8) => stage(simd, Shorts(Int16Register, each, SaturatedByte::<true>)),
            (W32, W8 | W16) => saturated(simd, Int32, each, policy),
            (W64, W8 | W16 | W32) => saturated(simd, Int64, Then(each, Low32), policy),
            (W8, W8) | (W16, W16) | (W32, W32) | (W64, W64) => kept(simd, each, policy),
            (W8, W16 | W32 | W64) | (W16, W32 | W64) | (W32, W64) => return None,
        })
    }
    /// The width stays.
    fn kept<S: Simd, E: Front<S>>(simd: S, each: E, policy: Policy) -> Stage {
        match policy.source.width {
            W8 => Width8(simd).stage(each),
            W16 => Width16(simd).stage(each),
            W32 => Width32(simd).stage(each),
            W64 => Width64(simd).stage(each),
        }
    }
    match (policy.mode, policy.source.signed) {
        (Mode::Error, _) => {
            narrowed(simd, ReplaceKey { key, value, each: policy.within::<true>() }, policy)
        }
        (Mode::Clamp, false) => {
            let each = AtMost::<false> { max: policy.max as i64 };
            narrowed(simd, ReplaceKey { key, value, each }, policy)
        }
        (Mode::Clamp, true) if policy.source.width == policy.target.width => {
            Some(kept(simd, ReplaceKey { key, value, each: AtLeast { min: 0 } }, policy))
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

/// What stands in front of a cast: nothing, or a replacement.
trait Front<S: Simd>:
    Each<S, I8s<S>, Out = I8s<S>>
    + Each<S, I16s<S>, Out = I16s<S>>
    + Each<S, I32s<S>, Out = I32s<S>>
    + Each<S, I64s<S>, Out = I64s<S>>
{
}

impl<S: Simd, F> Front<S> for F where
    F: Each<S, I8s<S>, Out = I8s<S>>
        + Each<S, I16s<S>, Out = I16s<S>>
        + Each<S, I32s<S>, Out = I32s<S>>
        + Each<S, I64s<S>, Out = I64s<S>>
{
}

fn by_width<S: Simd, F: Front<S>>(simd: S, front: F, policy: Policy) -> Stage {
    use Width::{W8, W16, W32, W64};
    match (policy.source.width, policy.target.width, policy.source.signed) {
        (W8, W8, _) => in_place::<S, _, I8s<S>>(policy, front, Width8(simd)),
        (W16, W16, _) => in_place::<S, _, I16s<S>>(policy, front, Width16(simd)),
        (W32, W32, _) => in_place::<S, _, I32s<S>>(policy, front, Width32(simd)),
        (W64, W64, _) => in_place::<S, _, I64s<S>>(policy, front, Width64(simd)),
        (W8, W16, true) => widen_byte(simd, WidenedByte::<true>, front, policy),
        (W8, W32, true) => widen(simd, Int8::<true>, front, policy),
        (W8, W64, true) => widen(simd, Int8To64::<true>, front, policy),
        (W16, W32, true) => widen(simd, Int16::<true>, front, policy),
        (W16, W64, true) => widen(simd, Int16To64::<true>, front, policy),
        (W32, W64, true) => widen(simd, Int32To64::<true>, front, policy),
        // A wider type has every unsigned value.
        (W8, W16, false) => stage(simd, Shorts(WidenedByte::<false>, front, Int16Register)),
        (W8, W32, false) => stage(simd, Units(Int8::<false>, front, StoreFull)),
        (W8, W64, false) => stage(simd, Units(Int8To64::<false>, front, StoreFull)),
        (W16, W32, false) => stage(simd, Units(Int16::<false>, front, StoreFull)),
        (W16, W64, false) => stage(simd, Units(Int16To64::<false>, front, StoreFull)),
        (W32, W64, false) => stage(simd, Units(Int32To64::<false>, front, StoreFull)),
        (W16, W8, _) => short_to_byte(simd, front, policy),
        (W32, W8 | W16, _) => narrow_32(simd, front, policy),
        (W64, W8 | W16 | W32, _) => narrow_64(simd, front, policy),
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

/// Another sign, or none: one half of the values fits, and is from zero on.
fn in_place<S, F, U>(policy: Policy, front: F, width: impl SameWidth<S, U>) -> Stage
where
    S: Simd,
    F: Each<S, U, Out = U>,
    U: IntUnit<S>,
{
    match policy.mode {
        Mode::Low => width.stage(front),
        Mode::Error => width.stage(Then(front, policy.within::<true>())),
        Mode::Clamp if policy.source.signed => width.stage(Then(front, AtLeast { min: 0 })),
        Mode::Clamp => width.stage(Then(front, AtMost::<false> { max: policy.max as i64 })),
    }
}

/// 8 to 16 bits; only negative values may not fit.
fn widen_byte<S: Simd, L: LoadShort<S>, F: Front<S>>(
    simd: S,
    load: L,
    front: F,
    policy: Policy,
) -> Stage {
    match policy.mode {
        Mode::Low => stage(simd, Shorts(load, front, Int16Register)),
        Mode::Error => {
            let within = Within::<true> { least: 0, outside: 1 << 15 };
            stage(simd, Shorts(load, Then(front, within), Int16Register))
        }
        Mode::Clamp => stage(simd, Shorts(load, Then(front, AtLeast { min: 0 }), Int16Register)),
    }
}

/// To 32 and 64 bits, as [`widen_byte`].
fn widen<S, L, F>(simd: S, load: L, front: F, policy: Policy) -> Stage
where
    S: Simd,
    L: Load<S, Unit: IntUnit<S>>,
    F: Each<S, L::Unit, Out = L::Unit>,
    StoreFull: Store<S, L::Unit>,
{
    match policy.mode {
        Mode::Low => stage(simd, Units(load, front, StoreFull)),
        Mode::Error => {
            // Values from the source's at most 32 bits set none of these unless they are negative.
            let within = Within::<true> { least: 0, outside: i64::from(i32::MIN) };
            stage(simd, Units(load, Then(front, within), StoreFull))
        }
        Mode::Clamp => stage(simd, Units(load, Then(front, AtLeast { min: 0 }), StoreFull)),
    }
}

fn short_to_byte<S: Simd, F: Front<S>>(simd: S, front: F, policy: Policy) -> Stage {
    let from_signed = policy.source.signed;
    with_bool!(policy.target.signed, SIGNED => match policy.mode {
        Mode::Low => stage(simd, Shorts(Int16Register, front, LowByte)),
        Mode::Error => {
            let checked = Then(front, policy.within::<false>());
            stage(simd, Shorts(Int16Register, checked, SaturatedByte::<SIGNED>))
        }
        Mode::Clamp if from_signed => {
            stage(simd, Shorts(Int16Register, front, SaturatedByte::<SIGNED>))
        }
        Mode::Clamp => {
            let clamped = Then(front, AtMost::<false> { max: policy.max as i64 });
            stage(simd, Shorts(Int16Register, clamped, SaturatedByte::<false>))
        }
    })
}

/// 32 bits to 8 or 16.
fn narrow_32<S: Simd, F: Front<S>>(simd: S, front: F, policy: Policy) -> Stage {
    let (to_byte, outside) = (policy.target.width == Width::W8, policy.outside());
    // From `uint32`, what the target does not have has upper bits as a signed integer, too.
    let both_signed = policy.source.signed && policy.target.signed;
    match (policy.mode, to_byte) {
        (Mode::Low, true) => stage(simd, Units(Int32, front, LowI8)),
        (Mode::Low, false) => stage(simd, Units(Int32, front, LowI16)),
        (Mode::Error, true) => with_bool!(both_signed, SIGNED => {
            stage(simd, Units(Int32, front, CheckedI8::<SIGNED> { outside: outside as i16 }))
        }),
        (Mode::Error, false) => with_bool!(both_signed, SIGNED => {
            stage(simd, Units(Int32, front, CheckedI16::<SIGNED> { outside: outside as i32 }))
        }),
        (Mode::Clamp, _) if policy.source.signed => saturated(simd, Int32, front, policy),
        (Mode::Clamp, _) => {
            let clamped = Then(front, AtMost::<false> { max: policy.max as i64 });
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
    with_bool!(policy.target.signed, SIGNED => match policy.target.width {
        Width::W8 => stage(simd, Units(load, each, SaturatedI8::<SIGNED>)),
        Width::W16 => stage(simd, Units(load, each, SaturatedI16::<SIGNED>)),
        Width::W32 | Width::W64 => stage(simd, Units(load, each, StoreFull)),
    })
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
fn narrow_64<S: Simd, F: Front<S>>(simd: S, front: F, policy: Policy) -> Stage {
    match (policy.mode, policy.source.signed) {
        (Mode::Low, _) => {
            let low = Then(front, Low32);
            match policy.target.width {
                Width::W8 => stage(simd, Units(Int64, low, LowI8)),
                Width::W16 => stage(simd, Units(Int64, low, LowI16)),
                Width::W32 | Width::W64 => stage(simd, Units(Int64, low, StoreFull)),
            }
        }
        (Mode::Error, true) if policy.target.signed => {
            let checked = Then(Then(front, policy.within::<false>()), Low32);
            saturated(simd, Int64, checked, policy)
        }
        (Mode::Error, _) => {
            let checked = Then(Then(front, policy.within::<true>()), Low32);
            saturated_unsigned(simd, Int64, checked, policy)
        }
        (Mode::Clamp, true) if policy.target.width == Width::W32 && !policy.target.signed => {
            let clamped = Then(Then(front, AtLeast { min: 0 }), Saturated32::<false>);
            stage(simd, Units(Int64, clamped, StoreFull))
        }
        (Mode::Clamp, true) => saturated(simd, Int64, Then(front, Saturated32::<true>), policy),
        (Mode::Clamp, false) if policy.target.width == Width::W32 && !policy.target.signed => {
            stage(simd, Units(Int64, Then(front, Saturated32::<false>), StoreFull))
        }
        (Mode::Clamp, false) => {
            let max = policy.max as i64;
            let clamped = Then(Then(front, Saturated32::<false>), AtMost::<false> { max });
            saturated_unsigned(simd, Int64, clamped, policy)
        }
    }
}
