//! Writes scalars in reports like fill values in Zarr metadata.

use recast_kernels::{ElementType, Scalar};
use serde::ser::{Serialize, Serializer};
use zarr_recast::fill_value::to_json;

pub(crate) fn scalar<S: Serializer>(scalar: &Scalar, serializer: S) -> Result<S::Ok, S::Error> {
    to_json(*scalar).serialize(serializer)
}

// Serde passes a reference to the field.
#[allow(clippy::ref_option)]
pub(crate) fn optional<S: Serializer>(
    scalar: &Option<Scalar>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    scalar.map(to_json).serialize(serializer)
}

pub(crate) fn list<S: Serializer>(scalars: &[Scalar], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(scalars.iter().copied().map(to_json))
}

/// Two ends as an array of two; null without them.
#[allow(clippy::ref_option)]
pub(crate) fn range<S: Serializer>(
    range: &Option<(Scalar, Scalar)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    range.map(|(least, greatest)| [to_json(least), to_json(greatest)]).serialize(serializer)
}

// Serde passes a reference to the field.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn element_type<S: Serializer>(
    element_type: &ElementType,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    element_type.name().serialize(serializer)
}
