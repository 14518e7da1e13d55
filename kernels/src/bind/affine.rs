//! Scale and offset of float32 and float64.

use super::class::{Class, FloatType};
use super::variants::with_bool;
use crate::ops::affine::ApplyAffine;
use crate::ops::float::FloatUnit;
use crate::ops::load;
use crate::ops::store::StoreFull;
use crate::pipeline::{Load, Units, stage};
use crate::simd::Simd;
use crate::stages::Stage;
use crate::{Affine, ElementType, FloatOverflow};

/// The stage of `parameters` on elements of type `element`; `encodes` says in which direction.
pub(super) fn bind<S: Simd>(
    simd: S,
    element: ElementType,
    parameters: &Affine,
    encodes: bool,
) -> Option<Stage> {
    with_bool!(encodes, ENCODES => match Class::of(element) {
        Class::Float(FloatType::Float32) => {
            typed::<S, _, ENCODES>(simd, load::Float32, parameters)
        }
        Class::Float(FloatType::Float64) => {
            typed::<S, _, ENCODES>(simd, load::Float64, parameters)
        }
        Class::Int(_)
        | Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::SubByte
        | Class::SmallFloat => None,
    })
}

fn typed<S, L, const ENCODES: bool>(simd: S, load: L, parameters: &Affine) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
{
    let scalar = <L::Unit as FloatUnit<S>>::scalar;
    let strict = parameters.overflow == FloatOverflow::Error;
    let value =
        |parameter: Option<crate::Scalar>| scalar(parameter.map_or(0.0, crate::Scalar::to_f64));
    let (offset, scale) = (value(parameters.offset), value(parameters.scale));
    match (parameters.offset.is_some(), parameters.scale.is_some()) {
        (false, false) => None,
        (true, false) => {
            let affine = ApplyAffine::<_, ENCODES, true, false> { offset, scale, strict };
            Some(stage(simd, Units(load, affine, StoreFull)))
        }
        (false, true) => {
            let affine = ApplyAffine::<_, ENCODES, false, true> { offset, scale, strict };
            Some(stage(simd, Units(load, affine, StoreFull)))
        }
        (true, true) => {
            let affine = ApplyAffine::<_, ENCODES, true, true> { offset, scale, strict };
            Some(stage(simd, Units(load, affine, StoreFull)))
        }
    }
}
