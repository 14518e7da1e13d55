//! The names of the attributes with which the CF conventions pack integers, and of the range of valid values.

pub(crate) const SCALE_FACTOR: &str = "scale_factor";
pub(crate) const ADD_OFFSET: &str = "add_offset";
pub(crate) const UNSIGNED: &str = "_Unsigned";
pub(crate) const VALID_MIN: &str = "valid_min";
pub(crate) const VALID_MAX: &str = "valid_max";
pub(crate) const VALID_RANGE: &str = "valid_range";
/// Attributes in the stored elements' type: values beyond them are missing.
pub(crate) const VALID: [&str; 3] = [VALID_MIN, VALID_MAX, VALID_RANGE];
