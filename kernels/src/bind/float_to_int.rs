//! Casts from floats to integers.

use core::marker::PhantomData;

use super::{preimage, with_rounding};
use crate::ops::float::{Finite, FloatUnit, Held, HeldBelow, Remainder, ReplaceNan, Scale};
use crate::ops::float_to_int::{
    Checked64, CheckedF32, CheckedI32, CheckedU32, CheckedWord, FromZero, HeldI32, HeldI64,
    HeldLowBits, HeldToI32, HeldU32, HeldU64, InRangeI64, InRangeU64, Integral, LowBits,
    SignedRemainder, ToI32, Widened,
};
use crate::ops::int::{AtLeast, To64, Within};
use crate::ops::load;
use crate::ops::store::{CheckedI8, CheckedI16, LowI8, LowI16, SaturatedI8, SaturatedI16, Whole};
use crate::pipeline::{Each, Load, Retry, Same, Store, Then, Units, stage};
use crate::simd::{F32s, F64s, I32s, NearestEven, Round, Simd};
use crate::stages::Stage;
use crate::{Affine, Cast, ElementType, OutOfRange, Rounding, Scalar, reference};

/// The cast, with an entry whose key is NaN.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Stage> {
    if cast.target.bits() < 8 {
        return None;
    }
    let domain = match source {
        ElementType::Float64 => ElementType::Float64,
        _ => ElementType::Float32,
    };
    let nan = match entry {
        None => None,
        Some((key, output)) if key.is_nan() => Some(preimage(output, domain, cast)?.to_f64()),
        Some(_) => return None,
    };
    match source {
        // What takes the place of NaN has to be in its range.
        ElementType::Float16 if nan.is_some_and(|nan| nan.abs() > 65_504.0) => None,
        ElementType::Float16 => Some(rounded(FromF16(simd), cast, nan)),
        ElementType::BFloat16 => Some(rounded(FromF32(simd, load::BFloat16), cast, nan)),
        ElementType::Float32 => Some(rounded(FromF32(simd, load::Float32), cast, nan)),
        ElementType::Float64 => Some(rounded(FromF64(simd, load::Float64), cast, nan)),
        _ => None,
    }
}

/// Scale and offset, then the cast to nearest-even.
pub(super) fn bind_scaled<S: Simd>(
    simd: S,
    source: ElementType,
    parameters: &Affine,
    cast: &Cast,
) -> Option<Stage> {
    fn typed<S: Simd, L: Load<S, Unit: FloatUnit<S>>>(
        simd: S,
        load: L,
        parameters: &Affine,
        cast: &Cast,
        nan: Option<f64>,
    ) -> Stage {
        let scalar = <L::Unit as FloatUnit<S>>::scalar;
        // A missing offset or scale stands here as its neutral element.
        let scaled = Scale {
            offset: scalar(parameters.offset.map_or(0.0, Scalar::to_f64)),
            scale: scalar(parameters.scale.map_or(1.0, Scalar::to_f64)),
        };
        match nan {
            None => to_short::<S, L, _, NearestEven>(simd, load, scaled, cast),
            Some(nan) => {
                let replaced = Then(scaled, ReplaceNan { value: scalar(nan) });
                to_short::<S, L, _, NearestEven>(simd, load, replaced, cast)
            }
        }
    }
    let is_common = cast.rounding == Rounding::NearestEven
        && cast.out_of_range != OutOfRange::Wrap
        && cast.target.is_integer()
        && matches!(cast.target.bits(), 8 | 16);
    if !is_common {
        return None;
    }
    let nan = match cast.map[..] {
        [] => None,
        // With any other key the order of map and overflow would matter.
        [(key, output)] if key.is_nan() => Some(preimage(output, source, cast)?.to_f64()),
        _ => return None,
    };
    match source {
        ElementType::Float32 => Some(typed(simd, load::Float32, parameters, cast, nan)),
        ElementType::Float64 => Some(typed(simd, load::Float64, parameters, cast, nan)),
        _ => None,
    }
}

/// A way from units of floats to integers of every width.
trait Convert<S: Simd>: Copy {
    type Unit: FloatUnit<S>;

    /// The cast of what is loaded and what `front` makes of it.
    fn bind<E, R>(self, front: E, cast: &Cast) -> Stage
    where
        E: Each<S, Self::Unit, Out = Self::Unit>,
        R: Round;
}

/// The cast of what is loaded, NaN replaced. To nearest-even it has a loop without a replacement; the other
/// roundings replace NaN by itself where there is no entry.
fn rounded<S: Simd, C: Convert<S>>(convert: C, cast: &Cast, nan: Option<f64>) -> Stage {
    if cast.rounding == Rounding::NearestEven && nan.is_none() {
        return convert.bind::<_, NearestEven>(Same, cast);
    }
    let value = C::Unit::scalar(nan.unwrap_or(f64::NAN));
    with_rounding!(cast.rounding, R => convert.bind::<_, R>(ReplaceNan { value }, cast))
}

/// From units of float32.
#[derive(Clone, Copy)]
struct FromF32<S, L>(S, L);

/// From `float16`, whose numbers have at most 17 bits as integers.
#[derive(Clone, Copy)]
struct FromF16<S>(S);

impl<S: Simd> Convert<S> for FromF16<S> {
    type Unit = F32s<S>;

    fn bind<E, R>(self, front: E, cast: &Cast) -> Stage
    where
        E: Each<S, F32s<S>, Out = F32s<S>>,
        R: Round,
    {
        match cast.target.size() {
            1 | 2 => FromF32(self.0, load::Float16).bind::<E, R>(front, cast),
            4 => f16_to_wide::<S, E, Same, R>(self.0, front, Same, cast),
            _ => f16_to_wide::<S, E, _, R>(self.0, front, To64::<true>, cast),
        }
    }
}

/// From `float16` to 32 bits, and by `widen` to 64.
fn f16_to_wide<S, E, W, R>(simd: S, front: E, widen: W, cast: &Cast) -> Stage
where
    S: Simd,
    E: Each<S, F32s<S>, Out = F32s<S>>,
    W: Each<S, I32s<S>>,
    Whole: Store<S, W::Out>,
    R: Round,
{
    let finite = Then(Then(front, Finite), HeldToI32::<R>(PhantomData));
    match (cast.out_of_range, cast.target.is_signed()) {
        // Only NaN and infinities are out of range.
        (_, true) | (OutOfRange::Wrap, false) => {
            stage(simd, Units(load::Float16, Then(finite, widen), Whole))
        }
        (OutOfRange::Error, false) => {
            let checked = Then(finite, Within::<true> { least: 0, beyond: 1 << 31 });
            stage(simd, Units(load::Float16, Then(checked, widen), Whole))
        }
        (OutOfRange::Clamp, false) => {
            let held = Then(finite, AtLeast { min: 0 });
            stage(simd, Units(load::Float16, Then(held, widen), Whole))
        }
    }
}

/// From units of float64.
#[derive(Clone, Copy)]
struct FromF64<S, L>(S, L);

impl<S: Simd, L: Load<S, Unit = F32s<S>>> Convert<S> for FromF32<S, L> {
    type Unit = F32s<S>;

    fn bind<E, R>(self, front: E, cast: &Cast) -> Stage
    where
        E: Each<S, F32s<S>, Out = F32s<S>>,
        R: Round,
    {
        let Self(simd, load) = self;
        match cast.target.size() {
            1 | 2 => {
                let general = to_short::<S, L, E, R>(simd, load, front, cast);
                match from_zero::<S, L, E, R>(simd, load, front, cast) {
                    Some(fast) => Retry { fast, general }.stage(),
                    None => general,
                }
            }
            4 if R::ROUNDING == Rounding::NearestAway => {
                let integral = Then(front, Integral::<R>(PhantomData));
                f32_to_32::<S, L, _, NearestEven>(simd, load, integral, cast)
            }
            4 => f32_to_32::<S, L, E, R>(simd, load, front, cast),
            _ if cast.out_of_range == OutOfRange::Error => {
                // Looked at where a register has twice as many.
                let integral = Then(front, Integral::<R>(PhantomData));
                if cast.target.is_signed() {
                    let checked = Then(Then(integral, CheckedF32::<true>), Widened);
                    stage(simd, Units(load, Then(checked, InRangeI64), Whole))
                } else {
                    let checked = Then(Then(integral, CheckedF32::<false>), Widened);
                    stage(simd, Units(load, Then(checked, InRangeU64), Whole))
                }
            }
            _ => to_64(simd, load, Then(front, Integral::<R>(PhantomData)), Widened, cast),
        }
    }
}

impl<S: Simd, L: Load<S, Unit = F64s<S>>> Convert<S> for FromF64<S, L> {
    type Unit = F64s<S>;

    fn bind<E, R>(self, front: E, cast: &Cast) -> Stage
    where
        E: Each<S, F64s<S>, Out = F64s<S>>,
        R: Round,
    {
        let Self(simd, load) = self;
        match cast.target.size() {
            1 | 2 => to_short::<S, L, E, R>(simd, load, front, cast),
            4 => f64_to_32::<S, L, E, R>(simd, load, front, cast),
            _ => to_64(simd, load, Then(front, Integral::<R>(PhantomData)), Same, cast),
        }
    }
}

/// To `int32` and `uint32`.
fn f32_to_32<S, L, E, R>(simd: S, load: L, front: E, cast: &Cast) -> Stage
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
    E: Each<S, F32s<S>, Out = F32s<S>>,
    R: Round,
{
    let finite = Then(front, Finite);
    match (cast.out_of_range, cast.target.is_signed()) {
        (OutOfRange::Error, true) => {
            stage(simd, Units(load, Then(front, CheckedI32::<R>(PhantomData)), Whole))
        }
        (OutOfRange::Error, false) => {
            stage(simd, Units(load, Then(front, CheckedU32::<R>(PhantomData)), Whole))
        }
        (OutOfRange::Clamp, true) => {
            stage(simd, Units(load, Then(finite, HeldI32::<R>(PhantomData)), Whole))
        }
        (OutOfRange::Clamp, false) => {
            stage(simd, Units(load, Then(finite, HeldU32::<R>(PhantomData)), Whole))
        }
        (OutOfRange::Wrap, _) => {
            let half = 2_147_483_648.0;
            let rest = Then(finite, SignedRemainder { half, inverse: 0.5 / half });
            let general = stage(simd, Units(load, Then(rest, HeldToI32::<R>(PhantomData)), Whole));
            if R::IS_NEAREST_EVEN {
                let low = Then(front, LowBits::<R>(PhantomData));
                Retry { fast: stage(simd, Units(load, low, Whole)), general }.stage()
            } else {
                general
            }
        }
    }
}

/// As [`f32_to_32`].
fn f64_to_32<S, L, E, R>(simd: S, load: L, front: E, cast: &Cast) -> Stage
where
    S: Simd,
    L: Load<S, Unit = F64s<S>>,
    E: Each<S, F64s<S>, Out = F64s<S>>,
    R: Round,
{
    let [min, max] = [Scalar::min(cast.target), Scalar::max(cast.target)].map(reference::integer);
    match cast.out_of_range {
        OutOfRange::Error => {
            let checked = CheckedWord::<R> { least: min as i64, rounding: PhantomData };
            stage(simd, Units(load, Then(front, checked), Whole))
        }
        OutOfRange::Clamp => {
            let held = Then(Then(front, Finite), Held { min: min as f64, max: max as f64 });
            stage(simd, Units(load, Then(held, HeldLowBits::<R>(PhantomData)), Whole))
        }
        OutOfRange::Wrap => {
            let modulus = 4_294_967_296.0;
            let rest = Remainder { modulus, inverse: 1.0 / modulus };
            let rest = Then(Then(front, Finite), rest);
            let general =
                stage(simd, Units(load, Then(rest, HeldLowBits::<R>(PhantomData)), Whole));
            if R::IS_NEAREST_EVEN {
                let low = Then(front, LowBits::<R>(PhantomData));
                Retry { fast: stage(simd, Units(load, low, Whole)), general }.stage()
            } else {
                general
            }
        }
    }
}

/// Integral values to `int64` and `uint64`, by way of float64, which `widen` makes of them.
fn to_64<S, L, E, W>(simd: S, load: L, integral: E, widen: W, cast: &Cast) -> Stage
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    E: Each<S, L::Unit, Out = L::Unit>,
    W: Each<S, L::Unit, Out = F64s<S>>,
{
    let finite = Then(Then(integral, Finite), widen);
    match (cast.out_of_range, cast.target.is_signed()) {
        (OutOfRange::Error, true) => {
            stage(simd, Units(load, Then(Then(integral, widen), Checked64::<true>), Whole))
        }
        (OutOfRange::Error, false) => {
            stage(simd, Units(load, Then(Then(integral, widen), Checked64::<false>), Whole))
        }
        (OutOfRange::Clamp, true) => stage(simd, Units(load, Then(finite, HeldI64), Whole)),
        (OutOfRange::Clamp, false) => stage(simd, Units(load, Then(finite, HeldU64), Whole)),
        (OutOfRange::Wrap, _) => {
            let half = 9_223_372_036_854_775_808.0;
            let rest = Then(finite, SignedRemainder { half, inverse: 0.5 / half });
            stage(simd, Units(load, Then(rest, InRangeI64), Whole))
        }
    }
}

/// To unsigned integers of 8 and 16 bits, in error mode, where the level has to look for NaN: positive numbers
/// take one operation to look at.
fn from_zero<S, L, E, R>(simd: S, load: L, front: E, cast: &Cast) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
    E: Each<S, F32s<S>, Out = F32s<S>>,
    R: Round,
{
    if S::INVALID_IS_MIN {
        return None;
    }
    if cast.out_of_range != OutOfRange::Error || cast.target.is_signed() {
        return None;
    }
    let max = reference::integer(Scalar::max(cast.target)) as f32;
    let last = match R::ROUNDING {
        // The greatest integer is odd, so a tie leaves the range.
        Rounding::NearestEven | Rounding::NearestAway => (max + 0.5).next_down(),
        Rounding::TowardsZero | Rounding::TowardsNegative => (max + 1.0).next_down(),
        Rounding::TowardsPositive => max,
    };
    let rounded = Then(front, FromZero::<R> { last, rounding: PhantomData });
    Some(if cast.target.size() == 1 {
        stage(simd, Units(load, rounded, LowI8))
    } else {
        stage(simd, Units(load, rounded, LowI16))
    })
}

/// To 8 and 16 bits: what `load` and `front` give.
fn to_short<S, L, E, R>(simd: S, load: L, front: E, cast: &Cast) -> Stage
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    E: Each<S, L::Unit, Out = L::Unit>,
    R: Round,
{
    let scalar = <L::Unit as FloatUnit<S>>::scalar;
    let max = scalar(reference::integer(Scalar::max(cast.target)) as f64);
    let checked = Then(front, ToI32::<R>(PhantomData));
    let held = Then(front, Then(Finite, Then(HeldBelow { max }, HeldToI32::<R>(PhantomData))));
    let low = Then(front, LowBits::<R>(PhantomData));
    let remainder = Remainder { modulus: scalar(65_536.0), inverse: scalar(1.0 / 65_536.0) };
    let remainder = Then(front, Then(Finite, Then(remainder, HeldToI32::<R>(PhantomData))));
    let signed = cast.target.is_signed();
    match (cast.out_of_range, cast.target.size() == 1, signed) {
        (OutOfRange::Error, true, false) => {
            stage(simd, Units(load, checked, CheckedI8::<false> { beyond: !0xff }))
        }
        (OutOfRange::Error, true, true) => {
            stage(simd, Units(load, checked, CheckedI8::<true> { beyond: !0xff }))
        }
        (OutOfRange::Error, false, false) => {
            stage(simd, Units(load, checked, CheckedI16::<false> { beyond: !0xffff }))
        }
        (OutOfRange::Error, false, true) => {
            stage(simd, Units(load, checked, CheckedI16::<true> { beyond: !0xffff }))
        }
        (OutOfRange::Clamp, true, false) => stage(simd, Units(load, held, SaturatedI8::<false>)),
        (OutOfRange::Clamp, true, true) => stage(simd, Units(load, held, SaturatedI8::<true>)),
        (OutOfRange::Clamp, false, false) => stage(simd, Units(load, held, SaturatedI16::<false>)),
        (OutOfRange::Clamp, false, true) => stage(simd, Units(load, held, SaturatedI16::<true>)),
        (OutOfRange::Wrap, true, _) => {
            let general = stage(simd, Units(load, remainder, LowI8));
            if R::IS_NEAREST_EVEN {
                Retry { fast: stage(simd, Units(load, low, LowI8)), general }.stage()
            } else {
                general
            }
        }
        (OutOfRange::Wrap, false, _) => {
            let general = stage(simd, Units(load, remainder, LowI16));
            if R::IS_NEAREST_EVEN {
                Retry { fast: stage(simd, Units(load, low, LowI16)), general }.stage()
            } else {
                general
            }
        }
    }
}
