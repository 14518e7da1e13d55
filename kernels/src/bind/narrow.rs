//! Stages from 32-bit lanes to 8 or 16 bits; none for wider targets.

use super::class::{IntType, Width};
use super::variants::with_bool;
use crate::ops::store::{CheckedI8, CheckedI16, LowI8, LowI16, SaturatedI8, SaturatedI16};
use crate::pipeline::{Each, Load, Units, stage};
use crate::simd::{I32s, Simd};
use crate::stages::Stage;

/// The low bits.
pub(super) fn low<S, L, E>(simd: S, load: L, each: E, width: Width) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    Some(match width {
        Width::W8 => stage(simd, Units(load, each, LowI8)),
        Width::W16 => stage(simd, Units(load, each, LowI16)),
        Width::W32 | Width::W64 => return None,
    })
}

/// A value beyond `to` fails; `outside` has the bits that no value of `to`, less the least value, sets.
pub(super) fn checked<S, L, E>(
    simd: S,
    load: L,
    each: E,
    to: IntType,
    outside: i64,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    with_bool!(to.signed, SIGNED => Some(match to.width {
        Width::W8 => {
            stage(simd, Units(load, each, CheckedI8::<SIGNED> { outside: outside as i16 }))
        }
        Width::W16 => {
            stage(simd, Units(load, each, CheckedI16::<SIGNED> { outside: outside as i32 }))
        }
        Width::W32 | Width::W64 => return None,
    }))
}

/// Signed integers, clamped to the range.
pub(super) fn saturated<S, L, E>(simd: S, load: L, each: E, to: IntType) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    with_bool!(to.signed, SIGNED => saturated_to::<S, L, E, SIGNED>(simd, load, each, to.width))
}

/// As [`saturated`], to one sign.
pub(super) fn saturated_to<S, L, E, const SIGNED: bool>(
    simd: S,
    load: L,
    each: E,
    width: Width,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = I32s<S>>,
{
    Some(match width {
        Width::W8 => stage(simd, Units(load, each, SaturatedI8::<SIGNED>)),
        Width::W16 => stage(simd, Units(load, each, SaturatedI16::<SIGNED>)),
        Width::W32 | Width::W64 => return None,
    })
}
