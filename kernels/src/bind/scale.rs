//! Which stages scale and offset become, alone.

use alloc::vec::Vec;
use core::marker::PhantomData;

use num_traits::{AsPrimitive, PrimInt};

use super::class::{Class, FloatType, IntType, Width};
use super::values::native;
use super::vector::{self, without_map};
use crate::exact::integer;
use crate::stages::Stage;
use crate::stages::convert::NativeInt;
use crate::stages::scale::{ScaleInt, ScaleLong};
use crate::{Affine, Cast, Element, ElementType, FloatOverflow, Level, OutOfRange, Scalar};

/// The stages of scale and offset on elements of two bytes and more; none for those of one byte, which have tables. With
/// `ENCODES` as [`Step::Scale`](crate::Step::Scale), else back.
pub(super) fn bind_scale<const ENCODES: bool>(
    element: ElementType,
    parameters: &Affine,
    level: Level,
) -> Option<Vec<Stage>> {
    let Affine { offset, scale, overflow } = *parameters;
    Some(match Class::of(element) {
        Class::Float(FloatType::Float32 | FloatType::Float64) => {
            vec![vector::affine(element, parameters, ENCODES, level)?]
        }
        Class::Float(FloatType::Float16 | FloatType::BFloat16) => {
            // Each operation in f32, rounded to the type.
            let strict = overflow == FloatOverflow::Error;
            let out_of_range = if strict { OutOfRange::Error } else { OutOfRange::Clamp };
            let narrow = Cast::new(element).out_of_range(out_of_range);
            let mut operations = [(offset, None), (None, scale)];
            if !ENCODES {
                operations.reverse();
            }
            let mut stages = vec![];
            for (offset, scale) in operations {
                if offset.is_some() || scale.is_some() {
                    let operation = Affine { offset, scale, overflow };
                    stages.extend(without_map(element, &Cast::new(ElementType::Float32), level)?);
                    stages.push(vector::affine(ElementType::Float32, &operation, ENCODES, level)?);
                    stages.extend(without_map(ElementType::Float32, &narrow, level)?);
                }
            }
            stages
        }
        Class::Int(int) => vec![bind_int::<ENCODES>(int, parameters, level)?],
        Class::SubByte | Class::SmallFloat => return None,
    })
}

/// The stage of scale and offset on integers of two bytes and more.
pub(super) fn bind_int<const ENCODES: bool>(
    int: IntType,
    parameters: &Affine,
    level: Level,
) -> Option<Stage> {
    let (element, Affine { offset, scale, .. }) = (int.element(), *parameters);
    match (int.width, int.signed) {
        (Width::W16, true) => by_wider::<i16, i32, ENCODES>(element, offset, scale, level),
        (Width::W16, false) => by_wider::<u16, i64, ENCODES>(element, offset, scale, level),
        (Width::W32, true) => by_wider::<i32, i64, ENCODES>(element, offset, scale, level),
        (Width::W32, false) => Some(long::<u32, ENCODES>(offset, scale, level)),
        (Width::W64, true) => Some(long::<i64, ENCODES>(offset, scale, level)),
        (Width::W64, false) => Some(long::<u64, ENCODES>(offset, scale, level)),
        (Width::W8, _) => None,
    }
}

/// On integers of up to 32 bits, in the wider `W`.
fn by_wider<T: NativeInt + AsPrimitive<W>, W, const ENCODES: bool>(
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
    Some(level.bind_vectorized(ScaleInt::<T, W, ENCODES> {
        offset: offset.map_or(Some(W::zero()), value)?,
        scale: scale.map_or(Some(W::one()), value)?,
        min: value(Scalar::min(element))?,
        max: value(Scalar::max(element))?,
        element: PhantomData,
    }))
}

/// On integers whose products may not fit 64 bits.
fn long<T: NativeInt + Element, const ENCODES: bool>(
    offset: Option<Scalar>,
    scale: Option<Scalar>,
    level: Level,
) -> Stage {
    let offset = offset.map_or(T::zero(), native);
    let scale = scale.map_or(T::one(), native);
    level.bind_vectorized(ScaleLong::<T, ENCODES> { offset, scale })
}
