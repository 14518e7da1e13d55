//! Which stages scale and offset become, alone and joined with a cast.

use std::marker::PhantomData;

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
    Cast, ElementType, FloatOverflow, Level, OutOfRange, Rounding, Scalar, Affine, Step,
    reference,
};

/// The stages of scale and offset on elements of two bytes and more; none for those of one byte, which have tables.
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
    ) -> Stage {
        bind_loop(ScaleFloat::<F, D> {
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
        ElementType::Float32 => vec![float::<f32, D>(offset, scale, strict)],
        ElementType::Float64 => vec![float::<f64, D>(offset, scale, strict)],
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
                    .chain([crate::bind::affine(
                        ElementType::Float32,
                        &Affine { offset, scale, overflow },
                        D::ENCODES,
                        level,
                    )
                    .unwrap_or_else(|| float::<f32, D>(offset, scale, strict))])
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
