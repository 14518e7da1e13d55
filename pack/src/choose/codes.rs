//! Stored codes for special values.

use recast_kernels::{ElementType, Scalar};
use zarr_recast::ScalarMap;

use crate::scan::number::{integer, scalar};

/// A map that encodes and decodes each pair; `None` without pairs.
pub(super) fn map(pairs: &[(Scalar, Scalar)]) -> Option<ScalarMap> {
    (!pairs.is_empty()).then(|| ScalarMap {
        encode: Some(pairs.iter().copied().collect()),
        decode: Some(pairs.iter().map(|&(value, code)| (code, value)).collect()),
    })
}

/// Codes at the ends of a type, in the order in which NaN and missing markers get them. As in CF, the largest of
/// an unsigned type and the smallest of a signed one come first.
pub(crate) fn ends(target: ElementType) -> Vec<Scalar> {
    codes_from_ends(target, 4)
}

/// This many codes for special values: next to the data's lowest and highest code, or else from the ends of the type.
pub(super) fn spare_codes(
    target: ElementType,
    beside: Option<(i128, i128)>,
    count: usize,
) -> Vec<Scalar> {
    let Some((lowest, highest)) = beside else { return codes_from_ends(target, count) };
    let pairs = (1..=count as i128).flat_map(|distance| [highest + distance, lowest - distance]);
    pairs.take(count).filter_map(|code| scalar(code, target)).collect()
}

/// As [`ends`], but this many codes, going inwards from the ends; none for a floating-point type.
fn codes_from_ends(target: ElementType, count: usize) -> Vec<Scalar> {
    let Some((lowest, highest)) = integer(Scalar::min(target)).zip(integer(Scalar::max(target)))
    else {
        return Vec::new();
    };
    let pairs = (0..).map_while(|inward| {
        let (low, high) = (lowest + inward, highest - inward);
        let pair = if target.is_signed() { [low, high] } else { [high, low] };
        (low < high).then_some(pair)
    });
    pairs.flatten().take(count).filter_map(|code| scalar(code, target)).collect()
}
