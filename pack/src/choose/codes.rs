//! Stored codes for values that need one of their own.

use recast_kernels::{ElementType, Scalar};
use zarr_recast::{JsonScalar, ScalarMap};

use crate::scan::number::{integer, scalar};

/// A map that takes each pair there and back; `None` without pairs.
pub(super) fn map(pairs: &[(Scalar, Scalar)]) -> Option<ScalarMap> {
    let entry = |from: Scalar, to: Scalar| (JsonScalar::from(from), JsonScalar::from(to));
    (!pairs.is_empty()).then(|| ScalarMap {
        encode: Some(pairs.iter().map(|&(value, code)| entry(value, code)).collect()),
        decode: Some(pairs.iter().map(|&(value, code)| entry(code, value)).collect()),
    })
}

/// Values at the ends of a type, in the order in which they are given to NaN and the fill value: as
/// CF does, the largest of an unsigned type and the smallest of a signed one come first.
pub(crate) fn ends(target: ElementType) -> Vec<Scalar> {
    let Some((lowest, highest)) = integer(Scalar::min(target)).zip(integer(Scalar::max(target)))
    else {
        return Vec::new();
    };
    let order = if target.is_signed() {
        [lowest, highest, lowest + 1, highest - 1]
    } else {
        [highest, lowest, highest - 1, lowest + 1]
    };
    order.into_iter().filter_map(|code| scalar(code, target)).collect()
}
