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

/// As [`ends`], but this many codes, going inwards from the ends; none for a floating-point type.
pub(super) fn codes_from_ends(target: ElementType, count: usize) -> Vec<Scalar> {
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
