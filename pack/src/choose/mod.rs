//! Chooses the codecs that pack an array. Candidates run from coarse to fine. Each is bound and checked for the
//! range, the fill value and NaN, so only the error of each element remains to be checked.
//!
//! The files from the bottom up: `chooser` knows the values, `scales` lists the steps to try, `specials` finds
//! codes for NaN, missing markers and fill values, `room` knows which values codecs can store, `bind` makes
//! codecs from a scale, an offset and a type, `place` finds the offset and the smallest type, `positions` moves
//! the values inside the type so that they compress better and have room on both sides, `search` tries the
//! candidates one after the other, `compression` finds the codecs after them, and `choice` is the interface for callers of the library.

mod bind;
pub(crate) mod choice;
pub(crate) mod chooser;
pub(crate) mod codes;
pub(crate) mod compression;
pub(crate) mod packing;
mod place;
pub(crate) mod positions;
pub(crate) mod room;
mod scales;
pub(crate) mod search;
mod specials;
