//! The range of values that codecs can store.

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::{BindOptions, Chain, Codec};

use crate::scan::number::{comes_back, decoded, integer, neighbours, order, scalar};

/// The range of values that codecs can store: the decoded ends of the stored type, without the codes that maps
/// give to missing values. `None` without codecs, or if the ends do not decode.
pub(crate) fn storable(source: ElementType, codecs: &[Codec]) -> Option<(Scalar, Scalar)> {
    if codecs.is_empty() {
        return None;
    }
    let mut entries = 0;
    let mut without_maps = codecs.to_vec();
    for codec in &mut without_maps {
        if let Codec::CastValue(cast) = codec {
            let map = cast.scalar_map.take();
            entries += map.and_then(|map| map.decode).map_or(0, |decode| decode.len());
        }
    }
    let bind = |codecs: &[Codec]| Chain::bind(source, None, codecs, &BindOptions::default()).ok();
    let (chain, plain) = (bind(codecs)?, bind(&without_maps)?);
    let encoded = chain.encoded_type();
    // A map may use the codes at an end.
    let from_end = |end: Scalar, inward: i128| {
        let inner = (0..=entries as i128)
            .filter_map(|steps| scalar(integer(end)? + steps * inward, encoded));
        let stored = inner.chain([end].into_iter().filter(|end| !end.element_type().is_integer()));
        // The end's value may be rounded outwards: then its nearest neighbour that has a code.
        let with_code = |value: Scalar| {
            let near = neighbours(value.to_f64(), source, 4).into_iter().map(Scalar::from);
            let near = near.filter_map(|near| {
                near.cast(source, Rounding::NearestEven, OutOfRange::Error).ok()
            });
            [value].into_iter().chain(near).find(|&value| comes_back(&chain, value))
        };
        let value = |code: Scalar| {
            let value = decoded(&plain, code).filter(|value| value.is_finite())?;
            (decoded(&chain, code) == Some(value)).then(|| with_code(value)).flatten()
        };
        stored.into_iter().find_map(value)
    };
    // If the stored type reaches beyond the array's type, the ends of the array's type count.
    let own_ends = [Scalar::min(source), Scalar::max(source)];
    let own_ends = own_ends.into_iter().filter(|&end| comes_back(&plain, end));
    let ends = [from_end(Scalar::min(encoded), 1), from_end(Scalar::max(encoded), -1)];
    let mut values: Vec<Scalar> = ends.into_iter().flatten().chain(own_ends).collect();
    values.sort_by(|&a, &b| order(a, b));
    // A negative scale reverses the range.
    match *values.as_slice() {
        [least, .., greatest] => Some((least, greatest)),
        _ => None,
    }
}
