//! Which stages scale and offset become, alone.

use core::marker::PhantomData;

use num_traits::{AsPrimitive, PrimInt};

use super::class::{Class, FloatType, IntType, Width};
use super::{Stages, exactly, native, vector, without_map};
use crate::exact::integer;
use crate::stages::convert::{Int, Real};
use crate::stages::scale::{Direction, Overflowing, ScaleFloat, ScaleInt, ScaleLong};
use crate::stages::{Stage, bind_loop};
use crate::{Affine, Cast, Element, ElementType, FloatOverflow, Level, OutOfRange, Scalar};

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
    Some(match Class::of(element) {
        Class::Float(FloatType::Float32 | FloatType::Float64) => {
            vec![floats::<D>(element, parameters, level)]
        }
        Class::Float(FloatType::Float16 | FloatType::BFloat16) => {
            // Each operation in f32, rounded to the type.
            let strict = overflow == FloatOverflow::Error;
            let out_of_range = if strict { OutOfRange::Error } else { OutOfRange::Clamp };
            let narrow = Cast::new(element).out_of_range(out_of_range);
            let operation = |offset, scale| {
                let parameters = Affine { offset, scale, overflow };
                let widen = without_map(element, &Cast::new(ElementType::Float32), level)?;
                let narrow = without_map(ElementType::Float32, &narrow, level)?;
                let scaled = floats::<D>(ElementType::Float32, &parameters, level);
                Some(widen.into_iter().chain([scaled]).chain(narrow))
            };
            let shift = offset.and_then(|offset| operation(Some(offset), None));
            let stretch = scale.and_then(|scale| operation(None, Some(scale)));
            let (first, second) = if D::ENCODES { (shift, stretch) } else { (stretch, shift) };
            first.into_iter().chain(second).flatten().collect()
        }
        Class::Int(IntType { width, signed }) => match (width, signed) {
            (Width::W16, true) => vec![int::<i16, i32, D>(element, offset, scale, level)?],
            (Width::W16, false) => vec![int::<u16, i64, D>(element, offset, scale, level)?],
            (Width::W32, true) => vec![int::<i32, i64, D>(element, offset, scale, level)?],
            (Width::W32, false) => vec![long::<u32, D>(offset, scale, level)],
            (Width::W64, true) => vec![long::<i64, D>(offset, scale, level)],
            (Width::W64, false) => vec![long::<u64, D>(offset, scale, level)],
            (Width::W8, _) => return None,
        },
        Class::SubByte | Class::SmallFloat => return None,
    })
}

/// On f32 and f64; the parameters may be of a narrower type, which they hold exactly.
fn floats<D: Direction>(element: ElementType, parameters: &Affine, level: Level) -> Stage {
    fn of_type<F: Real + Element, D: Direction>(parameters: &Affine) -> Stage {
        let typed = |scalar| exactly(scalar, F::TYPE).map(native::<F>);
        bind_loop(ScaleFloat::<F, D> {
            offset: parameters.offset.and_then(typed),
            scale: parameters.scale.and_then(typed),
            strict: parameters.overflow == FloatOverflow::Error,
            direction: PhantomData,
        })
    }
    vector::affine(element, parameters, D::ENCODES, level).unwrap_or_else(|| {
        if element == ElementType::Float64 {
            of_type::<f64, D>(parameters)
        } else {
            of_type::<f32, D>(parameters)
        }
    })
}

/// On integers of up to 32 bits, in the wider `W`.
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
    let value = |scalar: Scalar| W::from(integer(scalar));
    Some(level.bind_vectorized(ScaleInt::<T, W, D> {
        offset: offset.map_or(Some(W::zero()), value)?,
        scale: scale.map_or(Some(W::one()), value)?,
        min: value(Scalar::min(element))?,
        max: value(Scalar::max(element))?,
        types: PhantomData,
    }))
}

/// On integers whose products may not fit 64 bits.
fn long<T: Int + Element + Overflowing, D: Direction>(
    offset: Option<Scalar>,
    scale: Option<Scalar>,
    level: Level,
) -> Stage {
    let offset = offset.map_or(T::zero(), native);
    let scale = scale.map_or(T::one(), native);
    level.bind_vectorized(ScaleLong::<T, D> { offset, scale, direction: PhantomData })
}
