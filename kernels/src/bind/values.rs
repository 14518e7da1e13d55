//! Values that maps and parameters are bound with.

use bytemuck::Pod;

use super::variants::FUSES_MAP_ENTRY;
use crate::{Affine, Cast, ElementType, OutOfRange, Rounding, Scalar, Step, reference};

/// An entry of a map: a key and its output.
pub(super) type Entry = (Scalar, Scalar);

/// The entry of a cast's map, if it has one; none of a longer map.
#[allow(clippy::option_option)] // as it says
pub(super) fn only_entry(cast: &Cast) -> Option<Option<Entry>> {
    match cast.map[..] {
        [] => Some(None),
        [entry] => Some(Some(entry)),
        [_, _, ..] => None,
    }
}

/// Whether every integer of a type is finite as a float of another, unscaled.
pub(super) fn stays_finite(from: ElementType, to: ElementType, parameters: &Affine) -> bool {
    // Every operation is monotonic, so the ends of the range tell.
    [Scalar::min(from), Scalar::max(from)].into_iter().all(|end| {
        let steps = [Step::Cast(Cast::new(to)), Step::InverseScale(*parameters)];
        reference::run(end, &steps, 0).is_ok_and(Scalar::is_finite)
    })
}

/// An entry of a cast: the key, and the number of type `domain` that becomes the output. None where there is no such
/// number.
#[allow(clippy::option_option)] // no entry, and none that can be had
#[cfg_attr(target_feature = "simd128", inline(always))] // shows that there never is one where none joins
pub(super) fn number_entry(
    entry: Option<Entry>,
    domain: ElementType,
    cast: &Cast,
) -> Option<Option<(Scalar, f64)>> {
    match entry {
        None => Some(None),
        Some(_) if !FUSES_MAP_ENTRY => None,
        Some((key, output)) => Some(Some((key, number(preimage(output, domain, cast)?)?))),
    }
}

/// As [`number_entry`], of which NaN is the only key.
#[allow(clippy::option_option)] // as above
#[cfg_attr(target_feature = "simd128", inline(always))]
pub(super) fn nan_entry(
    entry: Option<Entry>,
    domain: ElementType,
    cast: &Cast,
) -> Option<Option<f64>> {
    match number_entry(entry, domain, cast)? {
        None => Some(None),
        Some((key, value)) => key.is_nan().then_some(Some(value)),
    }
}

/// A value of type `domain` that casts to `output`, as far as it is seen without a search: the same value, or, where a
/// value out of range is clamped, one beyond it, or, where it wraps, its low bits.
pub(super) fn preimage(output: Scalar, domain: ElementType, cast: &Cast) -> Option<Scalar> {
    let casts = |value: Scalar| {
        let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
        (back == Ok(output)).then_some(value)
    };
    let candidates = [
        (Rounding::NearestEven, OutOfRange::Error),
        (Rounding::TowardsPositive, OutOfRange::Error),
        (Rounding::NearestEven, OutOfRange::Wrap),
    ];
    candidates.into_iter().find_map(|(rounding, out_of_range)| {
        casts(output.cast(domain, rounding, out_of_range).ok()?)
    })
}

/// A value in another type, exactly, or none.
pub(super) fn exactly(value: Scalar, element: ElementType) -> Option<Scalar> {
    let cast = value.cast(element, Rounding::NearestEven, OutOfRange::Error).ok()?;
    cast.equals(value).then_some(cast)
}

/// A float as float64; none for a NaN that is not the canonical one, whose bits arithmetic may change.
pub(super) fn number(value: Scalar) -> Option<f64> {
    (!value.is_nan() || Scalar::nan(value.element_type()) == Some(value)).then(|| value.to_f64())
}

/// So many entries, and the filler in the places that are left.
pub(super) fn filled_up<T: Clone, const N: usize>(entries: &[T], filler: T) -> [T; N] {
    core::array::from_fn(|index| entries.get(index).unwrap_or(&filler).clone())
}

/// The bits of a scalar as a native value of its size.
pub(super) fn native<T: Pod>(scalar: Scalar) -> T {
    let mut value = T::zeroed();
    let written = scalar.write_ne_bytes(bytemuck::bytes_of_mut(&mut value));
    debug_assert!(written, "{} has another size", scalar.element_type());
    value
}
