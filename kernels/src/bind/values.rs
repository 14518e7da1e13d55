//! Values that maps and parameters are bound with.

use alloc::borrow::Cow;

use bytemuck::Pod;

use crate::key_table::KeyTable;
use crate::{Cast, ElementType, OutOfRange, Rounding, Scalar, Step, reference};

/// An entry of a map: a key and its output.
pub(super) type Entry = (Scalar, Scalar);

/// The entries that can match: of equal keys the first.
pub(super) fn distinct(map: &[Entry]) -> Cow<'_, [Entry]> {
    if map.len() < 2 {
        return Cow::Borrowed(map);
    }
    let table = KeyTable::new(map.len(), &|place| map[place].0.key());
    if table.len() == map.len() {
        return Cow::Borrowed(map);
    }
    let firsts = map.iter().zip(1..).filter(|((key, _), number)| table.find(key.key()) == *number);
    firsts.map(|(entry, _)| *entry).collect()
}

/// Whether every integer of a type becomes a finite float by these steps, each of which is monotonic: the ends of the type's
/// range tell.
pub(super) fn stay_finite(from: ElementType, steps: &[Step]) -> bool {
    let ends = [Scalar::min(from), Scalar::max(from)];
    ends.into_iter().all(|end| reference::run(end, steps, 0).is_ok_and(Scalar::is_finite))
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
