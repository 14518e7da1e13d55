//! Scale and offset of float32 and float64.

use super::class::{Class, FloatType};
use crate::ops::affine::ApplyAffine;
use crate::ops::float::FloatUnit;
use crate::ops::load;
use crate::ops::store::StoreFull;
use crate::pipeline::{Load, Store, Units, stage};
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
    match (Class::of(element), encodes) {
        (Class::Float(FloatType::Float32), true) => {
            typed::<S, _, true>(simd, load::Float32, parameters)
        }
        (Class::Float(FloatType::Float32), false) => {
            typed::<S, _, false>(simd, load::Float32, parameters)
        }
        (Class::Float(FloatType::Float64), true) => {
            typed::<S, _, true>(simd, load::Float64, parameters)
        }
        (Class::Float(FloatType::Float64), false) => {
            typed::<S, _, false>(simd, load::Float64, parameters)
        }
        (
            Class::Int(_)
            | Class::Float(FloatType::Float16 | FloatType::BFloat16)
            | Class::SubByte
            | Class::SmallFloat,
            _,
        ) => None,
    }
}

fn typed<S, L, const ENCODES: bool>(simd: S, load: L, parameters: &Affine) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    StoreFull: Store<S, L::Unit>,
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
