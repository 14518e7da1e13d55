//! Casts from integers of 8 and 16 bits to `float32` and `float64`, then `x / scale + offset`, in one pass.

use super::values::{number, only_entry, stays_finite};
use super::variants::with_bool;
use alloc::vec::Vec;
use core::slice;
use num_traits::Float;

use super::class::{FloatType, IntType, Width};
use crate::exact::range;
use crate::ops::float::{
    FloatUnit, InverseScale, ReplaceAndInverseScale, ReplaceByNanAndInverseScale,
};
use crate::ops::int_to_float::{I32ToF32, I32ToF64};
use crate::ops::load;
use crate::ops::store::StoreFull;
use crate::pipeline::{Each, Load, Then, Units, stage};
use crate::simd::{FloatElement, I32s, Simd};
use crate::stages::{Stage, as_output, run_all};
use crate::{Affine, Cast, Scalar, reference};

/// The stage of both; none where an element may overflow, the map has several entries, or the division is
/// not what [`InverseScale`] makes of it.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: FloatType,
    cast: &Cast,
    parameters: &Affine,
) -> Option<Stage> {
    with_bool!(source.signed, SIGNED => match source.width {
        Width::W8 => to_target(simd, load::Int8::<SIGNED>, source, target, cast, parameters),
        Width::W16 => to_target(simd, load::Int16::<SIGNED>, source, target, cast, parameters),
        Width::W32 | Width::W64 => None,
    })
}

fn to_target<S, L>(
    simd: S,
    load: L,
    source: IntType,
    target: FloatType,
    cast: &Cast,
    parameters: &Affine,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    let unscaled = Unscaled::new(source, cast, parameters)?;
    match target {
        FloatType::Float32 => unscaled.bind(simd, load, I32ToF32),
        FloatType::Float64 => unscaled.bind(simd, load, I32ToF64::<true>),
        FloatType::Float16 | FloatType::BFloat16 => None,
    }
}

/// Values that are compared with the division at a time.
const CHECKED: usize = 1024;

/// What a reciprocal of the scale lacks.
fn rest<T: Float>(scale: T, reciprocal: T) -> T {
    (-reciprocal).mul_add(scale, T::one()) / scale
}

/// Scale and offset, and the entry of the cast's map, unscaled.
struct Unscaled {
    source: IntType,
    scale: f64,
    offset: f64,
    entry: Option<(f64, f64)>,
}

impl Unscaled {
    fn new(source: IntType, cast: &Cast, parameters: &Affine) -> Option<Self> {
        let entry = match only_entry(cast)? {
            None => None,
            Some((key, output)) => {
                let value = reference::unscale(output, parameters).ok()?;
                Some((key.to_f64(), number(value)?))
            }
        };
        // A missing offset or scale stands here as its neutral element.
        stays_finite(source.element(), cast.target, parameters).then(|| Self {
            source,
            scale: parameters.scale.map_or(1.0, Scalar::to_f64),
            offset: parameters.offset.map_or(-0.0, Scalar::to_f64),
            entry,
        })
    }

    /// The stage, after it was compared with the division for every value that the integer type has.
    fn bind<S, L, E>(&self, simd: S, load: L, convert: E) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
        E: Each<S, I32s<S>, Out: FloatUnit<S>>,
    {
        let scalar = <E::Out as FloatUnit<S>>::scalar;
        let (scale, offset) = (scalar(self.scale), scalar(self.offset));
        let mut reciprocal = scale.recip();
        // Both words of a negative one are negative: their products with 0 are −0, and so is the sum.
        if scale < scalar(0.0) && rest(scale, reciprocal) > scalar(0.0) {
            reciprocal = FloatElement::next_up(reciprocal);
        }
        let unscale = InverseScale { scale, reciprocal, rest: rest(scale, reciprocal), offset };
        let bound = stage(simd, Units(load, Then(convert, unscale), StoreFull));
        if !divides(&bound, self.source, &unscale) {
            return None;
        }
        let Some((key, value)) = self.entry else { return Some(bound) };
        let but = ReplaceAndInverseScale { unscale, key: scalar(key), value: scalar(value) };
        Some(if value.is_nan() && !S::SELECTS_IN_ONE {
            stage(simd, Units(load, Then(convert, ReplaceByNanAndInverseScale(but)), StoreFull))
        } else {
            stage(simd, Units(load, Then(convert, but), StoreFull))
        })
    }
}

/// Whether a stage gives `x / scale + offset` for every `x` of an integer type.
fn divides<F: FloatElement>(stage: &Stage, source: IntType, by: &InverseScale<F>) -> bool {
    let [min, max] = range(source.element()).map(|end| end as i32);
    // In pieces that stay in the first-level cache, and by numbers of the CPU: who chooses codecs binds a plan for each
    // candidate.
    let (mut bytes, mut shorts) = (Vec::new(), Vec::new());
    let (mut divided, mut decoded) = (Vec::new(), Vec::new());
    (min..=max).step_by(CHECKED).all(|least| {
        let piece = least..(least + CHECKED as i32).min(max + 1);
        let codes: &[u8] = match source.width {
            Width::W8 => {
                bytes.clear();
                bytes.extend(piece.clone().map(|x| x as u8));
                &bytes
            }
            Width::W16 => {
                shorts.clear();
                shorts.extend(piece.clone().map(|x| x as u16));
                bytemuck::cast_slice(&shorts)
            }
            Width::W32 | Width::W64 => return false,
        };
        divided.clear();
        divided.extend(piece.map(|x| F::from_f64(x.into()) / by.scale + by.offset));
        decoded.resize(divided.len(), by.offset);
        let stages = slice::from_ref(stage);
        // SAFETY: `run_all` writes what the stage has initialised.
        let refused = run_all(stages, codes, unsafe { as_output(&mut decoded) });
        // As bytes, which tell −0 from 0.
        !refused
            && bytemuck::cast_slice::<_, u8>(&divided) == bytemuck::cast_slice::<_, u8>(&decoded)
    })
}
