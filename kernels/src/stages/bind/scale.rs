//! Which stages scale and offset become, alone and joined with a cast.

use core::marker::PhantomData;

use num_traits::{AsPrimitive, PrimInt};

use super::from_float::{FloatSource, to_int};
use super::map::preimage;
use super::{FromScalar, Stage, Stages, exactly, widen, with_short_int};
use crate::stages::bind_loop;
use crate::stages::convert::{Int, NearestEven, Real};
use crate::stages::fused::{IntUnscale, ScaleForInt, equals_division};
use crate::stages::map::ReplaceNan;
use crate::stages::per_element::{Same, Then};
use crate::stages::scale::{Direction, Overflowing, ScaleFloat, ScaleInt, ScaleLong};
use crate::{
    Affine, Cast, ElementType, FloatOverflow, Level, OutOfRange, Rounding, Scalar, Step, reference,
};

/// Two steps in one stage, for the chains that [`fused`](super::fused) has.
pub(super) fn bind_fused(
    source: ElementType,
    first: &Step,
    second: &Step,
    level: Level,
) -> Option<Stage> {
    match (source, first, second) {
        (ElementType::Float32, Step::Scale(scale), Step::Cast(cast)) => {
            bind_scale_to_int::<f32>(scale, cast, level)
        }
        (ElementType::Float64, Step::Scale(scale), Step::Cast(cast)) => {
            bind_scale_to_int::<f64>(scale, cast, level)
        }
        (_, Step::Cast(cast), Step::Unscale(scale)) => {
            with_short_int!(source, S => match cast.target {
                ElementType::Float32 => bind_int_unscale::<S, f32>(cast, scale, level),
                ElementType::Float64 => bind_int_unscale::<S, f64>(cast, scale, level),
                _ => None,
            }, None)
        }
        _ => None,
    }
}

fn bind_scale_to_int<F: FloatSource>(
    parameters: &Affine,
    cast: &Cast,
    level: Level,
) -> Option<Stage> {
    let is_default =
        cast.rounding == Rounding::NearestEven && cast.out_of_range != OutOfRange::Wrap;
    if !(cast.target.is_integer() && is_default) {
        return None;
    }
    // A missing offset or scale stands here as its neutral element.
    let offset = parameters.offset.map_or(F::zero(), F::from_scalar);
    let scale = parameters.scale.map_or(F::one(), F::from_scalar);
    let scaled = ScaleForInt { offset, scale };
    let nan = match cast.map[..] {
        [] => None,
        // With any other key the order of map and overflow would matter.
        [(key, value)] if key.is_nan() => Some(value),
        _ => return None,
    };
    let Some(nan) = nan else { return Some(to_int::<_, NearestEven>(scaled, cast, level)) };
    let nan = ReplaceNan(F::from_scalar(preimage(nan, F::TYPE, cast)?));
    Some(to_int::<_, NearestEven>(Then(scaled, nan), cast, level))
}

fn bind_int_unscale<S, F>(cast: &Cast, parameters: &Affine, _level: Level) -> Option<Stage>
where
    S: Int + FromScalar + AsPrimitive<F>,
    F: Real + FromScalar + 'static,
{
    if cast.map.len() > 1 {
        return None;
    }
    let scale = parameters.scale.map_or(F::one(), F::from_scalar);
    let offset = parameters.offset.map_or(-F::zero(), F::from_scalar);
    let reciprocal = F::one() / scale;
    // Every operation is monotonic, so the ends of the range tell whether an element overflows.
    let finite = [Scalar::min(S::TYPE), Scalar::max(S::TYPE)].into_iter().all(|end| {
        let steps = [Step::Cast(Cast::new(F::TYPE)), Step::Unscale(*parameters)];
        reference::run(end, &steps, 0).is_ok_and(Scalar::is_finite)
    });
    let entry = (S::zero(), F::zero());
    let stage = bind_loop(IntUnscale::<S, F, false> { scale, reciprocal, offset, entry });
    if !finite || !equals_division::<S, F>(&stage, scale, offset) {
        return None;
    }
    let Some((key, value)) = cast.map.first() else { return Some(stage) };
    let value = reference::unscale(*value, parameters).ok()?;
    let entry = (S::from_scalar(*key), F::from_scalar(value));
    Some(bind_loop(IntUnscale::<S, F, true> { scale, reciprocal, offset, entry }))
}

pub(super) fn bind_scale<D: Direction>(
    element: ElementType,
    parameters: &Affine,
    level: Level,
) -> Option<Stages> {
    let Affine { offset, scale, overflow } = *parameters;
    if offset.is_none() && scale.is_none() {
        return Some(vec![]);
    }
    if let Some(stage) = crate::bind::affine(element, parameters, D::ENCODES, level) {
        return Some(vec![stage]);
    }
    let strict = overflow == FloatOverflow::Strict;
    fn float<F: Real + FromScalar, D: Direction>(
        offset: Option<Scalar>,
        scale: Option<Scalar>,
        strict: bool,
        level: Level,
    ) -> Stage {
        level.bind_vectorized(ScaleFloat::<F, D> {
            // Exact: `F` is the elements' type, or f32 for a narrower one.
            offset: offset.and_then(|offset| exactly(offset, F::TYPE)).map(F::from_scalar),
            scale: scale.and_then(|scale| exactly(scale, F::TYPE)).map(F::from_scalar),
            strict,
            direction: PhantomData,
        })
    }
    fn int<T: Int + AsPrimitive<W>, W, D: Direction>(
        element: ElementType,
        offset: Option<Scalar>,
        scale: Option<Scalar>,
        level: Level,
    ) -> Option<Stage>
    where
        W: PrimInt + AsPrimitive<T> + AsPrimitive<f64> + Send + Sync,
        f64: AsPrimitive<W>,
    {
        let value = |scalar: Scalar| W::from(reference::integer(scalar));
        Some(level.bind_vectorized(ScaleInt::<T, W, D> {
            offset: offset.map_or(Some(W::zero()), value)?,
            scale: scale.map_or(Some(W::one()), value)?,
            min: value(Scalar::min(element))?,
            max: value(Scalar::max(element))?,
            types: PhantomData,
        }))
    }
    fn long<T: Int + FromScalar + Overflowing, D: Direction>(
        offset: Option<Scalar>,
        scale: Option<Scalar>,
        level: Level,
    ) -> Stage {
        let offset = offset.map_or(T::zero(), T::from_scalar);
        let scale = scale.map_or(T::one(), T::from_scalar);
        level.bind_vectorized(ScaleLong::<T, D> { offset, scale, direction: PhantomData })
    }
    Some(match element {
        ElementType::Float32 => vec![float::<f32, D>(offset, scale, strict, level)],
        ElementType::Float64 => vec![float::<f64, D>(offset, scale, strict, level)],
        ElementType::Float16 | ElementType::BFloat16 => {
            // Each operation in f32, rounded to the type.
            let operation = |offset, scale| {
                let rounded = Cast::new(element).out_of_range(if strict {
                    OutOfRange::Error
                } else {
                    OutOfRange::Clamp
                });
                let narrow = f32::to_float(Same::<f32>(PhantomData), &rounded, level);
                widen(element, level)
                    .into_iter()
                    .chain([float::<f32, D>(offset, scale, strict, level)])
                    .chain(narrow)
            };
            let shift = offset.map(|offset| operation(Some(offset), None));
            let stretch = scale.map(|scale| operation(None, Some(scale)));
            let (first, second) = if D::ENCODES { (shift, stretch) } else { (stretch, shift) };
            first.into_iter().chain(second).flatten().collect()
        }
        ElementType::Int16 => {
            int::<i16, i32, D>(element, offset, scale, level).into_iter().collect()
        }
        ElementType::UInt16 => {
            int::<u16, i64, D>(element, offset, scale, level).into_iter().collect()
        }
        ElementType::Int32 => {
            int::<i32, i64, D>(element, offset, scale, level).into_iter().collect()
        }
        ElementType::UInt32 => vec![long::<u32, D>(offset, scale, level)],
        ElementType::Int64 => vec![long::<i64, D>(offset, scale, level)],
        ElementType::UInt64 => vec![long::<u64, D>(offset, scale, level)],
        _ => return None,
    })
}
