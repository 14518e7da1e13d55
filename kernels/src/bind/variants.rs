//! Which variants of a loop are compiled: macros that bind one of them by a value that is known only here.

use crate::pipeline::Retry;
use crate::stages::Stage;

/// Evaluates `$body` with `$name` standing for a rounding: the default as a type of its own, and the others
/// together, so that two kernels serve five roundings.
macro_rules! with_rounding {
    ($rounding:expr, $name:ident => $body:expr) => {
        match $rounding {
            $crate::Rounding::NearestEven => {
                let $name = $crate::simd::NearestEven;
                $body
            }
            directed @ ($crate::Rounding::TowardsZero
            | $crate::Rounding::TowardsPositive
            | $crate::Rounding::TowardsNegative
            | $crate::Rounding::NearestAway) => {
                let $name = directed;
                $body
            }
        }
    };
}
pub(super) use with_rounding;

/// The body with a constant equal to `$value`, for kernels that differ by it.
macro_rules! with_bool {
    ($value:expr, $name:ident => $body:expr) => {
        if $value {
            const $name: bool = true;
            $body
        } else {
            const $name: bool = false;
            $body
        }
    };
}
pub(super) use with_bool;

/// Whether an entry of a cast's map joins its loop. On WebAssembly it is a pass of its own: a module that is downloaded is a
/// fifth smaller without these kernels.
pub(super) const FUSES_MAP_ENTRY: bool = cfg!(not(target_feature = "simd128"));

/// Whether plans that are rarer have loops of their own. Not on WebAssembly, for the same reason.
pub(super) const FUSES_RARE: bool = cfg!(not(target_feature = "simd128"));

/// Whether a cast has a second kernel for speed, where one does with the reference behind it. Not on WebAssembly, for the
/// same reason.
pub(super) const TWO_KERNELS: bool = cfg!(not(target_feature = "simd128"));

/// A kernel that flags legal infinities, and the one behind it.
pub(super) fn retry_infinities(fast: Stage, general: impl FnOnce() -> Stage) -> Stage {
    if TWO_KERNELS { Retry::of(fast, general()) } else { fast }
}
