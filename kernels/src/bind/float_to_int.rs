//! Casts from floats to integers of whole bytes.
//!
//! To nearest-even, the default, each target and range mode has a loop of its own, without and with a value in place of NaN,
//! and, to 8 and 16 bits, behind a scale. The other roundings share loops that branch on the rounding. Rarer plans share loops
//! that do all of the form, with neutral elements where a plan lacks a part (`scaled_and_replaced`). To 64 bits, and modulo
//! 2^N, the other roundings make integral floats in a pass of their own, behind which the loops to nearest-even serve; to 64
//! bits, a value for NaN has a pass, too.

use super::class::{FloatType, IntType, Width};
use super::float_to_float::kept;
use super::front::{Front, with_nan};
use super::narrow;
use super::values::{Entry, distinct};
use super::variants::{FUSES_RARE, TWO_KERNELS, with_bool};
use crate::exact::range;
use crate::ops::float::{
    AtLeastOrNan, Clamped, ClampedBelow, Finite, FloatUnit, Remainder, ReplaceNan, Scale,
    ScaleAndReplace,
};
use crate::ops::float_to_int::{
    BelowP51, Checked64, CheckedF32, CheckedI32, CheckedU32, Clamped64, ClampedI32, ClampedLowBits,
    ClampedToI32, ClampedU32, F64ToI32Checked, FromZero, I32ToI64, InRange64, Integral, LowBits,
    SignedRemainder, ToI32, ToI32Fitting, ToI32OrLeast, Widened,
};
use crate::ops::load;
use crate::ops::store::{LowI8, LowI16, StoreFull};
use crate::pipeline::{Each, Load, LoadThen, Retry, Store, Then, Units, stage};
use crate::simd::{F32s, F64s, FloatElement, I32s, I64s, NearestEven, Round, Simd, TWO_P63, Unit};
use crate::stages::Stage;
use crate::{Affine, Cast, ElementType, OutOfRange, Rounding, Scalar};
use alloc::vec::Vec;

/// The cast, with a map of NaN, of a number, or of both.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: FloatType,
    target: IntType,
    cast: &Cast,
    map: &[Entry],
) -> Option<Vec<Stage>> {
    let front = Front::of(map, source.domain(), cast)?;
    let target = Target::new(target, cast);
    match source {
        FloatType::Float32 => from_unit(simd, load::Float32, target, front),
        FloatType::Float64 => from_unit(simd, load::Float64, target, front),
        FloatType::Float16 => {
            let takes = |value| ClampedToI32(target.rounding).takes(value);
            let direct = if let Front::Nan(value) = front
                && !takes(value)
            {
                None
            } else {
                with_nan!(front, load = load::Float16 => from_float16(simd, load, target))
            };
            match direct {
                Some(direct) => Some(vec![direct]),
                None => from_short(simd, load::Float16, target, front),
            }
        }
        FloatType::BFloat16 => from_short(simd, load::BFloat16, target, front),
    }
}

/// Scale and offset, then the cast; `in_float64` says that float32 elements become float64 first.
pub(super) fn bind_scaled<S: Simd>(
    simd: S,
    source: FloatType,
    in_float64: bool,
    parameters: &Affine,
    target: IntType,
    cast: &Cast,
) -> Option<Stage> {
    let domain = if in_float64 { ElementType::Float64 } else { source.domain() };
    let front = Front::of(&distinct(&cast.map), domain, cast)?;
    // Whether a finite element that becomes infinite is an error, or that key, is for the reference to say.
    if let Front::Key { key, .. } = front
        && !key.is_finite()
    {
        return None;
    }
    let target = Target::new(target, cast);
    match source {
        FloatType::Float32 if in_float64 => scaled_in_float64(simd, parameters, target, front),
        FloatType::Float32 => scaled(simd, load::Float32, parameters, target, front),
        FloatType::Float64 => scaled(simd, load::Float64, parameters, target, front),
        FloatType::Float16 | FloatType::BFloat16 => None,
    }
}

/// An integer type, and how values come to it.
#[derive(Clone, Copy)]
struct Target {
    int: IntType,
    out_of_range: OutOfRange,
    rounding: Rounding,
}

impl Target {
    fn new(int: IntType, cast: &Cast) -> Self {
        Self { int, out_of_range: cast.out_of_range, rounding: cast.rounding }
    }

    /// Whether negative numbers are in range, or wrap.
    fn takes_negative(self) -> bool {
        self.int.signed || self.out_of_range == OutOfRange::Wrap
    }

    /// The bounds of the integer type.
    fn range(self) -> [i128; 2] {
        range(self.int.element())
    }

    /// Whether the target has 32 bits, and this range mode.
    fn is_32(self, out_of_range: OutOfRange) -> bool {
        self.int.width == Width::W32 && self.out_of_range == out_of_range
    }

    /// Whether an integer is the least of the type.
    #[allow(clippy::float_cmp)] // both are integers
    fn is_least(self, integer: f64) -> bool {
        integer == self.range()[0] as f64
    }
}

/// Scale and offset as a loop has them. A missing one stands as its neutral element.
fn scale_of<U: FloatUnit<S>, S: Simd>(parameters: &Affine) -> Scale<U::Scalar> {
    Scale {
        shift: U::scalar(-parameters.offset.map_or(0.0, Scalar::to_f64)),
        scale: U::scalar(parameters.scale.map_or(1.0, Scalar::to_f64)),
    }
}

fn scaled<S, L>(
    simd: S,
    load: L,
    parameters: &Affine,
    target: Target,
    front: Front,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    own_scaled(simd, LoadThen(load, scale_of::<L::Unit, S>(parameters)), target, front)
        .or_else(|| scaled_and_replaced(simd, load, parameters, target, front))
}

/// To nearest-even, of floats that `load` has scaled.
fn own_scaled<S, L>(simd: S, load: L, target: Target, front: Front) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    if target.rounding != Rounding::NearestEven {
        return None;
    }
    match front {
        Front::None => to_short(simd, load, target, NearestEven)
            .or_else(|| L::Unit::checked_32(simd, load, target)),
        Front::Nan(value) => to_short_nan_least(simd, load, target, value)
            // Not without a scale: from float64 it takes longer with AVX-512.
            .or_else(|| clamped_nan_least(simd, load, target, value))
            .or_else(|| {
                let replaced = LoadThen(load, ReplaceNan { value });
                match target.out_of_range {
                    OutOfRange::Error => checked(simd, replaced, ToI32(NearestEven), target),
                    // Where the conversion clamps, a loop of its own takes four fifths of the instructions.
                    OutOfRange::Clamp if !S::INVALID_IS_MIN => {
                        one_to_short(simd, replaced, target, NearestEven)
                    }
                    OutOfRange::Clamp | OutOfRange::Wrap => None,
                }
            }),
        Front::Key { .. } => None,
    }
}

/// Scale and offset, then a value in place of a number and of NaN, in one loop, whether a plan has them or not: to nearest-even,
/// checked to at most 32 bits, and clamped to 8 and 16. Without a number, also modulo 2^8 and 2^16, and in the other roundings
/// checked to 8 and 16 bits.
fn scaled_and_replaced<S, L>(
    simd: S,
    load: L,
    parameters: &Affine,
    target: Target,
    front: Front,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    if !FUSES_RARE {
        return None;
    }
    let scale = scale_of::<L::Unit, S>(parameters);
    let to_nearest = target.rounding == Rounding::NearestEven;
    if to_nearest && target.out_of_range != OutOfRange::Wrap {
        let load = LoadThen(load, scale_and_replace::<L::Unit, S>(scale, front));
        return one_to_short(simd, load, target, NearestEven)
            .or_else(|| L::Unit::checked_32(simd, load, target));
    }
    let value = match front {
        Front::None => f64::NAN,
        Front::Nan(value) => value,
        Front::Key { .. } => return None,
    };
    let load = LoadThen(LoadThen(load, scale), ReplaceNan { value });
    match target.out_of_range {
        OutOfRange::Wrap if to_nearest => wrapped_to_short(simd, load, target),
        OutOfRange::Error => checked(simd, load, ToI32(target.rounding), target),
        OutOfRange::Clamp | OutOfRange::Wrap => None,
    }
}

fn scale_and_replace<U: FloatUnit<S>, S: Simd>(
    scale: Scale<U::Scalar>,
    front: Front,
) -> ScaleAndReplace<U::Scalar> {
    // NaN equals no element, and leaves NaN as it is.
    let (key, value, nan) = match front {
        Front::None => (f64::NAN, 0.0, None),
        Front::Nan(value) => (f64::NAN, 0.0, Some(value)),
        Front::Key { key, value, nan } => (key.to_f64(), value, nan),
    };
    let scalar = U::scalar;
    let nan = scalar(nan.unwrap_or(f64::NAN));
    ScaleAndReplace { scale, key: scalar(key), value: scalar(value), nan }
}

/// As [`scaled`], of widened floats, to 8 to 32 bits to nearest-even, checked: what `recast pack` writes for float32 with an
/// arithmetic of float64.
fn scaled_in_float64<S: Simd>(
    simd: S,
    parameters: &Affine,
    target: Target,
    front: Front,
) -> Option<Stage> {
    let is_common =
        target.rounding == Rounding::NearestEven && target.out_of_range == OutOfRange::Error;
    if !FUSES_RARE || !is_common {
        return None;
    }
    let widened = LoadThen(load::Float32, Widened);
    let scale = scale_of::<F64s<S>, S>(parameters);
    let load = LoadThen(widened, scale);
    let own = match front {
        Front::None => checked(simd, load, ToI32(NearestEven), target)
            .or_else(|| F64s::checked_32(simd, load, target)),
        Front::Nan(value) => to_short_nan_least(simd, load, target, value).or_else(|| {
            checked(simd, LoadThen(load, ReplaceNan { value }), ToI32(NearestEven), target)
        }),
        Front::Key { .. } => None,
    };
    own.or_else(|| {
        let load = LoadThen(widened, scale_and_replace::<F64s<S>, S>(scale, front));
        checked(simd, load, ToI32(NearestEven), target)
            .or_else(|| F64s::checked_32(simd, load, target))
    })
}

/// From `float32` and `float64`.
fn from_unit<S, L>(simd: S, load: L, target: Target, front: Front) -> Option<Vec<Stage>>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    if target.rounding == Rounding::NearestEven {
        let mut stages = vec![];
        match front {
            Front::None => {}
            Front::Nan(value) => {
                let replaced = LoadThen(load, ReplaceNan { value });
                let joined = to_short_nan_least(simd, load, target, value)
                    .or_else(|| checked_or_clamped(simd, replaced, target));
                if let Some(joined) = joined {
                    return Some(vec![joined]);
                }
                stages.push(kept(simd, replaced));
            }
            Front::Key { .. } => {
                let unscaled = Affine::default();
                return Some(vec![scaled_and_replaced(simd, load, &unscaled, target, front)?]);
            }
        }
        stages.push(nearest_even(simd, load, target));
        return Some(stages);
    }
    let rounding = target.rounding;
    let joined = match front {
        Front::None => one_to_short(simd, load, target, rounding)
            .or_else(|| L::Unit::to_32(simd, LoadThen(load, Integral(rounding)), target)),
        Front::Nan(value) => to_short(simd, LoadThen(load, ReplaceNan { value }), target, rounding),
        Front::Key { .. } => None,
    };
    if let Some(joined) = joined {
        return Some(vec![joined]);
    }
    let integral =
        with_nan!(front, front = load => kept(simd, LoadThen(front, Integral(rounding))));
    Some(vec![integral, nearest_even(simd, load, target)])
}

/// From 16-bit floats: by way of float32 but for the commonest casts.
fn from_short<S, L>(simd: S, load: L, target: Target, front: Front) -> Option<Vec<Stage>>
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    let fused = match front {
        Front::None if target.rounding == Rounding::NearestEven => {
            to_short(simd, load, target, NearestEven)
        }
        Front::None => one_to_short(simd, load, target, target.rounding),
        Front::Nan(value) if target.rounding == Rounding::NearestEven => {
            to_short_nan_least(simd, load, target, value).or_else(|| {
                to_short(simd, LoadThen(load, ReplaceNan { value }), target, NearestEven)
            })
        }
        Front::Nan(_) => None,
        Front::Key { .. } => return None,
    };
    if let Some(fused) = fused {
        return Some(vec![fused]);
    }
    let integral = with_nan!(front, front = load => {
        kept(simd, LoadThen(front, Integral(target.rounding)))
    });
    Some(vec![integral, nearest_even(simd, load::Float32, target)])
}

/// From `float16`, whose finite values all fit 32 bits, by way of those: to 32 and 64 bits, and modulo 2^8 and 2^16.
fn from_float16<S, L>(simd: S, load: L, target: Target) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    // One loop for all roundings: it has time to branch.
    let to_i32 = Then(Finite, ClampedToI32(target.rounding));
    let (min, limit) = match (target.int.signed, target.out_of_range) {
        (false, OutOfRange::Error) => (0.0, lower_limit::<S, F32s<S>>(0.0, target.rounding)),
        (false, OutOfRange::Clamp) => (0.0, f32::MIN),
        (true, _) | (false, OutOfRange::Wrap) => (f32::MIN, f32::MIN),
    };
    let in_range = Then(Then(Finite, AtLeastOrNan { min, limit }), ClampedToI32(target.rounding));
    match (target.int.width, target.out_of_range) {
        (width @ (Width::W8 | Width::W16), OutOfRange::Wrap) => {
            narrow::low(simd, load, to_i32, width)
        }
        (Width::W32, _) => Some(stage(simd, Units(load, in_range, StoreFull))),
        (Width::W64, _) => Some(stage(simd, Units(load, Then(in_range, I32ToI64), StoreFull))),
        (Width::W8 | Width::W16, OutOfRange::Error | OutOfRange::Clamp) => None,
    }
}

/// Every target and range mode, to nearest-even.
fn nearest_even<S, L>(simd: S, load: L, target: Target) -> Stage
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    checked_or_clamped(simd, load, target)
        .or_else(|| wrapped_to_short(simd, load, target))
        .or_else(|| wrapped_to_32(simd, load, target))
        .unwrap_or_else(|| {
            let general = to_64(simd, load, target);
            // The other levels have conversions to 64 bits.
            if !S::INVALID_IS_MIN {
                return general;
            }
            let small = L::Unit::small_64(target.takes_negative());
            Retry::of_long(stage(simd, Units(load, small, StoreFull)), general)
        })
}

/// To at most 32 bits to nearest-even, checked or clamped to the range.
fn checked_or_clamped<S, L>(simd: S, load: L, target: Target) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    if let Some(short) = to_short(simd, load, target, NearestEven) {
        return Some(short);
    }
    let general = L::Unit::to_32(simd, load, target)?;
    Some(match small_to_32(simd, load, target) {
        Some(small) => Retry::of_long(small, general),
        None => general,
    })
}

/// Modulo 2^32.
fn wrapped_to_32<S, L>(simd: S, load: L, target: Target) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    target.is_32(OutOfRange::Wrap).then(|| {
        let small = stage(simd, Units(load, L::Unit::small_low_bits(), StoreFull));
        Retry::of(small, stage(simd, Units(load, L::Unit::wrapped_32(), StoreFull)))
    })
}

/// To 32 bits, checked or clamped to the range, of numbers that are far from its ends; others fail, and negative ones that an
/// unsigned type does not wrap.
fn small_to_32<S, L>(simd: S, load: L, target: Target) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    // The other levels' conversions saturate, which does not show.
    if !S::INVALID_IS_MIN {
        return None;
    }
    let takes_negative = target.takes_negative();
    match (target.int.width, target.out_of_range) {
        (Width::W32, OutOfRange::Error | OutOfRange::Clamp) => {
            let fitting = ToI32Fitting { takes_negative, rounding: NearestEven };
            Some(stage(simd, Units(load, fitting, StoreFull)))
        }
        (Width::W8 | Width::W16 | Width::W32 | Width::W64, _) => None,
    }
}

/// To 8 and 16 bits, checked or clamped to the range.
fn to_short<S, L>(simd: S, load: L, target: Target, rounding: impl Round) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    let general = one_to_short(simd, load, target, rounding)?;
    if target.out_of_range == OutOfRange::Clamp && S::INVALID_IS_MIN {
        let fits = ToI32Fitting { takes_negative: true, rounding };
        return Some(Retry::of(narrow::saturated(simd, load, fits, target.int)?, general));
    }
    Some(general)
}

/// As [`to_short`], without a kernel for values that are not clamped.
fn one_to_short<S, L>(simd: S, load: L, target: Target, rounding: impl Round) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    match target.out_of_range {
        OutOfRange::Error => {
            let general = checked(simd, load, ToI32(rounding), target)?;
            Some(match L::Unit::from_zero(simd, load, target, rounding) {
                Some(positive) => Retry::of(positive, general),
                None => general,
            })
        }
        OutOfRange::Clamp if S::INVALID_IS_MIN => clamped_above(simd, load, target, rounding),
        // The conversion clamps, and the store.
        OutOfRange::Clamp => {
            let clamped = Then(Finite, ClampedToI32(rounding));
            narrow::saturated(simd, load, clamped, target.int)
        }
        OutOfRange::Wrap => None,
    }
}

/// To 8 and 16 bits, clamped to the range: from above here, and from below by the conversion and the store.
fn clamped_above<S, L>(simd: S, load: L, target: Target, rounding: impl Round) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    let max = <L::Unit as FloatUnit<S>>::scalar(target.range()[1] as f64);
    let clamped = Then(Finite, Then(ClampedBelow { max }, ClampedToI32(rounding)));
    narrow::saturated(simd, load, clamped, target.int)
}

/// As [`to_short`], with the target's least value in place of NaN: a maximum gives that. None where `nan` is another value,
/// or replacing NaN costs no more.
fn to_short_nan_least<S, L>(simd: S, load: L, target: Target, nan: f64) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    let scalar = <L::Unit as FloatUnit<S>>::scalar;
    let min = target.range()[0] as f64;
    if !S::MAX_NUMBER_IN_ONE || !target.is_least(nan) || target.out_of_range != OutOfRange::Error {
        return None;
    }
    let limit = lower_limit::<S, L::Unit>(min, Rounding::NearestEven);
    let least = AtLeastOrNan { min: scalar(min), limit };
    checked(simd, load, Then(least, ClampedToI32(NearestEven)), target)
}

/// As [`to_short_nan_least`], clamped to the range: the conversion gives that value.
fn clamped_nan_least<S, L>(simd: S, load: L, target: Target, nan: f64) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    if !S::INVALID_IS_MIN || !target.is_least(nan) || target.out_of_range != OutOfRange::Clamp {
        return None;
    }
    let fast = narrow::saturated(simd, load, ToI32OrLeast, target.int)?;
    let replaced = LoadThen(load, ReplaceNan { value: nan });
    Some(Retry::of(fast, clamped_above(simd, replaced, target, NearestEven)?))
}

/// The least number that rounds to at least `min`, an even one of at most 16 bits.
fn lower_limit<S: Simd, U: FloatUnit<S>>(min: f64, rounding: Rounding) -> U::Scalar {
    let scalar = U::scalar;
    match rounding {
        Rounding::NearestEven => scalar(min - 0.5),
        Rounding::NearestAway => FloatElement::next_up(scalar(min - 0.5)),
        Rounding::TowardsZero | Rounding::TowardsPositive => {
            FloatElement::next_up(scalar(min - 1.0))
        }
        Rounding::TowardsNegative => scalar(min),
    }
}

/// To 8 and 16 bits; a value that does not fit fails.
fn checked<S, L, E>(simd: S, load: L, each: E, target: Target) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    let [min, max] = target.range();
    narrow::checked(simd, load, each, target.int, !(max - min) as i64)
}

/// Modulo 2^8 and 2^16.
fn wrapped_to_short<S, L>(simd: S, load: L, target: Target) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    let is_f32 = const { size_of::<<L::Unit as Unit<S>>::Scalar>() == 4 };
    Some(match target.int.width {
        // From 2^31 on, the low bits are 0: those of the float32, and those of the integer that it becomes.
        Width::W8 if S::INVALID_IS_MIN && is_f32 => {
            stage(simd, Units(load, Then(Finite, ClampedToI32(NearestEven)), LowI8))
        }
        Width::W8 => wrapped(simd, load, LowI8),
        Width::W16 => wrapped(simd, load, LowI16),
        Width::W32 | Width::W64 => return None,
    })
}

/// Modulo 2^16, of which `store` keeps the low bits.
fn wrapped<S, L, T>(simd: S, load: L, store: T) -> Stage
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
    T: Store<S, I32s<S>>,
{
    let scalar = <L::Unit as FloatUnit<S>>::scalar;
    let remainder = Remainder { modulus: scalar(65_536.0), inverse: scalar(1.0 / 65_536.0) };
    let remainder = Then(Finite, Then(remainder, ClampedToI32(NearestEven)));
    let general = stage(simd, Units(load, remainder, store));
    if !TWO_KERNELS {
        return general;
    }
    let fast = if S::INVALID_IS_MIN {
        let fits = ToI32Fitting { takes_negative: true, rounding: NearestEven };
        stage(simd, Units(load, fits, store))
    } else {
        stage(simd, Units(load, L::Unit::small_low_bits(), store))
    };
    Retry::of(fast, general)
}

/// To 64 bits, in every range mode.
fn to_64<S, L>(simd: S, load: L, target: Target) -> Stage
where
    S: Simd,
    L: Load<S, Unit: ToWide<S>>,
{
    match target.out_of_range {
        OutOfRange::Error => with_bool!(target.int.signed, SIGNED => {
            stage(simd, Units(load, L::Unit::checked_64::<SIGNED>(), StoreFull))
        }),
        OutOfRange::Clamp => with_bool!(target.int.signed, SIGNED => {
            let clamped = Then(L::Unit::integral_f64(), Clamped64::<SIGNED>);
            stage(simd, Units(load, clamped, StoreFull))
        }),
        OutOfRange::Wrap => {
            let remainder = SignedRemainder { half: TWO_P63, inverse: 0.5 / TWO_P63 };
            let rest = Then(L::Unit::integral_f64(), remainder);
            stage(simd, Units(load, Then(rest, InRange64::<true>), StoreFull))
        }
    }
}

/// The ways of a float's units to wide integers, of values rounded to nearest-even.
trait ToWide<S: Simd>: FloatUnit<S> {
    /// To unsigned integers of 8 and 16 bits, in error mode, where the level has to look for NaN: positive
    /// numbers take one operation to look at.
    fn from_zero<L: Load<S, Unit = Self>>(
        simd: S,
        load: L,
        target: Target,
        rounding: impl Round,
    ) -> Option<Stage>;

    /// To 32 bits, checked or clamped to the range.
    fn to_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage> {
        Self::checked_32(simd, load, target).or_else(|| Self::clamped_32(simd, load, target))
    }

    /// To 32 bits; a value out of range fails. None for other widths and range modes.
    fn checked_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage>;

    /// To 32 bits, clamped to the range. None for other widths and range modes.
    fn clamped_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage>;

    /// The low bits of numbers of small magnitude; others fail.
    fn small_low_bits() -> impl Each<S, Self, Out = I32s<S>>;

    /// Modulo 2^32.
    fn wrapped_32() -> impl Each<S, Self, Out = I32s<S>>;

    /// To 64 bits, of numbers of small magnitude; others fail.
    fn small_64(takes_negative: bool) -> impl Each<S, Self, Out = I64s<S>>;

    /// To 64 bits; a value out of range fails.
    fn checked_64<const SIGNED: bool>() -> impl Each<S, Self, Out = I64s<S>>;

    /// Integral float64; NaN and infinities fail.
    fn integral_f64() -> impl Each<S, Self, Out = F64s<S>>;
}

impl<S: Simd> ToWide<S> for F32s<S> {
    fn from_zero<L: Load<S, Unit = Self>>(
        simd: S,
        load: L,
        target: Target,
        rounding: impl Round,
    ) -> Option<Stage> {
        if S::INVALID_IS_MIN || target.int.signed {
            return None;
        }
        let max = target.range()[1] as f32;
        let last = match rounding.rounding() {
            // The greatest integer is odd, so a tie leaves the range.
            Rounding::NearestEven | Rounding::NearestAway => (max + 0.5).next_down(),
            Rounding::TowardsZero | Rounding::TowardsNegative => (max + 1.0).next_down(),
            Rounding::TowardsPositive => max,
        };
        narrow::low(simd, load, FromZero { last, rounding }, target.int.width)
    }

    fn checked_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage> {
        if !target.is_32(OutOfRange::Error) {
            return None;
        }
        Some(if target.int.signed {
            stage(simd, Units(load, CheckedI32, StoreFull))
        } else {
            stage(simd, Units(load, CheckedU32, StoreFull))
        })
    }

    fn clamped_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage> {
        if !target.is_32(OutOfRange::Clamp) {
            return None;
        }
        Some(if target.int.signed {
            stage(simd, Units(load, Then(Finite, ClampedI32), StoreFull))
        } else {
            stage(simd, Units(load, Then(Finite, ClampedU32), StoreFull))
        })
    }

    fn small_low_bits() -> impl Each<S, Self, Out = I32s<S>> {
        LowBits
    }

    fn wrapped_32() -> impl Each<S, Self, Out = I32s<S>> {
        let half = 2_147_483_648.0;
        let rest = Then(Finite, SignedRemainder { half, inverse: 0.5 / half });
        Then(rest, ClampedToI32(NearestEven))
    }

    fn small_64(takes_negative: bool) -> impl Each<S, Self, Out = I64s<S>> {
        Then(ToI32Fitting { takes_negative, rounding: NearestEven }, I32ToI64)
    }

    // Rounded, and looked at, where a register has twice as many.

    fn checked_64<const SIGNED: bool>() -> impl Each<S, Self, Out = I64s<S>> {
        let checked = Then(Integral(NearestEven), CheckedF32::<SIGNED>);
        Then(Then(checked, Widened), InRange64::<SIGNED>)
    }

    fn integral_f64() -> impl Each<S, Self, Out = F64s<S>> {
        Then(Then(Integral(NearestEven), Finite), Widened)
    }
}

impl<S: Simd> ToWide<S> for F64s<S> {
    /// Registers of float64 are looked at by their sums.
    fn from_zero<L: Load<S, Unit = Self>>(_: S, _: L, _: Target, _: impl Round) -> Option<Stage> {
        None
    }

    fn checked_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage> {
        let checked = F64ToI32Checked { least: target.range()[0] as i64 };
        target.is_32(OutOfRange::Error).then(|| stage(simd, Units(load, checked, StoreFull)))
    }

    fn clamped_32<L: Load<S, Unit = Self>>(simd: S, load: L, target: Target) -> Option<Stage> {
        let [min, max] = target.range().map(|end| end as f64);
        let clamped = Then(Finite, Then(Clamped { min, max }, ClampedLowBits));
        target.is_32(OutOfRange::Clamp).then(|| stage(simd, Units(load, clamped, StoreFull)))
    }

    fn small_low_bits() -> impl Each<S, Self, Out = I32s<S>> {
        LowBits
    }

    fn wrapped_32() -> impl Each<S, Self, Out = I32s<S>> {
        let modulus = 4_294_967_296.0;
        Then(Then(Finite, Remainder { modulus, inverse: 1.0 / modulus }), ClampedLowBits)
    }

    fn small_64(takes_negative: bool) -> impl Each<S, Self, Out = I64s<S>> {
        BelowP51 { takes_negative }
    }

    fn checked_64<const SIGNED: bool>() -> impl Each<S, Self, Out = I64s<S>> {
        Then(Integral(NearestEven), Checked64::<SIGNED>)
    }

    fn integral_f64() -> impl Each<S, Self, Out = F64s<S>> {
        Then(Integral(NearestEven), Finite)
    }
}
