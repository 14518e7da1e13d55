//! Types that may grow without breaking this program. If one could not, the compiler would call its last arm here
//! unreachable, which is an error in this package; and slices of all variants have no length in their type.

use recast_kernels::{
    CastSliceError, FloatOverflow, Format, Level, OutOfRange, Reason, Rounding, RunError, Specials, Step,
};
use zarr_recast::{BindError, Codec, WarningKind, ElementType, FillCheck};

const NEW: &str = "new";

pub fn all() -> [usize; 4] {
    let types: &'static [ElementType] = ElementType::ALL;
    let roundings: &'static [Rounding] = Rounding::ALL;
    let modes: &'static [OutOfRange] = OutOfRange::ALL;
    let levels: &'static [Level] = Level::ALL;
    [types.len(), roundings.len(), modes.len(), levels.len()]
}

pub fn rounding(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::NearestEven | Rounding::NearestAway => "nearest",
        Rounding::TowardsZero | Rounding::TowardsPositive | Rounding::TowardsNegative => "directed",
        _ => NEW,
    }
}

pub fn out_of_range(mode: OutOfRange) -> &'static str {
    match mode {
        OutOfRange::Error | OutOfRange::Clamp | OutOfRange::Wrap => "known",
        _ => NEW,
    }
}

pub fn overflow(overflow: FloatOverflow) -> &'static str {
    match overflow {
        FloatOverflow::Error | FloatOverflow::Infinity => "known",
        _ => NEW,
    }
}

pub fn format(format: Format) -> &'static str {
    match format {
        Format::Integer { .. } => "integer",
        Format::Float(float) => match float.specials {
            Specials::Ieee | Specials::FiniteOnly | Specials::Fnuz | Specials::PowersOfTwo => {
                "float"
            }
            _ => NEW,
        },
        _ => NEW,
    }
}

pub fn level(level: Level) -> &'static str {
    match level {
        Level::Scalar | Level::Avx2 | Level::Avx512 | Level::Neon | Level::Simd128 => "known",
        _ => NEW,
    }
}

pub fn step(step: &Step) -> &'static str {
    match step {
        Step::Cast(_) | Step::Scale(_) | Step::InverseScale(_) => "known",
        _ => NEW,
    }
}

pub fn error(error: &CastSliceError) -> &'static str {
    match error {
        CastSliceError::Build(_) => "build",
        CastSliceError::Run(RunError::Element(element)) => match element.reason {
            Reason::Nan
            | Reason::Infinite
            | Reason::OutOfRange
            | Reason::Overflow
            | Reason::InexactDivision => "element",
            _ => NEW,
        },
        CastSliceError::Run(
            RunError::Length { .. } | RunError::InPlace { .. } | RunError::SliceType { .. },
        ) => "run",
        CastSliceError::Run(_) => NEW,
        _ => "new error",
    }
}

pub fn codec(codec: &Codec) -> &'static str {
    match codec {
        Codec::CastValue(_) | Codec::ScaleOffset(_) => "specified",
        Codec::FixedScaleOffset(_) | Codec::AsType(_) => "legacy",
        _ => NEW,
    }
}

pub fn fill_check(check: FillCheck) -> &'static str {
    match check {
        FillCheck::Create | FillCheck::Open | FillCheck::ReportOnly => "known",
        _ => NEW,
    }
}

pub fn bind_error(error: &BindError) -> &'static str {
    match error {
        BindError::Metadata(_) | BindError::Build(_) => "metadata",
        BindError::FillValue(warning) => match warning.kind {
            WarningKind::FillNotEncodable
            | WarningKind::FillChanged
            | WarningKind::FillInexact
            | WarningKind::FillChangedWithin
            | WarningKind::LegacyRounding => "fill value",
            _ => NEW,
        },
        _ => "new error",
    }
}
