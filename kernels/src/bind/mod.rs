//! Which pipeline serves a source, a target and a policy: tables from types and policies to
//! [`ops`](crate::ops), for the levels that have vector registers.

mod float_to_int;

use crate::simd::Simd;
use crate::stages::Stage;
use crate::{Cast, ElementType, Level, Scalar, Step};

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
    type Output = Option<Stage>;

    fn with<S: Simd>(self, simd: S) -> Option<Stage> {
        let Self { source, cast, entry } = self;
        if source.is_float() && cast.target.is_integer() {
            return float_to_int::bind(simd, source, cast, entry);
        }
        None
    }
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
            _ => None,
        }
    }
}

/// The stage of a cast, if the level has vectors for it.
pub(crate) fn cast(
    source: ElementType,
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stage> {
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
