//! The crate `zarr-cast-value`: its 121 pairs (no bfloat16), every mode and map. In wrap mode towards
//! a float, which neither allows, there is no case.

use bytemuck::Pod;
use recast_kernels::{OutOfRange, Rounding};
use zarr_cast_value::{
    CastFloat, CastInt, CastInto, FloatToFloatConfig, FloatToIntConfig, IntToFloatConfig,
    IntToIntConfig, MapEntry, OutOfRangeMode, RoundingMode, convert_slice_float_to_float,
    convert_slice_float_to_int, convert_slice_int_to_float, convert_slice_int_to_int,
};

use super::{Contender, Peer, typed};
use crate::cases::{Case, F16, Scaling, with_types};

pub(super) struct ZarrCastValue;

impl Peer for ZarrCastValue {
    fn name(&self) -> &'static str {
        "zarr-cast-value"
    }

    fn bind(&self, case: &Case, _input: &[u8]) -> Option<Box<dyn Contender>> {
        if case.affine != Scaling::None {
            return None;
        }
        let ints = |t: recast_kernels::ElementType| t.is_integer();
        match (ints(case.source), ints(case.target)) {
            (true, true) => with_types!(
                case,
                int_to_int,
                [u8, u16, u32, u64, i8, i16, i32, i64],
                [u8, u16, u32, u64, i8, i16, i32, i64]
            ),
            (true, false) => with_types!(
                case,
                int_to_float,
                [u8, u16, u32, u64, i8, i16, i32, i64],
                [F16, f32, f64]
            ),
            (false, true) => with_types!(
                case,
                float_to_int,
                [F16, f32, f64],
                [u8, u16, u32, u64, i8, i16, i32, i64]
            ),
            (false, false) => with_types!(case, float_to_float, [F16, f32, f64], [F16, f32, f64]),
        }
        None
    }
}

fn map_entries<S: Pod, T: Pod>(case: &Case) -> Vec<MapEntry<S, T>> {
    let entry = |(key, value): (recast_kernels::Scalar, recast_kernels::Scalar)| {
        let src = bytemuck::try_pod_read_unaligned(&key.to_ne_bytes()).ok()?;
        let tgt = bytemuck::try_pod_read_unaligned(&value.to_ne_bytes()).ok()?;
        Some(MapEntry { src, tgt })
    };
    case.map.iter().copied().filter_map(entry).collect()
}

const fn rounding(case: &Case) -> RoundingMode {
    match case.rounding {
        Rounding::NearestEven => RoundingMode::NearestEven,
        Rounding::TowardsZero => RoundingMode::TowardsZero,
        Rounding::TowardsPositive => RoundingMode::TowardsPositive,
        Rounding::TowardsNegative => RoundingMode::TowardsNegative,
        Rounding::NearestAway => RoundingMode::NearestAway,
        _ => panic!("the crate has no such rounding"),
    }
}

const fn out_of_range(case: &Case) -> Option<OutOfRangeMode> {
    match case.out_of_range {
        OutOfRange::Clamp => Some(OutOfRangeMode::Clamp),
        OutOfRange::Wrap => Some(OutOfRangeMode::Wrap),
        _ => None,
    }
}

fn int_to_int<S: CastInt + CastInto<T> + Pod, T: CastInt + Pod>(case: &Case) -> Box<dyn Contender> {
    let config =
        IntToIntConfig { map_entries: map_entries(case), out_of_range: out_of_range(case) };
    typed(move |input: &[S], output: &mut [T]| {
        convert_slice_int_to_int(input, output, &config).map_err(|error| error.to_string())
    })
}

fn int_to_float<S: CastInt + CastInto<T> + Pod, T: CastFloat + Pod>(
    case: &Case,
) -> Box<dyn Contender> {
    let config = IntToFloatConfig {
        map_entries: map_entries(case),
        rounding: rounding(case),
        out_of_range: out_of_range(case),
    };
    typed(move |input: &[S], output: &mut [T]| {
        convert_slice_int_to_float(input, output, &config).map_err(|error| error.to_string())
    })
}

fn float_to_int<S: CastFloat + CastInto<T> + Pod, T: CastInt + Pod>(
    case: &Case,
) -> Box<dyn Contender> {
    let config = FloatToIntConfig {
        map_entries: map_entries(case),
        rounding: rounding(case),
        out_of_range: out_of_range(case),
    };
    typed(move |input: &[S], output: &mut [T]| {
        convert_slice_float_to_int(input, output, &config).map_err(|error| error.to_string())
    })
}

fn float_to_float<S: CastFloat + CastInto<T> + Pod, T: CastFloat + Pod>(
    case: &Case,
) -> Box<dyn Contender> {
    let config = FloatToFloatConfig {
        map_entries: map_entries(case),
        rounding: rounding(case),
        out_of_range: out_of_range(case),
    };
    typed(move |input: &[S], output: &mut [T]| {
        convert_slice_float_to_float(input, output, &config).map_err(|error| error.to_string())
    })
}
