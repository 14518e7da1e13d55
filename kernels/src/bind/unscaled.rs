//! Casts from integers of at most 32 bits to `float32` and `float64`, then `x / scale + offset`, and perhaps the cast from
//! `float64` to `float32`, in one pass.

use alloc::vec::Vec;
use core::slice;
use num_traits::Float;

use super::class::{FloatType, IntType, Width};
use super::values::{distinct, number, stay_finite};
use super::variants::{FUSES_RARE, with_bool};
use crate::exact::{integer, range};
use crate::ops::float::{
    FloatUnit, InverseScale, ReplaceAndInverseScale, ReplaceAndUnscale,
    ReplaceByNanAndInverseScale, Unscale,
};
use crate::ops::float_to_float::ToF32;
use crate::ops::int_to_float::{I32ToF32, I32ToF64, U32ToF32};
use crate::ops::load;
use crate::ops::store::StoreFull;
use crate::ops::substitute::ReplaceKeys;
use crate::pipeline::{Each, Load, Then, Units, stage};
use crate::simd::{F32s, F64s, FloatElement, I32s, NearestEven, Simd};
use crate::stages::{Stage, as_output, run_all};
use crate::{Affine, Cast, Rounding, Scalar, Step, reference};

/// The stage of a cast, scale and offset, and perhaps another cast. `None` where an element may overflow, where the map has more
/// than two keys, and where no product gives what the division does.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: FloatType,
    cast: &Cast,
    parameters: &Affine,
    narrow: Option<&Cast>,
) -> Option<Stage> {
    let unscaled = Unscaled::new(source, cast, parameters, narrow)?;
    with_bool!(source.signed, SIGNED => match source.width {
        Width::W8 => unscaled.short(simd, load::Int8::<SIGNED>, target),
        Width::W16 => unscaled.short(simd, load::Int16::<SIGNED>, target),
        Width::W32 => match target {
            // The cast rounds.
            FloatType::Float32 if cast.rounding != Rounding::NearestEven => None,
            FloatType::Float32 if SIGNED => unscaled.any(simd, load::Int32, I32ToF32),
            FloatType::Float32 => unscaled.any(simd, load::Int32, U32ToF32),
            FloatType::Float64 => unscaled.any_float64(simd, load::Int32, I32ToF64::<SIGNED>),
            FloatType::Float16 | FloatType::BFloat16 => None,
        },
        Width::W64 => None,
    })
}

/// Values that are compared with the division at a time.
const CHECKED: usize = 1024;

/// The part of the inverse that a reciprocal of the scale lacks.
fn rest<T: Float>(scale: T, reciprocal: T) -> T {
    (-reciprocal).mul_add(scale, T::one()) / scale
}

/// Scale and offset, and the map of the cast, with its outputs unscaled.
struct Unscaled {
    source: IntType,
    scale: f64,
    offset: f64,
    entries: Vec<(i64, f64)>,
    /// Whether the float64 becomes float32.
    narrows: bool,
}

impl Unscaled {
    fn new(
        source: IntType,
        cast: &Cast,
        parameters: &Affine,
        narrow: Option<&Cast>,
    ) -> Option<Self> {
        if narrow.is_some_and(|cast| cast.rounding != Rounding::NearestEven) {
            return None;
        }
        let unscale = Step::InverseScale(*parameters);
        let after: Vec<Step> =
            [unscale].into_iter().chain(narrow.cloned().map(Step::Cast)).collect();
        let entry = |&(key, output): &(Scalar, Scalar)| {
            Some((integer(key) as i64, number(reference::run(output, &after, 0).ok()?)?))
        };
        let map = distinct(&cast.map);
        if map.len() > 2 {
            return None;
        }
        let entries = map.iter().map(entry).collect::<Option<_>>()?;
        let plain = Step::Cast(Cast::new(cast.target).rounding(cast.rounding));
        let steps: Vec<Step> = [plain].into_iter().chain(after).collect();
        // A missing offset or scale stands here as its neutral element.
        stay_finite(source.element(), &steps).then(|| Self {
            source,
            scale: parameters.scale.map_or(1.0, Scalar::to_f64),
            offset: parameters.offset.map_or(-0.0, Scalar::to_f64),
            entries,
            narrows: narrow.is_some(),
        })
    }

    /// The stage for integers of 8 and 16 bits.
    fn short<S, L>(&self, simd: S, load: L, target: FloatType) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
    {
        match target {
            FloatType::Float32 => {
                self.own(simd, load, I32ToF32).or_else(|| self.any(simd, load, I32ToF32))
            }
            FloatType::Float64 => self
                .own(simd, load, I32ToF64::<true>)
                .or_else(|| self.any_float64(simd, load, I32ToF64::<true>)),
            FloatType::Float16 | FloatType::BFloat16 => None,
        }
    }

    /// The stage of a plan with one key at most, after its products were compared with the division for every value that the
    /// integer type has.
    fn own<S, L, E>(&self, simd: S, load: L, convert: E) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
        E: Each<S, I32s<S>, Out: FloatUnit<S>>,
    {
        if self.narrows || self.entries.len() > 1 {
            return None;
        }
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
        let [(key, value)] = self.entries[..] else { return Some(bound) };
        let but = ReplaceAndInverseScale { unscale, key: scalar(key as f64), value: scalar(value) };
        Some(if value.is_nan() && !S::SELECTS_IN_ONE {
            stage(simd, Units(load, Then(convert, ReplaceByNanAndInverseScale(but)), StoreFull))
        } else {
            stage(simd, Units(load, Then(convert, but), StoreFull))
        })
    }

    /// The stage of every plan to float32 in its own arithmetic.
    fn any<S, L, E>(&self, simd: S, load: L, convert: E) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
        E: Each<S, I32s<S>, Out = F32s<S>, Fail = ()>,
    {
        // Far enough for quotients of integers of 32 bits, and for their errors.
        let each = ReplaceKeys { keys: self.keys(), each: Then(convert, self.corrected(80)?) };
        Some(stage(simd, Units(load, each, StoreFull)))
    }

    /// The stage of every plan to float64, and from there to float32.
    fn any_float64<S, L, E>(&self, simd: S, load: L, convert: E) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
        E: Each<S, I32s<S>, Out = F64s<S>, Fail = ()>,
    {
        let (keys, unscale) = (self.keys(), self.corrected(900)?);
        Some(if self.narrows {
            let each = Then(convert, Then(unscale, ToF32(NearestEven)));
            stage(simd, Units(load, ReplaceKeys { keys, each }, StoreFull))
        } else {
            let keys = keys.map(|entry| entry.map(|(key, value)| (key as f64, value)));
            stage(simd, Units(load, Then(convert, ReplaceAndUnscale { unscale, keys }), StoreFull))
        })
    }

    fn keys(&self) -> [Option<(i64, f64)>; 2] {
        core::array::from_fn(|place| self.entries.get(place).copied())
    }

    /// Scale and offset without a division; `None` where the scale's exponent is farther from 0 than `farthest`.
    fn corrected<T: FloatElement>(&self, farthest: i32) -> Option<Unscale<T>> {
        let magnitudes = 2_f64.powi(-farthest)..2_f64.powi(farthest);
        if !FUSES_RARE || !magnitudes.contains(&self.scale.abs()) {
            return None;
        }
        let scale = T::from_f64(self.scale);
        Some(Unscale { scale, reciprocal: scale.recip(), offset: T::from_f64(self.offset) })
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
        // SAFETY: `run_all` writes nothing but bytes that the stage has initialised.
        let refused = run_all(stages, codes, unsafe { as_output(&mut decoded) });
        // As bytes, which tell −0 from 0.
        !refused
            && bytemuck::cast_slice::<_, u8>(&divided) == bytemuck::cast_slice::<_, u8>(&decoded)
    })
}
