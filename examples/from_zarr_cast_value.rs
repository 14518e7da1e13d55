//! Configurations of the crate `zarr-cast-value` as casts of this project, and both run side by side:
//! `cargo run -p zarr-recast --example from_zarr_cast_value`

use std::error::Error;

use recast_kernels::{Cast, Element, OutOfRange, Rounding, cast};
use zarr_cast_value::{
    CastFloat, CastInt, FloatToFloatConfig, FloatToIntConfig, IntToFloatConfig, IntToIntConfig,
    MapEntry, OutOfRangeMode, RoundingMode, convert_slice_float_to_int,
};

fn rounding(mode: RoundingMode) -> Rounding {
    match mode {
        RoundingMode::NearestEven => Rounding::NearestEven,
        RoundingMode::TowardsZero => Rounding::TowardsZero,
        RoundingMode::TowardsPositive => Rounding::TowardsPositive,
        RoundingMode::TowardsNegative => Rounding::TowardsNegative,
        RoundingMode::NearestAway => Rounding::NearestAway,
    }
}

fn out_of_range(mode: Option<OutOfRangeMode>) -> OutOfRange {
    match mode {
        None => OutOfRange::Error,
        Some(OutOfRangeMode::Clamp) => OutOfRange::Clamp,
        Some(OutOfRangeMode::Wrap) => OutOfRange::Wrap,
    }
}

/// The cast that four types of configuration have in common.
fn cast_of<S: Element, T: Element>(
    map: &[MapEntry<S, T>],
    mode: RoundingMode,
    range: Option<OutOfRangeMode>,
) -> Cast {
    let map = map.iter().map(|entry| (entry.src.into(), entry.tgt.into()));
    Cast::new(T::TYPE).rounding(rounding(mode)).out_of_range(out_of_range(range)).map(map)
}

/// A configuration of `zarr-cast-value` as a cast.
trait IntoCast {
    fn into_cast(self) -> Cast;
}

impl<S: Element + CastFloat, T: Element + CastInt> IntoCast for FloatToIntConfig<S, T> {
    fn into_cast(self) -> Cast {
        cast_of(&self.map_entries, self.rounding, self.out_of_range)
    }
}

impl<S: Element + CastInt, T: Element + CastInt> IntoCast for IntToIntConfig<S, T> {
    fn into_cast(self) -> Cast {
        cast_of(&self.map_entries, RoundingMode::NearestEven, self.out_of_range) // rounds nothing
    }
}

impl<S: Element + CastInt, T: Element + CastFloat> IntoCast for IntToFloatConfig<S, T> {
    fn into_cast(self) -> Cast {
        cast_of(&self.map_entries, self.rounding, self.out_of_range)
    }
}

impl<S: Element + CastFloat, T: Element + CastFloat> IntoCast for FloatToFloatConfig<S, T> {
    fn into_cast(self) -> Cast {
        cast_of(&self.map_entries, self.rounding, self.out_of_range)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = FloatToIntConfig::<f32, u8> {
        map_entries: vec![MapEntry { src: f32::NAN, tgt: 255 }],
        rounding: RoundingMode::NearestEven,
        out_of_range: Some(OutOfRangeMode::Clamp),
    };
    let input = [1.5_f32, 2.5, f32::NAN, -7.0, 300.0];
    let (mut theirs, mut ours) = ([0; 5], [0; 5]);
    convert_slice_float_to_int(&input, &mut theirs, &config)?;
    cast(&input, &mut ours, &config.into_cast())?;
    println!("zarr-cast-value: {theirs:?}\nrecast-kernels:  {ours:?}");
    assert_eq!(ours, theirs);

    let config = IntToFloatConfig::<i64, f32> {
        map_entries: Vec::new(),
        rounding: RoundingMode::TowardsPositive,
        out_of_range: None,
    };
    let mut up = [0.0_f32];
    cast(&[16_777_217_i64], &mut up, &config.into_cast())?;
    println!("16777217 upwards: {}", up[0]);
    let _ = (IntToIntConfig::<i64, u8>::into_cast, FloatToFloatConfig::<f64, f32>::into_cast);
    Ok(())
}
