//! Casts from and to floats of one byte: decoded to float32 and encoded from it, each a stage of its own.

use super::with_rounding;
use crate::ops::load;
use crate::ops::small_float::{Decode, DecodeE8m0, Encode, EncodeE8m0};
use crate::ops::store::{SaturatedI8, Whole};
use crate::pipeline::{Same, Units, stage};
use crate::simd::Simd;
use crate::stages::Stage;
use crate::{Cast, ElementType, Format, OutOfRange, Specials};

/// float32 of a one-byte float.
pub(super) fn decode<S: Simd>(simd: S, source: ElementType) -> Option<Stage> {
    let Format::Float(format) = source.format() else { return None };
    Some(match format.specials {
        Specials::PowersOfTwo => stage(simd, Units(DecodeE8m0, Same, Whole)),
        Specials::Ieee | Specials::FiniteOnly | Specials::Fnuz => {
            stage(simd, Units(Decode::new(format), Same, Whole))
        }
    })
}

/// A one-byte float of float32. `infinity_fails` says that an infinity may stand for a number beyond float32.
pub(super) fn encode<S: Simd>(simd: S, cast: &Cast, infinity_fails: bool) -> Option<Stage> {
    let Format::Float(format) = cast.target.format() else { return None };
    let fails = cast.out_of_range != OutOfRange::Clamp;
    Some(with_rounding!(cast.rounding, rounding => match (format.specials, fails) {
        (Specials::PowersOfTwo, false) => {
            stage(simd, Units(load::Float32, EncodeE8m0::<_, false>(rounding), SaturatedI8::<false>))
        }
        (Specials::PowersOfTwo, true) => {
            stage(simd, Units(load::Float32, EncodeE8m0::<_, true>(rounding), SaturatedI8::<false>))
        }
        (Specials::Ieee | Specials::FiniteOnly | Specials::Fnuz, false) => {
            let encode = Encode::<_, false>::new(format, rounding, false);
            stage(simd, Units(load::Float32, encode, SaturatedI8::<false>))
        }
        (Specials::Ieee | Specials::FiniteOnly | Specials::Fnuz, true) => {
            let encode = Encode::<_, true>::new(format, rounding, infinity_fails);
            stage(simd, Units(load::Float32, encode, SaturatedI8::<false>))
        }
    }))
}
