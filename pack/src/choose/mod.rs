//! Which codecs pack an array: candidates from coarse to fine, each bound and checked for the range, the
//! fill value and NaN, so that only the error of each element remains to be seen.
//!
//! The files from the bottom up: `chooser` knows the values, `scales` the steps to try, `specials` finds
//! codes for NaN, missing markers and fill values, `room` knows which values codecs can store, `bind` makes
//! codecs of a scale, an offset and a type, `place` finds the offset and the smallest type, `positions` moves
//! the values inside the type so that they compress better and have room on both sides,
//! `search` tries them one after the other, `choice` is that for callers of the library.

mod bind;
pub(crate) mod choice;
pub(crate) mod chooser;
pub(crate) mod codes;
pub(crate) mod packing;
mod place;
pub(crate) mod positions;
pub(crate) mod room;
mod scales;
pub(crate) mod search;
mod specials;
