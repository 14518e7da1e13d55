//! What decoded elements must satisfy.

/// What the decoded elements must satisfy, beyond that NaN, infinities and missing values come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// The largest allowed |decoded − original|, without its part that grows with |original|.
    pub(crate) absolute: f64,
    /// What may be added to that for each unit of |original|.
    pub(crate) relative: f64,
    /// What the user calls the bound.
    pub(crate) name: &'static str,
    /// Whether valid values may decode to NaN or a missing marker all the same.
    pub(crate) allow_collisions: bool,
}
