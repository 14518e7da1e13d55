//! What an array says about the error that it can bear: a sample of it, what is known of its values, the information of
//! their bits, and the bounds to compare.

pub(crate) mod bounds;
pub(crate) mod information;
pub(crate) mod known;
pub(crate) mod sample;
