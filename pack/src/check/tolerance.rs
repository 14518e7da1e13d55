//! The tolerance for decoded elements.

/// The tolerance for decoded elements. In any case NaN, infinities and missing values must come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// The constant part of the largest allowed |decoded − original|.
    pub(crate) absolute: f64,
    /// The part of it that is multiplied by |original|.
    pub(crate) relative: f64,
    /// The user's name for the bound.
    pub(crate) name: &'static str,
    /// Whether valid values may decode to NaN or a missing marker.
    pub(crate) allow_collisions: bool,
}
