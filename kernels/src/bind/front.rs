//! The map of a cast as numbers in front of its loop.

use super::values::{Entry, number, preimage};
use super::variants::FUSES_MAP_ENTRY;
use crate::{Cast, ElementType, Scalar};

/// Numbers that take the place of elements in front of a cast's loop, or inside of it.
#[derive(Clone, Copy)]
pub(super) enum Front {
    None,
    /// In place of NaN.
    Nan(f64),
    /// `value` in place of `key`, and a number in place of NaN, if it has one.
    Key {
        key: Scalar,
        value: f64,
        nan: Option<f64>,
    },
}

impl Front {
    /// The map of `cast`, of distinct keys, as numbers of type `domain` that become its outputs. `None` where an output has no
    /// such number, and where the map has more keys.
    #[cfg_attr(target_feature = "simd128", inline(always))] // shows that no map joins where none does
    pub(super) fn of(map: &[Entry], domain: ElementType, cast: &Cast) -> Option<Self> {
        let number = |output: Scalar| number(preimage(output, domain, cast)?);
        Some(match *map {
            [] => Self::None,
            [_, ..] if !FUSES_MAP_ENTRY => return None,
            [(key, output)] if key.is_nan() => Self::Nan(number(output)?),
            [(key, output)] => Self::Key { key, value: number(output)?, nan: None },
            [(nan, replaced), (key, output)] | [(key, output), (nan, replaced)] if nan.is_nan() => {
                Self::Key { key, value: number(output)?, nan: Some(number(replaced)?) }
            }
            [_, _, ..] => return None,
        })
    }
}

/// Evaluates `$body` with `$name` standing for a load of floats: `$load`, or `$load` with a value in place of NaN. Returns
/// `None` from the calling function where a number is replaced.
macro_rules! with_nan {
    ($front:expr, $name:ident = $load:expr => $body:expr) => {
        match $front {
            $crate::bind::front::Front::None => {
                let $name = $load;
                $body
            }
            $crate::bind::front::Front::Nan(value) => {
                let $name =
                    $crate::pipeline::LoadThen($load, $crate::ops::float::ReplaceNan { value });
                $body
            }
            $crate::bind::front::Front::Key { .. } => return None,
        }
    };
}
pub(super) use with_nan;

/// As [`with_rounding`] and [`with_nan`]. Returns `None` from the calling function for a directed rounding with a value for NaN.
macro_rules! with_rounding_or_nan {
    ($rounding:expr, $front:expr, $name:ident, $load:ident = $plain:expr => $body:expr) => {
        if let $crate::bind::front::Front::None = $front {
            let $load = $plain;
            $crate::bind::variants::with_rounding!($rounding, $name => $body)
        } else if $rounding == $crate::Rounding::NearestEven {
            let $name = $crate::simd::NearestEven;
            match $front {
                $crate::bind::front::Front::Nan(value) => {
                    let $load = $crate::pipeline::LoadThen(
                        $plain,
                        $crate::ops::float::ReplaceNan { value },
                    );
                    $body
                }
                $crate::bind::front::Front::None | $crate::bind::front::Front::Key { .. } => {
                    return None;
                }
            }
        } else {
            return None;
        }
    };
}
pub(super) use with_rounding_or_nan;
