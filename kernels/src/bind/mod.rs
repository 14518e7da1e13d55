//! Which pipeline serves a source, a target and a policy: tables from types and policies to
//! [`ops`](crate::ops), for the levels that have vector registers.

mod affine;
mod float_to_int;
mod int_to_int;
mod small_float;
mod substitute;
mod to_float;

use alloc::vec::Vec;

use crate::ops::bytes::SwapBytes;
use crate::pipeline::stage;
use crate::simd::Simd;
use crate::stages::Stage;
use crate::{Affine, Cast, ElementType, Entries, Level, Scalar, Step};

/// Evaluates `$body` with `$R` standing for the type of a rounding.
macro_rules! with_rounding {
    ($rounding:expr, $R:ident => $body:expr) => {
        match $rounding {
            $crate::Rounding::NearestEven => {
                type $R = $crate::simd::NearestEven;
                $body
            }
            $crate::Rounding::TowardsZero => {
                type $R = $crate::simd::TowardsZero;
                $body
            }
            $crate::Rounding::TowardsPositive => {
                type $R = $crate::simd::TowardsPositive;
                $body
            }
            $crate::Rounding::TowardsNegative => {
                type $R = $crate::simd::TowardsNegative;
                $body
            }
            $crate::Rounding::NearestAway => {
                type $R = $crate::simd::NearestAway;
                $body
            }
        }
    };
}
use with_rounding;

/// What is bound for a level, whatever its registers.
pub(crate) trait WithSimd {
    type Output;
    fn with<S: Simd>(self, simd: S) -> Self::Output;
}

/// A cast whose map has at most one entry.
pub(crate) struct BindCast<'a> {
    pub(crate) source: ElementType,
    pub(crate) cast: &'a Cast,
    pub(crate) entry: Option<(Scalar, Scalar)>,
}

impl WithSimd for BindCast<'_> {
    type Output = Option<Vec<Stage>>;

    fn with<S: Simd>(self, simd: S) -> Option<Vec<Stage>> {
        let Self { source, cast, entry } = self;
        bind_cast(simd, source, cast, entry)
    }
}

/// The stages of a cast; none where a table of all bytes serves better, or the entry has to be looked up.
fn bind_cast<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Vec<Stage>> {
    let target = cast.target;
    let is_whole_int = |element: ElementType| element.is_integer() && element.bits() >= 8;
    if source.size() == 1 && target.size() == 1 && !(is_whole_int(source) && is_whole_int(target)) {
        return None;
    }
    // A constant false keeps the kernels of types that are left out from being compiled.
    if cfg!(feature = "small-types") && source.is_small() {
        // Its values as the wider type's, first.
        let (widen, wide) = widen(simd, source)?;
        let entry = match entry {
            None => None,
            Some((key, output)) => Some((exactly(key, wide)?, output)),
        };
        return Some(core::iter::once(widen).chain(bind_cast(simd, wide, cast, entry)?).collect());
    }
    if cfg!(feature = "small-types") && target.is_integer() && target.is_small() {
        let wide = wide(target);
        let entry = match entry {
            None => None,
            Some((key, output)) => Some((key, exactly(output, wide)?)),
        };
        let to_byte = Cast { target: wide, map: Entries::default(), ..cast.clone() };
        let stages = bind_cast(simd, source, &to_byte, entry)?;
        return Some(stages.into_iter().chain([int_to_int::within_byte(simd, cast)]).collect());
    }
    if target.is_integer() {
        let bound = if source.is_float() {
            float_to_int::bind(simd, source, cast, entry)
        } else {
            int_to_int::bind(simd, source, cast, entry)
        };
        return Some(vec![bound?]);
    }
    if source.is_float() && target.size() > 1 {
        return Some(vec![to_float::from_float(simd, source, cast, entry)?]);
    }
    if matches!(target, ElementType::Float32 | ElementType::Float64) {
        return Some(vec![to_float::from_int(simd, source, cast, entry)?]);
    }
    if target.size() == 2
        && let Some(stage) = to_float::half_from_int(simd, source, cast, entry)
    {
        return Some(vec![stage]);
    }
    // By way of float32, rounded to odd.
    let odd_entry = match entry {
        None => None,
        Some((key, output)) => Some((key, number(preimage(output, ElementType::Float32, cast)?)?)),
    };
    let is_float32 = source == ElementType::Float32 && entry.is_none();
    let odd = if is_float32 { None } else { Some(to_float::to_odd_f32(simd, source, odd_entry)?) };
    let narrow = if cfg!(feature = "small-types") && target.size() == 1 {
        small_float::encode(simd, cast, source == ElementType::Float64)?
    } else {
        to_float::from_float(simd, ElementType::Float32, cast, None)?
    };
    Some(odd.into_iter().chain([narrow]).collect())
}

/// The wider type in which a byte's values are worked on.
fn wide(element: ElementType) -> ElementType {
    match element {
        ElementType::Int2 | ElementType::Int4 => ElementType::Int8,
        ElementType::UInt2 | ElementType::UInt4 => ElementType::UInt8,
        _ => ElementType::Float32,
    }
}

/// The values of a sub-byte integer or a one-byte float in their [`wide`] type.
fn widen<S: Simd>(simd: S, source: ElementType) -> Option<(Stage, ElementType)> {
    let wide = wide(source);
    let stage = if wide.is_float() {
        small_float::decode(simd, source)?
    } else {
        int_to_int::canonical(simd, source)
    };
    Some((stage, wide))
}

/// Scale and offset in front of a cast.
pub(crate) struct BindScaled<'a> {
    pub(crate) source: ElementType,
    pub(crate) steps: [&'a Step; 2],
}

impl WithSimd for BindScaled<'_> {
    type Output = Option<Stage>;

    fn with<S: Simd>(self, simd: S) -> Option<Stage> {
        match self.steps {
            [Step::Scale(scale), Step::Cast(cast)] => {
                float_to_int::bind_scaled(simd, self.source, scale, cast)
            }
            [Step::Cast(cast), Step::Unscale(scale)] => {
                to_float::bind_unscaled(simd, self.source, cast, scale)
            }
            _ => None,
        }
    }
}

/// Scale and offset of float32 or float64.
struct BindAffine<'a> {
    element: ElementType,
    parameters: &'a Affine,
    encodes: bool,
}

impl WithSimd for BindAffine<'_> {
    type Output = Option<Stage>;

    fn with<S: Simd>(self, simd: S) -> Option<Stage> {
        affine::bind(simd, self.element, self.parameters, self.encodes)
    }
}

/// The stage of scale and offset, if the level has vectors for it; `encodes` says in which direction.
pub(crate) fn affine(
    element: ElementType,
    parameters: &Affine,
    encodes: bool,
    level: Level,
) -> Option<Stage> {
    level.dispatch(BindAffine { element, parameters, encodes })?
}

/// The bytes of elements of this size in reverse.
struct BindSwapBytes(usize);

impl WithSimd for BindSwapBytes {
    type Output = Stage;

    fn with<S: Simd>(self, simd: S) -> Stage {
        match self.0 {
            2 => stage(simd, SwapBytes::<2>),
            4 => stage(simd, SwapBytes::<4>),
            _ => stage(simd, SwapBytes::<8>),
        }
    }
}

/// The stage that reverses the bytes of elements of 2, 4 or 8 bytes, if the level has vectors.
pub(crate) fn swap_bytes(size: usize, level: Level) -> Option<Stage> {
    level.dispatch(BindSwapBytes(size))
}

/// Values in place of keys, among elements of one type.
struct BindSubstitution<'a> {
    domain: ElementType,
    entries: &'a [(Scalar, Scalar)],
}

impl WithSimd for BindSubstitution<'_> {
    type Output = Option<Stage>;

    fn with<S: Simd>(self, simd: S) -> Option<Stage> {
        substitute::bind(simd, self.domain, self.entries)
    }
}

/// The stage of a substitution, if the level has vectors for it.
pub(crate) fn substitution(
    domain: ElementType,
    entries: &[(Scalar, Scalar)],
    level: Level,
) -> Option<Stage> {
    level.dispatch(BindSubstitution { domain, entries })?
}

/// The stage of a cast, if the level has vectors for it.
pub(crate) fn cast(
    source: ElementType,
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Vec<Stage>> {
    level.dispatch(BindCast { source, cast, entry })?
}

/// The stage of two steps, if the level has vectors for them together.
pub(crate) fn fused(
    source: ElementType,
    first: &Step,
    second: &Step,
    level: Level,
) -> Option<Stage> {
    level.dispatch(BindScaled { source, steps: [first, second] })?
}

/// A value of type `domain` that casts to `output`, as far as it is seen without a search.
pub(crate) fn preimage(output: Scalar, domain: ElementType, cast: &Cast) -> Option<Scalar> {
    let value = exactly(output, domain)?;
    let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
    (back == Ok(output)).then_some(value)
}

/// A value in another type, exactly, or none.
pub(crate) fn exactly(value: Scalar, element: ElementType) -> Option<Scalar> {
    use crate::{OutOfRange, Rounding};
    let cast = value.cast(element, Rounding::NearestEven, OutOfRange::Error).ok()?;
    cast.equals(value).then_some(cast)
}

/// A float as float64; none for a NaN that is not the canonical one, whose bits arithmetic may change.
pub(crate) fn number(value: Scalar) -> Option<f64> {
    (!value.is_nan() || Scalar::nan(value.element_type()) == Some(value)).then(|| value.to_f64())
}
